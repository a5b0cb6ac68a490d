//! The distribution of one row over peers, over the view that it was selected in: statistics, a
//! strip of all peers in their order, and a list of them, the worst first.

mod draw;

use std::cmp::Reverse;
use std::ops::Range;

use super::super::canvas::Canvas;
use super::super::columns;
use super::super::made::{Made, Wanted};
use super::super::message::{Action, Message, Notice};
use super::super::mode::{
    ALWAYS, Binding, COMMANDS, EXPORT, FIND, Group, HELP, Keys, LEAVE, MOVE, Mode, NUMBERS, PLACE,
    bind,
};
use super::super::scene::Scene;
use super::super::view::{Finds, OF_ROWS, Outcome, Repro, Sheet, View, ViewEntry};
use crate::export::table::{Fact, Table, TableColumn};
use crate::profile::MetricRef;
use crate::refine::{Chain, Refined, Watch};
use crate::report::listing::USUAL_ROWS;
use crate::views::Cost;
use crate::views::columns::Explanation;
use crate::views::dimension::but_processes;
use crate::views::distribution::{Distribution, Over, RowSubject};
use crate::views::measure::Measure;
use crate::views::number::{amount, counted, percent};
use crate::views::pattern::function_pattern;
use crate::views::search::NamePattern;
use crate::views::statistics::Statistics;
use crate::views::strip::cells;

pub(super) static ENTRY: ViewEntry = ViewEntry {
    title: "Distribution",
    command: "distribution",
    key: "D",
    help: concat!("this row over ranks, processes, ", but_processes!(), ", time"),
    modes: &[&MODE],
    new: |scene| Box::new(Distributed { metric: scene.refined.metric, ..Distributed::default() }),
};

static MODE: Mode = Mode {
    title: "the distribution",
    keys: &[&[
        Keys::Of(MOVE),
        Keys::Of(PLACE),
        Keys::Of(FIND),
        Keys::Of(NUMBERS),
        Keys::Of(EXPORT),
        Keys::Of(COMMANDS),
        Keys::Of(HELP),
        Keys::Of(OWN),
        Keys::Views,
        Keys::Of(LEAVE),
        Keys::Of(ALWAYS),
    ]],
};

const CHOOSE: Action = Action("only this peer");
const NEXT_DIMENSION: Action = Action("next dimension");
const NEXT_COST: Action = Action("inclusive or exclusive");
const LEFT: Action = Action("cell before");
const RIGHT: Action = Action("next cell");

static OWN: &[Binding] = &[
    bind(Group::Move, "h <left>", Message::Own(LEFT), "to the cell before in the strip"),
    bind(Group::Move, "l <right>", Message::Own(RIGHT), "to the next cell in the strip"),
    bind(Group::Refine, "<enter>", Message::Own(CHOOSE), "only the samples of this one"),
    bind(
        Group::Numbers,
        "d",
        Message::Own(NEXT_DIMENSION),
        concat!("over the next dimension: ranks or processes, ", but_processes!(), ", time"),
    ),
    bind(Group::Numbers, "i", Message::Own(NEXT_COST), "inclusive cost, or exclusive"),
    bind(Group::Numbers, "s", Message::SortNext, "the worst first, or in their order"),
    bind(Group::Numbers, "S", Message::SortReverse, "turn the order round"),
];

static SHEET: Sheet = Sheet {
    mode: &MODE,
    hints: &[
        ("enter", "only this one"),
        ("d", "dimension"),
        ("i", "incl/excl"),
        ("q", "back"),
        ("m", "metric"),
        ("=", "explain"),
        ("?", "help"),
        ("h l", "cell"),
        ("s", "sort"),
        ("/", "search"),
    ],
    has_rows: false,
    searched: "names of those it is spread over",
    finds_one_sided: false,
    is_picture: true,
    double_click: || Message::Own(CHOOSE),
    ..OF_ROWS
};

/// Cells of a number of the list, of a share, and of a fact with its name.
const COST: usize = 11;
const SHARE: usize = 7;
const FACT: usize = 19;

/// Lines of the list that are always seen, where there are so many.
const LEAST_OF_LIST: usize = 2;

/// Whether the row is there, and how it is spread.
#[derive(Clone, Debug)]
struct MadeDistribution(Option<Distribution>);

