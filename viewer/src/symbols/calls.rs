//! The calls on the stack, read from the instructions: whom they call, and what functions without a
//! name are called by that no resolver names. Which names count: [`chosen`](super::chosen).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use csprof_format::address::FrameKind;
use csprof_format::ids::{FrameId, ModuleId};
use csprof_format::profile as saved;

use super::chosen::{Callable, reserved};
use super::demangle::demangle;
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

/// A function of a module, by where it begins.
type FunctionOf = (ModuleId, u64);

/// The calls to functions without a name: by module of the caller and return address.
pub(super) type Sought = BTreeMap<ModuleId, BTreeMap<u64, BTreeSet<FunctionOf>>>;

/// Finds the calls whose names matter, of pairs of a caller's frame and the place of what it
/// called.
pub(super) fn sought(
    profile: &saved::Profile,
    calls: impl Iterator<Item = (FrameId, Place)>,
    modules: &HashMap<ModuleId, ResolvedModule>,
) -> Sought {
    let mut sought = Sought::new();
    for (caller, place) in calls {
        let called = modules.get(&place.module).and_then(|module| {
            let (start, callable) = module.callable_at.get(place.index)?;
            (*callable == Callable::Nameless).then_some((place.module, start))
        });
        let (Some(called), Some(frame)) = (called, profile.frames.get(caller.index())) else {
            continue;
        };
        if let saved::Frame { kind: FrameKind::Call, module: Some(caller), offset } = *frame {
            sought.entry(caller).or_default().entry(offset).or_default().insert(called);
        }
    }
    sought
}

/// Names by which functions were called.
#[derive(Debug, Default)]
pub(super) struct Called(BTreeMap<FunctionOf, BTreeSet<String>>);

impl Called {
    /// Adds the calls from one module.
    pub(super) fn add(
        &mut self,
        caller: ModuleId,
        calls: &Calls<'_>,
        sought: &BTreeMap<u64, BTreeSet<FunctionOf>>,
        modules: &HashMap<ModuleId, ResolvedModule>,
    ) {
        for (&return_address, called) in sought {
            let Some(callee) = calls.before(return_address) else { continue };
            for &function in called {
                let Some(module) = modules.get(&function.0) else { continue };
                let name = module.chosen.name(callee, function.0 == caller);
                let names = name.map(|name| (function, name.to_owned()));
                names.into_iter().for_each(|(function, name)| {
                    self.0.entry(function).or_default().insert(name);
                });
            }
        }
    }

    /// The name that a reader looks for: the one with the fewest underscores before it, the
    /// shortest, and the first in the alphabet. Which most samples were called by does not count:
    /// that may be another one in the next run.
    pub(super) fn best(&self, function: FunctionOf) -> Option<String> {
        let names = self.0.get(&function)?.iter().map(String::as_str);
        names.min_by_key(|name| (reserved(name), name.len())).map(demangle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_names_on_the_stack_the_best_is_chosen_however_many_samples_have_it() {
        let function = (ModuleId(0), 8);
        let best = |names: &[&str]| {
            let names = names.iter().map(|&name| name.to_owned()).collect();
            let called = Called(BTreeMap::from([(function, names)]));
            called.best(function)
        };
        assert_eq!(best(&["memmove", "memcpy", "mempcpy"]).as_deref(), Some("memcpy"));
        assert_eq!(best(&["__stpcpy", "stpcpy"]).as_deref(), Some("stpcpy"));
        assert_eq!(best(&[]), None);
        assert_eq!(Called::default().best(function), None);
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
