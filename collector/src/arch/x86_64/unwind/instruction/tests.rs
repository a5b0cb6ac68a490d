//! Encodings as GNU as makes them. The lengths of all instructions of real binaries are compared
//! with a disassembler's in `tests/instructions_of_real_binaries.rs`.

use super::*;

const R8: Register = Register::R8;
const RSP: Register = Register::RSP;
const RBP: Register = Register::RBP;
const RBX: Register = Register::RBX;

#[track_caller]
fn is(code: &[u8], effect: Effect) {
    let mut padded = code.to_vec();
    padded.extend([0x90; 15]);
    let found = decode(&padded).map(|found| (usize::from(found.length), found.effect));
    assert_eq!(found, Some((code.len(), effect)));
    for cut in 0..code.len() {
        assert_eq!(decode(&code[..cut]), None, "cut to {cut} bytes");
    }
}

#[test]
fn the_stack() {
    is(&[0x55], Effect::Push(Some(RBP))); // push %rbp
    is(&[0x41, 0x50], Effect::Push(Some(R8))); // push %r8
    is(&[0x68, 1, 0, 0, 0], Effect::Push(None)); // push $1
    is(&[0xff, 0x35, 2, 0xf7, 0, 0], Effect::Push(None)); // push 0xf702(%rip)
    is(&[0x5b], Effect::Pop(Some(RBX))); // pop %rbx
    is(&[0xc9], Effect::Leave);
    let add = |to, from, offset| Effect::Add { to, from, offset };
    is(&[0x48, 0x83, 0xec, 0x18], add(RSP, RSP, -24)); // sub $0x18,%rsp
    is(&[0x48, 0x81, 0xc4, 0, 1, 0, 0], add(RSP, RSP, 256)); // add $0x100,%rsp
    is(&[0x66, 0x48, 0x81, 0xc4, 0, 1, 0, 0], add(RSP, RSP, 256)); // data16 add $0x100,%rsp
    is(&[0x48, 0x89, 0xe5], add(RBP, RSP, 0)); // mov %rsp,%rbp
    is(&[0x4c, 0x8b, 0xc4], add(R8, RSP, 0)); // mov %rsp,%r8
    is(&[0x48, 0x8d, 0x65, 0xd8], add(RSP, RBP, -40)); // lea -0x28(%rbp),%rsp
    is(&[0x48, 0x83, 0xe4, 0xe0], Effect::Lower); // and $-32,%rsp
    is(&[0x48, 0x29, 0xc4], Effect::Lower); // sub %rax,%rsp
    let (from, base, offset) = (R8, RSP, 0x20);
    is(&[0x4c, 0x89, 0x44, 0x24, 0x20], Effect::Store { from, base, offset }); // mov %r8,0x20(%rsp)
    let (to, base, offset) = (RSP, RSP, 0x20);
    is(&[0x48, 0x8b, 0x64, 0x24, 0x20], Effect::Load { to, base, offset }); // mov 0x20(%rsp),%rsp
}

#[test]
fn control() {
    is(&[0xe8, 9, 0xb6, 0x16, 0], Effect::Call(Some(0x16_b609)));
    is(&[0xff, 0xd0], Effect::Call(None)); // call *%rax
    is(&[0xeb, 0xfe], Effect::Jump(-2));
    is(&[0x0f, 0x84, 0, 1, 0, 0], Effect::Branch(256)); // je
    is(&[0xff, 0x24, 0xc5, 0, 0x20, 0x40, 0], Effect::JumpIndirect(None)); // jmp *0x402000(,%rax,8)
    is(&[0xff, 0xe2], Effect::JumpIndirect(Some(Register::RDX))); // jmp *%rdx
    is(&[0xf3, 0xc3], Effect::Return); // repz ret
    is(&[0xc2, 0, 0], Effect::Return); // ret $0
    assert_eq!(decode(&[0xc2, 8, 0]), None); // ret $8
    is(&[0x0f, 0x0b], Effect::Stop); // ud2
}

