//! Sizes, characters, color.

use csprof::profile::{Profile, from_outline};
use csprof::tui::effect::Effect;
use csprof::tui::message::Message;
use csprof::tui::theme::Theme;
use insta::assert_snapshot;
use ratatui::style::Modifier;

use super::{Viewer, screen, solver};

fn wide_names() -> Profile {
    from_outline(
        "
主程序 1
  计算::矩阵乘法(int) 5 e=2
    \"std::vector<hpc::Cell<double>, std::allocator<hpc::Cell<double>>>::resize(unsigned long)\" 9 e=1
    naïve_größe_berechnen 4 e=1
    🚀launch 3 e=1
",
    )
    .unwrap()
}

#[test]
fn too_small_says_so() {
    assert_snapshot!(screen(&solver(), "20x5", "jj?"));
    assert_snapshot!(screen(&solver(), "1x1", "jj"));
}

#[test]
fn smallest() {
    assert_snapshot!(screen(&solver(), "40x10", "H"));
}

#[test]
fn smallest_with_a_prompt_and_a_menu() {
    assert_snapshot!(screen(&solver(), "40x10", "fthrough m"));
    assert_snapshot!(screen(&solver(), "40x10", "jj<enter>"));
    assert_snapshot!(screen(&solver(), "40x10", "jjtF"));
}

#[test]
fn large() {
    assert_snapshot!(screen(&solver(), "200x60", "jje"));
}

#[test]
fn wide_characters_and_long_names() {
    assert_snapshot!(screen(&wide_names(), "80x12", "e"));
    assert_snapshot!(screen(&wide_names(), "60x12", "e"));
    assert_snapshot!(screen(&wide_names(), "120x12", "e"));
}

#[test]
fn ascii() {
    let profile = solver();
    let mut viewer = Viewer::with_theme(&profile, "80x20", Theme::new(false, true));
    let text = viewer.press("jje/allred<enter>t").screen();
    assert!(text.replace('◀', "").is_ascii(), "{text}");
    assert_snapshot!(text);
    for keys in ["u?", "q4", "2", "3", "1F", "q<enter>", "q:", "<esc>=", "qfx"] {
        let text = viewer.press(keys).screen();
        assert!(text.replace('◀', "").is_ascii(), "{keys}: {text}");
    }
}

#[test]
fn without_color_there_is_no_color_and_the_selection_is_reversed() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press("Hj/mp<enter>");
    assert_eq!(viewer.colors(), []);
    let terminal = viewer.terminal();
    let buffer = terminal.backend().buffer();
    let reversed = (0..24).filter(|&y| buffer[(40, y)].modifier.contains(Modifier::REVERSED));
    assert_eq!(reversed.count(), 1);
}

#[test]
fn with_color_only_named_colors_are_used() {
    let profile = solver();
    let mut viewer = Viewer::with_theme(&profile, "80x24", Theme::new(true, false));
    let colors = viewer.press("Hj/mp<enter>").colors();
    assert_eq!(colors.iter().map(ToString::to_string).collect::<Vec<_>>(), ["Magenta", "Red"]);
}

#[test]
fn what_cannot_be_seen_does_nothing() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    for over in ["", "fthrough M", "F", "?"] {
        let before = viewer.press(over).screen();
        viewer.send(Message::Resized { width: 30, height: 5 });
        viewer.press("jtxq<enter>").send(Message::Pasted("PI".to_owned()));
        viewer.send(Message::DoubleClick { x: 3, y: 4 }).send(Message::Wheel(1));
        // q quits, as the screen says, whatever was open.
        assert_eq!(viewer.effects, [Effect::Quit]);
        viewer.effects.clear();
        viewer.send(Message::Resized { width: 80, height: 24 });
        assert_eq!(viewer.screen(), before);
        viewer.press("<esc>");
    }
}

#[test]
fn resizing_keeps_the_selection_in_sight() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press("jjeG").send(Message::Resized { width: 60, height: 10 });
    assert_snapshot!(viewer.screen());
    viewer.send(Message::Resized { width: 5, height: 2 });
    viewer.press("kkkk").send(Message::Resized { width: 80, height: 10 });
    assert_snapshot!(viewer.screen());
}

#[test]
fn a_name_cannot_command_the_terminal() {
    let profile = from_outline("evil\u{1b}]52;c;aGk=\u{7}name 1\n").unwrap();
    let text = screen(&profile, "80x10", "");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{text}");
}
