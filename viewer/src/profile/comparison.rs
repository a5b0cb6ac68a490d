//! Two profiles as one, to be compared: BASE and OTHER, each of one run or of several.
//!
//! All are loaded into one [`Profile`], run by run, those of BASE before those of OTHER. So one
//! refinement refines both sides by the same stages, one tree of rows aligns them, and no view has
//! to know that there are two: a row's members are nodes, each node belongs to one side, and a row
//! has weights of each (`refine/forest/weights.rs`).
//!
//! Which functions and load modules are the same in both is found in [`union`].
//!
//! Samples of the two sides are never added up: a sample of each stands for a period of its own.
//! Each side is of one metric; of several, one is [chosen](Profile::compared_by).

mod rename;
mod union;

use std::collections::HashMap;
use std::sync::Arc;

use csprof_format::ids::ProcessId;
use csprof_format::profile::Metric;

pub use self::rename::Rename;
use self::union::{First, Union};
use super::definitions::told_apart;
pub use super::deviation::{LEAST_VARIANCE, Method, Noise};
use super::merge::{Agreement, Merger, Unmergeable, measure_the_same, runs_of, sampled_by};
pub use super::sides::{
    BASE, Comparison, OTHER, Scale, Scaling, ScalingKind, Side, SideRun, UNSEEN,
};
use super::{Hosts, MetricRef, Profile};

impl Profile {
    /// Two profiles, to be compared; each with the name that people know it by. Of several metrics,
    /// the first of BASE that OTHER has, too.
    ///
    /// # Errors
    /// If they measure different things.
    pub fn compared(
        base: (&str, Self),
        other: (&str, Self),
        renames: &[Rename],
    ) -> Result<Self, Unmergeable> {
        Self::compared_by(base, other, None, renames)
    }

    /// The same, by the metric of a source.
    ///
    /// # Errors
    /// If a side does not have it; without a source, if they measure different things.
    pub fn compared_by(
        base: (&str, Self),
        other: (&str, Self),
        source: Option<&str>,
        renames: &[Rename],
    ) -> Result<Self, Unmergeable> {
        let side = |(name, profile): (&str, Self)| vec![(name.to_owned(), profile)];
        Self::compared_runs([side(base), side(other)], source, renames)
    }

    /// The same of several runs of each side, one at least.
    ///
    /// # Errors
    /// The same; if a side has no run, a run twice, or runs that were sampled differently.
    pub fn compared_runs(
        sides: [Vec<(String, Self)>; 2],
        source: Option<&str>,
        renames: &[Rename],
    ) -> Result<Self, Unmergeable> {
        Self::compared_beside(sides, source, &[], renames)
    }

