//! The order of rows: by a column, with ties broken so that the same profile always gives the
//! same screen.

use core::cmp::{Ordering, Reverse};

use super::{Edges, Row};
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
        *rows = places.into_iter().map(|place| rows[place].clone()).collect();
    }

    /// Puts in order whatever rows are known by. As comparing them does, but quicker where the key
    /// is a number of 32 bits: rows are large, and names are far away.
    pub(super) fn order<'r, T: Copy>(
        self,
        refined: &Refined<'_>,
        row: impl Fn(T) -> &'r Row,
        places: &mut [T],
    ) {
        let number = |row: &Row| match self.key {
            SortKey::Inclusive => Some(row.inclusive),
            SortKey::Exclusive => Some(row.exclusive),
            _ => None,
        };
        let is_many = places.len() >= MANY;
        let keys = places.iter().zip(0..).map(|(&place, index)| {
            let row = row(place);
            let key = u32::try_from(number(row)?).ok()?;
            let key = if self.reversed { key } else { !key };
            let inclusive = u32::try_from(row.inclusive).ok()?;
            // A group has a name that was made up later, and no place among the others.
            let name = if is_many { refined.name_place(row.function)? } else { 0 };
            Some(joined([key, !inclusive, name, index]))
        });
        let Some(mut keys) = keys.collect::<Option<Vec<_>>>() else {
            places.sort_unstable_by(|&a, &b| self.compare(refined, row(a), row(b)));
            return;
        };
        keys.sort_unstable();
        let mut sorted: Vec<T> = keys.iter().map(|&key| places[key as u32 as usize]).collect();
        let mut start = 0;
        for ties in keys.chunk_by(|a, b| a >> 32 == b >> 32) {
            let end = start + ties.len();
            if ties.len() > 1 {
                sorted[start..end].sort_unstable_by(|&a, &b| self.compare(refined, row(a), row(b)));
            }
            start = end;
        }
        places.copy_from_slice(&sorted);
    }

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
            SortKey::Delta(cost) => delta(refined, b, cost).cmp(&delta(refined, a, cost)),
            SortKey::Base(cost) => cost.of(b)[0].cmp(&cost.of(a)[0]),
            SortKey::Other(cost) => cost.of(b)[1].cmp(&cost.of(a)[1]),
            SortKey::Growth(cost) => growth(cost.of(b), cost.of(a)),
        };
        if self.reversed { by_key.reverse() } else { by_key }
            .then_with(|| Reverse(a.inclusive).cmp(&Reverse(b.inclusive)))
            .then_with(|| name(a).cmp(name(b)))
            .then_with(|| (a.function, a.kind).cmp(&(b.function, b.kind)))
    }
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
