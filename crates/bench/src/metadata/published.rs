//! Output in the format of md-workbench, for scripts that parse it: phase, objects per second, MiB per second and errors are where its
//! importer expects them (`results-in-db.py`).

use super::latency::{Op, Quantiles};
use super::outcome::{PhaseOutcome, RankOutcome};
use super::settings::{Phase, Settings};
use std::fmt::Write as _;

/// The text before the phases: the settings, under their published names.
pub fn heading(settings: &Settings, interface: &str, ranks: u32) -> String {
    let Settings { data_sets, precreate, iterations, repeats, offset, .. } = settings;
    let phases = settings.waiting.factors().len() as u64 * u64::from(*repeats);
    let objects = u64::from(*data_sets) * (iterations * phases + precreate) * u64::from(ranks);
    let size = settings.object_size.mean_bytes();
    let mib = f64::from(ranks) * f64::from(*data_sets) * *precreate as f64 * size / (1u64 << 20) as f64;
    let mut text = format!("Total objects: {objects} workingset size: {mib:.3} MiB\n");
    for (name, value) in [
        ("offset", offset.to_string()),
        ("interface", interface.to_owned()),
        ("obj-per-proc", iterations.to_string()),
        ("precreate-per-set", precreate.to_string()),
        ("data-sets", data_sets.to_string()),
        ("object-size", format!("{size:.0}")),
        ("iterations", repeats.to_string()),
        ("start-item", settings.start_item.to_string()),
        ("processes", ranks.to_string()),
    ] {
        writeln!(text, "\t{name}={value}").expect("writing to memory succeeds");
    }
    text.push('\n');
    text
}

/// The line of a phase.
pub fn phase_line(outcome: &PhaseOutcome) -> String {
    let mut text = format!(
        "{} process max:{:.2}s min:{:.1}s mean: {:.1}s balance:{:.1} stddev:{:.1} ",
        outcome.phase.name(),
        outcome.time_s,
        outcome.time_min_s,
        outcome.time_mean_s,
        outcome.balance,
        outcome.time_stddev_s
    );
    rates(
        &mut text,
        outcome.phase,
        &Rates {
            operations_per_s: outcome.operations_per_s,
            data_sets: outcome.data_sets,
            objects: outcome.objects,
            objects_per_s: outcome.objects_per_s,
            mib_per_s: outcome.mib_per_s,
            time_s: outcome.time_s,
            max_us: outcome.latency_max_us(),
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
        let mut text = format!("{}: {} process max:{:.2}s ", rank.rank, outcome.phase.name(), rank.time_s);
        rates(
            &mut text,
            outcome.phase,
            &Rates {
                operations_per_s: rank.operations_per_s,
                data_sets: rank.data_sets,
                objects: rank.objects,
                objects_per_s: rank.objects_per_s,
                mib_per_s: rank.mib_per_s,
                time_s: rank.time_s,
                max_us: rank.latency_max_us,
                errors: rank.errors,
            },
        );
        quantiles(&mut text, |op| rank.latency_us.get(op.name()).copied());
        text
    })
}

/// The numbers in the middle of a line.
struct Rates {
    operations_per_s: f64,
    data_sets: u64,
    objects: u64,
    objects_per_s: f64,
    mib_per_s: f64,
    time_s: f64,
    max_us: f64,
    errors: u64,
}

fn rates(text: &mut String, phase: Phase, rates: &Rates) {
    let Rates { operations_per_s, data_sets, objects, objects_per_s, mib_per_s, time_s, max_us, errors } =
        rates;
    let sets_per_s = if *time_s > 0.0 { *data_sets as f64 / time_s } else { 0.0 };
    let max_s = max_us / 1e6;
    write!(text, "rate:{operations_per_s:.1} iops/s ").expect("writing to memory succeeds");
    let write = match phase {
        Phase::Precreate => write!(
            text,
            "dsets: {data_sets} objects:{objects} rate:{sets_per_s:.3} dset/s rate: {objects_per_s:.1} obj/s \
             op-max:{max_s:.4e}s tp: {mib_per_s:.1} Mib/s"
        ),
        Phase::Benchmark => write!(
            text,
            "objects:{objects} rate: {objects_per_s:.1} obj/s op-max:{max_s:.4e}s tp: {mib_per_s:.1} Mib/s"
        ),
        Phase::Cleanup => write!(
            text,
            "objects:{objects} dsets: {data_sets} rate:{sets_per_s:.3} dset/s rate: {objects_per_s:.1} obj/s \
             op-max:{max_s:.4e}s"
        ),
    };
    write.expect("writing to memory succeeds");
    let alarm = if *errors > 0 { "!!!" } else { "" };
    write!(text, " ({errors} errs{alarm})").expect("writing to memory succeeds");
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
