//! Calls of MPI: how long the outermost one takes, and how many [bytes] it is about.
//!
//! Names of MPI are not exported: a program that asks whether MPI is there would find it. Where a
//! module has asked for one of them, the loader has written an address of the MPI library's, and in
//! its place goes that of a stub, if the library is there at all. So MPI itself, which calls itself
//! by other ways, is left as it is; its bindings for Fortran are modules of their own, which call
//! what C programs call.

#![expect(unsafe_code, reason = "stubs in front of C functions, and addresses of them")]

mod bytes;

use alloc::vec::Vec;
use core::ffi::CStr;
use core::sync::atomic::Ordering;

use csprof_format::launch::SourceKind;

use super::counted;
use super::real::Real;
use super::stub;
use super::under_way::InMpi;
use super::view::sampled;
use crate::arch::{Call, Route};
use crate::messages::{self, Warning};
use crate::modules;
use crate::sources::calls::MPI_COUNTS;
use crate::sources::metric_of;
use crate::sys;

/// Where the room of a call has the bytes that it is about: behind the arguments that are passed on
/// the stack.
const BYTES: usize = 13;

/// Before a call with so many arguments behind the sixth, of which the first ones are of this
/// shape.
extern "C" fn before<const STACK: usize, const SHAPE: bytes::Shape>(
    call: &mut Call,
    real: &Real,
) -> Route {
    let target = stub::target(real);
    if !MPI_COUNTS.load(Ordering::Relaxed) || !sampled() || !InMpi::enter(call) {
        return Route { target, calls: 0 };
    }
    // SAFETY: the function takes so many, so its caller has passed them.
    unsafe { call.pass_stack_arguments::<STACK>() };
    call.room[BYTES] = match metric_of(SourceKind::MpiBytes) {
        Some(_) => bytes::of(SHAPE, call),
        None => 0,
    };
    counted::begin(call, SourceKind::Mpi);
    Route { target, calls: 1 }
}

extern "C" fn after(call: &mut Call) {
    InMpi::leave(call);
    let counts = counted::end(call, SourceKind::Mpi);
    // What failed has moved nothing.
    if counts && call.result as i32 == MPI_SUCCESS {
        counted::add(call, SourceKind::MpiBytes, call.room[BYTES]);
    }
}

const MPI_SUCCESS: i32 = 0;

/// A function of MPI: its name, where it is, and what counts its calls.
struct Function {
    name: &'static CStr,
    real: &'static Real,
    stub: unsafe extern "C" fn(),
}

/// Functions by the number of their arguments behind the sixth, and by what tells of their bytes.
macro_rules! functions {
    ($($stack:literal $shape:ident: $($name:ident)*;)*) => {
        $($(
            #[expect(non_snake_case, reason = "named like the C function")]
            mod $name {
                use crate::preload::real::Real;
                use core::ffi::CStr;

                pub(super) const NAME: &CStr = match CStr::from_bytes_with_nul(
                    concat!(stringify!($name), "\0").as_bytes()
                ) {
                    Ok(name) => name,
                    Err(_) => panic!("concat! ends each name with one 0"),
                };
                pub(super) static REAL: Real =
                    Real::found_by(crate::modules::function_behind, NAME);
                crate::arch::stub! {
                    #[unsafe(link_section = "csprof_waits")]
                    {} call stub = REAL, crate::sources::calls::MPI_COUNTS,
                    crate::preload::mpi::before::<$stack, { crate::preload::mpi::bytes::$shape }>,
                    crate::preload::mpi::after
                }
            }
        )*)*

        /// All of them.
        static FUNCTIONS: &[Function] = &[$($(
            Function { name: $name::NAME, real: &$name::REAL, stub: $name::stub },
        )*)*];
    };
}