    /// The same, which beside has what formulas need: the metrics of these sources, where all runs
    /// have them, those of a side with one period.
    ///
    /// # Errors
    /// The same.
    pub fn compared_beside(
        sides: [Vec<(String, Self)>; 2],
        source: Option<&str>,
        beside: &[&str],
        renames: &[Rename],
    ) -> Result<Self, Unmergeable> {
        let metrics = {
            let [Some(base), Some(other)] = sides.each_ref().map(|runs| runs.first()) else {
                return Err(Unmergeable(NO_RUN.to_owned()));
            };
            metrics_of([(&base.0, &base.1), (&other.0, &other.1)], source)?
        };
        for (runs, metric) in sides.iter().zip(metrics) {
            are_repetitions(runs, metric)?;
        }
        let further = further_of(&sides, metrics, beside);
        let of_base = sides[BASE].len();
        let mut merger = Merger::new(Agreement::Nothing);
        let mut described = [Vec::new(), Vec::new()];
        let mut parts = Vec::new();
        let mut hosts = Hosts::default();
        // Counts of one side would look as if nothing returned on the other.
        let mut has_edges = true;
        let runs = sides.into_iter().zip(metrics).enumerate();
        let runs = runs.flat_map(|(side, (runs, metric))| {
            runs.into_iter().map(move |(name, run)| (side, name, metric, run))
        });
        for (side, name, metric, run) in runs {
            // Runs may have their metrics in another order.
            let measured = described[side].first().map(|first: &Side| &first.metric);
            let own = run.metrics().find(|(_, of)| measured == Some(of));
            let own = own.map_or(metric, |(own, _)| own);
            let own_beside: Vec<MetricRef> =
                further.iter().filter_map(|of| run.metric_of(&of[side].source)).collect();
            let mut run = run.projected_beside(own, &own_beside);
            let so_far = merger.so_far();
            let first = First {
                process: ProcessId::from_index(so_far.processes.len()),
                thread: so_far.threads.len(),
                epoch: so_far.epochs.len(),
            };
            described[side].push(describe(&name, &run, first.process));
            // What a sum says of them does not come along.
            hosts.add(&run.info);
            has_edges &= run.info.run.trampoline;
            let ids = merger.add(&name, std::mem::take(&mut run.info))?;
            parts.push((run, ids, first));
        }
        let first_other =
            parts.get(of_base).map_or(ProcessId::default(), |(.., first)| first.process);
        let [Some(base), Some(other)] = described.map(|runs| runs.into_iter().reduce(joined))
        else {
            return Err(Unmergeable(NO_RUN.to_owned()));
        };
        let mut union = Union::new(merger.finish(), first_other, renames, further.len());
        let side = |part: usize| if part < of_base { BASE } else { OTHER };
        let named = parts.iter().enumerate();
        let named = named.map(|(part, (run, ids, _))| union.named(run, ids, side(part))).collect();
        let functions = told_apart(named);
        let mut ends = vec![1];
        for ((run, ids, first), functions) in parts.into_iter().zip(functions) {
            union.add(run, &ids, first, functions);
            ends.push(union.node_count());
        }
        let mut profile = union.finish();
        if !has_edges {
            profile.nodes.edges = std::iter::repeat_n(0, profile.nodes.len()).collect();
            profile.info.run.trampoline = false;
        }
        let nodes = &profile.nodes;
        let total = |bounds: &[usize]| {
            (bounds[0]..bounds[1]).map(|node| nodes.of_metric(node, MetricRef::FIRST)).sum()
        };
        let mut totals = ends.windows(2).map(total).collect::<Vec<u64>>().into_iter();
        let mut sides = [base, other];
        for side in &mut sides {
            // Counts of a made-up file may have been left out.
            for (run, total) in side.runs.iter_mut().zip(&mut totals) {
                run.total = total;
            }
            side.total = side.runs.iter().map(|run| run.total).sum();
        }
        profile.comparison = Some(Box::new(Comparison {
            sides,
            first_other,
            hosts: Arc::new(hosts),
            scale: Scale::default(),
            scaling: None,
            further,
            moments: None,
        }));
        Ok(profile)
    }
}

const NO_RUN: &str = "each side of a comparison has a run";

/// Whether runs are of one side: each once, and sampled as the first one.
fn are_repetitions(runs: &[(String, Profile)], metric: MetricRef) -> Result<(), Unmergeable> {
    let mut known: HashMap<u128, &(String, Profile)> = HashMap::new();
    let first =
        runs.first().and_then(|(name, run)| Some((name, run.metrics().nth(metric.index())?.1)));
    let Some((first_name, first)) = first else { return Ok(()) };
    for named_run in runs.iter().filter(|_| runs.len() > 1) {
        let (name, run) = named_run;
        // A file that was merged counts as one run, such as all ranks of one job.
        let ids = runs_of(&run.info);
        if let Some((same, first)) = ids.iter().find_map(|id| known.get(id)) {
            let is = match [run, first].map(|run| run.info.runs.is_empty()) {
                [true, true] => "is the same run as",
                [true, false] => "is the same run as one in",
                [false, _] => "holds a run of",
            };
            return Err(Unmergeable(format!(
                "{name}: {is} {same}; the spread of runs is that of different ones, so leave one out"
            )));
        }
        known.extend(ids.into_iter().map(|id| (id, named_run)));
    }
    for (name, run) in runs {
        if !run.metrics().any(|(_, of)| of == first) {
            let of_run: Vec<String> = run.metrics().map(|(_, of)| sampled_by(of)).collect();
            return Err(Unmergeable(format!(
                "{name}: was sampled by {}, but {first_name} by {}; runs of one side have the same \
                 source and period",
                of_run.join(" and "),
                sampled_by(first),
            )));
        }
    }
    Ok(())
}

