//! The flat view as a tree of places: load modules, source files, functions, lines.
//!
//! Each row is what its place costs from wherever it was called. Exclusive cost adds up from lines
//! to modules. Inclusive cost does not: a sample counts once for each place on its path, however
//! often the path comes through it, so a file whose functions call each other costs less than its
//! functions together, and never less than one of them (Hall's maximal nodes, for sets of frames).
//! Places that are not known are left out: a function without a source file is below its module.

use std::collections::HashMap;

use csprof_format::ids::{ModuleId, StringId};

use crate::profile::{Frame, FrameKind, FrameRef, Function, FunctionRef, Nodes, Profile};
use crate::refine::{Refined, Visitor, walk};

/// What the first level of the tree is; those after it are below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Load modules.
    Module,
    /// Source files.
    File,
    /// Functions.
    Function,
}

/// The tree of places of a refined profile.
#[derive(Clone, Debug)]
pub struct Places {
    /// A profile in which each place is a node, below the place that holds it.
    profile: Profile,
    /// Samples with the place on their path.
    inclusive: Vec<u64>,
    /// Samples of what was refined, and those that are not shown.
    base: u64,
    out: u64,
}

/// What makes two frames lie in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Module(ModuleId),
    File(StringId),
    Function(FunctionRef, FrameKind),
    Line(Option<StringId>, u32),
}

impl Places {
    /// The places of everything that is shown. O(nodes × levels).
    #[must_use]
    pub fn new(refined: &Refined<'_>, outermost: Level) -> Self {
        let mut tree = Tree::new(refined);
        // The places of each frame, outermost first.
        let of_frames: Vec<Vec<u32>> =
            refined.frames.iter().map(|frame| tree.places(frame, outermost)).collect();
        let count = tree.nodes.len();
        let sums = walk(refined, || Sums {
            refined,
            of_frames: &of_frames,
            inclusive: vec![0; count],
            exclusive: vec![0; count],
            on_path: vec![0; count],
        });
        let mut info = refined.profile.info.clone();
        // What returns is an activation of a function, not a place; the flat view counts them.
        info.run.trampoline = false;
        let Sums { mut inclusive, exclusive, .. } = sums;
        inclusive[0] = refined.shown;
        let nodes = Nodes { samples: exclusive.into_iter().collect(), ..tree.nodes };
        let Tree { functions, frames, .. } = tree;
        let profile =
            Profile { info, functions, frames, nodes, streams: Vec::new(), comparison: None };
        Self { profile, inclusive, base: refined.base, out: refined.out }
    }

    /// The places as a forest, to be shown like any other.
    #[must_use]
    pub fn forest(&self) -> Refined<'_> {
        let mut forest = Refined::base(&self.profile);
        forest.set_inclusive(&self.inclusive);
        (forest.base, forest.shown, forest.out) = (self.base, self.base - self.out, self.out);
        forest
    }
}

/// The tree of places while it grows.
struct Tree<'r, 'p> {
    refined: &'r Refined<'p>,
    functions: Vec<Function>,
    frames: Vec<Frame>,
    nodes: Nodes,
    /// The node of each place below a node.
    known: HashMap<(u32, Place), u32>,
}

impl<'r, 'p> Tree<'r, 'p> {
    fn new(refined: &'r Refined<'p>) -> Self {
        let root = refined.frames[FrameRef::ROOT.index()];
        let functions = vec![refined.functions[root.function.index()].clone()];
        let mut nodes = Nodes::default();
        nodes.push(0, FrameRef::ROOT, 0, 0);
        let frames = vec![Frame { function: FunctionRef::ROOT, ..root }];
        Self { refined, functions, frames, nodes, known: HashMap::new() }
    }

    /// The nodes of the places of a frame.
    fn places(&mut self, frame: &Frame, outermost: Level) -> Vec<u32> {
        let function = &self.refined.functions[frame.function.index()];
        let module = function.module.filter(|_| outermost <= Level::Module).map(Place::Module);
        let file = function.file.or(frame.file);
        let file = file.filter(|_| outermost <= Level::File).map(Place::File);
        // Called, inlined or found by an address alone, it is one function.
        let kind = match frame.kind {
            FrameKind::Inline | FrameKind::Unknown => FrameKind::Call,
            kind => kind,
        };
        let line = (frame.line > 0).then_some(Place::Line(frame.file, frame.line));
        let all = [module, file, Some(Place::Function(frame.function, kind)), line];
        let mut above = 0;
        let mut nodes = Vec::with_capacity(all.len());
        for place in all.into_iter().flatten() {
            above = match self.known.get(&(above, place)) {
                Some(&known) => known,
                None => self.add(above, place),
            };
            nodes.push(above);
        }
        nodes
    }

    fn add(&mut self, above: u32, place: Place) -> u32 {
        let profile = self.refined.profile;
        let end = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        let named = |name: String| Function { name, module: None, file: None, line: 0 };
        let (function, kind) = match place {
            Place::Module(id) => {
                let name = end(profile.module_path(id));
                (Function { module: Some(id), ..named(name) }, FrameKind::Context)
            }
            Place::File(id) => {
                let name = profile.string(id).to_owned();
                (Function { file: Some(id), ..named(name) }, FrameKind::Context)
            }
            Place::Function(number, kind) => (self.refined.functions[number.index()].clone(), kind),
            Place::Line(file, line) => {
                let name = file.map_or_else(|| "line".to_owned(), |file| end(profile.string(file)));
                let name = format!("{name}:{line}");
                (Function { file, line, ..named(name) }, FrameKind::Context)
            }
        };
        let number = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let frame = Frame {
            function: FunctionRef(number(self.functions.len())),
            kind,
            file: None,
            line: 0,
        };
        self.functions.push(function);
        self.frames.push(frame);
        let node = self.nodes.push(above, FrameRef(number(self.frames.len() - 1)), 0, 0);
        self.known.insert((above, place), node);
        node
    }
}

