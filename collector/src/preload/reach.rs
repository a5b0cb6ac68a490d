//! Programs that this one starts where csprof does not reach.
//!
//! A program with a cleared environment is not sampled, and must not be: what is in an environment
//! is for the program to say. One that is started in another root, or with other mounts, may find
//! csprof's variables but not its files, and so may one that is forbidden to read them (landlock,
//! rights that were given up); the dynamic linker would complain about that on the program's
//! standard error, so the variables are taken out of its environment. They are, too, where a limit
//! of memory (RLIMIT_AS, RLIMIT_DATA) might leave too little room for program and collector.
//!
//! A program that is started with another `LD_PRELOAD` in place of csprof's, for a library of its
//! own (an allocator, a tool for MPI), keeps csprof's other variables, so nobody wanted to be rid
//! of it: the collector goes in front, where `csprof record` puts it, and out again before the
//! program looks ([`take_back`]), for it may start itself until it finds what it wants. One without
//! any is left as it is.
//!
//! Else somebody has to know. The count is in the arena, which the child of a vfork, too, has
//! mapped, and `csprof record` tells.
//!
//! A program that the collector cannot be preloaded into ([`program`]) gets an environment without
//! it: the loader of another C library would refuse to start the program, that of another machine
//! would complain. What such a program starts is not sampled either. Static programs read none of
//! it, and keep it for what they start.
//!
//! Programs that are started behind the C library's back go uncounted; so do those that run with
//! other privileges, for which the dynamic linker ignores the environment.

#![expect(unsafe_code, reason = "environments of the program, and stubs in front of C functions")]

use crate::c_library;
use crate::sealed::sealed;
use alloc::boxed::Box;
use alloc::ffi::CString;
use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use csprof_format::arena::LeftOut;
use csprof_format::launch::{LD_PRELOAD, LEAST_ADDRESS_SPACE, LEAST_DATA, RUN_DIR};

use super::program::{self, File};
use super::readable::Readable;
use super::real::{Real, Strings};
use super::signals::inherit;
use super::stub::{self, UNBLOCKS, wrappers};
use crate::arch::{Call, Route};
use crate::process::{self, Process};
use crate::sys;

/// This library's path, as it was preloaded. Null until [`remember`].
static LIBRARY: AtomicPtr<c_char> = AtomicPtr::new(core::ptr::null_mut());

/// Why csprof's variables were taken out of this process's environment: a [`LeftOut`]; 0: they were
/// not. What is started without them later is left out for that reason, and not by the program.
static LEFT_OUT_OF_OWN: AtomicU32 = AtomicU32::new(0);

/// Notes under which name this library was preloaded.
pub(super) fn remember() {
    // SAFETY: all zeros is a valid value of this plain structure.
    let mut found: libc::Dl_info = unsafe { core::mem::zeroed() };
    // SAFETY: an address in this library, and a live local.
    let known = unsafe { c_library::dladdr((remember as *const ()).cast(), &raw mut found) } != 0;
    // The loader's string, which lives as long as this library: for ever.
    LIBRARY.store(
        if known { found.dli_fname.cast_mut() } else { core::ptr::null_mut() },
        Ordering::Relaxed,
    );
}

/// A program that is about to be started.
pub(super) struct Start {
    /// What to give it in place of its environment.
    replaced: Option<&'static Environment>,
    counted: Option<(&'static Process, LeftOut)>,
}

/// An environment with a [`Change`], in memory of its own. Never freed: the child of a
/// vfork that executes a program has no time to. The next program with such an environment gets it
/// again, however the one that starts it lays its environments out: few differ in what they say.
struct Environment {
    pointers: Vec<*const c_char>,
    /// The strings, each with its final zero.
    text: Vec<u8>,
    /// The one that was made before.
    earlier: *const Environment,
}

// SAFETY: never changed.
unsafe impl Sync for Environment {}

/// In how many environments a process may have the collector added: some kilobytes each, for good.
const MOST_ADDED: u32 = 500;

/// How many of the last environments are compared.
const MOST_COMPARED: usize = 64;

/// What is done to an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// The collector is taken out of `LD_PRELOAD`.
    TakePreload,
    /// The name of the run folder goes, too.
    TakeAll,
    /// The collector goes in front of what is in `LD_PRELOAD`.
    AddPreload,
}

impl Start {
    /// Whether a program that is started with these can be looked at: not where csprof is not at
    /// work, nor where a filter may forbid it, nor where the kernel will find that they cannot be
    /// read.
    pub(super) fn can_look(path: *const c_char, envp: Strings) -> bool {
        if process::nearest().is_none() || sealed() {
            return false;
        }
        let mut readable = Readable::new();
        (path.is_null() || readable.has_string(path.addr()))
            && (envp.is_null() || readable.has_vector(envp.addr()))
    }

