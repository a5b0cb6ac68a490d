//! The flat view as a tree of places: load modules, source files, functions, lines.
//!
//! Each row is what its place costs from wherever it was called. Exclusive cost adds up from lines
//! to modules. Inclusive cost does not: a sample counts once for each place on its path, however
//! often the path comes through it, so a file whose functions call each other costs less than its
//! functions together, and never less than one of them (Hall's maximal nodes, for sets of frames).
//! Places that are not known are left out: a function without a source file is below its module.

use std::collections::HashMap;
use std::ops::Range;

use csprof_format::ids::{EpochId, ModuleId, StringId, ThreadId};

use crate::profile::{
    Frame, FrameKind, FrameRef, Function, FunctionRef, MetricRef, NodesBuilder, Stream,
};
use crate::refine::{Cancelled, Grain, Refined, Visitor, Watch, walk};

/// The places of everything that is shown, as a forest to be shown like any other: each place is a
/// node below the place that holds it; the first ones are modules, files, or functions, which hold
/// lines. What returns is an activation of a function, not a place, so
/// no node has edges. O(nodes × levels).
///
/// # Errors
/// The watch ended it.
pub fn places(
    refined: &Refined,
    outermost: Grain,
    watch: &Watch<'_>,
) -> Result<Refined, Cancelled> {
    let mut tree = Tree::new(refined);
    // Each part has nodes of its own, in the order of the parts.
    let (processes, parts): (Vec<_>, Vec<_>) = refined.runs().into_iter().unzip();
    let mut ends = vec![tree.count()];
    let of_part = |_| {
        let of_frames = tree.part(outermost);
        ends.push(tree.count());
        of_frames
    };
    let of_parts: Vec<_> = parts.iter().map(of_part).collect();
    let count = tree.count();
    watch.begin(0, 1, 1, refined.node_count());
    let metrics: Vec<MetricRef> = refined.metrics().collect();
    let sums = walk(refined, watch, || Sums {
        refined,
        parts: &parts,
        of_parts: &of_parts,
        of_metrics: metrics
            .iter()
            .map(|_| [vec![0; count as usize], vec![0; count as usize]])
            .collect(),
        metrics: &metrics,
        on_path: vec![0; count as usize],
    })?;
    watch.end();
    let mut of_metrics = sums.of_metrics;
    for ([_, inclusive], &metric) in of_metrics.iter_mut().zip(&metrics) {
        inclusive[0] = refined.account_of(metric).1;
    }
    // Which part a stream is of, its process says.
    let stream = |(&process, nodes): (_, &[u32])| Stream {
        process,
        thread: ThreadId::default(),
        epoch: EpochId::default(),
        nodes: nodes[0]..nodes[1],
    };
    let streams = processes.iter().zip(ends.windows(2)).map(stream).collect();
    // The exclusive cost of a place is that of all in it, so that of all nodes is more than is
    // shown.
    let shown = refined.shown_by_column();
    let Tree { added, frames, nodes, .. } = tree;
    Ok(refined.with_nodes(added, frames, nodes, of_metrics, streams, shown))
}

/// The kind of the place of a function: called, inlined, left by a tail call or found by an address
/// alone, it is one function.
#[must_use]
pub fn kind_of_function(kind: FrameKind) -> FrameKind {
    if kind.is_function() { FrameKind::Call } else { kind }
}

/// What makes two frames lie in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Module(ModuleId),
    File(StringId),
    Function(FunctionRef, FrameKind),
    Line(Option<StringId>, u32),
}

/// The tree of places while it grows.
struct Tree<'r> {
    refined: &'r Refined,
    /// What places that are no functions are called.
    added: Vec<Function>,
    frames: Vec<Frame>,
    nodes: NodesBuilder,
    /// The frame of each place.
    frame_of: HashMap<Place, FrameRef>,
}

impl<'r> Tree<'r> {
    fn new(refined: &'r Refined) -> Self {
        let nodes = NodesBuilder::new(0);
        let frames = vec![refined.frames[FrameRef::ROOT.index()]];
        Self { refined, added: Vec::new(), frames, nodes, frame_of: HashMap::new() }
    }

