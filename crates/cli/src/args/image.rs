//! Arguments of `senesce image`.

use super::Work;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Args)]
pub struct Image {
    #[command(subcommand)]
    pub action: ImageAction,
}

#[derive(Subcommand)]
pub enum ImageAction {
    /// Save an aged file system to one compact file
    Save {
        /// Name in the work directory, or image
        name: PathBuf,
        /// Work directory [default: the directory of the image, or that of `senesce age`]
        #[arg(long, value_name = "DIR")]
        work: Option<PathBuf>,
        /// File to write [default: NAME in the library]
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Restore a saved image into a work directory
    Restore {
        #[command(flatten)]
        image: SavedImage,
        #[command(flatten)]
        work: Work,
        /// Restore to this file instead of a work directory
        #[arg(long, value_name = "FILE", conflicts_with = "work")]
        to: Option<PathBuf>,
    },
    /// List the saved images of the library or a catalogue
    List {
        /// Catalogue
        #[arg(long, value_name = "FILE")]
        catalogue: Option<PathBuf>,
        /// Require a signature of the catalogue by this minisign public key, or key file
        #[arg(long, requires = "catalogue")]
        key: Option<String>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Show the manifest of a saved image
    Show {
        #[command(flatten)]
        image: SavedImage,
        /// Print only the manifest, exactly as signed
        #[arg(long, conflicts_with = "json")]
        manifest: bool,
    },
    /// Verify the checksums of a saved image
    Verify {
        #[command(flatten)]
        image: SavedImage,
        /// Also restore to a scratch directory, run the file-system checker, and compare the layout with the manifest
        #[arg(long)]
        deep: bool,
        #[command(flatten)]
        scratch: Scratch,
    },
    /// Show the differences of two saved images
    Diff {
        /// First image
        a: PathBuf,
        /// Second image
        b: PathBuf,
        /// Require signatures of both images by this minisign public key, or key file
        #[arg(long)]
        key: Option<String>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Create a minisign key pair to sign images
    Key {
        /// Secret key file to write; the public key file is FILE.pub
        file: PathBuf,
        /// Do not protect the secret key by a password
        #[arg(long)]
        no_password: bool,
    },
    /// Sign a saved image or a catalogue
    Sign {
        /// Saved image: file, or name in the library
        #[arg(required_unless_present = "catalogue")]
        image: Option<PathBuf>,
        /// Catalogue to sign
        #[arg(long, value_name = "FILE", conflicts_with = "image")]
        catalogue: Option<PathBuf>,
        /// Minisign secret key
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
    },
    /// Fetch and verify an image of a catalogue
    Fetch {
        /// Name in the catalogue
        name: String,
        /// Catalogue
        #[arg(long, value_name = "FILE")]
        catalogue: PathBuf,
        /// Require a signature of the catalogue by this minisign public key, or key file
        #[arg(long)]
        key: Option<String>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
pub struct SavedImage {
    /// Saved image: file, or name in the library
    pub image: PathBuf,
    /// Require a signature by this minisign public key, or key file
    #[arg(long)]
    pub key: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Directory for temporary copies.
#[derive(Args)]
pub struct Scratch {
    /// Directory for temporary copies [default: the system's temporary directory]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
}
