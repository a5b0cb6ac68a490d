//! A program that runs, read again under an open screen.

use csprof::profile::{Profile, from_outline};
use csprof::refine::Refined;
use csprof::tui::effect::Effect;
use csprof::tui::live::{Live, Since, compared};
use csprof::tui::message::Message;
use csprof::tui::reading::{LiveReader, Reading};
use csprof::tui::refresh::refreshed;
use csprof::views::number::Form;

use super::undo::said;
use super::{SOLVER, Viewer, solver};

/// The solver after so many seconds, with so many samples more in `memcpy` than at first.
fn after(seconds: u64, more: u64) -> Profile {
    let outline = SOLVER.replace("memcpy 60", &format!("memcpy {}", 60 + more));
    let mut profile = from_outline(&outline).unwrap();
    profile.info = solver().info;
    profile.info.run.duration_ns = seconds * 1_000_000_000;
    for thread in &mut profile.info.threads {
        thread.recorded += more;
        thread.delivered += more;
    }
    profile
}

/// Of a run that was never paused.
fn reading(profile: Profile, is_over: bool) -> Reading {
    let sampled_ns = profile.info.run.duration_ns;
    Reading { profile, is_over, sampled_ns }
}

fn live(since: Since) -> Viewer {
    let first = after(10, 0);
    let mut viewer = Viewer::new(&first, "80x24");
    viewer.model.live = Some(Live::new([reading(first, false)], since));
    viewer
}

/// The wait is over; this is what is read then, if anything is.
fn tick(viewer: &mut Viewer, profile: Profile, is_over: bool) -> bool {
    let wait = viewer.model.live.as_ref().unwrap().wait;
    viewer.effects.clear();
    viewer.send(Message::Tick { wait });
    read(viewer, profile, is_over)
}

/// Answers the reading that was asked for, if one was.
fn read(viewer: &mut Viewer, profile: Profile, is_over: bool) -> bool {
    let asked = viewer.effects.iter().rposition(|of| matches!(of, Effect::Refresh { .. }));
    let Some(Effect::Refresh { request, wanted }) = asked.map(|at| viewer.effects.remove(at))
    else {
        return false;
    };
    let before = viewer.model.live.as_ref().unwrap().before();
    let shown = Refined::base(&viewer.model.profile);
    let reader: LiveReader = std::sync::Arc::new(move || Ok(reading(profile.clone(), is_over)));
    viewer.send(refreshed(&reader, before, &shown, request, wanted));
    true
}

fn first_line(viewer: &Viewer) -> String {
    viewer.screen().lines().next().unwrap().to_owned()
}

#[test]
fn numbers_grow_and_stages_and_rows_stay() {
    let mut viewer = live(Since::Start);
    viewer.press("fthrough MPI_Sendrecv<enter>H");
    let selected = |viewer: &Viewer| {
        let row = viewer.model.selected().unwrap().row;
        (viewer.model.row_name(row).to_owned(), row.weights[0].inclusive)
    };
    assert_eq!(selected(&viewer), ("memcpy".to_owned(), 60));
    assert!(tick(&mut viewer, after(12, 400), false));
    assert_eq!(selected(&viewer), ("memcpy".to_owned(), 460));
    let screen = viewer.screen();
    assert!(screen.contains(" live 12.0 s 1.00 s/s  solver"), "{screen}");
    assert!(screen.contains("through MPI_Sendrecv"), "{screen}");
    insta::assert_snapshot!("live", screen);
}

#[test]
fn it_stands_still_while_it_is_frozen_or_something_lies_over_it() {
    let mut viewer = live(Since::Start);
    let before = viewer.press("<space>").screen();
    assert!(first_line(&viewer).starts_with(" frozen 10.0 s"), "{before}");
    assert!(!tick(&mut viewer, after(11, 7), false));
    assert_eq!(viewer.screen(), before);
    // What is read then is asked for at once.
    viewer.press("<space>");
    assert!(read(&mut viewer, after(12, 7), false));
    assert!(first_line(&viewer).starts_with(" live 12.0 s"));
    for keys in ["?", "<enter>", "/x", "F", "|"] {
        viewer.press(keys);
        assert!(!tick(&mut viewer, after(13, 8), false), "{keys}");
        // It looks again later.
        assert!(matches!(viewer.effects.last(), Some(Effect::Wait { .. })), "{keys}");
        viewer.press("<esc>");
    }
    assert!(tick(&mut viewer, after(14, 8), false));
    // A reading that comes while it is frozen is not shown.
    viewer.effects.clear();
    let wait = viewer.model.live.as_ref().unwrap().wait;
    viewer.send(Message::Tick { wait });
    viewer.model.told = Some(std::collections::BTreeSet::new());
    let screen = viewer.press("R").screen();
    assert!(screen.contains("R: stand still; in less: paint again is"), "{screen}");
    assert!(read(&mut viewer, after(15, 9), false));
    assert!(first_line(&viewer).starts_with(" frozen 14.0 s"), "{}", first_line(&viewer));
}

