//! Walks of this process's own stacks, compared with the C runtime's unwinder.
//!
//! The processor's trap flag raises SIGTRAP after every instruction (Intel SDM volume 3, 17.3.1.4).
//! The handler walks from the interrupted registers and asks `backtrace(3)` for the same: so each
//! instruction of real code is a sample, prologues, epilogues and linkage tables included, and no
//! timer is needed.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![expect(unsafe_code, reason = "signal handlers, registers and the C runtime's unwinder")]
#![expect(clippy::print_stderr, reason = "says what was compared, and what was skipped")]

mod kernels;
mod process;

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::hint::black_box;
use std::ops::Range;
use std::path::PathBuf;
use std::process::Command;
use std::ptr;

use csprof_collector::arch::unwind::registers::Registers;
use csprof_collector::unwind::cache::RecipeCache;
use csprof_collector::unwind::walk::{End, Exit, Flow, Frame, Target as _, walk};
use csprof_format::address::FrameKind;
use process::Process;

unsafe extern "C" {
    /// backtrace(3): return addresses from its caller outwards.
    fn backtrace(buffer: *mut *mut c_void, size: c_int) -> c_int;
}

/// Longer than any path here.
const LONGEST: usize = 30_000;

/// What one thread observes about itself; its signal handlers write to it.
struct Watch {
    process: Process,
    cache: Box<RecipeCache>,
    walked: Vec<Frame>,
    traced: Vec<*mut c_void>,
    end: End,
    samples: u64,
    frames: u64,
    signal_frames: u64,
    plt_entries: u64,
    /// The callers of a linkage table entry that the C runtime could not unwind; they must be those
    /// of the function that the entry leads to. Empty unless the last sample was such.
    callers: Vec<u64>,
    /// Those of the last sample.
    last_callers: Vec<u64>,
    /// What is compared with.
    reference: Reference,
    /// The first sample on which walk and reference disagree.
    difference: Option<(Vec<Frame>, End, Vec<u64>)>,
}

/// Whether a function that gcc gave a realigned stack is at its end, `lea -8(%r10),%rsp; ret`. Its
/// CFI has rbp saved at rbp still, which is the caller's already, so that backtrace(3) skips
/// frames; the callers must be those of the instruction before.
fn ends_realigned(process: &Process, pc: u64) -> bool {
    const END: [u8; 5] = [0x49, 0x8d, 0x62, 0xf8, 0xc3];
    let (lea, ret) = END.split_at(4);
    let mut around = [0; END.len() + 4];
    let start = pc - lea.len() as u64;
    let is_code = |text: Range<u64>| text.contains(&start) && text.end - pc >= END.len() as u64;
    if !process.text_of(pc).is_some_and(is_code) {
        return false;
    }
    process.copy_text(start, &mut around);
    let (before, from) = around.split_at(lea.len());
    from == END || before == lea && from.starts_with(ret)
}

/// What says that a walk is right.
enum Reference {
    /// backtrace(3)
    Unwinder,
    /// Callers, outermost last, that are on the stack all the time; none before the first sample.
    /// Inside of an unwinder backtrace(3) knows no better.
    Callers(Vec<u64>),
}

thread_local! {
    static WATCH: Cell<*mut Watch> = const { Cell::new(ptr::null_mut()) };
    static STEPPING: Cell<bool> = const { Cell::new(false) };
}

impl Watch {
    fn start(process: Process) -> Watching {
        let mut watch = Box::new(Self {
            process,
            cache: Box::new(RecipeCache::new()),
            walked: Vec::with_capacity(LONGEST),
            traced: vec![ptr::null_mut(); LONGEST],
            end: End::Stopped,
            samples: 0,
            frames: 0,
            signal_frames: 0,
            plt_entries: 0,
            callers: Vec::with_capacity(LONGEST),
            last_callers: Vec::with_capacity(LONGEST),
            reference: Reference::Unwinder,
            difference: None,
        });
        // The first call loads libgcc_s, which a handler must not.
        // SAFETY: the buffer is as long as said.
        unsafe { backtrace(watch.traced.as_mut_ptr(), 1) };
        let watch = Box::into_raw(watch);
        WATCH.set(watch);
        Watching(watch)
    }

