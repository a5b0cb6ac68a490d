//! The flat view as a tree of places: load modules, source files, functions, loops, lines.
//!
//! Each row is what its place costs from wherever it was called. Exclusive cost adds up from lines
//! to modules. Inclusive cost does not: a sample counts once for each place on its path, however
//! often the path comes through it, so a file whose functions call each other costs less than its
//! functions together, and never less than one of them (Hall's maximal nodes, for sets of frames).
//! Places that are not known are left out: a function without a source file is below its module.
//! Loops are places where the stage `by loop` shows them: each is in the loop or function that it
//! stands below, and what a function spends and calls in it, at whichever line, is within it.

use std::collections::HashMap;
use std::ops::Range;

use csprof_format::ids::{EpochId, ModuleId, StringId, ThreadId};

use crate::profile::{
    Frame, FrameKind, FrameRef, Function, FunctionRef, MetricRef, NodesBuilder, Stream,
    name_of_file,
};
use crate::refine::{Cancelled, Grain, Refined, Visitor, Watch, walk};

/// The places of everything that is shown, as a forest to be shown like any other: each place is a
/// node below the place that holds it; the first ones are modules, files, or functions, which hold
/// loops and lines. What returns is an activation of a function, not a place, so
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
    let has_loops = refined.has_loops() && !refined.is_inverted;
    watch.begin(0, 1, if has_loops { 3 } else { 1 }, refined.node_count());
    let leaves = tree.leaves(outermost, &parts, has_loops, &mut ends, watch)?;
    let count = tree.count();
    let above = &tree.nodes.parent[..];
    let metrics: Vec<MetricRef> = refined.metrics().collect();
    let sums = walk(refined, watch, || Sums {
        refined,
        parts: &parts,
        leaves: &leaves,
        above,
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

/// The node of each place of a part below a node.
type Known = HashMap<(u32, Place), u32>;

/// The innermost places, as nodes of the tree of places. All in which something lies are above its
/// innermost one.
enum Leaves {
    /// Of each part, those of each frame.
    OfFrames(Vec<Vec<u32>>),
    /// Of each node, where those of one frame are not the same everywhere.
    OfNodes(Vec<u32>),
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

    /// Adds the places of all parts, and tells where those of each end.
    fn leaves(
        &mut self,
        outermost: Grain,
        parts: &[Range<u32>],
        has_loops: bool,
        ends: &mut Vec<u32>,
        watch: &Watch<'_>,
    ) -> Result<Leaves, Cancelled> {
        let refined = self.refined;
        if !has_loops {
            let of_part = |_| {
                let mut known = HashMap::new();
                let of_frame = |frame| {
                    let holder = self.holder(frame, outermost, &mut known);
                    self.line(frame, holder, &mut known)
                };
                let of_frames = refined.frames.iter().map(of_frame).collect();
                ends.push(self.count());
                of_frames
            };
            return Ok(Leaves::OfFrames(parts.iter().map(of_part).collect()));
        }
        let mut leaves = vec![0; refined.node_count()];
        for part in parts {
            let end = refined.node_count().min(part.end as usize);
            let nodes = end.min(part.start as usize).max(1)..end;
            self.part_with_loops(nodes, outermost, &mut leaves, watch)?;
            ends.push(self.count());
        }
        Ok(Leaves::OfNodes(leaves))
    }

    /// The same of the nodes of one part where there are loops. All that a function does at one
    /// address is in the same loops, which stand one below the other below its node: so its line is
    /// in the innermost one that has all samples of the node, and samples of its loops are that
    /// line's.
    fn part_with_loops(
        &mut self,
        nodes: Range<usize>,
        outermost: Grain,
        leaves: &mut [u32],
        watch: &Watch<'_>,
    ) -> Result<(), Cancelled> {
        let refined = self.refined;
        let frame = |node: usize| &refined.frames[refined.frame[node].index()];
        let first = nodes.start;
        // Of each node the function or loop that it is, as a place, and the node of the function
        // that its code is of; 0 for what is in none.
        let mut holders = vec![0; nodes.len()];
        let mut owners = vec![0; nodes.len()];
        let mut known = HashMap::new();
        watch.forward(nodes.clone(), |nodes| {
            for node in nodes.filter(|&node| refined.is_shown(node)) {
                let here = frame(node);
                let above = refined.parent[node] as usize;
                let at = node - first;
                let around = above.checked_sub(first).filter(|_| frame(above).kind.is_code());
                match around.filter(|_| here.kind == FrameKind::Loop) {
                    Some(around) => {
                        let place = Place::Function(here.function, here.kind);
                        holders[at] = self.within(holders[around], place, &mut known);
                        owners[at] = owners[around];
                    }
                    None => {
                        holders[at] = self.holder(here, outermost, &mut known);
                        owners[at] = if here.kind.is_function() { number(node) } else { 0 };
                    }
                }
            }
        })?;
        // Of each node the loop below it that has all of its samples.
        let mut innermost = vec![0; nodes.len()];
        watch.backward(nodes, |nodes| {
            for node in nodes.rev().filter(|&node| refined.is_shown(node)) {
                let (here, at) = (frame(node), node - first);
                leaves[node] = match (innermost[at], owners[at]) {
                    (0, 0) if here.kind == FrameKind::Loop => holders[at],
                    (0, 0) => self.line(here, holders[at], &mut known),
                    (0, owner) => self.line(frame(owner as usize), holders[at], &mut known),
                    (inner, _) => leaves[inner as usize],
                };
                let above = refined.parent[node] as usize;
                let has_all = refined.samples_of_all(above).0 == refined.samples_of_all(node).0;
                if here.kind == FrameKind::Loop && owners[at] != 0 && has_all {
                    innermost[above - first] = number(node);
                }
            }
        })
    }

    /// The node of the function of a frame, within its file and module.
    fn holder(&mut self, frame: &Frame, outermost: Grain, known: &mut Known) -> u32 {
        let function = &self.refined.functions[frame.function.index()];
        let module = function.module.filter(|_| outermost == Grain::Module).map(Place::Module);
        let file = function.file.or(frame.file);
        let file =
            file.filter(|_| matches!(outermost, Grain::Module | Grain::File)).map(Place::File);
        let kind = kind_of_function(frame.kind);
        let nested = [module, file, Some(Place::Function(frame.function, kind))];
        nested.into_iter().flatten().fold(0, |above, place| self.within(above, place, known))
    }

    /// The node of the line of a frame within that of its function or loop; the latter if the line
    /// is not known.
    fn line(&mut self, frame: &Frame, holder: u32, known: &mut Known) -> u32 {
        match frame.line {
            0 => holder,
            line => self.within(holder, Place::Line(frame.file, line), known),
        }
    }

    /// The node of a place within that of another one.
    fn within(&mut self, above: u32, place: Place, known: &mut Known) -> u32 {
        let frame = self.frame(place);
        *known.entry((above, place)).or_insert_with(|| self.nodes.push(above, frame, 0, 0))
    }

    /// The frame that stands for a place. A function is what it is elsewhere.
    fn frame(&mut self, place: Place) -> FrameRef {
        if let Some(&known) = self.frame_of.get(&place) {
            return known;
        }
        let profile = &self.refined.profile;
        let added = match place {
            Place::Module(id) => Some(Function {
                module: Some(id),
                ..Function::named(name_of_file(profile.module_path(id)))
            }),
            Place::File(id) => {
                Some(Function { file: Some(id), ..Function::named(profile.string(id)) })
            }
            Place::Function(..) => None,
            Place::Line(file, line) => {
                let name = file.map_or_else(
                    || "line".to_owned(),
                    |file| name_of_file(profile.string(file)).to_owned(),
                );
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
    leaves: &'r Leaves,
    /// The place above each.
    above: &'r [u32],
    metrics: &'r [MetricRef],
    /// Exclusive and inclusive samples of each.
    of_metrics: Vec<[Vec<u64>; 2]>,
    /// How many nodes on the path to the present one lie there.
    on_path: Vec<u32>,
}

impl<'r> Sums<'r> {
    /// The nodes of the places in which a node lies, the innermost first.
    fn places(&self, node: u32) -> impl Iterator<Item = usize> + Clone + use<'r> {
        let leaf = match self.leaves {
            Leaves::OfFrames(of_parts) => {
                let part = self.parts.partition_point(|part| part.end <= node);
                of_parts[part][self.refined.frame[node as usize].index()]
            }
            Leaves::OfNodes(of_nodes) => of_nodes[node as usize],
        };
        let above = self.above;
        let place = |place: u32| (place != 0).then_some(place as usize);
        core::iter::successors(place(leaf), move |&at| place(above[at]))
    }
}

impl Visitor for Sums<'_> {
    fn enter(&mut self, node: u32, _: usize) -> u32 {
        let n = node as usize;
        let places = self.places(node);
        for (&metric, [exclusive, inclusive]) in self.metrics.iter().zip(&mut self.of_metrics) {
            let of_node = self.refined.own_of_metric(n, metric);
            for place in places.clone() {
                if self.on_path[place] == 0 {
                    inclusive[place] += of_node.0;
                }
                exclusive[place] += of_node.1;
            }
        }
        for place in places {
            self.on_path[place] += 1;
        }
        node
    }

    fn leave(&mut self, node: u32) {
        for place in self.places(node) {
            self.on_path[place] -= 1;
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

    /// What the stage `by loop` shows stands between a function and its lines.
    #[test]
    fn loops_are_within_their_functions_and_hold_their_lines() {
        let profile = from_outline(
            "\
main 1 at:m.c:3
  mm 2 at:m.c:12 loop:m.c:10 loop:m.c:11
    dot 8 inline at:m.c:2
    mm 16 at:m.c:14 loop:m.c:10
  mm 32 at:m.c:12 loop:m.c:10 loop:m.c:11
  mm 64 at:m.c:20
",
        )
        .unwrap();
        let told = |stages: &str, outermost| {
            let refined = apply(&profile, &parse(stages).unwrap()).unwrap();
            let picture = picture(&refined, outermost).into_iter();
            let told = picture.map(|(path, (inclusive, exclusive))| {
                format!("{inclusive:>3} {exclusive:>3} {}", path.join(" > "))
            });
            told.collect::<Vec<_>>()
        };
        assert_eq!(
            told("by loop", Grain::Function),
            [
                "  8   8 dot",
                "  8   8 dot > m.c:2",
                "123   1 main",
                "123   1 main > m.c:3",
                "122 114 mm",
                " 58  50 mm > loop at m.c:10",
                " 58  34 mm > loop at m.c:10 > loop at m.c:11",
                " 58  34 mm > loop at m.c:10 > loop at m.c:11 > m.c:12",
                " 16  16 mm > loop at m.c:10 > m.c:14",
                " 64  64 mm > m.c:20",
            ]
        );
        // What is left of loops whose function is gone has no line that would be known.
        assert_eq!(
            told("by loop | root at loop:m.c:11 | hide mm", Grain::Function),
            [
                "  8   8 dot",
                "  8   8 dot > m.c:2",
                " 58  50 loop at m.c:11",
                " 16  16 loop at m.c:11 > loop at m.c:10",
            ]
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        /// Loops part what a function and its lines cost, and change nothing of it.
        #[test]
        fn loops_change_no_cost_of_functions_and_lines(outline in outlines(), stage in 0..2_usize) {
            let looped: String = outline
                .lines()
                .enumerate()
                .map(|(number, line)| {
                    let loops = ["", "loop:b.c:1", "loop:b.c:1 loop:b.c:2", "loop:b.c:3"];
                    format!("{line} at:b.c:{} {}\n", number % 3 + 4, loops[number % 4])
                })
                .collect();
            let profile = from_outline(&looped).unwrap();
            // Loops are under their functions, and stay where these are hidden: stages that ask for
            // that are others.
            let stage = ["", "through beta"][stage];
            let after = if stage.is_empty() { String::new() } else { format!(" | {stage}") };
            let Ok(without) = apply(&profile, &parse(stage).unwrap()) else { return Ok(()) };
            let Ok(with) = apply(&profile, &parse(&format!("by loop{after}")).unwrap()) else {
                return Ok(());
            };
            let is_loop = |name: &String| name.starts_with("loop at");
            let functions = |refined: &Refined| {
                let mut of = picture(refined, Grain::Function);
                of.retain(|path, _| path.len() == 1);
                of
            };
            let of_functions = functions(&with);
            prop_assert_eq!(&of_functions, &functions(&without));
            // Lines have what they had, in all their loops together.
            let mut lines: BTreeMap<Vec<String>, u64> = BTreeMap::new();
            for (path, (_, exclusive)) in picture(&with, Grain::Function) {
                if path.len() > 1 && !is_loop(&path[path.len() - 1]) {
                    let path = path.into_iter().filter(|name| !is_loop(name)).collect();
                    *lines.entry(path).or_default() += exclusive;
                }
            }
            let mut before = picture(&without, Grain::Function);
            before.retain(|path, _| path.len() > 1);
            let before = before.into_iter().map(|(path, (_, exclusive))| (path, exclusive));
            prop_assert_eq!(lines, before.collect::<BTreeMap<_, _>>());
            // No place costs less than one in it.
            let forest = unwatched(|watch| places(&with, Grain::Function, watch));
            for node in 1..forest.node_count() {
                let above = forest.parent[node] as usize;
                prop_assert!(forest.inclusive(above) >= forest.inclusive(node));
                prop_assert!(above == 0 || forest.exclusive(above) >= forest.exclusive(node));
            }
        }

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
            let (part, watch) = (0..u32::MAX, Watch::none());
            let parts = std::slice::from_ref(&part);
            let leaves = tree.leaves(Grain::Module, parts, false, &mut Vec::new(), &watch);
            let Ok(Leaves::OfFrames(of_frames)) = leaves else { unreachable!() };
            let above = tree.nodes.parent.clone();
            let place = |place: u32| (place != 0).then_some(place);
            let of_frame = |&leaf: &u32| {
                core::iter::successors(place(leaf), |&at| place(above[at as usize])).collect()
            };
            let of_frames: Vec<Vec<u32>> = of_frames[0].iter().map(of_frame).collect();
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
