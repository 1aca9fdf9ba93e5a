//! Saved images and catalogues from untrusted sources, and protected targets.

use crate::common::{Lab, Mounted, text};
use crate::images::{aged, library, serve, sha256};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Saves a small aged image, named a.
fn saved() -> (Lab, PathBuf) {
    let lab = Lab::new();
    let image = aged(&lab, "ext4", "64MiB", "--fullness 0.5 --overwrites 1 --no-fill");
    lab.run("image save a --work work");
    (lab, image)
}

/// Creates a copy of the saved image a with `from` in its manifest replaced by `to`, and with valid checksums.
fn forge(lab: &Lab, from: &str, to: &str) {
    let bytes = std::fs::read(library(lab, "a.aged")).unwrap();
    let (rest, trailer) = bytes.split_at(bytes.len() - 56);
    let manifest_bytes = u64::from_le_bytes(trailer[8..16].try_into().unwrap()) as usize;
    let (rest, manifest) = rest.split_at(rest.len() - manifest_bytes);
    let manifest = text(manifest);
    assert!(manifest.contains(from), "{manifest}");
    let manifest = manifest.replacen(from, to, 1);
    let alone = lab.path().join("manifest");
    std::fs::write(&alone, &manifest).unwrap();
    let sum = sha256(&alone);
    std::fs::remove_file(alone).unwrap();
    let sum: Vec<u8> = (0..32).map(|at| u8::from_str_radix(&sum[2 * at..2 * at + 2], 16).unwrap()).collect();
    let len = (manifest.len() as u64).to_le_bytes();
    let forged = [rest, manifest.as_bytes(), &trailer[..8], &len, &sum, &trailer[48..]].concat();
    std::fs::write(library(lab, "forged.aged"), forged).unwrap();
}

#[test]
fn forged_manifest_cannot_access_other_files() {
    needs!("ext4");
    let (lab, _) = saved();
    forge(&lab, "wang_os", "wang_o2");
    lab.run("image verify forged");
    let name = "\"name\": \"a\"";
    for (from, to, why) in [
        (name, "\"name\": \"../a\"", "is not a valid file name"),
        (name, "\"name\": \"a\\u001b[2J\"", "is not a valid file name"),
        ("\"mkfs_opts\": []", "\"mkfs_opts\": [\"-l\", \"logdev=/dev/sda\"]", "names a path"),
        ("\"mount_opts\": []", "\"mount_opts\": [\"bind,/etc\"]", "names a path"),
        ("\"frame_bytes\": 2097152", "\"frame_bytes\": 1099511627776", "damaged"),
        ("\"frames\": ", "\"frames\": 9", "damaged"),
    ] {
        forge(&lab, from, to);
        for line in ["image verify forged", "image restore forged --work other", "image verify forged --deep"]
        {
            lab.refused(line, why);
        }
    }
}

