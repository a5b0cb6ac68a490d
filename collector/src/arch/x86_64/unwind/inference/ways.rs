//! The ways out of code without call frame information: where control goes from a frame to where
//! its function ends, whatever it does there.
//!
//! Where a way forks, it goes straight on; where it comes to an end that is none, or to code that
//! was seen, the last fork is taken differently. So loops are left, and no instruction is looked at
//! twice, whatever their number: the matrix kernels of OpenBLAS have fifteen that a way in circles
//! leads through, one behind the other. SIGNAL side: no heap, and a bound on the steps.

use crate::arch::unwind::instruction::{Effect, Instruction};
use crate::arch::unwind::list::List;
use crate::arch::unwind::registers::Register;
use crate::arch::unwind::text::Text;

/// Instructions looked at for the ways, and as many for what they do: some 15 ns each. The longest
/// functions of video codecs have thousands without a fork.
pub const MOST_STEPS: u32 = 16384;

/// The same in a piece of code that is read anew each time.
pub(super) const MOST_STEPS_IN_PIECE: u32 = 768;

/// Forks on a way: more than 96 in the longest kernels of OpenBLAS. These and the pieces lie on the
/// handler's stack.
const MOST_FORKS: usize = 128;
/// Instructions in which a loop is looked for behind a call.
const MOST_OF_LOOP: u32 = 256;
/// Pieces of code that were gone through without a jump: one for each loop that is left.
const MOST_PIECES: usize = 64;

/// A branch forwards: where it is, and in the lowest bit whether the way goes there, not straight
/// on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fork(u32);

impl Fork {
    fn passed(at: usize) -> Option<Self> {
        u32::try_from(at).ok()?.checked_mul(2).map(Self)
    }

    const fn taken(self) -> Self {
        Self(self.0 | 1)
    }

    const fn at(self) -> usize {
        (self.0 >> 1) as usize
    }

    pub(super) const fn is_taken(self) -> bool {
        self.0 & 1 == 1
    }
}

/// Where ways end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// At a `ret`, or a jump out of the code, which is all of a module's.
    Module,
    /// At a `ret`, or where the frame is taken down. What lies beyond the code is not known.
    Frame,
}

/// Finds where a frame is taken down: `leave`, or `mov %rbp,%rsp` and then `pop %rbp`, with nothing
/// between them that moves the stack pointer.
#[derive(Default)]
pub(super) struct TakenDown {
    is_at_frame: bool,
}

impl TakenDown {
    /// Whether it is by the next instruction, which does this.
    pub(super) const fn by(&mut self, effect: Effect) -> bool {
        match effect {
            Effect::Leave => true,
            Effect::Pop(Some(Register::RBP)) => self.is_at_frame,
            Effect::Add { to: Register::RSP, from, offset } => {
                self.is_at_frame = matches!(from, Register::RBP) && offset == 0;
                false
            }
            Effect::Push(_) | Effect::Pop(_) | Effect::Lower | Effect::Call(_) => {
                self.is_at_frame = false;
                false
            }
            _ => false,
        }
    }
}

/// A search for ways.
pub(super) struct Ways<'a, T: ?Sized> {
    code: &'a T,
    /// Where it goes on; `None` if the last fork must be taken differently first.
    next: Option<usize>,
    /// Those of the present way, in its order.
    forks: List<Fork, MOST_FORKS>,
    /// First and behind the last byte of each piece.
    seen: List<(u32, u32), MOST_PIECES>,
    steps: u32,
    ends: Ends,
}

const fn most_steps(ends: Ends) -> u32 {
    match ends {
        Ends::Module => MOST_STEPS,
        Ends::Frame => MOST_STEPS_IN_PIECE,
    }
}

impl<'a, T: Text + ?Sized> Ways<'a, T> {
    pub(super) fn new(code: &'a T, at: usize, ends: Ends) -> Self {
        let (forks, seen) = (List::new(Fork(0)), List::new((0, 0)));
        Self { code, next: Some(at), forks, seen, steps: most_steps(ends), ends }
    }

    /// How many instructions were looked at.
    pub(super) const fn steps_taken(&self) -> u32 {
        most_steps(self.ends) - self.steps
    }

    /// The forks of the way that was found.
    pub(super) fn forks(&self) -> &[Fork] {
        self.forks.as_slice()
    }

    /// Finds a way, or another one; `None` if there is none.
    pub(super) fn find_next(&mut self) -> Option<()> {
        loop {
            let from = match self.next.take() {
                Some(from) => from,
                None => self.turn()?,
            };
            if self.go(from)? {
                return Some(());
            }
        }
    }

