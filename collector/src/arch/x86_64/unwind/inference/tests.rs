//! Functions as assemblers make them, byte by byte. What is read off compiled functions is compared
//! with their CFI in `tests/instructions_of_real_binaries.rs`.

use super::state::bit;
use super::*;
use crate::arch::unwind::recipe::{CalleeSaved, Recipe, Slot};
use alloc::vec;
use alloc::vec::Vec;

/// What is inferred of a function that keeps to the ABI.
fn recipe_of(code: &[u8], at: usize) -> Option<Recipe> {
    infer(code, at, &mut 0, |way| way.conforms).map(|way| way.recipe)
}

fn sp(offset: i32, bp: Slot) -> Recipe {
    Recipe::Sp { bp, offset }
}

const SAME: Slot = Slot::SAME;
const AT_16: Slot = Slot::at_cfa(-16);

/// crtbegin.o: its `__do_global_dtors_aux`.
#[test]
fn a_function_of_the_start_files() {
    let code = [
        0x80, 0x3d, 0x55, 0x2f, 0, 0, 0, // 00 cmpb $0,completed(%rip)
        0x75, 0x2b, // 07 jne 34
        0x55, // 09 push %rbp
        0x48, 0x83, 0x3d, 0xd2, 0x2e, 0, 0, 0, // 0a cmpq $0,__cxa_finalize(%rip)
        0x48, 0x89, 0xe5, // 12 mov %rsp,%rbp
        0x74, 0x0c, // 15 je 23
        0x48, 0x8b, 0x3d, 0x36, 0x2f, 0, 0, // 17 mov dso_handle(%rip),%rdi
        0xe8, 0x29, 0xff, 0xff, 0xff, // 1e call __cxa_finalize
        0xe8, 0x64, 0xff, 0xff, 0xff, // 23 call deregister_tm_clones
        0xc6, 5, 0x2d, 0x2f, 0, 0, 1,    // 28 movb $1,completed(%rip)
        0x5d, // 2f pop %rbp
        0xc3, // 30 ret
        0x0f, 0x1f, 0,    // 31 nop
        0xc3, // 34 ret
    ];
    for (at, recipe) in [
        (0x00, sp(8, SAME)),
        (0x07, sp(8, SAME)),
        (0x09, sp(8, SAME)),
        (0x0a, sp(16, AT_16)),
        (0x15, sp(16, AT_16)),
        (0x23, sp(16, AT_16)),
        (0x2f, sp(16, AT_16)),
        (0x30, sp(8, SAME)),
        (0x34, sp(8, SAME)),
    ] {
        assert_eq!(recipe_of(&code, at), Some(recipe), "{at:#x}");
    }
    assert!(is_behind_call(&code, 0x23) && is_behind_call(&code, 0x28));
    assert!(!is_behind_call(&code, 0x17) && !is_behind_call(&code, 0x2f));
}

/// x264's `ALLOC_STACK` with an alignment that the caller does not promise.
#[test]
fn a_function_that_aligns_its_stack() {
    let code = [
        0x53, // 00 push %rbx
        0x48, 0x89, 0xe0, // 01 mov %rsp,%rax
        0x48, 0x83, 0xe4, 0xe0, // 04 and $-32,%rsp
        0x48, 0x83, 0xec, 0x40, // 08 sub $64,%rsp
        0x48, 0x89, 0x44, 0x24, 0x38, // 0c mov %rax,56(%rsp)
        0x31, 0xc0, // 11 xor %eax,%eax
        0x48, 0x8b, 0x64, 0x24, 0x38, // 13 mov 56(%rsp),%rsp
        0x5b, // 18 pop %rbx
        0xc3, // 19 ret
    ];
    let rax = Recipe::Register { register: Register::RAX, bp: SAME, offset: 16 };
    let deref = Recipe::Deref { register: Register::RSP, bp: SAME, inner: 56, outer: 16 };
    for (at, recipe) in [
        (0x00, Some(sp(8, SAME))),
        (0x01, Some(sp(16, SAME))),
        (0x04, Some(rax)),
        // What rbx gets lies on a stack that only rax leads to, and no recipe needs to know it.
        (0x0c, Some(rax)),
        (0x11, Some(deref)),
        (0x18, Some(sp(16, SAME))),
        (0x19, Some(sp(8, SAME))),
    ] {
        assert_eq!(recipe_of(&code, at), recipe, "{at:#x}");
    }
}