functions! {
    0 BUFFER: MPI_Send PMPI_Send MPI_Ssend PMPI_Ssend MPI_Rsend PMPI_Rsend MPI_Bsend PMPI_Bsend;
    0 FROM_ROOT: MPI_Bcast PMPI_Bcast MPI_Ibcast PMPI_Ibcast;
    0 MATCHED: MPI_Mrecv PMPI_Mrecv MPI_Imrecv PMPI_Imrecv;
    0 REDUCED: MPI_Allreduce PMPI_Allreduce MPI_Scan PMPI_Scan MPI_Exscan PMPI_Exscan;
    0 REDUCED_EACH: MPI_Reduce_scatter_block PMPI_Reduce_scatter_block;
    0 REDUCED_PARTS: MPI_Reduce_scatter PMPI_Reduce_scatter;
    0 NOTHING: MPI_Start PMPI_Start MPI_Startall PMPI_Startall MPI_Wait PMPI_Wait MPI_Waitall
        PMPI_Waitall MPI_Waitany PMPI_Waitany MPI_Waitsome PMPI_Waitsome MPI_Test PMPI_Test
        MPI_Testall PMPI_Testall MPI_Testany PMPI_Testany MPI_Testsome PMPI_Testsome MPI_Probe
        PMPI_Probe MPI_Iprobe PMPI_Iprobe MPI_Mprobe PMPI_Mprobe MPI_Improbe PMPI_Improbe
        MPI_Barrier PMPI_Barrier MPI_Ibarrier PMPI_Ibarrier MPI_Init PMPI_Init MPI_Init_thread
        PMPI_Init_thread MPI_Finalize PMPI_Finalize MPI_Comm_dup PMPI_Comm_dup MPI_Comm_split
        PMPI_Comm_split MPI_Comm_create PMPI_Comm_create MPI_Comm_free PMPI_Comm_free
        MPI_Win_create PMPI_Win_create MPI_Win_allocate PMPI_Win_allocate MPI_Win_free
        PMPI_Win_free MPI_Win_fence PMPI_Win_fence MPI_Win_lock PMPI_Win_lock MPI_Win_unlock
        PMPI_Win_unlock MPI_Win_flush PMPI_Win_flush MPI_Win_post PMPI_Win_post MPI_Win_start
        PMPI_Win_start MPI_Win_complete PMPI_Win_complete MPI_Win_wait PMPI_Win_wait;
    1 BUFFER: MPI_Recv PMPI_Recv MPI_Isend PMPI_Isend MPI_Irecv PMPI_Irecv MPI_Issend PMPI_Issend;
    1 REDUCED_TO: MPI_Reduce PMPI_Reduce;
    1 ALL_GATHERED: MPI_Allgather PMPI_Allgather;
    1 EXCHANGED: MPI_Alltoall PMPI_Alltoall;
    1 REDUCED: MPI_Iallreduce PMPI_Iallreduce;
    2 GATHERED: MPI_Gather PMPI_Gather;
    2 SCATTERED: MPI_Scatter PMPI_Scatter;
    2 ALL_GATHERED_PARTS: MPI_Allgatherv PMPI_Allgatherv;
    2 REDUCED_TO: MPI_Ireduce PMPI_Ireduce;
    2 ALL_GATHERED: MPI_Iallgather PMPI_Iallgather;
    2 EXCHANGED: MPI_Ialltoall PMPI_Ialltoall;
    2 BUFFER: MPI_Put PMPI_Put MPI_Get PMPI_Get;
    3 REPLACED: MPI_Sendrecv_replace PMPI_Sendrecv_replace;
    3 GATHERED_PARTS: MPI_Gatherv PMPI_Gatherv;
    3 SCATTERED_PARTS: MPI_Scatterv PMPI_Scatterv;
    3 EXCHANGED_PARTS: MPI_Alltoallv PMPI_Alltoallv;
    3 NOTHING: MPI_Alltoallw PMPI_Alltoallw;
    3 GATHERED: MPI_Igather PMPI_Igather;
    3 SCATTERED: MPI_Iscatter PMPI_Iscatter;
    3 BUFFER: MPI_Accumulate PMPI_Accumulate;
    4 EXCHANGED_PARTS: MPI_Ialltoallv PMPI_Ialltoallv;
    6 BOTH_WAYS: MPI_Sendrecv PMPI_Sendrecv;
}

/// All of them, where they are.
pub(super) fn functions() -> impl Iterator<Item = &'static Real> {
    FUNCTIONS.iter().map(|function| function.real).chain(bytes::functions())
}

/// Has the calls counted that the modules make which are loaded now, if they are sampled. `false`
/// if it has to be done later. Setup side.
pub(super) fn count() -> bool {
    if !MPI_COUNTS.load(Ordering::Relaxed) {
        return true;
    }
    let mut is_refused = false;
    // A module that goes takes its addresses with it.
    let is_done = modules::with_loader(|| is_refused = !replace_addresses());
    if is_refused {
        messages::warn_once(
            Warning::CallsUnseen,
            "calls of MPI are not counted: the addresses that the loader has written for them cannot be changed",
        );
    }
    is_done
}

/// Puts the addresses of stubs in the place of those of the MPI library's; whether all could be
/// written.
fn replace_addresses() -> bool {
    let mut imports: Vec<(u64, &Function)> = Vec::new();
    modules::each_loaded(|module| {
        let mut note = |name: &[u8], place| {
            if name.starts_with(b"MPI_") || name.starts_with(b"PMPI_") {
                let function = FUNCTIONS.iter().find(|function| function.name.to_bytes() == name);
                imports.extend(function.map(|function| (place, function)));
            }
        };
        if module.address_of(c"MPI_Init").is_none() {
            module.each_import(&mut note);
        }
    });
    let mut are_written = true;
    for (place, function) in imports {
        let stub = (function.stub as *const ()).expose_provenance() as u64;
        let is_there = !function.real.address().is_null();
        // Of a weak reference that nothing answers, the program asks whether it is 0; and a tool in
        // front of the collector is what the program calls.
        let is_called = || sys::probe(place).is_some_and(|at| at != stub && at != 0);
        let is_first = || modules::function_before(function.name).is_null();
        if is_there && place.is_multiple_of(8) && is_called() && is_first() {
            // SAFETY: the loader's word for the address of this function, which the stub calls.
            are_written &= unsafe { sys::write_constant(place, stub) };
        }
    }
    are_written
}
