//! The flame view.

use csprof::profile::{Profile, from_outline};
use csprof::tui::message::Message;
use insta::assert_snapshot;

use super::{Viewer, screen, solver};

/// The selected row, and its path.
fn selected(viewer: &Viewer) -> String {
    let path = viewer.model.view().selected_path(&viewer.model.refined);
    let depth = path.map_or(0, |path| path.0.len());
    let row = viewer.model.selected().map_or("", |selected| viewer.model.row_name(selected.row));
    format!("{row} at {depth}")
}

#[test]
fn boxes_are_as_wide_as_their_cost() {
    assert_snapshot!(screen(&solver(), "80x20", "6"));
    assert_snapshot!(screen(&solver(), "40x12", "6"));
    assert_snapshot!(screen(&solver(), "160x14", "6"));
}

#[test]
fn keys_lead_from_box_to_box_also_to_narrow_ones() {
    let profile = from_outline("main 1\n  a 900\n    c 1\n  b 90\n  d 2\n  e 1\n").unwrap();
    let mut viewer = Viewer::new(&profile, "80x14");
    let mut after = |keys: &str| selected(viewer.press(keys));
    assert_eq!(after("6"), "main at 1");
    assert_eq!(after("j"), "a at 2");
    assert_eq!(after("l"), "b at 2");
    assert_eq!(after("l"), "d at 2");
    assert_eq!(after("l"), "e at 2");
    assert_eq!(after("l"), "e at 2", "there is no other");
    assert_eq!(after("hhh"), "a at 2");
    assert_eq!(after("h"), "a at 2");
    assert_eq!(after("j"), "c at 3");
    assert_eq!(after("kk"), "main at 1");
    assert_eq!(after("k"), "main at 1");
    assert_snapshot!(viewer.press("jll").screen());
}

#[test]
fn the_selection_is_that_of_the_tree() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x20");
    viewer.press("/memcpy<enter>");
    let in_tree = selected(&viewer);
    assert!(in_tree.starts_with("memcpy at "), "{in_tree}");
    assert_eq!(selected(viewer.press("6")), in_tree);
    let above = selected(viewer.press("k"));
    assert_ne!(above, in_tree);
    assert_eq!(selected(viewer.press("1")), above);
}

/// Also through views that have no paths.
#[test]
fn the_selection_survives_other_views() {
    let profile = solver();
    for between in ["", "3", "2", "7", "34", "37", "72"] {
        let mut viewer = Viewer::new(&profile, "80x20");
        viewer.press("/exchange<enter>");
        let in_tree = selected(&viewer);
        assert!(in_tree.starts_with("exchange at "), "{in_tree}");
        assert_eq!(selected(viewer.press(between).press("6")), in_tree, "{between}");
        assert_eq!(selected(viewer.press(between).press("1")), in_tree, "{between}");
        // What is selected in one of the two later is that of both.
        let above = selected(viewer.press("6k").press(between));
        let above = if between.is_empty() { above } else { selected(viewer.press("6")) };
        assert_ne!(above, in_tree);
        assert_eq!(selected(viewer.press(between).press("1")), above, "{between}");
    }
    // A fold that is selected stays one.
    let mut viewer = Viewer::new(&profile, "80x20");
    let before = viewer.press("gg").screen();
    assert_eq!(viewer.press("31").screen(), before);
}

#[test]
fn zooming_is_a_step_and_moving_is_none() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x20");
    viewer.press("6jjl");
    let before = viewer.screen();
    assert_snapshot!(viewer.press("<enter>").screen());
    viewer.press("u");
    let boxes = |screen: &str| screen.lines().skip(3).take(12).collect::<Vec<_>>().join("\n");
    assert_eq!(boxes(&viewer.screen()), boxes(&before));
    viewer.press("<C-r><backspace>");
    viewer.press("<backspace><backspace><backspace>");
    assert!(viewer.screen().contains("this is all of the picture"));
}

#[test]
fn stages_are_made_of_boxes() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x16");
    viewer.press("6/memcpy<enter>C");
    assert_eq!(viewer.model.shown_stages.to_string(), "callers of \"memcpy\"");
    assert_snapshot!(viewer.screen());
}

#[test]
fn what_is_found_is_marked_and_a_box_outside_of_the_picture_leads_out_of_the_zoom() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x20");
    viewer.press("6/exchange<enter><enter>");
    assert!(viewer.screen().lines().nth(3).unwrap().contains("exchange"));
    viewer.press("/read_input<enter>");
    assert!(viewer.screen().lines().nth(3).unwrap().contains("all call paths"));
}

#[test]
fn a_selection_below_a_narrow_box_is_where_that_box_is() {
    let mut outline = "main 0\n  wide 1000\n  narrow 0\n".to_owned();
    for depth in 0..40 {
        outline.push_str(&format!("{}f{depth} {}\n", "  ".repeat(depth + 2), depth / 39));
    }
    let profile = from_outline(&outline).unwrap();
    let mut viewer = Viewer::new(&profile, "80x14");
    assert_eq!(selected(viewer.press("6/f39<enter>")), "f39 at 42");
    assert!(viewer.screen().contains("wide"), "{}", viewer.screen());
    viewer.press("<enter>");
    assert!(viewer.screen().lines().nth(3).unwrap().contains("f39"), "{}", viewer.screen());
}

