//! The positions of bytes on the platters of a drive, and the time that the heads need to reach them (Ruemmler and Wilkes 1994).
//!
//! All rotation follows from one function, [`Geometry::rotations`]: the number of rotations until the drive reaches a byte when it reads
//! everything from the first byte on. The fraction is the angle of the byte; differences are read times, including track switches.

use super::parameters::HddParameters;

/// The layout of a drive.
pub(super) struct Geometry {
    zones: Vec<Zone>,
    /// Time of a rotation in nanoseconds.
    pub rotation_ns: f64,
    /// Rotations from the start of one track to the start of the next.
    track_rotations: f64,
    heads: f64,
    cylinders: f64,
    seek: Seek,
}

/// A range of tracks with the same capacity.
struct Zone {
    start_bytes: u64,
    first_track: u64,
    track_bytes: u64,
}

/// The seek curve: times in nanoseconds, distances as fractions of the full stroke.
struct Seek {
    short_base_ns: f64,
    short_root_ns: f64,
    long_base_ns: f64,
    long_slope_ns: f64,
    short_share: f64,
}

const NS_PER_MS: f64 = 1e6;

impl Geometry {
    /// Lays out a drive of `drive_bytes` in zones of equal size, from the outer edge inwards.
    pub fn new(hdd: &HddParameters, drive_bytes: u64) -> Geometry {
        let rotation_ns = 60e9 / hdd.rpm;
        let switch_ns = hdd.track_switch_ms * NS_PER_MS;
        let zone_bytes = drive_bytes.div_ceil(hdd.zones.into());
        let mut zones = Vec::new();
        let mut track = 0;
        for zone in 0..u64::from(hdd.zones) {
            let inwards = zone as f64 / f64::from(hdd.zones.max(2) - 1);
            let mb_per_s = hdd.outer_mb_per_s + (hdd.inner_mb_per_s - hdd.outer_mb_per_s) * inwards;
            // Bytes read per rotation; chosen so that the rate, with a track switch after every rotation, is `mb_per_s`.
            let track_bytes = ((mb_per_s * (rotation_ns + switch_ns) / 1e3) as u64).max(512);
            zones.push(Zone { start_bytes: zone * zone_bytes, first_track: track, track_bytes });
            track += zone_bytes.div_ceil(track_bytes);
        }
        let ns = |ms: f64| ms * NS_PER_MS;
        Geometry {
            zones,
            rotation_ns,
            track_rotations: 1.0 + switch_ns / rotation_ns,
            heads: hdd.heads.into(),
            cylinders: track as f64 / f64::from(hdd.heads),
            seek: Seek {
                short_base_ns: ns(hdd.seek_short_base_ms),
                short_root_ns: ns(hdd.seek_short_root_ms),
                long_base_ns: ns(hdd.seek_long_base_ms),
                long_slope_ns: ns(hdd.seek_long_slope_ms),
                short_share: hdd.seek_short_share,
            },
        }
    }

    /// Rotations from the first byte of the drive to this byte when everything between is read.
    pub fn rotations(&self, byte: u64) -> f64 {
        let (zone, track) = self.track(byte);
        let in_track = (byte - zone.start_bytes) % zone.track_bytes;
        track as f64 * self.track_rotations + in_track as f64 / zone.track_bytes as f64
    }

    /// The same up to the end of the byte before `end`, without the switch to the next track.
    pub fn rotations_behind(&self, end: u64) -> f64 {
        let last = end.saturating_sub(1);
        self.rotations(last) + 1.0 / self.track(last).0.track_bytes as f64
    }

    /// The byte under the head after this many rotations of reading everything.
    pub fn byte_at(&self, rotations: f64) -> u64 {
        let track = (rotations / self.track_rotations).max(0.0) as u64;
        let zone = &self.zones[self.zones.partition_point(|z| z.first_track <= track) - 1];
        let in_track =
            (rotations - track as f64 * self.track_rotations).clamp(0.0, 1.0) * zone.track_bytes as f64;
        zone.start_bytes + (track - zone.first_track) * zone.track_bytes + in_track as u64
    }

    /// The time at which a head at the cylinder of `from` at `now_ns` first reaches the byte `to`.
    pub fn reach_ns(&self, now_ns: f64, from: u64, to: u64) -> f64 {
        let arrived_ns = now_ns + self.seek_ns(from, to);
        let wait_rotations = (self.rotations(to) - arrived_ns / self.rotation_ns).rem_euclid(1.0);
        // A rounding error must not cost a full rotation.
        arrived_ns + if wait_rotations > 1.0 - 1e-6 { 0.0 } else { wait_rotations * self.rotation_ns }
    }

    /// Bytes directly in front of `to`, on its track, that pass under a head at the cylinder of `from` while it waits for `to`.
    pub fn passed_bytes(&self, now_ns: f64, from: u64, to: u64) -> u64 {
        let wait_ns = self.reach_ns(now_ns, from, to) - now_ns - self.seek_ns(from, to);
        let (zone, _) = self.track(to);
        let in_track = (to - zone.start_bytes) % zone.track_bytes;
        in_track.min((wait_ns / self.rotation_ns * zone.track_bytes as f64) as u64)
    }

    /// The seek time between the cylinders of two bytes; 0 within a cylinder.
    fn seek_ns(&self, from: u64, to: u64) -> f64 {
        let cylinder = |byte| (self.track(byte).1 as f64 / self.heads).floor();
        let share = (cylinder(from) - cylinder(to)).abs() / self.cylinders;
        let seek = &self.seek;
        if share == 0.0 {
            0.0
        } else if share < seek.short_share {
            seek.short_base_ns + seek.short_root_ns * share.sqrt()
        } else {
            seek.long_base_ns + seek.long_slope_ns * share
        }
    }

    fn track(&self, byte: u64) -> (&Zone, u64) {
        let zone = &self.zones[self.zones.partition_point(|z| z.start_bytes <= byte) - 1];
        (zone, zone.first_track + (byte - zone.start_bytes) / zone.track_bytes)
    }
}
