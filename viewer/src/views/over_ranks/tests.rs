//! Rows of sums, against jobs of which each rank's cost is known.

use std::sync::atomic::{AtomicBool, Ordering};

use csprof_format::ids::FunctionId;
use csprof_format::profile::RankSums;
use proptest::prelude::*;

use super::*;
use crate::profile::Profile;
use crate::profile::reduce::tests::job::Job;
use crate::profile::reduce::{Keep, Reduction};
use crate::refine::{Cancelled, Refined, Watch, apply, parse, unwatched};
use crate::views::Sort;
use crate::views::flat::flat;
use crate::views::peer_costs::PeerCosts;
use crate::views::peers::workers;
use crate::views::several_paths::Sums;
use crate::views::top_down::TopDown;
use crate::views::tree::RowId;

/// The sum of a job, of which some ranks are kept apart.
fn opened(job: &Job, keep: Keep) -> Profile {
    let mut reduction = Reduction::new(keep);
    for rank in 0..job.ranks {
        reduction.add(&rank.to_string(), &job.rank(rank, job.busiest())).unwrap();
    }
    Profile::from_saved(reduction.finish())
}

#[test]
fn ranks_that_have_the_same_do_not_deviate() {
    let of_ranks = |ranks: u32, each: u64| OfMetric {
        ranks,
        sum: u64::from(ranks) * each,
        most: [each; 2],
        most_rank: None,
        least: [each; 2],
        least_rank: None,
        without: Some(0),
        squares: Some(u64::from(ranks) * each * each),
    };
    for ranks in 1..=1000 {
        assert_eq!(of_ranks(ranks, 123_456_789).deviation(), Some(0.0), "{ranks}");
    }
    let two = OfMetric { sum: 8, squares: Some(9 + 25), ..of_ranks(2, 4) };
    assert_eq!(two.deviation(), Some(1.0));
}

/// Also after the pass over the nodes.
#[test]
fn whoever_waits_for_functions_may_end_it() {
    let job = Job { ranks: 12, common: 18, private: 1, late: Vec::new(), addresses: 1 };
    let refined = Refined::base(&opened(&job, Keep::Top));
    let costs = PeerCosts::of_sum(&refined).unwrap();
    assert!(costs.of_functions(&Watch::none()).is_ok());
    let cancelled = AtomicBool::new(false);
    // The pass asks once, before it goes over so few nodes.
    let end = |_| cancelled.store(true, Ordering::Relaxed);
    let watch = Watch::until(&cancelled).reporting(&end);
    assert_eq!(costs.of_functions(&watch).unwrap_err(), Cancelled);
}

