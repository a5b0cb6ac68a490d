//! Functions of one name in one load module, and which of them is which in another run.
//!
//! Static functions, closures and methods may share a name; where they are defined tells them
//! apart. In another build of the program that is another line, and of one that was not sampled
//! nothing is known. So in one build the line decides. In another one, as many in a file of the
//! same name are the same in their order; where they are more or fewer, those of one line are, and
//! between them the others in their order. Where no run has more than one, it is the same wherever
//! it has moved.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use csprof_format::ids::ModuleId;

use super::intern::Which;
use super::model::Function;

/// A function of a run that is compared.
pub(super) struct Named {
    /// What it is called in the comparison.
    pub(super) function: Function,
    /// Whether a rule has given it that name: it may be that of several that are to be one.
    pub(super) is_renamed: bool,
    /// Its load module, which is another one in another build.
    pub(super) build: Option<ModuleId>,
    /// File of the definition.
    pub(super) file: Option<Arc<str>>,
}

/// Name and load module in the comparison.
type Key = (Arc<str>, Option<ModuleId>);

/// File and line of a definition.
type Definition = (Arc<str>, u32);

impl Named {
    fn key(&self) -> Key {
        (Arc::clone(&self.function.name), self.function.module)
    }

    fn definition(&self) -> Option<Definition> {
        Some((Arc::clone(self.file.as_ref()?), self.function.line))
    }
}

/// For each run its functions, with which of several each is.
pub(super) fn told_apart(runs: Vec<Vec<Named>>) -> Vec<Vec<(Function, Option<Which>)>> {
    let several = several(&runs);
    let mut known: HashMap<Key, Vec<Same>> = HashMap::new();
    let told = |run: Vec<Named>| {
        let mut of_run: HashMap<Key, BTreeMap<Definition, Option<ModuleId>>> = HashMap::new();
        for named in run.iter().filter(|named| several.contains(&named.key())) {
            if let Some(definition) = named.definition() {
                of_run.entry(named.key()).or_default().insert(definition, named.build);
            }
        }
        let mut numbers: HashMap<(Key, Definition), u32> = HashMap::new();
        for (key, definitions) in of_run {
            let found = find(known.entry(key.clone()).or_default(), &definitions);
            let found = definitions.into_keys().zip(found);
            numbers.extend(found.map(|(of, number)| ((key.clone(), of), number)));
        }
        let which = |named: &Named| {
            let number = numbers.get(&(named.key(), named.definition()?))?;
            Some(Which::Nth(*number))
        };
        let run = run.into_iter().map(|named| (which(&named), named.function));
        run.map(|(which, function)| (function, which)).collect()
    };
    runs.into_iter().map(told).collect()
}

/// Names of which some run has several functions. Not those of which some run has none but unknown
/// ones, or one that was renamed: these may be any of the others.
fn several(runs: &[Vec<Named>]) -> HashSet<Key> {
    let (mut several, mut never) = (HashSet::new(), HashSet::new());
    for run in runs {
        let mut first: HashMap<Key, Option<Definition>> = HashMap::new();
        for named in run {
            let key = named.key();
            if named.is_renamed {
                never.insert(key.clone());
            }
            let definition = named.definition();
            let before = first.entry(key.clone()).or_insert_with(|| definition.clone());
            match (&*before, definition) {
                (Some(before), Some(definition)) if *before != definition => {
                    several.insert(key);
                }
                (None, Some(definition)) => *before = Some(definition),
                _ => {}
            }
        }
        never.extend(first.into_iter().filter(|(_, of)| of.is_none()).map(|(key, _)| key));
    }
    several.retain(|key| !never.contains(key));
    several
}

/// A function that runs have in common, as the last run has it.
struct Same {
    file: Arc<str>,
    line: u32,
    build: Option<ModuleId>,
}