/// The metric of each side that is compared: of one source, or else of two that measure the same.
fn metrics_of(
    sides: [(&str, &Profile); 2],
    source: Option<&str>,
) -> Result<[MetricRef; 2], Unmergeable> {
    let [(base_name, base), (other_name, other)] = sides;
    let same =
        |(number, metric): (MetricRef, &Metric)| Some([number, other.metric_of(&metric.source)?]);
    let alike = |(number, metric): (MetricRef, &Metric)| {
        let mut others = other.metrics();
        Some([number, others.find(|(_, other)| measure_the_same(metric, other))?.0])
    };
    let asked = || base.metrics().filter(|(_, metric)| source.is_none_or(|s| s == metric.source));
    let pair = asked().find_map(same).or_else(|| asked().find_map(alike));
    pair.ok_or_else(|| {
        let (of_base, of_other) = (base.sources(), other.sources());
        Unmergeable(match source {
            Some(source) => format!(
                "they cannot be compared by {source}: {base_name} measures {of_base}, and \
                 {other_name} {of_other}"
            ),
            None => format!(
                "{other_name}: measures {of_other}, but {base_name} measures {of_base}; record both \
                 with the same -e to compare them"
            ),
        })
    })
}

/// The metrics of these sources beside those that are compared, of each side, where all its runs
/// have them with one unit and period.
fn further_of(
    sides: &[Vec<(String, Profile)>; 2],
    compared: [MetricRef; 2],
    sources: &[&str],
) -> Vec<[Metric; 2]> {
    let of_side = |side: usize, source: &str| {
        let mut runs = sides[side].iter().map(|(_, run)| run);
        let first = runs.next()?;
        let number = first.metric_of(source).filter(|number| *number != compared[side])?;
        let metric = first.metrics().nth(number.index())?.1;
        runs.all(|run| run.metrics().any(|(_, of)| of == metric)).then(|| metric.clone())
    };
    let of_both = |source: &&str| Some([of_side(BASE, source)?, of_side(OTHER, source)?]);
    let of_both = sources.iter().filter_map(of_both);
    of_both.filter(|[base, other]| base.unit == other.unit).collect()
}

/// A run of which this is the first process, as a side.
fn describe(name: &str, profile: &Profile, first: ProcessId) -> Side {
    let info = &profile.info;
    let total = profile.total();
    Side {
        name: name.to_owned(),
        runs: vec![SideRun { name: name.to_owned(), total, parts: info.runs.len().max(1), first }],
        run: info.run.clone(),
        metric: info.metric.clone(),
        total,
        lost: profile.lost(),
        summed: info.merely_summed_ranks(),
    }
}

/// A side with a further run.
fn joined(mut side: Side, run: Side) -> Side {
    side.runs.extend(run.runs);
    side.lost = side.lost.saturating_add(run.lost);
    side.summed.extend(run.summed);
    side.name = format!("{} +{}", side.runs[0].name, side.runs.len() - 1);
    side
}

#[cfg(test)]
mod tests {
    use super::super::{from_outline, to_outline};
    use super::*;

    fn compared(base: &str, other: &str, renames: &[&str]) -> Profile {
        let renames: Vec<_> = renames.iter().map(|rule| Rename::parse(rule).unwrap()).collect();
        let [base, other] = [base, other].map(|text| from_outline(text).unwrap());
        Profile::compared(("base", base), ("other", other), &renames).unwrap()
    }

    #[test]
    fn both_sides_stand_one_after_the_other() {
        let profile = compared(
            "# rank=0 thread=1 epoch=0\nmain 2\n  f 3 e=1 module:/lib/libf.so.1\n",
            "# rank=0 thread=1 epoch=0\nmain 4\n  f 5 module:/opt/libf.so.2\n  new 1 at:n.c:3\n",
            &[],
        );
        assert_eq!(
            to_outline(&profile),
            "\
# rank=0 thread=1 epoch=0
main 2
  f 3 e=1 module:/lib/libf.so.1
# rank=0 thread=1 epoch=0
main 4
  f 5 module:/lib/libf.so.1
  new 1 at:n.c:3
"
        );
        assert_eq!(profile.function_of(2), profile.function_of(4), "f is one function");
        let comparison = profile.comparison.unwrap();
        assert_eq!(comparison.sides.map(|side| side.total), [5, 10]);
        assert_eq!(comparison.first_other, ProcessId(1));
    }

    #[test]
    fn functions_that_were_renamed_are_one() {
        let profile = compared("parse_list 1\n", "read_list 2\n", &["parse_(.*)=read_$1"]);
        assert_eq!(
            to_outline(&profile),
            "# thread=0 epoch=0\nread_list 1\n# thread=0 epoch=0\nread_list 2\n"
        );
        assert_eq!(profile.function_of(1), profile.function_of(2));
    }

