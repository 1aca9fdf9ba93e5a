//! The digest of a trace never changes.

use senesce_trace::{DigestingSource, TraceDigest};

use crate::support::{drain, each_kind};

/// Computed by another program from the documented record format.
const GOLDEN: &str = "e0e3c600c17909039dd243bd4108f9802aa3d274814e4dd2ada2ed8ed9ed854c";

#[test]
fn known_trace_has_known_digest() {
    let mut digest = TraceDigest::new();
    digest.update(&each_kind());
    assert_eq!(digest.finish(), GOLDEN);
}

/// The digest of the first twelve kinds, as it was before there were others.
#[test]
fn new_kinds_leave_the_digests_of_others_alone() {
    let mut digest = TraceDigest::new();
    digest.update(&each_kind()[..12]);
    assert_eq!(digest.finish(), "689e645bf1a328ecd81f5623028768478aa11b35355a04562145bfb96aefe674");
}

#[test]
fn digest_is_independent_of_batches() {
    let mut digest = TraceDigest::new();
    each_kind().chunks(5).for_each(|piece| digest.update(piece));
    assert_eq!(digest.finish(), GOLDEN);
}

#[test]
fn digest_depends_on_order() {
    let mut digest = TraceDigest::new();
    each_kind().iter().rev().for_each(|op| digest.update(&[*op]));
    assert_ne!(digest.finish(), GOLDEN);
}

#[test]
fn passing_operations_are_digested() {
    let mut source = DigestingSource::new(each_kind().into_iter());
    assert_eq!(source.sha256(), TraceDigest::new().finish());
    assert_eq!(drain(&mut source).unwrap(), each_kind());
    assert_eq!(source.sha256(), GOLDEN);
}
