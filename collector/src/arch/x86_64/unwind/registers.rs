//! The general registers of one frame, in DWARF numbering.
//!
//! An interrupted frame has all sixteen. In its callers only what the recipes restored is known;
//! [`Registers`] remembers which, so that a recipe never computes with a stale value.

/// A general register by its DWARF number, 0 to 15 (psABI x86-64, figure 3.36).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Register(u8);

impl Register {
    /// DWARF number 0.
    pub const RAX: Self = Self(0);
    /// DWARF number 1.
    pub const RDX: Self = Self(1);
    /// DWARF number 2.
    pub const RCX: Self = Self(2);
    /// DWARF number 3, callee-saved.
    pub const RBX: Self = Self(3);
    /// DWARF number 4.
    pub const RSI: Self = Self(4);
    /// DWARF number 5.
    pub const RDI: Self = Self(5);
    /// DWARF number 6, callee-saved; the frame pointer where there is one.
    pub const RBP: Self = Self(6);
    /// DWARF number 7, the stack pointer.
    pub const RSP: Self = Self(7);
    /// DWARF number 8.
    pub const R8: Self = Self(8);
    /// DWARF number 9.
    pub const R9: Self = Self(9);
    /// DWARF number 10.
    pub const R10: Self = Self(10);
    /// DWARF number 11.
    pub const R11: Self = Self(11);
    /// DWARF number 12, callee-saved.
    pub const R12: Self = Self(12);
    /// DWARF number 13, callee-saved.
    pub const R13: Self = Self(13);
    /// DWARF number 14, callee-saved.
    pub const R14: Self = Self(14);
    /// DWARF number 15, callee-saved.
    pub const R15: Self = Self(15);

    /// The general register with this DWARF number, if it is one.
    #[must_use]
    pub const fn from_dwarf(number: u16) -> Option<Self> {
        if number < 16 { Some(Self(number as u8)) } else { None }
    }

    /// The DWARF number, 0 to 15.
    #[must_use]
    pub const fn dwarf(self) -> u16 {
        self.0 as u16
    }

    /// Always below 16; the mask lets the compiler see it, so that indexing cannot panic.
    const fn index(self) -> usize {
        (self.0 & 15) as usize
    }

    const fn bit(self) -> u16 {
        1 << (self.0 & 15)
    }
}

/// The order of the registers in `ucontext_t.uc_mcontext.gregs`, words 0 to 15; word 16 is the
/// instruction pointer (Linux `arch/x86/include/uapi/asm/sigcontext.h`, glibc `sys/ucontext.h`).
pub(super) const GREGS: [Register; 16] = [
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
    Register::RDI,
    Register::RSI,
    Register::RBP,
    Register::RBX,
    Register::RDX,
    Register::RAX,
    Register::RCX,
    Register::RSP,
];

/// The word of `gregs` that holds the instruction pointer.
pub(super) const GREGS_IP: u64 = 16;

/// Instruction pointer and general registers of one frame, and which of them are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// The interrupted instruction, or the return address of the call this frame is executing.
    pub ip: u64,
    general: [u64; 16],
    /// One bit per DWARF number.
    known: u16,
}

impl Registers {
    /// An interrupted frame: every register is known. `general` is in DWARF order.
    #[must_use]
    pub const fn interrupted(ip: u64, general: [u64; 16]) -> Self {
        Self { ip, general, known: u16::MAX }
    }

    /// A calling frame of which only the stack and the frame pointer are known.
    #[must_use]
    pub const fn calling(ip: u64, sp: u64, bp: u64) -> Self {
        let mut general = [0; 16];
        general[Register::RSP.index()] = sp;
        general[Register::RBP.index()] = bp;
        Self { ip, general, known: Register::RSP.bit() | Register::RBP.bit() }
    }

    /// The caller of a function whose frame pointer is `frame`, from the words there: the caller's
    /// frame pointer, and where it goes on (psABI, figure 3.3).
    #[must_use]
    pub const fn calling_with_frame(frame: u64, [frame_pointer, goes_on]: [u64; 2]) -> Self {
        Self::calling(goes_on, frame.wrapping_add(2 * size_of::<u64>() as u64), frame_pointer)
    }

    /// An interrupted frame from the `gregs` of its `ucontext_t`. Word order as in `<ucontext.h>`.
    #[must_use]
    pub fn from_gregs(gregs: &[i64; 23]) -> Self {
        let mut registers = Self::interrupted(gregs[GREGS_IP as usize] as u64, [0; 16]);
        for (register, word) in GREGS.iter().zip(gregs) {
            registers.set(*register, *word as u64);
        }
        registers
    }

    /// The stack pointer. Known in every frame.
    #[must_use]
    pub const fn sp(&self) -> u64 {
        self.general[Register::RSP.index()]
    }

    /// The value of a register, if this frame's is known.
    #[must_use]
    pub const fn get(&self, register: Register) -> Option<u64> {
        if self.known & register.bit() == 0 {
            return None;
        }
        Some(self.general[register.index()])
    }

    /// Gives a register a value; it is known from now on.
    pub const fn set(&mut self, register: Register, value: u64) {
        self.general[register.index()] = value;
        self.known |= register.bit();
    }

    /// Becomes the calling frame: everything but ip, sp and (if restored) bp is forgotten.
    pub(crate) const fn become_caller(&mut self, ip: u64, sp: u64, bp: Option<u64>) {
        self.ip = ip;
        self.general[Register::RSP.index()] = sp;
        self.known = Register::RSP.bit();
        if let Some(bp) = bp {
            self.general[Register::RBP.index()] = bp;
            self.known |= Register::RBP.bit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gregs_are_named_as_in_the_c_library() {
        // REG_R8 = 0 … REG_RSP = 15, REG_RIP = 16: each word holds its own index.
        let gregs: [i64; 23] = core::array::from_fn(|index| index as i64);
        let registers = Registers::from_gregs(&gregs);
        assert_eq!(registers.ip, libc::REG_RIP as u64);
        for (register, index) in [
            (Register::RAX, libc::REG_RAX),
            (Register::RDX, libc::REG_RDX),
            (Register::RCX, libc::REG_RCX),
            (Register::RBX, libc::REG_RBX),
            (Register::RSI, libc::REG_RSI),
            (Register::RDI, libc::REG_RDI),
            (Register::RBP, libc::REG_RBP),
            (Register::RSP, libc::REG_RSP),
            (Register::R8, libc::REG_R8),
            (Register::R9, libc::REG_R9),
            (Register::R10, libc::REG_R10),
            (Register::R11, libc::REG_R11),
            (Register::R12, libc::REG_R12),
            (Register::R13, libc::REG_R13),
            (Register::R14, libc::REG_R14),
            (Register::R15, libc::REG_R15),
        ] {
            assert_eq!(registers.get(register), Some(index as u64), "{register:?}");
        }
    }

    #[test]
    fn a_caller_knows_only_what_was_restored() {
        let mut registers = Registers::interrupted(0x1000, [7; 16]);
        registers.become_caller(0x2000, 0x7ff0, None);
        assert_eq!(registers.get(Register::RSP), Some(0x7ff0));
        assert_eq!(registers.get(Register::RBP), None);
        assert_eq!(registers.get(Register::RBX), None);
    }
}
