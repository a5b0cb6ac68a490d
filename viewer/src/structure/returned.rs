//! Addresses of functions that code may return.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory,
    InstructionInfoOptions, Mnemonic, OpAccess, OpKind, Register,
};

/// Times that code is gone through to find out what it may return; compilers need two or three.
const MOST_PASSES: usize = 32;

/// Registers of which something may be returned: a bit for each general purpose register.
type Registers = u16;

/// What an instruction does with registers.
const READ: usize = 0;
const CHANGED: usize = 1;
const WRITTEN: usize = 2;

/// What a function returns, and what a call leaves as it is: `rbx`, `rsp`, `rbp`, `r12` to `r15`
/// (System V ABI, AMD64, 3.2.1).
const RETURNED: Registers = 1;
const KEPT: Registers = 0b1111_0000_0011_1000;

/// The addresses that the code at `start` loads, by `lea address(%rip), register` or, where code
/// `is_fixed` to its addresses, by `mov $address, register`, and then may return; in their order.
/// Numbers that only look so are among the latter.
///
/// What is in a register that a call may change was for that call, such as the function by which
/// another one sorts. What is written to memory may be read again, and a jump through a table may
/// lead anywhere.
#[must_use]
pub fn returned(start: u64, code: &[u8], is_fixed: bool) -> Vec<u64> {
    let code: Vec<Instruction> =
        Decoder::with_ip(64, code, start, DecoderOptions::NONE).into_iter().collect();
    let loaded = |instruction: &Instruction| match (instruction.mnemonic(), instruction.op1_kind())
    {
        (Mnemonic::Lea, OpKind::Memory) if instruction.is_ip_rel_memory_operand() => {
            Some(instruction.ip_rel_memory_address())
        }
        (Mnemonic::Mov, OpKind::Immediate32 | OpKind::Immediate32to64 | OpKind::Immediate64)
            if is_fixed && instruction.op0_kind() == OpKind::Register =>
        {
            Some(instruction.immediate(1))
        }
        _ => None,
    };
    if !code.iter().any(|instruction| loaded(instruction).is_some()) {
        return Vec::new();
    }
    let after = returned_after(&code);
    let loads = code.iter().zip(after);
    let loads = loads.filter(|(load, after)| bit(load.op0_register()) & after != 0);
    loads.filter_map(|(load, _)| loaded(load)).collect()
}

/// For each instruction the registers of which something may be returned when they are as they are
/// behind it: liveness, where only the returned register is used.
fn returned_after(code: &[Instruction]) -> Vec<Registers> {
    let mut factory = InstructionInfoFactory::new();
    // What each reads, writes in part or perhaps, and writes in any case.
    let uses: Vec<[Registers; 3]> = code
        .iter()
        .map(|instruction| {
            let mut uses = [0; 3];
            let info = factory.info_options(instruction, InstructionInfoOptions::NO_MEMORY_USAGE);
            for used in info.used_registers() {
                let is_whole = used.register().size() >= 4;
                let kinds = match used.access() {
                    OpAccess::Read | OpAccess::CondRead => &[READ][..],
                    OpAccess::Write if is_whole => &[CHANGED, WRITTEN],
                    OpAccess::Write | OpAccess::CondWrite => &[CHANGED],
                    OpAccess::ReadWrite | OpAccess::ReadCondWrite => &[READ, CHANGED],
                    _ => &[],
                };
                kinds.iter().for_each(|&kind| uses[kind] |= bit(used.register()));
            }
            uses
        })
        .collect();
    let mut before = vec![0; code.len()];
    let mut after = vec![0; code.len()];
    for _ in 0..MOST_PASSES {
        let mut is_settled = true;
        for index in (0..code.len()).rev() {
            let instruction = &code[index];
            let target = || {
                let target = instruction.near_branch_target();
                let found = code.binary_search_by_key(&target, Instruction::ip);
                found.map_or(RETURNED, |found| before[found])
            };
            // Behind the last instruction that is looked at anything may follow.
            let next = || before.get(index + 1).copied().unwrap_or(Registers::MAX);
            let after_it = match instruction.flow_control() {
                FlowControl::Return => RETURNED,
                FlowControl::UnconditionalBranch => target(),
                FlowControl::ConditionalBranch | FlowControl::XbeginXabortXend => target() | next(),
                FlowControl::IndirectBranch => Registers::MAX,
                FlowControl::Call | FlowControl::IndirectCall => next() & KEPT,
                FlowControl::Interrupt | FlowControl::Exception => 0,
                FlowControl::Next => next(),
            };
            let is_stored = match instruction.mnemonic() {
                Mnemonic::Mov => instruction.op0_kind() == OpKind::Memory,
                mnemonic => mnemonic == Mnemonic::Push,
            };
            let uses = uses[index];
            let read = if is_stored || after_it & uses[CHANGED] != 0 { uses[READ] } else { 0 };
            let now = after_it & !uses[WRITTEN] | read;
            is_settled &= (before[index], after[index]) == (now, after_it);
            (before[index], after[index]) = (now, after_it);
        }
        if is_settled {
            return after;
        }
    }
    vec![Registers::MAX; code.len()]
}

