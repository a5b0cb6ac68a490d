//! Procedures: functions of the profile between which one activation can move without a call.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use memchr::memmem::Finder;

use super::children::node_number;
use super::workspace::Table;
use crate::profile::{Frame, FrameKind, Function, Profile, ShownName};

/// The procedure of each function of a profile.
///
/// Nearly always a function is a procedure. There are two exceptions. Code without a name is a
/// function for each address, or for each entry in the call frame information, of which a split
/// function has two; so all such code of a load module counts as one procedure. And `f.cold` is a
/// part of `f`, where debugging information does not say so. The target of a tail call is a
/// procedure of its own: the caller's activation ends there, without a return.
#[derive(Debug)]
pub(crate) struct Procedures {
    /// For each function of the profile, the first function of its procedure.
    first: Vec<u32>,
    /// For the first function of a procedure, whether the procedure has other functions.
    is_shared: Vec<bool>,
    /// Whether each function is a procedure.
    are_functions: bool,
    /// Whether no path lacks its outer callers.
    pub(crate) is_whole: bool,
    /// Whether threads had others run code.
    pub(crate) has_handovers: bool,
    /// `are_functions` and `is_whole` without handovers: the kind of a node's frame decides alone
    /// whether it counts.
    pub(crate) is_plain: bool,
}

impl Procedures {
    pub(crate) fn of(profile: &Profile) -> Self {
        let mut first: Vec<u32> = (0..node_number(profile.functions.len())).collect();
        let mut nameless = HashMap::new();
        for frame in profile.frames.iter().filter(|frame| frame.kind == FrameKind::Unknown) {
            let function = frame.function.index();
            let module = profile.functions[function].module;
            first[function] = *nameless.entry(module).or_insert(frame.function.0);
        }
        let cold = Finder::new(".cold");
        let is_cold = |function: &Function| cold.find(function.name.as_bytes()).is_some();
        if profile.functions.iter().any(is_cold) {
            // Functions whose shown name is not that of their symbol.
            let mut shown = HashMap::new();
            for function in profile.functions.iter().filter(|f| f.name.ends_with(']')) {
                let name = ShownName::of(&function.name);
                let symbols = name.own.map_or_else(|| name.called().collect(), |own| vec![own]);
                let symbols = symbols.into_iter().filter(|symbol| **symbol != *function.name);
                let names = symbols.map(|symbol| ((function.module, symbol), &*function.name));
                shown.extend(names);
            }
            let names = profile.functions.iter().zip(0..);
            let mut whole: HashMap<_, u32> = HashMap::new();
            for (function, number) in names {
                let own = without_cold(&function.name);
                let is_part = own.len() < function.name.len();
                let name = shown.get(&(function.module, own)).filter(|_| is_part);
                let name = name.map_or(own, |name| name);
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
        let has = |kind| profile.frames.iter().any(|frame| frame.kind == kind);
        let is_whole = !has(FrameKind::Partial);
        let has_handovers = has(FrameKind::Handover);
        let is_plain = are_functions && is_whole && !has_handovers;
        Self { first, is_shared, are_functions, is_whole, has_handovers, is_plain }
    }

    /// Whether each function is a procedure.
    pub(crate) fn are_functions(&self) -> bool {
        self.are_functions
    }

    /// Whether the procedure of a node of the profile has several functions, so that it may have
    /// several rows below one caller.
    pub(crate) fn is_shared(&self, profile: &Profile, node: usize) -> bool {
        let frame = profile.nodes.frame[node].index();
        self.is_shared[self.number(&profile.frames[frame]) as usize]
    }

    /// The number of a frame's procedure.
    pub(crate) fn number(&self, frame: &Frame) -> u32 {
        let function = frame.function.0;
        self.first.get(function as usize).copied().unwrap_or(function)
    }

    /// Whether frames of one procedure, of those that a forest with so many functions may have,
    /// become different things.
    pub(crate) fn are_parted<T: PartialEq>(
        &self,
        functions: usize,
        frames: &Table<Frame>,
        becomes: impl Fn(usize) -> T,
    ) -> bool {
        let mut known: Vec<Option<T>> = Vec::new();
        known.resize_with(functions, || None);
        let mut frames = frames.iter().enumerate();
        frames.any(|(number, frame)| {
            if !frame.kind.is_called() {
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

/// The name of the function that `.cold` was split from.
fn without_cold(name: &str) -> &str {
    let shown = ShownName::of(name);
    if shown.key() != (name, None) {
        return name;
    }
    let ends = [" [clone .cold", " (.cold", ".cold"].into_iter().filter_map(|mark| name.find(mark));
    ends.min().map_or(name, |end| &name[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::from_outline;

    #[test]
    fn a_part_is_of_the_function_whose_symbol_it_has() {
        for (whole, part, is) in [
            ("work", "work.cold", true),
            ("work [also workforce]", "work.cold", true),
            ("force [also work]", "work.cold", true),
            ("f [clone g]", "g.cold", true),
            ("f [also h] [clone g]", "g.cold", true),
            ("work(long) [also force(int, int)]", "work(long) [clone .cold]", true),
            ("f [clone g]", "f.cold", false),
            ("f [clone g]", "f [clone h]", false),
            ("work [also workforce]", "workforce", false),
            ("work [also x.cold]", "work", false),
        ] {
            for pair in [[whole, part], [part, whole]] {
                let outline = format!("{:?} 1\n{:?} 1\nother.cold 1\n", pair[0], pair[1]);
                let profile = from_outline(&outline).unwrap();
                let procedures = Procedures::of(&profile);
                let number = |name: &str| {
                    let found = profile
                        .frames
                        .iter()
                        .find(|frame| *profile.functions[frame.function.index()].name == *name);
                    procedures.number(found.unwrap())
                };
                assert_eq!(number(whole) == number(part), is, "{pair:?}");
            }
        }
    }
}
