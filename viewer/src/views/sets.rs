//! What each set of frames means in a profile: which functions, and what they cost.
//!
//! A set's cost is that of the paths through it, so that nothing counts twice; sets may overlap, so
//! their costs do not add up to anything.

use crate::profile::FunctionRef;
use crate::refine::{Cancelled, FramePattern, Preset, Refined, Sets, Watch};

/// A set of frames and what it means in a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetRow {
    /// Its name, without `@`.
    pub name: String,
    /// File and line where it is defined; `None` for those that csprof ships.
    pub place: Option<String>,
    /// What it stands for, in the refinement language.
    pub definition: String,
    /// Functions with samples that it means, costliest first.
    pub functions: Vec<FunctionRef>,
    /// Samples whose path goes through one of them.
    pub samples: u64,
}

/// All sets that can be named, in the order of [`Sets::names`], unless that is ended between two of
/// them. O(nodes) for each set.
///
/// # Errors
/// The watch ended it.
pub fn set_rows(
    refined: &Refined,
    sets: &Sets,
    watch: &Watch<'_>,
) -> Result<Vec<SetRow>, Cancelled> {
    let nodes = refined.frame.len();
    watch.begin(0, 1, 1 + sets.named().len() + Preset::ALL.len(), nodes);
    let mut cost = vec![0_u64; refined.functions.len()];
    watch.forward(0..nodes, |stretch| {
        for node in stretch {
            let frame = refined.frame[node];
            let cost = &mut cost[refined.frames[frame.index()].function.index()];
            *cost = cost.saturating_add(refined.inclusive(node));
        }
    })?;
    let row = |name: &str, place: Option<&str>, definition: String, pattern: &FramePattern| {
        watch.step(nodes)?;
        let found = refined.matching(pattern);
        let mut functions = found.functions;
        functions.sort_by_key(|function| core::cmp::Reverse(cost[function.index()]));
        let name = name.to_owned();
        let place = place.map(str::to_owned);
        Ok(SetRow { name, place, definition, functions, samples: found.samples })
    };
    let named = sets
        .named()
        .iter()
        .map(|set| row(set.name(), Some(set.place()), set.pattern().to_string(), set.pattern()));
    let shipped = Preset::ALL
        .iter()
        .filter(|(_, name, _)| sets.named().iter().all(|set| set.name() != *name));
    let shipped = shipped.map(|&(preset, name, definition)| {
        row(name, None, definition.to_owned(), &FramePattern::Preset(preset))
    });
    named.chain(shipped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::from_outline;
    use crate::refine::SetText;

    #[test]
    fn sets_say_what_they_mean_here() {
        let profile =
            from_outline("main 1\n  f 2\n    malloc 3\n      f 4\n  MPI_Send 5\n    memcpy 6\n")
                .unwrap();
        let text = "@deep = {f, nothing}\n@none = x\n@lock = malloc\n";
        let sets = Sets::read(&[SetText { place: "sets", text }]);
        let base = Refined::base(&profile);
        let rows = set_rows(&base, &sets, &Watch::none()).unwrap();
        let said = |name: &str| {
            let row = rows.iter().find(|row| row.name == name).unwrap();
            let names = row.functions.iter().map(|f| &*profile.functions[f.index()].name);
            let names: Vec<_> = names.collect();
            format!("{} {}", row.samples, names.join(" "))
        };
        assert_eq!(said("deep"), "9 f");
        assert_eq!(said("none"), "0 ");
        assert_eq!(said("lock"), "7 malloc");
        assert_eq!(said("mpi"), "11 MPI_Send");
        assert_eq!(rows.iter().filter(|row| row.name == "lock").count(), 1);
        assert_eq!(rows[0].place.as_deref(), Some("sets:1"));
    }
}
