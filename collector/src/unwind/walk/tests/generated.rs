//! Walks through code of no module.

use super::*;

/// How the frame of generated code at this offset is left, interrupted with these registers on a
/// stack at 0x7000. `main` at 0x40_0300 has called at 0x40_030e and is the outermost frame.
fn exit_of(code: &[u8], at: u64, named: &[(Register, u64)], words: &[u64]) -> Option<(u64, u64)> {
    let process = Process::new(&[(0x300, Recipe::EndOfStack)])
        .text(0x30e, &[0xff, 0xd0, 0xff, 0xd0]) // call *%rax, twice
        .generated(code)
        .stack(0x7000, &[words, &[0; 16]].concat());
    let mut registers = Registers::interrupted(GENERATED + at, [0; 16]);
    for (register, value) in named {
        registers.set(*register, *value);
    }
    let (frames, end) = process.walk(&registers);
    match (frames[0].2, end) {
        (Exit::Guess { slot, address }, End::Complete) => Some((slot, address)),
        (Exit::None, End::Partial(PartialReason::UnknownModule)) => None,
        other => panic!("{other:x?}"),
    }
}

const MAIN: u64 = 0x40_0310;
/// Another return address of `main`.
const OTHER: u64 = 0x40_0312;

/// The trampolines of CPython (Objects/asm_trampoline.S): without a frame pointer up to 3.13, and
/// with one. The interpreter has been called from there.
#[test]
fn a_trampoline_that_was_generated() {
    let plain: &[u8] = &[0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3];
    let framed: &[u8] = &[0x55, 0x48, 0x89, 0xe5, 0xff, 0xd1, 0x5d, 0xc3];
    for code in [plain, framed] {
        let process = Process::new(&[(0x100, LEAF), (0x300, Recipe::EndOfStack)])
            .text(0x30e, &[0xff, 0xd0])
            .generated(code)
            .stack(0x7000, &[GENERATED + 6, 0x7030, MAIN, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let start = interrupted(0x40_0104, &[(Register::RSP, 0x7000), (Register::RBP, 0x7008)]);
        let expected = vec![
            (FrameKind::Leaf, 0x40_0104, returns(0x7000, GENERATED + 6)),
            (FrameKind::Call, GENERATED + 6, Exit::Guess { slot: 0x7010, address: MAIN }),
            (FrameKind::Call, MAIN, Exit::None),
        ];
        assert_eq!(process.walk(&start), (expected, End::Complete), "{code:x?}");
    }
}

/// At each instruction of a function with a frame pointer, and of one that uses rbp for what it
/// likes: to point to what looks like a frame.
#[test]
fn generated_code_says_where_it_stands() {
    // push %rbp; mov %rsp,%rbp; sub $16,%rsp; nop; leave; ret
    let code = [0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x90, 0xc9, 0xc3];
    // Above is another frame, with a return address that would be believed.
    let words = [0, 0, 0x7040, MAIN, 0, 0, 0, 0, 0x7060, OTHER];
    for (at, sp, bp) in [
        (0, 0x7018, 0x7040),
        (1, 0x7010, 0x7040),
        (4, 0x7010, 0x7010),
        (8, 0x7000, 0x7010),
        (9, 0x7000, 0x7010),
        (10, 0x7018, 0x7040),
    ] {
        let named = [(Register::RSP, sp), (Register::RBP, bp)];
        assert_eq!(exit_of(&code, at, &named, &words), Some((0x7018, MAIN)), "at {at}");
    }
    // push %rbx; sub $32,%rsp; lea 8(%rsp),%rbp; nop; add $32,%rsp; pop %rbx; ret
    let code = [
        0x53, 0x48, 0x83, 0xec, 0x20, 0x48, 0x8d, 0x6c, 0x24, 0x08, 0x90, 0x48, 0x83, 0xc4, 0x20,
        0x5b, 0xc3,
    ];
    let stale = [0, 0x7040, OTHER, 0, 0, MAIN, 0, 0, 0, 0];
    for (at, sp) in [(0, 0x7028), (1, 0x7020), (10, 0x7000), (15, 0x7020), (16, 0x7028)] {
        let named = [(Register::RSP, sp), (Register::RBP, 0x7008)];
        assert_eq!(exit_of(&code, at, &named, &stale), Some((0x7028, MAIN)), "at {at}");
    }
}

/// Code that goes on where only the run decides: a frame pointer is followed if nothing else can be
/// the return address.
#[test]
fn a_frame_pointer_of_generated_code_must_be_the_only_answer() {
    // mov -8(%rbp),%eax; jmp *(%rbx,%rax,8); and behind it a call *%rax.
    let code = [0x8b, 0x45, 0xf8, 0xff, 0x24, 0xc3, 0xff, 0xd0, 0x90, 0x90, 0x90];
    let called = GENERATED + 8;
    let (sp, bp) = ((Register::RSP, 0x7000), (Register::RBP, 0x7018));
    let words = [1, 2, 3, 0x7040, MAIN, 0];
    let with = |place: usize, word: u64| {
        let mut words = words;
        words[place] = word;
        words
    };
    let found = Some((0x7020, MAIN));
    for (what, named, words, expected) in [
        ("a frame", [sp, bp, (Register::RAX, 0)], words, found),
        ("entered just now", [sp, bp, (Register::RAX, 0)], with(0, MAIN), None),
        ("one generated function in another", [sp, bp, (Register::RAX, 0)], with(1, called), None),
        ("about to jump back", [sp, bp, (Register::RCX, called)], words, None),
        ("no call before it", [sp, bp, (Register::RAX, 0)], with(4, MAIN + 1), None),
        ("no code", [sp, bp, (Register::RAX, 0)], with(4, 0x7000), None),
        ("a chain that goes down", [sp, bp, (Register::RAX, 0)], with(3, 0x7008), None),
        ("off the stack", [sp, bp, (Register::RAX, 0)], with(3, 0x9000), None),
        ("not aligned", [sp, (Register::RBP, 0x7014), (Register::RAX, 0)], words, None),
        ("below the stack", [sp, (Register::RBP, 0x6ff8), (Register::RAX, 0)], words, None),
    ] {
        assert_eq!(exit_of(&code, 0, &named, &words), expected, "{what}");
    }
    for (what, code) in [
        ("rbp is counted up", &[0x48, 0x83, 0xc5, 0x08, 0xff, 0x24, 0xc3][..]),
        ("rbp is loaded", &[0x48, 0x8b, 0x6b, 0x08, 0xff, 0x24, 0xc3]),
        ("the return address is written", &[0x48, 0x89, 0x45, 0x08, 0xff, 0x24, 0xc3]),
        ("rbp is restored", &[0x5d, 0xff, 0x24, 0xc3]),
        // SBCL: pop 8(%rbp); …; mov %rbp,%rsp; pop %rbp; ret
        ("rbp is the frame to come", &[0x8f, 0x45, 0x08, 0x48, 0x89, 0xec, 0x5d, 0xc3]),
    ] {
        let named = [sp, bp];
        assert_eq!(exit_of(code, 0, &named, &words), None, "{what}");
    }
}

/// A call that does not come back, at the end of a function with 8 bytes on the stack, in which
/// something is left over; behind it another function, with a frame and without.
#[test]
fn what_follows_a_call_that_does_not_come_back_is_another_function() {
    for behind in
        [&[0xc3][..], &[0x90, 0x90, 0x31, 0xc0, 0xc3], &[0x55, 0x48, 0x89, 0xe5, 0xc9, 0xc3]]
    {
        let code = [&[0x48, 0x83, 0xec, 0x08, 0xff, 0xd0], behind].concat(); // sub $8,%rsp; call *%rax
        let process = Process::new(&[(0x100, LEAF), (0x300, Recipe::EndOfStack)])
            .text(0x30e, &[0xff, 0xd0])
            .generated(&code)
            .stack(0x6ff8, &[GENERATED + 6, MAIN, MAIN, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let start = interrupted(0x40_0104, &[(Register::RSP, 0x6ff8), (Register::RBP, 0)]);
        let expected = vec![
            (FrameKind::Leaf, 0x40_0104, returns(0x6ff8, GENERATED + 6)),
            (FrameKind::Call, GENERATED + 6, Exit::None),
        ];
        let end = End::Partial(PartialReason::UnknownModule);
        assert_eq!(process.walk(&start), (expected, end), "{behind:x?}");
    }
}

/// V8 takes its arguments off the stack behind its frame: as many as there are, or `ret $24`.
#[test]
fn a_frame_that_is_taken_down_says_enough() {
    for code in [
        &[0x90, 0x48, 0x8b, 0xe5, 0x5d, 0xc2, 0x18, 0][..],
        &[0x90, 0xc9, 0x59, 0x4a, 0x8d, 0x24, 0xd4, 0x51, 0xc3],
    ] {
        let named = [(Register::RSP, 0x7000), (Register::RBP, 0x7010)];
        let found = exit_of(code, 0, &named, &[1, 2, 5, MAIN]);
        assert_eq!(found, Some((0x7018, MAIN)), "{code:x?}");
        assert_eq!(exit_of(code, 0, &named, &[MAIN, 2, 5, MAIN]), None, "not known which");
    }
}

/// Where the code says where the return address is, and no call precedes what is there, no frame
/// pointer says better: it may be a caller's. HotSpot's compiled methods return to its interpreter
/// so.
#[test]
fn a_return_address_that_no_call_precedes_is_no_reason_to_look_elsewhere() {
    // Forty nops; add $8,%rsp; pop %rbp; ret
    let code = [&[0x90; 40][..], &[0x48, 0x83, 0xc4, 0x08, 0x5d, 0xc3]].concat();
    let words = [0, 0x7030, GENERATED + 0x200, 0, 0, 0, 0x7060, MAIN, 0, 0, 0, 0, 0];
    for (code, at) in [(&code[..], 0), (&code, 20), (&code, 40)] {
        let named = [(Register::RSP, 0x7000), (Register::RBP, 0x7030)];
        assert_eq!(exit_of(code, at, &named, &words), None, "at {at}");
    }
    // The same with a word between that rbp points below of.
    let code = [&[0x8b, 0x45, 0xf8][..], &code].concat();
    let named = [(Register::RSP, 0x7000), (Register::RBP, 0x7030)];
    assert_eq!(exit_of(&code, 0, &named, &words), None);
}

/// Code that ends in a jump that only the run decides, and that does not use rbp: it may be
/// anyone's.
#[test]
fn a_frame_pointer_that_nothing_is_seen_to_use() {
    let words = [1, 2, 3, 0x7040, MAIN, 0];
    let named = [(Register::RSP, 0x7000), (Register::RBP, 0x7018)];
    for (code, expected) in [
        (&[0x31, 0xc0, 0xff, 0x24, 0xc3][..], None), // xor %eax,%eax; jmp *(%rbx,%rax,8)
        (&[0x8b, 0x45, 0x10, 0xff, 0x24, 0xc3], None), // mov 16(%rbp),%eax
        (&[0x8b, 0x45, 0xf8, 0xff, 0x24, 0xc3], Some((0x7020, MAIN))), // mov -8(%rbp),%eax
    ] {
        assert_eq!(exit_of(code, 0, &named, &words), expected, "{code:x?}");
    }
}

/// Interrupted in front of a call that does not come back, behind which another function begins:
/// its way out leads to whatever is left over on the stack.
#[test]
fn the_next_function_is_not_the_way_out_of_interrupted_code() {
    let begin = [0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x85, 0xc0]; // sub $16,%rsp; test
    let next = [0x55, 0x48, 0x89, 0xe5, 0x90, 0x5d, 0xc3];
    let call = [0xe8, 0, 0x10, 0, 0];
    let leave = [0xc9, 0xc3];
    let call_last = [&begin[..], &[0x74, 2], &leave, &call, &next].concat();
    let call_first = [&begin[..], &[0x75, 12], &call, &next, &leave].concat();
    for code in [call_last, call_first] {
        for stale in [0, OTHER] {
            let words = [stale, 0, 0x7040, MAIN, 0, 0, 0, 0, 0x7070, MAIN, 0, 0, 0];
            let named = [(Register::RSP, 0x7000), (Register::RBP, 0x7010)];
            let found = exit_of(&code, 8, &named, &words);
            assert_eq!(found, Some((0x7018, MAIN)), "{code:x?} {stale:x}");
        }
    }
    // A frame that was not seen to be made may be the caller's.
    let code = [&[0x85, 0xc0, 0x74, 2][..], &leave, &call, &next].concat();
    let words = [OTHER, 0, 0x7040, MAIN, 0, 0, 0, 0, 0x7070, MAIN, 0, 0, 0];
    let named = [(Register::RSP, 0x7000), (Register::RBP, 0x7010)];
    assert_eq!(exit_of(&code, 0, &named, &words), None);
}

/// A return into code that cannot be read may be one all the same.
#[test]
fn a_return_into_code_that_cannot_be_read() {
    let code = [0x8b, 0x45, 0xf8, 0xff, 0x24, 0xc3]; // mov -8(%rbp),%eax; jmp *(%rbx,%rax,8)
    let named = [(Register::RSP, 0x7000), (Register::RBP, 0x7018)];
    let frames = |word: u64, unreadable| {
        let mut process = Process::new(&[(0x300, Recipe::EndOfStack)])
            .text(0x30e, &[0xff, 0xd0])
            .generated(&code)
            .stack(0x7000, &[&[word, 2, 3, 0x7040, MAIN, 0][..], &[0; 16]].concat());
        process.unreadable = unreadable;
        let mut registers = Registers::interrupted(GENERATED, [0; 16]);
        named.iter().for_each(|(register, value)| registers.set(*register, *value));
        process.walk(&registers).0.len()
    };
    // Of a module, behind what can be read of it; in memory of no module, and nowhere.
    assert_eq!(frames(0x40_0500, None), 1);
    assert_eq!(frames(0x123_4567_8000, Some(0x100_0000_0000)), 1);
    assert_eq!(frames(0x123_4567_8000, None), 2);
}

/// A subroutine of generated code that takes the frame of its caller down: its own return address
/// lies below.
#[test]
fn a_frame_that_another_function_has_made() {
    // push %rbp; mov %rsp,%rbp; nop; call 1f; nop; 1: push %rax; push %rcx; push %rdx; call *%rax;
    // leave; ret
    let code = [
        0x55, 0x48, 0x89, 0xe5, 0x90, 0xe8, 1, 0, 0, 0, 0x90, 0x50, 0x51, 0x52, 0xff, 0xd0, 0xc9,
        0xc3,
    ];
    let words = [GENERATED + 16, 1, 2, 3, GENERATED + 10, 0x7050, MAIN, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let process = Process::new(&[(0x100, LEAF), (0x300, Recipe::EndOfStack)])
        .text(0x30e, &[0xff, 0xd0])
        .generated(&code)
        .stack(0x7000, &words);
    let start = interrupted(0x40_0104, &[(Register::RSP, 0x7000), (Register::RBP, 0x7028)]);
    let expected = vec![
        (FrameKind::Leaf, 0x40_0104, returns(0x7000, GENERATED + 16)),
        (FrameKind::Call, GENERATED + 16, Exit::None),
    ];
    assert_eq!(process.walk(&start), (expected, End::Partial(PartialReason::UnknownModule)));
}

/// Code of a module keeps its checks also where paths lead through generated code, unless that has
/// called it.
#[test]
fn code_of_a_module_that_keeps_nothing_is_not_believed_beside_generated_code() {
    let keeps_nothing = [0x31, 0xdb, 0x90, 0xc3]; // xor %ebx,%ebx; nop; ret
    let process = Process::new(&[(0x100, Recipe::NoCfi), (0x300, Recipe::EndOfStack)])
        .text(0x30e, &[0xff, 0xd0])
        .text(0xfff, &[0xcc])
        .text(0x100, &keeps_nothing)
        .generated(&[0x90])
        .stack(0x7000, &[&[MAIN][..], &[0; 16]].concat());
    let named = [(Register::RSP, 0x7000), (Register::RBP, 0)];
    let expected = vec![(FrameKind::Leaf, 0x40_0100, Exit::None)];
    let end = End::Partial(PartialReason::NoCfi);
    assert_eq!(process.walk(&interrupted(0x40_0100, &named)), (expected, end));
}

/// Words of a frame that may be anything: so many are looked at, and what that takes is paid for.
#[test]
fn reads_of_words_have_a_limit_and_a_price() {
    let code = [0x8b, 0x45, 0xf8, 0xff, 0x24, 0xc3];
    for (pointers, is_found) in [(20, true), (100, false)] {
        let bp = 0x7000 + pointers * 8;
        let mut words: Vec<u64> =
            (0..pointers).map(|number| 0x10_0000_0000 + number * 0x1238).collect();
        words.extend([bp + 0x40, MAIN, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let process = Process::new(&[(0x300, Recipe::EndOfStack)])
            .text(0x30e, &[0xff, 0xd0])
            .generated(&code)
            .stack(0x7000, &words);
        let mut registers = Registers::interrupted(GENERATED, [0; 16]);
        registers.set(Register::RSP, 0x7000);
        registers.set(Register::RBP, bp);
        let mut cache = Box::new(RecipeCache::new());
        cache.prepare(1);
        let mut took = Vec::new();
        walk(&registers, FrameKind::Leaf, &mut cache, &process, |frame| {
            took.push(frame.took);
            Flow::Continue
        });
        assert_eq!(took.len() == 2, is_found, "{pointers}");
        let copies = process.copies.get();
        // Those of the code come before, on up to three pages each time.
        assert!(copies <= Probes::MOST_OF_FRAME + 6, "{copies} of {pointers}");
        assert!(took[0] >= copies.saturating_sub(6) * 2 * SLOW, "{took:?} for {copies}");
        // Where nobody has asked for it, nothing is read.
        let process = Process { probes: None, copies: Cell::new(0), ..process };
        cache.prepare(1);
        walk(&registers, FrameKind::Leaf, &mut cache, &process, |_| Flow::Continue);
        assert_eq!(process.copies.get(), 0);
    }
}

/// Code of a module, called by generated code, with a frame pointer that may be its caller's
/// caller's: however large the frame would be.
#[test]
fn a_large_frame_of_a_module_below_generated_code() {
    for words_below in [256_u64, 600] {
        let bp = 0x7000 + words_below * 8;
        let mut words = vec![1_u64; words_below as usize];
        words[words_below as usize - 4] = GENERATED + 2;
        words.extend([bp + 0x40, MAIN]);
        words.extend([0; 20]);
        let process = Process::new(&[(0x100, Recipe::NoCfi), (0x300, Recipe::EndOfStack)])
            .text(0x30e, &[0xff, 0xd0])
            .text(0x100, &[0x0f, 0x0b])
            .generated(&[0xff, 0xd0, 0x90, 0x90, 0x90, 0x90])
            .stack(0x7000, &words);
        let named = [(Register::RSP, 0x7000), (Register::RBP, bp), (Register::RAX, 0)];
        let (frames, _) = process.walk(&interrupted(0x40_0100, &named));
        assert_eq!(frames.len(), 1, "{words_below}");
    }
}

/// HotSpot's interpreter pushes the address at which it will restore its stack pointer from its own
/// frame, and jumps. What lies in that frame may look like anything.
#[test]
fn a_return_that_restores_the_stack_needs_no_call() {
    // Forty nops; mov -16(%rbp),%rsp; jmp *(%rbx,%rax,8); and a function: nop; ret
    let site = 40;
    let code = [&[0x90; 40][..], &[0x48, 0x8b, 0x65, 0xf0, 0xff, 0x24, 0xc3, 0x90, 0xc3]].concat();
    let words = |restored: u64| {
        [GENERATED + site, OTHER, 1, 2, restored, 0, 0x7060, MAIN, 0, 0, 0, 0, 0, 0]
    };
    let named = [(Register::RSP, 0x7000), (Register::RBP, 0x7030)];
    for (restored, is_one) in [
        (0x7008, true),
        (0x7010, true),
        (0x7030, true),
        (0x7000, false),
        (0x7038, false),
        (0, false),
    ] {
        let process = Process::new(&[(0x100, LEAF), (0x300, Recipe::EndOfStack)])
            .text(0x30e, &[0xff, 0xd0, 0xff, 0xd0])
            .generated(&code)
            .stack(0x7000, &words(restored));
        // Called by a module's function, and by generated code.
        for start in [0x40_0104, GENERATED + 47] {
            let mut registers = Registers::interrupted(start, [0; 16]);
            named.iter().for_each(|(register, value)| registers.set(*register, *value));
            let (frames, end) = process.walk(&registers);
            let addresses: Vec<u64> = frames.iter().map(|(_, address, _)| *address).collect();
            let expected = [start, GENERATED + site, MAIN];
            let known = if start == 0x40_0104 { 2 } else { 1 };
            let (expected, complete) = match is_one {
                true => (&expected[..], End::Complete),
                false => (&expected[..known], End::Partial(PartialReason::UnknownModule)),
            };
            assert_eq!((&*addresses, end), (expected, complete), "{start:x} {restored:x}");
        }
    }
    // Where another word must not be a return address, it is one.
    let code = [&[0x8b, 0x45, 0xf8, 0xff, 0x24, 0xc3][..], &code].concat();
    let named = [(Register::RSP, 0x7000), (Register::RBP, 0x7018)];
    let words = [GENERATED + site + 6, 2, 3, 0x7040, MAIN, 0];
    assert_eq!(exit_of(&code, 0, &named, &words), None);
}

/// What is called takes its arguments off the stack, as many as there are: where the caller's stack
/// pointer is then, only its frame pointer says.
#[test]
fn a_caller_whose_stack_pointer_is_not_known() {
    let before = [0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10]; // …; sub $16,%rsp
    let call = [0x6a, 1, 0xff, 0xd0]; // push $1; call *%rax
    let by_sp = [0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3]; // add $16,%rsp; pop %rbp; ret
    let callee = [0x90, 0xc9, 0x59, 0x4a, 0x8d, 0x24, 0xd4, 0x51, 0xc3];
    let code = |before: &[u8]| [before, &call, &by_sp, &callee].concat();
    // The callee's frame, its argument, and the caller's frame; at the wrong end of it OTHER.
    let site = GENERATED + 12;
    let words = [0x7048, site, 1, 2, OTHER, 0x7070, MAIN, 0, 0, 0x7070, MAIN, 0, 0, 0, 0, 0];
    let found = |code: &[u8], words: &[u64], at: u64| {
        let process = Process::new(&[(0x300, Recipe::EndOfStack)])
            .text(0x30e, &[0xff, 0xd0, 0xff, 0xd0])
            .generated(code)
            .stack(0x7000, words);
        let mut registers = Registers::interrupted(GENERATED + at, [0; 16]);
        registers.set(Register::RSP, 0x7000);
        registers.set(Register::RBP, 0x7000);
        let frames = process.walk(&registers).0;
        frames.get(1).map(|(_, _, exit)| *exit)
    };
    // The stale words might be return addresses.
    assert_eq!(found(&code(&before), &words, 18), Some(Exit::None));
    let mut words = words;
    words[4] = 0;
    words[6] = 0;
    let exit = Exit::Guess { slot: 0x7050, address: MAIN };
    assert_eq!(found(&code(&before), &words, 18), Some(exit));
    // Nothing says that rbp is the frame's.
    assert_eq!(found(&code(&[0x90; 8]), &words, 18), Some(Exit::None));
}

/// Interrupted at the first instruction behind a call that does not come back, without padding
/// between: the frame that was made there is a caller's of a caller, by chance as deep.
#[test]
fn interrupted_code_behind_a_call_may_be_another_function() {
    // push %rbp; mov %rsp,%rbp; push %rdi; call; and: jmp *(%rbx,%rax,8)
    let code = [0x55, 0x48, 0x89, 0xe5, 0x57, 0xe8, 0, 0x10, 0, 0, 0xff, 0x24, 0xc3];
    let named = [(Register::RSP, 0x7000), (Register::RBP, 0x7008)];
    assert_eq!(exit_of(&code, 10, &named, &[OTHER, 0x7040, MAIN, 0, 0, 0]), None);
    // Where that word is none that is returned to, the frame is its own.
    let found = exit_of(&code, 10, &named, &[0, 0x7040, MAIN, 0, 0, 0]);
    assert_eq!(found, Some((0x7010, MAIN)));
}

/// A module's code that begins so has a call before it, if it is returned to.
#[test]
fn only_generated_code_is_returned_to_without_a_call() {
    // mov -16(%rbp),%rsp
    let restores = [0x48, 0x8b, 0x65, 0xf0];
    let code = [0x8b, 0x45, 0xf8, 0xff, 0x24, 0xc3]; // mov -8(%rbp),%eax; jmp *(%rbx,%rax,8)
    for (before, is_found) in [([0x90, 0x90], false), ([0xff, 0xd0], true)] {
        let process = Process::new(&[(0x300, Recipe::EndOfStack)])
            .text(0x30e, &before)
            .text(0x310, &[&restores[..], &[0x90; 40]].concat())
            .generated(&code)
            .stack(0x7000, &[1, 2, 3, 0x7050, MAIN, 0, 0, 0, 0x7028, 0, 0, 0, 0, 0, 0, 0]);
        let mut registers = Registers::interrupted(GENERATED, [0; 16]);
        registers.set(Register::RSP, 0x7000);
        registers.set(Register::RBP, 0x7018);
        let frames = process.walk(&registers).0;
        assert_eq!(frames.len() == 2, is_found, "{frames:x?}");
    }
}

/// V8's interpreter makes room for so many registers as a function has, in which anything may be
/// left over: that the frame is used behind the call says that it is the function's own.
#[test]
fn a_frame_of_a_size_that_only_the_run_knows() {
    // push %rbp; mov %rsp,%rbp; push %rsi; jmp 2f; 1: push %rax; 2: sub $8,%rcx; jge 1b; call *%rcx
    let before = [
        0x55, 0x48, 0x89, 0xe5, 0x56, 0xeb, 0x01, 0x50, 0x48, 0x83, 0xe9, 0x08, 0x7d, 0xf9, 0xff,
        0xd1,
    ];
    let leave = [0xc9, 0x59, 0x4a, 0x8d, 0x24, 0xd4, 0x51, 0xc3];
    let words = [GENERATED + 16, OTHER, 2, 3, 4, 0x7050, MAIN, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for (next, is_found) in [([0x48, 0x8b, 0x45, 0xf8], true), ([0x90; 4], false)] {
        let process = Process::new(&[(0x100, LEAF), (0x300, Recipe::EndOfStack)])
            .text(0x30e, &[0xff, 0xd0, 0xff, 0xd0])
            .generated(&[&before[..], &next, &leave].concat())
            .stack(0x7000, &words);
        let start = interrupted(0x40_0104, &[(Register::RSP, 0x7000), (Register::RBP, 0x7028)]);
        let frames = process.walk(&start).0;
        let expected = match is_found {
            true => Exit::Guess { slot: 0x7030, address: MAIN },
            false => Exit::None,
        };
        assert_eq!(frames[1].2, expected, "{next:x?}");
    }
}

/// The code since the prologue of a long function is followed to where another one may begin.
#[test]
fn a_prologue_far_before_is_one() {
    // push %rbp; mov %rsp,%rbp; sub $0x60,%rsp; …; jmp *(%rbx,%rax,8)
    let prologue = [0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x60];
    let found = |between: &[u8], place: usize| {
        let code = [&prologue[..], between, &[0x90; 3800], &[0xff, 0x24, 0xc3]].concat();
        let mut words = [0; 20];
        words[12..14].copy_from_slice(&[0x70a0, MAIN]);
        words[place] = OTHER;
        let named = [(Register::RSP, 0x7000), (Register::RBP, 0x7060)];
        exit_of(&code, code.len() as u64 - 3, &named, &words)
    };
    let own = Some((0x7068, MAIN));
    assert_eq!([0, 1].map(|place| found(&[], place)), [own; 2]);
    let call = [0xe8, 0, 0x10, 0, 0];
    assert_eq!([0, 1].map(|place| found(&call, place)), [None, own]);
}

/// HotSpot's stubs look for the method of an interface, and jump to it.
#[test]
fn a_direct_call_says_who_called_code_without_a_frame() {
    for (callee, is_found) in [(23, true), (22, false)] {
        // sub $8,%rsp; call; add $8,%rsp; ret
        let caller = [
            &[0x48, 0x83, 0xec, 0x08, 0xe8, callee, 0, 0, 0, 0x48, 0x83, 0xc4, 0x08, 0xc3][..],
            &[0x06; 18],
        ];
        // xor %eax,%eax; test %ecx,%ecx; je 1f; xor %ecx,%ecx; 1: jmp *(%rbx,%rax,8)
        let stub = [0x31, 0xc0, 0x85, 0xc9, 0x74, 0x02, 0x31, 0xc9, 0xff, 0x24, 0xc3];
        let code = [&caller.concat()[..], &stub].concat();
        let named = [(Register::RSP, 0x7000), (Register::RBP, 0)];
        let found = exit_of(&code, 40, &named, &[GENERATED + 9, 0, MAIN]);
        assert_eq!(found, is_found.then_some((0x7000, GENERATED + 9)), "{callee}");
    }
}

/// V8 goes on in optimized code in the middle of a loop: what comes before, an abort, is not what
/// another function begins behind, which would be aligned.
#[test]
fn a_frame_that_was_made_by_the_code_that_is_replaced() {
    // push %rbp; mov %rsp,%rbp; call *%rax; int3; sub $16,%rsp; mov %rax,-8(%rbp); jmp
    let code = [
        0x55, 0x48, 0x89, 0xe5, 0xff, 0xd0, 0xcc, 0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0x45, 0xf8,
        0xff, 0x24, 0xc3,
    ];
    let named = [(Register::RSP, 0x7000), (Register::RBP, 0x7020)];
    let words = [OTHER, 0, 0, 0, 0x7060, MAIN];
    assert_eq!(exit_of(&code, 15, &named, &words), Some((0x7028, MAIN)));
    let aligned = [&[0x90; 9][..], &code].concat();
    assert_eq!(exit_of(&aligned, 24, &named, &words), None);
}

/// What registers hold are no return addresses where nothing has taken one off the stack.
#[test]
fn a_frame_that_was_made_makes_registers_no_return_addresses() {
    // push %rbp; mov %rsp,%rbp; sub $16,%rsp; jmp *(%rbx,%rax,8)
    let code = [0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xff, 0x24, 0xc3];
    let named = [(Register::RSP, 0x7000), (Register::RBP, 0x7010), (Register::RSI, OTHER)];
    assert_eq!(exit_of(&code, 8, &named, &[OTHER, 0, 0x7040, MAIN]), Some((0x7018, MAIN)));
    // push %rbp; mov %rsp,%rbp; push %rdi; call; pop %rcx; jmp *%rcx
    let code = [0x55, 0x48, 0x89, 0xe5, 0x57, 0xe8, 0, 0x10, 0, 0, 0x59, 0xff, 0xe1];
    for (rcx, is_found) in [(OTHER, false), (0, true)] {
        let named = [(Register::RSP, 0x7000), (Register::RBP, 0x7000), (Register::RCX, rcx)];
        let found = exit_of(&code, 11, &named, &[0x7040, MAIN, 0]);
        assert_eq!(found, is_found.then_some((0x7008, MAIN)), "{rcx:x}");
    }
}

/// A function may write above its return address, for its arguments are its own, and to it.
#[test]
fn words_that_are_written_may_be_return_addresses() {
    // push %rbp; mov %rsp,%rbp; sub $16,%rsp; call; mov %rax,…; jmp *(%rbx,%rax,8)
    let begin = [0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xe8, 0, 0x10, 0, 0];
    let named = [(Register::RSP, 0x7000), (Register::RBP, 0x7010)];
    for next in [[0x48, 0x89, 0x44, 0x24, 8], [0x48, 0x89, 0x04, 0x24, 0x90]] {
        let code = [&begin[..], &next, &[0xff, 0x24, 0xc3]].concat();
        let found = |word| exit_of(&code, 18, &named, &[word, 0, 0x7040, MAIN]);
        assert_eq!(found(OTHER), None, "{next:x?}");
        assert_eq!(found(0), Some((0x7018, MAIN)), "{next:x?}");
    }
}

/// What has more on the stack than the prologue has put there is not the prologue's function, even
/// if it uses the same frame: an interpreter's subroutine.
#[test]
fn a_piece_that_uses_the_frame_of_its_caller_is_not_left_out() {
    // push %rbp; mov %rsp,%rbp; sub $16,%rsp; call; mov -8(%rbp),%rax; jmp *(%rbx,%rax,8)
    let code = [
        0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xe8, 0, 0x10, 0, 0, 0x48, 0x8b, 0x45,
        0xf8, 0xff, 0x24, 0xc3,
    ];
    let words = [OTHER, 0, 0, 0x7050, MAIN];
    let at = |at, bp| exit_of(&code, at, &[(Register::RSP, 0x7000), (Register::RBP, bp)], &words);
    assert_eq!([13, 17].map(|place| at(place, 0x7018)), [None; 2]);
    let words = [OTHER, 0, 0x7050, MAIN];
    let named = [(Register::RSP, 0x7000), (Register::RBP, 0x7010)];
    assert_eq!(exit_of(&code, 17, &named, &words), Some((0x7018, MAIN)));
}

/// A function may take its return address off the stack, and put it elsewhere.
#[test]
fn a_return_address_that_was_moved_may_be_anywhere() {
    // push %rbp; mov %rsp,%rbp; sub $16,%rsp; call; pop %rax; push %rcx; jmp *(%rbx,%rdx,8)
    let begin = [0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xe8, 0, 0x10, 0, 0];
    let named = [(Register::RSP, 0x7000), (Register::RBP, 0x7010)];
    for (next, rax, word, is_found) in [
        ([0x58, 0x51], OTHER, 0, false),
        ([0x58, 0x51], 0, OTHER, false),
        ([0x58, 0x51], 0, 0, true),
        ([0x90, 0x90], OTHER, OTHER, true),
    ] {
        let code = [&begin[..], &next, &[0xff, 0x24, 0xd3]].concat();
        let named = [&named[..], &[(Register::RAX, rax)]].concat();
        let found = exit_of(&code, 15, &named, &[0, word, 0x7040, MAIN]);
        assert_eq!(found, is_found.then_some((0x7018, MAIN)), "{next:x?} {rax:x} {word:x}");
    }
}

/// Behind a call that does not come back another function may begin: then the words belong to it.
/// Where it has nothing more on the stack, it returns to the same place.
#[test]
fn a_direct_call_says_nothing_of_code_behind_another_call() {
    // sub $8,%rsp; call; add $8,%rsp; ret
    let caller = [
        &[0x48, 0x83, 0xec, 0x08, 0xe8, 23, 0, 0, 0, 0x48, 0x83, 0xc4, 0x08, 0xc3][..],
        &[0x06; 18],
    ];
    // push %rcx; …; jmp *(%rbx,%rax,8)
    let (push, pop) = (0x51, 0x59);
    for (between, is_found) in [
        ([push, 0x90, 0x90, 0x90, 0x90, 0x90], true),
        ([push, 0xe8, 0, 0x10, 0, 0], false),
        ([0xe8, 0, 0x10, 0, 0, push], true),
        ([0xe8, 0, 0x10, 0, 0, pop], false),
    ] {
        let code = [&caller.concat()[..], &between, &[0x90, 0xff, 0x24, 0xc3]].concat();
        let named = [(Register::RSP, 0x7000), (Register::RBP, 0)];
        let words = [0, GENERATED + 9, 0, MAIN];
        let found = exit_of(&code, 39, &named, &words);
        assert_eq!(found, is_found.then_some((0x7008, GENERATED + 9)), "{between:x?}");
    }
}

/// HotSpot's interpreter aligns the stack at a call of its runtime, where it has to.
#[test]
fn a_direct_call_of_code_that_calls_in_two_ways() {
    // sub $8,%rsp; call 1f; add $8,%rsp; ret; 1: test $15,%esp; je 2f; sub $8,%rsp; call;
    // add $8,%rsp; jmp 3f; 2: call; 3: nop; jmp *(%rbx,%rax,8)
    let caller = [0x48, 0x83, 0xec, 0x08, 0xe8, 5, 0, 0, 0, 0x48, 0x83, 0xc4, 0x08, 0xc3];
    let callee = |raise: [u8; 4]| {
        let begin =
            [0xf7, 0xc4, 0x0f, 0, 0, 0, 0x74, 15, 0x48, 0x83, 0xec, 0x08, 0xe8, 0, 0x10, 0, 0];
        let end = [0xeb, 5, 0xe8, 0, 0x10, 0, 0, 0x90, 0xff, 0x24, 0xc3];
        [&caller[..], &begin, &raise, &end].concat()
    };
    let site = GENERATED + 14 + 28;
    for (raise, is_found) in [([0x48, 0x83, 0xc4, 0x08], true), ([0x90, 0x90, 0x90, 0x58], false)] {
        let process = Process::new(&[(0x100, LEAF), (0x300, Recipe::EndOfStack)])
            .text(0x30e, &[0xff, 0xd0])
            .generated(&callee(raise))
            .stack(0x6ff8, &[&[site, GENERATED + 9, 0, MAIN][..], &[0; 16]].concat());
        let start = interrupted(0x40_0104, &[(Register::RSP, 0x6ff8), (Register::RBP, 0)]);
        let exit = process.walk(&start).0[1].2;
        let expected = Exit::Guess { slot: 0x7000, address: GENERATED + 9 };
        assert_eq!(exit == expected, is_found, "{raise:x?} {exit:x?}");
    }
}

/// Handlers of HotSpot's interpreter that have no use for rbp: r14 points to the locals above the
/// frame, and the frame says so.
#[test]
fn a_register_that_the_frame_has_too_says_whose_it_is() {
    let code = [0x31, 0xc0, 0xff, 0x24, 0xc3]; // xor %eax,%eax; jmp *(%rbx,%rax,8)
    let r14 = Register::from_dwarf(14).unwrap();
    let found = |held: u64, word: u64, other: u64| {
        let named = [(Register::RSP, 0x7000), (Register::RBP, 0x7018), (r14, held)];
        exit_of(&code, 0, &named, &[other, word, 9, 0x7040, MAIN, 0])
    };
    let is_it = Some((0x7020, MAIN));
    assert_eq!(found(0x7030, 0x7030, 1), is_it);
    assert_eq!(found(0x7030, 3, 1), is_it, "as many words above");
    assert_eq!(found(0x7030, 0x7038, 1), None, "another one");
    assert_eq!(found(0x7008, 0x7008, 1), None, "below the frame");
    assert_eq!(found(0x10_0000, 0x10_0000, 1), None, "off the stack");
    assert_eq!(found(0x7030, 0x7030, OTHER), None, "and another return address");
}

/// What is not understood of a way out says nothing, no more than if there were none.
#[test]
fn a_way_that_is_not_understood_is_none() {
    // mov -8(%rbp),%eax; and $-16,%rsp; ret
    let code = [0x8b, 0x45, 0xf8, 0x48, 0x83, 0xe4, 0xf0, 0xc3];
    let named = [(Register::RSP, 0x7000), (Register::RBP, 0x7018)];
    let found = |word| exit_of(&code, 0, &named, &[word, 2, 3, 0x7040, MAIN, 0]);
    assert_eq!((found(1), found(OTHER)), (Some((0x7020, MAIN)), None));
}

/// Behind its frame HotSpot's code looks whether it should stop, and returns: its caller's stack
/// pointer is known.
#[test]
fn what_lies_between_the_frame_and_the_return_may_leave_the_stack_alone() {
    // push %rbp; mov %rsp,%rbp; sub $16,%rsp; call *%rax; push $1; call *%rax; add $24,%rsp;
    // pop %rbp; ret
    let caller = [
        0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xff, 0xd0, 0x6a, 1, 0xff, 0xd0, 0x48,
        0x83, 0xc4, 0x18, 0x5d, 0xc3,
    ];
    let site = GENERATED + 14;
    let words = [0x7028, site, 1, OTHER, OTHER, 0x7060, MAIN, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for (between, is_found) in [
        (&[0x85, 0xc0, 0x75, 1][..], true),       // test %eax,%eax; jne
        (&[0x59, 0x51], false),                   // pop %rcx; push %rcx
        (&[0x48, 0x8d, 0x64, 0x24, 0x08], false), // lea 8(%rsp),%rsp
        (&[0xeb, 0], false),
    ] {
        let code = [&caller[..], &[0x90, 0xc9], between, &[0xc3, 0xc3]].concat();
        let process = Process::new(&[(0x300, Recipe::EndOfStack)])
            .text(0x30e, &[0xff, 0xd0, 0xff, 0xd0])
            .generated(&code)
            .stack(0x7000, &words);
        let named = [(Register::RSP, 0x7000), (Register::RBP, 0x7000)];
        let mut registers = Registers::interrupted(GENERATED + 20, [0; 16]);
        named.iter().for_each(|(register, value)| registers.set(*register, *value));
        let exit = process.walk(&registers).0[1].2;
        let expected = Exit::Guess { slot: 0x7030, address: MAIN };
        assert_eq!(exit == expected, is_found, "{between:x?} {exit:x?}");
    }
}

/// The callee may have taken its argument off the stack, or not; what the code since the prologue
/// has put there says where the stack pointer was. Only words below that may be another function's
/// return address.
#[test]
fn a_frame_of_a_known_size_says_where_its_stack_pointer_is() {
    // push %rbp; mov %rsp,%rbp; sub $24,%rsp; call *%rax; jmp *(%rbx,%rax,8); and the callee
    let code = [
        0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x18, 0xff, 0xd0, 0xff, 0x24, 0xc3, 0x90, 0xc9,
        0x59, 0x4a, 0x8d, 0x24, 0xd4, 0x51, 0xc3,
    ];
    let exit = |words: [u64; 4]| {
        let frame = [&[0x7030, GENERATED + 10][..], &words, &[0x7060, MAIN], &[0; 16]].concat();
        let process = Process::new(&[(0x300, Recipe::EndOfStack)])
            .text(0x30e, &[0xff, 0xd0, 0xff, 0xd0])
            .generated(&code)
            .stack(0x7000, &frame);
        let mut registers = Registers::interrupted(GENERATED + 13, [0; 16]);
        registers.set(Register::RSP, 0x7000);
        registers.set(Register::RBP, 0x7000);
        process.walk(&registers).0[1].2
    };
    let found = Exit::Guess { slot: 0x7038, address: MAIN };
    assert_eq!(exit([0, OTHER, OTHER, OTHER]), found);
    assert_eq!(exit([OTHER, 0, 0, 0]), Exit::None);
}
