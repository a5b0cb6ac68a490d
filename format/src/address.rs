//! Addresses by meaning: an interrupted pc and a return address are looked up differently.
//!
//! A node of a calling context tree is keyed by a [`FrameKey`]: a runtime address together with
//! how it was seen. The kind decides the address at which a symbol, a line or an unwind recipe is
//! looked up. A return address may be the first byte of the *next* function when the call never
//! returns (`abort`, `throw`), so callers are looked up one byte before it, inside the call
//! instruction.

/// How the address of a frame was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "saved", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub enum FrameKind {
    /// A caller, keyed by the return address of the call it is executing.
    Call = 0,
    /// The interrupted function, keyed by its program counter.
    Leaf = 1,
    /// A function interrupted by a signal whose handler is on the stack; keyed by its pc.
    Interrupted = 2,
    /// The root of one thread's tree in one epoch and phase, whose numbers are the address.
    Root = 3,
    /// The root of paths whose outer part could not be unwound; the address is a
    /// [`PartialReason`](crate::loss::PartialReason).
    Partial = 4,
    /// What the thread waited for, below the function that called the kernel; the address is the
    /// number of the system call. In live arenas only: saved profiles have a [`Leaf`](Self::Leaf)
    /// in the pseudo module of waits, whose offset is that number.
    #[cfg_attr(feature = "saved", serde(skip))]
    Wait = 5,
    /// A handover: what is below it in the tree of a thread was called from a context of another
    /// thread, whose number and node are the address. Directly below a root, and in live arenas
    /// only: saved profiles have that context above a [`Call`](Self::Call) in the pseudo module of
    /// handovers.
    #[cfg_attr(feature = "saved", serde(skip))]
    Handover = 6,
    /// Where the kernel was, on the thread's behalf, when an event was counted: below the function
    /// that entered it, or below what the thread waited for. The address is the kernel's, of which
    /// the top byte is all ones. In live arenas only: saved profiles have a [`Leaf`](Self::Leaf) in
    /// the pseudo module of the kernel.
    #[cfg_attr(feature = "saved", serde(skip))]
    Kernel = 7,
}

impl FrameKind {
    /// The kind with this number, if there is one.
    #[must_use]
    pub const fn from_u8(value: u8) -> Option<Self> {
        Some(match value {
            0 => Self::Call,
            1 => Self::Leaf,
            2 => Self::Interrupted,
            3 => Self::Root,
            4 => Self::Partial,
            5 => Self::Wait,
            6 => Self::Handover,
            7 => Self::Kernel,
            _ => return None,
        })
    }

    /// How many bytes before the frame's address its code is looked up: 1 for callers, else 0.
    #[must_use]
    pub const fn lookup_bias(self) -> u64 {
        match self {
            Self::Call => 1,
            Self::Leaf
            | Self::Interrupted
            | Self::Root
            | Self::Partial
            | Self::Wait
            | Self::Handover
            | Self::Kernel => 0,
        }
    }
}

/// A frame's address (56 bits), kind (4 bits) and metric (4 bits) in one word: the key of a tree
/// node.
///
/// User space ends at 2^47 on x86-64, and at 2^56 with five-level paging, so the top byte is free
/// (Intel SDM volume 1, 3.3.7.1, canonical addressing).
///
/// The metric is that of the samples on the node. It is 0 wherever there is one source only, and on
/// frames that samples do not end in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct FrameKey(u64);

const ADDRESS_BITS: u32 = 56;
const ADDRESS_MASK: u64 = (1 << ADDRESS_BITS) - 1;
const KIND_MASK: u8 = 0xf;
const METRIC_SHIFT: u32 = 60;

/// What stands for the number of a system call in the key of a [`FrameKind::Wait`] where a thread
/// waited for a page of its memory; no call has it.
pub const WAITS_FOR_PAGE: u32 = 1 << 16;

impl FrameKey {
    /// Numbers of metrics that there are.
    pub const METRICS: usize = 1 << (u64::BITS - METRIC_SHIFT);

    /// The key of `address` seen as `kind`. Bits of the address above 56 are dropped.
    #[must_use]
    pub const fn new(kind: FrameKind, address: u64) -> Self {
        Self((address & ADDRESS_MASK) | ((kind as u64) << ADDRESS_BITS))
    }

    /// The key of the root of a thread's tree in an epoch and phase. Bits of the phase above 24 are
    /// dropped.
    #[must_use]
    pub const fn root(epoch: u32, phase: u32) -> Self {
        Self::new(FrameKind::Root, epoch as u64 | (phase as u64) << u32::BITS)
    }

