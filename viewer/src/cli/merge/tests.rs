//! Shares of a merge, which here are threads: a lock is of an open file, so they meet as processes
//! do.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Instant;

use clap::Parser;
use csprof_format::{read, write};
use proptest::prelude::*;

use super::member::Watch;
use super::share::Cores;
use super::*;
use crate::profile::reduce::tests::job::Job;
use crate::surroundings::{comes_true, skip};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    merge: Merge,
}

/// `csprof merge` with these arguments, in a folder.
fn merge(folder: &Path, output: &str, arguments: &[&str]) -> Merge {
    let output = folder.join(output).display().to_string();
    let ranks = folder.join("ranks").display().to_string();
    let line = ["merge", "-o", &output, &ranks];
    let line = line.into_iter().chain(arguments.iter().copied());
    Line::try_parse_from(line).unwrap().merge
}

/// The profiles of a job in a folder.
fn recorded(folder: &Path, job: &Job) {
    fs::create_dir(folder.join("ranks")).unwrap();
    let busiest = job.busiest();
    for rank in 0..job.ranks {
        let path = folder.join(format!("ranks/{rank}.csprof"));
        write::save_new(&job.rank(rank, busiest), &path).unwrap();
    }
}

/// What each of so many shares says: nothing, or an error.
fn in_shares(merge: &Merge, count: u32) -> Vec<Option<String>> {
    thread::scope(|scope| {
        let run = |number| {
            let share = Share { number, count, cores: Cores::Among(count) };
            scope.spawn(move || merge.run_share(share).err().map(|error| format!("{error:#}")))
        };
        // Share 0 is not the first that comes.
        let shares: Vec<_> = (0..count).rev().map(run).collect();
        shares.into_iter().rev().map(|share| share.join().unwrap()).collect()
    })
}

/// Names of what is in a folder.
fn names(folder: &Path) -> Vec<String> {
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| name(entry.unwrap())).collect();
    names.sort();
    names
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..Default::default() })]

    /// As many shares as one likes write what one process writes, whatever becomes of the ranks,
    /// and leave nothing else behind.
    #[test]
    fn shares_write_what_one_process_writes(
        ranks in 1_u32..20,
        private in 0_u32..3,
        count in 2_u32..7,
        how in prop::sample::select(vec![
            &[][..],
            &["--keep-ranks", "all"],
            &["--keep-ranks", "none"],
            &["--keep-ranks", "top"],
            &["--concat"],
            &["--expect-ranks", "21"],
        ]),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let late = vec![(ranks / 3, 2), (ranks / 2, 1)];
        recorded(folder.path(), &Job { ranks, common: 4, private, late, addresses: 1 });
        merge(folder.path(), "one.csprof", how).run_share(Share::WHOLE).unwrap();
        let several = merge(folder.path(), "several.csprof", how);
        prop_assert_eq!(in_shares(&several, count), vec![None; count as usize]);
        prop_assert_eq!(names(folder.path()), ["one.csprof", "ranks", "several.csprof"]);
        let bytes = |name: &str| fs::read(folder.path().join(name)).unwrap();
        prop_assert!(bytes("one.csprof") == bytes("several.csprof"));
    }
}

fn job() -> Job {
    Job { ranks: 12, common: 4, private: 1, late: Vec::new(), addresses: 1 }
}

#[test]
fn one_share_that_fails_ends_all_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path(), &job());
    // The eighth name, which share 3 of 4 has.
    fs::write(folder.path().join("ranks/5.csprof"), "to do: buy milk\n").unwrap();
    let errors = in_shares(&merge(folder.path(), "job.csprof", &[]), 4);
    let errors: Vec<String> = errors.into_iter().map(Option::unwrap).collect();
    assert!(errors[3].contains("5.csprof: this is a text file"), "{errors:?}");
    for other in [0, 1, 2] {
        assert!(errors[other].starts_with("share 3 of 4 on "), "{errors:?}");
        assert!(errors[other].contains("5.csprof: this is a text file"), "{errors:?}");
    }
    assert_eq!(names(folder.path()), ["ranks"]);
}

/// Files that are left out, and ranks that are missing, are those of all shares.
#[test]
fn the_output_names_what_all_shares_left_out() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path(), &job());
    for rank in [3, 8] {
        fs::write(folder.path().join(format!("ranks/{rank}.csprof")), "").unwrap();
    }
    let how = ["--skip-damaged", "--expect-ranks", "12"];
    let errors = in_shares(&merge(folder.path(), "job.csprof", &how), 5);
    assert_eq!(errors, vec![None; 5]);
    let warnings = read::open(&folder.path().join("job.csprof")).unwrap().run.warnings;
    let said = warnings.join("\n");
    for expected in ["ranks/3.csprof", "ranks/8.csprof", "ranks 3 and 8 of 12 are missing"] {
        assert!(said.contains(expected), "{said}");
    }
    merge(folder.path(), "one.csprof", &how).run_share(Share::WHOLE).unwrap();
    let bytes = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert!(bytes("one.csprof") == bytes("job.csprof"));
}

