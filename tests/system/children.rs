//! fork, exec and all that is made of them: every process of the run is in the profile, with
//! samples of its own.

use std::fs;

use csprof_tests::binary::csprof;
use csprof_tests::deadline;
use csprof_tests::installed::are_installed;
use csprof_tests::notes::skip;
use csprof_tests::paths::is_share;
use csprof_tests::recording::Recording;
use csprof_tests::workshop::Workshop;
use serde_json::Value;

#[test]
fn children_of_every_kind_are_in_the_profile() {
    let workshop = Workshop::new("children");
    workshop.compile("cc -O2 -o program @children.c -lutil");
    let alone = workshop.run(&["./program"]);
    assert!(alone.status.success(), "{alone:?}");
    // Ticks of the kernel might miss all children, which work for 20 ms each.
    let recording = workshop.record(&["-e", "task-clock@200"], &["./program"]);
    assert_eq!(recording.outcome.said(), alone.said());
    assert_eq!(recording.outcome.status, alone.status);
    recording.check_partial("children");

    let processes = recording.info["processes"].as_array().unwrap();
    let count = |origin: &str| processes.iter().filter(|p| p["origin"] == origin).count();
    // The program itself and six shells; seven forked, of which a daemon and its caller are two.
    assert_eq!((count("exec"), count("fork")), (7, 7));
    // Each child names its parent; the daemon's has ended before it looked.
    let ids: Vec<&Value> = processes.iter().map(|process| &process["pid"]).collect();
    let orphans =
        processes[1..].iter().filter(|child| !ids.contains(&&child["parent_pid"])).count();
    assert!(orphans <= 1, "{}", recording.info);
    // Of the forked ones five work, for some periods each, which ticks may miss; two only wait for
    // others, and have one sample at most while they are forked.
    let works = |process: &&Value| process["threads"][0]["samples"].as_u64() > Some(1);
    let forked = processes.iter().filter(|process| process["origin"] == "fork");
    let workers = forked.filter(works).count();
    let least = if recording.is_fast() { 5 } else { 1 };
    assert!((least..=5).contains(&workers), "{}", recording.info);
}

/// Programs that the collector cannot be preloaded into run as they do alone, however they are
/// started; each is counted for its reason, and what a static one starts is profiled.
#[test]
fn programs_that_cannot_be_preloaded_are_counted() {
    let workshop = Workshop::new("programs_that_cannot_be_preloaded_are_counted");
    workshop.compile("cc -O2 -o program @starts.c");
    workshop.compile("cc -O2 -static -o fixed @starts.c");
    // glibc's loader under another name stands for that of another C library.
    std::fs::copy("/lib64/ld-linux-x86-64.so.2", workshop.path("ld-musl-test.so.1")).unwrap();
    let loader = workshop.path("ld-musl-test.so.1");
    let option = format!("-Wl,--dynamic-linker={}", loader.display());
    workshop.compile(&format!("cc -O2 {option} -o other @starts.c"));
    let script = "for way in spawn spawnp vfork fork raw descriptor here; do \
                  ./program $way ./fixed; ./program $way ./other; done; ./fixed here ./program";
    let words = ["sh", "-c", script];
    let alone = workshop.run(&words);
    let recording = workshop.record(&[], &words);
    assert_eq!(recording.outcome.said(), alone.said());
    assert_eq!(recording.outcome.status, alone.status);
    let processes = recording.info["processes"].as_array().unwrap();
    let told = |kind: &str| {
        let messages = processes.iter().flat_map(|p| p["messages"].as_array().unwrap());
        messages.filter(|message| message.as_str().unwrap().contains(kind)).count()
    };
    // One for each way; and the shell has started one that is static.
    let counts = (
        told("(fixed) started, not in this profile: statically linked"),
        told("(other) started, not in this profile, nor what it started: its loader"),
    );
    assert_eq!(counts, (8, 7), "{}", recording.info);
    let last = processes.last().unwrap()["command"].to_string();
    assert!(last.contains("./program"), "{}", recording.info);
}

