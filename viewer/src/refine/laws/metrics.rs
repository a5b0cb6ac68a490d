//! Metrics are refined together as each would be alone.

use super::execution::executions_of;
use super::*;

/// The same profile with all samples as the first metric's.
fn of_one_metric(profile: &Profile) -> Profile {
    let mut profile = profile.clone();
    profile.info.further.clear();
    profile.nodes.further.clear();
    profile
}

fn asks_for_samples(stage: &Stage) -> bool {
    // Of some metrics samples that come together are of several times.
    matches!(stage, Stage::During(_))
        || reference::tests(stage).iter().any(|test| test.quantity.metric().is_some())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Which nodes there are, in what order, and what is known of edges does not depend on how the
    /// samples are shared out among metrics.
    #[test]
    fn structure_and_edges_are_of_all_samples_together(
        execution in executions_of(METRICS),
        stages in prop::collection::vec(stages(), 1..5),
    ) {
        let profile = execution.profile();
        let together = of_one_metric(&profile);
        let stages: Vec<_> = stages.into_iter().filter(|stage| !asks_for_samples(stage)).collect();
        let (several, one) = (applied(&profile, &stages), applied(&together, &stages));
        prop_assert_eq!(several.outcomes.len(), one.outcomes.len());
        prop_assert_eq!(&several.parent[..], &one.parent[..]);
        prop_assert_eq!(&several.frame[..], &one.frame[..]);
        for node in 0..one.node_count() {
            let samples = in_width!(&several.costs, costs => costs.all.at(node));
            prop_assert_eq!(samples, (one.inclusive(node), one.exclusive(node)));
            let node = u32::try_from(node).unwrap();
            prop_assert_eq!(several.edges(node), one.edges(node));
        }
        prop_assert_eq!(several.edges_are_exact(), one.edges_are_exact());
    }

    /// Looking at a metric of what was refined is refining what that metric alone measured.
    #[test]
    fn a_metric_is_refined_as_if_it_were_alone(
        execution in executions_of(METRICS),
        stages in prop::collection::vec(language::path_stages(), 1..5),
    ) {
        let profile = execution.profile();
        let world = World::of(&execution);
        for (metric, _) in profile.metrics() {
            let alone = profile.clone().projected(metric);
            let mut alone = Refined::base(&alone);
            let mut refined = Refined::base(&profile).looking_at(metric);
            let mut samples = execution.samples();
            samples.retain(|sample| sample.metric == metric.index());
            for stage in &stages {
                let Ok(next) = refined.then(stage) else {
                    prop_assert!(alone.then(stage).is_err(), "{} is refused", stage);
                    continue;
                };
                // What is shown with samples of other metrics only is not there.
                let is_refused = reference::is_refused(stage, &samples, &world);
                let Ok(next_alone) = alone.then(stage) else {
                    prop_assert!(is_refused, "{} is refused where it is alone", stage);
                    break;
                };
                prop_assert!(!is_refused, "{} should have been refused", stage);
                (refined, alone) = (next, next_alone);
                samples = reference::apply(stage, samples, &world);
                prop_assert_eq!(refined.metric, metric);
                prop_assert_eq!(&refined.outcomes, &alone.outcomes, "{}", stage);
                prop_assert_eq!(
                    [refined.base, refined.shown, refined.out],
                    [alone.base, alone.shown, alone.out]
                );
                let costs = |refined: &Refined| -> BTreeMap<Path, (u64, u64)> {
                    let at = |cost: &Cost| {
                        let metric = refined.metric.index();
                        (cost.inclusive[metric], cost.exclusive[metric])
                    };
                    let costs = shown(refined).into_iter().map(|(path, cost)| (path, at(&cost)));
                    costs.filter(|(_, (inclusive, _))| *inclusive > 0).collect()
                };
                prop_assert_eq!(costs(&refined), costs(&alone), "{}", stage);
            }
        }
    }

    /// Which metric is looked at when a stage is applied changes nothing.
    #[test]
    fn stages_do_not_ask_what_is_looked_at(
        execution in executions_of(METRICS),
        stages in prop::collection::vec(stages(), 1..5),
        looked_at in 0..METRICS,
    ) {
        let profile = execution.profile();
        let metrics: Vec<_> = profile.metrics().map(|(metric, _)| metric).collect();
        let looked_at = metrics[looked_at % metrics.len()];
        let before = Refined::base(&profile).looking_at(looked_at);
        let before = stages.iter().fold(before, |refined, stage| {
            refined.then(stage).unwrap_or(refined)
        });
        let after = applied(&profile, &stages).looking_at(looked_at);
        prop_assert_eq!(shown(&before), shown(&after));
        prop_assert_eq!(&before.outcomes, &after.outcomes);
        prop_assert_eq!([before.base, before.shown], [after.base, after.shown]);
    }
}

/// Stages go over the nodes in stretches of 65 536.
#[test]
fn many_nodes_are_refined_as_few_are() {
    let mut outline = String::new();
    for node in 0..70_000 {
        if node % 35_000 == 0 {
            outline.push_str(&format!("# thread={} epoch=0\n", node / 35_000));
        }
        let (depth, samples) = (node % 35_000 % 10, node % 4);
        let realtime = samples / 2;
        outline.push_str(&format!("{:1$}f{2} ", "", 2 * depth, node % 7));
        outline.push_str(&format!("{samples} realtime:{realtime} e={}\n", samples.min(1)));
    }
    let profile = crate::profile::from_outline(&outline).unwrap();
    let base = Refined::base(&profile);
    for (text, moves) in [
        ("through f1", false),
        ("hide f*", true),
        ("collapse *", true),
        ("fold {f1, f2, f3}", true),
        ("root at f3", false),
        ("callers of f3", true),
        ("split thread", false),
        ("small incl(realtime) < 50%", true),
    ] {
        let refined = base.then(&parse(text).unwrap().stages[0]).unwrap();
        assert_sound(&refined);
        for (metric, _) in profile.metrics() {
            let last = refined.clone().looking_at(metric).outcomes[0];
            assert!(last.shown > 0 && (last.moved > 0) == moves, "{text}: {last:?}");
        }
    }
}