#[test]
fn registers_that_change() {
    let change = |registers: &[Register]| {
        Effect::Change(registers.iter().fold(0, |all, register| all | set(*register)))
    };
    is(&[0x49, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8], change(&[R8])); // movabs $…,%r8
    is(&[0xb7, 1], change(&[RBX])); // mov $1,%bh
    is(&[0x0f, 0xa2], change(&[Register::RAX, RBX, Register::RCX, Register::RDX])); // cpuid
    is(&[0x66, 0x0f, 0x7e, 0xc3], change(&[RBX])); // movd %xmm0,%ebx
    is(&[0xf3, 0x0f, 0x7e, 0xd8], Effect::None); // movq %xmm0,%xmm3
    is(&[0xc5, 0xf9, 0x7e, 0xc3], change(&[RBX])); // vmovd %xmm0,%ebx
    is(&[0x62, 0xf5, 0x7d, 0x08, 0x7e, 0xc3], change(&[RBX])); // vmovw %xmm0,%ebx
    is(&[0x62, 0xf5, 0x7e, 0x08, 0x2d, 0xd8], change(&[RBX])); // vcvtsh2si %xmm0,%ebx
    assert_eq!(decode(&[0x62, 0xf2, 0x7c, 0x08, 0xf7, 0xd8]), None); // bextr of APX
    assert_eq!(decode(&[0x62, 0xf3, 0x7f, 0x08, 0xf0, 0xd8, 1]), None); // rorx of APX
    assert_eq!(decode(&[0x62, 0xf1, 0x7f, 0x08, 0x93, 0xd8]), None); // kmovd %k0,%ebx of APX
    assert_eq!(decode(&[0x62, 0xf9, 0x7c, 0x48, 0x10, 0x04, 0x24]), None); // vmovups (%r20),%zmm0
    assert_eq!(decode(&[0xc4, 0xe2, 0x71, 0xe0, 0x1c, 0x24]), None); // cmpoxadd %ecx,%ebx,(%rsp)
    is(&[0xf3, 0x90], Effect::None); // pause
    is(&[0xc4, 0xe3, 0x7b, 0xf0, 0xd8, 5], change(&[RBX])); // rorx $5,%eax,%ebx
    is(&[0xc4, 0xe2, 0xe3, 0xf6, 0xe8], change(&[RBX, RBP])); // mulx %rax,%rbx,%rbp
    is(&[0xc5, 0xf8, 0x77], Effect::None); // vzeroupper
    is(&[0x62, 0xf1, 0x7c, 0x48, 0x28, 0x5c, 0x24, 1], Effect::None); // vmovaps 0x40(%rsp),%zmm3
}

#[test]
fn operands_in_memory() {
    for (code, operand) in [
        (&[0x48, 0x87, 0x04, 0x24][..], Some((RSP, 0))), // xchg %rax,(%rsp)
        (&[0x0f, 0x10, 0x44, 0x24, 8], Some((RSP, 8))),  // movups 8(%rsp),%xmm0
        (&[0x62, 0xf1, 0x7c, 0x48, 0x28, 0x45, 0], Some((RBP, 0))), // vmovaps (%rbp),%zmm0
        (&[0x62, 0xf1, 0x7c, 0x48, 0x28, 0x45, 8], None), // vmovaps 512(%rbp),%zmm0
        (&[0xdd, 0x45, 8], Some((RBP, 8))),              // fldl 8(%rbp)
        (&[0xff, 0x34, 0x24], Some((RSP, 0))),           // push (%rsp)
        (&[0x8f, 0x04, 0x24], Some((RSP, 8))),           // pop (%rsp)
        (&[0xff, 0x24, 0x24], Some((RSP, 0))),           // jmp *(%rsp)
        (&[0x48, 0x8d, 0x44, 0x24, 8], None),            // lea 8(%rsp),%rax
        (&[0x0f, 0x1f, 0x44, 0x24, 8], None),            // nopl 8(%rsp)
        (&[0x0f, 0x18, 0x4c, 0x24, 8], None),            // prefetcht0 8(%rsp)
        (&[0x65, 0x48, 0x8b, 0x45, 8], None),            // mov %gs:8(%rbp),%rax
        (&[0x48, 0x8b, 0x44, 0x15, 8], None),            // mov 8(%rbp,%rdx),%rax
        (&[0x50], None),                                 // push %rax
    ] {
        assert_eq!(decode(code).map(|found| found.memory), Some(operand), "{code:x?}");
    }
    is(&[0x48, 0x0f, 0xc7, 0x0f], Effect::Change(RAX | RDX)); // cmpxchg16b (%rdi)
}
