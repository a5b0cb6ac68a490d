//! The file read again under an open screen.

use csprof::profile::{FunctionRef, Profile, from_outline};
use csprof::refine::Refined;
use csprof::tui::effect::{Effect, Request};
use csprof::tui::message::{Message, ViewId};
use csprof::tui::update::update;
use csprof::tui::views::TABS;
use csprof::tui::worker::{perform, replace};
use csprof_format::ids::{ModuleId, StringId};

use super::undo::{picture, said};
use super::{SOLVER, Viewer, solver};

/// Asks for the file; what is read must be sent.
fn ask(viewer: &mut Viewer) -> Request {
    viewer.press(":reload<enter>");
    match viewer.effects.pop() {
        Some(Effect::Reload(request)) => request,
        other => panic!("{other:?}"),
    }
}

fn answer(viewer: &mut Viewer, request: Request, read: Result<Profile, &str>) {
    let before = Refined::base(&viewer.model.profile);
    viewer.send(replace(&before, read.map_err(str::to_owned), request));
}

fn reload(viewer: &mut Viewer, profile: &Profile) {
    let request = ask(viewer);
    answer(viewer, request, Ok(profile.clone()));
}

/// The same profile with other numbers of functions, load modules and strings.
fn renumbered(mut profile: Profile) -> Profile {
    let [functions, modules, strings] =
        [profile.functions.len(), profile.info.modules.len(), profile.info.strings.len()]
            .map(|length| u32::try_from(length).unwrap());
    let string = |id: StringId| StringId(strings - 1 - id.0);
    profile.info.strings.reverse();
    profile.info.modules.reverse();
    for module in &mut profile.info.modules {
        module.path = string(module.path);
    }
    // The first function is the root's.
    profile.functions[1..].reverse();
    for function in profile.functions.iter_mut() {
        function.module = function.module.map(|module| ModuleId(modules - 1 - module.0));
        function.file = function.file.map(string);
    }
    for frame in profile.frames.iter_mut() {
        frame.file = frame.file.map(string);
        if frame.function != FunctionRef::ROOT {
            frame.function = FunctionRef(functions - frame.function.0);
        }
    }
    profile
}

#[test]
fn a_screen_is_found_again_whatever_the_numbers_of_functions() {
    let profile = solver();
    let other = renumbered(profile.clone());
    assert_ne!(profile.functions, other.functions);
    for keys in [
        "jj",
        "jje",
        "jjejjj",
        "jjejjjl",
        "jH",
        "jjesS",
        "jj%",
        "/memc<enter>",
        "2jl",
        "2gjjljl",
        "2gjjljls",
        "3jj",
        "3<lt><lt>jl",
        "3>jjl",
        "jjt",
        "jjejjd",
        "jje:by-module<enter>jl",
        "fcallers of poll<enter>jl",
        "fgroup MPI_* as MPI<enter>jjel",
        "5/solve<enter><enter>j",
        "5/solve<enter><enter>i",
        "4",
        "P",
        "jj=",
        "F",
    ] {
        let [mut viewer, mut reloaded] = [(); 2].map(|()| Viewer::new(&profile, "80x24"));
        viewer.press(keys);
        reloaded.press(keys);
        // A page is closed: its numbers are those of the profile before.
        let shown = keys.trim_end_matches('=');
        let before = picture(Viewer::new(&profile, "80x24").press(shown));
        // Pages take keys, so the command is given as the palette gives it.
        for effect in update(&mut reloaded.model, Message::Reload) {
            let Effect::Reload(request) = effect else { panic!("{effect:?}") };
            answer(&mut reloaded, request, Ok(other.clone()));
        }
        assert_eq!(picture(&reloaded), before, "{keys}");
        assert_eq!(said(&reloaded), "read again: 200 samples, 200 before", "{keys}");
        if keys.ends_with(['=', 'F']) {
            continue;
        }
        for more in ["u", "u", "<C-r>", "2", "l", "q"] {
            let [here, there] = [&mut viewer, &mut reloaded].map(|v| picture(v.press(more)));
            assert_eq!(here, there, "{keys}, then {more}");
        }
    }
}

