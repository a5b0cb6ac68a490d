//! The report for scripts, as JSON. Keys are stable and only ever added.
//!
//! ```text
//! {"metric", "unit", "period", "refined", "base", "shown", "out", "rows": [
//!     {"depth", "function", "module", "file", "line", "kind", "inclusive", "exclusive", "edges",
//!      "address"}]}
//! ```
//!
//! Integers throughout, in units of the metric; `base = shown + out`; rows in the order of display,
//! one on each line. `refined` is the refinement, with the stages that the profile was saved with;
//! it is there if there is one. `edges` is a number where it is exact, `[low, high]` where it is
//! known between bounds, and `null` where there is no such count. `module`, `file` and `line` are
//! `null` where they are unknown. `address` is the offset in the module that all calls and samples
//! of a row have, of calls that of the return address; `null` where they have several. `kind` is
//! the word of its [kind](crate::profile::KindDefinition::reported). With `--addresses`,
//! `build_id`, `call_file` and `call_line` follow; with `--spread`, `spread`: inclusive cost of
//! ranks, processes or threads in their order, of each of eight cells at most the one with most;
//! `null` where there are no peers, or none has any of it. Who they are stands before the rows:
//! `"spread": {"over", "process", "others", "peers"}`; `process` is theirs where they are threads,
//! that with most of them, and `others` how many other processes have several. Where there are
//! phases or slices of time, `over_phases` follows: inclusive cost of each in the order in which
//! they began, of each of twelve cells at most the one with most; what is in none is left out.
//! Before the rows, it is the list of what they are called, `phase NAME`. Where fewer than two have
//! samples, it is `null`, and there is no list.
//!
//! Of a profile of several metrics, all this is about one of them, and there are further keys:
//! `"metrics": [{"name", "unit", "period", "base", "shown", "out"}]` before the rows, and in each
//! row `"metrics": {NAME: {"inclusive", "exclusive"}}`, both of every metric. Where samples are
//! counted, they are so of all. A row with nothing of the first metric may have samples of others.
//!
//! Where there are derived metrics, `"derived": [{"name", "formula", "unit"}]` comes before the
//! rows, and in each row `"derived": {NAME: {"inclusive", "exclusive"}}`: what the formula makes of
//! amounts of metrics in their units, also where samples are counted or the formula is shown in
//! percent. A value is a number, `[low, high]` where the edge count it is made of has bounds, and
//! `null` where a divisor is or may be 0, or there is no edge count. `unit` is `ns`, `bytes`, or
//! empty.

use std::io::{self, Write};

use csprof_format::profile::Metric;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::for_machines::ForMachines;
use super::{Options, several};
use crate::profile::derived::Derived;
use crate::refine::Refined;
use crate::views::StripKind;
use crate::views::columns::{AnyRow, Basis, Column, Plain};
use crate::views::number::hex;
use crate::views::strips::{Strips, StripsOver};

/// Everything before the rows.
#[derive(Serialize)]
pub(super) struct Heading<'r> {
    metric: &'r str,
    unit: &'r str,
    /// Amount of the sample source's metric, in its own unit, that one sample stands for.
    period: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    refined: Option<&'r str>,
    base: u128,
    shown: u128,
    out: u128,
    /// Of the processes, where they are the rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    imbalance: Option<u128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peers: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spread: Option<SpreadOver>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    over_phases: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    metrics: Vec<JsonMetric<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    derived: Vec<JsonDerived<'r>>,
}

impl Heading<'_> {
    /// The same of rows that have no derived metrics.
    pub(super) fn without_derived(self) -> Self {
        Self { derived: Vec::new(), ..self }
    }
}

/// One of the derived metrics.
#[derive(Serialize)]
pub(super) struct JsonDerived<'r> {
    name: &'r str,
    formula: &'r str,
    unit: &'r str,
}

impl<'r> JsonDerived<'r> {
    /// All those of a profile.
    pub(super) fn of(refined: &'r Refined) -> Vec<Self> {
        let of = |Derived { name, formula, shown, .. }: &'r Derived| Self {
            name,
            formula,
            unit: shown.unit(),
        };
        refined.profile.derived.iter().map(of).collect()
    }
}

/// Over whom the column `spread` is.
#[derive(Serialize)]
struct SpreadOver {
    over: &'static str,
    process: Option<String>,
    others: usize,
    peers: usize,
}

impl SpreadOver {
    fn of(strips: &StripsOver) -> Self {
        let process = strips.process().map(str::to_owned);
        let others = strips.others();
        Self { over: strips.noun(), process, others, peers: strips.peers() }
    }
}

/// One of several metrics.
#[derive(Serialize)]
struct JsonMetric<'r> {
    name: &'r str,
    unit: &'r str,
    period: u64,
    base: u128,
    shown: u128,
    out: u128,
}

/// One row.
pub(super) struct JsonRow<'b> {
    pub(super) basis: &'b Basis<'b>,
    /// Those of the row, of each metric, and of each derived one.
    pub(super) columns: &'b [Vec<Column>; 3],
    pub(super) row: AnyRow<'b>,
    /// Its level; lists of lines have none.
    pub(super) depth: Option<u32>,
}

