//! What the program sees of the collector: the constructor, and the exported names.
//!
//! Setup side. The library is preloaded, so the dynamic linker binds the program's calls of the
//! names below to these wrappers: ICS'05 section 2.5.2. Each keeps one promise: *the program
//! behaves as it would alone*. Where nothing is sampled (not launched by csprof, or the child of a
//! vfork) a wrapper hands the call on unchanged.
//!
//! | file | names | why |
//! |---|---|---|
//! | [`signals::action`] | `sigaction` `__sigaction` `signal` `bsd_signal` `ssignal` `sysv_signal` `__sysv_signal` `sigset` `sigignore` `siginterrupt` | the profiling signal's handler is the collector's; SIGTRAP is given back |
//! | `signals::raise` | `raise` `gsignal`; `pthread_sigqueue` `tgkill` for the calling thread | SIGTRAP is given back; SIGPROF is not merged with a sample |
//! | `signals::mask` | `sigprocmask` `pthread_sigmask` `sigblock` `sigsetmask` `siggetmask` `sighold` `sigrelse` | the profiling signal is not blocked |
//! | `signals::saved_mask` | `__sigsetjmp` `setjmp` `getcontext` `setcontext` `swapcontext` `pthread_attr_setsigmask_np` `pthread_attr_getsigmask_np` | so is a mask that is kept for later |
//! | `signals::wait` | `sigsuspend` `ppoll` `__ppoll_chk` `pselect` `epoll_pwait` `epoll_pwait2` `pause` `sigpause` `__xpg_sigpause` `__sigpause` | waiting is not interrupted by samples |
//! | `signals::poll` | `poll` `__poll_chk` `select` `epoll_wait` | the same, with `realtime`, and with `task-clock` where SIGTRAP is not on loan |
//! | `signals::hold` | `sleep` `usleep` `nanosleep` `__nanosleep` `clock_nanosleep` `thrd_sleep` `sem_timedwait` `sem_clockwait` `semop` `semtimedop` `msgsnd` `msgrcv` `recv` `recvfrom` `recvmsg` `recvmmsg` `accept` `accept4` `__recv_chk` `__recvfrom_chk` `send` `sendto` `sendmsg` `sendmmsg` `connect` `aio_suspend` `aio_suspend64` `lio_listio` `lio_listio64` `gai_suspend` `getrandom` `fallocate` `fallocate64` `posix_fallocate` `posix_fallocate64` `tcdrain` `tcsendbreak`, waits by `syscall` | the same, with either |
//! | `signals::wait` | `sigwait` `sigwaitinfo` `sigtimedwait` `signalfd` | samples are not waited away |
//! | `signals::histogram` | `__monstartup` `monstartup` `moncontrol` `profil` `sprofil` | the C library's own profiler does not take the signal |
//! | `signals::alternate_stack` | `sigaltstack` `sigstack` | the collector's handlers run on an alternate stack of their own |
//! | [`exec`] | `execve` `execv` `execvp` `execvpe` `execl` `execlp` `execle` `fexecve` `execveat` | a pending sample must not kill the new program |
//! | [`reach`] | `posix_spawn` `posix_spawnp` `system` `popen` | what cannot be followed is counted, and finds no dead path |
//! | [`fork`] | `_Fork` (and handlers of pthread_atfork) | the child has an arena of its own |
//! | [`fork`] | `vfork` | the child borrows the parent's memory: nothing may be done in it |
//! | [`threads`] | `pthread_create` `thrd_create` | new threads are sampled |
//! | [`dl`] | `dlopen` `dlmopen` `dlclose` `dlsym` | the load map follows; the caller's address is kept |
//! | [`exceptions`] | `_Unwind_RaiseException` `_Unwind_Resume` `_Unwind_Resume_or_Rethrow` `_Unwind_ForcedUnwind` `_Unwind_Backtrace` `backtrace` `_dl_find_object` `dl_iterate_phdr` `_Unwind_SetIP` | unwinders see real return addresses; where an exception goes on |
//! | [`jumps`] | `longjmp` `_longjmp` `siglongjmp` `__longjmp_chk` | frames that are left do not return |
//! | [`files`] | `close` `close_range` `closefrom` `dup2` `dup3` | the files of sample sources stay open |
//! | [`places`] | `chroot` `pivot_root` `setns` `unshare` | the run's folder stays in reach of children |
//! | [`alloc`] | `malloc` `calloc` `realloc` `posix_memalign` `aligned_alloc` `memalign` `valloc` `pvalloc` `free` | what is asked of the allocator is counted |
//! | [`calls`] | `sched_yield` | calls are counted, and sampled without a signal |
//! | `io` | `read` `__read_chk` `pread` `pread64` `__pread_chk` `__pread64_chk` `readv` `preadv` `preadv64` `preadv2` `preadv64v2` `write` `pwrite` `pwrite64` `writev` `pwritev` `pwritev64` `pwritev2` `pwritev64v2` `sendfile` `sendfile64` `splice` `copy_file_range` `fsync` `fdatasync` `sync_file_range` `msync` `sync` `syncfs`; `recv`, `send` and their kind, of `signals::hold`; streams, by `streams` | samples do not cut them short; bytes, and the time of it, are counted |
//! | `locked_memory` | `mlockall` | memory of the collector does not count against the program's limit |
//! | `locks` | `pthread_mutex_lock` `pthread_mutex_timedlock` `pthread_mutex_clocklock` `pthread_rwlock_rdlock` `pthread_rwlock_timedrdlock` `pthread_rwlock_clockrdlock` `pthread_rwlock_wrlock` `pthread_rwlock_timedwrlock` `pthread_rwlock_clockwrlock` `mtx_lock` `mtx_timedlock` `pthread_cond_wait` `pthread_cond_timedwait` `pthread_cond_clockwait` `cnd_wait` `cnd_timedwait` `sem_wait` `pthread_barrier_wait` `pthread_join` `pthread_timedjoin_np` `pthread_clockjoin_np` `thrd_join`; `sem_timedwait`, `sem_clockwait` of `signals::hold` | the time that threads wait for each other is counted |
//! | `mpi` | none: by `imports`, places where modules have addresses of MPI's functions | time in MPI, or its bytes, are counted |
//! | `regions` | none: by `imports`, places where modules have addresses of libgomp's functions | what workers do in a parallel region is below it |
//! | `ompt` | `ompt_start_tool` | the same with LLVM's OpenMP, which tells when regions begin |
//! | [`aliases`] | `__sigsuspend` `__poll` `__select` `__vfork` `__clone` `_IO_popen` `cfree` `__backtrace` `__sched_yield` `__pthread_mutex_lock` `__pthread_rwlock_rdlock` `__pthread_rwlock_wrlock` | second names of the above |
//! | [`words`] | `csprof_count` `csprof_phase` | what the program says by `csprof.h` |
//! | [`sandbox`] | `prctl` `syscall` `clone` `ptrace` | seccomp would make the collector's system calls deadly; threads that cannot be sampled are counted |
//!
//! Not here, on purpose: `exit`, `_exit`, `quick_exit`, `abort` (the arena is shared memory and
//! needs no farewell), `pthread_exit` (see [`threads`]).
//!
//! Invariant: the dynamic symbol table holds these names and no others; `tests/preload.rs`
//! compares. Calls made inside the C library do not come here, so a function that uses another
//! one internally needs a wrapper of its own.

