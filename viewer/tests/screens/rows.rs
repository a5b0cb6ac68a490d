//! Rows: what is folded, names that are wider than their column, columns to choose from, and what a
//! new user is told.

use csprof::profile::{Profile, from_outline};
use csprof::tui::message::{Message, Notice};
use csprof::tui::theme::Theme;
use insta::assert_snapshot;
use ratatui::style::{Color, Modifier};

use super::{Viewer, screen, solver};

/// Start-up code, a chain that costs nothing itself, and a long name.
const CHAIN: &str = "
_start module:app
  __libc_start_main_impl at:libc-start.c:234
    __libc_start_call_main at:libc_start_call_main.h:23
      main e=1 at:app.c:9
        run e=1 at:app.c:20
          outer e=1 at:loop.c:3
            middle e=4 at:loop.c:7
              inner e=4 at:loop.c:11
                step 10 e=4 at:step.c:5
                  \"std::vector<hpc::Cell<double>, std::allocator<hpc::Cell<double>>>::resize(unsigned long)\" 60 e=900 module:libgrid.so
                  \"hpc::Matrix<double, 3>::times(hpc::Matrix<double, 3> const&) const\" 30 e=2 at:matrix.h:80
";

fn chain() -> Profile {
    from_outline(CHAIN).unwrap()
}

/// The names of the rows, that of a fold with how many it stands for.
fn names(viewer: &Viewer) -> Vec<String> {
    let rows = viewer.model.rows().unwrap();
    let name = |at: usize| {
        let name = viewer.model.row_name(rows.row(rows.line(at).unwrap()));
        let name = name.split(['(', '<']).next().unwrap();
        rows.folded(at).map_or(name.to_owned(), |folded| format!("{} from {name}", folded.len()))
    };
    (0..rows.len()).map(name).collect()
}

#[test]
fn start_up_code_and_chains_are_folded() {
    let profile = chain();
    assert_snapshot!(screen(&profile, "80x24", ""));
    assert_snapshot!(screen(&profile, "40x12", "H"));
    assert_snapshot!(screen(&profile, "120x14", ""));
    assert_snapshot!(screen(&profile, "200x14", ""));
    assert_snapshot!(screen(&profile, "80x24", "."));
}

#[test]
fn a_fold_is_opened_alone_and_all_of_them_together() {
    let profile = chain();
    let mut viewer = Viewer::new(&profile, "80x24");
    let folded = names(&viewer);
    assert_eq!(folded[..4], ["3 from _start", "main", "4 from run", "step"]);
    // The cursor begins on the first row of the program's own.
    assert_eq!(viewer.model.rows().unwrap().selected(), 1);
    viewer.press("jl");
    let one = names(&viewer);
    assert_eq!(one[..6], ["3 from _start", "main", "run", "outer", "middle", "inner"]);
    assert_eq!(viewer.model.rows().unwrap().selected(), 2);
    // What is opened is a step, and the key for all folds it again.
    viewer.press("u");
    assert_eq!(names(&viewer), folded);
    viewer.press("<C-r>");
    assert_eq!(names(&viewer), one);
    viewer.press(".");
    assert_eq!(names(&viewer)[..3], ["_start", "__libc_start_main_impl", "__libc_start_call_main"]);
    viewer.press(".");
    assert_eq!(names(&viewer), folded);
    // To the left of a fold is its parent, and what is closed opens with its chain.
    assert_eq!(names(viewer.press("hh")), ["3 from _start", "main"]);
    assert_eq!(names(viewer.press("l")), folded);
}

#[test]
fn folds_change_no_number_and_no_stage() {
    let profile = chain();
    let mut viewer = Viewer::new(&profile, "80x24");
    let account = |viewer: &Viewer| (viewer.model.refined.shown, viewer.model.refined.out);
    let before = account(&viewer);
    let all = |viewer: &mut Viewer| {
        viewer.press(".");
        let rows = viewer.model.rows().unwrap();
        let lines = (0..rows.len()).map(|at| rows.row(rows.line(at).unwrap()).weights.clone());
        let all: Vec<_> = lines.collect();
        viewer.press(".");
        all
    };
    let open = all(&mut viewer);
    assert_eq!(account(&viewer), before);
    // A fold says what its rows have in common, and no edges, of which each has its own.
    let screen = viewer.screen();
    let fold = screen.lines().find(|line| line.contains("4 folded: run")).unwrap();
    let numbers: Vec<_> = fold.split_once("│   ").unwrap().1.split_whitespace().collect();
    assert_eq!(numbers.last(), Some(&"."), "{fold}");
    // A stage by a fold is one by its first row.
    viewer.press("jt");
    assert_eq!(viewer.model.stages.to_string(), "through \"run\"");
    assert_eq!(account(&viewer), before);
    assert_eq!(all(&mut viewer), open);
}