    /// Versions of a program may import other names of a library's functions.
    #[test]
    fn functions_of_which_one_side_has_more_names_are_one() {
        let profile = compared(
            "\"memcpy [also memmove]\" 1\n  f 1\n",
            "\"memcpy [also memmove, mempcpy]\" 2\n  f 2\n",
            &[],
        );
        assert_eq!(
            to_outline(&profile),
            "\
# thread=0 epoch=0
\"memcpy [also memmove, mempcpy]\" 1
  f 1
# thread=0 epoch=0
\"memcpy [also memmove, mempcpy]\" 2
  f 2
"
        );
        let profile = compared("\"tan [clone t]\" 1\n", "\"tan [also x] [clone t]\" 2\n", &[]);
        assert_eq!(profile.function_of(1), profile.function_of(2));
        let name = &profile.functions[profile.function_of(2).index()].name;
        assert_eq!(&**name, "tan [also x] [clone t]");
        let profile = compared("old 1\n", "\"new [also x]\" 2\n", &["old=new"]);
        assert_eq!(profile.function_of(1), profile.function_of(2));
    }

    #[test]
    fn addresses_of_different_builds_do_not_compare() {
        let profile = compared(
            "libz.so.1+0x10 1 unknown module:/lib/libz.so.1\n  libz.so.1+0x20 2 unknown module:/lib/libz.so.1\n",
            "libz.so.2+0x10 4 unknown module:/lib/libz.so.2\n",
            &[],
        );
        assert_eq!(profile.function_of(1), profile.function_of(3));
        let name = &profile.functions[profile.function_of(3).index()].name;
        assert_eq!(&**name, "[libz.so.1 without names]");
    }

