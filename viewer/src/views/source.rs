//! What the lines of a source file cost, in whichever functions they are.
//!
//! A line is a row like any other: its inclusive samples are those whose path comes through it,
//! each once; its exclusive ones those whose path ends there. So lines of a file can be added up
//! by their exclusive cost alone.

use std::collections::{BTreeMap, BTreeSet};

use csprof_format::ids::{ModuleId, StringId};

use super::flat::by_function;
use super::hall::{HallTable, Reach, Way};
use super::instructions::hottest;
use super::row::Row;
use crate::profile::{Frame, FrameKind, Function, FunctionRef, Profile};
use crate::refine::{Cancelled, Chain, FramePattern, Refined, Stopped, Watch};

/// What the lines of one file cost.
#[derive(Clone, Debug)]
pub struct SourceLines {
    /// What their rows are made from: the functions of rows are lines.
    pub forest: Refined,
    /// The lines with samples, in their order.
    pub lines: Vec<SourceLine>,
}

/// A line with samples.
#[derive(Clone, Debug)]
pub struct SourceLine {
    /// Its number, from 1.
    pub number: u32,
    /// What it costs.
    pub row: Row,
    /// Whether functions that were sampled were called from it.
    pub calls: bool,
    /// Whether code of other functions was inlined into it, and sampled.
    pub inlines: bool,
    /// Whether the function that was asked about has it.
    pub is_of_function: bool,
}

/// The file and the line of a frame, if its file is this one.
fn line_in(refined: &Refined, frame: &Frame, file: &[bool]) -> Option<u32> {
    let function = || refined.functions.get(frame.function.index())?.file;
    let is_it = file.get(frame.file.or_else(function)?.index()).copied().unwrap_or(false);
    (is_it && frame.line > 0).then_some(frame.line)
}

/// Which texts of the profile are the path of this file.
fn named(refined: &Refined, path: &str) -> Vec<bool> {
    refined.profile.info.strings.iter().map(|text| &**text == path).collect()
}

/// The file in which a function is written, if that is known: where it is declared, or where lines
/// of it are. O(frames) for a function without a declaration.
#[must_use]
pub fn file_of(refined: &Refined, function: FunctionRef) -> Option<StringId> {
    let declared = refined.functions.get(function.index())?.file;
    declared.or_else(|| {
        let mut frames = refined.frames.iter().filter(|frame| frame.function == function);
        frames.find_map(|frame| frame.file.filter(|_| frame.line > 0))
    })
}

/// The modules of the functions that name this file as theirs or have lines of it, each as it was
/// loaded, also where a comparison takes modules of both sides for one. Costs of all of them stand
/// beside its text. None if one is not known. O(frames).
#[must_use]
pub fn modules_of(profile: &Profile, path: &str) -> BTreeSet<ModuleId> {
    let file: Vec<bool> = profile.info.strings.iter().map(|text| &**text == path).collect();
    let is_it =
        |id: Option<StringId>| id.is_some_and(|id| file.get(id.index()).copied().unwrap_or(false));
    let modules = profile.frames.iter().filter_map(|frame| {
        let function = &profile.functions[frame.function.index()];
        let site = frame.site.and_then(|site| profile.info.frames.get(site.index()));
        let module = site.map_or(function.module, |site| site.module);
        (is_it(frame.file) || is_it(function.file)).then_some(module)
    });
    modules.collect::<Option<_>>().unwrap_or_default()
}

