//! What code says of rbp: whether it is the frame pointer of the function that the code is of.
//! SIGNAL side: no heap, and a bound on the steps. What has lists is not inlined, so that these are
//! not on the handler's stack together.

use super::ways::{is_fork, target};
use crate::arch::unwind::instruction::{Effect, Instruction, decode, has, register};
use crate::arch::unwind::list::List;
use crate::arch::unwind::registers::Register;

/// Prologues before an address that are tried.
const MOST_TRIED: usize = 4;
/// Jumps forward that are remembered at once between a prologue and an address.
const MOST_EDGES: usize = 32;

/// Other functions that may begin between a prologue and an address: how much each would have on
/// the stack there.
const MOST_OTHERS: usize = 8;

/// What the code since a prologue says of the stack.
#[derive(Clone, Copy)]
pub struct Made {
    /// Bytes that were put on it since.
    pub depth: u64,
    /// If another function begins behind some call, or where some jump leads to, which needs no
    /// frame pointer: its return address lies so many bytes above the stack pointer.
    others: List<u64, MOST_OTHERS>,
    is_all: bool,
}

impl Made {
    /// Where other functions would have their return addresses, in bytes above the stack pointer;
    /// `None` if those are too many.
    #[must_use]
    pub fn others(&self) -> Option<&[u64]> {
        self.is_all.then(|| self.others.as_slice())
    }
}

/// What `push %rbp; mov %rsp,%rbp` before `at`, and the instructions from there on, have made of
/// the stack, if that is as `is_depth` wants it. What lies behind a jump counts where one before it
/// leads there, with what was on the stack there. Behind a call that `at` is not known to be
/// returned to from, another function may begin.
#[must_use]
pub fn made_frame(
    code: &[u8],
    at: usize,
    is_returned_to: bool,
    is_depth: impl Fn(u64) -> bool,
) -> Option<Made> {
    let before = code.get(..at).unwrap_or_default();
    let is_prologue =
        |bytes: &[u8]| matches!(bytes, [0x55, 0x48, 0x89, 0xe5] | [0x55, 0x48, 0x8b, 0xec]);
    let prologues = before.windows(4).enumerate().rev().filter(|(_, bytes)| is_prologue(bytes));
    let made = prologues
        .take(MOST_TRIED)
        .filter_map(|(start, _)| made_behind(before, start + 4, is_returned_to));
    made.into_iter().find(|made| is_depth(made.depth))
}

/// What the instructions from `at` to the end have made of the stack, none of which gives rbp
/// another value; `None` if that cannot be said.
#[inline(never)]
fn made_behind(code: &[u8], mut at: usize, is_returned_to: bool) -> Option<Made> {
    let mut edges: List<(usize, i64), MOST_EDGES> = List::new((0, 0));
    let mut starts: List<i64, MOST_OTHERS> = List::new(0);
    let mut is_all = true;
    let mut may_start = |depth: i64| {
        if !starts.as_slice().contains(&depth) {
            is_all &= starts.push(depth).is_some();
        }
    };
    // None where the frame was taken down, or nothing leads to as far as was seen.
    let mut depth = Some(0_i64);
    loop {
        let now = match depth {
            Some(now) => now,
            // What lies between may be data, or another function.
            None => {
                let coming = edges.as_slice().iter().copied().filter(|(there, _)| *there >= at);
                let (there, then) = coming.min_by_key(|(there, _)| *there)?;
                at = there;
                may_start(then);
                then
            }
        };
        edges.retain(|(there, _)| *there > at);
        if at == code.len() {
            let depth = u64::try_from(now).ok()?;
            let mut others = List::new(0);
            for start in starts.as_slice() {
                if let Ok(above) = u64::try_from(now - start) {
                    others.push(above)?;
                }
            }
            return Some(Made { depth, others, is_all });
        }
        let Instruction { length, effect, .. } = decode(code.get(at..)?)?;
        at += usize::from(length);
        depth = match effect {
            Effect::Push(_) => Some(now + 8),
            Effect::Pop(Some(Register::RSP | Register::RBP)) | Effect::Leave | Effect::Lower => {
                None
            }
            Effect::Pop(_) => Some(now - 8),
            Effect::Add { to: Register::RSP, from: Register::RSP, offset } => {
                Some(now - i64::from(offset))
            }
            Effect::Return | Effect::Stop | Effect::JumpIndirect(_) => None,
            Effect::Add { to: Register::RSP | Register::RBP, .. }
            | Effect::Load { to: Register::RSP | Register::RBP, .. } => None,
            Effect::Change(set) if has(set, Register::RSP) || has(set, Register::RBP) => None,
            Effect::Jump(offset) | Effect::Branch(offset) => {
                let there = at.checked_add_signed(isize::try_from(offset).ok()?);
                if let Some(there) = there.filter(|there| offset > 0 && *there <= code.len()) {
                    // Those that lead furthest, out of the main path, are the least needed.
                    if edges.push((there, now)).is_none() {
                        let last = edges.as_slice().iter().map(|(there, _)| *there).max();
                        edges.retain(|(there, _)| Some(*there) != last);
                        let _room = edges.push((there, now));
                    }
                }
                Some(now).filter(|_| matches!(effect, Effect::Branch(_)))
            }
            Effect::Call(_) if at < code.len() || !is_returned_to => {
                may_start(now);
                Some(now)
            }
            _ => Some(now),
        };
    }
}

