//! Who waits and for whom, over another view: waits by path and by operation, and the paths on
//! which ranks differ most, with the way to each.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use super::super::canvas::Canvas;
use super::super::columns;
use super::super::made::{Made, Wanted};
use super::super::message::{Action, Message, Notice};
use super::super::mode::{
    ALWAYS, Binding, COMMANDS, EXPORT, FIND, Group, HELP, Keys, LEAVE, MOVE, Mode, NUMBERS, bind,
};
use super::super::name::width;
use super::super::scene::Scene;
use super::super::view::{Finds, OF_ROWS, Outcome, Repro, Sheet, View, ViewEntry};
use super::entries::{self, Selection};
use crate::export::table::Table;
use crate::profile::{FunctionKey, MetricRef};
use crate::refine::{Refined, Watch};
use crate::views::columns::Explanation;
use crate::views::measure::Measure;
use crate::views::number::{amount, between, count, counted, exact, percent};
use crate::views::path::Path;
use crate::views::search::NamePattern;
use crate::views::waits::{Wait, Waits};

pub(super) static ENTRY: ViewEntry = ViewEntry {
    title: "Waits",
    command: "waits",
    key: "I",
    help: "who waits (MPI, locks), who came last, where ranks differ",
    modes: &[&MODE],
    new: |scene| Box::new(WaitLists { metric: scene.refined.metric, ..WaitLists::default() }),
};

static MODE: Mode = Mode {
    title: "the lists of waits",
    keys: &[&[
        Keys::Of(MOVE),
        Keys::Of(FIND),
        Keys::Of(NUMBERS),
        Keys::Of(EXPORT),
        Keys::Of(COMMANDS),
        Keys::Of(HELP),
        Keys::Of(OWN),
        Keys::Views,
        Keys::ViewsOver,
        Keys::Of(LEAVE),
        Keys::Of(ALWAYS),
    ]],
};

const GO: Action = Action("show in tree");
const NEXT_LIST: Action = Action("next list");

static OWN: &[Binding] = &[
    bind(Group::Move, "<enter>", Message::Own(GO), "go to this path in the tree"),
    bind(
        Group::Numbers,
        "d",
        Message::Own(NEXT_LIST),
        "the next list: waits by path, paths whose imbalance costs most, waits by operation",
    ),
];

static SHEET: Sheet = Sheet {
    mode: &MODE,
    hints: &[
        ("enter", "go to it in the tree"),
        ("d", "next list"),
        ("q", "back"),
        ("m", "metric"),
        ("=", "explain"),
        ("?", "help"),
    ],
    has_rows: false,
    searched: "names on paths, and what is said of them",
    double_click: || Message::Own(GO),
    ..OF_ROWS
};

/// Which list is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum List {
    #[default]
    Paths,
    Imbalances,
    Operations,
}

impl List {
    fn next(self) -> Self {
        match self {
            Self::Paths => Self::Imbalances,
            Self::Imbalances => Self::Operations,
            Self::Operations => Self::Paths,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Paths => "Waits by path",
            Self::Imbalances => "Paths outside of waits whose imbalance costs most",
            Self::Operations => "Waits by operation",
        }
    }

    fn of(self, waits: &Waits) -> &[Wait] {
        match self {
            Self::Paths => &waits.paths,
            Self::Imbalances => &waits.imbalances,
            Self::Operations => &waits.operations,
        }
    }
}

#[derive(Clone, Debug, Default)]
struct WaitLists {
    /// The lists, once they are made.
    waits: Option<Arc<Waits>>,
    list: List,
    /// The metric by which paths outside of waits are compared.
    metric: MetricRef,
    selected: Selection,
}

impl WaitLists {
    fn entries(&self) -> &[Wait] {
        self.waits.as_ref().map_or(&[], |waits| self.list.of(waits))
    }

    /// What the list shows as cost, in samples between bounds, if it is known.
    fn cost(&self, wait: &Wait) -> Option<[u64; 2]> {
        match self.list {
            List::Imbalances => wait.imbalance(),
            List::Paths | List::Operations => Some([wait.samples; 2]),
        }
    }