    fn count(&self) -> u32 {
        number(self.nodes.len())
    }

    /// For each frame, the nodes of the places in which it lies, outermost first.
    fn part(&mut self, outermost: Grain) -> Vec<Vec<u32>> {
        let mut known = HashMap::new();
        let refined = self.refined;
        refined.frames.iter().map(|frame| self.places(frame, outermost, &mut known)).collect()
    }

    /// The nodes of the places of a frame. `known` has the node of each place below a node.
    fn places(
        &mut self,
        frame: &Frame,
        outermost: Grain,
        known: &mut HashMap<(u32, Place), u32>,
    ) -> Vec<u32> {
        let function = &self.refined.functions[frame.function.index()];
        let module = function.module.filter(|_| outermost == Grain::Module).map(Place::Module);
        let file = function.file.or(frame.file);
        let file =
            file.filter(|_| matches!(outermost, Grain::Module | Grain::File)).map(Place::File);
        let kind = kind_of_function(frame.kind);
        let line = (frame.line > 0).then_some(Place::Line(frame.file, frame.line));
        let nested = [module, file, Some(Place::Function(frame.function, kind)), line];
        let mut above = 0;
        let mut nodes = Vec::with_capacity(nested.len());
        for place in nested.into_iter().flatten() {
            let frame = self.frame(place);
            let add = || self.nodes.push(above, frame, 0, 0);
            above = *known.entry((above, place)).or_insert_with(add);
            nodes.push(above);
        }
        nodes
    }

    /// The frame that stands for a place. A function is what it is elsewhere.
    fn frame(&mut self, place: Place) -> FrameRef {
        if let Some(&known) = self.frame_of.get(&place) {
            return known;
        }
        let profile = &self.refined.profile;
        let end = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        let added = match place {
            Place::Module(id) => {
                Some(Function { module: Some(id), ..Function::named(end(profile.module_path(id))) })
            }
            Place::File(id) => {
                Some(Function { file: Some(id), ..Function::named(profile.string(id)) })
            }
            Place::Function(..) => None,
            Place::Line(file, line) => {
                let name = file.map_or_else(|| "line".to_owned(), |file| end(profile.string(file)));
                Some(Function { file, line, ..Function::named(format!("{name}:{line}")) })
            }
        };
        let (function, kind) = match place {
            Place::Function(function, kind) => (function, kind),
            _ => {
                let next = self.refined.functions.len() + self.added.len();
                (FunctionRef(number(next)), FrameKind::Context)
            }
        };
        self.added.extend(added);
        let frame = FrameRef(number(self.frames.len()));
        self.frames.push(Frame::made_up(function, kind));
        self.frame_of.insert(place, frame);
        frame
    }
}

/// A length as a number of 32 bits: places are never more than frames times levels.
fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// What each place costs.
struct Sums<'r> {
    refined: &'r Refined,
    /// The parts of the forest that have places of their own.
    parts: &'r [Range<u32>],
    /// Of each of them, the nodes of the places of each frame.
    of_parts: &'r [Vec<Vec<u32>>],
    metrics: &'r [MetricRef],
    /// Exclusive and inclusive samples of each.
    of_metrics: Vec<[Vec<u64>; 2]>,
    /// How many nodes on the path to the present one lie there.
    on_path: Vec<u32>,
}

impl<'r> Sums<'r> {
    /// The nodes of the places in which a node lies.
    fn places(&self, node: u32) -> &'r [u32] {
        let part = self.parts.partition_point(|part| part.end <= node);
        &self.of_parts[part][self.refined.frame[node as usize].index()]
    }
}

