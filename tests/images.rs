//! Tests of `senesce image`: save, restore, verify, diff, sign and fetch.

use crate::common::{Lab, Mounted, text};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Ages a small file system and returns the path of its image.
pub fn aged(lab: &Lab, fs: &str, size: &str, more: &str) -> PathBuf {
    lab.run(&format!("age --fs {fs} --size {size} --profile wang_os --seed 3 --name a --work work {more}"));
    lab.work().join("a.img")
}

pub fn library(lab: &Lab, name: &str) -> PathBuf {
    lab.path().join("library").join(name)
}

pub fn sha256(path: &Path) -> String {
    let output = Command::new("sha256sum").arg(path).output().unwrap();
    text(&output.stdout)[..64].to_owned()
}

/// Probe results of an image: layout and free space.
fn probed(lab: &Lab, image: &Path) -> [Value; 2] {
    ["layout", "free-space"].map(|probe| lab.json(&format!("probe {probe} {}", image.display())))
}

fn round_trip(fs: &str, size: &str) {
    let lab = Lab::new();
    // A fuller small Btrfs has no space for its unaged copy, and a fuller small XFS repeatedly waits for space.
    let more =
        if ["btrfs", "xfs"].contains(&fs) { "--fullness 0.6 --overwrites 1" } else { "--overwrites 1" };
    let image = aged(&lab, fs, size, more);
    let saved = lab.json("image save a --work work");
    let file = library(&lab, "a.aged");
    let allocated = |path: &Path| std::fs::metadata(path).unwrap().blocks() * 512;
    let file_bytes = std::fs::metadata(&file).unwrap().len();
    println!("{fs}: {file_bytes} bytes of {} on disk: {}", allocated(&image), saved["contents"]);
    assert_eq!(saved["file_bytes"], file_bytes);
    assert!(file_bytes * 10 < allocated(&image), "data must be generated, not stored: {saved}");

    let restored = lab.json("image restore a --work other");
    let back = lab.path().join("other/a.img");
    assert_eq!(restored["image"], back.to_str().unwrap());
    assert!(allocated(&back) <= allocated(&image), "unused blocks must not be restored");
    let same = if fs == "betreefs" {
        lab.json(&format!("betreefs stat {}", back.display()))
            == lab.json(&format!("betreefs stat {}", image.display()))
    } else {
        assert_eq!(lab.list(&back), lab.list(&image));
        probed(&lab, &back) == probed(&lab, &image)
    };
    assert!(same, "extents and free space must be equal");
    assert_eq!(lab.json("image verify a")["deep"], Value::Null);
    let deep = lab.json(&format!("image verify a --deep --scratch {}", lab.path().display()));
    assert!(deep["deep"]["checker"].as_str().unwrap().len() > 5, "{deep}");
    assert!(lab.run("image list").contains("wang_os"));
    lab.json("image list");
    lab.json("image show a");
    assert!(lab.run("image show a").contains("layout score") || fs == "betreefs");
    let manifest: Value = serde_json::from_str(&lab.run("image show a --manifest")).unwrap();
    assert_eq!(
        manifest["about"]["aged"]["made"]["home"]["image"], "a.img",
        "the manifest must contain no path"
    );
    assert!(!manifest.to_string().contains(lab.path().to_str().unwrap()));
    // Saving it again gives an identical image.
    lab.run("image save a --work other --to again.aged");
    let difference = lab.json("image diff a again.aged");
    assert_eq!((&difference["same"], &difference["blocks"]["differ"]), (&true.into(), &0.into()));
    // Other commands accept the restored image.
    let compared = lab.json("compare --work other --repeat 1 --no-new-file");
    let pair = &compared["pairs"][0];
    assert_eq!((&pair["name"], &pair["fs"]), (&"a".into(), &fs.into()));
    lab.refused("image save a --work work", "choose another name");
    lab.refused("image restore a --work other", "already");
    lab.nothing_left();
}

#[test]
fn aged_ext4_round_trips() {
    needs!("ext4");
    round_trip("ext4", "256MiB");
}

#[test]
fn aged_xfs_round_trips() {
    needs!("xfs");
    round_trip("xfs", "320MiB");
}

#[test]
fn aged_btrfs_round_trips() {
    needs!("btrfs");
    round_trip("btrfs", "256MiB");
}

#[test]
fn aged_betreefs_round_trips() {
    needs!("betreefs");
    round_trip("betreefs", "256MiB");
}

/// Reads the restored data through the mounted file system.
#[test]
fn restored_files_have_their_original_contents() {
    needs!("ext4");
    needs!("btrfs");
    for fs in ["ext4", "btrfs"] {
        let lab = Lab::new();
        let image = aged(&lab, fs, "128MiB", "--fullness 0.5 --overwrites 1");
        lab.run("image save a --work work");
        lab.run("image restore a --to back.img");
        let contents = |image: &Path| {
            let mount = Mounted::new(image, lab.path());
            let tar = Command::new("sh")
                .arg("-c")
                .arg("tar --sort=name -cf - . | sha256sum")
                .current_dir(&mount.dir)
                .output()
                .unwrap();
            assert!(tar.status.success() && tar.stderr.is_empty(), "{}", text(&tar.stderr));
            text(&tar.stdout)
        };
        assert_eq!(contents(&lab.path().join("back.img")), contents(&image), "{fs}");
    }
}

