//! The parameters of a device model: their TOML form and their validation.

use super::ftl::VictimPolicy;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// A device model as in its TOML file. Without a section its requests cost nothing.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    /// The name for `--model`.
    pub name: String,
    /// A one-line description.
    pub title: String,
    /// The publications that the model follows.
    pub source: String,
    /// A drive with moving heads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hdd: Option<HddParameters>,
    /// Shingled recording, on top of `hdd`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smr: Option<SmrParameters>,
    /// A flash drive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssd: Option<SsdParameters>,
    /// A flash translation layer, on top of `ssd`. Without it data lies on the dies by address, and writing leaves no traces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ftl: Option<FtlParameters>,
}

/// A drive with moving heads. The built-in file `devices/hdd-7200.toml` explains each parameter.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HddParameters {
    pub drive_bytes: u64,
    pub partition_offset_bytes: u64,
    pub rpm: f64,
    pub heads: u32,
    pub outer_mb_per_s: f64,
    pub inner_mb_per_s: f64,
    pub zones: u32,
    pub track_switch_ms: f64,
    pub seek_short_base_ms: f64,
    pub seek_short_root_ms: f64,
    pub seek_long_base_ms: f64,
    pub seek_long_slope_ms: f64,
    pub seek_short_share: f64,
    pub write_settle_ms: f64,
    pub command_ms: f64,
    pub host_mb_per_s: f64,
    pub read_segments: u32,
    pub read_segment_bytes: u64,
    /// Models before this parameter do not have it.
    #[serde(default)]
    pub read_on_arrival: bool,
    pub write_cache_bytes: u64,
    pub passed_over_max: u32,
}

/// A flash drive. The built-in file `devices/ssd-sata.toml` explains each parameter.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SsdParameters {
    pub channels: u32,
    pub dies_per_channel: u32,
    pub page_bytes: u64,
    pub page_read_us: f64,
    pub page_program_us: f64,
    pub bus_mb_per_s: f64,
    pub host_mb_per_s: f64,
    pub command_us: f64,
    pub turnaround_us: f64,
    pub map_entry_bytes: u64,
    pub map_unit_bytes: u64,
    pub map_cache_bytes: u64,
    pub read_ahead_bytes: u64,
    pub read_streams: u32,
    pub write_buffer_bytes: u64,
}

/// A persistent cache, and bands that can only be rewritten as a whole. The built-in file `devices/smr.toml` explains each parameter.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SmrParameters {
    pub media_cache_bytes: u64,
    pub band_bytes: u64,
}

/// A flash translation layer. The built-in file `devices/ssd-crucial-m4.toml` explains each parameter.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FtlParameters {
    pub drive_bytes: u64,
    pub partition_share: f64,
    pub over_provisioning: f64,
    pub planes_per_die: u32,
    pub pages_per_block: u32,
    pub block_erase_us: f64,
    pub endurance_erases: u32,
    pub victim: VictimPolicy,
    pub wear_gap_max: u32,
}

/// The largest valid drive, 1 PiB: floating-point numbers represent addresses in it exactly.
const DRIVE_BYTES_MAX: u64 = 1 << 50;

impl Parameters {
    /// Returns the first invalid parameter and its valid values.
    pub fn check(&self) -> Result<(), String> {
        let name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if self.name.is_empty() || self.name.len() > 64 || !self.name.chars().all(name) {
            return Err("name must be 1 to 64 letters, digits, '-', '_' or '.'".to_owned());
        }
        match (&self.ssd, &self.ftl) {
            (None, Some(_)) => return Err("[ftl] needs [ssd] for the flash".to_owned()),
            (Some(ssd), Some(ftl)) => ssd.check().and_then(|()| ftl.check(ssd))?,
            (_, None) => {}
        }
        match (&self.hdd, &self.ssd, &self.smr) {
            (Some(_), Some(_), _) => Err("[hdd] and [ssd] exclude each other".to_owned()),
            (None, _, Some(_)) => Err("[smr] needs [hdd] for the drive".to_owned()),
            (Some(hdd), None, smr) => hdd.check().and_then(|()| match smr {
                Some(smr) => smr.check(hdd),
                None => Ok(()),
            }),
            (None, Some(ssd), None) => ssd.check(),
            (None, None, None) => Ok(()),
        }
    }
}

