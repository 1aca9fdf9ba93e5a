//! `senesce image`.

use super::{aged, vm_dispatch};
use crate::args::{ImageAction, SavedImage};
use crate::config;
use crate::output::{self, number};
use crate::progress::Progress;
use anyhow::{Result, bail};
use run::library::{self, About, Catalogue, Image, Key, Library, RestoreTo, SaveSpec};
use serde_json::json;
use std::path::{Path, PathBuf};

pub fn run(action: &ImageAction) -> Result<()> {
    let mut progress = Progress::new();
    match action {
        ImageAction::Save { name, work, to, json } => {
            let default = config::work_dir();
            let is_name = name.parent().is_none_or(|parent| parent.as_os_str().is_empty());
            let (work, name) = aged::locate(work.as_deref().or(is_name.then_some(default)), name)?;
            let spec = SaveSpec { work, name, to: to.clone() };
            if let Some(dispatch) = vm_dispatch::for_save(&spec)? {
                return vm_dispatch::run(&dispatch);
            }
            let saved = library::save(&spec, &mut progress)?;
            drop(progress);
            if *json {
                return output::json(&saved);
            }
            let (contents, bytes) = (saved.contents, input::bytes);
            output::line(&format!(
                "{}: {} of {} in {}; {} are regenerated at restore, {} were unused",
                saved.file.display(),
                bytes(contents.literal_bytes),
                bytes(contents.size_bytes),
                bytes(saved.file_bytes),
                bytes(contents.regenerated_bytes),
                bytes(contents.unused_bytes)
            ))
        }
        ImageAction::Restore { image, work, to } => {
            let to = match to {
                Some(file) => RestoreTo::File(file.clone()),
                None => RestoreTo::Work(work.work.clone()),
            };
            let (file, key) = named(image)?;
            let restored = library::restore(&file, &to, key.as_ref(), &super::command_line(), &mut progress)?;
            drop(progress);
            if image.json {
                return output::json(&restored);
            }
            output::line(&format!(
                "{}: {}, {} of them on disk",
                restored.image.display(),
                input::bytes(restored.size_bytes),
                input::bytes(restored.allocated_bytes)
            ))
        }
        ImageAction::List { catalogue: Some(file), key, json } => {
            let catalogue = Catalogue::load(file, find(key)?.as_ref())?;
            catalogued(&catalogue, *json)
        }
        ImageAction::List { catalogue: None, json, .. } => list(*json),
        ImageAction::Show { image, manifest } => show(image, *manifest),
        ImageAction::Verify { image, deep, scratch } => {
            let (file, key) = named(image)?;
            let scratch = deep.then(|| scratch.scratch.clone().unwrap_or_else(std::env::temp_dir));
            if let Some(scratch) = &scratch
                && let Some(dispatch) =
                    vm_dispatch::for_image_check(&Image::open(&file, key.as_ref())?, scratch)?
            {
                return vm_dispatch::run(&dispatch);
            }
            let checked = library::verify(&file, key.as_ref(), scratch.as_deref(), &mut progress)?;
            drop(progress);
            if image.json {
                return output::json(&checked);
            }
            let signed = checked.signed_by.map_or_else(String::new, |key| format!(", signed by {key}"));
            let deep = checked.deep.map_or_else(String::new, |deep| {
                format!("; restored copy is clean (`{}`), layout unchanged", deep.checker)
            });
            output::line(&format!("{}: all checksums match{signed}{deep}", checked.name))
        }
        ImageAction::Diff { a, b, key, json } => diff([a, b], find(key)?.as_ref(), *json, progress),
        ImageAction::Key { file, no_password } => {
            let public = library::make_key(file, !no_password)?;
            output::line(&format!("{}.pub: {public}", file.display()))
        }
        ImageAction::Sign { image, catalogue, key } => {
            let signature = match (image, catalogue) {
                (Some(image), _) => library::sign(&Library::of_user()?.resolve(image), key)?,
                (None, Some(catalogue)) => library::sign_catalogue(catalogue, key)?,
                (None, None) => unreachable!("clap requires one of them"),
            };
            output::line(&signature.display().to_string())
        }
        ImageAction::Fetch { name, catalogue, key, json } => {
            let fetched = library::fetch(catalogue, name, find(key)?.as_ref(), &mut progress)?;
            drop(progress);
            if *json {
                return output::json(&fetched);
            }
            let by = fetched.signed_by.map_or_else(String::new, |key| format!(", signed by {key}"));
            output::line(&format!("{}: {}{by}", fetched.file.display(), input::bytes(fetched.file_bytes)))
        }
    }
}

/// The file of a saved image, and the key that must have signed it.
fn named(image: &SavedImage) -> Result<(PathBuf, Option<Key>)> {
    Ok((Library::of_user()?.resolve(&image.image), find(&image.key)?))
}

fn find(key: &Option<String>) -> Result<Option<Key>> {
    Ok(key.as_deref().map(Key::find).transpose()?)
}

