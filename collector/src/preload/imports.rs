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

/// A function: its name, where it is, and what stands in front of it.
pub(super) struct Function {
    pub(super) name: &'static CStr,
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
    /// What it is.
    at: u64,
    state: State,
    function: &'static Function,
}

/// How far the loader has come with a word. A module is listed before the thread that loads it has
/// relocated its words, which it then adds to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not relocated: where the module asks the loader, by its address in the file.
    Offset,
    /// Not bound: where the module asks the loader.
    Unbound,
    /// Anything else.
    Other,
}

impl State {
    fn of(module: &LoaderModule, at: u64) -> Self {
        let leads_home = |at| module.code.iter().any(|code| code.contains(&at));
        match leads_home(at) {
            true => Self::Unbound,
            false if leads_home(at.wrapping_add(module.bias)) => Self::Offset,
            false => Self::Other,
        }
    }
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
/// once more when a library has come or a module has gone.
pub(super) struct Imports {
    functions: &'static [Function],
    /// How their names begin.
    prefixes: &'static [&'static [u8]],
    /// The function by which a library is known that has them.
    library: &'static CStr,
    /// Whether a call by this word, which leads to code, shall come to the stub.
    is_call: fn(&Word) -> bool,
    /// What is said where words cannot be written.
    refused: (Warning, &'static str),
    // Relaxed wherever these are used: with the loader's lock.
    /// Modules that are done with, in the loader's order, in which a new one comes last.
    modules: AtomicUsize,
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
        let unloads = modules::unloads();
        let is_same = self.unloads.swap(unloads, Ordering::Relaxed) == unloads;
        let loads = modules::loads();
        if self.loads.swap(loads, Ordering::Relaxed) == loads && is_same {
            return true;
        }
        let (mut number, mut libraries) = (0, 0);
        modules::each_loaded(|module| {
            number += 1;
            libraries += usize::from(self.is_library(module));
        });
        // Calls by older modules may lead to a library that has come now.
        let is_known = self.libraries.swap(libraries, Ordering::Relaxed) == libraries && is_same;
        let seen = if is_known { self.modules.load(Ordering::Relaxed) } else { 0 };
        let (mut done, mut are_written) = (number, true);
        let calls = if libraries > 0 { self.calls(seen) } else { Vec::new() };
        let mut code = Vec::new();
        if !calls.is_empty() {
            modules::each_loaded(|module| code.extend_from_slice(&module.code));
        }
        for Call { module, place, at, state, function } in calls {
            // A weak reference that nothing answers looks like one that is not relocated.
            let is_relocated = state != State::Offset && code.iter().any(|code| code.contains(&at));
            let is_unbound = state == State::Unbound;
            if !is_relocated {
                done = done.min(module - 1);
            } else if !self.replace_word(place, at, is_unbound, libraries, function) {
                done = done.min(module - 1);
                are_written = false;
            }
        }
        self.modules.store(done, Ordering::Relaxed);
        if done < number {
            self.loads.store(0, Ordering::Relaxed);
        }
        are_written
    }

    fn is_library(&self, module: &LoaderModule) -> bool {
        module.address_of(self.library).is_some()
    }

    /// The calls by modules behind the first so many that do not come to the stubs.
    fn calls(&self, seen: usize) -> Vec<Call> {
        let mut calls = Vec::new();
        let mut number = 0;
        modules::each_loaded(|module| {
            number += 1;
            if number <= seen || self.is_library(module) {
                return;
            }
            module.each_import(|name, place| {
                if !self.prefixes.iter().any(|prefix| name.starts_with(prefix)) {
                    return;
                }
                let called = self.functions.iter().find(|of| of.name.to_bytes() == name);
                let Some((function, at)) = called.zip(sys::probe(place)) else { return };
                if place.is_multiple_of(8) && at != function.stub_address() {
                    let state = State::of(module, at);
                    calls.push(Call { module: number, place, at, state, function });
                }
            });
        });
        calls
    }

    /// `false` if it could not be written.
    fn replace_word(
        &self,
        place: u64,
        at: u64,
        is_unbound: bool,
        libraries: usize,
        function: &Function,
    ) -> bool {
        let real = function.real.address().addr() as u64;
        let is_call = real != 0
            && (self.is_call)(&Word { at, real, is_unbound, libraries })
            // A tool in front of the collector is what the program calls.
            && modules::function_before(function.name).is_null();
        // SAFETY: the loader's word for the address of this function, which the stub calls.
        !is_call || unsafe { sys::write_constant(place, function.stub_address()) }
    }
}

/// Defines a module of the function's name, with the stub in front of it and `FUNCTION`.
macro_rules! function {
    ($name:ident: $engaged:path, $before:path $(, $after:path)?) => {
        #[expect(non_snake_case, reason = "named like the C function")]
        mod $name {
            use crate::preload::imports::Function;
            use crate::preload::real::Real;
            use core::ffi::CStr;

            const NAME: &CStr = match CStr::from_bytes_with_nul(
                concat!(stringify!($name), "\0").as_bytes()
            ) {
                Ok(name) => name,
                Err(_) => panic!("concat! ends each name with one 0"),
            };
            static REAL: Real = Real::found_by(crate::modules::function_behind, NAME);
            crate::arch::stub! {
                #[unsafe(link_section = "csprof_waits")]
                {} call stub = REAL, $engaged, $before $(, $after)?
            }
            pub(super) const FUNCTION: Function = Function { name: NAME, real: &REAL, stub };
        }
    };
}

pub(super) use function;
