//! A program behaves as it would alone: the workloads run without the collector, with an inert
//! one, and sampled, and must say the same each time.
//!
//! What each program does is told at the top of its source in `tests/workloads`. They burn CPU at
//! the places that matter, so that samples come there; what the samples say is the subject of
//! other tests.

#![expect(clippy::unwrap_used, reason = "a test that cannot run has failed")]

/// The library under test.
mod built;

use std::collections::BTreeSet;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use built::{collector, scratch};
use csprof_format::arena::{EXTENT_ALIGN, EXTENT_MAGIC, ExtentHeader, ExtentKind, ThreadRecord};
use csprof_format::loss::PartialReason;
use object::{Object, ObjectSection, ObjectSymbol};

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/workloads").join(name)
}

/// Compiles a workload in `folder`. Arguments that begin with `@` name its sources.
fn compile(folder: &Path, compiler: &str, arguments: &[&str]) {
    let arguments = arguments.iter().map(|text| match text.strip_prefix('@') {
        Some(name) => source(name).into_os_string(),
        None => text.into(),
    });
    let output = Command::new(compiler).args(arguments).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// An empty folder for one test.
fn folder(test: &str) -> PathBuf {
    let folder = scratch().join("preload").join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(folder.join("run")).unwrap();
    folder
}

/// Whether the collector is there, and whether it samples.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Collector {
    Absent,
    Inert,
    Sampling,
}

fn run(folder: &Path, arguments: &[&str], collector_is: Collector) -> Output {
    let mut command = Command::new(folder.join("program"));
    command
        .args(arguments)
        .current_dir(folder)
        .env_remove("LD_PRELOAD")
        .env_remove("CSPROF_RUN_DIR");
    if collector_is != Collector::Absent {
        command.env("LD_PRELOAD", collector());
    }
    if collector_is == Collector::Sampling {
        command.env("CSPROF_RUN_DIR", folder.join("run"));
    }
    command.output().unwrap()
}

/// Runs `program` in `folder` in the three ways; each must end with `status` and say `expected`.
/// Returns the arenas that sampling left behind.
fn behaves(folder: &Path, arguments: &[&str], status: i32, expected: &str) -> Vec<Vec<u8>> {
    for collector_is in [Collector::Absent, Collector::Inert, Collector::Sampling] {
        let output = run(folder, arguments, collector_is);
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said, expected, "collector {collector_is:?}, {}", output.status);
        assert_eq!(output.status.code(), Some(status), "collector {collector_is:?}");
    }
    arenas(folder)
}

fn arenas(folder: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(folder.join("run")).unwrap();
    entries.map(|entry| std::fs::read(entry.unwrap().path()).unwrap()).collect()
}

