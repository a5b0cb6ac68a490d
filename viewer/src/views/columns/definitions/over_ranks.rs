//! Columns over the ranks of a sum, each made of what they have alike.

use crate::profile::derived::Value;
use crate::views::columns::cell::Cell;
use crate::views::columns::column::{Definition, Order};
use crate::views::columns::lists::Id;
use crate::views::over_ranks;

/// Mean of the inclusive cost.
pub(super) const fn mean(alike: Definition) -> Definition {
    Definition {
        id: Id::RankMean,
        key: "rank_mean",
        name: Some("rank-mean"),
        heading: |of| of.over_ranks("rank mean"),
        value: |at| at.over_ranks(|of, each| Some(Value::exact(of.mean() * each))),
        order: Order::By("rank-mean"),
        help: "Of a sum: mean of the inclusive cost over all ranks",
        ..alike
    }
}

/// That of the rank with most.
pub(super) const fn most(alike: Definition) -> Definition {
    Definition {
        id: Id::RankMost,
        key: "rank_max",
        name: Some("rank-max"),
        heading: |of| of.over_ranks("rank max"),
        value: |at| at.over_ranks(|of, each| Some(over_ranks::value(of.most, each))),
        order: Order::By("rank-max"),
        help: "Of a sum: inclusive cost of the rank with most",
        ..alike
    }
}

/// This rank.
pub(super) const fn most_rank(alike: Definition) -> Definition {
    Definition {
        id: Id::MostRank,
        key: "max_rank",
        name: Some("max-rank"),
        heading: |of| of.over_ranks("max rank"),
        value: |at| match at.of_ranks().and_then(|of| of.most_rank) {
            Some(rank) => Cell::Count(rank.into()),
            None => Cell::Nothing,
        },
        order: Order::None,
        help: "Of a sum: the rank with most",
        width: 8,
        ..alike
    }
}

/// That of the rank with least.
pub(super) const fn least(alike: Definition) -> Definition {
    Definition {
        id: Id::RankLeast,
        key: "rank_min",
        name: Some("rank-min"),
        heading: |of| of.over_ranks("rank min"),
        value: |at| at.over_ranks(|of, each| Some(over_ranks::value(of.least, each))),
        order: Order::By("rank-min"),
        help: "Of a sum: inclusive cost of the rank with least",
        ..alike
    }
}

/// By how much ranks differ.
pub(super) const fn imbalance(alike: Definition) -> Definition {
    Definition {
        id: Id::RankImbalance,
        key: "rank_imbalance",
        name: Some("rank-imbalance"),
        heading: |of| of.over_ranks("imbalance"),
        value: |at| at.over_ranks(|of, each| Some(over_ranks::value(of.imbalance(), each))),
        order: Order::By("rank-imbalance"),
        help: "Of a sum: what all ranks could wait for the one with most",
        ..alike
    }
}

/// Their standard deviation.
pub(super) const fn deviation(alike: Definition) -> Definition {
    Definition {
        id: Id::RankDeviation,
        key: "rank_deviation",
        name: Some("rank-deviation"),
        heading: |of| of.over_ranks("rank sd"),
        value: |at| at.over_ranks(|of, each| Some(Value::exact(of.deviation()? * each))),
        order: Order::By("rank-deviation"),
        help: "Of a sum: standard deviation of the inclusive cost over all ranks",
        ..alike
    }
}

/// Mean of the exclusive cost.
pub(super) const fn own_mean(alike: Definition) -> Definition {
    Definition {
        id: Id::OwnRankMean,
        key: "excl_rank_mean",
        name: Some("excl-rank-mean"),
        heading: |of| of.over_ranks("excl rank mean"),
        value: |at| at.over_ranks(|of, each| Some(Value::exact(of.mean() * each))),
        order: Order::By("excl-rank-mean"),
        help: "Of a sum: mean of the exclusive cost over all ranks",
        ..alike
    }
}

/// That of the rank with most.
pub(super) const fn own_most(alike: Definition) -> Definition {
    Definition {
        id: Id::OwnRankMost,
        key: "excl_rank_max",
        name: Some("excl-rank-max"),
        heading: |of| of.over_ranks("excl rank max"),
        value: |at| at.over_ranks(|of, each| Some(over_ranks::value(of.most, each))),
        order: Order::By("excl-rank-max"),
        help: "Of a sum: exclusive cost of the rank with most",
        ..alike
    }
}

/// This rank.
pub(super) const fn own_most_rank(alike: Definition) -> Definition {
    Definition {
        id: Id::OwnMostRank,
        key: "excl_max_rank",
        name: Some("excl-max-rank"),
        heading: |of| of.over_ranks("excl max rank"),
        value: |at| match at.of_ranks().and_then(|of| of.most_rank) {
            Some(rank) => Cell::Count(rank.into()),
            None => Cell::Nothing,
        },
        order: Order::None,
        help: "Of a sum: the rank with most exclusive cost",
        width: 8,
        ..alike
    }
}

/// By how much ranks differ.
pub(super) const fn own_imbalance(alike: Definition) -> Definition {
    Definition {
        id: Id::OwnRankImbalance,
        key: "excl_rank_imbalance",
        name: Some("excl-rank-imbalance"),
        heading: |of| of.over_ranks("excl imbalance"),
        value: |at| at.over_ranks(|of, each| Some(over_ranks::value(of.imbalance(), each))),
        order: Order::By("excl-rank-imbalance"),
        help: "Of a sum: by how much ranks differ in exclusive cost, (max - mean) x ranks",
        ..alike
    }
}
