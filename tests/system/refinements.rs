//! Refinements on a recorded profile: what is shown and what is left out are all there was.

use std::fs;

use csprof_tests::workshop::Workshop;

/// Its samples come when they are due: each call has some, on a busy machine, too.
const OPTIONS: &[&str] = &["-e", "task-clock@200"];

#[test]
fn shown_and_left_out_are_what_was_measured() {
    let workshop = Workshop::new("refinements");
    workshop.compile("cc -O2 -o program @figure1.c");
    let recording = workshop.record(OPTIONS, &["./program"]);
    let all = recording.rows();
    let (a, b) = (all.inclusive_of("a"), all.inclusive_of("b"));
    // A signal may come in `a` or `b` itself, where nearly no time passes.
    let [ac, bc] = ["a", "b"].map(|caller| all.at(&["main", caller, "c"]).inclusive);
    assert!((a - ac).max(b - bc) <= recording.weight(), "{all}");
    // Each report is held against the law when it is read; see `Rows::new`.
    let shown = |refinement: &str| u64::try_from(recording.refined(refinement).shown).unwrap();
    assert_eq!(shown("through a"), a);
    assert_eq!(shown("not through a"), recording.samples().recorded - a);
    assert_eq!(shown("through a >> c"), ac);
    assert_eq!(shown("through {a, b} > c"), ac + bc);
    assert_eq!(shown("through b > c | hide d"), bc);
    assert_eq!(shown("leaf d"), all.inclusive_of("d"));
    assert_eq!(shown("group {a, b} as work | through work"), a + b);
    assert_eq!(shown("root at c"), ac + bc);
    assert_eq!(shown("stop at a"), recording.samples().recorded);

    let rooted = recording.refined("root at c");
    let c = rooted.at(&["c"]);
    assert_eq!((c.inclusive, c.edges), (ac + bc, Some(6)));
    let hidden = recording.refined("hide d");
    assert_eq!(hidden.at(&["a", "c"]).exclusive, ac);
    let grouped = recording.refined("group {a, b} as work");
    assert_eq!(grouped.at(&["main", "work", "c"]).edges, Some(6));
}

/// Sets of frames in the user's file and beside the profile; what is wrong in them stops nothing.
#[test]
fn sets_of_frames_lie_in_files() {
    let workshop = Workshop::new("sets");
    workshop.compile("cc -O2 -o program @figure1.c");
    let recording = workshop.record(OPTIONS, &["./program"]);
    let both = recording.refined("through {a, b}").shown;
    let only_a = recording.refined("through a").shown;
    let profile = recording.path().to_owned();

    let config = workshop.path("config");
    fs::create_dir_all(config.join("csprof")).unwrap();
    let user = config.join("csprof/sets");
    fs::write(&user, "@callers = {a,\n  b}\n@broken = {a\n").unwrap();
    let report = |refinement: &str| {
        let mut command = workshop.csprof_command();
        command.env("XDG_CONFIG_HOME", &config).arg("report").arg(&profile);
        command.args(["--format", "json", "--refine", refinement]);
        let output = command.output().unwrap();
        let shown = serde_json::from_slice::<serde_json::Value>(&output.stdout)
            .map_or(0, |report| report["shown"].as_u64().unwrap());
        (output.status.code(), shown, String::from_utf8(output.stderr).unwrap())
    };
    let problem =
        format!("csprof: {}:3: @broken: `}}` is missing here, at the end\n", user.display());
    assert_eq!(report("through @callers"), (Some(0), both as u64, problem.clone()));
    assert_eq!(report("through {a, b}"), (Some(0), both as u64, String::new()));
    let (status, _, said) = report("through @broken");
    assert_eq!(status, Some(2));
    assert!(said.contains("        ^^^^^^^\nthis set cannot be used"), "{said}");

    // The one beside the profile counts more, and the profile is as it was.
    let before = fs::read(&profile).unwrap();
    fs::write(format!("{}.sets", profile.display()), "@callers = a\n").unwrap();
    assert_eq!(report("through @callers"), (Some(0), only_a as u64, problem));
    assert_eq!(fs::read(&profile).unwrap(), before);
}
