//! [`views::waits`](crate::views::waits) as text, JSON and CSV.
//!
//! ```text
//! {…, "over", "peers", "within_noise", "missing": [TEXT], "rows": [
//!     {"table", "path": [NAME], "metric", "inclusive", "mean",
//!      "max", "max_peer", "min", "min_peer", "imbalance",
//!      "without", "last", "last_among", "last_works_most"}]}
//! ```
//!
//! What stands before is as in the other reports. `table` is `operation`, `path` or `imbalance`;
//! the path of an operation is its function alone. `inclusive` is what the wait costs, of a metric
//! of calls without that of longer paths. `max`, `min` and `imbalance` are numbers, or
//! `[low, high]` between bounds, in units of the row's metric unless samples are counted. `without`
//! is how many peers have nothing. `last` is who came last to a call that waits for all, of
//! `last_among` that waited as little. What is not known is `null`.

use std::io::{self, Write};

use serde::Serialize;

use super::aligned::Aligned;
use super::csv::{cell, of_output};
use super::json::{Heading, JsonRows, heading};
use super::listing::{Limits, USUAL_SHARE};
use super::text::{account_for, dots, path_of};
use super::{Measure, Options};
use crate::refine::{Refined, unwatched};
use crate::views::number::{Form, between, counted, percent};
use crate::views::waits::{Wait, Waits};

/// Rows of a table in text.
const USUAL_ROWS: usize = 12;

/// The tables, with what they are called for machines.
fn tables(waits: &Waits) -> [(&'static str, &[Wait]); 3] {
    [("operation", &waits.operations), ("path", &waits.paths), ("imbalance", &waits.imbalances)]
}

/// Writes it for people.
///
/// # Errors
/// Those of `out`.
pub fn text(refined: &Refined, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let form = options.form();
    if !account_for(refined, options, form, out)? {
        return Ok(());
    }
    let waits = unwatched(|watch| Waits::of(refined, watch));
    let page = Page { refined, options, waits: &waits, form };
    let over =
        waits.over.as_ref().map_or_else(String::new, |over| format!(", over {}", over.whose));
    let whole = if options.percent_of_shown { "is shown" } else { "was recorded" };
    let titles = [
        format!("Waits by operation{over}:"),
        format!("Waits by path{over}:"),
        format!(
            "Paths outside of waits whose imbalance costs most{over}, (max - mean) x number, in % of \
             all that {whole}:"
        ),
    ];
    for ((table, rows), title) in tables(&waits).into_iter().zip(titles) {
        page.table(table, rows, &title, out)?;
    }
    if waits.within_noise > 0 {
        let paths = counted(waits.within_noise as u64, "path", form);
        writeln!(out, "Left out: {paths} that may differ by sampling noise alone.")?;
    }
    waits.missing.iter().try_for_each(|cause| writeln!(out, "Not here: {cause}."))
}

/// What tables for people are made of.
struct Page<'p> {
    refined: &'p Refined,
    options: &'p Options,
    waits: &'p Waits,
    form: Form,
}