/// Bytes before an address in which [`was_frame_pointer`] looks.
const LOOKED_BACK: usize = 64;
/// Places from which it looks, and how many must lead to the address.
const STARTS: usize = 16;
const LEAST_STARTS: usize = 4;

/// Whether the code straight before `at` has used rbp as a frame pointer. Where its instructions
/// begin is not known: wherever one begins to read, it is soon in step with them, so all that come
/// to `at` must have seen it.
#[must_use]
#[inline(never)]
pub fn was_frame_pointer(code: &[u8], at: usize) -> bool {
    let Some(first) = at.checked_sub(LOOKED_BACK + STARTS) else { return false };
    let (mut seen, mut unseen) = (0, 0);
    for start in first..first + STARTS {
        match is_used_on_way(code, start, at) {
            Some(true) => seen += 1,
            Some(false) => unseen += 1,
            None => {}
        }
    }
    unseen == 0 && seen >= LEAST_STARTS
}

/// Whether the instructions from `here` to `at` use rbp as a frame pointer and leave it alone then,
/// and nothing jumps away behind that; `None` if they do not come to `at`.
fn is_used_on_way(code: &[u8], mut here: usize, at: usize) -> Option<bool> {
    let mut is_used = false;
    while here < at {
        let Instruction { length, effect, memory } = decode(code.get(here..)?)?;
        is_used |= memory.is_some_and(|(base, at)| base == Register::RBP && at < 0);
        is_used &= match effect {
            Effect::Return | Effect::Jump(_) | Effect::JumpIndirect(_) | Effect::Stop => false,
            Effect::Leave | Effect::Pop(Some(Register::RBP)) => false,
            Effect::Add { to: Register::RBP, .. } | Effect::Load { to: Register::RBP, .. } => false,
            Effect::Change(set) => !has(set, Register::RBP),
            _ => true,
        };
        here += usize::from(length);
    }
    (here == at).then_some(is_used)
}

/// Instructions in which [`is_frame_pointer`] looks.
const MOST_LOOKED_AT: u32 = 128;
/// Forks from which it has still to go on.
const MOST_PENDING: usize = 16;

/// Whether the code that can come next from `at` on uses rbp as a frame pointer, for something
/// below the word that it points to or to take the frame down; and nothing that was looked at gives
/// rbp another value but the one that is saved there, or writes to the two words that it points to.
#[must_use]
#[inline(never)]
pub fn is_frame_pointer(code: &[u8], at: usize) -> bool {
    let mut pending: List<Path, MOST_PENDING> = List::new(Path { at: 0, jumped: false });
    let mut gone: List<usize, MOST_PENDING> = List::new(0);
    let mut steps = MOST_LOOKED_AT;
    let mut next = Some(Path { at, jumped: false });
    let mut is_used = false;
    while let Some(path) = next {
        if !gone.as_slice().contains(&path.at) {
            if gone.push(path.at).is_none() {
                break;
            }
            match follow(code, path, &mut pending, &mut steps) {
                Rbp::Frame => is_used = true,
                Rbp::Other => return false,
                Rbp::Unknown => {}
            }
        }
        next = pending.pop();
    }
    is_used
}

/// Where to go on, and whether a jump leads there: perhaps to another function.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Path {
    at: usize,
    jumped: bool,
}

/// What a path says of rbp.
enum Rbp {
    Frame,
    Other,
    Unknown,
}

