//! Whole walks over literal stacks.

mod generated;

use super::*;
use crate::arch::unwind::recipe::CalleeSaved;
use crate::arch::unwind::recipe::Slot;
use crate::arch::unwind::registers::Register;
use crate::unwind::known_ways::MOST_REFUSALS;
use crate::unwind::table::Builder;
use crate::unwind::table::RecipeTable;
use crate::unwind::validate::StackBounds;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use core::cell::Cell;
use core::ops::Range;

const SAME: [Slot; 5] = [Slot::SAME; 5];

/// One module at 0x40_0000, its recipes by offset, and stacks as words from an address on.
struct Process {
    table: RecipeTable,
    /// From the base on.
    text: Vec<u8>,
    /// From [`GENERATED`] on, of no module.
    generated: Vec<u8>,
    stacks: Vec<(u64, Vec<u64>)>,
    /// Where paths lead through generated code.
    probes: Option<Probes>,
    /// How often code was copied.
    copies: Cell<u32>,
    /// How often code of the module was.
    texts: Cell<u32>,
    /// Addresses from there on are mapped, and cannot be read.
    unreadable: Option<u64>,
}

const BASE: u64 = 0x40_0000;
const GENERATED: u64 = 0x50_0000;

impl Process {
    fn new(rows: &[(u32, Recipe)]) -> Self {
        let with_saved: Vec<_> =
            rows.iter().map(|(at, recipe)| (*at, *recipe, CalleeSaved::new(SAME))).collect();
        Self::with_callee_saved(&with_saved)
    }

    fn with_callee_saved(rows: &[(u32, Recipe, CalleeSaved)]) -> Self {
        let mut builder = Builder::new(0x1000);
        for (offset, recipe, saved) in rows {
            builder.push(*offset, (*recipe, *saved));
        }
        let (text, generated) = (Vec::new(), Vec::new());
        Self {
            table: builder.finish(),
            text,
            generated,
            stacks: Vec::new(),
            probes: None,
            copies: Cell::new(0),
            texts: Cell::new(0),
            unreadable: None,
        }
    }

    fn text(mut self, offset: usize, code: &[u8]) -> Self {
        self.text.resize(self.text.len().max(offset + code.len()), 0xcc);
        self.text[offset..offset + code.len()].copy_from_slice(code);
        self
    }

    /// On a page of its own. Paths lead through it.
    fn generated(mut self, code: &[u8]) -> Self {
        self.generated = vec![0xcc; 0x1000];
        self.generated[..code.len()].copy_from_slice(code);
        self.probes = Some(Probes::default());
        self
    }

    fn stack(mut self, low: u64, words: &[u64]) -> Self {
        self.stacks.push((low, words.to_vec()));
        self
    }

    /// The visited frames, as kind, address and exit, and the end.
    fn walk(&self, start: &Registers) -> (Vec<(FrameKind, u64, Exit)>, End) {
        let mut frames = Vec::new();
        let mut cache = Box::new(RecipeCache::new());
        let mut end = End::Stopped;
        // The second time the recipes come from the cache; nothing else may differ.
        for round in 0..2 {
            let mut visited = Vec::new();
            end = walk(start, FrameKind::Leaf, &mut cache, self, |frame| {
                visited.push((frame.kind, frame.address, frame.exit));
                Flow::Continue
            });
            assert!(round == 0 || visited == frames, "{visited:x?}");
            frames = visited;
        }
        (frames, end)
    }
}