impl Page<'_> {
    fn table(
        &self,
        table: &str,
        rows: &[Wait],
        title: &str,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let is_of_imbalance = table == "imbalance";
        let share = self.options.threshold.unwrap_or(USUAL_SHARE);
        let is_large = |wait: &&Wait| {
            let (_, shown) = self.refined.account_of(wait.metric);
            is_of_imbalance || wait.samples as f64 * 100.0 >= share * shown as f64
        };
        let large: Vec<&Wait> = rows.iter().filter(is_large).collect();
        if large.is_empty() {
            return Ok(());
        }
        writeln!(out, "{title}")?;
        let is_time = |wait: &&Wait| self.refined.source_of(wait.metric).is_time();
        let of = match (is_of_imbalance, large.iter().all(is_time)) {
            (true, _) => "imbalance",
            (false, true) => "time",
            (false, false) => "cost",
        };
        let who = self.waits.over.as_ref().map_or("rank", |over| over.noun);
        let heads = [
            of,
            "%",
            "mean",
            "min",
            "max",
            &format!("max {who}"),
            if is_of_imbalance { "" } else { "imbalance" },
            if is_of_imbalance { "" } else { "last" },
            "metric",
            if table == "operation" { "operation" } else { "path" },
        ];
        let mut lines = vec![heads.map(str::to_owned).to_vec()];
        let limit = self.options.limit.unwrap_or(USUAL_ROWS);
        lines.extend(large.iter().take(limit).map(|wait| self.line(wait, is_of_imbalance)));
        let has_one_metric = self.refined.profile.info.further.is_empty();
        let numbers = heads.len() - 1;
        let mut aligned = Aligned::of_numbers(numbers, &lines);
        if has_one_metric {
            aligned.leave_out(numbers - 1);
        }
        lines.iter().try_for_each(|line| aligned.write(&line[..numbers], &line[numbers], out))?;
        let [small, beyond] = [rows.len() - large.len(), large.len().saturating_sub(limit)];
        for (rows, option) in [(small, "--threshold"), (beyond, "--limit")] {
            if rows > 0 {
                let rows = counted(rows as u64, "row", self.form);
                writeln!(out, "{} {rows} more ({option})", dots(self.form))?;
            }
        }
        writeln!(out)
    }

    fn line(&self, wait: &Wait, is_of_imbalance: bool) -> Vec<String> {
        let Self { refined, options, waits, form } = *self;
        let metric = refined.source_of(wait.metric);
        let measure = options.measure.unwrap_or(Measure::Source);
        let (base, shown) = refined.account_of(wait.metric);
        let whole = if options.percent_of_shown { shown } else { base };
        let amount = |samples: u64| measure.text(samples, metric, form);
        let amounts = |bounds: [u64; 2]| between(bounds.map(amount));
        let over = |text: &dyn Fn(&crate::views::over_ranks::OfMetric) -> String| {
            wait.over.as_ref().map_or_else(String::new, text)
        };
        let label =
            |number: u32| waits.over.as_ref().map_or_else(String::new, |over| over.label(number));
        let imbalance = over(&|of| amounts(of.imbalance()));
        let last = wait.last.map_or_else(String::new, |last| {
            let among = match last.among {
                0 | 1 => String::new(),
                more => format!(" of {more}"),
            };
            let works = if last.works_most == Some(true) { ", works most" } else { "" };
            format!("{}{among}{works}", label(last.number))
        });
        let cost = if is_of_imbalance { wait.imbalance() } else { Some([wait.samples; 2]) };
        let share = cost.map(|bounds| between(bounds.map(|cost| percent(cost, whole))));
        vec![
            if is_of_imbalance { imbalance.clone() } else { amount(wait.samples) },
            share.unwrap_or_default(),
            over(&|of| measure.real(of.mean(), metric, form)),
            over(&|of| amounts(of.least)),
            over(&|of| amounts(of.most)),
            over(&|of| of.most_rank.map_or_else(String::new, label)),
            if is_of_imbalance { String::new() } else { imbalance },
            if is_of_imbalance { String::new() } else { last },
            metric.source.clone(),
            path_of(refined, &waits.rows(wait), form),
        ]
    }
}

/// What stands before the rows.
#[derive(Serialize)]
struct Object<'r> {
    #[serde(flatten)]
    heading: Heading<'r>,
    over: Option<&'r str>,
    peers: u32,
    within_noise: usize,
    missing: &'r [String],
}

/// Writes it for scripts.
///
/// # Errors
/// Those of `out`.
pub fn json(refined: &Refined, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let waits = unwatched(|watch| Waits::of(refined, watch));
    let object = Object {
        heading: heading(refined, options, None).without_derived(),
        over: waits.over.as_ref().map(|over| over.noun),
        peers: waits.over.as_ref().map_or(0, |over| over.count),
        within_noise: waits.within_noise,
        missing: &waits.missing,
    };
    let mut rows = JsonRows::begin(&object, out)?;
    each(refined, &waits, options, |row| rows.write(&row))?;
    rows.end()
}

/// A number that is known, or between two bounds.
#[derive(Clone, Copy, Serialize)]
#[serde(untagged)]
enum Bounds {
    Exact(u128),
    Between([u128; 2]),
}

impl Bounds {
    fn of([low, high]: [u128; 2]) -> Self {
        if low == high { Self::Exact(low) } else { Self::Between([low, high]) }
    }

