//! The tree: moving, opening, order, columns.

use csprof::profile::from_outline;
use insta::assert_snapshot;

use super::{Viewer, screen, solver};

#[test]
fn a_search_says_which_of_how_many_rows_it_is_at_and_what_all_of_them_cost() {
    let profile = solver();
    let last_line = |size: &str, keys: &str| {
        let screen = screen(&profile, size, keys);
        screen.lines().last().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(last_line("80x20", "/"), "/ names of rows, open or closed");
    // `poll` has two rows, of 40 and 30 of 200 samples; 2 are below closed rows.
    assert_eq!(last_line("80x20", "/poll"), "/poll 1 of 2 rows, in all 350 ms 35.0%");
    assert_eq!(last_line("80x20", "/poll<enter>n"), "2 of 2 rows, in all 350 ms 35.0%: “poll”");
    // What is below `MPI_Sendrecv` is not counted again; the flat view has one row of each.
    assert_eq!(last_line("80x20", "/MPI"), "/MPI 1 of 2 rows, in all 675 ms 67.5%");
    assert_eq!(last_line("80x20", "/m"), "/m 1 of 4 rows, in all 1.00 s 100%");
    assert_eq!(last_line("80x20", "3/poll"), "/poll 1 of 1 row, in all 350 ms 35.0%");
    assert_eq!(last_line("40x20", "/MPI_Sendrec"), "/MPI_Sendrec 1 of 1 row");
    assert_eq!(last_line("80x20", "fnot through poll<enter>/poll"), "/poll not found");
    assert_eq!(last_line("80x20", "3<lt>/libc"), "/libc not found", "load modules are not listed");
}

#[test]
fn a_search_goes_from_the_heaviest_to_the_lightest_and_round() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    let mut at = |keys: &str| {
        viewer.press(keys);
        let selected = viewer.model.selected().unwrap();
        viewer.model.row_name(selected.row).to_owned()
    };
    // main 198, memcpy 60, MPI_Sendrecv 94, MPI_Allreduce 41.
    assert_eq!(at("/m<enter>"), "main");
    assert_eq!([at("n"), at("n"), at("n")], ["MPI_Sendrecv", "memcpy", "MPI_Allreduce"]);
    assert_eq!([at("n"), at("N"), at("N")], ["main", "MPI_Allreduce", "memcpy"]);
    // In lists, too.
    assert_eq!([at("3/m<enter>"), at("n")], ["memcpy", "MPI_Sendrecv"]);
}

#[test]
fn pages_are_searched_as_they_are_read() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x20");
    let before = viewer.press("?").screen();
    assert_snapshot!(viewer.press("/recursion").screen());
    assert_eq!(viewer.press("<esc>").screen(), before);
    viewer.press("/stages<enter>");
    assert!(viewer.screen().contains("that stages took out"), "{}", viewer.screen());
    assert!(viewer.model.search.is_none(), "the rows below are not searched");
    let said = |viewer: &Viewer| viewer.screen().lines().last().unwrap().trim().to_owned();
    assert!(said(&viewer).starts_with("1 of "), "{}", said(&viewer));
    assert!(said(viewer.press("n")).starts_with("2 of "), "{}", viewer.screen());
    assert!(said(viewer.press("q?/no such words<enter>")).contains("no place matches"));
    // The information page is a view.
    viewer.press("qq4/signal<enter>");
    assert!(viewer.screen().to_lowercase().contains("signal"), "{}", viewer.screen());
}

#[test]
fn pages_scroll_as_in_less() {
    let mut viewer = Viewer::new(&solver(), "80x20");
    let mut first_line = |keys: &str| {
        let title = viewer.press(keys).screen().lines().nth(2).unwrap().to_owned();
        title.trim_end_matches([' ', '─']).rsplit(' ').nth(2).unwrap().to_owned()
    };
    assert_eq!(first_line("?"), "1-16");
    assert_eq!(first_line("<space>"), "16-31");
    assert_eq!(first_line("b"), "1-16");
}

#[test]
fn a_legend_has_as_many_lines_as_there_are() {
    let seen = |height: usize| {
        let mut viewer = Viewer::new(&solver(), &format!("80x{height}"));
        viewer.model.is_new = true;
        let screen = viewer.screen();
        ["What is what", "calls  Many", "q    quit", "-9 of"].map(|text| screen.contains(text))
    };
    let rows = Viewer::new(&solver(), "80x40").model.rows().unwrap().len();
    // Three lines above, two below, and one of the title.
    assert_eq!(seen(rows + 5 + 10), [true, true, true, false]);
    assert_eq!(seen(rows + 5 + 8), [true, true, false, false]);
    assert_eq!(seen(rows + 5 + 5), [false; 4]);
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
    let page = screen(&solver(), "80x24", "jjll=");
    assert!(page.contains("of the row above = "), "{page}");
    assert_snapshot!(page);
    let page = screen(&solver(), "80x24", "=");
    assert!(page.contains(" measured = ") && !page.contains("of the row above = "), "{page}");
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
fn large_profiles_are_searched_by_the_shell_with_the_same_result() {
    let profile = solver();
    for keys in ["/zzz<enter>", "/poll<enter>", "/pol", "/m<enter>nn", "3/m<enter>N", "/m<enter>2n"]
    {
        let mut viewer = Viewer::new(&profile, "80x24");
        viewer.model.search_at_once = 0;
        assert_eq!(viewer.press(keys).screen(), screen(&profile, "80x24", keys), "{keys}");
    }
}

#[test]
fn what_rows_stand_for_is_completed() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press("fby mod<tab><enter>");
    assert_eq!(viewer.model.stages.to_string(), "by module");
}

#[test]
fn rows_of_one_name_below_one_row_are_told_apart_where_there_is_little_room() {
    let outline = "main\n  a_name_without_end_of_words 30\n  a_name_without_end_of_words tail\n    \
                   work 60\n  a_name_without_end_of_words 10 inline\n  \
                   another_that_has_no_end_at_all 5 inline\n";
    let profile = from_outline(outline).unwrap();
    let row_of = |screen: &str, cost: &str| {
        let row = screen.lines().find(|line| line.contains(cost));
        let row = row.unwrap_or_else(|| panic!("{cost}: {screen}"));
        row.split('│')
            .filter(|part| part.contains("· a") || part.contains("▸ a"))
            .collect::<String>()
    };
    let screen = screen(&profile, "80x14", "l");
    let [called, left, inlined, other] =
        ["150 ms", "300 ms", "50.0 ms", "25.0 ms"].map(|cost| row_of(&screen, cost));
    assert!(left.contains("a_name") && left.trim_end().ends_with("… tail call"), "{screen}");
    assert!(inlined.trim_end().ends_with("… inlined"), "{screen}");
    assert!(called.contains("a_name_without"), "{screen}");
    for one in [called, other] {
        assert!(!one.contains("tail") && !one.contains("inlined"), "{screen}");
    }
}
