//! Which columns fit, and where they are.
//!
//! The call path takes what the columns leave. Columns are dropped, what matters least first, until
//! the call path has room; mostly that is from the right. The cost column is never dropped.

use ratatui::style::Style;

use super::comparison::change;
use super::message::Message;
use super::name::width as cells_of;
use super::scene::{PercentOf, Scene};
use super::theme::Theme;
use crate::refine::Refined;
use crate::views::Cost;
use crate::views::columns::{Basis, Cell, Column, Id, Medium, Tone};

/// What the numbers of rows that are made from `refined` are of.
#[must_use]
pub fn basis<'s>(scene: &Scene, refined: &'s Refined) -> Basis<'s> {
    Basis {
        medium: Medium::Screen,
        percent_of_shown: scene.percent_of == PercentOf::View,
        clustered: scene.clustered,
        form: scene.form(),
        ..Basis::new(refined)
    }
}

/// Which columns stand together, from left to right: cost of the metric that is looked at, of each
/// other one, and all the rest.
fn group(column: Column) -> usize {
    let definition = column.definition();
    match column.metric {
        Some(metric) => 1 + metric.index(),
        None if definition.unit.is_of_metric() && definition.repeats.is_none() => 0,
        None => usize::MAX,
    }
}

/// The order that a column stands for; `None` for other metrics, by which rows are ordered when
/// they are looked at.
#[must_use]
pub fn sort_key(column: Column) -> Option<Column> {
    column.order().filter(|_| column.metric.is_none())
}

/// A column and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The column.
    pub column: Column,
    /// The cell at which it begins.
    pub start: usize,
    /// Its cells.
    pub width: usize,
}

/// What the user chose of columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Those that are shown, what matters most first; empty for the usual ones. Those of a
    /// comparison and of other metrics are always the usual ones.
    pub shown: Vec<Id>,
    /// Cells that the call path has at least.
    pub path: Option<usize>,
}

/// What columns are called where they are chosen.
pub const NAMES: [(&str, Id); 8] = [
    ("time", Id::Inclusive),
    ("percent", Id::Percent),
    ("excl-percent", Id::ExclusivePercent),
    ("edges", Id::Edges),
    ("per-edge", Id::PerEdge),
    ("excl", Id::Exclusive),
    ("samples", Id::Samples),
    ("bar", Id::Bar),
];

/// The columns of a screen and the room for the call path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Cells for the call path, from the left edge.
    pub path_width: usize,
    /// Columns from left to right.
    pub numbers: Vec<Placed>,
    /// What the columns of a comparison are about.
    pub cost: Cost,
}

/// Cells that the call path should have before a column is given room.
const PATH_ROOM: usize = 28;

/// Share of the screen that the call path should have before a column is given room that only
/// repeats another one in other units: paths of real programs are deep, and C++ names long.
const PATH_SHARE_PERCENT: usize = 45;

/// Most cells for the name of a metric; longer ones are cut.
const LONGEST_NAME: usize = 16;

impl Columns {
    /// The columns for a screen of this width; those of a comparison are about `cost`. Where not
    /// even the difference has room beside both costs, it stands without them.
    #[must_use]
    pub fn fit(width: usize, basis: &Basis<'_>, cost: Cost, choice: &Choice) -> Self {
        let mut wanted = basis.on_screen(cost);
        let place = |column: &Column| match column.metric {
            Some(_) => Some(usize::MAX),
            None => choice.shown.iter().position(|id| *id == column.id),
        };
        if !choice.shown.is_empty() && wanted.iter().any(|column| choice.shown.contains(&column.id))
        {
            wanted.retain(|column| place(column).is_some());
            wanted.sort_by_key(place);
        }
        let columns = Self::fitting(width, &wanted, basis, cost, choice.path);
        let difference = Column::comparing(Id::Delta, cost);
        let has_difference = columns.numbers.iter().any(|placed| placed.column == difference);
        if has_difference || !wanted.contains(&difference) {
            return columns;
        }
        let wanted = [difference, Column::comparing(Id::Growth, cost)];
        Self::fitting(width, &wanted, basis, cost, choice.path)
    }

