use super::*;
use disk::Extent;
use fs::AddressMap;
use proptest::prelude::*;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const DISK: u64 = 1 << 30;

/// Files, each a list of pieces: where they lie, and their lengths.
fn places(files: &[Vec<(u64, u64)>]) -> FilePlaces {
    let mut places = FilePlaces::default();
    for file in files {
        let extent = |&(start_bytes, len_bytes): &(u64, u64)| Extent { start_bytes, len_bytes };
        places.add(file.iter().map(extent), &AddressMap::of_device());
    }
    places.sorted()
}

fn read(start: u64, len: u64) -> Request {
    Request::read(start / 512, (len / 512) as u32)
}

/// A read of each piece of each file, one after the other.
fn reads(files: &[Vec<(u64, u64)>]) -> Vec<Request> {
    files.iter().flatten().map(|&(start, len)| read(start, len)).collect()
}

fn of(model: &str, requests: &[Request], files: &[Vec<(u64, u64)>]) -> Causes {
    let model = Model::find(model).unwrap();
    let disk = ScannedDisk { model: &model, size_bytes: DISK, flash: None };
    causes(requests, &places(files), &disk).unwrap()
}

/// The share of its cost that a scan loses without a cause.
fn saved(causes: &Causes, cause: Cause) -> f64 {
    let without = causes.without.iter().find(|without| without.cause == cause);
    1.0 - without.unwrap().total_s / causes.total_s
}

/// Whether a cause is all that makes a scan slow: the others hardly matter.
fn is_alone(causes: &Causes, cause: Cause) {
    for without in &causes.without {
        let share = saved(causes, without.cause);
        assert_eq!(share > 0.2, without.cause == cause, "{:?} saves {share} of {causes:?}", without.cause);
    }
}

#[test]
fn files_in_pieces_are_told_from_files_out_of_order() {
    // Ten files of a hundred pieces, of which each is far from the next.
    let torn: Vec<_> =
        (0..10).map(|file| (0..100).map(|n| (n * 10 * MIB + file * 64 * KIB, 64 * KIB)).collect()).collect();
    is_alone(&of("hdd-7200", &reads(&torn), &torn), Cause::Pieces);
    // A thousand whole files, of which each is far from the next that is read.
    let scattered: Vec<_> = (0..1000).map(|n| vec![(n * 387 % 1000 * 64 * KIB, 64 * KIB)]).collect();
    is_alone(&of("hdd-7200", &reads(&scattered), &scattered), Cause::Order);
}

#[test]
fn metadata_beside_the_data_costs_its_seeks() {
    let files: Vec<_> = (0..500).map(|n| vec![(n * 64 * KIB, 64 * KIB)]).collect();
    let with_inodes: Vec<_> = reads(&files)
        .into_iter()
        .enumerate()
        .flat_map(|(n, file)| [read(900 * MIB + n as u64 * 4 * KIB, 4 * KIB), file])
        .collect();
    let found = of("hdd-7200", &with_inodes, &files);
    is_alone(&found, Cause::Metadata);
    assert_eq!((found.file_bytes, found.metadata_bytes), (500 * 64 * KIB, 500 * 4 * KIB));
}

#[test]
fn split_requests_cost_commands() {
    // A whole file of which some reads are short, and a scattered one which shows how long reads can be.
    let file = vec![vec![(0, 64 * MIB)], vec![(512 * MIB, MIB)]];
    let mut requests: Vec<_> = (0..64 * MIB / (4 * KIB)).map(|n| read(n * 4 * KIB, 4 * KIB)).collect();
    requests.push(read(512 * MIB, MIB));
    is_alone(&of("ssd-nvme", &requests, &file), Cause::Splitting);
}

#[test]
fn pages_on_one_die_collide() {
    // Pages that are all on the same die of `ssd-sata`: multiples of its dies.
    let apart = 16 * KIB * 256;
    let file: Vec<Vec<(u64, u64)>> = vec![(0..200).map(|n| (n * apart, 16 * KIB)).collect()];
    let mut requests = reads(&file);
    for (n, request) in requests.iter_mut().enumerate() {
        request.queue = (n as u32 + 1).min(32);
    }
    let found = of("ssd-sata", &requests, &file);
    assert!(saved(&found, Cause::DieCollisions) > 0.5, "{found:?}");
    let whole: Vec<Vec<(u64, u64)>> = vec![(0..200).map(|n| (n * 16 * KIB, 16 * KIB)).collect()];
    let found = of(
        "ssd-sata",
        &requests
            .iter()
            .zip(reads(&whole))
            .map(|(issued, read)| Request { queue: issued.queue, ..read })
            .collect::<Vec<_>>(),
        &whole,
    );
    assert!(saved(&found, Cause::DieCollisions).abs() < 0.05, "{found:?}");
    assert!(found.without.iter().all(|without| without.cause != Cause::FlashOrder), "no translation layer");
}

#[test]
fn disks_with_heads_have_no_dies() {
    let files = vec![vec![(0, MIB)]];
    let found = of("hdd-7200", &reads(&files), &files);
    let names: Vec<Cause> = found.without.iter().map(|without| without.cause).collect();
    assert_eq!(names, [Cause::Pieces, Cause::Order, Cause::Metadata, Cause::Splitting]);
}

