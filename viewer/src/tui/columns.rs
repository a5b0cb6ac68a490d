//! Which columns fit, and where they are.
//!
//! The call path takes what the columns leave. Columns are dropped, what matters least first, until
//! the call path has room; mostly that is from the right. The column of the order is dropped last.

use ratatui::style::Style;

use super::comparison::{change, path_cost};
use super::message::Message;
use super::name::width as cells_of;
use super::scene::Scene;
use super::theme::Theme;
use crate::refine::Refined;
use crate::views::columns::{Basis, Cell, Choice, Column, Id, Medium, Tone, Unit};
use crate::views::difference::Difference;
use crate::views::number::{amount, percent};
use crate::views::{Cost, Row};

/// What the numbers of rows that are made from `refined` are of.
#[must_use]
pub fn basis<'s>(scene: &Scene, refined: &'s Refined) -> Basis<'s> {
    Basis {
        medium: Medium::Screen,
        percent_of: scene.percent_of,
        clustered: scene.clustered,
        form: scene.form(),
        ..Basis::new(refined)
    }
}

/// What rows that were found cost together, and their share.
pub(super) fn cost_text(scene: &Scene, refined: &Refined, cost: &Row) -> String {
    if let Some(compared) = scene.comparison() {
        return path_cost(scene, compared, cost);
    }
    let basis = basis(scene, refined);
    let text = Column::INCLUSIVE.text(&basis, &Column::INCLUSIVE.value(&basis, cost));
    let share = percent(cost.of(scene.refined.metric).inclusive, scene.whole_of(None));
    format!("{text} {share}%")
}

/// What so many samples cost of the metric that is looked at, and their share; of a comparison,
/// what its sides differ by in these of them.
pub(super) fn amount_text(scene: &Scene, samples: u64, sides: Option<[u64; 2]>) -> String {
    match (scene.comparison(), sides) {
        (Some(comparison), Some(sides)) => Difference::new(comparison, sides).delta(scene.form()),
        _ => {
            let share = percent(samples, scene.whole_of(None));
            format!("{} {share}%", amount(samples, scene.metric(), scene.form()))
        }
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

/// The columns of a screen and the room for the call path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Cells for the call path, from the left edge.
    pub path_width: usize,
    /// Columns from left to right.
    pub numbers: Vec<Placed>,
    /// What the columns of a comparison are about.
    pub cost: Cost,
    /// The column that bars stand for: that of the order, or else the first one.
    pub barred: Column,
}

/// What is wanted of columns.
#[derive(Clone, Copy, Debug)]
pub struct WantedColumns<'w> {
    /// What those of a comparison are about.
    pub cost: Cost,
    /// The order of rows.
    pub sort: Column,
    /// What the user chose.
    pub choices: Option<&'w [Choice]>,
    /// Cells that the call path has at least, where the user chose.
    pub path: Option<usize>,
}

/// Cells that the call path should have before a column is given room.
const PATH_ROOM: usize = 28;

/// The same where the user chose the columns.
const LEAST_PATH_ROOM: usize = 16;

/// Share of the screen that the call path should have before a column is given room that only
/// repeats another one in other units: paths of real programs are deep, and C++ names long.
const PATH_SHARE_PERCENT: usize = 45;

/// Most cells for the name of a metric; longer ones are cut.
const LONGEST_NAME: usize = 16;

/// A column that is wanted, and the cells that the user gave it.
type WithCells = (Column, Option<usize>);

