//! Columns of how a cost is spread over peers and phases.

use crate::views::columns::cell::Cell;
use crate::views::columns::column::{About, At, COLUMN, Definition, Explanation, Unit};
use crate::views::columns::explain::{heading, pair};
use crate::views::columns::lists::Id;
use crate::views::number::{amount, counted};
use crate::views::row::{Strip, StripKind, StripOfMetric};
use crate::views::strip::{CELLS, PHASE_CELLS};

/// All of them.
pub(super) const COLUMNS: &[Definition] = &[SPREAD, OVER_PHASES];

/// What strips have alike.
const STRIP: Definition =
    Definition { unit: Unit::Strip, value: |at| at.strip(), explain: spread, ..COLUMN };

const SPREAD: Definition = Definition {
    id: Id::Spread,
    key: "spread",
    name: Some("spread"),
    help: "Inclusive cost over ranks, or processes, or threads",
    width: CELLS,
    ..STRIP
};

const OVER_PHASES: Definition = Definition {
    id: Id::OverPhases,
    key: "over_phases",
    name: Some("over-phases"),
    is_in: |basis| !basis.refined.profile.info.phases.is_empty(),
    heading: |_| "over phases".into(),
    help: "Inclusive cost over phases, or slices of time, as they began",
    width: PHASE_CELLS,
    ..STRIP
};

fn spread(at: &At<'_>, _: About) -> Explanation {
    let Some((strip, of)) = at.spread() else { return Vec::new() };
    let (axis, peers) = strip.of;
    let form = at.basis.form;
    let each = of.parts.iter().map(|&samples| amount(samples, at.metric(), form));
    let each = each.collect::<Vec<_>>().join(", ");
    let cells = match peers > of.parts.len() {
        true => ", of each cell the one with most",
        false => "",
    };
    let noise = if of.is_noise { "; they may differ by sampling noise alone" } else { "" };
    let mut whose = counted(peers as u64, axis.name(), form);
    if let Some(process) = &strip.process {
        whose.push_str(&format!(" of {process}, which has most of them (of no other process)"));
    }
    vec![pair(
        &heading(at),
        format!("over {whose} in their order{cells}: {each}{noise}; D shows more"),
    )]
}

impl<'r> At<'r> {
    /// How what the row has of it is spread, where that was asked for.
    fn spread(&self) -> Option<(&'r Strip, &'r StripOfMetric)> {
        let is_over_phases = self.column.id == Id::OverPhases;
        let kind = if is_over_phases { StripKind::Phases } else { StripKind::Peers };
        let strip = self.row.strips.as_deref()?.of_kind(kind)?;
        Some((strip, strip.of(self.number())?))
    }

    /// The same as a cell.
    fn strip(&self) -> Cell<'r> {
        self.spread().map_or(Cell::Nothing, |(_, of)| Cell::Strip {
            of,
            metric: self.metric(),
            measure: self.basis.measure,
        })
    }
}
