//! Keys: habits of other programs, counts, commands by name, and keys of the user's own.

use std::sync::Arc;

use csprof::profile::{Profile, from_outline};
use csprof::tui::keymap::{Keymap, bindings, modes};
use csprof::tui::message::Message;
use csprof::tui::mode::{PROMPT, TOO_SMALL};
use csprof::views::columns::{DEFINITIONS, Id};
use insta::assert_snapshot;

use super::{Viewer, screen, solver};

/// A hundred functions that cost less and less.
fn long() -> Profile {
    let line = |at: usize| format!("  f{at:02} {}\n", 200 - at);
    from_outline(&format!("main 1\n{}", (0..100).map(line).collect::<String>())).unwrap()
}

fn changed(viewer: &mut Viewer, changes: &[(&str, &str)], has_counts: bool) {
    let owned = |(name, keys): &(&str, &str)| ((*name).to_owned(), (*keys).to_owned());
    let changes: Vec<_> = changes.iter().map(owned).collect();
    viewer.model.keymap = Arc::new(Keymap::changed(&changes, has_counts).unwrap());
}

/// The selected line and the first one that is seen.
fn at(viewer: &mut Viewer, keys: &str) -> (usize, usize) {
    let rows = viewer.press(keys).model.rows().unwrap();
    (rows.selected(), rows.scroll())
}

#[test]
fn screens_and_halves_of_them() {
    let profile = long();
    // 20 rows.
    let mut viewer = Viewer::new(&profile, "80x25");
    assert_eq!(at(&mut viewer, "<C-f>"), (19, 0));
    assert_eq!(at(&mut viewer, "<C-f>").0, 38);
    assert_eq!(at(&mut viewer, "<C-b>").0, 19);
    assert_eq!(at(&mut viewer, "<C-d>").0, 28);
    assert_eq!(at(&mut viewer, "<C-u><C-u>").0, 10);
}

#[test]
fn the_window_moves_around_the_selected_row() {
    let profile = long();
    let mut viewer = Viewer::new(&profile, "80x25");
    at(&mut viewer, "<C-f><C-f>");
    assert_eq!(at(&mut viewer, "zt"), (38, 38));
    assert_eq!(at(&mut viewer, "zb"), (38, 19));
    assert_eq!(at(&mut viewer, "zz"), (38, 28));
    // Nothing is below the last row.
    assert_eq!(at(&mut viewer, "Gzt"), (100, 81));
    // Half of a key says what may follow, and another key ends it.
    assert_snapshot!(viewer.press("z").screen().lines().last().unwrap());
    assert_eq!(viewer.press("<esc>").screen(), viewer.press("z<esc>").screen());
    assert!(viewer.press("zq").screen().contains("zq is no key"), "{}", viewer.screen());
}

#[test]
fn digits_are_counts_where_they_are_no_views() {
    let profile = long();
    let mut viewer = Viewer::new(&profile, "80x24");
    // Over a page there are no views to choose.
    let by_count = viewer.press("?5j").screen();
    assert_eq!(by_count, screen(&profile, "80x24", "?jjjjj"));
    viewer.press("q");
    changed(&mut viewer, &[], true);
    assert_eq!(at(&mut viewer, "5j").0, 5);
    assert_eq!(at(&mut viewer, "12j2k").0, 15);
    assert_eq!(at(&mut viewer, "40G").0, 39);
    assert_eq!(at(&mut viewer, "1G").0, 0);
    assert_eq!(at(&mut viewer, ":30<enter>").0, 29);
    assert_eq!(at(&mut viewer, "99999999999999999999j").0, 100);
    assert_snapshot!(viewer.press("12").screen().lines().last().unwrap());
    assert_eq!(at(&mut viewer, "<esc>k").0, 99, "the count is forgotten");
    assert!(viewer.press("3<tab>").screen().contains("[3 Flat]"), "{}", viewer.screen());
}

#[test]
fn commands_are_found_by_parts_of_their_names() {
    let profile = solver();
    assert_snapshot!(screen(&profile, "80x24", ":"));
    assert_snapshot!(screen(&profile, "80x24", ":hot"));
    assert_snapshot!(screen(&profile, "40x14", ":page"));
    assert_snapshot!(screen(&profile, "120x14", ":spl"));
    // What is marked is run; tab takes another.
    assert_eq!(
        screen(&profile, "80x24", "j:htpath<enter>"),
        screen(&profile, "80x24", "j:htpath<tab><enter>")
    );
    assert_eq!(screen(&profile, "80x24", ":next-v<enter>"), screen(&profile, "80x24", "<tab>"));
    assert_eq!(screen(&profile, "80x24", ":flat<enter>"), screen(&profile, "80x24", "3"));
    let screen = screen(&profile, "80x24", ":nosuch<enter>");
    assert!(screen.contains("no command goes with “nosuch”"), "{screen}");
}

#[test]
fn the_help_says_what_is_not_as_elsewhere() {
    assert_snapshot!(screen(&solver(), "80x30", "?/Not as<enter>"));
}

/// Every key of every mode, pressed in each view, on a narrow, a usual and a wide screen: it is no
/// unknown key where its mode says that it is one, and the screen can be painted.
#[test]
fn every_key_of_every_mode_can_be_pressed() {
    for size in ["40x24", "80x24", "120x24"] {
        press_every_key(size);
    }
}

