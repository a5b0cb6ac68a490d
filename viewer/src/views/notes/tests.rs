use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::*;
use crate::profile::from_outline;
use crate::refine::unwatched;

fn tree(refined: &Refined) -> TopDown {
    unwatched(|watch| TopDown::new(refined, watch))
}

fn ledger(notes: &Notes, refined: &Refined, tree: &mut TopDown) -> Ledger {
    unwatched(|watch| super::ledger(notes, refined, tree, watch))
}

/// The path to a row by names from the root.
fn path(refined: &Refined, names: &[&str]) -> Path {
    let mut tree = tree(refined);
    let mut at = RowId::ROOT;
    for name in names {
        let children = tree.children(refined, at).to_vec();
        let is_it =
            |row: &&RowId| &*refined.functions[tree.row(**row).function.index()].name == *name;
        at = *children.iter().find(is_it).unwrap();
    }
    tree.path(refined, at)
}

fn entry(state: State, estimate: &str) -> What {
    let estimate = Estimate::parse(estimate, "ns").unwrap();
    let metric = refined(SOLVER).looked_at().clone();
    let then = Then { source: metric.source, unit: metric.unit, ..Then::default() };
    What::Entry { before: None, entry: Some(Entry { state, estimate, then }) }
}

const SOLVER: &str = "main 10\n  solve 20\n    copy 30\n    wait 5 inline\n  read 35\n";

fn refined(outline: &str) -> Refined {
    Refined::base(&from_outline(outline).unwrap())
}

/// In a recursion all rows have the name of a note, and to compare paths costs as much as they are
/// long.
#[test]
fn only_rows_of_its_depth_may_be_those_of_a_note() {
    let shown = refined("walk\n  walk\n    walk 9\n");
    let mut notes = Notes::new("walker");
    let path = path(&shown, &["walk", "walk"]);
    notes.change(&Change { path, what: What::Bookmark(true) }).unwrap();
    let may_be = [1, 2, 3].map(|depth| notes.list[0].may_be_of("walk", depth));
    assert_eq!(may_be, [false, true, false]);
}

/// To find a path in a wide tree takes long, and so does to climb it.
#[test]
fn the_ledger_can_be_ended_at_each_entry() {
    let shown = refined(SOLVER);
    let mut notes = Notes::new("solver");
    for names in [&["main", "solve"][..], &["main", "solve", "copy"], &["main", "read"]] {
        let what = entry(State::ToFix, "all");
        notes.change(&Change { path: path(&shown, names), what }).unwrap();
    }
    let steps = Cell::new(0);
    let cancelled = AtomicBool::new(false);
    for last in 0..=6 {
        steps.set(0);
        cancelled.store(last == 0, Ordering::Relaxed);
        let report = |_| {
            steps.set(steps.get() + 1);
            cancelled.store(steps.get() == last, Ordering::Relaxed);
        };
        let watch = Watch::until(&cancelled).reporting(&report);
        let made = super::ledger(&notes, &shown, &mut tree(&shown), &watch);
        assert_eq!((made.is_err(), steps.get()), (last < 6, last));
    }
}

#[test]
fn what_lies_below_another_entry_counts_once() {
    let shown = refined(SOLVER);
    let mut notes = Notes::new("solver");
    for (names, estimate) in [
        (&["main", "solve"][..], "50%"),
        (&["main", "solve", "copy"], "all"),
        (&["main", "read"], "1 s"),
    ] {
        let what = entry(State::ToFix, estimate);
        notes.change(&Change { path: path(&shown, names), what }).unwrap();
    }
    let ledger = ledger(&notes, &shown, &mut tree(&shown));
    let period = u128::from(shown.looked_at().period);
    let gains: Vec<_> = ledger
        .lines
        .iter()
        .map(|line| (line.place, line.samples, line.gain.unwrap() * 2 / period))
        .collect();
    // Of `solve`, half of the 25 that `copy` leaves; of `read`, no more than there is, if that is
    // less than a second.
    let read = (1_000_000_000 / period).min(35) * 2;
    let mut expected = vec![(2, Some(35), read), (1, Some(30), 60), (0, Some(55), 25)];
    expected.sort_by_key(|line| std::cmp::Reverse((line.2, line.1)));
    assert_eq!(gains, expected);
    assert_eq!(ledger.covered, 90);
}

