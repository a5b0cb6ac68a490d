//! Several profiles: two that are compared, and some that become one.

use std::fs;

use csprof_format::read;
use csprof_tests::paths::Rows;
use csprof_tests::recording::in_one_of_three;
use csprof_tests::workshop::Workshop;
use serde_json::Value;

/// Runs csprof, which must succeed, and takes what it prints.
fn said(workshop: &Workshop, arguments: &[&str]) -> String {
    let outcome = workshop.csprof(arguments);
    assert!(outcome.status.success(), "{arguments:?}: {}", outcome.complained());
    outcome.said()
}

/// Runs csprof, which must fail with `status`, and takes what it says: one line.
fn refused(workshop: &Workshop, arguments: &[&str], status: i32) -> String {
    let outcome = workshop.csprof(arguments);
    let complained = outcome.complained();
    assert_eq!(outcome.status.code(), Some(status), "{arguments:?}: {complained}");
    assert_eq!(complained.trim_end().lines().count(), 1, "{complained}");
    complained
}

/// The rows of a comparison with their call paths: function names, outermost first.
fn rows(report: &Value) -> Vec<(Vec<String>, Value)> {
    let mut path: Vec<String> = Vec::new();
    let row = |row: &Value| {
        path.truncate(usize::try_from(row["depth"].as_u64().unwrap()).unwrap());
        path.push(row["function"].as_str().unwrap().to_owned());
        (path.clone(), row.clone())
    };
    report["rows"].as_array().unwrap().iter().map(row).collect()
}

/// The row of a call path that ends so.
fn at(report: &Value, end: &[&str]) -> Value {
    let end: Vec<String> = end.iter().map(ToString::to_string).collect();
    let found = rows(report).into_iter().find(|(path, _)| path.ends_with(&end));
    found.unwrap_or_else(|| panic!("{end:?} in {report}")).1
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap()
}

