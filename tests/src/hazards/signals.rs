//! Signals: handlers on other stacks and inside each other, and programs that use the profiling
//! signal themselves.

use std::fs;

use super::processes::nothing_is_damaged;
use crate::hazard::{Hazard, Trial};
use crate::notes::skip;

/// All of them.
pub const ALL: &[Hazard] = &[
    Hazard::new(
        "default_profiling_signal",
        &["cc -O2 -pthread -o program @default_profiling_signal.c"],
    )
    .says(ENDED_BY_SIGPROF)
    .by_two()
    .also(nothing_is_damaged),
    Hazard::new("kernel_actions", &["cc -O2 -o program @kernel_actions.c"])
        .by_two()
        .says(
            "SIGPROF: 0 default mask 0\n\
             set: 0\n\
             10: 0 handled here mask 800\n\
             set: 0\n\
             27: 0 handled here mask 800\n\
             seen: 2\n\
             ignored: 0, before handled\n\
             SIGPROF: 0 ignored mask 0, seen: 2\n\
             \x20-1 0 0 0 -1 -1 1 -1 1 -1 1 -1 1 -1 1\n\
             kept: 0\n\
             executed: 0 default mask 0, blocked: 0\n\
             child: 0\n\
             executed: 0 default mask 0, blocked: 0\n\
             child: 0\n\
             executed: 0 default mask 0, blocked: 0\n\
             child: 0\n\
             executed: 0 default mask 0, blocked: 1\n\
             child on this memory: 0, was handled: 1, seen: 1\n\
             executed: 0 default mask 0, blocked: 1\n\
             child on this memory: 0, was handled: 1, seen: 1\n\
             executed: 0 default mask 0, blocked: 1\n\
             child on this memory: 0, was handled: 1, seen: 1\n",
        )
        .also(nothing_is_damaged),
    Hazard::new("calls_by_number", &["cc -O2 -pthread -o program @calls_by_number.c"])
        .command(&[
            "sh",
            "-c",
            "for way in stack pending executes executes_file executes_with_little closes forks \
             limits exits ends; do ./program $way; echo $?; done",
        ])
        .by_two()
        .says(
            "stack: 0 1 1 1 1 1 -1 -1 1 -1 1\n0\n\
             pending: 0\n0\n\
             failed: 3\nexecuted: 0\n0\n\
             executed: 0\n0\n\
             failed: 3\nexecuted: 0\n0\n\
             closed: 3 3\n0\n\
             forked: 300\n0\n\
             limited: 1 3\n0\n\
             7\n\
             7\n",
        ),
    Hazard::new("bad_pointers", &["cc -O2 -w -o program @bad_pointers.c"]).by_two().says(
        "\x20ppoll -1, pselect -1, epoll_pwait -1, sigsuspend -1, sigwaitinfo -1, \
             sigtimedwait -1, sigwait 14, signalfd -1, sigaltstack -1, \
             sigaltstack_told -1, execve -1, execve_arguments -1, \
             execve_environment -1, execve_variable -1, execv -1, posix_spawn 14, \
             posix_spawn_environment 14,\n\
             \x20ppoll -1, pselect -1, epoll_pwait -1, sigsuspend -1, sigwaitinfo -1, \
             sigtimedwait -1, sigwait 14, signalfd -1, sigaltstack -1, \
             sigaltstack_told -1, execve -1, execve_arguments -1, \
             execve_environment -1, execve_variable -1, execv -1, posix_spawn 14, \
             posix_spawn_environment 14,\n\
             setcontext -1\n",
    ),
    // Not by clang 14, which knows no exceptions of other instructions than calls.
    Hazard::new(
        "alternate_stack",
        &["c++ -O2 -w -fnon-call-exceptions -o program @alternate_stack.cpp"],
    )
    .variants(&["", "-static-libgcc -static-libstdc++", "-O0", "-fcf-protection"])
    .in_gate(2)
    .says("returned 600, jumped 600, caught 600, cleaned 7200, overflowed 200\n"),
    Hazard::new("nested_signals", &["cc -O2 -o program @nested_signals.c"])
        .by_two()
        .variants(&["", "-O0", "-O3 -fomit-frame-pointer", "clang"])
        .says("deepest 5, again 12000, ticked 1, handled 3000 3000 3000 3000 3000\n"),
    // No walk goes from a task's stack to another one.
    Hazard::new("handlers_elsewhere", &["cc -O2 -w -pthread -o program @handlers_elsewhere.c"])
        .command(&["sh", "-c", "./program && ./program profiling"])
        .by_two()
        .says(
            "told the same: 1, moved often, with an alternate stack: 0\n\
             told the same: 1, moved often, with an alternate stack: 0\n",
        ),
    Hazard::new("queued_signals", QUEUED)
        .says("3649838848\n")
        .also(enough_were_queued),
    Hazard::new("queued_signals_without_files", QUEUED)
        .command(&["./program", "full"])
        .says("3649838848\n")
        .also(enough_were_queued),
    Hazard::new("ended_waits", &["cc -O2 -w -o program @ended_waits.c"]).says(
        "sigsuspend: ended 10, mask kept 1, came outside 0, blocked in handlers 1\n\
             ppoll: ended 10, mask kept 1, came outside 0, blocked in handlers 1\n\
             pselect: ended 10, mask kept 1, came outside 0, blocked in handlers 1\n\
             epoll_pwait: ended 10, mask kept 1, came outside 0, blocked in handlers 1\n\
             pause: ended 10, mask kept 1, came outside 0, blocked in handlers 1\n\
             sigpause: ended 10, mask kept 1, came outside 0, blocked in handlers 1\n\
             sigsuspend: ended 10, mask kept 1, came outside 0, blocked in handlers 1\n\
             ppoll: ended 10, mask kept 1, came outside 0, blocked in handlers 1\n\
             pselect: ended 10, mask kept 1, came outside 0, blocked in handlers 1\n\
             epoll_pwait: ended 10, mask kept 1, came outside 0, blocked in handlers 1\n\
             sigsuspend: blocked 1, came in the handler 1\n\
             ppoll: blocked 1, came in the handler 1\n\
             pselect: blocked 1, came in the handler 1\n\
             epoll_pwait: blocked 1, came in the handler 1\n\
             sigsuspend: blocked 1, came in the handler 1\n\
             ppoll: blocked 1, came in the handler 1\n\
             pselect: blocked 1, came in the handler 1\n\
             epoll_pwait: blocked 1, came in the handler 1\n",
    ),
    Hazard::new("traps", &["cc -O2 -w -pthread -o program @traps.c"])
        .by_two()
        .variants(&["", "clang"])
        .says(
            "breakpoint:\n\
             \x20 killed by signal 5\n\
             raised:\n\
             \x20 killed by signal 5\n\
             sent:\n\
             \x20 killed by signal 5\n\
             blocked:\n\
             \x20 blocked 1, pending 1\n\
             \x20 killed by signal 5\n\
             blocked often:\n\
             \x20 lost 0\n\
             sent while blocked:\n\
             \x20 blocked 1, pending 1\n\
             \x20 blocked 1, pending 0\n\
             blocked breakpoint:\n\
             \x20 killed by signal 5\n\
             ignored breakpoint:\n\
             \x20 ignored\n\
             \x20 killed by signal 5\n\
             handled:\n\
             \x20 was default, flags 0\n\
             \x20 was default, flags 0\n\
             \x20 got 1, code -6, on stack 1, masked 110\n\
             \x20 got 2, code 128, on stack 1, masked 110\n\
             \x20 now info, flags 8000004, usr1 1\n\
             \x20 signal: was info\n\
             \x20 now number, info 0, restart 1\n\
             \x20 blocked 1, pending 1, got 2\n\
             \x20 blocked 0, pending 0, got 3\n\
             \x20 sigset: was number\n\
             \x20 signal: was ignore\n\
             \x20 signal: was default\n\
             \x20 got 4, now default\n\
             awaited:\n\
             \x20 sigwait 5, pending 0\n\
             \x20 sigtimedwait 5, code 0\n\
             \x20 signalfd 5, code -6, blocked 1\n\
             handler beside threads:\n\
             \x20 got 0\n\
             children:\n\
             \x20 bad 0\n\
             \x20 bad 0\n\
             interrupted:\n\
             \x20 restart 0: as asked\n\
             \x20 restart 1: as asked\n",
        ),
    // Those that sleep, or wait for a semaphore or a socket with a time limit, may end early where
    // task-clock does not come by SIGTRAP; `system::signals` looks at them.
    Hazard::new("interrupted_waits", &["cc -O2 -pthread -o program @interrupted_waits.c"])
        .variants(&["", "-D_FORTIFY_SOURCE=2", "clang"])
        .command(&["./program", "60", "files"])
        .says("interrupted 0\n"),
    Hazard::new("own_profiler", &["cc -O2 -pthread -o program @own_profiler.c"])
        .variants(&["", "-O0", "clang"])
        .says(
            "interval timer: ticks 1, wrong 0\n\
             POSIX timer: ticks 1, wrong 0\n\
             raised: 100, wrong 0\n\
             killed: 1, wrong 0\n\
             told by a file: 1, wrong 0\n\
             blocked: 0, then 1\n\
             to and in a thread: 2\n\
             once: 1, then default 1\n\
             ignored: 0\n\
             left: 10\n\
             slow: 5\n\
             ended: 1, not 0\n\
             masks in a handler: 5, wrong 0\n\
             odd: flags 10000000, itself 1, kill 0\n\
             signal: flags 10000000, itself 1, kill 0\n\
             sysv_signal: flags c0000000, itself 0, kill 0\n",
        ),
    Hazard::new("own_profiling_signal", &["cc -O2 -w -o program @own_profiling_signal.c"])
        .variants(&["", "clang"])
        .says(
            "inherited default\n\
             sigaction 0\n\
             reads back second restart 1 usr2 1 usr1 0\n\
             signal second\n\
             bsd_signal first\n\
             refused 1 1\n\
             sysv_signal ignore\n\
             one shot 1\n\
             sigset first\n\
             blocked\n\
             sigset hold\n\
             open\n\
             sigignore 0\n\
             sighold 0 blocked\n\
             sigrelse 0 open\n\
             siginterrupt 0\n\
             usr1 masks prof 1 usr2 1\n\
             block all 0\n\
             was 0 blocked\n\
             set 0\n\
             was 1 open\n\
             bad how -1 Invalid argument open\n\
             sigblock 0\n\
             siggetmask 0x4000200\n\
             sigsetmask 0x4000200\n\
             sigsetmask 0x200\n\
             setitimer 0\n\
             interval 3000 left 1\n\
             bad time -1 Invalid argument\n\
             stop 0\n\
             interval 3000\n\
             stopped 1\n\
             timer_create 0\n\
             timer_settime 0\n\
             left 1\n\
             timer_delete 0\n",
        ),
    Hazard::new("blocked_signals", &["cc -O2 -pthread -o program @blocked_signals.c"])
        .variants(&["", "clang"])
        .says(
            "all blocked: here 1, thread 1, result 1\n\
             thrd_create: thread 1, result 7\n\
             none blocked: here 0, thread 0\n\
             impossible: Resource temporarily unavailable\n",
        )
        .also(threads_are_sampled),
    Hazard::new("waits", &["cc -O2 -o program @waits.c"])
        .variants(&["", "-D_FORTIFY_SOURCE=2", "clang"])
        .by_two()
        .says(
            "sigsuspend: -1 Interrupted system call, handler got usr1\n\
             ppoll: -1 Interrupted system call, handler got usr1\n\
             pselect: -1 Interrupted system call, handler got usr1\n\
             epoll_pwait: -1 Interrupted system call, handler got usr1\n\
             epoll_pwait2: -1 Interrupted system call, handler got usr1\n\
             ppoll without mask: 0 ok, handler got none\n\
             pause: -1 Interrupted system call, handler got usr1\n\
             sigwait: 0 User defined signal 1\n\
             sigwaitinfo: User defined signal 1\n\
             sigtimedwait: User defined signal 1\n\
             sigtimedwait without signal: -1 Resource temporarily unavailable\n\
             signalfd: 128 User defined signal 1\n\
             signalfd again: 1\n",
        ),
    Hazard::new("inherited_signals", &["cc -O2 -w -o program @inherited_signals.c"])
        .variants(&["", "clang"])
        .by_two()
        .says(
            "0: default 27 default 27 default 27 default 27 default 27 default 27 default 27 default 27 \
             default 27 default 27\n\
             1: ignored ignored ignored ignored ignored ignored ignored ignored ignored\n\
             2: default blocked default blocked default blocked default blocked default blocked \
             default blocked default blocked default blocked default blocked default blocked \
             default blocked and waits\n\
             3: ignored blocked ignored blocked ignored blocked ignored blocked ignored blocked \
             ignored blocked ignored blocked ignored blocked ignored blocked\n",
        ),
    // The whole of its time is in the coroutine, where no sample is lost, and none late.
    Hazard::new("masked_coroutine", &["cc -O2 -o program @masked_coroutine.c"])
        .says("blocked 1\n")
        .also(samples_come_in_the_coroutine),
    Hazard::new("saved_masks", &["cc -O2 -w -pthread -o program @saved_masks.c"])
        .variants(&["", "-D_FORTIFY_SOURCE=2", "clang"])
        .says(
            "open before\n\
             after siglongjmp: open, came\n\
             \x20then came\n\
             after a jump that keeps the mask: blocked, waits\n\
             \x20then came\n\
             after a small jmp_buf: open, came\n\
             \x20then came\n\
             changed behind it: 0\n\
             after setcontext: open, came\n\
             \x20then came\n\
             after setcontext with another mask: blocked, waits\n\
             \x20then came\n\
             in another context: open, came\n\
             \x20then came\n\
             back again: blocked, waits\n\
             \x20then came\n\
             there again: blocked, waits\n\
             \x20then came\n\
             and again: open, came\n\
             \x20then came\n\
             attributes 0, same 1\n\
             in a thread: open, came\n\
             \x20then came\n\
             meanwhile: blocked, waits\n\
             \x20then came\n\
             blocked before\n\
             after siglongjmp: blocked, waits\n\
             \x20then came\n\
             after a jump that keeps the mask: open, came\n\
             \x20then came\n\
             after a small jmp_buf: blocked, waits\n\
             \x20then came\n\
             changed behind it: 0\n\
             after setcontext: blocked, waits\n\
             \x20then came\n\
             after setcontext with another mask: blocked, waits\n\
             \x20then came\n\
             in another context: blocked, waits\n\
             \x20then came\n\
             back again: open, came\n\
             \x20then came\n\
             there again: blocked, waits\n\
             \x20then came\n\
             and again: open, came\n\
             \x20then came\n\
             attributes 0, same 1\n\
             in a thread: blocked, waits\n\
             \x20then came\n\
             meanwhile: open, came\n\
             \x20then came\n",
        ),
    Hazard::new("handlers_in_waits", &["cc -O2 -w -pthread -o program @handlers_in_waits.c"])
        .variants(&["", "clang"])
        .by_two()
        .says(
            "deepest 1, open 0\n\
             deepest 1, open 0\n\
             saved and restored: blocked 0, came 1\n\
             blocked in a handler: blocked 0, came 1\n\
             all blocked in a handler: blocked 0, came 1\n\
             raised in a handler: blocked 0, came 1\n\
             received 1, seen blocked 0\n\
             received 1, seen blocked 0\n\
             0 0 0 0 0 0\n\
             0 0 0 0 0 0\n\
             left: blocked 1\n\
             opened: blocked 0\n\
             left: blocked 1\n\
             opened: blocked 0\n\
             received 1, seen blocked 0\n\
             at last: blocked 0, came 1\n",
        ),
    Hazard::new("thread_ends", &["cc -O2 -pthread -o program @thread_ends.c"])
        .variants(&["", "-O0", "-static-libgcc", "-fexceptions", "-fcf-protection"])
        .by_two()
        .says(
            "return: returned, cleaned 1, destroyed 1\n\
             pthread_exit: left, cleaned 2, destroyed 2\n\
             sigsuspend: canceled, cleaned 3, destroyed 3\n\
             pause: canceled, cleaned 4, destroyed 4\n\
             ppoll: canceled, cleaned 5, destroyed 5\n\
             pselect: canceled, cleaned 6, destroyed 6\n\
             epoll_pwait: canceled, cleaned 7, destroyed 7\n\
             sigwait: canceled, cleaned 8, destroyed 8\n\
             sigwaitinfo: canceled, cleaned 9, destroyed 9\n\
             sigtimedwait: canceled, cleaned 10, destroyed 10\n\
             sleep: canceled, cleaned 11, destroyed 11\n\
             recv: canceled, cleaned 12, destroyed 12\n\
             sem_timedwait: canceled, cleaned 13, destroyed 13\n\
             asynchronous: canceled, cleaned 14, destroyed 14\n\
             thrd_exit: 23\n\
             detached: cleaned 34, destroyed 34\n",
        ),
];

