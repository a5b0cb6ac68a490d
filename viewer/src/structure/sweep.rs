//! Instructions of a function, in the order of their addresses.
//!
//! Compilers for x86-64 put no data between the instructions of a function, so each begins where
//! the one before ends. What does not decode is passed over byte by byte.

use core::ops::Range;

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, OpKind};

use super::blocks::MOST_BLOCKS;
use super::code::{Memory, Target, TooLarge};

/// Most bytes of a function.
pub(super) const LARGEST: u64 = 16 << 20;

/// Most instructions of a function that do more than lead to the next one. Calls end no block, and
/// there may be more of them.
const MOST_FLOWS: usize = 2 * MOST_BLOCKS;

/// Bytes that stand before an instruction (Intel SDM, volume 2, 2.1.1).
const PREFIXES: [u8; 11] = [0xf0, 0xf2, 0xf3, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67];

/// Code of a function that lies together.
pub(super) struct CodePart<'a> {
    /// ELF virtual addresses.
    pub(super) range: Range<u64>,
    bytes: &'a [u8],
    starts: Starts,
}

/// Where the instructions of a part begin.
#[derive(Debug)]
pub(super) struct Starts {
    /// Where the part begins.
    first: u64,
    /// A bit for each byte, set if an instruction begins there.
    bits: Vec<u64>,
}

/// An instruction that does more than lead to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flow {
    /// Its address.
    pub(super) at: u64,
    /// That of the next one.
    pub(super) next: u64,
    /// What it does.
    pub(super) kind: FlowKind,
}

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlowKind {
    /// Jumps; [`Target::Unknown`] is a jump through a register or a table.
    Jump(Target),
    /// Jumps or goes on.
    Branch(u64),
    /// Calls.
    Call(Target),
    /// Returns.
    Return,
    /// Neither goes on nor leads elsewhere: `ud2`, `hlt`, bytes that are no instruction.
    Stop,
}

/// All code of a function.
pub(super) struct Sweep<'a> {
    /// Ordered, without overlaps.
    pub(super) parts: Vec<CodePart<'a>>,
    /// Ordered by address.
    pub(super) flows: Vec<Flow>,
}

impl<'a> Sweep<'a> {
    /// Decodes the parts of a function. Those that `known` has are taken from there.
    ///
    /// # Errors
    ///
    /// If there is too much of it.
    pub(super) fn of(
        memory: &'a dyn Memory,
        parts: &[Range<u64>],
        known: Option<Self>,
    ) -> Result<Self, TooLarge> {
        let mut ranges = parts.to_vec();
        ranges.sort_unstable_by_key(|part| (part.start, part.end));
        ranges.dedup_by(|later, before| later.start < before.end);
        let size = |part: &Range<u64>| part.end.saturating_sub(part.start);
        if ranges.iter().map(size).fold(0, u64::saturating_add) > LARGEST {
            return Err(TooLarge);
        }
        let known = known.unwrap_or(Self { parts: Vec::new(), flows: Vec::new() });
        let mut known_parts = known.parts.into_iter().peekable();
        let mut sweep = Self { parts: Vec::new(), flows: Vec::new() };
        for range in ranges.into_iter().filter(|range| !range.is_empty()) {
            while known_parts.next_if(|part| part.range.start < range.start).is_some() {}
            if let Some(part) = known_parts.next_if(|part| part.range == range) {
                let first = known.flows.partition_point(|flow| flow.at < range.start);
                let flows = known.flows[first..].iter();
                sweep.flows.extend(flows.take_while(|flow| flow.at < range.end));
                sweep.parts.push(part);
            } else if let Some(bytes) = memory.code(range.clone()) {
                sweep.decode(range, bytes)?;
            }
        }
        if sweep.flows.len() > MOST_FLOWS { Err(TooLarge) } else { Ok(sweep) }
    }

    /// Decodes a part behind all others.
    fn decode(&mut self, range: Range<u64>, bytes: &'a [u8]) -> Result<(), TooLarge> {
        let mut bits = vec![0; bytes.len().div_ceil(64)];
        let mut decoder = Decoder::with_ip(64, bytes, range.start, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
        while decoder.can_decode() {
            let at = decoder.position();
            decoder.decode_out(&mut instruction);
            bits[at / 64] |= 1 << (at % 64);
            if instruction.is_invalid() {
                let _ = decoder.set_position(at + 1);
                decoder.set_ip(range.start.wrapping_add(at as u64 + 1));
            }
            if let Some(kind) = flow(&instruction) {
                let (at, next) = (range.start.wrapping_add(at as u64), decoder.ip());
                if self.flows.len() == MOST_FLOWS {
                    return Err(TooLarge);
                }
                self.flows.push(Flow { at, next, kind });
            }
        }
        let starts = Starts { first: range.start, bits };
        self.parts.push(CodePart { range, bytes, starts });
        Ok(())
    }

    /// The part that holds an address.
    pub(super) fn part(&self, address: u64) -> Option<&CodePart<'a>> {
        let after = self.parts.partition_point(|part| part.range.start <= address);
        self.parts[..after].last().filter(|part| part.range.contains(&address))
    }

    /// Whether an instruction of the function begins at an address.
    pub(super) fn is_start(&self, address: u64) -> bool {
        self.part(address).is_some_and(|part| part.is_start(part.offset(address)))
    }

