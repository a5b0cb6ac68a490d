//! Columns of edge counts, and of what they say of calls.

use crate::refine::Refined;
use crate::views::columns::cell::Cell;
use crate::views::columns::column::{About, At, COLUMN, Definition, Explanation, Order, Unit};
use crate::views::columns::explain::{heading, pair};
use crate::views::columns::lists::Id;
use crate::views::number::{amount, amount_per, count, counted};
use crate::views::row::Edges;
use crate::views::summary::are_all_of_time;
use crate::views::verdict;

/// All of them.
pub(super) const COLUMNS: &[Definition] = &[EDGES, PER_EDGE, CALLS];

const EDGES: Definition = Definition {
    id: Id::Edges,
    key: "edges",
    name: Some("edges"),
    unit: Unit::Edges,
    value: |at| Cell::Edges(at.weight().edges),
    order: Order::By("edges"),
    help: "Returns of calls that a sample met",
    explain: edges,
    ..COLUMN
};

fn edges(at: &At<'_>, about: About) -> Explanation {
    let form = at.basis.form;
    let why = at.basis.refined.profile.why_no_edges();
    let text = match at.weight().edges {
        Edges::None if let Some(why) = why => format!("none: {why}"),
        Edges::None if at.row.kind.is_called() && at.basis.refined.has_handovers() => {
            format!(
                "{}, or it is counted in the tree of the thread that called that code",
                about.no_edges
            )
        }
        Edges::None => about.no_edges.to_owned(),
        Edges::Range { low, high } if low == high => {
            format!("{} of calls that a sample met, exactly", counted(low, "return", form))
        }
        Edges::Range { low, high } => format!(
            "between {} and {}: a return is counted where its activation was sampled last; some of \
             its samples may be out, or in another row",
            count(low, form),
            count(high, form)
        ),
    };
    vec![pair("edges", text)]
}

const PER_EDGE: Definition = Definition {
    id: Id::PerEdge,
    key: "per_edge",
    name: Some("per-edge"),
    heading: |of| if of.is_time() { "time/edge".into() } else { "cost/edge".into() },
    unit: Unit::PerEdge,
    value: |at| Cell::PerEdge { weight: at.weight(), metric: at.metric() },
    order: Order::By("per-edge"),
    help: "Cost per edge",
    explain: per_edge,
    ..COLUMN
};

fn per_edge(at: &At<'_>, _: About) -> Explanation {
    let (weight, metric, form) = (at.weight(), at.metric(), at.basis.form);
    let name = &*heading(at);
    let mut texts = Vec::new();
    if let Edges::Range { low, high } = weight.outer_edges
        && high > 0
    {
        let each = |edges: u64| amount_per(weight.edge_samples, edges, metric, form);
        let text = match low {
            low if low == high => {
                format!(
                    "{} / {} = {}",
                    amount(weight.edge_samples, metric, form),
                    count(high, form),
                    each(high)
                )
            }
            0 => format!("at least {}", each(high)),
            low => format!("between {} and {}", each(high), each(low)),
        };
        texts.push(pair(name, text));
    }
    let is_known = weight.outer_edges != Edges::None;
    if !is_known && matches!(weight.edges, Edges::Range { high: 1.., .. }) {
        texts.push(pair(name, format!("none: {}", why_not_timed(at.basis.refined))));
    }
    if is_known && (weight.edges != weight.outer_edges || weight.edge_samples != weight.inclusive) {
        texts.push(pair(
            "",
            "of outermost activations that could return: inlined ones do not count, nor what other \
             threads did for them, and the time of inner ones of a recursive function is that of \
             the outer ones",
        ));
    }
    texts
}

/// Why a row with edges may have no cost per edge.
fn why_not_timed(refined: &Refined) -> String {
    let unknown = "which activations are the outermost is not known, since some paths lack their \
                   outer part";
    let mixed = "some samples may be of what this thread did for another one, whose activations \
                 are not counted here";
    match refined.knows_outermost() {
        true => mixed.to_owned(),
        false if refined.has_handovers() => format!("{unknown}, or {mixed}"),
        false => unknown.to_owned(),
    }
}

const CALLS: Definition = Definition {
    id: Id::Calls,
    key: "calls",
    name: Some("calls"),
    unit: Unit::PerEdge,
    value: |at| {
        let is_told = at.basis.clustered.is_none() && are_all_of_time(&at.basis.refined.profile);
        Cell::of_text(verdict::calls(at.row, !is_told))
    },
    order: Order::As(Id::PerEdge),
    help: "Many short ones, or few long",
    explain: calls,
    width: 10,
    ..COLUMN
};

/// What the calls are like.
fn calls(at: &At<'_>, _: About) -> Explanation {
    let form = at.basis.form;
    if let Some((signals, samples)) = at.basis.clustered
        && at.weight().edges != Edges::None
    {
        let text = format!(
            "how long they are is not told: {} samples came in {} signals, several periods at a \
             time",
            count(samples, form),
            count(signals, form)
        );
        return vec![pair("calls", text)];
    }
    if !are_all_of_time(&at.basis.refined.profile) {
        return Vec::new();
    }
    match verdict::of_row(at.row) {
        Some(verdict) => {
            vec![pair("calls", format!("{}: {}", verdict.word(), verdict.explanation()))]
        }
        None if matches!(at.weight().outer_edges, Edges::None | Edges::Range { high: 0, .. }) => {
            Vec::new()
        }
        None if verdict::are_too_few(at.weight()) => {
            vec![pair("calls", "too few were met, each once, to tell how long they are")]
        }
        None => {
            vec![pair("calls", "the bounds of edges are too far apart to tell long from short")]
        }
    }
}