/// Registers that are saved where only a word on the stack leads to.
#[test]
fn a_function_that_keeps_its_frame_on_an_aligned_stack() {
    let code = [
        0x55, // 00 push %rbp
        0x53, // 01 push %rbx
        0x48, 0x89, 0xe0, // 02 mov %rsp,%rax
        0x48, 0x83, 0xe4, 0xe0, // 05 and $-32,%rsp
        0x50, // 09 push %rax
        0x31, 0xed, // 0a xor %ebp,%ebp
        0x31, 0xdb, // 0c xor %ebx,%ebx
        0x5c, // 0e pop %rsp
        0x5b, // 0f pop %rbx
        0x5d, // 10 pop %rbp
        0xc3, // 11 ret
    ];
    let bp = AT_16;
    let deref = Recipe::Deref { register: Register::RSP, bp, inner: 0, outer: 24 };
    let saved = CalleeSaved::new([Slot::at_cfa(-24), SAME, SAME, SAME, SAME]);
    for at in [0x0a, 0x0c, 0x0e] {
        let found = infer(&code, at, &mut 0, |way| way.conforms).unwrap();
        assert_eq!((found.recipe, found.saved), (deref, saved), "{at:#x}");
    }
    let found = infer(&code, 0x0a, &mut 0, |_| true).unwrap();
    assert_eq!(found.reach, 4);
}

/// A frame pointer, and a stack that was lowered by a register.
#[test]
fn a_function_that_leaves_by_its_frame_pointer() {
    let code = [
        0x55, // 0 push %rbp
        0x48, 0x89, 0xe5, // 1 mov %rsp,%rbp
        0x48, 0x29, 0xc4, // 4 sub %rax,%rsp
        0xff, 0xd2, // 7 call *%rdx
        0xc9, // 9 leave
        0xc3, // a ret
    ];
    let bp = Recipe::Bp { bp: AT_16, offset: 16 };
    assert_eq!(recipe_of(&code, 1), Some(sp(16, AT_16)));
    assert_eq!([4, 7, 9].map(|at| recipe_of(&code, at)), [Some(bp); 3]);
    assert!(is_behind_call(&code, 9));
}

