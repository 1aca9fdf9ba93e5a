//! The digest of a trace is the same for ever.

use senesce_trace::{Digesting, TraceDigest};

use crate::support::{drain, each_kind};

/// Taken from the records as the documentation has them, put together with another program.
const GOLDEN: &str = "689e645bf1a328ecd81f5623028768478aa11b35355a04562145bfb96aefe674";

#[test]
fn a_known_trace_has_its_known_digest() {
    let mut digest = TraceDigest::new();
    digest.update(&each_kind());
    assert_eq!(digest.finish(), GOLDEN);
}

#[test]
fn batches_make_no_difference() {
    let mut digest = TraceDigest::new();
    each_kind().chunks(5).for_each(|piece| digest.update(piece));
    assert_eq!(digest.finish(), GOLDEN);
}

#[test]
fn order_makes_a_difference() {
    let mut digest = TraceDigest::new();
    each_kind().iter().rev().for_each(|op| digest.update(&[*op]));
    assert_ne!(digest.finish(), GOLDEN);
}

#[test]
fn what_passes_is_digested() {
    let mut source = Digesting::new(each_kind().into_iter());
    assert_eq!(source.sha256(), TraceDigest::new().finish());
    assert_eq!(drain(&mut source).unwrap(), each_kind());
    assert_eq!(source.sha256(), GOLDEN);
}
