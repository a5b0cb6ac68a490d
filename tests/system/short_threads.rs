//! Programs that start threads for ever: the first 1000 that end keep their records, those that end
//! later leave theirs to the next, and nothing that they did is lost. What is excepted is in
//! docs/decisions/collector-memory.md.

use csprof_format::profile::{Profile, Thread};
use csprof_tests::paths::Rows;
use csprof_tests::recording::Recording;
use csprof_tests::workshop::Workshop;

/// Ended threads that keep records of their own.
const OWN: usize = 1000;

/// Each request of the program asks for memory once.
const EACH: &[&str] = &["-e", "alloc-calls@1"];

fn workshop(test: &str) -> Workshop {
    let workshop = Workshop::new(test);
    workshop.compile("cc -O2 -g -pthread -o short_threads @short_threads.c");
    workshop
}

/// Records so many threads of which so many run side by side: the program says what it says alone.
fn record(workshop: &Workshop, options: &[&str], words: &[&str]) -> Recording {
    let words: Vec<&str> = ["./short_threads"].into_iter().chain(words.iter().copied()).collect();
    let alone = workshop.run(&words);
    let recording = workshop.record(options, &words);
    assert_eq!(recording.outcome.said(), alone.said(), "{}", recording.outcome.complained());
    recording
}

/// What each thread stands for besides itself.
fn with_earlier(profile: &Profile) -> impl Iterator<Item = (&Thread, u64)> {
    let threads = (0..).zip(&profile.threads);
    threads.map(|(id, thread)| (thread, profile.earlier_threads(csprof_format::ids::ThreadId(id))))
}

#[test]
fn twenty_thousand_threads_take_bounded_memory() {
    let workshop = workshop("short_threads");
    let sources = ["-e", "alloc-calls@1", "-e", "task-clock@1000"];
    let recording = record(&workshop, &sources, &["20000", "16"]);
    let profile = &recording.profile;
    assert_eq!(profile.thread_count(), 20_001);
    assert!(profile.threads.len() <= 1 + OWN + 16, "{} records", profile.threads.len());
    // A page for each of these; and for all threads together, what is in the log and on more paths,
    // no more than a hundred bytes for each.
    let memory = &recording.info["collector_memory"];
    let arena: u64 =
        ["node_bytes", "record_bytes"].iter().map(|key| memory[key].as_u64().unwrap()).sum();
    assert!(arena < (1 + OWN as u64 + 16) * 4096 + 20_000 * 100, "{memory}");
    // None of the requests is missing, whoever made it.
    let rows = recording.rows();
    assert_eq!(rows.inclusive_of("request"), 20_000, "{rows}");
    let lost = recording.info["losses"].as_object().unwrap();
    assert!(lost.values().all(|samples| samples == 0), "{lost:?}");
    // 40 of them burn 5 ms of CPU time each, which no wait is part of: one of five samples may come
    // before, or not be due any more.
    if recording.info["sources"][1]["name"] == "task-clock" {
        let rows = recording.output(&["report", "--format", "json", "--metric", "task-clock"]);
        let rows = Rows::new(&rows);
        assert!(rows.inclusive_of("burn") >= 40 * 3, "{rows}");
    }
    // Digits stand in groups, with thin spaces between them.
    let shown = |what: &str| recording.output(&[what]).replace('\u{2009}', " ");
    let text = shown("info");
    let (_, stood_for) =
        text.split_once("20 001 threads in all; ").unwrap_or_else(|| panic!("{text}"));
    let digits = stood_for.chars().take_while(|&digit| digit.is_ascii_digit() || digit == ' ');
    let stood_for: u64 = digits.filter(char::is_ascii_digit).collect::<String>().parse().unwrap();
    // A new thread takes the record that was left last, so the first ones may never be taken again:
    // as many as ran side by side.
    assert!((18_984..=19_000).contains(&stood_for), "{text}");
    assert!(text.contains(": each stands for threads that ran one after the other"), "{text}");
    let report = shown("report");
    assert!(report.contains(" on 20 001 threads of 1 process"), "{report}");
    let list = recording.output(&["report", "--view", "threads", "--format", "csv"]);
    let process = list.lines().find(|line| line.starts_with("0,process,")).unwrap();
    assert!(process.contains(",20001,"), "{process}");
}

/// Nothing changes for programs with fewer.
#[test]
fn as_many_as_keep_their_records_have_one_each() {
    let workshop = workshop("short_threads_few");
    let recording = record(&workshop, EACH, &["1000", "8"]);
    assert_eq!(recording.profile.threads.len(), 1 + OWN);
    assert!(recording.profile.earlier.is_empty(), "{:?}", recording.profile.earlier);
    let one_more = record(&workshop, EACH, &["1002", "1"]);
    assert_eq!(one_more.profile.threads.len(), 1 + OWN + 1);
    assert_eq!(one_more.profile.earlier.len(), 1);
    assert_eq!(one_more.rows().inclusive_of("request"), 1002);
}

#[test]
fn threads_of_one_role_go_on_in_each_others_records() {
    let workshop = workshop("short_threads_named");
    let recording = record(&workshop, EACH, &["3000", "4", "named"]);
    let profile = &recording.profile;
    assert_eq!(profile.thread_count(), 3001);
    assert!(profile.threads.len() <= 1 + OWN + 4, "{} records", profile.threads.len());
    for (thread, earlier) in with_earlier(profile).skip(1) {
        assert!(thread.name.starts_with(b"read-"), "{thread:?}");
        // The start is the first one's, the end the last one's.
        assert!(thread.start_ns < thread.end_ns, "{thread:?}");
        assert!(earlier == 0 || thread.recorded >= earlier, "{thread:?}");
    }
    assert_eq!(recording.rows().inclusive_of("request"), 3000);
}

