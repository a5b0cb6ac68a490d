//! `by loop`: rows for the loops in which functions call, or spend their own cost.
//!
//! A node is a function at one address, so all that is below it is in the same loops: these hang
//! below the node one in the other, and all that was below it hangs below the innermost.
//!
//! ```text
//!   mm  1 ns exclusive          mm                           0 ns
//!     cblas_dot                   loop at mm.c:12            0 ns
//!                                   loop at mm.c:13          1 ns
//!                                     cblas_dot
//! ```

use std::collections::HashMap;

use csprof_format::ids::ModuleId;

use super::step::{Moved, Step, Transform};
use crate::profile::{
    Column, Count, Frame, FrameKind, FrameRef, Function, FunctionRef, Home, LOOP, Profile, Stream,
};
use crate::refine::forest::children::node_number;
use crate::refine::forest::costs::{CostsOf, SampleColumns, in_width};
use crate::refine::forest::error::{Cause, Loopless, Stop};
use crate::refine::forest::recorded::Effect;
use crate::refine::forest::refined::Refined;
use crate::refine::watch::{Cancelled, Watch};

/// `by loop`: nodes of kind [`FrameKind::Loop`] below those of functions. Exclusive samples of a
/// node move to its innermost loop.
pub(crate) struct ByLoop;

impl Transform for ByLoop {
    fn run(&self, mut refined: Refined, watch: &Watch<'_>) -> Result<Step, Stop> {
        let refuse = |cause| Err(Stop::Refused { part: "by loop".to_owned(), cause });
        if refined.is_inverted {
            return refuse(Cause::LoopsOfCallers);
        }
        let is_loop = |frame: usize| refined.frames[frame].kind == FrameKind::Loop;
        if refined.frames_shown().iter().any(is_loop) {
            return Ok(Step { refined, moved: Moved::NONE, effect: Effect::None });
        }
        if refined.profile.info.structure.in_loops.is_empty() {
            return refuse(Cause::NoLoops(Loopless::Profile));
        }
        let loops = Loops::of(&mut refined, watch)?;
        if loops.frames.is_empty() {
            return refuse(Cause::NoLoops(Loopless::Frames));
        }
        let growth = Growth::of(&refined, &loops, watch)?;
        let workspace = refined.workspace.clone();
        let old = std::mem::take(&mut refined.parent);
        let mut parent = workspace.nodes.empty(growth.nodes());
        let mut frame = workspace.frames.empty(growth.nodes());
        watch.forward(0..old.len(), |nodes| {
            for node in nodes {
                let own = refined.frame[node];
                parent.push(if node == 0 { 0 } else { growth.innermost(old[node] as usize) });
                frame.push(own);
                for &inner in loops.of_frame(own) {
                    parent.push(node_number(frame.len() - 1));
                    frame.push(inner);
                }
            }
        })?;
        refined.parent = Column::made(parent, &workspace.nodes);
        refined.frame = Column::made(frame, &workspace.frames);
        let moved = in_width!(&mut refined.costs, costs => grow(costs, &growth, watch))?;
        refined.timing.follow(|node| Some(growth.innermost(node as usize)));
        let streams: Vec<Stream> = refined.streams.iter().map(|s| growth.stream(s)).collect();
        refined.streams = streams.into();
        Ok(Step { refined, moved, effect: Effect::None })
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn passes(&self, metrics: usize) -> usize {
        3 + 2 * metrics
    }
}

/// The loops of each frame.
struct Loops {
    /// Where those of each frame begin, and where those of the last end.
    first: Vec<u32>,
    /// Frames of kind [`FrameKind::Loop`], the outermost first.
    frames: Vec<FrameRef>,
}

impl Loops {
    /// Adds the frames of loops to a forest.
    fn of(refined: &mut Refined, watch: &Watch<'_>) -> Result<Self, Cancelled> {
        let profile = refined.profile.clone();
        let structure = &profile.info.structure;
        let (first_function, first_frame) = (refined.functions.len(), refined.frames.len());
        let mut functions: Vec<Function> = Vec::new();
        let mut numbers: HashMap<(Option<ModuleId>, u32), usize> = HashMap::new();
        let mut places: HashMap<Function, usize> = HashMap::new();
        let mut first = vec![0];
        let mut frames = Vec::new();
        for frame in refined.frames.iter() {
            let here = frame.site.map_or(&[][..], |site| structure.loops_in(site, frame.row));
            if first.len().is_multiple_of(4096) {
                watch.step(0)?;
            }
            // In a comparison the module of a function is the same on both sides.
            let module = refined.functions[frame.function.index()].module;
            for entry in here {
                let number = *numbers.entry((module, entry.number)).or_insert_with(|| {
                    let function = function(&profile, module, entry.number);
                    *places.entry(function.clone()).or_insert_with(|| {
                        functions.push(function);
                        functions.len() - 1
                    })
                });
                frames.push(FrameRef(node_number(first_frame + number)));
            }
            first.push(node_number(frames.len()));
        }
        let made = functions.iter().zip(first_function..).map(|(function, number)| Frame {
            file: function.file,
            line: function.line,
            ..Frame::made_up(FunctionRef(node_number(number)), FrameKind::Loop)
        });
        let made: Vec<Frame> = made.collect();
        refined.functions.add(functions);
        refined.frames.add(made);
        Ok(Self { first, frames })
    }

