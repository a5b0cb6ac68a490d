//! The end of libgcc's `_Unwind_Resume`, byte by byte, and frames word by word. Every instruction
//! of a real unwinder is stepped through in `tests/live_unwind`.

use super::*;

/// Debian's, of GCC 12.
const END_OF_RESUME: [u8; 143] = [
    0x4c, 0x89, 0xee, // 00 mov %r13,%rsi
    0x4c, 0x89, 0xe7, // 03 mov %r12,%rdi
    0xe8, 0xcf, 0xd3, 0xff, 0xff, // 06 call uw_install_context_1
    0x48, 0x8b, 0xb5, 0x68, 0xff, 0xff, 0xff, // 0b mov -152(%rbp),%rsi
    0x48, 0x8b, 0xbd, 0x60, 0xff, 0xff, 0xff, // 12 mov -160(%rbp),%rdi
    0x31, 0xd2, // 19 xor %edx,%edx
    0xe8, 0x1a, 0xf9, 0xff, 0xff, // 1b call _Unwind_DebugHook
    0xf3, 0x48, 0x0f, 0x1e, 0xca, // 20 rdsspq %rdx
    0x48, 0x85, 0xd2, // 25 test %rdx,%rdx
    0x74, 0x32, // 28 je 5c
    0x48, 0x8b, 0x95, 0xd8, 0xfd, 0xff, 0xff, // 2a mov -552(%rbp),%rdx
    0x48, 0x81, 0xfa, 0xff, 0, 0, 0, // 31 cmp $255,%rdx
    0x76, 0x1d, // 38 jbe 57
    0xb9, 0xff, 0, 0, 0, // 3a mov $255,%ecx
    0x0f, 0x1f, 0, // 3f nop
    0xf3, 0x48, 0x0f, 0xae, 0xe9, // 42 incsspq %rcx
    0x48, 0x81, 0xea, 0xff, 0, 0, 0, // 47 sub $255,%rdx
    0x48, 0x81, 0xfa, 0xff, 0, 0, 0, // 4e cmp $255,%rdx
    0x77, 0xeb, // 55 ja 42
    0xf3, 0x48, 0x0f, 0xae, 0xea, // 57 incsspq %rdx
    0x48, 0x89, 0xc1, // 5c mov %rax,%rcx
    0x48, 0x89, 0x74, 5, 8, // 5f mov %rsi,8(%rbp,%rax)
    0x48, 0x8b, 0x45, 0xc8, // 64 mov -56(%rbp),%rax
    0x48, 0x8d, 0x4c, 0x0d, 8, // 68 lea 8(%rbp,%rcx),%rcx
    0x48, 0x8b, 0x55, 0xd0, // 6d mov -48(%rbp),%rdx
    0x48, 0x8b, 0x5d, 0xd8, // 71 mov -40(%rbp),%rbx
    0x4c, 0x8b, 0x65, 0xe0, // 75 mov -32(%rbp),%r12
    0x4c, 0x8b, 0x6d, 0xe8, // 79 mov -24(%rbp),%r13
    0x4c, 0x8b, 0x75, 0xf0, // 7d mov -16(%rbp),%r14
    0x4c, 0x8b, 0x7d, 0xf8, // 81 mov -8(%rbp),%r15
    0x48, 0x8b, 0x6d, 0, // 85 mov 0(%rbp),%rbp
    0x48, 0x89, 0xcc, // 89 mov %rcx,%rsp
    0x59, // 8c pop %rcx
    0xff, 0xe1, // 8d jmp *%rcx
];

#[test]
fn from_the_installing_call_on_an_unwinder_is_landing() {
    let landing = |at| landing(&END_OF_RESUME, at);
    assert_eq!((landing(0), landing(6)), (None, None), "nothing is installed yet");
    for at in [0x0b, 0x1b, 0x20, 0x42, 0x5c, 0x64, 0x68, 0x85] {
        assert_eq!(landing(at), Some(Landing::Installing), "{at:#x}");
    }
    for at in [0x89, 0x8c, 0x8d] {
        assert_eq!(landing(at), Some(Landing::Jumping), "{at:#x}");
    }
}

#[test]
fn other_ends_of_functions() {
    // mov %rcx,%rsp; ret
    let older = [0x48, 0x89, 0xcc, 0xc3];
    assert_eq!(landing(&older, 3), Some(Landing::Jumping));
    for (what, code) in [
        ("add $8,%rsp; ret", &[0x48, 0x83, 0xc4, 8, 0xc3][..]),
        ("mov %rdx,%rsp; ret", &[0x48, 0x89, 0xd4, 0xc3]),
        ("pop %rcx; ret", &[0x59, 0xc3]),
        ("an endless loop", &[0xeb, 0xfe]),
        ("nothing", &[]),
    ] {
        assert_eq!(landing(code, 0), None, "{what}");
    }
}