/// Also while one of them has not been looked at: not as who started them, which none is called.
#[test]
fn a_record_has_the_last_name_that_was_noted() {
    let workshop = workshop("short_threads_left");
    let recording = record(&workshop, &[], &["1200", "4", "named-left"]);
    let of_several = |(thread, earlier)| (earlier > 0).then_some(thread);
    let threads: Vec<&Thread> = with_earlier(&recording.profile).filter_map(of_several).collect();
    // The last ones are among them, without an end.
    assert!(threads.iter().any(|thread| thread.end_ns == 0), "{threads:?}");
    for thread in threads {
        assert!(thread.name.starts_with(b"read-"), "{thread:?}");
    }
}

#[test]
fn threads_that_take_different_names_are_not_mixed() {
    let workshop = workshop("short_threads_names");
    let recording = record(&workshop, EACH, &["2000", "4", "two-names"]);
    let profile = &recording.profile;
    assert!(profile.earlier.is_empty(), "{:?}", profile.earlier);
    let writes = profile.threads.iter().filter(|thread| thread.name == b"write");
    assert_eq!((profile.threads.len(), writes.count()), (2001, 1000));
}

/// They are found to be gone by those that begin later, which then go on in their records.
#[test]
fn threads_that_end_behind_the_c_librarys_back_leave_their_records() {
    let workshop = workshop("short_threads_gone");
    let recording = record(&workshop, EACH, &["4000", "4", "gone"]);
    let profile = &recording.profile;
    assert_eq!(profile.thread_count(), 4001);
    assert!(profile.threads.len() <= 1 + OWN + 100, "{} records", profile.threads.len());
    assert_eq!(recording.rows().inclusive_of("request"), 4000);
}

/// What they used before they were sampled is no part of what others used in the same record.
#[test]
fn what_is_gone_without_a_sample_takes_no_time_from_others() {
    let workshop = workshop("short_threads_gone_unsampled");
    let recording = record(&workshop, &[], &["1500", "4", "gone"]);
    let profile = &recording.profile;
    let accounts = profile.accounts.iter().flat_map(|account| &account.threads);
    assert_eq!(accounts.clone().count(), profile.threads.len());
    assert!(!profile.earlier.is_empty());
    let accounts: Vec<_> = accounts.collect();
    for earlier in &profile.earlier {
        let at = earlier.thread.index();
        let (thread, account) = (&profile.threads[at], accounts[at]);
        assert!(account.cpu_before_ns > 0, "{thread:?}");
        assert!(thread.cpu_ns >= account.cpu_before_ns, "{thread:?} {account:?}");
    }
}

#[test]
fn the_child_of_a_fork_has_records_of_its_own() {
    let workshop = workshop("short_threads_forks");
    let recording = record(&workshop, EACH, &["1500", "4", "forks"]);
    let profile = &recording.profile;
    let of_child: Vec<u64> = with_earlier(profile)
        .filter(|(thread, _)| thread.process.index() == 1)
        .map(|(_, earlier)| earlier)
        .collect();
    assert_eq!(of_child, [0; 21]);
    assert_eq!(profile.thread_count(), 1501 + 21);
    assert_eq!(recording.rows().inclusive_of("request"), 1500 + 20);
}

/// Nobody goes on in the record of the main thread.
#[test]
fn the_main_thread_may_end_before_them() {
    let workshop = workshop("short_threads_main");
    let recording = record(&workshop, EACH, &["1500", "4", "main-ends"]);
    let profile = &recording.profile;
    assert_eq!(profile.thread_count(), 1502);
    let pid = profile.processes[0].pid;
    let main: Vec<u64> = with_earlier(profile)
        .filter(|(thread, _)| thread.tid == pid)
        .map(|(_, earlier)| earlier)
        .collect();
    assert_eq!(main, [0]);
    assert_eq!(recording.rows().inclusive_of("request"), 1500);
}

/// When samples were taken is known of all threads, whichever record they had.
#[test]
fn times_of_samples_go_on() {
    let workshop = workshop("short_threads_times");
    let options = ["-e", "alloc-calls@1", "--times"];
    let recording = record(&workshop, &options, &["4000", "4"]);
    let profile = &recording.profile;
    assert!(!profile.earlier.is_empty());
    let timed: u64 = profile.times.iter().map(|row| u64::from(row.samples)).sum();
    assert_eq!(timed, profile.nodes.total_samples(), "{:?}", profile.run.warnings);
}

/// Elapsed time is that of threads: not what passes between the end of one and the start of the
/// next, in which nobody is there for a sample.
#[test]
fn nobody_waits_between_two_threads() {
    let workshop = workshop("short_threads_elapsed");
    let recording = record(&workshop, &["-e", "realtime@1000"], &["3000", "1"]);
    let passed = recording.info["elapsed_time"]["passed_s"].as_f64().unwrap();
    let threads = &recording.profile.threads;
    let ends = threads.iter().map(|thread| thread.end_ns - thread.start_ns.min(thread.end_ns));
    let apart: u64 = recording.profile.earlier.iter().map(|row| row.apart_ns).sum();
    assert!(apart > 0, "{:?}", recording.profile.earlier);
    // All records, the main thread's among them, from their starts to their ends.
    let whole = ends.sum::<u64>() + recording.profile.run.duration_ns;
    assert!(passed * 1e9 <= (whole - apart) as f64, "{passed} of {whole} without {apart}");
}