/// A matrix kernel: its frame in rbx, a stack aligned further down, every other register for
/// itself, and more loops one behind the other that a way in circles leads through than any in
/// OpenBLAS has.
#[test]
fn a_kernel_that_keeps_its_frame_in_a_register() {
    let before = [
        0x48, 0x83, 0xec, 0x40, // 00 sub $64,%rsp
        0x48, 0x89, 0x1c, 0x24, // 04 mov %rbx,(%rsp)
        0x48, 0x89, 0x6c, 0x24, 8, // 08 mov %rbp,8(%rsp)
        0x4c, 0x89, 0x64, 0x24, 16, // 0d mov %r12,16(%rsp)
        0x48, 0x89, 0xe3, // 12 mov %rsp,%rbx
        0x48, 0x81, 0xec, 0, 1, 0, 0, // 15 sub $256,%rsp
        0x48, 0x83, 0xe4, 0xc0, // 1c and $-64,%rsp
        0x48, 0x89, 0xfd, // 20 mov %rdi,%rbp
        0x48, 0x89, 0x6c, 0x24, 24, // 23 mov %rbp,24(%rsp)
    ];
    let a_loop = [
        0x48, 0xff, 0xcd, // 0 dec %rbp
        0x74, 2, // 3 je 7
        0xeb, 0xf9, // 5 jmp 0
    ];
    let after = [
        0x48, 0x89, 0xdc, // 00 mov %rbx,%rsp
        0x48, 0x8b, 0x1c, 0x24, // 03 mov (%rsp),%rbx
        0x48, 0x8b, 0x6c, 0x24, 8, // 07 mov 8(%rsp),%rbp
        0x4c, 0x8b, 0x64, 0x24, 16, // 0c mov 16(%rsp),%r12
        0x48, 0x83, 0xc4, 0x40, // 11 add $64,%rsp
        0xc3, // 15 ret
    ];
    let loops = before.len();
    let end = loops + 30 * a_loop.len();
    let code = [&before[..], &a_loop.repeat(30), &after].concat();
    let slot = Slot::at_cfa;
    let by_rbx = Recipe::Register { register: Register::RBX, bp: slot(-64), offset: 72 };
    for (at, recipe, rbx, r12) in [
        (0x00, sp(8, SAME), SAME, SAME),
        (0x04, sp(72, SAME), SAME, SAME),
        (0x08, sp(72, SAME), slot(-72), SAME),
        (0x0d, sp(72, slot(-64)), slot(-72), SAME),
        (0x15, by_rbx, slot(-72), slot(-56)),
        (0x20, by_rbx, slot(-72), slot(-56)),
        (loops, by_rbx, slot(-72), slot(-56)),
        (loops + 5, by_rbx, slot(-72), slot(-56)),
        (loops + 7 * 15 + 3, by_rbx, slot(-72), slot(-56)),
        (end, by_rbx, slot(-72), slot(-56)),
        (end + 0x03, sp(72, slot(-64)), slot(-72), slot(-56)),
        (end + 0x0c, sp(72, SAME), SAME, slot(-56)),
        (end + 0x15, sp(8, SAME), SAME, SAME),
    ] {
        let found = infer(&code, at, &mut 0, |way| way.conforms).unwrap();
        let saved = CalleeSaved::new([rbx, r12, SAME, SAME, SAME]);
        assert_eq!((found.recipe, found.saved), (recipe, saved), "{at:#x}");
    }
    // As far as nothing changes in terms of which it is said, and to where the way forks.
    for (at, reach) in [(0x00, 0), (0x04, 14), (0x15, 22), (0x20, 11), (0x28, 3), (end, 3)] {
        assert_eq!(infer(&code, at, &mut 0, |way| way.conforms).unwrap().reach, reach, "{at:#x}");
    }
}

/// What aligns the loop looks like the end of a function that calls what never returns.
#[test]
fn a_call_before_a_loop() {
    let mut code = [
        0x53, // 0 push %rbx
        0xe8, 0, 1, 0, 0, // 1 call
        0x0f, 0x1f, 0x40, 0, // 6 nop
        0xff, 0xcf, // a dec %edi
        0x75, 0xfc, // c jne a
        0x5b, // e pop %rbx
        0xc3, // f ret
    ];
    assert_eq!([1, 0xa].map(|at| recipe_of(&code, at)), [Some(sp(16, SAME)); 2]);
    code[0xd] = 0; // jne e
    assert_eq!([1, 0xa].map(|at| recipe_of(&code, at)), [None, Some(sp(16, SAME))]);
}

/// It may also be the first instruction of the next function, behind a call that never returns.
#[test]
fn a_call_before_a_function_that_is_a_loop() {
    let code = [
        0x53, // 0 push %rbx
        0xe8, 0, 1, 0, 0, // 1 call
        0x0f, 0x1f, 0x40, 0, // 6 nop
        0xff, 0xcf, // a dec %edi
        0x75, 0xfc, // c jne a
        0xc3, // e ret
    ];
    assert_eq!([0, 1, 0xa].map(|at| recipe_of(&code, at)), [None, None, Some(sp(8, SAME))]);
}

/// What was written on the way is not there any more once another instruction may have written
/// there.
#[test]
fn a_word_that_is_exchanged() {
    let mut code = [
        0x53, // 0 push %rbx
        0x48, 0x87, 0x0c, 0x24, // 1 xchg %rcx,(%rsp)
        0x5b, // 5 pop %rbx
        0xc3, // 6 ret
    ];
    assert!(!infer(&code, 0, &mut 0, |_| true).unwrap().conforms);
    code[1..5].copy_from_slice(&[0x48, 0x87, 0x0f, 0x90]); // xchg %rcx,(%rdi); nop
    assert!(infer(&code, 0, &mut 0, |_| true).unwrap().conforms);
}