fn list(json: bool) -> Result<()> {
    let library = Library::of_user()?;
    let (mut rows, mut documents, mut damaged) = (Vec::new(), Vec::new(), 0);
    for file in library.files()? {
        match Image::open(&file, None) {
            Ok(image) => {
                rows.push(row(&image));
                documents.push(json!({"file": file, "file_bytes": image.archive.file_bytes(), "manifest": image.archive.manifest()}));
            }
            Err(error) => {
                damaged += 1;
                eprintln!("senesce: {error}");
            }
        }
    }
    if json {
        output::json(&documents)?;
    } else if rows.is_empty() && damaged == 0 {
        output::line(&format!(
            "{} contains no saved images; create one with `senesce image save NAME`",
            library.path().display()
        ))?;
    } else {
        output::table(
            &["name", "fs", "size", "file", "aged by", "seed", "files", "layout score", "free extents"],
            rows,
        )?;
    }
    if damaged > 0 {
        bail!("{damaged} files of the library cannot be read");
    }
    Ok(())
}

fn row(image: &Image) -> Vec<String> {
    let (about, contents) = (&image.about, image.archive.manifest().contents);
    let scores = &about.scores;
    vec![
        // The file name may differ from the name in the manifest.
        image.archive.path().file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        about.aged.volume.fs.clone(),
        input::bytes(contents.size_bytes),
        input::bytes(image.archive.file_bytes()),
        about.aged.source().to_owned(),
        about.aged.seed().map_or_else(|| "–".to_owned(), |seed| seed.to_string()),
        scores.census.files.to_string(),
        number(scores.layout.as_ref().and_then(|layout| layout.layout_score)),
        scores.free.as_ref().map_or_else(|| "–".to_owned(), |free| free.extents.to_string()),
    ]
}

fn catalogued(catalogue: &Catalogue, json: bool) -> Result<()> {
    if json {
        return output::json(catalogue);
    }
    let dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "–".to_owned());
    output::table(
        &["name", "at", "key", "about"],
        catalogue.images.iter().map(|i| vec![i.name.clone(), i.at.clone(), dash(&i.key), dash(&i.about)]),
    )
}

fn show(args: &SavedImage, manifest: bool) -> Result<()> {
    let (file, key) = named(args)?;
    let image = Image::open(&file, key.as_ref())?;
    if manifest {
        use std::io::Write as _;
        std::io::stdout().write_all(image.archive.manifest_text())?;
        return Ok(());
    }
    if args.json {
        return output::json(image.archive.manifest());
    }
    let (contents, About { aged, scores, .. }) = (image.archive.manifest().contents, &image.about);
    let layout = scores.layout.as_ref();
    let conditions = aged.conditions();
    let rows = [
        ("file system", Some(format!("{}, {}", aged.volume.fs, input::bytes(contents.size_bytes)))),
        ("made by", aged.mkfs.clone()),
        ("with", Some(aged.fs_version.clone())),
        ("aged by", Some(aged.source().to_owned())),
        ("seed", aged.seed().map(|seed| seed.to_string())),
        ("fullness", conditions.map(|conditions| conditions.fullness.to_string())),
        ("saved by", Some(image.archive.manifest().tool.clone())),
        ("file", Some(input::bytes(image.archive.file_bytes()))),
        ("kept as it is", Some(input::bytes(contents.literal_bytes))),
        ("made again", Some(input::bytes(contents.regenerated_bytes))),
        ("not in use", Some(input::bytes(contents.unused_bytes))),
        ("files", Some(scores.census.files.to_string())),
        ("layout score", layout.map(|layout| number(layout.layout_score))),
        ("degree of fragmentation", layout.map(|layout| number(layout.degree_of_fragmentation))),
        ("free extents", scores.free.as_ref().map(|free| free.extents.to_string())),
        ("content", Some(contents.content_sha256.to_string())),
    ];
    let rows = rows.into_iter().filter_map(|(name, value)| Some(vec![name.to_owned(), value?]));
    output::table(&[aged.name.as_str(), ""], rows)
}

fn diff(images: [&Path; 2], key: Option<&Key>, json: bool, mut progress: Progress) -> Result<()> {
    let library = Library::of_user()?;
    let [a, b] = images.map(|image| library.resolve(image));
    let found = library::diff(&a, &b, key, &mut progress)?;
    drop(progress);
    if json {
        return output::json(&found);
    }
    let [a, b] = images.map(|image| image.display().to_string());
    let summary = match (found.same, found.blocks) {
        (true, _) => "the images are identical".to_owned(),
        (false, None) => "the images differ in size".to_owned(),
        (false, Some(blocks)) => format!(
            "{} blocks of 4 KiB differ: {} are zero in {a} and {} in {b}",
            blocks.differ, blocks.only_second, blocks.only_first
        ),
    };
    output::line(&summary)?;
    if let Some(free) = found.free {
        output::line(&format!(
            "free extents: earth mover's distance {} doublings, Kolmogorov-Smirnov distance {}",
            number(Some(free.earth_mover_doublings)),
            number(Some(free.kolmogorov_smirnov))
        ))?;
    }
    let rows = found.fields.into_iter().map(|(name, [a, b])| vec![name, brief(&a), brief(&b)]);
    output::table(&["in the manifest", &a, &b], rows)
}

/// Formats a JSON value for a table, truncated to 40 characters.
fn brief(value: &serde_json::Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
