//! Waits of jobs and threads of which it is known who waits for whom.

use super::*;
use crate::profile::reduce::tests::job::Job;
use crate::profile::reduce::{Keep, Reduction};
use crate::profile::{Profile, from_outline};
use crate::refine::{apply, parse, unwatched};

fn waits(profile: &Profile, stages: &str) -> (Refined, Waits) {
    let refined = apply(profile, &parse(stages).unwrap()).unwrap();
    let waits = unwatched(|watch| Waits::of(&refined, watch));
    (refined, waits)
}

fn job() -> Job {
    Job { ranks: 12, common: 18, private: 1, late: vec![(7, 3)], addresses: 1 }
}

fn summed(job: &Job, keep: Keep) -> Profile {
    let mut reduction = Reduction::new(keep);
    for rank in 0..job.ranks {
        reduction.add(&rank.to_string(), &job.rank(rank, job.busiest())).unwrap();
    }
    Profile::from_saved(reduction.finish())
}

/// Four ranks, each with these lines, of which rank 2 is late.
fn four_ranks(lines: impl Fn(u64, u64) -> String) -> Profile {
    let rank = |rank: u32| {
        let (own, wait) = if rank == 2 { (160, 2) } else { (100, 62) };
        format!("# rank={rank} thread={rank} epoch=0\n{}", lines(own, wait))
    };
    from_outline(&(0..4).map(rank).collect::<String>()).unwrap()
}

fn listed(waits: &Waits, of: &[Wait], refined: &Refined) -> Vec<(String, u64)> {
    of.iter().map(|wait| (names(waits, wait, refined), wait.samples)).collect()
}

fn is_told(waits: &Waits, text: &str) -> bool {
    waits.missing.iter().any(|cause| cause.contains(text))
}

fn names(waits: &Waits, wait: &Wait, refined: &Refined) -> String {
    let rows = waits.rows(wait);
    let names = rows.iter().map(|row| &*refined.functions[row.function.index()].name);
    names.collect::<Vec<_>>().join(" > ")
}

/// What a launcher waits is in no list over ranks, kept apart or summed, and how much is told.
#[test]
fn what_launchers_wait_is_no_wait_of_ranks() {
    let launcher = "# thread=9 epoch=0 name=mpirun\nmain\n  MPI_Barrier 400\n  MPI_Comm_spawn 5\n";
    let ranks = "# rank=0 thread=1 epoch=0\nmain 100\n  MPI_Barrier 60\n\
                 # rank=1 thread=2 epoch=0\nmain 160\n  MPI_Barrier 2\n";
    let profile = from_outline(&format!("{launcher}{ranks}")).unwrap();
    let (refined, apart) = waits(&profile, "");
    assert_eq!(apart.over.as_ref().unwrap().count, 2);
    let all = listed(&apart, &apart.paths, &refined);
    assert_eq!(all, [("main > MPI_Barrier".to_owned(), 62)]);
    assert_eq!(apart.operations[0].samples, 62);
    let told = "55.7 % of cputime that processes without a rank wait";
    assert!(is_told(&apart, told), "{:?}", apart.missing);

    let job = job();
    let mut reduction = Reduction::new(Keep::Top);
    for rank in 0..job.ranks {
        reduction.add(&rank.to_string(), &job.rank(rank, job.busiest())).unwrap();
    }
    let mut launcher = job.rank(0, job.busiest());
    launcher.run.start_unix_ns += 5000;
    launcher.processes[0].rank = None;
    reduction.add("launcher", &launcher).unwrap();
    let (_, summed) = waits(&Profile::from_saved(reduction.finish()), "");
    let waited: u64 = (0..12).map(|rank| job.wait(rank, job.busiest())).sum();
    assert_eq!((summed.paths.len(), summed.paths[0].samples), (1, waited));
    assert!(is_told(&summed, "that processes without a rank wait"), "{:?}", summed.missing);
}