/// What is missing of one run may come later; it stays with a profile that is of several.
#[test]
fn a_rank_that_comes_later_is_not_missing() {
    let folder = tempfile::tempdir().unwrap();
    let job = Job { ranks: 3, ..job() };
    fs::create_dir(folder.path().join("ranks")).unwrap();
    let write = |rank: u32| {
        let mut profile = job.rank(rank, job.busiest());
        profile.job_sizes = vec![3];
        let path = folder.path().join(format!("ranks/{rank}.csprof"));
        write::save_new(&profile, &path).unwrap();
    };
    let warnings = |name: &str, how: &[&str]| {
        merge(folder.path(), name, how).run_share(Share::WHOLE).unwrap();
        read::open(&folder.path().join(name)).unwrap().run.warnings.join("\n")
    };
    let both = ["--concat", "--keep-ranks=all"];
    write(0);
    for (how, name) in both.into_iter().zip(["apart.csprof", "sum.csprof"]) {
        let is_sum = how != "--concat";
        assert_eq!(warnings(name, &[how]).contains("are missing"), is_sum, "{how}");
    }
    fs::remove_file(folder.path().join("ranks/0.csprof")).unwrap();
    write(1);
    for (how, name) in both.into_iter().zip(["apart.csprof", "sum.csprof"]) {
        let first = folder.path().join(name).display().to_string();
        let name = format!("two.{name}");
        let said = warnings(&name, &[how, &first]);
        assert!(said.contains("rank 2 of 3 is missing"), "{how}: {said}");
        assert!(!said.contains("are missing"), "{how}: {said}");
    }
    fs::remove_file(folder.path().join("ranks/1.csprof")).unwrap();
    write(2);
    for (how, name) in both.into_iter().zip(["two.apart.csprof", "two.sum.csprof"]) {
        let first = folder.path().join(name).display().to_string();
        let said = warnings(&format!("all.{name}"), &[how, &first]);
        assert!(!said.contains("missing"), "{how}: {said}");
    }
}

#[test]
fn shares_that_merge_other_files_are_told() {
    // At once: share 0 is there until the other has seen it. A machine that is busy is asked again,
    // so that only what delays each meeting is found.
    let is_at_once = |taken: Duration| taken < Duration::from_secs(8);
    assert!((0..3).any(|_| is_at_once(time_until_others_are_told())));
}

/// How long it takes until two shares that differ in what they merge have ended.
fn time_until_others_are_told() -> Duration {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path(), &job());
    let usual = merge(folder.path(), "job.csprof", &[]);
    let other = merge(folder.path(), "job.csprof", &["--keep-ranks", "all"]);
    let share = |number| Share { number, count: 2, cores: Cores::All };
    let begin = Instant::now();
    let errors = thread::scope(|scope| {
        let first = scope.spawn(|| usual.run_share(share(0)).unwrap_err().to_string());
        [other.run_share(share(1)).unwrap_err().to_string(), first.join().unwrap()]
    });
    for error in &errors {
        assert!(error.contains("is to merge other files than share 0, or otherwise"), "{errors:?}");
    }
    let taken = begin.elapsed();
    assert_eq!(names(folder.path()), ["ranks"]);
    taken
}

#[test]
fn a_share_that_does_not_begin_is_named_and_a_second_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path(), &job());
    let hasty = merge(folder.path(), "job.csprof", &["--timeout", "200ms"]);
    let share = |number| Share { number, count: 3, cores: Cores::All };
    let told = |number| hasty.run_share(share(number)).unwrap_err().to_string();
    assert!(
        told(0).starts_with("share 1 of 3 has not begun within 200ms; start all, from 0/3 to 2/3")
    );
    assert!(told(2).starts_with("share 0 of 3 has not begun within 200ms"));
    assert_eq!(names(folder.path()), ["ranks"]);
    // A launcher that starts processes that know nothing of each other.
    let path = folder.path().join("job.csprof");
    let first = Meeting::join(&path, Share::WHOLE, String::new(), hasty.timeout).unwrap();
    let error = hasty.run_share(Share::WHOLE).unwrap_err().to_string();
    assert!(
        error.contains("job.csprof: process ") && error.contains("merges into this file already")
    );
    drop(first);
    hasty.run_share(Share::WHOLE).unwrap();
    assert_eq!(names(folder.path()), ["job.csprof", "ranks"]);
}

