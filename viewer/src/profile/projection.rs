//! A profile of several metrics as a profile of one of them.

use csprof_format::ids::ThreadId;
use csprof_format::loss::LossReason;
use csprof_format::profile::{FROM_OUTSIDE, Thread, ThreadShare};

use super::counts::Counts;
use super::{MetricRef, Profile, Spreads};

impl Profile {
    /// The metric of this source, if the profile has it.
    #[must_use]
    pub fn metric_of(&self, source: &str) -> Option<MetricRef> {
        self.metrics().find(|(_, metric)| metric.source == source).map(|(number, _)| number)
    }

    /// Sources of all metrics, for people: `cputime and realtime`.
    #[must_use]
    pub fn sources(&self) -> String {
        let mut sources: Vec<&str> = self.metrics().map(|(_, metric)| &metric.source[..]).collect();
        let last = sources.pop().unwrap_or_default();
        if sources.is_empty() {
            last.to_owned()
        } else {
            format!("{} and {last}", sources.join(", "))
        }
    }

    /// Why there are no edge counts; `None` if there are.
    #[must_use]
    pub fn why_no_edges(&self) -> Option<&'static str> {
        (!self.info.run.trampoline).then_some(match self.comparison {
            None if self.info.run.is_from_outside() => FROM_OUTSIDE,
            None => "recorded without the return trampoline",
            Some(_) => {
                "one of the two was recorded without the return trampoline, or has several metrics \
                 and its edges are of all of them together"
            }
        })
    }

    /// The profile as if only this metric had been measured; a profile of one metric as it is.
    ///
    /// Of several, nodes without samples of this one stay. Edge counts do not: a sampled activation
    /// is one with samples of whichever source, so the counts belong to no metric, and bounds of
    /// them that follow from the samples of one would be wrong. Samples that no thread could own
    /// stay, since their source is not known.
    ///
    /// # Panics
    /// If there is no such metric.
    #[must_use]
    pub fn projected(self, metric: MetricRef) -> Self {
        self.projected_beside(metric, &[])
    }

    /// The same, whose nodes beside have the samples of further metrics, in this order; the profile
    /// lists them as none of its own.
    ///
    /// # Panics
    /// If one of them is not there.
    #[must_use]
    pub(super) fn projected_beside(mut self, metric: MetricRef, beside: &[MetricRef]) -> Self {
        let (info, nodes) = (&mut self.info, &mut self.nodes);
        if info.further.is_empty() {
            return self;
        }
        for thread in (0..info.threads.len()).map(ThreadId::from_index) {
            let share = info.share(thread, metric.index());
            narrow(&mut info.threads[thread.index()], share);
        }
        let samples = |metric| {
            let nodes = &*nodes;
            (0..nodes.len()).map(move |node| nodes.of_metric(node, metric))
        };
        let further: Vec<Counts> = beside.iter().map(|&metric| samples(metric).collect()).collect();
        let all = samples(metric).enumerate().map(|(node, own)| {
            further.iter().fold(own, |sum, of: &Counts| sum.saturating_add(of.at(node)))
        });
        (nodes.samples, nodes.further) = (all.collect(), further);
        if let Some(further) = metric.index().checked_sub(1) {
            info.metric = info.further[further].metric.clone();
        }
        info.further.clear();
        self.spreads = Spreads::default().into();
        self.times.project(metric.index());
        nodes.edges = std::iter::repeat_n(0, nodes.len()).collect();
        info.run.trampoline = false;
        self
    }
}

/// Leaves a thread the counts of one metric. How much of them was lost is known, and the reason
/// where there is only one; else it is one that no version knows.
fn narrow(thread: &mut Thread, share: ThreadShare) {
    let ThreadShare { signals, delivered, recorded, partial } = share;
    thread.signals = signals;
    if (delivered, recorded) != (thread.delivered, thread.recorded) {
        let lost = delivered.saturating_sub(recorded);
        let mut reasons = (0..thread.losses.len()).filter(|&reason| thread.losses[reason] > 0);
        let reason = match (reasons.next(), reasons.next()) {
            (Some(only), None) => only,
            _ => LossReason::COUNT,
        };
        thread.losses = vec![0; reason + 1];
        thread.losses[reason] = lost;
    }
    (thread.delivered, thread.recorded, thread.partial) = (delivered, recorded, partial);
}

#[cfg(test)]
mod tests {
    use super::super::{from_outline, to_outline};
    use super::*;

    const BOTH: &str = "main 2 e=1\n  wait 5 realtime:5\n  solve 9 realtime:2 task-clock:3\n";

    #[test]
    fn each_metric_has_its_own_samples() {
        for (source, outline) in [
            ("cputime", "main 2\n  wait\n  solve 4\n"),
            ("realtime", "main\n  wait 5\n  solve 2\n"),
            ("task-clock", "main\n  wait\n  solve 3\n"),
        ] {
            let profile = from_outline(BOTH).unwrap();
            let metric = profile.metric_of(source).unwrap();
            let profile = profile.projected(metric);
            assert_eq!((to_outline(&profile), profile.sources()), (outline.into(), source.into()));
            let thread = &profile.info.threads[0];
            assert_eq!([thread.delivered, thread.recorded], [profile.total(); 2]);
            assert!(!profile.info.run.trampoline, "edges are of all sources together");
        }
        let profile = from_outline(BOTH).unwrap();
        assert_eq!(profile.sources(), "cputime, realtime and task-clock");
        assert_eq!(profile.metric_of("alloc"), None);
    }

    #[test]
    fn a_profile_of_one_metric_stays_as_it_is() {
        let text = "main 2 e=1\n";
        assert_eq!(to_outline(&from_outline(text).unwrap().projected(MetricRef::FIRST)), text);
    }

    #[test]
    fn reasons_of_losses_stay_where_there_is_one() {
        let lost_of = |losses: &[u64]| {
            let mut profile = from_outline(BOTH).unwrap();
            let thread = &mut profile.info.threads[0];
            thread.losses = losses.to_vec();
            thread.delivered += losses.iter().sum::<u64>();
            profile.info.further[0].threads[0].delivered += 3;
            profile.projected(MetricRef(1)).info.threads[0].losses.clone()
        };
        assert_eq!(lost_of(&[0, 0, 5]), [0, 0, 3]);
        let unknown = lost_of(&[1, 0, 4]);
        assert_eq!((unknown.len(), unknown.iter().sum::<u64>()), (LossReason::COUNT + 1, 3));
    }
}