#[test]
fn the_zoom_stays_while_something_is_typed_and_is_left_box_by_box() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x20");
    let first = |viewer: &Viewer| viewer.screen().lines().nth(3).unwrap().to_owned();
    viewer.press("6/exchange<enter><enter>");
    viewer.press("/read_input");
    assert!(first(&viewer).contains("all call paths"));
    viewer.press("<esc>");
    assert!(first(&viewer).contains("exchange"), "{}", viewer.screen());
    assert_eq!(selected(viewer.press("k")), "solve at 3");
    assert!(first(&viewer).contains("solve"), "{}", viewer.screen());
}

#[test]
fn a_zoom_begins_with_its_box_wherever_the_picture_was() {
    let mut outline = String::new();
    for depth in 0..100 {
        outline.push_str(&format!("{}f{depth} {}\n", "  ".repeat(depth), depth / 99));
    }
    let profile = from_outline(&outline).unwrap();
    let mut viewer = Viewer::new(&profile, "80x20");
    viewer.press("6").press(&"j".repeat(60));
    assert_eq!(selected(&viewer), "f60 at 61");
    viewer.press("<enter>");
    let line = |viewer: &Viewer, at| viewer.screen().lines().nth(at).unwrap().to_owned();
    assert!(line(&viewer, 3).contains("f60"), "{}", viewer.screen());
    assert!(line(&viewer, 4).contains("f61"), "{}", viewer.screen());
    // Out again, and of the whole picture the selected box is seen.
    viewer.press("<backspace>");
    assert!(line(&viewer, 3).contains("f59") && line(&viewer, 4).contains("f60"));
    viewer.press("uu");
    assert!(viewer.screen().contains("f60"), "{}", viewer.screen());
    viewer.send(Message::Resized { width: 80, height: 10 });
    assert!(
        viewer.screen().lines().skip(3).any(|line| line.contains("f60")),
        "{}",
        viewer.screen()
    );
}

#[test]
fn sides_are_as_wide_as_they_compare() {
    let read = |text: &str, period: u64| {
        let mut profile = from_outline(text).unwrap();
        profile.info.metric.period = period;
        profile
    };
    let base = read("main 0\n  a 200\n  b 200\n", 10_000_000);
    let other = read("main 0\n  b 4000\n", 500_000);
    let profile = Profile::compared(("base", base), ("other", other), &[]).unwrap();
    // a has 2 s, b 2 s and 2 s.
    let screen = screen(&profile, "60x14", "6");
    let boxes = screen.lines().nth(5).unwrap();
    let second = boxes.chars().collect::<Vec<_>>().iter().rposition(|c| *c == '▏').unwrap();
    assert_eq!(second, 40, "{screen}");
}

#[test]
fn sides_that_are_compared_have_marks() {
    let [base, other] = ["main 100\n  a 900\n  b 100\n", "main 100\n  a 100\n  b 900\n"]
        .map(|text| from_outline(text).unwrap());
    let profile = Profile::compared(("base", base), ("other", other), &[]).unwrap();
    assert_snapshot!(screen(&profile, "80x14", "6j"));
}

#[test]
fn without_samples_there_is_the_reason() {
    let profile = from_outline("main 0\n").unwrap();
    assert_snapshot!(screen(&profile, "80x14", "6"));
}

#[test]
fn a_click_selects_and_a_double_click_zooms() {
    let profile = from_outline("main 1\n  a 900\n    c 800\n  b 90\n").unwrap();
    let mut viewer = Viewer::new(&profile, "80x14");
    viewer.press("6");
    assert_eq!(selected(viewer.send(Message::Click { x: 10, y: 5 })), "a at 2");
    assert_eq!(selected(viewer.send(Message::Click { x: 10, y: 6 })), "c at 3");
    assert_eq!(selected(viewer.send(Message::Click { x: 78, y: 6 })), "c at 3", "nothing is there");
    viewer.send(Message::Click { x: 10, y: 5 });
    viewer.send(Message::DoubleClick { x: 10, y: 5 });
    assert!(viewer.screen().lines().nth(3).unwrap().contains('a'), "{}", viewer.screen());
}

#[test]
fn boxes_of_one_name_beside_each_other_are_told_apart() {
    let profile = from_outline("main\n  parse_it 40\n  parse_it tail\n    work 60\n").unwrap();
    let screen = screen(&profile, "80x14", "6");
    let line = screen.lines().find(|line| line.contains("parse_it")).unwrap();
    assert_eq!(line.matches("parse_it").count(), 2, "{screen}");
    assert_eq!(line.matches("parse_it tail call").count(), 1, "{screen}");
}
