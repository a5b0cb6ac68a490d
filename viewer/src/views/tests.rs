//! Views on small trees: the outline of a profile in, the rows of a screen out.

use csprof_format::ids::FrameId;

use super::callers::Callers;
use super::columns::{Column, Id};
use super::flat::flat;
use super::hall::{self, HallTable, Reach, Way};
use super::hot_path::{Heat, MOST_ROWS, USUAL_SHARE, hot_path};
use super::number::{self, Form};
use super::search::{NamePattern, Search};
use super::top_down::TopDown;
use super::tree::{Direction, RowId, RowTree};
use super::visible::Visible;
use super::{Edges, Row, Sort};
use crate::profile::{FrameKind, MOST, NodesBuilder, Profile, from_outline};
use crate::refine::{Chain, FramePattern, Refined, Sets, Stopped, apply, parse, unwatched};

mod handovers;

pub(crate) fn profile(outline: &str) -> Profile {
    from_outline(outline).expect("outline")
}

/// `name inclusive exclusive edges`, with a note where the kind is not a call.
fn text(refined: &Refined, row: &Row) -> String {
    let name = &*refined.functions[row.function.index()].name;
    let edges = number::edges(row.first().edges, Form::Ascii);
    let kind = match row.kind {
        FrameKind::Call => String::new(),
        kind => format!("{kind:?}").to_lowercase(),
    };
    let [inclusive, exclusive] =
        [row.first().inclusive, row.first().exclusive].map(|n| n.to_string());
    let words = [name, &inclusive, &exclusive, &edges, &kind];
    let words: Vec<&str> = words.into_iter().filter(|w| !w.is_empty()).collect();
    words.join(" ")
}

/// The lines of a screen; `+` and `-` before rows that can be opened and that are open.
fn screen<D: Direction>(refined: &Refined, tree: &RowTree<D>, visible: &Visible) -> String {
    let mut out = String::from("\n");
    for line in visible.lines() {
        let row = tree.row(line.row);
        let mark = match (row.has_children, visible.is_open(line.row)) {
            (false, _) => ' ',
            (true, false) => '+',
            (true, true) => '-',
        };
        let indent = 2 * line.depth as usize;
        out.push_str(&format!("{:indent$}{mark} {}\n", "", text(refined, row)));
    }
    out
}

/// Everything open.
fn all<D: Direction>(refined: &Refined, tree: &mut RowTree<D>) -> String {
    let visible = opened(refined, tree);
    screen(refined, tree, &visible)
}

fn opened<D: Direction>(refined: &Refined, tree: &mut RowTree<D>) -> Visible {
    let mut visible = Visible::new(tree, refined, RowId::ROOT);
    let mut line = 0;
    while line < visible.lines().len() {
        visible.open(tree, refined, line);
        line += 1;
    }
    visible
}

/// The row with this name on a screen with everything open.
fn row_named<D: Direction>(refined: &Refined, tree: &mut RowTree<D>, name: &str) -> RowId {
    let visible = opened(refined, tree);
    let is_named = |row| *refined.functions[tree.row(row).function.index()].name == *name;
    visible.lines().iter().map(|line| line.row).find(|&row| is_named(row)).expect(name)
}

fn name<'r, D: Direction>(refined: &'r Refined, tree: &RowTree<D>, row: RowId) -> &'r str {
    &refined.functions[tree.row(row).function.index()].name
}

#[test]
fn rows_fuse_call_sites_threads_and_epochs() {
    let profile = profile(
        "\
# thread=1 epoch=0
main
  solve 1 e=2 at:main.c:10
    dot 4 e=3
  solve 2 e=1 at:main.c:20
    dot 8 e=1
# thread=1 epoch=1
main
  solve 16 e=5
# thread=2 epoch=0
start_thread
  worker 32
",
    );
    let refined = Refined::base(&profile);
    assert_eq!(
        all(&refined, &mut unwatched(|watch| TopDown::new(&refined, watch))),
        "
- start_thread 32 0 running
    worker 32 32 running
- main 31 0 running
  - solve 31 19 8
      dot 12 12 4
"
    );
}

/// The number of the address of a row.
fn site_of(refined: &Refined, row: &Row) -> Option<u32> {
    Some(refined.frames[row.frame?.index()].site?.0)
}

