//! The sets of frames that refinements can name, and what they match in a profile.

use std::io::{self, Write};

use serde::Serialize;

use super::aligned::{Align, Aligned};
use super::others;
use crate::profile::short_name;
use crate::refine::Refined;
use crate::views::number::{Form, amount, count, percent};
use crate::views::printable::printable;
use crate::views::sets::SetRow;

/// Functions of a set that the text names.
const NAMED: usize = 4;

/// Cells for the functions that are named: more of them than fit are counted.
const ROOM: usize = 72;

/// Writes the list for people.
///
/// # Errors
/// Those of `out`.
pub fn text(
    refined: &Refined,
    rows: &[SetRow],
    ascii: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let form = if ascii { Form::Ascii } else { Form::Unicode };
    let metric = refined.looked_at();
    let cells = |row: &SetRow| {
        let cost = match row.samples {
            0 => [String::new(), String::new()],
            samples => [amount(samples, metric, form), percent(samples, refined.base)],
        };
        let [time, share] = cost;
        [format!("@{}", printable(&row.name)), time, share, what(refined, row, form)].to_vec()
    };
    let cost = match others(refined).is_empty() {
        true if metric.is_time() => "time",
        true => "cost",
        false => &*printable(&metric.source),
    };
    let heads = ["set", cost, "%", "functions here"];
    let mut lines = vec![heads.map(str::to_owned).to_vec()];
    lines.extend(rows.iter().map(cells));
    let aligned = Aligned::new(&[Align::Left, Align::Right, Align::Right], &lines);
    for line in &lines {
        let (numbers, what) = line.split_at(3);
        aligned.write(numbers, &what.concat(), out)?;
    }
    writeln!(
        out,
        "\nThe time is that of all paths through a set, and % is of all that was measured. Sets may \
         overlap.\n`csprof help sets` says what each stands for and how to define others."
    )
}

/// The functions of a set: the costliest by name, the others by number; then where it is defined.
fn what(refined: &Refined, row: &SetRow, form: Form) -> String {
    let mut said = String::new();
    let mut named = 0;
    for function in row.functions.iter().take(NAMED) {
        let name = short_name(&refined.functions[function.index()].name).into_owned();
        if named > 0 && said.chars().count() + name.chars().count() + 2 > ROOM {
            break;
        }
        said.push_str(if named > 0 { ", " } else { "" });
        said.push_str(&printable(&name));
        named += 1;
    }
    match row.functions.len() - named {
        0 if named == 0 => said.push_str("none"),
        0 => {}
        more => said.push_str(&format!(", {} more", count(more as u64, form))),
    }
    if let Some(place) = &row.place {
        said.push_str(&format!("  ({})", printable(place)));
    }
    said
}

#[derive(Serialize)]
struct JsonSet<'r> {
    name: &'r str,
    /// `null` for sets that csprof ships.
    place: Option<&'r str>,
    definition: &'r str,
    functions: Vec<&'r str>,
    samples: u64,
}

/// Writes the list for scripts: `{"base", "shown", "out", "sets": [{"name", "place",
/// "definition", "functions", "samples"}]}`, in samples.
///
/// # Errors
/// Those of `out`.
pub fn json(refined: &Refined, rows: &[SetRow], out: &mut impl Write) -> io::Result<()> {
    let sets: Vec<_> = rows
        .iter()
        .map(|row| JsonSet {
            name: &row.name,
            place: row.place.as_deref(),
            definition: &row.definition,
            functions: row
                .functions
                .iter()
                .map(|function| &*refined.functions[function.index()].name)
                .collect(),
            samples: row.samples,
        })
        .collect();
    let all = serde_json::json!({
        "base": refined.base, "shown": refined.shown, "out": refined.out, "sets": sets,
    });
    writeln!(out, "{all}")
}