#[test]
fn a_note_is_found_again_in_another_run_whatever_is_inlined_there() {
    let shown = refined(SOLVER);
    let mut notes = Notes::new("solver");
    let wait = path(&shown, &["main", "solve", "wait"]);
    notes.change(&Change { path: wait.clone(), what: text("", " why? ") }).unwrap();
    let notes = Notes::read(&notes.text()).unwrap();
    assert_eq!(notes.on(&wait).unwrap().text, "why?");
    let next = refined("other 1\nmain 10\n  solve 20\n    wait 500\n");
    let mut tree = tree(&next);
    let [row] = notes.list[0].locate(&next, &mut tree)[..] else { panic!("not found") };
    assert_eq!(tree.row(row).of(next.metric).inclusive, 500);
    let none = refined("main 10\n  wait 20\n");
    assert_eq!(notes.list[0].locate(&none, &mut super::tests::tree(&none)), []);
}

/// Where the compiler inlines one call of two, both are the function: a part of it is never
/// compared with the whole.
/// Of a library's function more names may be known in the next run, or none beside the first.
#[test]
fn a_note_is_found_again_whatever_other_names_its_functions_have() {
    let outlines = ["main 1\n  \"copy [also move]\" 2\n    f 4\n", "main 1\n  copy 2\n    f 4\n"];
    let names = [["main", "copy [also move]", "f"], ["main", "copy", "f"]];
    for (from, to) in [(0, 1), (1, 0)] {
        let shown = refined(outlines[from]);
        let mut notes = Notes::new("solver");
        let what = text("", "why?");
        notes.change(&Change { path: path(&shown, &names[from]), what }).unwrap();
        let now = refined(outlines[to]);
        let mut tree = tree(&now);
        assert_eq!(notes.list[0].locate(&now, &mut tree).len(), 1);
        assert!(notes.list[0].is_on(&path(&now, &names[to])));
    }
}

#[test]
fn what_is_inlined_at_one_call_of_two_counts_whole() {
    let one = refined("main 10\n  solve 20\n    wait 500\n      poll 7\n");
    let two = refined(
        "main 10\n  solve 20\n    wait 300\n      poll 3\n    wait 200 inline\n      poll 4\n",
    );
    let wait = path(&one, &["main", "solve", "wait"]);
    let poll = path(&one, &["main", "solve", "wait", "poll"]);
    let inlined = Path(
        wait.0
            .iter()
            .map(|step| {
                let kind =
                    if step.key().name() == "wait" { FrameKind::Inline } else { step.kind() };
                Step::new(step.key().clone(), kind, step.number())
            })
            .collect(),
    );
    let mut notes = Notes::new("solver");
    for path in [&wait, &poll] {
        notes.change(&Change { path: path.clone(), what: entry(State::ToFix, "all") }).unwrap();
    }
    for shown in [&one, &two] {
        let mut tree = tree(shown);
        let ledger = ledger(&notes, shown, &mut tree);
        let period = u128::from(shown.looked_at().period);
        let lines: Vec<_> = ledger
            .lines
            .iter()
            .map(|line| (line.samples, line.gain.map(|gain| gain / period)))
            .collect();
        assert_eq!(lines, [(Some(507), Some(500)), (Some(7), Some(7))]);
        assert_eq!(ledger.covered, 507);
        assert_eq!(samples_of(&wait, shown, &mut tree), 507);
    }
    // A note on either is a note on both.
    notes.change(&Change { path: inlined.clone(), what: text("", "why?") }).unwrap();
    assert_eq!((notes.list.len(), &*notes.on(&inlined).unwrap().text), (2, "why?"));
}

#[test]
fn changes_are_bounded_and_a_bad_file_is_none() {
    let shown = refined(SOLVER);
    let mut notes = Notes::new("solver");
    let on = path(&shown, &["main"]);
    let change = |notes: &mut Notes, what| notes.change(&Change { path: on.clone(), what });
    change(&mut notes, What::Bookmark(false)).unwrap();
    change(&mut notes, What::Entry { before: None, entry: None }).unwrap();
    assert_eq!(notes.list.len(), 0);
    change(&mut notes, What::Bookmark(true)).unwrap();
    // Nothing is cut off unseen.
    assert!(change(&mut notes, text("", &"x".repeat(5000))).unwrap_err().contains("1000"));
    change(&mut notes, text("", &"x".repeat(MOST_TEXT))).unwrap();
    assert_eq!((notes.list.len(), notes.list[0].text.len()), (1, MOST_TEXT));
    let all = notes.list[0].clone();
    change(&mut notes, What::Removed(Box::new(all.clone()))).unwrap();
    assert_eq!(notes.list.len(), 0);
    change(&mut notes, What::Restored(Box::new(all.clone()))).unwrap();
    assert_eq!(notes.list.first(), Some(&all));
    assert!(change(&mut notes, What::Restored(Box::new(all))).is_err());
    let root = Change { path: Path::default(), what: What::Bookmark(true) };
    assert!(notes.change(&root).is_err());
    let name = "x".repeat(MOST_BYTES + 1);
    let long = refined(&format!("\"{name}\" 1\n"));
    let long = path(&long, &[&name]);
    assert!(notes.change(&Change { path: long, what: What::Bookmark(true) }).is_err());
    for bad in ["", "{}", "[]", "{\"version\":2,\"program\":\"\",\"list\":[]}", "\u{0}"] {
        assert_eq!(Notes::read(bad), None, "{bad}");
    }
    // A bookmark of an earlier csprof is one.
    let old = "{\"version\":1,\"program\":\"a\",\"list\":[{\"path\":[[\"main\",null,0]],\
               \"text\":\"\",\"entry\":null}]}";
    assert!(Notes::read(old).unwrap().list[0].is_bookmarked);
}