/// Goes straight on, to where the path says something, or forks are all that is left of it.
fn follow(
    code: &[u8],
    Path { mut at, jumped }: Path,
    pending: &mut List<Path, MOST_PENDING>,
    steps: &mut u32,
) -> Rbp {
    let is_saved = |offset: i32| (-7..16).contains(&offset);
    let mut is_at_frame = false;
    let mut is_used = false;
    loop {
        let said = if is_used { Rbp::Frame } else { Rbp::Unknown };
        let found = code.get(at..).and_then(decode);
        let (Some(Instruction { length, effect, memory }), Some(left)) =
            (found, steps.checked_sub(1))
        else {
            return said;
        };
        *steps = left;
        is_used |= memory.is_some_and(|(base, at)| base == Register::RBP && at < 0);
        let next = at + usize::from(length);
        match effect {
            Effect::Add { to: Register::RBP, from: Register::RSP, .. } if jumped => return said,
            Effect::Add { to: Register::RBP, .. } | Effect::Load { to: Register::RBP, .. } => {
                return Rbp::Other;
            }
            Effect::Change(set) if has(set, Register::RBP) => return Rbp::Other,
            Effect::Store { base: Register::RBP, offset, .. }
            | Effect::Overwrite { base: Register::RBP, offset }
                if is_saved(offset) =>
            {
                return Rbp::Other;
            }
            Effect::Pop(None)
                if memory.is_some_and(|(base, at)| base == Register::RBP && is_saved(at)) =>
            {
                return Rbp::Other;
            }
            Effect::Add { to: Register::RSP, from: Register::RBP, offset } => {
                is_at_frame = true;
                is_used |= offset <= 0;
            }
            // Without the stack pointer at its frame, it restores what the function has saved.
            Effect::Pop(Some(Register::RBP)) if is_at_frame => return said,
            Effect::Pop(Some(Register::RBP)) => return Rbp::Other,
            Effect::Leave => return Rbp::Frame,
            Effect::Jump(offset) => {
                if let Some(at) = target(code, next, offset) {
                    let _full = pending.push(Path { at, jumped: true });
                }
                return said;
            }
            Effect::Branch(offset) => {
                if let Some(at) = is_fork(code, next, offset) {
                    let _full = pending.push(Path { at, jumped: true });
                }
            }
            Effect::Return | Effect::JumpIndirect(_) | Effect::Call(_) | Effect::Stop => {
                return said;
            }
            _ => {}
        }
        at = next;
    }
}

/// Where the frame that rbp points to says that the stack pointer was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restored {
    /// `rsp = *(rbp + offset)`
    Word(i32),
    /// `rsp = rbp + 8 * *(rbp + offset)`
    Words(i32),
}

impl Restored {
    /// What rsp becomes.
    #[must_use]
    pub fn sp(self, bp: u64, read: impl Fn(u64) -> Option<u64>) -> Option<u64> {
        let (Self::Word(offset) | Self::Words(offset)) = self;
        let word = read(bp.checked_add_signed(offset.into())?)?;
        match self {
            Self::Word(_) => Some(word),
            Self::Words(_) => Some(bp.wrapping_add(word.wrapping_mul(8))),
        }
    }
}

/// Bytes that [`restored`] may need.
pub const MOST_RESTORING: usize = 16;

