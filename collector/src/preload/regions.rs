//! Parallel regions of OpenMP: what each thread of a team does in one was called by the code that
//! opened it.
//!
//! Compilers put the code of a region into a function, which the one that opens the region passes
//! to libgomp, or to what has its names. The stub in front finds the context of its caller and
//! passes [`run`] instead, which calls the function. While a thread other than the opener is in it,
//! its samples are below a [handover](crate::sampler::Shared::handover) from that context. The
//! opener itself runs the function as well, below the frames that are there.
//!
//! Calls of these functions are [found](super::imports) in the modules that make them. A process
//! may have several such libraries, each with a pool of its own: then a word that the loader has
//! not bound yet stays as it is, for nobody can tell whose function it would be.
//!
//! Left out: tasks, which any thread may run at any time, also behind the end of the function; and
//! what is started without a function of the compiler's (`GOMP_parallel_start`).

#![expect(unsafe_code, reason = "stubs in front of C functions, and addresses of them")]

use core::ptr::null_mut;

use super::imports::{self, Imports};
use super::real::Real;
use super::stub::{self, ENGAGED};
use super::view::sampled;
use crate::arch::{self, Call, Route};
use crate::messages::Warning;
use crate::process::{self, Process};
use crate::sampler::Shared;
use crate::sampling::call::handover;
use crate::trampoline;

/// Where a call's room has what [`run`] is given, behind arguments that are passed on the stack.
const REGION: usize = 8;

/// What [`run`] is given. In the frame of the stub that the opener has called, so it lives until
/// all threads of the team have left the function.
#[derive(Clone, Copy)]
#[repr(C)]
struct Region {
    function: usize,
    data: usize,
    /// The bits of the handover's key.
    handover: u64,
    /// What the opener [shares](Shared) with its handlers.
    opener: *const trampoline::Record,
    /// Whose arena the context is in: no child's.
    process: *const Process,
}

const _: () = assert!(REGION + size_of::<Region>() / size_of::<u64>() <= 16);

/// Before a call that opens a region, with so many arguments behind the sixth. The first three are
/// the function, its data, and how many threads there shall be, 0 if that is left open.
extern "C" fn before<const STACK: usize>(call: &mut Call, real: &Real) -> Route {
    let jump = Route { target: stub::target(real), calls: 0 };
    let is_alone = call.arguments[2] as u32 == 1;
    if is_alone || !sampled() {
        return jump;
    }
    let process = process::current().map_or(core::ptr::null(), core::ptr::from_ref);
    let Some(key) = handover(call.caller_registers()) else { return jump };
    let [function, data, ..] = call.arguments;
    let opener = trampoline::current();
    let region = Region { function, data, handover: key.to_bits(), opener, process };
    // SAFETY: the function takes so many, so its caller has passed them.
    unsafe { call.pass_stack_arguments::<STACK>() };
    let place = (&raw mut call.room[REGION]).cast::<Region>();
    // SAFETY: as many words of the room, which nobody else uses.
    unsafe { place.write(region) };
    call.arguments[0] = (run as *const ()).expose_provenance();
    call.arguments[1] = place.expose_provenance();
    Route { calls: 1, ..jump }
}

/// Where the room of a call of [`run`] has the handover that ends with it.
const ENTERED: usize = 8;

extern "C" fn enter(call: &mut Call, _: &Real) -> Route {
    // SAFETY: passed by `before`, whose frame is there until all have returned.
    let region = unsafe { core::ptr::with_exposed_provenance::<Region>(call.arguments[0]).read() };
    call.arguments[0] = region.data;
    let is_its = process::current().is_some_and(|own| core::ptr::eq(own, region.process));
    let is_worker = trampoline::current() != region.opener && is_its;
    // A worker that has a handover already has been told of another region by somebody else.
    let enters = is_worker
        && Shared::here().is_some_and(|shared| shared.change_handover(0, region.handover));
    call.room[ENTERED] = region.handover;
    let target = core::ptr::with_exposed_provenance_mut(region.function);
    Route { target, calls: usize::from(enters) }
}

extern "C" fn leave(call: &mut Call) {
    if let Some(shared) = Shared::here() {
        shared.change_handover(call.room[ENTERED], 0);
    }
}

/// Stands for the function of a region, which is in what `run` is given.
static IN_REGION: Real = Real::found_by(|_| null_mut(), c"");

arch::stub! {
    /// Runs the function of a region in a thread of its team. What calls it, and what it calls, may
    /// be followed.
    #[unsafe(link_section = "csprof_waits")]
    {} call run = IN_REGION, ENGAGED, enter, leave
}

/// Functions by the number of their arguments behind the sixth.
macro_rules! functions {
    ($($stack:literal: $($name:ident)*;)*) => {
        $($(imports::function! {
            $name: crate::preload::stub::ENGAGED, crate::preload::regions::before::<$stack>
        })*)*

        /// All of them.
        const FUNCTIONS: &[imports::Function] = &[$($($name::FUNCTION,)*)*];
    };
}

functions! {
    0: GOMP_parallel GOMP_parallel_sections;
    1: GOMP_parallel_loop_runtime GOMP_parallel_loop_nonmonotonic_runtime
        GOMP_parallel_loop_maybe_nonmonotonic_runtime;
    2: GOMP_parallel_loop_static GOMP_parallel_loop_dynamic GOMP_parallel_loop_guided
        GOMP_parallel_loop_nonmonotonic_dynamic GOMP_parallel_loop_nonmonotonic_guided;
}

static IMPORTS: Imports = Imports::new(
    FUNCTIONS,
    &[b"GOMP_parallel"],
    c"GOMP_parallel",
    |word| word.at == word.real || word.is_unbound && word.libraries == 1,
    (
        Warning::RegionsUnseen,
        "what threads do in parallel regions is not shown below these: the addresses that the \
         loader has written for them cannot be changed",
    ),
);

/// All of them, where they are.
pub(super) fn functions() -> impl Iterator<Item = &'static Real> {
    IMPORTS.reals()
}

/// Has regions known that are opened by modules which are loaded now, if this is asked for. `false`
/// if it has to be done later. Setup side.
pub(super) fn follow() -> bool {
    process::current().is_none_or(|process| !process.config.regions) || IMPORTS.follow()
}
