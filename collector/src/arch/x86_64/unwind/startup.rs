//! `_init` and `_fini`, which have no call frame information.
//!
//! The C library's start files begin and end them (crti.o, crtn.o). Other objects may put calls
//! between, as OpenSSL does. Every library is entered through its `_init`, on a page that nobody
//! has touched before, so that samples come there although it has seven instructions. Told apart by
//! their bytes, where a gap between FDEs begins. Both sides: allocates nothing.

use core::ops::Range;

use super::recipe::{Recipe, Slot};

/// One of the two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// The offsets at which eight bytes more are on the stack; `ret` alone follows.
    padded: Range<u8>,
}

/// Both are aligned to as many bytes.
pub(crate) const ALIGN: u64 = 4;

const MARK: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa]; // endbr64
const PAD: [u8; 4] = [0x48, 0x83, 0xec, 8]; // sub $8,%rsp
const UNPAD: [u8; 4] = [0x48, 0x83, 0xc4, 8]; // add $8,%rsp
const CALL: u8 = 0xe8;
/// Enough for what is known, and offsets stay below 256.
const MOST_CALLS: usize = 16;
const RETURN: u8 = 0xc3;

impl Function {
    /// The function that `code` begins with.
    pub(crate) fn at(code: &[u8]) -> Option<Self> {
        let body = code.strip_prefix(&MARK).unwrap_or(code).strip_prefix(&PAD)?;
        let mut tail = match body {
            // mov slot(%rip),%rax; test %rax,%rax; je 2 bytes on; call *%rax
            [0x48, 0x8b, 5, _, _, _, _, 0x48, 0x85, 0xc0, 0x74, 2, 0xff, 0xd0, tail @ ..] => tail,
            tail => tail,
        };
        for _ in 0..MOST_CALLS {
            match tail {
                [CALL, _, _, _, _, behind @ ..] => tail = behind,
                _ => break,
            }
        }
        let rest = tail.strip_prefix(&UNPAD).filter(|rest| rest.first() == Some(&RETURN))?;
        let offset = |rest: &[u8]| (code.len() - rest.len()) as u8;
        Some(Self { padded: offset(body)..offset(rest) })
    }

    /// In bytes.
    pub(crate) fn length(&self) -> u8 {
        self.padded.end + 1
    }

    /// Recipes by the offset at which they begin to hold.
    pub(crate) fn recipes(&self) -> [(u8, Recipe); 3] {
        let sp = |offset| Recipe::Sp { bp: Slot::SAME, offset };
        [(0, sp(8)), (self.padded.start, sp(16)), (self.padded.end, sp(8))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ```text
    /// 3000: 48 83 ec 08             sub    $0x8,%rsp
    /// 3004: 48 8b 05 95 bf 02 00    mov    0x2bf95(%rip),%rax
    /// 300b: 48 85 c0                test   %rax,%rax
    /// 300e: 74 02                   je     3012
    /// 3010: ff d0                   call   *%rax
    /// 3012: 48 83 c4 08             add    $0x8,%rsp
    /// 3016: c3                      ret
    /// ```
    #[test]
    fn init() {
        let mut code = vec![0x48, 0x83, 0xec, 8, 0x48, 0x8b, 5, 0x95, 0xbf, 2, 0];
        code.extend([0x48, 0x85, 0xc0, 0x74, 2, 0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3]);
        let found = Function::at(&code).unwrap();
        assert_eq!((&found.padded, found.length()), (&(4..22), 23));
        assert_eq!(Function::at(&code[..22]), None);
        // libcrypto: call OPENSSL_cpuid_setup before the last two instructions.
        code.splice(18..18, [0xe8, 9, 0xb6, 0x16, 0]);
        assert_eq!(Function::at(&code).unwrap().padded, 4..27);
    }

    /// ```text
    /// 1180: f3 0f 1e fa    endbr64
    /// 1184: 48 83 ec 08    sub    $0x8,%rsp
    /// 1188: 48 83 c4 08    add    $0x8,%rsp
    /// 118c: c3             ret
    /// ```
    #[test]
    fn fini() {
        let code = [0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 8, 0x48, 0x83, 0xc4, 8, 0xc3, 0];
        let found = Function::at(&code).unwrap();
        assert_eq!((&found.padded, found.length()), (&(8..12), 13));
        let sp = |offset| Recipe::Sp { bp: Slot::SAME, offset };
        assert_eq!(found.recipes(), [(0, sp(8)), (8, sp(16)), (12, sp(8))]);
        assert_eq!(Function::at(&code[4..]).unwrap().padded, 4..8);
    }

    #[test]
    fn another_function() {
        // sub $8,%rsp; xor %eax,%eax; add $8,%rsp; ret
        let code = [0x48, 0x83, 0xec, 8, 0x31, 0xc0, 0x48, 0x83, 0xc4, 8, 0xc3];
        assert_eq!(Function::at(&code), None);
    }
}