    /// As many of these columns as fit, the first one always. What matters most comes first.
    fn fitting(
        width: usize,
        wanted: &[Column],
        basis: &Basis<'_>,
        cost: Cost,
        path: Option<usize>,
    ) -> Self {
        let mut used = 0;
        let mut shown = Vec::new();
        for (place, &column) in wanted.iter().enumerate() {
            let definition = column.definition();
            // Space before a heading, and the mark of the order after the first one.
            let around = if place == 0 { " ".len() + " v".len() } else { " ".len() };
            let heading = cells_of(&column.heading(basis)).min(LONGEST_NAME);
            let cells = definition.width.max(heading + around);
            let share = if definition.repeats.is_some() { PATH_SHARE_PERCENT } else { 0 };
            let room = path.unwrap_or((width * share / 100).max(PATH_ROOM));
            // One cell of space or line before each column.
            if place > 0 && used + cells + 1 + room > width {
                break;
            }
            used += cells + 1;
            shown.push((column, cells));
        }
        let path_width = width.saturating_sub(used);
        // Stable: within a group they stay as they were.
        shown.sort_by_key(|(column, _)| group(*column));
        let mut at = path_width;
        let numbers = shown.into_iter().map(|(column, width)| {
            let start = at + 1;
            at = start + width;
            Placed { column, start, width }
        });
        Self { numbers: numbers.collect(), path_width, cost }
    }

    /// The columns beside lines of text, from the left edge on: the first always, and more while
    /// the text has more than half of the screen.
    #[must_use]
    pub fn beside_lines(width: usize, basis: &Basis<'_>) -> Vec<Placed> {
        let mut placed: Vec<Placed> = Vec::new();
        for column in basis.of_lines() {
            let start = placed.last().map_or(0, |last| last.start + last.width);
            let heading = cells_of(&column.heading(basis)).min(LONGEST_NAME);
            let width_of = column.definition().width.max(heading + " ".len());
            if !placed.is_empty() && start + width_of > width * 2 / 5 {
                break;
            }
            placed.push(Placed { column, start, width: width_of });
        }
        placed
    }

    /// What a click at this cell of the headings asks for.
    #[must_use]
    pub fn message_at(&self, x: usize) -> Message {
        let is_hit = |placed: &&Placed| (placed.start..placed.start + placed.width).contains(&x);
        let column = self.numbers.iter().find(is_hit).map(|placed| placed.column);
        match column.and_then(|column| column.metric) {
            Some(metric) => Message::LookAt(metric),
            None => Message::SortBy(column.and_then(sort_key).unwrap_or(Column::NAME)),
        }
    }
}

