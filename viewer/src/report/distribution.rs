//! The distribution of a row over peers: [`views::distribution`](crate::views::distribution) as
//! text, JSON and CSV, over one dimension.
//!
//! ```text
//! {"metric", "unit", "period", "refined", "base", "shown", "out", "path", "over", "process",
//!  "others", "peers", "row": {"inclusive", "exclusive"},
//!  "inclusive": {"sum", "min", "median", "mean", "max", "standard_deviation", "imbalance",
//!                "noise", "is_noise"}, "exclusive": {…},
//!  "rows": [{"peer", "stage", "inclusive", "exclusive"}]}
//! ```
//!
//! `path` is `null` for all that is shown, and `over` where there are no two peers of any kind.
//! `noise` is `[low, high]`, what each of so many equal peers would have by sampling; `is_noise` is
//! false also where each is within it, but all together differ by more. They and `imbalance` are
//! `null` for epochs and slices of time. `min`, `median`, `mean`, `max` and `standard_deviation`
//! are `null`, too, where samples of the row have no time: `sum` is of those that have one. Threads
//! and epochs are those of `process`; `others` says how many other processes have such, too. `peer`
//! and `process` have names as they are, not cut as for people. Rows are the peers, the one with
//! most first; slices of time are in their order, and their costs `null` where nothing but samples
//! without a time may be in them.

use core::cmp::Reverse;
use std::io::{self, Write};

use csprof_format::profile::Metric;
use serde::Serialize;

use super::aligned::Aligned;
use super::csv::{cell, of_output};
use super::json::{Heading, JsonRows, heading};
use super::listing::Limits;
use super::text::{account_for, cut, dots};
use super::{Measure, Options};
use crate::refine::{Chain, Refined, Stopped, Watch};
use crate::views::Cost;
use crate::views::dimension::TIME;
use crate::views::distribution::{
    Distribution, LACKS_TIMES, Over, RowSubject, UNKNOWN, why_no_peers,
};
use crate::views::number::{counted, percent};
use crate::views::path::Path;
use crate::views::printable::printable;
use crate::views::statistics::Statistics;
use crate::views::strip;

/// Cells of the strip.
const CELLS: usize = 64;

/// Characters of a peer.
const LONGEST: usize = 100;

/// What is reported.
#[derive(Clone, Debug)]
pub struct Report {
    /// The path; `None` for all that is shown.
    path: Option<Chain>,
    distribution: Distribution,
    /// The place of the dimension among those of the distribution.
    dimension: usize,
    /// The cost that text is about, and by which peers are ordered.
    cost: Cost,
}

/// Why there are no slices of time: times were not kept, or of nothing here, or all is one slice.
const NO_TIMES: &str = "no sample has a time: csprof record --times keeps when each was taken; if it \
                        did, csprof info says why there are none";
const NONE_HAS_TIME: &str = "times were kept, but of no sample that is shown";
const ONE_SLICE: &str = "what is left of the run is one time slice or none";

impl Report {
    /// That of a path, or of all that is shown, over peers of this kind, or of the first there is.
    ///
    /// # Errors
    /// A frame of the path matches nothing that is shown, or there are no such peers; the text says
    /// which there are.
    pub fn new(
        refined: &Refined,
        path: Option<Chain>,
        over: Option<&str>,
        cost: Cost,
    ) -> Result<Self, String> {
        let subject =
            path.clone().map_or_else(|| RowSubject::Path(Path::default()), RowSubject::Chain);
        let distribution = match Distribution::new(refined, &subject, &Watch::none()) {
            Ok(Some(distribution)) => distribution,
            Ok(None) => return Err("no shown path matches --path".to_owned()),
            Err(Stopped::Refused(error)) => return Err(error.to_string()),
            Err(Stopped::Cancelled) => unreachable!("nobody can end it"),
        };
        let names = || distribution.over.iter().map(|over| over.dimension.name());
        let dimension = match over {
            None => Some(0),
            Some(name) => names().position(|other| other == name),
        };
        match dimension {
            Some(dimension) => Ok(Self { path, distribution, dimension, cost }),
            None => {
                let nouns: Vec<_> = names().collect();
                let wants_time = over == Some(TIME);
                Err(match nouns.is_empty() {
                    _ if wants_time && !refined.profile.times.are_kept() => NO_TIMES.to_owned(),
                    _ if wants_time && !refined.has_times() => NONE_HAS_TIME.to_owned(),
                    _ if wants_time => ONE_SLICE.to_owned(),
                    true => why_no_peers(refined).to_owned(),
                    false => {
                        format!(
                            "there are no two peers of this kind; possible: {}",
                            nouns.join(", ")
                        )
                    }
                })
            }
        }
    }

