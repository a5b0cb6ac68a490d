//! The order of rows: by a column, with ties broken so that the same profile always gives the
//! same screen.

use core::cmp::Ordering;

use super::{Edges, Row};
use crate::profile::MetricRef;
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
    /// By how much cost differs, where two profiles are compared.
    Delta(Cost),
    /// Cost in BASE.
    Base(Cost),
    /// Cost in OTHER.
    Other(Cost),
    /// Growth from BASE to OTHER; what is new comes first.
    Growth(Cost),
    /// Samples of a metric, whichever is looked at.
    Of(MetricRef, Cost),
}

/// Which cost of a row a comparison is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Cost {
    /// Inclusive samples.
    #[default]
    Inclusive,
    /// Exclusive samples.
    Exclusive,
}

impl Cost {
    /// The samples of a metric in a row.
    #[must_use]
    pub fn of_metric(self, row: &Row, metric: MetricRef) -> u64 {
        let share = row.of(metric);
        match self {
            Self::Inclusive => share.inclusive,
            Self::Exclusive => share.exclusive,
        }
    }

    /// The samples of BASE and of OTHER in a row.
    #[must_use]
    pub fn of(self, row: &Row) -> [u64; 2] {
        row.sides().map(|counts| match self {
            Self::Inclusive => counts.inclusive,
            Self::Exclusive => counts.exclusive,
        })
    }
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
    /// Puts rows in order.
    pub fn sort(self, refined: &Refined<'_>, rows: &mut Vec<Row>) {
        let mut places: Vec<usize> = (0..rows.len()).collect();
        self.order(refined, |place| &rows[place], &mut places);
        *rows = places.into_iter().map(|place| rows[place].taken()).collect();
    }

