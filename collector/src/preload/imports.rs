//! Calls of libraries whose functions csprof does not export: a program that asks whether such a
//! library is there would find them.
//!
//! Where a module has asked for one of the functions, the loader has written the address of the
//! library's, and in its place goes that of a stub, if the library is there at all. The library
//! itself is left as it is.

#![expect(unsafe_code, reason = "writes addresses of stubs in the place of the loader's")]

use alloc::vec::Vec;
use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::real::Real;
use crate::messages::{self, Warning};
use crate::modules::{self, LoaderModule};
use crate::sys;

/// A function, where it is, and what stands in front of it.
pub(super) struct Function {
    pub(super) real: &'static Real,
    pub(super) stub: unsafe extern "C" fn(),
}

impl Function {
    fn stub_address(&self) -> u64 {
        (self.stub as *const ()).expose_provenance() as u64
    }
}

/// A word of a module's that leads to a function, or will.
struct Call {
    /// The module's number, from 1 on.
    module: usize,
    /// Where the word is.
    place: u64,
    /// What it is; 0 where it is not relocated yet, or a weak reference that nothing answers.
    at: u64,
    /// Whether it is not bound: it leads to where the module asks the loader.
    is_unbound: bool,
    /// Whether it is not relocated, but where the module asks the loader by its address in the
    /// file: a module is listed before the thread that loads it has relocated its words, which it
    /// then adds to.
    is_offset: bool,
    function: &'static Function,
}

/// A word of a module's that the loader binds to a function.
pub(super) struct Word {
    /// What it is now.
    pub(super) at: u64,
    /// Where the first function of that name is.
    pub(super) real: u64,
    /// Whether it leads to where the module asks the loader: it is not bound yet.
    pub(super) is_unbound: bool,
    /// How many libraries have the function.
    pub(super) libraries: usize,
}

/// The functions of a library, and how far modules were looked at for calls of them: each once, and
/// once more when a library has come or a module has gone; and those behind one that was not
/// relocated yet, or that could not be written, at the next look.
///
/// A reference that is 0 is taken for one that nothing answers at the second look: if by then
/// another thread is still loading that module, its calls are not seen.
pub(super) struct Imports {
    functions: &'static [Function],
    /// How their names begin: so few that each import can be compared with them.
    prefixes: &'static [&'static [u8]],
    /// The function by which a library is known that has them.
    library: &'static CStr,
    /// Whether a call by this word, which is relocated, shall come to the stub.
    is_call: fn(&Word) -> bool,
    /// What is said where words cannot be written.
    refused: (Warning, &'static str),
    // Relaxed wherever these are used: with the loader's lock.
    /// Modules that are done with, in the loader's order, in which a new one comes last.
    modules: AtomicUsize,
    /// Modules that there were at the last look.
    listed: AtomicUsize,
    /// Modules that have the functions.
    libraries: AtomicUsize,
    /// Modules that had come and gone by then: after one has gone, the others have moved up. 0 if
    /// some have to be looked at again.
    loads: AtomicU64,
    unloads: AtomicU64,
}

impl Imports {
    pub(super) const fn new(
        functions: &'static [Function],
        prefixes: &'static [&'static [u8]],
        library: &'static CStr,
        is_call: fn(&Word) -> bool,
        refused: (Warning, &'static str),
    ) -> Self {
        Self {
            functions,
            prefixes,
            library,
            is_call,
            refused,
            modules: AtomicUsize::new(0),
            listed: AtomicUsize::new(0),
            libraries: AtomicUsize::new(0),
            loads: AtomicU64::new(0),
            unloads: AtomicU64::new(0),
        }
    }