    fn over(&self) -> Option<&Over> {
        self.distribution.over.get(self.dimension)
    }

    /// The places of the peers that are wanted, so many of them at most, and how many more there
    /// are. The one with most comes first, but slices are in order. No peer is small unless the
    /// person says what share of the row is.
    fn order(
        &self,
        parts: &[u64],
        whole: u64,
        options: &Options,
        limit: usize,
    ) -> (Vec<usize>, usize) {
        let least = options.threshold.unwrap_or(0.0) / 100.0 * whole as f64;
        let is_wanted = |peer: &usize| parts[*peer] as f64 >= least;
        let mut order: Vec<usize> = (0..parts.len()).filter(is_wanted).collect();
        order.sort_by_key(|&peer| Reverse(parts[peer]));
        let more = order.len().saturating_sub(limit);
        order.truncate(limit);
        // Time has an order that says more.
        if self.over().is_some_and(|over| over.dimension.axis.is_none()) {
            order.sort_unstable();
        }
        (order, more)
    }
}

/// Writes it for people.
///
/// # Errors
/// Those of `out`.
pub fn text(
    refined: &Refined,
    report: &Report,
    options: &Options,
    out: &mut impl Write,
) -> io::Result<()> {
    let form = options.form();
    if !account_for(refined, options, form, out)? {
        return Ok(());
    }
    let measure = options.measure.unwrap_or(Measure::Source);
    let (metric, number) = (refined.looked_at(), refined.metric);
    let Report { distribution, cost, .. } = report;
    let cost = *cost;
    let amount = |samples: u64| measure.text(samples, metric, form);
    let whole = distribution.samples(number, cost);
    let (base, shown) = refined.account_of(number);
    let (all, word) =
        if options.percent_of_shown { (shown, "what is shown") } else { (base, "all") };
    let name = report.path.as_ref().map_or("all that is shown".to_owned(), ToString::to_string);
    let share = percent(whole, all);
    let row = format!("{} cost {}, {share}% of {word}", cost.name(), amount(whole));
    writeln!(out, "{}: {row}", printable(&name))?;
    let Some(over) = report.over() else { return writeln!(out, "{}", why_no_peers(refined)) };
    let dimension = &over.dimension;
    let parts = over.parts(number, cost);
    let statistics = distribution.statistics(over, number, cost);
    let elsewhere = match whole.saturating_sub(statistics.balance.sum) {
        0 => String::new(),
        samples if dimension.axis.is_none() => format!("; {} without a time", amount(samples)),
        samples => format!("; {} in other processes and in no peers", amount(samples)),
    };
    writeln!(out, "over {}{elsewhere}", dimension.whose(form))?;
    if dimension.others > 0 {
        let others = counted(dimension.others as u64, "other process", form);
        writeln!(out, "{others} with several {} not shown", dimension.noun())?;
    }
    let has_imbalance = dimension.has_imbalance();
    let lacks_times = distribution.lacks_times(over, number, cost);
    if lacks_times {
        writeln!(out, "{LACKS_TIMES}")?;
    } else {
        let facts = statistics.facts(has_imbalance).into_iter();
        let facts =
            facts.map(|(name, samples)| format!("{name} {}", measure.real(samples, metric, form)));
        writeln!(out, "{}", facts.collect::<Vec<_>>().join(", "))?;
        writeln!(out, "{}", statistics.verdict(has_imbalance, measure, (metric, form)))?;
    }
    writeln!(out)?;
    let cells = strip::greatest(&parts, CELLS);
    let most = statistics.balance.most;
    let cells = cells.into_iter().map(|part| match part {
        0 if lacks_times => UNKNOWN,
        part => strip::character(part, most, form),
    });
    writeln!(out, "{}", cells.collect::<String>())?;
    let of_cells = (parts.len(), CELLS);
    if let Some(said) = strip::what_each_shows("character", of_cells, dimension.noun(), form) {
        writeln!(out, "{said}")?;
    }
    writeln!(out)?;
    let heads =
        [format!("{} {}", &cost.name()[..4], heading_of(measure, metric)), "% row".to_owned()];
    let mut lines = vec![(heads.to_vec(), dimension.noun().to_owned())];
    let limit = Limits::for_text(options).rows;
    let (order, more) = report.order(&parts, whole, options, limit);
    for &peer in &order {
        let label = cut(&dimension.peers[peer].label.text, LONGEST, form);
        let numbers = match parts[peer] {
            0 if lacks_times => [UNKNOWN.to_string(), UNKNOWN.to_string()],
            part => [amount(part), percent(part, whole)],
        };
        lines.push((numbers.to_vec(), label));
    }
    let aligned = Aligned::of_numbers(2, lines.iter().map(|(cells, _)| cells));
    lines.iter().try_for_each(|(cells, label)| aligned.write(cells, label, out))?;
    let small = parts.len() - order.len() - more;
    if small > 0 {
        let small = counted(small as u64, "row", form);
        writeln!(out, "{} {small} more (--threshold)", dots(form))?;
    }
    if more > 0 {
        let more = counted(more as u64, "row", form);
        writeln!(out, "{} {more} more (--limit)", dots(form))?;
    }
    let others = distribution.over.iter().filter(|other| other.dimension != *dimension);
    let others: Vec<_> = others.map(|other| other.dimension.name()).collect();
    if !others.is_empty() {
        writeln!(out)?;
        writeln!(out, "--over {} shows the same over others.", others.join(", --over "))?;
    }
    Ok(())
}

