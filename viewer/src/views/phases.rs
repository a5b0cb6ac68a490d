//! What each phase cost that processes named, over all of them together.
//!
//! A process may come back to a phase, and an epoch has all of it from its first beginning on, so a
//! file does not say when a phase ended, nor for how long it went on.

use crate::profile::{MetricRef, Profile};
use crate::refine::{phase_start_ns, phases};

/// A phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseCost {
    /// Its name; `None` for all that is in none.
    pub name: Option<String>,
    /// When it first began in any process, in nanoseconds since the start of the run; `u64::MAX` of
    /// what is in none, and where that is not known.
    pub start_ns: u64,
    /// Samples of each metric, in their order.
    pub samples: Vec<u64>,
}

/// The phases in the order in which they first began, and last what is in none, if there is any;
/// nothing where no process named one. O(nodes).
#[must_use]
pub fn costs_of_phases(profile: &Profile) -> Vec<PhaseCost> {
    let info = &profile.info;
    let metrics: Vec<MetricRef> = profile.metrics().map(|(metric, _)| metric).collect();
    let names = phases(info).into_iter().map(|name| Some(name.to_owned())).chain([None]);
    let none = |name| PhaseCost { name, start_ns: u64::MAX, samples: vec![0; metrics.len()] };
    let mut costs: Vec<PhaseCost> = names.map(none).collect();
    if costs.len() == 1 {
        return Vec::new();
    }
    let place = |costs: &[PhaseCost], name: Option<&str>| {
        costs.iter().position(|cost| cost.name.as_deref() == name)
    };
    for phase in &info.phases {
        if let Some(place) = place(&costs, Some(&phase.name))
            && let Some(start_ns) = phase_start_ns(info, phase)
        {
            costs[place].start_ns = costs[place].start_ns.min(start_ns);
        }
    }
    for stream in profile.streams.iter() {
        let Some(place) = place(&costs, info.phase_of(stream.epoch)) else { continue };
        for (sum, &metric) in costs[place].samples.iter_mut().zip(&metrics) {
            let nodes = stream.nodes.start as usize..stream.nodes.end as usize;
            let samples = nodes.map(|node| profile.nodes.of_metric(node, metric));
            *sum = sum.saturating_add(samples.sum());
        }
    }
    costs.retain(|cost| cost.name.is_some() || cost.samples.iter().any(|&samples| samples > 0));
    costs
}

#[cfg(test)]
mod tests {
    use csprof_format::ids::EpochId;
    use csprof_format::profile::{Phase, UNLISTED_PHASE};

    use super::*;
    use crate::profile::from_outline;

    #[test]
    fn phases_and_what_is_in_none_add_up() {
        let outline = "\
# thread=7 epoch=0
main 2
# thread=7 epoch=1
main 3
  f 4 realtime:1
# thread=7 epoch=2
main 5
# thread=7 epoch=3
main 6 realtime:2
";
        let mut profile = from_outline(outline).unwrap();
        assert_eq!(costs_of_phases(&profile), []);
        let info = &mut *profile.info;
        let phase = |epoch, name: &str| Phase { epoch: EpochId(epoch), name: name.to_owned() };
        info.phases = vec![phase(1, UNLISTED_PHASE), phase(2, "solve"), phase(3, "solve")];
        for (epoch, start_ns) in info.epochs.iter_mut().zip([0, 20, 30, 40]) {
            epoch.start_ns = start_ns;
        }
        let cost = |name: Option<&str>, start_ns, samples: [u64; 2]| {
            let name = name.map(str::to_owned);
            PhaseCost { name, start_ns, samples: samples.to_vec() }
        };
        assert_eq!(
            costs_of_phases(&profile),
            [
                cost(Some("solve"), 30, [9, 2]),
                cost(Some(UNLISTED_PHASE), u64::MAX, [6, 1]),
                cost(None, u64::MAX, [2, 0]),
            ]
        );
    }
}
