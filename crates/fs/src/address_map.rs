//! From the addresses of extent maps to those of the device.

use disk::Extent;

/// Where the addresses that a file system reports for the extents of its files lie on its device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddressMap(Vec<(Extent, u64)>);

impl AddressMap {
    /// Of a file system that reports addresses of the device.
    pub fn of_device() -> AddressMap {
        AddressMap(vec![(Extent { start_bytes: 0, len_bytes: u64::MAX }, 0)])
    }

    /// From ranges of reported addresses, each with the address on the device that it begins at. A range with several copies occurs several times.
    pub fn new(ranges: impl IntoIterator<Item = (Extent, u64)>) -> AddressMap {
        let mut ranges: Vec<_> = ranges.into_iter().collect();
        ranges.sort_unstable();
        AddressMap(ranges)
    }

    /// The parts of an extent on the device, each with the bytes of the extent before it. Addresses outside all ranges have none.
    pub fn on_device(&self, extent: Extent) -> impl Iterator<Item = (u64, Extent)> {
        let begun = self.0.partition_point(|(range, _)| range.start_bytes < extent.end_bytes());
        self.0[..begun].iter().filter_map(move |(range, device)| {
            let start = extent.start_bytes.max(range.start_bytes);
            let end = extent.end_bytes().min(range.end_bytes());
            let there = Extent {
                start_bytes: device + (start - range.start_bytes),
                len_bytes: end.checked_sub(start)?,
            };
            (there.len_bytes > 0).then_some((start - extent.start_bytes, there))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(start_bytes: u64, len_bytes: u64) -> Extent {
        Extent { start_bytes, len_bytes }
    }

    #[test]
    fn an_extent_is_cut_at_ranges_and_found_in_all_copies() {
        let map = AddressMap::new([(extent(100, 50), 1000), (extent(0, 100), 5000), (extent(100, 50), 2000)]);
        let found: Vec<_> = map.on_device(extent(90, 20)).collect();
        assert_eq!(found, [(0, extent(5090, 10)), (10, extent(1000, 10)), (10, extent(2000, 10))]);
        assert_eq!(map.on_device(extent(150, 10)).count(), 0);
        let same: Vec<_> = AddressMap::of_device().on_device(extent(7, 9)).collect();
        assert_eq!(same, [(0, extent(7, 9))]);
    }
}