impl Target for Process {
    fn code(&self, pc: u64) -> Option<Code<'_>> {
        let inside = (BASE..BASE + 0x1000).contains(&pc);
        inside.then_some(Code { base: BASE, recipes: Some(&self.table) })
    }

    fn text(&self, pc: u64) -> Option<Range<u64>> {
        let text = BASE..BASE + self.text.len() as u64;
        text.contains(&pc).then_some(text)
    }

    fn copy_text(&self, address: u64, to: &mut [u8]) -> usize {
        self.texts.update(|texts| texts + 1);
        let text = self.text.get((address - BASE) as usize..).unwrap_or_default();
        to.iter_mut().zip(text).map(|(to, byte)| *to = *byte).count()
    }

    fn probes(&self) -> Option<&Probes> {
        self.probes.as_ref()
    }

    fn copy(&self, address: u64, to: &mut [u8]) -> Copied {
        self.copies.update(|copies| copies + 1);
        let code = [(GENERATED, &self.generated), (BASE, &self.text)].into_iter().find_map(
            |(base, code)| {
                let start = usize::try_from(address.checked_sub(base)?).ok()?;
                code.get(start..start + to.len())
            },
        );
        match code {
            Some(code) => {
                to.copy_from_slice(code);
                Copied::Whole
            }
            None if self.unreadable.is_some_and(|from| address >= from) => Copied::Unknown,
            None => Copied::Nothing,
        }
    }

    fn stack(&self, sp: u64) -> Option<StackBounds> {
        self.stacks.iter().find_map(|(low, words)| {
            let high = low + words.len() as u64 * 8;
            (*low..high).contains(&sp).then_some(StackBounds { low: *low, high })
        })
    }

    fn read(&self, address: u64) -> Option<u64> {
        let bounds = self.stack(address)?;
        let (_, words) = self.stacks.iter().find(|(low, _)| *low == bounds.low)?;
        words.get((address - bounds.low) as usize / 8).copied()
    }
}

fn interrupted(ip: u64, named: &[(Register, u64)]) -> Registers {
    let mut registers = Registers::interrupted(ip, [0xdead_dead_dead_dead; 16]);
    for (register, value) in named {
        registers.set(*register, *value);
    }
    registers
}

fn returns(slot: u64, address: u64) -> Exit {
    Exit::Return { slot, address, plt: false, plain: true }
}

/// From a frame that no compiler makes.
fn returns_from_assembly(slot: u64, address: u64) -> Exit {
    Exit::Return { slot, address, plt: false, plain: false }
}

const LEAF: Recipe = Recipe::Sp { bp: Slot::SAME, offset: 8 };
const PUSHED: Recipe = Recipe::Sp { bp: Slot::SAME, offset: 16 };

/// `leaf` at 0x100, called by `middle` at 0x200, called by `_start` at 0x300.
#[test]
fn a_path_of_three() {
    let process = Process::new(&[(0x100, LEAF), (0x200, PUSHED), (0x300, Recipe::EndOfStack)])
        .stack(0x7000, &[0x40_0210, 0, 0x40_0310, 0]);
    let start = interrupted(0x40_0104, &[(Register::RSP, 0x7000)]);
    let expected = vec![
        (FrameKind::Leaf, 0x40_0104, returns(0x7000, 0x40_0210)),
        (FrameKind::Call, 0x40_0210, returns(0x7010, 0x40_0310)),
        (FrameKind::Call, 0x40_0310, Exit::None),
    ];
    assert_eq!(process.walk(&start), (expected, End::Complete));
}

/// The same from `middle`, which has called who asks.
#[test]
fn a_path_from_a_call() {
    let process = Process::new(&[(0x200, PUSHED), (0x300, Recipe::EndOfStack)])
        .stack(0x7008, &[0, 0x40_0310, 0]);
    let start = interrupted(0x40_0210, &[(Register::RSP, 0x7008)]);
    let mut frames = Vec::new();
    let end = walk(&start, FrameKind::Call, &mut RecipeCache::new(), &process, |frame| {
        frames.push((frame.kind, frame.address));
        Flow::Continue
    });
    let expected = [(FrameKind::Call, 0x40_0210), (FrameKind::Call, 0x40_0310)];
    assert_eq!((frames, end), (expected.to_vec(), End::Complete));
}

/// `middle` ends with a call that never returns, so that its return address is the first byte of
/// `_start`: the recipe is that of the call instruction.
#[test]
fn a_call_that_never_returns() {
    let process = Process::new(&[(0x100, LEAF), (0x200, PUSHED), (0x300, Recipe::EndOfStack)])
        .stack(0x7000, &[0x40_0300, 0, 0x40_0310, 0]);
    let start = interrupted(0x40_0104, &[(Register::RSP, 0x7000)]);
    let expected = vec![
        (FrameKind::Leaf, 0x40_0104, returns(0x7000, 0x40_0300)),
        (FrameKind::Call, 0x40_0300, returns(0x7010, 0x40_0310)),
        (FrameKind::Call, 0x40_0310, Exit::None),
    ];
    assert_eq!(process.walk(&start), (expected, End::Complete));
}

