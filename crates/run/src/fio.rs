//! Runs job files of fio (Axboe) on an aged file system and its unaged copy, or on a single one: the real program, in a separate directory,
//! with its full output in the store.

use crate::Error;
use crate::aged_pair::{self, Measured, Plan, RunPlan, Subject, Turn, UnagedSide, named};
use crate::compare::SUBJECTS;
use crate::rollback::Restored;
use results::measures::{self, Measure};
use results::{Interval, Measurement, Watch, median_interval};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Parameters of a run of fio.
#[derive(Clone, Debug)]
pub struct FioSpec {
    /// The job file.
    pub job: PathBuf,
    /// The subject.
    pub on: Subject,
    /// Whether to compare an aged file system with its unaged copy.
    pub against: bool,
    /// Disk model that an aged image is copied to: a built-in name or a TOML file.
    pub disk: Option<String>,
    /// Number of repetitions on each side.
    pub repeat: u64,
    /// The full command line, for the record.
    pub command: String,
}

/// The result of a run of fio.
#[derive(Clone, Debug, Serialize)]
pub struct FioOutcome {
    /// The subject: the name of an aged file system, or a path.
    pub name: String,
    /// How the subject was rolled back.
    #[serde(flatten)]
    pub kept: Restored,
    /// The model of the modelled disk below; `None` on a disk of this machine.
    pub modelled_disk: Option<String>,
    /// Version of fio.
    pub fio_version: String,
    /// Each job in each direction with a nonzero amount of data.
    pub jobs: Vec<FioJob>,
}

/// A job in one direction.
#[derive(Clone, Debug, Serialize)]
pub struct FioJob {
    /// Its name in the job file.
    pub job: String,
    /// `read`, `write` or `trim`.
    pub direction: String,
    /// The sides: `aged` and `unaged`, or `alone`.
    pub sides: BTreeMap<&'static str, FioSide>,
    /// Operations per second, aged over unaged, paired by repetition; `None` if there is only one side.
    pub iops_ratio: Option<Interval>,
}

/// A job on one side: medians of the repetitions.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FioSide {
    /// Operations per second.
    pub iops: Interval,
    /// Bytes per second.
    pub bytes_per_s: Interval,
    /// 99th percentile of the completion latency, in microseconds, if fio reports it.
    pub p99_us: Option<Interval>,
    /// Maximum completion latency, likewise.
    pub max_us: Option<Interval>,
}

/// The directions of fio.
const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

/// Runs a job file.
pub fn fio(spec: &FioSpec, watch: &mut dyn Watch) -> Result<FioOutcome, Error> {
    let job = std::fs::canonicalize(&spec.job).map_err(Error::io("opening the job file", &spec.job))?;
    let text = input::read_to_string(&job).map_err(Error::io("reading the job file", &job))?;
    stays(&text).map_err(|why| Error::Refused(format!("{}: {why}", spec.job.display())))?;
    disk::require_tool("fio", "fio")?;
    let run = RunPlan {
        kind: "fio",
        seed: None,
        parameters: serde_json::json!({ "job": text, "repeat": spec.repeat, "disk": spec.disk }),
        command: &spec.command,
        resume: false,
    };
    let unaged = spec.against.then_some(UnagedSide::Copy);
    let plan = Plan::benchmark(Some(run), &spec.on, unaged, spec.disk.as_deref());
    let measured =
        aged_pair::measure(&plan, watch, |pair| pair.each("fio", spec.repeat, |turn| once(&job, turn)))?;
    Ok(outcome(measured))
}

/// Refuses a job file that may access files outside of its directory.
fn stays(text: &str) -> Result<(), String> {
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        let (key, value) =
            line.split_once('=').unwrap_or((line.split_whitespace().next().unwrap_or(""), line));
        let (key, value) = (key.trim(), value.trim());
        let said = match key {
            "directory" | "opendir" | "include" | "exec_prerun" | "exec_postrun" => {
                format!("{key:?} is not allowed, as each job runs in its own directory; remove it")
            }
            "filename" | "filename_format"
                if value.split(':').any(|name| name.starts_with('/') || name.contains("..")) =>
            {
                format!(
                    "{key} = {value:?} is outside the directory of the job; use file names without a path"
                )
            }
            _ => continue,
        };
        return Err(said);
    }
    Ok(())
}

