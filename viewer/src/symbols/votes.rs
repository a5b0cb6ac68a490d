//! Names for functions by the calls that reached them.
//!
//! Each call names the function that it reached; the name that clearly most samples were called by
//! wins. Why, and which names count: [`chosen`](super::chosen).

use std::collections::{BTreeMap, HashMap};

use csprof_format::address::FrameKind;
use csprof_format::ids::{FrameId, ModuleId};
use csprof_format::profile as saved;

use super::chosen::Callable;
use super::elf::Elf;
use super::module::ResolvedModule;
use super::plt::{self, Callee, Slots, Stub};
use super::sites::Place;

/// The calls of a module's own file.
pub(super) struct Calls<'data> {
    elf: &'data Elf<'data>,
    slots: Slots<'data>,
    stubs: Vec<Stub<'data>>,
}

impl<'data> Calls<'data> {
    /// Reads through what the module calls others.
    pub(super) fn read(elf: &'data Elf<'data>) -> Self {
        let slots = Slots::read(elf);
        let stubs = plt::stubs(elf, &slots);
        Self { elf, slots, stubs }
    }

    /// What the call instruction before a return address calls, if that can be told.
    fn before(&self, return_address: u64) -> Option<Callee<'data>> {
        let code = self.elf.code_at(return_address.checked_sub(LONGEST_CALL)?..return_address)?;
        match decode(code, return_address)? {
            Reach::Code(address) => {
                let stub = plt::find(&self.stubs, address)?;
                (stub.range.start == address).then_some(stub.callee)
            }
            Reach::Slot(address) => self.slots.at(address),
        }
    }
}

/// Bytes before a return address that say what was called.
pub(super) const LONGEST_CALL: u64 = 7;

/// Where a call instruction leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// To the code at this address.
    Code(u64),
    /// Through the slot at this address.
    Slot(u64),
}

/// Decodes the call instruction that ends with `code`, before the return address.
pub(super) fn decode(code: &[u8], return_address: u64) -> Option<Reach> {
    let (_, displacement) = code.split_last_chunk()?;
    let displacement = i64::from(i32::from_le_bytes(*displacement));
    let address = return_address.wrapping_add_signed(displacement);
    match *code {
        [.., 0xff, 0x15, _, _, _, _] => Some(Reach::Slot(address)), // call *disp32(%rip)
        // call *disp32(%rax,%rbp,8) has a byte in its middle that looks like the next.
        [.., 0xff, 0x94, 0xe8, _, _, _, _] => None,
        [.., 0xe8, _, _, _, _] => Some(Reach::Code(address)), // call disp32
        _ => None,
    }
}

/// A function of a module, by its number there.
type FunctionOf = (ModuleId, u32);

/// The calls to functions that their callers may name: by module of the caller and return address,
/// the samples below them for each function that was called.
pub(super) type Sought = BTreeMap<ModuleId, BTreeMap<u64, BTreeMap<FunctionOf, u64>>>;

/// Finds the calls whose names matter.
pub(super) fn sought(
    profile: &saved::Profile,
    places: &[Option<Place>],
    modules: &HashMap<ModuleId, ResolvedModule>,
) -> Sought {
    let mut sought = Sought::new();
    if modules.values().all(|module| module.callable.is_empty()) {
        return sought;
    }
    let nodes = &profile.nodes;
    // Samples of each node and all below it: parents come before their children.
    let mut inclusive = nodes.samples.clone();
    for (node, &parent) in nodes.parent.iter().enumerate().rev() {
        let samples = inclusive.get(node).copied().unwrap_or(0);
        if let Some(above) = inclusive.get_mut(parent as usize).filter(|_| parent as usize != node)
        {
            *above = above.saturating_add(samples);
        }
    }
    let callable = |node: usize| {
        let place = places.get(nodes.frame.get(node)?.index())?.as_ref()?;
        let module = modules.get(&place.module)?;
        let function = module.sites.rows_of(place.index).first()?.function;
        module.callable.contains_key(&function).then_some((place.module, function))
    };
    for (node, &parent) in nodes.parent.iter().enumerate() {
        let Some(called) = callable(node) else { continue };
        let frame = nodes.frame.get(parent as usize).and_then(|id| profile.frames.get(id.index()));
        let Some(saved::Frame { kind: FrameKind::Call, module: Some(caller), offset }) = frame
        else {
            continue;
        };
        let calls = sought.entry(*caller).or_default().entry(*offset).or_default();
        let samples = calls.entry(called).or_default();
        *samples = samples.saturating_add(inclusive.get(node).copied().unwrap_or(0));
    }
    sought
}

/// The calls of functions at these places, of which each counts once.
pub(super) fn called(
    profile: &saved::Profile,
    calls: impl Iterator<Item = (FrameId, Place)>,
    modules: &HashMap<ModuleId, ResolvedModule>,
) -> Sought {
    let mut sought = Sought::new();
    for (caller, place) in calls {
        let Some(module) = modules.get(&place.module) else { continue };
        let Some(row) = module.sites.rows_of(place.index).first() else { continue };
        let Some(&saved::Frame { module: Some(caller), offset, .. }) =
            profile.frames.get(caller.index())
        else {
            continue;
        };
        if module.callable.contains_key(&row.function) {
            let calls = sought.entry(caller).or_default().entry(offset).or_default();
            *calls.entry((place.module, row.function)).or_default() += 1;
        }
    }
    sought
}

