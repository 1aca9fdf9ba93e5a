//! What `senesce image` takes.

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
    /// Save an aged file system in one compact file
    Save {
        /// Its name in the work directory, or its image
        name: PathBuf,
        /// Its work directory [default: senesce-work, or that of the image]
        #[arg(long, value_name = "DIR")]
        work: Option<PathBuf>,
        /// The file to make [default: by its name on the shelf]
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Restore a saved image into a work directory, as if it had been aged there
    Restore {
        #[command(flatten)]
        image: SavedImage,
        #[command(flatten)]
        work: Work,
        /// Restore to this file and to no work directory
        #[arg(long, value_name = "FILE", conflicts_with = "work")]
        to: Option<PathBuf>,
    },
    /// List the saved images on the shelf, or those of a catalogue
    List {
        /// The catalogue
        #[arg(long, value_name = "FILE")]
        catalogue: Option<PathBuf>,
        /// Refuse the catalogue unless this key has signed it: a public key of minisign, or its file
        #[arg(long, requires = "catalogue")]
        key: Option<String>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Show what a saved image is
    Show {
        #[command(flatten)]
        image: SavedImage,
        /// Print the manifest as it is signed, and nothing else
        #[arg(long, conflicts_with = "json")]
        manifest: bool,
    },
    /// Check every byte of a saved image
    Verify {
        #[command(flatten)]
        image: SavedImage,
        /// Restore it to a scratch directory too, check the file system, and compare its layout with the manifest
        #[arg(long)]
        deep: bool,
        #[command(flatten)]
        scratch: Scratch,
    },
    /// Say what two saved images differ in
    Diff {
        /// The one
        a: PathBuf,
        /// The other
        b: PathBuf,
        /// Refuse them unless this key has signed both: a public key of minisign, or its file
        #[arg(long)]
        key: Option<String>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Make a pair of keys to sign images with, as minisign does
    Key {
        /// The file of the secret key; the public one gets `.pub` behind
        file: PathBuf,
        /// Protect it by no password
        #[arg(long)]
        no_password: bool,
    },
    /// Sign the manifest of a saved image, which has the checksum of every byte; or a catalogue
    Sign {
        /// The image: a file, or a name on the shelf
        #[arg(required_unless_present = "catalogue")]
        image: Option<PathBuf>,
        /// Sign this catalogue
        #[arg(long, value_name = "FILE", conflicts_with = "image")]
        catalogue: Option<PathBuf>,
        /// The secret key of minisign
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
    },
    /// Fetch an image that a catalogue names, and check it
    Fetch {
        /// Its name in the catalogue
        name: String,
        /// The catalogue
        #[arg(long, value_name = "FILE")]
        catalogue: PathBuf,
        /// Refuse the catalogue unless this key has signed it: a public key of minisign, or its file
        #[arg(long)]
        key: Option<String>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
pub struct SavedImage {
    /// The image: a file, or a name on the shelf
    pub image: PathBuf,
    /// Refuse it unless this key has signed it: a public key of minisign, or its file
    #[arg(long)]
    pub key: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Where copies go that are removed again.
#[derive(Args)]
pub struct Scratch {
    /// Where there is room for copies, which are removed again [default: the directory of temporary files]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
}