/// The bit of a register; none if it holds no address.
fn bit(register: Register) -> Registers {
    if register.is_gpr() { 1 << register.full_register().number() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_known_by_what_loads_them() {
        let code = [
            0x48, 0x8d, 0x15, 0x92, 0x6e, 0x00, 0x00, // lea 0x6e92(%rip),%rdx
            0x8b, 0x91, 0xa4, 0x01, 0x00, 0x00, // mov 0x1a4(%rcx),%edx
            0x48, 0x8d, 0x05, 0x92, 0x6e, 0x00, 0x00, // lea 0x6e92(%rip),%rax
            0xbb, 0x30, 0x12, 0x40, 0x00, // mov $0x401230,%ebx
            0x48, 0x0f, 0x44, 0xc3, // cmove %rbx,%rax
            0x48, 0xc7, 0xc2, 0x40, 0x12, 0x40, 0x00, // mov $0x401240,%rdx
            0x48, 0x0f, 0x45, 0xc2, // cmovne %rdx,%rax
            0xc7, 0x05, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, // movl $1,(%rip)
            0xc3, 0x48, 0x8d, 0x05, // ret, and half an instruction
        ];
        assert_eq!(returned(0x9be77, &code, true), [0xa2d1d, 0x40_1230, 0x40_1240]);
        // Numbers mean nothing where code is moved.
        assert_eq!(returned(0x9be77, &code, false), [0xa2d1d]);
    }

    #[test]
    fn what_a_call_is_given_is_not_returned() {
        let code = [
            0x48, 0x8d, 0x1d, 0x00, 0x10, 0x00, 0x00, // lea 0x2007,%rbx
            0x48, 0x8d, 0x3d, 0x00, 0x10, 0x00, 0x00, // lea 0x200e,%rdi
            0x48, 0x8d, 0x05, 0x00, 0x10, 0x00, 0x00, // lea 0x2015,%rax
            0x85, 0xf6, // test %esi,%esi
            0x74, 0x0f, // je to the end
            0x48, 0x8d, 0x05, 0x00, 0x10, 0x00, 0x00, // lea 0x2020,%rax
            0xe8, 0x00, 0x00, 0x00, 0x00, // call
            0x48, 0x89, 0xd8, // mov %rbx,%rax
            0xc3, // ret
        ];
        assert_eq!(returned(0x1000, &code, false), [0x2007, 0x2015]);
        // A jump to another function returns what that one does.
        let code = [
            0x48, 0x8d, 0x3d, 0x00, 0x10, 0x00, 0x00, // lea 0x2007,%rdi
            0xe9, 0x00, 0x10, 0x00, 0x00, // jmp elsewhere
        ];
        assert!(returned(0x1000, &code, false).is_empty());
    }

    #[test]
    fn what_is_written_to_memory_may_be_returned() {
        let code = [
            0x48, 0x8d, 0x05, 0x00, 0x10, 0x00, 0x00, // lea 0x2007,%rax
            0x48, 0x89, 0x45, 0xf8, // mov %rax,-8(%rbp)
            0x48, 0x8d, 0x35, 0x00, 0x10, 0x00, 0x00, // lea 0x2012,%rsi
            0xe8, 0x00, 0x00, 0x00, 0x00, // call
            0x48, 0x8b, 0x45, 0xf8, // mov -8(%rbp),%rax
            0xc3, // ret
        ];
        assert_eq!(returned(0x1000, &code, false), [0x2007]);
    }
}