    /// The same by a function of the C library's: its environment can be read, or the program could
    /// not.
    pub(super) fn can_look_at(path: *const c_char, envp: Strings) -> bool {
        let is_own = core::ptr::eq(envp, c_library::environment());
        Self::can_look(path, if is_own { core::ptr::null() } else { envp })
    }

    /// One that is not looked at.
    pub(super) fn unseen() -> Self {
        Self { replaced: None, counted: None }
    }

    /// Looks at the environment of a program that this process, or its vfork child, starts now, and
    /// at its file.
    ///
    /// # Safety
    /// `envp` is null or the vector of an environment.
    pub(super) unsafe fn with(envp: Strings, file: Option<File<'_>>) -> Self {
        let mut start = Self::unseen();
        let (Some(process), false) = (process::nearest(), sealed()) else { return start };
        let library = LIBRARY.load(Ordering::Relaxed);
        if library.is_null() {
            return start;
        }
        // SAFETY: the loader's string, see `remember`.
        let library = unsafe { CStr::from_ptr(library) };
        // SAFETY: as the caller promises.
        let variables = unsafe { Variables::of(envp) };
        let leads_here = variables.lead_here(library);
        // A shell that the C library starts has the environment of this process, which stays.
        let may_lead_here = !leads_here && file.is_some() && variables.have_another_library();
        let reason = if !leads_here && !may_lead_here {
            match LEFT_OUT_OF_OWN.load(Ordering::Relaxed) {
                reason if reason == LeftOut::Limited as u32 => LeftOut::Limited,
                reason if reason == LeftOut::OutOfReach as u32 => LeftOut::OutOfReach,
                _ => LeftOut::Environment,
            }
        } else if !sys::can_be_loaded(library) || !sys::exists(process.folder.path()) {
            // SAFETY: as the caller promises.
            start.replaced = unsafe { changed(envp, library, Change::TakeAll) };
            LeftOut::OutOfReach
        } else if let Some(finding) = file.and_then(program::obstacle) {
            if leads_here && !finding.obstacle.ignores_preloading() {
                // SAFETY: as the caller promises.
                start.replaced = unsafe { changed(envp, library, Change::TakePreload) };
            }
            let reason = finding.obstacle.reason();
            process.arena.name_left_out(reason, finding.name());
            reason
        } else if !sys::may_map(LEAST_ADDRESS_SPACE, LEAST_DATA) {
            // SAFETY: as the caller promises.
            start.replaced = unsafe { changed(envp, library, Change::TakeAll) };
            LeftOut::Limited
        } else {
            if may_lead_here {
                // SAFETY: as the caller promises.
                start.replaced = unsafe { changed(envp, library, Change::AddPreload) };
            }
            if leads_here || start.replaced.is_some() {
                return start;
            }
            LeftOut::Environment
        };
        process.arena.count_left_out(reason, 1);
        start.counted = Some((process, reason));
        start
    }

    /// The environment of this process, looked at. Where csprof is out of reach, it is out of reach
    /// for good: the process, if it is no vfork child, gets an environment that does not lead
    /// there, for whatever the C library starts with it. So it does before a shell that a limit of
    /// memory leaves no room for the collector.
    pub(super) fn with_own(file: Option<File<'_>>) -> Self {
        // SAFETY: the C library keeps it as a vector.
        let start = unsafe { Self::with(c_library::environment(), file) };
        let is_for_good = match start.counted {
            Some((_, LeftOut::OutOfReach)) => true,
            Some((_, LeftOut::Limited)) => file.is_none(),
            _ => false,
        };
        // Once: later it leads nowhere already.
        if is_for_good && start.replaced.is_some() && process::active() {
            if let Some((_, reason)) = start.counted {
                LEFT_OUT_OF_OWN.store(reason as u32, Ordering::Relaxed);
            }
            // SAFETY: as above. The old vector stays as it is for whoever is reading it.
            unsafe { leave_out_of_own() };
        }
        start
    }

    /// What to start the program with in place of `envp`, if anything.
    pub(super) fn environment(&self) -> Option<Strings> {
        self.replaced.map(|replaced| replaced.pointers.as_ptr())
    }

    /// It was not started.
    pub(super) fn failed(self) {
        if let Some((process, reason)) = self.counted {
            process.arena.count_left_out(reason, -1);
        }
    }
}

/// The values of csprof's variables in an environment.
struct Variables<'a> {
    preloaded: &'a [u8],
    run_dir: &'a [u8],
}