/// Whichever ranks are kept apart: how long all wait, who came last, and what for.
#[test]
fn the_late_rank_of_a_job_is_named() {
    let job = job();
    let waited: u64 = (0..12).map(|rank| job.wait(rank, job.busiest())).sum();
    for keep in [Keep::All, Keep::Top, Keep::None] {
        let (refined, waits) = waits(&summed(&job, keep), "");
        let over = waits.over.as_ref().unwrap();
        assert_eq!((&*over.whose, over.is_of_each), ("12 ranks", keep == Keep::All));
        let [operation] = &waits.operations[..] else { panic!("{:?}", waits.operations) };
        assert_eq!((operation.samples, waits.path(&refined, operation)), (waited, None));
        let [wait] = &waits.paths[..] else { panic!("{:?}", waits.paths) };
        assert_eq!(names(&waits, wait, &refined), "main > MPI_Barrier");
        let spread = wait.over.unwrap();
        assert_eq!((spread.sum, spread.least, spread.without), (waited, [0; 2], Some(1)));
        let last = |works_most| Some(LastPeer { number: 7, among: 1, works_most });
        let expected = match keep {
            Keep::All => last(Some(true)),
            Keep::Top => last(None),
            Keep::None => None,
        };
        assert_eq!(wait.last, expected, "{keep:?}");
        let is_told = waits.missing.iter().any(|cause| cause.contains("--keep-ranks all"));
        assert_eq!(is_told, keep == Keep::None, "{:?}", waits.missing);
        let worst = &waits.imbalances[0];
        assert_eq!(names(&waits, worst, &refined), "main > step_0 > kernel_3");
        let spread = worst.over.unwrap();
        let sum: u64 = (0..12).map(|rank| job.kernel(rank, 3)).sum();
        assert_eq!(spread.most_rank, Some(7));
        assert_eq!(spread.imbalance(), [12 * job.kernel(7, 3) - sum; 2]);
        // All else differs by less than chance.
        assert_eq!(waits.imbalances.len(), 1, "{keep:?}: {:?}", waits.imbalances);
        assert!(waits.within_noise > 10, "{}", waits.within_noise);
    }
}

/// Where stages left less than a sum says, that is told.
#[test]
fn what_stages_made_unknown_is_told() {
    let told = |keep: Keep, stages: &str| waits(&summed(&job(), keep), stages).1.missing.join("\n");
    for keep in [Keep::Top, Keep::None] {
        let part = told(keep, "through kernel_3");
        assert!(part.contains("stages took a part of them"), "{part}");
        let anew = told(keep, "hide step_0");
        assert!(anew.contains("put paths together anew"), "{anew}");
        assert!(!told(keep, "").contains("stages"), "{keep:?}");
    }
    for stages in ["through kernel_3", "hide step_0"] {
        let all = told(Keep::All, stages);
        assert!(!all.contains("not known"), "{all}");
    }
    let alone = told(Keep::All, "rank = 7");
    assert!(alone.contains("one rank") && !alone.contains("not all are kept"), "{alone}");
}

/// Ranks that were recorded together, by two metrics; a stage takes paths out.
#[test]
fn who_waits_by_the_clock_and_works_by_processor() {
    let mut text = "# thread=1 epoch=0 name=mpirun\nmain 1\n  poll realtime:9 9\n".to_owned();
    for rank in 3..7 {
        let (own, wait) = if rank == 5 { (160, 2) } else { (100, 62) };
        text.push_str(&format!(
            "# rank={rank} thread={rank} epoch=0\nmain 0\n  solve {own}\n  exchange\n    \
             MPI_Allreduce {wait} realtime:{wait}\n      poll 5 realtime:5\n  bcast\n    MPI_Bcast 9 \
             realtime:9\n      MPI_Send 4 realtime:4\n"
        ));
    }
    let mut profile = from_outline(&text).unwrap();
    profile.info.processes[0].rank = None;
    let (refined, found) = waits(&profile, "");
    let over = found.over.as_ref().unwrap();
    assert_eq!((&*over.whose, over.label(2)), ("4 ranks", "rank 5".to_owned()));
    let listed = |of: &[Wait]| listed(&found, of, &refined);
    let [all, cast] = [(3 * 62 + 2 + 4 * 5), 4 * 13];
    assert_eq!(
        listed(&found.operations),
        [("MPI_Allreduce".to_owned(), all), ("MPI_Bcast".to_owned(), cast)]
    );
    assert_eq!(listed(&found.paths)[0].0, "main > exchange > MPI_Allreduce");
    let last = LastPeer { number: 2, among: 1, works_most: Some(true) };
    assert_eq!([found.paths[0].last, found.paths[1].last], [Some(last), None]);
    assert_eq!(listed(&found.imbalances), [("main > solve".to_owned(), 460)]);
    assert!(found.missing.is_empty(), "{:?}", found.missing);
    let path = found.path(&refined, &found.imbalances[0]).unwrap();
    assert_eq!(path.0.len(), 2);
    let (_, without) = waits(&profile, "not through MPI_*");
    assert!(without.operations.is_empty() && !without.imbalances.is_empty());
    assert!(without.missing[0].contains("no path that is shown has a call of MPI"));
    let (_, turned) = waits(&profile, "callers of solve");
    assert!(turned.missing[0].contains("to its callers"), "{:?}", turned.missing);
    assert!(turned.paths.is_empty() && turned.imbalances.is_empty());
}

