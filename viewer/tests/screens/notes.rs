//! Bookmarks, notes and the ledger; and a profile that opens where it was left.

use std::sync::Arc;

use csprof::profile::Profile;
use csprof::tui::effect::Effect;
use csprof::tui::message::{Message, ViewId};
use csprof::tui::saved_screen::{SavedScreen, Unfit};
use csprof::tui::update::resume;
use csprof::views::notes::{Change, Notes, State, What};

use super::undo::{picture, said};
use super::{Viewer, solver};

/// Keeps what the viewer wants to be said of paths.
pub(super) fn keep(viewer: &mut Viewer, notes: &mut Notes) {
    for effect in std::mem::take(&mut viewer.effects) {
        if let Effect::Note(change) = effect {
            let said = notes.change(&change).map(|()| "kept");
            viewer.send(Message::Noted { notes: Some(Arc::new(notes.clone())), said });
        }
    }
}

fn noted(size: &str) -> (Viewer, Notes) {
    let mut viewer = Viewer::new(&solver(), size);
    let mut notes = Notes::new("./solver");
    for keys in ["jjA", "\"why so often?<enter>", "jX50%<enter>", "kkU", "jj"] {
        viewer.press(keys);
        keep(&mut viewer, &mut notes);
    }
    (viewer, notes)
}

#[test]
fn notes_are_seen_beside_rows_and_listed() {
    for size in ["80x24", "40x12", "120x30"] {
        let (mut viewer, _) = noted(size);
        insta::assert_snapshot!(format!("notes_in_tree_{size}"), viewer.screen());
        insta::assert_snapshot!(format!("notes_{size}"), picture(viewer.press("'")));
    }
}

/// Each sample of the paths found counts once: one path lies below another.
#[test]
fn notes_are_found_and_cost_no_more_than_there_is() {
    let (mut viewer, _) = noted("100x24");
    let screen = viewer.press("'/often").screen();
    assert!(screen.contains("1 of 1 row, in all"), "{screen}");
    let screen = viewer.press("<enter>/main<enter>").screen();
    let notes = viewer.model.notes.list.len();
    assert!(
        notes > 2 && screen.contains(&format!("1 of {notes} rows, in all 1.00 s 100%")),
        "{screen}"
    );
    let screen = viewer.press("/nothing<enter>").screen();
    assert!(screen.contains("matches “nothing”"), "{screen}");
    viewer.press(":export a.json<enter>");
    let Some(Effect::ExportTable { table, .. }) = viewer.effects.pop() else { panic!() };
    assert_eq!(table.rows.len(), notes);
}

#[test]
fn a_note_is_edited_deleted_and_gone_to() {
    let (mut viewer, mut notes) = noted("80x24");
    let before = notes.list.len();
    viewer.press("'e!<enter>");
    keep(&mut viewer, &mut notes);
    assert_eq!(notes.list[0].text, "why so often?!");
    viewer.press("<enter>");
    assert_eq!(viewer.model.view, ViewId::HOME);
    assert!(picture(viewer.press("=")).contains("why so often?!"));
    viewer.press("q'd");
    keep(&mut viewer, &mut notes);
    assert_eq!(notes.list.len(), before - 1);
    // Taken back, and only once.
    viewer.press("u");
    keep(&mut viewer, &mut notes);
    assert_eq!(notes.list.len(), before);
    assert_eq!(notes.list.last().unwrap().text, "why so often?!");
    viewer.press("u");
    assert_eq!(said(&viewer), "no note was deleted since the viewer began");
    viewer.press("Gd");
    keep(&mut viewer, &mut notes);
    // What cannot be kept is told, and changes nothing.
    viewer.send(Message::Noted { notes: None, said: Err("the disk is full".to_owned()) });
    assert_eq!(said(&viewer), "not kept: the disk is full");
    // An estimate that says nothing stays on the screen with its reason.
    viewer.press("q1X9 h<enter>");
    assert!(viewer.screen().contains("an estimate is a share"), "{}", viewer.screen());
    // Rows of functions are no paths.
    viewer.press("<esc>3:bookmark<enter>");
    assert!(said(&viewer).starts_with("rows of the call tree"), "{}", said(&viewer));
    assert!(viewer.effects.is_empty());
}

