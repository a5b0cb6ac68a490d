//! What code says of rbp: whether it is the frame pointer of the function that the code is of.
//! SIGNAL side: no heap, and a bound on the steps. What has lists is not inlined, so that these are
//! not on the handler's stack together.

use super::ways::{is_fork, target};
use crate::arch::unwind::instruction::{Effect, Instruction, decode, has, register};
use crate::arch::unwind::list::List;
use crate::arch::unwind::registers::Register;

/// Instructions since prologues that are looked at for a frame.
pub const MOST_STEPS_SINCE: u32 = 4096;

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
    /// Bytes that were put on it since; `None` if only the run says how many.
    pub depth: Option<u64>,
    /// Whether rbp was seen to be used as the frame pointer since, or is straight on from here.
    pub is_used: bool,
    /// If another function begins behind some call, or where some jump leads to, which needs no
    /// frame pointer: its return address lies so many bytes above the stack pointer.
    others: List<u64, MOST_OTHERS>,
    is_all: bool,
}

impl Made {
    /// Where other functions would have their return addresses, in bytes above the stack pointer;
    /// `None` if those are too many, or one may have moved its own.
    #[must_use]
    pub fn others(&self) -> Option<&[u64]> {
        self.is_all.then(|| self.others.as_slice())
    }

    /// Whether no other function begins behind the prologue, as far as the use of rbp tells.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.is_used && self.others() == Some(&[])
    }
}

/// What `push %rbp; mov %rsp,%rbp` before `at`, and the instructions from there on, have made of
/// the stack, if that is as `is_it` wants it. What lies behind a jump counts where one before it
/// leads there, with what was on the stack there. Behind a call that `at` is not known to be
/// returned to from, another function may begin. `address` is that of `at`. Looks at as many
/// instructions as `steps` has, and takes those that it has looked at off.
#[must_use]
pub fn made_frame(
    code: &[u8],
    at: usize,
    address: u64,
    is_returned_to: bool,
    steps: &mut u32,
    is_it: impl Fn(&Made) -> bool,
) -> Option<Made> {
    let mut made = prologues(code, at)
        .take(MOST_TRIED)
        .filter_map(|start| made_behind(code, start, (at, address), is_returned_to, steps));
    made.find(|made| is_it(made))
}

/// Where the code behind each `push %rbp; mov %rsp,%rbp` before `at` begins, the last one first.
fn prologues(code: &[u8], at: usize) -> impl Iterator<Item = usize> {
    let is_prologue =
        |bytes: &[u8]| matches!(bytes, [0x55, 0x48, 0x89, 0xe5] | [0x55, 0x48, 0x8b, 0xec]);
    let windows = code.get(..at).unwrap_or_default().windows(4).enumerate().rev();
    windows.filter(move |(_, bytes)| is_prologue(bytes)).map(|(start, _)| start + 4)
}

/// Bytes that the instructions from `start` to `at` have put on the stack, if that can be said,
/// they leave rbp alone, and no other function can begin between.
#[must_use]
pub fn put_since(
    code: &[u8],
    start: usize,
    at: usize,
    address: u64,
    is_returned_to: bool,
) -> Option<u64> {
    let Made { depth, others, is_all, .. } =
        made_behind(code, start, (at, address), is_returned_to, &mut { MOST_STEPS_SINCE })?;
    // One that began with nothing on the stack but its return address has the same one.
    let is_same = |above: &u64| Some(*above) == depth;
    depth.filter(|_| is_all && others.as_slice().iter().all(is_same))
}

/// Other functions that may have begun since a prologue.
struct Starts {
    /// What was on the stack there.
    depths: List<i64, MOST_OTHERS>,
    is_all: bool,
}

impl Starts {
    fn add(&mut self, depth: i64) {
        if !self.depths.as_slice().contains(&depth) {
            self.is_all &= self.depths.push(depth).is_some();
        }
    }

    /// None of them has: one that has no frame does not use its caller's.
    fn clear(&mut self) {
        *self = Self { depths: List::new(0), is_all: true };
    }

    /// It cannot be said how much was on the stack where one may have.
    fn begin(&mut self) {
        self.is_all = false;
    }

    /// So much is on the stack. Whoever had more there when it began may have its return address
    /// anywhere now: in a register, or in another word.
    fn come_to(&mut self, depth: i64) {
        self.is_all &= self.depths.as_slice().iter().all(|start| *start <= depth);
    }

    /// How far the stack pointer is from where it was then is not known any more.
    fn lose(&mut self) {
        self.is_all &= self.depths.as_slice().is_empty();
    }
}

/// A jump forward: where it leads, and what was on the stack, which was lowered so many times by an
/// amount that only the run decides.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Edge {
    there: usize,
    depth: i64,
    lowered: u32,
}

