//! Where code comes from, and what its instructions say of where it goes.

use core::ops::Range;

use super::landing_pads::LandingPad;

/// The bytes of a module, at ELF virtual addresses.
pub trait Memory {
    /// The bytes of loaded code at these addresses; `None` if they are not all in the file.
    fn code(&self, addresses: Range<u64>) -> Option<&[u8]>;
    /// The bytes of whatever is loaded at these addresses, likewise.
    fn data(&self, addresses: Range<u64>) -> Option<&[u8]>;
    /// The first of these addresses that code of the module names, such as that of another table.
    fn named_in(&self, addresses: Range<u64>) -> Option<u64>;
}

/// A function to look at.
#[derive(Clone, Copy, Debug)]
pub struct Function<'a> {
    /// Where its code is; parts that a compiler split off have ranges of their own.
    pub parts: &'a [Range<u64>],
    /// Where it is entered.
    pub entry: u64,
    /// Its landing pads, ordered by calls.
    pub landing_pads: &'a [LandingPad],
}

/// Where a call or a jump leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// To the code at this address.
    Code(u64),
    /// To where the eight bytes at this address point: a slot of the global offset table.
    Slot(u64),
    /// Not told by the instruction.
    Unknown,
}

/// A jump out of a function: a call in place of the last return, where it is a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leave {
    /// Address of the jump.
    pub at: u64,
    /// Where it leads.
    pub target: Target,
    /// It goes on to the next instruction otherwise.
    pub conditional: bool,
}

/// The function has more code, blocks or edges than are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;
