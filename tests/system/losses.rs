//! What is late, seldom or never sampled: it is counted, and its cause is said.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use csprof_format::arena::ARENA_MAGIC;
use csprof_tests::binary::csprof;
use csprof_tests::deadline::Outcome;
use csprof_tests::notes::{note, skip};
use csprof_tests::recording::{Recording, in_one_of_three};
use csprof_tests::workshop::Workshop;
use serde_json::Value;

fn workshop(test: &str) -> Workshop {
    let workshop = Workshop::new(test);
    workshop.compile("cc -O1 -g -o losses @losses.c");
    workshop
}

fn late(recording: &Recording) -> u64 {
    let processes = recording.info["processes"].as_array().unwrap();
    let threads = processes.iter().flat_map(|process| process["threads"].as_array().unwrap());
    threads.map(|thread| thread["late"].as_u64().unwrap()).sum()
}

fn why_no_samples(recording: &Recording) -> &str {
    recording.info["no_samples_because"].as_str().unwrap()
}

/// All samples of half a second arrive at once: when the signal is unblocked, or at the end.
#[test]
fn blocked_time_is_carried_forward_and_called_late() {
    let workshop = workshop("losses_late");
    for mode in ["late", "blocked"] {
        let recording = workshop.record(&[], &["./losses", mode]);
        let (recorded, late) = (recording.samples().recorded, late(&recording));
        // 500 ms of 5 ms each; what comes after the kernel's last tick is not there.
        assert!((90..=110).contains(&recorded), "{mode}: {recorded} samples");
        assert!(late >= 90, "{mode}: {late} of {recorded} samples late");
        let info = recording.output(&["info"]);
        let line = info.lines().find(|line| line.contains(" late: "));
        assert!(line.is_some_and(|line| line.contains("was blocked")), "{info}");
    }
    // Without that, nothing is late, unless the machine stands still.
    let recording = workshop.record(&[], &["./losses", "nodes", "200"]);
    if late(&recording) > 0 {
        note(&format!("{} samples were late on this machine", late(&recording)));
    }
}

#[test]
fn no_samples_and_why() {
    let workshop = workshop("losses_none");
    // A tick may come before it is taken.
    let has_no_samples = || {
        let taken = workshop.record(&[], &["./losses", "taken"]);
        assert!(taken.messages().contains("took the profiling signal (SIGPROF)"));
        let why = taken.info["no_samples_because"].as_str().unwrap_or_default();
        taken.samples().delivered == 0 && why.contains("took the profiling signal (SIGPROF)")
    };
    assert!(in_one_of_three("losses_none", has_no_samples));

    // A sample a second: neither gets one.
    let sleeps = workshop.record(&["-e", "cputime@1"], &["./losses", "short"]);
    if sleeps.samples().delivered == 0 {
        let why = why_no_samples(&sleeps);
        assert!(why.contains("of CPU time, less than one sampling period (1.00 s)"), "{why}");
        assert!(sleeps.outcome.complained().contains("no samples: the program used"));
    } else {
        note("the first sample came after a very small part of a period");
    }
    let sleeps = workshop.record(&[], &["./losses", "sleeps"]);
    if sleeps.samples().delivered == 0 {
        let why = why_no_samples(&sleeps);
        assert!(why.contains("it waited nearly all the time; `-e realtime@200`"), "{why}");
    } else {
        note("the program that sleeps was sampled at its start");
    }
    let waits = workshop.record(&["-e", "realtime@200"], &["./losses", "sleeps"]);
    assert!(waits.samples().recorded >= 30, "{}", waits.info);
}

/// Children that live for less than a tick of the kernel bring few samples; their time is there.
#[test]
fn cpu_time_that_is_not_delivered_is_counted() {
    let workshop = workshop("losses_children");
    let recording = workshop.record(&[], &["./losses", "children"]);
    let cpu = &recording.info["cpu_time"];
    let seconds = |key: &str| cpu[key].as_f64().unwrap();
    let parts = ["sampled_s", "before_s", "undelivered_s", "elsewhere_s"];
    let sum: f64 = parts.iter().map(|part| seconds(part)).sum();
    assert!(sum >= seconds("used_s") * 0.999, "the parts are all of it: {cpu}");
    // 300 ms of work in children, however much of it the ticks met.
    assert!(seconds("sampled_s") + seconds("undelivered_s") > 0.29, "{cpu}");
    assert!(cpu["threads_without_samples"].as_u64().unwrap() > 100, "{cpu}");
    let processes = recording.info["processes"].as_array().unwrap();
    let noted = |process: &&Value| process["cpu_s"].as_f64() > Some(0.0009);
    assert_eq!(processes.iter().filter(noted).count(), 301);
    let info = recording.output(&["info"]);
    assert!(info.contains(" not delivered ("), "{info}");
    assert!(info.contains("without samples, losses or messages, which used "), "{info}");
}

