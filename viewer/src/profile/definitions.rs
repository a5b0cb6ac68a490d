//! Functions of one name in one load module, and which of them is which in another run.
//!
//! Static functions, closures and methods may share a name; where they are defined tells them
//! apart. In another build of the program that is another line, and of one that was not sampled
//! nothing is known. In one build the line decides, all its runs taken together. In another one, as
//! many in the same files are the same in their order; where they are more or fewer, those of one
//! line are, and between them the others in their order; and where one is left on each side, its
//! file has another name. Where no build has more than one, it is the same wherever it has moved.
//! Where some run knows no definition, or one was renamed, all are one. Definitions of which only
//! the file is known are the same where that is, and else others.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use csprof_format::ids::ModuleId;

use super::intern::Which;
use super::model::Function;
use super::name_of_file;

/// A function of a run that is compared.
pub(super) struct Named {
    /// What it is called in the comparison.
    pub(super) function: Function,
    /// Whether a rule has given it that name: it may be that of several that are to be one.
    pub(super) is_renamed: bool,
    /// The build of its load module.
    pub(super) build: Build,
    /// File of the definition.
    pub(super) file: Option<Arc<str>>,
}

/// A build of a load module: the module, which is another one where its build id is, and the side
/// of the comparison where it has none.
pub(super) type Build = (Option<ModuleId>, Option<usize>);

/// Name and load module in the comparison.
type Key = (Arc<str>, Option<ModuleId>);

/// File and line of a definition; no line where only the file is known.
type Definition = (Arc<str>, u32);

impl Named {
    fn key(&self) -> Key {
        (Arc::clone(&self.function.name), self.function.module)
    }

    fn definition(&self) -> Option<Definition> {
        Some((end_of_path(self.file.as_ref()?).into(), self.function.line))
    }
}

/// The file of a path with its folder: one file may have two paths where builds were moved
/// (`-ffile-prefix-map`).
pub(super) fn end_of_path(path: &str) -> &str {
    let start = path.rmatch_indices('/').nth(1).map_or(0, |(at, _)| at + 1);
    &path[start..]
}

/// Where a function is defined, in short: file and line, and of a file without a line its folder,
/// too, which tells it from others.
#[must_use]
pub fn short_place(path: &str, line: u32) -> String {
    match line {
        0 => end_of_path(path).to_owned(),
        line => format!("{}:{line}", name_of_file(path)),
    }
}

/// Most builds of which functions of a name are told apart: each is held against those before.
const MOST_BUILDS: usize = 64;

/// For each run its functions, with which of several each is.
pub(super) fn told_apart(runs: Vec<Vec<Named>>) -> Vec<Vec<(Function, Option<Which>)>> {
    let mut numbers: HashMap<(Key, Build, Definition), u32> = HashMap::new();
    for (key, builds) in several(&runs) {
        let is_another = builds.iter().all(|((_, side), _)| side.is_none());
        let mut known = Vec::new();
        for (build, definitions) in builds {
            let found = find(&mut known, &definitions, is_another);
            let found = definitions.into_iter().zip(found);
            numbers.extend(found.map(|(of, number)| ((key.clone(), build, of), number)));
        }
    }
    let which = |named: &Named| {
        let number = numbers.get(&(named.key(), named.build, named.definition()?))?;
        Some(Which::Nth(*number))
    };
    let told = |run: Vec<Named>| {
        let run = run.into_iter().map(|named| (which(&named), named.function));
        run.map(|(which, function)| (function, which)).collect()
    };
    runs.into_iter().map(told).collect()
}

/// For each build, in the order in which they come, the definitions of a name.
type ByBuild = Vec<(Build, BTreeSet<Definition>)>;

/// Names of which some build has several functions, whichever run has met them. Not those of which
/// some run has none but unknown ones, or one that was renamed: these may be any of the others.
fn several(runs: &[Vec<Named>]) -> HashMap<Key, ByBuild> {
    let mut known: HashMap<Key, ByBuild> = HashMap::new();
    let mut never = HashSet::new();
    for run in runs {
        let mut is_known: HashMap<Key, bool> = HashMap::new();
        for named in run {
            let key = named.key();
            if named.is_renamed {
                never.insert(key.clone());
            }
            let definition = named.definition();
            *is_known.entry(key.clone()).or_default() |= definition.is_some();
            if let Some(definition) = definition {
                let builds = known.entry(key).or_default();
                match builds.iter().position(|(build, _)| *build == named.build) {
                    Some(at) => drop(builds[at].1.insert(definition)),
                    None if builds.len() == MOST_BUILDS => drop(never.insert(named.key())),
                    None => builds.push((named.build, BTreeSet::from([definition]))),
                }
            }
        }
        never.extend(is_known.into_iter().filter(|(_, is_known)| !is_known).map(|(key, _)| key));
    }
    known.retain(|key, builds| {
        !never.contains(key) && builds.iter().any(|(_, definitions)| definitions.len() > 1)
    });
    known
}

