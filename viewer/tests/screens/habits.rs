//! Keys that mean something else in `perf report` or `less`.

use std::collections::BTreeSet;

use super::*;

#[test]
fn a_habit_that_leads_elsewhere_is_told_once() {
    let mut viewer = Viewer::new(&solver(), "100x24");
    viewer.model.told = Some(BTreeSet::new());
    let last = |viewer: &mut Viewer, keys: &str| {
        let screen = viewer.press(keys).screen();
        screen.lines().last().unwrap().replace('◀', "").trim().to_owned()
    };
    let said = last(&mut viewer, "jjd");
    assert_eq!(said, "d: hide it; in less: half a screen down is <C-d>");
    // Once, and not of what is the same there.
    assert!(!last(&mut viewer, "d").contains("less"), "{}", viewer.screen());
    assert!(!last(&mut viewer, "u<C-d>G").contains("less"), "{}", viewer.screen());
    // A key without a meaning leads to what has it.
    assert_eq!(last(&mut viewer, "a"), "a: no key here; in perf report: annotate is 7");
    assert_eq!(last(&mut viewer, "E"), "E: close all rows; in perf report: opens all rows is e");
    assert_eq!(last(&mut viewer, "<lt>"), "<lt>: no key here; in less: the first line is g");
    assert_eq!(last(&mut viewer, ">"), ">: no key here; in less: the last line is G");
    // A prompt takes them as text, and its own line says what it is.
    let said = last(&mut viewer, "fhide t");
    assert!(!said.contains("perf report"), "{said}");
    // The prompt hides what would be said of the key that opens it.
    assert!(!viewer.model.told.as_ref().unwrap().contains("f"), "{:?}", viewer.model.told);
    // Another key for it is told, and one that the user has given the same meaning is not.
    viewer.press("<esc>");
    let changes = [("half-page-down".to_owned(), "d".to_owned())];
    viewer.model.keymap = csprof::tui::keymap::Keymap::changed(&changes, false).unwrap().into();
    viewer.model.told = Some(BTreeSet::new());
    assert!(!last(&mut viewer, "d").contains("less"), "{}", viewer.screen());
}

/// Another key for the same, and what a click sends, are no habit.
#[test]
fn a_habit_is_told_of_its_key_alone() {
    let mut viewer = Viewer::new(&solver(), "100x24");
    viewer.model.told = Some(BTreeSet::new());
    let screen = viewer.press("jl<left>").screen();
    assert!(!screen.contains("less"), "{screen}");
    let screen = viewer.send(Message::Close).screen();
    assert!(!screen.contains("less"), "{screen}");
    // Nor what comes by something else after the key.
    let _ = viewer.model.message(Key::parse_first("h").unwrap().0);
    viewer.send(Message::Click { x: 0, y: 3 }).send(Message::Close);
    assert!(!viewer.screen().contains("less"), "{}", viewer.screen());
    let screen = viewer.press("h").screen();
    assert!(screen.contains("in less, perf report: help is ?"), "{screen}");
}

/// It is not told where something more important is, or where there is no room; then the next time.
#[test]
fn a_habit_waits_for_room() {
    let mut viewer = Viewer::new(&solver(), "40x10");
    viewer.model.told = Some(BTreeSet::new());
    assert!(!viewer.press("E").screen().contains("perf"), "{}", viewer.screen());
    viewer.send(Message::Resized { width: 100, height: 24 });
    assert!(
        viewer.press("E").screen().contains("in perf report: opens all rows"),
        "{}",
        viewer.screen()
    );
}
