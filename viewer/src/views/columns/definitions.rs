//! The columns there are, one entry for each.

mod over_ranks;

use csprof_format::profile::Process;

use super::cell::Cell;
use super::column::{At, Basis, Definition, Lines, Medium, Order, Tone, Unit, Zero};
use super::explain;
use super::headings::{heading_of_cost, heading_of_part};
use super::lists::{self, Id};
use crate::profile::Function;
use crate::profile::comparison::{BASE, OTHER};
use crate::profile::derived::{Shown, Value};
use crate::views::measure::Measure;
use crate::views::number::Form;
use crate::views::over_ranks::OfMetric;
use crate::views::row::{Cost, Edges};
use crate::views::strip::{CELLS, PHASE_CELLS};
use crate::views::summary::are_all_of_time;
use crate::views::verdict;

/// Each column, by its number. `--sort` and the page of `=` have them in this order.
pub static DEFINITIONS: &[Definition] = &[
    Definition {
        id: Id::Inclusive,
        key: "inclusive",
        name: Some("time"),
        heading: heading_of_cost,
        unit: Unit::Cost,
        value: |at| at.cost(at.weight().inclusive),
        zero: Zero::DotOnScreen,
        order: Order::By("time"),
        help: "Inclusive cost: the row and all it calls",
        explain: explain::inclusive,
        width: 9,
        tone: Tone::Size,
        ..COLUMN
    },
    Definition {
        id: Id::Percent,
        key: "percent",
        name: Some("percent"),
        heading: |of| match (of.basis.medium, of.column.metric) {
            (Medium::Screen, None) => format!("% {}", of.basis.percent_of.word()).into(),
            // Beside the metric that is looked at, which says it.
            _ => "%".into(),
        },
        value: |at| at.part(at.weight().inclusive),
        order: Order::As(Id::Inclusive),
        help: "Inclusive cost as a share",
        explain: explain::percent_of_cost,
        width: 5,
        tone: Tone::Size,
        ..SHARE
    },
    Definition {
        id: Id::Exclusive,
        key: "exclusive",
        name: Some("excl"),
        heading: |of| if of.is_time() { "excl time".into() } else { "excl cost".into() },
        unit: Unit::Cost,
        value: |at| at.cost(at.weight().exclusive),
        zero: Zero::Dot,
        order: Order::By("excl"),
        help: "Exclusive cost: its own code",
        explain: explain::exclusive,
        repeats: Some(Id::ExclusivePercent),
        width: 10,
        tone: Tone::Heat,
        ..COLUMN
    },
    Definition {
        id: Id::ExclusivePercent,
        key: "exclusive_percent",
        name: Some("excl-percent"),
        heading: |of| match of.basis.medium {
            Medium::Screen => "excl%".into(),
            Medium::Page => "excl %".into(),
        },
        value: |at| at.part(at.weight().exclusive),
        zero: Zero::Dot,
        order: Order::As(Id::Exclusive),
        help: "Exclusive cost as a share",
        explain: explain::exclusive_percent,
        width: 6,
        ..SHARE
    },
    Definition {
        id: Id::Edges,
        key: "edges",
        name: Some("edges"),
        unit: Unit::Edges,
        value: |at| Cell::Edges(at.weight().edges),
        order: Order::By("edges"),
        help: "Returns of calls that a sample met",
        explain: explain::edges,
        width: 9,
        ..COLUMN
    },
    Definition {
        id: Id::PerEdge,
        key: "per_edge",
        name: Some("per-edge"),
        heading: |of| if of.is_time() { "time/edge".into() } else { "cost/edge".into() },
        unit: Unit::PerEdge,
        value: |at| Cell::PerEdge { weight: at.weight(), metric: at.metric() },
        order: Order::By("per-edge"),
        help: "Cost per edge",
        explain: explain::per_edge,
        width: 9,
        ..COLUMN
    },
    Definition {
        id: Id::Calls,
        key: "calls",
        name: Some("calls"),
        unit: Unit::PerEdge,
        value: |at| {
            let is_told =
                at.basis.clustered.is_none() && are_all_of_time(&at.basis.refined.profile);
            text(verdict::calls(at.row, !is_told))
        },
        order: Order::As(Id::PerEdge),
        help: "Many short ones, or few long",
        explain: explain::calls,
        width: 10,
        ..COLUMN
    },
    Definition {
        id: Id::Samples,
        key: "samples",
        name: Some("samples"),
        unit: Unit::Count,
        value: |at| Cell::Count(at.weight().inclusive),
        order: Order::As(Id::Inclusive),
        help: "Inclusive samples",
        repeats: Some(Id::Inclusive),
        width: 11,
        ..COLUMN
    },
    Definition {
        id: Id::Bar,
        key: "bar",
        name: Some("bar"),
        heading: |_| "".into(),
        unit: Unit::Bar,
        value: |at| at.part(at.weight().inclusive),
        order: Order::None,
        help: "What rows are ordered by",
        repeats: Some(Id::Inclusive),
        width: 4,
        ..SHARE
    },
    Definition {
        id: Id::Spread,
        key: "spread",
        name: Some("spread"),
        help: "Inclusive cost over ranks, or processes, or threads",
        width: CELLS,
        ..STRIP
    },
    Definition {
        id: Id::OverPhases,
        key: "over_phases",
        name: Some("over-phases"),
        is_in: |basis| !basis.refined.profile.info.phases.is_empty(),
        heading: |_| "over phases".into(),
        help: "Inclusive cost over phases, or slices of time, as they began",
        width: PHASE_CELLS,
        ..STRIP
    },
    FUNCTION,
    Definition {
        id: Id::Kind,
        key: "kind",
        value: |at| Cell::Text(at.row.kind.definition().reported),
        order: Order::None,
        help: "Kind of frame",
        explain: explain::kind,
        ..FUNCTION
    },
    Definition {
        id: Id::Module,
        key: "module",
        name: Some("module"),
        value: |at| {
            let module = function(at).and_then(|function| function.module);
            text(module.map(|module| at.basis.refined.profile.module_path(module)))
        },
        order: Order::None,
        help: "Load module",
        explain: explain::module,
        ..FUNCTION
    },
    Definition {
        id: Id::File,
        key: "file",
        name: Some("file"),
        value: |at| {
            let file = function(at).and_then(|function| function.file);
            text(file.map(|file| at.basis.refined.profile.string(file)))
        },
        order: Order::None,
        help: "Source file",
        explain: explain::source,
        ..FUNCTION
    },
    Definition {
        id: Id::Line,
        key: "line",
        name: Some("line"),
        unit: Unit::Count,
        value: |at| match function(at).map_or(0, |function| function.line) {
            0 => Cell::Nothing,
            line => Cell::Count(line.into()),
        },
        order: Order::None,
        help: "Line in the source file",
        repeats: Some(Id::File),
        ..FUNCTION
    },
    Definition {
        id: Id::Address,
        key: "address",
        unit: Unit::Count,
        value: |at| at.site().map_or(Cell::Nothing, |frame| Cell::Count(frame.offset)),
        order: Order::None,
        help: "Offset in the load module",
        explain: explain::address,
        ..FUNCTION
    },
    Definition {
        id: Id::BuildId,
        key: "build_id",
        value: |at| match at.module().map_or(&[][..], |module| &module.build_id) {
            [] => Cell::Nothing,
            id => Cell::Bytes(id),
        },
        order: Order::None,
        help: "Build id of the load module",
        explain: explain::build_id,
        ..FUNCTION
    },
    Definition {
        id: Id::CallFile,
        key: "call_file",
        value: |at| {
            let file = at.frame().and_then(|frame| frame.file);
            text(file.map(|file| at.basis.refined.profile.string(file)))
        },
        order: Order::None,
        help: "Source file of the line that is executed, or called from",
        explain: explain::call,
        ..FUNCTION
    },
    Definition {
        id: Id::CallLine,
        key: "call_line",
        unit: Unit::Count,
        value: |at| match at.frame().map_or(0, |frame| frame.line) {
            0 => Cell::Nothing,
            line => Cell::Count(line.into()),
        },
        order: Order::None,
        help: "The line that is executed, or called from",
        repeats: Some(Id::CallFile),
        ..FUNCTION
    },
    Definition {
        id: Id::Delta,
        key: "delta",
        heading: |of| match (of.basis.form, of.is_share_on_page()) {
            _ if of.basis.is_scaled() => "loss".into(),
            _ if of.basis.moments().is_some() => "since".into(),
            (Form::Unicode, true) => "Δ pp".into(),
            (Form::Ascii, true) => "delta pp".into(),
            (Form::Unicode, false) => "Δ".into(),
            (Form::Ascii, false) => "delta".into(),
        },
        value: |at| at.compared(Cell::Delta),
        order: Order::By("delta"),
        help: "OTHER - BASE; with --scaling, OTHER - expected",
        explain: explain::delta,
        tone: Tone::Change,
        ..SIDE
    },
    Definition {
        id: Id::Base,
        key: "base",
        heading: |of| of.of_side(if of.basis.moments().is_some() { "before" } else { "base" }),
        value: |at| at.compared(|difference| Cell::Side(difference, BASE)),
        order: Order::By("base"),
        help: "Cost in BASE: inclusive; exclusive in the views flat and callers",
        explain: explain::base,
        ..SIDE
    },
    Definition {
        id: Id::Other,
        key: "other",
        heading: |of| of.of_side(if of.basis.moments().is_some() { "total" } else { "other" }),
        value: |at| at.compared(|difference| Cell::Side(difference, OTHER)),
        order: Order::By("other"),
        help: "Cost in OTHER, likewise",
        explain: explain::other,
        ..SIDE
    },
    Definition {
        id: Id::Rate,
        key: "rate",
        is_in: |basis| basis.moments().is_some(),
        heading: |_| "per s".into(),
        value: |at| match at.compared(Cell::Rate) {
            Cell::Rate(of) if of.rate().is_none() => Cell::Nothing,
            cell => cell,
        },
        order: Order::As(Id::Delta),
        help: "Of a program that runs: cost since the moment before, for each second",
        explain: explain::rate,
        width: 9,
        ..SIDE
    },
    Definition {
        id: Id::Growth,
        key: "growth",
        is_in: are_runs,
        heading: |of| match (of.basis.medium, of.basis.form) {
            (Medium::Screen, _) => "%".into(),
            (Medium::Page, Form::Unicode) => "Δ%".into(),
            (Medium::Page, Form::Ascii) => "delta%".into(),
        },
        value: |at| at.compared(Cell::Growth),
        order: Order::By("growth"),
        help: "The difference as a share of BASE, or new",
        explain: explain::growth,
        width: 6,
        tone: Tone::Change,
        ..SIDE
    },
    Definition {
        id: Id::Noise,
        key: "noise",
        is_in: are_runs,
        heading: |of| match (of.basis.medium, of.basis.form) {
            (_, Form::Unicode) if of.basis.has_several_runs() => "±95%".into(),
            (Medium::Page, Form::Ascii) if of.basis.has_several_runs() => "+-95%".into(),
            (_, Form::Unicode) => "±2σ".into(),
            (Medium::Screen, Form::Ascii) => "noise".into(),
            (Medium::Page, Form::Ascii) => "+-2sd".into(),
        },
        value: |at| at.compared(Cell::Noise),
        order: Order::As(Id::Delta),
        help: "Noise of the difference: of sampling, or between several runs",
        explain: explain::noise,
        tone: Tone::Faint,
        ..SIDE
    },
    Definition {
        id: Id::EdgesOfBoth,
        key: "edges",
        is_in: are_runs,
        unit: Unit::Edges,
        value: |at| {
            let sides = || at.row.sides().map(|weight| weight.edges);
            let sides = at.edges_compare().then(sides);
            Cell::EdgesOfBoth { sides, sum: at.weight().edges }
        },
        order: Order::By("edges"),
        help: "Edge counts: BASE → OTHER",
        explain: explain::edges_of_both,
        width: 13,
        ..SIDE
    },
    Definition {
        id: Id::BaseEdges,
        group: Some("base"),
        value: |at| edges_of_side(at, BASE),
        help: "Edge count in BASE",
        ..EDGES_OF_SIDE
    },
    Definition {
        id: Id::OtherEdges,
        group: Some("other"),
        value: |at| edges_of_side(at, OTHER),
        help: "Edge count in OTHER",
        ..EDGES_OF_SIDE
    },
    Definition {
        id: Id::Change,
        key: "change",
        unit: Unit::Text,
        value: |at| at.compared(|difference| Cell::Text(difference.change().word())),
        order: Order::None,
        help: "What became of the row",
        repeats: Some(Id::Delta),
        ..SIDE
    },
    Definition {
        id: Id::Significant,
        key: "significant",
        unit: Unit::Text,
        value: |at| at.compared(|difference| Cell::Truth(difference.is_significant())),
        order: Order::None,
        help: "Whether it differs by more than noise",
        repeats: Some(Id::Delta),
        ..SIDE
    },
    Definition {
        id: Id::Expected,
        key: "expected",
        is_in: |basis| basis.is_scaled(),
        heading: |of| of.of_side("expected"),
        value: |at| at.compared(Cell::Expected),
        order: Order::As(Id::Base),
        help: "What OTHER should cost if the program scaled",
        explain: explain::expected,
        ..SIDE
    },
    Definition {
        id: Id::LossShare,
        key: "loss_percent",
        is_in: |basis| basis.is_scaled(),
        heading: |_| "loss%".into(),
        value: |at| at.compared(Cell::LossShare),
        order: Order::As(Id::Delta),
        help: "The scaling loss as a share of all that OTHER costs",
        explain: explain::loss_share,
        width: 6,
        tone: Tone::Change,
        ..SIDE
    },
    Definition {
        id: Id::Low,
        key: "low",
        is_in: |basis| basis.has_several_runs(),
        value: |at| at.compared(|difference| Cell::End(difference, 0)),
        order: Order::As(Id::Delta),
        help: "The least difference that the spread of the runs leaves",
        repeats: Some(Id::Noise),
        tone: Tone::Faint,
        ..SIDE
    },
    Definition {
        id: Id::High,
        key: "high",
        is_in: |basis| basis.has_several_runs(),
        value: |at| at.compared(|difference| Cell::End(difference, 1)),
        order: Order::As(Id::Delta),
        help: "The greatest difference that the spread of the runs leaves",
        repeats: Some(Id::Noise),
        tone: Tone::Faint,
        ..SIDE
    },
    Definition { id: Id::FunctionOfBoth, lines: Lines::OfBoth, help: "By name", ..FUNCTION },
    fact(Id::ContextKind, "kind", "Whether it is a process or a thread", |at| {
        text(at.context.map(|of| if of.thread.is_some() { "thread" } else { "process" }))
    }),
    fact(Id::Name, "name", "Command line of a process, name of a thread", |at| {
        text(at.context.map(|context| &*context.name))
    }),
    fact(Id::Rank, "rank", "Rank of the process", |at| {
        number(process(at).and_then(|process| process.rank))
    }),
    fact(Id::Pid, "pid", "Number of the process", |at| {
        number(process(at).map(|process| process.pid))
    }),
    fact(Id::Tid, "tid", "Number of the thread", |at| {
        let thread = at.context.and_then(|context| context.thread);
        number(thread.map(|thread| at.basis.refined.profile.info.threads[thread.index()].tid))
    }),
    fact(Id::Stage, "stage", "The refinement to it", |at| {
        text(at.context.map(|context| &*context.stage))
    }),
    Definition {
        id: Id::Part,
        key: "inclusive",
        heading: heading_of_part,
        unit: Unit::Cost,
        value: |at| at.cost(at.weight().inclusive),
        zero: Zero::DotOnScreen,
        help: "What of all that is shown it had",
        explain: explain::part,
        tone: Tone::Size,
        ..CONTEXT
    },
    Definition {
        id: Id::Imbalance,
        key: "imbalance",
        unit: Unit::Cost,
        value: |at| {
            let balance = at.context.and_then(|context| context.balance(at.number()));
            balance.map_or(Cell::Nothing, |balance| at.cost(balance.imbalance()))
        },
        zero: Zero::Blank,
        help: "What its threads together wait for the one with most, if they wait for each other",
        explain: explain::imbalance,
        ..CONTEXT
    },
    fact(Id::Peer, "peer", "Whether an imbalance is of it and others", |at| {
        at.context.map_or(Cell::Nothing, |context| Cell::Truth(context.is_peer))
    }),
    Definition {
        id: Id::Derived,
        key: "inclusive",
        name: Some("derived"),
        heading: |of| of.of_derived(Cost::Inclusive),
        value: |at| at.computed(Cost::Inclusive),
        help: "A derived metric, of inclusive costs",
        ..DERIVED
    },
    Definition {
        id: Id::DerivedExclusive,
        key: "exclusive",
        name: Some("excl-derived"),
        heading: |of| of.of_derived(Cost::Exclusive),
        value: |at| at.computed(Cost::Exclusive),
        help: "A derived metric, of exclusive costs",
        ..DERIVED
    },
    over_ranks::mean(OVER_RANKS),
    over_ranks::most(OVER_RANKS),
    over_ranks::most_rank(OVER_RANKS),
    over_ranks::least(OVER_RANKS),
    over_ranks::imbalance(OVER_RANKS),
    over_ranks::deviation(OVER_RANKS),
    over_ranks::own_mean(OVER_RANKS),
    over_ranks::own_most(OVER_RANKS),
    over_ranks::own_most_rank(OVER_RANKS),
    over_ranks::own_imbalance(OVER_RANKS),
    Definition {
        id: Id::BaseDerived,
        key: "base",
        name: Some("base-derived"),
        heading: |of| of.of_derived_side("base"),
        value: |at| at.computed_of_side(BASE),
        help: "A derived metric, of BASE",
        explain: explain::derived_of_sides,
        ..DERIVED_OF_SIDE
    },
    Definition {
        id: Id::OtherDerived,
        key: "other",
        name: Some("other-derived"),
        heading: |of| of.of_derived_side("other"),
        value: |at| at.computed_of_side(OTHER),
        help: "A derived metric, of OTHER",
        repeats: Some(Id::BaseDerived),
        ..DERIVED_OF_SIDE
    },
    Definition {
        id: Id::DerivedDelta,
        key: "delta",
        name: Some("derived-delta"),
        heading: |of| match of.basis.form {
            Form::Unicode => of.of_derived_side("Δ"),
            Form::Ascii => of.of_derived_side("delta"),
        },
        value: |at| at.computed_delta(),
        help: "A derived metric, of OTHER - that of BASE",
        repeats: Some(Id::BaseDerived),
        ..DERIVED_OF_SIDE
    },
];

