//! The ledger as text, Markdown and JSON.
//!
//! ```text
//! {"program", "metric", "unit", "period", "samples": {"total", "shown", "out"}, "gain",
//!  "entries": [{"state", "estimate", "note", "path": [NAME], "samples", "gain",
//!               "since": {"before", "now", "difference", "noise", "significant"}}]}
//! ```
//!
//! `samples` are inclusive, `null` where the path is not in what is shown; `gain` and what is in
//! `since` are in `unit`; `gain` is `null` where the estimate is an amount of another metric.
//! `since` is `null` for the run in which the entry was made, and `{"not_comparable": REASON}`
//! where the two do not compare. Gains add up to `gain`, which is no more than what is shown.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::Options;
use super::markdown::code;
use super::text::account_for;
use crate::profile::short_name;
use crate::refine::{Refined, unwatched};
use crate::views::difference::Difference;
use crate::views::notes::{Entry, Ledger, Line, Note, Notes, State, ledger};
use crate::views::number::{Form, amount, amount_of_units, percent};
use crate::views::since::{Since, since};
use crate::views::top_down::TopDown;

/// Names of a path that are printed: the innermost.
const NAMES: usize = 6;

/// The ledger of what is shown.
fn made(refined: &Refined, notes: &Notes) -> Ledger {
    unwatched(|watch| ledger(notes, refined, &mut TopDown::new(refined, watch)?, watch))
}

/// What is said of an entry in every form.
struct Said<'l> {
    note: &'l Note,
    entry: &'l Entry,
    line: &'l Line,
    since: Since,
}

fn said<'l>(
    ledger: &'l Ledger,
    notes: &'l Notes,
    refined: &'l Refined,
    stages: &'l str,
) -> impl Iterator<Item = Said<'l>> {
    ledger.lines.iter().filter_map(move |line| {
        let note = &notes.list[line.place];
        let entry = note.entry.as_ref()?;
        let since = since(note, line.samples, refined, stages);
        Some(Said { note, entry, line, since })
    })
}

impl Said<'_> {
    fn state(&self) -> &'static str {
        match self.entry.state {
            State::Understood => "understood",
            State::ToFix => "to be fixed",
        }
    }

    fn path(&self, form: Form) -> String {
        let names: Vec<&str> = self.note.names().collect();
        let first = names.len().saturating_sub(NAMES);
        let dots = if form == Form::Unicode { "…" } else { ".." };
        let names = names[first..].iter().map(|name| short_name(name).into_owned());
        let all: Vec<_> = (first > 0).then(|| dots.to_owned()).into_iter().chain(names).collect();
        all.join(" > ")
    }

    fn cost(&self, refined: &Refined, form: Form) -> String {
        match self.line.samples {
            Some(samples) => format!(
                "{}, {}%",
                amount(samples, refined.looked_at(), form),
                percent(samples, refined.base)
            ),
            None => "not in what is shown".to_owned(),
        }
    }

    /// What it saves, with its estimate.
    fn gain(&self, refined: &Refined, form: Form) -> String {
        let metric = refined.looked_at();
        let estimate = self.entry.estimate_text(metric);
        match self.line.gain {
            Some(gain) => {
                format!("saves {} (estimate: {estimate})", amount_of_units(gain, metric, form))
            }
            None => format!("estimate: {estimate}, which is another metric"),
        }
    }

    /// What became of it since.
    fn since(&self, form: Form) -> Option<String> {
        Some(match &self.since {
            Since::SameRun => return None,
            Since::NotComparable(why) => format!("not comparable: {why}"),
            Since::Compared(comparison, samples) => {
                let difference = Difference::new(comparison, *samples);
                let [before, now] = [0, 1].map(|side| difference.amount(side, form));
                let verdict = match difference.is_significant() {
                    true => "more than noise",
                    false => "within noise",
                };
                format!(
                    "before {before}, now {now}: {} {}, {verdict}",
                    difference.delta(form),
                    difference.noise(form)
                )
            }
        })
    }
}