/// A handler on an alternate stack interrupted the first instruction of a function, where only the
/// exact pc has the right recipe; the byte before belongs to another function.
#[test]
fn across_a_signal_frame_to_another_stack() {
    let mut signal_stack = vec![0x40_0101]; // the handler returns into the trampoline
    signal_stack.extend([7, 0, 0, 0, 0]); // uc_flags, uc_link, uc_stack
    signal_stack.extend([0; 8 + 2 + 1 + 1 + 1 + 1 + 1]); // r8 … r15, rdi, rsi, rbp, rbx, rdx, rax, rcx
    signal_stack.extend([0x9000, 0x40_0300]); // rsp, rip
    let process = Process::new(&[
        (0x0f0, LEAF),
        (0x100, Recipe::SignalFrame),
        (0x200, PUSHED),
        (0x300, LEAF),
        (0x400, Recipe::EndOfStack),
    ])
    .stack(0x5000, &signal_stack)
    .stack(0x9000, &[0x40_0410, 0]);
    let start = interrupted(0x40_00f4, &[(Register::RSP, 0x5000)]);
    let expected = vec![
        (FrameKind::Leaf, 0x40_00f4, returns(0x5000, 0x40_0101)),
        (FrameKind::Call, 0x40_0101, Exit::Signal),
        (FrameKind::Interrupted, 0x40_0300, returns(0x9000, 0x40_0410)),
        (FrameKind::Call, 0x40_0410, Exit::None),
    ];
    assert_eq!(process.walk(&start), (expected, End::Complete));
}

/// A signal frame whose context points back to the stack it lies on, below itself.
#[test]
fn a_signal_frame_that_leads_back() {
    let mut words = vec![0; 5 + 15];
    words.extend([0x7000, 0x40_0100]); // rsp, rip
    let process = Process::new(&[(0x100, Recipe::SignalFrame)]).stack(0x7000, &words);
    let start = interrupted(0x40_0100, &[(Register::RSP, 0x7000)]);
    let (frames, end) = process.walk(&start);
    assert_eq!(frames.len(), 1);
    assert_eq!(end, End::Partial(PartialReason::BadStack));
}

/// `resolve` at 0x200 keeps its CFA in rbx, which `leaf` has saved. Each frame is seen once.
#[test]
fn a_frame_kept_in_rbx() {
    let saved_rbx = CalleeSaved::new([Slot::at_cfa(-16), SAME[0], SAME[0], SAME[0], SAME[0]]);
    let same = CalleeSaved::new(SAME);
    let by_rbx = Recipe::Register { register: Register::RBX, bp: Slot::SAME, offset: 16 };
    let process = Process::with_callee_saved(&[
        (0x100, PUSHED, saved_rbx),
        (0x200, by_rbx, same),
        (0x300, Recipe::EndOfStack, same),
    ])
    .stack(0x7000, &[0x7020, 0x40_0210, 0, 0, 0, 0x40_0310, 0]);
    let start = interrupted(0x40_0104, &[(Register::RSP, 0x7000), (Register::RBX, 5)]);
    let expected = vec![
        (FrameKind::Leaf, 0x40_0104, returns(0x7008, 0x40_0210)),
        (FrameKind::Call, 0x40_0210, returns_from_assembly(0x7028, 0x40_0310)),
        (FrameKind::Call, 0x40_0310, Exit::None),
    ];
    assert_eq!(process.walk(&start), (expected, End::Complete));
}

/// A register that the CFI does not restore ends the path.
#[test]
fn a_frame_kept_in_a_lost_register() {
    let by_r10 = Recipe::Register { register: Register::R10, bp: Slot::SAME, offset: 0 };
    let process = Process::new(&[(0x100, LEAF), (0x200, by_r10)]).stack(0x7000, &[0x40_0210, 0, 0]);
    let start = interrupted(0x40_0104, &[(Register::RSP, 0x7000), (Register::R10, 0x7010)]);
    let (frames, end) = process.walk(&start);
    assert_eq!(frames.last(), Some(&(FrameKind::Call, 0x40_0210, Exit::None)));
    assert_eq!(end, End::Partial(PartialReason::UnsupportedCfi));
}

