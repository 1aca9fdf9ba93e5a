//! The device models of the reported times.

use anyhow::Result;
use disk::Model;
use run::scanned::Scanned;
use std::collections::BTreeMap;

pub struct Models(Vec<Model>);

impl Models {
    /// Finds models by built-in name or file.
    pub fn find(names: &[String]) -> Result<Models> {
        Ok(Models(names.iter().map(|name| Model::find(name)).collect::<Result<_, _>>()?))
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(Model::name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Model> {
        self.0.iter()
    }

    /// Modelled seconds per GiB of a scan on each model; `None` if its requests are unknown.
    pub fn costs(&self, scanned: &Scanned, disk_bytes: Option<u64>) -> BTreeMap<String, Option<f64>> {
        let cost = |model| disk_bytes.and_then(|bytes| scanned.modelled_s_per_gib(model, bytes));
        self.iter().map(|model| (model.name().to_owned(), cost(model))).collect()
    }
}