#[test]
fn deleted_data_is_not_stored() {
    needs!("ext4");
    let lab = Lab::new();
    // The aging writes and deletes much data, which remains in the image but not in the file system.
    let image = aged(&lab, "ext4", "128MiB", "--data write --overwrites 3 --fullness 0.3");
    let saved = lab.json("image save a --work work");
    let (kept, made) = (&saved["contents"]["kept_bytes"], &saved["contents"]["made_bytes"]);
    let allocated = std::fs::metadata(&image).unwrap().blocks() * 512;
    assert!(kept.as_u64().unwrap() + made.as_u64().unwrap() < allocated * 2 / 3, "{saved} of {allocated}");
    lab.run("image verify a --deep");
}

#[test]
fn flipped_byte_is_detected() {
    needs!("ext4");
    let lab = Lab::new();
    aged(&lab, "ext4", "64MiB", "--fullness 0.5 --overwrites 1 --no-fill");
    lab.run("image save a --work work");
    let file = library(&lab, "a.aged");
    let whole = std::fs::read(&file).unwrap();
    for at in [0, 9, 100, whole.len() / 2, whole.len() - 2000, whole.len() - 1] {
        let mut flipped = whole.clone();
        flipped[at] ^= 4;
        std::fs::write(&file, &flipped).unwrap();
        lab.refused("image verify a", "a.aged");
        // A damaged image is never restored to its final name.
        lab.refused("image restore a --to back.img", "a.aged");
    }
    std::fs::write(&file, &whole[..whole.len() - 100]).unwrap();
    lab.refused("image restore a --to back.img", "damaged");
    let mut newer = whole;
    newer[8] = 7;
    std::fs::write(&file, &newer).unwrap();
    lab.refused("image show a", "use a newer senesce");
    let listed = lab.try_run("image list");
    assert!(!listed.status.success() && text(&listed.stderr).contains("use a newer senesce"));
    lab.refused("image show nothing", "nothing.aged");
    lab.refused("image save a --work nowhere", "no aged file system named a");
}

#[test]
fn only_signed_images_are_accepted() {
    needs!("ext4");
    let lab = Lab::new();
    aged(&lab, "ext4", "64MiB", "--fullness 0.5 --overwrites 1 --no-fill");
    lab.run("image save a --work work");
    for key in ["mine", "other"] {
        lab.run(&format!("image key {key} --no-password"));
    }
    assert_eq!(std::fs::metadata(lab.path().join("mine")).unwrap().mode() & 0o777, 0o600);
    lab.refused("image verify a --key mine.pub", "has no signature");
    lab.run("image sign a --key mine");
    assert_eq!(lab.json("image verify a --key mine.pub")["signed_by"].as_str().unwrap().len(), 16);
    let public = std::fs::read_to_string(lab.path().join("mine.pub")).unwrap();
    lab.run(&format!("image restore a --to back.img --key {}", public.lines().nth(1).unwrap()));
    lab.refused("image verify a --key other.pub", "do not trust it");
    lab.refused("image restore a --to other.img --key other.pub", "do not trust it");
    lab.refused("image verify a --key nonsense", "not a minisign public key");

    // Another valid image with the same name: the signature does not match.
    std::fs::remove_dir_all(lab.work()).unwrap();
    lab.run(
        "age --fs ext4 --size 64MiB --profile wang_os --fullness 0.5 --overwrites 1 --seed 4 --no-fill --name a --work work",
    );
    std::fs::remove_file(library(&lab, "a.aged")).unwrap();
    lab.run("image save a --work work");
    lab.run("image verify a");
    lab.refused("image verify a --key mine.pub", "do not trust it");
}

/// Serves the files of a directory for a number of requests. A request for `away/NAME` is redirected to NAME.
pub fn serve(dir: PathBuf, requests: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(requests) {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n > 0) {
                request.push(byte[0]);
            }
            let line = text(&request);
            let name = line.split_whitespace().nth(1).unwrap().trim_start_matches('/').to_owned();
            let answer = match std::fs::read(dir.join(&name)) {
                Err(_) if name.starts_with("away/") => {
                    format!("HTTP/1.0 302 Found\r\nLocation: http://{address}/{}\r\n\r\n", &name[5..])
                        .into_bytes()
                }
                Ok(body) => {
                    [format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes(), body]
                        .concat()
                }
                Err(_) => b"HTTP/1.0 404 Not Found\r\n\r\n".to_vec(),
            };
            let _ = stream.write_all(&answer);
        }
    });
    format!("http://{address}")
}