#[test]
fn a_log_of_other_addresses_has_no_causes() {
    let model = Model::find("hdd-7200").unwrap();
    let disk = ScannedDisk { model: &model, size_bytes: DISK, flash: None };
    assert_eq!(causes(&[read(MIB, MIB)], &places(&[vec![(0, MIB)]]), &disk), None);
}

#[test]
fn shared_data_belongs_to_one_file() {
    let places = places(&[vec![(0, 8 * KIB)], vec![(4 * KIB, 8 * KIB)]]);
    let parts = places.parts(0, 16 * KIB);
    let found: Vec<_> = parts
        .iter()
        .map(|(start, end, data)| (*start, *end, data.map(|data| (data.file, data.offset))))
        .collect();
    assert_eq!(
        found,
        [(0, 8 * KIB, Some((0, 0))), (8 * KIB, 12 * KIB, Some((1, 4 * KIB))), (12 * KIB, 16 * KIB, None)]
    );
}

/// Files of pieces that do not overlap, and requests for any range.
fn trees() -> impl Strategy<Value = (Vec<Vec<(u64, u64)>>, Vec<Request>)> {
    let pieces = prop::collection::vec((0u64..4, 1u64..8, 0usize..5), 1..40);
    let requests = prop::collection::vec((0u64..300, 1u64..16, 1u32..5, any::<bool>()), 1..60);
    (pieces, requests).prop_map(|(pieces, requests)| {
        let mut files = vec![Vec::new(); 5];
        let mut at = 0;
        for (gap, len, file) in pieces {
            files[file].push(((at + gap) * 4 * KIB, len * 4 * KIB));
            at += gap + len;
        }
        // Pieces of a file lie in any order.
        files.iter_mut().step_by(2).for_each(|pieces| pieces.reverse());
        let request = |(start, len, queue, writes)| {
            let kind = if writes { disk::RequestKind::Write } else { disk::RequestKind::Read };
            Request { kind, queue, ..read(start * 4 * KIB, len * 4 * KIB) }
        };
        (files, requests.into_iter().map(request).collect())
    })
}

proptest! {
    /// Each byte of a request is in one part, and in the file that lies there.
    #[test]
    fn parts_cover_a_request((files, requests) in trees()) {
        let places = places(&files);
        for request in requests {
            let (start, end) = (request.sector * 512, request.end_sector() * 512);
            let parts = places.parts(start, end);
            prop_assert_eq!(parts[0].0, start);
            prop_assert_eq!(parts.last().unwrap().1, end);
            prop_assert!(parts.windows(2).all(|pair| pair[0].1 == pair[1].0));
            for (start, end, data) in parts {
                let at = (start + end) / 2;
                let here = files.iter().filter(|pieces| !pieces.is_empty()).position(|pieces| pieces.iter().any(|(from, len)| (*from..from + len).contains(&at)));
                prop_assert_eq!(data.map(|data| data.file as usize), here);
            }
        }
    }

    /// Files in one piece are on the disk and do not overlap.
    #[test]
    fn files_in_one_piece_do_not_overlap((files, _) in trees(), spare in 0u64..64) {
        let bytes: u64 = files.iter().flatten().map(|(_, len)| len).sum();
        let end = files.iter().flatten().map(|(start, len)| start + len).max().unwrap();
        let size = end.max(bytes) + spare * 4 * KIB;
        let starts = places(&files).in_one_piece(size);
        let lens = files.iter().filter(|pieces| !pieces.is_empty()).map(|pieces| pieces.iter().map(|(_, len)| len).sum::<u64>());
        let mut ranges: Vec<(u64, u64)> = starts.into_iter().zip(lens).map(|(start, len)| (start, start + len)).collect();
        ranges.sort_unstable();
        prop_assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        prop_assert!(ranges.last().unwrap().1 <= size);
    }

    /// Whatever was read has finite costs.
    #[test]
    fn any_log_has_causes((files, requests) in trees()) {
        for model in ["hdd-7200", "ssd-crucial-m4", "smr"] {
            let model = Model::find(model).unwrap();
            let disk = ScannedDisk { model: &model, size_bytes: DISK, flash: None };
            if let Some(found) = causes(&requests, &places(&files), &disk) {
                prop_assert!(found.without.iter().all(|without| without.total_s.is_finite() && without.total_s > 0.0 || without.cause == Cause::Metadata));
                let read: u64 = requests.iter().filter(|request| request.kind == disk::RequestKind::Read).map(|request| u64::from(request.sectors) * 512).sum();
                prop_assert_eq!(found.file_bytes + found.metadata_bytes, read);
            }
        }
    }

    #[test]
    fn perfect_files_have_no_pieces_and_no_order(lens in prop::collection::vec(1u64..64, 1..30)) {
        let mut at = 0;
        let files: Vec<_> = lens.iter().map(|len| {
            at += len * 4 * KIB;
            vec![(at - len * 4 * KIB, len * 4 * KIB)]
        }).collect();
        let found = of("hdd-7200", &reads(&files), &files);
        for cause in [Cause::Pieces, Cause::Order, Cause::Metadata] {
            prop_assert_eq!(saved(&found, cause), 0.0);
        }
    }
}
