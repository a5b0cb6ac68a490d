//! Tests of the saved profile.
//!
//! - `round_trip`: what is written comes back, whatever it is, and nothing else does.
//! - `refused`: every invariant and every kind of damage, with the message that people get.
//! - `salvaged`: what is left of damaged files.
//! - `saved`: files on disk.
//! - `golden`: files of every version still open.
//! - `document`: `FORMAT.md` tells the truth.

mod arbitrary;
mod document;
mod golden;
mod phases;
mod refused;
mod round_trip;
mod salvaged;
mod sample;
mod saved;
mod sources;
mod sums;
mod surgery;
mod times;

use csprof_format::profile::Profile;

/// The file that a valid profile makes.
fn bytes(profile: &Profile) -> Vec<u8> {
    let mut bytes = Vec::new();
    csprof_format::write::write(profile, &mut bytes).expect("a valid profile is written");
    bytes
}