#![expect(unsafe_code, reason = "entries of .init_array and .fini_array")]

use crate::c_library;
use crate::lifecycle;
use crate::modules;
mod aliases;
mod alloc;
mod calls;
mod counted;
mod dl;
mod exceptions;
mod exec;
mod files;
mod filter;
mod fork;
mod imports;
mod io;
mod jumps;
mod locked_memory;
mod locks;
mod mappings;
mod mpi;
mod ompt;
mod places;
mod program;
mod reach;
mod readable;
mod real;
mod regions;
mod sandbox;
mod signals;
mod streams;
mod stub;
mod threads;
mod under_way;
mod view;
mod words;

use core::ffi::{c_char, c_int};

use crate::process;

/// Run by the dynamic linker before all other constructors (`-z initfirst`), so that theirs are
/// sampled: those of C++ libraries may take long. Another library that asks for the same takes
/// precedence if it is loaded later; calls that come before this one find their own real functions.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = construct;

/// Run by exit(3), after the program's own destructors and exit handlers.
#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = destruct;

extern "C" fn construct(
    _count: c_int,
    _arguments: *const *const c_char,
    environment: *const *const c_char,
) {
    if c_library::environment().is_null() {
        // SAFETY: the kernel's vector. The C library's constructor comes later and assigns the
        // same.
        unsafe { c_library::set_environment(environment) };
    }
    real::find_all();
    modules::remember_own();
    real::find_unwinder();
    signals::action::remember_inherited();
    reach::remember();
    reach::take_back();
    signals::action::pass_on();
    signals::inherit::remember_mask();
    lifecycle::start(signals::trap::by_default as *mut _);
    if !process::active() {
        signals::inherit::leave_mask();
        return;
    }
    stub::engage();
    alloc::begin();
    mappings::begin();
    signals::relatives::find();
    io::watch();
    streams::count();
    mpi::count();
    regions::follow();
    threads::begin();
    locks::leave_watched();
    threads::create_key();
    threads::watch_end();
    if !fork::register() {
        crate::messages::note("children made by fork are not sampled: pthread_atfork failed");
    }
}

extern "C" fn destruct() {
    if process::active() {
        crate::modules::after_note();
        lifecycle::at_exit();
    }
}