/// Clocks of CPU time go on through exec: what a program used before it counts once.
#[test]
fn cpu_time_before_an_exec_counts_once() {
    let workshop = Workshop::new("losses_exec");
    let script = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exec sh -c 'exec true'";
    let recording = workshop.record(&[], &["sh", "-c", script]);
    let cpu = &recording.info["cpu_time"];
    let seconds = |key: &str| cpu[key].as_f64().unwrap();
    let parts = ["sampled_s", "before_s", "undelivered_s", "elsewhere_s"];
    let sum: f64 = parts.iter().map(|part| seconds(part)).sum();
    // Each of three programs' samples stand for up to a period of 5 ms more than it used.
    assert!((sum - seconds("used_s")).abs() < 3.0 * 0.005 + 0.01 * seconds("used_s"), "{cpu}");
}

/// Beside a run in shared memory as small as Docker's, others have theirs; and thousands of short
/// processes find room in a larger one, for what ended goes to the disk.
#[test]
fn shared_memory_is_shared_with_others() {
    let workshop = workshop("losses_shared");
    let in_own = |size: &str, command: &str| {
        let mounted = format!("mount -t tmpfs -o size={size} none /dev/shm");
        let script = format!("{mounted} && {command}");
        workshop.run(&["unshare", "-rm", "sh", "-c", &script])
    };
    if !in_own("64m", "true").status.success() {
        skip("shared_memory_is_shared_with_others", "no file system can be mounted here");
        return;
    }
    let csprof = csprof().to_str().unwrap();
    // Its fourth column; to show only that is GNU's.
    let free = "df -P -m /dev/shm | tail -n 1";
    let free_mb = |outcome: &Outcome| -> u32 {
        let said = outcome.said();
        let column = said.split_whitespace().nth(3);
        let megabytes = column.and_then(|column| column.parse().ok());
        megabytes.unwrap_or_else(|| panic!("{said}{}", outcome.complained()))
    };
    let record = format!("{csprof} record --quiet -f -o run.csprof");
    let outcome =
        in_own("64m", &format!("{record} -- sh -c './losses nodes 20 >/dev/null; {free}'"));
    assert_eq!(free_mb(&outcome), 64, "{}", outcome.complained());
    // Each process takes 32 kB, 96 MB in all, and half of 130 MB are for others. On a busy machine
    // processes may end faster than they are moved, so some wait until there is room again.
    let room = format!("while set -- $({free}) && [ $4 -lt 90 ]; do sleep 0.05; done");
    let many = format!(
        "i=0; while [ $i -lt 3000 ]; do (:); i=$((i+1)); \
         [ $((i % 500)) -gt 0 ] || {room}; done"
    );
    let fill = "head -c 30000000 /dev/zero >/dev/shm/others";
    let outcome = in_own("160m", &format!("{fill}; {record} -- sh -c '{many}; {free}'"));
    assert!(outcome.status.success(), "{}", outcome.complained());
    let left = free_mb(&outcome);
    assert!(left >= 64, "{left} MB");
    let recording = Recording::new(outcome, workshop.path("run.csprof"));
    assert!(recording.profile.processes.len() > 3000, "{}", recording.profile.processes.len());
    assert_eq!(recording.info["warnings"].as_array().unwrap().len(), 0, "{}", recording.info);
}

#[test]
fn memory_is_bounded_and_shown() {
    let workshop = workshop("losses_memory");
    let work = ["./losses", "nodes", "100"];
    let recording = workshop.record(&["-e", "task-clock@5000"], &work);
    let memory = &recording.info["collector_memory"];
    let number = |key: &str| memory[key].as_u64().unwrap();
    let (nodes, bytes) = (number("nodes"), number("node_bytes"));
    if nodes < 10_000 {
        note(&format!("only {nodes} nodes here, which say little about memory per node"));
    } else {
        assert!(bytes <= 64 * nodes, "{bytes} bytes for {nodes} nodes");
    }
    let parts = ["node_bytes", "record_bytes", "table_bytes", "other_bytes"];
    assert_eq!(number("total"), parts.iter().map(|part| number(part)).sum::<u64>());
    let info = recording.output(&["info"]);
    assert!(info.contains("bytes each with those in reserve"), "{info}");

    // 64 kB: the log and about a thousand nodes.
    let recording = workshop.record(&["-e", "task-clock@5000", "--memory", "64k"], &work);
    let memory = recording.info["processes"][0]["collector_memory"].clone();
    assert!(memory["node_bytes"].as_u64().unwrap() <= 65_536, "{memory}");
    if nodes >= 10_000 {
        let full = recording.info["losses"]["arena-full"].as_u64().unwrap();
        assert!(full > 100, "{}", recording.info["losses"]);
        assert!(recording.outcome.complained().contains("lost (arena-full"));
        assert!(recording.output(&["info"]).contains("--memory"));
    }
}

