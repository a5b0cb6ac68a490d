//! The report for scripts, as JSON. Keys are stable and only ever added.
//!
//! `{"metric", "unit", "period", "base", "shown", "out", "rows": [{"depth", "function", "module",
//! "file", "line", "kind", "inclusive", "exclusive", "edges"}]}`: integers throughout, in units of
//! the metric; `base = shown + out`; rows in the order of display, one on each line. `edges` is a
//! number where it is exact, `[low, high]` where it is known between bounds, and `null` where there
//! is no such count. `module`, `file` and `line` are `null` where they are unknown.
//!
//! Of a profile of several metrics, all this is about one of them, and there are further keys:
//! `"metrics": [{"name", "unit", "period", "base", "shown", "out"}]` before the rows, and in each row
//! `"metrics": {NAME: {"inclusive", "exclusive"}}`, both of every metric. Where samples are counted,
//! they are so of all. A row with nothing of the first metric may have samples of others.

use std::io::{self, Write};

use csprof_format::profile::Metric;
use serde::{Serialize, Serializer};

use super::listing::each;
use super::{Measure, Options, several};
use crate::profile::FrameKind;
use crate::refine::Refined;
use crate::views::{Edges, Row, Share};

/// Everything before the rows.
#[derive(Serialize)]
pub(super) struct Heading<'r> {
    metric: &'r str,
    unit: &'r str,
    /// Amount of the sample source's metric, in its own unit, that one sample stands for.
    period: u64,
    base: u128,
    shown: u128,
    out: u128,
    /// Of the processes, where they are the rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    imbalance: Option<u128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peers: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    metrics: Vec<JsonMetric<'r>>,
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

/// What a row has of each metric, by name; nothing where there is one metric.
pub(super) struct ByMetric<'r, T>(pub(super) Vec<(&'r str, T)>);

impl<T> ByMetric<'_, T> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Serialize> Serialize for ByMetric<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

#[derive(Serialize)]
struct JsonShare {
    inclusive: u128,
    exclusive: u128,
}

/// One row.
#[derive(Serialize)]
struct JsonRow<'r> {
    depth: u32,
    function: &'r str,
    module: Option<&'r str>,
    file: Option<&'r str>,
    line: Option<u32>,
    kind: &'static str,
    inclusive: u128,
    exclusive: u128,
    edges: JsonEdges,
    #[serde(skip_serializing_if = "ByMetric::is_empty")]
    metrics: ByMetric<'r, JsonShare>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum JsonEdges {
    None,
    Exact(u64),
    Bounds([u64; 2]),
}

impl From<Edges> for JsonEdges {
    fn from(edges: Edges) -> Self {
        match edges {
            Edges::None => Self::None,
            Edges::Range { low, high } if low == high => Self::Exact(low),
            Edges::Range { low, high } => Self::Bounds([low, high]),
        }
    }
}

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(refined: &Refined<'_>, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let measure = options.measure.unwrap_or_default();
    let mut rows = Rows::begin(&heading(refined, measure, None), out)?;
    each(refined, options, |line, depth| rows.write(&row(refined, measure, depth, line)))?;
    rows.end()
}

/// An object with `rows` behind its other members, one on each line, written one by one.
pub(super) struct Rows<'o, W> {
    out: &'o mut W,
    is_first: bool,
}

impl<'o, W: Write> Rows<'o, W> {
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

/// Writes an object with all its rows.
pub(super) fn write_with_rows(
    object: &impl Serialize,
    rows: impl Iterator<Item: Serialize>,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut written = Rows::begin(object, out)?;
    rows.into_iter().try_for_each(|row| written.write(&row))?;
    written.end()
}

/// What stands before the rows.
pub(super) fn heading<'r>(
    refined: &'r Refined<'_>,
    measure: Measure,
    imbalance: Option<(u128, usize)>,
) -> Heading<'r> {
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
    Heading {
        metric: measure.name(looked_at),
        unit: measure.unit(looked_at),
        period: looked_at.period,
        base: of(refined.base),
        shown: of(refined.shown),
        out: of(refined.out),
        imbalance: imbalance.map(|(imbalance, _)| imbalance),
        peers: imbalance.map(|(_, peers)| peers),
        metrics: several(refined).into_iter().map(account).collect(),
    }
}

fn row<'r>(refined: &'r Refined<'_>, measure: Measure, depth: u32, row: &Row) -> JsonRow<'r> {
    let (profile, looked_at) = (refined.profile, refined.looked_at());
    let function = &refined.functions[row.function.index()];
    let share = |(share, (_, metric)): (&Share, (_, &'r Metric))| {
        let of = |samples| measure.of(samples, metric);
        let share = JsonShare { inclusive: of(share.inclusive), exclusive: of(share.exclusive) };
        (&metric.source[..], share)
    };
    JsonRow {
        depth,
        function: &function.name,
        module: function.module.map(|module| profile.module_path(module)),
        file: function.file.map(|file| profile.string(file)),
        line: (function.line > 0).then_some(function.line),
        kind: kind(row.kind),
        inclusive: measure.of(row.inclusive, looked_at),
        exclusive: measure.of(row.exclusive, looked_at),
        edges: row.edges.into(),
        metrics: ByMetric(row.further.iter().zip(profile.metrics()).map(share).collect()),
    }
}

/// The word for a kind of frame. Code without a name was called like any other.
#[must_use]
pub fn kind(kind: FrameKind) -> &'static str {
    match kind {
        FrameKind::Call | FrameKind::Unknown => "call",
        FrameKind::Inline => "inline",
        FrameKind::Partial => "partial",
        FrameKind::Root => "root",
        FrameKind::Context => "context",
    }
}