/// What costs are called above their column.
fn heading_of(measure: Measure, metric: &Metric) -> String {
    match measure {
        Measure::Samples => "samples".to_owned(),
        Measure::Source if metric.is_time() => "time".to_owned(),
        Measure::Source => printable(&metric.unit).into_owned(),
    }
}

#[derive(Serialize)]
struct Object<'r> {
    #[serde(flatten)]
    heading: Heading<'r>,
    path: Option<String>,
    over: Option<&'r str>,
    /// The process whose threads or epochs are compared, and how many others have such.
    process: Option<&'r str>,
    others: usize,
    peers: usize,
    row: Costs,
    inclusive: Option<JsonStatistics>,
    exclusive: Option<JsonStatistics>,
}

#[derive(Serialize)]
struct Costs {
    inclusive: u128,
    exclusive: u128,
}

#[derive(Serialize)]
struct JsonStatistics {
    sum: u128,
    min: Option<u128>,
    median: Option<f64>,
    mean: Option<f64>,
    max: Option<u128>,
    standard_deviation: Option<f64>,
    imbalance: Option<u128>,
    noise: Option<[f64; 2]>,
    is_noise: Option<bool>,
}

impl JsonStatistics {
    fn of(
        statistics: Statistics,
        over: &Over,
        is_all: bool,
        measure: Measure,
        metric: &Metric,
    ) -> Self {
        let whole = |samples: u64| measure.of(samples, metric);
        let real = |samples: f64| samples * whole(1) as f64;
        let has_imbalance = over.dimension.has_imbalance();
        Self {
            sum: whole(statistics.balance.sum),
            min: is_all.then(|| whole(statistics.least)),
            median: is_all.then(|| real(statistics.median_twice as f64 / 2.0)),
            mean: is_all.then(|| real(statistics.mean())),
            max: is_all.then(|| whole(statistics.balance.most)),
            standard_deviation: is_all.then(|| real(statistics.deviation)),
            imbalance: has_imbalance.then(|| whole(statistics.balance.imbalance())),
            noise: has_imbalance.then(|| statistics.noise.map(real)),
            is_noise: has_imbalance.then_some(statistics.is_noise),
        }
    }
}

#[derive(Serialize)]
struct JsonPeer<'r> {
    peer: &'r str,
    stage: &'r str,
    inclusive: Option<u128>,
    exclusive: Option<u128>,
}

/// Writes it for scripts.
///
/// # Errors
/// Those of `out`.
pub fn json(
    refined: &Refined,
    report: &Report,
    options: &Options,
    out: &mut impl Write,
) -> io::Result<()> {
    let measure = options.measure.unwrap_or_default();
    let (metric, number) = (refined.looked_at(), refined.metric);
    let over = report.over();
    let of = |cost: Cost| measure.of(report.distribution.samples(number, cost), metric);
    let statistics = |cost: Cost| {
        let over = over?;
        let statistics = report.distribution.statistics(over, number, cost);
        let is_all = !report.distribution.lacks_times(over, number, cost);
        Some(JsonStatistics::of(statistics, over, is_all, measure, metric))
    };
    let object = Object {
        heading: heading(refined, options, None).without_derived(),
        path: report.path.as_ref().map(ToString::to_string),
        over: over.map(|over| over.dimension.name()),
        process: over.and_then(|over| Some(&*over.dimension.process.as_ref()?.raw)),
        others: over.map_or(0, |over| over.dimension.others),
        peers: over.map_or(0, |over| over.dimension.peers.len()),
        row: Costs { inclusive: of(Cost::Inclusive), exclusive: of(Cost::Exclusive) },
        inclusive: statistics(Cost::Inclusive),
        exclusive: statistics(Cost::Exclusive),
    };
    let mut rows = JsonRows::begin(&object, out)?;
    each(refined, report, options, |peer| rows.write(&peer))?;
    rows.end()
}