fn text(before: &str, text: &str) -> What {
    What::Text { before: before.to_owned(), text: text.to_owned() }
}

/// Another viewer is as good as this one.
#[test]
fn what_was_said_meanwhile_is_not_replaced_unseen() {
    let shown = refined(SOLVER);
    let mut notes = Notes::new("solver");
    let on = path(&shown, &["main"]);
    let mut change = |what| {
        let before = notes.clone();
        let changed = notes.change(&Change { path: on.clone(), what });
        assert!(changed.is_ok() || notes == before, "a change that fails changes nothing");
        changed.map(|()| notes.list.clone())
    };
    let entered = |before, what| match what {
        What::Entry { entry, .. } => What::Entry { before, entry },
        other => other,
    };
    let half = Some((State::ToFix, Estimate::Share(500)));
    change(entry(State::ToFix, "50%")).unwrap();
    assert!(
        change(entry(State::Understood, "nothing"))
            .unwrap_err()
            .contains("another viewer changed it")
    );
    // As good as done.
    change(entry(State::ToFix, "50%")).unwrap();
    change(text("", "theirs")).unwrap();
    assert!(change(text("", "mine")).is_err());
    change(entered(half, entry(State::ToFix, "all"))).unwrap();
    assert_eq!(change(What::Bookmark(false)).unwrap()[0].text, "theirs");
}

#[test]
fn another_estimate_keeps_what_was_measured_first() {
    let shown = refined(SOLVER);
    let mut notes = Notes::new("solver");
    let mut enter = |estimate, samples, command: &str, source: &str| {
        let (command, source) = (vec![command.to_owned()], source.to_owned());
        let is_whole = samples != 3;
        let then = Then { samples, command, source, is_whole, ..Then::default() };
        let before = notes.list.first().and_then(Note::entered);
        let entry = Some(Entry { state: State::ToFix, estimate, then });
        notes.change(&Change {
            path: path(&shown, &["main"]),
            what: What::Entry { before, entry },
        })?;
        let entry = notes.list[0].entry.clone().unwrap();
        Ok::<_, String>((entry.estimate, entry.then.samples))
    };
    // By an earlier csprof, of a part of the path.
    assert_eq!(enter(Estimate::Nothing, 3, "a", "x"), Ok((Estimate::Nothing, 3)));
    assert_eq!(enter(Estimate::All, 7, "a", "x"), Ok((Estimate::All, 7)));
    assert_eq!(enter(Estimate::Nothing, 5, "a", "x"), Ok((Estimate::Nothing, 7)));
    assert!(enter(Estimate::All, 5, &"x".repeat(MOST_BYTES + 1), "x").is_err());
    // An amount is of the metric that it was typed for, so the entry begins anew with another.
    assert_eq!(enter(Estimate::Share(5), 5, "a", "y"), Ok((Estimate::Share(5), 7)));
    assert_eq!(enter(Estimate::Amount(5), 9, "a", "y"), Ok((Estimate::Amount(5), 9)));
}

/// 5 ms of CPU time are not 5 000 000 calls.
#[test]
fn an_amount_of_another_metric_gives_nothing_here() {
    let shown = refined(SOLVER);
    let mut notes = Notes::new("solver");
    let then = Then { source: "calls".into(), unit: "calls".into(), ..Then::default() };
    let enter = |estimate| Some(Entry { state: State::ToFix, estimate, then: then.clone() });
    let path = path(&shown, &["main"]);
    let what = What::Entry { before: None, entry: enter(Estimate::Amount(5000)) };
    notes.change(&Change { path, what }).unwrap();
    let ledger = ledger(&notes, &shown, &mut tree(&shown));
    assert_eq!((ledger.lines[0].gain, ledger.gain), (None, 0));
    let entry = notes.list[0].entry.as_ref().unwrap();
    assert_eq!(entry.estimate_text(shown.looked_at()), "5000 calls of calls");
    assert_eq!(enter(Estimate::Share(500)).unwrap().estimate_text(shown.looked_at()), "50%");
}

