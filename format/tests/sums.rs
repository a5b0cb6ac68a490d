//! Sums over processes that no profile may be.

use csprof_format::profile::Profile;
use csprof_format::validate::validate;
use csprof_format::{read, write};

use crate::sample;

type Change = fn(&mut Profile);

#[test]
fn sums_are_of_their_processes_and_spreads_of_their_ranks() {
    let of_parts = "summed run 0 does not have the samples of the processes of the sum";
    let spread = "is out of order, of no node of a sum, or what no ranks can have";
    let cases: [(Change, &str); 11] = [
        (|p| p.summed[0].processes[1].into.0 = 99, of_parts),
        (|p| p.summed[0].processes[1].into.0 = 0, of_parts),
        (|p| p.summed[0].processes[1].recorded[0] += 1, of_parts),
        (|p| p.summed[0].processes[1].recorded.push(0), of_parts),
        (|p| p.summed.clear(), of_parts),
        (|p| p.spreads[0].node = 0, spread),
        (|p| p.spreads[0].metric = 1, spread),
        (|p| p.spreads[0].of.most_rank = 8, spread),
        (|p| p.spreads[0].of.ranks = 4, spread),
        (|p| p.spreads[0].of.least = 35_001, spread),
        (|p| p.spreads[0].of.ranks = 0, spread),
    ];
    for (change, message) in cases {
        let mut profile = sample::of_sums();
        validate(&profile).expect("it is a sum");
        change(&mut profile);
        let violation = validate(&profile).expect_err(message).to_string();
        assert!(violation.contains(message), "{violation}");
    }
    let mut profile = sample::of_sums();
    profile.spreads.swap(0, 1);
    assert!(validate(&profile).expect_err("out of order").to_string().contains("spread 1"));
}

/// The sizes of jobs are in the file, which is of the version that it is of without them, and less
/// may be lost of it where it is cut off.
#[test]
fn sizes_of_jobs_are_kept() {
    let mut profile = sample::profile();
    let bytes = |profile: &Profile| {
        let mut bytes = Vec::new();
        write::write(profile, &mut bytes).map(|()| bytes)
    };
    let without = bytes(&profile).expect("it is sound");
    profile.job_sizes = vec![4, 256];
    let with = bytes(&profile).expect("it is sound");
    assert_eq!(read::read(&with).expect("it was written").job_sizes, [4, 256]);
    let minor = |bytes: &[u8]| [bytes[0x0a], bytes[0x0b]];
    assert_eq!(minor(&with), minor(&without));
    for wrong in [&[1][..], &[4, 4], &[8, 4]] {
        profile.job_sizes = wrong.to_vec();
        let refused = validate(&profile).expect_err("no sizes of jobs").to_string();
        assert!(refused.contains("job size"), "{refused}");
    }
}