impl HddParameters {
    fn check(&self) -> Result<(), String> {
        let (ms, mb_per_s) = (0.0..=1e4, 0.001..=1e6);
        number("hdd.rpm", self.rpm, 60.0..=1e6)?;
        for (key, value, range) in [
            ("hdd.outer_mb_per_s", self.outer_mb_per_s, &mb_per_s),
            ("hdd.inner_mb_per_s", self.inner_mb_per_s, &mb_per_s),
            ("hdd.host_mb_per_s", self.host_mb_per_s, &mb_per_s),
            ("hdd.track_switch_ms", self.track_switch_ms, &ms),
            ("hdd.seek_short_base_ms", self.seek_short_base_ms, &ms),
            ("hdd.seek_short_root_ms", self.seek_short_root_ms, &ms),
            ("hdd.seek_long_base_ms", self.seek_long_base_ms, &ms),
            ("hdd.seek_long_slope_ms", self.seek_long_slope_ms, &ms),
            ("hdd.write_settle_ms", self.write_settle_ms, &ms),
            ("hdd.command_ms", self.command_ms, &ms),
            ("hdd.seek_short_share", self.seek_short_share, &(0.0..=1.0)),
        ] {
            number(key, value, range.clone())?;
        }
        for (key, value, range) in [
            ("hdd.drive_bytes", self.drive_bytes, 1 << 20..=DRIVE_BYTES_MAX),
            ("hdd.partition_offset_bytes", self.partition_offset_bytes, 0..=self.drive_bytes),
            ("hdd.heads", self.heads.into(), 1..=1024),
            ("hdd.zones", self.zones.into(), 1..=1024),
            ("hdd.read_segments", self.read_segments.into(), 0..=1024),
            ("hdd.read_segment_bytes", self.read_segment_bytes, 0..=1 << 40),
            ("hdd.write_cache_bytes", self.write_cache_bytes, 0..=1 << 40),
            ("hdd.passed_over_max", self.passed_over_max.into(), 1..=1 << 20),
        ] {
            whole(key, value, range)?;
        }
        if self.inner_mb_per_s > self.outer_mb_per_s {
            return Err("hdd.inner_mb_per_s exceeds hdd.outer_mb_per_s".to_owned());
        }
        Ok(())
    }
}

impl SmrParameters {
    fn check(&self, hdd: &HddParameters) -> Result<(), String> {
        if hdd.partition_offset_bytes > 0 {
            return Err(
                "hdd.partition_offset_bytes must be 0 with [smr]: the disk is behind the cache".to_owned()
            );
        }
        whole("smr.media_cache_bytes", self.media_cache_bytes, 1 << 20..=hdd.drive_bytes / 2)?;
        whole("smr.band_bytes", self.band_bytes, 4096..=self.media_cache_bytes)
    }
}

impl SsdParameters {
    fn check(&self) -> Result<(), String> {
        let (us, mb_per_s) = (0.0..=1e7, 0.001..=1e7);
        for (key, value, range) in [
            ("ssd.page_read_us", self.page_read_us, &us),
            ("ssd.page_program_us", self.page_program_us, &us),
            ("ssd.command_us", self.command_us, &us),
            ("ssd.turnaround_us", self.turnaround_us, &us),
            ("ssd.bus_mb_per_s", self.bus_mb_per_s, &mb_per_s),
            ("ssd.host_mb_per_s", self.host_mb_per_s, &mb_per_s),
        ] {
            number(key, value, range.clone())?;
        }
        for (key, value, range) in [
            ("ssd.channels", self.channels.into(), 1..=1024),
            ("ssd.dies_per_channel", self.dies_per_channel.into(), 1..=1024),
            ("ssd.page_bytes", self.page_bytes, 512..=1 << 24),
            ("ssd.map_entry_bytes", self.map_entry_bytes, 1..=64),
            ("ssd.map_unit_bytes", self.map_unit_bytes, 512..=1 << 24),
            ("ssd.map_cache_bytes", self.map_cache_bytes, 0..=1 << 40),
            ("ssd.read_ahead_bytes", self.read_ahead_bytes, 0..=1 << 30),
            ("ssd.read_streams", self.read_streams.into(), 1..=64),
            ("ssd.write_buffer_bytes", self.write_buffer_bytes, self.page_bytes..=1 << 40),
        ] {
            whole(key, value, range)?;
        }
        Ok(())
    }
}

impl FtlParameters {
    fn check(&self, ssd: &SsdParameters) -> Result<(), String> {
        number("ftl.block_erase_us", self.block_erase_us, 0.0..=1e7)?;
        number("ftl.partition_share", self.partition_share, 0.01..=1.0)?;
        number("ftl.over_provisioning", self.over_provisioning, 0.0..=1.0)?;
        for (key, value, range) in [
            ("ftl.planes_per_die", self.planes_per_die.into(), 1..=64),
            ("ftl.pages_per_block", self.pages_per_block.into(), 1..=1 << 16),
            ("ftl.endurance_erases", self.endurance_erases.into(), 1..=1 << 30),
            ("ftl.wear_gap_max", self.wear_gap_max.into(), 1..=1 << 30),
        ] {
            whole(key, value, range)?;
        }
        let dies = u64::from(ssd.channels) * u64::from(ssd.dies_per_channel);
        let row_bytes = ssd.page_bytes.saturating_mul(dies * u64::from(self.planes_per_die));
        whole("ftl: a page of every die, in bytes,", row_bytes, 512..=1 << 26)?;
        let superblock_bytes = row_bytes * u64::from(self.pages_per_block);
        // Between 16 superblocks, for garbage collection to choose from, and what can be searched quickly.
        whole("ftl.drive_bytes", self.drive_bytes, superblock_bytes * 16..=superblock_bytes << 16)?;
        whole("ftl: ssd.map_unit_bytes", ssd.map_unit_bytes, 512..=ssd.page_bytes)
    }
}

/// Refuses values outside the range, including NaN.
fn number(key: &str, value: f64, range: RangeInclusive<f64>) -> Result<(), String> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(format!("{key} is {value}; it must be between {} and {}", range.start(), range.end()))
}

fn whole(key: &str, value: u64, range: RangeInclusive<u64>) -> Result<(), String> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(format!("{key} is {value}; it must be between {} and {}", range.start(), range.end()))
}