/// The program itself may be one of them; and whoever starts csprof may ignore signals that csprof
/// needs.
#[test]
fn a_program_finds_the_signals_that_it_would_find_alone() {
    let workshop = Workshop::new("a_program_finds_the_signals_that_it_would_find_alone");
    let csprof = workshop.csprof_command();
    let record = [csprof.get_program().to_str().unwrap(), "record", "-q", "-f", "-o", "run.csprof"];
    let look = ["grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"];
    for options in [
        &["--default-signal"][..],
        &["--ignore-signal=CHLD"],
        &["--ignore-signal=PIPE"],
        &["--ignore-signal=CHLD,PIPE,USR1,TTOU", "--block-signal=USR2,TERM"],
    ] {
        // GNU's has them since coreutils 8.31, others in part or not at all.
        let probe = deadline::run(workshop.command("env").args(options).arg("true"));
        if !probe.status.success() {
            skip("a_program_finds_the_signals_that_it_would_find_alone", probe.complained().trim());
            continue;
        }
        let alone = deadline::run(workshop.command("env").args(options).args(look));
        let under =
            deadline::run(workshop.command("env").args(options).args(record).arg("--").args(look));
        // Signals 32 and 33 are glibc's own, as whoever starts a program leaves them.
        let masks = |said: String| -> Vec<u64> {
            let words = said.split_whitespace().filter(|word| !word.starts_with("Sig"));
            words.map(|word| u64::from_str_radix(word, 16).unwrap() & 0x7fff_ffff).collect()
        };
        assert_eq!(masks(alone.said()).len(), 2, "{options:?}");
        assert_eq!(masks(under.said()), masks(alone.said()), "{options:?}");
        assert_eq!(under.complained(), "", "{options:?}");
        assert_eq!(under.status, alone.status, "{options:?}");
        assert!(workshop.path("run.csprof").exists());
    }
}

/// Without /proc, as in many a chroot, the loader and the kernel tell nobody the program's path but
/// the program itself.
#[test]
fn a_program_has_its_name_without_proc() {
    let test = "a_program_has_its_name_without_proc";
    let workshop = Workshop::new(test);
    let hide = "mount -t tmpfs none /proc && exec";
    if !are_installed(test, &["unshare"])
        || !workshop.run(&["unshare", "-rm", "sh", "-c", &format!("{hide} true")]).status.success()
    {
        skip(test, "no namespace of mounts to be had");
        return;
    }
    workshop.compile("cc -O2 -o program @figure1.c");
    let run = format!("{hide} ./program");
    let source = ["-e", "task-clock@200"];
    let recording = workshop.record(&source, &["unshare", "-rm", "sh", "-c", &run]);
    let flat = recording.output(&["report", "--view", "flat", "--format", "csv"]);
    let program = workshop.path("program");
    let row = format!(",c,{},", program.display());
    assert!(flat.contains(&row), "{flat}{}", recording.info);
}