impl Columns {
    /// The columns for a screen of this width. The column of the order is there before others;
    /// where not even the difference of a comparison has room beside both costs, it stands without
    /// them.
    #[must_use]
    pub fn fit(width: usize, basis: &Basis<'_>, wanted: WantedColumns<'_>) -> Self {
        let WantedColumns { cost, choices, .. } = wanted;
        let usual = basis.choices();
        let of_choice = |choice: &Choice| {
            let columns: Vec<_> = basis.chosen(choice, cost).collect();
            columns.into_iter().map(|column| (column, choice.width)).collect::<Vec<_>>()
        };
        let mut all: Vec<_> = choices.unwrap_or(&usual).iter().flat_map(of_choice).collect();
        let columns = Self::fitting(width, &all, basis, wanted);
        let difference = Column::comparing(Id::Delta, cost);
        let is_there = |wanted: &dyn Fn(Column) -> bool| {
            columns.numbers.iter().any(|placed| wanted(placed.column))
        };
        let is_wanted = all.iter().any(|(column, _)| *column == difference);
        if choices.is_some() || is_there(&|column| column == difference) {
            return columns;
        }
        if !is_wanted {
            let is_ordered = |column| sort_key(column) == Some(wanted.sort);
            // Rather the numbers themselves than what else is in their order.
            let ordered = all.iter().position(|(column, _)| *column == wanted.sort);
            let ordered =
                ordered.or_else(|| all.iter().position(|(column, _)| is_ordered(*column)));
            return match ordered.filter(|_| !is_there(&is_ordered)) {
                Some(at) => {
                    all[..=at].rotate_right(1);
                    Self::fitting(width, &all, basis, wanted)
                }
                None => columns,
            };
        }
        let few = [Id::Delta, Id::Growth].map(|id| (Column::comparing(id, cost), None));
        Self::fitting(width, &few, basis, wanted)
    }

    /// As many of these columns as fit, the first one always. What matters most comes first.
    fn fitting(
        width: usize,
        all: &[WithCells],
        basis: &Basis<'_>,
        wanted: WantedColumns<'_>,
    ) -> Self {
        let least = if wanted.choices.is_some() { LEAST_PATH_ROOM } else { PATH_ROOM };
        let mut used = 0;
        let mut shown = Vec::new();
        for (place, &(column, cells)) in all.iter().enumerate() {
            let definition = column.definition();
            // Space before a heading, and the mark of the order after the first one.
            let around = if place == 0 { " ".len() + " v".len() } else { " ".len() };
            let heading = cells_of(&column.heading(basis)).min(LONGEST_NAME);
            let usual = match definition.unit {
                // Wider ones tell smaller differences.
                Unit::Bar => (width / 20).max(definition.width),
                _ => definition.width.max(heading + around),
            };
            let cells = match (cells, shown.is_empty()) {
                (Some(cells), true) => cells.min(width.saturating_sub(1 + LEAST_PATH_ROOM)).max(1),
                (cells, _) => cells.unwrap_or(usual),
            };
            let share = match definition.repeats {
                Some(_) if wanted.choices.is_none() && definition.unit != Unit::Bar => {
                    PATH_SHARE_PERCENT
                }
                _ => 0,
            };
            // A path that was made wider on another terminal leaves room for a column here.
            let most = width.saturating_sub(cells + 1);
            let wanted_path =
                wanted.path.map(|path| if shown.is_empty() { path.min(most) } else { path });
            let room = wanted_path.unwrap_or((width * share / 100).max(least));
            // One cell of space or line before each column.
            if !shown.is_empty() && used + cells + 1 + room > width {
                break;
            }
            used += cells + 1;
            shown.push((column, cells));
        }
        let path_width = width.saturating_sub(used);
        if wanted.choices.is_none() {
            // Stable: within a group they stay as they were.
            shown.sort_by_key(|(column, _)| group(*column));
        }
        let barred = beside_order(&mut shown, wanted.sort);
        let mut at = path_width;
        let numbers = shown.into_iter().map(|(column, width)| {
            let start = at + 1;
            at = start + width;
            Placed { column, start, width }
        });
        Self { numbers: numbers.collect(), path_width, cost: wanted.cost, barred }
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
        match column {
            Some(Column { metric: Some(metric), .. }) => Message::LookAt(metric),
            Some(column) if column.definition().unit == Unit::Bar => Message::SortBy(self.barred),
            column => Message::SortBy(column.and_then(sort_key).unwrap_or(Column::NAME)),
        }
    }
}