impl Visitor for Sums<'_> {
    fn enter(&mut self, node: u32, _: usize) -> u32 {
        let n = node as usize;
        let places = self.places(node);
        for (&metric, [exclusive, inclusive]) in self.metrics.iter().zip(&mut self.of_metrics) {
            let of_node = self.refined.own_of_metric(n, metric);
            for &place in places {
                let place = place as usize;
                if self.on_path[place] == 0 {
                    inclusive[place] += of_node.0;
                }
                exclusive[place] += of_node.1;
            }
        }
        for &place in places {
            self.on_path[place as usize] += 1;
        }
        node
    }

    fn leave(&mut self, node: u32) {
        for &place in self.places(node) {
            self.on_path[place as usize] -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;
    use crate::profile::{Profile, from_outline};
    use crate::refine::{WeightRef, apply, parse, unwatched};
    use crate::views::laws::outlines;
    use crate::views::top_down::TopDown;
    use crate::views::tree::RowId;

    /// Every place by its path, with inclusive and exclusive samples.
    fn picture(refined: &Refined, outermost: Grain) -> BTreeMap<Vec<String>, (u64, u64)> {
        let forest = unwatched(|watch| places(refined, outermost, watch));
        let mut paths: Vec<Vec<String>> = Vec::new();
        let mut rows = BTreeMap::new();
        for node in 0..forest.node_count() {
            let function = forest.frames[forest.frame[node].index()].function;
            let mut path = paths.get(forest.parent[node] as usize).cloned().unwrap_or_default();
            if node > 0 {
                path.push(forest.functions[function.index()].name.to_string());
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
        let lines: Vec<String> = picture(&refined, Grain::Module)
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
        assert!(picture(&refined, Grain::Function).contains_key(&vec!["dot".to_owned()]));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

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
            let of_frames = tree.part(Grain::Module);
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
            let places = unwatched(|watch| places(&refined, Grain::Module, watch));
            for node in 0..places.node_count() {
                prop_assert_eq!(places.inclusive(node), inclusive[node]);
                prop_assert_eq!(places.exclusive(node), exclusive[node]);
            }
            // A place never costs less than one it holds, its own cost is that of those it holds
            // (but for what has no line), and the outermost have all of it.
            for node in 1..inclusive.len() {
                prop_assert!(inclusive[places.parent[node] as usize] >= inclusive[node]);
            }
            let mut below = vec![0; inclusive.len()];
            for node in 1..inclusive.len() {
                below[places.parent[node] as usize] += exclusive[node];
            }
            prop_assert_eq!(below[0], refined.shown);
            prop_assert!(below.iter().zip(&exclusive).skip(1).all(|(below, own)| below <= own));
        }

        /// Where two profiles are compared, each side of every place is what it alone has there.
        #[test]
        fn sides_of_places_are_the_places_of_the_sides(base in outlines(), other in outlines()) {
            let placed = |outline: String| {
                let lines = outline.lines().map(|line| match line.contains("alpha") {
                    true => format!("{line} module:/m/one.so at:a.c:1\n"),
                    false => format!("{line} module:/m/two.so\n"),
                });
                from_outline(&lines.collect::<String>()).unwrap()
            };
            let [base, other] = [base, other].map(placed);
            let alone = [&base, &other].map(|side| columns(side).into_iter().map(|(path, all)| (path, all[0])).collect::<BTreeMap<_, _>>());
            let both = Profile::compared(("base", base), ("other", other), &[]).unwrap();
            let both = columns(&both);
            for (side, alone) in alone.into_iter().enumerate() {
                let found = both.iter().map(|(path, of)| (path.clone(), of[WeightRef::SIDES[side].index()]));
                prop_assert_eq!(found.filter(|(_, of)| of.0 > 0).collect::<BTreeMap<_, _>>(), alone);
            }
        }
    }

    /// Every row of the tree of modules by its path, and what it has in each column.
    fn columns(profile: &Profile) -> BTreeMap<Vec<String>, Vec<(u64, u64)>> {
        let refined = Refined::base(profile);
        let forest = unwatched(|watch| places(&refined, Grain::Module, watch));
        let mut tree = unwatched(|watch| TopDown::new(&forest, watch));
        let mut rows = BTreeMap::new();
        let mut pending = vec![(RowId::ROOT, Vec::new())];
        while let Some((row, path)) = pending.pop() {
            for &child in tree.children(&forest, row).to_vec().iter() {
                let of = tree.row(child);
                let mut path: Vec<String> = path.clone();
                path.push(forest.functions[of.function.index()].name.to_string());
                rows.insert(
                    path.clone(),
                    of.weights.iter().map(|of| (of.inclusive, of.exclusive)).collect(),
                );
                pending.push((child, path));
            }
        }
        rows
    }
}
