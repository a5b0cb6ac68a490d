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
