//! `small`: rows below a threshold become one row for each parent and kind.

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
/// pass the test and are called, one of those of inlined code, and one of those whose callers are
/// not known; what is below them moves there.
pub(crate) struct Small<'s>(pub(crate) &'s MetricTest);

impl Transform for Small<'_> {
    fn run(&self, mut refined: Refined, watch: &Watch<'_>) -> Result<Step, Stop> {
        let mut found = Bits::none(refined.node_count());
        // Rows that pass: the row that each is part of from now on, and the end of its nodes.
        let mut nodes: Vec<u32> = Vec::new();
        let mut rows: Vec<(SmallRows, usize)> = Vec::new();
        let mut counts: HashMap<SmallRows, u32> = HashMap::new();
        visit(&refined, self.0, watch, |row| {
            // Roots are no calls, and contexts are there to be seen.
            if !row.kind.is_in_paths() || !row.passes {
                return if row.below == Some(false) { Below::Closed } else { Below::Open };
            }
            nodes.extend_from_slice(row.nodes);
            let kind = if row.kind.is_called() { FrameKind::Call } else { row.kind };
            let part = SmallRows { parent: row.parent, kind };
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
        let mut functions: HashMap<u32, FunctionRef> = HashMap::new();
        let mut rests: HashMap<(u32, FrameKind), FrameRef> = HashMap::new();
        for (part, end) in rows {
            let (count, kind) = (counts[&part], part.kind);
            let rest = *rests.entry((count, kind)).or_insert_with(|| {
                let function = functions.entry(count);
                let function = *function.or_insert_with(|| rest_of(&mut refined, count));
                let frame = Frame::made_up(function, kind);
                FrameRef(refined.frames.add(vec![frame]))
            });
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
struct SmallRows {
    parent: u32,
    /// Their kind; of all that is called, [`FrameKind::Call`].
    kind: FrameKind,
}

/// The function that stands for so many rows: not that of another `small`, whose rows are others.
fn rest_of(refined: &mut Refined, count: u32) -> FunctionRef {
    let function = Function::named(format!("({count} small)"));
    FunctionRef(refined.functions.add(vec![function]))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::profile::from_outline;
    use crate::refine::{apply, parse};

    #[test]
    fn rows_of_one_stage_are_not_those_of_another_that_are_as_many() {
        let outline = "main\n  a 1\n  b 1\n    c 1 inline\n  d 5\n  e 5\n  f 50\n";
        let text = "small incl(samples) < 3 | small incl(samples) = 5";
        let refined = apply(&from_outline(outline).unwrap(), &parse(text).unwrap()).unwrap();
        let mut rows: BTreeMap<_, u64> = BTreeMap::new();
        for node in (0..refined.node_count()).filter(|&node| refined.is_shown(node)) {
            let function = refined.frames[refined.frame[node].index()].function;
            if refined.functions[function.index()].name[..] == *"(2 small)" {
                *rows.entry(function).or_default() += refined.inclusive(node);
            }
        }
        assert_eq!(rows.into_values().collect::<Vec<_>>(), [3, 10]);
    }
}