/// What most columns have alike.
const COLUMN: Definition = Definition {
    id: Id::Function,
    key: "",
    name: None,
    group: None,
    lines: Lines::Functions,
    is_in: |_| true,
    heading: |of| of.key.into(),
    unit: Unit::Text,
    value: |_| Cell::Nothing,
    zero: Zero::Number,
    order: Order::None,
    help: "",
    explain: explain::elsewhere,
    repeats: None,
    width: 9,
    tone: Tone::Plain,
};

/// What columns of words have alike.
const FUNCTION: Definition = Definition {
    id: Id::Function,
    key: "function",
    value: |at| text(named(at).map(|function| &*function.name)),
    order: Order::By("name"),
    help: "Function name",
    ..COLUMN
};

/// What shares have alike.
const SHARE: Definition =
    Definition { unit: Unit::Share, zero: Zero::DotOnScreen, tone: Tone::Heat, ..COLUMN };

/// What strips have alike.
const STRIP: Definition =
    Definition { unit: Unit::Strip, value: |at| at.strip(), explain: explain::spread, ..COLUMN };

/// What costs of comparisons have alike.
const SIDE: Definition = Definition { lines: Lines::OfBoth, unit: Unit::Compared, ..COLUMN };

/// What columns over the ranks of a sum have alike.
const OVER_RANKS: Definition = Definition {
    unit: Unit::OverRanks,
    is_in: |basis| basis.is_sum(),
    explain: explain::over_ranks,
    ..COLUMN
};

