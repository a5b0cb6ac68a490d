//! Jobs of many ranks, which become one profile.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use csprof_format::write;
use csprof_tests::job::{Job, LATE};
use csprof_tests::workshop::Workshop;
use serde_json::Value;

/// Runs csprof, which must succeed, and takes what it prints.
fn said(workshop: &Workshop, arguments: &[&str]) -> String {
    let outcome = workshop.csprof(arguments);
    assert!(outcome.status.success(), "{arguments:?}: {}", outcome.complained());
    outcome.said()
}

/// Runs csprof, which must fail, and takes what it says: one line.
fn refused(workshop: &Workshop, arguments: &[&str]) -> String {
    let outcome = workshop.csprof(arguments);
    let complained = outcome.complained();
    assert_eq!(outcome.status.code(), Some(1), "{arguments:?}: {complained}");
    assert_eq!(complained.trim_end().lines().count(), 1, "{complained}");
    complained
}

fn job() -> Job {
    Job { ranks: 48, common: 20, private: 2, late: vec![(17, 5), (30, 11)], addresses: 5 }
}

/// The profiles of the ranks, in a folder.
fn recorded(workshop: &Workshop, job: &Job) {
    fs::create_dir(workshop.path("ranks")).unwrap();
    let busiest = job.busiest();
    for rank in 0..job.ranks {
        let path = workshop.path(&format!("ranks/{rank}.csprof"));
        write::save_new(&job.rank(rank, busiest), &path).unwrap();
    }
}

/// The bytes of each file of a folder.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let file = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
    };
    fs::read_dir(folder).unwrap().map(|entry| file(entry.unwrap())).collect()
}

fn report(workshop: &Workshop, options: &[&str]) -> Value {
    let arguments = [&["report", "job.csprof", "--format", "json"], options].concat();
    serde_json::from_str(&said(workshop, &arguments)).unwrap()
}

fn row(report: &Value, function: &str) -> Value {
    let rows = report["rows"].as_array().unwrap();
    let found = rows.iter().find(|row| row["function"] == function);
    found.unwrap_or_else(|| panic!("{function} in {report}")).clone()
}

#[test]
fn the_late_rank_of_a_job_is_found_and_numbers_are_those_of_the_job() {
    let workshop = Workshop::new("the_late_rank_of_a_job_is_found");
    let job = job();
    recorded(&workshop, &job);
    let merged = workshop.csprof(&["merge", "-o", "job.csprof", "--expect-ranks", "48", "ranks"]);
    assert!(merged.status.success(), "{}", merged.complained());
    assert!(merged.complained().contains("samples of 48 ranks, summed"), "{}", merged.complained());
    let all = report(&workshop, &["--threshold", "0"]);
    for path in 0..job.common {
        let costs: Vec<u64> = (0..job.ranks).map(|rank| job.kernel(rank, path)).collect();
        let (sum, most) = (costs.iter().sum::<u64>() as f64, *costs.iter().max().unwrap() as f64);
        let mean = sum / f64::from(job.ranks);
        let squares: f64 = costs.iter().map(|&cost| (cost as f64 - mean).powi(2)).sum();
        let row = row(&all, &format!("kernel_{path}"));
        let is = |key: &str, samples: f64| {
            let found = row[key].as_f64().unwrap_or_else(|| panic!("{key} of {row}"));
            assert!((found - samples).abs() < 1e-6, "{key}: {found}, not {samples} samples");
        };
        assert_eq!(row["inclusive"].as_f64().unwrap(), sum);
        is("rank_mean", mean);
        let late = job.late.iter().find(|(_, late)| *late == path);
        let first = costs.iter().position(|&cost| cost as f64 == most).unwrap();
        assert!(late.is_none_or(|&(rank, _)| rank as usize == first && most > LATE as f64));
        if path % 2 == 1 {
            // It is called from two call sites: between bounds, but for a rank that stands out.
            for (key, samples) in
                [("rank_max", most), ("rank_min", *costs.iter().min().unwrap() as f64)]
            {
                let bounds = match &row[key] {
                    Value::Array(ends) => [&ends[0], &ends[1]].map(|end| end.as_f64().unwrap()),
                    exact => [exact.as_f64().unwrap(); 2],
                };
                assert!(bounds[0] <= samples && samples <= bounds[1], "{key} of {row}");
            }
            match late {
                Some(_) => assert_eq!(row["max_rank"], first as u64, "{row}"),
                None => {
                    assert!(row["max_rank"].is_null() || row["max_rank"] == first as u64, "{row}")
                }
            }
            continue;
        }
        is("rank_max", most);
        is("rank_min", *costs.iter().min().unwrap() as f64);
        is("rank_imbalance", most * f64::from(job.ranks) - sum);
        is("rank_deviation", (squares / f64::from(job.ranks)).sqrt());
        assert_eq!(row["max_rank"], first as u64, "{row}");
    }
    // The paths on which a rank is late come first when they are ordered by it.
    let flat = report(&workshop, &["--view", "flat", "--sort", "rank-imbalance"]);
    let first: Vec<&str> = flat["rows"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["function"].as_str())
        .collect();
    let place = |name: &str| first.iter().position(|other| *other == name).unwrap();
    assert!(place("kernel_5") < place("kernel_0") && place("kernel_11") < place("kernel_1"));
    // Late ranks are kept apart, and have what they had.
    let late = report(&workshop, &["--refine", "rank = 17", "--threshold", "0"]);
    let own = job.kernel(17, 5) as f64;
    assert_eq!(row(&late, "kernel_5")["inclusive"].as_f64(), Some(own));
    assert_eq!(row(&late, "kernel_5")["rank_mean"], Value::Null);
    // Of another there is only what all have together.
    let other = workshop.csprof(&["report", "job.csprof", "--refine", "rank = 20"]);
    let complained = other.complained();
    assert_eq!(other.status.code(), Some(1), "{complained}");
    assert!(complained.contains("rank 20 is in the sum and not kept apart"), "{complained}");
    let text = said(&workshop, &["report", "job.csprof"]);
    assert!(text.contains("imbalance") && text.contains("max rank"), "{text}");
    let threads = said(&workshop, &["report", "job.csprof", "--view", "threads"]);
    assert!(
        threads.contains("rank 17, pid 1017") && threads.contains("summed processes"),
        "{threads}"
    );
    assert!(!threads.contains("Imbalance of the"), "{threads}");
    let csv = said(&workshop, &["report", "job.csprof", "--format", "csv"]);
    assert!(
        csv.lines().next().unwrap().contains("rank_imbalance_low,rank_imbalance_high"),
        "{csv}"
    );
    let info: Value =
        serde_json::from_str(&said(&workshop, &["info", "job.csprof", "--format", "json"]))
            .unwrap();
    assert_eq!((&info["sum"]["ranks"], &info["sum"]["runs"]), (&48.into(), &48.into()));
    assert!(said(&workshop, &["info", "job.csprof"]).contains("of 48 ranks in 48 processes"));
}

