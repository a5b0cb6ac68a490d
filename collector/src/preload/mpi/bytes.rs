//! How many bytes of messages a call of MPI is about, by its arguments: counts times the size of
//! their datatype, which the program's own MPI library is asked for.
//!
//! What is sent counts, and the room for what is received; of collectives, the caller's own part.
//! Nothing is asked where MPI does not look either: of no elements, of data that is in its place
//! already, or where there is no other side.

#![expect(unsafe_code, reason = "asks the MPI library, and reads arrays of the caller's")]

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::arch::Call;
use crate::preload::real::Real;

/// What the arguments of a function are; see [`of`].
pub(super) type Shape = u8;

/// Nothing that tells of bytes.
pub(super) const NOTHING: Shape = 0;
/// Buffer, count, type, rank of the other side.
pub(super) const BUFFER: Shape = 1;
/// The same with that of the root, which is also who sends; so of the next ones with a root.
pub(super) const FROM_ROOT: Shape = 2;
/// Buffer, count, type.
pub(super) const MATCHED: Shape = 3;
/// Two buffers, count, type.
pub(super) const REDUCED: Shape = 4;
/// The same, operation, root.
pub(super) const REDUCED_TO: Shape = 5;
/// Two buffers, count for each rank, type, operation, communicator.
pub(super) const REDUCED_EACH: Shape = 6;
/// The same with an array of counts.
pub(super) const REDUCED_PARTS: Shape = 7;
/// What is sent, what is received, root.
pub(super) const GATHERED: Shape = 8;
/// The same with an array of displacements more.
pub(super) const GATHERED_PARTS: Shape = 9;
/// As [`GATHERED`]; the caller's part is what it receives.
pub(super) const SCATTERED: Shape = 10;
/// The same with an array of displacements more.
pub(super) const SCATTERED_PARTS: Shape = 11;
/// What is sent, what is received, to all.
pub(super) const ALL_GATHERED: Shape = 12;
/// The same with arrays of what is received.
pub(super) const ALL_GATHERED_PARTS: Shape = 13;
/// What is sent to each, what is received from each, communicator.
pub(super) const EXCHANGED: Shape = 14;
/// The same with arrays of counts and displacements.
pub(super) const EXCHANGED_PARTS: Shape = 15;
/// Buffer, count, type, rank and tag of what is sent; the same of what is received.
pub(super) const BOTH_WAYS: Shape = 16;
/// Buffer, count, type, rank and tag of what is sent; rank of who sends what comes in its place.
pub(super) const REPLACED: Shape = 17;

/// The bytes of a call of this shape, which has not been made yet.
pub(super) fn of(shape: Shape, call: &Call) -> u64 {
    let [a, b, c, d, e, f] = call.arguments;
    // SAFETY: functions of the shapes that ask for one have so many, so their callers have passed
    // them.
    let behind = |place| unsafe { call.stack_argument(place) };
    match shape {
        BUFFER if is_nobody(d) => 0,
        FROM_ROOT if is_negative(d) => 0,
        BUFFER | FROM_ROOT | MATCHED => sized(b, c),
        REDUCED_TO if is_negative(f) => 0,
        REDUCED | REDUCED_TO => sized(c, d),
        REDUCED_EACH => sized(c, d).saturating_mul(own_ranks(f)),
        REDUCED_PARTS => parts(c, d, own_ranks(f)),
        GATHERED if is_in_place(a) || is_negative(behind(0)) => 0,
        GATHERED_PARTS if is_in_place(a) || is_negative(behind(1)) => 0,
        ALL_GATHERED_PARTS if is_in_place(a) => 0,
        ALL_GATHERED if is_in_place(a) => sized(e, f),
        GATHERED | GATHERED_PARTS | ALL_GATHERED | ALL_GATHERED_PARTS => sized(b, c),
        SCATTERED if is_in_place(d) || is_negative(behind(0)) => 0,
        SCATTERED => sized(e, f),
        SCATTERED_PARTS if is_in_place(e) || is_negative(behind(1)) => 0,
        SCATTERED_PARTS => sized(f, behind(0)),
        EXCHANGED if is_in_place(a) => sized(e, f).saturating_mul(ranks(behind(0))),
        EXCHANGED => sized(b, c).saturating_mul(ranks(behind(0))),
        EXCHANGED_PARTS if is_in_place(a) => parts(f, behind(1), ranks(behind(2))),
        EXCHANGED_PARTS => parts(b, d, ranks(behind(2))),
        BOTH_WAYS => {
            let sent = if is_nobody(d) { 0 } else { sized(b, c) };
            let received = if is_nobody(behind(2)) { 0 } else { sized(behind(0), behind(1)) };
            sent.saturating_add(received)
        }
        REPLACED => {
            let sides = [d, f].into_iter().filter(|&rank| !is_nobody(rank)).count();
            if sides == 0 { 0 } else { sized(b, c).saturating_mul(sides as u64) }
        }
        _ => 0,
    }
}

