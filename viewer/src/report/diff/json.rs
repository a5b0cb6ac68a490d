//! The report of a comparison for scripts, as JSON. Keys are stable and only ever added.
//!
//! ```text
//! {"unit", "refined", "base": SIDE, "other": SIDE, "delta", "noise", "rows": [ROW]}
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
//! of what the side measured. `total = shown + out`, exactly in `samples` and in amounts.
//! `delta` is OTHER minus BASE, and `noise` two standard deviations of it by sampling, rounded up.
//! `change` and `significant` are about exclusive cost in views of functions and their callers, and
//! about inclusive cost in the others. Where callers of deep recursion are too many,
//! `"not_looked_into"` before the rows says at how many rows they were left out. `edges` is as in
//! `csprof report`, and `null` where periods differ.

use std::io::{self, Write};

use serde::Serialize;

use super::super::for_machines::ForMachines;
use super::super::json::{JsonRow, JsonRows};
use super::{Options, comparison, total};
use crate::profile::comparison::{BASE, OTHER};
use crate::refine::Refined;
use crate::views::columns::Basis;
use crate::views::difference::{Difference, unit};
use crate::views::printable::command_line;

#[derive(Serialize)]
struct Heading<'r> {
    unit: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    refined: Option<&'r str>,
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

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(refined: &Refined, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let comparison = comparison(refined);
    let shown = total(refined);
    let all = Difference::new(comparison, comparison.sides.each_ref().map(|side| side.total));
    let side = |side: usize| {
        let of = &comparison.sides[side];
        let [total_samples, shown_samples] = [all, shown].map(|of| of.samples()[side]);
        let [total, shown] = [all, shown].map(|of| of.plain_amount(side));
        JsonSide {
            file: &of.name,
            command: command_line(&of.run.command),
            source: &of.metric.source,
            period: of.metric.period,
            period_unit: &of.metric.unit,
            lost: of.lost,
            total,
            shown,
            out: total - shown,
            samples: Samples {
                total: total_samples,
                shown: shown_samples,
                out: total_samples - shown_samples,
            },
        }
    };
    let rows = ForMachines::new(refined, options);
    let heading = Heading {
        unit: unit(comparison),
        refined: options.refinement.as_deref(),
        base: side(BASE),
        other: side(OTHER),
        delta: shown.plain_delta(),
        noise: shown.plain_noise(),
        not_looked_into: rows.not_looked_into(),
    };
    let mut written = JsonRows::begin(&heading, out)?;
    let basis = Basis::new(refined);
    let columns = basis.for_machines(options.view.cost());
    rows.each(|row, depth| {
        let row = row.into();
        written.write(&JsonRow { basis: &basis, columns: &columns, row, depth })
    })?;
    written.end()
}
