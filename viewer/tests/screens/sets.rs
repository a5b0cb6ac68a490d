//! Sets of frames: listed, defined, saved from a stage.

use std::sync::Arc;

use csprof::refine::{SetText, Sets};
use csprof::set_files::SetFile;
use csprof::tui::effect::Effect;
use csprof::tui::message::{Message, Notice};
use insta::assert_snapshot;

use super::undo::said;
use super::{Viewer, solver};

fn sets(text: &str) -> Arc<Sets> {
    Arc::new(Sets::read(&[SetText { place: "sets", text }]))
}

/// What the viewer would save: file, name and frames.
fn saved(viewer: &Viewer) -> Vec<String> {
    let saves = viewer.effects.iter().filter_map(|effect| match effect {
        Effect::SaveSet { file, name, pattern } => {
            let file = if *file == SetFile::User { "user" } else { "beside" };
            Some(format!("{file}: @{name} = {pattern}"))
        }
        _ => None,
    });
    saves.collect()
}

#[test]
fn sets_are_listed_with_what_they_match() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.model.sets = sets("@wait = {poll, MPI_Wait*}\n@far = nothing\n@bad = {x\n");
    assert_snapshot!(viewer.press(":sets<enter>").screen());
}

#[test]
fn sets_are_defined_at_prompts() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x16");
    viewer.press("f@wait = {poll, mp");
    assert_snapshot!(viewer.screen());
    viewer.press("<C-u>@wait = {poll, memcpy}");
    assert_snapshot!(viewer.screen());
    viewer.press("<enter>:set-here<enter>here = poll<enter>:set<enter>x = @x<enter>");
    assert_eq!(saved(&viewer), ["user: @wait = {poll, memcpy}", "beside: @here = poll"]);
    // The last one is refused where it stands.
    assert_snapshot!(viewer.screen());
}

#[test]
fn frames_of_a_stage_are_saved_as_a_set() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x20");
    viewer.press("fnot under {poll, memcpy} | through main > solve<enter>Fw");
    assert_snapshot!(viewer.screen());
    viewer.press("busy<enter>Wbusier<enter>jw");
    assert_eq!(
        saved(&viewer),
        ["user: @busy = {poll, memcpy}", "beside: @busier = {poll, memcpy}"]
    );
    let said = viewer.model.notice.clone();
    let cause = "a set holds frames, and this stage is about more than one frame pattern";
    assert_eq!(said, Some(Notice::Failed(cause.to_owned())));
}

#[test]
fn what_is_shown_follows_a_set_that_changes() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x20");
    viewer.model.sets = sets("@wait = poll\n");
    viewer.press("fthrough @wa<tab><enter>");
    assert_eq!(viewer.model.shown_stages.to_string(), "through @wait");
    assert_eq!(viewer.model.refined.shown, 70);
    let notice = Notice::Said("saved".to_owned());
    viewer.send(Message::SetsLoaded { sets: sets("@wait = memcpy\n"), notice });
    assert_eq!(viewer.model.refined.shown, 60);
    // A set that is gone leaves what is shown as it is, and says so.
    let notice = Notice::Said("saved".to_owned());
    viewer.send(Message::SetsLoaded { sets: sets(""), notice });
    assert_eq!(viewer.model.refined.shown, 60);
    assert!(matches!(&viewer.model.notice, Some(Notice::Failed(_))));
}

/// What the viewer would save: name and stages.
fn saved_stages(viewer: &Viewer) -> Vec<String> {
    let saves = viewer.effects.iter().filter_map(|effect| match effect {
        Effect::SaveRefinement { name, refinement, replaces } => {
            let sign = if *replaces { "!" } else { "" };
            Some(format!("@{name}{sign} = {refinement}"))
        }
        _ => None,
    });
    saves.collect()
}

#[test]
fn stages_are_saved_under_a_name_and_applied() {
    let mut viewer = Viewer::new(&solver(), "80x20");
    viewer.press(":save-refinement hot<enter>");
    assert!(said(&viewer).starts_with("there are no stages"), "{}", said(&viewer));
    viewer.press("fthrough solve | hide poll<enter>:save-refinement mpi<enter>");
    assert!(said(&viewer).contains("@mpi is a set"), "{}", said(&viewer));
    viewer.press("FAhot<enter>");
    assert_eq!(saved_stages(&viewer), ["@hot = through solve | hide poll"]);
    let mut known = Sets::default();
    let text = "@hot = through solve | hide poll\n";
    known.read_refinements(SetText { place: "refinements", text });
    viewer.model.sets = Arc::new(known);
    // A set of that name would break it.
    viewer.press("q:set<enter>hot = poll<enter>");
    assert!(viewer.screen().contains("@hot is a refinement already"), "{}", viewer.screen());
    viewer.press("<esc>:clear<enter>:save-refinement hot<enter>");
    assert!(said(&viewer).contains("saved already"), "{}", said(&viewer));
    viewer.press(":apply hut<enter>");
    assert_eq!(said(&viewer), "no refinement @hut; there are @hot");
    for keys in [":apply hot<enter>", "f@hot<enter>", ":apply<enter>h<tab><enter>"] {
        viewer.press(keys);
        assert_eq!(viewer.model.stages.to_string(), "through solve | hide poll", "{keys}");
        viewer.press(":clear<enter>");
    }
    viewer.press("fhide memcpy<enter>:save-refinement! hot<enter>");
    assert_eq!(saved_stages(&viewer).last().unwrap(), "@hot! = hide memcpy");
}