/// Sums of parts, and of all at once, are one file; and with all ranks kept apart each has what it
/// had.
#[test]
fn parts_of_a_job_may_be_summed_before() {
    let workshop = Workshop::new("parts_of_a_job_may_be_summed_before");
    let job = job();
    recorded(&workshop, &job);
    let _ = said(&workshop, &["merge", "-o", "whole.csprof", "ranks"]);
    let files: Vec<String> = (0..job.ranks).map(|rank| format!("ranks/{rank}.csprof")).collect();
    for (number, part) in files.rchunks(20).enumerate() {
        let name = format!("part{number}.csprof");
        let part: Vec<&str> = part.iter().map(String::as_str).collect();
        let options = ["merge", "--keep-ranks", "top", "-o", &name];
        let _ = said(&workshop, &[&options[..], &part].concat());
    }
    let parts = ["part2.csprof", "part0.csprof", "part1.csprof"];
    let _ = said(&workshop, &[&["merge", "-o", "parts.csprof"], &parts[..]].concat());
    assert_eq!(
        fs::read(workshop.path("whole.csprof")).unwrap(),
        fs::read(workshop.path("parts.csprof")).unwrap()
    );
    let _ = said(&workshop, &["merge", "--keep-ranks", "all", "-o", "job.csprof", "ranks"]);
    let busiest = job.busiest();
    let waits = report(&workshop, &["--refine", "rank = 3", "--threshold", "0"]);
    let expected = job.wait(3, busiest) as f64;
    assert_eq!(row(&waits, "MPI_Barrier")["inclusive"].as_f64(), Some(expected));
    let all = said(&workshop, &["report", "job.csprof", "--view", "distribution"]);
    assert!(all.contains("over 48 ranks"), "{all}");
    // A few ranks are kept apart, as are all by --concat.
    let few = ["merge", "-o", "few.csprof", "ranks/0.csprof", "ranks/1.csprof"];
    assert!(workshop.csprof(&few).complained().contains("samples of 2 runs"));
    let apart = workshop.csprof(&["merge", "--concat", "-o", "apart.csprof", "ranks"]);
    assert!(apart.complained().contains("samples of 48 runs"), "{}", apart.complained());
    // Columns over ranks are those of sums.
    let by_rank =
        workshop.csprof(&["report", "apart.csprof", "--sort", "rank-imbalance"]).complained();
    assert!(by_rank.contains("orders sums over the ranks of a job"), "{by_rank}");
    let mixed = refused(&workshop, &["report", "whole.csprof", "apart.csprof"]);
    assert!(mixed.contains("whole.csprof: is a sum over processes"), "{mixed}");
}