/// Rows have what the job was made of, whichever of the ranks are nodes of their own.
#[test]
fn rows_are_spread_as_the_job_was_made() {
    let late = || vec![(7, 3)];
    let job = |addresses| Job { ranks: 12, common: 18, private: 1, late: late(), addresses };
    let keeps = || [Keep::All, Keep::Top, Keep::None].into_iter();
    for (keep, job) in keeps().flat_map(|keep| [(keep, job(1)), (keep, job(6))]) {
        let refined = Refined::base(&opened(&job, keep));
        assert_eq!(workers(&refined), Some(12));
        let of_name = |name: &str| {
            let rows = flat(&refined, Sort::default());
            let is_it =
                |row: &crate::views::Row| &*refined.functions[row.function.index()].name == name;
            let row = rows.into_iter().find(is_it).unwrap_or_else(|| panic!("no {name}"));
            *row.over_ranks.unwrap_or_else(|| panic!("{name}")).of(MetricRef::FIRST).unwrap()
        };
        let late = of_name("kernel_3");
        assert_eq!((late.most, late.most_rank), ([job.kernel(7, 3); 2], Some(7)), "{keep:?}");
        let waits = of_name("MPI_Barrier");
        let waits = (waits.least, waits.least_rank, waits.without);
        assert_eq!(waits, ([job.wait(7, job.busiest()); 2], None, Some(1)), "{keep:?}");
        // What is called from one call site is exact, at however many addresses it is.
        let costs: Vec<u64> = (0..12).map(|rank| job.kernel(rank, 4)).collect();
        let (most, least) = (costs.iter().max().unwrap(), costs.iter().min().unwrap());
        let other = of_name("kernel_4");
        assert_eq!((other.most, other.least), ([*most; 2], [*least; 2]), "{keep:?}");
        assert!(other.deviation().is_some());
        let step = of_name("step_0");
        let of_step = (0..12).map(|rank| (0..16).map(|path| job.kernel(rank, path)).sum::<u64>());
        assert_eq!((step.most, step.most_rank), ([of_step.max().unwrap(); 2], Some(7)));
        let sum: u64 = (0..12).map(|rank| job.kernel(rank, 3)).sum();
        assert_eq!((late.ranks, late.sum), (12, sum));
        let own = of_name("report_5_0");
        assert_eq!((own.sum, own.most_rank, own.least), (job.report(5), Some(5), [0; 2]));
        let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
        let mut row = RowId::ROOT;
        for name in ["main", "step_0", "kernel_3"] {
            let children = tree.children(&refined, row).to_vec();
            let is_it =
                |id: &&RowId| &*refined.functions[tree.row(**id).function.index()].name == name;
            row = *children.iter().find(is_it).unwrap();
        }
        let of_row = tree.row(row).over_ranks.clone().unwrap();
        assert_eq!(of_row.of(MetricRef::FIRST), Some(&late));
    }
}

/// What a launcher has is in no number of the ranks, also where it has the same functions.
#[test]
fn only_ranks_count() {
    let job = Job { ranks: 12, common: 18, private: 1, late: vec![(7, 3)], addresses: 1 };
    let mut reduction = Reduction::new(Keep::Top);
    for rank in 0..job.ranks {
        reduction.add(&rank.to_string(), &job.rank(rank, job.busiest())).unwrap();
    }
    let mut launcher = job.rank(0, job.busiest());
    launcher.run.start_unix_ns += 5000;
    launcher.processes[0].rank = None;
    launcher.processes[0].command = vec![b"mpirun".to_vec()];
    reduction.add("launcher", &launcher).unwrap();
    let refined = Refined::base(&Profile::from_saved(reduction.finish()));
    let rows = flat(&refined, Sort::default());
    let is_it =
        |row: &&crate::views::Row| &*refined.functions[row.function.index()].name == "kernel_3";
    let row = rows.iter().find(is_it).unwrap();
    let sum: u64 = (0..12).map(|rank| job.kernel(rank, 3)).sum();
    assert_eq!(row.of(MetricRef::FIRST).inclusive, sum + job.kernel(0, 3));
    let of = row.over_ranks.as_ref().unwrap().of(MetricRef::FIRST).unwrap();
    assert_eq!((of.ranks, of.sum, of.most_rank), (12, sum, Some(7)));
}

/// Ranks that are not kept apart cannot be told from others, also among some that are.
#[test]
fn ranks_of_a_sum_are_exact_or_refused() {
    let job = Job { ranks: 12, common: 18, private: 1, late: vec![(7, 3)], addresses: 1 };
    let profile = opened(&job, Keep::Top);
    let shown = |text: &str| apply(&profile, &parse(text).unwrap()).map(|refined| refined.shown);
    let own = job.busiest() + 40;
    assert_eq!(shown("rank = 7").unwrap(), own);
    assert_eq!(shown("not rank = 7").unwrap(), 11 * own);
    for text in ["rank = 5", "rank in 5..7", "not rank = 5", "rank = *"] {
        let error = shown(text).unwrap_err().to_string();
        assert!(error.contains("is in the sum and not kept apart"), "{text}: {error}");
    }
    let refined = apply(&profile, &parse("split rank").unwrap()).unwrap();
    let names: Vec<&str> = refined.functions.iter().map(|of| &*of.name).collect();
    assert!(names.contains(&"rank=7") && names.contains(&"rank=others"), "{names:?}");
    assert!(refined.spreads().is_none());
}