/// What the instructions from `at` to `end` have made of the stack, none of which gives rbp
/// another value; `None` if that cannot be said.
#[inline(never)]
fn made_behind(
    code: &[u8],
    start: usize,
    (end, address): (usize, u64),
    is_returned_to: bool,
    left: &mut u32,
) -> Option<Made> {
    let before = code.get(..end)?;
    let mut edges: List<Edge, MOST_EDGES> = List::new(Edge { there: 0, depth: 0, lowered: 0 });
    let mut starts = Starts { depths: List::new(0), is_all: true };
    let (mut lowered, mut is_used) = (0_u32, false);
    let mut is_behind_call = false;
    let may_begin =
        |at: usize| address.wrapping_sub(end.wrapping_sub(at) as u64).is_multiple_of(ALIGNMENT);
    let mut at = start;
    // Behind the last instruction that moved the stack pointer.
    let mut moved = start;
    let mut steps = MOST_OF_LOOPS;
    // None where the frame was taken down, or nothing leads to as far as was seen.
    let mut depth = Some(0_i64);
    loop {
        let now = match depth {
            Some(now) => now,
            // What lies between may be data, or another function.
            None => {
                let coming = edges.as_slice().iter().filter(|edge| edge.there >= at);
                let edge = *coming.min_by_key(|edge| edge.there)?;
                if edge.lowered != lowered {
                    starts.lose();
                    lowered = lowered.wrapping_add(1);
                }
                if before.get(at..edge.there).is_none_or(may_move) {
                    moved = edge.there;
                }
                at = edge.there;
                starts.add(edge.depth);
                edge.depth
            }
        };
        if now < 0 {
            return None;
        }
        starts.come_to(now);
        edges.retain(|edge| edge.there > at);
        if at == end {
            if is_used_straight_on(code, at) {
                is_used = true;
                starts.clear();
            }
            let mut others = List::new(0);
            let above = |start: &i64| u64::try_from(now - start).ok();
            for above in starts.depths.as_slice().iter().filter_map(above) {
                others.push(above)?;
            }
            let depth = if lowered == 0 { Some(u64::try_from(now).ok()?) } else { None };
            return Some(Made { depth, is_used, others, is_all: starts.is_all });
        }
        *left = left.checked_sub(1)?;
        let Instruction { length, effect, memory } = decode(before.get(at..)?)?;
        at += usize::from(length);
        if memory.is_some_and(|(base, at)| base == Register::RBP && at < 0) {
            is_used = true;
            starts.clear();
        }
        let was_call = core::mem::replace(&mut is_behind_call, matches!(effect, Effect::Call(_)));
        if moves(effect) {
            moved = at;
        }
        depth = match effect {
            // Where V8 enters a function in the middle of a loop, the call before it is an abort.
            Effect::Stop if was_call && !may_begin(at) => {
                starts.begin();
                lowered = lowered.wrapping_add(1);
                Some(now)
            }
            Effect::Push(_) => Some(now + 8),
            Effect::Pop(Some(Register::RSP | Register::RBP)) | Effect::Leave => None,
            Effect::Pop(_) => Some(now - 8),
            Effect::Lower => {
                starts.lose();
                lowered = lowered.wrapping_add(1);
                Some(now)
            }
            Effect::Add { to: Register::RSP, from: Register::RSP, offset } => {
                Some(now - i64::from(offset))
            }
            Effect::Return | Effect::Stop | Effect::JumpIndirect(_) => None,
            Effect::Add { to: Register::RSP | Register::RBP, .. }
            | Effect::Load { to: Register::RSP | Register::RBP, .. } => None,
            Effect::Change(set) if has(set, Register::RSP) || has(set, Register::RBP) => None,
            Effect::Jump(offset) | Effect::Branch(offset) => {
                let there = at.checked_add_signed(isize::try_from(offset).ok()?);
                if let Some(there) = there.filter(|there| offset > 0 && *there <= end) {
                    let edge = Edge { there, depth: now, lowered };
                    // Those that lead furthest, out of the main path, are the least needed.
                    if edges.push(edge).is_none() {
                        let last = edges.as_slice().iter().map(|edge| edge.there).max();
                        edges.retain(|edge| Some(edge.there) != last);
                        let _room = edges.push(edge);
                    }
                }
                let loops = there.filter(|there| offset < 0 && (start..moved).contains(there));
                if loops.is_some_and(|there| moves_stack(before, there, at, &mut steps)) {
                    starts.lose();
                    lowered = lowered.wrapping_add(1);
                }
                Some(now).filter(|_| matches!(effect, Effect::Branch(_)))
            }
            // None begins by taking off the stack what was put there for the call.
            Effect::Call(_) if (at < end || !is_returned_to) && !is_raise(before, at) => {
                starts.add(now);
                Some(now)
            }
            _ => Some(now),
        };
    }
}

