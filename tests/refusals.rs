//! Invalid input: a one-line error, a non-zero exit status, and no files created.

use crate::common::{Lab, LoopDevice, is_root, text};
use std::process::Command;

#[test]
fn bad_arguments_are_refused() {
    let lab = Lab::new();
    for (line, expected) in [
        ("age --profile nobody --work work", "no profile named \"nobody\""),
        ("age --size 0 --work work", "size"),
        ("age --size lots --work work", "number"),
        ("age --fullness 0.99 --work work", "0.98"),
        ("age --fullness 0 --work work", "fullness"),
        ("age --fs ntfs --work work", "ntfs"),
        ("age --overwrites 0.1 --work work", "less than the filling"),
        ("age --overwrites x --work work", "overwrites"),
        ("age --name ../a --work work", "cannot name a file"),
        ("age --churn sails=1 --work work", "neither overwrite nor punch"),
        ("age --churn punch=0.1,punch=0.2 --work work", "given twice"),
        ("age --churn overwrite=0.9,punch=0.1 --work work", "at most 0.95"),
        ("age --churn 0.2 --work work", "overwrite=0.2,punch=0.1"),
        ("age --churn punch=0.1 --data fallocate --work work", "cannot be used with"),
        ("age --workload punched --rounds 101 --work work", "no round 101"),
        ("age --workload punched --size 16MiB --work work", "no file of 16777216 bytes fits"),
        ("age --device /dev/sda --work work", "--erase"),
        ("age --resume --work work", "no aging named"),
        ("age --dir nowhere --size 64MiB --work work", "nowhere"),
        ("profile show nobody", "no profile named"),
        ("profile check nowhere.toml", "nowhere.toml"),
        ("profile capture nowhere -o a.toml", "nowhere"),
        ("trace show nowhere.parquet", "nowhere.parquet"),
        ("compare --work nowhere", "nowhere"),
    ] {
        lab.refused(line, expected);
    }
}

#[test]
fn bad_profiles_are_refused() {
    let lab = Lab::new();
    let good = lab.run("profile show agrawal");
    for (from, to, expected) in [
        ("[1.0, 2.0, 8.0", "[-1.0, 2.0, 8.0", "weight -1"),
        ("weight = [1.0, 7.0", "weight = [0.0, 7.0", ""),
        ("name = ", "nome = ", "nome"),
    ] {
        let bad = good.replace(from, to);
        assert_ne!(bad, good, "{from}");
        std::fs::write(lab.path().join("bad.toml"), bad).unwrap();
        if expected.is_empty() {
            lab.run("profile check bad.toml");
        } else {
            lab.refused("age --profile bad.toml --work work", expected);
        }
    }
    let zeros: String = good
        .lines()
        .map(|l| if l.starts_with("weight") { "weight = [0, 0]\n".to_owned() } else { format!("{l}\n") })
        .collect();
    std::fs::write(lab.path().join("bad.toml"), zeros).unwrap();
    lab.refused("profile check bad.toml", "weights");
}

#[test]
fn data_that_does_not_fit_is_reported_before_anything_is_created() {
    needs!("ext4");
    Lab::new()
        .refused("age --fs ext4 --size 1TiB --profile wang_lanl --fullness 0.9 --work work", "--no-fill");
}

#[test]
fn vm_only_file_system_is_refused_by_host_commands() {
    needs!("ext4");
    let lab = Lab::new();
    let said = "this kernel does not support ext4-dax, and this command runs on this kernel only: `senesce age`, `compare`, `probe`";
    lab.refused("verify --builtin --fs ext4-dax --size 160MiB --days 3 --work work", said);
}

#[test]
fn missing_mkfs_is_reported() {
    needs!("xfs");
    let lab = Lab::new();
    let empty = lab.path().join("bin");
    std::fs::create_dir(&empty).unwrap();
    let output = lab
        .command("age --fs xfs --size 512MiB --work work".split(' '))
        .env("PATH", &empty)
        .output()
        .unwrap();
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("mkfs.xfs") && err.contains("xfsprogs"), "{err}");
    assert!(!lab.work().exists(), "no file must be created");
}