/// OpenSSL's AES-GCM keeps its CFA in rax while it calls a subroutine of its own, whose code does
/// not touch rax; one that does ends the path.
#[test]
fn a_frame_kept_in_a_register_that_its_callee_leaves_alone() {
    let by_rax = Recipe::Register { register: Register::RAX, bp: Slot::SAME, offset: 8 };
    let rows = [(0x100, LEAF), (0x200, by_rax), (0x300, Recipe::EndOfStack)];
    let words = [0x40_0210, 0, 0x40_0310, 0];
    let start = interrupted(0x40_0100, &[(Register::RSP, 0x7000), (Register::RAX, 0x7010)]);
    let whole = [
        (FrameKind::Leaf, 0x40_0100, returns(0x7000, 0x40_0210)),
        (FrameKind::Call, 0x40_0210, returns_from_assembly(0x7010, 0x40_0310)),
        (FrameKind::Call, 0x40_0310, Exit::None),
    ];
    let cut = [whole[0], (FrameKind::Call, 0x40_0210, Exit::None)];
    for (subroutine, expected, end) in [
        ([0x31, 0xd2, 0xc3], &whole[..], End::Complete), // xor %edx,%edx; ret
        ([0x31, 0xc0, 0xc3], &cut, End::Partial(PartialReason::UnsupportedCfi)), // xor %eax,%eax; ret
    ] {
        let process = Process::new(&rows).text(0x100, &subroutine).stack(0x7000, &words);
        assert_eq!(process.walk(&start), (expected.to_vec(), end));
    }
}

/// A subroutine of assembly without CFI that keeps no register is believed to be called only by an
/// instruction that calls it.
#[test]
fn a_subroutine_without_cfi_that_keeps_nothing() {
    let words = [0x40_0205, 0, 0x40_0310, 0];
    let start = interrupted(0x40_0802, &[(Register::RSP, 0x7000)]);
    let rows = [(0x200, PUSHED), (0x300, Recipe::EndOfStack), (0x400, Recipe::NoCfi)];
    let subroutine = [0x89, 0xff, 0x31, 0xdb, 0xc3]; // mov %edi,%edi; xor %ebx,%ebx; ret
    for (distance, known) in [(0x5fb_u32, true), (0x5fc, false), (0x6fb, false)] {
        let mut call = vec![0xe8];
        call.extend(distance.to_le_bytes());
        let process =
            Process::new(&rows).text(0x200, &call).text(0x800, &subroutine).stack(0x7000, &words);
        let (frames, end) = process.walk(&start);
        let exit = Exit::Guess { slot: 0x7000, address: 0x40_0205 };
        let (expected, length) = if known { (exit, 3) } else { (Exit::None, 1) };
        assert_eq!((frames[0].2, frames.len()), (expected, length), "{distance:#x}");
        assert_eq!(end == End::Complete, known);
        // Code is copied for the first sample alone.
        let mut cache = Box::new(RecipeCache::new());
        let copies = [(); 3].map(|()| {
            process.texts.set(0);
            cache.prepare(1);
            walk(&start, FrameKind::Leaf, &mut cache, &process, |_| Flow::Continue);
            process.texts.get()
        });
        assert!(copies[0] > 0 && (!known || copies[1..] == [0, 0]), "{copies:?}");
    }
}

