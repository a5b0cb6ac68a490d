//! The rows that the forms for machines have, of one profile or of two.

use std::io;

use super::listing::{Limits, Listing, callers, list, top_down};
use super::{Options, View, diff};
use crate::refine::Refined;
use crate::views::{Arrangement, Row};

/// The rows that a form for machines has. Where all are wanted, none is kept: they may be more than
/// memory should hold.
#[derive(Debug)]
pub(super) struct ForMachines<'r> {
    refined: &'r Refined,
    options: &'r Options,
    limits: Limits,
    listing: Option<Listing>,
}

impl<'r> ForMachines<'r> {
    pub(super) fn new(refined: &'r Refined, options: &'r Options) -> Self {
        let limits = Limits::for_machines(options);
        let is_all = limits.rows == usize::MAX && limits.share == 0.0 && options.open.is_none();
        let is_compared = refined.profile.comparison.is_some();
        // Callers in a comparison are wanted to any depth: they may be the square of the nodes.
        let are_too_many = options.view == View::Callers && is_compared;
        let is_tree = options.view.definition().arrangement == Arrangement::Tree && !are_too_many;
        let list = if is_compared { diff::listing::list } else { list };
        let listing = (!is_all || !is_tree).then(|| list(refined, options, limits));
        Self { refined, options, limits, listing }
    }

    /// Rows that were not looked into.
    pub(super) fn not_looked_into(&self) -> usize {
        self.listing.as_ref().map_or(0, |listing| listing.not_looked_into)
    }

    /// Calls `visit` for each row and its level, in order.
    ///
    /// # Errors
    /// The first one of `visit`.
    pub(super) fn each(
        &self,
        mut visit: impl FnMut(&Row, u32) -> io::Result<()>,
    ) -> io::Result<()> {
        let Self { refined, options, limits, .. } = *self;
        let sort = options.sort(refined);
        if let Some(listing) = &self.listing {
            return listing.lines.iter().try_for_each(|line| visit(&line.row, line.depth));
        }
        if options.view == View::Callers {
            let mut tree = callers(refined, options);
            tree.set_sort(sort);
            return tree.visit(refined, limits.levels, visit);
        }
        let mut tree = top_down(refined, options);
        tree.set_sort(sort);
        tree.visit(refined, limits.levels, visit)
    }
}