    fn ends(self) -> [u128; 2] {
        match self {
            Self::Exact(number) => [number; 2],
            Self::Between(ends) => ends,
        }
    }
}

/// A row for machines.
#[derive(Serialize)]
struct JsonWait<'r> {
    table: &'static str,
    path: Vec<&'r str>,
    metric: &'r str,
    inclusive: u128,
    mean: Option<f64>,
    max: Option<Bounds>,
    max_peer: Option<String>,
    min: Option<Bounds>,
    min_peer: Option<String>,
    imbalance: Option<Bounds>,
    without: Option<u32>,
    last: Option<String>,
    last_among: Option<u32>,
    last_works_most: Option<bool>,
}

/// Writes it for spreadsheets: the rows of JSON, with the names of a path between ` > `, and bounds
/// in two columns.
///
/// # Errors
/// Those of `out`.
pub fn csv(refined: &Refined, options: &Options, out: &mut impl Write) -> io::Result<()> {
    const HEADS: [&str; 17] = [
        "table",
        "path",
        "metric",
        "inclusive",
        "mean",
        "max_low",
        "max_high",
        "max_peer",
        "min_low",
        "min_high",
        "min_peer",
        "imbalance_low",
        "imbalance_high",
        "without",
        "last",
        "last_among",
        "last_works_most",
    ];
    let waits = unwatched(|watch| Waits::of(refined, watch));
    let mut table = csv::Writer::from_writer(out);
    table.write_record(HEADS).map_err(of_output)?;
    each(refined, &waits, options, |row| {
        let name = |text: &Option<String>| cell(text.as_deref().unwrap_or("")).into_owned();
        let ends = |of: Option<Bounds>| match of {
            Some(of) => of.ends().map(|end| end.to_string()),
            None => [const { String::new() }; 2],
        };
        let ([max_low, max_high], [min_low, min_high]) = (ends(row.max), ends(row.min));
        let [imbalance_low, imbalance_high] = ends(row.imbalance);
        let record: [String; HEADS.len()] = [
            row.table.to_owned(),
            cell(&row.path.join(" > ")).into_owned(),
            cell(row.metric).into_owned(),
            row.inclusive.to_string(),
            known(row.mean),
            max_low,
            max_high,
            name(&row.max_peer),
            min_low,
            min_high,
            name(&row.min_peer),
            imbalance_low,
            imbalance_high,
            known(row.without),
            name(&row.last),
            known(row.last_among),
            known(row.last_works_most),
        ];
        table.write_record(record).map_err(of_output)
    })?;
    table.flush()
}

/// What is known, or nothing.
fn known(of: Option<impl ToString>) -> String {
    of.map_or_else(String::new, |of| of.to_string())
}