/// A note that was not deleted, or could not be put back, is not lost.
#[test]
fn what_was_deleted_is_there_until_it_is_put_back() {
    let mut viewer = Viewer::new(&solver(), "80x24");
    let mut notes = Notes::new("./solver");
    viewer.press("jA");
    keep(&mut viewer, &mut notes);
    // Not deleted: another viewer took a note of the path.
    let other = |notes: &mut Notes, text: &str| {
        let path = notes.list[0].path();
        let before = notes.list[0].text.clone();
        notes.change(&Change { path, what: What::Text { before, text: text.to_owned() } }).unwrap();
    };
    other(&mut notes, "theirs");
    viewer.press("'d");
    keep(&mut viewer, &mut notes);
    let cause = "not kept: another viewer changed it; shown as it is now, try again";
    assert_eq!(said(&viewer), cause);
    assert!(viewer.screen().contains("try again"), "{}", viewer.screen());
    viewer.press("u");
    assert_eq!(said(&viewer), "no note was deleted since the viewer began");
    viewer.press("d");
    keep(&mut viewer, &mut notes);
    assert!(notes.list.is_empty());
    // Not put back: there is a bookmark on the path again.
    let mut taken = notes.clone();
    viewer.press("u");
    let path = match &viewer.effects[..] {
        [Effect::Note(change)] => change.path.clone(),
        effects => panic!("{effects:?}"),
    };
    taken.change(&Change { path: path.clone(), what: What::Bookmark(true) }).unwrap();
    keep(&mut viewer, &mut taken);
    assert_eq!(said(&viewer), cause);
    taken.change(&Change { path, what: What::Bookmark(false) }).unwrap();
    viewer.press("u");
    keep(&mut viewer, &mut taken);
    assert_eq!((said(&viewer), &*taken.list[0].text), ("kept".to_owned(), "theirs"));
}

/// Keys do not wait until notes are kept, so `u` knows what is being deleted and put back.
#[test]
fn what_is_being_deleted_can_be_put_back() {
    let (mut viewer, mut notes) = noted("80x24");
    let all = notes.clone();
    viewer.press("'dduu");
    assert_eq!(viewer.effects.len(), 4);
    keep(&mut viewer, &mut notes);
    let sorted = |notes: &Notes| {
        let mut list = notes.list.clone();
        list.sort_by_key(|note| format!("{note:?}"));
        list
    };
    assert_eq!((sorted(&notes), said(&viewer)), (sorted(&all), "kept".to_owned()));
    viewer.press("u");
    assert_eq!(said(&viewer), "no note was deleted since the viewer began");
    // A note that was deleted is not forgotten because its path has a bookmark meanwhile.
    viewer.press("gd");
    let deleted = match &viewer.effects[..] {
        [Effect::Note(change)] => change.clone(),
        effects => panic!("{effects:?}"),
    };
    viewer.effects.clear();
    let kept = notes.change(&deleted).map(|()| "kept");
    let bookmark = Change { path: deleted.path.clone(), what: What::Bookmark(true) };
    notes.change(&bookmark).unwrap();
    viewer.send(Message::Noted { notes: Some(Arc::new(notes.clone())), said: kept });
    notes.change(&Change { what: What::Bookmark(false), ..bookmark }).unwrap();
    viewer.press("u");
    keep(&mut viewer, &mut notes);
    assert_eq!(sorted(&notes), sorted(&all));
}

/// What is said is kept beside the screen: the next key sees it before that has been done, and a
/// refusal takes it back.
#[test]
fn keys_do_not_wait_until_notes_are_kept() {
    let mut viewer = Viewer::new(&solver(), "80x24");
    viewer.press("jAAA");
    let asked: Vec<_> = std::mem::take(&mut viewer.effects);
    let asked = asked.into_iter().map(|effect| match effect {
        Effect::Note(change) => change,
        other => panic!("{other:?}"),
    });
    let asked: Vec<_> = asked.collect();
    let bookmarks = [true, false, true].map(What::Bookmark);
    assert!(asked.iter().map(|change| &change.what).eq(&bookmarks), "{asked:?}");
    assert_eq!(viewer.model.notes.list.len(), 1);
    // The first two are kept; what was asked for since stays.
    let mut notes = Notes::new("./solver");
    for change in &asked[..2] {
        let said = notes.change(change).map(|()| "kept");
        viewer.send(Message::Noted { notes: Some(Arc::new(notes.clone())), said });
        assert_eq!(viewer.model.notes.list.len(), 1);
    }
    viewer.send(Message::Noted { notes: None, said: Err("the disk is full".to_owned()) });
    assert_eq!(viewer.model.notes.list.len(), 0);
    assert_eq!(said(&viewer), "not kept: the disk is full");
    // Whatever else is kept, the refusal is told until a key.
    viewer.send(Message::Noted { notes: Some(Arc::new(notes)), said: Ok("kept") });
    assert_eq!(said(&viewer), "not kept: the disk is full");
    viewer.press("j");
    assert_eq!(viewer.model.notice, None);
}

/// Boxes of the flame view are paths as rows of the tree are, and take notes by the same keys.
#[test]
fn boxes_take_notes() {
    let mut viewer = Viewer::new(&solver(), "80x24");
    let mut notes = Notes::new("./solver");
    for keys in ["6jjA", "\"why?<enter>", "X50%<enter>"] {
        viewer.press(keys);
        keep(&mut viewer, &mut notes);
    }
    assert_eq!(notes.list.len(), 1, "{}", viewer.screen());
    let note = &notes.list[0];
    assert!(note.is_bookmarked && note.text == "why?" && note.entry.is_some(), "{note:?}");
    viewer.press("U");
    keep(&mut viewer, &mut notes);
    assert_eq!(notes.list[0].entry.as_ref().unwrap().state, State::Understood);
}