    /// What is said of a wait beside what it costs.
    fn said(&self, scene: &Scene, waits: &Waits, wait: &Wait) -> String {
        let form = scene.form();
        let metric = scene.refined.source_of(wait.metric);
        let label =
            |number: u32| waits.over.as_ref().map_or_else(String::new, |over| over.label(number));
        let mut said = Vec::new();
        if let Some(last) = wait.last {
            let works = if last.works_most == Some(true) { ", which works most" } else { "" };
            let among = match last.among {
                0 | 1 => String::new(),
                more => format!(" of {more} that waited as little"),
            };
            said.push(format!("last came {}{among}{works}", label(last.number)));
        }
        if let Some(over) = &wait.over {
            let most = between(over.most.map(|samples| amount(samples, metric, form)));
            let on = over.most_rank.map_or_else(String::new, |rank| format!(" on {}", label(rank)));
            said.push(format!("most {most}{on}"));
            let mean = Measure::Source.real(over.mean(), metric, form);
            said.push(format!("mean {mean}"));
            let imbalance = over.imbalance();
            if !(self.list == List::Imbalances && exact(imbalance).is_some()) {
                let imbalance = imbalance.map(|samples| amount(samples, metric, form));
                said.push(format!("imbalance {}", between(imbalance)));
            }
        }
        if scene.has_several_metrics() {
            said.push(metric.source.clone());
        }
        said.join(", ")
    }

    /// What is shown of a wait.
    fn entry<'s>(&self, scene: &'s Scene, waits: &Waits, wait: &Wait) -> entries::PathEntry<'s> {
        let metric = scene.refined.source_of(wait.metric);
        let (base, _) = scene.refined.account_of(wait.metric);
        // There is no room for two bounds, which what is said of it has.
        let known = self.cost(wait).and_then(exact);
        let cost = known.map(|samples| {
            [amount(samples, metric, scene.form()), format!("{}%", percent(samples, base))]
        });
        let functions = &scene.refined.functions;
        let rows = waits.rows(wait);
        let samples = self.cost(wait).map_or(Value::Null, |bounds| match exact(bounds) {
            Some(samples) => samples.into(),
            None => bounds.to_vec().into(),
        });
        entries::PathEntry {
            samples,
            cost: cost.unwrap_or_default(),
            percent: known.map(|samples| entries::share(samples, base)),
            metric: &metric.source,
            text: self.said(scene, waits, wait),
            path: rows.iter().map(|row| &*functions[row.function.index()].name).collect(),
        }
    }

    /// All of the list.
    fn all_entries<'s>(&'s self, scene: &'s Scene) -> impl Iterator<Item = entries::PathEntry<'s>> {
        let waits = self.waits.iter();
        waits
            .flat_map(|waits| self.list.of(waits).iter().map(|wait| self.entry(scene, waits, wait)))
    }

    /// What waits cost together, each sample once, where they are of the metric that is looked at:
    /// no sample counts in two waits, but one of an imbalance may, and imbalances do not add up.
    fn together(&self, scene: &Scene, found: &[usize]) -> Option<String> {
        let entries = self.entries();
        let is_of_metric = |&at: &usize| entries[at].metric == scene.refined.metric;
        let adds_up = self.list != List::Imbalances && !found.is_empty();
        let adds_up = adds_up && scene.comparison().is_none() && found.iter().all(is_of_metric);
        let sum = || found.iter().map(|&at| entries[at].samples).sum();
        adds_up.then(|| columns::amount_text(scene, sum(), None))
    }

    /// What is said where the list is empty.
    fn if_none(&self, scene: &Scene) -> Cow<'static, str> {
        let Some(waits) = &self.waits else { return self.instead_of_rows() };
        match self.list {
            // Why there are none is said below.
            List::Imbalances if !waits.compares_paths => "".into(),
            List::Imbalances => {
                let paths = counted(waits.within_noise as u64, "path", scene.form());
                format!("none beyond sampling noise; {paths} may differ by that alone").into()
            }
            _ if !waits.missing.is_empty() => "".into(),
            List::Paths | List::Operations => "no waits".into(),
        }
    }
}

