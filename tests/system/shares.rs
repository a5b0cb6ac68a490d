//! Merges that several processes do together, and what becomes of them if one ends too early.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use csprof_format::write;
use csprof_tests::binary::csprof;
use csprof_tests::deadline::{self, DEADLINE, Outcome};
use csprof_tests::installed::are_installed;
use csprof_tests::job::Job;
use csprof_tests::notes::skip;
use csprof_tests::small_disk::SmallDisk;
use csprof_tests::workshop::Workshop;

/// Open MPI with four processes, on any machine.
const MPIRUN: [&str; 5] = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "4"];

/// A workshop with the profiles of 16 ranks in a folder.
fn ranks(test: &str, common: u32) -> Workshop {
    let workshop = Workshop::new(test);
    let job =
        Job { ranks: 16, common, private: common / 10, late: vec![(5, 3), (11, 1)], addresses: 1 };
    fs::create_dir(workshop.path("ranks")).unwrap();
    let busiest = job.busiest();
    for rank in 0..job.ranks {
        let path = workshop.path(&format!("ranks/{rank:02}.csprof"));
        write::save_new(&job.rank(rank, busiest), &path).unwrap();
    }
    workshop
}

/// The bytes of each file of a folder.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let file = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
    };
    fs::read_dir(folder).unwrap().map(|entry| file(entry.unwrap())).collect()
}

/// A share that runs.
struct Share {
    command: Command,
    child: deadline::Running,
}

impl Share {
    fn start(workshop: &Workshop, share: &str, output: &str) -> Self {
        let mut command = workshop.csprof_command();
        command.args(["merge", "--share", share, "-o", output, "ranks"]);
        let child = deadline::start(&mut command);
        Self { command, child }
    }

    fn finish(self) -> Outcome {
        deadline::finish(self.child, &self.command)
    }

    /// The one line of a share that failed.
    fn refused(self) -> String {
        let outcome = self.finish();
        let complained = outcome.complained();
        assert_eq!(outcome.status.code(), Some(1), "{complained}");
        assert_eq!(complained.lines().count(), 1, "{complained}");
        complained
    }
}

/// Waits until a folder has a file with this ending.
fn wait_for(folder: &Path, ending: &str) {
    let begin = Instant::now();
    let is_there = || {
        let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.any(|entry| entry.file_name().to_string_lossy().ends_with(ending))
    };
    while !is_there() {
        assert!(begin.elapsed() < DEADLINE, "{}: no {ending}", folder.display());
        thread::sleep(Duration::from_millis(5));
    }
}

/// Puts a profile at the end of the folder that does not end: who reads it waits.
fn add_endless(workshop: &Workshop) {
    assert!(workshop.run(&["mkfifo", "ranks/16.csprof"]).status.success());
}

#[test]
fn processes_of_a_launcher_write_what_one_process_writes() {
    const TEST: &str = "shares_launched";
    if !are_installed(TEST, &["mpirun"]) {
        return;
    }
    let workshop = ranks(TEST, 20);
    let one = workshop.csprof(&["merge", "-o", "one.csprof", "ranks"]);
    assert!(one.status.success(), "{}", one.complained());
    let csprof = csprof().to_str().unwrap();
    let merge =
        [&MPIRUN[..], &[csprof, "merge", "-o", "job.csprof", "--expect-ranks", "17", "ranks"]];
    let merged = workshop.run(&merge.concat());
    let complained = merged.complained();
    assert!(merged.status.success(), "{complained}");
    // Said once.
    assert_eq!(complained.matches("samples of 16 ranks, summed").count(), 1, "{complained}");
    assert_eq!(complained.matches("rank 16 of 17 is missing").count(), 1, "{complained}");
    let merge = [&MPIRUN[..], &[csprof, "merge", "-f", "-o", "job.csprof", "ranks"]].concat();
    assert!(workshop.run(&merge).status.success());
    let bytes = |name: &str| fs::read(workshop.path(name)).unwrap();
    assert!(bytes("one.csprof") == bytes("job.csprof"));
    assert!(!workshop.path("job.csprof.parts").exists());
    // A file that no share can read.
    let before = contents(&workshop.path("ranks"));
    fs::write(workshop.path("ranks/99.csprof"), "to do: buy milk\n").unwrap();
    let merge = [&MPIRUN[..], &[csprof, "merge", "-o", "other.csprof", "ranks"]].concat();
    let failed = workshop.run(&merge);
    assert!(!failed.status.success());
    assert!(
        failed.complained().contains("99.csprof: this is a text file"),
        "{}",
        failed.complained()
    );
    fs::remove_file(workshop.path("ranks/99.csprof")).unwrap();
    assert!(!workshop.path("other.csprof").exists() && contents(&workshop.path("ranks")) == before);
}