/// Puts the bar beside the column that rows are ordered by, or else beside the first one; returns
/// the column that it stands for.
fn beside_order(shown: &mut Vec<(Column, usize)>, sort: Column) -> Column {
    let bar = shown.iter().position(|(column, _)| column.definition().unit == Unit::Bar);
    let bar = bar.map(|at| shown.remove(at));
    let ordered = shown.iter().position(|(column, _)| sort_key(*column) == Some(sort));
    let beside = ordered.or_else(|| shown.iter().position(|(column, _)| column.order().is_some()));
    let barred = match (ordered, beside) {
        (Some(_), _) => sort,
        (None, Some(at)) => shown[at].0.order().unwrap_or_default(),
        (None, None) => Column::default(),
    };
    if let Some(bar) = bar {
        shown.insert(beside.map_or(0, |at| at + 1), bar);
    }
    barred
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
        (Tone::Size, cell) if column.metric.is_none() => {
            let style = theme.size(cell.samples().unwrap_or(0), basis.whole(basis.refined.metric));
            (text, style)
        }
        (Tone::Change, Cell::Delta(difference)) if difference.comparison().moments.is_some() => {
            (text, theme.text())
        }
        (Tone::Change, Cell::Delta(difference)) => (text, change(theme, difference).0),
        (Tone::Change, Cell::Growth(difference)) => {
            let (style, mark) = change(theme, difference);
            let marked = format!("{mark}{text}");
            (if cells_of(&marked) <= width { marked } else { text }, style)
        }
        (_, Cell::Strip { of, .. }) if of.is_noise => (text, theme.faint()),
        (Tone::Faint, _) => (text, theme.faint()),
        (Tone::Plain | Tone::Heat | Tone::Size | Tone::Change, _) => (text, theme.text()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::derived::{DerivedRef, Wanted};
    use crate::profile::{MetricRef, Profile, from_outline};
    use crate::views::number::Form;

    fn screen<'r>(refined: &'r Refined) -> Basis<'r> {
        Basis { medium: Medium::Screen, form: Form::Ascii, ..Basis::new(refined) }
    }

    fn headings(width: usize, refined: &Refined) -> String {
        headings_of(width, refined, usual())
    }

    fn usual() -> WantedColumns<'static> {
        WantedColumns { cost: Cost::Inclusive, sort: Column::INCLUSIVE, choices: None, path: None }
    }

    /// A bar has no heading.
    fn headings_of(width: usize, refined: &Refined, wanted: WantedColumns<'_>) -> String {
        let basis = screen(refined);
        let columns = Columns::fit(width, &basis, wanted).numbers.into_iter();
        let headings = columns.map(|placed| placed.column.heading(&basis).into_owned());
        headings.collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn columns_go_from_the_right_and_the_cost_stays() {
        let profile = from_outline("main 9\n").unwrap();
        let refined = Refined::base(&profile);
        let shown = |width| headings(width, &refined);
        assert_eq!(
            shown(200),
            "time |  | % all | excl% | edges | calls | time/edge | excl time | samples"
        );
        assert_eq!(shown(80), "time |  | % all | excl% | edges | calls");
        assert_eq!(shown(65), "time |  | % all | excl%");
        assert_eq!(shown(40), "time");
        assert_eq!(shown(8), "time");
    }

    #[test]
    fn the_difference_is_the_last_to_go() {
        let [base, other] = ["main 9\n", "main 8\n"].map(|text| from_outline(text).unwrap());
        let profile = Profile::compared(("base", base), ("other", other), &[]).unwrap();
        let refined = Refined::base(&profile);
        let sort = Column::comparing(Id::Delta, Cost::Inclusive);
        let shown = |width| headings_of(width, &refined, WantedColumns { sort, ..usual() });
        assert_eq!(shown(100), "base | other | delta |  | % | noise | edges");
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
        let all = "realtime | % | task-clock | % | edges | calls | time/edge | excl time | samples";
        assert_eq!(shown(240, 0), format!("cputime |  | % all | excl% | {all}"));
        let all = "realtime | task-clock | edges | calls | time/edge";
        assert_eq!(shown(115, 0), format!("cputime |  | % all | excl% | {all}"));
        let few = "cputime | realtime | edges";
        assert_eq!(shown(100, 2), format!("task-clock |  | % all | excl% | {few}"));
        assert_eq!(shown(80, 0), "cputime |  | % all | excl% | realtime | task-clock");
        assert_eq!(shown(80, 1), "realtime |  | % all | excl% | cputime");
        assert_eq!(shown(65, 0), "cputime |  | % all | excl%");
        assert_eq!(shown(40, 2), "task-clock");
    }

    #[test]
    fn derived_metrics_come_behind_the_metrics_and_are_chosen_one_by_one() {
        let mut profile = from_outline("main 9 realtime:3\n").unwrap();
        profile.derive_ready();
        profile.derive(&Wanted::parse("x = 2").unwrap()).unwrap();
        let refined = Refined::base(&profile);
        let shown = |width| headings(width, &refined);
        assert_eq!(shown(80), "cputime |  | % all | excl% | realtime | cpu");
        let all = "cputime |  | % all | excl% | realtime | cpu | x | edges | calls";
        assert_eq!(shown(110), all);
        let mut choices = screen(&refined).choices();
        for choice in &mut choices {
            let is_x = choice.derived == DerivedRef(1);
            choice.is_shown = choice.id == Id::Inclusive && !choice.is_of_others
                || choice.id == Id::DerivedExclusive && is_x;
        }
        let wanted = WantedColumns { choices: Some(&choices), ..usual() };
        assert_eq!(headings_of(80, &refined, wanted), "cputime | excl x");
        // A click orders rows by it.
        let columns = Columns::fit(80, &screen(&refined), wanted);
        let key = Column::derived_of(DerivedRef(1), Cost::Exclusive);
        let last = *columns.numbers.last().unwrap();
        assert!(choices.iter().filter(|choice| choice.has(last.column)).count() == 1);
        assert!(matches!(columns.message_at(last.start), Message::SortBy(by) if by == key));
    }

    #[test]
    fn the_bar_is_beside_the_column_of_the_order() {
        let profile = from_outline("main 9\n").unwrap();
        let refined = Refined::base(&profile);
        let shown = |width, sort| headings_of(width, &refined, WantedColumns { sort, ..usual() });
        assert_eq!(shown(80, Column::EXCLUSIVE), "time | % all | excl% |  | edges | calls");
        let per_edge = Column::of(Id::PerEdge, None);
        assert_eq!(shown(80, per_edge), "time | % all | excl% | edges | calls | ");
        // By name it is of the first one.
        let wanted = WantedColumns { sort: Column::NAME, ..usual() };
        let columns = Columns::fit(80, &screen(&refined), wanted);
        assert_eq!(columns.numbers[1].column.id, Id::Bar);
        assert_eq!(columns.barred, Column::INCLUSIVE);
    }

    #[test]
    fn the_column_of_the_order_is_the_last_to_go() {
        let profile = from_outline("main 9\n").unwrap();
        let refined = Refined::base(&profile);
        let shown = |width, sort| headings_of(width, &refined, WantedColumns { sort, ..usual() });
        assert_eq!(shown(40, Column::EXCLUSIVE), "excl time");
        assert_eq!(shown(40, Column::of(Id::PerEdge, None)), "time/edge");
        assert!(shown(60, Column::of(Id::PerEdge, None)).starts_with("time | time/edge"));
        assert_eq!(shown(40, Column::NAME), "time");
    }

    #[test]
    fn columns_are_those_that_were_chosen() {
        let profile = from_outline("main 9\n").unwrap();
        let refined = Refined::base(&profile);
        let mut choices = screen(&refined).choices();
        let of = |choices: &[Choice], width| {
            let wanted = WantedColumns { choices: Some(choices), ..usual() };
            let columns = Columns::fit(width, &screen(&refined), wanted);
            assert_eq!(columns.numbers.last().map(|last| last.start + last.width), Some(width));
            headings_of(width, &refined, wanted)
        };
        choices.retain(|choice| matches!(choice.id, Id::Module | Id::Samples | Id::Inclusive));
        choices.iter_mut().for_each(|choice| choice.is_shown = true);
        assert_eq!(of(&choices, 80), "time | samples | module");
        choices.swap(0, 2);
        assert_eq!(of(&choices, 80), "module | samples | time");
        choices[0].width = Some(60);
        assert_eq!(of(&choices, 80), "module");
        choices[0].is_shown = false;
        assert_eq!(of(&choices, 80), "samples | time");
    }

    #[test]
    fn columns_end_at_the_edge() {
        let profile = from_outline("main 9 realtime:3\n").unwrap();
        let alone = from_outline("main 9\n").unwrap();
        for width in [40, 80, 100, 120, 200] {
            let refined = Refined::base(&profile).looking_at(MetricRef(1));
            for refined in [&Refined::base(&alone), &refined] {
                let columns = Columns::fit(width, &screen(refined), usual());
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
