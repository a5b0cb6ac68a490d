//! Ranks of jobs: each has its file, whichever way the job ends, and those that have none are
//! named.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use csprof_format::profile::Profile;
use csprof_format::{read, write};
use csprof_tests::binary::csprof;
use csprof_tests::deadline::{self, DEADLINE, Outcome};
use csprof_tests::installed;
use csprof_tests::notes::skip;
use csprof_tests::recording::Recording;
use csprof_tests::workshop::Workshop;

/// Open MPI with four ranks, on any machine.
const MPIRUN: [&str; 5] = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "4"];

/// How jobs end, with what becomes of rank 1.
const ENDS: [&str; 5] = ["plain", "abort", "crash", "kill", "exit"];

/// A library of MPI, with a launcher that starts four ranks.
struct Mpi {
    compiler: &'static str,
    run: &'static [&'static str],
    ends: &'static [&'static str],
}

const OPEN_MPI: Mpi = Mpi { compiler: "mpicc", run: &MPIRUN, ends: &ENDS };

/// Whose launcher, Hydra, kills all ranks at once when one ends badly. By the names that Debian
/// gives it beside Open MPI.
const MPICH: Mpi = Mpi {
    compiler: "mpicc.mpich",
    run: &["mpirun.mpich", "-np", "4"],
    ends: &["plain", "abort", "crash", "kill"],
};

/// Does not need the kernel's ticks, which on a busy machine may all miss a rank.
const SOURCE: [&str; 2] = ["-e", "task-clock@200"];

/// A workshop with ranks that work and end.
fn ranks(test: &str, mpi: &Mpi) -> Option<Workshop> {
    installed::are_installed(test, &[mpi.compiler, mpi.run[0]]).then(|| {
        let workshop = Workshop::new(test);
        workshop.compile(&format!("{} -O2 -g -o program @mpi_ends.c", mpi.compiler));
        workshop
    })
}

