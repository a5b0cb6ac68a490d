//! Edge counts after refinement: exact, or between two bounds.
//!
//! **What a count means.** An edge is a return that was counted: one of an activation that samples
//! had met. The edge count of a row is the number of counted returns of activations that have at
//! least one sample shown in the row or below it.
//!
//! **What was recorded.** An activation moves from one line of its function to the next, and has a
//! node for each call site, and for each address where samples found it innermost. Its return was
//! counted once, on the node of its last sample. So what a node has recorded is not what returned
//! of the activations that were sampled there: a stage may keep the nodes that an activation came
//! through, and take out the one where its return was counted.
//!
//! **What follows.** An activation has one caller, and that call one place, so all its nodes have
//! one parent as recorded, and are of one procedure ([`Procedures`]): a *family*. Of a family that
//! recorded E returns, the nodes of a row have S′ samples now. Then at most E and at most S′
//! activations that returned have samples in the row. A node that recorded e returns and has lost L
//! samples still has samples of e − L of these activations at least, and those of two nodes are not
//! the same. So
//!
//! ```text
//! Σ max(0, e − L)  ≤  count  ≤  min(E, S′)
//! ```
//!
//! which is exact if the family has lost nothing, or if what it lost had no returns and the rest
//! nothing else. `live` (0) means that no return was counted of any activation in the family.
//!
//! Rows add up nodes, and a row has all nodes of a family that are of one function and below one
//! parent. So the bounds of these are found together, and shared out among them: each has at most as
//! many as samples. What asks for some of them alone asks for [`EdgeCounts::of_part`].
//!
//! Three things more move activations between families. A thread that enters an epoch goes on with
//! one stack: at most one activation of each family of the epoch before returns in a later one.
//! Paths whose outer part is not known are trees of their own, where no return is counted: before all
//! stages, a row that has such nodes of an activation has those of its whole paths, too, unless it is
//! of code without a name, or of a path that begins with that part ([`EdgeCounts::with_partial`]). And
//! in a tree of callers the nodes of one activation differ only in the first frame and the epoch;
//! stages take out all of them or none, unless they tell lines or epochs apart.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasherDefault;
use std::sync::{Arc, OnceLock};

use super::Refined;
use super::bits::Bits;
use super::children::node_number;
use super::column::Column;
use super::costs::CostsOf;
use super::rows::{Lists, Mixer};
use crate::profile::{Count, Frame, FrameKind, Profile};

/// What a stage does to what is known of edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Effect {
    /// Nothing: what it keeps of an activation's samples is all or none of those below a node, for
    /// all nodes of a procedure.
    None,
    /// Activations may lose some of their samples.
    TakesOut,
    /// They may, and those of one line of a function, or of one epoch, before those of another.
    Parts,
}

/// What is known of each node as it was before any samples were taken out.
#[derive(Clone, Debug)]
pub(super) struct Recorded<'p, C> {
    /// Least edge count.
    pub(super) low: Column<'p, C>,
    /// Greatest edge count; the same column if all are exact.
    pub(super) high: Column<'p, C>,
    /// Inclusive samples.
    pub(super) inclusive: Column<'p, C>,
    /// Whether `low` says which nodes have edges ([`Count::MAX`]: none), and not the kind of their frame:
    /// in a tree of callers, edges are those of the function that the path begins with.
    pub(super) marked: bool,
    /// The greatest effect of the stages since then.
    effect: Effect,
    /// The edges of the profile's nodes; none in a tree of callers.
    loaded: Column<'p, C>,
    /// Their families; made when first needed.
    families: Arc<OnceLock<Families<C>>>,
}

impl<'p, C: Count> Recorded<'p, C> {
    /// Exact counts of the nodes whose frame is of a kind that is called.
    pub(super) fn of_kinds(edges: Column<'p, C>, inclusive: Column<'p, C>) -> Self {
        Self {
            low: edges.clone(),
            high: edges.clone(),
            loaded: edges,
            inclusive,
            marked: false,
            effect: Effect::None,
            families: Arc::default(),
        }
    }

    /// Counts in a tree of callers.
    pub(super) fn of_callers(
        low: Column<'p, C>,
        high: Column<'p, C>,
        inclusive: Column<'p, C>,
    ) -> Self {
        Self {
            low,
            high,
            inclusive,
            marked: true,
            effect: Effect::None,
            loaded: Vec::new().into(),
            families: Arc::default(),
        }
    }

