//! The order of rows: by a column, with ties broken so that the same profile always gives the
//! same screen.

use core::cmp::Ordering;
use core::mem;

use super::columns::{Basis, Column, Id, Rank};
use super::row::{Cost, Row};
use crate::profile::{Profile, in_parts};
use crate::refine::Refined;

/// An order of rows. The default is the greatest inclusive cost first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sort {
    /// The column.
    pub key: Column,
    /// Numbers ascend and names descend, instead of the other way round.
    pub reversed: bool,
}

impl Sort {
    /// The greatest number first, or the names in their order.
    #[must_use]
    pub const fn by(key: Column) -> Self {
        Self { key, reversed: false }
    }

    /// The order in which rows of a view begin that is about this cost: what costs most first, or
    /// what differs most where two profiles are compared.
    #[must_use]
    pub fn usual(cost: Cost, profile: &Profile) -> Self {
        Self::by(match (&profile.comparison, cost) {
            (Some(_), cost) => Column::comparing(Id::Delta, cost),
            (None, Cost::Inclusive) => Column::INCLUSIVE,
            (None, Cost::Exclusive) => Column::EXCLUSIVE,
        })
    }

    /// Puts rows in order.
    pub fn sort(self, refined: &Refined, rows: &mut Vec<Row>) {
        let mut places: Vec<usize> = (0..rows.len()).collect();
        self.order(refined, |place| &rows[place], &mut places);
        let taken = |row: &mut Row| Row {
            weights: mem::take(&mut row.weights),
            strips: row.strips.take(),
            over_ranks: row.over_ranks.take(),
            ..*row
        };
        *rows = places.into_iter().map(|place| taken(&mut rows[place])).collect();
    }

    /// Puts in order whatever rows are known by. As comparing them does, but quicker where the key
    /// is near to a number of 32 bits: rows are large, and names are far away.
    pub(super) fn order<'r, T: Copy + Sync>(
        self,
        refined: &Refined,
        row: impl Fn(T) -> &'r Row + Sync,
        places: &mut [T],
    ) {
        let is_many = places.len() >= MANY;
        let is_name = matches!(self.key.id, Id::Function | Id::FunctionOfBoth);
        let keys_of = |first: usize, places: &[T]| {
            let basis = Basis::new(refined);
            let mut is_rounded = false;
            let keys = places.iter().zip(first as u32..).map(|(&place, index)| {
                let row = row(place);
                let rank = self.key.value(&basis, row).rank();
                is_rounded |= rank.is_rounded();
                let key = match rank {
                    Rank::Name(_) if is_many && is_name => !refined.name_place(row.function)?,
                    rank => rank.near()?,
                };
                let key = if self.reversed { key } else { !key };
                // A group has a name that was made up later, and no place among the others.
                let name = if is_many { refined.name_place(row.function)? } else { 0 };
                Some(joined([key, !tie(refined, row)?, name, index]))
            });
            let mut keys = keys.collect::<Option<Vec<_>>>()?;
            keys.sort_unstable();
            Some((keys, is_rounded))
        };
        let parts = in_parts(places, SHARED, keys_of);
        let Some(parts) = parts.into_iter().collect::<Option<Vec<_>>>() else {
            places.sort_unstable_by(|&a, &b| self.compare_among(refined, row(a), row(b), is_many));
            return;
        };
        let is_rounded = parts.iter().any(|(_, is_rounded)| *is_rounded);
        let mut parts = parts.into_iter().map(|(keys, _)| keys);
        let mut keys = parts.next().unwrap_or_default();
        for mut part in parts {
            keys.append(&mut part);
        }
        // This sort finds the parts, which are in order, and merges them.
        keys.sort();
        let mut sorted: Vec<T> = keys.iter().map(|&key| places[key as u32 as usize]).collect();
        let mut start = 0;
        for near in keys.chunk_by(|a, b| a >> 96 == b >> 96) {
            let rows = &mut sorted[start..start + near.len()];
            start += near.len();
            if near.len() == 1 {
                continue;
            }
            let first = row(rows[0]);
            let differs = |&other: &T| self.by_key(refined, first, row(other)).is_ne();
            if is_rounded && rows.iter().any(differs) {
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

    /// Compares two rows by the key alone.
    fn by_key(self, refined: &Refined, a: &Row, b: &Row) -> Ordering {
        let basis = Basis::new(refined);
        self.key.value(&basis, b).rank().cmp(&self.key.value(&basis, a).rank())
    }

    /// Compares two rows. Ties are broken by inclusive cost, of the metric that is looked at, or of
    /// the others where there is none of it; then by name, then identity, and these are not
    /// reversed.
    #[must_use]
    pub fn compare(self, refined: &Refined, a: &Row, b: &Row) -> Ordering {
        self.compare_among(refined, a, b, false)
    }

    /// The same. Among many, names are told by their places: ties may be as many.
    fn compare_among(self, refined: &Refined, a: &Row, b: &Row, is_many: bool) -> Ordering {
        let places = || Some((refined.name_place(a.function)?, refined.name_place(b.function)?));
        let by_name = || match is_many.then(places).flatten() {
            Some((a, b)) => a.cmp(&b),
            None => name(refined, a).cmp(name(refined, b)),
        };
        let inclusive = |row: &Row| row.of(refined.metric).inclusive;
        let by_key = self.by_key(refined, a, b);
        if self.reversed { by_key.reverse() } else { by_key }
            .then_with(|| inclusive(b).cmp(&inclusive(a)))
            .then_with(|| of_others(refined, b).cmp(&of_others(refined, a)))
            .then_with(by_name)
            .then_with(|| (a.function, a.kind).cmp(&(b.function, b.kind)))
    }
}

/// Inclusive samples of all metrics, of a row that has none of the one that is looked at; else 0.
fn of_others(refined: &Refined, row: &Row) -> u64 {
    match row.of(refined.metric).inclusive {
        0 => row.weights.iter().fold(0, |sum, weight| sum.saturating_add(weight.inclusive)),
        _ => 0,
    }
}

/// What breaks ties before names do, as a number, greater for rows that come first; `None` if it is
/// too great.
fn tie(refined: &Refined, row: &Row) -> Option<u32> {
    const LOOKED_AT: u32 = 1 << 31;
    let below = |samples: u64| u32::try_from(samples).ok().filter(|&samples| samples < LOOKED_AT);
    match row.of(refined.metric).inclusive {
        0 => below(of_others(refined, row)),
        inclusive => Some(below(inclusive)? | LOOKED_AT),
    }
}

fn name<'r>(refined: &'r Refined, row: &Row) -> &'r str {
    &refined.functions[row.function.index()].name
}