impl<'a> Variables<'a> {
    /// # Safety
    /// `envp` is null or the vector of an environment, which stays as it is for `'a`.
    unsafe fn of(envp: Strings) -> Self {
        let mut found = Self { preloaded: b"", run_dir: b"" };
        // SAFETY: as the caller promises.
        for variable in unsafe { c_library::strings(envp) } {
            // SAFETY: as the caller promises.
            let variable = unsafe { CStr::from_ptr(variable) }.to_bytes();
            if let Some(value) = value_of(variable, LD_PRELOAD) {
                found.preloaded = value;
            } else if let Some(value) = value_of(variable, RUN_DIR) {
                found.run_dir = value;
            }
        }
        found
    }

    fn lead_here(&self, library: &CStr) -> bool {
        !self.run_dir.is_empty() && parts(self.preloaded).any(|part| part == library.to_bytes())
    }

    /// Whether others are preloaded in a program that has csprof's variables, none of which wants
    /// to come first.
    fn have_another_library(&self) -> bool {
        let libraries = || parts(self.preloaded).filter(|part| !part.is_empty());
        !self.run_dir.is_empty() && libraries().next().is_some() && !libraries().any(comes_first)
    }
}

/// The libraries in `LD_PRELOAD` (ld.so(8)).
fn parts(preloaded: &[u8]) -> impl Iterator<Item = &[u8]> {
    preloaded.split(|&byte| byte == b':' || byte == b' ')
}

/// What follows the collector in `LD_PRELOAD` where it was added: an empty part, which the loader
/// skips, tells it from what `csprof record` has written.
const ADDED: &[u8] = b"::";

/// Takes the collector out of this process's `LD_PRELOAD` where it was [added](Change::AddPreload):
/// the program finds what its starter has written. Before the program begins.
pub(super) fn take_back() {
    let library = LIBRARY.load(Ordering::Relaxed);
    if library.is_null() {
        return;
    }
    // SAFETY: the loader's string, see `remember`.
    let library = unsafe { CStr::from_ptr(library) };
    // SAFETY: the vector that the kernel made, and no other thread is there.
    for string in unsafe { c_library::strings(c_library::environment()) } {
        // SAFETY: as above.
        let variable = unsafe { CStr::from_ptr(string) }.to_bytes();
        let added = value_of(variable, LD_PRELOAD)
            .and_then(|value| value.strip_prefix(library.to_bytes())?.strip_prefix(ADDED));
        if let Some(rest) = added {
            let (length, start) = (rest.len(), variable.len() - rest.len());
            let place = string.cast_mut();
            // SAFETY: within the string, which is the process's own and written by nobody else.
            unsafe {
                let value = place.add(LD_PRELOAD.len() + 1);
                core::ptr::copy(place.add(start), value, length);
                // What is left of it would be a string of its own for who reads /proc.
                core::ptr::write_bytes(
                    value.add(length),
                    0,
                    place.add(start).offset_from_unsigned(value),
                );
            }
        }
    }
}

/// Whether it is a sanitizer's: the program ends if another library comes before it, unless it is
/// told not to in a variable that the program's starter may have set itself.
fn comes_first(library: &[u8]) -> bool {
    let file = library.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let has = |name: &[u8]| file.windows(name.len()).any(|part| part == name);
    [&b"asan"[..], b"lsan", b"tsan", b"clang_rt"].into_iter().any(has)
}

fn value_of<'a>(variable: &'a [u8], name: &str) -> Option<&'a [u8]> {
    variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=")
}

/// What is left of a variable.
enum Left {
    Whole,
    Nothing,
    /// Another value, without the final zero.
    Changed(Vec<u8>),
}

fn left_of(variable: &[u8], library: &CStr, change: Change) -> Left {
    if change == Change::TakeAll && value_of(variable, RUN_DIR).is_some() {
        return Left::Nothing;
    }
    let Some(value) = value_of(variable, LD_PRELOAD) else { return Left::Whole };
    if change == Change::AddPreload {
        let parts = [LD_PRELOAD.as_bytes(), b"=", library.to_bytes(), ADDED, value];
        return Left::Changed(parts.concat());
    }
    let others: Vec<&[u8]> = parts(value).filter(|part| *part != library.to_bytes()).collect();
    match others.join(&b':') {
        others if others.is_empty() => Left::Nothing,
        others => Left::Changed([LD_PRELOAD.as_bytes(), b"=", &others].concat()),
    }
}

