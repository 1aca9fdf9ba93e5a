//! The metadata benchmark: many small objects are made, looked at, read and deleted by many ranks at once (Kunkel, Analysis
//! of Local File Systems Using MD-REAL-IO, 2016; Kunkel and Markomanolis, Understanding Metadata Latency with MDWorkbench,
//! 2018).
//!
//! Each rank owns data sets, and in the **precreate** phase makes objects in them. In the **benchmark** phase it goes round
//! the data sets of all ranks: it stats, reads and deletes the oldest object of one and writes a new object into another, so
//! that the number of objects stays the same and no rank works on what it has just made itself. In the **cleanup** phase it
//! deletes what its data sets hold, and the data sets.

mod apart;
mod contents;
mod error;
mod group;
mod import;
mod interface;
mod latency;
mod launch;
mod object;
mod outcome;
mod processes;
mod published;
mod rank;
mod remote;
mod run;
mod run_info;
mod samples;
mod settings;
mod tally;
mod threads;
mod timeline;
mod walk;

pub use apart::{apart, run_apart};
pub use contents::{Contents, Sizes, Wrong};
pub use error::Error;
pub use group::Group;
pub use import::{Imported, ImportedPhase, import};
pub use interface::{Failure, Interface, Null, Posix};
pub use latency::{Latencies, Op, Quantiles};
pub use launch::{Keeper, Launch, Ranks, Task, follow, member};
pub use object::{Object, Set};
pub use outcome::{LatencyBin, OpOutcome, PhaseOutcome, RankOutcome, TimeSlice};
pub use processes::{Member, Patience, Processes};
pub use published::{heading, line, rank_lines};
pub use remote::{OpenRemote, Remote, Service, no_service};
pub use run::{Watch, run};
pub use run_info::RunInfo;
pub use settings::{Phase, Phases, Settings, Stonewall, Waiting};
pub use tally::{Count, Tally};
pub use threads::{Threads, threads};