#[test]
fn catalogue_images_are_fetched_and_verified() {
    needs!("ext4");
    let lab = Lab::new();
    aged(&lab, "ext4", "64MiB", "--fullness 0.5 --overwrites 1 --no-fill");
    std::fs::create_dir(lab.path().join("there")).unwrap();
    lab.run("image save a --work work --to there/a.aged");
    lab.run("image key mine --no-password");
    lab.run("image key other --no-password");
    lab.run("image sign there/a.aged --key mine");
    let key = |name: &str| {
        let text = std::fs::read_to_string(lab.path().join(name)).unwrap();
        text.lines().nth(1).unwrap().to_owned()
    };
    let (mine, other, sum) = (key("mine.pub"), key("other.pub"), sha256(&lab.path().join("there/a.aged")));
    let wrong = "0".repeat(64);
    let url = serve(lab.path().join("there"), 4);
    let entry = |name: &str, at: &str, how: &str| format!("[[image]]\nname = {name:?}\nat = {at:?}\n{how}\n");
    let catalogue = [
        entry("by-key", "there/a.aged", &format!("key = {mine:?}\nabout = \"an example\"")),
        entry(
            "by-sum",
            &format!("file://{}/there/a.aged", lab.path().display()),
            &format!("sha256 = {sum:?}"),
        ),
        entry("by-url", &format!("{url}/a.aged"), &format!("key = {mine:?}\nsha256 = {sum:?}")),
        entry("wrong-key", "there/a.aged", &format!("key = {other:?}")),
        entry("wrong-sum", "there/a.aged", &format!("sha256 = {wrong:?}")),
        entry("gone", &format!("{url}/b.aged"), &format!("sha256 = {sum:?}")),
    ];
    std::fs::write(lab.path().join("list.toml"), catalogue.concat()).unwrap();
    assert!(lab.run("image list --catalogue list.toml").contains("an example"));
    let has_curl = testing::has_tool("curl");
    for name in ["by-key", "by-sum", "by-url"] {
        if name == "by-url" && !has_curl {
            continue;
        }
        let fetched = lab.json(&format!("image fetch {name} --catalogue list.toml"));
        assert_eq!(fetched["signed_by"].is_string(), name != "by-sum");
        lab.run(&format!("image verify {name}"));
        lab.refused(&format!("image fetch {name} --catalogue list.toml"), "choose another name");
    }
    lab.run("image verify by-key --key mine.pub");
    lab.refused("image fetch wrong-key --catalogue list.toml", "not by the key");
    lab.refused("image fetch wrong-sum --catalogue list.toml", "in the catalogue; the image is not used");
    if has_curl {
        lab.refused("image fetch gone --catalogue list.toml", "404");
    }
    lab.refused("image fetch unknown --catalogue list.toml", "no image unknown");
}

#[test]
fn killed_save_or_restore_leaves_no_partial_file() {
    needs!("ext4");
    let lab = Lab::new();
    aged(&lab, "ext4", "256MiB", "--overwrites 1");
    let save = "image save a --work work --to s.aged";
    let (saved, restored) = (lab.path().join("s.aged"), lab.path().join("r.img"));
    lab.run("image save a --work work");
    // At the start, and in between.
    for done in [1, 100 << 20, 200 << 20] {
        for (line, step, file) in
            [(save, "saving", &saved), ("image restore a --to r.img", "restoring", &restored)]
        {
            lab.stopped(line, &format!("{step}@{done}")).kill();
            lab.clean_up();
            assert!(!file.exists(), "{step} after {done} bytes");
            let left: Vec<String> = lab.entries().into_iter().filter(|path| path.contains(".part")).collect();
            assert!(left.is_empty(), "{left:?}");
        }
    }
    // An interruption leaves no file either.
    lab.interrupted(save, "saving@1");
    assert!(!saved.exists());
}

#[test]
fn save_and_restore_without_space_leave_no_file() {
    needs!("ext4");
    let lab = Lab::new();
    aged(&lab, "ext4", "128MiB", "--overwrites 1");
    lab.run("image save a --work work");
    let small = lab.path().join("small");
    std::fs::create_dir(&small).unwrap();
    let mount =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=16k", "tmpfs"]).arg(&small).status().unwrap();
    assert!(mount.success());
    let mounted = Mounted::at(small.clone());
    let refused = |line: &str| lab.refused_with(line, "free some space or choose another directory");
    refused("image save a --work work --to small/a.aged");
    refused("image restore a --to small/a.img");
    assert_eq!(std::fs::read_dir(&small).unwrap().count(), 0);
    drop(mounted);
    lab.nothing_left();
}

#[test]
fn aged_directory_cannot_be_saved() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path().join("place")).unwrap();
    lab.run("age --dir place --size 64MiB --profile wang_os --overwrites 1 --name d --work work");
    lab.refused("image save d --work work", "which cannot be saved");
}

#[test]
fn modelled_disk_is_saved_as_an_image() {
    needs!("ext4");
    needs!("FUSE");
    let lab = Lab::new();
    lab.run(
        "age --fs ext4 --size 64MiB --disk ssd-sata --profile wang_os --overwrites 1 --name m --work work",
    );
    lab.run("image save m --work work");
    lab.run(&format!("image verify m --deep --scratch {}", lab.path().display()));
    lab.run("image restore m --work other");
    assert!(lab.path().join("other/m.img").is_file());
    lab.nothing_left();
}