/// Runs fio once on one side, from a cold cache.
fn once(job: &Path, turn: &mut Turn) -> Result<Value, Error> {
    let dir = turn.own_dir()?;
    turn.target.drop_caches()?;
    let mut command = disk::command("fio");
    command.arg("--output-format=json").arg(job).current_dir(dir.path()).stdin(Stdio::null());
    let output = disk::run_tool(&mut command, "fio")?;
    let report = String::from_utf8_lossy(&output.stdout);
    // Notes of fio may precede its JSON output.
    let report = report.find('{').and_then(|at| serde_json::from_str::<Value>(&report[at..]).ok());
    if disk::interrupted() {
        return Err(Error::Interrupted("this repetition is discarded".to_owned()));
    }
    let Some(report) = report.filter(|_| output.status.success()) else {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("no output");
        return Err(Error::Failed(format!("fio of {} failed: {last}", job.display())));
    };
    turn.record(&numbers(&report, turn.subject, turn.repetition))?;
    turn.record_repetition("fio", &report)?;
    Ok(report)
}

/// The jobs of a run with a nonzero amount of data, by name and direction.
fn jobs(report: &Value) -> impl Iterator<Item = (&str, &'static str, &Value)> {
    let jobs = report.get("jobs").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    jobs.iter().flat_map(|job| {
        let name = job.get("jobname").and_then(Value::as_str).unwrap_or("job");
        DIRECTIONS.into_iter().filter_map(move |direction| {
            let moved = job.get(direction)?;
            (moved.get("io_bytes")?.as_u64()? > 0).then_some((name, direction, moved))
        })
    })
}

fn value(of: &Value, pointer: &str) -> Option<f64> {
    of.pointer(pointer)?.as_f64()
}

/// A value that fio reports for a job in one direction.
struct Reported {
    measure: Measure,
    /// The suffix of the name of the job and direction.
    quantile: &'static str,
    /// Location of the value in the report.
    pointer: &'static str,
    /// The divisor.
    over: f64,
}

const REPORTED: [Reported; 4] = [
    Reported { measure: measures::FIO_OPERATIONS_PER_S, quantile: "", pointer: "/iops", over: 1.0 },
    Reported { measure: measures::FIO_BYTES_PER_S, quantile: "", pointer: "/bw_bytes", over: 1.0 },
    Reported {
        measure: measures::LATENCY_US,
        quantile: "_p99",
        pointer: "/clat_ns/percentile/99.000000",
        over: 1e3,
    },
    Reported { measure: measures::LATENCY_US, quantile: "_max", pointer: "/clat_ns/max", over: 1e3 },
];

fn numbers(report: &Value, subject: &str, repetition: u64) -> Vec<Measurement> {
    let of_job = |(job, direction, moved): (&str, &'static str, &Value)| {
        let one = |Reported { measure, quantile, pointer, over }: Reported| {
            let measure = measure.of(&format!("{job}_{direction}{quantile}"));
            value(moved, pointer).map(|value| measure.measurement(subject, repetition, value / over))
        };
        REPORTED.into_iter().filter_map(one).collect::<Vec<_>>()
    };
    jobs(report).flat_map(of_job).collect()
}