/// Writes it for spreadsheets: the rows of JSON, each with what the peers are, the process whose
/// they are, and whether they differ by no more than noise; nothing where JSON has `null`.
///
/// # Errors
/// Those of `out`.
pub fn csv(
    refined: &Refined,
    report: &Report,
    options: &Options,
    out: &mut impl Write,
) -> io::Result<()> {
    const HEADS: [&str; 8] = [
        "peer",
        "stage",
        "inclusive",
        "exclusive",
        "over",
        "process",
        "inclusive_is_noise",
        "exclusive_is_noise",
    ];
    let mut table = csv::Writer::from_writer(out);
    table.write_record(HEADS).map_err(of_output)?;
    let Some(over) = report.over() else { return table.flush() };
    let process = over.dimension.process.as_ref().map_or("", |process| &process.raw);
    let is_noise = [Cost::Inclusive, Cost::Exclusive].map(|cost| {
        let statistics = report.distribution.statistics(over, refined.metric, cost);
        let is_known = over.dimension.has_imbalance();
        if is_known { statistics.is_noise.to_string() } else { String::new() }
    });
    each(refined, report, options, |of| {
        let text = |cost: Option<u128>| cost.map_or_else(String::new, |cost| cost.to_string());
        let [inclusive, exclusive] = [of.inclusive, of.exclusive].map(text);
        let [of_peer, over] = [&*cell(of.peer), over.dimension.name()];
        let [stage, process] = [of.stage, process].map(cell);
        let record =
            [of_peer, &*stage, &inclusive, &exclusive, over, &*process, &is_noise[0], &is_noise[1]];
        table.write_record(record).map_err(of_output)
    })?;
    table.flush()
}