/// The same of two sums that are compared: each side has to keep the rank.
#[test]
fn ranks_of_compared_sums_are_exact_or_refused() {
    let late =
        |rank| Job { ranks: 12, common: 18, private: 1, late: vec![(rank, 3)], addresses: 1 };
    let compared = |ranks: [u32; 2]| {
        let [base, other] = ranks.map(|rank| opened(&late(rank), Keep::Top));
        Profile::compared(("base", base), ("other", other), &[]).unwrap()
    };
    let refused = |profile: &Profile, text: &str| {
        apply(profile, &parse(text).unwrap()).err().map(|error| error.to_string())
    };
    let (same, different) = (compared([7, 7]), compared([7, 8]));
    assert_eq!(refused(&same, "rank = 7"), None);
    for (profile, text) in
        [(&same, "rank = 5"), (&different, "rank = 7"), (&different, "not rank = 8")]
    {
        let error = refused(profile, text).unwrap_or_else(|| panic!("{text}"));
        assert!(error.contains("is in the sum and not kept apart"), "{text}: {error}");
        assert_eq!(error.lines().count(), 1);
    }
}

/// How the function is spread after stages, in the flat view and, below the first row that has it,
/// in the call tree; `None` where it is blank.
fn after(profile: &Profile, stages: &str, function: &str) -> Option<OfMetric> {
    let refined = apply(profile, &parse(stages).unwrap()).unwrap();
    let is_it =
        |row: &&crate::views::Row| &*refined.functions[row.function.index()].name == function;
    let rows = flat(&refined, Sort::default());
    let row = rows.iter().find(is_it).unwrap_or_else(|| panic!("{stages}: no {function}"));
    let of = |row: &crate::views::Row| Some(*row.over_ranks.as_ref()?.of(MetricRef::FIRST)?);
    let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
    let mut waiting = vec![RowId::ROOT];
    while let Some(id) = waiting.pop() {
        if id != RowId::ROOT && is_it(&tree.row(id)) {
            assert_eq!(of(tree.row(id)), of(row), "{stages}");
        }
        waiting.extend(tree.children(&refined, id).to_vec());
    }
    of(row)
}

/// With each rank's values columns are exact after any stage; with sums alone, where a path is
/// whole, and blank elsewhere.
#[test]
fn stages_leave_what_is_known() {
    let job = Job { ranks: 12, common: 18, private: 1, late: vec![(7, 3)], addresses: 1 };
    let (all, top, none) =
        (opened(&job, Keep::All), opened(&job, Keep::Top), opened(&job, Keep::None));
    let kernel = |ranks: &[u32]| {
        let mut sums = Sums::default();
        let mut of = RankSums::default();
        ranks.iter().for_each(|&rank| of.add(&RankSums::of_rank(rank, job.kernel(rank, 3))));
        sums.add(&of, ranks.len() as u32);
        Some(sums.finish(ranks.len() as u32, &[], u64::MAX))
    };
    let everybody: Vec<u32> = (0..12).collect();
    let whole = kernel(&everybody);
    for stages in ["through kernel_3", "through step_0", "not through MPI_*"] {
        for profile in [&all, &top, &none] {
            assert_eq!(after(profile, stages, "kernel_3"), whole, "{stages}");
        }
    }
    // What stages put together anew, or ranks that they leave out.
    let of_ranks: [(&str, &[u32]); 3] = [
        ("hide step_0", &everybody),
        ("not rank = 7", &[0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11]),
        ("rank in 7, 3", &[3, 7]),
    ];
    for (stages, ranks) in of_ranks {
        assert_eq!(after(&all, stages, "kernel_3"), kernel(ranks), "{stages}");
    }
    assert_eq!(after(&all, "rank = 7", "kernel_3"), None, "a rank alone");
    // A row of one rank is spread over nobody, and one of all is as it was.
    assert_eq!(after(&all, "split rank", "rank=7"), None);
    let refined = apply(&all, &parse("split rank").unwrap()).unwrap();
    let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
    for id in tree.children(&refined, RowId::ROOT).to_vec() {
        for below in [&[id][..], tree.children(&refined, id).to_vec().as_slice()].concat() {
            assert_eq!(tree.row(below).over_ranks, None);
        }
    }
    let flat_rows = flat(&refined, Sort::default());
    let is_kernel =
        |row: &&crate::views::Row| &*refined.functions[row.function.index()].name == "kernel_3";
    let over = flat_rows.iter().find(is_kernel).unwrap().over_ranks.clone().unwrap();
    assert_eq!(over.of(MetricRef::FIRST).copied(), whole);
    for stages in ["rank = 7", "not rank = 7"] {
        assert_eq!(after(&top, stages, "kernel_3"), None, "{stages}");
    }
    // Of main there is a part.
    for profile in [&top, &none] {
        assert_eq!(after(profile, "through kernel_3", "main"), None);
    }
    assert_eq!(after(&all, "through kernel_3", "main"), whole);
}

