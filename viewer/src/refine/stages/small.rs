//! `small`: rows below a threshold become one row for each parent, and inlined ones another.

use std::collections::HashMap;

use super::delete::stop_below;
use super::step::{Step, Transform, of_functions};
use crate::profile::{Column, Frame, FrameKind, FrameRef, Function, FunctionRef};
use crate::refine::forest::bits::Bits;
use crate::refine::forest::error::Stop;
use crate::refine::forest::procedures::is_called;
use crate::refine::forest::refined::Refined;
use crate::refine::lang::metric_test::MetricTest;
use crate::refine::select::rows::from_top::{Below, visit};
use crate::refine::watch::Watch;

/// `small incl(time) < 0.5%`: one row, `(3 small)`, of the outermost rows below each parent that
/// pass the test, and one of those of inlined code; what is below them moves there.
pub(crate) struct Small<'s>(pub(crate) &'s MetricTest);

impl Transform for Small<'_> {
    fn run(&self, mut refined: Refined, watch: &Watch<'_>) -> Result<Step, Stop> {
        let mut found = Bits::none(refined.node_count());
        // Rows that pass: the row that each is part of from now on, and the end of its nodes.
        let mut nodes: Vec<u32> = Vec::new();
        let mut rows: Vec<(Part, usize)> = Vec::new();
        let mut counts: HashMap<Part, u32> = HashMap::new();
        visit(&refined, self.0, watch, |row| {
            // Roots are no calls, and contexts are there to be seen.
            let is_frame = !matches!(row.kind, FrameKind::Root | FrameKind::Context);
            if !is_frame || !row.passes {
                return if row.below == Some(false) { Below::Closed } else { Below::Open };
            }
            nodes.extend_from_slice(row.nodes);
            let kind = if is_called(row.kind) { FrameKind::Call } else { row.kind };
            let part = Part { parent: row.parent, kind };
            rows.push((part, nodes.len()));
            *counts.entry(part).or_default() += 1;
            Below::Closed
        })?;
        for &node in &nodes {
            found.insert(node as usize);
        }
        let frames = refined.workspace.frames.clone();
        let mut frame = std::mem::take(&mut refined.frame).take(&frames);
        let mut start = 0;
        let mut rests: HashMap<(u32, FrameKind), FrameRef> = HashMap::new();
        for (part, end) in rows {
            let (count, kind) = (counts[&part], part.kind);
            let rest = rests.entry((count, kind));
            let rest = *rest.or_insert_with(|| rest_of(&mut refined, count, kind));
            for &node in &nodes[start..end] {
                frame[node as usize] = rest;
            }
            start = end;
        }
        refined.frame = Column::made(frame, &frames);
        let effect = of_functions(&refined);
        let (refined, moved) = stop_below(refined, found, watch)?;
        Ok(Step { refined, moved, effect })
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn passes(&self, metrics: usize) -> usize {
        2 + metrics
    }
}

/// The rows of a parent that become one. Nobody returns from inlined code, so what it costs would
/// say something false of how long calls take.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Part {
    parent: u32,
    /// Their kind; of all that is called, [`FrameKind::Call`].
    kind: FrameKind,
}

/// The frame that stands for so many rows.
fn rest_of(refined: &mut Refined, count: u32, kind: FrameKind) -> FrameRef {
    let name = format!("({count} small)");
    let function = Function { name, module: None, file: None, line: 0 };
    let function = FunctionRef(refined.functions.number_of(function));
    let frame = Frame { function, kind, file: None, line: 0 };
    FrameRef(refined.frames.number_of(frame))
}
