//! Every instruction of OpenBLAS that a little linear algebra comes to: assembly without call frame
//! information, which counts in the frame pointer and realigns its stack. The kernels are those for
//! the processor at hand, or for the one that `OPENBLAS_CORETYPE` names.

use std::cell::Cell;
use std::ffi::c_void;
use std::hint::black_box;
use std::ops::Range;
use std::ptr;

use csprof_collector::arch::unwind::registers::Registers;
use csprof_collector::unwind::cache::RecipeCache;
use csprof_collector::unwind::walk::{End, Flow, walk};
use csprof_format::address::FrameKind;

use crate::process::Process;
use crate::{build, step_through, symbol};

/// What the handler of one thread finds and leaves.
struct Study {
    process: Process,
    cache: Box<RecipeCache>,
    /// Where the library's code is.
    text: Range<u64>,
    /// By place in it: whether there was a sample. One for each instruction is enough.
    seen: Vec<bool>,
    /// Of the first sample, outermost last: on the stack all the time.
    callers: Vec<u64>,
    walked: Vec<u64>,
    samples: u64,
    /// Where a walk did not come to them.
    wrong: Vec<(u64, End)>,
}

impl Study {
    fn sample(&mut self, start: &Registers) {
        if !self.callers.is_empty() {
            let place = start.ip.wrapping_sub(self.text.start) as usize;
            if self.seen.get_mut(place).is_none_or(|seen| std::mem::replace(seen, true)) {
                return;
            }
        }
        self.walked.clear();
        let walked = &mut self.walked;
        let end = walk(start, FrameKind::Leaf, &mut self.cache, &self.process, |frame| {
            walked.push(frame.address);
            Flow::Continue
        });
        if self.callers.is_empty() {
            self.callers.extend(walked.iter().skip(1));
            return;
        }
        self.samples += 1;
        let outermost = walked.iter().rev().take(self.callers.len());
        if end != End::Complete || !outermost.eq(self.callers.iter().rev()) {
            self.wrong.push((start.ip, end));
        }
    }
}

thread_local! {
    static STUDY: Cell<*mut Study> = const { Cell::new(ptr::null_mut()) };
}

/// Samples the calling thread if it is one that this file steps through.
pub(crate) fn sample(start: &Registers) -> bool {
    let study = STUDY.get();
    if study.is_null() {
        return false;
    }
    // SAFETY: set by this thread to a live Study before it steps, and nothing else touches that
    // while it does.
    unsafe { &mut *study }.sample(start);
    true
}

#[test]
fn every_instruction_of_matrix_kernels() {
    let Some(library) = build("kernels", "kernels", &["-l:libopenblas.so.0"]) else { return };
    let (prepare, kernels) = (symbol(library, c"prepare"), symbol(library, c"kernels"));
    // SAFETY: these are their types in the source.
    let (prepare, kernels) = unsafe {
        (
            std::mem::transmute::<*mut c_void, extern "C" fn()>(prepare),
            std::mem::transmute::<*mut c_void, extern "C" fn() -> f64>(kernels),
        )
    };
    prepare();
    let process = Process::now();
    let text = process.text_of(symbol(library, c"cblas_dgemm") as u64).expect("the library's code");
    let study = Box::into_raw(Box::new(Study {
        process,
        cache: Box::new(RecipeCache::new()),
        seen: vec![false; (text.end - text.start) as usize],
        text,
        callers: Vec::with_capacity(1000),
        walked: Vec::with_capacity(1000),
        samples: 0,
        wrong: Vec::with_capacity(1 << 20),
    }));
    STUDY.set(study);
    black_box(step_through(|| kernels()));
    STUDY.set(ptr::null_mut());
    // SAFETY: made by Box::into_raw above, and no handler finds it any more.
    let study = unsafe { Box::from_raw(study) };
    let wrong = &study.wrong;
    eprintln!("matrix kernels: {} samples, {} wrong", study.samples, wrong.len());
    assert!(study.samples > 5000, "the trap flag had no effect");
    // Kernels for a processor that nobody has tried may have a few that lead nowhere.
    let first = wrong.first().map(|(pc, end)| (pc - study.text.start, *end));
    let share = format!("{} of {}, first {first:x?}", wrong.len(), study.samples);
    assert!(wrong.len() as u64 * 100 <= study.samples, "{share}");
}