fn contains(arena: &[u8], text: &str) -> bool {
    arena.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Names that are exported and have nothing behind them: the program's own calls of csprof, and
/// functions that go on to another one.
const NOTHING_BEHIND: &str = "
    csprof_count csprof_phase ompt_start_tool
    sigblock sigsetmask siggetmask sigstack execl execlp execle";

/// Functions that are called, and not exported.
const CALLED_ALONE: &str = "
    setitimer malloc_usable_size _Unwind_GetCFA _IO_file_read _IO_file_write
    pthread_mutex_trylock pthread_rwlock_tryrdlock pthread_rwlock_trywrlock mtx_trylock";

/// A wrapper declares what is behind it, and nothing else exports a name: no library of Rust's, and
/// nothing of the compiler's.
#[test]
fn exports_what_it_has_real_functions_for_and_no_others() {
    let bytes = std::fs::read(collector()).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let exported: BTreeSet<String> = file
        .dynamic_symbols()
        .filter(ObjectSymbol::is_definition)
        .map(|symbol| symbol.name().unwrap().to_owned())
        .collect();
    let names = |text: &str| text.split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>();
    let behind = ["csprof_reals", "csprof_unwinder"].map(|section| real_functions(&file, section));
    assert!(behind.iter().all(|names| !names.is_empty()), "{behind:?}");
    let behind: BTreeSet<String> = behind.into_iter().flatten().collect();
    assert!(exported.contains("malloc") && behind.contains("malloc"), "not the collector");
    assert_eq!(&exported - &behind, names(NOTHING_BEHIND));
    assert_eq!(&behind - &exported, names(CALLED_ALONE));
    // One that was taken away is missing on both sides.
    assert!(exported.len() >= 217, "{exported:?}");
}

/// The names of what is in a section of real functions: each has an address, then the name as the
/// loader will write it, by address and length.
fn real_functions(file: &object::File<'_>, section: &str) -> BTreeSet<String> {
    const SIZE: usize = 32;
    let section = file.section_by_name(section).unwrap();
    let range = section.address()..section.address() + section.size();
    assert_eq!(section.size() % SIZE as u64, 0);
    let text = |address: u64| {
        let has_it = |section: &object::Section<'_, '_>| {
            (section.address()..section.address() + section.size()).contains(&address)
        };
        let section = file.sections().find(has_it).unwrap();
        let bytes = &section.data().unwrap()[(address - section.address()) as usize..];
        let end = bytes.iter().position(|&byte| byte == 0).unwrap();
        String::from_utf8(bytes[..end].to_vec()).unwrap()
    };
    let names: Vec<String> = file
        .dynamic_relocations()
        .unwrap()
        .filter(|(at, _)| range.contains(at) && (at - range.start) % SIZE as u64 == 8)
        .map(|(_, relocation)| text(relocation.addend() as u64))
        .collect();
    assert_eq!(names.len() * SIZE, section.size() as usize);
    names.into_iter().collect()
}

/// A function of the C library that is wrapped by one name is so by all that it has.
#[test]
fn exports_all_names_of_what_it_wraps() {
    // For the C library's own libraries (GLIBC_PRIVATE), and for allocators in front of it, which
    // are counted where they are called.
    // And those by which libraries in front of the C library call it.
    const LEFT_OUT: [&str; 12] = [
        "__mmap",
        "__recv",
        "__sendmmsg",
        "__sigtimedwait",
        "__send",
        "__connect",
        "__read",
        "__write",
        "__pread64",
        "__pwrite64",
        "__close",
        "__dup2",
    ];
    let is_left_out = |name: &str| name.starts_with("__libc_") || LEFT_OUT.contains(&name);
    let (ours, theirs) = (std::fs::read(collector()).unwrap(), std::fs::read(c_library()).unwrap());
    let (ours, theirs) =
        (object::File::parse(&*ours).unwrap(), object::File::parse(&*theirs).unwrap());
    let functions = |file: &object::File<'_>| -> Vec<(u64, String)> {
        let is_function = |symbol: &object::Symbol<'_, '_>| {
            symbol.is_definition() && symbol.kind() == object::SymbolKind::Text
        };
        let named =
            |symbol: object::Symbol<'_, '_>| (symbol.address(), symbol.name().unwrap().to_owned());
        file.dynamic_symbols().filter(is_function).map(named).collect()
    };
    let wrapped: BTreeSet<String> = functions(&ours).into_iter().map(|(_, name)| name).collect();
    let theirs = functions(&theirs);
    let addresses: BTreeSet<u64> = theirs
        .iter()
        .filter(|(_, name)| wrapped.contains(name))
        .map(|&(address, _)| address)
        .collect();
    assert!(addresses.len() > 100, "this is not the C library");
    let missed: BTreeSet<&str> = theirs
        .iter()
        .filter(|(address, name)| addresses.contains(address) && !wrapped.contains(name))
        .map(|(_, name)| name.as_str())
        .filter(|name| !is_left_out(name))
        .collect();
    assert_eq!(missed, BTreeSet::new());
}

/// The C library of this process.
fn c_library() -> PathBuf {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let paths =
        maps.lines().filter_map(|line| line.split_once('/').map(|(_, path)| format!("/{path}")));
    paths
        .into_iter()
        .find(|path| path.contains("/libc.so.6") || path.contains("/libc-"))
        .unwrap()
        .into()
}

#[test]
fn a_program_with_its_own_profiling_signal() {
    let folder = folder("own_profiling_signal");
    compile(&folder, "cc", &["-O2", "-o", "program", "@own_profiling_signal.c"]);
    behaves(
        &folder,
        &[],
        0,
        "\
inherited default
sigaction 0
reads back second restart 1 usr2 1 usr1 0
signal second
bsd_signal first
refused 1 1
sysv_signal ignore
one shot 1
sigset first
blocked
sigset hold
open
sigignore 0
sighold 0 blocked
sigrelse 0 open
siginterrupt 0
usr1 masks prof 1 usr2 1
block all 0
was 0 blocked
set 0
was 1 open
bad how -1 Invalid argument open
sigblock 0
siggetmask 0x4000200
sigsetmask 0x4000200
sigsetmask 0x200
setitimer 0
interval 3000 left 1
bad time -1 Invalid argument
stop 0
interval 3000
stopped 1
timer_create 0
timer_settime 0
left 1
timer_delete 0
",
    );
}

