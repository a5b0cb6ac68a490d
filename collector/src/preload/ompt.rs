//! Parallel regions of LLVM's OpenMP and others that have the interface for tools (OMPT, OpenMP
//! 5.0, chapter 4): as those of [libgomp](super::regions), but the runtime says when they begin.
//!
//! The runtime asks for a tool by the name `ompt_start_tool`. That of the program, which stands
//! before the collector, is the one that it calls; a tool behind the collector is asked first, and
//! where `OMP_TOOL_LIBRARIES` names some, these are left to the runtime.

#![expect(unsafe_code, reason = "callbacks of a C library")]

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::sync::atomic::AtomicU64;

use super::view::sampled;
use crate::arch::unwind::registers::Registers;
use crate::c_library;
use crate::modules;
use crate::process;
use crate::sampler::Shared;
use crate::sampling::call::handover;
use crate::trampoline::arming::real;

/// `ompt_start_tool_result_t`.
#[repr(C)]
pub(crate) struct Tool {
    initialize: extern "C" fn(Lookup, c_int, *mut Data) -> c_int,
    finalize: extern "C" fn(*mut Data),
    /// The runtime is given its address.
    data: AtomicU64,
}

/// `ompt_data_t`: a word for the tool. The runtime begins it with 0.
type Data = u64;
/// `ompt_function_lookup_t`.
type Lookup = extern "C" fn(*const c_char) -> *const c_void;
/// `ompt_set_callback_t`.
type SetCallback = extern "C" fn(c_int, *const c_void) -> c_int;
type StartTool = extern "C" fn(c_uint, *const c_char) -> *const Tool;

/// `ompt_frame_t`, its first two members.
#[repr(C)]
struct TaskFrame {
    exit: *const c_void,
    /// The frame of the runtime's function that the task has called.
    enter: *const [u64; 2],
}

/// `ompt_callback_parallel_begin`.
const PARALLEL_BEGIN: c_int = 3;
/// `ompt_callback_implicit_task`.
const IMPLICIT_TASK: c_int = 7;
/// `ompt_scope_begin`; the other is its end.
const BEGIN: c_int = 1;
/// `ompt_task_initial`, in the flags of a task.
const INITIAL: c_int = 1;

static TOOL: Tool = Tool { initialize, finalize, data: AtomicU64::new(0) };

/// Whether the user names tools, of which one may take the place.
fn others_are_named() -> bool {
    // SAFETY: the runtime reads the same now, in the same way.
    let mut strings = unsafe { c_library::strings(c_library::environment()) };
    strings.any(|string| {
        // SAFETY: as above.
        let string = unsafe { CStr::from_ptr(string) }.to_bytes();
        string.strip_prefix(b"OMP_TOOL_LIBRARIES=").is_some_and(|value| !value.is_empty())
    })
}

/// `ompt_start_tool` (OpenMP 5.0, 4.2.2).
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ompt_start_tool(version: c_uint, runtime: *const c_char) -> *const Tool {
    let next = c_library::next(c"ompt_start_tool");
    if !next.is_null() {
        // SAFETY: the function of this name has this signature.
        let next = unsafe { core::mem::transmute::<*mut c_void, StartTool>(next) };
        let tool = next(version, runtime);
        if !tool.is_null() {
            return tool;
        }
    }
    // LLVM's OpenMP has a tool of ThreadSanitizer's, which it loads if there is no other: without
    // that, the program would report races that there are none.
    let is_asked = process::current().is_some_and(|process| process.config.regions);
    if is_asked && sampled() && !others_are_named() && !modules::has_thread_sanitizer() {
        &raw const TOOL
    } else {
        core::ptr::null()
    }
}

extern "C" fn initialize(lookup: Lookup, _: c_int, _: *mut Data) -> c_int {
    let set_callback = lookup(c"ompt_set_callback".as_ptr());
    if set_callback.is_null() {
        return 0;
    }
    // SAFETY: the function of this name has this signature.
    let set_callback = unsafe { core::mem::transmute::<*const c_void, SetCallback>(set_callback) };
    set_callback(PARALLEL_BEGIN, parallel_begin as *const c_void);
    set_callback(IMPLICIT_TASK, implicit_task as *const c_void);
    1
}

extern "C" fn finalize(_: *mut Data) {}

/// Most bytes of the runtime's frames between the function that is called for a region and this
/// file's.
const FRAMES: usize = 1 << 16;

/// A thread opens a region: finds its context. The frame of the runtime's function says where the
/// program goes on, if it has a frame pointer, which is seen by the address that it returns to.
unsafe extern "C" fn parallel_begin(
    _: *mut Data,
    frame: *const TaskFrame,
    region: *mut Data,
    threads: c_uint,
    _: c_int,
    caller: *const c_void,
) {
    if threads == 1 || !sampled() {
        return;
    }
    // SAFETY: the runtime passes live structures.
    let (frame, region) = unsafe { (frame.as_ref(), &mut *region) };
    let Some(enter) = frame.map(|frame| frame.enter) else { return };
    let here = (&raw const enter).addr();
    let is_frame = enter.is_aligned() && enter.addr() > here && enter.addr() - here < FRAMES;
    let Some(stack) = Shared::here().map(|shared| shared.stack) else { return };
    if !is_frame || !stack.contains_word(enter.addr() as u64 + 8) {
        return;
    }
    // SAFETY: on the thread's own stack, above this frame.
    let [frame_pointer, goes_on] = unsafe { enter.read() };
    // A sample may just have armed it.
    let words = [frame_pointer, real(goes_on)];
    let registers = Registers::calling_with_frame(enter.addr() as u64, words);
    if registers.ip == real(caller.addr() as u64) {
        *region = handover(registers).map_or(0, |key| key.to_bits());
    }
}

/// A thread begins or ends its part of a region. The first is the opener.
unsafe extern "C" fn implicit_task(
    scope: c_int,
    region: *mut Data,
    task: *mut Data,
    _: c_uint,
    number: c_uint,
    flags: c_int,
) {
    if number == 0 || flags & INITIAL != 0 || task.is_null() {
        return;
    }
    let Some(shared) = Shared::here() else { return };
    // SAFETY: the runtime passes live words; that of a region there is at its beginning alone.
    unsafe {
        if scope != BEGIN {
            shared.change_handover(*task, 0);
        } else if !region.is_null() {
            // Whatever it was before, of which the end was not told.
            shared.change_handover(shared.handover(), *region);
            *task = *region;
        }
    }
}
