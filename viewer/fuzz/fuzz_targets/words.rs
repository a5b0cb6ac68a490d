//! Words of the language in any order, so that most inputs are refinements: parsed, printed, parsed
//! again, applied to a profile and to two profiles that are compared. Totals are kept, whatever the
//! stages are. Each byte of the input is a word, or joins two of them.

#![no_main]

use std::fmt::Write;
use std::sync::OnceLock;

use csprof::profile::{Profile, from_outline};
use csprof::refine::{Axis, Refined, Sets, SetText, parse};
use libfuzzer_sys::fuzz_target;

#[path = "outline.rs"]
mod outline;

/// What refinements are made of, beside contexts. Signs stand alone; `~` joins the words around it.
const WORDS: &[&str] = &[
    "|", "|", "|", "and", "or", "not", "(", ")", "where", "through", "under", "in", "leaf",
    "depth", "times(", "node[", "]", "hide", "stop at", "cut", "group", "as", "G", "root at",
    "last", "collapse", "collapse-run", "fold", "by func", "by file", "by module", "by line",
    "callers of", "small", "incl(samples)", "incl(time)", "excl(samples)", "excl(time)", "edges",
    "cost per edge", "samples per edge", "base", "other", "delta",
    "of view", "of base", "<", "<=", "=", "!=", ">", ">=", "0", "1", "2", "3", "5", "20%", "0.5%",
    "-1", "-5%", "7ms", "1s", "0..1", "1..", ">", ">>", ">>", "^", "$", "{", "}", ",", "&", "!",
    "~", "a", "b", "main", "memcpy", "MPI_*", "*", "?", "ns::f", "f<int>", "std::vector<int>::f",
    "std::string", "\"a\"", "/a|b/", "/^m/", "module:lib*", "file:main.c", "line:9",
    "kind:inline", "kind:partial", "fn:main", "@mpi", "@user", "@mine", "@libc", "[vdso]", "\\and",
    "70", "work*",
];

fn text_of(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut joined = true;
    for &byte in bytes {
        let contexts = Axis::ALL.iter().flat_map(|(axis, name)| [*name, axis.definition().split]);
        let mut words = WORDS.iter().copied().chain(contexts).cycle();
        let word = words.nth(usize::from(byte)).unwrap_or("~");
        if word != "~" {
            let gap = if joined { "" } else { " " };
            let _ = write!(text, "{gap}{word}");
        }
        joined = word == "~";
    }
    text
}

fuzz_target!(|bytes: &[u8]| {
    static PROFILES: OnceLock<[Profile; 2]> = OnceLock::new();
    static SETS: OnceLock<Sets> = OnceLock::new();
    let [one, two] = PROFILES.get_or_init(|| {
        let read = |outline: &str| from_outline(outline).expect("an outline");
        let (base, other) = (read(outline::OUTLINE), read(outline::OTHER));
        let compared = Profile::compared(("base", base), ("other", other), &[]);
        [read(outline::OUTLINE), compared.expect("of one unit")]
    });
    let sets = SETS.get_or_init(|| {
        Sets::read(&[SetText { place: "sets", text: "@mine = {@mpi, a}\n@libc = mem*\n" }])
    });
    let text = text_of(bytes);
    let refinement = match sets.parse(&text) {
        Ok(refinement) => refinement,
        Err(error) => {
            assert!(text.get(error.range.clone()).is_some(), "{error:?}");
            drop(error.to_string());
            return;
        }
    };
    let printed = refinement.to_string();
    assert_eq!(sets.parse(&printed).as_ref(), Ok(&refinement), "{text:?} printed as {printed:?}");
    drop(parse(&printed));
    for profile in [one, two] {
        let mut refined = Refined::base(profile);
        for stage in &refinement.stages {
            let Ok(next) = refined.then(stage) else { break };
            refined = next;
            assert_eq!(refined.shown + refined.out, profile.total(), "{text:?}");
            let exclusive = (0..refined.node_count()).map(|node| refined.exclusive(node));
            assert_eq!(exclusive.sum::<u64>(), refined.shown, "{text:?}");
            for node in 0..refined.node_count() {
                let number = u32::try_from(node).expect("a small profile");
                if let Some((low, high)) = refined.edges(number).filter(|_| refined.inclusive(node) > 0) {
                    assert!(low <= high, "{text:?}");
                }
            }
        }
    }
});