#[test]
fn threads_created_with_all_signals_blocked() {
    let folder = folder("blocked_signals");
    compile(&folder, "cc", &["-O2", "-pthread", "-o", "program", "@blocked_signals.c"]);
    behaves(
        &folder,
        &[],
        0,
        "\
all blocked: here 1, thread 1, result 1
thrd_create: thread 1, result 7
none blocked: here 0, thread 0
impossible: Resource temporarily unavailable
",
    );
    // The kernel knows better: the profiling signal reaches every thread.
    let kernel = |collector_is| run(&folder, &["kernel"], collector_is).stdout;
    let blocked = "all blocked: here 1, thread 1, result 1\nthrd_create: thread 1, result 7\n";
    let open = "all blocked: here 0, thread 0, result 1\nthrd_create: thread 0, result 7\n";
    assert!(kernel(Collector::Inert).starts_with(blocked.as_bytes()));
    assert!(kernel(Collector::Sampling).starts_with(open.as_bytes()));
}

#[test]
fn waits_end_by_the_signal_they_are_for() {
    let folder = folder("waits");
    compile(&folder, "cc", &["-O2", "-o", "program", "@waits.c"]);
    behaves(
        &folder,
        &[],
        0,
        "\
sigsuspend: -1 Interrupted system call, handler got usr1
ppoll: -1 Interrupted system call, handler got usr1
pselect: -1 Interrupted system call, handler got usr1
epoll_pwait: -1 Interrupted system call, handler got usr1
epoll_pwait2: -1 Interrupted system call, handler got usr1
ppoll without mask: 0 ok, handler got none
pause: -1 Interrupted system call, handler got usr1
sigwait: 0 User defined signal 1
sigwaitinfo: User defined signal 1
sigtimedwait: User defined signal 1
sigtimedwait without signal: -1 Resource temporarily unavailable
signalfd: 128 User defined signal 1
signalfd again: 1
",
    );
}

#[test]
fn a_program_built_for_gprof() {
    let folder = folder("gprof");
    compile(&folder, "cc", &["-O2", "-pg", "-o", "program", "@histogram.c"]);
    let arenas = behaves(&folder, &[], 0, "profil 0 0, counted 0\ndone 5\n");
    assert!(contains(&arenas[0], "histogram stays empty"));
    // The kernel's view: the signal's handler is in the collector, and no timer runs.
    let sampled = run(&folder, &["kernel"], Collector::Sampling);
    assert_eq!(String::from_utf8_lossy(&sampled.stdout), "csprof_collector, timer 0\n");
}

#[test]
fn exec_in_every_form() {
    let folder = folder("exec_forms");
    compile(&folder, "cc", &["-O2", "-pthread", "-o", "program", "@exec_forms.c"]);
    let arenas = behaves(
        &folder,
        &[],
        42,
        "\
start: 1 arguments, hash 1505, variable not set
execv: 4 arguments, hash 597728, variable not set
execve: 4 arguments, hash 597728, variable given
execvp: 4 arguments, hash 597728, variable not set
execvpe: 4 arguments, hash 597728, variable given
fexecve: 4 arguments, hash 597728, variable given
execveat: 4 arguments, hash 597728, variable given
execl1: 2 arguments, hash 1505, variable not set
execl4: 4 arguments, hash 5970ea, variable not set
execl5: 5 arguments, hash b878e5e, variable not set
execl6: 6 arguments, hash 17c795a53, variable not set
execl20: 20 arguments, hash db3d4f4e6b814aa8, variable not set
execlp: 8 arguments, hash 65280394240, variable not set
execle1: 2 arguments, hash 1505, variable given
execle4: 4 arguments, hash 5970ea, variable given
execle5: 5 arguments, hash b878e5e, variable given
execle20: 20 arguments, hash db3d4f4e6b814aa8, variable given
thread: 3 arguments, hash 377c378ea559e98, variable not set
execl -1 No such file or directory
execle -1 Permission denied
execvp -1 No such file or directory
fail: 4 arguments, hash 597728, variable not set
execl -1 No such file or directory
execle -1 Permission denied
execvp -1 No such file or directory
end: 4 arguments, hash 597728, variable not set
",
    );
    // One for each image that ran.
    assert_eq!(arenas.len(), 20);
}

#[test]
fn a_program_that_counts_on_file_numbers() {
    let folder = folder("file_numbers");
    compile(&folder, "cc", &["-O2", "-pthread", "-o", "counting", "@file_numbers.c"]);
    // Whatever else the test was started with, the program begins with its three files.
    let script = "#!/bin/bash
for file in /proc/$$/fd/*; do
    number=${file##*/}
    [ $number -gt 2 ] && [ $number -ne 255 ] && eval \"exec $number>&-\"
