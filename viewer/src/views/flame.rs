//! The picture of a call tree: a box for each row, below its caller's, as wide as what it costs.
//!
//! Boxes lie in cells of a terminal or in pixels. Siblings begin with what costs most; what a row
//! costs beyond its callees is the empty room below the end of its box.

use std::cmp::Reverse;

use super::row::Row;
use super::top_down::TopDown;
use super::tree::RowId;
use crate::refine::Refined;

/// A stretch of a line of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlameBox {
    /// The row; `None` for siblings each of which is too narrow.
    pub row: Option<RowId>,
    /// The row above.
    pub above: RowId,
    /// Its left edge, from that of the picture.
    pub start: usize,
    /// Its width, of a row's at least [`Extent::least`].
    pub width: usize,
}

/// How large a picture is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// How wide it is, in cells, pixels or parts of them.
    pub width: usize,
    /// The least width of a row's box, at least 1.
    pub least: usize,
    /// Most lines of boxes.
    pub levels: usize,
}

/// The boxes of the rows below `root`: the first line has `root` alone, as wide as the picture.
/// Boxes of a line are in order, and none lies over another one.
///
/// Rows are opened as far as they are wide enough, so this costs what they stand for: at most
/// O(nodes) the first time, then O(boxes).
pub fn boxes(
    tree: &mut TopDown,
    refined: &Refined,
    root: RowId,
    extent: Extent,
) -> Vec<Vec<FlameBox>> {
    let Extent { width, least, levels } = extent;
    let mut lines = Vec::new();
    let mut line = vec![FlameBox { row: Some(root), above: root, start: 0, width }];
    while !line.is_empty() && lines.len() < levels {
        let below = |above: &FlameBox| boxes_below(tree, refined, *above, least);
        let below = line.iter().flat_map(below).collect();
        lines.push(std::mem::replace(&mut line, below));
    }
    lines
}

/// The rows that a row calls, in the order of their boxes.
pub fn callees(tree: &mut TopDown, refined: &Refined, row: RowId) -> Vec<RowId> {
    let mut rows = tree.children(refined, row).to_vec();
    rows.sort_by_key(|row| Reverse(cost(refined, tree.row(*row))));
    rows
}

/// The row that a row calls whose box comes first. Like [`beside`], it puts nothing in order: there
/// may be a million.
pub fn first_callee(tree: &mut TopDown, refined: &Refined, row: RowId) -> Option<RowId> {
    ordered(tree, refined, row).min().map(|(_, _, row)| row)
}

/// Where a box is, beside another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Before it.
    Wider,
    /// Behind it.
    Narrower,
}

/// The row whose box comes next on a side, with the same caller.
pub fn beside(tree: &mut TopDown, refined: &Refined, row: RowId, side: Side) -> Option<RowId> {
    let parent = tree.parent(row)?;
    let own = ordered(tree, refined, parent).find(|(_, _, other)| *other == row)?;
    let others = ordered(tree, refined, parent);
    let found = match side {
        Side::Wider => others.filter(|other| *other < own).max(),
        Side::Narrower => others.filter(|other| *other > own).min(),
    };
    found.map(|(_, _, row)| row)
}

/// The rows that a row calls, each with what its box is placed by: the least comes first.
fn ordered<'t>(
    tree: &'t mut TopDown,
    refined: &'t Refined,
    row: RowId,
) -> impl Iterator<Item = (Reverse<u128>, usize, RowId)> + 't {
    tree.children(refined, row);
    let tree = &*tree;
    let rows = tree.opened_children(row).iter().enumerate();
    rows.map(|(at, &row)| (Reverse(cost(refined, tree.row(row))), at, row))
}

fn boxes_below(
    tree: &mut TopDown,
    refined: &Refined,
    above: FlameBox,
    least: usize,
) -> Vec<FlameBox> {
    let Some(caller) = above.row else { return Vec::new() };
    let whole = cost(refined, tree.row(caller));
    let place = |cost: u128| scaled(cost.min(whole), whole, above.width);
    let mut boxes: Vec<FlameBox> = Vec::new();
    let (mut sum, mut start) = (0_u128, 0);
    // Those without boxes, of which there may be many, need no order.
    let rows = tree.children(refined, caller).to_vec();
    let has_box = |row: &RowId| place(cost(refined, tree.row(*row))) >= least;
    let (mut wide, narrow): (Vec<_>, Vec<_>) = rows.into_iter().partition(has_box);
    wide.sort_by_key(|row| Reverse(cost(refined, tree.row(*row))));
    for row in wide.into_iter().chain(narrow) {
        let cost = cost(refined, tree.row(row));
        sum = sum.saturating_add(cost);
        let end = place(sum);
        let row = (place(cost) >= least).then_some(row);
        match boxes.last_mut().filter(|last| row.is_none() && last.row.is_none()) {
            Some(rest) => rest.width += end - start,
            None if end > start => {
                let (start, width) = (above.start + start, end - start);
                boxes.push(FlameBox { row, above: caller, start, width });
            }
            None => {}
        }
        start = end;
    }
    boxes
}