impl Serialize for JsonRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [of_row, of_metrics, of_derived] = self.columns;
        let mut map = serializer.serialize_map(None)?;
        if let Some(depth) = self.depth {
            map.serialize_entry("depth", &depth)?;
        }
        self.members(of_row, &mut map)?;
        for (key, columns) in [("metrics", of_metrics), ("derived", of_derived)] {
            if !columns.is_empty() {
                map.serialize_entry(key, &Members { row: self, columns, is_group: false })?;
            }
        }
        map.end()
    }
}

impl JsonRow<'_> {
    /// Writes columns, those of one group as an object.
    fn members<M: SerializeMap>(&self, columns: &[Column], map: &mut M) -> Result<(), M::Error> {
        let group = |column: &Column| column.key(self.basis).0;
        for columns in columns.chunk_by(|a, b| group(a) == group(b)) {
            if let Some(group) = group(&columns[0]) {
                map.serialize_entry(group, &Members { row: self, columns, is_group: true })?;
                continue;
            }
            self.values(columns, map)?;
        }
        Ok(())
    }

    fn values<M: SerializeMap>(&self, columns: &[Column], map: &mut M) -> Result<(), M::Error> {
        columns.iter().try_for_each(|column| {
            let value = JsonValue(column.value(self.basis, self.row).plain());
            map.serialize_entry(column.key(self.basis).1, &value)
        })
    }
}

/// Some columns as an object; in it those of one group are another, unless they are one group.
struct Members<'b> {
    row: &'b JsonRow<'b>,
    columns: &'b [Column],
    is_group: bool,
}

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.is_group {
            true => self.row.values(self.columns, &mut map)?,
            false => self.row.members(self.columns, &mut map)?,
        }
        map.end()
    }
}

/// What a cell is.
pub(crate) struct JsonValue<'r>(pub(crate) Plain<'r>);

impl Serialize for JsonValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Plain::Nothing => serializer.serialize_none(),
            Plain::Text(text) => serializer.serialize_str(text),
            Plain::Bytes(bytes) => serializer.serialize_str(&hex(bytes)),
            Plain::Truth(truth) => serializer.serialize_bool(truth),
            Plain::Natural(n) => serializer.serialize_u128(n),
            Plain::Integer(n) => serializer.serialize_i128(n),
            Plain::Real(n) => serializer.serialize_f64(n),
            Plain::Bounds(low, high) if low == high => serializer.serialize_u64(low),
            Plain::Bounds(low, high) => [low, high].serialize(serializer),
            Plain::Between(low, high) => [low, high].serialize(serializer),
            Plain::Naturals(numbers, unit) => {
                serializer.collect_seq(numbers.iter().map(|&n| u128::from(n) * unit))
            }
        }
    }
}

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(refined: &Refined, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let basis = options.basis_for_machines(refined);
    let columns = basis.for_machines(options.view.cost());
    let mut rows = JsonRows::begin(&heading(refined, options, None), out)?;
    ForMachines::new(refined, options).each(|row, depth| {
        let row = row.into();
        rows.write(&JsonRow { basis: &basis, columns: &columns, row, depth: Some(depth) })
    })?;
    rows.end()
}

/// An object with `rows` behind its other members, one on each line, written one by one.
pub(super) struct JsonRows<'o, W> {
    out: &'o mut W,
    is_first: bool,
}

impl<'o, W: Write> JsonRows<'o, W> {
    pub(super) fn begin(object: &impl Serialize, out: &'o mut W) -> io::Result<Self> {
        let members = serde_json::to_string(object)?;
        // The closing brace comes after the rows.
        write!(out, "{},\"rows\":[", members.strip_suffix('}').unwrap_or(&members))?;
        Ok(Self { out, is_first: true })
    }

    pub(super) fn write(&mut self, row: &impl Serialize) -> io::Result<()> {
        self.out.write_all(if self.is_first { b"\n" } else { b",\n" })?;
        self.is_first = false;
        Ok(serde_json::to_writer(&mut *self.out, row)?)
    }

    pub(super) fn end(self) -> io::Result<()> {
        writeln!(self.out, "\n]}}")
    }
}

/// What stands before the rows.
pub(super) fn heading<'r>(
    refined: &'r Refined,
    options: &'r Options,
    imbalance: Option<(u128, u64)>,
) -> Heading<'r> {
    let measure = options.measure.unwrap_or_default();
    let looked_at = refined.looked_at();
    let of = |samples| measure.of(samples, looked_at);
    let account = |(number, metric): (_, &'r Metric)| {
        let (base, shown) = refined.account_of(number);
        JsonMetric {
            name: &metric.source,
            unit: measure.unit(metric),
            period: metric.period,
            base: measure.of(base, metric),
            shown: measure.of(shown, metric),
            out: measure.of(base - shown, metric),
        }
    };
    let strips = options.spread.then(|| Strips::of(refined)).flatten();
    let over = |kind| strips.as_ref().and_then(|strips| strips.of_kind(kind));
    Heading {
        metric: measure.name(looked_at),
        unit: measure.unit(looked_at),
        period: looked_at.period,
        refined: options.refinement.as_deref(),
        base: of(refined.base),
        shown: of(refined.shown),
        out: of(refined.out),
        imbalance: imbalance.map(|(imbalance, _)| imbalance),
        peers: imbalance.map(|(_, peers)| peers),
        spread: over(StripKind::Peers).map(SpreadOver::of),
        over_phases: over(StripKind::Phases)
            .map_or_else(Vec::new, |phases| phases.labels().map(str::to_owned).collect()),
        metrics: several(refined).into_iter().map(account).collect(),
        derived: JsonDerived::of(refined),
    }
}