/// The straight way is an endless loop; the way out forks off within it.
#[test]
fn a_loop_that_is_left_in_its_middle() {
    let code = [
        0x53, // 0 push %rbx
        0x48, 0xff, 0xcf, // 1 dec %rdi
        0x74, 6, // 4 je c
        0x84, 0xc0, // 6 test %al,%al
        0x74, 0xf7, // 8 je 1
        0xeb, 0xf5, // a jmp 1
        0x5b, // c pop %rbx
        0xc3, // d ret
    ];
    assert_eq!(recipe_of(&code, 0), Some(sp(8, SAME)));
    assert_eq!([1, 4, 6, 0xa, 0xc].map(|at| recipe_of(&code, at)), [Some(sp(16, SAME)); 5]);
}

/// Big numbers are written word by word.
#[test]
fn words_that_are_not_on_the_stack() {
    let word = |at: u8| [0x48, 0x89, 0x47, 8 * at]; // mov %rax,8*at(%rdi)
    let numbers: Vec<u8> = (0..15).flat_map(word).collect();
    let push = [0x53, 0x55]; // push %rbx; push %rbp
    let pop = [0x31, 0xdb, 0x31, 0xed, 0x5d, 0x5b, 0xc3]; // xor %ebx,%ebx; xor %ebp,%ebp; pop; pop; ret
    let code = [&numbers[..], &push, &numbers, &word(15), &word(16), &pop].concat();
    assert_eq!(recipe_of(&code, 0), Some(sp(8, SAME)));
}

#[test]
fn words_as_far_apart_as_can_be() {
    let code = [
        0x48, 0x89, 0x84, 0x24, 0, 0, 0, 0x80, // 0 mov %rax,-0x80000000(%rsp)
        0x48, 0x89, 0x04, 0x24, // 8 mov %rax,(%rsp)
        0xc3, // c ret
    ];
    assert_eq!(recipe_of(&code, 0), Some(sp(8, SAME)));
}

#[test]
fn what_a_caller_would_not_accept() {
    assert_eq!(recipe_of(&[0x31, 0xdb, 0xc3], 0), None, "xor %ebx,%ebx; ret");
    assert_eq!(recipe_of(&[0x48, 0x8b, 0x27, 0xc3], 0), None, "mov (%rdi),%rsp; ret");
    assert_eq!(recipe_of(&[0x53, 0x06, 0x5b, 0xc3], 0), None, "an unknown instruction");
    assert_eq!(recipe_of(&[0xff, 0xe0], 0), None, "jmp *%rax");
    assert_eq!(recipe_of(&[0xeb, 0xfe], 0), None, "jmp to itself");
    assert_eq!(recipe_of(&[0x50, 0xc3], 0), None, "push %rax; ret");
    assert_eq!(recipe_of(&[0x90], 0), None, "the end of the code");
    // mov (%rdi),%rbp; mov 8(%rbp),%rbx; pop %rbp; ret
    let data = [0x48, 0x8b, 0x2f, 0x48, 0x8b, 0x5d, 8, 0x5d, 0xc3];
    assert_eq!(recipe_of(&data, 0), None, "a register from data that rbp points to");
}