/// One that waits for it, one that is done, and share 0 itself: all end, and nothing stays behind.
#[test]
fn a_share_that_is_killed_ends_all_others_at_once() {
    let workshop = ranks("shares_killed", 20);
    let before = contents(&workshop.path("ranks"));
    add_endless(&workshop);
    let parts = workshop.path("job.csprof.parts");
    for (count, killed) in [(3, 1), (4, 0)] {
        let share = |number| Share::start(&workshop, &format!("{number}/{count}"), "job.csprof");
        let mut shares: Vec<Share> = (0..count).map(share).collect();
        wait_for(&parts, ".go");
        let mut stopped = shares.remove(killed);
        stopped.child.kill().unwrap();
        assert!(!stopped.finish().status.success());
        for other in shares {
            let told = other.refused();
            let expected = format!("share {killed} of {count} on ");
            assert!(told.contains(&expected) && told.contains("ended without a word"), "{told}");
        }
        assert!(!parts.exists() && !workshop.path("job.csprof").exists());
    }
    fs::remove_file(workshop.path("ranks/16.csprof")).unwrap();
    assert_eq!(contents(&workshop.path("ranks")), before);
}

/// As by a launcher that does not tell processes of each other: one writes, and the others say so.
/// When that one is killed, the next one goes on without it.
#[test]
fn processes_that_all_are_the_only_one_write_one_after_the_other() {
    let workshop = ranks("shares_of_one", 20);
    add_endless(&workshop);
    let parts = workshop.path("job.csprof.parts");
    let mut first = Share::start(&workshop, "0/1", "job.csprof");
    wait_for(&parts, "share.0");
    let told = Share::start(&workshop, "0/1", "job.csprof").refused();
    let expected = format!("job.csprof: process {} on ", first.child.id());
    assert!(told.contains(&expected) && told.contains("merges into this file already"), "{told}");
    first.child.kill().unwrap();
    assert!(!first.finish().status.success());
    assert!(parts.exists() && !workshop.path("job.csprof").exists());
    fs::remove_file(workshop.path("ranks/16.csprof")).unwrap();
    let next = workshop.csprof(&["merge", "-o", "job.csprof", "ranks"]);
    let complained = next.complained();
    assert!(next.status.success(), "{complained}");
    assert!(complained.contains("job.csprof.parts: removed what a merge had left"), "{complained}");
    assert!(!parts.exists());
}

/// A disk that has no room for what a share has found: all say so, and nothing stays on it.
#[test]
fn a_full_disk_ends_all_shares() {
    const TEST: &str = "shares_full_disk";
    if !are_installed(TEST, &["mount", "umount"]) {
        return;
    }
    let workshop = ranks(TEST, 2000);
    let Some(disk) = SmallDisk::mount(&workshop, "32k") else {
        return skip(TEST, "no right to mount a small disk");
    };
    let share = |number| Share::start(&workshop, &format!("{number}/3"), "disk/job.csprof");
    let shares: Vec<Share> = (0..3).map(share).collect();
    for share in shares {
        let told = share.refused();
        assert!(told.contains("the disk is full"), "{told}");
    }
    assert_eq!(fs::read_dir(workshop.path("disk")).unwrap().count(), 0);
    drop(disk);
}