/// A row has the address that all its frames have; where paths are turned round, too.
#[test]
fn a_row_has_one_address_or_none() {
    let mut profile = profile("main\n  f 1\n  f 2\n  g 3\n  g 4\nstart\n  f 5\n");
    for (frame, site) in profile.frames.iter_mut().zip([0, 1, 2, 2, 3, 4, 5, 2]) {
        frame.site = (site > 0).then_some(FrameId(site));
    }
    let refined = Refined::base(&profile);
    let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
    let sites = ["f", "g", "main"].map(|name| {
        let row = row_named(&refined, &mut tree, name);
        site_of(&refined, tree.row(row))
    });
    assert_eq!(sites, [Some(2), None, Some(1)]);
    let callers = |of: &str| {
        let refined = apply(&profile, &parse(&format!("callers of {of}")).unwrap()).unwrap();
        let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
        let first = tree.children(&refined, RowId::ROOT)[0];
        let above = tree.children(&refined, first)[0];
        [first, above].map(|row| site_of(&refined, tree.row(row)))
    };
    assert_eq!([callers("f")[0], callers("g")[0]], [Some(2), None]);
    assert_eq!(callers("g")[1], Some(1));
}

#[test]
fn an_inlined_frame_is_another_row_than_a_called_one_and_has_no_edges() {
    let profile = profile("main\n  f 1 e=7\n  f 2 inline\n\"[partial: no-cfi]\" partial\n  g 4\n");
    let refined = Refined::base(&profile);
    assert_eq!(
        all(&refined, &mut unwatched(|watch| TopDown::new(&refined, watch))),
        "
- [partial: no-cfi] 4 0 partial
    g 4 4
- main 3 0 running
    f 2 2 inline
    f 1 1 7
"
    );
}

/// Each of the nodes of `f` has the returns of `g`, and they are the same ones.
#[test]
fn returns_along_callers_below_one_another_count_once() {
    let profile = profile("main\n  f\n    f\n      f\n        g 7 e=5\n");
    let refined = apply(&profile, &parse("callers of g").unwrap()).unwrap();
    let rows = flat(&refined, Sort::default());
    let row =
        rows.iter().find(|row| &*refined.functions[row.function.index()].name == "f").unwrap();
    assert_eq!(row.first().edges, Edges::exact(5));
}

/// Counts of a made-up file add up to more than 64 bits, and to more yet at each level.
#[test]
fn counts_without_end_are_no_overflow() {
    let outline = "main 1\n  f 1 e=1\n    f 1 e=1\n      g 1 e=1\n    h 1 e=1\n  g 1 e=1\n";
    let mut made_up = profile(outline);
    let mut nodes = NodesBuilder::from(&made_up.nodes);
    for node in (0..nodes.len()).rev() {
        nodes.samples.set(node, 1 << 61);
        nodes.edges.set(node, 1 << 61);
    }
    made_up.nodes = nodes.finish();
    let name = |name: &'static str| (name, made_up.clone());
    let compared = Profile::compared(name("a"), name("b"), &[]).unwrap();
    for profile in [&made_up, &compared] {
        for text in ["", "callers of g", "hide f", "group {f, g} as x", "collapse f", "through f"] {
            let refined = apply(profile, &parse(text).unwrap()).unwrap();
            assert!(refined.base > 1 << 62 && refined.base <= MOST);
            assert_eq!(refined.shown + refined.out, refined.base);
            let rows = flat(&refined, Sort::default());
            assert_eq!(rows.iter().map(|row| row.first().exclusive).sum::<u64>(), refined.shown);
            all(&refined, &mut unwatched(|watch| TopDown::new(&refined, watch)));
            all(&refined, &mut unwatched(|watch| Callers::new(&refined, watch)));
            let path = Sets::default().parse_path("f").unwrap().unwrap();
            for way in [hall::Way::Down, hall::Way::Up] {
                drop(unwatched(|watch| {
                    Stopped::nested(HallTable::new(
                        &refined,
                        Some(&path),
                        way,
                        hall::Reach::Extended,
                        watch,
                    ))
                }));
            }
        }
    }
}