/// The size of so many elements; 0 of none, whose type need not be one.
fn sized(count: usize, datatype: usize) -> u64 {
    match u64::try_from(count as c_int) {
        Ok(0) | Err(_) => 0,
        Ok(count) => count.saturating_mul(type_size(datatype)),
    }
}

/// The size of the elements of so many ranks, of which an array has the counts.
fn parts(counts: usize, datatype: usize, ranks: u64) -> u64 {
    let counts = core::ptr::with_exposed_provenance::<c_int>(counts);
    if counts.is_null() {
        return 0;
    }
    // SAFETY: the function reads a count for each rank.
    let count = |rank| u64::try_from(unsafe { counts.add(rank).read() }).unwrap_or(0);
    let elements = (0..ranks as usize).map(count).fold(0, u64::saturating_add);
    if elements == 0 { 0 } else { elements.saturating_mul(type_size(datatype)) }
}

// Names that tools do not stand in front of: the program has not made these calls.
static TYPE_SIZE: Real = asked(c"PMPI_Type_size");
static IS_INTER: Real = asked(c"PMPI_Comm_test_inter");
static SIZE: Real = asked(c"PMPI_Comm_size");
static REMOTE_SIZE: Real = asked(c"PMPI_Comm_remote_size");
/// Open MPI alone has it: its handles are addresses, and its special ranks are others than those of
/// MPICH and what is made of that. It is data, which
/// [`look_again`](crate::preload::real::look_again) does not know from what has gone: it is looked
/// for anew after each dlclose(3).
static NULL_TYPE_OF_OPEN_MPI: Real = asked(c"ompi_mpi_datatype_null");
/// `MPI_DATATYPE_NULL` of MPICH.
const NULL_TYPE_OF_MPICH: usize = 0x0c00_0000;

/// All of them, where they are.
pub(super) fn functions() -> impl Iterator<Item = &'static Real> + Clone {
    [&TYPE_SIZE, &IS_INTER, &SIZE, &REMOTE_SIZE, &NULL_TYPE_OF_OPEN_MPI].into_iter()
}

const fn asked(name: &'static CStr) -> Real {
    Real::found_by(crate::modules::function_behind, name)
}

/// What a function of MPI says of a handle; `None` where it is not there, or fails.
fn ask(function: &Real, handle: usize) -> Option<u64> {
    type Function = unsafe extern "C" fn(usize, *mut c_int) -> c_int;
    let address = function.address();
    if address.is_null() {
        return None;
    }
    let mut answer: c_int = 0;
    // SAFETY: each of these functions takes a handle, of the caller's own call, which is as large
    // as a register or smaller, and writes an int. MPI_SUCCESS is 0.
    let error =
        unsafe { core::mem::transmute::<*mut c_void, Function>(address)(handle, &raw mut answer) };
    u64::try_from(answer).ok().filter(|_| error == 0)
}

fn type_size(datatype: usize) -> u64 {
    let null_type = match is_open_mpi() {
        true => NULL_TYPE_OF_OPEN_MPI.address().addr(),
        false => NULL_TYPE_OF_MPICH,
    };
    let is_null = datatype == null_type || !is_open_mpi() && datatype as u32 == null_type as u32;
    if is_null { 0 } else { ask(&TYPE_SIZE, datatype).unwrap_or(0) }
}

/// Ranks that a caller exchanges data with: of an intercommunicator, those of the other group.
fn ranks(communicator: usize) -> u64 {
    let is_inter = ask(&IS_INTER, communicator) == Some(1);
    ask(if is_inter { &REMOTE_SIZE } else { &SIZE }, communicator).unwrap_or(0)
}

/// Ranks of the caller's own group, among which a reduction's result is scattered.
fn own_ranks(communicator: usize) -> u64 {
    ask(&SIZE, communicator).unwrap_or(0)
}

/// Looked for once for each library: what is not there is searched for in all modules.
fn is_open_mpi() -> bool {
    /// The address of [`TYPE_SIZE`] in a library that is another one.
    static ANOTHER: AtomicUsize = AtomicUsize::new(0);
    let library = TYPE_SIZE.address().addr();
    // Relaxed: whoever looks finds the same.
    if library != 0 && ANOTHER.load(Ordering::Relaxed) == library {
        return false;
    }
    let is = !NULL_TYPE_OF_OPEN_MPI.address().is_null();
    if !is {
        ANOTHER.store(library, Ordering::Relaxed);
    }
    is
}

/// `MPI_IN_PLACE`: 1 of Open MPI, -1 of MPICH.
fn is_in_place(buffer: usize) -> bool {
    buffer == if is_open_mpi() { 1 } else { usize::MAX }
}

/// `MPI_PROC_NULL`: -2 of Open MPI, -1 of MPICH, of which each is `MPI_ANY_SOURCE` of the other.
fn is_nobody(rank: usize) -> bool {
    rank as c_int == if is_open_mpi() { -2 } else { -1 }
}

/// Of a root: in an intercommunicator, the caller's group is the root's, and its arguments mean
/// something else.
fn is_negative(rank: usize) -> bool {
    (rank as c_int) < 0
}
