//! fork, exec and all that is made of them: every process of the run is in the profile, with samples
//! of its own.

use csprof_tests::installed::are_installed;
use csprof_tests::notes::skip;
use csprof_tests::paths::is_share;
use csprof_tests::workshop::Workshop;
use serde_json::Value;

#[test]
fn children_of_every_kind_are_in_the_profile() {
    let workshop = Workshop::new("children");
    workshop.compile("cc -O2 -o program @children.c -lutil");
    let alone = workshop.run(&["./program"]);
    assert!(alone.status.success(), "{alone:?}");
    let recording = workshop.record(&[], &["./program"]);
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
    // Of the forked ones five work, for some periods each; two only wait for others. On a busy
    // machine the clock may tick at other times.
    let works = |process: &&Value| process["threads"][0]["samples"].as_u64() > Some(0);
    let forked = processes.iter().filter(|process| process["origin"] == "fork");
    let workers = forked.filter(works).count();
    assert!((1..=5).contains(&workers), "{}", recording.info);
}

/// Without /proc, as in many a chroot, the loader and the kernel tell nobody the program's path but the
/// program itself.
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
    let recording = workshop.record(&[], &["unshare", "-rm", "sh", "-c", &run]);
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
    let waited = workshop.record(&["--wait"], &["./program"]);
    assert_eq!(waited.outcome.status.code(), Some(3));
    let samples = waited.rows().inclusive_of("work");
    assert!(is_share(samples, 400, 50), "{samples}, not 200");
    assert_eq!(waited.info["warnings"].as_array().unwrap().len(), 0, "{}", waited.info);

    let unwaited = workshop.record(&[], &["./program"]);
    assert_eq!(unwaited.outcome.status.code(), Some(3));
    assert_eq!(
        unwaited.info["warnings"][0],
        "1 process of the run outlived the program; their samples up to here are in the profile \
         (--wait waits for their end)"
    );
    assert!(unwaited.rows().inclusive_of("work") < samples);
}