#[test]
fn estimates_are_read_as_they_are_written() {
    for (text, estimate) in [
        ("", Estimate::All),
        ("all", Estimate::All),
        ("0", Estimate::Nothing),
        ("-50%", Estimate::Share(500)),
        ("12.5 %", Estimate::Share(125)),
        ("120 ms", Estimate::Amount(120_000_000)),
        ("-1.5s", Estimate::Amount(1_500_000_000)),
        ("20us", Estimate::Amount(20_000)),
    ] {
        assert_eq!(Estimate::parse(text, "ns"), Ok(estimate), "{text}");
        assert_eq!(Estimate::parse(&estimate.text("ns"), "ns"), Ok(estimate), "{text}");
    }
    for (text, amount) in [("5000", 5000), ("5 k", 5000), ("1.5M calls", 1_500_000), ("7calls", 7)]
    {
        let estimate = Estimate::Amount(amount);
        assert_eq!(Estimate::parse(text, "calls"), Ok(estimate), "{text}");
        assert_eq!(Estimate::parse(&estimate.text("calls"), "calls"), Ok(estimate), "{text}");
    }
    assert!(Estimate::parse("120 ms", "calls").unwrap_err().contains("a number of calls"));
    for wrong in ["half", "150%", "5", "1e9 s", "NaN%", "..", "5 h", "%", "-", "- "] {
        assert!(Estimate::parse(wrong, "ns").is_err(), "{wrong}");
    }
}

/// A tree of entries: the nearest above each, and what each costs beside those below.
fn entries() -> impl Strategy<Value = (Vec<Option<usize>>, Vec<u128>, Vec<Estimate>)> {
    let estimate = prop_oneof![
        Just(Estimate::Nothing),
        Just(Estimate::All),
        (0_u32..=1000).prop_map(Estimate::Share),
        (0_u64..3000).prop_map(Estimate::Amount),
    ];
    let one = (any::<prop::sample::Index>(), 0_u128..1000, estimate, any::<bool>());
    prop::collection::vec(one, 1..20).prop_map(|list| {
        let above: Vec<Option<usize>> = { list.iter().enumerate() }
            .map(|(place, (of, _, _, is_root))| {
                (place > 0 && !is_root).then(|| of.index(place.max(1)))
            })
            .collect();
        let mut cost: Vec<u128> = list.iter().map(|one| one.1).collect();
        for place in (0..cost.len()).rev() {
            if let Some(above) = above[place] {
                cost[above] += cost[place];
            }
        }
        (above, cost, list.iter().map(|one| one.2).collect())
    })
}

proptest! {
    #[test]
    fn estimates_never_add_up_to_more_than_there_is((above, cost, estimates) in entries()) {
        let gains = gains(&above, &cost, &estimates);
        let is_in = |mut at: usize, entry: usize| loop {
            if at == entry {
                return true;
            }
            match above[at] {
                Some(next) => at = next,
                None => return false,
            }
        };
        // Of every entry with all below it, not only of the whole.
        for entry in 0..cost.len() {
            let below: u128 =
                (0..cost.len()).filter(|&at| is_in(at, entry)).map(|at| gains[at]).sum();
            prop_assert!(below <= cost[entry], "{entry}: {below} of {}", cost[entry]);
            if let Estimate::Amount(most) = estimates[entry] {
                prop_assert!(gains[entry] <= most.into());
            }
            if estimates[entry] == Estimate::All {
                prop_assert_eq!(below, cost[entry]);
            }
        }
    }

    #[test]
    fn another_entry_never_takes_away_from_the_whole((above, cost, estimates) in entries()) {
        let all: u128 = gains(&above, &cost, &estimates).iter().sum();
        for without in 0..cost.len() {
            let mut fewer = estimates.clone();
            fewer[without] = Estimate::Nothing;
            let rest: u128 = gains(&above, &cost, &fewer).iter().sum();
            // A share of what is left is rounded down, once for each entry.
            prop_assert!(rest <= all + cost.len() as u128, "{rest} without {without}, {all} with");
        }
    }
}