    /// No counts for so many nodes.
    pub(super) fn none(nodes: usize) -> Self {
        let none: Column<'p, C> = vec![C::MAX; nodes].into();
        Self::of_callers(none.clone(), none.clone(), none)
    }

    /// A stage was applied.
    pub(super) fn after(&mut self, effect: Effect) {
        self.effect = self.effect.max(effect);
    }

    /// Whether no node has more edges than samples.
    pub(super) fn is_bounded(&self) -> bool {
        let counts = self.high.iter().zip(&self.inclusive);
        counts
            .into_iter()
            .all(|(&edges, &samples)| edges <= samples || (self.marked && edges == C::MAX))
    }

    /// The counts of all nodes whose frame is of a kind that has edges, if nothing has made them
    /// less exact since they were recorded.
    pub(super) fn exact(
        &self,
        refined: &Refined<'_>,
        inclusive: &Column<'p, C>,
    ) -> Option<&Column<'p, C>> {
        let is_whole = self.are_as_recorded(refined) && self.low.is(&self.high);
        (is_whole && self.inclusive.is(inclusive) && !self.marked).then_some(&self.low)
    }

    /// Whether the counts of nodes that are shown are those that were recorded, or follow from them
    /// node by node.
    fn are_as_recorded(&self, refined: &Refined<'_>) -> bool {
        self.marked || (self.effect == Effect::None && refined.procedures.is_plain)
    }
}

/// What is known of edge counts now, where that does not follow node by node from what was recorded.
#[derive(Clone, Debug)]
pub(crate) struct LazyBounds<C>(Arc<OnceLock<Option<Bounds<C>>>>);

impl<C> Default for LazyBounds<C> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

#[derive(Debug)]
struct Bounds<C> {
    /// Least counts; [`Count::MAX`] for nodes that have none.
    low: Vec<C>,
    /// Greatest counts; 0 for nodes that have none, but what they could be where that is for an outer
    /// part of the path that is not known.
    high: Vec<C>,
}

impl<C: Count> LazyBounds<C> {
    pub(super) fn find(&self, refined: &Refined<'_>, costs: &CostsOf<'_, C>) {
        self.0.get_or_init(|| {
            let is_found = costs.recorded.are_as_recorded(refined);
            (!is_found).then(|| Bounds::find(refined, costs))
        });
    }

    pub(super) fn found(&self) -> Option<(&[C], &[C])> {
        let bounds = self.0.get()?.as_ref()?;
        Some((&bounds.low, &bounds.high))
    }

    /// Memory that they take.
    pub(super) fn bytes(&self) -> usize {
        self.found().map_or(0, |(low, high)| size_of_val(low) + size_of_val(high))
    }
}

/// The edge counts of the nodes of a forest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgeCounts<'c, C> {
    low: &'c [C],
    high: &'c [C],
    /// Samples when they were recorded, if they are to be followed node by node.
    before: Option<&'c [C]>,
    now: &'c [C],
    marked: bool,
    is_part: bool,
    /// Whether nodes whose path has an outer part that is not known have counts.
    has_partial: bool,
    /// Whether nodes below one another may count the same returns, as in a tree of callers.
    pub(crate) is_of_callers: bool,
}

impl<'c, C: Count> EdgeCounts<'c, C> {
    pub(super) fn new(
        recorded: &'c Recorded<'_, C>,
        now: &'c [C],
        found: Option<(&'c [C], &'c [C])>,
    ) -> Self {
        let is_of_callers = recorded.marked;
        let is_part = is_of_callers && recorded.effect == Effect::Parts;
        match found {
            Some((low, high)) => Self {
                low,
                high,
                before: None,
                now,
                marked: true,
                is_part,
                has_partial: false,
                is_of_callers,
            },
            None => Self {
                low: &recorded.low,
                high: &recorded.high,
                before: Some(&recorded.inclusive),
                now,
                marked: recorded.marked,
                is_part,
                has_partial: false,
                is_of_callers,
            },
        }
    }

    /// The counts for rows that may have some nodes of a procedure below one parent, and not others:
    /// what is certain of each node alone.
    pub(crate) fn of_part(self) -> Self {
        Self { is_part: true, ..self.with_partial() }
    }

