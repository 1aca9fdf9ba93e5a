//! Output with the layout of Listing 1 of the report (Kunkel 2016, section 2.3), without times of day. What md-workbench adds follows at the
//! end of a line.

use super::latency::{Op, Quantiles};
use super::outcome::{PhaseOutcome, RankOutcome};
use super::settings::{Phase, Settings};
use std::fmt::Write as _;

/// What is printed above the phases, besides the settings.
#[derive(Clone, Copy, Default, Debug)]
pub struct Heading<'a> {
    /// The interface.
    pub interface: &'a str,
    /// Where the objects are; empty if nowhere.
    pub root: &'a str,
    /// Number of ranks.
    pub ranks: u32,
    /// Maximum free memory during the run, in bytes, if limited.
    pub free_memory_bytes: Option<u64>,
    /// Maximum free memory between phases, in bytes, if limited.
    pub free_memory_between_bytes: Option<u64>,
    /// Whether the results of each rank are printed.
    pub process_reports: bool,
}

/// The text above the phases: the settings, under their published names.
pub fn heading(settings: &Settings, heading: &Heading) -> String {
    let Settings { data_sets, precreate, iterations, repeats, offset, start_item, phases, .. } = settings;
    let repeated = settings.waiting.factors().len() as u64 * u64::from(*repeats);
    let objects = u64::from(*data_sets) * (iterations * repeated + precreate) * u64::from(heading.ranks);
    let mib = |bytes: Option<u64>| bytes.unwrap_or(0) >> 20;
    let mut lines = vec![
        format!("offset={offset}"),
        format!("interface={}", heading.interface),
        format!("obj-per-proc={iterations}"),
        format!("precreate-per-set={precreate}"),
        format!("data-sets={data_sets}"),
        format!("lim-free-mem={}", mib(heading.free_memory_bytes)),
        format!("lim-free-mem-phase={}", mib(heading.free_memory_between_bytes)),
        format!("object-size={:.0}", settings.object_size.mean_bytes()),
        format!("iterations={repeats}"),
        format!("start-index={start_item}"),
    ];
    let switches = [
        ("run-precreate", phases.precreate),
        ("run-benchmark", phases.benchmark),
        ("run-cleanup", phases.cleanup),
        ("process-reports", heading.process_reports),
    ];
    lines.extend(switches.iter().filter(|(_, on)| *on).map(|(name, _)| (*name).to_owned()));
    if !heading.root.is_empty() {
        lines.extend([String::new(), format!("root-dir={}", heading.root)]);
    }
    let indented = |line: &String| if line.is_empty() { "\n".to_owned() } else { format!("\t{line}\n") };
    let version = env!("CARGO_PKG_VERSION");
    let lines: String = lines.iter().map(indented).collect();
    format!("MD-REAL-IO total objects: {objects} (version: senesce {version})\n{lines}\n")
}

/// The line of a phase.
pub fn phase_line(outcome: &PhaseOutcome) -> String {
    let mut text = rates(
        outcome.phase,
        &Rates {
            data_sets: outcome.data_sets,
            objects: outcome.objects,
            objects_per_s: outcome.objects_per_s,
            mib_per_s: outcome.mib_per_s,
            time_s: outcome.time_s,
            errors: outcome.errors,
        },
    );
    if let Some(iterations) = outcome.stonewall_iterations {
        write!(text, " stonewall-iter:{iterations}").expect("writing to memory succeeds");
    }
    if outcome.waiting > 0.0 {
        write!(text, " waiting_factor:{:.2}", outcome.waiting).expect("writing to memory succeeds");
    }
    quantiles(&mut text, |op| outcome.latency_us.get(op.name()).copied());
    text
}

/// The lines of each rank.
pub fn rank_lines(outcome: &PhaseOutcome) -> impl Iterator<Item = String> + '_ {
    outcome.ranks.iter().map(|rank: &RankOutcome| {
        let numbers = rates(
            outcome.phase,
            &Rates {
                data_sets: rank.data_sets,
                objects: rank.objects,
                objects_per_s: rank.objects_per_s,
                mib_per_s: rank.mib_per_s,
                time_s: rank.time_s,
                errors: rank.errors,
            },
        );
        let mut text = format!("{}: {numbers}", rank.rank);
        quantiles(&mut text, |op| rank.latency_us.get(op.name()).copied());
        text
    })
}

/// The numbers of a line.
struct Rates {
    data_sets: u64,
    objects: u64,
    objects_per_s: f64,
    mib_per_s: f64,
    time_s: f64,
    errors: u64,
}

fn rates(phase: Phase, rates: &Rates) -> String {
    let Rates { data_sets, objects, objects_per_s, mib_per_s, time_s, errors } = rates;
    let sets_per_s = if *time_s > 0.0 { *data_sets as f64 / time_s } else { 0.0 };
    let name = phase.name();
    match phase {
        Phase::Precreate => format!(
            "{name} {time_s:.1}s {data_sets} dset {objects} obj {sets_per_s:.3} dset/s {objects_per_s:.1} obj/s \
             {mib_per_s:.1} Mib/s ({errors} errs)"
        ),
        Phase::Benchmark => format!(
            "{name} {time_s:.1}s {objects} obj {objects_per_s:.1} obj/s {mib_per_s:.1} Mib/s ({errors} errs)"
        ),
        Phase::Cleanup => format!(
            "{name} {time_s:.1}s {objects} obj {data_sets} dset {objects_per_s:.1} obj/s {sets_per_s:.3} dset/s \
             ({errors} errs)"
        ),
    }
}

/// Minimum, quartiles, 90 %, 99 % and maximum of each operation, in seconds.
fn quantiles(text: &mut String, of: impl Fn(Op) -> Option<Quantiles>) {
    for op in [Op::Read, Op::Stat, Op::Create, Op::Delete] {
        let Some(q) = of(op) else { continue };
        let values =
            [q.min, q.q1, q.median, q.q3, q.p90, q.p99, q.max].map(|us| format!("{:.4e}s", us / 1e6));
        write!(text, " {}({})", op.name(), values.join(", ")).expect("writing to memory succeeds");
    }
}