done
export CSPROF_SOURCE=task-clock:200000
ulimit -Sn 256
exec ${0%program}counting $1
";
    std::fs::write(folder.join("script"), script).unwrap();
    // By another process: what a child of another test has open for writing cannot be executed.
    compile(&folder, "install", &["-m755", "script", "program"]);
    for way in ["each", "range", "from"] {
        let expected = "limit 256, opened 253, last 255\nfirst 3, child 3\n";
        behaves(&folder, &[way], 0, expected);
    }
}

#[test]
fn exec_among_threads_that_are_sampled() {
    let folder = folder("exec_threads");
    compile(&folder, "cc", &["-O2", "-pthread", "-o", "program", "@exec_threads.c"]);
    behaves(&folder, &["60"], 11, "end\n");
}

#[test]
fn a_handler_that_forks_at_any_moment() {
    let folder = folder("handler_forks");
    compile(&folder, "cc", &["-O2", "-pthread", "-o", "program", "@handler_forks.c"]);
    behaves(&folder, &["100"], 0, "children yes, threads yes, loads yes, wrong 0\n");
}

#[test]
fn a_program_that_forbids_itself_system_calls() {
    let folder = folder("sandbox");
    compile(&folder, "cc", &["-O2", "-pthread", "-o", "program", "@sandbox.c"]);
    for way in ["strict", "prctl", "syscall"] {
        let arenas = behaves(&folder, &[way], 7, &format!("{way}: worked\n"));
        assert!(contains(&arenas[0], "not sampled from there on"), "{way}");
    }
}

#[test]
fn children_of_every_kind() {
    let folder = folder("children");
    compile(&folder, "cc", &["-O2", "-o", "program", "@children.c", "-lutil"]);
    let arenas = behaves(
        &folder,
        &[],
        0,
        "\
fork: exit 3
_Fork: exit 4
vfork and execvp: exit 5
vfork and execl: exit 6
vfork and failed exec: exit 9
posix_spawn: exit 5
posix_spawnp: exit 5
system: 6
popen: 7 from popen
forkpty: exit 8
daemon's caller: exit 0
daemon works
grandchild: exit 12
sum 293c370824365444
",
    );
    // The program, 7 forked processes (a daemon's caller and the daemon are two), 6 shells; none
    // for the child of vfork that could not execute anything.
    assert_eq!(arenas.len(), 14);
}

#[test]
fn threads_that_end_in_every_way() {
    let folder = folder("thread_ends");
    compile(&folder, "cc", &["-O2", "-pthread", "-o", "program", "@thread_ends.c"]);
    behaves(
        &folder,
        &[],
        0,
        "\
return: returned, cleaned 1, destroyed 1
pthread_exit: left, cleaned 2, destroyed 2
sigsuspend: canceled, cleaned 3, destroyed 3
pause: canceled, cleaned 4, destroyed 4
ppoll: canceled, cleaned 5, destroyed 5
pselect: canceled, cleaned 6, destroyed 6
epoll_pwait: canceled, cleaned 7, destroyed 7
sigwait: canceled, cleaned 8, destroyed 8
sigwaitinfo: canceled, cleaned 9, destroyed 9
sigtimedwait: canceled, cleaned 10, destroyed 10
sleep: canceled, cleaned 11, destroyed 11
recv: canceled, cleaned 12, destroyed 12
sem_timedwait: canceled, cleaned 13, destroyed 13
asynchronous: canceled, cleaned 14, destroyed 14
thrd_exit: 23
detached: cleaned 34, destroyed 34
",
    );
}

const CAUGHT: &str = "\
caught 400 cleaned 5000 values 4200 depth 12000 steady
thread caught 400 cleaned 5000 values 4200 depth 12000 steady
thread caught 400 cleaned 5000 values 4200 depth 12000 steady
thread caught 400 cleaned 5000 values 4200 depth 12000 steady
";

#[test]
fn exceptions_through_sampled_frames() {
    let folder = folder("exceptions");
    compile(&folder, "c++", &["-O2", "-pthread", "-o", "program", "@exceptions.cpp"]);
    behaves(&folder, &[], 0, CAUGHT);
}

#[test]
fn exceptions_in_a_program_with_its_own_unwinder() {
    let flags = ["-O2", "-pthread", "-static-libgcc", "-static-libstdc++"];
    let program = ["-o", "program", "@exceptions.cpp"];
    for (test, strip) in [("own_unwinder", &[][..]), ("stripped_unwinder", &["-s"])] {
        let folder = folder(test);
        compile(&folder, "c++", &[&flags, strip, &program].concat());
        behaves(&folder, &["200", "uncounted"], 0, &CAUGHT.replace(" steady", ""));
    }
}