#[test]
fn a_program_and_its_next_version() {
    let workshop = Workshop::new("a_program_and_its_next_version");
    workshop.compile("cc -O2 -o old @figure1.c");
    workshop.compile("cc -O2 -o new @figure1_next.c");
    // Ticks of the kernel might all miss a call.
    let source = ["-e", "task-clock@200"];
    let record = |name: &str| {
        let samples = workshop.record(&source, &[&format!("./{name}")]).samples();
        let file = workshop.path(&format!("{name}.csprof"));
        fs::rename(workshop.path("run.csprof"), file).unwrap();
        samples.recorded
    };
    let diff = |files: [&str; 2], options: &[&str]| -> Value {
        let mut arguments = vec!["diff", files[0], files[1], "--format", "json"];
        arguments.extend(options);
        serde_json::from_str(&said(&workshop, &arguments)).unwrap()
    };
    // How long a call takes depends on what else the machine does, but shares do not, unless that
    // begins or ends between two calls.
    let mut recorded = (0, 0);
    let has_its_shares = || {
        recorded = (record("old"), record("new"));
        let options = ["--match", "c=compute", "--normalize"];
        let shares = diff(["old.csprof", "new.csprof"], &options);
        assert_eq!(shares["unit"], "ppm");
        let of_b = at(&shares, &["main", "b"]);
        let share = |side: &str| number(&of_b[side]["inclusive"]);
        of_b["change"] == "more"
            && (400_000..600_000).contains(&share("base"))
            && (566_000..766_000).contains(&share("other"))
    };
    assert!(in_one_of_three("a_program_and_its_next_version", has_its_shares));

    // Both sides account for every sample.
    let (old, new) = recorded;
    let forth = diff(["old.csprof", "new.csprof"], &["--match", "c=compute"]);
    assert_eq!(forth["base"]["samples"]["total"], old);
    assert_eq!(forth["other"]["samples"]["total"], new);
    assert_eq!(forth["base"]["samples"]["shown"], old);
    let exclusive = |side: &str| -> i64 {
        rows(&forth).iter().map(|(_, row)| number(&row[side]["exclusive"])).sum()
    };
    assert_eq!(exclusive("base"), number(&forth["base"]["total"]));
    assert_eq!(exclusive("other"), number(&forth["other"]["total"]));

    // b calls twice as often, which edges say exactly: every call takes many periods.
    let edges = |path: &[&str]| {
        let row = at(&forth, path);
        (row["base"]["edges"].as_u64(), row["other"]["edges"].as_u64())
    };
    assert_eq!(edges(&["main", "b", "compute"]), (Some(4), Some(8)));
    assert_eq!(edges(&["main", "a", "compute"]), (Some(2), Some(2)));

    // Without the rule, c is gone and compute is new.
    let unmatched = diff(["old.csprof", "new.csprof"], &[]);
    assert_eq!(at(&unmatched, &["b", "c"])["change"], "gone");
    assert_eq!(at(&unmatched, &["b", "compute"])["change"], "new");

    // The other way round, every sign is the other one.
    let back = diff(["new.csprof", "old.csprof"], &["--match", "c=compute"]);
    let delta = |report: &Value| {
        let mut deltas: Vec<_> = rows(report)
            .into_iter()
            .map(|(path, row)| {
                let delta = &row["delta"];
                (path, number(&delta["inclusive"]), number(&delta["exclusive"]))
            })
            .collect();
        deltas.sort();
        deltas
    };
    let negated: Vec<_> = delta(&back).into_iter().map(|(path, i, e)| (path, -i, -e)).collect();
    assert_eq!(delta(&forth), negated);

    // Stages refine both sides; refining first and comparing then would give the same.
    let refined = diff(["old.csprof", "new.csprof"], &["--refine", "through b | hide d"]);
    let alone = |file: &str| {
        let arguments = ["report", file, "--refine", "through b | hide d", "--format", "json"];
        Rows::new(&said(&workshop, &arguments))
    };
    for (side, file) in [("base", "old.csprof"), ("other", "new.csprof")] {
        let alone = alone(file);
        let samples = &refined[side]["samples"];
        let of = |key: &str| u128::from(samples[key].as_u64().unwrap());
        assert_eq!((of("shown"), of("out")), (alone.shown, alone.out), "{side}");
    }

    // A profile does not differ from itself.
    let same = diff(["old.csprof", "old.csprof"], &[]);
    assert!(
        delta(&same).iter().all(|(_, inclusive, exclusive)| (*inclusive, *exclusive) == (0, 0))
    );
    let text = said(&workshop, &["diff", "old.csprof", "old.csprof"]);
    assert!(text.contains("difference: none\n"), "{text}");
    assert!(text.contains("No call path differs"), "{text}");

    merged(&workshop, old, new);
    refusals(&workshop);

    // For scripts: more work than is allowed is an exit code. That of both runs is more, however
    // busy the machine was in each.
    let above =
        ["diff", "old.csprof", "both.csprof", "--refine", "through b", "--fail-above", "20%"];
    let complained = workshop.csprof(&above).complained();
    assert!(complained.contains("--fail-above allows 20%"), "{complained}");
    assert_eq!(workshop.csprof(&above).status.code(), Some(1));
    said(
        &workshop,
        &["diff", "both.csprof", "old.csprof", "--refine", "through b", "--fail-above", "0"],
    );
}

/// The two runs as one profile.
fn merged(workshop: &Workshop, old: u64, new: u64) {
    let line = workshop.csprof(&["merge", "-o", "both.csprof", "old.csprof", "new.csprof"]);
    assert!(line.status.success(), "{}", line.complained());
    let total = old + new;
    // Digits stand in groups.
    assert_eq!(
        line.complained().replace('\u{2009}', ""),
        format!("csprof: both.csprof: {total} samples of 2 runs; csprof view both.csprof\n")
    );
    let report = said(workshop, &["report", "both.csprof", "--format", "json"]);
    let all = Rows::new(&report);
    assert_eq!(all.base, u128::from(total));
    assert_eq!(all.at(&["main", "a", "c"]).edges, Some(2));
    assert_eq!(all.at(&["main", "b", "compute"]).edges, Some(8));
    // Several files are read as if they had been merged.
    let unmerged = said(workshop, &["report", "old.csprof", "new.csprof", "--format", "json"]);
    assert_eq!(unmerged, report);
    let info: Value =
        serde_json::from_str(&said(workshop, &["info", "both.csprof", "--format", "json"]))
            .unwrap();
    let runs: Vec<_> = info["runs"].as_array().unwrap().iter().map(|run| &run["command"]).collect();
    assert_eq!(runs, [&serde_json::json!(["./old"]), &serde_json::json!(["./new"])]);
    assert_eq!(info["samples"]["recorded"], total);
    let text = said(workshop, &["info", "both.csprof"]);
    assert!(text.contains("run           ./old: 1 process, "), "{text}");
    // Refining the merged profile is merging refined ones.
    let refine = |files: &[&str]| {
        let options = ["--refine", "hide d", "--format", "json"];
        Rows::new(&said(workshop, &[&["report"], files, &options[..]].concat()))
    };
    let (first, second) = (refine(&["old.csprof"]), refine(&["new.csprof"]));
    let both = refine(&["both.csprof"]);
    assert_eq!(both.shown, first.shown + second.shown);
    assert_eq!(both.at(&["a", "c"]), first.at(&["a", "c"]));
    assert_eq!(both.at(&["b", "compute"]), second.at(&["b", "compute"]));
}

