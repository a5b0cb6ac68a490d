//! Literal frames: the code and its CFI as `objdump -d` and `readelf -wf` print them, registers
//! and stack words in, the caller's registers out.

use super::*;
use alloc::vec;

/// A stack whose lowest word is at `base`.
fn stack(base: u64, words: &[u64]) -> impl FnMut(u64) -> Option<u64> + '_ {
    move |address| {
        let offset = address.checked_sub(base).filter(|offset| offset % 8 == 0)?;
        words.get(offset as usize / 8).copied()
    }
}

/// All sixteen registers known; those not named hold a value that would be noticed.
fn interrupted(ip: u64, named: &[(Register, u64)]) -> Registers {
    let mut registers = Registers::interrupted(ip, [0xdead_dead_dead_dead; 16]);
    for (register, value) in named {
        registers.set(*register, *value);
    }
    registers
}

/// One step, and what it finds: ip, sp, bp and the slot of the return address.
fn caller(
    mut registers: Registers,
    recipe: Recipe,
    read: impl FnMut(u64) -> Option<u64>,
) -> (u64, u64, Option<u64>, Option<u64>) {
    match step(&mut registers, recipe, read) {
        Ok(Step::Caller { ra_slot }) => {
            (registers.ip, registers.sp(), registers.get(Register::RBP), ra_slot)
        }
        other => panic!("{other:?}"),
    }
}

/// A leaf function without a frame; the same at its first instruction and at its `ret`.
///
/// ```text
/// 1139: lea (%rdi,%rsi,1),%rax     DW_CFA_def_cfa: r7 (rsp) ofs 8
/// 113d: ret
/// ```
#[test]
fn a_leaf_returns_through_the_word_at_sp() {
    let registers = interrupted(0x113d, &[(Register::RSP, 0x7fe0), (Register::RBP, 0x8000)]);
    let recipe = Recipe::Sp { bp: Slot::SAME, offset: 8 };
    assert_eq!(
        caller(registers, recipe, stack(0x7fe0, &[0x1155])),
        (0x1155, 0x7fe8, Some(0x8000), Some(0x7fe0))
    );
}

/// A function that keeps other things in rbp, saved below two other pushes.
///
/// ```text
/// 1140: push %rbp                  DW_CFA_def_cfa_offset: 16, DW_CFA_offset: r6 (rbp) at cfa-16
/// 1141: push %rbx                  DW_CFA_def_cfa_offset: 24, DW_CFA_offset: r3 (rbx) at cfa-24
/// 1142: sub  $0x8,%rsp             DW_CFA_def_cfa_offset: 32
/// 1146: call 1139
/// ```
#[test]
fn a_frame_by_the_stack_pointer_restores_bp() {
    let registers = Registers::calling(0x114b, 0x7fc8, 42);
    let recipe = Recipe::Sp { bp: Slot::at_cfa(-16), offset: 32 };
    let words = [0, 0xb, 0x8000, 0x1190];
    assert_eq!(
        caller(registers, recipe, stack(0x7fc8, &words)),
        (0x1190, 0x7fe8, Some(0x8000), Some(0x7fe0))
    );
}

/// A function with a frame pointer and an `alloca` below it: rsp tells nothing.
///
/// ```text
/// 1180: push %rbp                  DW_CFA_def_cfa_offset: 16, DW_CFA_offset: r6 (rbp) at cfa-16
/// 1181: mov  %rsp,%rbp             DW_CFA_def_cfa_register: r6 (rbp)
/// 1184: sub  %rdi,%rsp
/// 1187: call 1140
/// ```
#[test]
fn a_frame_by_the_frame_pointer() {
    let registers = Registers::calling(0x118c, 0x7000, 0x7fd0);
    let recipe = Recipe::Bp { bp: Slot::at_cfa(-16), offset: 16 };
    assert_eq!(
        caller(registers, recipe, stack(0x7fd0, &[0x8000, 0x1200])),
        (0x1200, 0x7fe0, Some(0x8000), Some(0x7fd8))
    );
}

