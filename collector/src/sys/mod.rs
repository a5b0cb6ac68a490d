//! The only raw system calls of the collector.
//!
//! The signal side must not go through libc: its wrappers set `errno`, are cancellation points,
//! and may be replaced by other preloaded libraries. All functions here but
//! [`SignalStatus::read`] and those that read files whole are
//! made of `syscall` instructions, async-signal-safe, and return the kernel's answer as a value:
//! `errno` of the interrupted program stays untouched. See syscall(2).

#![expect(unsafe_code, reason = "system calls are instructions; each function states its effect")]

mod call;
mod clock;
mod division;
mod error;
mod file;
mod locked;
mod memory;
mod perf;
mod perf_counter;
mod perf_event;
mod process;
mod read;
mod signal;
mod timer;

pub use call::by_number;
pub use clock::{Clock, elapsed_ns, now_ns, read_elapsed_by, read_elapsed_by_call, thread_cpu_ns};
pub use division::{Way, is_divided};
pub use error::Errno;
pub use file::{
    File, FileNumber, Folder, SMALLEST_OWN, can_be_loaded, exists, give_up, is_own, map_to_read,
};
pub use locked::note_locking;
pub use memory::{
    copy_readable, give_back, is_probing_forbidden, is_readable, is_resident, map_anonymous,
    private_bytes, probe, probe_bytes, probe_into, remap, replace_by_zeros, swap_word, unmap,
    unmap_anonymous, wipe_on_fork, write_constant,
};
pub use perf::{Awaited, PerfSignal};
pub use perf_counter::{Counted, CounterReading, PerfCounter};
pub use perf_event::{Delivery, PerfError};
pub use process::{
    Mask, SignalStatus, Spent, Switches, Usage, alternate_stack, block, kernel_release, lock_pi,
    may_map, parent_pid, pid, processors, set_alternate_stack, set_mask, sleep_ns, spent,
    stack_limit, switches, thread_exists, thread_name, tid, unblock, unlock_pi, usage,
    write_message, yield_now,
};
pub use read::{
    MappedFile, OwnFile, PROGRAM, Peeked, absolute, file_at, file_size, folder_identity,
    is_executable, link_of_mapping, mapped_file, mapped_path, pages_of, read_file, read_link,
    read_link_to,
};
pub use signal::{
    Disposition, Handler, KernelAction, Sender, abort, action_of, drop_samples, drop_samples_and,
    drop_samples_here, exchange_action, handler_of, interrupts, pending, rt_sigaction, send_again,
    send_here, sent_by, set_disposition,
};
pub use timer::{PausedTimer, Timer};
