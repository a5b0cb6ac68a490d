//! What a program asks its allocator for, by `-e alloc` and `-e alloc-calls`, and what it does not
//! give back, by `-e leak`: known amounts, of the paths that asked.

use std::path::Path;

use csprof_format::ids::ThreadId;
use csprof_tests::notes::skip;
use csprof_tests::paths::Rows;
use csprof_tests::recording::Recording;
use csprof_tests::workshop::Workshop;

/// What the program asks for in one round, but for what blocks grow by.
const ROUNDS: u64 = 50;
const SMALL: u64 = 2000 * 24;
const LARGE: u64 = 100_000;
const ZEROED: u64 = 1000;
const ALIGNED: u64 = 500 + 640 + 700 + 4096 + 8192;
const CALLS: u64 = 2000 + 1 + 1 + 4 + 5;

fn workshop(test: &str) -> Workshop {
    let workshop = Workshop::new(test);
    workshop.compile("cc -O2 -g -pthread -o requests @requests.c");
    workshop
}

/// Records the program, which says what it says alone.
fn record(workshop: &Workshop, sources: &[&str], how: &str) -> Recording {
    let options: Vec<&str> = sources.iter().flat_map(|source| ["-e", source]).collect();
    let alone = workshop.run(&["./requests", how]);
    let recording = workshop.record(&options, &["./requests", how]);
    assert_eq!(recording.outcome.said(), alone.said(), "{}", recording.outcome.complained());
    let lost = recording.info["samples"]["lost"].as_u64().unwrap_or(0);
    assert_eq!(lost, 0, "{}", recording.info);
    recording
}

/// The number that the program said second.
fn told(recording: &Recording) -> u64 {
    recording.outcome.said().split(' ').nth(1).unwrap().parse().unwrap()
}

/// The top-down tree of another metric than the first.
fn rows_of(recording: &Recording, metric: &str) -> Rows {
    Rows::new(&recording.output(&["report", "--format", "json", "--metric", metric]))
}

/// Bytes by path, of so many times all.
fn check_all(rows: &Rows, times: u64, grown: u64) {
    for (function, bytes) in [
        ("small", SMALL * ROUNDS * times),
        ("large", LARGE * ROUNDS * times),
        ("zeroed", ZEROED * ROUNDS * times),
        ("grown", (1000 * ROUNDS + grown) * times),
        ("aligned", ALIGNED * ROUNDS * times),
    ] {
        assert_eq!(rows.inclusive_of(function), bytes, "{function}:\n{rows}");
    }
}

#[test]
fn bytes_and_calls_are_exact_where_each_is_a_sample() {
    let workshop = workshop("memory_each");
    let recording = record(&workshop, &["alloc@1", "alloc-calls@1", "cputime@1000"], "all");
    check_all(&recording.rows(), 1, told(&recording));
    let calls = rows_of(&recording, "alloc-calls");
    assert_eq!(calls.inclusive_of("all"), CALLS * ROUNDS, "{calls}");
    assert_eq!(calls.inclusive_of("small"), 2000 * ROUNDS, "{calls}");
    let metrics: Vec<_> = recording.profile.metrics().map(|metric| &*metric.unit).collect();
    assert_eq!(metrics, ["bytes", "calls", "ns"]);
    let report = recording.output(&["report"]);
    assert!(report.contains("4.77 MiB"), "{report}");
}

/// What a path has is a matter of where periods end; what all have is not.
#[test]
fn bytes_of_all_are_within_a_period_in_each_of_ten_runs() {
    const PERIOD: u64 = 4096;
    let workshop = workshop("memory_period");
    for _ in 0..10 {
        let recording = record(&workshop, &["alloc@4K"], "all");
        let rows = recording.rows();
        let paths = [SMALL, LARGE, ZEROED, ALIGNED].map(|bytes| bytes * ROUNDS);
        let all = paths.iter().sum::<u64>() + 1000 * ROUNDS + told(&recording);
        let sampled = rows.inclusive_of("all") * PERIOD;
        assert!(sampled.abs_diff(all) <= PERIOD, "{sampled} of {all}\n{rows}");
        for (function, bytes) in ["small", "large", "zeroed", "aligned"].into_iter().zip(paths) {
            let sampled = rows.inclusive_of(function) * PERIOD;
            // A turn of a path may end a period more or less than is its share.
            assert!(sampled.abs_diff(bytes) <= ROUNDS * PERIOD, "{function}: {sampled} of {bytes}");
        }
    }
}

#[test]
fn each_thread_has_its_own() {
    let workshop = workshop("memory_threads");
    let recording = record(&workshop, &["alloc@1"], "threads");
    let rows = recording.rows();
    for (function, bytes) in [("small", SMALL), ("large", LARGE), ("aligned", ALIGNED)] {
        assert_eq!(rows.inclusive_of(function), bytes * ROUNDS * 4, "{rows}");
    }
    let recorded = |thread| recording.profile.share(ThreadId::from_index(thread), 0).recorded;
    let least = (SMALL + LARGE + ZEROED + ALIGNED) * ROUNDS;
    assert!([1, 2, 3, 4].map(recorded).iter().all(|&bytes| bytes > least));
    let recording = record(&workshop, &["alloc@64K"], "threads");
    let all = recording.rows().inclusive_of("all") << 16;
    // Between 1000 and 3000 bytes of each block that grows thrice.
    let most = 4 * (least + 20_000 * ROUNDS);
    assert!((4 * least - (4 << 16)..most).contains(&all), "{all}");
}

