use std::fs;
use std::path::Path;

use super::*;

/// A machine with a unit and a tracepoint.
fn machine(folder: &Path) -> Machine {
    let files = [
        ("devices/cpu/type", "4\n"),
        ("devices/cpu/format/event", "config:0-7,32-35\n"),
        ("devices/cpu/format/umask", "config:8-15\n"),
        ("devices/cpu/format/edge", "config:18\n"),
        ("devices/cpu/format/ldlat", "config1:0-15\n"),
        ("devices/cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n"),
        ("devices/cpu/events/mem-loads.unit", "J\n"),
        ("devices/msr/type", "9\n"),
        ("tracing/sched/sched_switch/id", "314\n"),
        ("tracing/sched/enable", "0\n"),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    Machine::at(folder.join("devices"), vec![folder.join("tracing")])
}

fn shown(machine: &Machine, name: &str) -> String {
    match find(machine, name) {
        Ok(Found { event, period }) => format!("{event} {period}"),
        Err(NotFound::Wrong(why)) => why,
        Err(NotFound::Unknown { part, known }) => format!("{part}? {}", known.join(" ")),
    }
}

#[test]
fn names_are_what_the_kernel_calls_them() {
    let folder = tempfile::tempdir().unwrap();
    let machine = machine(folder.path());
    for (name, expected) in [
        ("cycles", "0.0.0.0.0.0:cycles 5000000"),
        ("cycles:u", "0.0.0.0.0.0:cycles 5000000"),
        ("cycles:kpp", "0.0.0.0.2.2:cycles:kpp 5000000"),
        ("faults", "1.2.0.0.0.0:page-faults 100"),
        ("page-faults:k", "1.2.0.0.2.0:page-faults:k 100"),
        ("cs", "1.3.0.0.1.0:context-switches 10"),
        ("cs:k", "1.3.0.0.2.0:context-switches:k 10"),
        ("LLC-load-misses", "3.10002.0.0.0.0:LLC-load-misses 10000"),
        ("l1-dcache-stores", "3.100.0.0.0.0:L1-dcache-stores 1000000"),
        ("r01c2", "4.1c2.0.0.0.0:r01c2 1000000"),
        (
            "cpu/event=0x1a5,umask=2,edge/:k",
            "4.1000402a5.0.0.2.0:cpu/event=0x1a5,umask=2,edge/:k 1000000",
        ),
        ("cpu/mem-loads/p", "`cpu/mem-loads/p`: a unit's terms stand between two slashes: cpu/…/"),
        ("cpu/mem-loads/:p", "4.1cd.3.0.0.1:cpu/mem-loads/:p 1000000"),
        ("cpu/mem-loads,ldlat=4,name=slow,period=7/", "4.1cd.7.0.0.0:slow 7"),
        ("cpu/config=0x3c,config2=1/", "4.3c.0.1.0.0:cpu/config=0x3c,config2=1/ 1000000"),
        ("sched:sched_switch", "2.13a.0.0.1.0:sched:sched_switch 1"),
    ] {
        assert_eq!(shown(&machine, name), expected, "{name}");
    }
}

#[test]
fn what_is_wrong_with_a_name_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let machine = machine(folder.path());
    for (name, expected) in [
        ("cpu/evnet=1/", "evnet? edge event ldlat umask mem-loads"),
        ("gpu/x/", "gpu? cpu msr"),
        ("../cpu/x/", "`../cpu/x/`: a unit's terms stand between two slashes: ../…/"),
        (
            "cpu/umask=256/",
            "`umask=256` of `cpu/umask=256/`: no number, in decimal or behind 0x, that the unit has room for",
        ),
        (
            "cpu/umask=x/",
            "`umask=x` of `cpu/umask=x/`: no number, in decimal or behind 0x, that the unit has room for",
        ),
        ("cpu/period=0/", "`cpu/period=0/`: a period is a number from 1"),
        ("sched:swtich", "sched:swtich? sched:sched_switch"),
        ("cs:u", "the kernel alone has context-switches: without `u` they are counted"),
    ] {
        assert_eq!(shown(&machine, name), expected, "{name}");
    }
    let unknown = shown(&machine, "cycels");
    assert!(unknown.starts_with("cycels? ") && unknown.contains(" cpu/mem-loads/"), "{unknown}");
    // No digits of hexadecimal, and too many p.
    for name in ["rows", "r", "cycles:pppp", "cycles:"] {
        assert!(find(&machine, name).is_err(), "{name}");
    }
    let long = format!("cpu/event={}1/", "0".repeat(40));
    assert!(shown(&machine, &long).contains("name=… among"), "{}", shown(&machine, &long));
}

#[test]
fn without_tracefs_a_tracepoint_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine::at(folder.path().join("a"), vec![folder.path().join("b")]);
    let told = shown(&machine, "sched:sched_switch");
    assert!(told.contains("mount -t tracefs"), "{told}");
    let told = shown(&machine, "cpu/event=0x3c/");
    assert!(
        told.starts_with("`cpu/event=0x3c/`: the processor's counters are not to be"),
        "{told}"
    );
    assert_eq!(machine.units(), Vec::<String>::new());
}
