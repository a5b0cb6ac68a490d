//! The ends of glibc's and LLVM's functions, byte by byte.

use super::*;

/// Memory in words.
fn memory(words: &'static [(u64, u64)]) -> impl Fn(u64) -> Option<u64> {
    move |address| words.iter().find(|(at, _)| *at == address).map(|(_, word)| *word)
}

fn start(named: &[(Register, u64)]) -> Registers {
    let mut registers = Registers::interrupted(0x1000, [0xdead; 16]);
    for (register, value) in named {
        registers.set(*register, *value);
    }
    registers
}

#[test]
fn the_end_of_longjmp() {
    let code = [
        0x48, 0x8b, 0x1f, // 00 mov (%rdi),%rbx
        0x4c, 0x8b, 0x67, 0x10, // 03 mov 16(%rdi),%r12
        0x89, 0xf0, // 07 mov %esi,%eax
        0x4c, 0x89, 0xc4, // 09 mov %r8,%rsp
        0x4c, 0x89, 0xcd, // 0c mov %r9,%rbp
        0xff, 0xe2, // 0f jmp *%rdx
    ];
    let named = [
        (Register::RDI, 0x6000),
        (Register::R8, 0x7100),
        (Register::R9, 0xb9),
        (Register::RDX, 0x40_0100),
    ];
    let read = memory(&[(0x6000, 0xb8), (0x6010, 0x12)]);
    let switch = run_on(&code, 0, &start(&named), read).unwrap();
    let there = switch.registers;
    assert_eq!((there.ip, there.sp(), switch.is_seen), (0x40_0100, 0x7100, true));
    let known = [Register::RBX, Register::R12, Register::RBP, Register::RDI];
    let values = known.map(|register| there.get(register));
    assert_eq!(values, [Some(0xb8), Some(0x12), Some(0xb9), None]);
    let late = run_on(&code, 0x0c, &start(&named), |_| None).unwrap();
    assert_eq!((late.registers.ip, late.is_seen), (0x40_0100, false));
}

/// The new address is pushed on the new stack.
#[test]
fn the_end_of_setcontext() {
    let code = [
        0x48, 0x8b, 0xa2, 0xa0, 0, 0, 0, // 00 mov 160(%rdx),%rsp
        0x48, 0x8b, 0x8a, 0xa8, 0, 0, 0,    // 07 mov 168(%rdx),%rcx
        0x51, // 0e push %rcx
        0x48, 0x8b, 0x8a, 0x98, 0, 0, 0, // 0f mov 152(%rdx),%rcx
        0x31, 0xc0, // 16 xor %eax,%eax
        0xc3, // 18 ret
    ];
    let read = memory(&[(0x60a0, 0x7100), (0x60a8, 0x40_0100), (0x6098, 5)]);
    let switch = run_on(&code, 0, &start(&[(Register::RDX, 0x6000)]), read).unwrap();
    assert_eq!((switch.registers.ip, switch.registers.sp()), (0x40_0100, 0x7100));
    assert!(switch.is_seen);
    let switched = [0, 7, 0x0e, 0x18].map(|at| has_switched(&code, at));
    assert_eq!(switched, [false, true, true, true]);
    assert!(!has_switched(&code, 9), "inside of an instruction");
}

#[test]
fn what_is_no_straight_way_to_a_known_place() {
    let start = start(&[(Register::RSP, 0x7000)]);
    for (what, code) in [
        ("je 1; ret; ret", &[0x74, 1, 0xc3, 0xc3][..]),
        ("call 5; ret", &[0xe8, 0, 0, 0, 0, 0xc3]),
        ("an endless loop", &[0xeb, 0xfe]),
        ("xor %esp,%esp; ret", &[0x31, 0xe4, 0xc3]),
        ("xor %edx,%edx; jmp *%rdx", &[0x31, 0xd2, 0xff, 0xe2]),
        ("push $5; ret", &[0x6a, 5, 0xc3]),
        ("the end of the code", &[0x90]),
    ] {
        assert_eq!(run_on(code, 0, &start, |_| Some(1)), None, "{what}");
    }
    // A return that switches nothing.
    assert!(!run_on(&[0xc3], 0, &start, |_| Some(1)).unwrap().is_seen);
}

/// Boost's `jump_fcontext` of 1.74, which goes on where the context in rdi stopped.
#[test]
fn a_context_switch_in_assembly() {
    let code = [
        0x48, 0x8d, 0x64, 0x24, 0xc8, // 00 lea -56(%rsp),%rsp
        0x0f, 0xae, 0x1c, 0x24, // 05 stmxcsr (%rsp)
        0xd9, 0x7c, 0x24, 4, // 09 fnstcw 4(%rsp)
        0x48, 0x89, 0x6c, 0x24, 0x30, // 0d mov %rbp,48(%rsp)
        0x48, 0x89, 0xe0, // 12 mov %rsp,%rax
        0x48, 0x89, 0xfc, // 15 mov %rdi,%rsp
        0x4c, 0x8b, 0x44, 0x24, 0x38, // 18 mov 56(%rsp),%r8
        0x0f, 0xae, 0x14, 0x24, // 1d ldmxcsr (%rsp)
        0xd9, 0x6c, 0x24, 4, // 21 fldcw 4(%rsp)
        0x48, 0x8b, 0x6c, 0x24, 0x30, // 25 mov 48(%rsp),%rbp
        0x48, 0x8d, 0x64, 0x24, 0x40, // 2a lea 64(%rsp),%rsp
        0x48, 0x89, 0xc7, // 2f mov %rax,%rdi
        0x41, 0xff, 0xe0, // 32 jmp *%r8
    ];
    let read = || memory(&[(0x6038, 0x40_0100), (0x6030, 0xb9)]);
    let (here, there, known) = (0x7000, 0x6000, 0x40_0100);
    for (at, sp, bp, r8) in [
        (0x00, here, 0xb8, 0),
        (0x12, here, 0xb8, 0),
        (0x15, here, 0xb8, 0),
        (0x18, there, 0xb8, 0),
        (0x1d, there, 0xb8, known),
        (0x25, there, 0xb8, known),
        (0x2a, there, 0xb9, known),
        (0x2f, there + 0x40, 0xb9, known),
        (0x32, there + 0x40, 0xb9, known),
    ] {
        let registers =
            [(Register::RSP, sp), (Register::RBP, bp), (Register::RDI, 0x6000), (Register::R8, r8)];
        let switch = run_on(&code, at, &start(&registers), read()).unwrap();
        let found = switch.registers;
        assert_eq!(
            (found.ip, found.sp(), found.get(Register::RBP)),
            (known, 0x6040, Some(0xb9)),
            "{at:#x}"
        );
        // One or the other says that it is not the frame's own stack.
        assert_eq!(switch.is_seen, at <= 0x15, "{at:#x}");
        assert_eq!(may_have_switched(&code, at), at > 0x15, "{at:#x}");
        assert!(!has_switched(&code, at), "{at:#x}");
    }
}
