//! The report of a comparison for scripts, as JSON. Keys are stable and only ever added.
//!
//! ```text
//! {"unit", "base": SIDE, "other": SIDE, "delta", "noise", "rows": [ROW]}
//! SIDE = {"file", "command", "source", "period", "period_unit", "lost",
//!         "total", "shown", "out", "samples": {"total", "shown", "out"}}
//! ROW  = {"depth", "function", "module", "file", "line", "kind", "base": COST, "other": COST,
//!         "delta": {"inclusive", "exclusive"}, "noise": {"inclusive", "exclusive"},
//!         "change": "new" | "gone" | "more" | "less" | "same", "significant"}
//! COST = {"inclusive", "exclusive", "edges"}
//! ```
//!
//! Costs are integers in `unit`: `ns` or whatever the metric has, `samples`, or `ppm`, millionths
//! of what the side measured. `total = shown + out`, exactly in `samples` and in amounts.
//! `delta` is OTHER minus BASE, and `noise` two standard deviations of it by sampling, rounded up.
//! `change` and `significant` are about inclusive cost in the top-down view and about exclusive
//! cost in the others. Where callers of deep recursion are too many, `"not_looked_into"` before the
//! rows says at how many rows they were left out. `edges` is as in `csprof report`, and `null` where periods differ.

use std::io::{self, Write};

use serde::Serialize;

use super::super::json::{JsonEdges, Rows, kind};
use super::listing::ForMachines;
use super::{Options, comparison};
use crate::profile::comparison::{BASE, Comparison, OTHER, Scale};
use crate::refine::Refined;
use crate::views::difference::Difference;
use crate::views::printable::command_line;
use crate::views::{Edges, Row, shown_of_sides};

#[derive(Serialize)]
struct Heading<'r> {
    unit: &'r str,
    base: JsonSide<'r>,
    other: JsonSide<'r>,
    delta: i128,
    noise: u128,
    #[serde(skip_serializing_if = "is_none")]
    not_looked_into: usize,
}

/// Whether all rows were looked into.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(rows: &usize) -> bool {
    *rows == 0
}

#[derive(Serialize)]
struct JsonSide<'r> {
    file: &'r str,
    command: String,
    source: &'r str,
    period: u64,
    period_unit: &'r str,
    lost: u64,
    total: u128,
    shown: u128,
    out: u128,
    samples: Samples,
}

#[derive(Serialize)]
struct Samples {
    total: u64,
    shown: u64,
    out: u64,
}

#[derive(Serialize)]
struct JsonRow<'r> {
    depth: u32,
    function: &'r str,
    module: Option<&'r str>,
    file: Option<&'r str>,
    line: Option<u32>,
    kind: &'static str,
    base: Cost,
    other: Cost,
    delta: Pair<i128>,
    noise: Pair<u128>,
    change: &'static str,
    significant: bool,
}

#[derive(Serialize)]
struct Cost {
    inclusive: u128,
    exclusive: u128,
    edges: JsonEdges,
}

#[derive(Serialize)]
struct Pair<T> {
    inclusive: T,
    exclusive: T,
}

/// Numbers as they are written.
pub(super) struct Written<'c>(pub(super) &'c Comparison);

impl Written<'_> {
    pub(super) fn unit(&self) -> &str {
        match self.0.scale {
            Scale::Amount => &self.0.sides[BASE].metric.unit,
            Scale::Samples => "samples",
            Scale::Share => "ppm",
        }
    }

    pub(super) fn amount(&self, side: usize, samples: u64) -> u128 {
        let Comparison { sides, scale, .. } = self.0;
        let samples = u128::from(samples);
        match scale {
            Scale::Amount => samples * u128::from(sides[side].metric.period),
            Scale::Samples => samples,
            Scale::Share => {
                let total = u128::from(sides[side].total.max(1));
                (samples * 1_000_000 + total / 2) / total
            }
        }
    }

    /// The difference of the two numbers as they are written, so that they add up.
    pub(super) fn delta(&self, samples: [u64; 2]) -> i128 {
        let of =
            |side: usize| i128::try_from(self.amount(side, samples[side])).unwrap_or(i128::MAX);
        of(OTHER) - of(BASE)
    }

    pub(super) fn noise(&self, samples: [u64; 2]) -> u128 {
        let unit = match self.0.scale {
            Scale::Share => self.0.unit() / 10_000.0,
            Scale::Amount | Scale::Samples => self.0.unit(),
        };
        (self.0.noise(samples) / unit).ceil() as u128
    }
}

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(refined: &Refined<'_>, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let comparison = comparison(refined);
    let written = Written(comparison);
    let shown = shown_of_sides(refined);
    let side = |side: usize| {
        let of = &comparison.sides[side];
        let (total, shown) = (of.total, shown[side]);
        JsonSide {
            file: &of.name,
            command: command_line(&of.run.command),
            source: &of.metric.source,
            period: of.metric.period,
            period_unit: &of.metric.unit,
            lost: of.lost,
            total: written.amount(side, total),
            shown: written.amount(side, shown),
            out: written.amount(side, total) - written.amount(side, shown),
            samples: Samples { total, shown, out: total - shown },
        }
    };
    let rows = ForMachines::new(refined, options);
    let heading = Heading {
        unit: written.unit(),
        base: side(BASE),
        other: side(OTHER),
        delta: written.delta(shown),
        noise: written.noise(shown),
        not_looked_into: rows.not_looked_into(),
    };
    let mut written = Rows::begin(&heading, out)?;
    rows.each(|of, depth| written.write(&row(refined, options, of, depth)))?;
    written.end()
}

fn row<'r>(refined: &'r Refined<'_>, options: &Options, of: &Row, depth: u32) -> JsonRow<'r> {
    let profile = refined.profile;
    let comparison = comparison(refined);
    let written = Written(comparison);
    let function = &refined.functions[of.function.index()];
    let sides = of.sides();
    let [inclusive, exclusive] =
        [sides.map(|counts| counts.inclusive), sides.map(|counts| counts.exclusive)];
    let cost = |side: usize| Cost {
        inclusive: written.amount(side, inclusive[side]),
        exclusive: written.amount(side, exclusive[side]),
        edges: if comparison.same_period() { sides[side].edges } else { Edges::None }.into(),
    };
    let about = Difference::new(comparison, options.samples(of));
    JsonRow {
        depth,
        function: &function.name,
        module: function.module.map(|module| profile.module_path(module)),
        file: function.file.map(|file| profile.string(file)),
        line: (function.line > 0).then_some(function.line),
        kind: kind(of.kind),
        base: cost(BASE),
        other: cost(OTHER),
        delta: Pair { inclusive: written.delta(inclusive), exclusive: written.delta(exclusive) },
        noise: Pair { inclusive: written.noise(inclusive), exclusive: written.noise(exclusive) },
        change: about.change().word(),
        significant: about.is_significant(),
    }
}