/// How many samples were called by which name.
#[derive(Debug, Default)]
pub(super) struct Votes(BTreeMap<FunctionOf, BTreeMap<String, u64>>);

impl Votes {
    /// Counts the calls from one module.
    pub(super) fn count(
        &mut self,
        caller: ModuleId,
        calls: &Calls<'_>,
        sought: &BTreeMap<u64, BTreeMap<FunctionOf, u64>>,
        modules: &HashMap<ModuleId, ResolvedModule>,
    ) {
        for (&return_address, called) in sought {
            let Some(callee) = calls.before(return_address) else { continue };
            for (&function, &samples) in called {
                let Some(module) = modules.get(&function.0) else { continue };
                let Some(callable) = module.callable.get(&function.1) else { continue };
                let inside = function.0 == caller;
                let Some(name) = callable.name(&module.chosen, callee, inside) else { continue };
                let names = self.0.entry(function).or_default();
                let votes = names.entry(name.to_owned()).or_default();
                *votes = votes.saturating_add(samples);
            }
        }
    }

    /// Names the functions: each by the name that clearly most of its samples were called by, or
    /// else by rank, so that two runs of a program that calls it by both have one name.
    pub(super) fn apply(mut self, modules: &mut HashMap<ModuleId, ResolvedModule>) {
        for (&id, module) in modules {
            let mut names = BTreeMap::new();
            for (&function, callable) in &module.callable {
                let votes = self.0.remove(&(id, function)).unwrap_or_default();
                let clear = clear_winner(&votes);
                let own = module.sites.name_of(function);
                let name = match callable {
                    Callable::Nameless => clear.or_else(|| best_rank(&votes)).map(str::to_owned),
                    // Programs call `__strdup` where an old header made that of `strdup`.
                    Callable::Aliases(_) => {
                        clear.filter(|name| reserved(name) <= reserved(own)).map(str::to_owned)
                    }
                    Callable::CopyOf(name) => {
                        Some(format!("{} [clone {own}]", clear.unwrap_or(name)))
                    }
                };
                names.extend(name.map(|name| (function, name)));
            }
            if !names.is_empty() {
                module.sites.rename(&names);
            }
        }
    }
}

/// The name by which more than two thirds of the samples were called. A bare majority may be
/// another one in the next run.
fn clear_winner(votes: &BTreeMap<String, u64>) -> Option<&str> {
    let total: u128 = votes.values().map(|&samples| u128::from(samples)).sum();
    let (name, _) = votes.iter().find(|(_, samples)| u128::from(**samples) * 3 > total * 2)?;
    Some(name)
}

/// The name that a reader looks for, of names without symbols: the one with the fewest underscores
/// before it, the shortest, and the first in the alphabet.
fn best_rank(votes: &BTreeMap<String, u64>) -> Option<&str> {
    votes.keys().map(String::as_str).min_by_key(|name| (reserved(name), name.len()))
}

/// How many underscores a name begins with.
fn reserved(name: &str) -> usize {
    name.bytes().take_while(|&byte| byte == b'_').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_chosen_by_calls_only_if_two_runs_would_agree() {
        let cases: [(&[(&str, u64)], _, _); 7] = [
            (&[("memcpy", 100)], Some("memcpy"), Some("memcpy")),
            (&[("memcpy", 10), ("memmove", 90)], Some("memmove"), Some("memcpy")),
            (&[("memcpy", 49), ("memmove", 51)], None, Some("memcpy")),
            (&[("memcpy", 51), ("memmove", 49)], None, Some("memcpy")),
            (&[("memmove", 2), ("mempcpy", 1)], None, Some("memmove")),
            (&[("__stpcpy", u64::MAX), ("stpcpy", u64::MAX)], None, Some("stpcpy")),
            (&[], None, None),
        ];
        for (votes, clear, best) in cases {
            let votes = votes.iter().map(|&(name, samples)| (name.to_owned(), samples)).collect();
            assert_eq!((clear_winner(&votes), best_rank(&votes)), (clear, best), "{votes:?}");
        }
    }

    #[test]
    fn calls_are_read_backwards_from_the_return_address() {
        let cases: [(&[u8], Option<Reach>); 7] = [
            (&[0xff, 0x94, 0xe8, 0xae, 0xfe, 0xff, 0xff], None),
            (&[0x90, 0xe8, 0xae, 0xfe, 0xff, 0xff], Some(Reach::Code(0x1030))),
            // What the linker makes of `call *f@GOTPCREL(%rip)` where f turns out to be near.
            (&[0x67, 0xe8, 0xae, 0xfe, 0xff, 0xff], Some(Reach::Code(0x1030))),
            (&[0xff, 0x15, 0x7e, 0x2e, 0, 0], Some(Reach::Slot(0x4000))),
            (&[0x90, 0x90, 0x90, 0x90, 0xff, 0xd0], None), // call *%rax
            (&[0xff, 0x25, 0x7e, 0x2e, 0, 0], None),       // a jump does not return
            (&[0xe8], None),
        ];
        for (code, reach) in cases {
            assert_eq!(decode(code, 0x1182), reach, "{code:x?}");
        }
    }
}
