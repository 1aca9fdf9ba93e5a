//! Device models: the cost of requests on disks that this machine need not have (DESIGN §5).
//!
//! A [`Model`] holds parameters from a TOML file, built in under `devices/` or supplied by the user; a [`Device`] is the state of one such
//! disk between requests; a [`ModelClock`] counts its time; [`price`] computes the cost of a log. The served disk and the pricing of logs
//! use the same clock, so their times agree.

mod clock;
mod device;
mod flash;
mod ftl;
mod geometry;
mod hdd;
mod parameters;
mod price;
mod smr;
mod ssd;
mod write_cache;

pub use clock::ModelClock;
pub use device::Device;
pub(crate) use ftl::lock;
pub use ftl::{FlashState, FlashStatus, Ftl, SharedFtl};
pub use price::{
    LogCost, Pricing, RequestKindCost, TransferCurve, TransferPoint, price, price_expected, price_extents,
    price_on, transfer_curve,
};

use crate::Error;
use crate::modelled::{is_store, model_of};
use ftl::Geometry;
use parameters::{FtlParameters, Parameters, SsdParameters};
use serde::{Serialize, Serializer};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The built-in models: one line each.
const BUILTIN: &[&str] = &[
    include_str!("../../../devices/ideal.toml"),
    include_str!("../../../devices/hdd-7200.toml"),
    include_str!("../../../devices/hdd-1994.toml"),
    include_str!("../../../devices/hdd-1996.toml"),
    include_str!("../../../devices/hdd-wd20ears.toml"),
    include_str!("../../../devices/smr.toml"),
    include_str!("../../../devices/ssd-sata.toml"),
    include_str!("../../../devices/ssd-intel-320.toml"),
    include_str!("../../../devices/ssd-crucial-m4.toml"),
    include_str!("../../../devices/ssd-adata-s510.toml"),
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
            Model::read(text, Path::new("devices")).expect("a test checks that the built-in models are valid")
        })
    }

    /// Finds the built-in model of this name, the model in the TOML file at this path, or the model of the modelled disk whose store is at
    /// this path.
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

    /// Parses and checks a model supplied by the user as TOML. `origin` names the source of the text in errors. A model with the name of a
    /// built-in model must equal it, because results are identified by model name.
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

    /// Parses a model written by this program, possibly by a version with a different built-in model of the same name.
    pub(crate) fn read(text: &str, origin: &Path) -> Result<Model, Error> {
        let wrong = |why| Error::Model { path: origin.to_owned(), why };
        let parameters: Parameters = toml::from_str(text).map_err(|e| wrong(input::toml_error(&e, text)))?;
        parameters.check().map_err(wrong)?;
        Ok(Model { parameters })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.parameters.name
    }

    /// A one-line description.
    pub fn title(&self) -> &str {
        &self.parameters.title
    }

    /// The publications that the model follows.
    pub fn source(&self) -> &str {
        &self.parameters.source
    }

    /// The parameters as TOML; [`Model::parse`] restores an equal model.
    pub fn to_toml(&self) -> String {
        toml::to_string(&self.parameters).expect("parameters are plain data")
    }

    /// Whether no request takes any time on this model.
    pub fn costs_nothing(&self) -> bool {
        let Parameters { hdd, smr, ssd, .. } = &self.parameters;
        hdd.is_none() && smr.is_none() && ssd.is_none()
    }

    /// Nanoseconds of a rotation; 0 without rotating media.
    pub fn rotation_ns(&self) -> u64 {
        self.parameters.hdd.as_ref().map_or(0, |hdd| (60e9 / hdd.rpm) as u64)
    }

    /// Creates a device in its initial state, with a disk of `size_bytes`.
    pub fn device(&self, size_bytes: u64) -> Device {
        self.device_with(size_bytes, self.ftl(size_bytes))
    }

    /// Creates a device whose flash is in a given state; `None` for a device without a translation layer.
    pub fn device_with(&self, size_bytes: u64, flash: Option<SharedFtl>) -> Device {
        Device::new(&self.parameters, size_bytes, flash)
    }

    /// The fresh flash of a drive with a disk of `size_bytes`; `None` for a device without a translation layer.
    pub fn ftl(&self, size_bytes: u64) -> Option<SharedFtl> {
        let ftl = self
            .flash_parameters()
            .map(|(ssd, ftl)| Ftl::new(Geometry::new(ssd, ftl, size_bytes), ftl.victim, ftl.wear_gap_max));
        ftl.map(|ftl| Arc::new(Mutex::new(ftl)))
    }

    /// Restores the flash of a drive with a disk of `size_bytes` from [`Ftl::to_bytes`]. Returns what is wrong with the bytes if they are
    /// not such a state; `None` for a device without a translation layer.
    pub(crate) fn parse_ftl(&self, bytes: &[u8], size_bytes: u64) -> Option<Result<Ftl, String>> {
        self.flash_parameters().map(|(ssd, ftl)| {
            Ftl::parse(bytes, Geometry::new(ssd, ftl, size_bytes), ftl.victim, ftl.wear_gap_max)
        })
    }

    /// Whether this is the flash of such a drive with a disk of `size_bytes`.
    pub fn has_flash_of(&self, flash: &Ftl, size_bytes: u64) -> bool {
        let geometry = self.flash_parameters().map(|(ssd, ftl)| Geometry::new(ssd, ftl, size_bytes));
        geometry.as_ref() == Some(flash.geometry())
    }

    /// Whether it is a flash drive.
    pub fn has_dies(&self) -> bool {
        self.parameters.ssd.is_some()
    }

    /// Whether its flash has a translation layer, and so a state.
    pub fn has_ftl(&self) -> bool {
        self.flash_parameters().is_some()
    }

    /// The number of erases that a block is specified for; `None` for a device without a translation layer.
    pub fn endurance_erases(&self) -> Option<u32> {
        Some(self.parameters.ftl.as_ref()?.endurance_erases)
    }

    fn flash_parameters(&self) -> Option<(&SsdParameters, &FtlParameters)> {
        self.parameters.ssd.as_ref().zip(self.parameters.ftl.as_ref())
    }
}

impl Serialize for Model {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.parameters.serialize(serializer)
    }
}