    /// Puts in order whatever rows are known by. As comparing them does, but quicker where the key
    /// is near to a number of 32 bits: rows are large, and names are far away.
    pub(super) fn order<'r, T: Copy>(
        self,
        refined: &Refined<'_>,
        row: impl Fn(T) -> &'r Row,
        places: &mut [T],
    ) {
        let is_many = places.len() >= MANY;
        let keys = places.iter().zip(0..).map(|(&place, index)| {
            let row = row(place);
            let key = self.number(refined, row, is_many)?;
            let key = if self.reversed { key } else { !key };
            // A group has a name that was made up later, and no place among the others.
            let name = if is_many { refined.name_place(row.function)? } else { 0 };
            Some(joined([key, !tie(row)?, name, index]))
        });
        let Some(mut keys) = keys.collect::<Option<Vec<_>>>() else {
            places.sort_unstable_by(|&a, &b| self.compare_among(refined, row(a), row(b), is_many));
            return;
        };
        keys.sort_unstable();
        let mut sorted: Vec<T> = keys.iter().map(|&key| places[key as u32 as usize]).collect();
        let is_near = matches!(self.key, SortKey::PerEdge | SortKey::Delta(_));
        let mut start = 0;
        for near in keys.chunk_by(|a, b| a >> 96 == b >> 96) {
            let rows = &mut sorted[start..start + near.len()];
            start += near.len();
            let first = row(rows[0]);
            let differs = |&other: &T| self.by_key(refined, first, row(other)).is_ne();
            if is_near && rows.iter().any(differs) {
                rows.sort_unstable_by(|&a, &b| {
                    self.compare_among(refined, row(a), row(b), is_many)
                });
                continue;
            }
            let mut start = 0;
            for ties in near.chunk_by(|a, b| a >> 32 == b >> 32) {
                let rows = &mut rows[start..start + ties.len()];
                start += ties.len();
                if rows.len() > 1 {
                    rows.sort_unstable_by(|&a, &b| {
                        self.compare_among(refined, row(a), row(b), is_many)
                    });
                }
            }
        }
        places.copy_from_slice(&sorted);
    }

    /// The key as a number, greater for rows that come first; the same for keys that are nearly the
    /// same. `None` if it is not known, or too great. The order of names is looked at only where rows
    /// are many.
    fn number(self, refined: &Refined<'_>, row: &Row, is_many: bool) -> Option<u32> {
        let exactly = |samples: u64| u32::try_from(samples).ok();
        // Greater ones have no exact counterpart, so their ratios might be out of order.
        let float = |count: u64| (count < 1 << f64::MANTISSA_DIGITS).then_some(count as f64);
        match self.key {
            SortKey::Inclusive => exactly(row.inclusive),
            SortKey::Exclusive => exactly(row.exclusive),
            SortKey::Base(cost) => exactly(cost.of(row)[0]),
            SortKey::Other(cost) => exactly(cost.of(row)[1]),
            SortKey::Of(metric, cost) => exactly(cost.of_metric(row, metric)),
            SortKey::Edges => {
                upper_bound(row.edges).map_or(Some(0), |edges| exactly(edges)?.checked_add(1))
            }
            SortKey::PerEdge => Some(match upper_bound(row.outer_edges) {
                None => 0,
                Some(0) => 1,
                Some(edges) => near(float(row.edge_samples)? / float(edges)?) + 2,
            }),
            SortKey::Delta(cost) => Some(near(delta(refined, row, cost) as f64)),
            SortKey::Name if is_many => Some(!refined.name_place(row.function)?),
            SortKey::Name | SortKey::Growth(_) => None,
        }
    }

    /// Compares two rows by the key alone.
    fn by_key(self, refined: &Refined<'_>, a: &Row, b: &Row) -> Ordering {
        match self.key {
            SortKey::Inclusive => b.inclusive.cmp(&a.inclusive),
            SortKey::Exclusive => b.exclusive.cmp(&a.exclusive),
            SortKey::Edges => upper_bound(b.edges).cmp(&upper_bound(a.edges)),
            SortKey::PerEdge => per_edge(a, b),
            SortKey::Name => name(refined, a).cmp(name(refined, b)),
            SortKey::Delta(cost) => delta(refined, b, cost).cmp(&delta(refined, a, cost)),
            SortKey::Base(cost) => cost.of(b)[0].cmp(&cost.of(a)[0]),
            SortKey::Other(cost) => cost.of(b)[1].cmp(&cost.of(a)[1]),
            SortKey::Growth(cost) => growth(cost.of(b), cost.of(a)),
            SortKey::Of(metric, cost) => cost.of_metric(b, metric).cmp(&cost.of_metric(a, metric)),
        }
    }

    /// Compares two rows. Ties are broken by inclusive cost, of the metric that is looked at, or of
    /// the others where there is none of it; then by name, then identity, and these are not reversed.
    #[must_use]
    pub fn compare(self, refined: &Refined<'_>, a: &Row, b: &Row) -> Ordering {
        self.compare_among(refined, a, b, false)
    }

    /// The same. Among many, names are told by their places: ties may be as many.
    fn compare_among(self, refined: &Refined<'_>, a: &Row, b: &Row, is_many: bool) -> Ordering {
        let places = || Some((refined.name_place(a.function)?, refined.name_place(b.function)?));
        let by_name = || match is_many.then(places).flatten() {
            Some((a, b)) => a.cmp(&b),
            None => name(refined, a).cmp(name(refined, b)),
        };
        let by_key = self.by_key(refined, a, b);
        if self.reversed { by_key.reverse() } else { by_key }
            .then_with(|| b.inclusive.cmp(&a.inclusive))
            .then_with(|| of_others(b).cmp(&of_others(a)))
            .then_with(by_name)
            .then_with(|| (a.function, a.kind).cmp(&(b.function, b.kind)))
    }
}

/// Inclusive samples of all metrics, of a row that has none of the one that is looked at; else 0.
fn of_others(row: &Row) -> u64 {
    match row.inclusive {
        0 => row.further.iter().fold(0, |sum, share| sum.saturating_add(share.inclusive)),
        _ => 0,
    }
}

/// What breaks ties before names do, as a number, greater for rows that come first; `None` if it is
/// too great.
fn tie(row: &Row) -> Option<u32> {
    const LOOKED_AT: u32 = 1 << 31;
    let below = |samples: u64| u32::try_from(samples).ok().filter(|&samples| samples < LOOKED_AT);
    match (row.further.is_empty(), row.inclusive) {
        (true, inclusive) => u32::try_from(inclusive).ok(),
        (false, 0) => below(of_others(row)),
        (false, inclusive) => Some(below(inclusive)? | LOOKED_AT),
    }
}

fn name<'r>(refined: &'r Refined<'_>, row: &Row) -> &'r str {
    &refined.functions[row.function.index()].name
}

/// A number from 0 on as one of 32 bits in the same order, or the same for numbers that are nearly
/// the same.
fn near(number: f64) -> u32 {
    (number as f32).to_bits()
}