    /// Walks from the interrupted registers.
    fn sample(&mut self, start: &Registers) {
        self.walked.clear();
        let walked = &mut self.walked;
        self.end = walk(start, FrameKind::Leaf, &mut self.cache, &self.process, |frame| {
            if walked.len() == walked.capacity() {
                return Flow::Stop;
            }
            walked.push(*frame);
            Flow::Continue
        });
        self.samples += 1;
        self.frames += self.walked.len() as u64;
        self.signal_frames +=
            self.walked.iter().filter(|frame| frame.exit == Exit::Signal).count() as u64;
        let plt = |frame: &&Frame| matches!(frame.exit, Exit::Return { plt: true, .. });
        self.plt_entries += self.walked.iter().filter(plt).count() as u64;
    }

    /// Whether the walk came to the callers of the first sample, through whatever is inside.
    fn compare_callers(&mut self) {
        let Reference::Callers(callers) = &mut self.reference else { return };
        let callers_walked = self.walked.iter().skip(1).map(|frame| frame.address);
        if callers.is_empty() {
            callers.extend(callers_walked);
        } else if self.difference.is_none()
            && !(callers_walked.rev().take(callers.len()).eq(callers.iter().rev().copied())
                && self.end == End::Complete)
        {
            self.difference = Some((self.walked.clone(), self.end, callers.clone()));
        }
    }

    /// Asks the C runtime for the same path. The handler's own frames precede it.
    fn compare(&mut self, pc: u64) {
        // SAFETY: the buffer is as long as said, and libgcc_s is loaded already.
        let length = unsafe { backtrace(self.traced.as_mut_ptr(), LONGEST as c_int) };
        let traced = self.traced.get(..length as usize).unwrap_or_default();
        let same = traced
            .iter()
            .position(|address| *address as u64 == pc)
            .and_then(|first| traced.get(first..))
            .is_some_and(|path| {
                path.len() == self.walked.len()
                    && path.iter().zip(&self.walked).all(|(a, frame)| *a as u64 == frame.address)
            });
        let walked_callers = self.walked.iter().skip(1).map(|frame| frame.address);
        // lld's linkage tables have no CFI, so that backtrace(3) ends in them.
        let ended = traced.last().is_some_and(|last| *last as u64 == pc);
        let leaf_in_plt = self
            .walked
            .first()
            .is_some_and(|frame| matches!(frame.exit, Exit::Return { plt: true, .. }));
        let same = if ends_realigned(&self.process, pc) {
            walked_callers.eq(self.last_callers.iter().copied())
        } else if ended && leaf_in_plt {
            self.callers.clear();
            self.callers.extend(walked_callers);
            true
        } else {
            let led_here =
                self.callers.is_empty() || self.callers.iter().copied().eq(walked_callers);
            self.callers.clear();
            same && led_here
        };
        self.last_callers.clear();
        self.last_callers.extend(self.walked.iter().skip(1).map(|frame| frame.address));
        if !(same && self.end == End::Complete) && self.difference.is_none() {
            let traced = traced.iter().map(|address| *address as u64).collect();
            self.difference = Some((self.walked.clone(), self.end, traced));
        }
    }

    fn report(&self, what: &str) {
        eprintln!(
            "{what}: {} samples, {} frames, {} signal frames, {} linkage table entries",
            self.samples, self.frames, self.signal_frames, self.plt_entries
        );
        if let Some((walked, end, traced)) = &self.difference {
            panic!("walk {end:?} {walked:#x?}\nexpected {traced:#x?}");
        }
        assert!(self.samples > 0, "{what}");
    }
}

/// The thread is being watched; what was seen can be read between its signals.
struct Watching(*mut Watch);

