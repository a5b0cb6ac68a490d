//! An outline of a comparison in Markdown, for a pull request: at most some twenty lines.
//!
//! Rows are those of [`views::suggest`](crate::views::suggest), so no sample is in two of them.

use std::io::{self, Write};

use super::super::markdown::code;
use super::super::text::path_of;
use super::{Options, comparison, noise_by, total};
use crate::profile::comparison::{BASE, Method, OTHER, Scale, Scaling};
use crate::refine::{Refined, unwatched};
use crate::views::difference::{Change, Difference, unrelated};
use crate::views::suggest::{LEAST, MOST, suggestions};

/// Writes the outline.
///
/// # Errors
/// Those of `out`.
pub fn write(refined: &Refined, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let form = options.form();
    let comparison = comparison(refined);
    let all = total(refined);
    let verdict = match (all.change(), all.is_significant()) {
        (Change::Same, _) => "no difference".to_owned(),
        (_, is_significant) => format!(
            "{}{} ({}), {} by {}: {}",
            all.delta(form),
            all.unit_behind(),
            all.growth_with_unit(form),
            all.noise(form),
            match all.method() {
                Method::Sampling | Method::OneSided { is_of_sampling: true, .. } => "sampling",
                Method::Welch(_) | Method::OneSided { .. } => "the spread between runs",
            },
            if is_significant { "**more than noise**" } else { "within noise" }
        ),
    };
    let other = all.amount(OTHER, form);
    let is_scaled = comparison.scaling.is_some();
    // What OTHER is compared with.
    let base =
        |of: &Difference<'_>| if is_scaled { of.expected(form) } else { of.amount(BASE, form) };
    let [before, after] = if is_scaled { ["expected", "measured"] } else { ["before", "after"] };
    let source = code(&comparison.sides[BASE].metric.source);
    let source = match comparison.scale {
        Scale::Amount => source,
        Scale::Samples => format!("Samples of {source}"),
        Scale::Share => format!("{source} in % of all"),
    };
    let before_all = base(&all);
    writeln!(out, "**{source}: {before_all} {before}, {other} {after}**: {verdict}\n")?;
    if let Some(Scaling { kind, workers: [base, other] }) = comparison.scaling {
        writeln!(
            out,
            "Loss by {} scaling from {base} to {other} ranks or threads.\n",
            kind.name()
        )?;
    }
    if let Some(doubt) = unrelated(&refined.profile) {
        writeln!(out, "{}\n", code(&doubt))?;
    }
    if let Some(refinement) = &options.refinement {
        writeln!(out, "Refined: {}\n", code(refinement))?;
    }
    let found = unwatched(|watch| suggestions(refined, MOST, watch));
    if found.list.is_empty() {
        writeln!(out, "No path differs by more than noise and {LEAST}% of all.")?;
    } else {
        let difference = if is_scaled { "loss" } else { "difference" };
        writeln!(out, "| | {before} | {after} | {difference} | noise | path |")?;
        writeln!(out, "|---|--:|--:|--:|--:|---|")?;
    }
    for entry in &found.list {
        let part = entry.difference(comparison);
        let verb = part.change().verb();
        writeln!(
            out,
            "| {verb} | {} | {} | {} ({}) | {} | {} |",
            base(&part),
            part.amount(OTHER, form),
            part.delta(form),
            share(&part, &all),
            part.noise(form),
            code(&path_of(refined, &entry.rows, form)),
        )?;
    }
    let more = match found.more {
        0 => String::new(),
        more => format!(" {more} more have smaller differences."),
    };
    let noise = match noise_by(comparison) {
        None => {
            "Noise is that of sampling, two standard deviations; runs may vary by more.".to_owned()
        }
        Some(by) => format!(
            "{} of {} runs before and {} after; noise is half the interval in which \
             the true difference is in 95 of 100 cases, by {by}.",
            match comparison.scale {
                Scale::Share => "Shares are",
                Scale::Amount | Scale::Samples => "Amounts are means",
            },
            comparison.runs(BASE),
            comparison.runs(OTHER)
        ),
    };
    writeln!(
        out,
        "\n{noise} Amounts are \
         without those of other lines; percentages are of all {before}. \
         Less than {LEAST}% is not listed.{more}"
    )
}

/// A difference as a share of what BASE had in all, or what was expected of OTHER.
fn share(part: &Difference<'_>, all: &Difference<'_>) -> String {
    let weight = part.comparison().weights()[BASE] as f64;
    let whole = all.samples()[BASE] as f64 * weight;
    let delta = part.comparison().delta(part.samples()) as f64;
    match whole > 0.0 {
        true => format!("{:+.1}%", delta * 100.0 / whole),
        false => "new".to_owned(),
    }
}