/// Whether `code` begins by restoring the stack pointer from the frame of its own function, which
/// rbp points to: what is returned to where any number of words were left on the stack, as in
/// HotSpot's interpreter (`mov -16(%rbp),%rsp`; of later versions `mov -16(%rbp),%rcx; lea
/// (%rbp,%rcx,8),%rsp`).
#[must_use]
#[inline(never)]
pub fn restored(code: &[u8]) -> Option<Restored> {
    let Instruction { length, effect, .. } = decode(code)?;
    let Effect::Load { to, base: Register::RBP, offset: offset @ ..0 } = effect else {
        return None;
    };
    if to == Register::RSP {
        return Some(Restored::Word(offset));
    }
    // REX.W, lea, rsp at a SIB byte with an offset of 8 bits: rbp, and 8 times the register.
    let [rex @ (0x48 | 0x4a), 0x8d, 0x64, sib, 0] =
        *code.get(usize::from(length)..)?.first_chunk()?
    else {
        return None;
    };
    let index = (rex & 2) << 2 | sib >> 3 & 7;
    let is_word = sib & 0xc7 == 0xc5 && register(index) == to;
    is_word.then_some(Restored::Words(offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_that_was_made_is_known_behind_jumps() {
        // push %rbp; mov %rsp,%rbp; sub $16,%rsp; test %eax,%eax; je 1f; leave; ret; data;
        // 1: push %rax; nop
        let code = [
            0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x85, 0xc0, 0x74, 3, 0xc9, 0xc3, 0x06,
            0x50, 0x90,
        ];
        for (at, depth) in [(4, 0), (8, 16), (12, 16), (15, 16), (16, 24)] {
            assert!(made_frame(&code, at, true, |found| found == depth).is_some(), "at {at}");
        }
        // Taken down, and what nothing leads to.
        assert!([13, 14].iter().all(|at| made_frame(&code, *at, true, |_| true).is_none()));
        assert!(made_frame(&code[1..], 7, true, |_| true).is_none(), "no prologue");
    }

    #[test]
    fn a_frame_pointer_is_one_on_all_paths() {
        let uses = [0x48, 0x8b, 0x45, 0xf8, 0xc3]; // mov -8(%rbp),%rax; ret
        for (what, before, is_one) in [
            ("straight on", &[][..], true),
            ("behind a branch", &[0x74, 1, 0xc3], true),
            ("behind a jump", &[0xeb, 2, 0x06, 0x06], true),
            ("a call between", &[0xe8, 0, 0, 0, 0], false),
            ("changed on a path", &[0x74, 2, 0x5d, 0xc3], false),
            ("changed before", &[0x48, 0x89, 0xc5], false),
            ("the saved one is written", &[0x48, 0x89, 0x45, 0], false),
            ("a function that is jumped to", &[0xeb, 0, 0x55, 0x48, 0x89, 0xe5], false),
        ] {
            let code = [before, &uses].concat();
            assert_eq!(is_frame_pointer(&code, 0), is_one, "{what}");
        }
        assert!(!is_frame_pointer(&[0x48, 0x8b, 0x45, 8, 0xc3], 0), "an argument");
    }

    #[test]
    fn a_frame_pointer_was_used_before() {
        let nops = [0x90; 80];
        for (what, last, is_one) in [
            ("push -80(%rbp); call", &[0xff, 0x75, 0xb0, 0xe8, 0, 0, 0, 0][..], true),
            ("push 16(%rbp); call", &[0xff, 0x75, 0x10, 0xe8, 0, 0, 0, 0], false),
            ("and rbp is loaded", &[0xff, 0x75, 0xb0, 0x48, 0x8b, 0x6d, 0], false),
            ("another function's", &[0xff, 0x75, 0xb0, 0xc9, 0xc3, 0xe8, 0, 0, 0, 0], false),
            ("behind a jump", &[0xff, 0x75, 0xb0, 0xeb, 5, 0x90], false),
            ("not in step", &[0xff, 0x75, 0xb0, 0xe8, 0, 0, 0], false),
        ] {
            let code = [&nops, last, &nops].concat();
            assert_eq!(was_frame_pointer(&code, 80 + last.len()), is_one, "{what}");
        }
    }

    #[test]
    fn returns_that_restore_the_stack() {
        let read = |at: u64| (at == 0x6ff0).then_some(0xffff_ffff_ffff_fffb);
        for (code, expected) in [
            (&[0x48, 0x8b, 0x65, 0xf0][..], Some(0xffff_ffff_ffff_fffb)), // mov -16(%rbp),%rsp
            (&[0x48, 0x8b, 0xa5, 0xf0, 0xff, 0xff, 0xff], Some(0xffff_ffff_ffff_fffb)),
            // mov -16(%rbp),%rcx; lea (%rbp,%rcx,8),%rsp
            (&[0x48, 0x8b, 0x4d, 0xf0, 0x48, 0x8d, 0x64, 0xcd, 0], Some(0x6fd8)),
            // The same with r9.
            (&[0x4c, 0x8b, 0x4d, 0xf0, 0x4a, 0x8d, 0x64, 0xcd, 0], Some(0x6fd8)),
            (&[0x48, 0x8b, 0x55, 0xf0, 0x48, 0x8d, 0x64, 0xcd, 0], None), // another register
            (&[0x48, 0x8b, 0x65, 0x10], None),
            (&[0x48, 0x8b, 0x60, 0xf0], None),
        ] {
            let found = restored(code).and_then(|restored| restored.sp(0x7000, read));
            assert_eq!(found, expected, "{code:x?}");
        }
    }
}
