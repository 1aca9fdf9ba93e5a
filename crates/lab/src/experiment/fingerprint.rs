//! The input of a workload besides its parameters: two runs that name the same file or repository are equal only if its contents are equal.

use crate::Error;
use crate::workload::{Git, TraceFile, Tree, Workload};
use digest::Digest;
use sha2::{Digest as _, Sha256};
use workload::git::History;

/// A fingerprint of the input of a workload up to round `last`; `None` if the workload has no input.
pub(super) fn fingerprint(workload: &Workload, last: u64) -> Result<Option<String>, Error> {
    match workload {
        Workload::Interfile(tree) => of_tree(tree),
        Workload::Filesize(sizes) => of_tree(&sizes.tree),
        // A commit identifies all its ancestors.
        Workload::Git(Git { repository: Some(repository), order, .. }) => {
            Ok(History::open(repository, *order)?.commit(last))
        }
        Workload::Trace(trace) => Ok(TraceFile::read(&trace.file)?.0.sha256),
        Workload::Snapshots(snapshots) => snapshots.fingerprint().map(Some),
        Workload::Git(_) | Workload::Intrafile(_) | Workload::Mail(_) => Ok(None),
    }
}

/// A digest of the shape, the only part of the tree that the workload uses.
fn of_tree(tree: &Tree) -> Result<Option<String>, Error> {
    let Some(shape) = tree.of.shape()? else { return Ok(None) };
    let mut sha = Sha256::new();
    for parents in [shape.dirs(), shape.files()] {
        sha.update((parents.len() as u64).to_le_bytes());
        parents.iter().for_each(|parent| sha.update(parent.0.to_le_bytes()));
    }
    Ok(Some(Digest::from(sha).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::TreeOf;
    use std::path::Path;

    fn git(repository: &Path) -> Workload {
        Workload::Git(Git { repository: Some(repository.to_owned()), ..Git::default() })
    }

    #[test]
    fn listing_fingerprint_depends_on_content() {
        let dir = tempfile::tempdir().unwrap();
        let listing = dir.path().join("list");
        let found = |text: &str| {
            std::fs::write(&listing, text).unwrap();
            let of = TreeOf { listing: Some(listing.clone()), ..TreeOf::default() };
            fingerprint(&Workload::Interfile(Tree { of, ..Tree::default() }), 100).unwrap().unwrap()
        };
        let first = found("a/x\na/y\n");
        assert_eq!(found("a/x\na/y\n"), first);
        assert_ne!(found("a/x\nb/y\n"), first);
    }

    #[test]
    fn repository_fingerprint_is_the_last_pulled_commit() {
        let dir = tempfile::tempdir().unwrap();
        let [one, other, longer] = ["one", "other", "longer"].map(|name| dir.path().join(name));
        workload::git::sample::make(&one, 7, 1).unwrap();
        workload::git::sample::make(&other, 7, 2).unwrap();
        workload::git::sample::make(&longer, 12, 1).unwrap();
        let at = |repository: &Path, last| fingerprint(&git(repository), last).unwrap().unwrap();
        assert_ne!(at(&one, 5), at(&other, 5));
        assert_eq!(at(&one, 5), at(&longer, 5), "later commits have no effect");
        assert_ne!(at(&one, 5), at(&one, 4));
    }

    #[test]
    fn workloads_without_input_have_no_fingerprint() {
        assert_eq!(fingerprint(&Workload::Git(Git::default()), 5).unwrap(), None);
        assert_eq!(fingerprint(&Workload::Interfile(Tree::default()), 5).unwrap(), None);
    }
}