#[test]
fn forged_catalogue_cannot_access_other_files() {
    needs!("ext4");
    let (lab, _) = saved();
    std::fs::create_dir(lab.path().join("there")).unwrap();
    std::fs::rename(library(&lab, "a.aged"), lab.path().join("there/a.aged")).unwrap();
    for key in ["mine", "other"] {
        lab.run(&format!("image key {key} --no-password"));
    }
    lab.run("image sign there/a.aged --key mine");
    let mine = std::fs::read_to_string(lab.path().join("mine.pub")).unwrap();
    let mine = mine.lines().nth(1).unwrap();
    let sum = sha256(&lab.path().join("there/a.aged"));
    let url = serve(lab.path().join("there"), 2);
    let catalogue = |name: &str, at: &str, more: &str| {
        let entry = format!("[[image]]\nname = {name:?}\nat = {at:?}\n{more}\n");
        std::fs::write(lab.path().join("list.toml"), entry).unwrap();
    };
    let by_sum = format!("sha256 = {sum:?}");
    catalogue("../a", "there/a.aged", &by_sum);
    lab.refused("image fetch ../a --catalogue list.toml", "is not a valid image name");
    catalogue("b", "../there/a.aged", &by_sum);
    lab.refused("image fetch b --catalogue list.toml", "contains `..`");
    catalogue("b", "/dev/zero", &by_sum);
    lab.refused("image fetch b --catalogue list.toml", "is not a file");
    if testing::has_tool("curl") {
        catalogue("b", &format!("{url}/a.aged"), &format!("{by_sum}\nbytes = 1000"));
        lab.refused("image fetch b --catalogue list.toml", "more than the 1000 bytes");
        catalogue("b", &format!("{url}/away/a.aged"), &by_sum);
        lab.refused("image fetch b --catalogue list.toml", "fetching");
    }
    // The library directory is used whatever the image name looks like.
    catalogue("b.aged", "there/a.aged", &by_sum);
    lab.run("image fetch b.aged --catalogue list.toml");
    assert!(library(&lab, "b.aged.aged").is_file() && !lab.path().join("b.aged").exists());

    // A killed fetch can leave a signature without an image.
    catalogue("c", "there/a.aged", &format!("key = {mine:?}"));
    std::fs::copy(lab.path().join("there/a.aged.manifest.minisig"), library(&lab, "c.aged.manifest.minisig"))
        .unwrap();
    lab.refused("image fetch c --catalogue list.toml --key mine.pub", "has no signature");
    lab.run("image sign --catalogue list.toml --key mine");
    lab.refused("image fetch c --catalogue list.toml --key other.pub", "do not trust it");
    lab.run("image list --catalogue list.toml --key mine.pub");
    lab.run("image fetch c --catalogue list.toml --key mine.pub");
    catalogue("d", "there/a.aged", &format!("key = {mine:?}"));
    lab.refused("image fetch d --catalogue list.toml --key mine.pub", "do not trust it");
    std::fs::write(library(&lab, "d.aged.manifest.minisig"), "another").unwrap();
    lab.refused("image fetch d --catalogue list.toml", "choose another name");
}

#[test]
fn mounted_image_is_not_saved_and_existing_files_are_not_overwritten() {
    needs!("ext4");
    let (lab, image) = saved();
    let mounted = Mounted::new(&image, lab.path());
    lab.refused_with("image save a --work work --to b.aged", "already attached");
    drop(mounted);
    std::fs::write(lab.path().join("mine"), "mine").unwrap();
    std::os::unix::fs::symlink("nowhere", lab.path().join("link")).unwrap();
    for to in ["mine", "link", "/dev/null", "/dev"] {
        lab.refused(&format!("image restore a --to {to}"), "choose another name");
        lab.refused(&format!("image save a --work work --to {to}"), "choose another name");
    }
    assert_eq!(std::fs::read(lab.path().join("mine")).unwrap(), b"mine");
    lab.refused("image restore a --to nowhere/b.img", "nowhere");
}

#[test]
fn file_names_may_be_arbitrary_bytes() {
    needs!("ext4");
    let (lab, image) = saved();
    let run = |args: &[&[u8]]| {
        let output = lab.command(args.iter().map(|arg| OsStr::from_bytes(arg))).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    let (saved, restored) = (b"new\nline \xff.aged".as_slice(), b"\xfe\n.img".as_slice());
    run(&[b"image", b"save", b"a", b"--work", b"work", b"--to", saved]);
    run(&[b"image", b"verify", saved]);
    run(&[b"image", b"verify", saved, b"--deep", b"--scratch", lab.path().as_os_str().as_bytes()]);
    run(&[b"image", b"show", saved]);
    run(&[b"image", b"diff", b"a", saved]);
    run(&[b"image", b"restore", saved, b"--to", restored]);
    let bytes = |path: &Path| std::fs::metadata(path).unwrap().size();
    assert_eq!(bytes(&lab.path().join(OsStr::from_bytes(restored))), bytes(&image));
    lab.refused("age --fs ext4 --size 64MiB --name .hidden --work other", "cannot name a file");
    lab.nothing_left();
}