/// What is taken back leaves nothing, and a bookmark comes and goes beside a note.
#[test]
fn only_what_was_asked_for_stays() {
    let mut viewer = Viewer::new(&solver(), "80x24");
    let mut notes = Notes::new("./solver");
    let mut lists = Vec::new();
    for keys in
        ["jU", "U", "X50%<enter>", "X<C-u>none<enter>", "\"why?<enter>", "A", "A", "\"<C-u><enter>"]
    {
        viewer.press(keys);
        keep(&mut viewer, &mut notes);
        lists.push(notes.list.len());
    }
    assert_eq!(lists, [1, 0, 1, 0, 1, 1, 1, 0]);
}

/// The estimate is of what was shown when it was asked for, whatever arrives meanwhile.
#[test]
fn an_estimate_is_of_the_moment_at_which_it_was_asked_for() {
    let mut viewer = Viewer::new(&solver(), "80x24");
    let mut notes = Notes::new("./solver");
    viewer.press("jX50%");
    let cost = viewer.model.noting.then.samples;
    assert!(cost > 0);
    viewer.model.scene.refined.metric = csprof::profile::MetricRef::FIRST;
    viewer.press("<enter>");
    keep(&mut viewer, &mut notes);
    let then = &notes.list[0].entry.as_ref().unwrap().then;
    assert_eq!((then.samples, &*then.stages), (cost, ""));
}

/// All that stands out is understood: that is told, and is not the same as nothing.
#[test]
fn what_is_understood_is_told_where_nothing_else_stands_out() {
    let mut viewer = Viewer::new(&solver(), "80x24");
    let mut notes = Notes::new("./solver");
    viewer.press("gU");
    keep(&mut viewer, &mut notes);
    let screen = picture(viewer.press("!"));
    assert!(screen.contains("nothing else stands out: 1 path marked as understood"), "{screen}");
}

fn open(profile: &Profile, left: &str) -> Viewer {
    let mut viewer = Viewer::new(profile, "80x24");
    let screen = SavedScreen::read(left, profile).unwrap();
    let effects = resume(&mut viewer.model, &screen);
    viewer.perform(effects);
    viewer
}

#[test]
fn a_screen_opens_as_it_was_left() {
    let of_rows = ["jj", "jje", "jjejjj", "jH", "jjesS", "jj%", "2jl", "2gjjljls", "3jj", ".", "4"];
    let of_others = ["6jj", "6jjjl", "6jj3", "/exchange<enter>7", "/memcpy<enter>71"];
    for keys in of_rows.into_iter().chain(of_others) {
        let mut viewer = Viewer::new(&solver(), "80x24");
        let before = picture(viewer.press(keys));
        let text = SavedScreen::of(&mut viewer.model).text();
        let mut again = open(&solver(), &text);
        // A key that does nothing: the first screen has a legend.
        assert_eq!(picture(again.press("<C-l>")), before, "{keys}");
    }
}

#[test]
fn folders_of_sources_are_asked_for_once() {
    let folders = ["/home/me/of \u{e9}", "/home/me/before"];
    let mut viewer = Viewer::new(&solver(), "80x24");
    for folder in folders.iter().rev() {
        viewer.press("/exchange<enter>7p");
        viewer.send(Message::Pasted((*folder).to_owned()));
        viewer.press("<enter>1");
    }
    let text = SavedScreen::of(&mut viewer.model).text();
    let mut again = open(&solver(), &text);
    assert_eq!(again.model.sources.folders().collect::<Vec<_>>(), folders);
    assert_eq!(picture(again.press("7")), picture(viewer.press("7")));
    // Who wrote a screen before them knew none.
    let old = text.replace("\"folders\":", "\"unknown\":");
    assert_eq!(open(&solver(), &old).model.sources.folders().count(), 0);
}

#[test]
fn what_does_not_fit_is_left_out() {
    let mut viewer = Viewer::new(&solver(), "80x24");
    viewer.press("jjejjj");
    let text = SavedScreen::of(&mut viewer.model).text();
    let mut other = csprof::profile::from_outline("main 3\n  other 4\n").unwrap();
    assert_eq!(SavedScreen::read(&text, &other).unwrap_err(), Unfit::OtherProgram);
    other.info.run.command = vec![b"/elsewhere/solver".to_vec()];
    let again = open(&other, &text);
    assert!(said(&again).contains("not there any more"), "{}", said(&again));
    for bad in ["", "{}", "[1]", &text[..text.len() / 2], &text.replacen("1", "7", 1)] {
        assert_eq!(SavedScreen::read(bad, &other).unwrap_err(), Unfit::Unreadable);
    }
    // Numbers that say nothing lead nowhere.
    for (from, to) in
        [("\"open\":[[0,", "\"open\":[[9,"), ("\"names\":[", "\"names\":[[\"x\",null],")]
    {
        let wrong = text.replace(from, to);
        assert_ne!(wrong, text);
        let _ = picture(&open(&solver(), &wrong));
    }
}