/// Writes the ledger for people; `is_kept` says whether there can be one.
///
/// # Errors
/// Those of `out`.
pub fn text(
    refined: &Refined,
    notes: &Notes,
    is_kept: bool,
    options: &Options,
    out: &mut impl Write,
) -> io::Result<()> {
    let form = options.form();
    if !account_for(refined, options, form, out)? {
        return Ok(());
    }
    let ledger = made(refined, notes);
    if ledger.lines.is_empty() {
        let how = if is_kept { "; in csprof view, U and X enter a path" } else { "" };
        return writeln!(out, "The ledger is empty{how}.");
    }
    let stages = options.refinement.as_deref().unwrap_or_default();
    for (said, number) in said(&ledger, notes, refined, stages).zip(1..) {
        write!(out, "{number:>2}. {}: {}", said.state(), said.cost(refined, form))?;
        if said.entry.state == State::ToFix || said.line.gain != Some(0) {
            write!(out, "; {}", said.gain(refined, form))?;
        }
        writeln!(out, "\n    {}", said.path(form))?;
        if !said.note.text.is_empty() {
            writeln!(out, "    note: {}", said.note.text)?;
        }
        if let Some(since) = said.since(form) {
            writeln!(out, "    {since}")?;
        }
    }
    writeln!(
        out,
        "\nTogether they would save {} of {}, and have {}% of all; no sample counts twice.",
        amount_of_units(ledger.gain, refined.looked_at(), form),
        amount(refined.shown, refined.looked_at(), form),
        percent(ledger.covered, refined.base)
    )
}

/// A program for a heading: of code, the beginning.
fn heading(program: &str, form: Form) -> String {
    const MOST: usize = 80;
    let dots = if form == Form::Unicode { "…" } else { ".." };
    match program.char_indices().nth(MOST) {
        Some((end, _)) if !program.starts_with('/') => format!("{}{dots}", &program[..end]),
        _ => program.to_owned(),
    }
}

/// Writes the ledger for an issue or a pull request.
///
/// # Errors
/// Those of `out`.
pub fn markdown(
    refined: &Refined,
    notes: &Notes,
    options: &Options,
    out: &mut impl Write,
) -> io::Result<()> {
    let form = options.form();
    let ledger = made(refined, notes);
    let metric = refined.looked_at();
    writeln!(
        out,
        "**Ledger of {}**: together they would save {} of {}; no sample counts twice.\n",
        code(&heading(&notes.program, form)),
        amount_of_units(ledger.gain, metric, form),
        amount(refined.shown, metric, form)
    )?;
    if let Some(refinement) = &options.refinement {
        writeln!(out, "Refined: {}\n", code(refinement))?;
    }
    writeln!(out, "| | cost | saves | path | note | since |\n|---|---|---|---|---|---|")?;
    let stages = options.refinement.as_deref().unwrap_or_default();
    for said in said(&ledger, notes, refined, stages) {
        let note = match &*said.note.text {
            "" => String::new(),
            text => code(text),
        };
        let since = said.since(form).map_or_else(String::new, |since| code(&since));
        writeln!(
            out,
            "| {} | {} | {} | {} | {note} | {since} |",
            said.state(),
            said.cost(refined, form),
            said.line.gain.map_or_else(String::new, |gain| amount_of_units(gain, metric, form)),
            code(&said.path(form)),
        )?;
    }
    Ok(())
}

