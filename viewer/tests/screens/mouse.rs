//! The mouse.

use csprof::tui::message::Message;
use insta::assert_snapshot;

use super::{Viewer, screen, solver};

#[test]
fn a_click_selects_and_a_double_click_opens() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.send(Message::Click { x: 5, y: 5 });
    assert_eq!(viewer.screen(), screen(&profile, "80x24", "jj"));
    viewer.send(Message::DoubleClick { x: 5, y: 5 });
    assert_eq!(viewer.screen(), screen(&profile, "80x24", "jj<space>"));
    // Below the last row there is nothing.
    viewer.send(Message::Click { x: 5, y: 20 });
    assert_eq!(viewer.screen(), screen(&profile, "80x24", "jj<space>"));
}

#[test]
fn a_click_on_the_sign_before_a_name_opens_and_closes() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    let lines: Vec<String> = viewer.screen().lines().map(str::to_owned).collect();
    let closed = lines.iter().position(|line| line.contains('▸')).unwrap();
    let x = lines[closed].chars().position(|sign| sign == '▸').unwrap();
    let (x, y) = (u16::try_from(x).unwrap(), u16::try_from(closed).unwrap());
    let before = viewer.model.rows().unwrap().len();
    viewer.send(Message::Click { x, y });
    assert!(viewer.model.rows().unwrap().len() > before, "{}", viewer.screen());
    assert_eq!(viewer.model.rows().unwrap().selected(), closed - 3);
    viewer.send(Message::Click { x, y });
    assert_eq!(viewer.model.rows().unwrap().len(), before);
    // Two clicks in a row are two of them.
    viewer.send(Message::Click { x, y }).send(Message::DoubleClick { x, y });
    assert_eq!(viewer.model.rows().unwrap().len(), before);
    viewer.send(Message::Click { x: x + 4, y });
    assert_eq!(viewer.model.rows().unwrap().len(), before);
}

#[test]
fn a_click_on_a_heading_sorts_and_another_reverses() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press("j").send(Message::Click { x: 3, y: 2 });
    assert_snapshot!(viewer.screen());
    viewer.send(Message::Click { x: 3, y: 2 });
    assert_snapshot!(viewer.screen());
}

#[test]
fn a_click_on_the_name_of_a_view_shows_it() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "120x24");
    let first_line = viewer.screen().lines().next().unwrap().to_owned();
    let x = u16::try_from(first_line.find("3 Flat").unwrap()).unwrap();
    viewer.send(Message::Click { x, y: 0 });
    assert_eq!(viewer.screen(), screen(&profile, "120x24", "3"));
}

#[test]
fn the_wheel_scrolls_and_keeps_the_selection_while_it_is_in_sight() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x10");
    viewer.press("jjegjjjj").send(Message::Wheel(1));
    assert_eq!(
        (viewer.model.rows().unwrap().scroll(), viewer.model.rows().unwrap().selected()),
        (3, 4)
    );
    viewer.send(Message::Wheel(1));
    assert_eq!(
        (viewer.model.rows().unwrap().scroll(), viewer.model.rows().unwrap().selected()),
        (6, 6)
    );
    viewer.send(Message::Wheel(-1));
    assert_eq!(
        (viewer.model.rows().unwrap().scroll(), viewer.model.rows().unwrap().selected()),
        (3, 6)
    );
}

#[test]
fn lists_are_clicked_on() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press("fthrough MPI_* | hide memcpy<enter>").send(Message::Click { x: 4, y: 1 });
    let lines = |viewer: &Viewer, text: &str| {
        let screen = viewer.screen();
        let lines: Vec<_> = screen.lines().collect();
        u16::try_from(lines.iter().rposition(|line| line.contains(text)).unwrap()).unwrap()
    };
    let y = lines(&viewer, "hide memcpy");
    viewer.send(Message::Click { x: 4, y });
    let by_key = screen(&profile, "80x24", "fthrough MPI_* | hide memcpy<enter>Fj");
    assert_eq!(viewer.screen(), by_key);
    // Beside the stages there is nothing.
    viewer.send(Message::Click { x: 4, y: y + 1 }).send(Message::Click { x: 4, y: 5 });
    assert_eq!(viewer.screen(), by_key);
    viewer.send(Message::DoubleClick { x: 4, y });
    assert!(viewer.screen().contains("stage: hide memcpy"));

    let mut viewer = Viewer::new(&profile, "80x24");
    let y = lines(viewer.press("P"), "pid 1000");
    viewer.send(Message::Click { x: 4, y }).send(Message::DoubleClick { x: 4, y });
    assert_eq!(viewer.screen(), screen(&profile, "80x24", "P<enter>"));
}

