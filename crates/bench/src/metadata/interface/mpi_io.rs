//! The directories and files of the interface `posix`, but each rank accesses its files through MPI-IO, as md-workbench does.

use super::{InterfaceError, InterfaceKind, LocationKind};
use crate::metadata::{ObjectLocation, Ranks};

inventory::submit!(InterfaceKind {
    name: "mpi-io",
    aliases: &[],
    help: "Files through MPI-IO, under mpirun",
    location: LocationKind::Directory,
    check,
    #[cfg(feature = "mpi")]
    open: Ok(files::open),
    #[cfg(not(feature = "mpi"))]
    open: Err("mpi"),
});

fn check(_: &ObjectLocation, ranks: Ranks) -> Result<(), InterfaceError> {
    match ranks {
        Ranks::Mpi(_) => Ok(()),
        _ => Err(InterfaceError("the interface mpi-io needs MPI: start the program with mpirun".to_owned())),
    }
}

#[cfg(feature = "mpi")]
mod files {
    use crate::metadata::interface::{Interface, InterfaceError, Posix};
    use crate::metadata::{DataSet, Object, ObjectLocation};
    use rsmpi::ffi;
    use std::ffi::{CStr, c_int};
    use std::mem::MaybeUninit;

    /// Maximum bytes per call, which MPI counts in 31 bits.
    const MOST_BYTES: usize = 1 << 30;

    /// Opens files below the root. The world of MPI must have been joined.
    pub fn open(location: &ObjectLocation) -> Result<Box<dyn Interface>, InterfaceError> {
        if !rsmpi::environment::is_initialized() {
            return Err(InterfaceError("MPI is not initialized".to_owned()));
        }
        // SAFETY: both are constants of MPI. For the null file, the call sets the default of files opened later.
        check(unsafe { ffi::MPI_File_set_errhandler(ffi::RSMPI_FILE_NULL, ffi::RSMPI_ERRORS_RETURN) })?;
        Ok(Box::new(MpiIo { files: Posix::new(location.root()?) }))
    }

    struct MpiIo {
        /// Creates the directories, and builds the paths.
        files: Posix,
    }

    impl Interface for MpiIo {
        fn prepare(&mut self) -> Result<(), InterfaceError> {
            self.files.prepare()
        }

        fn finish(&mut self) -> Result<(), InterfaceError> {
            self.files.finish()
        }

        fn make_set(&mut self, set: DataSet) -> Result<(), InterfaceError> {
            self.files.make_set(set)
        }

        fn remove_set(&mut self, set: DataSet) -> Result<(), InterfaceError> {
            self.files.remove_set(set)
        }

        fn write(&mut self, object: Object, contents: &[u8]) -> Result<(), InterfaceError> {
            let mut file = File::open(self.files.path(object), ffi::MPI_MODE_CREATE | ffi::MPI_MODE_WRONLY)?;
            let mut left = contents;
            while !left.is_empty() {
                match file.write(left)? {
                    0 => return Err(InterfaceError("cannot write more".to_owned())),
                    written => left = &left[written..],
                }
            }
            file.close()
        }

        fn stat(&mut self, object: Object) -> Result<u64, InterfaceError> {
            let file = File::open(self.files.path(object), ffi::MPI_MODE_RDONLY)?;
            let size = file.size()?;
            file.close()?;
            Ok(size)
        }

        fn read(&mut self, object: Object, bytes: u64, into: &mut Vec<u8>) -> Result<(), InterfaceError> {
            let mut file = File::open(self.files.path(object), ffi::MPI_MODE_RDONLY)?;
            into.resize(bytes as usize, 0);
            let mut read = 0;
            while read < into.len() {
                match file.read(&mut into[read..])? {
                    0 => break,
                    more => read += more,
                }
            }
            into.truncate(read);
            file.close()
        }

