//! Source files that a profile keeps: what is refused of them, and who passes them over.

use csprof_format::ids::{ModuleId, StringId};
use csprof_format::profile::Profile;
use csprof_format::read;
use csprof_format::validate::validate;

use crate::surgery::Parts;
use crate::{bytes, sample};

type Case = (fn(&mut Profile), &'static str);

#[test]
fn each_broken_invariant_of_source_files_is_named() {
    const FORM: &str =
        "source file 0 has modules or stretches of lines out of order, or lines without text";
    let cases: &[Case] = &[
        (
            |p| p.sources[1].path = StringId(99),
            "source file 1 names string 99, but there are only 12",
        ),
        (
            |p| p.sources[0].modules[1] = ModuleId(4),
            "source file 0 names module 4, but there are only 4",
        ),
        (|p| p.sources.swap(0, 1), "source file 1 comes after one that belongs behind it"),
        (
            |p| p.sources[1] = p.sources[0].clone(),
            "source file 1 comes after one that belongs behind it",
        ),
        (|p| p.sources[0].modules.clear(), FORM),
        (|p| p.sources[0].modules.swap(0, 1), FORM),
        (|p| p.sources[0].stretches[0].first = 0, FORM),
        (|p| p.sources[0].stretches[0].count = 0, FORM),
        (|p| p.sources[0].stretches[1].count = u32::MAX, FORM),
        (|p| p.sources[0].stretches[1].first = 11, FORM),
        (|p| p.sources[0].stretches.swap(0, 1), FORM),
        (|p| p.sources[0].lines = 29, FORM),
        (|p| p.sources[0].text.push('\n'), FORM),
        (|p| p.sources[0].text.push_str("more"), FORM),
        (|p| p.sources[0].text.clear(), FORM),
    ];
    assert_eq!(validate(&sample::of_sources()), Ok(()));
    for (change, message) in cases {
        let mut profile = sample::of_sources();
        change(&mut profile);
        let violation = validate(&profile).expect_err(message);
        assert_eq!(violation.to_string(), *message);
    }
}

/// As a reader of an earlier version does, which does not know the kind.
#[test]
fn a_reader_that_does_not_know_source_files_reads_the_rest() {
    let mut parts = Parts::of(&bytes(&sample::of_sources()));
    parts.block(20).header[0x04] = 200;
    assert_eq!(read::read(&parts.join()).expect("it can be skipped"), sample::profile());
}