/// Exclusive costs: of the kernels, of which nothing is called; and of steps, of which it is known
/// that they have none.
#[test]
fn exclusive_costs_are_spread_too() {
    let job = Job { ranks: 12, common: 18, private: 1, late: vec![(7, 3)], addresses: 1 };
    for keep in [Keep::All, Keep::Top, Keep::None] {
        let refined = Refined::base(&opened(&job, keep));
        let rows = flat(&refined, Sort::default());
        let own = |name: &str| {
            let is_it =
                |row: &&crate::views::Row| &*refined.functions[row.function.index()].name == name;
            let over = rows.iter().find(is_it).unwrap().over_ranks.as_ref().unwrap();
            (*over.of(MetricRef::FIRST).unwrap(), *over.own_of(MetricRef::FIRST).unwrap())
        };
        let (inclusive, exclusive) = own("kernel_3");
        assert_eq!(inclusive, exclusive, "{keep:?}");
        let (_, none) = own("step_0");
        assert_eq!((none.sum, none.most, none.imbalance()), (0, [0; 2], [0; 2]), "{keep:?}");
    }
}

/// Replaces the rows of the frame of a function by rows of these functions, outermost first.
fn inline(rank: &mut csprof_format::profile::Profile, of: &str, names: &[&str]) {
    let function = |name: &&str| {
        let is_it = |function: &csprof_format::profile::Function| {
            *rank.strings[function.name.index()] == **name
        };
        FunctionId::from_index(rank.functions.iter().position(is_it).unwrap())
    };
    let [of, rows] = [vec![of], names.to_vec()].map(|of| of.iter().map(function).collect());
    let (of, rows): (Vec<FunctionId>, Vec<FunctionId>) = (of, rows);
    let sites = &mut rank.sites;
    let row = sites.function.iter().position(|function| *function == of[0]).unwrap();
    sites.first.iter_mut().filter(|first| **first > row as u32).for_each(|first| {
        *first += rows.len() as u32 - 1;
    });
    sites.file.extend(rows[1..].iter().map(|_| None));
    sites.line.extend(rows[1..].iter().map(|_| 0));
    sites.function.splice(row..=row, rows);
}

