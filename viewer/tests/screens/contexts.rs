//! Processes and threads: who had the samples, and how unevenly.

use csprof::profile::from_outline;
use csprof::refine::Refined;
use csprof::tui::effect::Effect;
use csprof::tui::key::Key;
use csprof::tui::update::update;
use csprof::tui::worker::perform;
use insta::assert_snapshot;

use super::Viewer;

const RANKS: &str = "
# rank=0 thread=100 epoch=0 name=solver
main 2
  solve 60
    MPI_Send 8 e=4
# rank=0 thread=101 epoch=0 name=worker
main
  solve 30
# rank=1 thread=200 epoch=0 name=solver
main 2
  solve 20
    MPI_Send 78 e=4
";

#[test]
fn processes_threads_and_imbalance() {
    let profile = from_outline(RANKS).unwrap();
    let mut viewer = Viewer::new(&profile, "80x12");
    assert_snapshot!(viewer.press("Pj").screen());
    // Of what is shown, after a refinement.
    assert_snapshot!(viewer.press("qfthrough MPI_Send<enter>:threads<enter>").screen());
}

/// Ranks that started in another order, after the program that started them.
const STARTED: &str = "
# thread=1 epoch=0 name=mpirun
main 4
# rank=2 thread=20 epoch=0 name=solver
main 30
# rank=0 thread=30 epoch=0 name=solver
main 20
# rank=1 thread=40 epoch=0 name=solver
main 1000
";

#[test]
fn the_worst_rank_comes_first() {
    let profile = from_outline(STARTED).unwrap();
    let mut viewer = Viewer::new(&profile, "60x10");
    assert_snapshot!(viewer.press("P").screen());
}

/// A thousand ranks, of which the tenth costs most.
fn ranks() -> csprof::profile::Profile {
    let rank = |rank: usize| {
        let cost = if rank == 10 { 5000 } else { 1000 - rank };
        let tid = 10_000 + rank;
        format!("# rank={rank} thread={tid} epoch=0 name=solver\nmain {cost}\n")
    };
    from_outline(&(0..1000).map(rank).collect::<String>()).unwrap()
}

#[test]
fn a_thousand_ranks_are_searched_and_sorted() {
    let profile = ranks();
    let mut viewer = Viewer::new(&profile, "80x14");
    assert_snapshot!(viewer.press("P/rank 99").screen());
    let said = |viewer: &Viewer| viewer.screen().lines().last().unwrap().trim().to_owned();
    assert!(said(viewer.press("<enter>n")).starts_with("2 of 11 rows"), "{}", said(&viewer));
    // By the last column, then by name: rank 2 before rank 10.
    let selected = |viewer: &Viewer| {
        let screen = viewer.screen();
        screen.lines().find(|line| line.ends_with('◀')).unwrap().to_owned()
    };
    let before = selected(&viewer);
    while !viewer.screen().contains("threads ▲") {
        viewer.press("s");
    }
    assert_eq!(selected(&viewer), before, "the selection stays");
    assert!(selected(viewer.press("g")).contains("rank 0,"), "{}", viewer.screen());
    assert!(selected(viewer.press("jj")).contains("rank 2,"), "{}", viewer.screen());
    assert!(selected(viewer.press("Sg")).contains("rank 999,"), "{}", viewer.screen());
}

#[test]
fn numbers_of_the_list_are_explained() {
    let profile = from_outline(RANKS).unwrap();
    let mut viewer = Viewer::new(&profile, "80x20");
    assert_snapshot!(viewer.press("P=").screen());
    let list = viewer.press("q").screen();
    assert!(list.contains("Processes and threads"), "{list}");
}

#[test]
fn enter_refines_to_one_of_them() {
    let profile = from_outline(RANKS).unwrap();
    let mut viewer = Viewer::new(&profile, "80x12");
    viewer.press("Pjj<enter>");
    assert_eq!(viewer.model.shown_stages.to_string(), "thread = 101");
    assert_eq!(viewer.model.refined.shown, 30);
    viewer.press("uPG<enter>");
    assert_eq!(viewer.model.shown_stages.to_string(), "rank = 1");
    assert_eq!((viewer.model.refined.shown, viewer.model.refined.out), (100, 100));
}

#[test]
fn q_leaves_the_list_as_it_was() {
    let profile = from_outline(RANKS).unwrap();
    let mut viewer = Viewer::new(&profile, "80x12");
    let before = viewer.screen();
    viewer.press("Pjjq<esc>");
    assert_eq!(viewer.screen(), before);
}

/// The list and the information page cost a pass over all nodes.
#[test]
fn what_looks_at_all_nodes_is_asked_for_and_once() {
    let profile = from_outline(RANKS).unwrap();
    for (key, said) in [("P", "pid 1000"), ("4", "Processes and threads")] {
        let mut viewer = Viewer::new(&profile, "80x60");
        let message = viewer.model.message(Key::parse_first(key).unwrap().0).unwrap();
        let mut effects = update(&mut viewer.model, message.clone());
        assert!(viewer.screen().contains("counting"), "{}", viewer.screen());
        let Some(Effect::Refine(request)) = effects.pop() else { panic!("{key}: nothing asked") };
        let answer = perform(&Refined::base(&profile), request);
        assert!(viewer.send(answer).screen().contains(said), "{}", viewer.screen());
        viewer.press("q");
        assert_eq!(update(&mut viewer.model, message), []);
        assert!(viewer.screen().contains(said));
    }
}

/// A digit leads from the list to a view, as from any other.
#[test]
fn a_digit_leaves_the_list() {
    let profile = super::solver();
    let by_list = super::undo::picture(Viewer::new(&profile, "80x24").press("P3"));
    assert_eq!(by_list, super::undo::picture(Viewer::new(&profile, "80x24").press("3")));
}