#[test]
fn rust_panics_through_sampled_frames() {
    let folder = folder("panics");
    compile(&folder, "rustc", &["--edition=2024", "-O", "-o", "program", "@panics.rs"]);
    behaves(
        &folder,
        &[],
        0,
        "\
caught 200
thread caught 200
thread caught 200
thread caught 200
thread died true, cleaned 16821
",
    );
}

#[test]
fn libraries_that_depend_on_who_loads_them() {
    let folder = folder("load_libraries");
    for part in ["sub", "one", "two"] {
        std::fs::create_dir(folder.join(part)).unwrap();
    }
    let library = |output: &str, arguments: &[&str]| {
        let fixed = ["-O2", "-shared", "-fPIC", "-o", output];
        let compiler = if arguments[0].ends_with(".cpp") { "c++" } else { "cc" };
        compile(&folder, compiler, &[&fixed, arguments].concat());
    };
    library("sub/libhidden.so", &["@load_libraries/work.c", "-DANSWER=7"]);
    library("one/libwork.so", &["@load_libraries/work.c", "-DANSWER=1"]);
    library("two/libwork.so", &["@load_libraries/work.c", "-DANSWER=2"]);
    library("libplain.so", &["@load_libraries/work.c", "-DANSWER=3"]);
    library("libnext.so", &["@load_libraries/next.c"]);
    library("libthrower.so", &["@load_libraries/thrower.cpp"]);
    let run_path = "-Wl,--enable-new-dtags,-rpath,$ORIGIN";
    library("libcaller.so", &["@load_libraries/caller.c", &format!("{run_path}/sub")]);
    let main = ["-O2", "-o", "program", "@load_libraries/main.cpp", "-L.", run_path];
    compile(&folder, "c++", &[&main[..], &["-Wl,--no-as-needed", "-lcaller", "-lnext"]].concat());
    behaves(
        &folder,
        &[],
        0,
        "\
by the program: not found, libhidden.so: cannot open shared object file: No such file or directory
by the caller's RUNPATH: 7
by the caller's ORIGIN: 7
and closed: 7
RTLD_NEXT: 1001
missing: not found, libmissing.so: cannot open shared object file: No such file or directory
the program has load_by_name: found
and no_such_symbol: not found, program: undefined symbol: no_such_symbol
then: no complaint
work: 60
plain: 3
plain, in a namespace of its own: 3 apart
closed: 0, once more: refused
libm by name: found
a constructor threw 17
",
    );
}

/// What a thread has recorded, and of that with partial paths, by reason.
#[derive(Debug)]
struct Counts {
    recorded: u64,
    partial: Vec<u64>,
}

/// The counts of each thread in an arena.
fn thread_counts(arena: &[u8]) -> Vec<Counts> {
    let half = |at: usize| u32::from_le_bytes(arena[at..at + 4].try_into().unwrap());
    let word = |at: usize| u64::from_le_bytes(arena[at..at + 8].try_into().unwrap());
    let mut threads = Vec::new();
    let mut at = EXTENT_ALIGN as usize;
    while at < arena.len() && half(at) == EXTENT_MAGIC {
        if half(at + offset_of!(ExtentHeader, kind)) == ExtentKind::Thread as u32 {
            let record = at + size_of::<ExtentHeader>();
            let partial = record + offset_of!(ThreadRecord, partial);
            threads.push(Counts {
                recorded: word(record + offset_of!(ThreadRecord, recorded)),
                partial: (0..PartialReason::COUNT).map(|n| word(partial + 8 * n)).collect(),
            });
        }
        at += word(at + offset_of!(ExtentHeader, size)) as usize;
    }
    threads
}

/// Nobody could look at a library while its constructor runs; the second lies where the first was.
#[test]
fn constructors_of_libraries_that_are_being_loaded() {
    let folder = folder("load_constructor");
    let library = ["-O2", "-shared", "-fPIC", "@load_constructor/library.c"];
    for (name, work) in [("libfirst.so", "-DWORK=first"), ("libsecond.so", "-DWORK=other")] {
        compile(&folder, "cc", &[&library[..], &[work, "-o", name]].concat());
    }
    compile(&folder, "cc", &["-O2", "-o", "program", "@load_constructor/main.c"]);
    let arenas = behaves(&folder, &[], 0, "libfirst.so: loaded\nlibsecond.so: loaded\n");
    let [main] = &thread_counts(&arenas[0])[..] else { panic!("one thread") };
    // 0.6 s of CPU time, 200 times per second.
    assert!(main.recorded > 60, "{main:?}");
    assert_eq!(main.partial, [0; PartialReason::COUNT], "{main:?}");
}