    /// Epoch and phase of a root; `None` for any other frame.
    #[must_use]
    pub const fn epoch_and_phase(self) -> Option<(u32, u32)> {
        match self.kind() {
            FrameKind::Root => Some((self.address() as u32, (self.address() >> u32::BITS) as u32)),
            _ => None,
        }
    }

    /// The key of a handover from this node of the thread with this number in its process; `None`
    /// if there is no room for the number.
    #[must_use]
    pub const fn handover(thread: u32, node: u32) -> Option<Self> {
        if thread >> (ADDRESS_BITS - u32::BITS) != 0 {
            return None;
        }
        Some(Self::new(FrameKind::Handover, (thread as u64) << u32::BITS | node as u64))
    }

    /// The thread and the node of a handover; `None` for any other frame.
    #[must_use]
    pub const fn thread_and_node(self) -> Option<(u32, u32)> {
        match self.kind() {
            FrameKind::Handover => {
                Some(((self.address() >> u32::BITS) as u32, self.address() as u32))
            }
            _ => None,
        }
    }

    /// The kernel's address of a place in it; `None` for any other frame.
    #[must_use]
    pub const fn kernel_address(self) -> Option<u64> {
        match self.kind() {
            FrameKind::Kernel => Some(self.address() | !ADDRESS_MASK),
            _ => None,
        }
    }

    /// The same frame with samples of the metric with this number, below
    /// [`METRICS`](Self::METRICS).
    #[must_use]
    #[inline]
    pub const fn of_metric(self, metric: usize) -> Self {
        Self((self.0 & !(u64::MAX << METRIC_SHIFT)) | (metric as u64) << METRIC_SHIFT)
    }

    /// The number of the metric of its samples.
    #[must_use]
    pub const fn metric(self) -> usize {
        (self.0 >> METRIC_SHIFT) as usize
    }

    /// The key as stored in an arena.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// A key read from an arena; `None` if its kind is unknown.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Option<Self> {
        match FrameKind::from_u8((bits >> ADDRESS_BITS) as u8 & KIND_MASK) {
            Some(_) => Some(Self(bits)),
            None => None,
        }
    }

    /// The runtime address, or the number that the kind gives it.
    #[must_use]
    pub const fn address(self) -> u64 {
        self.0 & ADDRESS_MASK
    }

    /// How the address was seen.
    #[must_use]
    pub const fn kind(self) -> FrameKind {
        match FrameKind::from_u8((self.0 >> ADDRESS_BITS) as u8 & KIND_MASK) {
            Some(kind) => kind,
            // Both constructors admit known kinds only.
            None => FrameKind::Partial,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_keeps_kind_and_address() {
        let key = FrameKey::new(FrameKind::Leaf, 0x7fff_1234_5678);
        assert_eq!(key.kind(), FrameKind::Leaf);
        assert_eq!(key.address(), 0x7fff_1234_5678);
        assert_eq!(FrameKey::from_bits(key.to_bits()), Some(key));
        assert_eq!(key.metric(), 0);
        let other = key.of_metric(2);
        assert_eq!((other.kind(), other.address(), other.metric()), (key.kind(), key.address(), 2));
        assert_eq!(FrameKey::from_bits(other.to_bits()), Some(other));
        assert_eq!(other.of_metric(0), key);
        assert_eq!(FrameKey::root(u32::MAX, 4096).epoch_and_phase(), Some((u32::MAX, 4096)));
        assert_eq!(FrameKey::root(7, 0), FrameKey::new(FrameKind::Root, 7));
        assert_eq!(key.epoch_and_phase(), None);
        let handover = FrameKey::handover(0xff_ffff, u32::MAX).unwrap();
        assert_eq!(handover.thread_and_node(), Some((0xff_ffff, u32::MAX)));
        assert_eq!(FrameKey::from_bits(handover.to_bits()), Some(handover));
        assert_eq!((FrameKey::handover(1 << 24, 1), key.thread_and_node()), (None, None));
    }

    #[test]
    fn a_place_in_the_kernel_keeps_its_address() {
        let key = FrameKey::new(FrameKind::Kernel, 0xffff_ffff_81d7_f497).of_metric(3);
        assert_eq!(key.kernel_address(), Some(0xffff_ffff_81d7_f497));
        assert_eq!((FrameKey::from_bits(key.to_bits()), key.metric()), (Some(key), 3));
        assert_eq!(FrameKey::new(FrameKind::Leaf, 0xffff).kernel_address(), None);
    }

    #[test]
    fn an_unknown_kind_is_no_key() {
        assert_eq!(FrameKey::from_bits(9 << 56), None);
    }
}
