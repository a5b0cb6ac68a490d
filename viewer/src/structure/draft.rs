//! A function whose parts are still being found: each is decoded once, and the graph is made when
//! all are known.

use super::code::{Function, Memory, Target, TooLarge};
use super::graph::{Builder, Found};
use super::landing_pads::LandingPad;
use super::sweep::{FlowKind, Sweep, reaches_return};

/// A function, of which more parts may become known by where its code jumps.
pub struct Draft<'a> {
    memory: &'a dyn Memory,
    sweep: Sweep<'a>,
    entry: u64,
    pads: Vec<LandingPad>,
    /// Its graph, if that was needed.
    found: Option<Found>,
}

impl<'a> Draft<'a> {
    /// Decodes a function.
    ///
    /// # Errors
    ///
    /// If there is too much of it.
    pub fn new(memory: &'a dyn Memory, function: &Function<'_>) -> Result<Self, TooLarge> {
        let (entry, pads) = (function.entry, function.landing_pads.to_vec());
        let sweep = Sweep::of(memory, function.parts, None)?;
        Ok(Self { memory, sweep, entry, pads, found: None })
    }

    /// The same as this function with others of its parts. What was decoded is not decoded again.
    ///
    /// # Errors
    ///
    /// If there is too much of it.
    pub fn with(self, function: &Function<'_>) -> Result<Self, TooLarge> {
        let (entry, pads) = (function.entry, function.landing_pads.to_vec());
        let sweep = Sweep::of(self.memory, function.parts, Some(self.sweep))?;
        Ok(Self { memory: self.memory, sweep, entry, pads, found: None })
    }

    /// Where its jumps leave it for, ordered, each once. Without jumps through tables no graph is
    /// made.
    ///
    /// # Errors
    ///
    /// If there is too much of it.
    pub fn jumps_out(
        &mut self,
        never_returns: &dyn Fn(Target) -> bool,
    ) -> Result<Vec<u64>, TooLarge> {
        let flows = &self.sweep.flows;
        let mut targets: Vec<u64> =
            if flows.iter().any(|flow| flow.kind == FlowKind::Jump(Target::Unknown)) {
                let leaves = &self.found(never_returns)?.leaves;
                let targets = leaves.iter().filter_map(|leave| match leave.target {
                    Target::Code(to) => Some(to),
                    _ => None,
                });
                targets.collect()
            } else {
                let targets = flows.iter().filter_map(|flow| match flow.kind {
                    FlowKind::Jump(Target::Code(to)) | FlowKind::Branch(to) => Some(to),
                    _ => None,
                });
                targets.filter(|&to| self.sweep.target(to).is_none()).collect()
            };
        targets.sort_unstable();
        targets.dedup();
        Ok(targets)
    }

    /// Its graph, where it is entered, and its instructions.
    pub(super) fn finish(
        mut self,
        never_returns: &dyn Fn(Target) -> bool,
    ) -> Result<(Found, u64, Sweep<'a>), TooLarge> {
        self.found(never_returns)?;
        Ok((self.found.unwrap_or_default(), self.entry, self.sweep))
    }

    fn found(&mut self, never_returns: &dyn Fn(Target) -> bool) -> Result<&Found, TooLarge> {
        let found = match self.found.take() {
            Some(found) => found,
            None => {
                let (sweep, memory, entry) = (&self.sweep, self.memory, self.entry);
                Builder { sweep, memory, entry, pads: &self.pads, never_returns }.run()?
            }
        };
        Ok(self.found.insert(found))
    }
}

/// Whether a function may return, itself or by a jump to what may; `never_returns` tells of these,
/// and all calls are taken to come back. What an indirect jump leads to may.
///
/// # Errors
///
/// If there is too much of it.
pub fn may_return(
    memory: &dyn Memory,
    function: &Function<'_>,
    never_returns: &dyn Fn(Target) -> bool,
) -> Result<bool, TooLarge> {
    let entry = function.entry;
    // Most do, and a few instructions show it.
    let part = function.parts.iter().find(|part| part.contains(&entry));
    let code = part.and_then(|part| memory.code(entry..part.end));
    if code.is_some_and(|code| reaches_return(entry, code)) {
        return Ok(true);
    }
    graph_returns(memory, function, never_returns)
}

/// The same, whatever it takes.
pub(super) fn graph_returns(
    memory: &dyn Memory,
    function: &Function<'_>,
    never_returns: &dyn Fn(Target) -> bool,
) -> Result<bool, TooLarge> {
    let entry = function.entry;
    let mut draft = Draft::new(memory, function)?;
    let Found { blocks, leaves, returns, .. } = draft.found(&|_| false)?;
    let entered = blocks.find(entry).map(|entry| blocks.reached(&[entry]));
    let is_reached = |block: u32| entered.as_ref().is_none_or(|all| all[block as usize]);
    let is_left = |at| blocks.find(at).is_some_and(is_reached);
    Ok(returns.iter().any(|&block| is_reached(block))
        || leaves.iter().any(|leave| is_left(leave.at) && !never_returns(leave.target)))
}