/// A frame of half a megabyte, as rustc's main thread has.
///
/// ```text
/// 2000: sub  $0x80008,%rsp         DW_CFA_def_cfa_offset: 524304
/// ```
#[test]
fn a_frame_larger_than_256_kilobytes() {
    let registers = interrupted(0x2007, &[(Register::RSP, 0x10_0000), (Register::RBP, 1)]);
    let recipe = Recipe::Sp { bp: Slot::SAME, offset: 0x8_0010 };
    let top = 0x10_0000 + 0x8_0008;
    assert_eq!(
        caller(registers, recipe, stack(top, &[0x3000])),
        (0x3000, 0x18_0010, Some(1), Some(top))
    );
}

/// gcc's prologue where the stack must be aligned to 32 bytes: the CFA is in r10, then on the
/// stack below the new frame pointer.
///
/// ```text
/// 1300: lea  0x8(%rsp),%r10        DW_CFA_def_cfa: r10 ofs 0
/// 1305: and  $0xffffffffffffffe0,%rsp
/// 1309: push -0x8(%r10)
/// 130d: push %rbp
/// 130e: mov  %rsp,%rbp             DW_CFA_expression: r6 (rbp) (DW_OP_breg6 (rbp): 0)
/// 1311: push %r10                  DW_CFA_def_cfa_expression (DW_OP_breg6 (rbp): -8; DW_OP_deref)
/// 1313: sub  $0x48,%rsp
/// ```
#[test]
fn a_realigned_stack() {
    let words = [
        0x7ff8, // 7fb8: r10, the CFA
        0x8000, // 7fc0: the caller's rbp
        0x1400, // 7fc8: copy of the return address
        0, 0, 0, 0,      // 7fd0: padding
        0x1400, // 7ff0: the return address
    ];
    let at_and = interrupted(
        0x1305,
        &[(Register::RSP, 0x7ff0), (Register::RBP, 0x8000), (Register::R10, 0x7ff8)],
    );
    let recipe = Recipe::Register { register: Register::R10, bp: Slot::SAME, offset: 0 };
    let expected = (0x1400, 0x7ff8, Some(0x8000), Some(0x7ff0));
    assert_eq!(caller(at_and, recipe, stack(0x7fb8, &words)), expected);

    let at_push = interrupted(
        0x1311,
        &[(Register::RSP, 0x7fc0), (Register::RBP, 0x7fc0), (Register::R10, 0x7ff8)],
    );
    let bp = Slot::new(Saved::AtBp(0));
    let recipe = Recipe::Register { register: Register::R10, bp, offset: 0 };
    assert_eq!(caller(at_push, recipe, stack(0x7fb8, &words)), expected);

    let in_body = Registers::calling(0x1350, 0x7f70, 0x7fc0);
    let recipe = Recipe::Deref { register: Register::RBP, bp, inner: -8, outer: 0 };
    assert_eq!(caller(in_body, recipe, stack(0x7fb8, &words)), expected);

    // pop %r10; pop %rbp; lea -8(%r10),%rsp; ret: the rule is still there, and rbp the caller's.
    let popped = [(Register::RSP, 0x7fc8), (Register::RBP, 0x8000), (Register::R10, 0x7ff8)];
    let recipe = Recipe::Register { register: Register::R10, bp, offset: 0 };
    assert_eq!(caller(interrupted(0x1361, &popped), recipe, stack(0x7fb8, &words)), expected);
    let at_ret = interrupted(0x1365, &[(Register::RSP, 0x7ff0), (Register::RBP, 0x8000)]);
    let recipe = Recipe::Sp { bp, offset: 8 };
    assert_eq!(caller(at_ret, recipe, stack(0x7fb8, &words)), expected);
}

/// OpenSSL's `sha256_block_data_order_avx2`, just after it popped its frame: the CFA's slot lies
/// below the stack pointer, in the red zone.
///
/// ```text
///   DW_CFA_def_cfa_expression (DW_OP_breg7 (rsp): -8; DW_OP_deref; DW_OP_plus_uconst: 8)
/// ```
#[test]
fn a_frame_remembered_in_the_red_zone() {
    let registers = interrupted(0x5000, &[(Register::RSP, 0x7f00), (Register::RBP, 9)]);
    let recipe =
        Recipe::Deref { register: Register::RSP, bp: Slot::at_cfa(-24), inner: -8, outer: 8 };
    let words = [0x7f18, 0, 0x8000, 0, 0x1500];
    assert_eq!(
        caller(registers, recipe, stack(0x7ef8, &words)),
        (0x1500, 0x7f20, Some(0x8000), Some(0x7f18))
    );
}

