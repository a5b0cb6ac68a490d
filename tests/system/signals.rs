//! Signals that csprof uses and the program, too: the program believes that it has what it asked
//! for, samples come nevertheless, and the profile says what was withheld.

use csprof_format::ids::ThreadId;
use csprof_format::profile::Process;
use csprof_tests::notes::skip;
use csprof_tests::paths::Rows;
use csprof_tests::workshop::Workshop;

#[test]
fn no_wait_ends_early_by_a_sample_that_comes_by_sigtrap() {
    let workshop = Workshop::new("waits_with_time_limits");
    workshop.compile("cc -O2 -pthread -o program @interrupted_waits.c");
    let recording = workshop.record(&["-e", "task-clock@5000"], &["./program", "100"]);
    if recording.messages().contains("come by SIGPROF") {
        skip("waits with time limits", &recording.messages());
        return;
    }
    assert_eq!(recording.outcome.said(), "interrupted 0\n");
    // The kernel has the thread send itself the signal in this call.
    let words = ["./program", "3000", "io_uring_enter"];
    let recording = workshop.record(&["-e", "task-clock@5000"], &words);
    if recording.outcome.said().starts_with("no io_uring\n") {
        skip("waits by io_uring_enter", "the kernel refuses io_uring_setup");
        return;
    }
    assert_eq!(recording.outcome.said(), "interrupted 0\n");
}

#[test]
fn no_wait_ends_early_by_a_sample_that_cannot_come_by_sigtrap() {
    let workshop = Workshop::new("waits_without_sigtrap");
    workshop.compile("cc -O2 -pthread -o program @interrupted_waits.c");
    let words = ["sh", "-c", "trap '' TRAP; exec ./program 100"];
    let recording = workshop.record(&["-e", "task-clock@5000"], &words);
    assert_eq!(recording.outcome.said(), "interrupted 0\n");
}

#[test]
fn no_wait_ends_early_by_a_sample_of_elapsed_time() {
    let workshop = Workshop::new("waits_by_elapsed_time");
    workshop.compile("cc -O2 -D_FORTIFY_SOURCE=2 -pthread -o program @interrupted_waits.c");
    for sources in ["realtime@5000", "cputime,realtime@1000"] {
        let options: Vec<&str> = sources.split(',').flat_map(|source| ["-e", source]).collect();
        let recording = workshop.record(&options, &["./program", "100"]);
        assert_eq!(recording.outcome.said(), "interrupted 0\n", "{sources}");
        // A hundred waits of a kind take 30 ms at least, and are seen.
        let report = recording.output(&["report", "--format", "json", "--metric", "realtime"]);
        let rows = Rows::new(&report);
        for wait in ["by_receive", "by_semtimedop", "ppoll", "usleep", "nanosleep", "syscall"] {
            assert!(rows.inclusive_of(wait) >= 15, "{sources}: {wait}: {rows}");
        }
    }
}

/// What a library in front of the C library does with its mask lets no sample into its wait.
#[test]
fn no_wait_of_a_librarys_own_ends_early_by_a_sample_of_elapsed_time() {
    let workshop = Workshop::new("own_poll");
    workshop.compile("cc -O2 -shared -fPIC -DLIBRARY -o library.so @own_poll.c");
    workshop.compile("cc -O2 -o program @own_poll.c library.so -Wl,-rpath,$ORIGIN");
    let recording = workshop.record(&["-e", "realtime@1000"], &["./program"]);
    assert_eq!(recording.outcome.said(), "interrupted 0, blocked 0, came 1\n");
    // 150 waits of 4 ms each.
    let rows = recording.rows();
    assert!(rows.inclusive_of("main") >= 150, "{rows}");
}

/// The kernel merges it with a sample that waits to come by the same signal.
#[test]
fn no_signal_that_a_thread_sends_itself_is_lost() {
    let workshop = Workshop::new("raised");
    workshop.compile("cc -O2 -o program @raised.c");
    let recording = workshop.record(&["-e", "realtime@5000"], &["./program"]);
    let calls = ["raise", "tgkill", "SYS_tgkill", "SYS_tkill", "pthread_sigqueue"];
    let expected: String =
        calls.iter().map(|call| format!("{call}: lost 0 0 0 0 0, wrong 0\n")).collect();
    assert_eq!(recording.outcome.said(), expected);
    // What it blocks and sends by turns leaves the timer its interval: 50 000 times 10 us and more.
    let rows = recording.rows();
    assert!(rows.inclusive_of("main") >= 500, "{rows}");
    let refused = workshop.run(&["./program", "refused"]);
    assert_eq!(refused.said().matches("error 1").count(), 8, "{}", refused.said());
    let recording = workshop.record(&["-e", "realtime@5000"], &["./program", "refused"]);
    assert_eq!(recording.outcome.said(), refused.said());
}