/// MPI is initialized in `main`, which is above all that waits.
#[test]
fn what_mpi_has_counted_is_of_each_caller_and_computing_is_not_waiting() {
    let profile = four_ranks(|own, wait| {
        format!(
            "main 4 mpi:4\n  solve {own}\n  exchange {wait} mpi:{wait}\n    MPI_Allreduce {wait}\n  \
             sweep\n    inner 30 mpi:30\n    inner 7\n"
        )
    });
    let (refined, found) = waits(&profile, "");
    let expected = [
        ("main > exchange".to_owned(), 188),
        ("main > sweep > inner".to_owned(), 120),
        ("main".to_owned(), 16),
    ];
    assert_eq!(listed(&found, &found.paths, &refined), expected);
    let of_functions = expected
        .map(|(path, samples)| (path.rsplit(" > ").next().unwrap_or_default().to_owned(), samples));
    assert_eq!(listed(&found, &found.operations, &refined), of_functions);
    let [exchange, inner, main] = [0, 1, 2].map(|place: usize| found.paths[place].over.unwrap());
    assert_eq!((exchange.least, exchange.least_rank, exchange.sum), ([2; 2], Some(2), 188));
    assert_eq!(([inner.most, main.most], main.without), ([[30; 2], [4; 2]], Some(0)));
    // By CPU time, of which MPI uses some while it waits.
    assert_eq!(listed(&found, &found.imbalances, &refined), [("main > solve".to_owned(), 460)]);
    assert!(is_told(&found, "-e realtime") && !is_told(&found, "-e cputime"), "{found:?}");
}

/// A call from a binding for Fortran is one of a function that waits for all.
#[test]
fn who_works_most_is_not_told_by_what_callers_have_below_them() {
    let profile =
        four_ranks(|own, wait| format!("main\n  solve {own}\n  mpi_barrier_ {wait} mpi:{wait}\n"));
    let (_, found) = waits(&profile, "");
    let last = LastPeer { number: 2, among: 1, works_most: None };
    assert_eq!(found.paths[0].last, Some(last));
}

/// Which other waits are in the time that `mpi` has counted is not known, so none is listed beside.
/// That a profile has `mpi` hides none where no sample of it is shown.
#[test]
fn without_mpi_that_is_shown_threads_wait_in_the_kernel_and_for_locks() {
    let thread = |thread: u32| {
        format!(
            "# rank=0 thread={thread} epoch=0\nwork\n  init 5 mpi:5\n  step 20\n    \
             \"[waits: futex]\" 30 realtime:30 wait\n  guarded 70 lock:70\n"
        )
    };
    let outline = (1..=4).map(thread).collect::<String>();
    let mut profile = from_outline(&outline).unwrap();
    profile.info.processes[0].rank = None;
    let (refined, found) = waits(&profile, "");
    assert_eq!(listed(&found, &found.paths, &refined), [("work > init".to_owned(), 20)]);
    assert_eq!(listed(&found, &found.operations, &refined), [("init".to_owned(), 20)]);
    assert!(is_told(&found, "no path that is shown has the call itself"), "{:?}", found.missing);
    let others = "waits in the kernel and for locks are not listed beside mpi";
    assert!(is_told(&found, others), "{:?}", found.missing);
    let alone = from_outline(&outline.replace("  guarded 70 lock:70\n", "")).unwrap();
    let (_, found) = waits(&alone, "");
    assert!(is_told(&found, "waits in the kernel are not listed"), "{:?}", found.missing);
    let works = from_outline(&outline.replace("step 20", "step 20 realtime:20")).unwrap();
    let (_, found) = waits(&works, "not through \"[waits: futex]\"");
    assert!(is_told(&found, "waits for locks are not listed"), "{:?}", found.missing);
    let (_, found) = waits(&profile, "through init");
    assert!(!is_told(&found, "not listed"), "{:?}", found.missing);
    let (refined, found) = waits(&profile, "not through init");
    let futex = ("work > step > [waits: futex]".to_owned(), 120);
    let expected = [("work > guarded".to_owned(), 280), futex];
    assert_eq!(listed(&found, &found.paths, &refined), expected);
    assert_eq!(found.missing, ["no path that is shown has a call of MPI"]);
}