#[test]
fn a_click_in_the_menu_does_it() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press("jj<enter>");
    let line = viewer.screen().lines().position(|line| line.contains("hide it")).unwrap();
    viewer.send(Message::Click { x: 10, y: u16::try_from(line).unwrap() });
    assert_eq!(viewer.screen(), screen(&profile, "80x24", "jjd"));
    // A click beside it closes it.
    viewer.press("<enter>").send(Message::Click { x: 10, y: 0 });
    assert_eq!(viewer.screen(), screen(&profile, "80x24", "jjd"));
}

/// Clicks on the last line, at the text.
fn click_hint(viewer: &mut Viewer, text: &str) {
    let screen = viewer.screen();
    let line = screen.lines().last().unwrap();
    let x = line.find(text).unwrap_or_else(|| panic!("{text}: {line}"));
    let y = u16::try_from(screen.lines().count() - 1).unwrap();
    viewer.send(Message::Click { x: u16::try_from(line[..x].chars().count()).unwrap(), y });
}

#[test]
fn hints_can_be_clicked() {
    let profile = solver();
    for (text, keys) in [
        ("help", "?"),
        ("?", "?"),
        ("undo", "u"),
        ("= ", "="),
        ("hot path", "H"),
        ("h open", "h"),
        ("l h", "l"),
    ] {
        let mut viewer = Viewer::new(&profile, "80x24");
        viewer.press("j");
        click_hint(&mut viewer, text);
        let expected = screen(&profile, "80x24", &format!("j{keys}"));
        assert_eq!(viewer.screen(), expected, "{text}");
    }
    // Over other things, and between hints there is nothing.
    let mut viewer = Viewer::new(&profile, "80x24");
    click_hint(viewer.press("F"), "add");
    assert_eq!(viewer.screen(), screen(&profile, "80x24", "Ff"));
    let mut viewer = Viewer::new(&profile, "80x24");
    click_hint(&mut viewer, "  q quit");
    assert!(viewer.effects.is_empty());
}

#[test]
fn every_hint_is_a_key_where_it_stands() {
    for keys in ["1", "2", "3", "3<lt>", "4", "5", "6", "P", "F", "?", "<enter>"] {
        let profile = solver();
        let mut viewer = Viewer::new(&profile, "200x24");
        viewer.press(keys);
        let hints = viewer.screen().lines().last().unwrap().to_owned();
        for word in hints.split("  ").map(str::trim).filter(|word| !word.is_empty()) {
            let mut clicked = viewer.model.clone();
            let x = hints.find(word).unwrap();
            let x = u16::try_from(hints[..x].chars().count()).unwrap();
            let click = Message::Click { x, y: 23 };
            csprof::tui::update::update(&mut clicked, click);
            let unbound =
                clicked.notice.as_ref().is_some_and(|of| format!("{of:?}").contains("is no key"));
            assert!(!unbound, "{keys}: {word}");
        }
    }
}

#[test]
fn the_right_button_opens_the_menu_of_a_row_and_leaves_it() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    let before = viewer.press("jj").screen();
    viewer.press("k").send(Message::RightClick { x: 5, y: 5 });
    assert_eq!(viewer.screen(), screen(&profile, "80x24", "jj<enter>"));
    viewer.send(Message::RightClick { x: 70, y: 22 });
    assert_eq!(viewer.screen(), before);
    // Neither headings nor empty lines are rows.
    for y in [0, 1, 2, 21, 23] {
        viewer.send(Message::RightClick { x: 5, y });
        assert_eq!(viewer.screen(), before, "{y}");
    }
    // Boxes of the flame view are.
    let boxes = viewer.press("6").send(Message::RightClick { x: 5, y: 4 }).screen();
    assert!(boxes.contains("only paths through it"), "{boxes}");
}

#[test]
fn the_line_before_the_numbers_can_be_dragged() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x14");
    let before = viewer.screen();
    let x = before.lines().nth(4).unwrap().chars().rev().position(|c| c == '│').unwrap();
    let x = u16::try_from(before.lines().nth(4).unwrap().chars().count() - 1 - x).unwrap();
    // Elsewhere nothing is dragged.
    viewer.send(Message::Click { x: x - 4, y: 3 }).send(Message::Drag { x: 60, y: 3 });
    assert_eq!(viewer.screen(), before);
    viewer.send(Message::Click { x, y: 4 }).send(Message::Drag { x: 60, y: 4 });
    assert_snapshot!(viewer.screen());
    viewer.send(Message::Drag { x: 200, y: 4 }).send(Message::Drag { x: 0, y: 4 });
    assert!(viewer.screen().contains("time/edge"), "{}", viewer.screen());
    viewer.send(Message::Click { x: 2, y: 4 }).send(Message::Drag { x: 70, y: 4 });
    assert!(viewer.screen().contains("time/edge"), "it was let go");
}