    /// The instruction of the function to which a jump leads. A jump behind a prefix, as `lock`,
    /// leads to the instruction.
    pub(super) fn target(&self, address: u64) -> Option<u64> {
        let part = self.part(address)?;
        let offset = part.offset(address);
        if part.is_start(offset) {
            return Some(address);
        }
        let before = offset.checked_sub(1).filter(|&before| part.is_start(before))?;
        PREFIXES.contains(part.bytes.get(before)?).then_some(address - 1)
    }

    /// The last instructions before `end`, at most `most`, none before `start`; both lie in one
    /// part.
    pub(super) fn last_before(&self, start: u64, end: u64, most: usize) -> u64 {
        let Some(part) = self.part(start) else { return end };
        part.starts.within(start..end).rev().take(most).last().unwrap_or(end)
    }

    /// Where the instructions of each part begin, in the order of the parts.
    pub(super) fn into_starts(self) -> Vec<Starts> {
        self.parts.into_iter().map(|part| part.starts).collect()
    }

    /// Decodes the instructions from `start` to `end`, which lie in one part.
    pub(super) fn instructions(&self, start: u64, end: u64) -> impl Iterator<Item = Instruction> {
        let bytes = self.part(start).map_or(&[][..], |part| {
            let end = part.offset(end).min(part.bytes.len());
            part.bytes.get(part.offset(start)..end).unwrap_or_default()
        });
        Decoder::with_ip(64, bytes, start, DecoderOptions::NONE).into_iter()
    }

    /// Whether all there is from `start` to `end` is there to align what follows.
    pub(super) fn is_padding(&self, start: u64, end: u64) -> bool {
        self.instructions(start, end).all(|instruction| {
            matches!(
                instruction.code(),
                Code::Nopw
                    | Code::Nopd
                    | Code::Nopq
                    | Code::Nop_rm16
                    | Code::Nop_rm32
                    | Code::Nop_rm64
                    | Code::Int3
                    | Code::INVALID
            )
        })
    }
}

impl CodePart<'_> {
    fn offset(&self, address: u64) -> usize {
        usize::try_from(address.saturating_sub(self.range.start)).unwrap_or(usize::MAX)
    }

    fn is_start(&self, offset: usize) -> bool {
        self.starts.has(offset)
    }
}

impl Starts {
    /// Where the part begins.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Bytes of memory that it takes.
    pub(super) fn memory(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.bits)
    }

    /// Addresses of the part at which instructions begin. Each costs what the instruction is long,
    /// from either end.
    pub(super) fn within(&self, addresses: Range<u64>) -> impl DoubleEndedIterator<Item = u64> {
        let offset = |address: u64| {
            usize::try_from(address.saturating_sub(self.first)).unwrap_or(usize::MAX)
        };
        let offsets = offset(addresses.start)..offset(addresses.end).min(64 * self.bits.len());
        offsets.filter(|&at| self.has(at)).map(|at| self.first + at as u64)
    }

    fn has(&self, offset: usize) -> bool {
        self.bits.get(offset / 64).is_some_and(|word| word >> (offset % 64) & 1 == 1)
    }
}

/// Whether direct jumps and calls that come back lead from the first instruction of code to a
/// return within it. No more is decoded than it takes to know.
pub(super) fn reaches_return(start: u64, code: &[u8]) -> bool {
    let mut is_seen = vec![false; code.len()];
    let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    let mut work = vec![start];
    while let Some(address) = work.pop() {
        let offset = address.checked_sub(start).and_then(|at| usize::try_from(at).ok());
        if offset.is_none_or(|at| at >= code.len() || decoder.set_position(at).is_err()) {
            continue;
        }
        decoder.set_ip(address);
        while let Some(is_seen) = is_seen.get_mut(decoder.position()).filter(|is_seen| !**is_seen) {
            *is_seen = true;
            decoder.decode_out(&mut instruction);
            match flow(&instruction) {
                None | Some(FlowKind::Call(_)) => {}
                Some(FlowKind::Return) => return true,
                Some(FlowKind::Branch(to)) => work.push(to),
                Some(FlowKind::Jump(Target::Code(to))) => {
                    work.push(to);
                    break;
                }
                Some(FlowKind::Jump(_) | FlowKind::Stop) => break,
            }
        }
    }
    false
}

/// What an instruction does; `None` if it leads to the next one.
fn flow(instruction: &Instruction) -> Option<FlowKind> {
    if instruction.is_invalid() || instruction.code() == Code::Hlt {
        return Some(FlowKind::Stop);
    }
    let direct = || match instruction.op0_kind() {
        OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64 => {
            Some(instruction.near_branch_target())
        }
        _ => None,
    };
    let indirect = || {
        if instruction.op0_kind() == OpKind::Memory && instruction.is_ip_rel_memory_operand() {
            Target::Slot(instruction.ip_rel_memory_address())
        } else {
            Target::Unknown
        }
    };
    match instruction.flow_control() {
        FlowControl::Next | FlowControl::Interrupt => None,
        FlowControl::UnconditionalBranch => {
            Some(FlowKind::Jump(direct().map_or(Target::Unknown, Target::Code)))
        }
        FlowControl::IndirectBranch => Some(FlowKind::Jump(indirect())),
        FlowControl::ConditionalBranch | FlowControl::XbeginXabortXend => {
            direct().map(FlowKind::Branch)
        }
        FlowControl::Return => Some(FlowKind::Return),
        // `syscall` counts as a call here; it is none of a function.
        FlowControl::Call => direct().map(|to| FlowKind::Call(Target::Code(to))),
        FlowControl::IndirectCall => Some(FlowKind::Call(indirect())),
        // ud0, ud1, ud2.
        FlowControl::Exception => Some(FlowKind::Stop),
    }
}