/// A profiling signal that comes while the program has it blocked keeps samples out, until the wait
/// that it ends.
#[test]
fn a_program_that_waits_for_the_profiling_signal_is_sampled() {
    let workshop = Workshop::new("signals_for_waits");
    workshop.compile("cc -O2 -w -o program @signals_for_waits.c");
    let cases = [["60", "10000", "0"], ["15000", "40", "0"], ["1", "10000", "300000"]];
    for [rounds, us, before_us] in cases {
        let words = ["./program", rounds, us, before_us];
        let recording = workshop.record(&["-e", "cputime@200"], &words);
        // Where waits are this close together a sample may still end one.
        assert!(recording.outcome.said().starts_with("came "), "{}", recording.outcome.said());
        let cpu = &recording.info["cpu_time"];
        let seconds = |part: &str| cpu[part].as_f64().unwrap();
        // Who is sampled until the first signal has a hundredth.
        assert!(seconds("sampled_s") > seconds("used_s") / 2.0, "{us} us: {cpu}");
    }
}

/// What is read and written in parts is read and written whole; and it is seen where that takes
/// its time.
#[test]
fn no_read_or_write_is_cut_short_by_a_sample() {
    let workshop = Workshop::new("transfers");
    workshop.compile("cc -O2 -w -pthread -o program @transfers.c -lutil");
    let program = ["./program", "3"];
    let without_trap = ["sh", "-c", "trap '' TRAP; exec ./program 3"];
    for (source, words) in [
        ("realtime", &program[..]),
        ("realtime@5000", &program[..]),
        ("task-clock@5000", &without_trap[..]),
    ] {
        let recording = workshop.record(&["-e", source], words);
        assert_eq!(recording.outcome.said(), "short 0\n", "{source}");
        if source == "realtime@5000" {
            let rows = recording.rows();
            for call in ["write", "writev", "send"] {
                assert!(rows.inclusive_of(call) >= 20, "{call}: {rows}");
            }
        }
    }
}

/// A last sample may be under way when handlers cannot return any more.
#[test]
fn a_second_filter_that_lets_no_handler_return_is_looked_at() {
    let workshop = Workshop::new("second_filter");
    workshop.compile("cc -O2 -o program @second_filter.c");
    // Numbers of system calls.
    const REBOOT: &str = "169";
    const MMAP: &str = "9";
    const GETPID: &str = "39";
    // Where the first filter forbids what csprof reads filters by, the second is not looked at.
    for (forbidden, ignored) in [(REBOOT, 1), (MMAP, 1), (GETPID, 0)] {
        let recording = workshop.record_without_names(&[], &["./program", forbidden]);
        let said = format!("before: ignored 0\nonce: ignored 0\ntwice: ignored {ignored}\n");
        let outcome = &recording.outcome;
        assert_eq!((outcome.said(), outcome.status.code()), (said, Some(0)), "{forbidden}");
    }
}

#[test]
fn sigtrap_is_used_where_it_can_be_and_the_profile_says_where_it_is_not() {
    let workshop = Workshop::new("sigtrap_or_not");
    workshop.compile("cc -O2 -w -pthread -o program @traps.c");
    let recording = workshop.record(&["-e", "task-clock@1000"], &["./program"]);
    let messages = recording.messages();
    let told = |process: &Process, why: &str| process.messages.iter().any(|s| s.contains(why));
    let processes = &recording.profile.processes;
    let refused = recording.info["sources"][0]["name"] != "task-clock";
    if refused || told(&processes[0], "come by SIGPROF") {
        skip("SIGTRAP", &messages);
        return;
    }
    let told = |why: &str| processes.iter().filter(|process| told(process, why)).count();
    // Parts of the program, each a process: one that ignores SIGTRAP and one that comes to that,
    // two with a handler, one that waits.
    assert_eq!(told("the program ignores SIGTRAP"), 2, "{messages}");
    assert_eq!(told("the program has a handler of its own for SIGTRAP"), 2, "{messages}");
    assert_eq!(told("the program waits for SIGTRAP"), 1, "{messages}");
    // And those that raise it, of which many are ended by it.
    assert!(told("the program sends itself SIGTRAP") >= 2, "{messages}");
    // From then on, too, each signal is known as a sample.
    for process in recording.info["processes"].as_array().unwrap() {
        assert_eq!(process["foreign_signals"], 0, "{process}");
    }
}

