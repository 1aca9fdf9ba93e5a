//! Lookup of a key: in memory first, then down the tree until a message determines the value.

use crate::error::Result;
use crate::memtable::Lookup;
use crate::node::{Link, Part};
use crate::pager::Pager;
use crate::run::{Kind, patch};
use crate::view::View;

impl View {
    /// The value of `key`. If its leaf must be read, one request reads `around` bytes around it; if `around` is 0, only the basement with the key.
    pub(crate) fn get(&self, pager: &Pager, key: &[u8], around: usize) -> Result<Option<Vec<u8>>> {
        // Patches found so far, the newest first.
        let mut patches: Vec<Vec<u8>> = Vec::new();
        for memtable in std::iter::once(&self.active).chain(&self.frozen) {
            match memtable.read().get(key, self.number) {
                Lookup::Value(value) => return Ok(apply(Some(value), &patches)),
                Lookup::Absent => return Ok(apply(None, &patches)),
                Lookup::Patch(payload) => patches.push(payload),
                Lookup::Nothing => {}
            }
        }
        let mut link = self.version.root.clone();
        loop {
            let node = pager.node(&link)?;
            if node.entries.is_empty() {
                return Ok(apply(None, &patches));
            }
            let i = node.entry_of(key);
            if node.level == 0 && around > 0 {
                pager.prefetch_around(&node, i, around)?;
            }
            let entry = &node.entries[i];
            if !matches!(entry.part, Part::Empty) {
                let run = pager.run(&entry.part)?;
                match run.find(key).map(|i| (run.kind(i), i)) {
                    Some((Kind::Insert, i)) => return Ok(apply(Some(run.payload(i).to_vec()), &patches)),
                    Some((Kind::Delete, _)) => return Ok(apply(None, &patches)),
                    Some((Kind::Patch, i)) => patches.push(run.payload(i).to_vec()),
                    None if run.deletes(key) => return Ok(apply(None, &patches)),
                    None => {}
                }
            }
            pager.prefetch_headers(&node, i);
            match &entry.child {
                Link::None => return Ok(apply(None, &patches)),
                child => link = child.clone(),
            }
        }
    }
}

/// Applies patches to a value, the last in the slice first.
fn apply(base: Option<Vec<u8>>, patches: &[Vec<u8>]) -> Option<Vec<u8>> {
    if base.is_none() && patches.is_empty() {
        return None;
    }
    let mut value = base.unwrap_or_default();
    patches.iter().rev().for_each(|payload| patch(&mut value, payload));
    Some(value)
}
