//! The list of processes and threads, over another view: who had the samples that are shown.

use std::cmp::Reverse;
use std::ops::Range;

use super::super::canvas::Canvas;
use super::super::columns;
use super::super::made::{Made, Wanted};
use super::super::message::{Action, Message, Notice};
use super::super::mode::{
    ALWAYS, Binding, COMMANDS, FIND, Group, HELP, Keys, LEAVE, MOVE, Mode, NUMBERS, PLACE, bind,
};
use super::super::name::cut;
use super::super::scene::{PercentOf, Scene};
use super::super::view::{Finds, OF_ROWS, Outcome, Repro, Sheet, View, ViewEntry};
use crate::profile::{FunctionKey, MetricRef};
use crate::refine::{Refined, Watch};
use crate::report::listing::{USUAL_ROWS, USUAL_SHARE};
use crate::views::Cost;
use crate::views::clusters::Clusters;
use crate::views::columns::{About, Basis, Cell, Column, Explanation, Id, Tone};
use crate::views::contexts::{Context, Imbalance, contexts, together};
use crate::views::measure::Measure;
use crate::views::number::amount;
use crate::views::path::Path;
use crate::views::search::NamePattern;

pub(super) static ENTRY: ViewEntry = ViewEntry {
    title: "Processes and threads",
    command: "threads",
    key: "P",
    help: "processes and threads, and their imbalance",
    modes: &[&MODE],
    new: |scene| Box::new(Contexts { metric: scene.refined.metric, ..Contexts::default() }),
};

static MODE: Mode = Mode {
    title: "the list of processes and threads",
    keys: &[&[
        Keys::Of(MOVE),
        Keys::Of(PLACE),
        Keys::Of(FIND),
        Keys::Of(NUMBERS),
        Keys::Of(COMMANDS),
        Keys::Of(HELP),
        Keys::Of(OWN),
        Keys::Views,
        Keys::ViewsOver,
        Keys::Of(LEAVE),
        Keys::Of(ALWAYS),
    ]],
};

const CHOOSE: Action = Action("only this");

static OWN: &[Binding] = &[
    bind(Group::Refine, "<enter>", Message::Own(CHOOSE), "only the samples of this one"),
    bind(Group::Numbers, "s", Message::SortNext, "sort by the next column, then by name"),
    bind(Group::Numbers, "S", Message::SortReverse, "turn the order round"),
];

static SHEET: Sheet = Sheet {
    mode: &MODE,
    hints: &[
        ("enter", "only this one"),
        ("/", "search"),
        ("s", "sort"),
        ("=", "explain"),
        ("q", "back"),
        ("?", "help"),
    ],
    has_rows: false,
    searched: "names of processes and threads",
    double_click: || Message::Own(CHOOSE),
    ..OF_ROWS
};

/// Cells of each number.
const NUMBER: usize = 11;

#[derive(Clone, Debug, Default)]
struct Contexts {
    /// The list, once it is made, and the imbalance of the processes.
    list: Option<(Vec<Context>, Imbalance)>,
    /// Which processes do the same, where they are many.
    clusters: Option<Clusters>,
    /// The metric whose samples put it in order.
    metric: MetricRef,
    selected: usize,
    /// The first line that is seen.
    scroll: usize,
    /// The column that it is sorted by; past the last one, by name.
    sort: usize,
    reversed: bool,
    /// The stage of what to select when the list is there.
    follow: Option<String>,
}

impl Contexts {
    fn lines(&self) -> &[Context] {
        self.list.as_ref().map_or(&[], |(list, _)| list)
    }

    /// The cluster of a process, in words.
    fn cluster(&self, scene: &Scene, context: &Context) -> Option<String> {
        let clusters = self.clusters.as_ref()?;
        let number = clusters.of_process(context.process)?;
        let said = clusters.said(&scene.refined, &clusters.list[number], scene.form());
        Some(format!("{}: {said}", number + 1))
    }

    /// Puts processes in order, and threads below their process. The selection stays on its line.
    fn put_in_order(&mut self, scene: &Scene) {
        let basis = basis(scene);
        let columns = basis.of_contexts();
        self.sort %= columns.len() + 1;
        let (column, reversed) = (columns.get(self.sort), self.reversed);
        let compare = |a: &Context, b: &Context| {
            let order = match column {
                Some(column) => column.value(&basis, b).rank().cmp(&column.value(&basis, a).rank()),
                None => name(scene, a).cmp(&name(scene, b)),
            };
            if reversed { order.reverse() } else { order }
        };
        let selected = self.lines().get(self.selected).map(|context| context.stage.clone());
        let Some((list, _)) = &mut self.list else { return };
        let is_thread = |context: &Context| context.thread.is_some();
        let mut processes: Vec<_> = list.chunk_by(|_, next| is_thread(next)).collect();
        let first_other = scene.comparison().map(|compared| compared.first_other);
        let side = |of: &[Context]| first_other.is_some_and(|first| of[0].process >= first);
        // Stable: among equals the worst first, as they were made.
        processes.sort_by(|a, b| side(a).cmp(&side(b)).then_with(|| compare(&a[0], &b[0])));
        let sorted = processes.into_iter().flat_map(|of| {
            let (first, mut threads) = (&of[0], of[1..].iter().collect::<Vec<_>>());
            threads.sort_by(|a, b| compare(a, b));
            std::iter::once(first).chain(threads)
        });
        *list = sorted.cloned().collect();
        if let Some(stage) = selected {
            self.selected = list.iter().position(|of| of.stage == stage).unwrap_or(0);
        }
    }
}