#[test]
fn searches_and_hot_paths_go_into_folds() {
    let profile = chain();
    let mut viewer = Viewer::new(&profile, "80x24");
    let selected = |viewer: &Viewer| {
        let selected = viewer.model.selected().unwrap();
        viewer.model.row_name(selected.row).to_owned()
    };
    viewer.press("/middle<enter>");
    assert_eq!(selected(&viewer), "middle");
    assert!(names(&viewer).contains(&"inner".to_owned()));
    // Also to the row that stands for the fold.
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press("/run<enter>");
    assert_eq!(selected(&viewer), "run");
    assert!(names(&viewer).contains(&"run".to_owned()));
    // A search that is given up folds it again.
    let mut viewer = Viewer::new(&profile, "80x24");
    let folded = names(&viewer);
    viewer.press("/middle<esc>");
    assert_eq!(names(&viewer), folded);
    // The picture selects a row within, and the tree shows it.
    viewer.press("/inner<enter>61");
    assert_eq!(selected(&viewer), "inner");
    let hot = Viewer::new(&profile, "80x24").press("gH").screen();
    let marked = |text: &str| hot.lines().any(|line| line.starts_with('◆') && line.contains(text));
    assert!(marked("4 folded: run") && marked("resize"), "{hot}");
}

#[test]
fn names_scroll_sideways_and_the_selected_one_is_whole() {
    let profile = chain();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press("H");
    let name = "std::vector<hpc::Cell<double>, std::allocator<hpc::Cell<double>>>::resize";
    let last_lines = |viewer: &Viewer| {
        let screen = viewer.screen();
        let lines: Vec<_> = screen.lines().map(|line| line.trim().to_owned()).collect();
        lines[lines.len() - 3..lines.len() - 1].concat()
    };
    assert!(last_lines(&viewer).contains(name), "{}", viewer.screen());
    assert_snapshot!(viewer.press("]]").screen());
    // There is an end on either side.
    let before = viewer.press("[[").screen();
    assert_eq!(viewer.press("[").screen(), before);
    viewer.press("]]]]]]]]]]]]]]]]]]]]]]]]]]");
    let far = viewer.model.sideways;
    assert_eq!(viewer.press("]").model.sideways, far);
    assert!(far < 100, "{far}");
}

#[test]
fn columns_are_chosen() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    let headings = |viewer: &Viewer| {
        let screen = viewer.screen();
        let line = screen.lines().nth(2).unwrap().split_once('┬').unwrap().1.to_owned();
        line.replace(['─', '▼'], " ").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_snapshot!(viewer.press("|jj").screen());
    // % is hidden, samples are shown, before edges.
    viewer.press("<space>");
    assert_eq!(headings(&viewer), "time excl% edges calls time/edge");
    viewer.press("jjjjjjKKKKKK");
    assert_eq!(headings(&viewer), "time samples excl% edges calls");
    viewer.press("++-");
    let samples = viewer.model.columns().numbers[2];
    assert_eq!((samples.width, samples.column.definition().key), (12, "samples"));
    viewer.press("q");
    let chosen = "time samples excl% edges calls";
    assert_eq!(headings(&viewer), chosen, "they stay");
    assert_eq!(headings(viewer.press("3")), chosen, "in other views, too");
    viewer.press("|r");
    assert_eq!(headings(&viewer), "time % all excl% edges calls");
    // One column stays.
    viewer.press("q1|g").press("j".repeat(20).as_str());
    viewer.press("g<space>jj<space>j<space>j<space>j<space>j<space>j<space>j<space>");
    assert!(matches!(&viewer.model.notice, Some(Notice::Failed(why)) if why.contains("stays")));
    assert_eq!(
        screen(&profile, "80x24", "6:columns<enter>").lines().last().map(str::trim).unwrap_or(""),
        { "this view has no columns to choose from; 1 shows one that has" }
    );
}