/// The numbers of the functions of a run, in order of their definitions, among those that are
/// known; those that are new are added. O(n × log n).
fn find(known: &mut Vec<Same>, run: &BTreeMap<Definition, Option<ModuleId>>) -> Vec<u32> {
    let run: Vec<_> = run.iter().map(|((file, line), build)| (file, *line, *build)).collect();
    // By file name, those that are known and those of the run, in order of lines.
    let mut files: BTreeMap<&str, [Vec<usize>; 2]> = BTreeMap::new();
    for (number, same) in known.iter().enumerate() {
        files.entry(base_name(&same.file)).or_default()[0].push(number);
    }
    for (at, (file, ..)) in run.iter().enumerate() {
        files.entry(base_name(file)).or_default()[1].push(at);
    }
    let mut pairs = vec![None; run.len()];
    let is_other_build = |number: usize, at: usize| known[number].build != run[at].2;
    for [of_known, of_run] in files.values_mut() {
        of_known.sort_by_key(|&number| known[number].line);
        of_run.sort_by_key(|&at| run[at].1);
        let is_moved = of_known.len() == of_run.len()
            && of_known.iter().zip(&*of_run).all(|(&number, &at)| is_other_build(number, at));
        if is_moved {
            of_run.iter().zip(of_known).for_each(|(&at, number)| pairs[at] = Some(*number));
            continue;
        }
        pair_by_line(known, &run, [of_known, of_run], &mut pairs);
        pair_by_neighbours(&is_other_build, [of_known, of_run], &mut pairs);
    }
    // Where one is left on each side, its file has another name.
    let taken: HashSet<usize> = pairs.iter().flatten().copied().collect();
    let mut left_known = (0..known.len()).filter(|number| !taken.contains(number));
    let mut left_run = (0..run.len()).filter(|&at| pairs[at].is_none());
    if let (Some(number), None) = (left_known.next(), left_known.next())
        && let (Some(at), None) = (left_run.next(), left_run.next())
        && is_other_build(number, at)
    {
        pairs[at] = Some(number);
    }
    let mut numbers = Vec::with_capacity(run.len());
    for (pair, (file, line, build)) in pairs.into_iter().zip(run) {
        let same = Same { file: Arc::clone(file), line, build };
        let number = pair.unwrap_or(known.len());
        match known.get_mut(number) {
            Some(known) => *known = same,
            None => known.push(same),
        }
        numbers.push(u32::try_from(number).unwrap_or(u32::MAX));
    }
    numbers
}

/// A definition of a run.
type OfRun<'r> = (&'r Arc<str>, u32, Option<ModuleId>);

