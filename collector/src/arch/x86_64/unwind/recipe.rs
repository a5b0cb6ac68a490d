//! The unwind recipe: how one frame's caller is found, in eight bytes.
//!
//! A recipe is what remains of a row of call frame information (DWARF 5, 6.4) once only the
//! caller's instruction pointer, stack pointer and frame pointer matter. The equations below use
//! C's `*(…)` for a 64-bit load and the names of DWARF: CFA, the canonical frame address, is the
//! value of rsp just before the call instruction. On x86-64 the return address of every ordinary
//! frame is at CFA − 8, at each of its instructions, so that this slot needs no field.

use super::registers::Register;

/// How the frame at one address is left towards its caller.
///
/// In every equation the right sides are evaluated with the values of the present frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recipe {
    /// No FDE covers the address. Nothing can be computed; a frame pointer may be tried.
    NoCfi,
    /// An FDE covers the address, but its row is none of the kinds below. In libraries of a whole
    /// Debian system these are the last instructions of glibc's longjmp and setcontext, where the
    /// frame is already another one's; see [`switch`](super::switch).
    Unsupported,
    /// The row declares the return address undefined: this is the thread's outermost frame.
    EndOfStack,
    /// In no row: the frame goes to another one than its row says. See [`landing`](super::landing)
    /// and [`switch`](super::switch).
    Jump,
    /// `cfa = sp + offset`; `(ip, sp, bp) = (*(cfa - 8), cfa, saved_bp)`
    Sp {
        /// Where the caller's bp is.
        bp: Slot,
        /// In bytes; beyond 256 KB in functions with large arrays.
        offset: i32,
    },
    /// `cfa = bp + offset`; `(ip, sp, bp) = (*(cfa - 8), cfa, saved_bp)`
    Bp {
        /// Where the caller's bp is.
        bp: Slot,
        /// In bytes; 16 after `push %rbp; mov %rsp,%rbp`.
        offset: i32,
    },
    /// `cfa = register + offset`; `(ip, sp, bp) = (*(cfa - 8), cfa, saved_bp)`
    ///
    /// Known registers only: any in an interrupted frame, callee-saved ones in its callers (glibc's
    /// `_dl_runtime_resolve` keeps its CFA in rbx while it calls the resolver).
    Register {
        /// The base of the CFA.
        register: Register,
        /// Where the caller's bp is.
        bp: Slot,
        /// In bytes.
        offset: i32,
    },
    /// `cfa = *(register + inner) + outer`; `(ip, sp, bp) = (*(cfa - 8), cfa, saved_bp)`
    ///
    /// Functions that align their stack: gcc keeps the incoming CFA at rbp − 8, OpenSSL's assembly
    /// keeps the incoming rsp at rsp + n.
    Deref {
        /// The base of the slot that holds the CFA.
        register: Register,
        /// Where the caller's bp is.
        bp: Slot,
        /// Bytes from the register to the slot.
        inner: i16,
        /// Bytes from the slot's content to the CFA.
        outer: i16,
    },
    /// `cfa = *(sp + index * 8 + inner) + outer`; `(ip, sp, bp) = (*(cfa - 8), cfa, saved_bp)`
    ///
    /// OpenSSL's Montgomery multiplication (`bn_mul_mont`), which keeps the incoming rsp above a
    /// vector of `index` words.
    Indexed {
        /// Counts words.
        index: Register,
        /// Where the caller's bp is.
        bp: Slot,
        /// Bytes from sp, the index applied, to the slot.
        inner: i16,
        /// Bytes from the slot's content to the CFA.
        outer: i16,
    },
    /// `cfa = sp + 8 + (ip & 15 >= threshold ? 8 : 0)`; `(ip, sp, bp) = (*(cfa - 8), cfa, bp)`
    ///
    /// Entries of the procedure linkage table, sixteen bytes each, which push one word half way
    /// (binutils `elf_x86_64_eh_frame_plt`).
    Plt {
        /// The first offset within an entry at which the word is on the stack: 11; 9 with endbr64,
        /// 5 with `bnd jmp` alone.
        threshold: u8,
    },
    /// `cfa = sp + offset`; `(ip, sp, bp) = (register, cfa, saved_bp)`
    ///
    /// The return address was popped into a register: vfork, whose child would overwrite it.
    ReturnInRegister {
        /// Holds the return address.
        register: Register,
        /// Where the caller's bp is.
        bp: Slot,
        /// In bytes; zero in vfork.
        offset: i32,
    },
    /// `(ip, sp, bp, …) = ucontext at sp`; every register becomes known.
    ///
    /// The return trampoline of a signal handler (`__restore_rt`). The frame found is an
    /// interrupted one: its ip is exact.
    SignalFrame,
}

const _: () = assert!(size_of::<Recipe>() == 8);

impl Recipe {
    /// Distinct numbers for distinct recipes: what a dictionary of them is keyed by.
    #[must_use]
    pub(crate) const fn bits(self) -> u64 {
        const fn pack(kind: u8, register: u16, bp: Slot, low: i16, high: i16) -> u64 {
            kind as u64
                | (register as u64) << 8
                | (bp.0 as u64) << 16
                | (low as u16 as u64) << 32
                | (high as u16 as u64) << 48
        }
        const fn wide(kind: u8, register: u16, bp: Slot, offset: i32) -> u64 {
            pack(kind, register, bp, offset as i16, (offset >> 16) as i16)
        }
        match self {
            Self::NoCfi => 0,
            Self::Unsupported => 1,
            Self::EndOfStack => 2,
            Self::SignalFrame => 3,
            Self::Sp { bp, offset } => wide(4, 0, bp, offset),
            Self::Bp { bp, offset } => wide(5, 0, bp, offset),
            Self::Register { register, bp, offset } => wide(6, register.dwarf(), bp, offset),
            Self::Deref { register, bp, inner, outer } => {
                pack(7, register.dwarf(), bp, inner, outer)
            }
            Self::Indexed { index, bp, inner, outer } => pack(8, index.dwarf(), bp, inner, outer),
            Self::Plt { threshold } => pack(9, threshold as u16, Slot::SAME, 0, 0),
            Self::ReturnInRegister { register, bp, offset } => {
                wide(10, register.dwarf(), bp, offset)
            }
            Self::Jump => 11,
        }
    }