/// OpenSSL's `bn_mul_mont` with three words: the incoming rsp above a vector of r9 words.
///
/// ```text
///   DW_CFA_def_cfa_expression (DW_OP_breg7 (rsp): 8; DW_OP_breg9 (r9): 0; DW_OP_lit8; DW_OP_mul;
///                              DW_OP_plus; DW_OP_deref; DW_OP_plus_uconst: 8)
/// ```
#[test]
fn a_frame_remembered_above_a_vector() {
    let registers =
        interrupted(0x5100, &[(Register::RSP, 0x7f00), (Register::RBP, 9), (Register::R9, 3)]);
    let recipe = Recipe::Indexed { index: Register::R9, bp: Slot::at_cfa(-24), inner: 8, outer: 8 };
    // 7f08: three words; 7f20: the incoming rsp; then what lies below it, from 7f28.
    let words = [0, 1, 2, 3, 0x7f38, 0x8000, 0, 0x1600];
    assert_eq!(
        caller(registers, recipe, stack(0x7f00, &words)),
        (0x1600, 0x7f40, Some(0x8000), Some(0x7f38))
    );
}

/// One entry of the procedure linkage table, before and after its push.
///
/// ```text
/// 1030: jmp  *0x2fe2(%rip)         DW_CFA_def_cfa_expression (DW_OP_breg7 (rsp): 8;
/// 1036: push $0x0                    DW_OP_breg16 (rip): 0; DW_OP_lit15; DW_OP_and; DW_OP_lit11;
/// 103b: jmp  1020                    DW_OP_ge; DW_OP_lit3; DW_OP_shl; DW_OP_plus)
/// ```
#[test]
fn a_linkage_table_entry_counts_its_push() {
    let recipe = Recipe::Plt { threshold: 11 };
    let before = interrupted(0x1036, &[(Register::RSP, 0x7fe0), (Register::RBP, 7)]);
    let expected = (0x1155, 0x7fe8, Some(7), Some(0x7fe0));
    assert_eq!(caller(before, recipe, stack(0x7fe0, &[0x1155])), expected);
    let after = interrupted(0x103b, &[(Register::RSP, 0x7fd8), (Register::RBP, 7)]);
    assert_eq!(caller(after, recipe, stack(0x7fd8, &[0, 0x1155])), expected);
}

/// glibc's vfork, whose child runs on the same stack and would overwrite the return address.
///
/// ```text
/// d5c00: pop  %rdi                 DW_CFA_def_cfa_offset: 0, DW_CFA_register: r16 (rip) in r5 (rdi)
/// d5c01: mov  $0x3a,%eax
/// d5c06: syscall
/// ```
#[test]
fn a_return_address_in_a_register() {
    let registers = interrupted(
        0xd_5c06,
        &[(Register::RSP, 0x7fe8), (Register::RBP, 7), (Register::RDI, 0x1155)],
    );
    let recipe = Recipe::ReturnInRegister { register: Register::RDI, bp: Slot::SAME, offset: 0 };
    assert_eq!(caller(registers, recipe, |_| None), (0x1155, 0x7fe8, Some(7), None));
}

/// `__restore_rt`, the return trampoline below a signal handler: `ucontext_t` is at rsp.
#[test]
fn a_signal_frame_restores_every_register() {
    // uc_flags, uc_link, uc_stack; then gregs: r8 … r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp,
    // rip.
    let mut words = vec![0x7, 0, 0, 0, 0];
    words.extend([0x108, 0x109, 0x110, 0x111, 0x112, 0x113, 0x114, 0x115]);
    words.extend([0x1d1, 0x151, 0x1b9, 0x1bb, 0x1dd, 0x1aa, 0x1cc, 0x7fe0, 0x1139]);
    let mut registers = Registers::calling(0x3_c050, 0x6000, 0);
    let step = step(&mut registers, Recipe::SignalFrame, stack(0x6000, &words));
    assert_eq!(step, Ok(Step::Interrupted));
    let expected = interrupted(
        0x1139,
        &[
            (Register::RAX, 0x1aa),
            (Register::RBX, 0x1bb),
            (Register::RCX, 0x1cc),
            (Register::RDX, 0x1dd),
            (Register::RSI, 0x151),
            (Register::RDI, 0x1d1),
            (Register::RBP, 0x1b9),
            (Register::RSP, 0x7fe0),
            (Register::R8, 0x108),
            (Register::R9, 0x109),
            (Register::R10, 0x110),
            (Register::R11, 0x111),
            (Register::R12, 0x112),
            (Register::R13, 0x113),
            (Register::R14, 0x114),
            (Register::R15, 0x115),
        ],
    );
    assert_eq!(registers, expected);
}

