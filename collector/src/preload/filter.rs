//! What a filter of system calls (seccomp(2)) would say: its program is the kernel's old language
//! for packets (bpf(4)), of which all instructions that a filter may have are carried out here
//! (`seccomp_check_filter`, kernel/seccomp.c). Nothing of the process is touched. No memory is asked
//! for, which a filter before this one may have forbidden.

use core::ffi::c_long;
use core::mem::offset_of;

use libc::{
    BPF_A, BPF_ABS, BPF_ADD, BPF_ALU, BPF_AND, BPF_DIV, BPF_IMM, BPF_JA, BPF_JEQ, BPF_JGE, BPF_JGT,
    BPF_JMP, BPF_JSET, BPF_LD, BPF_LDX, BPF_LEN, BPF_LSH, BPF_MEM, BPF_MISC, BPF_MUL, BPF_NEG,
    BPF_OR, BPF_RET, BPF_RSH, BPF_ST, BPF_STX, BPF_SUB, BPF_TAX, BPF_TXA, BPF_W, BPF_X, BPF_XOR,
    sock_filter, sock_fprog,
};

use crate::{arch, sys};

/// What a filter is asked about: `struct seccomp_data`, in words of 4 bytes.
type Data = [u32; 16];

/// The architecture, as audit names it: 64 bits, little endian (`<linux/audit.h>`).
const AUDIT_ARCHITECTURE: u32 = arch::ELF_MACHINE as u32 | 0xc000_0000;

/// Words of memory that a program has.
const WORDS: usize = 16;

/// What a process may still do of what csprof would do in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Allowed {
    /// Handlers may return: rt_sigreturn(2).
    pub returns: bool,
    /// Signals may be unblocked, and those that come then have handlers that return.
    pub unblocks: bool,
    /// A filter that comes later may be read, and signals be ignored because of what it says.
    pub reads_filters: bool,
}

/// What the filter at this address allows. Of one that cannot be read the kernel has the last word.
/// Setup side.
pub(super) fn allowed_by(filter: usize) -> Allowed {
    let program = Program::at(filter as u64);
    let allows = |data: Data| {
        let Some(program) = &program else { return true };
        let answer = run(|place| program.instruction(place), &data).unwrap_or(0)
            & libc::SECCOMP_RET_ACTION_FULL;
        answer == libc::SECCOMP_RET_ALLOW || answer == libc::SECCOMP_RET_LOG
    };
    // Where csprof makes its calls, roughly.
    let here = allowed_by as *const () as u64;
    let returns = allows(asked(libc::SYS_rt_sigreturn, arch::signal_return() as u64, [0; 4]));
    let unblock = [libc::SIG_UNBLOCK as u64, 0, 0, 8];
    Allowed {
        returns,
        unblocks: returns && allows(asked(libc::SYS_rt_sigprocmask, here, unblock)),
        reads_filters: READING.iter().all(|&number| allows(asked(number, here, [0; 4]))),
    }
}

/// The calls by which a filter is read, and what it asks for is done.
const READING: [c_long; 4] =
    [libc::SYS_getpid, libc::SYS_process_vm_readv, libc::SYS_rt_sigaction, libc::SYS_nanosleep];

/// The program of a filter, where the process has it.
struct Program {
    start: u64,
    count: usize,
}

impl Program {
    /// That of the filter at this address, if it can be read.
    fn at(filter: u64) -> Option<Self> {
        let count = sys::probe(filter + offset_of!(sock_fprog, len) as u64)? & 0xffff;
        let start = sys::probe(filter + offset_of!(sock_fprog, filter) as u64)?;
        let program = Self { start, count: count as usize };
        program.instruction(0).map(|_| program)
    }

    fn instruction(&self, place: usize) -> Option<sock_filter> {
        if place >= self.count {
            return None;
        }
        let address = self.start.checked_add((place * size_of::<sock_filter>()) as u64)?;
        let [code, high, jt, jf, k @ ..]: [u8; size_of::<sock_filter>()] =
            sys::probe_bytes(address)?;
        let code = u16::from_ne_bytes([code, high]);
        Some(sock_filter { code, jt, jf, k: u32::from_ne_bytes(k) })
    }
}