#[test]
fn what_is_gone_is_left_and_what_is_new_is_there() {
    let mut viewer = Viewer::new(&solver(), "80x24");
    viewer.press("jjejj");
    let selected = |viewer: &Viewer| {
        let row = viewer.model.selected().unwrap().row;
        viewer.model.row_name(row).to_owned()
    };
    assert_eq!(selected(&viewer), "MPI_Sendrecv");
    let changed = SOLVER.replace("dot_product 30 inline", "norm 300").replace(" 60 e=55", " 6 e=5");
    let changed = from_outline(&changed).unwrap();
    reload(&mut viewer, &changed);
    assert_eq!(said(&viewer), "read again: 416 samples, 200 before");
    assert_eq!(selected(&viewer), "MPI_Sendrecv");
    let screen = viewer.screen();
    assert!(screen.contains("norm") && !screen.contains("dot_product"), "{screen}");
    // The row is gone: the nearest one is selected.
    let short = "_start\n  main 2 module:solver\n    read_input 8 module:solver\n";
    reload(&mut viewer, &from_outline(short).unwrap());
    assert_eq!(said(&viewer), "read again: 10 samples, 416 before");
    assert_eq!(selected(&viewer), "main");
    assert!(viewer.screen().contains("read_input"), "{}", viewer.screen());
    reload(&mut viewer, &changed);
    let information = picture(viewer.press("4"));
    assert!(information.contains("416"), "{information}");
    reload(&mut viewer, &solver());
    assert!(picture(&viewer).contains("200"), "{}", picture(&viewer));
    assert_ne!(picture(&viewer), information);
}

#[test]
fn what_cannot_be_read_or_refined_changes_nothing() {
    let mut viewer = Viewer::new(&solver(), "80x24");
    let before = picture(viewer.press("jjt"));
    let request = ask(&mut viewer);
    assert_eq!(said(&viewer), "reading the file again…");
    answer(&mut viewer, request, Err("run.csprof: No such file"));
    assert_eq!(said(&viewer), "not read again: run.csprof: No such file");
    assert_eq!(picture(&viewer), before);
    reload(&mut viewer, &from_outline("_start 3\n").unwrap());
    assert_eq!(picture(&viewer), before);
    assert!(said(&viewer).starts_with("no function matches"), "{}", said(&viewer));
    // What was asked for since is not lost.
    let request = ask(&mut viewer);
    let asked = update(&mut viewer.model, Message::Undo);
    assert!(matches!(&asked[..], [Effect::Refine(_)]), "{asked:?}");
    answer(&mut viewer, request, Ok(solver()));
    assert!(said(&viewer).starts_with("not read again: something else"), "{}", said(&viewer));
    assert!(viewer.model.pending.is_some());
}

#[test]
fn a_change_under_way_is_made_of_what_is_read() {
    let mut viewer = Viewer::new(&solver(), "80x24");
    viewer.press("jj");
    let asked = update(&mut viewer.model, Message::AddStage("split thread"));
    assert!(matches!(&asked[..], [Effect::Refine(_)]), "{asked:?}");
    reload(&mut viewer, &renumbered(solver()));
    assert_eq!(viewer.model.shown_stages.to_string(), "split thread");
    let shown = picture(&viewer);
    assert!(shown.contains("thread=0"), "{shown}");
    viewer.press("u");
    assert_eq!(viewer.model.shown_stages.to_string(), "");
}

/// The callers of a function are asked for, and the profile is another when they are there.
#[test]
fn the_followed_function_is_found_again() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press("jjejj");
    let wanted = picture(Viewer::new(&profile, "80x24").press("jjejj2"));
    let asked = update(&mut viewer.model, Message::Show(ViewId(1)));
    assert!(matches!(&asked[..], [Effect::Refine(_)]), "{asked:?}");
    reload(&mut viewer, &renumbered(profile));
    assert_eq!(picture(&viewer), wanted);
}

