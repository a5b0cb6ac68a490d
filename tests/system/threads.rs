//! Who worked: threads by name, with shares that are known.

use csprof_tests::paths::is_share;
use csprof_tests::recording::Recording;
use csprof_tests::workshop::Workshop;

#[test]
fn each_thread_has_its_share() {
    let workshop = Workshop::new("threads");
    workshop.compile("cc -O2 -pthread -o program @shares.c");
    // Without the kernel's tick, which on a busy machine may not meet the end of a thread.
    let recording = workshop.record(&["-e", "task-clock@200"], &["./program"]);
    let threads = samples_by_thread(&recording);
    let all: u64 = threads.iter().map(|(_, samples)| samples).sum();
    let worker = |name: &str| threads.iter().find(|(of, _)| of == name).unwrap().1;
    assert_eq!(threads.len(), 5, "{threads:?}");
    assert!(is_share(worker("worker 1"), all, 10), "{threads:?}");
    assert!(is_share(worker("worker 2"), all, 20), "{threads:?}");
    assert!(is_share(worker("worker 3"), all, 30), "{threads:?}");
    assert!(is_share(worker("worker 4"), all, 40), "{threads:?}");
    let rows = recording.rows();
    assert_eq!(rows.at(&["worker", "work"]).edges, Some(4));
}

#[test]
fn threads_with_all_signals_blocked_are_sampled() {
    let workshop = Workshop::new("masked");
    workshop.compile("cc -O2 -pthread -o program @masked.c");
    let recording = workshop.record(&[], &["./program"]);
    let threads = samples_by_thread(&recording);
    let all: u64 = threads.iter().map(|(_, samples)| samples).sum();
    let [(_, main), (name, masked)] = &threads[..] else { panic!("{threads:?}") };
    assert_eq!(name, "masked");
    // 1 s of CPU time at 200 samples per second, half of it in each of two threads. What no tick
    // has met of a thread's end has no sample.
    let missed = recording.missed();
    let is_whole = (all..=all + missed).any(|all| is_share(all, 400, 50));
    assert!(is_whole, "{threads:?} and {missed}");
    for &part in [main, masked] {
        let is_half = (part..=part + missed).any(|part| is_share(part, all + missed, 50));
        assert!(part > 25 && is_half, "{threads:?} and {missed}");
    }
}

/// Name and samples of each thread, by `csprof info`.
fn samples_by_thread(recording: &Recording) -> Vec<(String, u64)> {
    let processes = recording.info["processes"].as_array().unwrap().iter();
    let threads = processes.flat_map(|process| process["threads"].as_array().unwrap());
    threads
        .map(|thread| {
            (thread["name"].as_str().unwrap().to_owned(), thread["samples"].as_u64().unwrap())
        })
        .collect()
}

/// Elapsed time of 200 threads at 10 000 samples each second is more than two processors bear:
/// threads are interrupted less often, and what samples stand for adds up all the same.
#[test]
fn threads_are_not_interrupted_more_often_than_the_machine_bears() {
    let workshop = Workshop::new("threads_pace");
    workshop.compile("cc -O2 -pthread -o program @waiting_threads.c");
    let recording = workshop.record(&["-e", "realtime@10000"], &["./program", "200"]);
    let messages = recording.messages();
    assert!(messages.contains("threads were interrupted less often"), "{messages}");
    let time = &recording.info["elapsed_time"];
    let seconds = |key: &str| time[key].as_f64().unwrap();
    assert!(seconds("sampled_s") > 0.5 * seconds("passed_s"), "{time}");
    assert!(seconds("sampled_s") <= seconds("passed_s"), "{time}");
    let threads = &recording.profile.threads;
    let (signals, delivered) = threads
        .iter()
        .fold((0, 0), |sum, thread| (sum.0 + thread.signals, sum.1 + thread.delivered));
    assert!(signals * 8 < delivered, "{signals} signals, {delivered} samples");
}
