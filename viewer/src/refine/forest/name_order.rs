//! The alphabetical order of a profile's functions: found once, for all lists of them.

use crate::profile::Profile;

/// The place of each function of the profile in the order of names; equal names have one place.
pub(crate) fn places(profile: &Profile) -> Vec<u32> {
    let functions = profile.functions.iter().zip(0_u32..);
    let mut names: Vec<(&str, u32)> =
        functions.map(|(function, number)| (&*function.name, number)).collect();
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

#[cfg(test)]
mod tests {
    use crate::profile::{FunctionRef, from_outline};
    use crate::refine::Refined;

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
