//! Refining two profiles that are compared is comparing two refined profiles.

use super::*;

/// Costs without edge counts, threads counted from `first`.
fn costs(paths: BTreeMap<Path, Cost>, first: usize) -> BTreeMap<Path, (u64, u64)> {
    let moved = |((thread, path), cost): (Path, Cost)| {
        ((thread + first, path), (cost.inclusive, cost.exclusive))
    };
    paths.into_iter().map(moved).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Law 12, and the second half of law 11: stages do to each side of a profile of two sides what
    /// they do to the side alone. A pattern has to match on one side only. Tests look at rows of both
    /// sides together, and are left out.
    #[test]
    fn stages_do_to_both_sides_what_they_do_to_each(
        base in executions(),
        other in executions(),
        stages in prop::collection::vec(language::path_stages(), 0..4),
    ) {
        let both = [("base", base.profile()), ("other", other.profile())];
        let [base_side, other_side] = both;
        let profile = Profile::compared(base_side, other_side, &[]).unwrap();
        let mut samples = [base.samples(), other.samples()];
        let worlds = [World::of(&base), World::of(&other)];
        let mut refined = Refined::base(&profile);
        for stage in &stages {
            let Ok(next) = refined.then(stage) else {
                let unmatched = |samples: &Vec<_>| reference::has_unmatched_pattern(stage, samples);
                prop_assert!(samples.iter().all(unmatched), "{} matches on one side", stage);
                continue;
            };
            refined = next;
            let mut world = worlds.iter();
            samples =
                samples.map(|samples| reference::apply(stage, samples, world.next().unwrap()));
            assert_sound(&refined);
            let mut expected = costs(reference::paths(&samples[0], &worlds[0]), 0);
            expected.extend(costs(reference::paths(&samples[1], &worlds[1]), Execution::THREADS));
            prop_assert_eq!(costs(shown(&refined), 0), expected, "after {}", stage);
        }
    }
}

/// As the page on the language says: a row is that of both sides, and so is what its share is of.
#[test]
fn tests_of_rows_look_at_both_sides_together() {
    let side = |outline: &str| crate::profile::from_outline(outline).unwrap();
    let base = ("base", side("main 10\n  f 60\n  g 30\n"));
    let other = ("other", side("main 280\n  f 20\n"));
    let profile = Profile::compared(base, other, &[]).unwrap();
    let kept = |text: &str| apply(&profile, &parse(text).unwrap()).unwrap().shown;
    // f is 60 % and 7 % of the sides, and 20 % of both; g is 30 % of one, and 7.5 % of both.
    assert_eq!(kept("leaf f and node[incl(samples) = 20%]"), 80);
    assert_eq!(kept("leaf g and node[incl(samples) = 7.5% of base]"), 30);
    assert_eq!(kept("leaf f and node[incl(samples) > 20%]"), 0);
    assert_eq!(kept("leaf f and node[incl(samples) = 80]"), 80);
}
