//! Waits and what they are for: the lists, and where they lead.

use super::*;

/// Four ranks, of which one is late for two calls that wait for all.
fn ranks() -> Profile {
    let rank = |rank: u32| {
        let (own, wait) = if rank == 2 { (160, 2) } else { (100, 62) };
        format!(
            "# rank={rank} thread={rank} epoch=0 name=solver\nmain 2\n  solve 3\n    kernel {own}\n  \
             exchange 1\n    MPI_Allreduce {wait}\n      poll 5\n    MPI_Bcast 9\n"
        )
    };
    from_outline(&(0..4).map(rank).collect::<String>()).unwrap()
}

#[test]
fn lists_one_after_the_other() {
    let mut viewer = Viewer::new(&ranks(), "80x14");
    let mut shows = |keys: &str, texts: &[&str]| {
        let screen = viewer.press(keys).screen();
        texts.iter().for_each(|text| assert!(screen.contains(text), "{text}:\n{screen}"));
    };
    let last = "last came rank 2, which works most, most 335 ms on rank 0";
    shows("I", &["Waits by path, over 4 ranks", "main > exchange > MPI_Allreduce", last]);
    shows(
        "d",
        &["imbalance costs most", "900 ms", "most 800 ms on rank 2", "main > solve > kernel"],
    );
    shows("d", &["Waits by operation", "MPI_Allreduce", "MPI_Bcast"]);
    let refused = viewer.press("<enter>").screen();
    assert!(refused.contains("an operation may be on several paths"), "{refused}");
}

/// Names of a path are searched, and what is said of it; of an operation its own name alone.
#[test]
fn what_is_searched_for_is_found_on_paths() {
    let mut viewer = Viewer::new(&ranks(), "100x14");
    let mut says = |keys: &str, text: &str| {
        let screen = viewer.press(keys).screen();
        assert!(screen.contains(text), "{keys}: {text}:\n{screen}");
    };
    says("I/exchange<enter>", "1 of 2 rows");
    says("/Bcast<enter>", "1 of 1 row");
    says("/which works<enter>", "1 of 1 row");
    says("dd/exchange<enter>", "no place matches");
    says("/Bcast<enter>", "1 of 1 row");
}

/// Which of what is found was gone to is another thing in the view below.
#[test]
fn what_was_gone_to_in_a_list_is_forgotten_when_it_is_left() {
    for back in ["q", "1", "2", "!"] {
        let mut viewer = Viewer::new(&ranks(), "100x14");
        viewer.press("/MPI<enter>In");
        assert_eq!(viewer.model.hit, Some(0));
        assert_eq!(viewer.press(back).model.hit, None, "{back}");
    }
}

/// Nothing else that is missing is the reason for an empty list.
#[test]
fn why_no_path_is_compared() {
    let rank = |rank: u32| format!("# rank={rank} thread={rank} epoch=0\nmain\n  MPI_Barrier 40\n");
    let mut even = from_outline(&(0..4).map(rank).collect::<String>()).unwrap();
    let shown = screen(&even, "120x14", "Id");
    assert!(shown.contains("none beyond sampling noise"), "{shown}");
    even.info.metric.source = "mpi".to_owned();
    let shown = screen(&even, "120x14", "Id");
    assert!(shown.contains("what is done outside of waits was not recorded"), "{shown}");
    assert!(!shown.contains("none beyond"), "{shown}");
}

/// What is not in the profile is said in full, however narrow the screen.
#[test]
fn causes_are_wrapped() {
    let cause = "not here: this is cputime in calls of MPI: what a rank waits asleep is not in it; \
                 record -e mpi or -e realtime has that";
    for keys in ["I", "Id", "Idd"] {
        let screen = screen(&ranks(), "80x24", keys);
        let words: Vec<&str> = screen.split_whitespace().collect();
        assert!(words.join(" ").contains(cause), "{keys}:\n{screen}");
    }
    let full = screen(&ranks(), "80x14", "I");
    assert!(full.contains("= says what is missing"), "{full}");
}

/// Where it is not known, nobody is said not to wait.
#[test]
fn an_empty_list_says_why() {
    let profile = super::compare::compared();
    for keys in ["I", "Id", "Idd"] {
        let shown = screen(&profile, "80x24", keys);
        assert!(shown.contains("two runs are compared") && !shown.contains("no waits"), "{shown}");
        let explained = screen(&profile, "80x24", &format!("{keys}="));
        assert!(explained.contains("two runs are compared"), "{explained}");
    }
}

/// Three keys from the call tree to the path that makes others wait.
#[test]
fn the_way_to_the_late_path() {
    let mut viewer = Viewer::new(&ranks(), "80x16");
    let tree = viewer.press("Id<enter>").screen();
    assert!(tree.contains("[1 Tree]"), "{tree}");
    // The distribution of the selected row.
    let distribution = viewer.press("D").screen();
    assert!(distribution.contains("kernel") && distribution.contains("rank 2"), "{distribution}");
}

#[test]
fn explanation_and_what_is_not_there() {
    let mut viewer = Viewer::new(&ranks(), "100x24");
    let explained = viewer.press("I=").screen();
    for said in ["who waited", "(most - mean)", "not here"] {
        assert!(explained.contains(said), "{said}:\n{explained}");
    }
    let none = screen(&from_outline("main 5\n  solve 7\n").unwrap(), "120x14", "I");
    assert!(none.contains("there is nothing to compare"), "{none}");
    let mut viewer = Viewer::new(&ranks(), "80x14");
    let command = viewer.press("I:repro<enter>").screen();
    assert!(command.contains("--view waits"), "{command}");
}

/// Many ranks: which do the same.
#[test]
fn clusters_of_ranks() {
    let rank = |rank: u32| {
        let (own, wait) = if rank % 5 == 2 { (160, 2) } else { (100, 62) };
        format!("# rank={rank} thread={rank} epoch=0\nmain\n  solve {own}\n  MPI_Barrier {wait}\n")
    };
    let profile = from_outline(&(0..10).map(rank).collect::<String>()).unwrap();
    let mut viewer = Viewer::new(&profile, "160x16");
    let shown = viewer.press("P").screen();
    let said =
        "clusters: 8 ranks like rank 0; 2 ranks like rank 2: more solve (800 ms, not 500 ms)";
    assert!(shown.contains(said), "{shown}");
    let explained = viewer.press("=").screen();
    assert!(
        explained.contains("2: 2 ranks like rank 2") || explained.contains("1: 8 ranks"),
        "{explained}"
    );
}

#[test]
fn waits_are_found_and_add_up() {
    let mut viewer = Viewer::new(&ranks(), "80x24");
    let screen = viewer.press("I/exchange").screen();
    assert!(screen.contains("of 2 rows, in all"), "{screen}");
    let screen = viewer.press("<enter>/bcast<enter>").screen();
    assert_eq!(viewer.model.view().line(), 1, "{screen}");
    // Imbalances do not add up.
    let screen = viewer.press("d/kernel<enter>").screen();
    assert!(screen.contains("1 of 1 place: “kernel”"), "{screen}");
}