/// What the width of a row says: samples of the metric that is looked at; of two profiles that are
/// compared both costs together, in the unit in which they compare.
fn cost(refined: &Refined, row: &Row) -> u128 {
    let Some(comparison) = &refined.profile.comparison else {
        return row.of(refined.metric).inclusive.into();
    };
    let sides = row.sides().into_iter().zip(comparison.weights());
    let weighed = sides.map(|(side, weight)| u128::from(side.inclusive).saturating_mul(weight));
    weighed.fold(0, u128::saturating_add)
}

/// `width × part / all`, rounded down.
fn scaled(part: u128, all: u128, width: usize) -> usize {
    // So that the product has room, at a loss that no screen shows.
    let shift = (u128::BITS - all.leading_zeros()).saturating_sub(u64::BITS);
    let (part, all) = (part >> shift, all >> shift);
    if all == 0 {
        return 0;
    }
    let scaled = part * width as u128 / all;
    // At most `width`, for no part is larger than all.
    usize::try_from(scaled).unwrap_or(width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::from_outline;
    use crate::refine::unwatched;

    fn picture(outline: &str, width: usize, levels: usize) -> Vec<String> {
        let refined = Refined::base(&from_outline(outline).unwrap());
        let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
        let lines = boxes(&mut tree, &refined, RowId::ROOT, Extent { width, least: 1, levels });
        let line = |line: &Vec<FlameBox>| {
            let mut text = vec![b' '; width];
            for of in line {
                let name = |row| refined.functions[tree.row(row).function.index()].name.clone();
                let first = of.row.map_or(b'.', |row| name(row).as_bytes()[0]);
                text[of.start..of.start + of.width].fill(first);
            }
            String::from_utf8(text).unwrap()
        };
        lines.iter().skip(1).map(line).collect()
    }

    #[test]
    fn boxes_are_as_wide_as_what_they_cost() {
        let outline = "main 1\n  a 2\n    c 1\n  b 4\n    c 2\n";
        assert_eq!(
            picture(outline, 10, 9),
            ["mmmmmmmmmm", "bbbbbbaaa ", "cc    c   "],
            "of 10: b has 6, a 3, main itself 1"
        );
        assert_eq!(picture(outline, 10, 2), ["mmmmmmmmmm"]);
    }

    #[test]
    fn what_is_too_narrow_has_no_box() {
        assert_eq!(picture("main 0\n  a 98\n  b 1\n  c 1\n", 10, 9), ["mmmmmmmmmm", "aaaaaaaaa."]);
        assert_eq!(picture("main 5\n  a 98\n  b 1\n", 10, 9), ["mmmmmmmmmm", "aaaaaaaaa "]);
        assert_eq!(picture("main 0\n", 10, 9), [""; 0]);
    }

    #[test]
    fn boxes_lie_below_their_callers_and_beside_each_other() {
        let mut outline = "main 3\n".to_owned();
        for at in 0..40 {
            outline.push_str(&format!("  f{at} {}\n    g{at} {}\n", at % 7, at % 5));
        }
        let refined = Refined::base(&from_outline(&outline).unwrap());
        let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
        for (width, least) in (1..200).map(|width| (width, 1 + width % 4)) {
            let lines = boxes(&mut tree, &refined, RowId::ROOT, Extent { width, least, levels: 9 });
            for pair in lines.windows(2) {
                let mut end = 0;
                for below in &pair[1] {
                    assert!(below.start >= end && below.width > 0);
                    assert!(below.row.is_none() || below.width >= least);
                    end = below.start + below.width;
                    let is_above = |above: &&FlameBox| above.row == Some(below.above);
                    let above = pair[0].iter().find(is_above).unwrap();
                    assert!(below.row.is_none_or(|row| tree.parent(row) == Some(below.above)));
                    assert!(below.start >= above.start && end <= above.start + above.width);
                }
            }
        }
    }
}
