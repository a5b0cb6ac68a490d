//! The tables of a path.

use csprof::tui::view::Repro;
use insta::assert_snapshot;

use super::{Viewer, screen, solver};

/// Path, number of rows, selected row.
fn state(viewer: &Viewer) -> String {
    let Repro::OfRows(options) = viewer.model.views[4].repro(&viewer.model.refined) else {
        unreachable!()
    };
    let path = options.iter().skip_while(|option| *option != "--path").nth(1);
    let path = path.map_or("", String::as_str);
    let rows = viewer.model.rows().map_or(0, |rows| rows.len());
    let selected = viewer.model.selected().map_or("", |row| viewer.model.row_name(row.row));
    format!("{path} ({rows}), at {selected}")
}

#[test]
fn the_empty_path_has_all_functions() {
    assert_snapshot!(screen(&solver(), "80x20", "5"));
}

#[test]
fn a_path_grows_by_the_selected_row_and_shrinks_again() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x20");
    let mut after = |keys: &str| state(viewer.press(keys));
    assert_eq!(after("5/solve<enter>"), " (13), at solve");
    assert_eq!(after("<enter>"), "\"solve\" (3), at exchange");
    assert_eq!(after("i"), "\"solve\" (6), at exchange");
    assert_eq!(after("/memcpy<enter>"), "\"solve\" (6), at memcpy");
    assert_eq!(after("<enter>"), "\"solve\" >> \"memcpy\" (0), at ");
    assert_eq!(after("w"), "\"solve\" >> \"memcpy\" (2), at _start");
    assert_eq!(after("i"), "\"solve\" >> \"memcpy\" (1), at main");
    assert_eq!(after("<enter>"), "\"main\" > \"solve\" >> \"memcpy\" (1), at _start");
    assert_eq!(
        after("<enter>"),
        "\"_start\" > \"main\" > \"solve\" >> \"memcpy\" (1), at (no caller)"
    );
    assert_snapshot!(viewer.screen());
    // Nothing calls it.
    viewer.press("<enter>");
    assert_snapshot!(viewer.press("<enter>").screen());
    let mut after = |keys: &str| state(viewer.press(keys));
    assert_eq!(after("<backspace><backspace>"), "\"solve\" >> \"memcpy\" (1), at main");
    assert_eq!(after("<backspace>w"), "\"solve\" (3), at exchange");
    assert_eq!(after("<backspace><backspace>"), " (13), at solve");
}

#[test]
fn the_path_becomes_a_stage() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x16");
    viewer.press("5/solve<enter><enter>i/memcpy<enter><enter>T");
    assert_eq!(viewer.model.shown_stages.to_string(), "through \"solve\" >> \"memcpy\"");
    assert_eq!((viewer.model.refined.shown, viewer.model.refined.out), (60, 140));
    // The table is that of what is left, and the path is kept.
    viewer.press("<backspace>");
    assert_snapshot!(viewer.screen());
    viewer.press("uu<backspace>T");
    assert_eq!(viewer.model.shown_stages.to_string(), "through \"solve\"");
    viewer.press("ux");
    assert_snapshot!(viewer.screen());
}

#[test]
fn small_tables() {
    let keys = "5/solve<enter><enter>i/memcpy<enter><enter>w";
    assert_snapshot!(screen(&solver(), "40x10", keys));
    assert_snapshot!(screen(&solver(), "80x24", &format!("{keys}?")));
}