/// A function that builds have in common: where the last build that has it defines it.
type Same = Definition;

/// The numbers of the functions of a build, in order of their definitions, among those that are
/// known of others; those that are new are added. Where it is not certain that it is another build,
/// lines decide first. O(n × log n) for n of both.
fn find(known: &mut Vec<Same>, build: &BTreeSet<Definition>, is_another: bool) -> Vec<u32> {
    let build: Vec<&Definition> = build.iter().collect();
    let of_known: HashSet<Arc<str>> = known.iter().map(|(file, _)| Arc::clone(file)).collect();
    let of_build: HashSet<&str> = build.iter().map(|(file, _)| &**file).collect();
    // Files on both sides by path, the others by name; of each the known ones and those of the
    // build, in order of paths and lines.
    let mut groups: BTreeMap<(bool, &str), [Vec<usize>; 2]> = BTreeMap::new();
    let group = |path| match of_known.contains(path) && of_build.contains(path) {
        true => (true, path),
        false => (false, name_of_file(path)),
    };
    let has_line = |(_, line): &Definition| *line > 0;
    for (number, known) in known.iter().enumerate().filter(|(_, known)| has_line(known)) {
        groups.entry(group(&known.0)).or_default()[0].push(number);
    }
    for (at, of_build) in build.iter().enumerate().filter(|(_, of_build)| has_line(of_build)) {
        groups.entry(group(&of_build.0)).or_default()[1].push(at);
    }
    let without: HashMap<&str, usize> = (0..known.len())
        .filter(|&number| !has_line(&known[number]))
        .map(|number| (&*known[number].0, number))
        .collect();
    let same = |definition: &&Definition| match has_line(definition) {
        true => None,
        false => without.get(&*definition.0).copied(),
    };
    let mut pairs: Vec<Option<usize>> = build.iter().map(same).collect();
    for [of_known, of_build] in groups.values_mut() {
        of_known.sort_by_key(|&number| &known[number]);
        if is_another && of_known.len() == of_build.len() {
            of_build.iter().zip(of_known).for_each(|(&at, number)| pairs[at] = Some(*number));
        } else {
            pair_by_line(known, &build, [of_known, of_build], &mut pairs);
            pair_by_neighbours([of_known, of_build], &mut pairs);
        }
    }
    // Where one is left on each side, in files that the other side has not, its file has another
    // name.
    let taken: HashSet<usize> = pairs.iter().flatten().copied().collect();
    let is_left = |number: &usize| !taken.contains(number) && has_line(&known[*number]);
    let mut left_known = (0..known.len()).filter(is_left);
    let mut left = (0..build.len()).filter(|&at| pairs[at].is_none() && has_line(build[at]));
    if let (Some(number), None) = (left_known.next(), left_known.next())
        && let (Some(at), None) = (left.next(), left.next())
        && !of_build.contains(&*known[number].0)
        && !of_known.contains(&build[at].0)
    {
        pairs[at] = Some(number);
    }
    let mut numbers = Vec::with_capacity(build.len());
    for (pair, definition) in pairs.into_iter().zip(build) {
        let number = pair.unwrap_or(known.len());
        match known.get_mut(number) {
            Some(known) => known.clone_from(definition),
            None => known.push(definition.clone()),
        }
        numbers.push(u32::try_from(number).unwrap_or(u32::MAX));
    }
    numbers
}

/// Those of one line.
fn pair_by_line(
    known: &[Same],
    build: &[&Definition],
    [of_known, of_build]: [&[usize]; 2],
    pairs: &mut [Option<usize>],
) {
    let mut lines: HashMap<u32, Vec<usize>> = HashMap::new();
    for &number in of_known.iter().rev() {
        lines.entry(known[number].1).or_default().push(number);
    }
    for &at in of_build {
        pairs[at] = lines.get_mut(&build[at].1).and_then(Vec::pop);
    }
}