/// By the clock, too, where the names of calls are hidden and their callers were counted.
#[test]
fn unequal_waiting_in_the_kernel_is_no_work() {
    let profile = four_ranks(|own, wait| {
        format!(
            "main\n  solve {own} realtime:{own}\n  exchange {wait} mpi:{wait}\n    \
             \"[waits: futex]\" {wait} realtime:{wait} wait\n"
        )
    });
    let realtime = profile.metric_of("realtime").unwrap();
    let refined = apply(&profile, &parse("").unwrap()).unwrap().looking_at(realtime);
    let found = unwatched(|watch| Waits::of(&refined, watch));
    let exchange = ("main > exchange".to_owned(), 188);
    assert_eq!(listed(&found, &found.paths, &refined), [exchange]);
    assert_eq!(listed(&found, &found.imbalances, &refined), [("main > solve".to_owned(), 460)]);
}

/// What other metrics than the clock's have seen of waiting is in no list, and so is compared.
#[test]
fn waiting_that_no_clock_has_seen_is_compared() {
    let profile =
        four_ranks(|own, _| format!("main\n  solve 100\n  \"[waits: futex]\" {own} wait\n"));
    let (refined, found) = waits(&profile, "");
    assert!(found.paths.is_empty(), "{:?}", found.paths);
    let futex = ("main > [waits: futex]".to_owned(), 460);
    assert_eq!(listed(&found, &found.imbalances, &refined), [futex]);
}

/// Who has least of an event need not have waited least, whichever ranks are kept apart.
#[test]
fn who_came_last_is_told_by_time_alone() {
    let job = job();
    for keep in [Keep::All, Keep::None] {
        let mut reduction = Reduction::new(keep);
        for rank in 0..job.ranks {
            let mut part = job.rank(rank, job.busiest());
            (part.metric.source, part.metric.unit) = ("cycles".to_owned(), "cycles".to_owned());
            reduction.add(&rank.to_string(), &part).unwrap();
        }
        let (_, found) = waits(&Profile::from_saved(reduction.finish()), "");
        assert_eq!(found.paths[0].last, None);
        let cause = "by cycles it is not known who came last";
        assert!(is_told(&found, cause) && is_told(&found, "record -e cputime"), "{found:?}");
        assert!(!is_told(&found, "--keep-ranks"), "{:?}", found.missing);
    }
}

/// A metric whose samples lie on callers has none in calls of MPI.
#[test]
fn waits_are_told_by_time_where_calls_are_looked_at() {
    let profile = four_ranks(|own, wait| {
        format!(
            "main\n  solve {own}\n  exchange 8 mpi-bytes:8\n    MPI_Allreduce {wait}\n    poll 9\n"
        )
    });
    let bytes = profile.metric_of("mpi-bytes").unwrap();
    let refined = apply(&profile, &parse("").unwrap()).unwrap().looking_at(bytes);
    let found = unwatched(|watch| Waits::of(&refined, watch));
    let expected = ("main > exchange > MPI_Allreduce".to_owned(), 188);
    assert_eq!(listed(&found, &found.paths, &refined), [expected]);
    assert!(is_told(&found, "this is cputime in calls of MPI"), "{:?}", found.missing);
    // What waits below it differ by is no difference of `exchange`.
    assert_eq!(listed(&found, &found.imbalances, &refined), [("main > solve".to_owned(), 460)]);
}

/// Threads without MPI wait in the kernel and for locks, each by its metric.
#[test]
fn threads_wait_for_locks() {
    let mut text = String::new();
    for thread in 1..=4 {
        let own = if thread == 2 { 400 } else { 100 };
        text.push_str(&format!(
            "# rank=0 thread={thread} epoch=0 name=worker\nwork\n  step {own}\n  \
             pthread_mutex_lock 70 lock:70\n"
        ));
    }
    let mut profile = from_outline(&text).unwrap();
    profile.info.processes[0].rank = None;
    let (refined, found) = waits(&profile, "");
    assert!(found.over.as_ref().unwrap().whose.starts_with("4 threads"), "{:?}", found.over);
    assert_eq!(found.over.as_ref().unwrap().label(1), "2 worker");
    let lock = &found.paths[0];
    assert_eq!(
        (names(&found, lock, &refined), lock.samples),
        ("work > pthread_mutex_lock".to_owned(), 280)
    );
    assert_eq!(lock.over.unwrap().imbalance(), [0; 2]);
    let worst = &found.imbalances[0];
    assert_eq!(
        (names(&found, worst, &refined), worst.over.unwrap().most_rank),
        ("work > step".to_owned(), Some(1))
    );
    assert!(found.missing.iter().any(|cause| cause.contains("-e realtime")));
}