/// The rows that machines get, table by table.
fn each(
    refined: &Refined,
    waits: &Waits,
    options: &Options,
    mut write: impl FnMut(JsonWait<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let limits = Limits::for_machines(options);
    let measure = options.measure.unwrap_or_default();
    let label = |number: u32| waits.over.as_ref().map(|over| over.label(number));
    for (table, rows) in tables(waits) {
        let is_large = |wait: &&Wait| {
            table == "imbalance" || wait.samples >= limits.cost(refined.account_of(wait.metric).1)
        };
        for wait in rows.iter().filter(is_large).take(limits.rows) {
            let metric = refined.source_of(wait.metric);
            let amount = |samples: u64| measure.of(samples, metric);
            let bounds = |ends: [u64; 2]| Bounds::of(ends.map(amount));
            let rows = waits.rows(wait);
            let names = rows.iter().map(|row| &*refined.functions[row.function.index()].name);
            let over = wait.over.as_ref();
            write(JsonWait {
                table,
                path: names.collect(),
                metric: &metric.source,
                inclusive: amount(wait.samples),
                mean: over.map(|of| of.mean() * amount(1) as f64),
                max: over.map(|of| bounds(of.most)),
                max_peer: over.and_then(|of| label(of.most_rank?)),
                min: over.map(|of| bounds(of.least)),
                min_peer: over.and_then(|of| label(of.least_rank?)),
                imbalance: over.map(|of| bounds(of.imbalance())),
                without: over.and_then(|of| of.without),
                last: wait.last.and_then(|last| label(last.number)),
                last_among: wait.last.map(|last| last.among).filter(|&among| among > 0),
                last_works_most: wait.last.and_then(|last| last.works_most),
            })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Profile, from_outline};
    use serde_json::Value;

    /// Four ranks of which one is late for a call that waits for all.
    fn profile() -> Profile {
        let rank = |rank: u32| {
            let (own, wait) = if rank == 2 { (160, 2) } else { (100, 62) };
            format!(
                "# rank={rank} thread={rank} epoch=0\nmain\n  solve {own}\n  MPI_Allreduce {wait}\n"
            )
        };
        from_outline(&(0..4).map(rank).collect::<String>()).unwrap()
    }

    fn written(
        write: fn(&Refined, &Options, &mut Vec<u8>) -> io::Result<()>,
        options: &Options,
    ) -> String {
        let mut out = Vec::new();
        write(&Refined::base(&profile()), options, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn text_says_who_waits_and_for_whom() {
        let options = Options { ascii: true, ..Options::default() };
        let text = written(text, &options);
        let (_, text) = text.split_once("\n\n").unwrap();
        assert_eq!(
            text,
            "\
Waits by operation, over 4 ranks:
  time     %    mean      min     max  max rank  imbalance                last  operation
940 ms  29.0  235 ms  10.0 ms  310 ms    rank 0     300 ms  rank 2, works most  MPI_Allreduce

Waits by path, over 4 ranks:
  time     %    mean      min     max  max rank  imbalance                last  path
940 ms  29.0  235 ms  10.0 ms  310 ms    rank 0     300 ms  rank 2, works most  main > MPI_Allreduce

Paths outside of waits whose imbalance costs most, over 4 ranks, (max - mean) x number, in % of all that was recorded:
imbalance     %    mean     min     max  max rank  path
   900 ms  27.8  575 ms  500 ms  800 ms    rank 2  main > solve

Not here: this is cputime in calls of MPI: what a rank waits asleep is not in it; record -e mpi or -e realtime has that.
"
        );
    }

    /// The share of an imbalance that is known between bounds has bounds, too.
    #[test]
    fn an_imbalance_between_bounds_has_both() {
        let refined = Refined::base(&profile());
        let mut waits = unwatched(|watch| Waits::of(&refined, watch));
        let options = Options { ascii: true, ..Options::default() };
        for (most, cost, share) in
            [([160; 2], "900 ms", "27.8"), ([120, 160], "100 ms..900 ms", "3.1..27.8")]
        {
            waits.imbalances[0].over.as_mut().unwrap().most = most;
            let (refined, options, waits) = (&refined, &options, &waits);
            let page = Page { refined, options, waits, form: Form::Ascii };
            assert_eq!(page.line(&waits.imbalances[0], true)[..2], [cost, share]);
        }
    }

    #[test]
    fn machines_get_the_same_rows() {
        let object: Value = serde_json::from_str(&written(json, &Options::default())).unwrap();
        assert_eq!((&object["over"], &object["peers"]), (&"rank".into(), &4.into()));
        let rows = object["rows"].as_array().unwrap();
        let tables: Vec<&str> = rows.iter().map(|row| row["table"].as_str().unwrap()).collect();
        assert_eq!(tables, ["operation", "path", "imbalance"]);
        for (key, expected) in [
            ("path", serde_json::json!(["main", "MPI_Allreduce"])),
            ("metric", "cputime".into()),
            ("inclusive", 188.into()),
            ("mean", 47.0.into()),
            ("max", 62.into()),
            ("min", 2.into()),
            ("min_peer", "rank 2".into()),
            ("imbalance", 60.into()),
            ("without", 0.into()),
            ("last", "rank 2".into()),
            ("last_among", 1.into()),
            ("last_works_most", true.into()),
        ] {
            assert_eq!(rows[1][key], expected, "{key}");
        }
        let csv = written(csv, &Options { limit: Some(1), ..Options::default() });
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 4, "{csv}");
        assert_eq!(
            lines[2],
            "path,main > MPI_Allreduce,cputime,188,47,62,62,rank 0,2,2,rank 2,60,60,0,rank 2,1,true"
        );
    }
}
