//! The committed bundle is the output of `web/build` for `web/src`.

use std::{fs, path::Path, process::Command};

#[test]
fn bundle_is_fresh() {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("web");
    if !web.join("node_modules/.bin/esbuild").is_file() {
        testing::skip(
            "esbuild",
            "not in crates/report/web/node_modules; `npm ci` in crates/report/web installs it",
        );
        return;
    }
    if !testing::has_tool("node") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("page.js");
    let built = Command::new(web.join("build")).arg(&out).output().expect("node starts");
    assert!(built.status.success(), "web/build failed: {}", String::from_utf8_lossy(&built.stderr));
    let same = fs::read(&out).unwrap() == fs::read(web.join("dist/page.js")).unwrap();
    assert!(
        same,
        "web/dist/page.js is not what web/src gives: run crates/report/web/build and commit the result"
    );
}
