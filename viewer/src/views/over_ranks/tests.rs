//! Rows of sums, against jobs of which each rank's cost is known.

use super::*;
use crate::profile::Profile;
use crate::profile::reduce::tests::job::Job;
use crate::profile::reduce::{Keep, Reduction};
use crate::refine::{apply, parse, unwatched};
use crate::views::Sort;
use crate::views::flat::flat;
use crate::views::peers::workers;
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

/// Rows have what the job was made of, whichever of the ranks are nodes of their own.
#[test]
fn rows_are_spread_as_the_job_was_made() {
    let job = Job { ranks: 12, common: 18, private: 1, late: vec![(7, 3)] };
    for keep in [Keep::All, Keep::Top, Keep::None] {
        let refined = Refined::base(&opened(&job, keep));
        assert_eq!(workers(&refined), 12);
        let of_name = |name: &str| {
            let rows = flat(&refined, Sort::default());
            let is_it =
                |row: &crate::views::Row| &*refined.functions[row.function.index()].name == name;
            let row = rows.into_iter().find(is_it).unwrap_or_else(|| panic!("no {name}"));
            *row.over_ranks.unwrap_or_else(|| panic!("{name}")).of(MetricRef::FIRST).unwrap()
        };
        let late = of_name("kernel_3");
        assert_eq!((late.most, late.most_rank), ([job.kernel(7, 3); 2], Some(7)), "{keep:?}");
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
    let job = Job { ranks: 12, common: 18, private: 1, late: vec![(7, 3)] };
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
    let job = Job { ranks: 12, common: 18, private: 1, late: vec![(7, 3)] };
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

fn of(paths: &[&[(u32, u64)]], ranks: u32) -> OfMetric {
    let mut sums = Sums::default();
    for path in paths {
        let mut of = RankSums::default();
        path.iter().for_each(|&(rank, samples)| of.add(&RankSums::of_rank(rank, samples)));
        sums.add(&of, ranks);
    }
    sums.finish(ranks)
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
    assert_eq!(other.most_rank, None);
    assert!(other.most[0] <= 11 && 11 <= other.most[1], "{other:?}");
    assert!(other.least[0] <= 8 && 8 <= other.least[1], "{other:?}");
    assert_eq!(other.sum, sums.iter().sum::<u64>());
}
