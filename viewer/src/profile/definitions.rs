//! Functions of one name in one load module, and which of them is which in another run.
//!
//! Static functions, closures and methods may share a name; where they are defined tells them
//! apart. In another build of the program that is another line. So where a run has several of a
//! name, each is known by the name of its file and by its place among those of that file; and where
//! no run has more than one, by the name alone, wherever it has moved.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use csprof_format::ids::ModuleId;

use super::intern::Which;
use super::model::Function;

/// A function of a run that is compared.
pub(super) struct Named {
    /// Name and load module in the run.
    pub(super) own: (Arc<str>, Option<ModuleId>),
    /// What it is called in the comparison.
    pub(super) function: Function,
    /// File of the definition.
    pub(super) file: Option<Arc<str>>,
}

impl Named {
    fn compared(&self) -> (Arc<str>, Option<ModuleId>) {
        (Arc::clone(&self.function.name), self.function.module)
    }
}

/// Where the functions of a name in a load module are defined, of one run.
type Definitions = HashMap<(Arc<str>, Option<ModuleId>), BTreeSet<(Arc<str>, u32)>>;

/// For each run its functions, with which of several each is.
pub(super) fn told_apart(runs: Vec<Vec<Named>>) -> Vec<Vec<(Function, Option<Which>)>> {
    let runs: Vec<_> = runs.into_iter().map(|run| (definitions(&run), run)).collect();
    let mut several = HashSet::new();
    for (known, run) in &runs {
        let is_one_of_several =
            |named: &&Named| known.get(&named.own).is_some_and(|of| of.len() > 1);
        several.extend(run.iter().filter(is_one_of_several).map(Named::compared));
    }
    let which = |named: &Named, known: &Definitions| {
        let file = named.file.as_deref().filter(|_| several.contains(&named.compared()))?;
        let name = base_name(file);
        let before = known.get(&named.own)?.iter().filter(|(other, line)| {
            base_name(other) == name && (&**other, *line) < (file, named.function.line)
        });
        Some((name.into(), u32::try_from(before.count()).unwrap_or(u32::MAX)))
    };
    let told = |(known, run): (Definitions, Vec<Named>)| {
        let of_run = run.into_iter().map(|named| (which(&named, &known), named.function));
        of_run.map(|(which, function)| (function, which)).collect()
    };
    runs.into_iter().map(told).collect()
}

fn definitions(run: &[Named]) -> Definitions {
    let mut known = Definitions::new();
    for named in run {
        if let Some(file) = &named.file {
            let of_name = known.entry(named.own.clone()).or_default();
            of_name.insert((Arc::clone(file), named.function.line));
        }
    }
    known
}

/// The name of a file without its folder: another build may have its sources elsewhere.
fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of each run, which of several the functions `f` are, by file and line.
    fn which(runs: &[&[(&str, u32)]]) -> Vec<Vec<Option<Which>>> {
        let named = |&(file, line): &(&str, u32)| Named {
            own: ("f".into(), None),
            function: Function { line, ..Function::named("f") },
            file: (!file.is_empty()).then(|| file.into()),
        };
        let told = told_apart(runs.iter().map(|run| run.iter().map(named).collect()).collect());
        told.into_iter().map(|run| run.into_iter().map(|(_, which)| which).collect()).collect()
    }

    fn nth(file: &str, number: u32) -> Option<Which> {
        Some((file.into(), number))
    }

    #[test]
    fn one_function_is_the_same_wherever_it_has_moved() {
        assert_eq!(which(&[&[("a.c", 2)], &[("b.c", 7)]]), [[None], [None]]);
    }

    #[test]
    fn several_are_known_by_file_and_order() {
        assert_eq!(
            which(&[&[("/one/a.c", 9), ("/one/a.c", 2), ("/one/b.c", 2)], &[("/two/a.c", 3)]]),
            [vec![nth("a.c", 1), nth("a.c", 0), nth("b.c", 0)], vec![nth("a.c", 0)]]
        );
    }

    #[test]
    fn one_of_unknown_definition_is_none_of_several() {
        assert_eq!(
            which(&[&[("a.c", 1), ("", 0), ("b.c", 1)]]),
            [[nth("a.c", 0), None, nth("b.c", 0)]]
        );
    }
}