/// What code that was generated has called is found when known code calls it.
#[test]
fn a_caller_that_is_not_believed_says_nothing_of_others() {
    let process =
        Process::new(&[(0x200, PUSHED), (0x300, Recipe::EndOfStack), (0x400, Recipe::NoCfi)])
            .text(0x200, &[0xff, 0xd0, 0xff, 0xd0]) // call *%rax, twice
            .text(0x800, &[0x89, 0xff, 0xc3]) // mov %edi,%edi; ret
            .stack(0x7000, &[0x1234_5678, 0, 0])
            .stack(0x8000, &[0x40_0202, 0, 0x40_0310, 0])
            .stack(0x9000, &[0x40_0204, 0, 0x40_0310, 0]);
    let mut cache = Box::new(RecipeCache::new());
    let depth = |stack| {
        let start = interrupted(0x40_0800, &[(Register::RSP, stack)]);
        let mut frames = 0;
        let end = walk(&start, FrameKind::Leaf, &mut cache, &process, |_| {
            frames += 1;
            Flow::Continue
        });
        (frames, end)
    };
    let (cut, whole) = ((1, End::Partial(PartialReason::NoCfi)), (3, End::Complete));
    let ends = [0x7000, 0x7000, 0x8000, 0x7000, 0x9000, 0x8000].map(depth);
    assert_eq!(ends, [cut, cut, whole, cut, whole, whole]);
}

/// A way that was believed is tried further on as far as it holds. Refused there, it says nothing
/// of what is further on still.
#[test]
fn a_refused_way_reaches_nowhere() {
    // Six nops; sub $8,%rsp; nop; add $8,%rsp; ret
    let mut code = vec![0x90; 6];
    code.extend([0x48, 0x83, 0xec, 8, 0x90, 0x48, 0x83, 0xc4, 8, 0xc3]);
    let process =
        Process::new(&[(0x200, PUSHED), (0x300, Recipe::EndOfStack), (0x400, Recipe::NoCfi)])
            .text(0x200, &[0xff, 0xd0, 0xff, 0xd0]) // call *%rax, twice
            .text(0x800, &code)
            .stack(0x7000, &[0x40_0202, 0, 0x40_0310, 0])
            .stack(0x8000, &[0x1234_5678, 0, 0])
            .stack(0x9000, &[0x40_0202, 0x40_0204, 0, 0x40_0310, 0]);
    let mut cache = Box::new(RecipeCache::new());
    let mut callers = |pc, stack| {
        let start = interrupted(pc, &[(Register::RSP, stack)]);
        let mut visited = Vec::new();
        walk(&start, FrameKind::Leaf, &mut cache, &process, |frame| {
            visited.push(frame.address);
            Flow::Continue
        });
        visited.split_off(1)
    };
    assert_eq!(callers(0x40_0800, 0x7000), [0x40_0202, 0x40_0310]);
    assert_eq!(callers(0x40_0806, 0x8000), [0; 0]);
    assert_eq!(callers(0x40_080a, 0x9000), [0x40_0204, 0x40_0310]);
}

/// To look for a way takes long. Where none was believed on many stacks, whatever their words, none
/// is looked for any more; the first one that was found is believed where a stack agrees to it.
#[test]
fn a_way_that_is_refused_again_and_again() {
    let leaf = [0x90, 0xc3]; // nop; ret
    let words: Vec<u64> = (0..u64::from(MOST_REFUSALS)).collect();
    let process = Process::new(&[(0x100, Recipe::NoCfi), (0x200, Recipe::EndOfStack)])
        .text(0x100, &leaf)
        .text(0x240, &[0xe8, 0xbb, 0xfe, 0xff, 0xff]) // call leaf
        .stack(0x9000, &[0x40_0245, 0])
        .stack(0xa000, &[0x1234, 0]);
    let process = words
        .iter()
        .fold(process, |process, word| process.stack(0x7000 + 0x100 * word, &[*word, 0]));
    let mut cache = Box::new(RecipeCache::new());
    for (place, word) in words.iter().enumerate() {
        let start = interrupted(0x40_0100, &[(Register::RSP, 0x7000 + 0x100 * word)]);
        for _ in 0..2 {
            walk(&start, FrameKind::Leaf, &mut cache, &process, |_| Flow::Continue);
            let known = cache.get_inferred(0x40_0100).unwrap();
            assert_eq!((usize::from(known.refusals), known.refused), (place + 1, Some(*word)));
        }
    }
    // On another stack it may be believed, and then it is looked for again.
    let mut refusals = |stack| {
        let start = interrupted(0x40_0100, &[(Register::RSP, stack)]);
        let end = walk(&start, FrameKind::Leaf, &mut cache, &process, |_| Flow::Continue);
        (end == End::Complete, cache.get_inferred(0x40_0100).unwrap().refusals)
    };
    let known = [0xa000, 0x9000, 0xa000, 0x9000].map(&mut refusals);
    assert_eq!(known, [(false, MOST_REFUSALS), (true, 0), (false, 1), (true, 0)]);
}

