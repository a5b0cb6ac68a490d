//! Any text as a refinement, a path, a definition and a file of sets: answered with a value or an
//! error that points into it, soon, and what is printed is read back as the same. What can be read
//! is applied to a small profile and keeps its totals. The first byte is where the cursor stands.

#![no_main]

use std::sync::OnceLock;

use csprof::profile::{Profile, from_outline};
use csprof::refine::{Refined, Sets, SetText, apply, complete, parse};
use libfuzzer_sys::fuzz_target;

#[path = "outline.rs"]
mod outline;

fuzz_target!(|input: (u8, &str)| {
    static PROFILE: OnceLock<Profile> = OnceLock::new();
    let profile = PROFILE.get_or_init(|| from_outline(outline::OUTLINE).expect("an outline"));
    let (cursor, text) = input;

    let sets = Sets::read(&[SetText { place: "sets", text }]);
    sets.problems().iter().for_each(|problem| drop(problem.to_string()));
    for set in sets.named() {
        let text = format!("through @{}", set.name());
        let through = sets.parse(&text).expect("a set that is there");
        drop(apply(profile, &through));
    }
    drop(sets.parse_path(text));
    drop(sets.parse_definition(text));
    drop(complete(text, usize::from(cursor), &Refined::base(profile), &sets));

    match parse(text) {
        Ok(refinement) => {
            let printed = refinement.to_string();
            assert_eq!(parse(&printed).as_ref(), Ok(&refinement), "{text:?} printed as {printed:?}");
            let mut refined = Refined::base(profile);
            for stage in &refinement.stages {
                let Ok(next) = refined.then(stage) else { return };
                refined = next;
                assert_eq!(refined.shown + refined.out, profile.total(), "{text:?}");
                assert_eq!((0..refined.node_count()).map(|node| refined.exclusive(node)).sum::<u64>(), refined.shown, "{text:?}");
            }
        }
        Err(error) => {
            assert!(text.get(error.range.clone()).is_some(), "{error:?}");
            drop(error.to_string());
        }
    }
});
