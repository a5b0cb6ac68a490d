//! Parallel regions of OpenMP: what each thread of a team does is below the function that opened
//! the region.

use csprof_tests::installed::are_installed;
use csprof_tests::notes::skip;
use csprof_tests::paths::{Rows, is_share};
use csprof_tests::recording::Recording;
use csprof_tests::workshop::Workshop;

const COMPILE: &str = "gcc -O2 -fopenmp -pthread -o program @regions.c";

fn workshop(test: &str) -> Option<Workshop> {
    are_installed(test, &["gcc"]).then(|| {
        let workshop = Workshop::new(test);
        workshop.compile(COMPILE);
        workshop
    })
}

/// Idle threads sleep, so nearly all samples are in `work`. Regions are short: on a busy machine
/// the kernel's tick, which `cputime` needs, may meet a thread in none of them.
fn record(workshop: &Workshop, options: &[&str], words: &[&str]) -> Recording {
    let passive = ["env", "OMP_WAIT_POLICY=passive", "OMP_DYNAMIC=false", "./program"];
    let options = [&["-e", "task-clock@200"][..], options].concat();
    workshop.record(&options, &[&passive[..], words].concat())
}

/// Samples of `work`, but for those below a row of that name.
fn beyond(recording: &Recording, above: &str) -> u128 {
    recording.refined(&format!("in work and not through {above}")).shown
}

fn below(rows: &Rows, opener: &str, region: &str) -> u64 {
    rows.at(&["main", opener, "[parallel region]", region, "work"]).inclusive
}

#[test]
fn what_a_team_does_is_below_the_function_that_opened_the_region() {
    let Some(workshop) = workshop("regions_two") else { return };
    let recording = record(&workshop, &[], &["two"]);
    assert_eq!(recording.outcome.said(), "583\n");
    let rows = recording.rows();
    // Two workers in each, one of them in the sections.
    let first = below(&rows, "first", "first._omp_fn.0");
    let second = below(&rows, "second", "second._omp_fn.0");
    assert!(is_share(first, first + second, 67), "{first} {second}\n{rows}");
    assert!(below(&rows, "loop", "loop._omp_fn.0") > 0, "{rows}");
    assert_eq!(beyond(&recording, "main"), 0, "{rows}");
    // What is called in it is followed: of each worker, and of the opener, one activation returned.
    let returns = |path: &[&str]| rows.at(path).edges;
    let of_workers = ["main", "first", "[parallel region]", "first._omp_fn.0", "work"];
    let of_opener = ["main", "first", "GOMP_parallel", "first._omp_fn.0", "work"];
    assert!(returns(&of_workers) > Some(0) && returns(&of_opener) > Some(0), "{rows}");
    // The region is no call: nothing is seen to return.
    let region = rows.at(&["main", "first", "[parallel region]"]);
    assert_eq!((region.kind.as_str(), region.edges, region.exclusive), ("handover", None, 0));
    // The opener stays below its own frames, and both are in one row of who opened.
    let opener = rows.at(&["main", "first", "GOMP_parallel", "first._omp_fn.0", "work"]);
    assert!(is_share(opener.inclusive, opener.inclusive + first, 33), "{rows}");
    let all = rows.at(&["main", "first"]).inclusive;
    assert!(all >= opener.inclusive + first && all < opener.inclusive + first + 10, "{rows}");
    // Threads keep their samples: of the program, which env(1) has become.
    let processes = recording.info["processes"].as_array().unwrap();
    let threads = processes.last().unwrap()["threads"].as_array().unwrap();
    let samples = |thread: &serde_json::Value| thread["samples"].as_u64().unwrap();
    assert!(threads.len() == 3 && threads.iter().all(|of| samples(of) > 20), "{threads:?}");
}

/// An activation that opens one region after the other has its context found once, and another one
/// of the same function has another.
#[test]
fn many_regions_of_one_activation_have_its_context() {
    let Some(workshop) = workshop("regions_loops") else { return };
    let recording = record(&workshop, &[], &["loops"]);
    let rows = recording.rows();
    let of = |caller| {
        let path = ["main", caller, "many", "[parallel region]", "many._omp_fn.0", "work"];
        rows.at(&path).inclusive
    };
    let (a, b) = (of("from_a"), of("from_b"));
    assert!(is_share(a, a + b, 67), "{a} {b}\n{rows}");
    assert_eq!(beyond(&recording, "{from_a, from_b}"), 0, "{rows}");
}

