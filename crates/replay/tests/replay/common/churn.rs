//! Traces that fill directories, then alternate deletions and creations.

use trace::{Content, DirId, FileId, Op, ROOT};

/// `count` creations in `dirs` directories, with the sizes that `size` computes from a file's number and random numbers
/// below a bound. When a new file would exceed `live` files or `live_bytes` bytes, other files are deleted.
pub fn churn(
    dirs: u64,
    count: u64,
    live: usize,
    live_bytes: u64,
    size: impl Fn(u64, &mut dyn FnMut(u64) -> u64) -> u64,
) -> Vec<Op> {
    let mut state = 1u64;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let mut ops: Vec<Op> = (1..=dirs).map(|dir| Op::Mkdir { dir: DirId(dir as u32), parent: ROOT }).collect();
    let mut files: Vec<(FileId, DirId, u64)> = Vec::new();
    let mut bytes = 0;
    for number in 0..count {
        let size = size(number, &mut below);
        while files.len() == live || bytes + size > live_bytes {
            let (file, parent, size) = files.swap_remove(below(files.len() as u64) as usize);
            bytes -= size;
            ops.push(Op::Delete { file, parent });
        }
        let (file, parent) = (FileId(number), DirId(below(dirs) as u32 + 1));
        ops.push(Op::Create { file, parent, size, content: Content::Auto });
        files.push((file, parent, size));
        bytes += size;
    }
    ops
}
