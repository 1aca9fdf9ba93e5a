//! An operation as a flat row of named, nullable fields: the format shared by trace files and JSON lines. A
//! table viewer shows words and numbers and needs no knowledge of each operation's fields.
//!
//! | op | file | dir | size | offset | to_file | to_dir | content |
//! |---|---|---|---|---|---|---|---|
//! | mkdir, rmdir | | parent | | | | the directory itself | |
//! | create | file | parent | size | | | | contents |
//! | write, punch | file | parent | length | offset | | | |
//! | append | file | parent | length | | | | |
//! | truncate | file | parent | size | | | | |
//! | rename, link, clone | file | parent | | | new file | its parent | |
//! | delete, fsync | file | parent | | | | | |
//! | snapshot, delete_snapshot, checkpoint | | | number | | | | |
//!
//! So `dir` is always the parent directory, and `file` is never a directory.

use serde::{Deserialize, Serialize};

use crate::{Content, DirId, FileId, Op};

/// One operation as a row. Unused fields are empty.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row<'a> {
    pub op: &'a str,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_file: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_dir: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<&'a str>,
}

impl From<&Op> for Row<'static> {
    fn from(op: &Op) -> Self {
        let row = Row { op: Op::KINDS[op.kind()], ..Row::default() };
        let of = |file: FileId, parent: DirId| Row { file: Some(file.0), dir: Some(parent.0), ..row };
        match *op {
            Op::Mkdir { dir, parent } | Op::Rmdir { dir, parent } => {
                Row { dir: Some(parent.0), to_dir: Some(dir.0), ..row }
            }
            Op::Create { file, parent, size, content } => {
                Row { size: Some(size), content: Some(content.name()), ..of(file, parent) }
            }
            Op::Write { file, parent, offset, len } | Op::Punch { file, parent, offset, len } => {
                Row { size: Some(len), offset: Some(offset), ..of(file, parent) }
            }
            Op::Append { file, parent, len: size } | Op::Truncate { file, parent, size } => {
                Row { size: Some(size), ..of(file, parent) }
            }
            Op::Rename { file, parent, to_file, to_parent }
            | Op::Link { file, parent, to_file, to_parent }
            | Op::Clone { file, parent, to_file, to_parent } => {
                Row { to_file: Some(to_file.0), to_dir: Some(to_parent.0), ..of(file, parent) }
            }
            Op::Delete { file, parent } | Op::Fsync { file, parent } => of(file, parent),
            Op::Snapshot { number } | Op::DeleteSnapshot { number } | Op::Checkpoint { number } => {
                Row { size: Some(number), ..row }
            }
        }
    }
}

impl Row<'_> {
    /// The operation of this row, or the reason why the row is invalid.
    pub fn to_op(self) -> Result<Op, String> {
        let op = match self.op {
            "mkdir" => Op::Mkdir { dir: self.to_dir()?, parent: self.parent()? },
            "rmdir" => Op::Rmdir { dir: self.to_dir()?, parent: self.parent()? },
            "create" => Op::Create {
                file: self.file()?,
                parent: self.parent()?,
                size: self.size()?,
                content: self.content()?,
            },
            "write" => Op::Write {
                file: self.file()?,
                parent: self.parent()?,
                offset: self.offset()?,
                len: self.size()?,
            },
            "append" => Op::Append { file: self.file()?, parent: self.parent()?, len: self.size()? },
            "truncate" => Op::Truncate { file: self.file()?, parent: self.parent()?, size: self.size()? },
            "punch" => Op::Punch {
                file: self.file()?,
                parent: self.parent()?,
                offset: self.offset()?,
                len: self.size()?,
            },
            "rename" => Op::Rename {
                file: self.file()?,
                parent: self.parent()?,
                to_file: self.to_file()?,
                to_parent: self.to_dir()?,
            },
            "link" => Op::Link {
                file: self.file()?,
                parent: self.parent()?,
                to_file: self.to_file()?,
                to_parent: self.to_dir()?,
            },
            "clone" => Op::Clone {
                file: self.file()?,
                parent: self.parent()?,
                to_file: self.to_file()?,
                to_parent: self.to_dir()?,
            },
            "delete" => Op::Delete { file: self.file()?, parent: self.parent()? },
            "fsync" => Op::Fsync { file: self.file()?, parent: self.parent()? },
            "snapshot" => Op::Snapshot { number: self.size()? },
            "delete_snapshot" => Op::DeleteSnapshot { number: self.size()? },
            "checkpoint" => Op::Checkpoint { number: self.size()? },
            unknown => return Err(format!("unknown operation {unknown:?}")),
        };
        // Reject an extra field, which would be lost silently.
        if Row::from(&op) == self { Ok(op) } else { Err(format!("{} has an extra field", self.op)) }
    }

    fn file(self) -> Result<FileId, String> {
        self.file.map(FileId).ok_or_else(|| self.lacks("file"))
    }

    fn parent(self) -> Result<DirId, String> {
        self.dir.map(DirId).ok_or_else(|| self.lacks("dir"))
    }

    fn size(self) -> Result<u64, String> {
        self.size.ok_or_else(|| self.lacks("size"))
    }

    fn offset(self) -> Result<u64, String> {
        self.offset.ok_or_else(|| self.lacks("offset"))
    }

    fn to_file(self) -> Result<FileId, String> {
        self.to_file.map(FileId).ok_or_else(|| self.lacks("to_file"))
    }

    fn to_dir(self) -> Result<DirId, String> {
        self.to_dir.map(DirId).ok_or_else(|| self.lacks("to_dir"))
    }

    fn content(self) -> Result<Content, String> {
        let name = self.content.ok_or_else(|| self.lacks("content"))?;
        Content::ALL
            .into_iter()
            .find(|content| content.name() == name)
            .ok_or_else(|| format!("unknown content {name:?}"))
    }

    fn lacks(self, field: &str) -> String {
        format!("{} has no {field}", self.op)
    }
}
