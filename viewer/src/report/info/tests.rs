//! Information on a small run, as written.

use csprof_format::ids::{ModuleId, ProcessId, StringId};
use csprof_format::loss::LossReason;
use csprof_format::profile::{
    Account, Epoch, EpochReason, Exit, FurtherMetric, Mapping, Metric, Module, SymbolSource,
    Thread, ThreadAccount, ThreadShare,
};
use serde_json::{Value, json};

use super::{Places, RefinementPlace, SetPlace, text};
use crate::profile::{Profile, from_outline};
use crate::views::summary::Summary;

/// Two threads and a process that lost a sample: 30 delivered, 27 recorded, 2 + 1 lost.
fn profile() -> Profile {
    let mut profile = from_outline(
        "\
# thread=70 name=main
main 2
  solve 20 e=9 module:/opt/app
# thread=71 name=worker
\"[partial: no-cfi]\" partial
  jit_code 5
",
    )
    .unwrap();
    let info = &mut *profile.info;
    info.run.command = vec![b"./app".to_vec(), b"a b".to_vec()];
    info.run.directory = b"/home/u".to_vec();
    info.run.exit = Exit::Signal(9);
    info.run.duration_ns = 150_000_000;
    info.run.cpu_ns = 200_000_000;
    info.run.csprof_version = "0.1.0".to_owned();
    info.run.warnings = vec!["/opt/helper is static and was not profiled".to_owned()];
    info.strings.push("/lib/libc.so.6".into());
    info.strings.push("/opt/app".into());
    info.modules[0].build_id = vec![0xab, 0xcd, 0x01];
    info.modules[0].symbols = SymbolSource::Dwarf(StringId(2));
    info.modules.push(Module {
        path: StringId(1),
        build_id: Vec::new(),
        symbols: SymbolSource::Exports(StringId(1)),
    });
    let mut losses = vec![0; LossReason::COUNT];
    losses[LossReason::InTrampoline as usize] = 2;
    let worker: &mut Thread = &mut info.threads[1];
    worker.delivered = 7;
    worker.losses = losses.clone();
    worker.partial = 5;
    worker.lost_returns = 3;
    worker.cpu_ns = 40_000_000;
    info.threads[0].cpu_ns = 110_000_000;
    losses[LossReason::InTrampoline as usize] = 0;
    losses[LossReason::NoThreadState as usize] = 1;
    let process = &mut info.processes[0];
    process.losses = losses;
    process.command = info.run.command.clone();
    process.exit = Exit::Signal(9);
    process.messages = vec!["perf events are not allowed; using CPU timers".to_owned()];
    info.accounts = vec![Account {
        cpu_before_ns: 10_000_000,
        cpu_ns: 160_000_000,
        unsampled_threads: 3,
        foreign_signals: 0,
        arena_bytes: 32_768,
        nodes: 200,
        node_bytes: 12_288,
        table_bytes: 6_000,
        private_bytes: 80_000,
        threads: vec![
            ThreadAccount { cpu_before_ns: 10_000_000, late: 4 },
            ThreadAccount { cpu_before_ns: 1_000_000, late: 0 },
        ],
    }];
    info.epochs[0].load_map =
        vec![Mapping { start: 0x1000, end: 0x3000, bias: 0, module: ModuleId(0) }];
    info.epochs.push(Epoch {
        process: ProcessId(0),
        number: 1,
        reason: EpochReason::AddressReuse,
        start_ns: 90_000_000,
        load_map: vec![Mapping { start: 0x4000, end: 0x5000, bias: 0, module: ModuleId(1) }],
    });
    profile
}

/// A file with a set and a mistake, and one that is not there.
fn places() -> Places {
    let user = SetPlace {
        file: "/home/u/.config/csprof/sets".to_owned(),
        is_for: "all profiles",
        sets: vec!["solver".to_owned(), "wait".to_owned()],
        problems: vec!["/home/u/.config/csprof/sets:3: a frame is missing here".to_owned()],
    };
    let file = "app.csprof.sets".to_owned();
    let beside = SetPlace { file, is_for: "this profile", sets: Vec::new(), problems: Vec::new() };
    let refinements = RefinementPlace {
        file: "/home/u/.config/csprof/refinements".to_owned(),
        refinements: vec!["hot".to_owned()],
        problems: vec!["/home/u/.config/csprof/refinements:2: @b: no stages".to_owned()],
    };
    Places { sets: vec![user, beside], refinements: Some(refinements) }
}