/// A call made at this address, with four arguments.
fn asked(number: c_long, address: u64, arguments: [u64; 4]) -> Data {
    let mut data = [0; 16];
    data[..2].copy_from_slice(&[number as u32, AUDIT_ARCHITECTURE]);
    let words = core::iter::once(address).chain(arguments);
    for (place, word) in data[2..].chunks_exact_mut(2).zip(words) {
        place.copy_from_slice(&[word as u32, (word >> 32) as u32]);
    }
    data
}

/// What the program answers; `None` if it is none that the kernel would take.
fn run(instruction: impl Fn(usize) -> Option<sock_filter>, data: &Data) -> Option<u32> {
    let (mut a, mut x, mut memory, mut at) = (0_u32, 0_u32, [0_u32; WORDS], 0_usize);
    // Jumps go forward only, so this ends.
    loop {
        let sock_filter { code, jt, jf, k } = instruction(at)?;
        let (code, place) = (u32::from(code), k as usize);
        let operand = if code & 8 == BPF_X { x } else { k };
        at += 1;
        match code & 7 {
            BPF_LD | BPF_LDX => {
                let value = match code & !7 {
                    mode if mode == BPF_W | BPF_ABS && k % 4 == 0 => *data.get(place / 4)?,
                    mode if mode == BPF_W | BPF_LEN => size_of::<Data>() as u32,
                    mode if mode == BPF_W | BPF_IMM => k,
                    mode if mode == BPF_W | BPF_MEM => *memory.get(place)?,
                    _ => return None,
                };
                if code & 7 == BPF_LD { a = value } else { x = value }
            }
            BPF_ST => *memory.get_mut(place)? = a,
            BPF_STX => *memory.get_mut(place)? = x,
            BPF_ALU => {
                a = match code & 0xf0 {
                    BPF_ADD => a.wrapping_add(operand),
                    BPF_SUB => a.wrapping_sub(operand),
                    BPF_MUL => a.wrapping_mul(operand),
                    BPF_DIV => match a.checked_div(operand) {
                        Some(quotient) => quotient,
                        None => return Some(0),
                    },
                    BPF_AND => a & operand,
                    BPF_OR => a | operand,
                    BPF_XOR => a ^ operand,
                    BPF_LSH => a.wrapping_shl(operand),
                    BPF_RSH => a.wrapping_shr(operand),
                    BPF_NEG => a.wrapping_neg(),
                    _ => return None,
                }
            }
            BPF_JMP => {
                let holds = match code & 0xf0 {
                    BPF_JA => {
                        at = at.checked_add(place)?;
                        continue;
                    }
                    BPF_JEQ => a == operand,
                    BPF_JGT => a > operand,
                    BPF_JGE => a >= operand,
                    BPF_JSET => a & operand != 0,
                    _ => return None,
                };
                at += usize::from(if holds { jt } else { jf });
            }
            BPF_RET => return Some(if code & 0x18 == BPF_A { a } else { k }),
            BPF_MISC if code & 0xf8 == BPF_TAX => x = a,
            BPF_MISC if code & 0xf8 == BPF_TXA => a = x,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: u32 = BPF_LD | BPF_W | BPF_ABS;
    const fn step(code: u32, k: u32) -> sock_filter {
        jump(code, k, 0, 0)
    }
    const fn jump(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
        sock_filter { code: code as u16, jt, jf, k }
    }
    const ALLOW: sock_filter = step(BPF_RET, libc::SECCOMP_RET_ALLOW);
    const KILL: sock_filter = step(BPF_RET, libc::SECCOMP_RET_KILL_PROCESS);

    fn allowed(program: &[sock_filter]) -> Allowed {
        let filter = sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
        allowed_by((&raw const filter).addr())
    }
    fn lets(program: &[sock_filter]) -> bool {
        allowed(program).returns
    }

    #[test]
    fn a_list_of_calls_has_this_one_or_not() {
        let number = libc::SYS_rt_sigreturn as u32;
        assert!(lets(&[step(LOAD, 0), jump(BPF_JMP | BPF_JEQ, number, 0, 1), ALLOW, KILL]));
        assert!(!lets(&[step(LOAD, 0), jump(BPF_JMP | BPF_JEQ, number, 1, 0), ALLOW, KILL]));
        assert!(!lets(&[step(LOAD, 4), jump(BPF_JMP | BPF_JEQ, 0, 0, 1), ALLOW, KILL]));
        assert!(lets(&[step(BPF_RET, libc::SECCOMP_RET_LOG)]));
        assert!(!lets(&[step(BPF_RET, libc::SECCOMP_RET_ERRNO)]));
    }

    #[test]
    fn what_is_allowed_without_one_call_or_one_kind_of_it() {
        let all = Allowed { returns: true, unblocks: true, reads_filters: true };
        let without = |number: c_long| {
            let jump_to = jump(BPF_JMP | BPF_JEQ, number as u32, 1, 0);
            allowed(&[step(LOAD, 0), jump_to, ALLOW, KILL])
        };
        assert_eq!(without(libc::SYS_read), all);
        let no_return = without(libc::SYS_rt_sigreturn);
        assert_eq!(no_return, Allowed { returns: false, unblocks: false, ..all });
        assert_eq!(without(libc::SYS_rt_sigprocmask), Allowed { unblocks: false, ..all });
        for number in READING {
            assert_eq!(without(number), Allowed { reads_filters: false, ..all });
        }
        // Its first argument, as nothing else has it.
        let how = jump(BPF_JMP | BPF_JEQ, libc::SIG_UNBLOCK as u32, 1, 0);
        assert_eq!(
            allowed(&[step(LOAD, 16), how, ALLOW, KILL]),
            Allowed { unblocks: false, ..all }
        );
        assert_eq!(allowed_by(8), all);
    }

    #[test]
    fn each_instruction_does_what_it_does_in_the_kernel() {
        let data = asked(5, 7 << 32, [0; 4]);
        let answer = |program: &[sock_filter]| run(|place| program.get(place).copied(), &data);
        let returns = step(BPF_RET | BPF_A, 0);
        assert_eq!(answer(&[step(LOAD, 12), returns]), Some(7));
        assert_eq!(answer(&[step(BPF_LD | BPF_W | BPF_LEN, 0), returns]), Some(64));
        for (operation, expected) in [
            (BPF_ADD, 15),
            (BPF_SUB, 9),
            (BPF_MUL, 36),
            (BPF_DIV, 4),
            (BPF_AND, 0),
            (BPF_OR, 15),
            (BPF_XOR, 15),
            (BPF_LSH, 96),
            (BPF_RSH, 1),
        ] {
            let by_number = [step(BPF_LD, 12), step(BPF_ALU | operation, 3), returns];
            assert_eq!(answer(&by_number), Some(expected), "{operation:#x}");
            let by_x = [
                step(BPF_LD, 3),
                step(BPF_MISC | BPF_TAX, 0),
                step(BPF_LD, 12),
                step(BPF_ALU | operation | BPF_X, 0),
                returns,
            ];
            assert_eq!(answer(&by_x), Some(expected), "{operation:#x}");
        }
        assert_eq!(answer(&[step(BPF_LD, 1), step(BPF_ALU | BPF_NEG, 0), returns]), Some(u32::MAX));
        assert_eq!(answer(&[step(BPF_ALU | BPF_DIV | BPF_X, 0), returns]), Some(0));
        let by_memory = [
            step(BPF_LD, 9),
            step(BPF_ST, 3),
            step(BPF_LDX | BPF_MEM, 3),
            step(BPF_STX, 4),
            step(BPF_LD, 0),
            step(BPF_LD | BPF_MEM, 4),
            jump(BPF_JMP | BPF_JSET, 8, 1, 0),
            KILL,
            jump(BPF_JMP | BPF_JGT, 8, 1, 0),
            KILL,
            jump(BPF_JMP | BPF_JGE, 9, 0, 1),
            step(BPF_JMP | BPF_JA, 1),
            KILL,
            step(BPF_LDX, 2),
            step(BPF_MISC | BPF_TXA, 0),
            returns,
        ];
        assert_eq!(answer(&by_memory), Some(2));
        for none in
            [&[][..], &[step(LOAD, 64), returns], &[step(LOAD, 1), returns], &[step(7 | 0x40, 0)]]
        {
            assert_eq!(answer(none), None);
        }
        assert_eq!(answer(&[step(BPF_JMP | BPF_JA, u32::MAX)]), None);
    }
}