    /// The counts for rows that may have some nodes of an activation whose path has an outer part that
    /// is not known, and none of the others.
    pub(crate) fn with_partial(self) -> Self {
        Self { has_partial: !self.is_of_callers, ..self }
    }

    /// The count of a node whose frame is of this kind, in the greatest width.
    pub(super) fn wide(&self, node: usize, kind: FrameKind) -> Option<(u64, u64)> {
        let (low, high) = self.of(node, kind)?;
        Some((low.into(), high.into()))
    }

    /// The count of a node whose frame is of this kind: least and greatest possible. `None` for
    /// what has none.
    #[inline]
    pub(crate) fn of(&self, node: usize, kind: FrameKind) -> Option<(C, C)> {
        let (low, high) = (self.low[node], self.high[node]);
        let is_partial = self.has_partial && low == C::MAX && high > C::default();
        let has_edges = match kind {
            FrameKind::Root | FrameKind::Context => false,
            _ if self.marked => low != C::MAX || is_partial,
            kind => is_called(kind),
        };
        let low = if is_partial { C::default() } else { low };
        has_edges.then(|| {
            let now = self.now[node];
            let before = self.before.map_or(now, |before| before[node]);
            let bounds = match before > now {
                true => (less(low, before - now).min(now), high.min(now)),
                false => (low, high),
            };
            if self.is_part { (bounds.0, now.max(bounds.0)) } else { bounds }
        })
    }
}

/// What is left when so much is taken away, at least 0.
fn less<C: Count>(count: C, by: C) -> C {
    if count > by { count - by } else { C::default() }
}

/// Whether frames of this kind are called and return.
pub(super) fn is_called(kind: FrameKind) -> bool {
    matches!(kind, FrameKind::Call | FrameKind::Unknown)
}

/// Which functions of a profile are parts of one procedure, whose activations go from one to the
/// other without a call.
///
/// Nearly always a function is a procedure. But code without a name is a function for each address,
/// or for each entry in the call frame information, of which a function that is split has two; so
/// all such code of a load module may be one procedure. And `f.cold` is the part of `f` that is
/// split off, in files whose debugging information does not say so. A function that another one
/// jumps to at its end is a procedure of its own: the first activation ends there, and does not
/// return.
#[derive(Debug)]
pub(super) struct Procedures {
    /// For each function of the profile the first one of its procedure.
    first: Vec<u32>,
    /// For the first one of a procedure, whether others are of it, too.
    is_shared: Vec<bool>,
    /// Whether each is one.
    are_functions: bool,
    /// Whether all paths are whole.
    pub(super) is_whole: bool,
    /// Whether both is so: then every node counts what its kind says.
    is_plain: bool,
}

impl Procedures {
    pub(super) fn of(profile: &Profile) -> Self {
        let mut first: Vec<u32> = (0..node_number(profile.functions.len())).collect();
        let mut nameless = HashMap::new();
        for frame in profile.frames.iter().filter(|frame| frame.kind == FrameKind::Unknown) {
            let function = frame.function.index();
            let module = profile.functions[function].module;
            first[function] = *nameless.entry(module).or_insert(frame.function.0);
        }
        let cold: Vec<usize> = profile
            .functions
            .iter()
            .zip(0..)
            .filter_map(|(function, number)| function.name.contains(".cold").then_some(number))
            .collect();
        if !cold.is_empty() {
            let names = profile.functions.iter().zip(0..);
            let mut whole: HashMap<_, u32> = HashMap::new();
            for (function, number) in names {
                let name = without_cold(&function.name);
                first[number as usize] = match whole.entry((function.module, name)) {
                    _ if first[number as usize] != number => continue,
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(vacant) => *vacant.insert(number),
                };
            }
        }
        let mut is_shared = vec![false; first.len()];
        for (&first, number) in first.iter().zip(0..) {
            is_shared[first as usize] |= first != number;
        }
        let are_functions = !is_shared.contains(&true);
        let is_whole = profile.frames.iter().all(|frame| frame.kind != FrameKind::Partial);
        Self { first, is_shared, are_functions, is_whole, is_plain: are_functions && is_whole }
    }

    /// Whether each function is a procedure.
    pub(super) fn are_functions(&self) -> bool {
        self.are_functions
    }

    /// Whether several functions are of the procedure of a node of the profile: it has rows that
    /// epochs may part.
    fn is_shared(&self, profile: &Profile, node: usize) -> bool {
        let frame = profile.nodes.frame[node].index();
        self.is_shared[self.number(&profile.frames[frame]) as usize]
    }