        fn delete(&mut self, object: Object) -> Result<(), InterfaceError> {
            // SAFETY: the path ends with a zero byte, and there are no hints.
            check(unsafe { ffi::MPI_File_delete(self.files.path(object).as_ptr(), ffi::RSMPI_INFO_NULL) })
        }
    }

    /// A file opened by this rank only. Dropping it closes it and ignores errors.
    struct File(ffi::MPI_File);

    impl File {
        fn open(path: &CStr, mode: u32) -> Result<File, InterfaceError> {
            let mut file = MaybeUninit::uninit();
            // SAFETY: the path ends with a zero byte, only this rank opens it, and `file` is written if no error is returned.
            unsafe {
                let (alone, hints) = (ffi::RSMPI_COMM_SELF, ffi::RSMPI_INFO_NULL);
                check(ffi::MPI_File_open(alone, path.as_ptr(), mode as c_int, hints, file.as_mut_ptr()))?;
                Ok(File(file.assume_init()))
            }
        }

        /// Returns the number of bytes written.
        fn write(&mut self, bytes: &[u8]) -> Result<usize, InterfaceError> {
            let count = bytes.len().min(MOST_BYTES) as c_int;
            let mut status = MaybeUninit::uninit();
            // SAFETY: the file is open, the buffer has this many bytes, and the status is written if no error is returned.
            unsafe {
                let from = bytes.as_ptr().cast();
                check(ffi::MPI_File_write(self.0, from, count, ffi::RSMPI_UINT8_T, status.as_mut_ptr()))?;
                transferred(status.assume_init_ref())
            }
        }

        /// Returns the number of bytes read.
        fn read(&mut self, bytes: &mut [u8]) -> Result<usize, InterfaceError> {
            let count = bytes.len().min(MOST_BYTES) as c_int;
            let mut status = MaybeUninit::uninit();
            // SAFETY: the file is open, the buffer has space for this many bytes, and the status is written if no error is returned.
            unsafe {
                let to = bytes.as_mut_ptr().cast();
                check(ffi::MPI_File_read(self.0, to, count, ffi::RSMPI_UINT8_T, status.as_mut_ptr()))?;
                transferred(status.assume_init_ref())
            }
        }

        fn size(&self) -> Result<u64, InterfaceError> {
            let mut size = 0;
            // SAFETY: the file is open.
            check(unsafe { ffi::MPI_File_get_size(self.0, &mut size) })?;
            Ok(size as u64)
        }

        fn close(self) -> Result<(), InterfaceError> {
            let mut file = self.0;
            std::mem::forget(self);
            // SAFETY: the file is open, and not used afterwards.
            check(unsafe { ffi::MPI_File_close(&mut file) })
        }
    }

    impl Drop for File {
        fn drop(&mut self) {
            // SAFETY: the file is open, and not used afterwards.
            unsafe { ffi::MPI_File_close(&mut self.0) };
        }
    }

    /// The number of bytes that a call transferred.
    fn transferred(status: &ffi::MPI_Status) -> Result<usize, InterfaceError> {
        let mut count = 0;
        // SAFETY: the status is from a call that transferred bytes.
        check(unsafe { ffi::MPI_Get_count(status, ffi::RSMPI_UINT8_T, &mut count) })?;
        Ok(count.max(0) as usize)
    }

    /// Converts an error code of MPI to its message.
    fn check(code: c_int) -> Result<(), InterfaceError> {
        if code == ffi::MPI_SUCCESS as c_int {
            return Ok(());
        }
        let mut text = [0; ffi::MPI_MAX_ERROR_STRING as usize];
        let mut length = 0;
        // SAFETY: the buffer has the maximum length of an error message.
        let known = unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &mut length) };
        if known != ffi::MPI_SUCCESS as c_int {
            return Err(InterfaceError(format!("MPI error {code}")));
        }
        let text = &text[..(length.max(0) as usize).min(text.len())];
        Err(InterfaceError(String::from_utf8_lossy(text).trim().to_owned()))
    }
}