/// What each place costs.
struct Sums<'r, 'p> {
    refined: &'r Refined<'p>,
    of_frames: &'r [Vec<u32>],
    inclusive: Vec<u64>,
    exclusive: Vec<u64>,
    /// How many nodes on the path to the present one lie there.
    on_path: Vec<u32>,
}

impl Visitor for Sums<'_, '_> {
    fn enter(&mut self, node: u32, _: usize) -> u32 {
        let n = node as usize;
        let frame = self.refined.frame[n];
        for &place in &self.of_frames[frame.index()] {
            let place = place as usize;
            if self.on_path[place] == 0 {
                self.inclusive[place] += self.refined.inclusive(n);
            }
            self.exclusive[place] += self.refined.exclusive(n);
            self.on_path[place] += 1;
        }
        frame.0
    }

    fn leave(&mut self, frame: u32) {
        for &place in &self.of_frames[frame as usize] {
            self.on_path[place as usize] -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;
    use crate::profile::from_outline;
    use crate::refine::{apply, parse};
    use crate::views::laws::outlines;

    /// Every place by its path, with inclusive and exclusive samples.
    fn picture(refined: &Refined<'_>, outermost: Level) -> BTreeMap<Vec<String>, (u64, u64)> {
        let places = Places::new(refined, outermost);
        let forest = places.forest();
        let mut paths: Vec<Vec<String>> = Vec::new();
        let mut rows = BTreeMap::new();
        for node in 0..forest.node_count() {
            let function = forest.frames[forest.frame[node].index()].function;
            let mut path = paths.get(forest.parent[node] as usize).cloned().unwrap_or_default();
            if node > 0 {
                path.push(forest.functions[function.index()].name.clone());
                if forest.inclusive(node) > 0 {
                    rows.insert(path.clone(), (forest.inclusive(node), forest.exclusive(node)));
                }
            }
            paths.push(path);
        }
        rows
    }

    #[test]
    fn modules_files_functions_and_lines() {
        let profile = from_outline(
            "\
main 1 module:/opt/app at:main.c:9
  solve 2 module:/opt/app at:solve.c:20
    main 4 module:/opt/app at:main.c:11
    dot 8 module:/lib/libblas.so
  solve 16 module:/opt/app at:solve.c:21
",
        )
        .unwrap();
        let refined = Refined::base(&profile);
        let lines: Vec<String> = picture(&refined, Level::Module)
            .into_iter()
            .map(|(path, (inclusive, exclusive))| {
                format!("{inclusive:>2} {exclusive:>2} {}", path.join(" > "))
            })
            .collect();
        assert_eq!(
            lines,
            [
                "31 23 app",
                "31  5 app > main.c",
                "31  5 app > main.c > main",
                " 4  4 app > main.c > main > main.c:11",
                "31  1 app > main.c > main > main.c:9",
                "30 18 app > solve.c",
                "30 18 app > solve.c > solve",
                "14  2 app > solve.c > solve > solve.c:20",
                "16 16 app > solve.c > solve > solve.c:21",
                " 8  8 libblas.so",
                " 8  8 libblas.so > dot",
            ]
        );
        assert!(picture(&refined, Level::Function).contains_key(&vec!["dot".to_owned()]));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..Default::default() })]

        /// A place costs what the samples cost whose path comes through it: each once.
        #[test]
        fn a_sample_counts_once_for_each_place(outline in outlines(), stage in 0..3_usize) {
            // Places by name: two functions in a module, a file and lines of their own.
            let placed: String = outline
                .lines()
                .enumerate()
                .map(|(number, line)| {
                    let module = if line.contains("alpha") { "module:/m/one.so" } else { "" };
                    let at = if line.contains("beta") { format!("at:b.c:{}", number % 3) } else { String::new() };
                    format!("{line} {module} {at}\n")
                })
                .collect();
            let profile = from_outline(&placed).unwrap();
            let stage = ["", "hide gamma", "not under delta"][stage];
            let Ok(refined) = apply(&profile, &parse(stage).unwrap()) else { return Ok(()) };
            let mut tree = Tree::new(&refined);
            let of_frames: Vec<Vec<u32>> =
                refined.frames.iter().map(|frame| tree.places(frame, Level::Module)).collect();
            let mut inclusive = vec![0; tree.nodes.len()];
            let mut exclusive = inclusive.clone();
            for node in 1..refined.node_count() {
                let samples = refined.exclusive(node);
                let mut places = BTreeSet::new();
                let mut at = node;
                while at != 0 {
                    places.extend(&of_frames[refined.frame[at].index()]);
                    at = refined.parent[at] as usize;
                }
                places.into_iter().for_each(|&place| inclusive[place as usize] += samples);
                let here = &of_frames[refined.frame[node].index()];
                here.iter().for_each(|&place| exclusive[place as usize] += samples);
            }
            inclusive[0] = refined.shown;
            let places = Places::new(&refined, Level::Module);
            prop_assert_eq!(&places.inclusive, &inclusive);
            prop_assert_eq!(places.profile.nodes.samples.iter().collect::<Vec<_>>(), exclusive);
            // A place never costs less than one it holds.
            for node in 1..inclusive.len() {
                prop_assert!(inclusive[places.profile.nodes.parent[node] as usize] >= inclusive[node]);
            }
        }
    }
}