fn text_of(profile: &Profile) -> String {
    let mut out = Vec::new();
    text::write(profile, &places(), true, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn text_gives_reasons_and_remedies() {
    assert_eq!(text_of(&profile()), "\
command       ./app 'a b'
directory     /home/u
exit          killed by signal 9 (SIGKILL)
elapsed       150 ms
CPU time      200 ms
recorded by   csprof 0.1.0
warning       /opt/helper is static and was not profiled

Samples of cputime, one each 5.00 ms
             200  asked for each second and thread
             200  delivered for each second of CPU time
              30  delivered
              27  recorded
               2  lost (6.7%), in-trampoline: the thread was inside csprof's return trampoline, which was still looking for the way back
               1  lost (3.3%), no-thread-state: the signal arrived before the thread's start-up or after its end
               4  late: recorded 50 ms or more after they were due, where the thread was by then; the profiling signal was blocked (by a system call of the program's own, in a handler, or while csprof read a large library), or the machine stood still
               3  threads that were not sampled: memory or a timer was refused (see ulimit -i, and the space in /dev/shm), or the program made them by clone(2), unknown to the C library
               5  recorded without their outer callers (18.5%); of these
               5    no-cfi: code without call frame information, and no valid frame pointer to follow
               9  edges: returns of calls that a sample met (every-return)
               3  lost returns: such calls that were left in another way

CPU time
          200 ms  used by all processes of the run
          145 ms  sampled (72.5%)
         10.0 ms  before sampling began: programs being loaded, and csprof's own start in them
         4.00 ms  not delivered (2.0%): what a thread used after the kernel's last look at its timer, a tick before its end; -e task-clock delivers it
         41.0 ms  elsewhere (20.5%): processes that csprof is not in (statically linked, set-user-id, without its environment, behind seccomp), threads that it was not told of (made by raw system calls, by the C library for timers and messages, by libraries opened with RTLD_DEEPBIND), and what came after exit, or after the last look at a process that was killed or called _exit

Memory of the collector
          113 kB  in 1 process, added up
         12.3 kB  200 nodes of calling context trees, 61 bytes each with those in reserve
         20.5 kB  load maps and other records
         6.00 kB  unwind tables
         74.0 kB  buffers, caches and the state of threads

Process 1000: ./app 'a b'
  killed by signal 9 (SIGKILL); 27 samples, 160 ms of CPU time, 181 per second of it
  perf events are not allowed; using CPU timers
              22  thread 70 main, 110 ms of CPU time, 200 per second of it
               5  thread 71 worker, 40.0 ms of CPU time, 175 per second of it
  epoch 0 (start): 1 mapping
  epoch 1 after 90.0 ms (address-reuse): 1 mapping

Load modules
  /lib/libc.so.6 (no build id)
      exported functions only, since /lib/libc.so.6 is stripped; install its debug symbols for the rest
  /opt/app (build id abcd01)
      functions, lines and inlined frames from /opt/app

Sets of frames (csprof help sets)
  shipped: @mpi, @openmp, @alloc, @memcpy, @lock, @io, @rust-std, @cxx-std, @libc, @user, @start, @python
  for all profiles: @solver, @wait  (/home/u/.config/csprof/sets)
      /home/u/.config/csprof/sets:3: a frame is missing here
  for this profile: none  (app.csprof.sets)
  saved refinements: @hot  (/home/u/.config/csprof/refinements)
      /home/u/.config/csprof/refinements:2: @b: no stages
");
}

#[test]
fn without_the_trampoline_there_are_no_edge_counts() {
    let mut profile = profile();
    profile.info.run.trampoline = false;
    let mut out = Vec::new();
    super::json::write(&profile, &places(), &mut out).unwrap();
    let info: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(info["edges"], json!({"total": null, "lost_returns": null, "mode": "off"}));
}

#[test]
fn json_keeps_its_keys_and_adds_up() {
    let mut out = Vec::new();
    super::json::write(&profile(), &places(), &mut out).unwrap();
    let info: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(info["command"], json!(["./app", "a b"]));
    assert_eq!((&info["exit"], &info["signal"]), (&json!(137), &json!(9)));
    assert_eq!(info["duration_s"], json!(0.15));
    assert_eq!(
        info["sources"],
        json!([{"name": "cputime", "unit": "ns", "period": 5_000_000, "asked": 200.0,
                "delivered_per_cpu_s": 200.0, "lost": 3,
                "samples": {"delivered": 30, "recorded": 27, "partial": 5}}])
    );
    assert_eq!(info["samples"], json!({"delivered": 30, "recorded": 27, "partial": 5}));
    assert_eq!(
        info["losses"],
        json!({"in-trampoline": 2, "no-thread-state": 1, "arena-full": 0, "path-too-long": 0,
               "collector-busy": 0, "unreadable": 0, "cut-short": 0, "source-closed": 0, "stack-full": 0,
               "sealed": 0, "not-followed": 0, "ring-full": 0})
    );
    assert_eq!(
        info["cpu_time"],
        json!({"used_s": 0.2, "sampled_s": 0.145, "before_s": 0.01, "undelivered_s": 0.004,
               "threads_without_samples": 0, "elsewhere_s": 0.041})
    );
    let memory = json!({"total": 112_768, "nodes": 200, "node_bytes": 12_288,
                        "record_bytes": 20_480, "table_bytes": 6_000, "other_bytes": 74_000});
    assert_eq!(info["collector_memory"], memory);
    assert_eq!(info["partial_reasons"], json!({"no-cfi": 5}));
    assert_eq!(info["edges"], json!({"total": 9, "lost_returns": 3, "mode": "every-return"}));
    let process = &info["processes"][0];
    assert_eq!((&process["pid"], &process["rank"]), (&json!(1000), &Value::Null));
    assert_eq!(
        process["threads"][1],
        json!({"tid": 71, "name": "worker", "earlier": 0, "samples": 5, "delivered": 7, "partial": 5,
               "returns": 0, "lost_returns": 3, "cpu_s": 0.04, "cpu_before_s": 0.001,
               "late": 0, "losses": {"in-trampoline": 2}})
    );
    assert_eq!((&process["cpu_s"], &process["unsampled_threads"]), (&json!(0.16), &json!(3)));
    assert_eq!(process["collector_memory"], memory);
    assert_eq!(
        process["epochs"][1],
        json!({"id": 1, "reason": "address-reuse", "phase": null, "start_s": 0.09,
               "modules": [{"path": "/lib/libc.so.6", "start": "0x4000", "end": "0x5000"}]})
    );
    assert_eq!(info["modules"][1]["symbols"], json!("exports"));
    assert_eq!(info["sets"][0]["sets"], json!(["solver", "wait"]));
    assert_eq!(info["refinements"]["refinements"], json!(["hot"]));
    assert_eq!(
        info["sets"][1],
        json!({"file": "app.csprof.sets", "for": "this profile", "sets": [], "problems": []})
    );
}

/// The same run with samples of elapsed time: 10 of 27, and one of those lost.
fn of_two_sources() -> Profile {
    let mut profile = profile();
    let share = |delivered, recorded, partial| ThreadShare {
        delivered,
        recorded,
        partial,
        ..ThreadShare::default()
    };
    profile.info.further = vec![FurtherMetric {
        metric: Metric { source: "realtime".into(), unit: "ns".into(), period: 10_000_000 },
        threads: vec![share(6, 6, 0), share(5, 4, 4)],
        samples: Vec::new(),
    }];
    let samples = [0, 0, 6, 0, 4].into_iter().collect();
    profile.nodes.further = vec![samples];
    profile
}

#[test]
fn sources_are_told_apart() {
    let text = text_of(&of_two_sources());
    let (_, rest) = text.split_once("was not profiled\n").unwrap();
    let (samples, rest) = rest.split_once("               2  lost (6.7%)").unwrap();
    assert_eq!(
        samples,
        "
Samples of cputime, one each 5.00 ms
             200  asked for each second and thread
             120  delivered for each second of CPU time
              18  delivered
              17  recorded
               1  lost
               1  recorded without their outer callers

Samples of realtime, one each 10.0 ms
             100  asked for each second and thread
              11  delivered
              10  recorded
               1  lost
               4  recorded without their outer callers

Samples of all sources together
              30  delivered
              27  recorded
"
    );
    // Of CPU time, the samples of CPU time.
    assert!(rest.contains("         90.0 ms  sampled (45.0%)\n"), "{rest}");
    for line in [
        "27 samples (17 of cputime, 10 of realtime), 160 ms of CPU time, 113 per second of it\n",
        "22  thread 70 main (16 of cputime, 6 of realtime), 110 ms of CPU time, 145 per second of it\n",
    ] {
        assert!(rest.contains(line), "{line}\n{rest}");
    }
}

#[test]
fn json_lists_all_sources() {
    let mut out = Vec::new();
    super::json::write(&of_two_sources(), &places(), &mut out).unwrap();
    let info: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(
        info["sources"],
        json!([{"name": "cputime", "unit": "ns", "period": 5_000_000, "asked": 200.0,
                "delivered_per_cpu_s": 120.0, "lost": 1,
                "samples": {"delivered": 18, "recorded": 17, "partial": 1}},
               {"name": "realtime", "unit": "ns", "period": 10_000_000, "asked": 100.0,
                "delivered_per_cpu_s": 11.0 / 0.15, "lost": 1,
                "samples": {"delivered": 11, "recorded": 10, "partial": 4}}])
    );
    assert_eq!(info["samples"], json!({"delivered": 30, "recorded": 27, "partial": 5}));
    assert_eq!(
        info["processes"][0]["threads"][1]["sources"],
        json!([{"name": "cputime", "samples": 1, "delivered": 2, "partial": 1},
               {"name": "realtime", "samples": 4, "delivered": 5, "partial": 4}])
    );
}

#[test]
fn a_file_that_contradicts_itself_is_not_covered_up() {
    let mut profile = profile();
    profile.info.threads[0].delivered += 4;
    assert_eq!(Summary::of(&profile).unaccounted(), 4);
    assert!(text_of(&profile).contains("             4  unaccounted for"));
}

#[test]
fn losses_of_a_newer_version_still_count() {
    let mut profile = profile();
    profile.info.threads[0].losses = vec![0; LossReason::COUNT + 2];
    profile.info.threads[0].losses[LossReason::COUNT + 1] = 6;
    profile.info.threads[0].delivered += 6;
    let summary = Summary::of(&profile);
    assert_eq!((summary.delivered, summary.lost(), summary.unaccounted()), (36, 9, 0));
    let newer = LossReason::COUNT + 1;
    assert_eq!(summary.losses[newer].key, format!("reason-{newer}"));
}

#[test]
fn phases_are_told_with_what_they_cost() {
    let outline = "# thread=7 epoch=0\nmain 2\n# thread=7 epoch=1\nmain 40 realtime:4\n";
    let mut profile = from_outline(outline).unwrap();
    profile.info.epochs[1].start_ns = 1_500_000_000;
    let (epoch, name) = (csprof_format::ids::EpochId(1), "solve".to_owned());
    profile.info.phases = vec![csprof_format::profile::Phase { epoch, name }];
    let places = Places::default();
    let mut out = Vec::new();
    text::write(&profile, &places, true, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let told = "\nPhases\n          180 ms  solve, from 1.50 s on (20.0 ms of realtime)\n         10.0 ms  in no \
                phase (0 ns of realtime)\n";
    assert!(text.contains(told), "{text}");
    let mut out = Vec::new();
    super::json::write(&profile, &places, &mut out).unwrap();
    let info: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(
        info["phases"],
        json!([
            {"start_s": 1.5, "name": "solve", "samples": {"cputime": 36, "realtime": 4}},
            {"start_s": null, "name": null, "samples": {"cputime": 2, "realtime": 0}},
        ])
    );
}