    /// Takes the last fork that can be taken differently, and returns where it leads.
    fn turn(&mut self) -> Option<usize> {
        loop {
            let fork = self.forks.pop()?;
            if fork.is_taken() {
                continue;
            }
            let at = fork.at();
            let Instruction { length, effect, .. } = self.code.instruction(at)?;
            if let Effect::Branch(offset) = effect {
                self.forks.push(fork.taken())?;
                return is_fork(self.code, at + usize::from(length), offset);
            }
        }
    }

    /// Goes on from there, and says whether the way leaves the function; `None` if it is too long.
    fn go(&mut self, mut from: usize) -> Option<bool> {
        loop {
            let Some(end) = self.unseen(from) else { return Some(false) };
            let (last, onwards) = self.go_straight(from, end)?;
            self.seen.push((u32::try_from(from).ok()?, u32::try_from(last).ok()?))?;
            match onwards {
                Onwards::Out => return Some(true),
                Onwards::Nowhere => return Some(false),
                Onwards::To(target) => from = target,
            }
        }
    }

    /// Goes on to the next jump, or to `end`; returns where the piece ends, and how it goes on
    /// there.
    fn go_straight(&mut self, mut at: usize, end: usize) -> Option<(usize, Onwards)> {
        let mut taken_down = TakenDown::default();
        while at < end {
            self.steps = self.steps.checked_sub(1)?;
            let found = self.code.instruction(at);
            let Some(Instruction { length, effect, .. }) = found else { break };
            let next = at + usize::from(length);
            let onwards = match effect {
                Effect::Return => Onwards::Out,
                effect if self.ends == Ends::Frame && taken_down.by(effect) => Onwards::Out,
                Effect::Stop | Effect::JumpIndirect(_) => Onwards::Nowhere,
                // What does not come back is followed by padding, or by other code.
                Effect::Call(_) if is_padding(self.code, next) && !self.is_before_loop(next)? => {
                    Onwards::Nowhere
                }
                Effect::Jump(offset) => {
                    // Another module's code; the caller is the same.
                    let beyond = match self.ends {
                        Ends::Module => Onwards::Out,
                        Ends::Frame => Onwards::Nowhere,
                    };
                    target(self.code, next, offset).map_or(beyond, Onwards::To)
                }
                Effect::Branch(offset) => {
                    if is_fork(self.code, next, offset).is_some() {
                        self.forks.push(Fork::passed(at)?)?;
                    }
                    at = next;
                    continue;
                }
                _ => {
                    at = next;
                    continue;
                }
            };
            return Some((next, onwards));
        }
        Some((at, Onwards::Nowhere))
    }

    /// Whether what fills a gap at `at` aligns a loop; `None` if that takes too many steps.
    fn is_before_loop(&mut self, mut at: usize) -> Option<bool> {
        let mut start = None;
        for _ in 0..MOST_OF_LOOP {
            self.steps = self.steps.checked_sub(1)?;
            let found = self.code.instruction(at);
            let Some(Instruction { length, effect, .. }) = found else { break };
            let next = at + usize::from(length);
            if effect != Effect::Padding && start.is_none() {
                start = Some(at);
            }
            match effect {
                Effect::Branch(offset) | Effect::Jump(offset)
                    if start.is_some() && target(self.code, next, offset) == start =>
                {
                    return Some(true);
                }
                Effect::Jump(_) | Effect::JumpIndirect(_) | Effect::Return | Effect::Stop => break,
                _ => at = next,
            }
        }
        Some(false)
    }

    /// Where code that was seen begins, from `at` on; `None` if it does there.
    fn unseen(&self, at: usize) -> Option<usize> {
        let mut end = self.code.length();
        for (first, last) in self.seen.as_slice() {
            let (first, last) = (*first as usize, *last as usize);
            if at < first {
                end = end.min(first);
            } else if at < last {
                return None;
            }
        }
        Some(end)
    }
}

/// How a piece goes on at its end.
enum Onwards {
    /// Out of the function.
    Out,
    Nowhere,
    To(usize),
}

/// Where a jump leads whose instruction ends at `next`, if that is in the code.
pub(super) fn target(code: &(impl Text + ?Sized), next: usize, offset: i32) -> Option<usize> {
    let target = next.checked_add_signed(isize::try_from(offset).ok()?)?;
    (target < code.length()).then_some(target)
}

/// Where a branch leads that a way may take. One backwards closes a loop that is left straight on.
pub(super) fn is_fork(code: &(impl Text + ?Sized), next: usize, offset: i32) -> Option<usize> {
    (offset > 0).then(|| target(code, next, offset)).flatten()
}

/// Whether what a gap is filled with is at `at`, or nothing that is known.
pub(super) fn is_padding(code: &(impl Text + ?Sized), at: usize) -> bool {
    let found = code.instruction(at);
    found.is_none_or(|found| matches!(found.effect, Effect::Padding | Effect::Stop))
}
