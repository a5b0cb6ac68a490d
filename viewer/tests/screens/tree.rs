//! The tree: moving, opening, order, columns.

use csprof::profile::from_outline;
use insta::assert_snapshot;

use super::{Viewer, screen, solver};
use csprof::tui::message::Notice;

#[test]
fn a_search_says_how_many_names_it_finds() {
    let profile = solver();
    let last_line = |keys: &str| {
        let screen = screen(&profile, "80x20", keys);
        screen.lines().last().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    // `main`, `memcpy` below closed rows, `MPI_Sendrecv`, `MPI_Allreduce`; `poll` has two rows.
    assert_eq!(last_line("/"), "/");
    assert_eq!(last_line("/m"), "/m 4 names");
    assert_eq!(last_line("/MPI"), "/MPI 2 names");
    assert_eq!(last_line("/poll"), "/poll 1 name");
    assert_eq!(last_line("3/poll"), "/poll 1 name");
    assert_eq!(last_line("fnot through poll<enter>/poll"), "/poll not found");
    assert_eq!(last_line("3<lt>/libc"), "/libc not found", "load modules are not listed");
}

#[test]
fn who_has_not_moved_sees_what_comes_first() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x10");
    viewer.press("3ss");
    assert_eq!(viewer.model.rows().unwrap().selected(), 0);
    // A row that was chosen is followed.
    viewer.press("jjj");
    let chosen = viewer.model.selected().unwrap().row.function;
    viewer.press("s");
    assert_eq!(viewer.model.selected().unwrap().row.function, chosen);
}

#[test]
fn first_screen() {
    assert_snapshot!(screen(&solver(), "80x24", ""));
}

#[test]
fn moving_and_opening() {
    assert_snapshot!(screen(&solver(), "80x16", "jjljlljh"));
}

#[test]
fn opened_below_and_closed_again() {
    assert_snapshot!(screen(&solver(), "80x20", "jje"));
    assert_eq!(screen(&solver(), "80x20", "jjeE"), screen(&solver(), "80x20", "E"));
}

#[test]
fn left_goes_to_the_parent() {
    // From MPI_Allreduce to solve, which is open, and once more to close that.
    let opened = screen(&solver(), "80x20", "jjl");
    assert_eq!(screen(&solver(), "80x20", "jjlljh"), opened);
    assert_eq!(screen(&solver(), "80x20", "jjlljhh"), screen(&solver(), "80x20", "jj"));
}

#[test]
fn hot_path() {
    assert_snapshot!(screen(&solver(), "80x20", "H"));
}

#[test]
fn hot_path_again_says_where_it_ends() {
    assert_snapshot!(screen(&solver(), "80x12", "HHHH"));
}

#[test]
fn order_by_the_next_columns_and_reversed() {
    assert_snapshot!(screen(&solver(), "80x12", "jls"));
    assert_snapshot!(screen(&solver(), "80x12", "jlsss"));
    assert_snapshot!(screen(&solver(), "80x12", "jlS"));
}

#[test]
fn the_selection_stays_on_its_row_when_the_order_changes() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press("jjlljsss");
    let selected = viewer.model.selected().unwrap();
    assert_eq!(viewer.model.row_name(selected.row), "MPI_Allreduce");
}

#[test]
fn percent_of_what_is_shown() {
    assert_snapshot!(screen(&solver(), "80x12", "jjlljt%"));
}

#[test]
fn explained_numbers() {
    assert_snapshot!(screen(&solver(), "80x24", "jjll="));
}

#[test]
fn explained_interval() {
    assert_snapshot!(screen(&solver(), "80x24", "/allred<enter>tkk="));
}

#[test]
fn action_menu() {
    assert_snapshot!(screen(&solver(), "80x24", "jj<enter>jj"));
}

#[test]
fn action_menu_takes_the_keys_of_its_items() {
    let by_menu = screen(&solver(), "80x24", "jj<enter>t");
    assert_eq!(by_menu, screen(&solver(), "80x24", "jjt"));
    assert_eq!(by_menu, screen(&solver(), "80x24", "jj<enter>g<enter>"));
}

#[test]
fn callers_of_the_selected_function() {
    assert_snapshot!(screen(&solver(), "80x20", "/poll<enter>2lj"));
}

#[test]
fn flat() {
    assert_snapshot!(screen(&solver(), "80x20", "3"));
}

#[test]
fn search_opens_the_way_and_marks() {
    assert_snapshot!(screen(&solver(), "80x20", "/mem"));
    assert_snapshot!(screen(&solver(), "80x20", "/poll<enter>n"));
}

#[test]
fn search_without_a_find_goes_back() {
    assert_snapshot!(screen(&solver(), "80x12", "j/memx"));
    assert_eq!(screen(&solver(), "80x12", "j/memx<esc>"), screen(&solver(), "80x12", "j"));
}

#[test]
fn search_for_the_name_of_a_row() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press("/poll<enter>*");
    // The other poll: that below MPI_Allreduce costs more, and was found first.
    let (line, rows) = (viewer.model.selected().unwrap().line, viewer.model.rows().unwrap());
    let names: Vec<_> = rows.rows_to(line).iter().map(|row| viewer.model.row_name(row)).collect();
    assert_eq!(names, ["_start", "main", "solve", "exchange", "MPI_Sendrecv", "poll"]);
}

#[test]
fn a_hundred_levels_deep() {
    let mut outline = String::new();
    for depth in 0..100 {
        outline.push_str(&format!("{}visit{depth} 1 e=3\n", "  ".repeat(depth)));
    }
    let profile = from_outline(&outline).unwrap();
    assert_snapshot!(screen(&profile, "80x14", "HHHHG"));
}

#[test]
fn copying_the_path() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press("jjly");
    insta::assert_debug_snapshot!(viewer.effects, @r#"
    [
        Copy(
            "_start > main > solve",
        ),
    ]
    "#);
}

#[test]
fn callers_are_made_when_they_are_looked_at_and_keep_what_was_open() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x20");
    assert!(viewer.model.views[1].rows().is_none());
    viewer.press("/poll<enter>2l1fthrough MPI_*<enter>");
    assert!(viewer.model.views[1].rows().is_none());
    assert_snapshot!(viewer.press("2").screen());
}

#[test]
fn what_a_search_finds_is_counted() {
    let profile = solver();
    let notice = |viewer: &Viewer| match &viewer.model.notice {
        Some(Notice::Said(text) | Notice::Failed(text)) => text.clone(),
        other => panic!("{other:?}"),
    };
    // Large trees are searched by the shell: the same is found.
    for at_once in [0, usize::MAX] {
        let mut viewer = Viewer::new(&profile, "80x24");
        viewer.model.search_at_once = at_once;
        viewer.press("/zzz<enter>");
        assert_eq!(notice(&viewer), "no row matches “zzz”");
        viewer.press("<esc>/poll<enter>");
        let first = notice(&viewer);
        let (at, all) = first.split_once(" of ").unwrap();
        let (all, _) = all.split_once(" with “poll”").unwrap();
        let (at, all): (usize, usize) = (at.parse().unwrap(), all.parse().unwrap());
        assert!((1..=all).contains(&at) && all > 1, "{first}");
        for _ in 0..all {
            viewer.press("n");
        }
        assert!(notice(&viewer).starts_with(&format!("{at} of {all} ")), "{}", notice(&viewer));
    }
}

#[test]
fn what_rows_stand_for_is_completed() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press("fby mod<tab><enter>");
    assert_eq!(viewer.model.stages.to_string(), "by module");
}