/// Code without CFI at 0x800 that keeps a frame pointer, called from code with CFI.
#[test]
fn a_frame_pointer_where_there_is_no_cfi() {
    let rows = [(0x300, PUSHED), (0x380, Recipe::EndOfStack), (0x400, Recipe::NoCfi)];
    let words = [0, 0, 0x7028, 0x40_0310, 0, 0x40_0390, 0];
    let process = Process::new(&rows).stack(0x7000, &words);
    let named = [(Register::RSP, 0x7000), (Register::RBP, 0x7010)];
    let expected = vec![
        (FrameKind::Leaf, 0x40_0804, Exit::Guess { slot: 0x7018, address: 0x40_0310 }),
        (FrameKind::Call, 0x40_0310, returns(0x7028, 0x40_0390)),
        (FrameKind::Call, 0x40_0390, Exit::None),
    ];
    assert_eq!(process.walk(&interrupted(0x40_0804, &named)), (expected, End::Complete));
}

/// The frame pointer is not believed: the words at bp are the saved bp and the return address.
#[test]
fn a_frame_pointer_that_is_something_else() {
    let rows = [(0x300, PUSHED), (0x400, Recipe::NoCfi)];
    for (why, bp, words) in [
        ("saved bp below", 0x7010, [0, 0, 0x7008, 0x40_0310, 0, 0]),
        ("saved bp outside the stack", 0x7010, [0, 0, 0x9000, 0x40_0310, 0, 0]),
        ("saved bp not aligned", 0x7010, [0, 0, 0x7021, 0x40_0310, 0, 0]),
        ("return address in no code", 0x7010, [0, 0, 0x7028, 0x1234, 0, 0]),
        ("bp below the stack pointer", 0x6ff0, [0; 6]),
        ("bp at the end of the stack", 0x7028, [0; 6]),
        ("bp not aligned", 0x7011, [0; 6]),
    ] {
        let process = Process::new(&rows).stack(0x7000, &words);
        let start = interrupted(0x40_0804, &[(Register::RSP, 0x7000), (Register::RBP, bp)]);
        let expected = vec![(FrameKind::Leaf, 0x40_0804, Exit::None)];
        let end = End::Partial(PartialReason::NoCfi);
        assert_eq!(process.walk(&start), (expected, end), "{why}");
    }
}

/// A makecontext function returns to the first byte of an FDE with nothing before it.
#[test]
fn a_return_to_the_start_of_a_function_that_nothing_calls() {
    let process = Process::new(&[(0x100, LEAF), (0x200, Recipe::NoCfi), (0x300, PUSHED)])
        .stack(0x7000, &[0x40_0300, 0, 0]);
    let start = interrupted(0x40_0104, &[(Register::RSP, 0x7000)]);
    let expected = vec![
        (FrameKind::Leaf, 0x40_0104, returns(0x7000, 0x40_0300)),
        (FrameKind::Call, 0x40_0300, Exit::None),
    ];
    assert_eq!(process.walk(&start), (expected, End::Complete));
}

/// `_start` without CFI: and rsp, -16; call; hlt.
#[test]
fn a_return_to_where_the_processor_would_halt() {
    let start = [0x48, 0x83, 0xe4, 0xf0, 0xe8, 0x67, 0xfe, 0xff, 0xff, 0xf4];
    let expected = |end| {
        let leaf = (FrameKind::Leaf, 0x40_0104, returns(0x7000, 0x40_0290));
        (vec![leaf, (FrameKind::Call, 0x40_0290, Exit::None)], end)
    };
    for (last, end) in [(0xf4, End::Complete), (0x90, End::Partial(PartialReason::NoCfi))] {
        let mut code = start;
        code[9] = last;
        let process = Process::new(&[(0x100, LEAF), (0x200, Recipe::NoCfi), (0x300, PUSHED)])
            .text(0x287, &code)
            .stack(0x7000, &[&[0x40_0290][..], &[0; 16]].concat());
        let registers = interrupted(0x40_0104, &[(Register::RSP, 0x7000)]);
        assert_eq!(process.walk(&registers), expected(end), "{last:x}");
    }
}