#[test]
fn a_marked_moment_shows_what_came_since() {
    let mut viewer = live(Since::Start);
    viewer.press("fthrough MPI_*<enter>W");
    assert!(said(&viewer).starts_with("what came since 10.0 s"), "{}", said(&viewer));
    assert!(read(&mut viewer, after(10, 0), false));
    assert!(tick(&mut viewer, after(12, 100), false));
    let screen = viewer.screen();
    // 100 samples of 5 ms in 2 s.
    for text in ["+500 ms", "250 ms", "per s", "total", "since", "through MPI_*"] {
        assert!(screen.contains(text), "{text}\n{screen}");
    }
    insta::assert_snapshot!("live_since", screen);
    viewer.press("W");
    assert!(read(&mut viewer, after(14, 100), false));
    let screen = viewer.screen();
    assert!(!screen.contains("per s") && screen.contains("through MPI_*"), "{screen}");
}

#[test]
fn a_moment_that_is_marked_on_a_frozen_screen_is_shown_when_it_goes_on() {
    let mut viewer = live(Since::Start);
    viewer.press("<space>W");
    let told = "once space lets it go on, what came since 10.0 s is shown";
    assert!(said(&viewer).starts_with(told), "{}", said(&viewer));
    assert!(!viewer.screen().contains("per s"));
    viewer.press("<space>");
    assert!(read(&mut viewer, after(12, 100), false));
    assert!(viewer.screen().contains("per s"));
}

/// A comparison has one metric; in the program, it is another's place.
#[test]
fn the_rate_of_a_comparison_is_of_its_metric() {
    let with = |reads: u64, seconds: u64| {
        let mut profile = from_outline(&format!("main 9 io-read:{reads}\n")).unwrap();
        profile.info.run.duration_ns = seconds * 1_000_000_000;
        profile
    };
    let mut viewer = Viewer::new(&with(3, 10), "80x24");
    viewer.model.live = Some(Live::new([reading(with(3, 10), false)], Since::Start));
    viewer.press("m");
    assert!(tick(&mut viewer, with(5, 12), false));
    let alone = first_line(&viewer);
    assert!(alone.starts_with(" live 12.0 s") && alone.contains("/s"), "{alone}");
    viewer.press("W");
    assert!(read(&mut viewer, with(5, 12), false));
    let rate = |line: &str| line.split_once("/s").unwrap().0.to_owned();
    assert_eq!(rate(&first_line(&viewer)), rate(&alone));
}

/// Two seconds have passed, and one of them was a pause.
#[test]
fn rates_are_of_the_time_that_was_not_paused() {
    let mut live = Live::new([reading(after(10, 0), false)], Since::Start);
    let now = Reading { sampled_ns: 11_000_000_000, ..reading(after(12, 400), false) };
    live.take(&now);
    let header = live.header(&now.profile.info.metric.source, Form::Ascii);
    assert_eq!(header, "live 12.0 s 2.00 s/s");
    let both = compared(reading(after(10, 0), false), now, None).unwrap();
    assert_eq!(both.comparison.as_ref().unwrap().moments, Some(1_000_000_000));
}

/// What `leak` has may become less: 100 samples of 160 were given back.
#[test]
fn what_becomes_less_varies_as_what_becomes_more() {
    let (more, less) = (reading(after(10, 100), false), reading(after(12, 0), false));
    let both = compared(more, less, None).unwrap();
    let comparison = both.comparison.as_ref().unwrap();
    assert!(comparison.noise([160, 60]) > 0.0);
    assert_eq!(comparison.noise([160, 60]).to_bits(), comparison.noise([60, 160]).to_bits());
}

#[test]
fn a_reading_that_the_stages_refuse_is_told_of_in_the_header() {
    let mut viewer = live(Since::Start);
    viewer.press("fthrough MPI_Sendrecv<enter>");
    let mut other = from_outline("main 3\n").unwrap();
    other.info.run.duration_ns = 11_000_000_000;
    assert!(tick(&mut viewer, other, false));
    assert!(first_line(&viewer).starts_with(" not live, 10.0 s"), "{}", viewer.screen());
    assert!(tick(&mut viewer, after(12, 400), false));
    assert!(first_line(&viewer).starts_with(" live 12.0 s"), "{}", viewer.screen());
}

#[test]
fn the_last_seconds_go_along() {
    let mut viewer = live(Since::Last(std::time::Duration::from_secs(5)));
    for (seconds, samples) in [(11, 10), (14, 40), (16, 60), (18, 80)] {
        assert!(tick(&mut viewer, after(seconds, samples), false));
    }
    let comparison = viewer.model.profile.comparison.as_ref().unwrap();
    // The newest that is 5 s old at least when 16 s had passed.
    assert_eq!(comparison.moments, Some(7_000_000_000));
    assert_eq!(comparison.sides[1].total - comparison.sides[0].total, 70);
}

#[test]
fn the_end_is_told_and_nothing_is_read_any_more() {
    let mut viewer = live(Since::Start);
    assert!(tick(&mut viewer, after(12, 400), true));
    assert_eq!(said(&viewer), "the program has ended; this is its state after 12.0 s");
    assert!(first_line(&viewer).starts_with(" ended, 12.0 s"));
    assert!(!viewer.effects.iter().any(|of| matches!(of, Effect::Wait { .. })));
    assert!(!tick(&mut viewer, after(13, 500), false));
    // Space opens and closes rows again.
    let before = viewer.screen();
    assert_ne!(viewer.press("<space>").screen(), before);
}

#[test]
fn a_profile_that_is_no_program_does_not_move() {
    let mut viewer = Viewer::new(&solver(), "80x24");
    viewer.press("W");
    assert!(said(&viewer).starts_with("nothing moves here"), "{}", said(&viewer));
}
