//! Instructions as people read them, in the order of their addresses.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Formatter as _, GasFormatter, Instruction, OpKind,
};

/// An instruction, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its ELF virtual address.
    pub address: u64,
    /// How many bytes it has.
    pub length: u64,
    /// What it is, in the syntax of AT&T, as `objdump` and `gdb` write it.
    pub text: String,
    /// Where it jumps to or what it calls, if it says so.
    pub target: Option<u64>,
    /// Whether that is a jump: what follows a call comes after it.
    pub is_jump: bool,
}

/// The instructions of code that lies at an address. A byte that begins none is `(bad)`.
#[must_use]
pub fn listing(start: u64, code: &[u8]) -> Vec<Listed> {
    let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
    let mut formatter = GasFormatter::new();
    let options = formatter.options_mut();
    options.set_space_after_operand_separator(true);
    options.set_branch_leading_zeros(false);
    options.set_uppercase_hex(false);
    options.set_small_hex_numbers_in_decimal(false);
    let mut instruction = Instruction::default();
    let mut listed = Vec::new();
    while decoder.can_decode() {
        let at = decoder.position();
        decoder.decode_out(&mut instruction);
        let address = start.wrapping_add(at as u64);
        if instruction.is_invalid() {
            // As the sweep for loops does it.
            let _ = decoder.set_position(at + 1);
            decoder.set_ip(address.wrapping_add(1));
            let text = "(bad)".to_owned();
            listed.push(Listed { address, length: 1, text, target: None, is_jump: false });
            continue;
        }
        let is_near = matches!(
            instruction.op0_kind(),
            OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64
        );
        let target = is_near.then(|| instruction.near_branch_target());
        let flow = instruction.flow_control();
        let is_jump =
            matches!(flow, FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch);
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        let length = instruction.len() as u64;
        listed.push(Listed { address, length, text, target, is_jump });
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_listed_with_where_they_lead() {
        // test %edi,%edi; je +2; call 0; ret; what is no instruction; nop
        let code = [0x85, 0xff, 0x74, 0x05, 0xe8, 0xf7, 0xef, 0xff, 0xff, 0xc3, 0x06, 0x90];
        let all = listing(0x1000, &code);
        let told: Vec<_> = all
            .iter()
            .map(|of| (of.address, of.length, of.text.as_str(), of.target, of.is_jump))
            .collect();
        assert_eq!(
            told,
            [
                (0x1000, 2, "test %edi, %edi", None, false),
                (0x1002, 2, "je 0x1009", Some(0x1009), true),
                (0x1004, 5, "call 0x0", Some(0), false),
                (0x1009, 1, "ret", None, false),
                (0x100a, 1, "(bad)", None, false),
                (0x100b, 1, "nop", None, false),
            ]
        );
        assert_eq!(listing(0, &[]), []);
    }

    #[test]
    fn no_bytes_make_it_fail() {
        let mut bytes = vec![0_u8; 1 << 14];
        let mut state = 1_u32;
        for byte in &mut bytes {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *byte = (state >> 24) as u8;
        }
        for start in [0, u64::MAX - 100] {
            let all = listing(start, &bytes);
            let length: u64 = all.iter().map(|of| of.length).sum();
            assert_eq!(length, bytes.len() as u64, "every byte is of one instruction");
        }
    }
}