/// `_start`: `DW_CFA_undefined: r16 (rip)`.
#[test]
fn the_outermost_frame() {
    let mut registers = interrupted(0x1060, &[(Register::RSP, 0x7ff0)]);
    let before = registers;
    assert_eq!(step(&mut registers, Recipe::EndOfStack, |_| None), Ok(Step::EndOfStack));
    assert_eq!(registers, before);
}

/// `_dl_runtime_resolve_xsavec` calling the resolver: the CFA is kept in rbx, which the resolver
/// has saved. Only the step that carries all callee-saved registers can go on.
///
/// ```text
/// 15d40: push %rbx                 DW_CFA_def_cfa_offset: 32, DW_CFA_offset: r3 (rbx) at cfa-32
/// 15d41: mov  %rsp,%rbx            DW_CFA_def_cfa_register: r3 (rbx)
/// 15d44: and  $0xffffffffffffffc0,%rsp
/// ```
#[test]
fn a_frame_kept_in_a_callee_saved_register() {
    let words = [
        0x7fb0,   // 7f80: _dl_fixup's saved rbx
        0x1_5d90, // 7f88: returns into _dl_runtime_resolve
        0, 0, 0, 0,    // 7f90
        0x77, // 7fb0: the saved rbx of the program
        0x1, 0x2,    // 7fb8: link map and relocation index
        0x1155, // 7fc8: returns into the program
    ];
    let fixup = interrupted(0x1_0000, &[(Register::RSP, 0x7f80), (Register::RBP, 7)]);
    let in_fixup = Recipe::Sp { bp: Slot::SAME, offset: 16 };
    let in_resolve = Recipe::Register { register: Register::RBX, bp: Slot::SAME, offset: 32 };

    let mut registers = fixup;
    step(&mut registers, in_fixup, stack(0x7f80, &words)).unwrap();
    assert_eq!(
        step(&mut registers, in_resolve, stack(0x7f80, &words)),
        Err(Obstacle::Unknown(Register::RBX))
    );

    let mut registers = fixup;
    let same = Slot::SAME;
    let saved = CalleeSaved::new([Slot::at_cfa(-16), same, same, same, same]);
    step_with_callee_saved(&mut registers, in_fixup, &saved, stack(0x7f80, &words)).unwrap();
    let saved = CalleeSaved::new([Slot::at_cfa(-32), same, same, same, same]);
    step_with_callee_saved(&mut registers, in_resolve, &saved, stack(0x7f80, &words)).unwrap();
    assert_eq!((registers.ip, registers.sp()), (0x1155, 0x7fd0));
    assert_eq!(registers.get(Register::RBX), Some(0x77));
}

/// What no step can cross is said, and the registers stay.
#[test]
fn obstacles_leave_the_registers_alone() {
    for (recipe, obstacle) in [
        (Recipe::NoCfi, Obstacle::NoCfi),
        (Recipe::Unsupported, Obstacle::Unsupported),
        (Recipe::Sp { bp: Slot::SAME, offset: 8 }, Obstacle::Unreadable),
        (Recipe::Sp { bp: Slot::at_cfa(-16), offset: 16 }, Obstacle::Unreadable),
        (Recipe::SignalFrame, Obstacle::Unreadable),
        (
            Recipe::Register { register: Register::R10, bp: Slot::SAME, offset: 0 },
            Obstacle::Unknown(Register::R10),
        ),
    ] {
        let mut registers = Registers::calling(0x1155, 0x7fe0, 0x8000);
        let before = registers;
        // Only the return address of the second recipe can be read.
        let read = |address| (address == 0x7fe8).then_some(0x1200);
        assert_eq!(step(&mut registers, recipe, read), Err(obstacle), "{recipe:?}");
        assert_eq!(registers, before, "{recipe:?}");
    }
}
