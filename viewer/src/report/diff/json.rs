//! The report of a comparison for scripts, as JSON. Keys are stable and only ever added.
//!
//! ```text
//! {"unit", "refined", "base": SIDE, "other": SIDE, "delta", "noise", "rows": [ROW]}
//! With several runs of a side also {"low", "high", "noise_by"}, in SIDE {"runs", "deviation"}, and
//! in ROW {"low", "high"}: {"inclusive", "exclusive"}. With scaling {"scaling", "workers",
//! "expected"}, and in ROW {"expected", "loss_percent"}: {"inclusive", "exclusive"}.
//! Where formulas are computed, {"derived": [{"name", "formula", "unit"}]}, and in ROW {"derived":
//! {NAME: {"base", "other", "delta", "excl_base", "excl_other", "excl_delta"}}}, null or [low,
//! high] where a value is not known or lies between bounds.
//! SIDE = {"file", "command", "source", "period", "period_unit", "lost",
//!         "total", "shown", "out", "samples": {"total", "shown", "out"}}
//! ROW  = {"depth", "function", "module", "file", "line", "kind", "base": COST, "other": COST,
//!         "delta": {"inclusive", "exclusive"}, "noise": {"inclusive", "exclusive"},
//!         "change": "new" | "gone" | "more" | "less" | "same", "significant"}
//! COST = {"inclusive", "exclusive", "edges"}
//! ```
//!
//! `refined` is the refinement, with the stages that the profiles were saved with, if there is one.
//! Costs are integers in `unit`: `ns` or whatever the metric has, `samples`, or `ppm`, millionths
//! of what the side measured; means of counts have decimals, as many as tell two of them apart.
//! `total = shown + out`, exactly in `samples` and in amounts.
//! `delta` is OTHER minus BASE, and `noise` two standard deviations of it by sampling, rounded up.
//! `change` and `significant` are about exclusive cost in views of functions and their callers, and
//! about inclusive cost in the others. Of several runs costs are means per run, rounded, `samples`
//! and `edges` those of all runs, and `noise` is half the interval from `low` to `high`, both
//! rounded outward, in which the true difference is in 95 of 100 cases; `runs` are {"file",
//! "samples", "shown"}, the latter after the refinement; `noise_by` is `welch`, or `one-sided`
//! where one side has a single run. `expected` is what OTHER should cost, and `delta` then OTHER
//! minus that. Where callers of deep recursion are too many, `"not_looked_into"` before the rows
//! says at how many rows they were left out. `edges` is as in `csprof report`, and `null` where
//! periods or numbers of runs differ.

use std::io::{self, Write};

use serde::Serialize;

use super::super::for_machines::ForMachines;
use super::super::json::{JsonDerived, JsonRow, JsonRows, JsonValue};
use super::{Options, comparison, shown_of_runs_of, total};
use crate::profile::comparison::{BASE, Method, OTHER};
use crate::refine::Refined;
use crate::views::columns::{Basis, Plain};
use crate::views::difference::{Difference, unit};
use crate::views::printable::command_line;

#[derive(Serialize)]
struct Heading<'r> {
    unit: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    refined: Option<&'r str>,
    base: JsonSide<'r>,
    other: JsonSide<'r>,
    delta: JsonValue<'r>,
    noise: JsonValue<'r>,
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<JsonValue<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<JsonValue<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    noise_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scaling: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workers: Option<[u32; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<JsonValue<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    derived: Vec<JsonDerived<'r>>,
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
    total: JsonValue<'r>,
    shown: JsonValue<'r>,
    out: JsonValue<'r>,
    samples: Samples,
    #[serde(skip_serializing_if = "Option::is_none")]
    deviation: Option<JsonValue<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    runs: Vec<Run<'r>>,
}

#[derive(Serialize)]
struct Run<'r> {
    file: &'r str,
    samples: u64,
    shown: u64,
}

#[derive(Serialize)]
struct Samples {
    total: u64,
    shown: u64,
    out: u64,
}

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(refined: &Refined, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let comparison = comparison(refined);
    let shown = total(refined);
    let all = Difference::new(comparison, comparison.sides.each_ref().map(|side| side.total));
    let value = |number: i128| JsonValue(Plain::of_difference(&shown, number));
    let natural = |number: u128| JsonValue(Plain::of_difference(&shown, number));
    let side = |side: usize| {
        let of = &comparison.sides[side];
        let [total_samples, shown_samples] = [all, shown].map(|of| of.samples()[side]);
        let [total, shown_amount] = [all, shown].map(|of| of.plain_amount(side));
        JsonSide {
            file: &of.name,
            command: command_line(&of.run.command),
            source: &of.metric.source,
            period: of.metric.period,
            period_unit: &of.metric.unit,
            lost: of.lost,
            total: natural(total),
            shown: natural(shown_amount),
            out: natural(total - shown_amount),
            samples: Samples {
                total: total_samples,
                shown: shown_samples,
                out: total_samples - shown_samples,
            },
            deviation: shown.plain_deviation(side).map(natural),
            runs: match &of.runs[..] {
                [_] => Vec::new(),
                runs => {
                    let shown = shown_of_runs_of(refined, side);
                    let each = runs.iter().zip(shown);
                    let each =
                        each.map(|(run, shown)| Run { file: &run.name, samples: run.total, shown });
                    each.collect()
                }
            },
        }
    };
    let rows = ForMachines::new(refined, options);
    let ([low, high], several) = (shown.plain_interval(), comparison.has_several_runs());
    let heading = Heading {
        unit: unit(comparison),
        refined: options.refinement.as_deref(),
        base: side(BASE),
        other: side(OTHER),
        delta: value(shown.plain_delta()),
        noise: natural(shown.plain_noise()),
        low: several.then(|| value(low)),
        high: several.then(|| value(high)),
        noise_by: match shown.method() {
            Method::Sampling => None,
            Method::Welch(_) => Some("welch"),
            Method::OneSided { .. } => Some("one-sided"),
        },
        scaling: comparison.scaling.map(|scaling| scaling.kind.name()),
        workers: comparison.scaling.map(|scaling| scaling.workers),
        expected: comparison.scaling.map(|_| natural(shown.plain_expected())),
        derived: JsonDerived::of(refined),
        not_looked_into: rows.not_looked_into(),
    };
    let mut written = JsonRows::begin(&heading, out)?;
    let basis = Basis::new(refined);
    let columns = basis.for_machines(options.view.cost());
    rows.each(|row, depth| {
        let row = row.into();
        written.write(&JsonRow { basis: &basis, columns: &columns, row, depth: Some(depth) })
    })?;
    written.end()
}
