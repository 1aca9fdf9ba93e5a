//! The metadata benchmark: many ranks create, stat, read and delete many small objects concurrently (Kunkel, Analysis of Local File Systems
//! Using MD-REAL-IO, 2016; Kunkel and Markomanolis, Understanding Metadata Latency with MDWorkbench, 2018).
//!
//! Each rank owns data sets and creates objects in them in the **precreate** phase. In the **benchmark** phase it iterates over the data
//! sets of all ranks: it stats, reads and deletes the oldest object of one and writes a new object into another, so that the number of
//! objects stays constant and no rank accesses objects that it has just created. In the **cleanup** phase it deletes the objects of its
//! data sets, and the data sets.

mod access_pattern;
mod backend;
mod contents;
mod error;
mod import;
mod interface;
mod latency;
mod launch;
mod object;
mod outcome;
mod published;
mod rank;
mod run;
mod run_info;
mod samples;
mod settings;
mod subprocess;
mod tally;
mod timeline;

pub use backend::{Backend, ObjectLocation};
pub use contents::{ContentGenerator, Mismatch, SizeDistribution};
pub use error::Error;
pub use import::{ImportedPhase, ImportedResults, import};
pub use interface::{Interface, InterfaceError, InterfaceKind, LocationKind, Null, Open, Posix};
pub use latency::{Latencies, Op, Quantiles};
pub use launch::{Launch, Ranks, Task, follow, rank_main};
pub use object::{DataSet, Object};
pub use outcome::{LatencyBin, OpOutcome, PhaseOutcome, RankOutcome, TimeSlice};
pub use published::{Heading, heading, phase_line, rank_lines};
pub use run::{PhaseObserver, run};
pub use run_info::RunInfo;
pub use settings::{Phase, Phases, Settings, Stonewall, WaitingFactor};
pub use subprocess::{run_in_subprocess, subprocess_main};
pub use tally::{Count, Tally};
