//! What the screen says of two profiles that are compared, in place of what it says of one.

use std::borrow::Cow;

use ratatui::style::Style;

use super::columns::{Column, Compared};
use super::name::{cut, width};
use super::page::Item;
use super::scene::Scene;
use super::theme::Theme;
use crate::profile::comparison::{BASE, Comparison, OTHER, Scale};
use crate::views::difference::{Change, Difference, edges};
use crate::views::number::{amount, count, shares};
use crate::views::{Cost, Row};

/// The heading of a column.
pub(super) fn heading(theme: Theme, column: Compared) -> &'static str {
    match column {
        Compared::Delta if !theme.is_ascii() => "Δ",
        Compared::Noise if !theme.is_ascii() => "±2σ",
        _ => Column::Compared(column).heading(true),
    }
}

/// The text of a row in a column, and how it looks. Whatever is more than noise is marked and
/// strong; the direction is said by the sign, the mark and the color.
pub(super) fn cell(scene: &Scene<'_>, row: &Row, column: Compared, cost: Cost) -> (String, Style) {
    let theme = scene.theme;
    let form = scene.form();
    let Some(comparison) = scene.comparison() else { return (String::new(), theme.text()) };
    let of = Difference::new(comparison, cost.of(row));
    let style = match (of.change(), of.is_significant()) {
        (Change::Same, _) | (_, false) => theme.faint(),
        (Change::New | Change::More, true) => theme.error(),
        (Change::Gone | Change::Less, true) => theme.better(),
    };
    let faint = |text: String| {
        let style = if text == "." { theme.faint() } else { theme.text() };
        (text, style)
    };
    match column {
        Compared::Base => faint(of.amount(BASE, form)),
        Compared::Other => faint(of.amount(OTHER, form)),
        Compared::Delta => (of.delta(form), style),
        Compared::Growth => {
            let mark = match (of.change(), of.is_significant()) {
                (_, false) => "",
                (Change::New | Change::More, true) => theme.glyphs.ascending,
                (_, true) => theme.glyphs.descending,
            };
            let text = of.growth_text(form);
            let marked = format!("{mark}{text}");
            let fits = width(&marked) <= Column::Compared(column).width();
            (if fits { marked } else { text }, style)
        }
        Compared::Noise => (of.noise(form), theme.faint()),
        Compared::Edges if comparison.same_period() => {
            faint(edges(row.sides().map(|counts| counts.edges), form))
        }
        Compared::Edges => (String::new(), theme.faint()),
    }
}

/// Both files and what they differ by, in at most `cells` cells.
pub(super) fn title(scene: &Scene<'_>, comparison: &Comparison, cells: usize) -> String {
    let form = scene.form();
    let names = comparison.sides.each_ref().map(|side| {
        let name = side.name.rsplit('/').next().unwrap_or_default();
        let all = amount(side.total, &side.metric, form);
        (name, all)
    });
    let arrow = if scene.theme.is_ascii() { "->" } else { "→" };
    let [(base, all_base), (other, all_other)] = &names;
    let long = format!(" {base} {all_base} {arrow} {other} {all_other}");
    let text = if width(&long) <= cells { long } else { format!(" {base} {arrow} {other}") };
    cut(&text, cells, scene.theme.glyphs.ellipsis).into_owned()
}

/// The account of all samples of both sides, of which so many are shown.
pub(super) fn account_text(comparison: &Comparison, shown_of_sides: [u64; 2]) -> String {
    let of = |side: usize| {
        let shown = shown_of_sides[side];
        let total = comparison.sides[side].total;
        match shares(shown, total - shown) {
            Some((shown, out)) => Cow::Owned(format!("{shown}+{out}")),
            None => Cow::Borrowed("0+0"),
        }
    };
    format!("shown+out %: base {}  other {}", of(BASE), of(OTHER))
}

/// What the current path of the tables costs on both sides, and by how much they differ.
pub(super) fn path_cost(scene: &Scene<'_>, comparison: &Comparison, row: &Row) -> String {
    let form = scene.form();
    let of = Difference::new(comparison, Cost::Inclusive.of(row));
    let arrow = if scene.theme.is_ascii() { "->" } else { "→" };
    format!("{} {arrow} {}  {}", of.amount(BASE, form), of.amount(OTHER, form), of.delta(form))
}

/// What the numbers of a row are made of.
pub(super) fn explained(
    scene: &Scene<'_>,
    comparison: &Comparison,
    row: &Row,
    cost: Cost,
) -> Vec<Item> {
    let form = scene.form();
    let pair = |name: &str, text: String| Item::Pair(name.to_owned(), text);
    let samples = cost.of(row);
    let of = Difference::new(comparison, samples);
    let mut items = Vec::new();
    for (side, label) in [(BASE, "base"), (OTHER, "other")] {
        let Metric { of_side, period } = Metric::of(scene, comparison, side, samples[side]);
        let share = match comparison.scale {
            Scale::Share => format!(
                ", {} % of {} samples",
                of.amount(side, form),
                count(comparison.sides[side].total, form)
            ),
            Scale::Amount | Scale::Samples => String::new(),
        };
        items.push(pair(
            label,
            format!("{} samples × {period} = {of_side}{share}", count(samples[side], form)),
        ));
        items.push(pair("", comparison.sides[side].name.clone()));
    }
    items.push(pair(
        "",
        match cost {
            Cost::Inclusive => "samples whose path begins as this row's does",
            Cost::Exclusive => "samples whose path ends in the function, when called like this",
        }
        .to_owned(),
    ));
    let unit = if comparison.scale == Scale::Share { " percentage points" } else { "" };
    items.push(pair("difference", format!("other - base = {}{unit}", of.delta(form))));
    items.push(pair(
        "%",
        match (of.change(), of.growth()) {
            (Change::Gone, _) => "gone: other has none of it".to_owned(),
            (_, Some(_)) => format!("{} of base", of.growth_with_unit(form)),
            (_, None) => "new: base has nothing to compare with".to_owned(),
        },
    ));
    items.push(pair(
        "noise",
        format!(
            "{}: chance moves {} and {} samples by about their square roots, and the difference of \
             equal runs by less than this in 95 of 100 cases",
            of.noise(form),
            count(samples[BASE], form),
            count(samples[OTHER], form)
        ),
    ));
    if comparison.same_period() {
        let text = edges(row.sides().map(|counts| counts.edges), form);
        items.push(pair("edges", if text.is_empty() { "none".to_owned() } else { text }));
    } else {
        items.push(pair("edges", "do not compare: the sides have different periods".to_owned()));
    }
    items
}

/// Samples of a side as its metric has them.
struct Metric {
    of_side: String,
    period: String,
}

impl Metric {
    fn of(scene: &Scene<'_>, comparison: &Comparison, side: usize, samples: u64) -> Self {
        let metric = &comparison.sides[side].metric;
        let form = scene.form();
        Self { of_side: amount(samples, metric, form), period: amount(1, metric, form) }
    }
}
