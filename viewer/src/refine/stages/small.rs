//! `small`: rows below a threshold become one row for each parent.

use std::collections::HashMap;

use super::delete::stop_below;
use super::step::{Step, Transform, of_functions};
use crate::profile::{Column, Frame, FrameKind, FrameRef, Function, FunctionRef};
use crate::refine::forest::bits::Bits;
use crate::refine::forest::error::Stop;
use crate::refine::forest::refined::Refined;
use crate::refine::lang::metric_test::MetricTest;
use crate::refine::select::rows::from_top::{Below, visit};
use crate::refine::watch::Watch;

/// `small incl(time) < 0.5%`: one row, `(3 small)`, of the outermost rows below each parent that
/// pass the test; what is below them moves to it.
pub(crate) struct Small<'s>(pub(crate) &'s MetricTest);

impl Transform for Small<'_> {
    fn run(&self, mut refined: Refined, watch: &Watch<'_>) -> Result<Step, Stop> {
        let mut found = Bits::none(refined.node_count());
        // Their nodes, parent by parent: number of the parent, of its rows that pass, and the end.
        let mut nodes: Vec<u32> = Vec::new();
        let mut parents: Vec<(u32, u32, usize)> = Vec::new();
        visit(&refined, self.0, watch, |row| {
            // Roots are no calls, and contexts are there to be seen.
            let is_frame = !matches!(row.kind, FrameKind::Root | FrameKind::Context);
            if !is_frame || !row.passes {
                return if row.below == Some(false) { Below::Closed } else { Below::Open };
            }
            nodes.extend_from_slice(row.nodes);
            match parents.last_mut() {
                Some((parent, count, end)) if *parent == row.parent => {
                    *count += 1;
                    *end = nodes.len();
                }
                _ => parents.push((row.parent, 1, nodes.len())),
            }
            Below::Closed
        })?;
        for &node in &nodes {
            found.insert(node as usize);
        }
        let frames = refined.workspace.frames.clone();
        let mut frame = std::mem::take(&mut refined.frame).take(&frames);
        let mut start = 0;
        let mut rests: HashMap<u32, FrameRef> = HashMap::new();
        for (_, count, end) in parents {
            let rest = *rests.entry(count).or_insert_with(|| rest(&mut refined, count));
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

/// The frame that stands for so many rows.
fn rest(refined: &mut Refined, count: u32) -> FrameRef {
    let name = format!("({count} small)");
    let function = Function { name, module: None, file: None, line: 0 };
    let function = FunctionRef(refined.functions.number_of(function));
    let frame = Frame { function, kind: FrameKind::Call, file: None, line: 0 };
    FrameRef(refined.frames.number_of(frame))
}