/// Numbers as one, which are compared one after the other.
fn joined(numbers: [u32; 4]) -> u128 {
    numbers.into_iter().fold(0, |all, number| all << 32 | u128::from(number))
}

/// Rows from which on the order of all names is worth finding out.
const MANY: usize = 2_000;

/// How much a row differs, in whatever unit its comparison has.
fn delta(refined: &Refined<'_>, row: &Row, cost: Cost) -> u128 {
    let Some(comparison) = &refined.profile.comparison else { return 0 };
    comparison.delta(cost.of(row)).unsigned_abs()
}

/// Compares other / base as products, since ratios would need rounding. What is new grew most, and
/// what neither side has, least.
fn growth(left: [u64; 2], right: [u64; 2]) -> Ordering {
    let class = |[base, other]: [u64; 2]| match (base, other) {
        (0, 0) => 0,
        (0, _) => 2,
        _ => 1,
    };
    let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
    class(left).cmp(&class(right)).then_with(|| match class(left) {
        1 => product(left[1], right[0]).cmp(&product(right[1], left[0])),
        _ => left[1].cmp(&right[1]),
    })
}

fn upper_bound(edges: Edges) -> Option<u64> {
    match edges {
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
    match (upper_bound(a.outer_edges), upper_bound(b.outer_edges)) {
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

#[cfg(test)]
mod tests {
    use core::cmp::Reverse;

    use super::*;
    use crate::profile::{Profile, from_outline};
    use crate::views::flat::flat;

    /// Rows that are few, and so many that names have places, with many ties.
    #[test]
    fn every_order_is_that_of_comparing() {
        for count in [40, MANY + 100] {
            let outline: String = (0..count)
                .map(|f| format!("f{} {} e={}\n", f * 11 % count, f * 31 % 9 + 1, f * 17 % 6))
                .collect();
            let other: String = outline.replace("1 e=", "2 e=");
            let [base, other] = [outline, other].map(|text| from_outline(&text).unwrap());
            let both = Profile::compared(("base", base), ("other", other), &[]).unwrap();
            let refined = Refined::base(&both);
            of_metrics(count);
            let costs = [Cost::Inclusive, Cost::Exclusive];
            let of_costs = costs.into_iter().flat_map(|cost| {
                [
                    SortKey::Delta(cost),
                    SortKey::Base(cost),
                    SortKey::Other(cost),
                    SortKey::Growth(cost),
                ]
            });
            let keys = [SortKey::Inclusive, SortKey::Exclusive, SortKey::Edges, SortKey::PerEdge];
            for key in keys.into_iter().chain([SortKey::Name]).chain(of_costs) {
                check(&refined, key, count);
            }
        }
    }

    /// The same rows of several metrics: what has nothing of one has ties there.
    fn of_metrics(count: usize) {
        let line = |f: usize| {
            let (all, realtime) = (f * 31 % 9 + 1, f * 7 % 5);
            format!("f{} {} realtime:{realtime} e={}\n", f * 11 % count, all.max(realtime), f % 4)
        };
        let profile = from_outline(&(0..count).map(line).collect::<String>()).unwrap();
        let refined = Refined::base(&profile);
        let costs = [Cost::Inclusive, Cost::Exclusive];
        let of_costs = costs.map(|cost| SortKey::Of(MetricRef(1), cost));
        let keys = [SortKey::Inclusive, SortKey::Exclusive, SortKey::Edges, SortKey::PerEdge];
        for looked_at in [0, 1].map(MetricRef) {
            let refined = refined.clone().looking_at(looked_at);
            for key in keys.into_iter().chain([SortKey::Name]).chain(of_costs) {
                check(&refined, key, count);
            }
        }
        let rows = flat(&refined, Sort { key: of_costs[0], reversed: false });
        assert!(rows.is_sorted_by_key(|row| Reverse(row.further[1].inclusive)));
    }

    fn check(refined: &Refined<'_>, key: SortKey, count: usize) {
        for reversed in [false, true] {
            let sort = Sort { key, reversed };
            let rows = flat(refined, sort);
            assert!(rows.len() >= count);
            let in_order = |a: &Row, b: &Row| sort.compare(refined, a, b).is_lt();
            assert!(rows.is_sorted_by(in_order), "{count} rows by {sort:?}");
        }
    }
}