#[test]
fn regions_in_a_region_lead_on_to_who_opened_that() {
    let Some(workshop) = workshop("regions_nested") else { return };
    let recording = record(&workshop, &[], &["nested"]);
    let rows = recording.rows();
    let nested = [
        "main",
        "outer",
        "[parallel region]",
        "outer._omp_fn.0",
        "inner",
        "[parallel region]",
        "inner._omp_fn.0",
        "work",
    ];
    assert!(rows.at(&nested).inclusive > 0, "{rows}");
    assert_eq!(beyond(&recording, "outer"), 0, "{rows}");
}

#[test]
fn regions_of_several_openers_are_told_apart() {
    let Some(workshop) = workshop("regions_openers") else { return };
    let recording = record(&workshop, &[], &["openers"]);
    let rows = recording.rows();
    let path = ["opener", "short_one", "[parallel region]", "short_one._omp_fn.0", "work"];
    assert!(rows.at(&path).inclusive > 0, "{rows}");
    assert_eq!(beyond(&recording, "opener"), 0, "{rows}");
}

#[test]
fn a_forked_child_opens_regions_of_its_own() {
    let Some(workshop) = workshop("regions_fork") else { return };
    let recording = record(&workshop, &[], &["fork"]);
    assert_eq!(recording.outcome.said(), "child 0\n");
    // env(1), the program that this becomes, and the child.
    assert_eq!(recording.profile.processes.len(), 3);
    let rows = recording.rows();
    let of_child = ["main", "second", "[parallel region]", "second._omp_fn.0", "work"];
    assert!(rows.at(&of_child).inclusive > 0, "{rows}");
    assert_eq!(recording.refined("in work and not through {second, short_one}").shown, 0);
}

/// The runtime of clang's programs tells when regions begin.
#[test]
fn regions_of_llvms_runtime_are_below_the_function_that_opened_them() {
    let test = "regions_llvm";
    if !are_installed(test, &["clang"]) {
        return;
    }
    let workshop = Workshop::new(test);
    let probe = "echo 'int main(void) { return 0; }' | clang -fopenmp -x c -o probe -";
    if !workshop.run(&["sh", "-c", probe]).status.success() {
        return skip(test, "libomp not installed");
    }
    workshop.compile("clang -O2 -fopenmp -pthread -o program @regions.c");
    let recording = record(&workshop, &[], &["two"]);
    assert_eq!(recording.outcome.said(), "583\n");
    let rows = recording.rows();
    let region = |opener| rows.at(&["main", opener, "[parallel region]"]).inclusive;
    let (first, second) = (region("first"), region("second"));
    assert!(is_share(first, first + second, 67), "{first} {second}\n{rows}");
    assert_eq!(beyond(&recording, "main"), 0, "{rows}");
    // A tool of the user's has right of way.
    let named = ["env", "OMP_TOOL_LIBRARIES=none.so", "./program", "two"];
    let rows = workshop.record(&[], &named).rows();
    assert!(rows.iter().all(|row| row.function != "[parallel region]"), "{rows}");
}

#[test]
fn regions_stay_below_the_starts_of_threads_if_that_is_asked_for() {
    let Some(workshop) = workshop("regions_not") else { return };
    let recording = record(&workshop, &["--no-regions"], &["two"]);
    let rows = recording.rows();
    assert!(rows.iter().all(|row| row.function != "[parallel region]"), "{rows}");
    assert!(beyond(&recording, "main") > 0, "{rows}");
}

/// Its calls are not bound before, and lead nowhere when csprof first looks at them.
#[test]
fn a_library_of_openmp_that_comes_late_has_regions_of_modules_that_were_there() {
    let test = "regions_late";
    if !are_installed(test, &["gcc"]) {
        return;
    }
    let workshop = Workshop::new(test);
    workshop.compile("gcc -O2 -fopenmp -fPIC -c -o regions.o @regions.c");
    workshop.compile("gcc -shared -Wl,-z,lazy -o libregions.so regions.o");
    workshop.compile("gcc -o program libregions.so -Wl,-rpath,$ORIGIN -Wl,--allow-shlib-undefined");
    let recording = record(&workshop, &[], &["late"]);
    let rows = recording.rows();
    assert!(below(&rows, "second", "second._omp_fn.0") > 0, "{rows}");
    assert_eq!(beyond(&recording, "main"), 0, "{rows}");
}