/// The whole time of the program.
fn samples_come_in_the_coroutine(trial: &Trial<'_>) {
    trial.assert_worked(|recording| recording.rows().inclusive_of("work_blocked"), 300);
}

const QUEUED: &[&str] = &["cc -O2 -w -pthread -o program @queued_signals.c"];

/// Says so where the user may have fewer signals waiting (RLIMIT_SIGPENDING): the program is then
/// one that merely works.
fn enough_were_queued(trial: &Trial<'_>) {
    let queued = fs::read_to_string(trial.program.workshop.path("queued")).unwrap();
    if queued.parse::<u32>().unwrap() < 20_000 {
        let why = format!("{queued} signals waited of 40000 (`ulimit -i`), which proves little");
        skip("queued_signals", &why);
    }
}

/// Three threads of 60 ms.
fn threads_are_sampled(trial: &Trial<'_>) {
    trial.assert_worked(|recording| recording.rows().inclusive_of("work"), 3 * 60);
}

const ENDED_BY_SIGPROF: &str = "\
changed: 0, by vfork 0, by hand 0
0: signal 27
1: signal 27
2: signal 27
3: signal 27
4: signal 27
5: signal 27
6: signal 27
7: signal 27
8: signal 27
9: status 21
10: status 22
11: status 23
";