fn press_every_key(size: &str) {
    let profile = solver();
    let ways = [
        "1",
        "2",
        "3",
        "3<lt>",
        "4",
        "5",
        "6",
        "7",
        "P",
        "B",
        "D",
        "!",
        "'",
        "I",
        "?",
        "<enter>",
        "F",
        "fthrough main<enter>F",
        "|",
        "/",
        ":",
    ];
    let mut seen = Vec::new();
    for way in ways {
        let mut viewer = Viewer::new(&profile, size);
        viewer.press("j").press(way);
        let mode = viewer.model.mode();
        seen.push(mode.title);
        for binding in bindings(mode) {
            for keys in binding.keys() {
                let mut viewer = Viewer::new(&profile, size);
                viewer.press("j").press(way);
                for (place, key) in keys.iter().enumerate() {
                    let message = viewer.model.message(*key);
                    let is_last = place + 1 == keys.len();
                    match &message {
                        Some(Message::Begun(_)) if !is_last => {}
                        Some(Message::Unbound(_) | Message::Typed(_) | Message::Begun(_))
                        | None => {
                            panic!("{keys:?} of {} at {size}: {message:?}", mode.title)
                        }
                        Some(message) => assert_eq!(
                            std::mem::discriminant(message),
                            std::mem::discriminant(&binding.message),
                        ),
                    }
                    viewer.send(message.unwrap());
                }
                assert_eq!(viewer.screen().lines().count(), 24, "{size}");
            }
        }
    }
    let missing: Vec<_> =
        modes().map(|mode| mode.title).filter(|title| !seen.contains(title)).collect();
    assert_eq!(missing, [TOO_SMALL.title]);
    assert!(seen.contains(&PROMPT.title));
}

#[test]
fn keys_of_ones_own_are_in_help_hints_and_menu() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    changed(&mut viewer, &[("hot", "<C-h>"), ("through", "+"), ("help", "<C-k>")], false);
    assert_snapshot!(viewer.press("j").screen());
    assert!(viewer.press("<C-k>").screen().contains("Help for"), "{}", viewer.screen());
    assert!(viewer.press("/follow the<enter>").screen().contains(" <C-h> "), "{}", viewer.screen());
    let menu = viewer.press("qq<enter>").screen();
    assert!(menu.contains("+   only paths through it"), "{menu}");
    assert_eq!(viewer.press("+").model.stages.to_string(), "through \"main\"");
    assert!(viewer.press("t").screen().contains("t is no key"), "{}", viewer.screen());
    assert!(viewer.press(":hot").screen().contains("<C-h>"), "{}", viewer.screen());
}

#[test]
fn columns_that_were_chosen_stand_in_their_order_and_fit() {
    let profile = solver();
    let heading = |size: &str, names: &[&str]| {
        let mut viewer = Viewer::new(&profile, size);
        let named = |name: &str| DEFINITIONS.iter().find(|column| column.name == Some(name));
        let id = |name: &&str| named(name).unwrap().id;
        viewer.model.named_columns = names.iter().map(id).collect();
        let screen = viewer.screen();
        let numbers = screen.lines().nth(2).unwrap().rsplit('┬').next().unwrap().to_owned();
        numbers.split(['─', ' ', '▼']).filter(|of| !of.is_empty()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(heading("80x14", &["edges", "time"]), "edges time");
    assert_eq!(heading("80x14", &["excl", "samples"]), "excl time samples");
    assert_eq!(heading("40x14", &["edges", "calls", "time"]), "edges calls", "the first ones");
    assert_eq!(heading("80x14", &[]), "time % all excl% edges calls");
}

#[test]
fn columns_that_were_named_are_chosen_from_and_come_back() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.model.named_columns = vec![Id::Samples, Id::Module];
    let mut heading = |keys: &str| {
        let screen = viewer.press(keys).screen();
        let numbers = screen.lines().nth(2).unwrap().rsplit('┬').next().unwrap().to_owned();
        let words = numbers.split(['─', ' ', '▼']).filter(|of| !of.is_empty());
        (words.collect::<Vec<_>>().join(" "), viewer.model.columns().path_width)
    };
    let (first, room) = heading("");
    assert_eq!(first, "samples module");
    assert_eq!(heading("|<space>").0, "module");
    assert_eq!(heading("<space>J").0, "module samples");
    viewer.model.path_width = Some(70);
    let mut heading = |keys: &str| (viewer.press(keys).model.columns().path_width, viewer.screen());
    assert_ne!(heading("").0, room);
    let (path, screen) = heading("r");
    assert_eq!(path, room);
    assert!(screen.lines().any(|line| line.starts_with(" [x] samples")), "{screen}");
}

#[test]
fn what_a_file_of_settings_changes_is_left_out_of_command_lines() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.model.configured = true;
    assert!(viewer.press(":repro<enter>").screen().contains("csprof --no-config report"));
}

/// Whatever has the focus says that a key is none of its own.
#[test]
fn keys_without_a_meaning_are_told_everywhere() {
    for way in ["", "!", "'", "F", "|", "I", "?", "=", "<enter>", "7", "D"] {
        let mut viewer = Viewer::new(&solver(), "80x24");
        viewer.press("jj").press(way).press("Q");
        let screen = viewer.screen();
        let last = screen.lines().last().unwrap();
        assert!(last.contains("Q is "), "{way}: {screen}");
        assert!(!viewer.press("j").screen().contains("Q is "), "{way}");
    }
}
