//! Which sets of frames a refinement of the profile can name, and where they are kept.

use std::io::{self, Write};

use serde::Serialize;

use crate::refine::Preset;
use crate::views::printable::printable;

/// A file of sets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetPlace {
    /// The file, whether it is there or not.
    pub file: String,
    /// `all profiles`, or `this profile`.
    #[serde(rename = "for")]
    pub is_for: &'static str,
    /// Names of the sets that count from it, without `@`.
    pub sets: Vec<String>,
    /// What is wrong with it.
    pub problems: Vec<String>,
}

pub(super) fn text(places: &[SetPlace], out: &mut impl Write) -> io::Result<()> {
    let names = |names: &mut dyn Iterator<Item = &str>| {
        names.map(|name| format!("@{}", printable(name))).collect::<Vec<_>>().join(", ")
    };
    writeln!(out, "\nSets of frames (csprof help sets)")?;
    writeln!(out, "  shipped: {}", names(&mut Preset::ALL.iter().map(|&(_, name, _)| name)))?;
    for place in places {
        let sets = match names(&mut place.sets.iter().map(String::as_str)) {
            none if none.is_empty() => "none".to_owned(),
            sets => sets,
        };
        writeln!(out, "  for {}: {sets}  ({})", place.is_for, printable(&place.file))?;
        for problem in &place.problems {
            writeln!(out, "      {}", printable(problem))?;
        }
    }
    Ok(())
}
