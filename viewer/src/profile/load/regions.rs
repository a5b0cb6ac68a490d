//! Regions of code outside all load modules: a JIT compiler's code that has no names, of which each
//! address would be a function of its own.
//!
//! Profiles do not say where anonymous mappings begin and end. Code caches are filled from one end,
//! so addresses that are near each other are of one region.

/// Addresses that are so many bytes apart are taken for different regions, as a rule of thumb: few
/// functions are larger, but mappings may lie side by side.
const APART: u64 = 1 << 20;

/// Addresses are told by page, for a region begins at one.
const PAGE: u64 = 4096;

/// The regions in which some addresses lie.
#[derive(Debug, Default)]
pub(super) struct Regions {
    /// The first and the last address of each, in order.
    bounds: Vec<(u64, u64)>,
}

impl Regions {
    /// Those of addresses in any order.
    pub(super) fn of(addresses: impl Iterator<Item = u64>) -> Self {
        let mut addresses: Vec<u64> = addresses.collect();
        addresses.sort_unstable();
        let mut bounds: Vec<(u64, u64)> = Vec::new();
        for address in addresses {
            match bounds.last_mut() {
                Some((_, last)) if address - *last < APART => *last = address,
                _ => bounds.push((address, address)),
            }
        }
        Self { bounds }
    }

    /// The page at which the region of an address begins, as far as it was sampled; `None` for an
    /// address in none.
    pub(super) fn start_of(&self, address: u64) -> Option<u64> {
        let behind = self.bounds.partition_point(|(first, _)| *first <= address);
        let (first, last) = *self.bounds.get(behind.checked_sub(1)?)?;
        (address <= last).then_some(first & !(PAGE - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_near_each_other_are_of_one_region() {
        let far = 0x7f00_0000_0123;
        let addresses = [far + APART + 5, 0x10_0fff, far, 0x10_0010, far + 5, u64::MAX, 0x10_0010];
        let regions = Regions::of(addresses.into_iter());
        for (address, start) in [
            (0x10_0010, Some(0x10_0000)),
            (0x10_0fff, Some(0x10_0000)),
            (far, Some(0x7f00_0000_0000)),
            (far + 5, Some(0x7f00_0000_0000)),
            (far + APART + 5, Some(0x7f00_0010_0000)),
            (u64::MAX, Some(!0xfff)),
            (far - 1, None),
            (0, None),
        ] {
            assert_eq!(regions.start_of(address), start, "{address:#x}");
        }
        assert_eq!(Regions::default().start_of(5), None);
    }
}