    fn of_frame(&self, frame: FrameRef) -> &[FrameRef] {
        let range = self.first.get(frame.index()).zip(self.first.get(frame.index() + 1));
        range.map_or(&[], |(&first, &end)| &self.frames[first as usize..end as usize])
    }
}

/// What a row of a loop is called: by its first line, or its address.
fn function(profile: &Profile, module: Option<ModuleId>, number: u32) -> Function {
    let found = profile.info.structure.loops[number as usize];
    let irreducible = if found.irreducible { "irreducible " } else { "" };
    let name = format!("{irreducible}{LOOP}{}", profile.place_of_loop(number as usize)).into();
    Function { name, module, file: found.file, line: found.line }
}

/// Where the nodes of a forest are when loops have been put in.
struct Growth {
    /// For each old node, the new number of its innermost loop: its own if it is in none.
    innermost: Vec<u32>,
}

impl Growth {
    fn of(refined: &Refined, loops: &Loops, watch: &Watch<'_>) -> Result<Self, Cancelled> {
        let mut innermost = Vec::with_capacity(refined.node_count());
        let mut next = 0;
        watch.forward(0..refined.node_count(), |nodes| {
            for node in nodes {
                next += 1 + loops.of_frame(refined.frame[node]).len();
                innermost.push(node_number(next - 1));
            }
        })?;
        Ok(Self { innermost })
    }

    /// How many nodes there are then.
    fn nodes(&self) -> usize {
        self.innermost.last().map_or(0, |&last| last as usize + 1)
    }

    fn innermost(&self, node: usize) -> u32 {
        self.innermost[node]
    }

    /// The new number of an old node, or one past the last.
    fn start(&self, node: u32) -> u32 {
        node.checked_sub(1).map_or(0, |before| self.innermost[before as usize] + 1)
    }

    fn stream(&self, stream: &Stream) -> Stream {
        let nodes = self.start(stream.nodes.start)..self.start(stream.nodes.end);
        Stream { nodes, ..stream.clone() }
    }

    /// A column in which each node has its value, and its loops another that is made of it.
    fn column<C: Copy>(
        &self,
        old: &[C],
        of_loops: impl Fn(C) -> C,
        home: &Home<C>,
        watch: &Watch<'_>,
    ) -> Result<Column<C>, Cancelled> {
        watch.step(old.len())?;
        let mut column = home.empty(self.nodes());
        for (&value, &innermost) in old.iter().zip(&self.innermost) {
            column.push(value);
            column.resize(innermost as usize + 1, of_loops(value));
        }
        Ok(Column::made(column, home))
    }
}

/// Gives loops their costs.
fn grow<C: Count>(
    costs: &mut CostsOf<C>,
    growth: &Growth,
    watch: &Watch<'_>,
) -> Result<Moved, Cancelled> {
    let before = costs.all.inclusive.clone();
    let (samples, home) = costs.samples_mut();
    let moved = samples.map(|samples| grow_samples(samples, growth, home, watch));
    let moved = moved.collect::<Result<Moved, _>>()?;
    let CostsOf { recorded, home, .. } = costs;
    let is_exact = recorded.low.is(&recorded.high);
    // No node of the profile has as many.
    let none = |_| C::MAX;
    recorded.low = growth.column(&recorded.low, none, home, watch)?;
    recorded.high = match is_exact {
        true => recorded.low.clone(),
        false => growth.column(&recorded.high, none, home, watch)?,
    };
    recorded.inclusive = match recorded.inclusive.is(&before) {
        true => costs.all.inclusive.clone(),
        false => growth.column(&recorded.inclusive, |below| below, home, watch)?,
    };
    Ok(moved)
}

/// All that is below a node is in its loops, and what was its own is the innermost one's. Returns
/// how many samples have moved.
fn grow_samples<C: Count>(
    samples: &mut SampleColumns<C>,
    growth: &Growth,
    home: &Home<C>,
    watch: &Watch<'_>,
) -> Result<u64, Cancelled> {
    let old = samples.exclusive.clone();
    let mut exclusive = growth.column(&old, |_| C::default(), home, watch)?.take(home);
    let mut moved = 0;
    for (node, (&own, &innermost)) in old.iter().zip(&growth.innermost).enumerate() {
        let at = growth.start(node_number(node)) as usize;
        if at != innermost as usize {
            exclusive[at] = C::default();
            exclusive[innermost as usize] = own;
            moved += own.into();
        }
    }
    samples.exclusive = Column::made(exclusive, home);
    samples.inclusive = growth.column(&samples.inclusive, |below| below, home, watch)?;
    Ok(moved)
}
