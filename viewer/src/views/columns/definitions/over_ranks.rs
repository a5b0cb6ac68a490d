//! Columns over the ranks of a sum.

use std::borrow::Cow;

use crate::profile::derived::{Shown, Value};
use crate::views::columns::cell::Cell;
use crate::views::columns::column::{
    About, At, COLUMN, Definition, Explanation, Heading, Order, Unit,
};
use crate::views::columns::explain::{heading, pair};
use crate::views::columns::lists::{Id, OWN_OVER_RANKS};
use crate::views::measure::Measure;
use crate::views::number::counted;
use crate::views::over_ranks::{self, OfMetric};
use crate::views::peer_costs::RanksOfSum;
use crate::views::printable::printable;

/// All of them.
pub(super) const COLUMNS: &[Definition] = &[
    RANK_MEAN,
    RANK_MOST,
    MOST_RANK,
    RANK_LEAST,
    RANK_IMBALANCE,
    RANK_DEVIATION,
    OWN_RANK_MEAN,
    OWN_RANK_MOST,
    OWN_MOST_RANK,
    OWN_RANK_IMBALANCE,
];

/// What columns over the ranks of a sum have alike.
const OVER_RANKS: Definition =
    Definition { unit: Unit::OverRanks, is_in: |basis| basis.is_sum(), explain, ..COLUMN };

const RANK_MEAN: Definition = Definition {
    id: Id::RankMean,
    key: "rank_mean",
    name: Some("rank-mean"),
    heading: |of| of.over_ranks("rank mean"),
    value: |at| at.over_ranks(|of, each| Some(Value::exact(of.mean() * each))),
    order: Order::By("rank-mean"),
    help: "Of a sum: mean of the inclusive cost over all ranks",
    ..OVER_RANKS
};

const RANK_MOST: Definition = Definition {
    id: Id::RankMost,
    key: "rank_max",
    name: Some("rank-max"),
    heading: |of| of.over_ranks("rank max"),
    value: |at| at.over_ranks(|of, each| Some(over_ranks::value(of.most, each))),
    order: Order::By("rank-max"),
    help: "Of a sum: inclusive cost of the rank with most",
    ..OVER_RANKS
};

const MOST_RANK: Definition = Definition {
    id: Id::MostRank,
    key: "max_rank",
    name: Some("max-rank"),
    heading: |of| of.over_ranks("max rank"),
    value: |at| match at.of_ranks().and_then(|of| of.most_rank) {
        Some(rank) => Cell::Count(rank.into()),
        None => Cell::Nothing,
    },
    help: "Of a sum: the rank with most",
    width: 8,
    ..OVER_RANKS
};

const RANK_LEAST: Definition = Definition {
    id: Id::RankLeast,
    key: "rank_min",
    name: Some("rank-min"),
    heading: |of| of.over_ranks("rank min"),
    value: |at| at.over_ranks(|of, each| Some(over_ranks::value(of.least, each))),
    order: Order::By("rank-min"),
    help: "Of a sum: inclusive cost of the rank with least",
    ..OVER_RANKS
};

const RANK_IMBALANCE: Definition = Definition {
    id: Id::RankImbalance,
    key: "rank_imbalance",
    name: Some("rank-imbalance"),
    heading: |of| of.over_ranks("imbalance"),
    value: |at| at.over_ranks(|of, each| Some(over_ranks::value(of.imbalance(), each))),
    order: Order::By("rank-imbalance"),
    help: "Of a sum: what all ranks could wait for the one with most",
    ..OVER_RANKS
};

const RANK_DEVIATION: Definition = Definition {
    id: Id::RankDeviation,
    key: "rank_deviation",
    name: Some("rank-deviation"),
    heading: |of| of.over_ranks("rank sd"),
    value: |at| at.over_ranks(|of, each| Some(Value::exact(of.deviation()? * each))),
    order: Order::By("rank-deviation"),
    help: "Of a sum: standard deviation of the inclusive cost over all ranks",
    ..OVER_RANKS
};

const OWN_RANK_MEAN: Definition = Definition {
    id: Id::OwnRankMean,
    key: "excl_rank_mean",
    name: Some("excl-rank-mean"),
    heading: |of| of.over_ranks("excl rank mean"),
    value: |at| at.over_ranks(|of, each| Some(Value::exact(of.mean() * each))),
    order: Order::By("excl-rank-mean"),
    help: "Of a sum: mean of the exclusive cost over all ranks",
    ..OVER_RANKS
};