/// What tells one process or thread from another.
const fn fact(
    id: Id,
    key: &'static str,
    help: &'static str,
    value: for<'r> fn(&At<'r>) -> Cell<'r>,
) -> Definition {
    Definition { id, key, help, value, ..CONTEXT }
}

/// What columns of processes and threads have alike.
const CONTEXT: Definition = Definition { lines: Lines::Contexts, ..COLUMN };

/// What columns of derived metrics have alike.
const DERIVED: Definition = Definition {
    unit: Unit::Derived,
    order: Order::Derived,
    explain: explain::derived,
    width: 9,
    ..COLUMN
};

/// What derived metrics of comparisons have alike.
const DERIVED_OF_SIDE: Definition =
    Definition { lines: Lines::OfBoth, unit: Unit::Derived, ..COLUMN };

/// What edge counts of one side have alike.
const EDGES_OF_SIDE: Definition = Definition {
    key: "edges",
    unit: Unit::Edges,
    order: Order::None,
    repeats: Some(Id::EdgesOfBoth),
    ..SIDE
};

const _: () = {
    let mut number = 0;
    while number < DEFINITIONS.len() {
        assert!(DEFINITIONS[number].id as usize == number);
        number += 1;
    }
    assert!(DEFINITIONS.len() == Id::DerivedDelta as usize + 1);
};

