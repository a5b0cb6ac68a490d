//! Amounts that calls are about: bytes that they read and write, by `-e io`, and the time that
//! threads wait for each other, by `-e lock`. Each program knows the answers.

use std::collections::BTreeSet;

use csprof_tests::installed;
use csprof_tests::notes::{note, skip};
use csprof_tests::paths::Rows;
use csprof_tests::recording::{Recording, in_one_of_three};
use csprof_tests::workshop::Workshop;

use crate::programs::MPIRUN;

/// Bytes of most calls of `reads_and_writes.c`, and of those with two parts.
const SIZE: u64 = 3000;
const PARTS: u64 = SIZE + 7;

/// Functions of it with the bytes that they read.
const READ: [(&str, u64); 16] = [
    ("do_read", SIZE),
    ("do_pread", SIZE),
    ("do_pread64", SIZE),
    ("do_readv", PARTS),
    ("do_preadv", PARTS),
    ("do_preadv64", PARTS),
    ("do_preadv2", PARTS),
    ("do_preadv64v2", PARTS),
    ("do_recv", SIZE),
    ("do_recvfrom", SIZE),
    ("do_recvmsg", PARTS),
    ("do_recvmmsg", 2 * PARTS),
    ("do_sendfile", SIZE),
    ("do_sendfile64", SIZE),
    ("do_copy_file_range", SIZE),
    ("do_splice", SIZE),
];

/// The same of what they write.
const WRITTEN: [(&str, u64); 16] = [
    ("do_write", SIZE),
    ("do_pwrite", SIZE),
    ("do_pwrite64", SIZE),
    ("do_writev", PARTS),
    ("do_pwritev", PARTS),
    ("do_pwritev64", PARTS),
    ("do_pwritev2", PARTS),
    ("do_pwritev64v2", PARTS),
    ("do_send", SIZE),
    ("do_sendto", SIZE),
    ("do_sendmsg", PARTS),
    ("do_sendmmsg", 2 * PARTS),
    ("do_sendfile", SIZE),
    ("do_sendfile64", SIZE),
    ("do_copy_file_range", SIZE),
    ("do_splice", SIZE),
];

/// The top-down tree of one metric.
fn rows_of(recording: &Recording, metric: &str) -> Rows {
    let options = ["report", "--format", "json", "--threshold", "0", "--metric", metric];
    Rows::new(&recording.output(&options))
}

fn check_amounts(rows: &Rows, expected: &[(&str, u64)]) {
    for &(function, amount) in expected {
        assert_eq!(rows.inclusive_of(function), amount, "{function} of {rows}");
    }
    let all: u64 = expected.iter().map(|(_, amount)| amount).sum();
    assert_eq!(rows.shown, u128::from(all), "{rows}");
}

#[test]
fn bytes_read_and_written() {
    let workshop = Workshop::new("amounts_io");
    workshop.compile("cc -O2 -g -o program @reads_and_writes.c");
    assert_eq!(workshop.run(&["./program"]).status.code(), Some(3));
    // Alone, and with a source by which sockets are waited for in another way.
    for further in [&[][..], &["-e", "realtime@1000"]] {
        let sources =
            ["-e", "io-read@1", "-e", "io-write@1", "-e", "io-time@10us", "-e", "io-calls@1"];
        let recording = workshop.record(&[&sources[..], further].concat(), &["./program"]);
        assert_eq!(recording.outcome.status.code(), Some(3), "{}", recording.outcome.said());
        check_amounts(&rows_of(&recording, "io-read"), &READ);
        check_amounts(&rows_of(&recording, "io-write"), &WRITTEN);
        // What fails is a call, too.
        let calls = READ.iter().chain(&WRITTEN).map(|&(function, _)| (function, 1));
        let others = [("do_fsync", 1), ("do_fdatasync", 1), ("do_failing", 2)];
        let calls: BTreeSet<_> = calls.chain(others).collect();
        check_amounts(&rows_of(&recording, "io-calls"), &Vec::from_iter(calls));
    }
    // A few bytes more or less, by when the first period began.
    let recording = workshop.record(&["-e", "io-read@1000"], &["./program"]);
    let all: u64 = READ.iter().map(|(_, bytes)| bytes).sum();
    let periods = all / 1000..=all / 1000 + 1;
    assert!(periods.contains(&recording.samples().recorded), "{:?}", recording.samples());
}

/// The bytes by strace: what calls of a program return once it has made its first file.
fn traced(workshop: &Workshop) -> [u64; 2] {
    let traced = workshop.run(&["strace", "-f", "./program"]).complained();
    let [mut read, mut written] = [0, 0];
    let is_first = |line: &&str| line.starts_with("memfd_create") || line.contains("\"/tmp\"");
    for line in traced.lines().skip_while(|line| !is_first(line)) {
        let (call, _) = line.split_once('(').unwrap_or_default();
        let result = line.rsplit_once(" = ").and_then(|(_, result)| result.parse().ok());
        let lengths = line.split("msg_len=").skip(1).map(|rest| {
            let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
            rest[..end].parse::<u64>().unwrap()
        });
        let bytes = if call.ends_with("mmsg") { lengths.sum() } else { result.unwrap_or(0) };
        let moves = ["sendfile", "copy_file_range", "splice"].contains(&call);
        let receives = call.starts_with("recv") || call.contains("read");
        let sends = call.starts_with("send") || call.contains("write");
        read += if moves || receives { bytes } else { 0 };
        written += if moves || sends { bytes } else { 0 };
    }
    assert!(read > 0 && written > 0, "{traced}");
    [read, written]
}