/// Whether an instruction of this effect gives the stack pointer another value.
const fn moves(effect: Effect) -> bool {
    match effect {
        Effect::Push(_) | Effect::Pop(_) | Effect::Lower | Effect::Leave => true,
        Effect::Add { to, .. } | Effect::Load { to, .. } => matches!(to, Register::RSP),
        Effect::Change(set) => has(set, Register::RSP),
        _ => false,
    }
}

/// Whether some instruction of the code may give the stack pointer another value.
fn may_move(code: &[u8]) -> bool {
    let mut at = 0;
    while at < code.len() {
        match code.get(at..).and_then(decode) {
            Some(Instruction { length, effect, .. }) if !moves(effect) => at += usize::from(length),
            _ => return true,
        }
    }
    false
}

/// Whether the instruction at `at` takes bytes off the stack, as none does that a function begins
/// with.
fn is_raise(code: &[u8], at: usize) -> bool {
    let found = code.get(at..).and_then(decode).map(|found| found.effect);
    let is_sp = |register| register == Register::RSP;
    matches!(found, Some(Effect::Add { to, from, offset: 1.. }) if is_sp(to) && is_sp(from))
}

/// Generated functions begin at addresses that are multiples of this, at least.
const ALIGNMENT: u64 = 16;

/// Instructions of loops since a prologue that are looked at.
const MOST_OF_LOOPS: u32 = 512;

/// Whether each time through a loop, of the code from `at` to `end`, puts more on the stack; also
/// if that cannot be said.
fn moves_stack(code: &[u8], mut at: usize, end: usize, steps: &mut u32) -> bool {
    let mut depth = 0_i64;
    while at < end {
        let found = code.get(at..end).and_then(decode);
        let (Some(Instruction { length, effect, .. }), Some(left)) = (found, steps.checked_sub(1))
        else {
            return true;
        };
        *steps = left;
        depth += match effect {
            Effect::Push(_) => 8,
            Effect::Pop(_) => -8,
            Effect::Add { to: Register::RSP, from: Register::RSP, offset } => -i64::from(offset),
            Effect::Lower => return true,
            _ => 0,
        };
        at += usize::from(length);
    }
    depth != 0 || at != end
}

/// Whether the code at `at` uses rbp as its frame pointer before it can go elsewhere.
fn is_used_straight_on(code: &[u8], mut at: usize) -> bool {
    for _ in 0..MOST_STRAIGHT {
        let Some(Instruction { length, effect, memory }) = code.get(at..).and_then(decode) else {
            return false;
        };
        if memory.is_some_and(|(base, at)| base == Register::RBP && at < 0) {
            return true;
        }
        match effect {
            Effect::Return
            | Effect::Jump(_)
            | Effect::Branch(_)
            | Effect::JumpIndirect(_)
            | Effect::Call(_)
            | Effect::Stop
            | Effect::Leave
            | Effect::Pop(Some(Register::RBP))
            | Effect::Add { to: Register::RBP, .. }
            | Effect::Load { to: Register::RBP, .. } => return false,
            Effect::Change(set) if has(set, Register::RBP) => return false,
            _ => at += usize::from(length),
        }
    }
    false
}

/// Instructions in which that is looked for.
const MOST_STRAIGHT: u32 = 16;

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
            assert!(
                made_frame(&code, at, 0, true, &mut { 4096 }, |made| made.depth == Some(depth))
                    .is_some(),
                "at {at}"
            );
        }
        // Taken down, and what nothing leads to.
        assert!(
            [13, 14]
                .iter()
                .all(|at| made_frame(&code, *at, 0, true, &mut { 4096 }, |_| true).is_none())
        );
        assert!(
            made_frame(&code[1..], 7, 0, true, &mut { 4096 }, |_| true).is_none(),
            "no prologue"
        );
    }

    #[test]
    fn a_loop_that_leaves_the_stack_pointer_alone_may_be_long() {
        let prologue = [0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10];
        let depth = |body: &[u8]| {
            let back = -(body.len() as i32 + 6);
            let branch = [&[0x0f, 0x85][..], &back.to_le_bytes()].concat();
            let code = [&prologue[..], body, &branch, &[0x90]].concat();
            let made = made_frame(&code, code.len() - 1, 0, true, &mut { 4096 }, |_| true);
            made.map(|made| made.depth)
        };
        let nops = [0x90; 2000];
        assert_eq!(depth(&nops), Some(Some(16)));
        assert_eq!(depth(&[&nops[..], &[0x50]].concat()), Some(None), "push %rax");
        // jmp over what something else may lead to: push %rax; jmp back
        let over = [&[0xeb, 3, 0x50, 0xeb, 0xfb][..], &nops].concat();
        assert_eq!(depth(&over), Some(None));
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
