//! Undo and redo: one history of screens.

use csprof::profile::Profile;
use csprof::refine::Refined;
use csprof::tui::effect::{Effect, Purpose, Request};
use csprof::tui::message::{Message, Notice};
use csprof::tui::update::update;
use csprof::tui::worker::perform;

use super::{Viewer, solver};

/// The screen without its last lines, which say what is selected and what happened.
pub(crate) fn picture(viewer: &Viewer) -> String {
    let screen = viewer.screen();
    let lines: Vec<_> = screen.lines().collect();
    let last = if viewer.model.over.is_empty() { viewer.model.bottom_height() } else { 1 };
    lines[..lines.len() - last].join("\n")
}

pub(crate) fn said(viewer: &Viewer) -> String {
    match &viewer.model.notice {
        Some(Notice::Said(text) | Notice::Failed(text)) => text.clone(),
        None => String::new(),
    }
}

#[test]
fn every_step_is_taken_back_and_made_again() {
    let profile = solver();
    for (before, keys, what) in [
        ("jj", "l", "which rows are open"),
        ("jj", "e", "which rows are open"),
        ("jjejjj", "E", "which rows are open"),
        ("j", "h", "which rows are open"),
        ("j", "H", "which rows are open"),
        ("jje", "s", "the order of rows"),
        ("jje", "S", "the order of rows"),
        ("jjjt", "%", "what percentages are of"),
        ("jj", "3", "the view"),
        ("jj", "<tab>", "the view"),
        ("2jl", "q", "the view"),
        ("2g", "l", "which rows are open"),
        ("3j", "s", "the order of rows"),
        ("3<lt>", "<lt>", "what the rows are"),
        ("3<lt><lt>j", "l", "which rows are open"),
        ("3<lt><lt>jls", "d", "the stages"),
        ("jj", "4", "the view"),
        ("jje", "/memc<enter>", "the search"),
        ("jj", "/memc<enter>nn", "which rows are open"),
        ("jje", "jjt", "the stages"),
        ("jje", "fhide MPI_*<enter>", "the stages"),
        ("jje", ":by-module<enter>", "the stages"),
        ("2gjj", "x", "the stages"),
        ("5/solve<enter>", "<enter>", "the path of the table"),
        ("5/solve<enter><enter>", "i", "the path of the table"),
        ("5/solve<enter><enter>j", "<backspace>", "the path of the table"),
        ("5/solve<enter><enter>j", "ss", "the order of rows"),
        ("5/solve<enter><enter>", "T", "the stages"),
    ] {
        let mut viewer = Viewer::new(&profile, "80x20");
        let old = picture(viewer.press(before));
        let new = picture(viewer.press(keys));
        assert_ne!(old, new, "{before} {keys}");
        // Some keys move the cursor first, and that is not taken back.
        let (moves, steps) = match keys {
            "jjt" => ("kk", "u"),
            "ss" => ("", "uu"),
            _ => ("", "u"),
        };
        assert_eq!(picture(viewer.press(steps).press(moves)), old, "{before} {keys}");
        let again = steps.replace('u', "<C-r>");
        assert_eq!(picture(viewer.press(&again)), new, "{before} {keys}");
        viewer.press("u");
        assert_eq!(said(&viewer), format!("undo: {what}"), "{before} {keys}");
        viewer.press("<C-r>");
        assert_eq!(said(&viewer), format!("redo: {what}"), "{before} {keys}");
    }
}

#[test]
fn a_search_that_was_left_comes_back() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x20");
    viewer.press("/memc<enter><esc>");
    assert_eq!(viewer.model.search, None);
    viewer.press("u");
    assert!(viewer.model.search.is_some());
    viewer.press("u");
    assert_eq!(viewer.model.search, None);
}