    /// A number for the procedure of a frame, the same for all its frames.
    fn number(&self, frame: &Frame) -> u32 {
        let function = frame.function.0;
        self.first.get(function as usize).copied().unwrap_or(function)
    }

    /// Whether frames of one procedure, of those that a forest may have, become different things.
    pub(super) fn are_parted<T: PartialEq>(
        &self,
        refined: &Refined<'_>,
        becomes: impl Fn(usize) -> T,
    ) -> bool {
        let mut known: Vec<Option<T>> = Vec::new();
        known.resize_with(refined.functions.len(), || None);
        let mut frames = refined.frames.iter().enumerate();
        frames.any(|(number, frame)| {
            if !is_called(frame.kind) {
                return false;
            }
            let now = becomes(number);
            match &mut known[self.number(frame) as usize] {
                Some(before) => *before != now,
                none => {
                    *none = Some(now);
                    false
                }
            }
        })
    }
}

/// The name of the function that a part was split off.
fn without_cold(name: &str) -> &str {
    let ends = [" [clone .cold", " (.cold", ".cold"].into_iter().filter_map(|mark| name.find(mark));
    ends.min().map_or(name, |end| &name[..end])
}

/// The families of a profile's nodes.
#[derive(Debug)]
struct Families<C> {
    /// For each node the first one of its family; 0 for those that do not return.
    first: Vec<u32>,
    /// For these, how many returns the family recorded.
    edges: Vec<C>,
    /// Nodes whose path has an outer part that is not known.
    partial: Bits,
    /// Nodes of functions of which returns were counted in a later epoch of the thread.
    goes_on: Bits,
}

impl<C: Count> Families<C> {
    /// Finds them, with these edges. O(nodes).
    fn find(profile: &Profile, procedures: &Procedures, recorded: &[C]) -> Self {
        let nodes = &profile.nodes;
        let count = nodes.len();
        let keys: Vec<u32> = profile.frames.iter().map(|frame| procedures.number(frame)).collect();
        let kinds: Vec<FrameKind> = profile.frames.iter().map(|frame| frame.kind).collect();
        let frame = |node: usize| nodes.frame[node].index();
        let mut begins: Vec<u32> = profile.streams.iter().map(|s| s.nodes.start).collect();
        begins.sort_unstable();
        let mut begins = begins.into_iter().peekable();
        let mut lists = Lists::new(&nodes.frame, keys.clone());
        let mut first = vec![0; count];
        let mut edges = vec![C::default(); count];
        let mut partial = Bits::none(count);
        for node in 1..count {
            let (number, above) = (node_number(node), nodes.parent[node]);
            while begins.next_if(|&begin| begin <= number).is_some() {
                // The outermost frames of another thread, or of another epoch.
                lists.begin_again();
            }
            let family = lists.add(number, above, is_called(kinds[frame(node)]));
            let is_partial = kinds[frame(node)] == FrameKind::Partial;
            partial.insert_if(node, is_partial || partial.contains(above as usize));
            first[node] = family;
            edges[family as usize] += recorded[node];
        }
        let mut families = Self { first, edges, partial, goes_on: Bits::none(count) };
        families.go_on(profile, |node| keys[frame(node)], recorded);
        families
    }

    /// Finds out which activations may have gone on in a later epoch.
    fn go_on(&mut self, profile: &Profile, procedure: impl Fn(usize) -> u32, recorded: &[C]) {
        let mut threads: HashMap<usize, Vec<usize>> = HashMap::new();
        for (number, stream) in profile.streams.iter().enumerate() {
            threads.entry(stream.thread.index()).or_default().push(number);
        }
        for mut streams in threads.into_values().filter(|streams| streams.len() > 1) {
            let epoch = |&stream: &usize| {
                let epoch = profile.streams[stream].epoch.index();
                profile.info.epochs.get(epoch).map_or(0, |epoch| epoch.number)
            };
            streams.sort_by_key(epoch);
            // Procedures of which returns were counted later.
            let mut later = Bits::none(profile.functions.len());
            for stream in streams.into_iter().rev() {
                let nodes = profile.streams[stream].nodes.clone();
                let nodes = || nodes.clone().map(|node| node as usize);
                for node in nodes().filter(|&node| self.first[node] != 0) {
                    self.goes_on.insert_if(node, later.contains(procedure(node) as usize));
                }
                for node in nodes().filter(|&node| recorded[node] > C::default()) {
                    later.insert(procedure(node) as usize);
                }
            }
        }
    }
}

