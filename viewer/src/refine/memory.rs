//! What forests take in memory, column by column, on a profile of a hundred thousand nodes.

use super::{Refined, parse};
use crate::profile::{Profile, from_outline};

const NODES: usize = 100_001;

/// Two threads, paths of up to nine frames, recursion; of two samples on a node each metric has
/// one.
fn profile(metrics: usize) -> Profile {
    let mut text = String::new();
    for node in 0..NODES - 1 {
        if node % (NODES / 2) == 0 {
            text.push_str(&format!("# thread={} epoch=0\n", 1 + node / (NODES / 2)));
        }
        let depth = node % (NODES / 2) % 10;
        let samples = metrics.max(1 + node % 2);
        text.push_str(&format!("{:1$}f{2} {samples} e=1", "", 2 * depth, node % 97));
        for source in &["realtime:1", "task-clock:1"][..metrics - 1] {
            text.push_str(&format!(" {source}"));
        }
        text.push('\n');
    }
    from_outline(&text).unwrap()
}

/// Bytes for each node that a forest has, and those of them that are not the profile's.
fn bytes(refined: &Refined) -> (usize, usize) {
    let [all, shared] = refined.bytes();
    let count = refined.node_count();
    (all.div_ceil(count), (all - shared).div_ceil(count))
}

#[test]
fn a_node_takes_24_bytes() {
    bytes_of_metrics(1);
}

#[test]
fn a_further_metric_takes_8_bytes() {
    bytes_of_metrics(2);
    bytes_of_metrics(3);
}

fn bytes_of_metrics(metrics: usize) {
    let profile = profile(metrics);
    assert_eq!((profile.nodes.len(), profile.metrics().count()), (NODES, metrics));
    let base = Refined::base(&profile);
    let further = metrics - 1;
    assert_eq!(profile.nodes.bytes(), (16 + 4 * further) * NODES);
    assert_eq!(
        base.bytes(),
        [(20 + 8 * further) * NODES, (16 + 4 * further) * NODES],
        "inclusive samples are all that is new"
    );
    // All of it, and what is not the profile's.
    let of = |stages: &str| {
        let stages = parse(stages).unwrap().stages;
        bytes(&base.clone().refine(&stages, &super::Watch::none()).unwrap())
    };
    for (stages, all, own) in [
        ("through f1", 24, 12),
        ("node[edges >= 1] | through f1 and not leaf f3", 24, 12),
        ("hide f1", 24, 20),
        ("collapse * | through f2", 24, 16),
        ("fold f1", 24, 16),
        ("root at f3", 24, 16),
        ("by module", 24, 16),
        ("group f* as F | through F", 24, 16),
        ("small incl(samples) < 4", 24, 20),
        ("callers of f3", 20, 20),
        ("callers of f3 | through f3", 24, 24),
        ("split thread", 20, 20),
        ("split thread | through f5", 24, 24),
        // Edge counts between two bounds, of which samples are taken.
        ("through f5 | callers of f3", 24, 24),
        ("through f5 | callers of f3 | through f2", 28, 28),
    ] {
        assert_eq!(of(stages), (all + 8 * further, own + 8 * further), "{stages}");
    }
    // Bounds of edge counts, once they are asked for.
    for (stages, all, own) in [("through f1", 32, 20), ("hide f1", 24, 20)] {
        let refined = base.clone().refine(&parse(stages).unwrap().stages, &super::Watch::none());
        let refined = refined.unwrap();
        refined.find_edges();
        assert_eq!(bytes(&refined), (all + 8 * further, own + 8 * further), "{stages}");
    }
}
