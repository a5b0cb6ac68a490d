//! Several runs compared with several, and runs on more threads than before.

use csprof::profile::comparison::{Scaling, ScalingKind};
use csprof::profile::{Profile, from_outline};
use insta::assert_snapshot;

use super::{SOLVER, Viewer, screen};

/// Two runs of the solver, and three in which its exchange has become cheaper and it logs.
fn compared() -> Profile {
    let base = [SOLVER.to_owned(), SOLVER.replace("memcpy 60 e=55", "memcpy 64 e=57")];
    let other = ["28", "30", "33"].map(|log| {
        SOLVER.replace("memcpy 60 e=55", "memcpy 10 e=11").replace(
            "    write_output 7 e=1",
            &format!("    log {log} e=5 at:log.c:3\n    write_output 7 e=1"),
        )
    });
    let mut start = 0;
    let mut side = |outlines: &[String], name: &str| {
        let run = |outline: &String| {
            let mut run = from_outline(outline).unwrap();
            start += 1;
            run.info.run.start_unix_ns = start;
            (format!("runs/{name}{start}.csprof"), run)
        };
        outlines.iter().map(run).collect::<Vec<_>>()
    };
    let sides = [side(&base, "before"), side(&other, "after")];
    Profile::compared_runs(sides, None, &[]).unwrap()
}

#[test]
fn first_screen() {
    for size in ["80x24", "40x24", "120x24"] {
        assert_snapshot!(format!("runs_{size}"), screen(&compared(), size, ""));
    }
}

#[test]
fn explained_by_the_spread_of_runs() {
    assert_snapshot!(screen(&compared(), "80x30", "/memcpy<enter>="));
    assert_snapshot!(screen(&compared(), "80x40", "4"));
}

#[test]
fn rows_within_noise_are_dimmed_and_added_up() {
    assert_snapshot!(screen(&compared(), "80x24", "3:noise<enter>"));
    let profile = compared();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press(":noise<enter>");
    assert!(viewer.model.dims_noise);
    viewer.press(":noise<enter>");
    assert!(!viewer.model.dims_noise);
}

#[test]
fn what_is_new_or_gone_is_gone_to() {
    assert_snapshot!(screen(&compared(), "40x24", ":next-new<enter>"));
    let shown = screen(&compared(), "80x24", ":next-gone<enter>");
    assert!(shown.contains("no row"), "{shown}");
}

#[test]
fn pages_of_text_are_not_searched_for_paths_that_are_new() {
    for keys in ["4:next-new<enter>", "4:next-gone<enter>", "7:next-new<enter>"] {
        let profile = compared();
        let mut viewer = Viewer::new(&profile, "80x24");
        viewer.press(keys);
        assert!(viewer.model.search.is_none(), "{keys}");
    }
}

#[test]
fn the_page_of_information_says_which_run_it_tells_of() {
    let shown = screen(&compared(), "80x40", "4");
    assert!(shown.contains("Base: 2 runs") && shown.contains("Other: 3 runs"), "{shown}");
    assert!(shown.contains("of the first     runs/before1.csprof"), "{shown}");
}

#[test]
fn command_line_that_compares_the_same_runs() {
    let shown = screen(&compared(), "120x24", ":repro<enter>");
    let files = "csprof diff runs/before1.csprof runs/before2.csprof --with runs/after3.csprof \
                 runs/after4.csprof";
    assert!(shown.contains(files), "{shown}");
}

/// Four threads that share the work of one, and repeat what comes before.
fn scaled(kind: ScalingKind) -> Profile {
    let [base, other] = [
        "worker 2\n  divided 120\n  repeated 30 at:scaled.c:9\n",
        "worker 2\n  divided 126\n  repeated 118 at:scaled.c:9\n  wait 9\n",
    ]
    .map(|outline| from_outline(outline).unwrap());
    let mut profile = Profile::compared(("1.csprof", base), ("4.csprof", other), &[]).unwrap();
    let comparison = profile.comparison.as_mut().unwrap();
    comparison.scaling = Some(Scaling { kind, workers: [1, 4] });
    profile
}

#[test]
fn scaling_loss() {
    for size in ["80x24", "40x24", "120x24"] {
        assert_snapshot!(format!("strong_{size}"), screen(&scaled(ScalingKind::Strong), size, "e"));
    }
    assert_snapshot!(screen(&scaled(ScalingKind::Weak), "80x24", "e/repeated<enter>="));
}