/// Inputs that are cut off, of another kind, or there twice: one line that names the file, no half
/// result, and inputs as they were.
#[test]
fn one_bad_file_fails_a_sum_and_changes_nothing() {
    let workshop = Workshop::new("one_bad_file_fails_a_sum");
    let job = job();
    recorded(&workshop, &job);
    let before = contents(&workshop.path("ranks"));
    let whole = before["9.csprof"].clone();
    let bad: [(&str, Vec<u8>, &str); 4] = [
        ("98.csprof", whole[..whole.len() / 2].to_vec(), "ranks/98.csprof: "),
        ("98.csprof", b"to do: buy milk\n".to_vec(), "98.csprof: this is a text file"),
        ("98.csprof", Vec::new(), "98.csprof: "),
        ("98.csprof", whole, "98.csprof: has a run that ranks/9.csprof has, too"),
    ];
    for (name, bytes, expected) in bad {
        let path = workshop.path(&format!("ranks/{name}"));
        fs::write(&path, &bytes).unwrap();
        let error = refused(&workshop, &["merge", "-o", "job.csprof", "ranks"]);
        assert!(error.contains(expected), "{error}");
        assert!(!workshop.path("job.csprof").exists());
        fs::remove_file(&path).unwrap();
        assert_eq!(contents(&workshop.path("ranks")), before);
    }
    // Whoever wants to goes on without, and is told.
    fs::write(workshop.path("ranks/7.csprof"), "").unwrap();
    let skipping = ["merge", "--skip-damaged", "--expect-ranks", "48", "-o", "job.csprof", "ranks"];
    let merged = workshop.csprof(&skipping);
    assert!(merged.status.success(), "{}", merged.complained());
    for expected in ["left out: ranks/7.csprof: ", "rank 7 of 48 is missing", "samples of 47 ranks"]
    {
        assert!(merged.complained().contains(expected), "{}", merged.complained());
    }
    fs::write(workshop.path("ranks/7.csprof"), &before["7.csprof"]).unwrap();
    // Ranks that are not there, or too many.
    for (expected, told) in [
        ("50", "ranks 48 and 49 of 50 are missing"),
        ("47", "of 47 ranks expected: rank 47 not expected"),
    ] {
        let other = ["merge", "-f", "-o", "other.csprof", "--expect-ranks", expected, "ranks"];
        let merged = workshop.csprof(&other);
        assert!(merged.status.success(), "{}", merged.complained());
        assert!(merged.complained().contains(told), "{}", merged.complained());
        assert!(workshop.csprof(&["info", "other.csprof"]).said().contains(told));
    }
    // No room: nothing is left, and what was there stays.
    let full = workshop.csprof(&["merge", "-f", "-o", "/dev/full", "ranks"]);
    assert_eq!(full.status.code(), Some(1), "{}", full.complained());
    fs::create_dir(workshop.path("none")).unwrap();
    let none = refused(&workshop, &["merge", "-o", "more.csprof", "none"]);
    assert!(none.contains("none: no file in this folder ends in .csprof"), "{none}");
}

/// What is left of a sum does not say of which ranks it is: added to one of them, that would count
/// twice.
#[test]
fn what_is_left_of_a_damaged_sum_is_added_to_nothing() {
    let workshop = Workshop::new("what_is_left_of_a_damaged_sum");
    recorded(&workshop, &job());
    let _ = said(&workshop, &["merge", "-o", "job.csprof", "ranks"]);
    let whole = fs::read(workshop.path("job.csprof")).unwrap();
    fs::write(workshop.path("cut.csprof"), &whole[..whole.len() - 40]).unwrap();
    // It can be looked at.
    let report = said(&workshop, &["report", "--salvage", "cut.csprof"]);
    assert!(report.contains("kernel_5"), "{report}");
    let expected = "cut.csprof: which ranks this sum is of is lost, so that some might count twice";
    for arguments in [
        &["merge", "--salvage", "-o", "all.csprof", "cut.csprof", "ranks/5.csprof"][..],
        &["merge", "--salvage", "-o", "all.csprof", "ranks/5.csprof", "cut.csprof"],
        // It would be written as a profile like any other.
        &["merge", "--salvage", "-o", "all.csprof", "cut.csprof"],
        &["report", "--salvage", "cut.csprof", "ranks/5.csprof"],
    ] {
        let told = refused(&workshop, arguments);
        assert!(told.contains(expected), "{told}");
    }
    assert!(!workshop.path("all.csprof").exists());
    let skip = ["merge", "--salvage", "--skip-damaged", "-o", "all.csprof", "cut.csprof", "ranks"];
    let merged = workshop.csprof(&skip);
    let complained = merged.complained();
    assert!(complained.contains("left out: ") && complained.contains(expected), "{complained}");
    let bytes = |name: &str| workshop.csprof(&["report", name, "--format", "csv"]).said();
    assert_eq!(bytes("all.csprof"), bytes("job.csprof"));
}