fn check_against_strace(test: &str, source: &str) -> Option<Recording> {
    if !installed::can_trace(test) {
        return None;
    }
    let workshop = Workshop::new(test);
    workshop.compile(&format!("cc -O2 -g -o program {source}"));
    let recording = workshop.record(&["-e", "io-read@1", "-e", "io-write@1"], &["./program"]);
    let bytes = ["io-read", "io-write"].map(|metric| rows_of(&recording, metric).shown);
    assert_eq!(bytes, traced(&workshop).map(u128::from));
    assert_eq!(recording.outcome.status.code(), Some(3));
    Some(recording)
}

#[test]
fn bytes_are_those_that_strace_sees() {
    let _ = check_against_strace("amounts_strace", "@reads_and_writes.c");
}

/// Also those of streams, wherever the C library writes them.
#[test]
fn bytes_of_streams_are_those_that_strace_sees() {
    let Some(recording) = check_against_strace("amounts_streams", "@streams.c") else { return };
    let read = rows_of(&recording, "io-read");
    for function in ["read_by_letters", "read_by_lines", "read_as_a_whole"] {
        assert_eq!(read.inclusive_of(function), 4 * 4000, "{read}");
    }
    let written = rows_of(&recording, "io-write");
    assert_eq!(written.inclusive_of("write_file"), 4 * 4000, "{written}");
    assert!(written.inclusive_of("exit") > 12, "{written}");
}

/// Whether csprof has found, within 5 %, what each function measured of its waits, in this run or
/// an earlier one: those are in `seen`. It never finds more, nor less than half, but for a
/// millisecond: a busy machine may stand still for a moment between its look at the clock and the
/// function's, and what is waited for may have come before it was to.
fn all_are_seen(seen: &mut BTreeSet<String>, waits: &[(String, u64)], rows: &Rows) -> bool {
    for (function, measured_ns) in waits {
        let found_ns = rows.inclusive_of(function);
        let what = format!("{function}: {found_ns} of {measured_ns}");
        assert!(found_ns * 20 <= measured_ns * 21, "{what}");
        assert!(found_ns * 2 + 1_000_000 >= *measured_ns, "{what}");
        if *measured_ns > 0 && found_ns * 20 >= measured_ns * 19 {
            seen.insert(function.clone());
        } else {
            note(&what);
        }
    }
    seen.len() == waits.len()
}

/// The program measures what it waits, and csprof must find the same within 5 %.
#[test]
fn waits_for_other_threads() {
    let workshop = Workshop::new("amounts_lock");
    workshop.compile("cc -O2 -g -pthread -o program @locks.c");
    for further in [&[][..], &["-e", "realtime@1000"]] {
        let options = [&["-e", "lock@10us"], further].concat();
        let mut seen = BTreeSet::new();
        let are_right = || {
            let recording = workshop.record(&options, &["./program", "waits"]);
            assert_eq!(recording.outcome.status.code(), Some(3));
            let complained = recording.outcome.complained();
            let waits: Vec<(String, u64)> = complained
                .lines()
                .filter_map(|line| line.split_once(' '))
                .filter(|(name, _)| name.starts_with("wait_"))
                .map(|(name, ns)| (name.to_owned(), ns.parse().unwrap()))
                .collect();
            assert_eq!(waits.len(), 15, "{complained}");
            all_are_seen(&mut seen, &waits, &rows_of(&recording, "lock"))
        };
        assert!(in_one_of_three("amounts_lock", are_right), "{seen:?}");
    }
}

/// The same of ranks: both measure what they wait in each function.
#[test]
fn time_in_calls_of_mpi() {
    if !installed::are_installed("amounts_mpi", &["mpicc", "mpirun"]) {
        return;
    }
    let workshop = Workshop::new("amounts_mpi");
    workshop.compile("mpicc -O2 -g -o program @mpi_waits.c");
    let mut seen = BTreeSet::new();
    let are_right = || {
        let recording = workshop.record(&["-e", "mpi@10us"], MPIRUN);
        assert!(recording.outcome.status.success(), "{}", recording.outcome.complained());
        let complained = recording.outcome.complained();
        let measured_ns = |function: &str| {
            let of_ranks = complained.lines().filter_map(|line| line.split_once(function));
            of_ranks.map(|(_, ns)| ns.trim().parse::<u64>().unwrap()).sum::<u64>()
        };
        let waits = ["barrier", "allreduce", "reduce", "gather", "sendrecv", "profiling"]
            .map(|name| format!("wait_{name}"))
            .map(|function| (function.clone(), measured_ns(&format!("{function} "))));
        all_are_seen(&mut seen, &waits, &rows_of(&recording, "mpi"))
    };
    assert!(in_one_of_three("amounts_mpi", are_right), "{seen:?}");
}