/// A function that is inlined into itself, or into one that is inlined into it, has the exclusive
/// cost of its innermost frame, and the one between has none of it.
#[test]
fn exclusive_costs_of_inlined_recursion_are_known() {
    let job = Job { ranks: 12, common: 18, private: 1, late: vec![(7, 3)], addresses: 1 };
    for keep in [Keep::All, Keep::Top, Keep::None] {
        let mut reduction = Reduction::new(keep);
        for number in 0..job.ranks {
            let mut rank = job.rank(number, job.busiest());
            inline(&mut rank, "kernel_3", &["kernel_3", "kernel_4", "kernel_3"]);
            inline(&mut rank, "kernel_5", &["kernel_5", "kernel_5"]);
            reduction.add(&number.to_string(), &rank).unwrap();
        }
        let profile = Profile::from_saved(reduction.finish());
        for stages in ["", "not through MPI_*"] {
            let refined = apply(&profile, &parse(stages).unwrap()).unwrap();
            let rows = flat(&refined, Sort::default());
            for path in [3, 4, 5] {
                let is_it = |row: &&crate::views::Row| {
                    *refined.functions[row.function.index()].name == *format!("kernel_{path}")
                };
                let row = rows.iter().find(is_it).unwrap();
                let own = row.over_ranks.as_ref().unwrap().own_of(MetricRef::FIRST).unwrap();
                let of_ranks = (0..job.ranks).map(|rank| job.kernel(rank, path));
                let (sum, most) = (of_ranks.clone().sum(), of_ranks.max().unwrap());
                assert_eq!((own.sum, own.most), (sum, [most; 2]), "{keep:?} {stages} {path}");
                assert_eq!(row.of(MetricRef::FIRST).exclusive, sum, "{keep:?} {stages} {path}");
            }
        }
    }
}

/// A path and a longer one, of which each rank's cost is known.
#[test]
fn bounds_of_exclusive_costs_hold() {
    let spread = |costs: &[u64]| {
        let mut of = RankSums::default();
        let ranks = (0..).zip(costs).filter(|&(_, &samples)| samples > 0);
        ranks.for_each(|(rank, &samples)| of.add(&RankSums::of_rank(rank, samples)));
        of
    };
    for (inclusive, longer) in [
        ([50, 10, 30], [40, 3, 0]),
        ([50, 10, 30], [0, 3, 30]),
        ([9, 9, 9], [1, 9, 0]),
        ([0, 7, 2], [0, 0, 1]),
    ] {
        let own: Vec<u64> = inclusive.iter().zip(longer).map(|(all, below)| all - below).collect();
        let mut sums = Sums::default();
        sums.add_own(&spread(&inclusive), &[spread(&longer)], 3);
        let of = sums.finish(3, &[], u64::MAX);
        assert_eq!(of.sum, own.iter().sum::<u64>());
        let [most, least] = [own.iter().max().unwrap(), own.iter().min().unwrap()];
        assert!(of.most[0] <= *most && *most <= of.most[1], "{own:?} {of:?}");
        assert!(of.least[0] <= *least && *least <= of.least[1], "{own:?} {of:?}");
        let is_most = |rank: u32| own[rank as usize] == *most;
        assert!(of.most_rank.is_none_or(is_most), "{own:?} {of:?}");
        assert_eq!((of.deviation(), of.without), (None, None));
    }
}

fn of(paths: &[&[(u32, u64)]], ranks: u32) -> OfMetric {
    let mut sums = Sums::default();
    for path in paths {
        let mut of = RankSums::default();
        path.iter().for_each(|&(rank, samples)| of.add(&RankSums::of_rank(rank, samples)));
        sums.add(&of, ranks);
    }
    sums.finish(ranks, &[], u64::MAX)
}

#[test]
fn of_one_path_all_is_known() {
    let one = of(&[&[(0, 10), (1, 30), (2, 20)]], 3);
    assert_eq!((one.most, one.most_rank, one.least), ([30; 2], Some(1), [10; 2]));
    assert_eq!((one.mean(), one.imbalance()), (20.0, [30; 2]));
    assert!((one.deviation().unwrap() - (200.0_f64 / 3.0).sqrt()).abs() < 1e-9);
    // A rank without any has least.
    let some = of(&[&[(0, 10), (1, 30)]], 4);
    assert_eq!((some.least, some.mean(), some.imbalance()), ([0; 2], 10.0, [80; 2]));
    let none = of(&[], 4);
    assert_eq!((none.most, none.least, none.deviation()), ([0; 2], [0; 2], Some(0.0)));
}