/// x264's `trellis_coef0` calls a subroutine of its own, which keeps neither r14 nor rbp.
#[test]
fn a_subroutine_that_keeps_nothing() {
    let code = [
        0xe8, 5, 0, 0, 0, // 00 call 0a
        0x48, 0x89, 0xc1, // 05 mov %rax,%rcx
        0xc3, // 08 ret
        0x90, // 09 nop
        0x4d, 0x8b, 0x72, 8, // 0a mov 8(%r10),%r14
        0x48, 0x8b, 0x6c, 0x24, 0x48, // 0e mov 72(%rsp),%rbp
        0xc3, // 13 ret
    ];
    let mut slots = [SAME; 5];
    slots[3] = Slot::LOST;
    let kept = !(bit(Register::R14) | bit(Register::RBP));
    let expected = Inferred {
        // What its caller finds in rbp.
        recipe: sp(8, Slot::at_cfa(64)),
        saved: CalleeSaved::new(slots),
        kept,
        terms: [Register::RSP, Register::RBX, Register::R12, Register::R13, Register::R15]
            .iter()
            .fold(0, |set, register| set | bit(*register)),
        conforms: false,
        begins: false,
        takes_more: false,
        reach: 0,
    };
    let ways = |at| {
        let mut ways = Vec::new();
        assert_eq!(infer(&code, at, &mut 0, |way| (ways.push(way), false).1), None);
        ways
    };
    assert_eq!(ways(0x0a), [expected]);
    assert_eq!(ways(0x13)[0].recipe, sp(8, SAME));
    assert!([0x0a, 0x0e, 0x13].iter().all(|at| is_called_at(&code, 0x0a, *at, &mut 8)));
    assert!(!is_called_at(&code, 0x0a, 0x0b, &mut 8), "inside of an instruction");
    assert!(!is_called_at(&code, 0x0a, 8, &mut 8), "before the function called");
    let mut steps = 3;
    assert!(
        is_called_at(&code, 0x0a, 0x13, &mut steps) && !is_called_at(&code, 0x0a, 0x13, &mut steps)
    );
}

/// x264's `hadamard_ac` keeps its stack pointer in rcx while it calls a subroutine that leaves rcx
/// alone.
#[test]
fn a_register_that_a_subroutine_is_known_to_keep() {
    let mut code = vec![
        0x48, 0x89, 0xe1, // 00 mov %rsp,%rcx
        0x48, 0x83, 0xe4, 0xe0, // 03 and $-32,%rsp
        0x48, 0x83, 0xec, 0x60, // 07 sub $96,%rsp
        0xe8, 8, 0, 0, 0, // 0b call 18
        0x31, 0xc0, // 10 xor %eax,%eax
        0x48, 0x89, 0xcc, // 12 mov %rcx,%rsp
        0xc3, // 15 ret
        0x66, 0x90, // 16 nop
        0x31, 0xd2, // 18 xor %edx,%edx
        0xc3, // 1a ret
    ];
    let by_rcx = Recipe::Register { register: Register::RCX, bp: SAME, offset: 8 };
    assert_eq!(recipe_of(&code, 0), Some(sp(8, SAME)));
    assert_eq!([0x07, 0x0b, 0x10].map(|at| recipe_of(&code, at)), [Some(by_rcx); 3]);
    let subroutine = infer(&code, 0x18, &mut 0, |_| true).unwrap();
    assert_eq!((subroutine.kept >> Register::RCX.dwarf() & 1, subroutine.conforms), (1, true));
    code[0x19] = 0xc9; // xor %ecx,%ecx
    assert_eq!(recipe_of(&code, 0x0b), None);
}

