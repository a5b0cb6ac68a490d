//! The alphabetical order of a profile's functions: found once, for all lists of them.

use std::sync::{Arc, OnceLock};

use super::Refined;
use crate::profile::{FunctionRef, Profile};

/// The place of each function of the profile in the order of names; equal names have one place.
/// Shared by all forests made of the profile.
#[derive(Clone, Debug, Default)]
pub(super) struct NameOrder(Arc<OnceLock<Vec<u32>>>);

impl NameOrder {
    fn of(&self, profile: &Profile) -> &[u32] {
        self.0.get_or_init(|| places(profile))
    }
}

fn places(profile: &Profile) -> Vec<u32> {
    let functions = profile.functions.iter().zip(0_u32..);
    let mut names: Vec<(&str, u32)> =
        functions.map(|(function, number)| (function.name.as_str(), number)).collect();
    names.sort_unstable();
    let mut places = vec![0; names.len()];
    for (place, same) in names.chunk_by(|a, b| a.0 == b.0).enumerate() {
        for &(_, number) in same {
            // There are no more names than functions, whose numbers fit.
            places[number as usize] = place as u32;
        }
    }
    places
}

impl Refined<'_> {
    /// Finds out about the names of the profile's functions what patterns and lists need, so that
    /// the first of them need not wait for it.
    pub fn prepare_names(&self) {
        self.names.of(self.profile);
        self.name_order.of(self.profile);
    }

    /// The place of a function in the order of names, if it is one of the profile's. The first time,
    /// O(functions × log functions).
    pub(crate) fn name_place(&self, function: FunctionRef) -> Option<u32> {
        self.name_order.of(self.profile).get(function.index()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::from_outline;

    #[test]
    fn equal_names_have_one_place() {
        let profile = from_outline("b 1 module:x\na 1\nb 1 module:y\nB 1\n").unwrap();
        let refined = Refined::base(&profile);
        let places: Vec<_> =
            (0..5).map(|function| refined.name_place(FunctionRef(function))).collect();
        // `<root>`, then B, a, b.
        assert_eq!(places, [Some(0), Some(3), Some(2), Some(3), Some(1)]);
        assert_eq!(refined.name_place(FunctionRef(5)), None);
    }
}