#[test]
fn bounds_of_several_paths_hold() {
    let same = of(&[&[(0, 1), (1, 9)], &[(0, 2), (1, 8)]], 2);
    assert_eq!((same.most, same.most_rank, same.least), ([17; 2], Some(1), [3; 2]));
    assert_eq!(same.deviation(), None);
    let paths: [&[(u32, u64)]; 2] = [&[(0, 1), (1, 9), (2, 3)], &[(0, 7), (1, 2), (2, 5)]];
    let other = of(&paths, 3);
    let sums = [8, 11, 8];
    // The third has at most 3 and 5, and the first 1 and 7.
    assert_eq!((other.most, other.most_rank), ([11; 2], Some(1)));
    assert!(other.least[0] <= 8 && 8 <= other.least[1], "{other:?}");
    assert_eq!(other.sum, sums.iter().sum::<u64>());
}

/// What a rank has on each path of its own, and on longer ones.
type Costs = [(u64, u64)];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Whatever ranks have on several paths, also exclusively: what is said is so.
    #[test]
    fn nothing_false_is_said(
        ranks in prop::collection::vec(prop::collection::vec((0_u64..40, 0_u64..9), 4), 1..9),
        kept in prop::collection::vec(any::<bool>(), 9),
        paths in 0_usize..5,
        own_paths in 0_usize..5,
    ) {
        let count = ranks.len() as u32;
        let spread = |samples: fn(&Costs, usize) -> u64, path: usize| {
            let mut of = RankSums::default();
            let those = (0..).zip(&ranks).map(|(rank, own)| (rank, samples(own, path)));
            those.filter(|of| of.1 > 0).for_each(|(rank, own)| of.add(&RankSums::of_rank(rank, own)));
            of
        };
        let mut sums = Sums::default();
        for path in 0..paths.min(4) {
            sums.add(&spread(|own, path| own[path].0, path), count);
        }
        for path in 0..own_paths.min(4) {
            let longer = spread(|own, path| own[path].1, path);
            let longer: Vec<RankSums> = [longer].into_iter().filter(|of| of.sum > 0).collect();
            let all = spread(|own, path| own[path].0 + own[path].1, path);
            sums.add_own(&all, &longer, count);
        }
        let all: Vec<u64> = ranks
            .iter()
            .map(|own| {
                let sum = |paths: usize| own[..paths.min(4)].iter().map(|of| of.0).sum::<u64>();
                sum(paths) + sum(own_paths)
            })
            .collect();
        let (most, least) = (*all.iter().max().unwrap(), *all.iter().min().unwrap());
        let numbered = (0..).zip(&all).zip(kept).filter(|(_, is_kept)| *is_kept);
        let apart: Vec<(u32, u64)> = numbered.map(|((rank, own), _)| (rank, *own)).collect();
        let of = sums.finish(count, &apart, most);
        prop_assert_eq!(of.sum, all.iter().sum::<u64>());
        // No rank has more than is given as the most that one has in all.
        prop_assert!(of.most[0] <= most && most == of.most[1], "{:?} {:?}", all, of);
        prop_assert!(of.least[0] <= least && least <= of.least[1], "{:?} {:?}", all, of);
        let first = |samples: u64| all.iter().position(|own| *own == samples).map(|of| of as u32);
        prop_assert!(of.most_rank.is_none_or(|rank| Some(rank) == first(most)), "{:?} {:?}", all, of);
        prop_assert!(of.least_rank.is_none_or(|rank| Some(rank) == first(least)), "{:?} {:?}", all, of);
        let without = all.iter().filter(|own| **own == 0).count() as u32;
        prop_assert!(of.without.is_none_or(|of| of == without), "{:?} {:?}", all, of);
    }
}