#[test]
fn other_metrics_begin_anew() {
    let both = |outline: &str| from_outline(outline).unwrap();
    let mut viewer = Viewer::new(&both("main 2\n  f 3 realtime:1\n  g 2\n"), "80x24");
    viewer.press("jlsm");
    reload(&mut viewer, &both("main 2\n  f 3 task-clock:1\n  g 2 realtime:2\n"));
    assert_eq!(viewer.model.metric().source, "realtime");
    assert!(said(&viewer).ends_with("its metrics are others, so the views begin anew"));
    reload(&mut viewer, &both("main 2\n  f 3\n"));
    assert_eq!(viewer.model.metric().source, "cputime");
    viewer.press("u");
    assert_eq!(said(&viewer), "nothing to undo");
    // The list of processes is of the metric that there is.
    viewer.press("P:repro<enter>");
    assert!(viewer.screen().contains("--view threads"), "{}", viewer.screen());
}

/// A metric that is chosen while the file is read stays, and so does the line of a list.
#[test]
fn what_is_chosen_meanwhile_stays() {
    let outline = "# rank=0 thread=10 epoch=0\nmain 40 realtime:10\n\
                   # rank=1 thread=11 epoch=0\nmain 25 realtime:20\n";
    let profile = from_outline(outline).unwrap();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press("Pj");
    let asked = update(&mut viewer.model, Message::Reload);
    viewer.press("m");
    for effect in asked {
        let Effect::Reload(request) = effect else { panic!("{effect:?}") };
        answer(&mut viewer, request, Ok(profile.clone()));
    }
    assert_eq!(viewer.model.metric().source, "realtime");
    assert_eq!(picture(&viewer), picture(Viewer::new(&profile, "80x24").press("Pjm")));
}

/// What is wrong of the old profile may be right of the new one.
#[test]
fn a_line_that_is_typed_meanwhile_is_judged_anew() {
    let mut viewer = Viewer::new(&from_outline("main 2\n  f 3\n").unwrap(), "80x24");
    let request = ask(&mut viewer);
    viewer.press("fhide norm");
    let refused = viewer.screen();
    answer(&mut viewer, request, Ok(from_outline("main 2\n  norm 3\n").unwrap()));
    assert_ne!(viewer.screen(), refused);
    viewer.press("<enter>");
    assert_eq!(viewer.model.shown_stages.to_string(), "hide norm");
}

/// Leaving a list ends what the list waited for, and nothing that others did.
#[test]
fn leaving_a_list_ends_what_it_waited_for() {
    let ended = |effects: &[Effect]| {
        effects.iter().filter(|effect| matches!(effect, Effect::Cancel(_))).count()
    };
    let mut viewer = Viewer::new(&solver(), "80x24");
    let callers = update(&mut viewer.model, Message::Show(ViewId(1)));
    let list = update(&mut viewer.model, Message::Show(ViewId(TABS)));
    let [Effect::Refine(callers)] = &callers[..] else { panic!("{callers:?}") };
    let [Effect::Refine(list)] = &list[..] else { panic!("{list:?}") };
    // By a digit or by Esc.
    let mut other = viewer.model.clone();
    assert!(
        update(&mut other, Message::Show(ViewId(2))).contains(&Effect::Cancel(Some(list.ticket)))
    );
    let left = update(&mut viewer.model, Message::Cancel);
    assert_eq!(left, [Effect::Cancel(Some(list.ticket))]);
    assert_eq!(
        viewer.model.asked.iter().map(|(ticket, _)| *ticket).collect::<Vec<_>>(),
        [callers.ticket]
    );
    assert_eq!(ended(&update(&mut viewer.model, Message::Cancel)), 1);
}

/// A search that is open while an undo arrives begins in the rows that the undo brings back, and
/// leaves the search before as it is.
#[test]
fn a_search_is_open_while_an_undo_arrives() {
    let keys = "/dot<enter>jjtG";
    let mut viewer = Viewer::new(&solver(), "80x24");
    viewer.press(keys);
    let asked = update(&mut viewer.model, Message::Undo);
    assert_eq!(asked.len(), 1, "{asked:?}");
    viewer.press("/");
    for effect in asked {
        let Effect::Refine(request) = effect else { panic!("{effect:?}") };
        viewer.send(perform(&Refined::base(&solver()), request));
    }
    let mut other = Viewer::new(&solver(), "80x24");
    other.press(keys).press("u/");
    assert_eq!(picture(&viewer), picture(&other));
    assert!(viewer.model.search.is_some());
    assert_eq!(picture(viewer.press("x<esc>")), picture(other.press("x<esc>")));
}