#[test]
fn missing_root_is_reported_and_directories_work_without() {
    if !is_root() || !testing::has_tool("setpriv") {
        return;
    }
    // A directory that other users can enter and from which they can run the program.
    let dir = tempfile::Builder::new().prefix("senesce-test").tempdir_in("/tmp").unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let program = dir.path().join("senesce");
    std::fs::copy(env!("CARGO_BIN_EXE_senesce"), &program).unwrap();
    let as_nobody = |line: &str| {
        Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&program)
            .args(line.split(' '))
            .current_dir(dir.path())
            .env("SENESCE_RUN_DIR", dir.path().join("run"))
            .output()
            .unwrap()
    };
    let refused = as_nobody("age --fs ext4 --size 256MiB --work work");
    let err = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{err}");
    assert!(err.contains("root"), "{err}");
    assert!(!dir.path().join("work").exists(), "no file must be created");
    let place = dir.path().join("place");
    std::fs::create_dir(&place).unwrap();
    std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o777)).unwrap();
    let aged = as_nobody(
        "age --dir place --size 32MiB --profile wang_os --overwrites 1.5 --name d --work work --json",
    );
    assert!(aged.status.success(), "{}", text(&aged.stderr));
}

#[test]
fn mounted_or_formatted_devices_are_refused() {
    needs!("ext4");
    let lab = Lab::new();
    let image = lab.path().join("disk.img");
    let run = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).output().unwrap();
        assert!(output.status.success(), "{program} {args:?}: {}", text(&output.stderr));
        text(&output.stdout).trim().to_owned()
    };
    let loop_device = LoopDevice::new(&image, 300 << 20);
    let device = loop_device.0.clone();
    run("mkfs.ext4", &["-q", &device]);
    let directory = lab.path().join("mounted");
    std::fs::create_dir(&directory).unwrap();
    let keep = directory.join("precious");
    run("mount", &[&device, directory.to_str().unwrap()]);
    std::fs::write(&keep, "precious").unwrap();
    let try_sized = |size: &str, erase: &str| {
        let line =
            format!("age --device {device} --erase {erase} --size {size} --profile wang_os --work work");
        let output = lab.try_run(&line);
        assert_eq!(output.status.code(), Some(1));
        text(&output.stderr)
    };
    let try_age = |erase: &str| try_sized("256MiB", erase);
    assert!(try_age(&device).contains("mounted"));
    assert_eq!(std::fs::read_to_string(&keep).unwrap(), "precious");
    run("umount", &[directory.to_str().unwrap()]);
    wait_until_free(&device);
    assert!(try_age("/dev/other").contains(&device));
    let signature = try_age(&device);
    assert!(signature.contains("ext4") || signature.contains("signature"), "{signature}");
    run("wipefs", &["--all", &device]);
    let too_small = try_sized("301MiB", &device);
    assert!(too_small.contains(&device) && too_small.contains("choose a smaller --size"), "{too_small}");
    assert!(!lab.work().join("ext4-wang_os-42.json").exists());
}

/// If mounts are private, a run of another test that began before the unmount keeps the device in use until it ends.
fn wait_until_free(device: &str) {
    use std::os::unix::fs::OpenOptionsExt;
    let exclusive = rustix::fs::OFlags::EXCL.bits() as i32;
    testing::wait_until("an unused device", || {
        std::fs::File::options().read(true).custom_flags(exclusive).open(device).is_ok()
    });
}

/// Whatever ages: a file that is in the place of the image stays.
#[test]
fn existing_files_are_neither_used_nor_removed() {
    needs!("ext4");
    let lab = Lab::new();
    let (work, store) = (lab.path().join("work"), lab.path().join("work/a.disk"));
    std::fs::create_dir_all(&store).unwrap();
    for file in [work.join("a.img"), store.join("mine")] {
        std::fs::write(&file, "mine").unwrap();
        let (disk, said) = match file.starts_with(&store) {
            true => ("--disk hdd-7200", "it is not empty"),
            false => ("", "delete it or choose another name"),
        };
        for workload in ["", "--intrafile", "--workload synthetic"] {
            for resume in ["", "--resume"] {
                let line =
                    format!("age {workload} {disk} {resume} --fs ext4 --size 100MiB --name a --work work");
                let said = if workload.is_empty() && !resume.is_empty() { "no aging named a" } else { said };
                lab.refused(&line, said);
                assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine", "{line}");
                assert!(!work.join("a.json").exists(), "{line}");
            }
        }
        std::fs::remove_file(&file).unwrap();
    }
    lab.nothing_left();
}
