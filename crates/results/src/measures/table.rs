//! The table of measures. Costs are seconds per GiB of allocated bytes of the read files; a share is between 0 and 1.
//!
//! The flags behind a measure say where else it is shown: its topic in comparisons, in terminals and on pages, and `always` if a comparison shows it
//! even without a value; `rate` if it is a rate of a benchmark in real time. Measures are shown in the order of this table.

use super::define::measures;
use super::{Better, Measure};

measures! {
    /// Time that the modelled disk takes for the requests of a cold scan, in the order of their issue.
    MODELLED_S_PER_GIB = "modelled_s_per_gib", "s/GiB", "scan s/GiB, modelled", Lower, by_disk, cost, always;
    /// Time that a modelled 7200 rpm disk takes for the requests of a cold scan, in the order of their issue.
    MODELLED_HDD_S_PER_GIB = "modelled_hdd_s_per_gib", "s/GiB", "scan s/GiB, modelled 7200 rpm disk", Lower, cost, always;
    /// Time of a cold scan on this machine.
    SCAN_S_PER_GIB = "scan_s_per_gib", "s/GiB", "scan s/GiB, measured here", Lower, cost, always;
    /// Time of a cold scan by the clock of the modelled disk below, which chooses among the requests that wait.
    DISK_CLOCK_S_PER_GIB = "disk_clock_s_per_gib", "s/GiB", "scan s/GiB, clock of the modelled disk", Lower, cost;
    /// Time that a modelled 7200 rpm disk takes to read all files in scan order, from their extent maps alone.
    EXTENT_MAP_HDD_S_PER_GIB = "extent_map_hdd_s_per_gib", "s/GiB", "scan s/GiB, modelled from extent maps", Lower, cost;
    /// Time that the modelled disk takes for the requests of the first cold scan, which those without a cause are compared with.
    ALL_CAUSES_S_PER_GIB = "all_causes_s_per_gib", "s/GiB", "scan s/GiB, all causes", Lower, by_disk, causes;
    /// The same if each file were in one piece.
    WITHOUT_PIECES_S_PER_GIB = "without_pieces_s_per_gib", "s/GiB", "scan s/GiB without fragmentation within files", Lower, by_disk, causes;
    /// The same if each file began where the file that is read before it ends.
    WITHOUT_ORDER_S_PER_GIB = "without_order_s_per_gib", "s/GiB", "scan s/GiB without fragmentation between files", Lower, by_disk, causes;
    /// The same without reads of directories, inodes and maps.
    WITHOUT_METADATA_S_PER_GIB = "without_metadata_s_per_gib", "s/GiB", "scan s/GiB without metadata", Lower, by_disk, causes;
    /// The same if what was split into several requests were one.
    WITHOUT_SPLITTING_S_PER_GIB = "without_splitting_s_per_gib", "s/GiB", "scan s/GiB without split requests", Lower, by_disk, causes;
    /// The same if the pages of a flash drive were on one die after another.
    WITHOUT_DIE_COLLISIONS_S_PER_GIB = "without_die_collisions_s_per_gib", "s/GiB", "scan s/GiB without die collisions", Lower, by_disk, causes;
    /// The same if data were on the flash in the order of its addresses: as if garbage collection had moved none.
    WITHOUT_FLASH_ORDER_S_PER_GIB = "without_flash_order_s_per_gib", "s/GiB", "scan s/GiB without disorder on flash", Lower, by_disk, causes;
    /// The same without all of these causes: the data of all files, one after the other.
    WITHOUT_CAUSES_S_PER_GIB = "without_causes_s_per_gib", "s/GiB", "scan s/GiB without all causes", Lower, by_disk, causes;
    /// Time of a cold scan of the same side, beside a warm one.
    COLD_MODELLED_S_PER_GIB = "cold_modelled_s_per_gib", "s/GiB", "cold scan s/GiB, modelled", Lower, by_disk;
    /// Cost of a warm scan over that of a cold scan of the same side.
    SHARE_OF_COLD_COST = "share_of_cold_cost", "ratio", "warm over cold scan cost", Lower, by_disk;
    /// Aged over unaged scan cost on the modelled disk.
    AGING_RATIO = "aging_ratio", "ratio", "aging ratio, modelled", Lower, by_disk;
    /// Aged over unaged scan cost on this machine.
    WALL_AGING_RATIO = "wall_aging_ratio", "ratio", "aging ratio, measured here", Lower;

    /// Share of 4 KiB blocks that a scan reads directly after their predecessor on the device (Conway et al. 2017, section 3.3).
    DYNAMIC_LAYOUT_SCORE = "dynamic_layout_score", "share", "dynamic layout score", Higher, layout, always;
    /// Dynamic layout score without requests for metadata.
    DYNAMIC_LAYOUT_SCORE_DATA = "dynamic_layout_score_data", "share", "dynamic layout score, data only", Higher, layout;
    /// Share of the blocks of files, without the first of each, that lie directly behind their predecessor (Smith and Seltzer 1997).
    LAYOUT_SCORE = "layout_score", "share", "layout score", Higher, layout, always;
    /// Layout score of all files as one, in scan order.
    SCAN_LAYOUT_SCORE = "scan_layout_score", "share", "scan layout score", Higher, layout, always;
    /// Extents of all files over the fewest that could hold them.
    DEGREE_OF_FRAGMENTATION = "degree_of_fragmentation", "ratio", "degree of fragmentation", Lower, layout, always;
    /// Files.
    FILES = "files", "files", "files", Neither, layout;
    /// Extents of all files.
    EXTENTS = "extents", "extents", "extents of all files", Lower, layout;
    /// Layout score of files that end in a whole block.
    LAYOUT_SCORE_MULTIPLES = "layout_score_multiples", "share", "layout score, files that end in a block", Higher;
    /// Layout score of files that end in fragments.
    LAYOUT_SCORE_OTHERS = "layout_score_others", "share", "layout score, files that end in fragments", Higher;
    /// Share of the files of several blocks with a layout score below one half.
    LAYOUT_BELOW_HALF_SHARE = "layout_below_half_share", "share", "files with a layout score below 0.5", Lower;
    /// Files with their first data block in another cylinder group than their inode.
    SPLIT_FILES = "split_files", "files", "split files", Lower;
    /// Split files over all files.
    SPLIT_FILE_SHARE = "split_file_share", "share", "split files of all files", Lower;
    /// Share of the split files whose first data block is one cylinder group away from their inode.
    SPLIT_ADJACENT_SHARE = "split_adjacent_share", "share", "split files one group apart", Neither;
    /// Share of the split files whose first data block is at most ten cylinder groups away.
    SPLIT_WITHIN_TEN_SHARE = "split_within_ten_share", "share", "split files at most ten groups apart", Neither;

    /// Wall time of a scan.
    SCAN_WALL_S = "scan_wall_s", "s", "scan time", Lower;
    /// Processor time of a scan.
    SCAN_CPU_S = "scan_cpu_s", "s", "processor time of the scan", Lower, work;
    /// Bytes of the tree that a scan reads, as `du` counts them on ext4.
    SCAN_ALLOCATED_BYTES = "scan_allocated_bytes", "B", "bytes of the tree on ext4", Neither;
    /// Mean size of the files that a scan reads.
    MEAN_FILE_BYTES = "mean_file_bytes", "B", "mean file size", Neither;
    /// Read requests of a scan that reach the device.
    SCAN_REQUESTS = "scan_requests", "requests", "read requests", Lower, work, always;
    /// Bytes that a scan reads from the device.
    SCAN_READ_BYTES = "scan_read_bytes", "B", "bytes read from the device", Lower, work;

    /// Free extents.
    FREE_EXTENTS = "free_extents", "extents", "free extents", Lower, free_space, always;
    /// Free bytes.
    FREE_BYTES = "free_bytes", "B", "free space", Neither, free_space;
    /// Mean length of a free extent.
    FREE_MEAN_BYTES = "free_mean_bytes", "B", "mean free extent", Higher, free_space;
    /// Length of the shortest free extent.
    FREE_LEAST_BYTES = "free_least_bytes", "B", "shortest free extent", Neither;
    /// Length of the longest free extent.
    FREE_LARGEST_BYTES = "free_largest_bytes", "B", "longest free extent", Higher, free_space;
    /// The longest free extent over all free bytes.
    FREE_LARGEST_SHARE = "free_largest_share", "share", "longest free extent", Higher;
    /// Free extents of a length class over all free extents.
    FREE_EXTENT_SHARE = "free_extent_share", "share", "free extents of the class", Neither;
    /// Bytes in free extents of a length class over all free bytes.
    FREE_BYTE_SHARE = "free_byte_share", "share", "free bytes in the class", Neither;
    /// Free fragments of blocks over all free space.
    FREE_FRAGMENT_SHARE = "free_fragment_share", "share", "free space in fragments", Lower;
    /// Mean free extent of an aged file system minus that of a real one.
    FREE_MEAN_DIFFERENCE_BYTES = "free_mean_difference_bytes", "B", "mean free extent, aged minus real", Neither;
    /// Longest free extent of an aged file system minus that of a real one.
    FREE_LARGEST_DIFFERENCE_BYTES = "free_largest_difference_bytes", "B", "longest free extent, aged minus real", Neither;
    /// Earth mover's distance of the lengths of free extents of an aged and a real file system, in powers of two.
    FREE_EXTENT_DOUBLINGS_APART = "free_extent_doublings_apart", "doublings", "distance of free extents", Lower;
    /// Size of the new file that is written.
    NEW_FILE_BYTES = "new_file_bytes", "B", "size of a new file", Neither, new_file;
    /// Extents of a new file.
    NEW_FILE_FRAGMENTS = "new_file_fragments", "extents", "fragments of a new file", Lower, new_file, always;
    /// Time to write a new file.
    NEW_FILE_WRITE_S = "new_file_write_s", "s", "time to write a new file", Lower;
    /// Extents of a new file for each MiB.
    NEW_FILE_FRAGMENTS_PER_MIB = "new_file_fragments_per_mib", "extents/MiB", "fragments of a new file per MiB", Lower;
    /// Extents of a new file on an aged over those on a real file system.
    NEW_FILE_FRAGMENTS_OVER_REAL = "new_file_fragments_over_real", "ratio", "fragments of a new file, aged over real", Neither;

    /// Share of leaves that follow the leaf before them, in key order, on the disk.
    KEY_ORDER_LAYOUT_SCORE = "key_order_layout_score", "share", "key-order layout score", Higher, tree;
    /// Mean occupancy of leaves, as a share of the largest node.
    LEAF_OCCUPANCY = "leaf_occupancy", "share", "leaves full", Neither, tree;
    /// Mean occupancy of inner nodes.
    INNER_NODE_OCCUPANCY = "inner_node_occupancy", "share", "inner nodes full", Neither, tree;
    /// Bytes written for each byte of keys and values since the tree was created.
    TREE_WRITE_AMPLIFICATION = "tree_write_amplification", "ratio", "write amplification", Lower, tree;

    /// Operations that the aging applied.
    OPERATIONS = "operations", "operations", "operations", Neither, aging;
    /// Files that the aging created.
    CREATIONS = "creations", "files", "creations", Neither, aging;
    /// Files that the aging deleted.
    DELETIONS = "deletions", "files", "deletions", Neither, aging;
    /// Bytes that the aging wrote over the capacity.
    OVERWRITES = "overwrites", "capacities", "overwrites", Lower, aging;
    /// Fewest operations that can reach the profile.
    BOUND_OPERATIONS = "bound_operations", "operations", "lower bound of operations", Neither, aging;
    /// Overwrites of those operations.
    BOUND_OVERWRITES = "bound_overwrites", "capacities", "lower bound of overwrites", Neither, aging;
    /// Overwrites over their lower bound.
    OVERWRITES_OVER_BOUND = "overwrites_over_bound", "ratio", "overwrites over the bound", Lower;
    /// Operations applied so far.
    AGING_OPERATIONS = "aging_operations", "operations", "operations so far", Neither;
    /// Time of the aging for each GiB of capacity.
    AGING_MINUTES_PER_GIB = "aging_minutes_per_gib", "min/GiB", "aging time per GiB", Lower;
    /// Files at most as old as a share of the oldest age.
    AGE_SHARE = "age_share", "share", "files at most this old", Neither;
    /// Root-mean-square error of the shares of files by age.
    AGE_RMS_ERROR = "age_rms_error", "share", "error of ages", Lower, aging;
    /// Root-mean-square error of the shares of files by size.
    SIZE_RMS_ERROR = "size_rms_error", "share", "error of sizes", Lower, aging;
    /// Root-mean-square error of the shares of files by depth.
    DEPTH_RMS_ERROR = "depth_rms_error", "share", "error of depths", Lower, aging;
    /// Lowest p-value of the chi-square tests of age, size and depth.
    FIT_P_VALUE = "fit_p_value", "probability", "p-value of the fit", Higher, aging;
    /// Time of the replay.
    REPLAY_S = "replay_s", "s", "replay time", Lower, aging;
    /// Time to fill the surviving files with data.
    FILL_S = "fill_s", "s", "time to fill files", Lower, aging;
    /// Files at the end.
    LIVE_FILES = "live_files", "files", "live files", Neither, aging;
    /// Share of the capacity in use.
    FULLNESS = "fullness", "share", "fullness", Neither, aging;
    /// Operations that failed.
    ERRORS = "errors", "operations", "failed operations", Lower, aging;
    /// Bytes that the aged device was sent to write.
    WRITTEN_BYTES = "written_bytes", "B", "bytes written to the device", Lower;

    /// Bytes that the operations of a workload write to files.
    WORKLOAD_BYTES = "workload_bytes", "B", "bytes written by the workload", Neither;
    /// Size of a simulated file system.
    FS_BYTES = "fs_bytes", "B", "file system", Neither;
    /// Size of its blocks.
    FS_BLOCK_BYTES = "fs_block_bytes", "B", "block", Neither;
    /// Smallest piece of space that it gives to a file.
    FRAGMENT_BYTES = "fragment_bytes", "B", "fragment", Neither;
    /// Its largest transfer.
    CLUSTER_BYTES = "cluster_bytes", "B", "cluster", Neither;
    /// Its cylinder groups.
    CYLINDER_GROUPS = "cylinder_groups", "groups", "cylinder groups", Neither;
    /// Size up to which a file stays in one cylinder group.
    FIRST_SECTION_BYTES = "first_section_bytes", "B", "file in the first cylinder group", Neither;

    /// Layout score of the replayed minus that of the real file system.
    LAYOUT_SCORE_EXCESS = "layout_score_excess", "share", "layout score, replayed minus real", Neither;
    /// Layout score of the replayed over that of the real file system.
    LAYOUT_SCORE_OVER_REAL = "layout_score_over_real", "ratio", "layout score, replayed over real", Neither;
    /// Mean absolute difference of the layout scores of the replayed and the real file system, over all days so far.
    MEAN_ABS_DIFFERENCE = "mean_abs_difference", "share", "mean difference of layout scores", Lower;

    /// Rate of a phase, in modelled time.
    MODELLED_BYTES_PER_S = "*_modelled_bytes_per_s", "B/s", "rate, modelled", Higher;
    /// Rate of a phase, by the clock of the modelled disk below.
    DISK_CLOCK_BYTES_PER_S = "*_disk_clock_bytes_per_s", "B/s", "rate, clock of the modelled disk", Higher;
    /// Rate of a phase on this machine.
    WALL_BYTES_PER_S = "*_wall_bytes_per_s", "B/s", "rate, measured here", Higher;
    /// Rate at which files are created on a modelled disk.
    CREATE_BYTES_PER_S = "create_bytes_per_s", "B/s", "create rate", Higher, by_disk;
    /// Rate at which files are read from a modelled disk.
    READ_BYTES_PER_S = "read_bytes_per_s", "B/s", "read rate", Higher, by_disk;
    /// Standard deviation of the create rate.
    CREATE_BYTES_PER_S_DEVIATION = "create_bytes_per_s_deviation", "B/s", "deviation of the create rate", Lower, by_disk;
    /// Standard deviation of the read rate.
    READ_BYTES_PER_S_DEVIATION = "read_bytes_per_s_deviation", "B/s", "deviation of the read rate", Lower, by_disk;
    /// Read rate over that of the other policy.
    READ_GAIN = "read_gain", "ratio", "read rate over the other policy's", Higher, by_disk;
    /// Create rate over that of the other policy.
    CREATE_GAIN = "create_gain", "ratio", "create rate over the other policy's", Higher, by_disk;
    /// Read rate minus that of the other policy, times the doublings of the file size: the area between both lines up to this size.
    READ_GAIN_AREA = "read_gain_area", "B/s", "area between the read rates of both policies", Higher, by_disk;
    /// The same for the create rate.
    CREATE_GAIN_AREA = "create_gain_area", "B/s", "area between the create rates of both policies", Higher, by_disk;
    /// Read rate on the aged file system over that on an empty one.
    READ_AGED_OVER_EMPTY = "read_aged_over_empty", "ratio", "read rate, aged over empty", Higher, by_disk;
    /// Layout score of the files of the sequential benchmark.
    SEQUENTIAL_LAYOUT_SCORE = "sequential_layout_score", "share", "layout score of new files", Higher;
    /// Hot files.
    HOT_FILES = "hot_files", "files", "hot files", Neither;
    /// Bytes of hot files; in the allocator laboratory, their allocated space.
    HOT_BYTES = "hot_bytes", "B", "bytes of hot files", Neither;
    /// Hot files over all files.
    HOT_SHARE_OF_FILES = "hot_share_of_files", "share", "hot files of all files", Neither;
    /// Allocated bytes of hot files over those of all files.
    HOT_SHARE_OF_SPACE = "hot_share_of_space", "share", "hot files of all space", Neither;
    /// Hot files with their first data block in another cylinder group than their inode.
    HOT_SPLIT_FILES = "hot_split_files", "files", "split hot files", Lower;
    /// Layout score of hot files.
    HOT_LAYOUT_SCORE = "hot_layout_score", "share", "layout score of hot files", Higher;
    /// Rate at which hot files are read from a modelled disk.
    HOT_READ_BYTES_PER_S = "hot_read_bytes_per_s", "B/s", "read rate of hot files", Higher, by_disk;
    /// Rate at which hot files are overwritten on a modelled disk.
    HOT_WRITE_BYTES_PER_S = "hot_write_bytes_per_s", "B/s", "write rate of hot files", Higher, by_disk;
    /// Effective bandwidth of reads of one size.
    BANDWIDTH_BYTES_PER_S = "bandwidth_bytes_per_s", "B/s", "bandwidth", Higher, by_disk;
    /// Bandwidth over the best of all read sizes.
    SHARE_OF_BEST_BANDWIDTH = "share_of_best_bandwidth", "share", "share of the best bandwidth", Higher, by_disk;
    /// Smallest read size that reaches half of the best bandwidth.
    NATURAL_50_BYTES = "natural_50_bytes", "B", "read size for 50 % of the bandwidth", Lower, by_disk;
    /// Smallest read size that reaches 90 % of the best bandwidth.
    NATURAL_90_BYTES = "natural_90_bytes", "B", "read size for 90 % of the bandwidth", Lower, by_disk;

    /// Objects of a phase of the metadata benchmark.
    OBJECTS = "objects", "objects", "objects", Neither;
    /// Objects per second of a phase.
    OBJECTS_PER_S = "objects_per_s", "objects/s", "objects per second", Higher, rate;
    /// Operations per second.
    OPERATIONS_PER_S = "operations_per_s", "operations/s", "operations per second", Higher, rate, by_disk, aging;
    /// Operations per second, aged over unaged.
    OPERATIONS_RATIO = "operations_ratio", "ratio", "operations per second, aged over unaged", Higher, rate, by_disk;
    /// Data rate.
    MIB_PER_S = "mib_per_s", "MiB/s", "data rate", Higher, by_disk;
    /// Share of the time in which the disk was busy.
    DISK_SHARE = "disk_share", "share", "disk busy", Neither, by_disk;
    /// Duration of a phase.
    TIME_S = "time_s", "s", "time", Lower;
    /// Fastest over slowest rank of a phase.
    BALANCE = "balance", "%", "balance of the ranks", Higher;
    /// Objects per second of a phase, in an experiment.
    PHASE_OBJECTS_PER_S = "*_objects_per_s", "objects/s", "objects per second", Higher, rate, by_disk;
    /// Share of a phase in which the disk was busy.
    PHASE_DISK_SHARE = "*_disk_share", "share", "disk busy", Neither, by_disk;
    /// Operations per second of the benchmark phase, four for each object.
    BENCHMARK_OPERATIONS_PER_S = "benchmark_operations_per_s", "operations/s", "operations per second", Higher, rate, by_disk;
    /// Object rate of the benchmark phase over that of the precreate phase.
    BENCHMARK_OVER_PRECREATE = "benchmark_over_precreate", "ratio", "benchmark over precreate rate", Neither, rate, by_disk;
    /// Object rate of the cleanup phase over that of the precreate phase.
    CLEANUP_OVER_PRECREATE = "cleanup_over_precreate", "ratio", "cleanup over precreate rate", Neither, rate, by_disk;
    /// Distance of the object rate of the first repeat of the benchmark phase from the range of the others, over their mean; 0 within the range.
    FIRST_REPEAT_OUTSIDE = "first_repeat_outside", "share", "first repeat outside the range of the others", Neither, by_disk;
    /// Operations of one kind per second.
    OPERATION_PER_S = "*_per_s", "operations/s", "operations per second", Higher, by_disk;
    /// Quantile of the latency of operations of one kind.
    LATENCY_US = "*_us", "µs", "latency", Lower, by_disk;
    /// Operations per second of a job of fio in one direction.
    FIO_OPERATIONS_PER_S = "*_iops", "operations/s", "operations per second", Higher;
    /// Data rate of a job of fio in one direction.
    FIO_BYTES_PER_S = "*_bytes_per_s", "B/s", "data rate", Higher;
    /// Lowest latency of operations of one kind.
    LATENCY_MIN = "*_min", "µs", "lowest latency", Lower;
    /// First quartile of the latency of operations of one kind.
    LATENCY_Q1 = "*_q1", "µs", "first quartile of latency", Lower;
    /// Median latency of operations of one kind.
    LATENCY_MEDIAN = "*_median", "µs", "median latency", Lower;
    /// Third quartile of the latency of operations of one kind.
    LATENCY_Q3 = "*_q3", "µs", "third quartile of latency", Lower;
    /// 90th percentile of the latency of operations of one kind.
    LATENCY_P90 = "*_p90", "µs", "90th percentile of latency", Lower;
    /// 99th percentile of the latency of operations of one kind.
    LATENCY_P99 = "*_p99", "µs", "99th percentile of latency", Lower;
    /// 99.9th percentile of the latency of operations of one kind.
    LATENCY_P999 = "*_p999", "µs", "99.9th percentile of latency", Lower;
    /// Highest latency of operations of one kind.
    LATENCY_MAX = "*_max", "µs", "highest latency", Lower;
}

/// The quantiles of the latency of one kind of operation, ascending.
pub const LATENCIES: [&Measure; 8] = [
    &LATENCY_MIN,
    &LATENCY_Q1,
    &LATENCY_MEDIAN,
    &LATENCY_Q3,
    &LATENCY_P90,
    &LATENCY_P99,
    &LATENCY_P999,
    &LATENCY_MAX,
];