/// What does not go together: one line each, and nothing is written.
fn refusals(workshop: &Workshop) {
    fs::write(workshop.path("notes.txt"), "to do: buy milk\n").unwrap();
    assert_eq!(
        refused(workshop, &["diff", "old.csprof", "notes.txt"], 1),
        "csprof: notes.txt: this is a text file, not a profile\n"
    );
    assert_eq!(
        refused(workshop, &["merge", "-o", "out.csprof", "old.csprof", "notes.txt"], 1),
        "csprof: notes.txt: this is a text file, not a profile\n"
    );
    assert_eq!(
        refused(workshop, &["merge", "-f", "-o", "old.csprof", "old.csprof", "new.csprof"], 1),
        "csprof: old.csprof: is one of the profiles to merge and would be replaced; name another \
         file with -o\n"
    );
    assert_eq!(
        refused(workshop, &["merge", "-o", "out.csprof", "old.csprof", "both.csprof"], 1),
        "csprof: both.csprof: holds a run of old.csprof, which would count twice; leave one out\n"
    );
    let exists = refused(workshop, &["merge", "-o", "both.csprof", "old.csprof"], 1);
    assert_eq!(
        exists,
        "csprof: both.csprof: exists already; -f replaces it, or choose another name\n"
    );
    // Elapsed time and time on a processor.
    let _ = workshop.record(&["-e", "realtime@200"], &["sleep", "0.2"]);
    // Where perf events are forbidden, it is cputime.
    let old = read::open(&workshop.path("old.csprof")).unwrap().metric.source;
    assert_eq!(
        refused(workshop, &["diff", "old.csprof", "run.csprof"], 1),
        format!(
            "csprof: run.csprof: measures realtime, but old.csprof measures {old}; record both \
             with the same -e to compare them\n"
        )
    );
    let mixed = refused(workshop, &["report", "old.csprof", "run.csprof"], 1);
    assert!(mixed.starts_with("csprof: run.csprof: was sampled by realtime every "), "{mixed}");
    assert!(!workshop.path("out.csprof").exists());
    let wrong = refused(workshop, &["diff", "old.csprof", "new.csprof", "--metric", "misses"], 2);
    assert!(wrong.contains("no metric `misses`"), "{wrong}");
    let wrong = workshop.csprof(&["diff", "old.csprof", "new.csprof", "--match", "c("]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(wrong.complained().contains("OLD=NEW"), "{}", wrong.complained());
}

/// Which of the names of a function was called in a run, and how often it was sampled, changes
/// nothing: its name depends on the files alone.
#[test]
fn two_runs_of_a_program_call_a_function_with_several_names_the_same() {
    let workshop = Workshop::new("two_runs_of_a_program_call_a_function_the_same");
    // The calls stay as they are written.
    workshop
        .compile("cc -O1 -fno-builtin -D_FORTIFY_SOURCE=0 -U_FORTIFY_SOURCE -o aliases @aliases.c");
    let runs = [("first", "500"), ("second", "500"), ("first", "100"), ("second", "4000")];
    let files: Vec<String> = (0..runs.len()).map(|run| format!("{run}.csprof")).collect();
    for ((argument, rate), file) in runs.iter().zip(&files) {
        let source = format!("task-clock@{rate}");
        let recording = workshop.record(&["-e", &source], &["./aliases", argument]);
        assert!(recording.samples().recorded > 60, "{argument} {rate}");
        fs::rename(workshop.path("run.csprof"), workshop.path(file)).unwrap();
    }
    for (first, second) in [(0, 1), (0, 2), (2, 3), (1, 3)] {
        let [base, other] = [&*files[first], &files[second]];
        let arguments = ["diff", base, other, "--format", "json"];
        let report: Value = serde_json::from_str(&said(&workshop, &arguments)).unwrap();
        for caller in ["copies", "reads"] {
            let is_below = |path: &[String]| path[..path.len() - 1].ends_with(&[caller.to_owned()]);
            let below = rows(&report).into_iter().filter(|(path, _)| is_below(path));
            // A stub may be sampled in one run alone, but what it leads to has nearly all samples.
            let whole = at(&report, &[caller]);
            let is_large = |row: &Value, side: &str| {
                5 * number(&row[side]["inclusive"]) > number(&whole[side]["inclusive"])
            };
            let large = below.filter(|(_, row)| is_large(row, "base") || is_large(row, "other"));
            let large: Vec<_> = large.collect();
            assert!(!large.is_empty(), "{caller}: {report}");
            let has_both = |row: &Value| row["change"] != "new" && row["change"] != "gone";
            assert!(large.iter().all(|(_, row)| has_both(row)), "{caller}: {large:?}");
        }
    }
    // Whoever types one of the names finds it.
    for name in ["memcpy", "memmove", "strtol", "strtoll"] {
        for file in &files {
            said(&workshop, &["report", file, "--refine", &format!("through {name}")]);
        }
    }
}

/// Static functions of a name, in one file and in two, before and after their lines have moved.
#[test]
fn functions_of_one_name_are_rows_of_their_own() {
    let workshop = Workshop::new("same_name");
    let build = |name: &str, flag: &str| {
        for part in 1..=3 {
            workshop.compile(&format!(
                "cc -O2 -g -fno-inline -DPART={part} {flag} -c -o {part}.o @same_name.c"
            ));
        }
        workshop.compile(&format!("cc -o {name} 1.o 2.o 3.o"));
        let _ = workshop.record(&["-e", "task-clock@1000"], &[&format!("./{name}")]);
        fs::rename(workshop.path("run.csprof"), workshop.path(&format!("{name}.csprof"))).unwrap();
    };
    build("old", "-DBEFORE");
    build("new", "-DMOVED");
    let report = |arguments: &[&str]| -> Value {
        serde_json::from_str(&said(&workshop, arguments)).unwrap()
    };
    let works = |report: &Value| -> Vec<Value> {
        let rows = report["rows"].as_array().unwrap().iter();
        rows.filter(|row| row["function"] == "work").cloned().collect()
    };
    let flat = report(&["report", "old.csprof", "--view", "flat", "--format", "json"]);
    let places: Vec<_> =
        works(&flat).iter().map(|row| format!("{}:{}", row["file"], row["line"])).collect();
    assert_eq!(places.len(), 3, "{flat}");
    assert!(places[0].contains("same_name_too.c"), "the one that costs most: {places:?}");
    // Each has its caller, and is the same function in both builds.
    let tree = report(&["diff", "old.csprof", "new.csprof", "--format", "json"]);
    for caller in ["one", "two", "three"] {
        let row = at(&tree, &[caller, "work"]);
        assert!(row["base"]["exclusive"].as_u64() > Some(0), "{row}");
        assert!(row["other"]["exclusive"].as_u64() > Some(0), "{row}");
    }
    let flat = report(&["diff", "old.csprof", "new.csprof", "--view", "flat", "--format", "json"]);
    assert_eq!(works(&flat).len(), 3, "{flat}");
    // Each is found by where it is.
    let source =
        |place: &str| report(&["report", "old.csprof", "--format", "json", "--source", place]);
    assert_eq!(source("work")["others"], 2);
    for (place, others) in
        [("work same_name_too.c", 0), ("work same_name_too.c:1", 0), ("work same_name.c", 1)]
    {
        assert_eq!(source(place)["others"], others, "{place}");
    }
}
