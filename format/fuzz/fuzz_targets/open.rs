//! Any bytes: reading and salvaging return, and what they return is valid and can be saved.
//!
//! Checksums would stop almost every input at the first header. So each input is read twice: as it
//! is, and with the checksums, numbers and run ids that its headers ought to have.
#![no_main]

use csprof_format::profile::Profile;
use csprof_format::{read, salvage, validate, write};
use libfuzzer_sys::fuzz_target;

#[path = "seal.rs"]
mod seal;

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    let mut sealed = bytes.to_vec();
    seal::seal(&mut sealed);
    check(&sealed);
});

fn check(bytes: &[u8]) {
    if let Ok(profile) = read::read(bytes) {
        check_profile(&profile);
    }
    if let Ok(salvaged) = salvage::salvage(bytes) {
        check_profile(&salvaged.profile);
    }
}

fn check_profile(profile: &Profile) {
    assert_eq!(validate::validate(profile), Ok(()));
    let mut again = Vec::new();
    write::write(profile, &mut again).expect("a valid profile is written");
    assert_eq!(&read::read(&again).expect("what was written is read"), profile);
}