/// The environment with this change: one that was made before, if it says the same. `None` if that
/// was made too often.
///
/// # Safety
/// `envp` is null or the vector of an environment.
unsafe fn changed(envp: Strings, library: &CStr, change: Change) -> Option<&'static Environment> {
    static LAST: AtomicPtr<Environment> = AtomicPtr::new(core::ptr::null_mut());
    static ADDED: AtomicU32 = AtomicU32::new(0);
    let mut text = Vec::new();
    // SAFETY: as the caller promises.
    for string in unsafe { c_library::strings(envp) } {
        // SAFETY: as the caller promises.
        let variable = unsafe { CStr::from_ptr(string) };
        match left_of(variable.to_bytes(), library, change) {
            Left::Whole => text.extend_from_slice(variable.to_bytes_with_nul()),
            Left::Nothing => {}
            Left::Changed(variable) => {
                text.extend_from_slice(&variable);
                text.push(0);
            }
        }
    }
    // Acquire: pairs with the release below.
    let last = LAST.load(Ordering::Acquire).cast_const();
    let mut known = last;
    for _ in 0..MOST_COMPARED {
        // SAFETY: null or a leaked box.
        let Some(environment) = (unsafe { known.as_ref() }) else { break };
        if environment.text == text {
            return Some(environment);
        }
        known = environment.earlier;
    }
    // Relaxed: it is about the number alone.
    if change == Change::AddPreload && ADDED.fetch_add(1, Ordering::Relaxed) >= MOST_ADDED {
        return None;
    }
    let starts = text.split_inclusive(|byte| *byte == 0).map(|string| string.as_ptr().cast());
    let pointers = starts.chain([core::ptr::null()]).collect();
    let made = Box::into_raw(Box::new(Environment { pointers, text, earlier: last }));
    // One that another thread makes at the same time may not be found again.
    LAST.store(made, Ordering::Release);
    // SAFETY: just made, and never freed.
    Some(unsafe { &*made })
}

/// Takes csprof's variables out of this process's environment, in which all others stay where they
/// are: the program may have strings of its own there, and change them (putenv(3)).
///
/// # Safety
/// The C library keeps it as a vector, and no other thread changes it now.
unsafe fn leave_out_of_own() {
    // SAFETY: the loader's string, see `remember`; the caller found it.
    let library = unsafe { CStr::from_ptr(LIBRARY.load(Ordering::Relaxed)) };
    let mut pointers = Vec::new();
    // SAFETY: as the caller promises.
    for string in unsafe { c_library::strings(c_library::environment()) } {
        // SAFETY: as the caller promises.
        match left_of(unsafe { CStr::from_ptr(string) }.to_bytes(), library, Change::TakeAll) {
            Left::Whole => pointers.push(string),
            Left::Nothing => {}
            Left::Changed(text) => {
                let text = CString::new(text).map(CString::into_raw);
                pointers.extend(text.map(<*mut c_char>::cast_const));
            }
        }
    }
    pointers.push(core::ptr::null());
    // SAFETY: leaked.
    unsafe { c_library::set_environment(pointers.leak().as_ptr()) };
}

/// Before posix_spawn and posix_spawnp, whose path is the second argument and whose environment is
/// the last one.
unsafe extern "C" fn before_spawn(call: &mut Call, real: &Real) -> Route {
    let pointer = core::ptr::with_exposed_provenance::<c_void>;
    let (envp, path) = (pointer(call.arguments[5]).cast(), pointer(call.arguments[1]).cast());
    let is_own = core::ptr::eq(envp, c_library::environment());
    if !Start::can_look_at(path, envp) {
        return inherit::spawning(call, stub::target(real));
    }
    // SAFETY: the program's own argument.
    let file = unsafe {
        if core::ptr::eq(real, &raw const posix_spawnp::REAL) {
            File::named(path)
        } else {
            File::at(path)
        }
    };
    let start = if is_own {
        Start::with_own(file)
    } else {
        // SAFETY: the program's own argument.
        unsafe { Start::with(envp, file) }
    };
    if let Some(environment) = start.environment() {
        call.arguments[5] = environment.expose_provenance();
    }
    inherit::spawning(call, stub::target(real))
}

/// Before the C library starts a shell with this process's environment.
pub(super) unsafe extern "C" fn before_shell(call: &mut Call, real: &Real) -> Route {
    Start::with_own(None);
    inherit::spawning(call, stub::target(real))
}

/// The same, where the C library waits for its end.
unsafe extern "C" fn before_command(call: &mut Call, real: &Real) -> Route {
    Start::with_own(None);
    inherit::lasting(call, stub::target(real))
}

wrappers! {
    /// posix_spawn(3).
    hold posix_spawn: before_spawn, UNBLOCKS, inherit::spawned;
    /// posix_spawnp(3).
    hold posix_spawnp: before_spawn, UNBLOCKS, inherit::spawned;
    /// system(3).
    hold system: before_command, UNBLOCKS;
    /// popen(3).
    hold popen: before_shell, UNBLOCKS, inherit::spawned;
}
