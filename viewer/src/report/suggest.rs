//! [`views::suggest`](crate::views::suggest) as text and JSON.
//!
//! ```text
//! {"metric", "unit", "period", "samples": {"total", "shown", "out"}, "more", "cut",
//!  "suggestions": [{"why", "reason", "part", "inclusive", "exclusive", "path": [NAME], "refine"}]}
//! ```
//!
//! Parts add up to no more than `shown`. Costs are samples; of a comparison `part` and `inclusive`
//! are `[BASE, OTHER]`, and there is no `exclusive`. `refine` is a stage, `null` without functions.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::text::{account_for, path_of};
use super::{Options, diff};
use crate::refine::{Refined, unwatched};
use crate::views::Cost;
use crate::views::number::{Form, amount, percent};
use crate::views::suggest::{LEAST, MOST, Suggestion, suggestions};

/// Writes the list for people.
///
/// # Errors
/// Those of `out`.
pub fn text(refined: &Refined, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let form = options.form();
    let comparison = refined.profile.comparison.as_deref();
    if comparison.is_some() {
        diff::text::heading(refined, options, form, out)?;
    } else if !account_for(refined, options, form, out)? {
        return Ok(());
    }
    let found = unwatched(|watch| suggestions(refined, MOST, watch));
    if found.list.is_empty() {
        writeln!(out, "Nothing stands out: no path has {LEAST}% for one of the reasons.")?;
    }
    for (entry, number) in found.list.iter().zip(1..) {
        let part = match comparison {
            Some(comparison) => entry.difference(comparison).delta(form),
            None => format!(
                "{}, {}%",
                amount(entry.part[0], refined.looked_at(), form),
                percent(entry.part[0], refined.base)
            ),
        };
        writeln!(out, "{number:>2}. {part}: {}", entry.reason(refined, form))?;
        writeln!(out, "    {}", path_of(refined, &entry.rows, form))?;
    }
    if comparison.is_none() && !found.list.is_empty() {
        let sum = found.list.iter().map(|entry| entry.part[0]).sum();
        writeln!(out, "\nTogether {}%; no sample counts twice.", percent(sum, refined.base))?;
    }
    if found.more > 0 {
        writeln!(out, "Left out: {} more with smaller parts.", found.more)?;
    }
    if found.is_cut {
        writeln!(out, "Not looked into: what is below some rows, for there are too many.")?;
    }
    Ok(())
}

/// Writes the list for scripts.
///
/// # Errors
/// Those of `out`.
pub fn json(refined: &Refined, out: &mut impl Write) -> io::Result<()> {
    let found = unwatched(|watch| suggestions(refined, MOST, watch));
    let compared = refined.profile.comparison.is_some();
    let entry = |entry: &Suggestion| {
        let row = entry.row();
        let names = entry.rows.iter().map(|row| &*refined.functions[row.function.index()].name);
        let mut value = json!({
            "why": entry.why.key(),
            "reason": entry.reason(refined, Form::Unicode),
            "path": names.collect::<Vec<&str>>(),
            "refine": entry.stage(refined),
        });
        if compared {
            value["part"] = json!(entry.part);
            value["inclusive"] = json!(Cost::Inclusive.of_sides(row));
        } else {
            let weight = row.of(refined.metric);
            value["part"] = json!(entry.part[0]);
            value["inclusive"] = json!(weight.inclusive);
            value["exclusive"] = json!(weight.exclusive);
        }
        value
    };
    let metric = refined.looked_at();
    let all = json!({
        "metric": metric.source,
        "unit": metric.unit,
        "period": metric.period,
        "samples": {"total": refined.base, "shown": refined.shown, "out": refined.out},
        "more": found.more,
        "cut": found.is_cut,
        "suggestions": found.list.iter().map(entry).collect::<Vec<Value>>(),
    });
    serde_json::to_writer_pretty(&mut *out, &all)?;
    writeln!(out)
}