/// Numbers as one, which are compared one after the other.
fn joined(numbers: [u32; 4]) -> u128 {
    numbers.into_iter().fold(0, |all, number| all << 32 | u128::from(number))
}

/// Rows from which on the order of all names is worth finding out.
const MANY: usize = 2_000;

/// Rows from which on a thread is worth what it costs.
const SHARED: usize = if cfg!(test) { 1_000 } else { 1 << 15 };

#[cfg(test)]
mod tests {
    use core::cmp::Reverse;

    use super::*;
    use crate::profile::derived::{DerivedRef, Wanted};
    use crate::profile::{MetricRef, Profile, from_outline};
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
            let of_both = Column::sortable(true).flat_map(|(_, definition)| {
                costs.map(|cost| Column::comparing(definition.id, cost))
            });
            for key in of_one().chain(of_both) {
                check(&refined, key, count);
            }
        }
    }

    fn of_one() -> impl Iterator<Item = Column> {
        Column::sortable(false).map(|(_, definition)| Column::of(definition.id, None))
    }

    /// The same rows of several metrics: what has nothing of one has ties there.
    fn of_metrics(count: usize) {
        let line = |f: usize| {
            let (all, realtime) = (f * 31 % 9 + 1, f * 7 % 5);
            format!("f{} {} realtime:{realtime} e={}\n", f * 11 % count, all.max(realtime), f % 4)
        };
        let mut profile = from_outline(&(0..count).map(line).collect::<String>()).unwrap();
        for text in ["rest = cputime - 2 * realtime", "part = realtime / cputime"] {
            profile.derive(&Wanted::parse(text).unwrap()).unwrap();
        }
        let refined = Refined::base(&profile);
        let costs = [Cost::Inclusive, Cost::Exclusive];
        let of_costs = costs.map(|cost| Column::cost_of(MetricRef(1), cost));
        for looked_at in [0, 1].map(MetricRef) {
            let refined = refined.clone().looking_at(looked_at);
            let derived = [0, 1].map(|at| Column::derived_of(DerivedRef(at), Cost::Exclusive));
            for key in of_one().chain(of_costs).chain(derived) {
                check(&refined, key, count);
            }
        }
        let rows = flat(&refined, Sort::by(of_costs[0]));
        assert!(rows.is_sorted_by_key(|row| Reverse(row.of(MetricRef(1)).inclusive)));
    }

    fn check(refined: &Refined, key: Column, count: usize) {
        for reversed in [false, true] {
            let sort = Sort { key, reversed };
            let rows = flat(refined, sort);
            assert!(rows.len() >= count);
            let in_order = |a: &Row, b: &Row| sort.compare(refined, a, b).is_lt();
            assert!(rows.is_sorted_by(in_order), "{count} rows by {sort:?}");
        }
    }
}
