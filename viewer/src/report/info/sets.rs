//! Which sets of frames and saved refinements a refinement of the profile can name, and where they
//! are kept.

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

/// The file of refinements that were saved under names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RefinementPlace {
    /// The file, whether it is there or not.
    pub file: String,
    /// Their names, without `@`.
    pub refinements: Vec<String>,
    /// What is wrong with it.
    pub problems: Vec<String>,
}

/// What a refinement of the profile can name comes from here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The files of sets.
    pub sets: Vec<SetPlace>,
    /// The file of refinements; `None` if there can be none.
    pub refinements: Option<RefinementPlace>,
}

pub(super) fn text(places: &Places, out: &mut impl Write) -> io::Result<()> {
    let names = |names: &mut dyn Iterator<Item = &str>| {
        names.map(|name| format!("@{}", printable(name))).collect::<Vec<_>>().join(", ")
    };
    writeln!(out, "\nSets of frames (csprof help sets)")?;
    writeln!(out, "  shipped: {}", names(&mut Preset::ALL.iter().map(|&(_, name, _)| name)))?;
    let sets = places
        .sets
        .iter()
        .map(|place| (format!("for {}", place.is_for), &place.file, &place.sets, &place.problems));
    let refinements = places.refinements.iter().map(|place| {
        let RefinementPlace { file, refinements, problems } = place;
        ("saved refinements".to_owned(), file, refinements, problems)
    });
    for (what, file, named, problems) in sets.chain(refinements) {
        let named = match names(&mut named.iter().map(String::as_str)) {
            none if none.is_empty() => "none".to_owned(),
            named => named,
        };
        writeln!(out, "  {what}: {named}  ({})", printable(file))?;
        for problem in problems {
            writeln!(out, "      {}", printable(problem))?;
        }
    }
    Ok(())
}
