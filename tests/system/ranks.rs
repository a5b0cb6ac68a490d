//! Real ranks of which it is known which one the others wait for.

use csprof_tests::installed;
use csprof_tests::terminal::Terminal;
use csprof_tests::workshop::Workshop;
use serde_json::Value;

use crate::programs::MPIRUN;

#[test]
fn the_rank_that_all_wait_for_is_named() {
    if !installed::are_installed("the_rank_that_all_wait_for_is_named", &["mpicc", "mpirun"]) {
        return;
    }
    let workshop = Workshop::new("ranks");
    workshop.compile("mpicc -O2 -g -o program @mpi_late.c");
    let (_, mpirun) = MPIRUN.split_last().unwrap();
    let words: Vec<&str> =
        mpirun.iter().map(|&word| if word == "2" { "4" } else { word }).collect();
    // Not cputime: where others compute, too, ticks meet little of what ranks compute.
    let sources = ["-e", "task-clock@1000", "-e", "realtime@1000"];
    let recording = workshop.record(&sources, &[&words[..], &["./program"]].concat());
    let report = recording.output(&["report", "--view", "waits", "--format", "json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["over"], &report["peers"]), (&"rank".into(), &4.into()));
    let rows = report["rows"].as_array().unwrap();
    // The one behind the work, and not the one in which they begin together.
    let is_it = |row: &&Value| {
        let path = row["path"].as_array().unwrap();
        let is_barrier = path.last().unwrap() == "MPI_Barrier";
        row["table"] == "path" && is_barrier && path.contains(&"settle".into())
    };
    let barrier = rows.iter().find(is_it).unwrap_or_else(|| panic!("no barrier in {report}"));
    assert_eq!((&barrier["last"], &barrier["metric"]), (&"rank 2".into(), &"realtime".into()));
    assert_eq!(barrier["last_works_most"], true);
    // How much of it lies in which function varies with what else the machine does.
    let is_late = |row: &&Value| row["table"] == "imbalance" && row["max_peer"] == "rank 2";
    let mut late = rows.iter().filter(is_late);
    let is_in_solve = |row: &Value| row["path"].as_array().unwrap().contains(&"solve".into());
    assert!(late.any(is_in_solve), "{report}");

    let mut viewer = Terminal::start(&workshop.path(""), &["view", "run.csprof"]);
    viewer.wait_for(&["shown 100% + out 0% = 100%"]);
    viewer.press("I");
    viewer.wait_for(&["Waits by path, over 4 ranks", "MPI_Barrier", "last came rank 2"]);
    viewer.press("d");
    viewer.wait_for(&["on rank 2", "solve"]);
    viewer.press("\r");
    viewer.wait_for(&["[1 Tree]", "solve"]);
    viewer.press("\x03");
    assert_eq!(viewer.end().0, 0);
}

/// In a sum of sixteen ranks, whose functions are many paths each, one for each address.
#[test]
fn the_rank_that_all_wait_for_is_named_in_a_sum() {
    let workshop = Workshop::new("ranks_summed");
    workshop.compile("cc -O2 -g -o program @ranks.c");
    // The shell is the launcher, and waits itself.
    let ranks = "for r in $(seq 0 15); do PMI_RANK=$r PMI_SIZE=16 ./program; done; exit 0";
    let _ = workshop.record(&["-e", "task-clock@1000"], &["sh", "-c", ranks]);
    let merged = workshop.csprof(&["merge", "-o", "sum.csprof", "run.csprof"]);
    let complained = merged.complained();
    assert!(complained.contains("of 16 ranks, summed"), "{complained}");
    let report = |options: &[&str]| -> Value {
        let arguments = [&["report", "sum.csprof", "--format", "json"], options].concat();
        let outcome = workshop.csprof(&arguments);
        assert!(outcome.status.success(), "{}", outcome.complained());
        serde_json::from_str(&outcome.said()).unwrap()
    };
    // What is called from one place is exact: the call has it.
    let tree = report(&["--threshold", "0"]);
    let rows = tree["rows"].as_array().unwrap();
    let solve = rows.iter().find(|row| row["function"] == "solve").unwrap();
    assert_eq!(solve["max_rank"], 7, "{solve}");
    assert!(solve["rank_max"].is_number() && solve["rank_imbalance"].is_number(), "{solve}");
    let relax = rows.iter().find(|row| row["function"] == "relax").unwrap();
    assert_eq!(relax["max_rank"], 7, "{relax}");
    let waits = report(&["--view", "waits"]);
    let rows = waits["rows"].as_array().unwrap();
    let of = |table: &str, end: &str| {
        let is_it = |row: &&Value| {
            row["table"] == table && row["path"].as_array().unwrap().last().unwrap() == end
        };
        rows.iter().find(is_it).unwrap_or_else(|| panic!("no {end} in {waits}"))
    };
    for table in ["operation", "path"] {
        let barrier = of(table, "MPI_Barrier");
        assert_eq!((&barrier["last"], &barrier["min_peer"]), (&"rank 7".into(), &"rank 7".into()));
    }
    let is_late = |row: &&Value| row["table"] == "imbalance" && row["max_peer"] == "rank 7";
    let mut late = rows.iter().filter(is_late);
    let is_in_solve = |row: &Value| row["path"].as_array().unwrap().contains(&"solve".into());
    assert!(late.any(is_in_solve), "{waits}");

    let mut viewer = Terminal::start(&workshop.path(""), &["view", "sum.csprof"]);
    viewer.wait_for(&["shown 100% + out 0% = 100%"]);
    viewer.press("I");
    viewer.wait_for(&["Waits by path, over 16 ranks", "MPI_Barrier", "last came rank 7"]);
    viewer.press("d");
    viewer.wait_for(&["on rank 7", "solve"]);
    viewer.press("\r");
    viewer.wait_for(&["[1 Tree]", "solve"]);
    viewer.press("\x03");
    assert_eq!(viewer.end().0, 0);
}
