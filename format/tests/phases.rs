//! Phases, and counts of threads, that no profile may have.

use csprof_format::profile::Profile;
use csprof_format::validate::validate;

use crate::sample;

type Change = fn(&mut Profile);

#[test]
fn phases_are_of_epochs_in_order_and_have_names() {
    let cases: [(Change, &str); 4] = [
        (|p| p.phases[1].epoch.0 = 99, "phase 1 names epoch 99, but there are only 3"),
        (|p| p.phases.swap(0, 1), "phase 1 comes after one that belongs behind it"),
        (|p| p.phases[0].name.clear(), "phase 0 has no name of 1 to 512 bytes"),
        (|p| p.phases[0].name = "x".repeat(513), "phase 0 has no name of 1 to 512 bytes"),
    ];
    for (change, message) in cases {
        let mut profile = sample::of_phases();
        change(&mut profile);
        let violation = validate(&profile).expect_err(message);
        assert_eq!(violation.to_string(), message);
    }
}

#[test]
fn threads_that_stand_for_several_are_in_order() {
    let cases: [(Change, &str); 3] = [
        (|p| p.earlier[0].thread.0 = 99, "99, but there are only"),
        (|p| p.earlier.push(p.earlier[0]), "earlier threads 1 comes after one that belongs"),
        (|p| p.earlier[0].count = 0, "earlier threads 0 says that there were none"),
    ];
    for (change, message) in cases {
        let mut profile = sample::of_earlier();
        assert_eq!(profile.thread_count(), profile.threads.len() as u64 + 99);
        change(&mut profile);
        let violation = validate(&profile).expect_err(message).to_string();
        assert!(violation.contains(message), "{violation}");
    }
}
