//! Kernel modules in load order.
//!
//! An unpacked kernel package has no `modules.dep`, which `depmod` creates; but each module lists its
//! dependencies in its section `.modinfo`.

use crate::image::uncompress;
use crate::{Error, Kernel};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The directories for modules that do not belong to the kernel (`modules_install` of the kernel, `depmod.d(5)`).
const ADDED: [&str; 2] = ["extra", "updates"];

/// The modules of a kernel.
pub struct Modules {
    kernel: Kernel,
    /// The module files by name.
    files: HashMap<String, PathBuf>,
    /// The names of built-in modules.
    builtin: Vec<String>,
}

impl Modules {
    /// Lists the modules of a kernel.
    pub fn of(kernel: &Kernel) -> Result<Modules, Error> {
        let mut files = HashMap::new();
        let listing = || Error::io("listing the modules in", &kernel.modules);
        collect(&kernel.modules.join("kernel"), &mut files).map_err(listing())?;
        // Modules that were built for the kernel afterwards, such as that of OpenZFS, replace its own.
        for dir in ADDED.map(|dir| kernel.modules.join(dir)).iter().filter(|dir| dir.is_dir()) {
            collect(dir, &mut files).map_err(listing())?;
        }
        // Without a list, no module counts as built in.
        let builtin = std::fs::read_to_string(kernel.modules.join("modules.builtin")).unwrap_or_default();
        let builtin = builtin.lines().filter_map(|line| name_of(Path::new(line))).collect();
        Ok(Modules { kernel: kernel.clone(), files, builtin })
    }

    /// Whether the kernel has the module `name`, built in or loadable.
    pub fn has(&self, name: &str) -> bool {
        self.files.contains_key(name) || self.builtin.iter().any(|builtin| builtin == name)
    }

    /// The modules to load so that all of `wanted` are available, each after its dependencies, with their
    /// contents.
    pub fn load_order(&self, wanted: &[&str]) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let mut order = Vec::new();
        for name in wanted {
            if !self.has(name) {
                let why =
                    format!("it has no {name}, neither built in nor in {}", self.kernel.modules.display());
                return Err(Error::Kernel { image: self.kernel.image.clone(), why });
            }
            self.add(name, &mut order)?;
        }
        Ok(order)
    }

    fn add(&self, name: &str, order: &mut Vec<(String, Vec<u8>)>) -> Result<(), Error> {
        // A missing dependency is built in or not needed after all; otherwise the kernel reports it.
        let Some(path) = self.files.get(name) else { return Ok(()) };
        if order.iter().any(|(known, _)| known == name) {
            return Ok(());
        }
        let data = input::read(path).map_err(Error::io("reading the module", path))?;
        let Some(data) = uncompress(&data) else {
            let why =
                format!("{} cannot be decompressed; check that xz and gzip are installed", path.display());
            return Err(Error::Kernel { image: self.kernel.image.clone(), why });
        };
        // Dependencies have no cycles, but a damaged module may declare one.
        order.push((name.to_owned(), Vec::new()));
        for needed in needs(&data) {
            self.add(&needed, order)?;
        }
        order.retain(|(known, _)| known != name);
        order.push((name.to_owned(), data));
        Ok(())
    }
}

/// The names of the dependencies of the module `data`.
fn needs(data: &[u8]) -> Vec<String> {
    let mut needs = Vec::new();
    for text in data.split(|byte| *byte == 0) {
        let Ok(text) = std::str::from_utf8(text) else { continue };
        if let Some(list) = text.strip_prefix("depends=") {
            needs.extend(list.split(',').map(plain));
        }
        if let Some(list) = text.strip_prefix("softdep=pre:") {
            for word in list.split_whitespace().take_while(|word| *word != "post:") {
                // The entry names an algorithm; its portable implementation is mostly in the module
                // `NAME_generic` or `NAME`.
                let algorithm = plain(word.strip_prefix("crypto-").unwrap_or(word));
                needs.extend([format!("{algorithm}_generic"), algorithm]);
            }
        }
    }
    needs.retain(|name| !name.is_empty());
    needs
}

fn collect(dir: &Path, files: &mut HashMap<String, PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), files)?;
        } else if let Some(name) = name_of(&entry.path()) {
            files.insert(name, entry.path());
        }
    }
    Ok(())
}

/// The name of the module in a file `NAME.ko`, possibly compressed.
fn name_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let (name, ending) = name.split_once(".ko")?;
    ["", ".xz", ".zst", ".gz"].contains(&ending).then(|| plain(name))
}

/// Normalizes a module name, which may have dashes or underscores.
fn plain(name: &str) -> String {
    name.trim().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn module(dir: &Path, file: &str, info: &str) {
        let path = dir.join("kernel").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, [b"\x7fELF\0", info.as_bytes()].concat()).unwrap();
    }

    #[test]
    fn modules_follow_dependencies() {
        let dir = tempfile::tempdir().unwrap();
        module(dir.path(), "fs/a.ko", "depends=b-b,c\0softdep=pre: crypto-d post: e\0");
        module(dir.path(), "lib/b-b.ko", "depends=c\0");
        module(dir.path(), "lib/c.ko", "depends=\0");
        module(dir.path(), "crypto/d_generic.ko", "depends=a\0");
        module(dir.path(), "crypto/e.ko", "depends=\0");
        std::fs::write(dir.path().join("modules.builtin"), "kernel/fs/z.ko\n").unwrap();
        let added = dir.path().join("updates/zfs/y.ko");
        std::fs::create_dir_all(added.parent().unwrap()).unwrap();
        std::fs::write(added, "").unwrap();
        let kernel = Kernel { image: "vmlinuz".into(), modules: dir.path().to_owned() };
        let modules = Modules::of(&kernel).unwrap();
        assert!(modules.has("y"));
        let order: Vec<_> =
            modules.load_order(&["a", "z"]).unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(order, ["c", "b_b", "d_generic", "a"]);
        let said = modules.load_order(&["f2fs"]).unwrap_err().to_string();
        assert!(said.starts_with("kernel vmlinuz: it has no f2fs, neither built in nor in /"), "{said}");
    }

    proptest! {
        #[test]
        fn any_module_is_handled(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            needs(&bytes);
        }
    }
}
