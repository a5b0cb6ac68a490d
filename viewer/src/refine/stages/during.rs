//! `during`: what was sampled in a part of the run stays.

use super::step::{Moved, Step, Transform, replace_samples};
use crate::profile::{Count, Home, MetricRef};
use crate::refine::forest::costs::{CostsOf, SampleColumns, in_width};
use crate::refine::forest::error::{Cause, Stop};
use crate::refine::forest::recorded::Effect;
use crate::refine::forest::refined::Refined;
use crate::refine::lang::period::Period;
use crate::refine::lang::stage::Stage;
use crate::refine::watch::{Cancelled, Watch};

/// `during 2s..4s`: samples of another time, and those of which the time is not known, are taken
/// out.
pub(crate) struct During(pub(crate) Period);

impl Transform for During {
    fn run(&self, mut refined: Refined, watch: &Watch<'_>) -> Result<Step, Stop> {
        let times = &refined.profile.times;
        if !times.are_kept() {
            let part = Stage::During(self.0).to_string();
            return Err(Stop::Refused { part, cause: Cause::NoTimes });
        }
        refined.timing.keep(self.0.window(times.end_ns()));
        let mut kept = vec![vec![0; refined.node_count()]; refined.accounts.len()];
        let Refined { timing, profile, .. } = &refined;
        for (number, (node, row)) in timing.shown(profile).enumerate() {
            if number.is_multiple_of(1 << 16) {
                watch.step(0)?;
            }
            let samples = timing.within(profile, row, self.0.window(times.end_ns()));
            // Of a valid profile each is of one of its metrics.
            if let Some(kept) = kept.get_mut(usize::from(row.metric)) {
                kept[node as usize] += samples;
            }
        }
        in_width!(&mut refined.costs, costs => keep_in(costs, &refined.parent, kept, watch))?;
        // An activation may have been on one line then, and on another later.
        Ok(Step { refined, moved: Moved::NONE, effect: Effect::Parts })
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn passes(&self, metrics: usize) -> usize {
        2 * metrics
    }
}

/// Keeps so many exclusive samples of each metric of each node, or as many as there are.
fn keep_in<C: Count>(
    costs: &mut CostsOf<C>,
    parent: &[u32],
    mut kept: Vec<Vec<u64>>,
    watch: &Watch<'_>,
) -> Result<(), Cancelled> {
    for (metric, kept) in (0..).map(MetricRef).zip(&mut kept) {
        for (node, kept) in kept.iter_mut().enumerate() {
            *kept = (*kept).min(costs.of_metric(node, metric).1);
        }
    }
    // The first column is that of all metrics together.
    if let Some((all, further)) = kept.split_first_mut() {
        for of_one in further {
            all.iter_mut().zip(of_one).for_each(|(all, of_one)| *all += *of_one);
        }
    }
    let (samples, home) = costs.samples_mut();
    samples.zip(&kept).try_for_each(|(samples, kept)| keep(samples, kept, home, parent, watch))
}

fn keep<C: Count>(
    samples: &mut SampleColumns<C>,
    kept: &[u64],
    home: &Home<C>,
    parent: &[u32],
    watch: &Watch<'_>,
) -> Result<(), Cancelled> {
    let mut exclusive = std::mem::take(&mut samples.exclusive).take(home);
    for (own, &kept) in exclusive.iter_mut().zip(kept) {
        *own = own.at_most(kept);
    }
    watch.step(exclusive.len())?;
    replace_samples(samples, exclusive, home, parent, watch)
}