/// Of ranks that wait as long as each other, but for sampling, none is said to be the last.
#[test]
fn noise_makes_nobody_the_last() {
    let rank = |rank: u32| {
        let wait = [62, 60, 66, 61][rank as usize];
        format!("# rank={rank} thread={rank} epoch=0\nmain 5\n  MPI_Barrier {wait}\n")
    };
    let profile = from_outline(&(0..4).map(rank).collect::<String>()).unwrap();
    let (_, found) = waits(&profile, "");
    assert_eq!((found.paths[0].samples, found.paths[0].last), (249, None));
    assert!(!found.missing.iter().any(|cause| cause.contains("--keep-ranks")), "{found:?}");
}

#[test]
fn what_cannot_be_compared_is_told() {
    let (_, alone) = waits(&from_outline("main 5\n").unwrap(), "");
    assert!(alone.over.is_none() && alone.imbalances.is_empty());
    assert!(alone.missing[0].contains("nothing to compare"), "{:?}", alone.missing);
    let [base, other] = [0, 1].map(|_| from_outline("main 5\n  MPI_Send 3\n").unwrap());
    let compared = Profile::compared(("old", base), ("new", other), &[]).unwrap();
    let (_, compared) = waits(&compared, "");
    assert!(compared.missing[0].contains("two runs are compared"), "{:?}", compared.missing);
}

/// Ranks that wait awake in different calls: what these have together is not what `exchange` has.
#[test]
fn what_several_waits_differ_by_is_no_difference_of_their_caller() {
    let rank = |rank: usize| {
        let [send, receive, own] = [[60, 0, 0], [0, 40, 0], [0, 0, 0], [0, 0, 900]][rank];
        format!(
            "# rank={rank} thread={rank} epoch=0\nmain\n  exchange\n    MPI_Send {send}\n    \
             MPI_Recv {receive}\n  both {own}\n    MPI_Wait {wait}\n",
            wait = 900 - own
        )
    };
    let profile = from_outline(&(0..4).map(rank).collect::<String>()).unwrap();
    let (refined, found) = waits(&profile, "");
    assert_eq!(found.paths.len(), 3, "{:?}", found.paths);
    // One computes in `both` for as long as others wait there, so the path itself is even.
    assert!(found.imbalances.is_empty(), "{:?}", listed(&found, &found.imbalances, &refined));
    let (refined, found) = waits(&profile, "not through MPI_*");
    assert_eq!(listed(&found, &found.imbalances, &refined), [("main > both".to_owned(), 900)]);
}

/// That a profile has `mpi` does not make up for a clock where no sample of it is shown.
#[test]
fn what_is_not_in_the_time_of_calls_is_told_where_no_counted_one_is_shown() {
    let profile = four_ranks(|own, wait| {
        format!("main\n  solve {own}\n  MPI_Allreduce {wait}\n  exchange 8 mpi:8\n")
    });
    let (refined, found) = waits(&profile, "through MPI_Allreduce");
    assert_eq!(names(&found, &found.paths[0], &refined), "main > MPI_Allreduce");
    let cause = "what a rank waits asleep is not in it; record -e realtime has that";
    assert!(is_told(&found, cause), "{:?}", found.missing);
}

/// What the program counts lies on callers, too, by whatever name.
#[test]
fn waits_are_told_by_time_where_resources_are_looked_at() {
    let mut profile = four_ranks(|own, wait| {
        format!("main\n  solve {own}\n  exchange 8 rows:8\n    MPI_Allreduce {wait}\n")
    });
    let rows = profile.metric_of("rows").unwrap();
    profile.info.further[0].metric.unit = "units".to_owned();
    let refined = apply(&profile, &parse("").unwrap()).unwrap().looking_at(rows);
    let found = unwatched(|watch| Waits::of(&refined, watch));
    assert_eq!(found.paths[0].samples, 188);
    assert!(is_told(&found, "this is cputime in calls of MPI"), "{:?}", found.missing);
}
