//! Processes: how they come, what they become, how they end.

use crate::hazard::{Ended, Hazard, Trial};
use crate::recording::Recording;

/// All of them.
pub const ALL: &[Hazard] = &[
    Hazard::new("forks", &["cc -O2 -pthread -o program @forks.c"])
        .by_two()
        .says(
            "fork among threads: 20 right\n\
             long child: 3\n\
             clone: 7\n\
             clone, shared memory: 7\n\
             SYS_fork: 5\n\
             SYS_clone3: 6\n\
             daemon's parent: 4\n\
             daemon: right\n",
        )
        .also(children_work),
    Hazard::new("children", &["cc -O2 -o program @children.c -lutil"])
        .says(
            "fork: exit 3\n\
             _Fork: exit 4\n\
             vfork and execvp: exit 5\n\
             vfork and execl: exit 6\n\
             vfork and failed exec: exit 9\n\
             posix_spawn: exit 5\n\
             posix_spawnp: exit 5\n\
             system: 6\n\
             popen: 7 from popen\n\
             forkpty: exit 8\n\
             daemon's caller: exit 0\n\
             daemon works\n\
             grandchild: exit 12\n\
             sum 293c370824365444\n",
        )
        .also(fourteen_processes),
    Hazard::new("fork_chain", &["cc -O1 -o program @fork_chain.c"])
        .says("mappings: few\n")
        .also(nothing_is_damaged),
    Hazard::new("exec_among_threads", &["cc -O2 -pthread -o program @exec_threads.c"])
        .command(&["./program", "40"])
        .says("end\n")
        .ends(Ended::Status(11))
        .also(forty_one_programs),
    Hazard::new("exec_in_a_thread", &["cc -O2 -pthread -o program @exec_threads.c"])
        .command(&["./program", "40", "thread"])
        .says("end\n")
        .ends(Ended::Status(11))
        .also(forty_one_programs),
    Hazard::new("ignored_beside_exec", &["cc -O2 -pthread -o program @ignored_beside_exec.c"])
        .says("not ignored: 0\n"),
    Hazard::new("huge_environment", &["cc -O2 -o program @huge_environment.c"])
        .says("fork and exec: 20\nvfork and exec: 20\nposix_spawn: 20\nsystem: 1\n")
        .complains("too many: Argument list too long\n")
        .also(nothing_is_damaged),
    Hazard::new("unusual", &["cc -O2 -pthread -o program @unusual.c"])
        .command(&[
            "sh",
            "-c",
            "for way in exec_in_handler from_memory spawned closed in_order canceled growing \
             touched; do ./program $way; done",
        ])
        .by_two()
        .says(
            "executed: 1 blocked, file 3\n\
             executed: 0 blocked, file 3\n\
             executed: 0 blocked, file 3\n\
             closed: file 3\n\
             in order: 0:0 0:4 1:1 1:5 2:2 2:6 3:3 3:7\n\
             canceled: gone 7, cleaned 7\n\
             growing: 150 deep\n\
             touched: 300, 1\n",
        )
        .also(nothing_is_damaged),
    Hazard::new("raw_forks", &["cc -O2 -pthread -o program @raw_forks.c"])
        .says("children said 79\n")
        .by_two()
        .also(the_parent_keeps_its_samples),
    Hazard::new("endings", &["cc -O2 -Wno-array-bounds -pthread -o program @endings.c"])
        .command(&["./program", "all"])
        .says(
            "return: status 3\n\
             exit: status 4\n\
             _exit: status 5\n\
             exit_group: status 6\n\
             quick_exit: status 7\n\
             thread: status 8\n\
             handler: status 10\n\
             abort: signal 6\n\
             trap: signal 4\n\
             fault: signal 11\n\
             terminate: signal 15\n\
             kill: signal 9\n\
             handled fault: status 9\n\
             main thread: status 0\n",
        )
        .also(everybody_worked),
    Hazard::new("fork_in_thread", &["cc -O2 -pthread -o program @fork_in_thread.c"])
        .variants(&["", "-O0", "clang"])
        .says("child 7\n")
        .also(the_child_counts_returns),
    Hazard::new("open_folders", &["cc -O2 -o program @open_folders.c"])
        .says("folders: 0, 0 in a child\nclosed: 0\ninput: 0\n"),
    Hazard::new("identities", &["cc -O2 -pthread -o program @identity.c"])
        .command(&[
            "sh",
            "-c",
            "for way in chroot chdir user dumpable name pids mounts exec; do ./program $way; done",
        ])
        .says(
            "chroot: thread over, child 3, shell over\n\
             chdir: thread over, child 3, shell over\n\
             user: thread over, child 3, shell over\n\
             dumpable: thread over, child 3, shell over\n\
             name: thread over, child 3, shell over\n\
             pids: thread over, child 3, shell over\n\
             mounts: thread over, child 3, shell over\n\
             exec: cleared, 0 variables\n",
        )
        .ends(Ended::Status(5))
        .also(who_is_not_there_is_counted),
];