/// Where lines of a function are shown alone, its samples bound its returns, and may be others than
/// those that were recorded with as many returns.
#[test]
fn bounds_of_callers_are_no_overflow() {
    let made_up = profile(
        "main\n  a\n    g 3000000000 at:x.c:10\n  b\n    g 1 e=3000000000 at:x.c:10\n    g 1 at:x.c:12\n",
    );
    let refined = apply(&made_up, &parse("callers of line:10").unwrap()).unwrap();
    let rows = flat(&refined, Sort::default());
    let edges: Vec<Edges> = rows.iter().map(|row| row.first().edges).collect();
    let high = u64::from(u32::MAX) - 1;
    assert!(edges.contains(&Edges::Range { low: 3_000_000_000, high }), "{rows:?}");
}

#[test]
fn without_the_trampoline_no_row_has_edges() {
    let mut profile = profile("main\n  f 1\n");
    profile.info.run.trampoline = false;
    let refined = Refined::base(&profile);
    assert_eq!(
        all(&refined, &mut unwatched(|watch| TopDown::new(&refined, watch))),
        "\n- main 1 0\n    f 1 1\n"
    );
}

#[test]
fn nodes_without_samples_are_no_rows() {
    let profile = profile("main\n  f 1\n    g\n  h e=3\nidle\n");
    let refined = Refined::base(&profile);
    assert_eq!(
        all(&refined, &mut unwatched(|watch| TopDown::new(&refined, watch))),
        "\n- main 1 0 running\n    f 1 1 running\n"
    );
}

#[test]
fn a_profile_without_samples_has_no_lines() {
    let profile = profile("");
    let refined = Refined::base(&profile);
    let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
    assert_eq!(all(&refined, &mut tree), "\n");
    assert_eq!(hot_path(&mut tree, &refined, RowId::ROOT, USUAL_SHARE, Heat::Cost), []);
    assert_eq!(all(&refined, &mut unwatched(|watch| Callers::new(&refined, watch))), "\n");
    assert_eq!(flat(&refined, Sort::default()), []);
}

#[test]
fn samples_left_without_a_frame_are_a_row_of_the_root() {
    let profile = profile("main 2\n  f 3\n");
    let refined = apply(&profile, &parse("hide main").expect("stage")).expect("refined");
    let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
    assert_eq!(all(&refined, &mut tree), "\n  f 3 3 running\n  <root> 2 2 root\n");
    let rows = flat(&refined, Sort::default());
    let rows: Vec<_> = rows.iter().map(|row| text(&refined, row)).collect();
    assert_eq!(rows, ["f 3 3 running", "<root> 2 2 root"]);
}

