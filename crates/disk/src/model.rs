//! Device models: what requests cost on a disk that this machine need not have (DESIGN §5).
//!
//! A [`Model`] is parameters, from a TOML file under `devices/` or one of the user's; a [`Device`] is the state of one such
//! disk between requests; a [`ModelClock`] counts its time; [`price`] runs a log through it. The disk that is served and
//! the log that is priced go through the same clock, so that their times agree.

mod clock;
mod device;
mod geometry;
mod hdd;
mod parameters;
mod price;
mod smr;
mod ssd;
mod write_cache;

pub use clock::ModelClock;
pub use device::Device;
pub use price::{
    KindCost, Priced, Pricing, TransferCurve, TransferPoint, price, price_expected, price_extents,
    transfer_curve,
};

use crate::Error;
use crate::modelled::{is_store, model_of};
use parameters::Parameters;
use serde::{Serialize, Serializer};
use std::path::Path;

/// The built-in models: one line each.
const BUILTIN: [&str; 6] = [
    include_str!("../../../devices/ideal.toml"),
    include_str!("../../../devices/hdd-7200.toml"),
    include_str!("../../../devices/hdd-1994.toml"),
    include_str!("../../../devices/smr.toml"),
    include_str!("../../../devices/ssd-sata.toml"),
    include_str!("../../../devices/ssd-nvme.toml"),
];

/// The checked parameters of a device model.
#[derive(Clone, PartialEq, Debug)]
pub struct Model {
    parameters: Parameters,
}

impl Model {
    /// The built-in models.
    pub fn builtin() -> impl Iterator<Item = Model> {
        BUILTIN.iter().map(|text| {
            Model::read(text, Path::new("devices"))
                .expect("a test sees to it that the built-in models are sound")
        })
    }

    /// The built-in model of this name, the one in the TOML file of this path, or that of the modelled disk whose store is
    /// there.
    pub fn find(name_or_path: &str) -> Result<Model, Error> {
        if let Some(model) = Model::builtin().find(|model| model.name() == name_or_path) {
            return Ok(model);
        }
        let path = Path::new(name_or_path);
        if is_store(path) {
            return model_of(path);
        }
        match input::read_to_string(path) {
            Ok(text) => Model::parse(&text, path),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                let known: Vec<_> = Model::builtin().map(|model| model.name().to_owned()).collect();
                Err(Error::UnknownModel { name: name_or_path.to_owned(), known: known.join(", ") })
            }
            Err(source) => {
                Err(Error::Io { doing: "reading the device model", path: path.to_owned(), source })
            }
        }
    }

    /// Reads a model of the user's from TOML and checks it. `origin` says in errors where the text came from. The name of a
    /// built-in model is for that model alone, for by names are results known.
    pub fn parse(text: &str, origin: &Path) -> Result<Model, Error> {
        let model = Model::read(text, origin)?;
        match Model::builtin().find(|builtin| builtin.name() == model.name()) {
            Some(builtin) if builtin != model => {
                let why = format!(
                    "it is named {}, but differs from the built-in model of this name; give it another name",
                    model.name()
                );
                Err(Error::Model { path: origin.to_owned(), why })
            }
            _ => Ok(model),
        }
    }

    /// Reads a model that this program wrote, maybe when a built-in model of its name was another.
    pub(crate) fn read(text: &str, origin: &Path) -> Result<Model, Error> {
        let wrong = |why| Error::Model { path: origin.to_owned(), why };
        let parameters: Parameters = toml::from_str(text).map_err(|e| wrong(one_line(&e, text)))?;
        parameters.check().map_err(wrong)?;
        Ok(Model { parameters })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.parameters.name
    }

    /// One line that says what it models.
    pub fn title(&self) -> &str {
        &self.parameters.title
    }

    /// The publications that it follows.
    pub fn source(&self) -> &str {
        &self.parameters.source
    }

    /// Its parameters as TOML that [`Model::parse`] reads back the same.
    pub fn to_toml(&self) -> String {
        toml::to_string(&self.parameters).expect("parameters are plain data")
    }

    /// Whether nothing takes any time on it.
    pub fn costs_nothing(&self) -> bool {
        let Parameters { hdd, smr, ssd, .. } = &self.parameters;
        hdd.is_none() && smr.is_none() && ssd.is_none()
    }

    /// Nanoseconds of a turn; 0 where nothing turns.
    pub fn turn_ns(&self) -> u64 {
        self.parameters.hdd.as_ref().map_or(0, |hdd| (60e9 / hdd.rpm) as u64)
    }

    /// A fresh device with a disk of `size_bytes` on it.
    pub fn device(&self, size_bytes: u64) -> Device {
        Device::new(&self.parameters, size_bytes)
    }
}

impl Serialize for Model {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.parameters.serialize(serializer)
    }
}

/// The error with its line number, without the excerpt that the TOML library draws over several lines.
fn one_line(error: &toml::de::Error, text: &str) -> String {
    let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let message = error.message().replace('\n', " ");
    line.map_or(message.clone(), |line| format!("line {line}: {message}"))
}
