//! Selections: samples stay where they are or are taken out.

use super::step::add_up;
use crate::profile::{Column, Count, Home};
use crate::refine::forest::bits::Bits;
use crate::refine::forest::costs::{CostsOf, SampleColumns, in_width};
use crate::refine::forest::refined::Refined;
use crate::refine::watch::{Cancelled, Watch};

/// Keeps the exclusive samples of these nodes. Their ancestors stay as structure.
pub(crate) fn keep(
    mut refined: Refined,
    kept: &Bits,
    watch: &Watch<'_>,
) -> Result<Refined, Cancelled> {
    in_width!(&mut refined.costs, costs => keep_in(costs, &refined.parent, kept, watch))?;
    refined.timing.follow(|node| kept.contains(node as usize).then_some(node));
    Ok(refined)
}

fn keep_in<C: Count>(
    costs: &mut CostsOf<C>,
    parent: &[u32],
    kept: &Bits,
    watch: &Watch<'_>,
) -> Result<(), Cancelled> {
    let (mut samples, home) = costs.samples_mut();
    samples.try_for_each(|samples| keep_samples(samples, home, parent, kept, watch))
}

fn keep_samples<C: Count>(
    samples: &mut SampleColumns<C>,
    home: &Home<C>,
    parent: &[u32],
    kept: &Bits,
    watch: &Watch<'_>,
) -> Result<(), Cancelled> {
    let count = parent.len();
    // The old sums are not needed: their memory is used for the new ones, if nobody else has it.
    let mut inclusive = std::mem::take(&mut samples.inclusive).into_empty(home);
    let exclusive = match std::mem::take(&mut samples.exclusive).into_own() {
        Ok(mut own) => {
            watch.forward(0..count, |nodes| {
                for node in nodes {
                    own[node] = own[node].only_if(kept.contains(node));
                    inclusive.push(own[node]);
                }
            })?;
            own
        }
        Err(shared) => {
            let mut exclusive = home.empty(count);
            watch.forward(0..count, |nodes| {
                kept.select(nodes.start, &shared[nodes.clone()], &mut exclusive);
                inclusive.extend_from_slice(&exclusive[nodes]);
            })?;
            exclusive
        }
    };
    add_up(parent, &mut inclusive, watch)?;
    samples.exclusive = Column::made(exclusive, home);
    samples.inclusive = Column::made(inclusive, home);
    Ok(())
}