impl Watching {
    fn reference(&mut self, reference: Reference) {
        // SAFETY: as in `deref`.
        unsafe { (*self.0).reference = reference };
    }
}

impl std::ops::Deref for Watching {
    type Target = Watch;

    fn deref(&self) -> &Watch {
        // SAFETY: alive until dropped, and handlers of this thread, which alone write to it, have
        // returned whenever its other code runs.
        unsafe { &*self.0 }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        WATCH.set(ptr::null_mut());
        // SAFETY: made by Box::into_raw in `start`, and no handler finds it any more.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// The bit of the flags register that makes the processor trap after each instruction.
const TRAP_FLAG: i64 = 0x100;

/// Handles SIGTRAP (every instruction while stepping) and SIGUSR2 (one sample).
extern "C" fn observe(signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: a handler installed with SA_SIGINFO gets a ucontext_t (sigaction(2)).
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    if signal == libc::SIGTRAP && !STEPPING.get() {
        context.uc_mcontext.gregs[libc::REG_EFL as usize] &= !TRAP_FLAG;
        return;
    }
    let start = Registers::from_gregs(&context.uc_mcontext.gregs);
    let watch = WATCH.get();
    if kernels::sample(&start) || watch.is_null() {
        return;
    }
    // SAFETY: set by this thread to a live Watch, which the interrupted code does not touch
    // while its signals can arrive.
    let watch = unsafe { &mut *watch };
    watch.sample(&start);
    match watch.reference {
        Reference::Unwinder => watch.compare(start.ip),
        Reference::Callers(_) => watch.compare_callers(),
    }
}

fn install(
    signal: c_int,
    handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void),
    flags: c_int,
) {
    // SAFETY: a zeroed sigaction is valid, and the handler has the type that SA_SIGINFO asks for.
    let status = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | flags;
        libc::sigaction(signal, &action, ptr::null_mut())
    };
    assert_eq!(status, 0);
}

/// Runs `code` with a sample after each of its instructions.
fn step_through<R>(code: impl FnOnce() -> R) -> R {
    install(libc::SIGTRAP, observe, 0);
    STEPPING.set(true);
    // SAFETY: sets the trap flag only; SIGTRAP has a handler.
    unsafe {
        std::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq");
    }
    let result = code();
    STEPPING.set(false);
    result
}

/// Descends `depth` calls and runs `bottom` there. The frame stays live across the call.
#[inline(never)]
fn descend(depth: u32, bottom: &mut dyn FnMut()) -> u32 {
    if depth == 0 {
        bottom();
        return 0;
    }
    black_box(descend(black_box(depth - 1), bottom)) + 1
}

/// A little of everything: allocation, formatting, hashing, sorting, floating point, system calls.
fn various_code() {
    let mut words: Vec<String> =
        (0..12).map(|n| format!("{:.2}-{n:x}", f64::from(n).sin())).collect();
    words.sort();
    let lengths: std::collections::HashMap<&str, usize> =
        words.iter().map(|word| (word.as_str(), word.len())).collect();
    black_box(lengths.values().sum::<usize>());
    black_box(std::time::Instant::now());
    black_box(std::fs::metadata("/proc/self/exe").map(|file| file.len()).ok());
    black_box(words.join(" ").parse::<f64>().is_err());
}

#[test]
fn every_instruction_of_various_code() {
    let watch = Watch::start(Process::now());
    step_through(various_code);
    watch.report("various code");
    assert!(watch.samples > 10_000, "the trap flag had no effect");
}

/// A frame with something to clean up, where the unwinder stops on its way and goes on.
#[inline(never)]
fn descend_and_throw(depth: u32, dropped: &Cell<u32>) -> u32 {
    struct Guard<'a>(&'a Cell<u32>);
    impl Drop for Guard<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    if depth == 0 {
        std::panic::resume_unwind(Box::new(7_u32));
    }
    let _guard = depth.is_multiple_of(2).then(|| Guard(dropped));
    black_box(descend_and_throw(black_box(depth - 1), dropped)) + 1
}