#[test]
fn moving_and_pages_are_no_steps() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x20");
    for keys in
        ["jjG", "?q", "=q", "<enter>q", "/memx<esc>", "fhide x<esc>", "F<esc>", ":repro<enter>q"]
    {
        viewer.press(keys).press("u");
        assert_eq!(said(&viewer), "nothing to undo", "{keys}");
    }
    viewer.press("<C-r>");
    assert_eq!(said(&viewer), "nothing to redo");
}

#[test]
fn a_new_step_forgets_what_was_taken_back() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x20");
    viewer.press("3s1uu").press("s").press("<C-r>");
    assert_eq!(said(&viewer), "nothing to redo");
}

/// Keys at random (not those of pages, whose place is kept); then all steps back, each to the
/// screen before it, and forward again.
fn random_walk(profile: &Profile, seed: u64, length: usize) {
    const KEYS: &str = "j j j k G g <pagedown> l l h e E H s S % 1 2 3 5 q /m<enter> n N * <esc> \
                        t x d z u <lt> > <lt> m M";
    let keys: Vec<&str> = KEYS.split(' ').collect();
    let mut state = seed;
    let mut viewer = Viewer::new(profile, "80x20");
    let mut screens: Vec<String> = Vec::new();
    for _ in 0..length {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let key = keys[usize::try_from(state >> 33).unwrap() % keys.len()];
        let (before, steps) = (picture(&viewer), viewer.model.history.steps());
        viewer.press(key);
        let now = viewer.model.history.steps();
        if now > steps {
            screens.push(before);
        } else if now < steps {
            assert_eq!(Some(picture(&viewer)), screens.pop(), "{key}");
        }
    }
    let last = picture(&viewer);
    let steps = screens.len();
    while let Some(screen) = screens.pop() {
        viewer.press("u");
        assert_eq!(picture(&viewer), screen, "seed {seed}: {}", said(&viewer));
    }
    viewer.press("u");
    assert_eq!(said(&viewer), "nothing to undo");
    viewer.press(&"<C-r>".repeat(steps));
    assert_eq!(picture(&viewer), last, "seed {seed}");
}

#[test]
fn any_steps_are_taken_back_to_the_screens_there_were() {
    let profile = solver();
    (0..30).for_each(|seed| random_walk(&profile, seed, 40));
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/cc1plus.csprof");
    let saved = csprof_format::read::open(std::path::Path::new(file)).unwrap();
    random_walk(&Profile::from_saved(saved), 7, 40);
}

#[test]
fn steps_between_metrics_are_taken_back_too() {
    let profile = super::metrics::waiting();
    (0..30).for_each(|seed| random_walk(&profile, seed, 40));
}

/// Presses keys without answering what they ask for, and returns that.
fn press_unanswered(viewer: &mut Viewer, keys: &str) -> Vec<Effect> {
    let keys = csprof::tui::key::Key::parse_all(keys).unwrap();
    let mut effects = Vec::new();
    for key in keys {
        let message = viewer.model.message(key).unwrap();
        effects.extend(update(&mut viewer.model, message));
    }
    effects
}

#[test]
fn what_is_being_refined_can_be_ended() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x20");
    viewer.press("jjt");
    let shown = picture(&viewer);
    // A change on its way: the key that ends it is on the screen as soon as it takes its time.
    let asked = press_unanswered(&mut viewer, "jx");
    let [Effect::Refine(request)] = &asked[..] else { panic!("{asked:?}") };
    viewer.send(Message::Progress { ticket: request.ticket, done: 0.43 });
    let screen = viewer.screen();
    assert!(
        screen.contains("refining  43 % ████████") && screen.contains("esc ends it"),
        "{screen}"
    );
    assert_eq!(press_unanswered(&mut viewer, "<esc>"), [Effect::Cancel(None)]);
    assert_eq!(viewer.model.stages, viewer.model.shown_stages);
    // Its answer would come too late, and there is no step.
    let answer = perform(&Refined::base(&profile), request.clone());
    viewer.send(answer);
    assert_eq!(picture(&viewer), shown);
    viewer.press("u");
    assert_eq!(viewer.model.shown_stages.to_string(), "");

    // Going back is ended, too: then it was not gone back.
    viewer.press("<C-r>");
    let asked = press_unanswered(&mut viewer, "u");
    assert!(matches!(&asked[..], [Effect::Refine(_)]), "{asked:?}");
    assert_eq!(press_unanswered(&mut viewer, "<esc>"), [Effect::Cancel(None)]);
    assert_eq!(picture(&viewer), shown);
    viewer.press("u");
    assert_eq!(viewer.model.shown_stages.to_string(), "");
    viewer.press("<C-r>");
    assert_eq!(picture(&viewer), shown);
}