impl SourceLines {
    /// The lines of a file, and which of them a function has. O(nodes).
    ///
    /// # Errors
    /// The watch ended it.
    pub fn new(
        refined: &Refined,
        path: &str,
        function: Option<FunctionRef>,
        watch: &Watch<'_>,
    ) -> Result<Self, Cancelled> {
        let refined = &refined.without_loops(watch)?;
        let file = named(refined, path);
        let mut numbers: BTreeMap<u32, bool> = BTreeMap::new();
        for frame in refined.frames.iter() {
            if let Some(line) = line_in(refined, frame, &file) {
                *numbers.entry(line).or_default() |= Some(frame.function) == function;
            }
        }
        let places: Vec<u32> = numbers.keys().copied().collect();
        let first = refined.functions.len();
        let named = |&line: &u32| Function { line, ..Function::named(format!("{path}:{line}")) };
        let place_of = |frame: &Frame| places.binary_search(&line_in(refined, frame, &file)?).ok();
        let forest = refined.clone().placed(places.iter().map(named).collect(), &place_of);
        let place = |function: FunctionRef| function.index().checked_sub(first);
        let mut lines: BTreeMap<usize, SourceLine> = BTreeMap::new();
        for row in by_function(&forest, watch)? {
            let Some(at) = place(row.function) else { continue };
            let (number, is_of_function) = (places[at], numbers[&places[at]]);
            let line = SourceLine { number, row, calls: false, inlines: false, is_of_function };
            lines.insert(at, line);
        }
        let (parent, frame) = (&forest.parent[..], &forest.frame[..]);
        watch.forward(1..parent.len(), |nodes| {
            for node in nodes.filter(|node| forest.is_shown(*node)) {
                let above = &forest.frames[frame[parent[node] as usize].index()];
                let Some(line) = place(above.function).and_then(|at| lines.get_mut(&at)) else {
                    continue;
                };
                match forest.frames[frame[node].index()].kind {
                    FrameKind::Inline => line.inlines = true,
                    kind if kind.is_function() => line.calls = true,
                    _ => {}
                }
            }
        })?;
        Ok(Self { lines: lines.into_values().collect(), forest })
    }

    /// What is known of a line; `None` if it has no samples.
    #[must_use]
    pub fn line(&self, number: u32) -> Option<&SourceLine> {
        let at = self.lines.binary_search_by_key(&number, |line| line.number).ok()?;
        self.lines.get(at)
    }

    /// The numbers of the lines that cost most ([`hottest`]).
    #[must_use]
    pub fn hottest(&self, refined: &Refined) -> Vec<u32> {
        hottest(self.lines.iter().map(|line| (line.number, &line.row)), refined)
    }
}

