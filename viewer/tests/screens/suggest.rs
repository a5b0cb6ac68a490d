//! What is worth a look: the list, where it leads, and its reports.

use csprof::profile::{Profile, from_outline};
use csprof::refine::{Refined, apply, parse, shown_of_sides, unwatched};
use csprof::report::{Options, diff, suggest};
use csprof::views::notes::Notes;
use csprof::views::suggest::{MOST, Suggestions, Why, suggestions};
use insta::assert_snapshot;

use super::notes::keep;
use super::{Viewer, screen, solver};

/// `f` is long below `rare` and short below `often`, `scatter` calls many, and `x` waits.
const MIXED: &str = "\
main 5
  rare 0 e=4
    f 200 e=4
  often 0 e=50
    f 100 e=60
  loop 150 e=2
  scatter 0 e=3
    s1 20 e=20
    s2 20 e=20
    s3 20 e=20
    s4 20 e=20
    s5 20 e=20
    s6 20 e=20
    s7 20 e=20
  x 1 e=9
    pthread_mutex_lock 10 e=30
      futex_wait 60 e=30
";

fn list(refined: &Refined) -> Suggestions {
    unwatched(|watch| suggestions(refined, MOST, watch))
}

fn text(refined: &Refined) -> String {
    let mut out = Vec::new();
    suggest::text(refined, &Options::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn compared(base: &str, other: &str) -> Profile {
    let [base, other] = [base, other].map(|text| from_outline(text).unwrap());
    Profile::compared(("old", base), ("new", other), &[]).unwrap()
}

#[test]
fn each_reason_has_its_numbers() {
    assert_snapshot!(text(&Refined::base(&from_outline(MIXED).unwrap())));
}

#[test]
fn parts_are_no_more_than_there_is() {
    for outline in [MIXED, "a 50\n  b 30\n    a 40\n      b 90\n", "f 9\n", ""] {
        let profile = from_outline(outline).unwrap();
        for stages in ["", "hide f", "callers of f", "by module", "through main", "split thread"] {
            let Ok(refined) = apply(&profile, &parse(stages).unwrap()) else { continue };
            let found = list(&refined);
            let sum: u64 = found.list.iter().map(|entry| entry.part[0]).sum();
            assert!(sum <= refined.shown, "{stages}: {sum} of {}", refined.shown);
            for entry in &found.list {
                assert!(entry.part[0] <= entry.row().of(refined.metric).inclusive);
            }
        }
    }
}

#[test]
fn the_refinement_leads_to_the_row() {
    let profile = from_outline(MIXED).unwrap();
    let refined = Refined::base(&profile);
    let found = list(&refined);
    assert_eq!(found.list.len(), 5);
    for entry in &found.list {
        let stage = entry.stage(&refined).unwrap();
        let there = apply(&profile, &parse(&stage).unwrap()).unwrap();
        assert_eq!(there.shown, entry.row().of(refined.metric).inclusive, "{stage}");
    }
}

/// Bounds that leave it open which path is dearer say nothing.
#[test]
fn bounds_that_overlap_are_no_reason() {
    let profile = from_outline(MIXED).unwrap();
    let is_dear = |stages: &str| {
        let refined = apply(&profile, &parse(stages).unwrap()).unwrap();
        list(&refined).list.iter().any(|entry| matches!(entry.why, Why::Dear { .. }))
    };
    assert!(is_dear(""));
    let without_edges = from_outline(&MIXED.replace("e=", "module:m")).unwrap();
    let found = list(&Refined::base(&without_edges));
    assert!(found.list.iter().all(|entry| !matches!(entry.why, Why::Dear { .. })));
    let equal = from_outline("a 0\n  f 100 e=20\nb 0\n  f 100 e=20\n").unwrap();
    let found = list(&Refined::base(&equal));
    assert!(found.list.iter().all(|entry| !matches!(entry.why, Why::Dear { .. })));
}

#[test]
fn a_lock_is_waited_for_in_elapsed_time_alone() {
    let mut profile = from_outline(MIXED).unwrap();
    assert!(text(&Refined::base(&profile)).contains("works for locks (@lock)"));
    profile.info.metric.source = "realtime".to_owned();
    assert!(text(&Refined::base(&profile)).contains("waits for locks"));
}

#[test]
fn the_screen_at_three_widths() {
    let profile = from_outline(MIXED).unwrap();
    for size in ["80x24", "40x16", "120x16"] {
        assert_snapshot!(screen(&profile, size, "!j"));
    }
    let profile = compared("main 5\n  a 300\n  b 100\n", "main 5\n  a 500\n  c 80\n");
    assert_snapshot!(screen(&profile, "80x16", "!"));
    assert!(screen(&from_outline("").unwrap(), "80x16", "!").contains("nothing stands out"));
}

#[test]
fn enter_leads_to_the_row_in_the_tree() {
    let profile = from_outline(MIXED).unwrap();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press("2!<enter>");
    let selected = viewer.model.selected().map(|selected| viewer.model.row_name(selected.row));
    assert_eq!(selected, Some("f"));
    let path = viewer.model.view().selected_path(&viewer.model.refined).unwrap();
    assert_eq!(path, list(&viewer.model.refined).list[0].path);
    assert!(!viewer.screen().contains("Worth a look"));
    // Another refinement has another list.
    let after = viewer.press("x!").screen();
    assert!(after.contains("Worth a look") && !after.contains("> f"), "{after}");
    assert!(Viewer::new(&solver(), "80x24").press("!q").screen().contains("Call path"));
}

#[test]
fn suggestions_are_found_by_reason_and_path() {
    let profile = from_outline(MIXED).unwrap();
    let mut viewer = Viewer::new(&profile, "100x24");
    let found = list(&viewer.model.refined);
    let screen = viewer.press("!/scatter").screen();
    let at = found.list.iter().position(|of| matches!(of.why, Why::ManyCallees { .. })).unwrap();
    assert_eq!(viewer.model.view().line(), at);
    assert!(screen.contains("1 of 1 row, in all"), "{screen}");
    // Parts do not overlap, so together they are no more than there is.
    let screen = viewer.press("<enter>/main<enter>").screen();
    let sum: u64 = found.list.iter().map(|of| of.part[0]).sum();
    let share = csprof::views::number::percent(sum, viewer.model.refined.base);
    assert!(screen.contains("of 5 rows, in all") && screen.contains(&share), "{screen}");
    assert_eq!(viewer.press("n").model.view().line(), 1);
    assert_eq!(viewer.press("NN").model.view().line(), 4);
    assert!(viewer.press("/nothing").screen().contains("not found"), "{}", viewer.screen());
    assert_eq!(viewer.press("<esc>").model.view().line(), 4);
}

#[test]
fn hostile_names_and_depth_are_cut() {
    let name = "\u{1b}[2J\u{202e}|`".repeat(50_000);
    let profile = from_outline(&format!("main 1\n  \"{name}\" 100\n")).unwrap();
    let screen = screen(&profile, "80x24", "!");
    assert!(!screen.contains('\u{1b}') && !screen.contains('\u{202e}'), "{screen}");
    assert!(text(&Refined::base(&profile)).len() < 2_000);
    let deep: String = (0..3_000).map(|depth| format!("{:w$}f 1\n", "", w = 2 * depth)).collect();
    let refined = Refined::base(&from_outline(&deep).unwrap());
    let found = list(&refined);
    assert!(found.list.iter().map(|entry| entry.part[0]).sum::<u64>() <= refined.shown);
}

fn summary(profile: &Profile) -> String {
    let mut out = Vec::new();
    diff::summary::write(&Refined::base(profile), &Options::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_summary_has_what_grew_shrank_came_and_went() {
    let base = "main 5\n  a 300\n    old 90\n  b 200\n  same 400\n  less 300\n";
    let other = "main 6\n  a 310\n    added 70\n      deep 50\n  b 420\n  same 410\n  less 120\n";
    let profile = compared(base, other);
    assert_snapshot!(summary(&profile));
    let found = list(&Refined::base(&profile));
    let sides = shown_of_sides(&Refined::base(&profile));
    for side in [0, 1] {
        assert!(found.list.iter().map(|entry| entry.part[side]).sum::<u64>() <= sides[side]);
    }
}

#[test]
fn a_summary_without_differences_says_so_and_a_long_one_is_short() {
    let same = "main 5\n  a 300\n";
    assert!(
        summary(&compared(same, same))
            .contains("No path differs by more than noise and 2% of all.")
    );
    let many = |cost: usize| (0..30).map(|f| format!("f|{f}` {cost}\n")).collect::<String>();
    let summary = summary(&compared(&many(100), &many(300)));
    assert!(summary.lines().count() <= 20, "{summary}");
    assert!(summary.contains("`f\\|0'`") && summary.contains("20 more"), "{summary}");
}

/// In each list a search for what one side has alone finds it, as in the tree.
#[test]
fn paths_of_one_side_are_found() {
    let profile = compared("main 1\n  f 100\n  old 90\n", "main 1\n  f 300\n  log 200\n");
    for (text, found) in [("is:new", "> log"), ("is:gone", "> old")] {
        let mut viewer = Viewer::new(&profile, "80x24");
        let screen = viewer.press(&format!("!/{text}<enter>")).screen();
        assert!(screen.contains("1 of 1 row"), "{screen}");
        assert!(screen.contains(found), "{screen}");
    }
}

/// Of a note it is its path that one side has alone, and not what is said of it.
#[test]
fn notes_of_one_side_are_found_and_the_prompt_says_what_it_searches() {
    let profile = compared("main 1\n  f 100\n  old 90\n", "main 1\n  f 300\n  log 200\n");
    let mut viewer = Viewer::new(&profile, "80x24");
    let mut notes = Notes::new("./program");
    for keys in ["/log<enter>A", "/old<enter>A", "/main<enter>\"is:new in log<enter>"] {
        viewer.press(keys);
        keep(&mut viewer, &mut notes);
    }
    assert_eq!(notes.list.len(), 3);
    let screen = viewer.press("'/").screen();
    assert!(
        screen.contains("names on paths, and what is said of them; is:new, is:gone"),
        "{screen}"
    );
    viewer.press("<esc>");
    for (text, found) in [("is:new", "log"), ("is:gone", "old")] {
        let screen = viewer.press(&format!("/{text}<enter>")).screen();
        assert!(screen.contains("1 of 1 row"), "{text}: {screen}");
        let note = &notes.list[viewer.model.view().line()];
        assert_eq!(note.names().last(), Some(found), "{screen}");
    }
    let screen = viewer.press("q4/").screen();
    assert!(screen.contains("text of this page") && !screen.contains("is:new"), "{screen}");
}