    /// The functions, where they are.
    pub(super) fn reals(&self) -> impl Iterator<Item = &'static Real> + use<> {
        self.functions.iter().map(|function| function.real)
    }

    /// Has calls by the modules that are loaded now come to the stubs. `false` if it has to be done
    /// later. Setup side.
    pub(super) fn follow(&self) -> bool {
        let mut are_written = true;
        // A module that goes takes its addresses with it.
        let is_done = modules::with_loader(|| are_written = self.replace());
        if !are_written {
            let (warning, text) = self.refused;
            messages::warn_once(warning, text);
        }
        is_done
    }

    /// Puts the addresses of stubs in the place of the library's; whether all could be written.
    fn replace(&self) -> bool {
        let (loads, unloads) = (modules::loads(), modules::unloads());
        let has_same_unloads = self.unloads.swap(unloads, Ordering::Relaxed) == unloads;
        if has_same_unloads && self.loads.load(Ordering::Relaxed) == loads {
            return true;
        }
        let known = |of: &AtomicUsize| {
            if has_same_unloads { of.load(Ordering::Relaxed) } else { 0 }
        };
        let (listed, known_libraries) = (known(&self.listed), known(&self.libraries));
        let mut libraries = known_libraries;
        // Where none has gone, those that have come are behind the others.
        let number = modules::each_loaded(listed, |_, module| {
            libraries += usize::from(self.is_library(module));
        });
        // Calls by older modules may lead to a library that has come now.
        let seen = if libraries == known_libraries { known(&self.modules) } else { 0 };
        let (mut done, mut are_written) = (number, true);
        let calls = if libraries > 0 { self.calls(seen) } else { Vec::new() };
        for call in calls {
            let is_new = call.module > listed;
            let is_left = if call.is_offset || call.at == 0 {
                call.is_offset || is_new
            } else {
                let is_written = self.replace_word(&call, libraries);
                are_written &= is_written;
                !is_written && is_new
            };
            if is_left {
                done = done.min(call.module - 1);
            }
        }
        self.listed.store(number, Ordering::Relaxed);
        self.libraries.store(libraries, Ordering::Relaxed);
        self.modules.store(done, Ordering::Relaxed);
        self.loads.store(if done < number { 0 } else { loads }, Ordering::Relaxed);
        are_written
    }

    fn is_library(&self, module: &LoaderModule) -> bool {
        module.address_of(self.library).is_some()
    }

    /// The calls by modules behind the first so many that do not come to the stubs.
    fn calls(&self, seen: usize) -> Vec<Call> {
        let mut calls = Vec::new();
        modules::each_loaded(seen, |number, module| {
            if self.is_library(module) {
                return;
            }
            module.each_import(|name, place| {
                if !self.prefixes.iter().any(|prefix| name.starts_with(prefix)) {
                    return;
                }
                let called = self.functions.iter().find(|of| of.real.name().to_bytes() == name);
                let Some((function, at)) = called.zip(sys::probe(place)) else { return };
                if place.is_multiple_of(8) && at != function.stub_address() {
                    let is_home = |at| module.code.iter().any(|code| code.contains(&at));
                    let is_unbound = is_home(at);
                    // Headers that are part of the code make 0 look like an offset.
                    let is_offset = at != 0 && !is_unbound && is_home(at.wrapping_add(module.bias));
                    let module = number;
                    calls.push(Call { module, place, at, is_unbound, is_offset, function });
                }
            });
        });
        calls
    }

    /// `false` if it could not be written.
    fn replace_word(&self, call: &Call, libraries: usize) -> bool {
        let &Call { place, at, is_unbound, function: &Function { real, .. }, .. } = call;
        let address = real.address().addr() as u64;
        let is_call = address != 0
            && (self.is_call)(&Word { at, real: address, is_unbound, libraries })
            // A tool in front of the collector is what the program calls.
            && modules::function_before(real.name()).is_null();
        // SAFETY: the loader's word for the address of this function, which the stub calls.
        !is_call || unsafe { sys::write_constant(place, call.function.stub_address()) }
    }
}

/// Defines a module of the function's name, with the stub in front of it and `FUNCTION`.
macro_rules! function {
    ($name:ident: $engaged:path, $before:path $(, $after:path)?) => {
        #[expect(non_snake_case, reason = "named like the C function")]
        mod $name {
            use crate::preload::imports::Function;
            use crate::preload::real::Real;
            use crate::c_library::c_name;

            static REAL: Real = Real::found_by(
                crate::modules::function_behind,
                c_name(concat!(stringify!($name), "\0")),
            );
            crate::arch::stub! {
                #[unsafe(link_section = "csprof_waits")]
                {} call stub = REAL, $engaged, $before $(, $after)?
            }
            pub(super) const FUNCTION: Function = Function { real: &REAL, stub };
        }
    };
}

pub(super) use function;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::tests::LOOKS;

    unsafe extern "C" fn stub() {}

    /// Nearly every library has this one, and nothing answers it.
    static UNANSWERED: Real = Real::new(c"__gmon_start__");
    static IMPORTS: Imports = Imports::new(
        &[Function { real: &UNANSWERED, stub }],
        &[b"__gmon"],
        c"malloc",
        |_| panic!("it leads nowhere"),
        (Warning::CallsUnseen, ""),
    );

    /// Else all modules behind it would be read again with each library that is loaded.
    #[test]
    fn a_reference_that_nothing_answers_is_looked_at_twice() {
        let _alone = LOOKS.lock();
        modules::start();
        let look = || {
            assert!(modules::with_loader(|| assert!(IMPORTS.replace())));
            let of = |number: &AtomicUsize| number.load(Ordering::Relaxed);
            assert!(of(&IMPORTS.libraries) > 0);
            (of(&IMPORTS.modules) == of(&IMPORTS.listed), IMPORTS.loads.load(Ordering::Relaxed))
        };
        assert_eq!(look(), (false, 0), "it may be one that is not relocated yet");
        let (is_done, loads) = look();
        assert!(is_done && loads > 0);
        assert_eq!(look(), (true, loads));
    }
}