/// Those that stand between the same neighbours, in order.
fn pair_by_neighbours([of_known, of_build]: [&[usize]; 2], pairs: &mut [Option<usize>]) {
    let taken: HashSet<usize> = of_build.iter().filter_map(|&at| pairs[at]).collect();
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
    for &at in of_build {
        if pairs[at].is_some() {
            passed += 1;
        } else {
            pairs[at] = left.get_mut(&passed).and_then(VecDeque::pop_front);
        }
    }
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
                build: (Some(ModuleId(build)), None),
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
    fn files_without_lines_are_the_same_by_name_alone() {
        let of = |files: [&'static str; 2]| files.map(|file| (file, 0));
        let runs = [of(["aa/m.py", "zz/m.py"]), of(["zz/m.py", "qq/m.py"])];
        assert_eq!(which(&[(0, &runs[0]), (1, &runs[1])]), [nth(&[0, 1]), nth(&[1, 2])]);
        // Nor is the one that is left on each side.
        assert_eq!(which(&[(0, &runs[0]), (1, &runs[1][1..])]), [nth(&[0, 1]), nth(&[2])]);
    }

    fn of_a(lines: &[u32]) -> Vec<(&'static str, u32)> {
        lines.iter().map(|&line| ("a.c", line)).collect()
    }

    #[test]
    fn in_one_build_the_line_decides_whatever_was_sampled() {
        assert_eq!(
            which(&[(0, &of_a(&[10, 20, 30])), (0, &of_a(&[20, 30])), (0, &of_a(&[5, 20]))]),
            [nth(&[1, 2, 3]), nth(&[2, 3]), nth(&[0, 2])]
        );
        // Also where each run has met one.
        assert_eq!(which(&[(0, &of_a(&[10])), (0, &[("b.c", 20)])]), [nth(&[0]), nth(&[1])]);
    }

    /// A module without a build id may be the same one on the other side.
    #[test]
    fn where_builds_are_not_known_lines_decide_first() {
        let run = |build: Build, lines: &[u32]| -> Vec<Named> {
            let named = |&line: &u32| Named {
                function: Function { line, ..Function::named("f") },
                is_renamed: false,
                build,
                file: Some("a.js".into()),
            };
            lines.iter().map(named).collect()
        };
        let which = |run: &[(Function, Option<Which>)]| -> Vec<_> {
            run.iter().map(|(_, which)| which.clone()).collect()
        };
        let [known, base, other] = [(Some(ModuleId(0)), None), (None, Some(0)), (None, Some(1))];
        for [base, other] in [[base, other], [base, known], [known, other]] {
            let told = told_apart(vec![run(base, &[10, 20, 30]), run(other, &[20, 30, 40])]);
            assert_eq!([which(&told[0]), which(&told[1])], [nth(&[0, 1, 2]), nth(&[1, 2, 3])]);
        }
    }

    #[test]
    fn a_file_with_two_paths_is_one() {
        let runs: [(u32, &[(&str, u32)]); 2] =
            [(0, &[("/b/x/inc/h.h", 10)]), (0, &[("/usr/src/x/inc/h.h", 10)])];
        assert_eq!(which(&runs), [[None], [None]]);
    }

    #[test]
    fn what_is_in_one_file_on_both_sides_is_no_other_files() {
        assert_eq!(
            which(&[
                (0, &[("a/util.c", 10), ("b/util.c", 20)]),
                (1, &[("b/util.c", 20), ("c/util.c", 5)])
            ]),
            [nth(&[0, 1]), nth(&[1, 0])]
        );
    }

    #[test]
    fn one_that_was_not_sampled_makes_no_pair_of_two_files() {
        let [a, b] = ["a/util.c", "b/util.c"];
        assert_eq!(
            which(&[(0, &[(a, 10), (a, 20), (b, 5)]), (1, &[(a, 10), (b, 5), (b, 9)])]),
            [nth(&[0, 1, 2]), nth(&[0, 2, 3])]
        );
        assert_eq!(
            which(&[(0, &[(a, 10), (b, 20)]), (1, &[(a, 10), (a, 15)])]),
            [nth(&[0, 1]), nth(&[0, 2])]
        );
        assert_eq!(
            which(&[
                (0, &[("a.c", 1), ("a.c", 9), ("b.c", 1)]),
                (1, &[("a.c", 1), ("b.c", 1), ("b.c", 7)])
            ]),
            [nth(&[0, 1, 2]), nth(&[0, 2, 3])]
        );
    }

    #[test]
    fn what_a_rule_has_renamed_is_one() {
        let named = |line, is_renamed| Named {
            function: Function { line, ..Function::named("f") },
            is_renamed,
            build: (Some(ModuleId(0)), None),
            file: Some("a.c".into()),
        };
        let told = told_apart(vec![vec![named(1, false), named(2, true)]]);
        assert!(told[0].iter().all(|(_, which)| which.is_none()));
    }

    /// What one run of a build has not met, another one may have.
    #[test]
    fn runs_of_a_build_are_taken_together() {
        assert_eq!(
            which(&[
                (0, &of_a(&[10, 20])),
                (1, &of_a(&[30])),
                (1, &of_a(&[15, 30])),
                (0, &of_a(&[20]))
            ]),
            [nth(&[0, 1]), nth(&[1]), nth(&[0, 1]), nth(&[1])]
        );
    }

    #[test]
    fn files_of_one_name_keep_their_folders() {
        assert_eq!(
            which(&[
                (0, &[("a/util.c", 10), ("b/util.c", 5)]),
                (1, &[("a/util.c", 10), ("b/util.c", 12)])
            ]),
            [nth(&[0, 1]), nth(&[0, 1])]
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
            [nth(&[0, 1]), nth(&[1, 2])],
            "not in one build"
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