#[test]
fn what_is_refused_is_not_counted() {
    let workshop = workshop("memory_refused");
    let recording = record(&workshop, &["alloc@1", "alloc-calls@1", "leak@1"], "refused");
    assert_eq!((told(&recording), recording.samples().recorded), (10, 0));
}

#[test]
fn what_handlers_ask_for() {
    let workshop = workshop("memory_raised");
    let recording = record(&workshop, &["alloc@1", "leak@1", "cputime@1000"], "raised");
    assert_eq!(recording.rows().inclusive_of("on_signal"), 2000 * ROUNDS);
    assert_eq!(rows_of(&recording, "leak").inclusive_of("on_signal"), 0);
}

/// Ended in order, or killed.
#[test]
fn what_is_not_given_back_is_at_the_path_that_asked() {
    let workshop = workshop("memory_leaks");
    for how in ["leaks", "killed"] {
        let recording = record(&workshop, &["leak@1", "alloc@1", "cputime@1000"], how);
        let rows = recording.rows();
        for (function, bytes) in
            [("lost_blocks", 10_000), ("lost_zeroed", 10_000), ("lost_partly", 6000)]
        {
            assert_eq!(rows.inclusive_of(function), bytes, "{how}:\n{rows}");
        }
        if how == "leaks" {
            assert_eq!(rows.inclusive_of("lost_grown"), 1000 + told(&recording), "{rows}");
        }
        // The C library keeps what describes the thread.
        let passed_on = rows.inclusive_of("passed_on");
        assert!(passed_on < 3000, "{rows}");
        let asked = rows_of(&recording, "alloc");
        assert_eq!(asked.inclusive_of("passed_on"), 3000 * ROUNDS + passed_on, "{asked}");
        // Half of what is lost is sampled at a period of half of it.
        let metrics = recording.profile.metrics().map(|metric| metric.source.clone());
        assert_eq!(metrics.collect::<Vec<_>>(), ["leak", "alloc", "cputime"]);
    }
}

/// What it gives back of its parent's is its parent's still.
#[test]
fn of_a_forked_child() {
    let workshop = workshop("memory_fork");
    let recording = record(&workshop, &["leak@1", "cputime@1000"], "fork");
    let rows = recording.rows();
    assert_eq!(rows.inclusive_of("lost_blocks"), 10_000, "{rows}");
    assert_eq!(rows.inclusive_of("lost_zeroed"), 10_000, "{rows}");
    let recorded = |thread| recording.profile.share(ThreadId::from_index(thread), 0).recorded;
    assert_eq!([0, 1].map(recorded), [10_000, 10_000]);
}

/// As many blocks as there are places for, and more.
#[test]
fn blocks_beyond_the_table_are_lost_by_name() {
    let workshop = Workshop::new("memory_table");
    workshop.compile("cc -O2 -g -o many @many_blocks.c");
    let recording = workshop.record(&["-e", "leak@1"], &["./many"]);
    let samples = &recording.info["samples"];
    let lost = recording.info["losses"]["not-followed"].as_u64().unwrap_or(0);
    assert!(lost > 0, "{}", recording.info);
    assert_eq!(samples["recorded"].as_u64().unwrap() + lost, 400_000 * 16, "{}", recording.info);
}

/// Which are loaded behind csprof, and whose blocks are followed as well.
#[test]
fn other_allocators_are_counted() {
    let workshop = workshop("memory_allocators");
    for library in ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"] {
        let folder = Path::new("/usr/lib/x86_64-linux-gnu");
        if !folder.join(library).exists() {
            skip("blocks of other allocators", &format!("{library} is not installed"));
            continue;
        }
        let command = format!("LD_PRELOAD=$LD_PRELOAD:{library} exec ./requests leaks");
        let recording =
            workshop.record(&["-e", "leak@1", "-e", "alloc@1"], &["sh", "-c", &command]);
        let rows = recording.rows();
        for (function, bytes) in
            [("lost_blocks", 10_000), ("lost_zeroed", 10_000), ("lost_partly", 6000)]
        {
            assert_eq!(rows.inclusive_of(function), bytes, "{library}:\n{rows}");
        }
        let asked = rows_of(&recording, "alloc").inclusive_of("passed_on");
        assert!((3000 * ROUNDS..3000 * ROUNDS + 4096).contains(&asked), "{library}: {asked}");
    }
}