#[test]
fn percentages_name_what_they_are_of() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    let row = |viewer: &Viewer| {
        let screen = viewer.screen();
        let line = screen.lines().find(|line| line.contains("· memcpy")).unwrap();
        // Behind the bar.
        line.split_whitespace().skip_while(|word| *word != "ms").nth(2).map(str::to_owned)
    };
    viewer.press("fthrough MPI_*<enter>/memcpy<enter>");
    let of = |viewer: &Viewer, word: &str| viewer.screen().contains(&format!("% {word}─ excl%"));
    let mut shares = Vec::new();
    for word in ["all", "shown", "parent"] {
        assert!(of(&viewer, word), "{word}: {}", viewer.screen());
        shares.push(row(&viewer).unwrap());
        viewer.press("%");
    }
    // 60 of 200 samples, of 135 that are shown, of 94 in MPI_Sendrecv.
    assert_eq!(shares, ["30.0", "44.4", "63.8"]);
    assert!(of(&viewer, "all"));
}

#[test]
fn a_new_user_is_told_what_is_what() {
    for size in ["40x24", "80x24", "120x24", "200x24"] {
        let mut viewer = Viewer::new(&solver(), size);
        viewer.model.is_new = true;
        assert_snapshot!(format!("new_{size}"), viewer.screen());
        assert!(viewer.screen().contains("follow the hot path"));
        // Until a key is pressed; what comes from elsewhere is none.
        viewer.send(Message::Resized { width: 80, height: 24 });
        assert!(viewer.screen().contains("What is what"));
        viewer.press("j");
        assert!(!viewer.screen().contains("What is what"));
    }
    // Never over rows.
    let mut viewer = Viewer::new(&solver(), "80x14");
    viewer.model.is_new = true;
    assert_eq!(viewer.screen(), screen(&solver(), "80x14", ""));
}

#[test]
fn color_is_for_cost_of_a_rows_own() {
    let profile = chain();
    let mut viewer = Viewer::with_theme(&profile, "80x24", Theme::new(true, false));
    viewer.press("Hk");
    let terminal = viewer.terminal();
    let buffer = terminal.backend().buffer();
    let lines: Vec<_> = viewer.screen().lines().map(str::to_owned).collect();
    let color = |text: &str| {
        let y = lines.iter().position(|line| line.contains(text)).unwrap();
        let y = u16::try_from(y).unwrap();
        // Beside the hot path's mark, the numbers.
        let mut cells = (34..80).map(|x| buffer[(x, y)].fg).filter(|color| *color != Color::Reset);
        cells.next_back()
    };
    assert_eq!((color("▾ main"), color("3 folded: _start")), (None, None));
    assert_eq!(color("resize"), Some(Color::Red));
    // The selected row has one style, whatever was there.
    let y = lines.iter().position(|line| line.contains('◀')).unwrap();
    let y = u16::try_from(y).unwrap();
    let styles: Vec<_> = (0..80).map(|x| buffer[(x, y)].style()).collect();
    assert!(styles.iter().all(|style| style == &styles[0]), "{styles:?}");
    assert_eq!(styles[0].add_modifier, Modifier::REVERSED);
}

#[test]
fn hostile_names_are_folded_and_shown() {
    let long = "x".repeat(1 << 20);
    let evil = "evil\u{1b}]52;c;aGk=\u{7}name";
    let outline =
        format!("m 1\n  {long}\n    {long}1\n      {evil}\n        {long}2\n          z 1\n");
    let profile = from_outline(&outline).unwrap();
    let mut viewer = Viewer::new(&profile, "80x24");
    for keys in ["", "H", "jj", "]]]]", ".", "k", "k", "]]", ".", "|", "q?"] {
        let screen = viewer.press(keys).screen();
        assert!(!screen.contains('\u{1b}') && !screen.contains('\u{7}'), "{screen}");
        assert!(screen.lines().count() == 24, "{keys}: {screen}");
    }
}