const OWN_RANK_MOST: Definition = Definition {
    id: Id::OwnRankMost,
    key: "excl_rank_max",
    name: Some("excl-rank-max"),
    heading: |of| of.over_ranks("excl rank max"),
    value: |at| at.over_ranks(|of, each| Some(over_ranks::value(of.most, each))),
    order: Order::By("excl-rank-max"),
    help: "Of a sum: exclusive cost of the rank with most",
    ..OVER_RANKS
};

const OWN_MOST_RANK: Definition = Definition {
    id: Id::OwnMostRank,
    key: "excl_max_rank",
    name: Some("excl-max-rank"),
    heading: |of| of.over_ranks("excl max rank"),
    value: |at| match at.of_ranks().and_then(|of| of.most_rank) {
        Some(rank) => Cell::Count(rank.into()),
        None => Cell::Nothing,
    },
    help: "Of a sum: the rank with most exclusive cost",
    width: 8,
    ..OVER_RANKS
};

const OWN_RANK_IMBALANCE: Definition = Definition {
    id: Id::OwnRankImbalance,
    key: "excl_rank_imbalance",
    name: Some("excl-rank-imbalance"),
    heading: |of| of.over_ranks("excl imbalance"),
    value: |at| at.over_ranks(|of, each| Some(over_ranks::value(of.imbalance(), each))),
    order: Order::By("excl-rank-imbalance"),
    help: "Of a sum: by how much ranks differ in exclusive cost, (max - mean) x ranks",
    ..OVER_RANKS
};

/// What the number over ranks is, or why there is none.
fn explain(at: &At<'_>, _: About) -> Explanation {
    let (refined, form) = (at.basis.refined, at.basis.form);
    if refined.profile.spreads.ranks() == 0 {
        return Vec::new();
    }
    // Where it is known what each has, there is nothing but of one alone.
    let of_one = || match RanksOfSum::find(refined) {
        RanksOfSum::OneRank => Some("none: of all ranks one at most is shown"),
        RanksOfSum::Each(_) => Some("none: this row is of one rank alone"),
        RanksOfSum::Nothing | RanksOfSum::Summed(_) => None,
    };
    let none = match OWN_OVER_RANKS.contains(&at.column.id) {
        true => "none: no rank that is shown has samples of its own here",
        false => "none: no rank that is shown has samples here",
    };
    let said = match (at.column.value(at.basis, at.row), at.of_ranks()) {
        (Cell::Nothing, Some(of)) if of.sum == 0 => none.to_owned(),
        (Cell::Nothing, Some(_)) => "not known: of several paths, or of the exclusive cost of one \
                                     that goes on, the sum has bounds"
            .to_owned(),
        (cell, Some(of)) => {
            format!("{} of {}", cell.text(form), counted(of.ranks.into(), "rank", form))
        }
        (_, None) if let Some(said) = of_one() => said.to_owned(),
        (_, None) if at.weight().inclusive == 0 => none.to_owned(),
        (_, None) => "not known: not all ranks are kept apart, and the sum says it of whole paths \
                      as they were recorded; stages took a part of this one, or put it together \
                      anew"
            .to_owned(),
    };
    vec![pair(&heading(at), said)]
}

impl<'r> Heading<'r> {
    /// What a column over ranks is called, with the metric where that is not looked at.
    fn over_ranks(&self, name: &'static str) -> Cow<'r, str> {
        match self.column.metric {
            Some(metric) => {
                let source = printable(&self.basis.refined.source_of(metric).source);
                format!("{source} {name}").into()
            }
            None => name.into(),
        }
    }
}

impl<'r> At<'r> {
    /// How the cost of the row is spread over the ranks of a sum, of the column's metric.
    fn of_ranks(&self) -> Option<&'r OfMetric> {
        let over = self.row.over_ranks.as_ref()?;
        match OWN_OVER_RANKS.contains(&self.column.id) {
            true => over.own_of(self.number()),
            false => over.of(self.number()),
        }
    }

    /// A cost over ranks; it is given how much of the unit that is shown a sample is.
    fn over_ranks(&self, value: impl Fn(&OfMetric, f64) -> Option<Value>) -> Cell<'r> {
        let (measure, metric) = (self.basis.measure, self.metric());
        let shown = match measure {
            Measure::Source if metric.is_time() => Shown::Time,
            Measure::Source if metric.unit == "bytes" => Shown::Bytes,
            _ => Shown::Number,
        };
        // Of what no rank has, as of a launcher's functions, there is nothing to spread.
        let of = self.of_ranks().filter(|of| of.sum > 0);
        match of.and_then(|of| value(of, measure.of(1, metric) as f64)) {
            Some(value) => Cell::Derived { value, shown },
            None => Cell::Nothing,
        }
    }
}