/// The unwinder's last instructions too, in which its own CFI is wrong.
#[test]
fn every_instruction_of_a_throw() {
    let mut watch = Watch::start(Process::now());
    watch.reference(Reference::Callers(Vec::with_capacity(LONGEST)));
    let dropped = Cell::new(0);
    let throw = || descend_and_throw(6, &dropped);
    let caught = step_through(|| std::panic::catch_unwind(std::panic::AssertUnwindSafe(throw)));
    assert_eq!((caught.unwrap_err().downcast_ref(), dropped.get()), (Some(&7_u32), 3));
    watch.report("a throw");
}

#[test]
fn every_instruction_in_a_thread_that_ends() {
    let thread = std::thread::spawn(|| {
        let watch = Watch::start(Process::now());
        step_through(|| black_box([1, 2, 3].iter().map(|n| n.to_string()).collect::<String>()));
        watch.report("a thread");
    });
    thread.join().unwrap();
}

/// A function of `fixture.c`, built by gcc; `None`, and a line that says so, if it cannot be.
fn fixture(name: &CStr) -> Option<extern "C" fn() -> f64> {
    let found = symbol(build("fixture", name.to_str().ok()?, &["-lm"])?, name);
    // SAFETY: the functions of that file have this type in their source.
    Some(unsafe { std::mem::transmute::<*mut c_void, extern "C" fn() -> f64>(found) })
}

/// Loads a library that gcc builds from the source file of that name, for the test of that name;
/// `None`, and a line that says so, if it cannot be.
fn build(source: &str, name: &str, arguments: &[&str]) -> Option<*mut c_void> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live_unwind");
    let source = PathBuf::from(folder).join(source).with_extension("c");
    let library = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("lib{name}.so"));
    let built = Command::new("gcc")
        .args(["-shared", "-fPIC", "-O2", "-fno-builtin", "-Wl,-z,lazy", "-o"])
        .args([&library, &source])
        .args(arguments)
        .status();
    if !built.is_ok_and(|status| status.success()) {
        eprintln!("skipped: gcc cannot build {name} here");
        return None;
    }
    let path = std::ffi::CString::new(library.to_str()?).ok()?;
    // SAFETY: the string ends in a zero byte; constructors that come with the library may run here.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY) };
    assert!(!handle.is_null());
    Some(handle)
}

/// What a loaded library has under this name.
fn symbol(library: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: a handle of dlopen's, and a string that ends in a zero byte.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    assert!(!found.is_null(), "{name:?}");
    found
}

/// The last instructions of longjmp, setcontext and swapcontext too, where the stack pointer is
/// already elsewhere.
#[test]
fn every_instruction_of_a_jump() {
    let Some(jumps) = fixture(c"jumps") else { return };
    let mut watch = Watch::start(Process::now());
    watch.reference(Reference::Callers(Vec::with_capacity(LONGEST)));
    assert_eq!(step_through(|| jumps()), 4.0);
    watch.report("jumps");
}

/// gcc's frames, and every instruction of the loader while it binds a call for the first time.
#[test]
fn every_instruction_of_lazy_binding_and_of_c() {
    let Some(fixture) = fixture(c"fixture") else { return };
    let watch = Watch::start(Process::now());
    black_box(step_through(|| fixture()));
    watch.report("lazy binding and C");
    assert!(watch.plt_entries > 0, "no sample in a linkage table entry");
    // Once more with every call bound.
    let lazy = watch.samples;
    black_box(step_through(|| fixture()));
    watch.report("C alone");
    assert!(watch.samples - lazy < lazy, "nothing was bound lazily");
}

/// Runs `descend` in a handler, so that each sample's path crosses a signal frame.
extern "C" fn work_in_handler(_: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    step_through(|| {
        descend(5, &mut || {
            black_box(format!("{}", black_box(1.5)));
        })
    });
}

