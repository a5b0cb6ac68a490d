//! What the screen says of two profiles that are compared, in place of what it says of one.

use std::borrow::Cow;

use ratatui::style::Style;

use super::name::{cut, width};
use super::scene::Scene;
use super::theme::Theme;
use crate::profile::comparison::{BASE, Comparison, OTHER, Scale};
use crate::profile::name_of_file;
use crate::views::difference::{Change, Difference};
use crate::views::number::{amount_per, shares};
use crate::views::{Cost, Row};

/// How a difference looks: what is more than noise is strong, and has the mark of its direction.
pub(super) fn change(theme: Theme, of: &Difference<'_>) -> (Style, &'static str) {
    match (of.change(), of.is_significant()) {
        (Change::Same, _) | (_, false) => (theme.faint(), ""),
        (Change::New | Change::More, true) => (theme.error(), theme.glyphs.ascending),
        (Change::Gone | Change::Less, true) => (theme.better(), theme.glyphs.descending),
    }
}

/// Both files and what they differ by, in at most `cells` cells.
pub(super) fn title(scene: &Scene, comparison: &Comparison, cells: usize) -> String {
    let form = scene.form();
    let totals = Difference::new(comparison, comparison.sides.each_ref().map(|side| side.total));
    let names = [BASE, OTHER].map(|at| {
        let side = &comparison.sides[at];
        let name = name_of_file(&side.name);
        let all = match comparison.scale {
            // Of one run, as where amounts are compared.
            Scale::Share => amount_per(side.total, comparison.runs(at), &side.metric, form),
            Scale::Amount | Scale::Samples => totals.amount(at, form),
        };
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
    let [base, other] = match comparison.moments {
        None => ["base", "other"],
        Some(_) => ["before", "total"],
    };
    format!("shown+out %: {base} {}  {other} {}", of(BASE), of(OTHER))
}

/// What the current path of the tables costs on both sides, and by how much they differ.
pub(super) fn path_cost(scene: &Scene, comparison: &Comparison, row: &Row) -> String {
    let form = scene.form();
    let of = Difference::new(comparison, Cost::Inclusive.of_runs(row));
    let arrow = if scene.theme.is_ascii() { "->" } else { "→" };
    format!("{} {arrow} {}  {}", of.amount(BASE, form), of.amount(OTHER, form), of.delta(form))
}
