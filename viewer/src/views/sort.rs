//! The order of rows: by a column, with ties broken so that the same profile always gives the
//! same screen.

use core::cmp::{Ordering, Reverse};

use super::{Counts, Edges, Row};
use crate::refine::Refined;

/// The column that orders rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SortKey {
    /// Inclusive samples.
    #[default]
    Inclusive,
    /// Exclusive samples.
    Exclusive,
    /// Edge count; an interval counts as its upper bound, rows without a count come last.
    Edges,
    /// Cost per edge; rows that never returned, then rows without a count come last.
    PerEdge,
    /// Function name.
    Name,
    /// By how much inclusive cost differs, where two profiles are compared.
    Delta,
    /// By how much exclusive cost differs.
    ExclusiveDelta,
    /// Inclusive cost in BASE.
    Base,
    /// Inclusive cost in OTHER.
    Other,
}

/// An order of rows. The default is the greatest inclusive cost first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sort {
    /// The column.
    pub key: SortKey,
    /// Numbers ascend and names descend, instead of the other way round.
    pub reversed: bool,
}

impl Sort {
    /// Compares two rows. Ties are broken by inclusive cost, then name, then identity, and these
    /// are not reversed.
    #[must_use]
    pub fn compare(self, refined: &Refined<'_>, a: &Row, b: &Row) -> Ordering {
        let name = |row: &Row| refined.functions[row.function.0 as usize].name.as_str();
        let by_key = match self.key {
            SortKey::Inclusive => b.inclusive.cmp(&a.inclusive),
            SortKey::Exclusive => b.exclusive.cmp(&a.exclusive),
            SortKey::Edges => upper_bound(b).cmp(&upper_bound(a)),
            SortKey::PerEdge => per_edge(a, b),
            SortKey::Name => name(a).cmp(name(b)),
            SortKey::Delta => delta(refined, b, false).cmp(&delta(refined, a, false)),
            SortKey::ExclusiveDelta => delta(refined, b, true).cmp(&delta(refined, a, true)),
            SortKey::Base => b.sides()[0].inclusive.cmp(&a.sides()[0].inclusive),
            SortKey::Other => b.other.inclusive.cmp(&a.other.inclusive),
        };
        if self.reversed { by_key.reverse() } else { by_key }
            .then_with(|| Reverse(a.inclusive).cmp(&Reverse(b.inclusive)))
            .then_with(|| name(a).cmp(name(b)))
            .then_with(|| (a.function, a.kind).cmp(&(b.function, b.kind)))
    }
}

/// How much a row differs, in whatever unit its comparison has.
fn delta(refined: &Refined<'_>, row: &Row, exclusive: bool) -> u128 {
    let Some(comparison) = &refined.profile.comparison else { return 0 };
    let of = |counts: Counts| if exclusive { counts.exclusive } else { counts.inclusive };
    comparison.delta(row.sides().map(of)).unsigned_abs()
}

fn upper_bound(row: &Row) -> Option<u64> {
    match row.edges {
        Edges::None => None,
        Edges::Range { high, .. } => Some(high),
    }
}

/// Greater cost per edge first. Compared as products, since ratios would need rounding.
fn per_edge(a: &Row, b: &Row) -> Ordering {
    let class = |edges| match edges {
        Some(0) => 1,
        Some(_) => 0,
        None => 2,
    };
    match (upper_bound(a), upper_bound(b)) {
        (Some(ea @ 1..), Some(eb @ 1..)) => {
            let (left, right) = (
                u128::from(b.edge_samples) * u128::from(ea),
                u128::from(a.edge_samples) * u128::from(eb),
            );
            left.cmp(&right)
        }
        (ea, eb) => class(ea).cmp(&class(eb)),
    }
}