fn outcome(measured: Measured<Vec<(&'static str, Vec<Value>)>>) -> FioOutcome {
    let Measured { name, restored, disk, result: sides } = measured;
    let first = &sides[0].1[0];
    let version = first.get("fio version").and_then(Value::as_str).unwrap_or("unknown").to_owned();
    let mut found_jobs = Vec::new();
    for (job, direction, _) in jobs(first) {
        let values = |runs: &[Value], Reported { pointer, over, .. }: &Reported| -> Vec<f64> {
            let of = |run: &Value| {
                let found = jobs(run).find(|(name, way, _)| (*name, *way) == (job, direction))?;
                value(found.2, pointer).map(|value| value / over)
            };
            runs.iter().filter_map(of).collect()
        };
        let side = |runs: &[Value]| {
            let [iops, bytes, p99, max] = REPORTED.map(|reported| median_interval(&values(runs, &reported)));
            Some(FioSide { iops: iops?, bytes_per_s: bytes?, p99_us: p99, max_us: max })
        };
        let of = |subject: &str| {
            sides.iter().find(|(found, _)| *found == subject).map(|(_, runs)| values(runs, &REPORTED[0]))
        };
        let ratio = of(SUBJECTS[0]).zip(of(SUBJECTS[1])).and_then(|(aged, unaged)| {
            median_interval(&aged.iter().zip(&unaged).map(|(aged, unaged)| aged / unaged).collect::<Vec<_>>())
        });
        found_jobs.push(FioJob {
            job: job.to_owned(),
            direction: direction.to_owned(),
            sides: sides.iter().filter_map(|(subject, runs)| Some((named(subject), side(runs)?))).collect(),
            iops_ratio: ratio,
        });
    }
    FioOutcome { name, kept: restored, modelled_disk: disk, fio_version: version, jobs: found_jobs }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn job_files_with_access_outside_are_refused() {
        stays("[global]\nsize=1m\nfilename=a:b\n# directory=/x\n[job]\nrw=read").unwrap();
        for (text, said) in [
            ("[j]\ndirectory=/tmp", "directory"),
            ("[j]\n filename = /dev/sda", "/dev/sda"),
            ("[j]\nfilename=a:../b", "is outside"),
            ("include other.fio", "include"),
        ] {
            assert!(stays(text).unwrap_err().contains(said), "{text}");
        }
    }

    #[test]
    fn reported_values_are_found() {
        let report = |iops: f64| {
            serde_json::json!({
                "fio version": "fio-3.33",
                "jobs": [{
                    "jobname": "j",
                    "read": { "io_bytes": 4096, "iops": iops, "bw_bytes": 1000, "clat_ns": { "max": 5000, "percentile": { "99.000000": 4000 } } },
                    "write": { "io_bytes": 0, "iops": 0.0 },
                }],
            })
        };
        let numbers = numbers(&report(10.0), "aged", 2);
        let names: Vec<_> = numbers.iter().map(|n| (n.measure.as_str(), n.value)).collect();
        assert_eq!(
            names,
            [
                ("j_read_iops", 10.0),
                ("j_read_bytes_per_s", 1000.0),
                ("j_read_p99_us", 4.0),
                ("j_read_max_us", 5.0)
            ]
        );
        let restored = Restored { method: crate::RollbackMethod::Copied, sha256: None, restored_bytes: None };
        let sides =
            vec![("aged", vec![report(10.0), report(30.0)]), ("unaged", vec![report(20.0), report(40.0)])];
        let outcome = outcome(Measured { name: "a".to_owned(), restored, disk: None, result: sides });
        assert_eq!(outcome.jobs.len(), 1);
        assert_eq!(outcome.jobs[0].iops_ratio.unwrap().median, 0.625);
        assert_eq!(outcome.jobs[0].sides["aged"].iops.median, 20.0);
    }

    proptest! {
        #[test]
        fn any_job_file_is_parsed_without_panic(text in "(\\PC|\n|=){0,200}") {
            let _ = stays(&text);
        }

        #[test]
        fn any_output_is_parsed_without_panic(text in "[\\[\\]{}\":,a-z0-9. ]{0,200}") {
            if let Ok(report) = serde_json::from_str::<Value>(&text) {
                numbers(&report, "", 1);
            }
        }
    }
}