impl<C: Count> Bounds<C> {
    /// Finds the bounds of all nodes. O(nodes).
    fn find(refined: &Refined<'_>, costs: &CostsOf<'_, C>) -> Self {
        let recorded = &costs.recorded;
        let profile = refined.profile;
        let families = recorded
            .families
            .get_or_init(|| Families::find(profile, &refined.procedures, &recorded.loaded));
        let is_whole = recorded.effect == Effect::None;
        let (parent, now) = (&refined.parent[..], &costs.inclusive[..]);
        let count = parent.len();
        let label = |frame: &Frame| frame.function.0 << 3 | frame.kind as u32;
        let labels: Vec<u32> = refined.frames.iter().map(label).collect();
        let kinds: Vec<FrameKind> = refined.frames.iter().map(|frame| frame.kind).collect();
        let frame = |node: usize| refined.frame[node].index();

        let mut low = costs.home.empty(count);
        let mut high = costs.home.empty(count);
        // For each family the first node that is shown, and for others with another function or
        // parent the first of these.
        let mut first: Vec<u32> = vec![0; profile.nodes.len()];
        let mut others: HashMap<(u32, u32, u32), u32, BuildHasherDefault<Mixer>> =
            HashMap::default();
        // For each node the first one of those whose bounds are found together; 0 if there is none.
        let mut together: Vec<u32> = refined.workspace.nodes.empty(count);
        // At the first ones, edges that are not certain of any node.
        let mut rest: Vec<C> = costs.home.empty(count);
        // The node of the profile: `split` puts in others.
        let mut loaded = 0;
        for node in 0..count {
            let kind = kinds[frame(node)];
            low.push(C::MAX);
            high.push(C::default());
            together.push(0);
            rest.push(C::default());
            if kind == FrameKind::Context {
                continue;
            }
            let base = loaded;
            loaded += 1;
            let is_counted = !matches!(kind, FrameKind::Root) && is_called(kind);
            if now[node] == C::default() || !is_counted {
                continue;
            }
            let family = families.first[base];
            if family == 0 {
                low[node] = C::default();
                continue;
            }
            if families.partial.contains(base) {
                // Its return may have been counted where a sample found the whole path. Before all
                // stages no row has nodes of both, but those that have all of a function; and of
                // code without a name, not even these have all of an activation.
                let is_shared = refined.procedures.is_shared(profile, base);
                let is_asked_for = is_shared || !refined.outcomes.is_empty();
                let least = if is_asked_for { C::default() } else { C::MAX };
                (low[node], high[node]) = (least, now[node]);
                continue;
            }
            let (edges, before) = (recorded.low[node], recorded.inclusive[node]);
            let (certain, most) = match before > now[node] {
                true => (less(edges, before - now[node]).min(now[node]), now[node]),
                // A made-up file may have more edges than samples.
                false => (edges, now[node].max(edges)),
            };
            (low[node], high[node]) = (certain, most);
            let key = (family, parent[node], labels[frame(node)]);
            let known = &mut first[family as usize];
            if *known == 0 {
                *known = node_number(node);
            }
            let of_known = *known as usize;
            let is_of_known = (parent[of_known], labels[frame(of_known)]) == (key.1, key.2);
            let first = match is_of_known {
                true => of_known,
                false => *others.entry(key).or_insert(node_number(node)) as usize,
            };
            if first == node {
                rest[node] = families.edges[family as usize];
                let is_row = is_whole && !refined.procedures.is_shared(profile, base);
                if families.goes_on.contains(base) && !is_row {
                    rest[node] += C::ONE;
                }
            }
            rest[first] = less(rest[first], certain);
            together[node] = node_number(first);
        }
        for node in (0..count).filter(|&node| together[node] != 0) {
            let rest = &mut rest[together[node] as usize];
            let more = (high[node] - low[node]).min(*rest);
            *rest = *rest - more;
            high[node] = low[node] + more;
        }
        refined.workspace.nodes.give_back(together);
        costs.home.give_back(rest);
        Self { low, high }
    }
}

#[cfg(test)]
mod tests;
