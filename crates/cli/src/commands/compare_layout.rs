//! `senesce compare-layout`.

use crate::args::CompareLayout;
use crate::output::{self, number};
use crate::progress::Progress;
use anyhow::Result;
use run::Distances;
use run::compare_layout::{CompareLayoutSpec, LayoutComparison, Look, NewFileSize, Subject, compare_layout};

pub fn run(args: &CompareLayout) -> Result<()> {
    let spec = CompareLayoutSpec {
        subjects: [Subject::find(&args.a)?, Subject::find(&args.b)?],
        new_file: match (args.no_new_file, args.new_file) {
            (true, _) => NewFileSize::None,
            (false, Some(bytes)) => NewFileSize::Bytes(bytes),
            (false, None) => NewFileSize::Published,
        },
        scratch: args.scratch.scratch.clone().unwrap_or_else(std::env::temp_dir),
    };
    let mut progress = Progress::new();
    let found = compare_layout(&spec, &mut progress)?;
    drop(progress);
    if args.json { output::json(&found) } else { show(&found) }
}

fn show(found: &LayoutComparison) -> Result<()> {
    let [a, b] = &found.sides;
    let count = |value: Option<u64>| value.map_or_else(|| "–".to_owned(), |value| value.to_string());
    let row = |what: &str, of: &dyn Fn(&Look) -> String| vec![what.to_owned(), of(a), of(b)];
    output::table(
        &["", &a.name, &b.name],
        [
            row("file system", &|side| side.fs.clone()),
            row("capacity", &|side| input::bytes(side.capacity_bytes)),
            row("fullness", &|side| number(Some(side.fullness))),
            row("files", &|side| side.census.files.to_string()),
            row("layout score", &|side| number(side.layout.as_ref().and_then(|layout| layout.layout_score))),
            row("degree of fragmentation", &|side| {
                number(side.layout.as_ref().and_then(|layout| layout.degree_of_fragmentation))
            }),
            row("free extents", &|side| count(side.free.as_ref().map(|free| free.extents))),
            row("their mean", &|side| {
                side.free.as_ref().map_or_else(|| "–".to_owned(), |free| input::bytes(free.mean_bytes as u64))
            }),
            row("fragments of a new file", &|side| count(side.new_file.map(|new| new.fragments))),
            row("its size", &|side| {
                side.new_file.map_or_else(|| "–".to_owned(), |new| input::bytes(new.bytes))
            }),
        ],
    )?;
    output::line("")?;
    let distance_row = |what: &str, distances: Option<Distances>| {
        let [doublings, ks] = [
            distances.map(|distances| distances.earth_mover_doublings),
            distances.map(|distances| distances.kolmogorov_smirnov),
        ];
        vec![what.to_owned(), number(doublings), number(ks)]
    };
    output::table(
        &["distance", "earth mover's, in doublings", "Kolmogorov-Smirnov"],
        [
            distance_row("free extents", found.apart.free_extents),
            distance_row("free bytes, by extent size", found.apart.free_bytes),
            distance_row("extents of files", found.apart.file_extents),
        ],
    )?;
    output::line("")?;
    output::table(
        &["extents from", "free", "free", "of files", "of files"],
        found.histogram().into_iter().map(|(lower, counts)| {
            let cells = counts.map(|count| count.to_string());
            [&[input::bytes(lower)][..], &cells].concat()
        }),
    )?;
    output::line("")?;
    output::table(
        &["size up to", "files", "files", "layout score", "layout score"],
        found.by_size.iter().map(|class| {
            let [x, y] = class.files.map(|files| files.to_string());
            let [s, t] = class.scores.map(number);
            vec![input::bytes(class.upper_bytes), x, y, s, t]
        }),
    )?;
    for side in &found.sides {
        for why in &side.not_measured {
            output::line(&format!("{}, not measured: {why}", side.name))?;
        }
    }
    Ok(())
}