/// What is shown of it: one dimension, metric and cost.
#[derive(Clone, Debug)]
struct Shown {
    parts: Vec<u64>,
    statistics: Statistics,
    /// The places of the peers, as they are listed.
    order: Vec<usize>,
}

/// Which lines stand above the list, one below the other, as many as have room.
#[derive(Clone, Copy, Debug, Default)]
struct Above {
    /// Lines of statistics.
    facts: usize,
    /// Lines of what they mean.
    verdict: usize,
    /// Whether it is said what a cell of the strip is.
    caption: bool,
}

impl Above {
    fn of(width: usize, height: usize, facts: usize) -> Self {
        let facts = facts.div_ceil((width / FACT).max(1));
        let verdict = if width < 76 { 2 } else { 1 };
        let fixed = Self::default().lines() + LEAST_OF_LIST;
        let mut room = height.saturating_sub(fixed);
        let mut take = |wanted: usize| {
            let taken = if wanted <= room { wanted } else { 0 };
            room -= taken;
            taken
        };
        let (facts, caption, verdict) = (take(facts), take(1) > 0, take(verdict));
        Self { facts, verdict, caption }
    }

    /// With the row, whose the peers are, and the strip.
    fn lines(self) -> usize {
        3 + self.facts + self.verdict + usize::from(self.caption)
    }
}

#[derive(Clone, Debug, Default)]
struct Distributed {
    /// What it is about, and what people call that.
    subject: Option<(RowSubject, String)>,
    /// Tells what it is about from what it was about before.
    number: u64,
    made: Option<MadeDistribution>,
    shown: Option<Shown>,
    metric: MetricRef,
    /// The metric by which the process of threads and epochs is chosen.
    weighed_by: MetricRef,
    cost: Cost,
    /// The place of the dimension.
    dimension: usize,
    /// Not in the usual order: of slices of time their own, of others the one with most first.
    by_number: bool,
    reversed: bool,
    selected: usize,
    scroll: usize,
    above: Above,
    /// Cells across.
    width: usize,
    /// Why nothing can be made.
    refused: Option<String>,
}

impl Distributed {
    fn distribution(&self) -> Option<&Distribution> {
        self.made.as_ref()?.0.as_ref()
    }

    /// The dimension that is shown.
    fn over(&self) -> Option<&Over> {
        self.distribution()?.over.get(self.dimension)
    }

    /// Whether slices have what is shown at least, since samples of the row have no time.
    fn lacks_times(&self) -> bool {
        let shown = self.distribution().zip(self.over());
        shown.is_some_and(|(of, over)| of.lacks_times(over, self.metric, self.cost))
    }

    /// Whether the list is in the order of the peers; that of time is, until it is sorted.
    fn is_in_order(&self) -> bool {
        self.by_number != self.over().is_some_and(|over| over.dimension.axis.is_none())
    }

    /// How many facts there are.
    fn facts(&self) -> usize {
        if self.lacks_times() {
            return 0;
        }
        self.over().map_or(0, |over| if over.dimension.has_imbalance() { 6 } else { 5 })
    }

    /// Counts and orders anew; the peer at this place of its dimension is selected.
    fn count(&mut self, peer: Option<usize>) {
        let shown = self.distribution().zip(self.over()).map(|(distribution, over)| {
            let parts = over.parts(self.metric, self.cost);
            let statistics = distribution.statistics(over, self.metric, self.cost);
            let mut order: Vec<usize> = (0..parts.len()).collect();
            let is_time = over.dimension.axis.is_none();
            if self.by_number == is_time {
                // Stable: of equal ones the first.
                order.sort_by_key(|&peer| Reverse(parts[peer]));
            }
            if self.reversed {
                order.reverse();
            }
            Shown { parts, statistics, order }
        });
        self.shown = shown;
        match peer {
            Some(peer) => self.select_peer(peer),
            None => (self.selected, self.scroll) = (0, 0),
        }
    }

    /// The place of the selected peer in its dimension.
    fn peer(&self) -> Option<usize> {
        self.shown.as_ref()?.order.get(self.selected).copied()
    }

    fn select_peer(&mut self, peer: usize) {
        let order = self.shown.as_ref().map_or(&[][..], |shown| &shown.order);
        self.selected = order.iter().position(|other| *other == peer).unwrap_or(0);
    }

    /// Cells of the strip.
    fn strip_width(&self) -> usize {
        self.width.saturating_sub(2).max(1)
    }