    /// Whether the code is an entry of the procedure linkage table, as far as its CFI says.
    #[must_use]
    pub const fn is_plt(self) -> bool {
        matches!(self, Self::Plt { .. })
    }

    /// Whether the frame is one that compilers make: at a fixed distance from the stack pointer or
    /// the frame pointer, or realigned below the latter. What other rows describe is assembly's own
    /// affair.
    #[must_use]
    pub fn is_plain(self) -> bool {
        match self {
            Self::Sp { .. } | Self::Bp { .. } => true,
            Self::Deref { register, .. } => register == Register::RBP,
            _ => false,
        }
    }

    /// Whether it holds at the first instruction of a function, or in an entry of a linkage table:
    /// nothing was pushed since the call.
    #[must_use]
    pub const fn is_of_entry(self) -> bool {
        matches!(self, Self::Sp { offset: 8, .. } | Self::Plt { .. })
    }

    /// Whether the frame is a signal handler's return trampoline.
    #[must_use]
    pub const fn is_signal_frame(self) -> bool {
        matches!(self, Self::SignalFrame)
    }
}

/// Where the caller's value of a callee-saved register is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Saved {
    /// `register`: not changed so far, or already restored.
    Same,
    /// `*(cfa + offset)`
    AtCfa(i16),
    /// `*(bp + offset)`
    AtBp(i16),
    /// `*(sp + offset)`
    AtSp(i16),
    /// Nowhere that a recipe can say.
    Lost,
}

/// A [`Saved`] in two bytes. Slots are eight-byte aligned, so three bits of the offset are free.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Slot(u16);

impl Slot {
    /// The register still has the caller's value.
    pub const SAME: Self = Self(0);
    /// The caller's value cannot be found.
    pub const LOST: Self = Self(4);

    /// Packs a rule; one whose offset is no multiple of eight is [`Self::LOST`].
    #[must_use]
    pub const fn new(saved: Saved) -> Self {
        let (mode, offset) = match saved {
            Saved::Same => return Self::SAME,
            Saved::Lost => return Self::LOST,
            Saved::AtCfa(offset) => (1, offset),
            Saved::AtBp(offset) => (2, offset),
            Saved::AtSp(offset) => (3, offset),
        };
        if offset & 7 == 0 { Self(offset as u16 | mode) } else { Self::LOST }
    }

    /// Shorthand for the usual case, `*(cfa + offset)`.
    #[must_use]
    pub const fn at_cfa(offset: i16) -> Self {
        Self::new(Saved::AtCfa(offset))
    }

    /// The rule.
    #[must_use]
    #[inline]
    pub const fn saved(self) -> Saved {
        let offset = (self.0 & !7) as i16;
        match self.0 & 7 {
            0 => Saved::Same,
            1 => Saved::AtCfa(offset),
            2 => Saved::AtBp(offset),
            3 => Saved::AtSp(offset),
            _ => Saved::Lost,
        }
    }
}

impl core::fmt::Debug for Slot {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.saved().fmt(f)
    }
}

/// Where the callers' rbx and r12 to r15 are: the part of a row that most walks never need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CalleeSaved {
    slots: [Slot; 5],
}

impl CalleeSaved {
    /// The registers this speaks of, in the order of the slots.
    pub const REGISTERS: [Register; 5] =
        [Register::RBX, Register::R12, Register::R13, Register::R14, Register::R15];

    /// Nothing was saved yet.
    pub const SAME: Self = Self { slots: [Slot::SAME; 5] };
    /// Nothing can be found.
    pub const LOST: Self = Self { slots: [Slot::LOST; 5] };

    /// The slots in the order of [`Self::REGISTERS`].
    #[must_use]
    pub const fn new(slots: [Slot; 5]) -> Self {
        Self { slots }
    }

    /// As [`Recipe::bits`].
    #[must_use]
    pub(crate) const fn bits(&self) -> u128 {
        let [a, b, c, d, e] = self.slots;
        let low = a.0 as u64 | (b.0 as u64) << 16 | (c.0 as u64) << 32 | (d.0 as u64) << 48;
        low as u128 | (e.0 as u128) << 64
    }

    /// Each register with its slot.
    pub fn iter(&self) -> impl Iterator<Item = (Register, Slot)> {
        Self::REGISTERS.into_iter().zip(self.slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_keeps_its_rule() {
        for saved in [
            Saved::Same,
            Saved::Lost,
            Saved::AtCfa(-16),
            Saved::AtCfa(-32768),
            Saved::AtBp(0),
            Saved::AtBp(-8),
            Saved::AtSp(32760),
        ] {
            assert_eq!(Slot::new(saved).saved(), saved);
        }
    }

    #[test]
    fn a_misaligned_slot_is_lost() {
        assert_eq!(Slot::new(Saved::AtCfa(-12)), Slot::LOST);
    }
}