/// clang's `__clang_call_terminate` has no CFI and ends with a call that never returns; where
/// functions are not aligned, one with CFI begins right behind.
#[test]
fn a_return_to_the_start_of_a_function_behind_a_call_that_never_returns() {
    let terminate = [0x50, 0xe8, 0, 0, 0, 0, 0xe8, 0, 0, 0, 0, 0xc3]; // push %rax; call; call; and ret
    let process = Process::new(&[
        (0x100, LEAF),
        (0x200, PUSHED),
        (0x280, Recipe::NoCfi),
        (0x300, PUSHED),
        (0x380, Recipe::EndOfStack),
    ])
    .text(0x240, &[0xe8, 0xb0, 0, 0, 0])
    .text(0x2f5, &terminate)
    // A return address of a call before lies where the next function would have its own.
    .stack(0x7000, &[&[0x40_0300, 0x40_0390, 0x40_0245, 0, 0x40_0390][..], &[0; 16]].concat());
    let start = interrupted(0x40_0104, &[(Register::RSP, 0x7000)]);
    let expected = vec![
        (FrameKind::Leaf, 0x40_0104, returns(0x7000, 0x40_0300)),
        (FrameKind::Call, 0x40_0300, Exit::Guess { slot: 0x7010, address: 0x40_0245 }),
        (FrameKind::Call, 0x40_0245, returns(0x7020, 0x40_0390)),
        (FrameKind::Call, 0x40_0390, Exit::None),
    ];
    assert_eq!(process.walk(&start), (expected, End::Complete));
}

/// Boost puts an address without CFI below a coroutine, at which the process ends: nothing called
/// it. With a call before it, it may have callers that cannot be found.
#[test]
fn a_return_to_what_only_a_new_stack_leads_to() {
    let end = [0x48, 0x31, 0xff, 0xe8, 0x49, 0xfe, 0xff, 0xff, 0xf4]; // xor %rdi,%rdi; call _exit; hlt
    let words = [&[0x40_0802], &[0; 16][..]].concat();
    for (before, expected) in [
        ([0xff, 0xe3], End::Complete),                      // jmp *%rbx
        ([0xff, 0xd3], End::Partial(PartialReason::NoCfi)), // call *%rbx
    ] {
        let code = [&before[..], &end].concat();
        let process = Process::new(&[(0x100, LEAF), (0x200, Recipe::NoCfi)])
            .text(0x800, &code)
            .stack(0x7000, &words);
        let start = interrupted(0x40_0104, &[(Register::RSP, 0x7000)]);
        let frames = vec![
            (FrameKind::Leaf, 0x40_0104, returns(0x7000, 0x40_0802)),
            (FrameKind::Call, 0x40_0802, Exit::None),
        ];
        assert_eq!(process.walk(&start), (frames, expected));
    }
}

/// Interrupted where another stack has just been taken, with the frame pointer of the one before,
/// which lies on the same mapping.
#[test]
fn a_context_switch_without_cfi() {
    // mov %rdi,%rsp; pop %rbp; pop %r8; jmp *%r8
    let code = [0x48, 0x89, 0xfc, 0x5d, 0x41, 0x58, 0x41, 0xff, 0xe0];
    // The stack of the context to come, and behind it that of the one before.
    let words = [0, 0x40_0205, 0, 0x40_0310, 0, 0x7048, 0x40_0390, 0, 0, 0x7060, 0x40_0390, 0, 0];
    let rows = [(0x200, PUSHED), (0x300, Recipe::EndOfStack), (0x400, Recipe::NoCfi)];
    let call = [0xe8, 0, 0, 0, 0];
    let process = Process::new(&rows).text(0x200, &call).text(0x800, &code).stack(0x7000, &words);
    for (ip, sp) in [(0x40_0800, 0x7050), (0x40_0803, 0x7000)] {
        let named = [(Register::RSP, sp), (Register::RBP, 0x7028), (Register::RDI, 0x7000)];
        let expected = vec![
            (FrameKind::Leaf, ip, Exit::Jump { address: 0x40_0205 }),
            (FrameKind::Call, 0x40_0205, returns(0x7018, 0x40_0310)),
            (FrameKind::Call, 0x40_0310, Exit::None),
        ];
        assert_eq!(process.walk(&interrupted(ip, &named)), (expected, End::Complete), "{ip:#x}");
    }
}