/// A call that a handler of errors has left holds no other back.
#[test]
fn time_in_calls_of_mpi_after_one_was_left() {
    let workshop = Workshop::new("amounts_mpi_left");
    workshop.compile("cc -O2 -fexceptions -shared -fPIC -o libmpi.so @mpi_left_library.c");
    workshop.compile("c++ -O2 -g -o program @mpi_left.cpp libmpi.so -Wl,-rpath,$ORIGIN");
    let recording = workshop.record(&["-e", "mpi@10us"], &["./program"]);
    assert_eq!(recording.outcome.said(), "left 3\n");
    // Thirty calls of three milliseconds at least.
    let found_ns = rows_of(&recording, "mpi").inclusive_of("waits()");
    assert!(found_ns >= 30 * 2_990_000, "{found_ns}");
}

/// What the arguments of all ranks' calls name, and no byte more.
#[test]
fn bytes_of_calls_of_mpi() {
    if !installed::are_installed("amounts_mpi_bytes", &["mpicc", "mpirun"]) {
        return;
    }
    let workshop = Workshop::new("amounts_mpi_bytes");
    workshop.compile("mpicc -O2 -g -o program @mpi_bytes.c");
    let (_, mpirun) = MPIRUN.split_last().unwrap();
    let words: Vec<&str> =
        mpirun.iter().map(|&word| if word == "2" { "4" } else { word }).collect();
    let recording = workshop.record(&["-e", "mpi-bytes@1"], &[&words[..], &["./program"]].concat());
    assert!(recording.outcome.status.success(), "{}", recording.outcome.complained());
    let rows = rows_of(&recording, "mpi-bytes");
    let moved = [
        ("isend", 4000),
        ("sendrecv", 960),
        ("replace", 96),
        ("bcast", 100),
        ("allreduce", 224),
        ("reduce", 48),
        ("gather", 60),
        ("scatter", 96),
        ("allgather", 32),
        ("alltoall", 192),
        ("alltoallv", 160),
        ("gatherv", 24),
        ("scatterv", 24),
        ("reduce_scatter", 160),
        ("derived", 48),
        ("nobody", 0),
        ("across", 96),
    ];
    for (name, bytes) in moved {
        assert_eq!(rows.inclusive_of(&format!("move_{name}")), bytes, "{name}: {rows}");
    }
    assert_eq!(rows.shown, moved.iter().map(|&(_, bytes)| u128::from(bytes)).sum::<u128>());
    let [metric] = &recording.profile.metrics().collect::<Vec<_>>()[..] else { panic!() };
    assert_eq!((&*metric.source, &*metric.unit), ("mpi-bytes", "bytes"));
}

#[test]
fn a_word_is_said_where_calls_of_mpi_cannot_be_counted() {
    const TEST: &str = "amounts_mpi_refused";
    if !installed::are_installed(TEST, &["mpicc", "mpirun", "unshare"]) {
        return;
    }
    let workshop = Workshop::new(TEST);
    workshop.compile("mpicc -O2 -g -o program @mpi_waits.c");
    // The memory of this process, and of what it becomes, cannot be written.
    let script = "touch empty && mount --bind empty /proc/$$/mem && \
                  mount -o remount,bind,ro /proc/$$/mem && exec";
    let probe = workshop.run(&["unshare", "-m", "sh", "-c", &format!("{script} echo can")]);
    if probe.said() != "can\n" {
        return skip(TEST, "nothing can be mounted here");
    }
    let (_, mpirun) = MPIRUN.split_last().unwrap();
    let script = format!("{script} ./program");
    let words = [mpirun, &["unshare", "-m", "sh", "-c", &script]].concat();
    let recording = workshop.record(&["-e", "mpi@10us"], &words);
    assert!(recording.outcome.status.success(), "{}", recording.outcome.complained());
    assert!(
        recording.messages().contains("calls of MPI are not counted"),
        "{}",
        recording.messages()
    );
}

#[test]
fn rules_of_locks_are_kept() {
    let workshop = Workshop::new("amounts_rules");
    workshop.compile("cc -O2 -g -pthread -o program @locks.c");
    let alone = workshop.run(&["./program", "rules"]);
    assert!(alone.said().contains("not recoverable: ENOTRECOVERABLE"), "{}", alone.said());
    for further in [&[][..], &["-e", "realtime@1000"]] {
        let options = [&["-e", "lock@10us", "-e", "io"], further].concat();
        let recording = workshop.record(&options, &["./program", "rules"]);
        assert_eq!(recording.outcome.said(), alone.said());
        assert_eq!(recording.outcome.status.code(), Some(3));
    }
}

/// No clock is read for three million of them, so a busy machine cannot make one look long.
#[test]
fn locks_that_are_free_are_no_wait() {
    let workshop = Workshop::new("amounts_free");
    workshop.compile("cc -O2 -g -pthread -o program @locks.c");
    let recording = workshop.record(&["-e", "lock@10us"], &["./program", "free"]);
    assert_eq!(recording.outcome.status.code(), Some(3));
    assert_eq!(recording.samples().recorded, 0);
}