/// What a phase has left at its end, whenever it is given back; and each time that it began.
#[test]
fn what_outlives_its_phase_is_seen_though_it_is_given_back() {
    const ROUNDS: u64 = 1000;
    let workshop = Workshop::new("memory_phases");
    workshop.compile("cc -O2 -g -I @../../collector/api -o phase_leaks @phase_leaks.c");
    let sources = ["-e", "phase-leak@1", "-e", "leak@1"];
    let recording = workshop.record(&sources, &["./phase_leaks"]);
    assert_eq!(recording.outcome.said(), "done\n", "{}", recording.outcome.complained());
    let of_phases = recording.rows();
    let of_run = rows_of(&recording, "leak");
    for (function, of_phase, at_end) in [
        ("within", 0, 0),
        ("over", 1000, 0),
        ("again", 600, 0),
        ("resized", 8000, 0),
        ("never", 300, 300),
        ("used", 0, 0),
    ] {
        assert_eq!(of_phases.inclusive_of(function), of_phase * ROUNDS, "{of_phases}");
        assert_eq!(of_run.inclusive_of(function), at_end * ROUNDS, "{of_run}");
    }
    let of_build = recording.refined("phase = build");
    assert_eq!(of_build.inclusive_of("main"), (1000 + 600 + 8000 + 300) * ROUNDS, "{of_build}");
}

/// What the program maps itself, and not what an allocator maps for it: that is what it asked of
/// malloc, whoever's malloc that is.
#[test]
fn mappings_are_counted_by_whole_pages_and_those_of_allocators_are_not() {
    const SIZE: u64 = 64 << 10;
    let workshop = Workshop::new("memory_mappings");
    workshop.compile("cc -O2 -g -o mappings @mappings.c");
    let folder = Path::new("/usr/lib/x86_64-linux-gnu");
    for library in ["", "libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"] {
        if !folder.join(library).exists() {
            skip("mappings of other allocators", &format!("{library} is not installed"));
            continue;
        }
        let command = format!("LD_PRELOAD=$LD_PRELOAD:{library} exec ./mappings");
        let sources = ["-e", "mmap@4K", "-e", "alloc@1"];
        let recording = workshop.record(&sources, &["sh", "-c", &command]);
        assert_eq!(recording.outcome.said(), "done\n", "{}", recording.outcome.complained());
        let rows = recording.rows();
        let mut expected = vec![
            ("mapped", SIZE),
            ("in_part", 8192),
            ("grown", 2 * SIZE),
            ("set_aside", 0),
            ("of_file", 0),
            ("refused", 0),
            ("shrunk", 0),
        ];
        // Where nobody can say whose code calls, an allocator's is counted.
        expected.extend(finds_modules().then_some(("asked", 0)));
        for (function, bytes) in expected {
            let sampled = rows.inclusive_of(function) * recording.profile.metric.period;
            assert_eq!(sampled, bytes * ROUNDS, "{function}, {library}:\n{rows}");
        }
        let asked = rows_of(&recording, "alloc").inclusive_of("asked");
        assert_eq!(asked, ROUNDS << 20, "{library}");
    }
}

/// Whether the C library says whose code is where (glibc 2.35).
fn finds_modules() -> bool {
    let loader = std::fs::read("/lib64/ld-linux-x86-64.so.2").unwrap_or_default();
    let name = b"_dl_find_object";
    loader.windows(name.len()).any(|bytes| bytes == name)
}

#[test]
fn a_programs_own_allocator_is_told_of() {
    let workshop = Workshop::new("memory_own");
    workshop.compile("cc -O2 -g -pthread -o own_malloc @own_malloc.c");
    let recording = workshop.record(&["-e", "alloc@1"], &["./own_malloc"]);
    let messages = recording.messages();
    assert!(messages.contains("its own malloc"), "{messages}");
    let recording = workshop.record(&[], &["./own_malloc"]);
    let messages = recording.messages();
    assert!(!messages.contains("its own malloc"), "{messages}");
}

#[test]
fn new_and_delete_of_cpp() {
    let workshop = Workshop::new("memory_cpp");
    workshop.compile("c++ -O2 -g -o new @new_and_delete.cpp");
    let recording = workshop.record(&["-e", "alloc@1", "-e", "leak@1"], &["./new"]);
    assert_eq!(recording.outcome.said(), "done\n");
    let rows = recording.rows();
    assert_eq!(rows.inclusive_of("vectors()"), (8 + 16 + 32 + 64) * 100, "{rows}");
    assert_eq!(rows.inclusive_of("objects()"), 100 * 40, "{rows}");
    let leaks = rows_of(&recording, "leak");
    assert_eq!(leaks.inclusive_of("vectors()"), 0, "{leaks}");
    assert_eq!(leaks.inclusive_of("objects()"), 10 * 40, "{leaks}");
}

/// What the kernel locks of csprof's, because a program has it lock all that is mapped, does not
/// count against what the program may lock.
#[test]
fn a_program_may_lock_as_much_as_alone() {
    let workshop = Workshop::new("locked_future");
    workshop.compile("cc -O2 -pthread -o program @locked_future.c");
    let alone = workshop.run(&["./program"]);
    assert!(alone.said().starts_with("locked: 0\nthreads: "), "{}", alone.said());
    for source in ["cputime@200", "task-clock@5000"] {
        let recording = workshop.record(&["-e", source], &["./program"]);
        assert_eq!(recording.outcome.said(), alone.said(), "{source}");
        assert_eq!(recording.outcome.status, alone.status, "{source}");
    }
}