/// The dynamic loader begins a process with code that has no CFI; `main` has not been called yet.
#[test]
fn a_constructor_of_a_library() {
    let arguments = [1, 0x7ff0, 0, 0x7ff8, 0, 0, 0, 0];
    for (words_below, end) in [(0, End::Complete), (4, End::Partial(PartialReason::NoCfi))] {
        let mut words = vec![0x40_0210, 0];
        words.extend([0].repeat(words_below));
        words.extend(arguments);
        let process = Process::new(&[(0x100, LEAF), (0x200, Recipe::NoCfi)]).stack(0x7000, &words);
        let start = interrupted(0x40_0104, &[(Register::RSP, 0x7000)]);
        let expected = vec![
            (FrameKind::Leaf, 0x40_0104, returns(0x7000, 0x40_0210)),
            (FrameKind::Call, 0x40_0210, Exit::None),
        ];
        assert_eq!(process.walk(&start), (expected, end), "{words_below}");
    }
}

/// Generated code calls nothing here, and no module contains it.
#[test]
fn code_outside_every_module() {
    let process = Process::new(&[]).stack(0x7000, &[0, 0]);
    let start = interrupted(0x1234_5678, &[(Register::RSP, 0x7000), (Register::RBP, 1)]);
    let expected = vec![(FrameKind::Leaf, 0x1234_5678, Exit::None)];
    assert_eq!(process.walk(&start), (expected, End::Partial(PartialReason::UnknownModule)));
}

/// Recipes that lead nowhere on this stack: what is said of the path.
#[test]
fn ends() {
    let below = Recipe::Bp { bp: Slot::SAME, offset: 16 };
    for (why, recipe, word, end) in [
        ("zero return address", LEAF, 0, End::Complete),
        ("unsupported", Recipe::Unsupported, 0, End::Partial(PartialReason::UnsupportedCfi)),
        // rbp = sp − 16: the CFA would be the stack pointer itself.
        ("no progress", below, 0x40_0104, End::Partial(PartialReason::BadStack)),
        (
            "beyond the stack",
            Recipe::Sp { bp: Slot::SAME, offset: 4096 },
            0,
            End::Partial(PartialReason::BadStack),
        ),
        (
            "not aligned",
            Recipe::Sp { bp: Slot::SAME, offset: 12 },
            0,
            End::Partial(PartialReason::BadStack),
        ),
    ] {
        let process = Process::new(&[(0x100, recipe)]).stack(0x6ff0, &[0, word, word, word]);
        let named = [(Register::RSP, 0x7000), (Register::RBP, 0x6ff0)];
        let expected = vec![(FrameKind::Leaf, 0x40_0104, Exit::None)];
        assert_eq!(process.walk(&interrupted(0x40_0104, &named)), (expected, end), "{why}");
    }
}

/// A stack of which nothing is known: the leaf is still a sample.
#[test]
fn an_unknown_stack() {
    let process = Process::new(&[(0x100, LEAF)]);
    let start = interrupted(0x40_0104, &[(Register::RSP, 0x7000)]);
    let expected = vec![(FrameKind::Leaf, 0x40_0104, Exit::None)];
    assert_eq!(process.walk(&start), (expected, End::Partial(PartialReason::BadStack)));
}

/// The visitor knows the rest of the path.
#[test]
fn a_visitor_that_stops() {
    let process = Process::new(&[(0x100, LEAF)]).stack(0x7000, &[0x40_0110; 8]);
    let start = interrupted(0x40_0104, &[(Register::RSP, 0x7000)]);
    let mut frames = 0;
    let end = walk(&start, FrameKind::Leaf, &mut RecipeCache::new(), &process, |_| {
        frames += 1;
        if frames == 3 { Flow::Stop } else { Flow::Continue }
    });
    assert_eq!((end, frames), (End::Stopped, 3));
}
