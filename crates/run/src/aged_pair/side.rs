//! One side of a pair.

use crate::rollback::RollbackGuard;
use fs::Target;

/// A side.
pub(super) struct Side<'a> {
    /// Its name in the store: `aged`, `unaged`, or empty if there is only one.
    pub subject: &'static str,
    pub file_system: FileSystem<'a>,
}

/// The file system of a side.
pub(super) enum FileSystem<'a> {
    /// Rolled back at the end.
    Guarded(Box<RollbackGuard>),
    /// Open before and after.
    Open(&'a mut dyn Target),
}

impl Side<'_> {
    pub fn target(&mut self) -> &mut dyn Target {
        match &mut self.file_system {
            FileSystem::Guarded(guard) => guard.target(),
            FileSystem::Open(target) => *target,
        }
    }

    pub fn shared(&self) -> &dyn Target {
        match &self.file_system {
            FileSystem::Guarded(guard) => guard.shared(),
            FileSystem::Open(target) => *target,
        }
    }

    /// Rolls the file system back before another repetition.
    pub fn rewind(&mut self) -> Result<(), crate::Error> {
        match &mut self.file_system {
            FileSystem::Guarded(guard) => guard.rewind(),
            FileSystem::Open(_) => Ok(()),
        }
    }

    /// Whether created files must be deleted by whoever created them.
    pub fn is_cleaned_up(&self) -> bool {
        match &self.file_system {
            FileSystem::Guarded(guard) => guard.is_cleaned_up(),
            FileSystem::Open(_) => true,
        }
    }
}
