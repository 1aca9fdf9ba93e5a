//! What the metadata benchmark itself costs: nanoseconds an operation, its latency record included, on an interface that
//! only pretends. Limit: the dummy of md-workbench, 135 ns a call.

use senesce_bench::metadata::*;

const LIMIT_NS: f64 = 135.0;

struct Told(Vec<PhaseOutcome>);

impl Watch for Told {
    fn begins(&mut self, _: Phase, _: u32) {}

    fn ended(&mut self, outcome: &PhaseOutcome) -> Result<(), Error> {
        self.0.push(outcome.clone());
        Ok(())
    }
}

fn main() {
    let settings = Settings { precreate: 200_000, iterations: 200_000, repeats: 3, ..Settings::default() };
    let mut group = threads(1).pop().expect("one rank");
    let mut told = Told(Vec::new());
    run(&settings, &mut group, &mut Null, None, &|| false, &mut told).expect("nothing can fail");
    group.end();
    for outcome in &told.0 {
        let operations: u64 = outcome.operations.values().map(|op| op.done).sum();
        let ns = outcome.time_s * 1e9 / operations as f64;
        let verdict = if ns <= LIMIT_NS { "PASS" } else { "MISS" };
        println!(
            "{:<10} {ns:>6.1} ns an operation, {:.2} M objects/s  {verdict}",
            outcome.phase.name(),
            outcome.objects_per_s / 1e6
        );
    }
}