/// Profiles in a folder, once there are so many.
fn profiles(workshop: &Workshop, folder: &str, count: usize) -> Vec<PathBuf> {
    let begin = Instant::now();
    loop {
        let entries = fs::read_dir(workshop.path(folder)).into_iter().flatten();
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut found: Vec<PathBuf> =
            paths.filter(|path| path.extension().is_some_and(|end| end == "csprof")).collect();
        found.sort();
        if found.len() >= count {
            return found;
        }
        assert!(begin.elapsed() < DEADLINE, "{folder}: {found:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Ranks of a profile, in order, each once.
fn ranks_of(profile: &Profile) -> Vec<u32> {
    let mut ranks: Vec<u32> = profile.processes.iter().filter_map(|process| process.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

#[test]
fn csprof_behind_the_launcher_has_all_ranks_whichever_way_the_job_ends() {
    behind_the_launcher("jobs_inside", &OPEN_MPI);
}

#[test]
fn csprof_behind_the_launcher_of_mpich_has_all_ranks() {
    behind_the_launcher("jobs_inside_mpich", &MPICH);
}

fn behind_the_launcher(test: &str, mpi: &Mpi) {
    let Some(workshop) = ranks(test, mpi) else { return };
    for &how in mpi.ends {
        let (folder, all) = (format!("{how}/"), format!("{how}.csprof"));
        let csprof = csprof().to_str().unwrap();
        let record = [&[csprof, "record"][..], &SOURCE, &["-o", &folder, "./program", how]];
        let outcome = workshop.run(&[mpi.run, &record.concat()].concat());
        assert_eq!(outcome.status.success(), how == "plain", "{how}: {}", outcome.complained());
        let files = profiles(&workshop, how, 4);
        let names: Vec<String> = files
            .iter()
            .map(|file| file.file_stem().unwrap().to_str().unwrap())
            .map(|name| name.rsplit_once('.').unwrap().1.to_owned())
            .collect();
        assert_eq!(names, ["0", "1", "2", "3"], "{how}");
        let files = files.iter().map(|file| file.to_str().unwrap());
        let merge = ["merge", "--expect-ranks", "4", "-f", "-o", &all];
        let merge: Vec<&str> = merge.into_iter().chain(files).collect();
        let merged = Recording::new(workshop.csprof(&merge), workshop.path(&all));
        let complained = merged.outcome.complained();
        assert!(merged.outcome.status.success() && !complained.contains("missing"), "{complained}");
        assert_eq!(ranks_of(&merged.profile), [0, 1, 2, 3], "{how}");
        // Names are there, of ranks that had no time to find them, too.
        for rank in 0..4 {
            let rows = merged.refined(&format!("rank = {rank} | through work"));
            assert!(rows.shown > 0, "{how}, rank {rank}: {rows}");
        }
    }
}

#[test]
fn csprof_around_the_launcher_has_one_file_with_all_ranks() {
    around_the_launcher("jobs_outside", &OPEN_MPI);
}

#[test]
fn csprof_around_the_launcher_of_mpich_has_all_ranks() {
    around_the_launcher("jobs_outside_mpich", &MPICH);
}

fn around_the_launcher(test: &str, mpi: &Mpi) {
    let Some(workshop) = ranks(test, mpi) else { return };
    for &how in mpi.ends {
        let recording = workshop.record(&[], &[mpi.run, &["./program", how]].concat());
        let complained = recording.outcome.complained();
        assert_eq!(ranks_of(&recording.profile), [0, 1, 2, 3], "{how}: {complained}");
        assert!(!complained.contains("missing"), "{how}: {complained}");
    }
}

/// A second node, which is this machine behind an `ssh` that hands no environment on.
#[test]
fn ranks_on_other_nodes_are_named_with_what_to_do() {
    let Some(workshop) = ranks("jobs_nodes", &OPEN_MPI) else { return };
    let agent = "#!/bin/sh\nshift\nexec env -i PATH=\"$PATH\" HOME=\"$HOME\" sh -c \"$*\"\n";
    fs::write(workshop.path("agent"), agent).unwrap();
    fs::set_permissions(workshop.path("agent"), fs::Permissions::from_mode(0o755)).unwrap();
    let agent = workshop.path("agent").display().to_string();
    let nodes = ["--mca", "plm_rsh_agent", &agent, "--host", "localhost:2,elsewhere:2"];
    // Ranks on two nodes do not find each other in shared memory.
    let mpirun = [&MPIRUN[..], &nodes, &["--mca", "btl", "self,tcp"]].concat();
    for how in ["plain", "crash"] {
        let recording = workshop.record(&[], &[&mpirun[..], &["./program", how]].concat());
        let complained = recording.outcome.complained();
        assert_eq!(ranks_of(&recording.profile), [0, 1], "{how}: {complained}");
        let told = "ranks 2 and 3 of 4 are missing; they ran on other nodes, and csprof sees the \
                    processes of its own; put it behind the launcher: mpirun … csprof record -o prof/";
        assert!(complained.contains(told), "{how}: {complained}");
        // As it says, with the output on a disk that all nodes have.
        let (folder, csprof) = (format!("{how}/"), csprof().to_str().unwrap());
        let record = [csprof, "record", "-o", &folder, "./program", how];
        let outcome = workshop.run(&[&mpirun[..], &record].concat());
        assert_eq!(outcome.status.success(), how == "plain", "{how}: {}", outcome.complained());
        let files = profiles(&workshop, how, 4);
        let found: Vec<u32> =
            files.iter().flat_map(|file| ranks_of(&read::open(file).unwrap())).collect();
        assert_eq!(found, [0, 1, 2, 3], "{how}");
    }
}

/// Runs csprof as a rank that Slurm has started on the second of two nodes, with Intel's library.
fn as_rank(workshop: &Workshop, job: &str, rank: &str, arguments: &[&str]) -> Outcome {
    deadline::run(&mut rank_command(workshop, job, rank, arguments))
}

fn rank_command(workshop: &Workshop, job: &str, rank: &str, arguments: &[&str]) -> Command {
    let mut command = workshop.csprof_command();
    command.env("SLURM_JOB_ID", job).env("SLURM_PROCID", rank).env("SLURM_NTASKS", "4");
    command.env("SLURM_STEP_ID", "0").env("MPI_LOCALRANKID", "0");
    command.args(arguments);
    command
}

/// For a shell that csprof has started: sends the keeper a signal, if it is [found](finds_keepers).
fn to_keeper(signal: &str) -> String {
    format!(
        "for child in $(cat /proc/$PPID/task/$PPID/children); do \
         [ $child = $$ ] || kill -{signal} $child; done"
    )
}

/// Whether the kernel says which children a process has (CONFIG_PROC_CHILDREN).
fn finds_keepers(test: &str) -> bool {
    let is_told = Path::new("/proc/thread-self/children").exists();
    if !is_told {
        skip(test, "no /proc/PID/task/TID/children (CONFIG_PROC_CHILDREN)");
    }
    is_told
}

/// A job that no other run of the tests has.
fn own_job(test: &str) -> String {
    format!("{test}-{}", std::process::id())
}

#[test]
fn ranks_by_variables_have_files_of_their_own() {
    let workshop = Workshop::new("jobs_names");
    workshop.compile("cc -O2 -pthread -o program @endings.c");
    let fixed = ["record", "-f", "-o", "run.csprof", "sh", "-c", "touch ran"];
    let refused = as_rank(&workshop, "7", "2", &fixed);
    let complained = refused.complained();
    assert_eq!(refused.status.code(), Some(125), "{complained}");
    assert!(complained.contains("the 4 ranks of this job (Slurm)"), "{complained}");
    assert!(complained.contains("-o run.%r.csprof, or a folder: -o run/"), "{complained}");
    assert!(!workshop.path("ran").exists() && !workshop.path("run.csprof").exists());
    let refused = as_rank(&workshop, "7", "2", &["record", "-o", "%q{SLURM_STEP_ID}", "true"]);
    assert!(refused.complained().contains("would write this one file"), "{}", refused.complained());
    // What runs already has its file by the same patterns; an option is told as it was given.
    let own = std::process::id().to_string();
    for (arguments, told) in [
        (&["record", "-p", &own, "-o", "%x.csprof"][..], "-o %x.csprof: a % means nothing there"),
        (&["record", "--symbols=later", "--sources", "true"], "leave out --symbols=later"),
    ] {
        let complained = workshop.csprof(arguments).complained();
        assert!(complained.contains(told), "{complained}");
    }

    let program = ["./program", "return"];
    for (pattern, file) in [("a.%j.%r.csprof", "a.7.2.csprof"), ("%q{SLURM_PROCID}", "2")] {
        let recorded =
            as_rank(&workshop, "7", "2", &[&["record", "-o", pattern][..], &program].concat());
        let recording = Recording::new(recorded, workshop.path(file));
        // What counts on a node alone is no rank.
        assert_eq!(ranks_of(&recording.profile), [2]);
    }
    for rank in ["0", "1", "3"] {
        let record = ["record", "--symbols=later", "-o", "prof.%j/", "./program", "return"];
        let recorded = as_rank(&workshop, "7", rank, &record);
        assert_eq!(recorded.status.code(), Some(3), "{}", recorded.complained());
    }
    let files = profiles(&workshop, "prof.7", 3);
    for file in &files {
        assert!(read::open(file).unwrap().functions.is_empty(), "{}", file.display());
    }
    let files: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
    for (options, told) in [
        (&["--expect-ranks", "5"][..], "ranks 2 and 4 of 5 are missing"),
        (&[], "rank 2 of 4 is missing"),
    ] {
        let merge = [&["merge", "-f", "-o", "all.csprof"], options, &files].concat();
        let merged = Recording::new(workshop.csprof(&merge), workshop.path("all.csprof"));
        let complained = merged.outcome.complained();
        assert!(complained.contains(told), "{complained}");
        assert!(merged.output(&["info"]).contains(told));
        assert!(merged.output(&["info"]).contains("3 of 4 ranks"), "{}", merged.output(&["info"]));
        // Found once, for all.
        assert!(merged.rows().inclusive_of("work") > 0, "{}", merged.rows());
    }
}

#[test]
fn ranks_that_left_nothing_are_named() {
    let workshop = Workshop::new("jobs_missing");
    workshop.compile("cc -O2 -pthread -o program @endings.c");
    let script = "for r in 0 1 3; do PMI_RANK=$r PMI_SIZE=4 ./program return; done; exit 0";
    let recording = workshop.record(&[], &["sh", "-c", script]);
    let complained = recording.outcome.complained();
    assert!(complained.contains("warning: rank 2 of 4 is missing"), "{complained}");
    assert!(recording.output(&["info"]).contains("rank 2 of 4 is missing"));
    // The others are of another node.
    let script = "for r in 0 1; do MPI_LOCALNRANKS=2 PMI_RANK=$r PMI_SIZE=4 ./program return; done";
    let recording = workshop.record(&[], &["sh", "-c", script]);
    let complained = recording.outcome.complained();
    let told = "ranks 2 and 3 of 4 are missing; they ran on other nodes, and csprof sees the \
                processes of its own; put it behind the launcher";
    assert!(complained.contains(told), "{complained}");
}

/// A launcher that kills at once leaves csprof no time.
#[test]
fn a_rank_whose_csprof_is_killed_is_saved() {
    let workshop = Workshop::new("jobs_killed");
    workshop.compile("cc -g -O2 -pthread -o program @endings.c");
    // Others may have SIGTERM first, which the keeper is deaf to.
    let begin = format!("echo $CSPROF_RUN_DIR > arenas; {}", to_keeper("TERM"));
    let script = format!("{begin}; ./program return; kill -KILL $PPID; exit 0");
    let [option, source] = SOURCE;
    let record = ["record", option, source, "-o", "prof/", "--", "sh", "-c", &script];
    let job = own_job("jobs_killed");
    let outcome = as_rank(&workshop, &job, "1", &record);
    assert_eq!(outcome.status.code(), None, "{}", outcome.complained());
    let files = profiles(&workshop, "prof", 1);
    let name = files[0].file_name().unwrap().to_str().unwrap().to_owned();
    assert!(name.ends_with(".1.csprof"), "{name}");
    let recording = Recording::new(outcome, files[0].clone());
    assert_eq!(ranks_of(&recording.profile), [1]);
    assert!(!recording.output(&["info"]).contains("missing"), "{}", recording.output(&["info"]));
    // Names are left to merge.
    assert!(recording.profile.functions.is_empty());
    let merge = ["merge", "-o", "all.csprof", files[0].to_str().unwrap()];
    let merged = Recording::new(workshop.csprof(&merge), workshop.path("all.csprof"));
    assert!(merged.rows().inclusive_of("work") > 0, "{}", merged.rows());
    // Nothing is left in memory, once the keeper has removed what it has saved.
    let begin = Instant::now();
    let arenas = fs::read_to_string(workshop.path("arenas")).unwrap();
    let run_dir = Path::new(arenas.trim()).parent().unwrap();
    let name = run_dir.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("csprof-"), "{arenas}");
    while run_dir.exists() {
        assert!(begin.elapsed() < DEADLINE);
        thread::sleep(Duration::from_millis(20));
    }
}

/// What is left may be between two programs, in none of which the collector is at the moment.
#[test]
fn a_keeper_waits_for_who_is_about_to_be_sampled() {
    let workshop = Workshop::new("jobs_between");
    workshop.compile("cc -g -O2 -pthread -o program @endings.c");
    let later = "sleep 0.5; export LD_PRELOAD=$P; exec ./program return";
    let script = format!(
        "P=$LD_PRELOAD; export P; kill -KILL $PPID; exec env -u LD_PRELOAD sh -c '{later}'"
    );
    let [option, source] = SOURCE;
    let record = ["record", option, source, "-o", "prof/", "--", "sh", "-c", &script];
    let outcome = as_rank(&workshop, &own_job("jobs_between"), "1", &record);
    assert_eq!(outcome.status.code(), None, "{}", outcome.complained());
    let file = profiles(&workshop, "prof", 1).remove(0);
    let outcome = workshop.csprof(&["symbolize", file.to_str().unwrap()]);
    let recording = Recording::new(outcome, file);
    assert!(recording.rows().inclusive_of("work") > 0, "{}", recording.rows());
}

/// A part that was saved early is not taken for the whole.
#[test]
fn what_goes_on_stays_until_all_of_it_is_saved() {
    let of_work = |recording: &Recording| recording.rows().inclusive_of("work");
    saves_all_of_what_goes_on("jobs_goes_on", SOURCE[1], of_work);
}

/// Samples of calls are no signals.
#[test]
fn what_goes_on_and_counts_calls_stays_until_all_of_it_is_saved() {
    let all = |recording: &Recording| recording.profile.nodes.total_samples();
    saves_all_of_what_goes_on("jobs_goes_on_calls", "alloc-calls@1", all);
}

fn saves_all_of_what_goes_on(test: &str, source: &str, samples: fn(&Recording) -> u64) {
    let workshop = Workshop::new(test);
    if !finds_keepers(test) {
        return;
    }
    workshop.compile("cc -g -O2 -pthread -o program @endings.c");
    let job = own_job(test);
    let script = format!(
        "{}; ./program return; kill -KILL $PPID; \
         for i in $(seq 6000); do [ -e go ] && break; sleep 0.05; done; ./program return",
        to_keeper("KILL")
    );
    let record = ["record", "-e", source, "-o", "prof/", "--", "sh", "-c", &script];
    let mut command = rank_command(&workshop, &job, "1", &record);
    let mut csprof = deadline::start(&mut command);
    assert_eq!(csprof.wait().unwrap().code(), None);
    let salvage = ["salvage", "--all", "--remove", "--job", &job, "-o", "found/"];
    let early = workshop.csprof(&salvage);
    let complained = early.complained();
    assert!(complained.contains(": stays, for its run goes on"), "{complained}");
    let listed = || workshop.csprof(&["salvage", "--job", &job]).said();
    assert!(!listed().is_empty());
    fs::write(workshop.path("go"), "").unwrap();
    let begin = Instant::now();
    while !listed().is_empty() {
        assert!(begin.elapsed() < DEADLINE);
        assert!(workshop.csprof(&salvage).status.success());
    }
    let samples: Vec<u64> = profiles(&workshop, "found", 2)
        .into_iter()
        .map(|file| samples(&Recording::new(early.clone(), file)))
        .collect();
    assert!(samples.iter().max() > samples.iter().min(), "{samples:?}");
}

/// Ranks of one job in two folders, as of two nodes: files say where each ran.
#[test]
fn ranks_are_refined_to_by_host() {
    let workshop = Workshop::new("jobs_hosts");
    workshop.compile("cc -g -O2 -pthread -o program @endings.c");
    let mut host = String::new();
    for rank in ["0", "1", "2", "3"] {
        let record = ["record", SOURCE[0], SOURCE[1], "-o", "prof/", "./program", "return"];
        assert_eq!(as_rank(&workshop, "7", rank, &record).status.code(), Some(3));
        let file = profiles(&workshop, "prof", 1).pop().unwrap();
        let mut profile = read::open(&file).unwrap();
        host.clone_from(&profile.run.host);
        fs::remove_file(&file).unwrap();
        if rank > "1" {
            profile.run.host = "elsewhere".into();
        }
        let file = format!("{rank}.csprof");
        write::save(&profile, &workshop.path(&file)).unwrap();
    }
    let files = ["0.csprof", "1.csprof", "2.csprof", "3.csprof"];
    let merge = [&["merge", "-o", "all.csprof"], &files[..]].concat();
    let merged = Recording::new(workshop.csprof(&merge), workshop.path("all.csprof"));
    let shown = |stages: &str| merged.refined(stages).shown;
    assert!(shown("host = elsewhere") > 0);
    assert_eq!(shown("host = elsewhere"), shown("rank in 2..63"));
    assert_eq!(shown(&format!("host = {host}")), shown("rank in 0..1"));
    let split = merged.output(&["report", "--refine", "split host", "--depth", "1"]);
    assert!(split.contains("host=elsewhere") && split.contains(&format!("host={host}")), "{split}");
    let csv = merged.output(&["report", "--view", "threads", "--format", "csv"]);
    assert!(csv.starts_with("depth,kind,name,rank,host,pid"), "{csv}");
    assert!(csv.contains(",3,elsewhere,") && csv.contains(&format!(",0,{host},")), "{csv}");
    let text = merged.output(&["report", "--view", "threads"]);
    assert!(text.contains(" on elsewhere ./program return"), "{text}");
    let over = merged.output(&["report", "--view", "distribution", "--over", "host"]);
    assert!(over.contains("over 2 hosts") && over.contains("there is no imbalance"), "{over}");
    // A sum that keeps none apart does not know what a host had, but for all together.
    let merge = [&["merge", "--keep-ranks", "none", "-f", "-o", "sum.csprof"], &files[..]].concat();
    assert!(workshop.csprof(&merge).status.success());
    let refused =
        workshop.csprof(&["report", "sum.csprof", "--refine", "host = elsewhere"]).complained();
    assert!(refused.contains("a rank of host elsewhere is in the sum and not kept"), "{refused}");
    let merge = [&["merge", "--keep-ranks", "all", "-f", "-o", "sum.csprof"], &files[..]].concat();
    let summed = Recording::new(workshop.csprof(&merge), workshop.path("sum.csprof"));
    assert_eq!(summed.refined("host = elsewhere").shown, shown("host = elsewhere"));
}

/// Slurm ends all processes of a node, whatever their session.
#[test]
fn what_nobody_could_save_is_found_and_saved_later() {
    let workshop = Workshop::new("jobs_salvaged");
    if !finds_keepers("jobs_salvaged") {
        return;
    }
    workshop.compile("cc -g -O2 -pthread -o program @endings.c");
    let job = own_job("jobs_salvaged");
    let script = format!("{}; ./program return; kill -KILL $PPID; exit 0", to_keeper("KILL"));
    let [option, source] = SOURCE;
    for rank in ["3", "0"] {
        let record = ["record", option, source, "-o", "prof/", "--", "sh", "-c", &script];
        let outcome = as_rank(&workshop, &job, rank, &record);
        assert_eq!(outcome.status.code(), None, "{}", outcome.complained());
    }
    let listed = || workshop.csprof(&["salvage", "--job", &job]).said();
    let lines = listed();
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    for (line, rank) in lines.iter().zip(["rank 0 of 4", "rank 3 of 4"]) {
        let is_whole = [rank, &format!("job {job}"), "host ", " ago: sh -c"];
        assert!(is_whole.iter().all(|part| line.contains(part)), "{line}");
    }
    assert!(fs::read_dir(workshop.path("prof")).unwrap().next().is_none());
    // Whoever cannot be shown the list has everything saved nevertheless.
    let csprof = csprof().to_str().unwrap();
    let unseen = format!("{csprof} salvage --all --job {job} -o unseen/ > /dev/full");
    assert!(!workshop.run(&["sh", "-c", &unseen]).status.success());
    profiles(&workshop, "unseen", 2);
    let all = ["salvage", "--all", "--job", &job, "-o", "found/"];
    let saved = workshop.csprof(&all);
    assert!(saved.status.success(), "{}", saved.complained());
    let files = profiles(&workshop, "found", 2);
    // What is saved is not saved twice, and only now the memory is given back.
    let again = workshop.csprof(&[&all[..], &["--remove"]].concat());
    assert!(again.complained().contains("is saved already, as found/"), "{}", again.complained());
    assert_eq!((profiles(&workshop, "found", 2), listed()), (files.clone(), String::new()));
    for (file, rank) in files.into_iter().zip([0, 3]) {
        let recording = Recording::new(saved.clone(), file);
        assert_eq!(ranks_of(&recording.profile), [rank]);
        assert!(recording.rows().inclusive_of("work") > 0, "{}", recording.rows());
    }
}

/// Who ends jobs sends SIGTERM, and SIGKILL some seconds later. So what a program has sampled that
/// goes on meanwhile is saved at once; if it ends by itself, all of it takes that place.
#[test]
fn what_ignores_sigterm_is_saved_before_it_ends() {
    let workshop = Workshop::new("jobs_ignoring");
    workshop.compile("cc -O2 -pthread -o program @endings.c");
    assert!(workshop.run(&["mkfifo", "go"]).status.success());
    let script =
        "trap '' TERM; ./program return; touch ran; read line < go; ./program return; exit 4";
    let mut command = workshop.csprof_command();
    command.arg("record").args(SOURCE).args(["-o", "run.csprof", "sh", "-c", script]);
    let child = deadline::start(&mut command);
    let wait_for = |name: &str| {
        let begin = Instant::now();
        while !workshop.path(name).exists() {
            assert!(begin.elapsed() < DEADLINE, "no {name}");
            thread::sleep(Duration::from_millis(10));
        }
    };
    wait_for("ran");
    assert!(!workshop.path("run.csprof").exists());
    let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    wait_for("run.csprof");
    let open = || read::open(&workshop.path("run.csprof")).unwrap();
    let goes_on = |profile: &Profile| {
        profile.run.warnings.iter().any(|warning| warning.contains(csprof_format::profile::GOES_ON))
    };
    let part = open();
    assert!(goes_on(&part) && part.nodes.total_samples() > 0, "{:?}", part.run.warnings);
    fs::write(workshop.path("go"), "\n").unwrap();
    let outcome = deadline::finish(child, &command);
    let complained = outcome.complained();
    assert_eq!(outcome.status.code(), Some(4), "{complained}");
    assert!(complained.contains("the program goes on: what it has sampled so far is in "));
    let whole = open();
    assert!(!goes_on(&whole), "{:?}", whole.run.warnings);
    assert!(whole.nodes.total_samples() > part.nodes.total_samples());
    assert_eq!(profiles(&workshop, ".", 1).len(), 1);
}