/// What a process or thread is called, so that rank 10 comes after rank 2.
fn name<'c>(scene: &Scene, of: &'c Context) -> (Option<u32>, &'c str, u32) {
    let info = &scene.profile.info;
    let process = info.processes.get(of.process.index());
    match of.thread {
        None => (process.and_then(|known| known.rank), &of.name, process.map_or(0, |of| of.pid)),
        Some(thread) => (None, &of.name, info.threads.get(thread.index()).map_or(0, |of| of.tid)),
    }
}

/// What the numbers are of. Two runs that are compared may have different periods, and only samples
/// are then of one kind.
fn basis(scene: &Scene) -> Basis<'_> {
    let measure = if scene.comparison().is_some() { Measure::Samples } else { Measure::Source };
    let basis = columns::basis(scene, &scene.refined);
    // There is no row above one of these.
    let percent_of = match basis.percent_of {
        PercentOf::Parent => PercentOf::View,
        of => of,
    };
    Basis { measure, percent_of, ..basis }
}

impl View for Contexts {
    fn sheet(&self) -> &'static Sheet {
        &SHEET
    }

    fn draw(&self, canvas: &mut Canvas<'_>, scene: &Scene, lines: Range<usize>) {
        let theme = scene.theme;
        let basis = basis(scene);
        let (cells, top) = (canvas.width(), lines.start);
        canvas.rule(top - 1);
        let columns = basis.of_contexts();
        let glyphs = theme.glyphs;
        let mark = |is_up: bool| if is_up { glyphs.ascending } else { glyphs.descending };
        // Names ascend when numbers descend.
        let by_name = match self.sort == columns.len() {
            true => format!(" {} {} ", ENTRY.title, mark(!self.reversed)),
            false => format!(" {} ", ENTRY.title),
        };
        canvas.text(1, top - 1, &by_name, cells, theme.strong());
        let numbers = (cells.saturating_sub(28) / NUMBER).clamp(1, columns.len());
        let end = |column: usize| cells - 1 - (numbers - 1 - column) * NUMBER;
        for (place, column) in columns.iter().take(numbers).enumerate() {
            let style = if column.metric.is_none() { theme.strong() } else { theme.text() };
            let mark = if self.sort == place { mark(self.reversed) } else { "" };
            let heading = format!(" {}{mark}", column.heading(&basis));
            canvas.text_right(end(place), top - 1, &heading, NUMBER, style);
        }
        let room = cells.saturating_sub(2 + numbers * NUMBER);
        let first = self.scroll;
        for (place, (context, y)) in self.lines().iter().skip(first).zip(lines).enumerate() {
            let (indent, style) =
                if context.thread.is_some() { ("  ", theme.text()) } else { ("", theme.strong()) };
            let label = format!("{indent}{}", context.label);
            let label = cut(&label, room, glyphs.ellipsis);
            canvas.text(1, y, &label, room, style);
            canvas.mark(1, y, &label, room, scene.search.as_ref());
            let heat = match Column::of(Id::Percent, None).value(&basis, context) {
                Cell::Share { part, whole } => theme.heat(part, whole),
                _ => theme.text(),
            };
            for (place, column) in columns.iter().take(numbers).enumerate() {
                let is_hot = column.metric.is_none() && column.definition().tone == Tone::Heat;
                let style = if is_hot { heat } else { theme.text() };
                canvas.text_right(end(place), y, &column.text_of(&basis, context), NUMBER, style);
            }
            if first + place == self.selected {
                canvas.restyle(0, y, cells, theme.selected());
            }
        }
        if self.lines().is_empty() {
            let counting = self.instead_of_rows();
            let text = if self.list.is_some() { "no samples are shown" } else { &*counting };
            canvas.text(1, top, &theme.plain(text), cells.saturating_sub(2), theme.faint());
        }
    }

    fn scroll(&mut self, lines: isize) {
        let last = self.lines().len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(lines).min(last);
    }

    fn lay_out(&mut self, _shown: &Refined, _width: usize, height: usize) {
        let last_top = (self.selected + 1).saturating_sub(height.max(1));
        self.scroll = self.scroll.clamp(last_top, self.selected.max(last_top));
        self.scroll = self.scroll.min(self.lines().len().saturating_sub(height));
    }

    fn sort_by_next(&mut self, scene: &Scene) {
        (self.sort, self.reversed) = (self.sort + 1, false);
        self.put_in_order(scene);
    }

    fn reverse_order(&mut self, scene: &Scene) {
        self.reversed = !self.reversed;
        self.put_in_order(scene);
    }

    fn find(&self, pattern: &NamePattern, scene: &Scene) -> Option<Finds> {
        let list = self.lines();
        let is_found = |at: &usize| {
            let context = &list[*at];
            let sides = || Cost::Inclusive.of_sides(&context.row);
            let by_sides = pattern.finds_sides(&scene.refined, sides);
            by_sides.unwrap_or_else(|| pattern.is_in(&context.label))
        };
        let mut found: Vec<usize> = (0..list.len()).filter(is_found).collect();
        // Samples of two runs may be of different periods.
        let is_known = scene.comparison().is_none() && !found.is_empty();
        let cost = is_known.then(|| together(found.iter().map(|at| &list[*at])));
        let samples = |at: &usize| list[*at].row.of(scene.refined.metric).inclusive;
        found.sort_by_key(|at| Reverse(samples(at)));
        let cost = cost.map(|cost| columns::cost_text(scene, &scene.refined, &cost));
        Some(Finds { lines: found, cost })
    }

    fn line(&self) -> usize {
        self.selected
    }

    fn put(&mut self, line: usize, above: usize) {
        self.selected = line;
        self.scroll = line.saturating_sub(above);
    }

    fn line_at(&self, line: usize, _height: usize) -> Option<usize> {
        let place = self.scroll + line;
        (place < self.lines().len()).then_some(place)
    }

    fn select_line(&mut self, line: usize) {
        self.selected = line;
    }

    fn explained(&self, scene: &Scene) -> Option<(String, Explanation)> {
        let context = self.lines().get(self.selected)?;
        let basis = basis(scene);
        let columns = basis.of_contexts().into_iter().filter(|column| column.metric.is_none());
        let texts = columns.flat_map(|column| column.explain(&basis, context, About::default()));
        let cluster = self.cluster(scene, context).map(|said| ("cluster".to_owned(), said));
        Some((context.label.clone(), texts.chain(cluster).collect()))
    }

    /// The imbalance of the processes, and which of them are unlike the others.
    fn told(&self, scene: &Scene) -> Option<Notice> {
        let (_, imbalance) = self.list.as_ref()?;
        let whose = imbalance.whose(scene.form())?;
        let all = amount(imbalance.balance.imbalance(), scene.metric(), scene.form());
        let clusters = self.clusters.as_ref().filter(|of| of.list.len() > 1);
        let Some(clusters) = clusters else {
            let said = format!("{all} imbalance of the {whose}, (most - mean) × number");
            return Some(Notice::Said(said));
        };
        let said = clusters.list.iter().map(|one| clusters.said(&scene.refined, one, scene.form()));
        let said = said.collect::<Vec<_>>().join("; ");
        Some(Notice::Said(format!("{all} imbalance of the {whose}; clusters: {said}")))
    }

    /// The first line is selected.
    fn entered(&mut self, _function: Option<FunctionKey>, _path: Option<Path>, _shown: &Refined) {
        (self.selected, self.scroll, self.follow) = (0, 0, None);
    }

    fn wanted(&self) -> Option<Wanted> {
        let make = |refined: &Refined, watch: &Watch<'_>| {
            let clusters = Clusters::of(refined, watch)?;
            Ok(Made::default().with((contexts(refined, watch)?, clusters)))
        };
        let metric = self.metric.index().to_string();
        self.list.is_none().then(|| Wanted::new("contexts", metric, make))
    }

    fn take(&mut self, made: &mut Made, _shown: &Refined) {
        let Some((list, clusters)) = made.take() else { return };
        (self.list, self.clusters) = (Some(list), clusters);
        (self.sort, self.reversed) = (0, false);
        if let Some(stage) = self.follow.take() {
            let place = self.lines().iter().position(|context| context.stage == stage);
            self.selected = place.unwrap_or(0);
        }
    }

    fn look_at(&mut self, metric: MetricRef) {
        self.metric = metric;
        let selected = self.lines().get(self.selected).map(|context| context.stage.clone());
        (self.list, self.follow) = (None, selected.or_else(|| self.follow.take()));
    }

    fn act(&mut self, _action: Action, _shown: &Refined) -> Outcome {
        let stage = self.lines().get(self.selected).map(|context| context.stage.clone());
        Outcome { stage, ..Outcome::default() }
    }

    fn repro(&self, shown: &Refined) -> Repro {
        if shown.profile.comparison.is_some() {
            return Repro::None("csprof diff does not list processes and threads");
        }
        if (self.sort, self.reversed) != (0, false) {
            return Repro::None("csprof report lists them by cost; s goes back to that order");
        }
        if self.list.is_none() {
            return Repro::None("the list is still being made");
        }
        let mut words = ["--view", "threads"].map(str::to_owned).to_vec();
        let list = self.lines();
        let samples = |context: &Context| context.row.of(self.metric).inclusive;
        let processes = list.iter().filter(|context| context.thread.is_none());
        let shown: u64 = processes.map(samples).sum();
        let least = USUAL_SHARE / 100.0 * shown as f64;
        if list.iter().any(|context| (samples(context) as f64) < least) {
            words.extend(["--threshold", "0"].map(str::to_owned));
        }
        if list.len() > USUAL_ROWS {
            words.extend(["--limit".to_owned(), list.len().to_string()]);
        }
        Repro::OfRows(words)
    }
}