/// As a merge leaves it that was killed; and what is not of a merge is not touched.
#[test]
fn what_an_earlier_merge_left_is_removed_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path(), &job());
    let parts = folder.path().join("job.csprof.parts");
    fs::create_dir(&parts).unwrap();
    let session = "0123456789abcdef";
    for name in ["go", "failed", "1.csprof", "1.json", "done"] {
        fs::write(parts.join(format!("{session}.{name}")), "[]").unwrap();
    }
    let merge = merge(folder.path(), "job.csprof", &[]);
    fs::write(parts.join("thesis.txt"), "").unwrap();
    let error = merge.run_share(Share::WHOLE).unwrap_err().to_string();
    assert!(error.contains("job.csprof.parts: thesis.txt in it is of no merge"), "{error}");
    assert!(parts.join("thesis.txt").exists() && !folder.path().join("job.csprof").exists());
    fs::remove_file(parts.join("thesis.txt")).unwrap();
    assert_eq!(in_shares(&merge, 3), vec![None; 3]);
    assert_eq!(names(folder.path()), ["job.csprof", "ranks"]);
}

/// A meeting of share `number` of `count`.
fn join(output: &Path, number: u32, count: u32) -> Result<Meeting> {
    let share = Share { number, count, cores: Cores::All };
    Meeting::join(
        output,
        share,
        "task".to_owned(),
        Duration::from_millis(if count == 2 { 60_000 } else { 50 }),
    )
}

/// Two shares of one merge, which have met.
fn met(output: &Path) -> [Meeting; 2] {
    thread::scope(|scope| {
        let first = scope.spawn(|| join(output, 0, 2).unwrap());
        let second = join(output, 1, 2).unwrap();
        [first.join().unwrap(), second]
    })
}

/// One of other numbers, or one that comes too late, neither takes part in a merge nor ends it.
#[test]
fn a_share_of_another_merge_does_not_end_this_one() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("job.csprof");
    let [first, second] = met(&output);
    let error = join(&output, 2, 4).unwrap_err().to_string();
    assert!(error.starts_with("share 0 of 4 has not begun"), "{error}");
    for meeting in [&first, &second] {
        meeting.check().unwrap();
    }
    drop(second);
    let share = Share { number: 1, count: 2, cores: Cores::All };
    let late = Meeting::join(&output, share, "task".to_owned(), Duration::from_millis(50));
    let error = late.unwrap_err().to_string();
    assert!(error.starts_with("share 0 of 2 has not begun"), "{error}");
    first.check().unwrap();
    drop(first);
    assert_eq!(names(folder.path()), [""; 0]);
}

/// While others have yet to read that it is done, no other merge begins, which would remove that.
#[test]
fn the_output_is_locked_until_all_shares_have_left() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("job.csprof");
    let [first, second] = met(&output);
    thread::scope(|scope| {
        let done = scope.spawn(|| first.done());
        let is_told = || {
            names(&folder.path().join("job.csprof.parts"))
                .iter()
                .any(|name| name.ends_with(".done"))
        };
        assert!(comes_true(is_told));
        let error = join(&output, 0, 1).unwrap_err().to_string();
        assert!(error.contains("merges into this file already"), "{error}");
        second.wait_for_end().unwrap();
        done.join().unwrap();
    });
    assert_eq!(names(folder.path()), [""; 0]);
    drop(join(&output, 0, 1).unwrap());
}

/// Of a share on another machine, whose locks are not seen here, only its beat says that it is
/// there.
#[test]
fn nobody_waits_for_a_share_that_is_silent() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("job.csprof");
    let [first, second] = met(&output);
    let path = folder.path().join("job.csprof.parts/share.1");
    let text = fs::read_to_string(&path).unwrap();
    let Ok(boot) = fs::read_to_string("/proc/sys/kernel/random/boot_id") else {
        return skip("silent shares", "the kernel does not say which one it is");
    };
    assert!(text.contains(boot.trim()));
    fs::write(&path, text.replace(boot.trim(), "another")).unwrap();
    let silence = Duration::from_secs(30);
    assert!(first.has_others(&mut [None, None], silence));
    let mut watches = [None, Some(Watch::silent_for(2 * silence))];
    assert!(!first.has_others(&mut watches, silence));
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    assert!(first.has_others(&mut watches, silence));
    drop((first, second));
}