#[test]
fn what_is_done_with_the_return_address() {
    // 16 bytes above rsp; the frame pointer is set up.
    let word = Above { sp: 16, bp: Some(8) };
    for (what, code, is_used) in [
        ("mov 16(%rsp),%rax", &[0x48, 0x8b, 0x44, 0x24, 16][..], true),
        ("mov 8(%rbp),%rax", &[0x48, 0x8b, 0x45, 8], true),
        ("mov 16(%rbp),%rax", &[0x48, 0x8b, 0x45, 16], false),
        ("push %rax; xchg %rax,24(%rsp)", &[0x50, 0x48, 0x87, 0x44, 0x24, 24], true),
        ("movups 16(%rsp),%xmm0", &[0x0f, 0x10, 0x44, 0x24, 16], true),
        ("add $16,%rsp; pop %rcx", &[0x48, 0x83, 0xc4, 16, 0x59], true),
        ("add $16,%rsp; push (%rsp)", &[0x48, 0x83, 0xc4, 16, 0xff, 0x34, 0x24], true),
        ("add $16,%rsp; jmp *(%rsp)", &[0x48, 0x83, 0xc4, 16, 0xff, 0x24, 0x24], true),
        ("add $16,%rsp; ret", &[0x48, 0x83, 0xc4, 16, 0xc3], false),
        ("pop %rsp; pop %rax; pop %rax", &[0x5c, 0x58, 0x58], false),
        ("pop 0(%rsp); pop (%rsp)", &[0x8f, 0x04, 0x24, 0x8f, 0x04, 0x24], true),
        ("lea -8(%rbp),%rsp; pop %rax; ret", &[0x48, 0x8d, 0x65, 0xf8, 0x58, 0xc3], false),
        ("lea -8(%rbp),%rsp; pop; pop; pop", &[0x48, 0x8d, 0x65, 0xf8, 0x58, 0x5d, 0x59], true),
        ("pop %rbp; mov 8(%rbp),%rax", &[0x5d, 0x48, 0x8b, 0x45, 8], false),
        (
            "lea 16(%rsp),%rbp; mov (%rbp),%rax",
            &[0x48, 0x8d, 0x6c, 0x24, 16, 0x48, 0x8b, 0x45, 0],
            true,
        ),
        ("nop 16(%rsp)", &[0x0f, 0x1f, 0x44, 0x24, 16], false),
        ("mov 20(%rsp),%eax", &[0x8b, 0x44, 0x24, 20], true),
        ("mov 24(%rsp),%rax", &[0x48, 0x8b, 0x44, 0x24, 24], false),
        ("and $-32,%rsp; mov 8(%rbp),%rax", &[0x48, 0x83, 0xe4, 0xe0, 0x48, 0x8b, 0x45, 8], true),
        ("leave; pop %rax", &[0xc9, 0x58], true),
        ("leave; ret", &[0xc9, 0xc3], false),
        ("unknown", &[0x0f, 0x04, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], true),
        ("cut off", &[0x48, 0x8b, 0x44], false),
    ] {
        assert_eq!(uses_word(code, 0, word), is_used, "{what}");
    }
    assert!(!uses_word(&[0x48, 0x8b, 0x45, 8], 0, Above { bp: None, ..word }));
}

/// `__clang_call_terminate` has no call frame information, and never returns.
#[test]
fn a_function_that_does_not_return() {
    let code = [
        0xe8, 3, 0, 0, 0, // 00 call 08
        0x0f, 0x1f, 0,    // 05 nop
        0x50, // 08 push %rax
        0xe8, 2, 0, 0, 0, // 09 call 10
        0xe8, 2, 0, 0, 0,    // 0e call 15
        0x90, // 13 nop
    ];
    assert_eq!([0x08, 0x0e].map(|at| recipe_of(&code, at)), [None; 2]);
    let pushed = [0x08, 0x09, 0x0e, 0x13].map(|at| pushed_since_call(&code, 8, at, &mut 8));
    assert_eq!(pushed, [Some(0), Some(8), Some(8), Some(8)]);
    assert_eq!(pushed_since_call(&code, 8, 0x0a, &mut 8), None, "inside of an instruction");
}

/// Boost's `make_fcontext` of 1.74: `trampoline` pushes the address of `finish` and jumps to what
/// the coroutine begins with.
#[test]
fn code_that_only_a_new_stack_leads_to() {
    let code = [
        0x48, 0x89, 0x48, 0x30, // 00 mov %rcx,48(%rax)
        0xc3, // 04 ret
        0x55, // 05 push %rbp
        0xff, 0xe3, // 06 jmp *%rbx
        0x48, 0x31, 0xff, // 08 xor %rdi,%rdi
        0xe8, 0x49, 0xfe, 0xff, 0xff, // 0b call _exit
        0xf4, // 10 hlt
        0x90, // 11 nop
    ];
    assert!(is_first(&code, 8));
    assert!(!is_first(&code, 5), "goes on elsewhere");
    assert!(!is_first(&code, 0x11), "the end of the code");
    for (what, last) in [("ret", 0xc3), ("nop, and nothing behind", 0x90)] {
        let mut code = code;
        code[0x10] = last;
        code[0x11] = last;
        assert!(!is_first(&code, 8), "{what}");
    }
}
