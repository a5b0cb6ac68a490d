//! Selections: samples stay where they are or are taken out.

use super::super::Refined;
use super::super::bits::Bits;
use super::super::column::Column;
use super::super::costs::{CostsOf, in_width};
use super::super::watch::{Cancelled, Watch};
use super::{add_up, out_of};
use crate::profile::Count;

/// Keeps the exclusive samples of these nodes. Their ancestors stay as structure.
pub(super) fn keep<'p>(
    mut refined: Refined<'p>,
    kept: &Bits,
    watch: &Watch<'_>,
) -> Result<Refined<'p>, Cancelled> {
    in_width!(&mut refined.costs, costs => keep_in(costs, &refined.parent, kept, watch))?;
    Ok(refined)
}

fn keep_in<C: Count>(
    costs: &mut CostsOf<'_, C>,
    parent: &[u32],
    kept: &Bits,
    watch: &Watch<'_>,
) -> Result<(), Cancelled> {
    let count = parent.len();
    // The old sums are not needed: their memory is used for the new ones, if nobody else has it.
    let mut inclusive = out_of(&mut costs.inclusive).into_empty(&costs.home);
    let exclusive = match out_of(&mut costs.exclusive).into_own() {
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
            let mut exclusive = costs.home.empty(count);
            watch.forward(0..count, |nodes| {
                kept.select(nodes.start, &shared[nodes.clone()], &mut exclusive);
                inclusive.extend_from_slice(&exclusive[nodes]);
            })?;
            exclusive
        }
    };
    add_up(parent, &mut inclusive, watch)?;
    costs.exclusive = Column::made(exclusive, &costs.home);
    costs.inclusive = Column::made(inclusive, &costs.home);
    Ok(())
}