#[test]
fn across_a_signal_frame() {
    install(libc::SIGUSR1, work_in_handler, 0);
    let watch = Watch::start(Process::now());
    descend(5, &mut || {
        // SAFETY: a signal to this thread, for which a handler is installed.
        unsafe { libc::raise(libc::SIGUSR1) };
    });
    watch.report("in a signal handler");
    assert!(watch.signal_frames > 0);
}

#[test]
fn across_an_alternate_signal_stack() {
    let memory = vec![0u8; 1 << 20];
    let mut process = Process::now();
    process.add_stack(&memory);
    let stack = libc::stack_t {
        ss_sp: memory.as_ptr().cast_mut().cast(),
        ss_flags: 0,
        ss_size: memory.len(),
    };
    install(libc::SIGUSR1, work_in_handler, 0);
    install(libc::SIGWINCH, work_in_handler, libc::SA_ONSTACK);
    let watch = Watch::start(process);
    // SAFETY: the memory outlives its use as a stack, which ends with `raise`; signals go to this
    // thread and have handlers.
    unsafe {
        let mut before = std::mem::zeroed();
        assert_eq!(libc::sigaltstack(&stack, &mut before), 0);
        libc::raise(libc::SIGWINCH);
        assert_eq!(libc::sigaltstack(&before, ptr::null_mut()), 0);
    }
    watch.report("on an alternate signal stack");
    assert!(watch.signal_frames > 0);
    drop(memory);
}

#[test]
fn ten_thousand_frames() {
    // Larger than any frame of `descend` needs, whatever the optimization.
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(|| {
        install(libc::SIGUSR2, observe, 0);
        let watch = Watch::start(Process::now());
        descend(10_000, &mut || {
            // SAFETY: a signal to this thread, for which a handler is installed.
            unsafe { libc::raise(libc::SIGUSR2) };
        });
        watch.report("deep recursion");
        assert!(watch.frames > 10_000);
    });
    thread.unwrap().join().unwrap();
}

/// A coroutine of makecontext(3): its outermost frame is glibc's `__start_context`, which nothing
/// calls and whose CFI does not say so; backtrace(3) knows no such rule and is not asked.
#[test]
fn a_coroutine_ends_at_its_start() {
    extern "C" fn sample_only(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: as in `observe`.
        let (context, watch) = unsafe { (&*context.cast::<libc::ucontext_t>(), WATCH.get()) };
        if !watch.is_null() {
            // SAFETY: as in `observe`.
            unsafe { &mut *watch }.sample(&Registers::from_gregs(&context.uc_mcontext.gregs));
        }
    }
    install(libc::SIGURG, sample_only, 0);
    extern "C" fn coroutine() {
        // SAFETY: a signal to this thread, for which a handler is installed.
        unsafe { libc::raise(libc::SIGURG) };
    }
    let mut memory = vec![0u8; 1 << 18];
    let mut process = Process::now();
    process.add_stack(&memory);
    let watch = Watch::start(process);
    // SAFETY: contexts and stack live until the coroutine has returned to this one by uc_link.
    unsafe {
        let (mut here, mut there): (libc::ucontext_t, libc::ucontext_t) = std::mem::zeroed();
        assert_eq!(libc::getcontext(&mut there), 0);
        there.uc_stack.ss_sp = memory.as_mut_ptr().cast();
        there.uc_stack.ss_size = memory.len();
        there.uc_link = &mut here;
        libc::makecontext(&mut there, coroutine, 0);
        assert_eq!(libc::swapcontext(&mut here, &there), 0);
    }
    assert_eq!(watch.samples, 1);
    assert_eq!(watch.end, End::Complete);
    let outermost = watch.walked.last().unwrap().address;
    // Not setcontext, before which this program has the collector's.
    let makecontext = libc::makecontext as *const () as u64;
    assert!(watch.process.same_module(outermost, makecontext), "{outermost:#x} is not in glibc");
    // raise is the collector's here, and has one to three frames in glibc; then the coroutine and
    // its start.
    assert!((3..=9).contains(&watch.walked.len()), "{:#x?}", watch.walked);
}