/// Whether the sides are runs. Of one run at two moments, what was there before is on both.
fn are_runs(basis: &Basis<'_>) -> bool {
    basis.moments().is_none()
}

fn text(text: Option<&str>) -> Cell<'_> {
    text.map_or(Cell::Nothing, Cell::Text)
}

fn number(number: Option<u32>) -> Cell<'static> {
    number.map_or(Cell::Nothing, |number| Cell::Count(number.into()))
}

fn process<'r>(at: &At<'r>) -> Option<&'r Process> {
    at.context.map(|context| &at.basis.refined.profile.info.processes[context.process.index()])
}

fn function<'r>(at: &At<'r>) -> Option<&'r Function> {
    at.basis.refined.functions.get(at.row.function.index())
}

/// The function whose name machines get: that of the profile, where a row is an address in it.
fn named<'r>(at: &At<'r>) -> Option<&'r Function> {
    let profile = &at.basis.refined.profile;
    let frame = at.row.frame.filter(|_| at.basis.addresses);
    let loaded = frame.and_then(|frame| profile.frames.get(frame.index()));
    match loaded {
        Some(frame) => profile.functions.get(frame.function.index()),
        None => function(at),
    }
}

fn edges_of_side<'r>(at: &At<'r>, side: usize) -> Cell<'r> {
    let edges = || at.row.sides()[side].edges;
    Cell::Edges(if at.edges_compare() { edges() } else { Edges::None })
}

impl<'r> At<'r> {
    /// How the cost of the row is spread over the ranks of a sum, of the column's metric.
    pub(super) fn of_ranks(&self) -> Option<&'r OfMetric> {
        let over = self.row.over_ranks.as_ref()?;
        match lists::OWN_OVER_RANKS.contains(&self.column.id) {
            true => over.own_of(self.number()),
            false => over.of(self.number()),
        }
    }

    /// A cost over ranks; it is given how much of the unit that is shown a sample is.
    fn over_ranks(&self, value: impl Fn(&OfMetric, f64) -> Option<Value>) -> Cell<'r> {
        let (measure, metric) = (self.basis.measure, self.metric());
        let shown = match measure {
            Measure::Source if metric.is_time() => Shown::Time,
            Measure::Source if metric.unit == "bytes" => Shown::Bytes,
            _ => Shown::Number,
        };
        match self.of_ranks().and_then(|of| value(of, measure.of(1, metric) as f64)) {
            Some(value) => Cell::Derived { value, shown },
            None => Cell::Nothing,
        }
    }
}