    /// Selects the peer with most of a cell of the strip; `false` if there is none.
    fn select_cell(&mut self, cell: usize) -> bool {
        let Some(shown) = &self.shown else { return false };
        let cell = cells(shown.parts.len(), self.strip_width()).nth(cell);
        // Of equal ones the first.
        let most = cell.and_then(|cell| cell.rev().max_by_key(|&peer| shown.parts[peer]));
        most.into_iter().for_each(|peer| self.select_peer(peer));
        most.is_some()
    }

    /// The cell of the strip that the selected peer is in.
    fn cell(&self) -> Option<usize> {
        let (shown, peer) = (self.shown.as_ref()?, self.peer()?);
        cells(shown.parts.len(), self.strip_width()).position(|cell| cell.contains(&peer))
    }
}

impl View for Distributed {
    fn sheet(&self) -> &'static Sheet {
        &SHEET
    }

    fn draw(&self, canvas: &mut Canvas<'_>, scene: &Scene, lines: Range<usize>) {
        self.draw_all(canvas, scene, lines);
    }

    fn scroll(&mut self, lines: isize) {
        let last = self.shown.as_ref().map_or(0, |shown| shown.order.len().saturating_sub(1));
        self.selected = self.selected.saturating_add_signed(lines).min(last);
    }

    fn lay_out(&mut self, _shown: &Refined, width: usize, height: usize) {
        self.width = width;
        self.above = Above::of(width, height, self.facts());
        let height = height.saturating_sub(self.above.lines()).max(1);
        let count = self.shown.as_ref().map_or(0, |shown| shown.order.len());
        let last_top = (self.selected + 1).saturating_sub(height);
        self.scroll = self.scroll.clamp(last_top, self.selected.max(last_top));
        self.scroll = self.scroll.min(count.saturating_sub(height));
    }

    fn sort_by_next(&mut self, _scene: &Scene) {
        let peer = self.peer();
        (self.by_number, self.reversed) = (!self.by_number, false);
        self.count(peer);
    }

    fn reverse_order(&mut self, _scene: &Scene) {
        let peer = self.peer();
        self.reversed = !self.reversed;
        self.count(peer);
    }

    fn find(&self, pattern: &NamePattern, scene: &Scene) -> Option<Finds> {
        let Some((shown, over)) = self.shown.as_ref().zip(self.over()) else {
            return self.made.is_some().then(Finds::default);
        };
        let label = |place: &usize| &over.dimension.peers[shown.order[*place]].label.text;
        let found = (0..shown.order.len()).filter(|place| pattern.is_in(label(place)));
        let mut found: Vec<usize> = found.collect();
        found.sort_by_key(|place| Reverse(shown.parts[shown.order[*place]]));
        let parts = found.iter().map(|place| shown.parts[shown.order[*place]]);
        // Of slices it is a least where samples have no time.
        let cost = (!self.lacks_times()).then(|| columns::amount_text(scene, parts.sum(), None));
        Some(Finds { lines: found, cost })
    }

    fn table(&self, scene: &Scene) -> Option<Table> {
        let (shown, over) = self.shown.as_ref().zip(self.over())?;
        let whole = self.distribution()?.samples(self.metric, self.cost);
        let lacks_times = self.lacks_times();
        let row = |&peer: &usize| {
            let (of, part) = (&over.dimension.peers[peer], shown.parts[peer]);
            let [cost, share] = match part {
                0 if lacks_times => [Fact::default(), Fact::default()],
                _ => {
                    let text = amount(part, scene.metric(), scene.form());
                    let share = 100.0 * part as f64 / whole.max(1) as f64;
                    [Fact::number(text, part), Fact::number(percent(part, whole), share)]
                }
            };
            vec![cost, share, Fact::text(&*of.label.text), Fact::text(&*of.stage)]
        };
        let row_name = self.subject.as_ref().map_or("", |(_, name)| name);
        let kind = match self.cost {
            Cost::Inclusive => "inclusive",
            Cost::Exclusive => "exclusive",
        };
        let mut heading = vec![
            ("row", Fact::text(if row_name.is_empty() { "all that is shown" } else { row_name })),
            ("over", Fact::text(over.dimension.whose(scene.form()))),
            ("cost", Fact::text(kind)),
            ("all", Fact::number(amount(whole, scene.metric(), scene.form()), whole)),
        ];
        if !lacks_times {
            let facts = shown.statistics.facts(over.dimension.has_imbalance()).into_iter();
            heading.extend(facts.map(|(name, samples)| {
                let text = Measure::Source.real(samples, scene.metric(), scene.form());
                (name, Fact::number(text, samples))
            }));
        }
        Some(Table {
            title: ENTRY.title.to_owned(),
            heading,
            columns: vec![
                TableColumn::number("samples", "cost"),
                TableColumn::number("percent_of_row", "% row"),
                TableColumn::text("peer", over.dimension.noun()),
                TableColumn::text("stage", "stage"),
            ],
            rows: shown.order.iter().map(row).collect(),
        })
    }

    fn line(&self) -> usize {
        self.selected
    }

    fn put(&mut self, line: usize, above: usize) {
        self.selected = line;
        self.scroll = line.saturating_sub(above);
    }

    fn line_at(&self, line: usize, _height: usize) -> Option<usize> {
        let place = self.scroll + line.checked_sub(self.above.lines())?;
        let count = self.shown.as_ref().map_or(0, |shown| shown.order.len());
        (place < count).then_some(place)
    }

    fn select_line(&mut self, line: usize) {
        self.selected = line;
    }

    fn select_at(&mut self, x: usize, line: usize, _shown: &Refined) -> bool {
        let strip = self.above.lines() - 1 - usize::from(self.above.caption);
        if line == strip {
            return x > 0 && self.select_cell(x - 1);
        }
        let place = self.line_at(line, 0);
        self.selected = place.unwrap_or(self.selected);
        place.is_some()
    }

    fn explained(&self, scene: &Scene) -> Option<(String, Explanation)> {
        let (shown, over, peer) = (self.shown.as_ref()?, self.over()?, self.peer()?);
        let form = scene.form();
        let known = &over.dimension.peers[peer];
        let pair = |name: &str, text: String| (name.to_owned(), text);
        let part = amount(shown.parts[peer], scene.metric(), form);
        let samples = counted(shown.parts[peer], "sample", form);
        let mut texts = vec![
            pair("cost", format!("{samples} = {part}")),
            pair(
                "% row",
                match over.dimension.axis {
                    Some(_) => "share of the whole row, including processes that are not peers",
                    None => "share of the whole row, including samples without a time",
                }
                .to_owned(),
            ),
        ];
        let mean = Measure::Source.real(shown.statistics.mean(), scene.metric(), form);
        texts.push(pair("mean", format!("{mean}, of {}", over.dimension.whose(form))));
        texts.push(pair("std dev", "standard deviation of all of these peers".to_owned()));
        if over.dimension.has_imbalance() {
            texts.push(pair(
                "imbalance",
                "(max - mean) x number: what they together wait for the one with most, if they \
                 wait for each other. Peers are as in the list of processes and threads (P); those \
                 with nothing count"
                    .to_owned(),
            ));
            texts.push(pair(
                "noise",
                "a count of n samples varies by its root, so equal peers differ, too. A spread may \
                 be noise if each of them is within what so many equal peers would have, which is \
                 told above the strip, and if the sum of their squared deviations is, too"
                    .to_owned(),
            ));
        }
        if over.dimension.others > 0 {
            let others = counted(over.dimension.others as u64, "other process", form);
            texts.push(pair(
                "process",
                format!(
                    "these are of one process, the one with most of the row. {others} have such, \
                     too: Enter on a rank or process, then D again"
                ),
            ));
        }
        texts.push(pair("stage", known.stage.clone()));
        Some((known.label.text.clone(), texts))
    }

    fn entered_row(&mut self, row: Option<(RowSubject, String)>, shown: &Refined) {
        self.metric = shown.metric;
        let is_same = match (&self.subject, &row) {
            (Some((one, _)), Some((two, _))) => one.is_same(two),
            (one, two) => one.is_none() && two.is_none(),
        };
        if is_same && self.weighed_by == shown.metric {
            self.count(None);
            return;
        }
        self.weighed_by = shown.metric;
        (self.subject, self.number) = (row, self.number + 1);
        (self.made, self.shown, self.refused) = (None, None, None);
        (self.selected, self.scroll, self.dimension) = (0, 0, 0);
    }

    fn wanted(&self) -> Option<Wanted> {
        let (subject, _) = self.subject.clone()?;
        let metric = self.weighed_by;
        let make = move |refined: &Refined, watch: &Watch<'_>| {
            let made = Distribution::weighed(refined, &subject, metric, watch)?;
            Ok(Made::default().with(MadeDistribution(made)))
        };
        let is_missing = self.made.is_none() && self.refused.is_none();
        is_missing.then(|| Wanted::new("distribution", self.number.to_string(), make))
    }

    fn take(&mut self, made: &mut Made, _shown: &Refined) {
        let Some(made) = made.take::<MadeDistribution>() else { return };
        let count = made.0.as_ref().map_or(0, |of| of.over.len());
        self.dimension = self.dimension.min(count.saturating_sub(1));
        self.made = Some(made);
        self.count(None);
    }

    fn refused(&mut self, cause: String) -> Option<Notice> {
        self.refused = Some(cause);
        None
    }

    fn forget(&mut self, shown: &Refined) {
        (self.metric, self.weighed_by) = (shown.metric, shown.metric);
        self.number += 1;
        (self.made, self.shown, self.refused) = (None, None, None);
    }

    fn look_at(&mut self, metric: MetricRef) {
        let peer = self.peer();
        self.metric = metric;
        // Another process may have most of the row by this metric.
        let has_others =
            self.distribution().is_none_or(|of| of.over.iter().any(|of| of.dimension.others > 0));
        if has_others && self.weighed_by != metric {
            self.weighed_by = metric;
            self.number += 1;
            (self.made, self.shown, self.refused) = (None, None, None);
            return;
        }
        self.weighed_by = metric;
        self.count(peer);
    }

    fn act(&mut self, action: Action, _shown: &Refined) -> Outcome {
        match action {
            CHOOSE => {
                let stage = self.over().zip(self.peer());
                let stage = stage.map(|(over, peer)| over.dimension.peers[peer].stage.clone());
                return Outcome { stage, ..Outcome::default() };
            }
            NEXT_DIMENSION => {
                let count = self.distribution().map_or(0, |of| of.over.len());
                if count < 2 {
                    return Outcome::said("there is no other dimension with two peers or more");
                }
                self.dimension = (self.dimension + 1) % count;
                self.count(None);
            }
            NEXT_COST => {
                let peer = self.peer();
                self.cost = match self.cost {
                    Cost::Inclusive => Cost::Exclusive,
                    Cost::Exclusive => Cost::Inclusive,
                };
                self.count(peer);
            }
            _ => {
                let by = if action == LEFT { -1 } else { 1 };
                if let Some(cell) = self.cell().and_then(|cell| cell.checked_add_signed(by)) {
                    self.select_cell(cell);
                }
            }
        }
        Outcome::default()
    }

    fn repro(&self, shown: &Refined) -> Repro {
        if shown.profile.comparison.is_some() {
            return Repro::None("csprof diff has no distribution; csprof report of each run has");
        }
        if self.by_number || self.reversed {
            return Repro::None("csprof report has the usual order alone; s goes back to that");
        }
        let (Some((subject, _)), Some(over)) = (&self.subject, self.over()) else {
            return Repro::None("nothing is shown");
        };
        let path = match subject {
            RowSubject::Path(path) if path.0.is_empty() && self.cost == Cost::Exclusive => {
                return Repro::None("csprof report has no exclusive cost of all that is shown");
            }
            RowSubject::Path(path) if path.0.is_empty() => None,
            RowSubject::Callers(path) if path.0.len() == 1 => {
                let function =
                    path.0[0].function(shown).and_then(|of| shown.functions.get(of.index()));
                function.map(|function| Chain::of(function_pattern(shown, function)).to_string())
            }
            _ => {
                return Repro::None(
                    "one row of a tree has no command line; that of a function, from a flat view, \
                     has",
                );
            }
        };
        let mut words = ["--view", "distribution", "--over", over.dimension.name()].to_vec();
        words.extend(path.as_deref().into_iter().flat_map(|path| ["--path", path]));
        words.extend((self.cost == Cost::Exclusive).then_some("--exclusive"));
        let limit = over.dimension.peers.len().to_string();
        if over.dimension.peers.len() > USUAL_ROWS {
            words.extend(["--limit", &limit]);
        }
        Repro::OfRows(words.into_iter().map(str::to_owned).collect())
    }
}