    #[test]
    fn time_on_a_processor_and_elapsed_time_do_not_compare() {
        let [base, mut other] = ["a 1\n"; 2].map(|text| from_outline(text).unwrap());
        other.info.metric.source = "realtime".to_owned();
        let error = Profile::compared(("a.csprof", base), ("b.csprof", other), &[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "b.csprof: measures realtime, but a.csprof measures cputime; record both with the \
             same -e to compare them"
        );
    }

    /// Runs of one function each, of which every one began at another time.
    fn runs(outlines: &[&str], period: u64, start: u64) -> Vec<(String, Profile)> {
        let run = |(number, outline): (u64, &&str)| {
            let mut run = from_outline(outline).unwrap();
            run.info.run.start_unix_ns = start + number;
            run.info.metric.period = period;
            (format!("run{}", start + number), run)
        };
        (0..).zip(outlines).map(run).collect()
    }

    #[test]
    fn runs_of_a_side_stand_one_after_the_other() {
        let base = runs(&["main 2\n  f 3\n", "main 4\n"], 5, 0);
        let other = runs(&["main 1\n  g 1\n"], 7, 10);
        let profile = Profile::compared_runs([base, other], None, &[]).unwrap();
        let comparison = profile.comparison.as_ref().unwrap();
        let totals = comparison.sides.each_ref().map(|side| {
            (&*side.name, side.total, side.runs.iter().map(|run| run.total).collect::<Vec<_>>())
        });
        assert_eq!(totals, [("run0 +1", 9, vec![5, 4]), ("run10", 2, vec![2])]);
        assert_eq!(comparison.first_other, ProcessId(2));
        // 9 samples of 5 in two runs, and 2 of 7 in one.
        assert_eq!(comparison.delta([9, 2]) as f64 / comparison.unit(), 14.0 - 22.5);
    }

    #[test]
    fn runs_of_a_side_are_different_ones_that_were_sampled_alike() {
        let error =
            |base, other| Profile::compared_runs([base, other], None, &[]).unwrap_err().to_string();
        let one = || runs(&["f 1\n"], 5, 0);
        assert_eq!(
            error([one(), one()].concat(), one()),
            "run0: is the same run as run0; the spread of runs is that of different ones, so leave one \
             out"
        );
        assert_eq!(
            error([one(), runs(&["f 1\n"], 6, 1)].concat(), one()),
            "run1: was sampled by cputime every 6 ns, but run0 by cputime every 5 ns; runs of one side \
             have the same source and period"
        );
        assert_eq!(error(one(), Vec::new()), "each side of a comparison has a run");
        // The two sides may be one run, as before.
        assert!(Profile::compared_runs([one(), one()], None, &[]).is_ok());
    }

    #[test]
    fn a_run_comes_once_whatever_it_was_merged_with() {
        let named = |start: u64, name: &str| {
            let (_, mut run) = runs(&["f 1\n"], 5, start).remove(0);
            run.info.metric.unit = "ns".to_owned();
            (name.to_owned(), run)
        };
        let merged = |starts: [u64; 2], name: &str| {
            let mut merger = Merger::new(Agreement::SameMetrics);
            let mut parts = starts.map(|start| named(start, "part").1);
            for part in &mut parts {
                merger.add("part", std::mem::take(&mut part.info)).unwrap();
            }
            let (_, mut run) = named(starts[0], name);
            run.info = merger.finish().into();
            (name.to_owned(), run)
        };
        let compared = |base| Profile::compared_runs([base, vec![named(9, "other")]], None, &[]);
        let error = |base| compared(base).unwrap_err().to_string();
        let rest = "; the spread of runs is that of different ones, so leave one out";
        assert_eq!(
            error(vec![merged([1, 2], "both"), named(2, "alone")]),
            format!("alone: is the same run as one in both{rest}")
        );
        assert_eq!(
            error(vec![named(2, "alone"), merged([1, 2], "both")]),
            format!("both: holds a run of alone{rest}")
        );
        assert_eq!(
            error(vec![merged([1, 2], "12"), merged([2, 3], "23")]),
            format!("23: holds a run of 12{rest}")
        );
        // The ranks of one job, which were recorded apart, are one run.
        assert!(compared(vec![merged([1, 2], "12"), merged([3, 4], "34")]).is_ok());
    }

    #[test]
    fn scaling_compares_with_what_is_expected() {
        let comparison = |kind| {
            let sides = [runs(&["f 10\n"], 5, 0), runs(&["f 48\n"], 5, 1)];
            let profile = Profile::compared_runs(sides, None, &[]).unwrap();
            let scaling = Some(Scaling { kind, workers: [2, 8] });
            Comparison { scaling, ..*profile.comparison.unwrap() }
        };
        let loss = |of: &Comparison| of.delta([10, 48]) as f64 / of.unit();
        assert_eq!(loss(&comparison(ScalingKind::Strong)), 5.0 * 38.0);
        assert_eq!(loss(&comparison(ScalingKind::Weak)), 5.0 * 8.0);
    }

    #[test]
    fn edges_compare_where_both_sides_have_them() {
        let has_edges = |base: &str, other: &str| {
            let profile = compared(base, other, &[]);
            (profile.info.run.trampoline, profile.nodes.edges.iter().sum::<u64>())
        };
        assert_eq!(has_edges("main 2 e=1\n", "main 3 e=4\n"), (true, 5));
        assert_eq!(has_edges("main 2 e=1\n", "main 3 e=4 realtime:1\n"), (false, 0));
    }

    #[test]
    fn of_several_metrics_one_is_compared() {
        let both = "main 2 e=1\n  wait 5 realtime:5\n";
        let mut elapsed = from_outline("wait 7\n").unwrap();
        elapsed.info.metric.source = "realtime".to_owned();
        let mut clock = from_outline("wait 7\n").unwrap();
        clock.info.metric.source = "task-clock".to_owned();
        let [both, elapsed, clock] = [from_outline(both).unwrap(), elapsed, clock];
        let compared = |base: &Profile, other: &Profile, source: Option<&str>| {
            let (base, other) = (("a", base.clone()), ("b", other.clone()));
            let profile = Profile::compared_by(base, other, source, &[]);
            let comparison = *profile.map_err(|error| error.to_string())?.comparison.unwrap();
            Ok(comparison.sides.map(|side| (side.metric.source, side.total)))
        };
        let sides = |a: &str, b: &str, totals: [u64; 2]| {
            Ok::<_, String>([(a.to_owned(), totals[0]), (b.to_owned(), totals[1])])
        };
        assert_eq!(compared(&both, &both, None), sides("cputime", "cputime", [2, 2]));
        assert_eq!(compared(&both, &both, Some("realtime")), sides("realtime", "realtime", [5, 5]));
        assert_eq!(compared(&both, &elapsed, None), sides("realtime", "realtime", [5, 7]));
        assert_eq!(compared(&elapsed, &both, None), sides("realtime", "realtime", [7, 5]));
        assert_eq!(compared(&both, &clock, None), sides("cputime", "task-clock", [2, 7]));
        assert_eq!(
            compared(&both, &elapsed, Some("cputime")),
            Err("they cannot be compared by cputime: a measures cputime and realtime, and b \
                 realtime"
                .to_owned())
        );
        assert_eq!(
            compared(&clock, &elapsed, None),
            Err(
                "b: measures realtime, but a measures task-clock; record both with the same -e to \
                 compare them"
                    .to_owned()
            )
        );
    }
}
