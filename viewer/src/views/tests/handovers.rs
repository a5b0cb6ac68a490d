//! Rows where threads work for others.

use super::*;
use crate::refine::Watch;
use crate::refine::tests::handed_over;

/// The row of a function.
fn of_function<'r>(refined: &Refined, rows: &'r [Row], name: &str) -> &'r Row {
    let is = |row: &&Row| &*refined.functions[row.function.index()].name == name;
    rows.iter().find(is).unwrap()
}

/// Edges of rows, and those of outermost activations.
fn weights(rows: &[Row]) -> Vec<(Edges, Edges)> {
    rows.iter().map(|row| (row.first().edges, row.first().outer_edges)).collect()
}

/// The same, and the samples of these.
fn with_samples(rows: &[Row]) -> Vec<(Edges, Edges, u64)> {
    let of = |(row, (edges, outer)): (&Row, _)| (edges, outer, row.first().edge_samples);
    rows.iter().zip(weights(rows)).map(of).collect()
}

fn exact(count: u64, samples: u64) -> (Edges, Edges, u64) {
    (Edges::exact(count), Edges::exact(count), samples)
}

/// What `solve` of thread 2 cost itself is not told from what it cost to work for thread 1 below
/// it; `main` of thread 2 did nothing but that.
#[test]
fn what_was_done_for_other_threads_is_in_no_cost_per_edge() {
    let profile = profile(&handed_over(" 3 e=2"));
    let mixed = |count| (Edges::exact(count), Edges::None);
    let base = Refined::base(&profile);
    let rows = flat(&base, Sort::by(Column::NAME));
    assert_eq!(with_samples(&rows[1..2]), [exact(1, 40)]);
    assert_eq!(weights(&rows[2..3]), [mixed(11)]);
    assert_eq!(with_samples(&rows[3..]), [exact(45, 90)]);
    let one = apply(&profile, &parse("thread = 1").unwrap()).unwrap();
    let rows = flat(&one, Sort::by(Column::NAME));
    assert_eq!(with_samples(&rows), [exact(1, 40), exact(9, 40), exact(20, 40)]);
    let of_rows = |refined: &Refined| {
        let mut tree = unwatched(|watch| TopDown::new(refined, watch));
        let outermost = tree.children(refined, RowId::ROOT)[0];
        let second = tree.children(refined, outermost)[0];
        [outermost, second].map(|row| tree.row(row).clone())
    };
    assert_eq!(with_samples(&of_rows(&base)[..1]), [exact(1, 40)]);
    assert_eq!(weights(&of_rows(&base)[1..]), [mixed(11)]);
    let callers = |text| apply(&profile, &parse(text).unwrap()).unwrap();
    assert_eq!(weights(&of_rows(&callers("callers of solve"))), [mixed(11); 2]);
    assert_eq!(with_samples(&of_rows(&callers("callers of work"))[..1]), [exact(45, 90)]);
    for reach in [Reach::Immediate, Reach::Extended] {
        assert_eq!(weights(&callers_of(&base, "solve", reach)), [mixed(11); 2], "{reach:?}");
    }
}

/// The rows of callers of a path, directly or at all, and that of the path.
fn callers_of(refined: &Refined, name: &str, reach: Reach) -> Vec<Row> {
    let path = Chain::of(FramePattern::Exact(name.to_owned()));
    let table = |watch: &Watch<'_>| {
        Stopped::nested(HallTable::new(refined, Some(&path), Way::Up, reach, watch))
    };
    let table = unwatched(table).unwrap();
    [vec![table.path], table.rows].concat()
}

/// The row of a function's callers along this way, outward.
fn along(refined: &Refined, way: &[&str]) -> Row {
    let mut tree = unwatched(|watch| Callers::new(refined, watch));
    let row = way.iter().fold(RowId::ROOT, |row, name| {
        let rows = tree.children(refined, row).to_vec();
        let is = |row: &RowId| super::name(refined, &tree, *row) == *name;
        rows.into_iter().find(is).unwrap()
    });
    tree.row(row).clone()
}

/// An inlined frame is no call, whatever other threads do elsewhere: calls below it are outermost.
#[test]
fn recursion_through_inlined_code_has_a_cost_per_edge_where_other_code_is_handed_over() {
    let profile = profile(&format!(
        "{}\
# thread=3 epoch=0
main e=1
  visit 1 e=1
    fib 1 inline
      visit 1 e=2
        fib 9 e=9
",
        handed_over("")
    ));
    let refined = Refined::base(&profile);
    let rows = flat(&refined, Sort::by(Column::NAME));
    let fib = of_function(&refined, &rows, "fib").clone();
    assert_eq!(with_samples(&[fib]), [exact(9, 9)]);
    for way in [&["fib"][..], &["fib", "visit"], &["fib", "visit", "fib"]] {
        assert_eq!(with_samples(&[along(&refined, way)]), [exact(9, 9)], "{way:?}");
    }
    for reach in [Reach::Immediate, Reach::Extended] {
        for row in callers_of(&refined, "fib", reach) {
            assert_eq!(with_samples(&[row]), [exact(9, 9)], "{reach:?}");
        }
    }
}

/// What is called above a handover may be a call of this thread, too, that has not returned.
#[test]
fn recursion_below_a_handover_has_no_cost_per_edge() {
    let outline = "\
main
  fib 1 inline
    fib
      \"[parallel region]\" handover
        fib 9 e=9
";
    let refined = Refined::base(&profile(outline));
    let mixed = (Edges::exact(9), Edges::None);
    assert_eq!(weights(&[along(&refined, &["fib"])]), [mixed]);
    let rows = callers_of(&refined, "fib", Reach::Extended);
    let main = of_function(&refined, &rows, "main");
    assert_eq!(weights(&[rows[0].clone(), main.clone()]), [mixed; 2]);
    // Nor has it where what is above the handover goes on, and is in no other row.
    let other = "\
main
  g
    fib
      \"[parallel region]\" handover
        g
          fib 9 e=9
";
    let refined = Refined::base(&profile(other));
    assert_eq!(weights(&[along(&refined, &["fib", "g"])]), [mixed]);
    let rows = callers_of(&refined, "fib", Reach::Extended);
    assert_eq!(weights(&[of_function(&refined, &rows, "g").clone()]), [mixed]);
    // Only what is called is above a handover as a call.
    let inlined = outline.replace("    fib\n", "    other\n");
    let refined = Refined::base(&profile(&inlined));
    assert_eq!(with_samples(&[along(&refined, &["fib"])]), [exact(9, 9)]);
}