/// Two children work for 100 ms each.
fn children_work(trial: &Trial<'_>) {
    trial.assert_worked(|recording| recording.rows().inclusive_of("child_work"), 200);
    nothing_is_damaged(trial);
}

/// The program itself and six shells; seven forked, of which a daemon and its caller are two.
fn fourteen_processes(trial: &Trial<'_>) {
    let processes = trial.recording.info["processes"].as_array().unwrap();
    let count = |origin: &str| processes.iter().filter(|p| p["origin"] == origin).count();
    assert_eq!((count("exec"), count("fork")), (7, 7));
    nothing_is_damaged(trial);
}

fn forty_one_programs(trial: &Trial<'_>) {
    assert_eq!(trial.recording.profile.processes.len(), 41);
    nothing_is_damaged(trial);
}

/// Main thread and others work for 25 ms beside each of 24 children made by hand, of which five
/// fork properly.
fn the_parent_keeps_its_samples(trial: &Trial<'_>) {
    let expected = trial.samples_in_ms(24 * 25);
    let keeps = |recording: &Recording| {
        let samples = recording.rows().inclusive_of("burn");
        trial.are_half(recording, samples, expected) && samples <= expected * 2
    };
    assert!(trial.in_one_of_three(keeps), "not {expected}: {}", trial.recording.rows());
    let messages = trial.recording.messages();
    assert!(messages.contains("16 processes made by a raw system call"), "{messages}");
    nothing_is_damaged(trial);
}

/// Each child works for 20 ms; three of them twice, once in another thread or in a handler.
fn everybody_worked(trial: &Trial<'_>) {
    assert_eq!(trial.recording.profile.processes.len(), 15);
    trial.assert_worked(|recording| recording.rows().inclusive_of("work"), 18 * 20);
    nothing_is_damaged(trial);
}

/// 200 activations on the stack of a thread that the child does not have; each counts once, when it
/// returns.
fn the_child_counts_returns(trial: &Trial<'_>) {
    let counts = |recording: &Recording| {
        let rows = recording.rows();
        let edges = rows.get(&["steps", "step"]).and_then(|row| row.edges);
        edges.is_some_and(|edges| (1..=200).contains(&edges))
    };
    assert!(trial.in_one_of_three(counts), "{}", trial.recording.rows());
    nothing_is_damaged(trial);
}

/// Every child is there, behind chroot and other mounts, too. Who was started with nothing in its
/// environment is not, and the profile says so; nor are, where the program may do such things, the
/// shells that it starts where csprof is out of reach.
fn who_is_not_there_is_counted(trial: &Trial<'_>) {
    trial.assert_worked(|recording| recording.rows().inclusive_of("child_work"), 7 * 50);
    let messages = trial.recording.messages();
    let said = |text: &str| messages.lines().filter(|line| line.contains(text)).count();
    assert_eq!(
        said("1 process started, not in this profile: csprof was not in the environment"),
        1
    );
    let out_of_reach = said("1 process started, not in this profile: csprof's files cannot be");
    assert!(out_of_reach <= 2, "{messages}");
    nothing_is_damaged(trial);
}

/// No warning of the launcher that something could not be read. Where perf events are forbidden, a
/// process that ended early may have another source than the rest, which is no damage.
pub(super) fn nothing_is_damaged(trial: &Trial<'_>) {
    let warnings = trial.recording.info["warnings"].as_array().unwrap();
    let mut warnings = warnings.iter().map(|warning| warning.as_str().unwrap());
    let damage = warnings.find(|warning| !warning.contains("did not all use"));
    assert_eq!(damage, None);
}
