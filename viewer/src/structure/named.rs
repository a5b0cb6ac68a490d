//! Addresses that instructions name.

use iced_x86::{Decoder, DecoderOptions, Mnemonic, OpKind};

/// The addresses that the instructions of code at `start` put into registers, in their order: by
/// `lea address(%rip), register`, or by `mov $address, register` where code is not moved. Numbers
/// that only look so are among the latter.
#[must_use]
pub fn named(start: u64, code: &[u8]) -> Vec<u64> {
    let mut named = Vec::new();
    for instruction in &mut Decoder::with_ip(64, code, start, DecoderOptions::NONE) {
        match (instruction.mnemonic(), instruction.op1_kind()) {
            (Mnemonic::Lea, OpKind::Memory) if instruction.is_ip_rel_memory_operand() => {
                named.push(instruction.ip_rel_memory_address());
            }
            (
                Mnemonic::Mov,
                OpKind::Immediate32 | OpKind::Immediate32to64 | OpKind::Immediate64,
            ) if instruction.op0_kind() == OpKind::Register => {
                named.push(instruction.immediate(1));
            }
            _ => {}
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_named_by_what_loads_them() {
        let code = [
            0x48, 0x8d, 0x05, 0x92, 0x6e, 0x00, 0x00, // lea 0x6e92(%rip),%rax
            0x8b, 0x91, 0xa4, 0x01, 0x00, 0x00, // mov 0x1a4(%rcx),%edx
            0x48, 0x8d, 0x44, 0x24, 0x08, // lea 0x8(%rsp),%rax
            0xb8, 0x30, 0x12, 0x40, 0x00, // mov $0x401230,%eax
            0x48, 0xc7, 0xc0, 0x40, 0x12, 0x40, 0x00, // mov $0x401240,%rax
            0xc7, 0x05, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, // movl $1,(%rip)
            0xc3, 0x48, 0x8d, 0x05, // ret, and half an instruction
        ];
        assert_eq!(named(0x9be77, &code), [0xa2d10, 0x40_1230, 0x40_1240]);
    }
}