/// The peers that machines get, the one with most first.
fn each<'r>(
    refined: &'r Refined,
    report: &'r Report,
    options: &Options,
    mut write: impl FnMut(JsonPeer<'r>) -> io::Result<()>,
) -> io::Result<()> {
    let Some(over) = report.over() else { return Ok(()) };
    let measure = options.measure.unwrap_or_default();
    let (metric, number) = (refined.looked_at(), refined.metric);
    let costs = [Cost::Inclusive, Cost::Exclusive].map(|cost| over.parts(number, cost));
    // Of a slice without samples, others may have been taken in it.
    let lacks_times = [Cost::Inclusive, Cost::Exclusive]
        .map(|cost| report.distribution.lacks_times(over, number, cost));
    let whole = report.distribution.samples(number, report.cost);
    let limit = Limits::for_machines(options).rows;
    let (order, _) = report.order(&over.parts(number, report.cost), whole, options, limit);
    order.into_iter().try_for_each(|peer| {
        let [inclusive, exclusive] = [0, 1].map(|cost: usize| {
            let samples = costs[cost][peer];
            (samples > 0 || !lacks_times[cost]).then(|| measure.of(samples, metric))
        });
        let known = &over.dimension.peers[peer];
        write(JsonPeer { peer: &known.label.raw, stage: &known.stage, inclusive, exclusive })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Profile, from_outline};
    use crate::refine::parse;

    fn profile() -> Profile {
        let mut text = "# thread=900 epoch=0 name=mpirun\nwait 3\n".to_owned();
        for rank in 0..4 {
            let own = if rank == 2 { 90 } else { 20 };
            text.push_str(&format!("# rank={rank} thread={rank} epoch=0\nwait 5\n  solve {own}\n"));
        }
        let mut profile = from_outline(&text).unwrap();
        profile.info.processes[0].rank = None;
        profile
    }

    fn report(path: &str, over: Option<&str>) -> Result<Report, String> {
        let stage = parse(path).unwrap().stages.pop();
        let path = match stage {
            Some(crate::refine::Stage::Where(crate::refine::Predicate::Through(path))) => path,
            other => panic!("{other:?}"),
        };
        Report::new(&Refined::base(&profile()), Some(path), over, Cost::Inclusive)
    }

    fn written(
        write: fn(&Refined, &Report, &Options, &mut Vec<u8>) -> io::Result<()>,
        options: &Options,
    ) -> String {
        let mut out = Vec::new();
        let report = report("wait", None).unwrap();
        write(&Refined::base(&profile()), &report, options, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn text_says_what_is_compared_and_whether_it_means_anything() {
        let options = Options { ascii: true, limit: Some(2), ..Options::default() };
        let text = written(text, &options);
        let (_, text) = text.split_once("\n\n").unwrap();
        assert_eq!(
            text,
            "\
wait: inclusive cost 865 ms, 100% of all
over 4 ranks; 15.0 ms in other processes and in no peers
min 125 ms, median 125 ms, mean 213 ms, max 475 ms, std dev 152 ms, imbalance 1.05 s
more than sampling noise: equal peers would have 136 ms to 306 ms each

3383

incl time  % row  rank
   475 ms   54.9  rank 2
   125 ms   14.5  rank 0
... 2 rows more (--limit)
"
        );
    }

    #[test]
    fn machines_get_all_peers_and_both_costs() {
        let object: serde_json::Value =
            serde_json::from_str(&written(json, &Options::default())).unwrap();
        assert_eq!(object["peers"], 4);
        assert_eq!(object["over"], "rank");
        assert_eq!(object["path"], "wait");
        let expected: serde_json::Value = serde_json::json!({
            "sum": 170, "min": 25, "median": 25.0, "mean": 42.5, "max": 95, "imbalance": 210,
            "is_noise": false,
        });
        for (key, expected) in expected.as_object().unwrap() {
            assert_eq!(object["inclusive"][key], *expected, "{key}");
        }
        assert_eq!(object["row"], serde_json::json!({"inclusive": 173, "exclusive": 23}));
        let first = serde_json::json!({
            "peer": "rank 2", "stage": "rank = 2", "inclusive": 95, "exclusive": 5,
        });
        assert_eq!(object["rows"][0], first);
        let csv = written(csv, &Options::default());
        let lines: Vec<_> = csv.lines().collect();
        assert_eq!(
            lines[..2],
            [
                "peer,stage,inclusive,exclusive,over,process,inclusive_is_noise,exclusive_is_noise",
                "rank 2,rank = 2,95,5,rank,,false,true"
            ]
        );
        assert_eq!(lines.len(), 5);
    }

    /// Names are as the program gave them, as in the other forms for machines: whole, and without
    /// what people see in place of control characters.
    #[test]
    fn machines_get_names_as_they_are() {
        let name = format!("w\u{1b}[31m{}", "x".repeat(90));
        let outline = "# rank=0 thread=1 epoch=0\nrun 5\n# rank=0 thread=2 epoch=0\nrun 5\n";
        let mut profile = from_outline(outline).unwrap();
        profile.info.processes[0].rank = None;
        let (pid, tid) = (profile.info.processes[0].pid, profile.info.threads[0].tid);
        profile.info.processes[0].command = vec![name.clone().into_bytes()];
        profile.info.threads.iter_mut().for_each(|of| of.name = name.clone().into_bytes());
        let refined = Refined::base(&profile);
        let report = Report::new(&refined, None, Some("thread"), Cost::Inclusive).unwrap();
        let written = |write: fn(&Refined, &Report, &Options, &mut Vec<u8>) -> io::Result<()>| {
            let mut out = Vec::new();
            write(&refined, &report, &Options::default(), &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let object: serde_json::Value = serde_json::from_str(&written(json)).unwrap();
        assert_eq!(object["process"], format!("pid {pid} {name}"));
        assert_eq!(object["rows"][0]["peer"], format!("{tid} {name}"));
        // A cell of CSV has no control character, in any report.
        let in_cell = format!("\n{tid} {},", printable(&name));
        assert!(written(csv).contains(&in_cell), "{}", written(csv));
        let text = written(super::text);
        assert!(!text.contains('\u{1b}') && !text.contains(&name[8..]), "{text}");
    }

    #[test]
    fn what_is_not_there_is_told() {
        assert_eq!(
            report("wait", Some("thread")).unwrap_err(),
            "there are no two peers of this kind; possible: rank"
        );
        assert_eq!(report("nix", None).unwrap_err(), "no function matches nix");
    }
}
