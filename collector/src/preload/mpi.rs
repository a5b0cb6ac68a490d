//! Calls of MPI: how long the outermost one takes, and how many [bytes] it is about.
//!
//! They are [found](super::imports) in the modules that make them. MPI itself, which calls itself
//! by other ways, is left as it is; its bindings for Fortran are modules of their own, which call
//! what C programs call.

#![expect(unsafe_code, reason = "stubs in front of C functions")]

mod bytes;

use csprof_format::launch::SourceKind;

use super::counted;
use super::imports::{self, Imports};
use super::real::Real;
use super::stub;
use super::under_way::InMpi;
use super::view::sampled;
use crate::arch::{Call, Route};
use crate::messages::Warning;
use crate::sources::flag::flag;
use crate::sources::metric_of;

flag! {
    /// Whether calls of MPI are counted: their time, or the bytes that they are about.
    pub(super) MPI_COUNTS: Mpi, MpiBytes
}

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
    if !MPI_COUNTS.is_set() || !sampled() || !InMpi::enter(call) {
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

/// Functions by the number of their arguments behind the sixth, and by what tells of their bytes.
macro_rules! functions {
    ($($stack:literal $shape:ident: $($name:ident)*;)*) => {
        $($(imports::function! {
            $name: crate::preload::mpi::MPI_COUNTS,
            crate::preload::mpi::before::<$stack, { crate::preload::mpi::bytes::$shape }>,
            crate::preload::mpi::after
        })*)*

        /// All of them.
        const FUNCTIONS: &[imports::Function] = &[$($($name::FUNCTION,)*)*];
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

static IMPORTS: Imports = Imports::new(
    FUNCTIONS,
    &[b"MPI_", b"PMPI_"],
    c"MPI_Init",
    // Tools have these names as well, in modules or outside of all, and call MPI in turn.
    |_| true,
    (
        Warning::CallsUnseen,
        "calls of MPI are not counted: the addresses that the loader has written for them cannot \
         be changed",
    ),
);

/// All of them, where they are.
pub(super) fn functions() -> impl Iterator<Item = &'static Real> {
    IMPORTS.reals().chain(bytes::functions())
}

/// Has the calls counted that the modules make which are loaded now, if they are sampled. `false`
/// if it has to be done later. Setup side.
pub(super) fn count() -> bool {
    !MPI_COUNTS.is_set() || IMPORTS.follow()
}