/// The last request among effects.
fn last_request(effects: &[Effect]) -> Request {
    let last = effects.iter().rev().find_map(|effect| match effect {
        Effect::Refine(request) if request.purpose == Purpose::Show => Some(request.clone()),
        _ => None,
    });
    last.unwrap()
}

#[test]
fn what_is_refused_is_forgotten_alone() {
    let profile = solver();
    let wanted = {
        let mut viewer = Viewer::new(&profile, "80x20");
        picture(viewer.press("jjts"))
    };
    let mut viewer = Viewer::new(&profile, "80x20");
    let first = picture(viewer.press("jj"));
    // While the first change is on its way the order is changed, and two more come, both refused.
    press_unanswered(&mut viewer, "ts");
    press_unanswered(&mut viewer, "fhide nowhere<enter>");
    let asked = last_request(&press_unanswered(&mut viewer, "fhide nothing<enter>"));
    viewer.send(perform(&Refined::base(&profile), asked));
    assert_eq!(said(&viewer), "no function matches nowhere");
    assert_eq!(picture(&viewer), wanted);
    viewer.press("<C-r>");
    assert_eq!(said(&viewer), "nothing to redo");
    assert_eq!(picture(viewer.press("uu")), first);
    viewer.press("u");
    assert_eq!(said(&viewer), "nothing to undo");

    // A step back on its way, and a change that is refused: it was gone back.
    assert_eq!(picture(viewer.press("<C-r><C-r>")), wanted);
    press_unanswered(&mut viewer, "uu");
    let asked = last_request(&press_unanswered(&mut viewer, "fhide nothing<enter>"));
    viewer.send(perform(&Refined::base(&profile), asked));
    assert_eq!(picture(&viewer), first);
}

#[test]
fn what_is_ended_after_a_step_back_was_not_gone_back() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x20");
    let first = picture(viewer.press("jj"));
    let second = picture(viewer.press("t"));
    press_unanswered(&mut viewer, "u");
    press_unanswered(&mut viewer, "x");
    assert_eq!(press_unanswered(&mut viewer, "<esc>"), [Effect::Cancel(None)]);
    assert_eq!(picture(&viewer), second);
    assert_eq!(picture(viewer.press("u")), first);
}

#[test]
fn a_view_that_is_being_counted_can_be_left() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x20");
    let tree = picture(&viewer);
    let asked = press_unanswered(&mut viewer, "3");
    let [Effect::Refine(request)] = &asked[..] else { panic!("{asked:?}") };
    viewer.send(Message::Progress { ticket: request.ticket, done: 0.99 });
    assert!(viewer.screen().contains("counting  99 %"));
    assert_eq!(press_unanswered(&mut viewer, "<esc>"), [Effect::Cancel(None)]);
    assert_eq!(picture(&viewer), tree);
}

#[test]
fn a_stage_that_leaves_no_path_changes_nothing() {
    let profile = solver();
    for keys in ["x", "fnot through main<enter>", "fthrough memcpy > main<enter>"] {
        let mut viewer = Viewer::new(&profile, "80x20");
        let old = picture(viewer.press("j"));
        assert_eq!(picture(viewer.press(keys)), old, "{keys}");
        assert_eq!(said(&viewer), "no call path would be left; nothing was changed", "{keys}");
        viewer.press("u");
        assert_eq!(said(&viewer), "nothing to undo", "{keys}");
    }
}