/// Writes the ledger for scripts.
///
/// # Errors
/// Those of `out`.
pub fn json(
    refined: &Refined,
    notes: &Notes,
    options: &Options,
    out: &mut impl Write,
) -> io::Result<()> {
    let metric = refined.looked_at();
    let ledger = made(refined, notes);
    let number = |units: u128| u64::try_from(units).unwrap_or(u64::MAX);
    let entry = |said: Said<'_>| {
        let since = match &said.since {
            Since::SameRun => Value::Null,
            Since::NotComparable(why) => json!({"not_comparable": why}),
            Since::Compared(comparison, samples) => {
                let difference = Difference::new(comparison, *samples);
                let [before, now] = [0, 1].map(|side| number(difference.plain_amount(side)));
                json!({
                    "before": before,
                    "now": now,
                    "difference": i64::try_from(difference.plain_delta()).unwrap_or(i64::MAX),
                    "noise": number(difference.plain_noise()),
                    "significant": difference.is_significant(),
                })
            }
        };
        json!({
            "state": match said.entry.state {
                State::Understood => "understood",
                State::ToFix => "to-fix",
            },
            "estimate": said.entry.estimate_text(metric),
            "note": said.note.text,
            "path": said.note.names().collect::<Vec<_>>(),
            "samples": said.line.samples,
            "gain": said.line.gain.map(number),
            "since": since,
        })
    };
    let stages = options.refinement.as_deref().unwrap_or_default();
    let all = json!({
        "program": notes.program,
        "metric": metric.source,
        "unit": metric.unit,
        "period": metric.period,
        "samples": {"total": refined.base, "shown": refined.shown, "out": refined.out},
        "gain": number(ledger.gain),
        "entries": said(&ledger, notes, refined, stages).map(entry).collect::<Vec<Value>>(),
    });
    serde_json::to_writer_pretty(&mut *out, &all)?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use csprof_format::profile::Exit;

    use super::*;
    use crate::profile::from_outline;
    use crate::views::notes::{Change, Estimate, Then, What};
    use crate::views::tree::RowId;

    /// The ledger of a run in which `main` has 400 samples, where it had so many in another one.
    fn printed(before: u64, source: Option<&str>) -> [String; 3] {
        let mut profile = from_outline("main 390\n  solve 10\n").unwrap();
        profile.info.run.command = vec![b"./solver".to_vec()];
        (profile.info.run.exit, profile.info.run.start_unix_ns) = (Exit::Status(0), 9);
        let refined = Refined::base(&profile);
        let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
        let main = tree.children(&refined, RowId::ROOT)[0];
        let path = tree.path(&refined, main);
        let metric = refined.looked_at();
        let then = Then {
            run: "another".to_owned(),
            command: vec!["./solver".to_owned()],
            source: source.unwrap_or(&metric.source).to_owned(),
            unit: metric.unit.clone(),
            period: metric.period,
            samples: before,
            exit: Exit::Status(0),
            start_unix_ns: 5,
            is_whole: true,
            ..Then::default()
        };
        let estimate = Estimate::Amount(7 * metric.period);
        let entry = Some(Entry { state: State::ToFix, estimate, then });
        let mut notes = Notes::new("solver");
        let what = What::Entry { before: None, entry };
        notes.change(&Change { path, what }).unwrap();
        let options = Options { ascii: true, ..Options::default() };
        let mut outs = [Vec::new(), Vec::new(), Vec::new()];
        text(&refined, &notes, true, &options, &mut outs[0]).unwrap();
        markdown(&refined, &notes, &options, &mut outs[1]).unwrap();
        json(&refined, &notes, &options, &mut outs[2]).unwrap();
        outs.map(|out| String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_gain_is_told_with_its_noise() {
        let [text, markdown, json] = printed(900, None);
        for out in [&text, &markdown] {
            assert!(out.contains("more than noise") && out.contains(": -"), "{out}");
        }
        let json: Value = serde_json::from_str(&json).unwrap();
        let since = &json["entries"][0]["since"];
        let number = |key: &str| since[key].as_i64().unwrap();
        assert_eq!(number("difference"), number("now") - number("before"));
        assert_eq!(
            (number("now") * 9, &since["significant"]),
            (number("before") * 4, &json!(true))
        );
        let [text, ..] = printed(410, None);
        assert!(text.contains("within noise"), "{text}");
        let [text, ..] = printed(100, None);
        assert!(text.contains(": +") && text.contains("more than noise"), "{text}");
    }

    #[test]
    fn a_heading_has_the_beginning_of_code() {
        let code = format!("perl -e {}", "x".repeat(300));
        let shown = heading(&code, Form::Unicode);
        assert!(shown.starts_with("perl -e xx") && shown.chars().count() == 81, "{shown}");
        assert_eq!(heading("xz", Form::Unicode), "xz");
        let path = format!("/{}", "x".repeat(100));
        assert_eq!(heading(&path, Form::Unicode), path);
    }

    /// What enters a path is told where that can be kept.
    #[test]
    fn an_empty_ledger_is_told() {
        let profile = from_outline("main 3\n").unwrap();
        let refined = Refined::base(&profile);
        for (is_kept, end) in
            [(true, "empty; in csprof view, U and X enter a path.\n"), (false, "empty.\n")]
        {
            let mut out = Vec::new();
            text(&refined, &Notes::new("a"), is_kept, &Options::default(), &mut out).unwrap();
            let out = String::from_utf8(out).unwrap();
            assert!(out.ends_with(end), "{out}");
        }
    }

    #[test]
    fn an_amount_of_another_metric_has_no_gain() {
        let [text, _, json] = printed(900, Some("another"));
        assert!(text.contains("of another, which is another metric"), "{text}");
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!((&json["entries"][0]["gain"], &json["gain"]), (&Value::Null, &json!(0)));
    }
}