/// Those of one line: first of the very path, then of the same name of the file, as where sources
/// lie elsewhere.
fn pair_by_line(
    known: &[Same],
    run: &[OfRun<'_>],
    [of_known, of_run]: [&[usize]; 2],
    pairs: &mut [Option<usize>],
) {
    let mut taken = HashSet::new();
    for is_path_asked in [true, false] {
        let path = |path: &'_ Arc<str>| is_path_asked.then(|| Arc::clone(path));
        let mut places: HashMap<(Option<Arc<str>>, u32), Vec<usize>> = HashMap::new();
        for &number in of_known.iter().rev().filter(|number| !taken.contains(*number)) {
            let Same { file, line, .. } = &known[number];
            places.entry((path(file), *line)).or_default().push(number);
        }
        for &at in of_run {
            let (file, line, _) = run[at];
            if pairs[at].is_none() {
                pairs[at] = places.get_mut(&(path(file), line)).and_then(Vec::pop);
                taken.extend(pairs[at]);
            }
        }
    }
}

/// Those of another build that stand between the same neighbours, in order.
fn pair_by_neighbours(
    is_other_build: &dyn Fn(usize, usize) -> bool,
    [of_known, of_run]: [&[usize]; 2],
    pairs: &mut [Option<usize>],
) {
    let taken: HashSet<usize> = of_run.iter().filter_map(|&at| pairs[at]).collect();
    let mut left: HashMap<usize, VecDeque<usize>> = HashMap::new();
    let mut passed = 0;
    for &number in of_known {
        if taken.contains(&number) {
            passed += 1;
        } else {
            left.entry(passed).or_default().push_back(number);
        }
    }
    passed = 0;
    for &at in of_run {
        if pairs[at].is_some() {
            passed += 1;
        } else if let Some(left) = left.get_mut(&passed)
            && left.front().is_some_and(|&number| is_other_build(number, at))
        {
            pairs[at] = left.pop_front();
        }
    }
}

/// The name of a file without its folder: another build may have its sources elsewhere.
fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of each run, which of several the functions `f` are: by build, file and line.
    fn which(runs: &[(u32, &[(&str, u32)])]) -> Vec<Vec<Option<Which>>> {
        let run = |&(build, run): &(u32, &[(&str, u32)])| {
            let named = |&(file, line): &(&str, u32)| Named {
                function: Function { line, ..Function::named("f") },
                is_renamed: false,
                build: Some(ModuleId(build)),
                file: (!file.is_empty()).then(|| file.into()),
            };
            run.iter().map(named).collect()
        };
        let told = told_apart(runs.iter().map(run).collect());
        told.into_iter().map(|run| run.into_iter().map(|(_, which)| which).collect()).collect()
    }

    fn nth(numbers: &[u32]) -> Vec<Option<Which>> {
        numbers.iter().map(|&number| Some(Which::Nth(number))).collect()
    }

    #[test]
    fn one_function_is_the_same_wherever_it_has_moved() {
        assert_eq!(which(&[(0, &[("a.c", 2)]), (1, &[("b.c", 7)])]), [[None], [None]]);
    }

    #[test]
    fn in_one_build_the_line_decides_whatever_was_sampled() {
        let lines = |lines: &[u32]| -> Vec<_> { lines.iter().map(|&line| ("a.c", line)).collect() };
        assert_eq!(
            which(&[(0, &lines(&[10, 20, 30])), (0, &lines(&[20, 30])), (0, &lines(&[5, 20]))]),
            [nth(&[0, 1, 2]), nth(&[1, 2]), nth(&[3, 1])]
        );
    }

    #[test]
    fn in_another_build_as_many_have_moved_together() {
        assert_eq!(
            which(&[
                (0, &[("/one/a.c", 10), ("/one/a.c", 20)]),
                (1, &[("/two/a.c", 20), ("/two/a.c", 30)])
            ]),
            [nth(&[0, 1]), nth(&[0, 1])]
        );
    }

    #[test]
    fn in_another_build_new_ones_stand_between_those_that_stayed() {
        assert_eq!(
            which(&[
                (0, &[("a.c", 10), ("a.c", 20)]),
                (1, &[("a.c", 10), ("a.c", 15), ("a.c", 20)])
            ]),
            [nth(&[0, 1]), nth(&[0, 2, 1])]
        );
        // One of them has moved within its place.
        assert_eq!(
            which(&[
                (0, &[("a.c", 10), ("a.c", 20), ("a.c", 30)]),
                (1, &[("a.c", 10), ("a.c", 22), ("a.c", 30), ("a.c", 40)])
            ]),
            [nth(&[0, 1, 2]), nth(&[0, 1, 2, 3])]
        );
    }

    #[test]
    fn a_file_that_was_renamed_is_found_where_it_alone_is_left() {
        assert_eq!(
            which(&[(0, &[("a.c", 1), ("b.c", 1)]), (1, &[("b.c", 1), ("x.c", 5)])]),
            [nth(&[0, 1]), nth(&[1, 0])]
        );
        assert_eq!(
            which(&[(0, &[("a.c", 1), ("b.c", 1)]), (0, &[("b.c", 1), ("x.c", 5)])]),
            [nth(&[0, 1]), nth(&[1, 2])]
        );
    }

    /// A run without line information has one function of the name.
    #[test]
    fn nothing_is_told_apart_where_a_run_knows_no_definition() {
        assert_eq!(
            which(&[(0, &[("a.c", 1), ("b.c", 1)]), (1, &[("", 0)])]),
            [vec![None, None], vec![None]]
        );
        let beside = which(&[(0, &[("a.c", 1), ("", 0), ("b.c", 1)])]);
        assert_eq!(beside, [vec![nth(&[0])[0].clone(), None, nth(&[1])[0].clone()]]);
    }
}