/// The text of a value in a column, and how it looks. The direction of a difference is said by its
/// sign, a mark if there is room, and color.
pub(super) fn text(
    theme: Theme,
    basis: &Basis<'_>,
    placed: Placed,
    cell: &Cell<'_>,
) -> (String, Style) {
    let Placed { column, width, .. } = placed;
    let text = column.text(basis, cell);
    match (column.definition().tone, cell) {
        _ if text == "." => (text, theme.faint()),
        (Tone::Heat, cell) if column.metric.is_none() => {
            let style = theme.heat(cell.samples().unwrap_or(0), basis.whole(basis.refined.metric));
            (text, style)
        }
        (Tone::Change, Cell::Delta(difference)) => (text, change(theme, difference).0),
        (Tone::Change, Cell::Growth(difference)) => {
            let (style, mark) = change(theme, difference);
            let marked = format!("{mark}{text}");
            (if cells_of(&marked) <= width { marked } else { text }, style)
        }
        (Tone::Faint, _) => (text, theme.faint()),
        (Tone::Plain | Tone::Heat | Tone::Change, _) => (text, theme.text()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{MetricRef, Profile, from_outline};
    use crate::views::number::Form;

    fn screen<'r>(refined: &'r Refined) -> Basis<'r> {
        Basis { medium: Medium::Screen, form: Form::Ascii, ..Basis::new(refined) }
    }

    fn headings(width: usize, refined: &Refined) -> String {
        let basis = screen(refined);
        let columns =
            Columns::fit(width, &basis, Cost::Inclusive, &Choice::default()).numbers.into_iter();
        let headings = columns.map(|placed| placed.column.heading(&basis).into_owned());
        headings.collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn columns_go_from_the_right_and_the_cost_stays() {
        let profile = from_outline("main 9\n").unwrap();
        let refined = Refined::base(&profile);
        let shown = |width| headings(width, &refined);
        assert_eq!(shown(200), "time | % | excl% | edges | time/edge | excl time | samples | ");
        assert_eq!(shown(80), "time | % | excl% | edges | time/edge");
        assert_eq!(shown(65), "time | % | excl% | edges");
        assert_eq!(shown(40), "time");
        assert_eq!(shown(8), "time");
    }

    #[test]
    fn the_difference_is_the_last_to_go() {
        let [base, other] = ["main 9\n", "main 8\n"].map(|text| from_outline(text).unwrap());
        let profile = Profile::compared(("base", base), ("other", other), &[]).unwrap();
        let refined = Refined::base(&profile);
        let shown = |width| headings(width, &refined);
        assert_eq!(shown(100), "base | other | delta | % | noise | edges");
        assert_eq!(shown(60), "base | other | delta");
        assert_eq!(shown(50), "delta | %");
        assert_eq!(shown(40), "delta");
    }

    #[test]
    fn other_metrics_come_before_edges_and_their_shares_after() {
        let profile = from_outline("main 9 realtime:3 task-clock:4\n").unwrap();
        let shown = |width, looked_at| {
            let refined = Refined::base(&profile).looking_at(MetricRef(looked_at));
            headings(width, &refined)
        };
        let all = "realtime | % | task-clock | % | edges | time/edge | excl time | samples | ";
        assert_eq!(shown(220, 0), format!("cputime | % | excl% | {all}"));
        assert_eq!(
            shown(115, 0),
            "cputime | % | excl% | realtime | % | task-clock | % | edges | time/edge"
        );
        assert_eq!(
            shown(100, 2),
            "task-clock | % | excl% | cputime | realtime | edges | time/edge"
        );
        assert_eq!(shown(80, 0), "cputime | % | excl% | realtime | task-clock");
        assert_eq!(shown(80, 1), "realtime | % | excl% | cputime | task-clock");
        assert_eq!(shown(65, 0), "cputime | % | excl% | realtime");
        assert_eq!(shown(40, 2), "task-clock");
    }

    #[test]
    fn columns_end_at_the_edge() {
        let profile = from_outline("main 9 realtime:3\n").unwrap();
        let alone = from_outline("main 9\n").unwrap();
        for width in [40, 80, 100, 120, 200] {
            let refined = Refined::base(&profile).looking_at(MetricRef(1));
            for refined in [&Refined::base(&alone), &refined] {
                let columns =
                    Columns::fit(width, &screen(refined), Cost::Inclusive, &Choice::default());
                let last = *columns.numbers.last().unwrap();
                assert_eq!(last.start + last.width, width);
                let asks = |x| match columns.message_at(x) {
                    Message::SortBy(key) => Some(key),
                    Message::LookAt(MetricRef(0)) => None,
                    other => panic!("{other:?}"),
                };
                assert_eq!(asks(columns.path_width + 1), Some(Column::INCLUSIVE));
                assert_eq!(asks(3), Some(Column::NAME));
                let other = |placed: &&Placed| {
                    placed.column == Column::of(Id::Inclusive, Some(MetricRef(0)))
                };
                if let Some(other) = columns.numbers.iter().find(other) {
                    assert_eq!(asks(other.start), None);
                }
            }
        }
    }
}