/// What a line calls, and what is inlined into it, as rows: what costs most first. O(nodes).
///
/// # Errors
/// The watch ended it.
pub fn callees(
    refined: &Refined,
    path: &str,
    number: u32,
    watch: &Watch<'_>,
) -> Result<Vec<Row>, Cancelled> {
    let refined = &refined.without_loops(watch)?;
    let file = named(refined, path);
    let name = format!("{path}:{number}");
    let place_of = |frame: &Frame| (line_in(refined, frame, &file)? == number).then_some(0);
    let forest = refined.clone().placed(vec![Function::named(&*name)], &place_of);
    let line = Chain::of(FramePattern::Exact(name));
    let table = HallTable::new(&forest, Some(&line), Way::Down, Reach::Immediate, watch);
    let mut rows = match table {
        Ok(table) => table.rows,
        Err(Stopped::Cancelled) => return Err(Cancelled),
        // The line is not on any path that is shown.
        Err(Stopped::Refused(_)) => Vec::new(),
    };
    // A line that is below itself is no callee.
    rows.retain(|row| row.function.index() < refined.functions.len());
    rows.sort_by_key(|row| std::cmp::Reverse(row.of(refined.metric).inclusive));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::from_outline;
    use crate::refine::{apply, parse, unwatched};

    const OUTLINE: &str = "
main 1 e=1 at:a.c:10
  work 2 e=5 at:a.c:20
    helper 4 inline at:a.h:3
    work 8 e=2 at:a.c:20
      helper 16 inline at:a.h:3
      other 32 e=3 at:b.c:20
  work 64 e=5 at:a.c:21
";

    fn lines(profile: &Profile, stages: &str, path: &str) -> Vec<(u32, u64, u64, String)> {
        let refined = apply(profile, &parse(stages).unwrap()).unwrap();
        let made = unwatched(|watch| SourceLines::new(&refined, path, None, watch));
        let told = |line: &SourceLine| {
            let of = line.row.of(refined.metric);
            let marks = [(line.calls, 'c'), (line.inlines, 'i')];
            let marks = marks.into_iter().filter(|(is, _)| *is).map(|(_, mark)| mark).collect();
            (line.number, of.inclusive, of.exclusive, marks)
        };
        made.lines.iter().map(told).collect()
    }

    #[test]
    fn a_line_has_each_sample_once_however_often_a_path_comes_through_it() {
        let profile = from_outline(OUTLINE).unwrap();
        let told = |line, inclusive, exclusive, marks: &str| {
            (line, inclusive, exclusive, marks.to_owned())
        };
        assert_eq!(
            lines(&profile, "", "a.c"),
            [told(10, 127, 1, "c"), told(20, 62, 10, "ci"), told(21, 64, 64, "")]
        );
        assert_eq!(lines(&profile, "", "a.h"), [told(3, 20, 20, "")]);
        assert_eq!(lines(&profile, "", "b.c"), [told(20, 32, 32, "")]);
        assert_eq!(lines(&profile, "", "c.c"), []);
        // What stages leave out costs nothing, and what they hide costs its callers.
        assert_eq!(lines(&profile, "through other", "b.c"), [told(20, 32, 32, "")]);
        assert_eq!(lines(&profile, "hide helper", "a.c")[1], told(20, 62, 30, "c"));
        assert_eq!(lines(&profile, "by module", "a.c"), []);
    }

    /// Costs of all of them stand beside one text, also where a comparison has one function of two.
    #[test]
    fn the_modules_of_a_file_are_those_of_all_sides() {
        let of = |module: &str| {
            let lines =
                format!("main 1 at:a.c:1 module:/b/{module}\n  f 2 at:b.c:2 module:/b/l.so\n");
            from_outline(&lines).unwrap()
        };
        let one = of("one");
        let names = |profile: &Profile, path| {
            let modules = modules_of(profile, path);
            let names = modules.iter().map(|module| profile.module_path(*module).to_owned());
            names.collect::<Vec<_>>()
        };
        assert_eq!(names(&one, "a.c"), ["/b/one"]);
        assert_eq!(names(&one, "b.c"), ["/b/l.so"]);
        assert!(names(&one, "c.c").is_empty());
        let unknown = from_outline("main 1 at:a.c:1 module:/b/one\n  f 1 at:a.c:2\n").unwrap();
        assert!(names(&unknown, "a.c").is_empty(), "that of f is not known");
        let mut saved = [1, 2].map(|build| {
            let bytes = include_bytes!("../../../tests/golden/v1/sources.csprof");
            let mut profile = csprof_format::read::read(bytes).unwrap();
            profile.run.start_unix_ns += build;
            profile.modules[0].build_id = vec![build as u8];
            profile
        });
        let path = saved[0].functions[1].file.unwrap();
        let path = saved[0].strings[path.index()].to_string();
        // Only BASE keeps its source.
        saved[1].sources.clear();
        let [base, other] = saved.map(Profile::from_saved);
        let count = modules_of(&base, &path).len();
        let of_base = modules_of(&base, &path);
        assert!(base.info.sources[0].modules.iter().any(|module| of_base.contains(module)));
        let both = Profile::compared(("base", base), ("other", other), &[]).unwrap();
        assert!(modules_of(&both, &path).len() > count);
        let shown =
            crate::sources::Sources::default().show(&both.info, &path, &modules_of(&both, &path));
        let why = shown.unwrap_err().tried.pop().unwrap().1;
        assert!(why.contains("not for all modules"), "{why}");
    }

    #[test]
    fn lines_are_the_rows_of_by_line_where_a_line_is_in_one_function() {
        let profile = from_outline(OUTLINE).unwrap();
        let refined = Refined::base(&profile);
        let by_line = apply(&profile, &parse("by line").unwrap()).unwrap();
        let rows = unwatched(|watch| by_function(&by_line, watch));
        for path in ["a.c", "a.h", "b.c"] {
            let made = unwatched(|watch| SourceLines::new(&refined, path, None, watch));
            for line in made.lines {
                let is_it = |row: &&Row| {
                    let function = &by_line.functions[row.function.index()];
                    let file = function.file.map(|file| profile.string(file));
                    (file, function.line) == (Some(path), line.number)
                };
                let row = rows.iter().find(is_it).unwrap();
                assert_eq!(line.row.weights, row.weights, "{path}:{}", line.number);
            }
        }
    }

    /// `by loop` moves what is a function's own to its loops, but not to another line.
    #[test]
    fn lines_keep_their_own_cost_beside_loops() {
        let looped = "
main 1 at:a.c:10
  work 2 e=5 at:a.c:20 loop:a.c:18 loop:a.c:19
    helper 4 inline at:a.h:3
    other 32 e=3 at:b.c:20
  work 64 e=5 at:a.c:21 loop:a.c:18
  work 128 at:a.c:30
";
        let profile = from_outline(looped).unwrap();
        let base = Refined::base(&profile);
        let by_loop = apply(&profile, &parse("by loop").unwrap()).unwrap();
        for path in ["a.c", "a.h", "b.c"] {
            assert_eq!(lines(&profile, "by loop", path), lines(&profile, "", path), "{path}");
            let edges = |refined: &Refined| {
                let made = unwatched(|watch| SourceLines::new(refined, path, None, watch));
                let lines = made.lines.iter();
                lines.map(|line| line.row.weights.clone()).collect::<Vec<_>>()
            };
            assert_eq!(edges(&by_loop), edges(&base), "{path}");
        }
        assert_eq!(lines(&profile, "by loop", "a.c")[1], (20, 38, 2, "ci".to_owned()));
        let called = |refined: &Refined| {
            let rows = unwatched(|watch| callees(refined, "a.c", 20, watch));
            rows.iter().map(|row| (row.function, row.kind)).collect::<Vec<_>>()
        };
        assert_eq!(called(&by_loop), called(&base));
        assert_eq!(called(&by_loop).len(), 2);
    }

    #[test]
    fn what_a_line_calls_has_what_it_costs_there() {
        let profile = from_outline(OUTLINE).unwrap();
        let refined = Refined::base(&profile);
        let called = |path, number| {
            let rows = unwatched(|watch| callees(&refined, path, number, watch));
            let told = |row: &Row| {
                let name = refined.functions[row.function.index()].name.to_string();
                (name, row.kind, row.of(refined.metric).inclusive)
            };
            rows.iter().map(told).collect::<Vec<_>>()
        };
        let told = |name: &str, kind, samples| (name.to_owned(), kind, samples);
        assert_eq!(
            called("a.c", 20),
            [told("other", FrameKind::Call, 32), told("helper", FrameKind::Inline, 20)]
        );
        assert_eq!(called("a.c", 21), []);
        assert_eq!(called("a.c", 99), []);
    }

    #[test]
    fn the_hottest_lines_come_first() {
        let profile = from_outline(OUTLINE).unwrap();
        let refined = Refined::base(&profile);
        let hottest = |refined: &Refined| {
            let made = unwatched(|watch| SourceLines::new(refined, "a.c", None, watch));
            made.hottest(refined)
        };
        assert_eq!(hottest(&refined), [21, 20, 10]);
        let other = apply(&profile, &parse("through other").unwrap()).unwrap();
        assert_eq!(hottest(&other), [10, 20], "they have no cost of their own there");
    }
}