#[test]
fn children_come_in_the_order_asked_for() {
    let profile =
        profile("main\n  a 5 e=5\n  b 1 e=1\n    z 8\n  c 7 e=2\n  d 4 inline\n  e 3\n  A 3\n");
    let refined = Refined::base(&profile);
    let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
    let mut order = |key, reversed| {
        tree.set_sort(Sort { key, reversed });
        let main = tree.children(&refined, RowId::ROOT)[0];
        let rows = tree.children(&refined, main).to_vec();
        rows.iter().map(|&row| name(&refined, &tree, row)).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(order(Column::INCLUSIVE, false), "b c a d A e");
    assert_eq!(order(Column::INCLUSIVE, true), "A e d a c b");
    assert_eq!(order(Column::EXCLUSIVE, false), "c a d A e b");
    assert_eq!(order(Column::of(Id::Edges, None), false), "a c b A e d");
    assert_eq!(order(Column::of(Id::PerEdge, None), false), "b c a A e d");
    assert_eq!(order(Column::NAME, false), "A a b c d e");
    assert_eq!(order(Column::NAME, true), "e d c b a A");
}

const SMALL: &str = "\
main 1
  solve 2 e=4
    dot 3 e=9
    axpy 5
  output 1
    write 1 e=1
";

#[test]
fn opening_and_closing_splice_the_lines() {
    let profile = profile(SMALL);
    let refined = Refined::base(&profile);
    let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
    let mut visible = Visible::new(&mut tree, &refined, RowId::ROOT);
    assert_eq!(screen(&refined, &tree, &visible), "\n+ main 13 1 running\n");
    visible.open(&mut tree, &refined, 0);
    visible.open(&mut tree, &refined, 1);
    let open = "
- main 13 1 running
  - solve 10 2 4
      axpy 5 5 running
      dot 3 3 9
  + output 2 1 running
";
    assert_eq!(screen(&refined, &tree, &visible), open);
    visible.close(0);
    assert_eq!(screen(&refined, &tree, &visible), "\n+ main 13 1 running\n");
    // What was open below comes back.
    visible.open(&mut tree, &refined, 0);
    assert_eq!(screen(&refined, &tree, &visible), open);
    assert_eq!(visible.end_of_subtree(1), 4);
}

#[test]
fn a_subtree_opens_level_by_level_up_to_a_limit() {
    let profile = profile(SMALL);
    let refined = Refined::base(&profile);
    let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
    let mut visible = Visible::new(&mut tree, &refined, RowId::ROOT);
    assert!(!visible.open_subtree(&mut tree, &refined, 0, 4));
    assert_eq!(
        screen(&refined, &tree, &visible),
        "
- main 13 1 running
  - solve 10 2 4
      axpy 5 5 running
      dot 3 3 9
  + output 2 1 running
"
    );
    assert!(visible.open_subtree(&mut tree, &refined, 0, 5));
    assert_eq!(visible.lines().len(), 6);
}

#[test]
fn zoom_shows_a_row_and_what_is_below_it() {
    let profile = profile(SMALL);
    let refined = Refined::base(&profile);
    let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
    let solve = row_named(&refined, &mut tree, "solve");
    let visible = Visible::new(&mut tree, &refined, solve);
    let expected = "\n- solve 10 2 4\n    axpy 5 5 running\n    dot 3 3 9\n";
    assert_eq!(screen(&refined, &tree, &visible), expected);
}

#[test]
fn what_is_open_survives_another_order_and_another_refinement() {
    let profile = profile(SMALL);
    let refined = Refined::base(&profile);
    let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
    let dot = row_named(&refined, &mut tree, "dot");
    let mut visible = Visible::new(&mut tree, &refined, RowId::ROOT);
    assert_eq!(visible.reveal(&mut tree, &refined, dot), Some(3));

    tree.set_sort(Sort { key: Column::NAME, reversed: true });
    visible.rebuild(&mut tree, &refined);
    assert_eq!(
        screen(&refined, &tree, &visible),
        "
- main 13 1 running
  - solve 10 2 4
      dot 3 3 9
      axpy 5 5 running
  + output 2 1 running
"
    );

    let hidden = apply(&profile, &parse("hide main").expect("stage")).expect("refined");
    let mut new_tree = unwatched(|watch| TopDown::new(&hidden, watch));
    let open = visible.open_paths(&tree, &refined);
    let carried = Visible::with_open(&mut new_tree, &hidden, &open);
    assert_eq!(
        screen(&hidden, &new_tree, &carried),
        "
- solve 10 2 4
    axpy 5 5 running
    dot 3 3 9
+ output 2 1 running
  <root> 1 1 root
"
    );
    let path = tree.path(&refined, dot);
    let (found, whole) = new_tree.locate(&hidden, &path);
    assert_eq!((name(&hidden, &new_tree, found), whole), ("dot", false));
    assert_eq!(tree.locate(&refined, &path), (dot, true));
}

#[test]
fn the_hot_path_goes_on_while_one_child_has_half() {
    let profile = profile("main 1\n  f 10\n    g 4\n      h 7\n    k 10\n  z 4\n");
    let refined = Refined::base(&profile);
    let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
    let mut path = |share| {
        let rows = hot_path(&mut tree, &refined, RowId::ROOT, share, Heat::Cost);
        rows.iter().map(|&row| name(&refined, &tree, row)).collect::<Vec<_>>().join(" ")
    };
    // 36 in main, 31 in f (86 %), 11 in g (35 %), 10 in k.
    assert_eq!(path(USUAL_SHARE), "main f");
    assert_eq!(path(30), "main f g h");
    assert_eq!(path(100), "main");
}

#[test]
fn the_hot_path_of_a_comparison_follows_the_difference() {
    let (base, other) = (
        profile("main\n  big 100\n  grew 10\n    leaf 5\n  shrank 40\n"),
        profile("main\n  big 103\n  grew 10\n    leaf 45\n  shrank 5\n"),
    );
    let compared = Profile::compared(("base", base), ("other", other), &[]).unwrap();
    let path = |refined: &Refined, heat| {
        let mut tree = unwatched(|watch| TopDown::new(refined, watch));
        let rows = hot_path(&mut tree, refined, RowId::ROOT, USUAL_SHARE, heat);
        rows.iter().map(|&row| name(refined, &tree, row)).collect::<Vec<_>>().join(" ")
    };
    let refined = Refined::base(&compared);
    assert_eq!(path(&refined, Heat::Cost), "main big");
    // 8 more in all: what shrank does not explain them.
    assert_eq!(path(&refined, Heat::Difference), "main grew leaf");
    let swapped = Profile::compared(
        ("base", profile("main\n  f 10\n  g 20\n")),
        ("other", profile("main\n  f 5\n  g 18\n")),
        &[],
    );
    assert_eq!(path(&Refined::base(&swapped.unwrap()), Heat::Difference), "main f");
}

/// The match has what is exclusive: its callers only called it.
#[test]
fn callers_of_a_function_own_nothing_of_its_cost() {
    let profile = profile("main 7\n  f 1\n    memcpy 5\n      inner 2\n  g\n    memcpy 3\n");
    let refined = apply(&profile, &parse("callers of memcpy").unwrap()).unwrap();
    let rows = |refined: &Refined| {
        let rows = flat(refined, Sort::by(Column::EXCLUSIVE));
        let row = |row: &Row| {
            let name = &refined.functions[row.function.index()].name;
            format!("{name} {} {}", row.first().inclusive, row.first().exclusive)
        };
        rows.iter().map(row).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(rows(&refined), "memcpy 10 10, main 10 0, f 7 0, g 3 0");
    let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
    let first = tree.children(&refined, RowId::ROOT)[0];
    assert_eq!((tree.row(first).first().inclusive, tree.row(first).first().exclusive), (10, 10));
    let mut callers = unwatched(|watch| Callers::new(&refined, watch));
    assert_eq!(callers.children(&refined, RowId::ROOT).len(), 4);
    // By load module and by rank, too.
    let split = apply(&profile, &parse("callers of memcpy | split thread").unwrap()).unwrap();
    assert_eq!(rows(&split), "memcpy 10 10, main 10 0, thread=0 10 0, f 7 0, g 3 0");
    // Turned round twice, it is the right way up.
    let twice = apply(&profile, &parse("callers of memcpy | callers of main").unwrap()).unwrap();
    assert_eq!(rows(&twice), "memcpy 10 10, main 10 0, f 7 0, g 3 0");
}

#[test]
fn inner_activations_cost_what_they_cost() {
    let profile = profile("main\n  f 1\n    f 2\n      f 4\n    g\n      f 8\n");
    let refined = Refined::base(&profile);
    let mut tree = unwatched(|watch| Callers::new(&refined, watch));
    let f = tree.children(&refined, RowId::ROOT)[0];
    let mut rows = |row| {
        let children = tree.children(&refined, row).to_vec();
        let row = |&row: &RowId| {
            (
                name(&refined, &tree, row),
                tree.row(row).first().inclusive,
                tree.row(row).first().exclusive,
                row,
            )
        };
        children.iter().map(row).collect::<Vec<_>>()
    };
    let text = |rows: &[(&str, u64, u64, RowId)]| {
        rows.iter().map(|(name, i, e, _)| format!("{name} {i} {e}")).collect::<Vec<_>>().join(", ")
    };
    let first = rows(f);
    assert_eq!(text(&first), "main 15 1, g 8 8, f 6 6");
    assert_eq!(text(&rows(first[2].3)), "main 6 2, f 4 4");
}

/// Opening every function looks at every node a few times, not once for each function.
#[test]
fn callers_of_all_functions_cost_what_the_profile_costs() {
    let functions: String = (0..300).map(|n| format!("  f{n} 1\n    g{n} 1\n")).collect();
    let profile = profile(&format!("main 1\n{functions}"));
    let refined = Refined::base(&profile);
    let mut tree = unwatched(|watch| Callers::new(&refined, watch));
    let rows = tree.children(&refined, RowId::ROOT).to_vec();
    for row in rows {
        tree.children(&refined, row);
    }
    assert_eq!(tree.direction.indexed(), Some(profile.nodes.len() - 1));
    assert_eq!(tree.made(), profile.nodes.len() - 1);
}

/// Each caller's caller has most of the activations.
#[test]
fn callers_of_a_recursion_take_what_the_profile_takes() {
    let depth = 800;
    let outline: String = (0..depth).map(|level| format!("{:1$}f 1\n", "", 2 * level)).collect();
    let profile = profile(&outline);
    let refined = Refined::base(&profile);
    let mut tree = unwatched(|watch| Callers::new(&refined, watch));
    let mut row = tree.children(&refined, RowId::ROOT)[0];
    let mut opened = 0;
    loop {
        let callers = tree.children(&refined, row).to_vec();
        let Some(&caller) = callers.iter().max_by_key(|&&row| tree.row(row).has_children) else {
            break;
        };
        assert!(tree.held() <= 4 * depth + (1 << 13), "{} at {opened}", tree.held());
        let left = (depth - opened - 1).max(1);
        assert_eq!(tree.row(caller).first().exclusive, left as u64);
        (row, opened) = (caller, opened + 1);
    }
    assert_eq!(opened, depth);
    // Also by a visit, which leaves the tree as it was.
    let mut closed = unwatched(|watch| Callers::new(&refined, watch));
    let mut rows = 0;
    for _ in 0..2 {
        rows = 0;
        let counted = closed.visit(&refined, u32::MAX, |_, _| {
            rows += 1;
            Ok::<_, ()>(())
        });
        assert_eq!(counted, Ok(()));
    }
    assert_eq!(rows, 2 * depth - 1);
    assert!(closed.held() <= 1 << 13);
}

/// A visit sees what is shown if all is open, and keeps none of it.
#[test]
fn a_visit_keeps_no_rows() {
    let mut outline = String::new();
    for depth in 0..200 {
        outline.push_str(&format!("{:w$}f{} 1\n", "", depth % 7, w = 2 * depth));
        outline.push_str(&format!("{:w$}leaf 1\n", "", w = 2 * depth + 2));
    }
    let profile = profile(&outline);
    let refined = Refined::base(&profile);
    let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
    let (before, mut visited) = (tree.rows(), Vec::new());
    tree.visit(&refined, u32::MAX, |row, level| {
        visited.push((row.clone(), level));
        Ok::<_, ()>(())
    })
    .unwrap();
    assert_eq!(tree.rows(), before);
    let mut all = unwatched(|watch| TopDown::new(&refined, watch));
    let mut visible = Visible::new(&mut all, &refined, RowId::ROOT);
    visible.open_subtree(&mut all, &refined, 0, usize::MAX);
    let shown: Vec<_> =
        visible.lines().iter().map(|line| (all.row(line.row).clone(), line.depth)).collect();
    assert_eq!(visited, shown);
    // An error ends it.
    let mut left = 3;
    let ended = tree.visit(&refined, u32::MAX, |_, _| {
        left -= 1;
        if left == 0 { Err(()) } else { Ok(()) }
    });
    assert_eq!((ended, left), (Err(()), 0));
}

#[test]
fn equally_hot_children_are_taken_by_name() {
    let profile = profile("main\n  b 5\n  a 5\n");
    let refined = Refined::base(&profile);
    let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
    tree.set_sort(Sort { key: Column::NAME, reversed: true });
    let path = hot_path(&mut tree, &refined, RowId::ROOT, USUAL_SHARE, Heat::Cost);
    assert_eq!(name(&refined, &tree, path[1]), "a");
}

#[test]
fn flat_rows_count_recursion_once() {
    let profile = profile(
        "\
main
  visit 1 e=1
    visit 2 e=2
      leaf 3 e=3
  leaf 4 e=4
  leaf 8 inline
",
    );
    let refined = Refined::base(&profile);
    let order = Sort::by(Column::EXCLUSIVE);
    let rows = flat(&refined, order);
    let rows: Vec<_> = rows.iter().map(|row| text(&refined, row)).collect();
    assert_eq!(rows, ["leaf 15 15 7", "visit 6 3 3", "main 18 0 running"]);
}

#[test]
fn cost_per_edge_is_that_of_the_activations_counted() {
    // The outer visit has 6 samples and 1 return; that 5 of them are in an inner one, which
    // returned twice, makes no more of them. The inlined leaf counts for none of the returns of the
    // called ones.
    let profile = profile(
        "\
main
  visit 1 e=1
    visit 2 e=2
      leaf 3 e=3
  leaf 8 inline
",
    );
    let refined = Refined::base(&profile);
    let rows = flat(&refined, Sort::by(Column::NAME));
    let costs: Vec<_> =
        rows.iter().map(|row| (row.first().inclusive, row.first().edge_samples)).collect();
    assert_eq!(costs, [(11, 3), (14, 14), (6, 6)]);
    let edges: Vec<_> =
        rows.iter().map(|row| (row.first().edges, row.first().outer_edges)).collect();
    let exact = |all, outer| (Edges::exact(all), Edges::exact(outer));
    assert_eq!(edges, [exact(3, 3), exact(0, 0), exact(3, 1)]);
}

#[test]
fn callers_of_a_function_sum_to_it() {
    let profile = profile(
        "\
main
  a 1
    leaf 2 e=2
  b
    a
      leaf 4 e=1
    leaf 8 e=8
leaf 16
",
    );
    let refined = Refined::base(&profile);
    let mut tree = unwatched(|watch| Callers::new(&refined, watch));
    tree.set_sort(Sort::by(Column::EXCLUSIVE));
    assert_eq!(
        all(&refined, &mut tree),
        "
- leaf 30 30 11
    <root> 16 16 running root
  - b 8 8 8
      main 8 8 8
  - a 6 6 3
    - b 4 4 1
        main 4 4 1
      main 2 2 2
- a 7 1 running
    main 3 1 running
  - b 4 0 running
      main 4 0 running
  main 15 0 running
- b 12 0 running
    main 12 0 running
"
    );
}

#[test]
fn callers_count_the_inclusive_cost_of_recursion_once() {
    let profile = profile("main\n  visit 1 e=1\n    visit 2 e=2\n");
    let refined = Refined::base(&profile);
    let mut tree = unwatched(|watch| Callers::new(&refined, watch));
    assert_eq!(
        all(&refined, &mut tree),
        "
  main 3 0 running
- visit 3 3 3
    main 3 1 1
  - visit 2 2 2
      main 2 2 2
"
    );
}

#[test]
fn search_goes_to_the_heaviest_rows_first_and_counts_what_they_cost_once() {
    let outline = "\
main
  big 90
    tiny_alloc 1
  small 5
    alloc 30
      alloc 9
  x 1
";
    let profile = profile(outline);
    let refined = Refined::base(&profile);
    let find = |text| {
        let pattern = NamePattern::new(text).expect("pattern");
        let search = unwatched(|watch| Search::new(&refined, &pattern, watch));
        let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
        let row = |hit| {
            let row = search.row(&mut tree, &refined, hit)?;
            Some(format!("{} {}", name(&refined, &tree, row), tree.row(row).first().inclusive))
        };
        let rows: Vec<_> = (0..).map_while(row).collect();
        assert_eq!((rows.len(), rows.len() as u64), (search.hits(), search.rows()));
        (rows.join(", "), search.cost().map(|row| row.first().inclusive))
    };
    // The inner `alloc` has no cost of its own.
    assert_eq!(find("alloc"), ("alloc 39, alloc 9, tiny_alloc 1".to_owned(), Some(40)));
    assert_eq!(find("ALLOC"), (String::new(), Some(0)));
    assert_eq!(find("main"), ("main 136".to_owned(), Some(136)));
    assert_eq!(find("+"), (String::new(), Some(0)));
}

/// Each level that is opened takes memory.
#[test]
fn hot_paths_of_deep_recursion_are_followed_in_pieces() {
    let depth = MOST_ROWS + 10;
    let outline: String = (0..depth)
        .map(|level| {
            format!("{:1$}f{2}\n", "", 2 * level, [" 1", ""][usize::from(level < depth - 1)])
        })
        .collect();
    let profile = profile(&outline);
    let refined = Refined::base(&profile);
    let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
    let first = hot_path(&mut tree, &refined, RowId::ROOT, USUAL_SHARE, Heat::Cost);
    assert_eq!(first.len(), MOST_ROWS);
    let end = *first.last().unwrap();
    let rest = hot_path(&mut tree, &refined, end, USUAL_SHARE, Heat::Cost);
    assert_eq!(rest.len(), 10);
}