/// What finds no room is lost under its name; the program does not notice, and sampling goes on
/// when there is room again. In a mount namespace of its own, for the file system must be small.
#[test]
fn shared_memory_that_is_filled_while_the_program_runs() {
    let workshop = Workshop::new("losses_full");
    workshop.compile("cc -O2 -pthread -o program @full_disk.c");
    // The same for all places of temporary files: there is no disk to go to.
    let mounted = "mount -t tmpfs -o size=160m none /dev/shm && mount --bind /dev/shm /tmp \
                   && mount --bind /dev/shm /var/tmp && unset TMPDIR XDG_RUNTIME_DIR";
    let in_own = |command: &str| {
        let script = format!("{mounted} && exec {command} ./program /dev/shm/file");
        workshop.run(&["unshare", "-m", "sh", "-c", &script])
    };
    if !workshop.run(&["unshare", "-m", "sh", "-c", mounted]).status.success() {
        skip("shared_memory_that_is_filled", "no file system can be mounted here");
        return;
    }
    if ["/tmp", "/var/tmp"].iter().any(|place| csprof().starts_with(place)) {
        skip("shared_memory_that_is_filled", "csprof lies where it would be mounted over");
        return;
    }
    let alone = in_own("");
    assert!(alone.status.success(), "{}", alone.complained());
    let csprof = csprof().to_str().unwrap();
    let record = |source: &str| {
        let outcome = in_own(&format!("{csprof} record --quiet -f -o run.csprof -e {source} --"));
        assert_eq!((outcome.said(), outcome.complained()), (alone.said(), String::new()));
        assert!(outcome.status.success());
        Recording::new(outcome, workshop.path("run.csprof"))
    };
    for source in ["cputime@200", "task-clock@5000"] {
        let mut last = None;
        let goes_on = in_one_of_three("losses_full", || {
            let recording = last.insert(record(source));
            let is_met = recording.rows().inclusive_of("at_last") > 0;
            // The kernel's ticks may all miss it.
            assert!(is_met || !recording.is_fast(), "{}", recording.rows());
            is_met
        });
        let recording = last.unwrap();
        assert!(goes_on, "{}", recording.rows());
        assert_eq!(recording.info["warnings"].as_array().unwrap().len(), 0, "{}", recording.info);
        // Main threads of both processes, and those that came when there was room again.
        assert_eq!(recording.profile.threads.len(), 2 + 4);
        let messages = recording.messages();
        assert!(messages.contains("a thread is not sampled: shared memory"), "{messages}");
        assert!(messages.contains("not in this profile: shared memory"), "{messages}");
        if recording.is_fast() {
            let lost = recording.info["losses"]["arena-full"].as_u64().unwrap();
            assert!(lost > 0, "{}", recording.info["losses"]);
        }
    }
}

/// What cannot be read may be had later: with other rights, or by another version.
#[test]
fn a_run_folder_stays_if_one_of_its_arenas_cannot_be_read() {
    let workshop = Workshop::new("losses_unread");
    let magic = ARENA_MAGIC.map(|byte| format!("\\{byte:03o}")).concat();
    // A page of version 1; and a file that will never be read.
    let script = format!(
        "cd \"$CSPROF_RUN_DIR\"; mkfifo 78-1.arena
         {{ printf '{magic}\\001'; head -c 8192 /dev/zero; }} > 77-1.arena"
    );
    let recording = workshop.record_without_names(&[], &["sh", "-c", &script]);
    let complained = recording.outcome.complained();
    let missing = "warning: what process 77 has sampled is missing: its file 77-1.arena cannot be \
                   read: it has arena version 1";
    assert!(complained.contains(missing), "{complained}");
    assert!(complained.contains(": stays, for 1 file of it"), "{complained}");
    let (_, kept) = complained.split_once("csprof salvage ").unwrap();
    let (kept, _) = kept.split_once(" -o FILE makes the profile again").unwrap();
    let mut entries =
        fs::read_dir(kept).unwrap().map(|entry| entry.unwrap().path().join("77-1.arena"));
    fs::remove_file(entries.find(|path| path.exists()).unwrap()).unwrap();
    // Too old to be in use.
    let long_ago = SystemTime::now() - Duration::from_secs(7200);
    fs::File::open(kept).unwrap().set_modified(long_ago).unwrap();
    let salvaged =
        workshop.csprof(&["salvage", kept, "--remove", "--no-symbols", "-o", "again.csprof"]);
    let complained = salvaged.complained();
    assert!(salvaged.status.success() && !complained.contains("process 77"), "{complained}");
    let again = Recording::new(salvaged, workshop.path("again.csprof"));
    assert_eq!(again.samples().recorded, recording.samples().recorded);
    assert!(!Path::new(kept).exists(), "{complained}");
}
