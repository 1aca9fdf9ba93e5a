//! Measures the overhead of the metadata benchmark: nanoseconds of processor time per operation, including the latency record, on an
//! interface that does nothing. Limit: the dummy of md-workbench, 135 ns per call. Processor time does not depend on other load of the
//! machine; elapsed time does.

use ranks::threads;
use rustix::time::{ClockId, clock_gettime};
use senesce_bench::metadata::*;
use testing::{Table, verdict};

const LIMIT_NS: f64 = 135.0;

/// Finished phases, with the processor seconds of each.
#[derive(Default)]
struct Recorder {
    begun_s: f64,
    phases: Vec<(PhaseOutcome, f64)>,
}

fn processor_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

impl PhaseObserver for Recorder {
    fn phase_started(&mut self, _: Phase, _: u32) {
        self.begun_s = processor_s();
    }

    fn phase_ended(&mut self, outcome: &PhaseOutcome) -> Result<(), Error> {
        self.phases.push((outcome.clone(), processor_s() - self.begun_s));
        Ok(())
    }
}

fn main() {
    let settings = Settings { precreate: 200_000, iterations: 200_000, repeats: 1, ..Settings::default() };
    let mut group = threads(1).pop().expect("one rank");
    let mut told = Recorder::default();
    run(&settings, &mut group, &mut Null, None, &|| false, &mut told)
        .expect("the null interface does not fail");
    group.end();
    println!("limit: {LIMIT_NS} ns an operation");
    let table = Table::begin(["phase", "ns an operation", "M objects/s", "verdict"]);
    for (outcome, processor_s) in &told.phases {
        let operations: u64 = outcome.operations.values().map(|op| op.done).sum();
        let ns = processor_s * 1e9 / operations as f64;
        table.row([
            outcome.phase.name().into(),
            format!("{ns:.0}"),
            format!("{:.1}", outcome.objects_per_s / 1e6),
            verdict(ns <= LIMIT_NS).into(),
        ]);
    }
}