impl View for WaitLists {
    fn sheet(&self) -> &'static Sheet {
        &SHEET
    }

    fn draw(&self, canvas: &mut Canvas<'_>, scene: &Scene, lines: Range<usize>) {
        let over = self.waits.as_ref().and_then(|waits| waits.over.as_ref());
        let title = match over {
            Some(over) => format!("{}, over {}", self.list.title(), over.whose),
            None => self.list.title().to_owned(),
        };
        let missing = self.waits.as_ref().map_or(&[][..], |waits| &waits.missing);
        let mut below: Vec<String> =
            missing.iter().map(|cause| format!("not here: {cause}")).collect();
        let if_none = self.if_none(scene);
        if !(below.is_empty() || self.entries().is_empty() && if_none.is_empty()) {
            below.insert(0, String::new());
        }
        let list = entries::Entries {
            title: &title,
            selection: self.selected,
            count: self.entries().len(),
            if_none: &if_none,
            below: &below,
        };
        entries::draw(canvas, scene, lines, &list, |place| {
            Some(self.entry(scene, self.waits.as_ref()?, self.entries().get(place)?))
        });
    }

    fn scroll(&mut self, lines: isize) {
        self.selected.scroll(lines, self.entries().len());
    }

    fn find(&self, pattern: &NamePattern, scene: &Scene) -> Option<Finds> {
        let waits = self.waits.as_ref()?;
        let in_functions = pattern.functions(&scene.refined);
        let on_paths = waits.found(&in_functions);
        let list = self.list.of(waits).iter().enumerate();
        let is_found =
            |wait: &Wait| on_paths.has(wait) || pattern.is_in(&self.said(scene, waits, wait));
        let lines: Vec<usize> =
            list.filter(|(_, wait)| is_found(wait)).map(|(place, _)| place).collect();
        let cost = self.together(scene, &lines);
        Some(Finds { lines, cost })
    }

    fn table(&self, scene: &Scene) -> Option<Table> {
        self.waits.as_ref()?;
        Some(entries::table(self.list.title(), true, self.all_entries(scene)))
    }

    fn line(&self) -> usize {
        self.selected.0
    }

    fn line_at(&self, line: usize, height: usize) -> Option<usize> {
        self.selected.at(line, height, self.entries().len())
    }

    fn select_line(&mut self, line: usize) {
        self.selected = Selection(line);
    }

    fn explained(&self, scene: &Scene) -> Option<(String, Explanation)> {
        let waits = self.waits.as_ref()?;
        let missing = waits.missing.iter().map(|cause| ("not here".to_owned(), cause.clone()));
        let Some(wait) = self.entries().get(self.selected.0) else {
            let is_told = !waits.missing.is_empty();
            return is_told.then(|| (self.list.title().to_owned(), missing.collect()));
        };
        let metric = scene.refined.source_of(wait.metric);
        let samples = counted(wait.samples, "sample", scene.form());
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        // The cost of a path outside of waits is its imbalance.
        let is_cost = self.list != List::Imbalances;
        let mut texts = vec![pair(
            if is_cost { "cost" } else { "inclusive" },
            &format!(
                "{samples} of {} = {}",
                metric.source,
                amount(wait.samples, metric, scene.form())
            ),
        )];
        texts.push(pair("spread", &self.said(scene, waits, wait)));
        match (&wait.over, &waits.over) {
            (Some(spread), Some(over)) => {
                texts.push(pair("over", &over.whose));
                let [most, imbalance] = [spread.most, spread.imbalance()]
                    .map(|bounds| between(bounds.map(|samples| count(samples, scene.form()))));
                let sum = count(spread.sum, scene.form());
                let cost = spread.imbalance().map(|samples| amount(samples, metric, scene.form()));
                let cost = between(cost);
                texts.push(pair(
                    "imbalance",
                    &format!(
                        "(most - mean) x number: what all together wait for one; {most} x {} - \
                         {sum} = {imbalance} samples = {cost}",
                        spread.ranks
                    ),
                ));
            }
            (None, Some(_)) => texts.push(pair(
                "over",
                "not known: not all ranks are kept apart, and stages took a part of this path",
            )),
            (_, None) => {}
        }
        if is_cost {
            texts.push(pair(
                "last",
                "who waited least, of calls that no rank leaves before all have come, by a metric of time",
            ));
        }
        texts.extend(missing);
        let name = &scene.refined.functions[wait.function.index()].name;
        Some((name.to_string(), texts))
    }

    /// That something is not in the profile, where the list may leave no line to say what.
    fn told(&self, scene: &Scene) -> Option<Notice> {
        let cause = self.waits.as_ref()?.missing.first()?;
        let fits = width(cause) + 2 <= usize::from(scene.size.0);
        let said =
            if fits { cause.as_str() } else { "not all is here; = says what is missing, and why" };
        Some(Notice::Said(said.to_owned()))
    }

    fn entered(&mut self, _function: Option<FunctionKey>, _path: Option<Path>, _shown: &Refined) {
        (self.selected, self.list) = (Selection(0), List::default());
    }

    fn wanted(&self) -> Option<Wanted> {
        let make = |refined: &Refined, watch: &Watch<'_>| {
            Ok(Made::default().with(Arc::new(Waits::of(refined, watch)?)))
        };
        let metric = self.metric.index().to_string();
        self.waits.is_none().then(|| Wanted::new("waits", metric, make))
    }

    fn take(&mut self, made: &mut Made, _shown: &Refined) {
        if let Some(waits) = made.take() {
            self.waits = Some(waits);
            self.scroll(0);
        }
    }

    fn look_at(&mut self, metric: MetricRef) {
        (self.metric, self.waits) = (metric, None);
    }

    fn act(&mut self, action: Action, shown: &Refined) -> Outcome {
        if action == NEXT_LIST {
            (self.list, self.selected) = (self.list.next(), Selection(0));
            return Outcome::default();
        }
        let chosen = self.waits.as_ref().zip(self.entries().get(self.selected.0));
        match chosen.map(|(waits, wait)| waits.path(shown, wait)) {
            Some(None) => Outcome::said("an operation may be on several paths: d lists these"),
            path => Outcome { path: path.flatten(), ..Outcome::default() },
        }
    }

    fn repro(&self, shown: &Refined) -> Repro {
        if shown.profile.comparison.is_some() {
            return Repro::None(
                "csprof diff has no waits; csprof report --view waits is of one run",
            );
        }
        Repro::OfRows(["--view", "waits"].map(str::to_owned).to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::theme::Theme;
    use super::*;
    use crate::profile::from_outline;
    use crate::refine::unwatched;

    /// The cost of a path outside of waits is its imbalance, exact or within bounds, and explained.
    #[test]
    fn an_imbalance_is_shown_as_it_is_known() {
        let rank = |rank: u32| {
            let own = if rank == 2 { 160 } else { 100 };
            format!("# rank={rank} thread={rank} epoch=0\nmain\n  solve {own}\n")
        };
        let profile = from_outline(&(0..4).map(rank).collect::<String>()).unwrap();
        let scene = Scene::new(Refined::base(&profile), Theme::new(false, true), (80, 24));
        let mut waits = unwatched(|watch| Waits::of(&scene.refined, watch));
        for (most, cost, imbalance) in [
            ([160; 2], ["900 ms", "39.1%"], "160 x 4 - 460 = 180 samples = 900 ms"),
            ([120, 160], ["", ""], "120..160 x 4 - 460 = 20..180 samples = 100 ms..900 ms"),
        ] {
            waits.imbalances[0].over.as_mut().unwrap().most = most;
            let list = WaitLists {
                waits: Some(Arc::new(waits.clone())),
                list: List::Imbalances,
                ..WaitLists::default()
            };
            let entry = list.entry(&scene, &waits, &waits.imbalances[0]);
            assert_eq!(entry.cost, cost);
            let percent = entry.percent.map(|percent| format!("{percent:.1}%"));
            assert_eq!(percent.unwrap_or_default(), cost[1]);
            assert_eq!(list.table(&scene).unwrap().rows[0][2].text, "cputime");
            let is_said = entry.text.contains("imbalance 100 ms..900 ms");
            assert_eq!(is_said, cost[0].is_empty(), "{}", entry.text);
            let (_, explained) = list.explained(&scene).unwrap();
            let text = |of: &str| explained.iter().find(|(name, _)| name == of).map(|of| &*of.1);
            assert!(text("imbalance").unwrap().ends_with(imbalance), "{explained:?}");
            assert_eq!(text("inclusive"), Some("460 samples of cputime = 2.30 s"));
            assert_eq!(text("cost"), None);
        }
    }
}
