//! What a program says itself, by `csprof.h`: amounts of resources, of which each is sampled on the
//! path that counted it, and phases, of which each has what was counted in it.

use csprof_format::ids::ThreadId;
use csprof_tests::recording::Recording;
use csprof_tests::workshop::Workshop;

/// What the program does.
const TURNS: u64 = 20;
const ASSEMBLED: u64 = TURNS * 3 * 2;
const SOLVED: u64 = TURNS * 5;

const COMPILE: &str = "cc -O2 -g -pthread -I @../../collector/api -o words @words.c";

fn record(test: &str, options: &[&str], how: &str) -> Recording {
    let workshop = Workshop::new(test);
    workshop.compile(COMPILE);
    let alone = workshop.run(&["./words", how]);
    let recording = workshop.record(options, &["./words", how]);
    assert_eq!(recording.outcome.said(), alone.said());
    assert_eq!(recording.outcome.status.code(), Some(3));
    assert_eq!(alone.status.code(), Some(3));
    recording
}

const ROWS: [&str; 2] = ["-e", "resource:rows@1"];

/// Rows that are shown with this refinement.
fn rows_of(recording: &Recording, refinement: &str) -> u64 {
    u64::try_from(recording.refined(refinement).shown).unwrap()
}

#[test]
fn amounts_are_counted_by_path() {
    let recording = record("words_plain", &ROWS, "plain");
    let rows = recording.rows();
    assert_eq!(rows.inclusive_of("assemble"), ASSEMBLED, "{rows}");
    assert_eq!(rows.inclusive_of("solve"), SOLVED, "{rows}");
    assert_eq!(rows.shown, u128::from(ASSEMBLED + SOLVED + 1), "{rows}");
    let said = recording.outcome.complained();
    assert!(said.contains("2^40"), "{said}");
    let metrics: Vec<_> = recording.profile.metrics().collect();
    assert_eq!((&*metrics[0].source, &*metrics[0].unit), ("rows", "units"));
}

#[test]
fn of_which_each_tenth_is_sampled_and_several_resources() {
    let sources = ["-e", "resource:rows@10", "-e", "resource:files@1", "-e", "resource:pages@1"];
    let recording = record("words_several", &sources, "plain");
    let recorded = |metric| recording.profile.share(ThreadId::from_index(0), metric).recorded;
    let tenths = (ASSEMBLED + SOLVED + 1) / 10;
    assert!((tenths..=tenths + 1).contains(&recorded(0)), "{}", recorded(0));
    assert_eq!([recorded(1), recorded(2)], [TURNS, 0]);
    let said = recording.outcome.complained();
    assert!(said.contains("no samples of pages"), "{said}");
    assert!(!said.contains("no samples of files"), "{said}");
}

#[test]
fn phases_have_what_was_counted_in_them() {
    for (test, options) in [
        ("words_phases", &ROWS[..]),
        ("words_phases_and_time", &["-e", "resource:rows@1", "-e", "cputime@1000"][..]),
        ("words_phases_without_trampoline", &["-e", "resource:rows@1", "--no-trampoline"][..]),
    ] {
        let recording = record(test, options, "plain");
        let shown = |stages| rows_of(&recording, stages);
        assert_eq!(shown("phase = assemble | under assemble"), ASSEMBLED);
        assert_eq!(shown("phase = so* | under solve"), SOLVED);
        assert_eq!(shown("phase in 1 | under solve"), SOLVED);
        let split = recording.refined("split phase");
        assert_eq!(split.at(&["phase=assemble"]).inclusive, ASSEMBLED, "{split}");
        assert_eq!(split.at(&["phase=solve"]).inclusive, SOLVED, "{split}");
        let names: Vec<_> = recording.profile.phases.iter().map(|phase| &*phase.name).collect();
        assert_eq!(names, ["assemble", "solve"]);
        let of = recording.output(&["report", "--view", "distribution", "--over", "phase"]);
        assert!(of.contains("no phase") && of.contains("phase assemble"), "{of}");
        assert!(recording.output(&["info"]).contains("(phase solve)"));
    }
}

#[test]
fn a_phase_is_that_of_all_threads() {
    let recording = record("words_threads", &ROWS, "threads");
    assert_eq!(rows_of(&recording, "phase = threads"), 2 * ASSEMBLED);
}

#[test]
fn a_forked_child_goes_on_in_its_parents_phase() {
    let recording = record("words_fork", &ROWS, "fork");
    assert_eq!(recording.profile.processes.len(), 2);
    assert_eq!(rows_of(&recording, "phase = assemble"), 2 * ASSEMBLED);
    assert_eq!(rows_of(&recording, "phase = solve"), 2 * SOLVED + 100 + 1000);
    assert_eq!(rows_of(&recording, "not phase = *"), 2);
}

#[test]
fn a_child_with_its_parents_memory_says_nothing() {
    let recording = record("words_vfork", &ROWS, "vfork");
    assert_eq!(rows_of(&recording, "phase = mine"), 1);
    assert_eq!(recording.samples().recorded, ASSEMBLED + SOLVED + 2);
}

/// Of those that are not kept apart it is said that they are in none.
#[test]
fn there_are_only_so_many_phases() {
    let recording = record("words_many", &ROWS, "many");
    assert_eq!(recording.profile.phases.len(), 4096);
    assert_eq!(rows_of(&recording, "phase = step0"), 2);
    assert_eq!(rows_of(&recording, "phase = step4095"), 1);
    assert_eq!(rows_of(&recording, "phase = *"), 4097);
    assert_eq!(rows_of(&recording, "not phase = *"), 5000 - 4096);
    assert!(recording.outcome.complained().contains("4096 names of phases"));
}

/// Handlers interrupt whoever begins a phase, and forks.
#[test]
fn phases_may_begin_in_handlers() {
    let recording = record("words_handler", &ROWS, "handler");
    assert_eq!(rows_of(&recording, "under assemble"), ASSEMBLED);
}

/// As `csprof header` prints it.
#[test]
fn the_header_compiles_in_all_dialects() {
    let workshop = Workshop::new("words_header");
    let header = workshop.csprof(&["header"]);
    std::fs::write(workshop.path("csprof.h"), header.said()).unwrap();
    let program = "#include \"csprof.h\"\nint main(void) { csprof_count(\"rows\", 1); \
                   csprof_phase(\"a\"); return 0; }\n";
    for (name, compiler) in [
        ("a.c", "cc -std=c89"),
        ("b.c", "cc -std=c99 -fno-pie -no-pie"),
        ("c.c", "cc -static"),
        ("d.c", "cc -masm=intel -O2"),
        ("e.c", "cc -DCSPROF_DISABLE"),
        ("f.cc", "c++ -std=c++98"),
        ("g.cc", "c++ -std=c++17 -O2"),
    ] {
        std::fs::write(workshop.path(name), program).unwrap();
        workshop.compile(&format!("{compiler} -pedantic -Wall -Wextra -Werror -o program {name}"));
        assert!(workshop.run(&["./program"]).status.success(), "{compiler}");
        if compiler.contains("no-pie") {
            let recording = workshop.record(&ROWS, &["./program"]);
            assert_eq!(recording.samples().recorded, 1);
        }
    }
}