/// Handlers read no clock by the kernel's code in the process.
#[test]
fn a_program_that_has_unmapped_the_code_of_clocks_is_sampled() {
    let workshop = Workshop::new("unmapped_clock");
    workshop.compile("cc -O2 -o program @unmapped_clock.c");
    for source in ["cputime@200", "task-clock@5000", "realtime@200"] {
        for words in [&["./program"][..], &["./program", "forbidden"]] {
            let recording = workshop.record(&["-e", source], words);
            let outcome = &recording.outcome;
            let found = (outcome.said(), outcome.status.code());
            assert_eq!(found, ("worked\n".into(), Some(0)), "{source}, {words:?}");
            assert!(recording.rows().inclusive_of("work") > 20, "{source}, {words:?}");
        }
    }
}

/// A tracer that steps goes through csprof's handler, too, in more CPU time than a period has. A
/// handful of samples later they are far enough apart for the program to go on.
#[test]
fn a_program_goes_on_that_is_executed_one_instruction_at_a_time() {
    let workshop = Workshop::new("stepped");
    workshop.compile("cc -O2 -w -no-pie -o program @stepped.c");
    if workshop.run(&["./program", "late"]).status.code() == Some(3) {
        skip("stepped", "nobody may trace here");
        return;
    }
    let executed = ["cputime@200", "task-clock@5000"].map(|source| (source, "early"));
    for (source, when) in executed.into_iter().chain([("cputime@200", "late")]) {
        let recording = workshop.record(&["-e", source], &["./program", when]);
        assert_eq!(recording.outcome.said(), "went on\n", "{source}, {when}");
        let messages = recording.messages();
        assert!(messages.contains("stops at each sample"), "{source}, {when}: {messages}");
        // Who is traced from the start is never sampled late: it is known why.
        let accounts = recording.profile.accounts.iter().flat_map(|process| &process.threads);
        let late = accounts.map(|account| account.late).sum::<u64>();
        assert!(when == "late" || late == 0, "{source}: {late}");
    }
}

/// Where they cannot be farther apart, for the kernel refuses a longer interval, the thread is
/// sampled no more: its samples take all of its time.
#[test]
fn a_program_goes_on_whose_samples_cannot_be_farther_apart() {
    let workshop = Workshop::new("stepped_refused");
    workshop.compile("cc -O2 -w -no-pie -o program @stepped.c");
    if workshop.run(&["./program", "late"]).status.code() == Some(3) {
        skip("stepped_refused", "nobody may trace here");
        return;
    }
    let recording = workshop.record(&["-e", "task-clock@5000"], &["./program", "refused"]);
    assert_eq!(recording.outcome.said(), "went on\n", "{}", recording.messages());
}

/// When the tracer has gone, the thread is sampled as before, and all its time is there.
#[test]
fn a_program_is_sampled_as_before_when_its_tracer_has_gone() {
    let workshop = Workshop::new("stepped_before");
    workshop.compile("cc -O2 -w -no-pie -o program @stepped.c");
    let recording = workshop.record(&["-e", "cputime@200"], &["./program", "gone"]);
    if recording.outcome.status.code() == Some(3) {
        skip("stepped before", "nobody may trace here");
        return;
    }
    let said = recording.outcome.said();
    let errors = String::from_utf8_lossy(&recording.outcome.stderr);
    assert_eq!(said, "went on\n", "{errors}");
    let took_ms = errors.lines().find_map(|line| line.strip_prefix("afterwards "));
    let took_ms: u64 = took_ms.unwrap().parse().unwrap();
    let sampled_ms = recording.rows().inclusive_of("afterwards") * 5;
    let most_ms = took_ms / 10;
    assert!(sampled_ms.abs_diff(took_ms) <= most_ms, "{sampled_ms} of {took_ms}");
    // The kernel looks at timers of CPU time a hundred times a second at least. The thread has run
    // three times as long since its tracer has gone. A third of one of them is enough.
    let threads = (0..recording.profile.threads.len()).map(ThreadId::from_index);
    let signals: u64 = threads.map(|thread| recording.profile.share(thread, 0).signals).sum();
    assert!(signals >= took_ms / 10, "{signals} in {took_ms} ms");
}