/// An unwinder's frame from 0x7000 to 0x7200: its context at 0x7010, the handler's at 0x7100;
/// above, at 0x7300, the handler's frame.
struct Stack([u64; 128]);

const LOW: u64 = 0x7000;
const CFA: u64 = 0x7200;
const HANDLER: u64 = 0x7300;

impl Stack {
    fn new() -> Self {
        let mut stack = Self([0; 128]);
        stack.context(0x7010, CFA, 0x40_0100);
        stack.context(0x7100, HANDLER, 0x40_0200);
        // rbp and rbx of the handler's frame were saved further in, r12 is in the context itself.
        stack.set(0x7100 + 6 * 8, 0x7220);
        stack.set(0x7220, 0xb9);
        stack.set(0x7100 + 3 * 8, 0x7228);
        stack.set(0x7228, 0xb8);
        stack.set(0x7100 + 12 * 8, 0x12);
        stack.set(0x7100 + 28 * 8, 1 << 32);
        stack
    }

    fn set(&mut self, address: u64, word: u64) {
        self.0[(address - LOW) as usize / 8] = word;
    }

    fn context(&mut self, at: u64, sp: u64, ip: u64) {
        for (word, value) in [(16, sp - 8), (18, sp), (19, ip), (24, EXTENDED)] {
            self.set(at + word * 8, value);
        }
    }

    fn land(&self) -> Option<Registers> {
        let word = |address: u64| self.0.get(((address - LOW) / 8) as usize).copied();
        land(LOW, CFA, word)
    }
}

#[test]
fn the_registers_of_the_handlers_frame() {
    let registers = Stack::new().land().unwrap();
    assert_eq!((registers.ip, registers.sp()), (0x40_0201, HANDLER));
    let known = [Register::RBP, Register::RBX, Register::R12, Register::R13, Register::RAX];
    let values = known.map(|register| registers.get(register));
    assert_eq!(values, [Some(0xb9), Some(0xb8), Some(0x12), None, None]);
}

#[test]
fn registers_that_are_the_handlers_already() {
    let mut present = Registers::interrupted(0x1000, [7; 16]);
    present.set(Register::RBP, 0xb9);
    let caller = Registers::calling(0x40_0200, HANDLER, 5);
    let registers = jump(&present, &caller);
    assert_eq!((registers.ip, registers.sp()), (0x40_0201, HANDLER));
    let known = [Register::RBP, Register::R15, Register::RAX];
    assert_eq!(known.map(|register| registers.get(register)), [Some(0xb9), Some(7), None]);
}

#[test]
fn arguments_are_still_on_the_stack() {
    let mut stack = Stack::new();
    stack.set(0x7100 + ARGUMENTS * 8, 16);
    assert_eq!(stack.land().unwrap().sp(), HANDLER + 16);
}

/// A signal handler has thrown out of the instruction that it interrupted: the return address is
/// the rip that the kernel has saved.
#[test]
fn the_handlers_frame_was_interrupted() {
    let mut stack = Stack::new();
    stack.set(0x7100 + 16 * 8, 0x7230);
    assert_eq!(stack.land(), None);
    stack.set(0x7100 + FLAGS * 8, EXTENDED | INTERRUPTED);
    assert_eq!(stack.land().unwrap().sp(), HANDLER);
}

/// Registers of a damaged stack say where the frame ends.
#[test]
fn no_frame_is_larger_than_an_unwinders() {
    let reads = core::cell::Cell::new(0_u64);
    let zero = |_| {
        reads.update(|so_far| so_far + 1);
        assert!(reads.get() < 8 * MOST_OF_FRAME);
        Some(0)
    };
    assert_eq!(land(LOW, LOW + (1 << 40), zero), None);
}

#[test]
fn what_is_no_context() {
    for (what, word, value) in [
        ("the frame's own caller handles it", STACK_POINTER, CFA),
        ("a frame further in", STACK_POINTER, CFA - 8),
        ("a frame that is called otherwise", 16, HANDLER - 16),
        ("another layout", FLAGS, 0),
    ] {
        let mut stack = Stack::new();
        stack.set(0x7100 + word * 8, value);
        assert_eq!(stack.land(), None, "{what}");
    }
}