#[test]
fn exec_in_place_keeps_what_each_program_sampled() {
    let workshop = Workshop::new("exec_forms");
    workshop.compile("cc -O2 -pthread -o program @exec_forms.c");
    let alone = workshop.run(&["./program"]);
    assert_eq!(alone.status.code(), Some(42));
    let recording = workshop.record(&[], &["./program"]);
    assert_eq!(recording.outcome.said(), alone.said());
    assert_eq!(recording.outcome.status, alone.status);
    // One process id, twenty programs.
    let processes = recording.info["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 20);
    assert!(processes.iter().all(|process| process["pid"] == processes[0]["pid"]));
}

/// What a daemon samples after the program's end is in the profile of whoever waits for it, and
/// nobody waits for it unless told to.
#[test]
fn a_daemon_is_waited_for_on_demand() {
    let workshop = Workshop::new("daemon");
    workshop.compile("cc -O2 -o program @daemon.c");
    let source = ["-e", "task-clock@200"];
    let waited = workshop.record(&[&source[..], &["--wait"]].concat(), &["./program"]);
    assert_eq!(waited.outcome.status.code(), Some(3));
    let (samples, missed) = (waited.rows().inclusive_of("work"), waited.missed());
    // What no tick has met of its end has no sample, and is less than half of it.
    let is_all = (samples..=samples + missed).any(|samples| is_share(samples, 400, 50));
    assert!(samples > 100 && is_all, "{samples} and {missed} missed, not 200");
    assert_eq!(waited.info["warnings"].as_array().unwrap().len(), 0, "{}", waited.info);

    let unwaited = workshop.record(&source, &["./program"]);
    assert_eq!(unwaited.outcome.status.code(), Some(3));
    assert_eq!(
        unwaited.info["warnings"][0],
        "1 process of the run outlived the program; their samples up to here are in the profile \
         (--wait waits for their end)"
    );
    assert!(unwaited.rows().inclusive_of("work") < samples);
}

/// Ids are used again from small ones on, so who was started later may have a smaller one: here it
/// is about to be sampled when the program ends.
#[test]
fn who_has_a_smaller_id_than_the_program_is_waited_for() {
    let test = "who_has_a_smaller_id_than_the_program_is_waited_for";
    let workshop = Workshop::new(test);
    // The last id that the namespace gave (proc_sys_kernel(5)).
    let last = "/proc/sys/kernel/ns_last_pid";
    let within = |script: &str| {
        let words = ["unshare", "-rpf", "--mount-proc", "sh", "-c", script];
        workshop.run(&words)
    };
    if !are_installed(test, &["unshare"])
        || !within(&format!("echo 5000 >{last}; sh -c '[ $$ -gt 5000 ]'")).status.success()
    {
        skip(test, "no namespace of processes to be had, or none whose ids can be set");
        return;
    }
    workshop.compile("cc -g -O2 -pthread -o program @endings.c");
    // It begins when the program has ended: then there is nothing in `cmdline`, before csprof has
    // waited for it and after that.
    let later = "while grep -q . /proc/$M/cmdline; do sleep 0.01; done 2>/dev/null; sleep 0.5; \
                 export LD_PRELOAD=$P; exec ./program return";
    fs::write(
        workshop.path("script"),
        format!(
            "P=$LD_PRELOAD; M=$$; export P M; echo 100 >{last}\n\
             env -u LD_PRELOAD sh -c '[ $$ -lt 1000 ] || echo $$; {later}' &\n\
             while ! grep -qz ^P= /proc/$!/environ || grep -qz ^LD_PRELOAD= /proc/$!/environ\n\
             do :; done"
        ),
    )
    .unwrap();
    let csprof = csprof().display();
    let record = format!("{csprof} record -e task-clock@200 --wait -f -o run.csprof sh script");
    let outcome = within(&format!("echo 5000 >{last}; {record}"));
    assert!(outcome.status.success(), "{}", outcome.complained());
    assert_eq!(outcome.said(), "");
    let recording = Recording::new(outcome, workshop.path("run.csprof"));
    assert!(recording.rows().inclusive_of("work") > 20, "{}", recording.rows());
}

/// A program that may not read the collector's file any more starts others, whose loader would
/// complain: it does not hear of the collector.
#[test]
fn who_may_not_read_the_collector_starts_programs_as_alone() {
    let test = "who_may_not_read_the_collector";
    let workshop = Workshop::new(test);
    workshop.compile("cc -O2 -o program @landlocked.c");
    workshop.compile("cc -O2 -o other @starts.c");
    if workshop.run(&["./program", "exec", "/bin/true"]).status.code() == Some(77) {
        skip(test, "no landlock to be had");
        return;
    }
    for way in ["exec", "spawn", "vfork", "shell"] {
        let words = ["./program", way, "./other"];
        let alone = workshop.run(&words);
        let recording = workshop.record(&["-q"], &words);
        let outcome = &recording.outcome;
        assert_eq!(outcome.said(), alone.said(), "{way}");
        assert_eq!(outcome.complained(), alone.complained(), "{way}");
        assert_eq!(outcome.status, alone.status, "{way}");
        let messages = recording.messages();
        let told =
            messages.contains("started, not in this profile: csprof's files cannot be reached");
        assert!(told, "{way}: {messages}");
    }
}

/// What a limit of memory leaves is the program's: it starts with as little as it does alone.
#[test]
fn limits_of_memory_leave_a_program_what_it_needs() {
    let workshop = Workshop::new("limits_of_memory");
    workshop.compile("cc -O2 -o other @starts.c");
    let script = "for size in 2600 3000 3500 4000 5000 6000 8000 12000 20000; do \
                  (ulimit -v $size; ./other; echo $size: $?); \
                  (ulimit -d $size; ./other; echo $size: $?); done; \
                  for size in 100 200 300 500 800 1200; do (ulimit -d $size; ./other; echo $?); done";
    let words = ["sh", "-c", script];
    let alone = workshop.run(&words);
    assert!(alone.said().contains("20000: 7"), "{}", alone.said());
    let recording = workshop.record(&["-q"], &words);
    assert_eq!(recording.outcome.said(), alone.said());
    assert_eq!(recording.outcome.complained(), alone.complained());
    let messages = recording.messages();
    assert!(
        messages.contains("nor what it started: a limit of memory leaves little"),
        "{messages}"
    );

    // Where it is lowered for one shell, what that program starts later is left out with it.
    workshop.compile("cc -O2 -o lowers @lowers_limit.c");
    let messages = workshop.record(&["-q"], &["./lowers"]).messages();
    assert!(messages.contains("3 processes started"), "{messages}");
    assert!(messages.contains("a limit of memory leaves little"), "{messages}");

    // Where csprof has the same limit.
    let record = "ulimit -d 15000; exec \"$0\" record -f -o run.csprof ./other";
    let outcome = workshop.run(&["sh", "-c", record, csprof().to_str().unwrap()]);
    assert_eq!((outcome.said(), outcome.status.code()), ("runs\n".into(), Some(7)));
    let told = outcome.complained();
    assert!(
        told.contains("other is not profiled: its memory for data is limited to 15000"),
        "{told}"
    );
}

/// Lines of csprof's variables, and the others.
fn of_csprof(said: &str) -> (Vec<&str>, Vec<&str>) {
    let names = ["LD_PRELOAD", "ASAN_OPTIONS", "CSPROF_RUN_DIR", "CSPROF_SOURCE", "CSPROF_QUIET"];
    let is_own = |line: &&str| line.split('=').next().is_some_and(|name| names.contains(&name));
    said.lines().partition(is_own)
}

#[test]
fn a_program_finds_its_environment_in_its_order() {
    let workshop = Workshop::new("order_of_environment");
    let given = ["-i", "B=1", "A=2", "CSPROF_CONFIG=", "C=3", "LD_PRELOAD=", "PATH=/usr/bin:/bin"];
    let run = |words: &[&str]| {
        let mut command = workshop.command("env");
        deadline::run(command.args(given).args(words)).said()
    };
    let alone = run(&["env"]);
    let csprof = csprof();
    let under = run(&[csprof.to_str().unwrap(), "record", "-q", "-o", "run.csprof", "env"]);
    assert_eq!(of_csprof(&under).1, of_csprof(&alone).1);
    assert_eq!(of_csprof(&under).0.len(), 5, "{under}");
    // In its place.
    let place = |said: &str| said.lines().position(|line| line.starts_with("LD_PRELOAD="));
    assert_eq!(place(&under), place(&alone), "{under}");
}

/// Standard streams that are closed are closed for the program, and no file of csprof's has their
/// numbers.
#[test]
fn a_program_finds_its_standard_streams_closed() {
    let workshop = Workshop::new("closed_streams");
    workshop.compile("cc -O2 -o program @standard_streams.c");
    let csprof = csprof();
    let csprof = csprof.to_str().unwrap();
    for closed in ["", "<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        let run = |record: &str| {
            let script = format!("exec {record} ./program 3>said {closed}");
            let outcome = workshop.run(&["sh", "-c", &script]);
            let said = std::fs::read_to_string(workshop.path("said")).unwrap();
            (said, outcome.said(), outcome.complained(), outcome.status.code())
        };
        let alone = run("");
        assert!(alone.0.contains("next"), "{}", alone.0);
        for source in ["cputime", "task-clock@5000"] {
            let record = format!("{csprof} record -q -f -e {source} -o run.csprof");
            assert_eq!(run(&record), alone, "{source}: {closed}");
        }
    }
}
