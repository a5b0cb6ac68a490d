//! Where an indirect jump leads: the jump tables of `switch`.
//!
//! The jump's block, and those before it as long as each has one predecessor, are gone through with
//! symbols for what is not known. The jump is understood if it goes through a table of constant
//! address whose index is bounded on the way:
//!
//! ```text
//!   cmp $7, %edi; ja default                     index ≤ 7
//!   mov %edi, %edi
//!   lea table(%rip), %rdx                        or before a loop around: see `constant`
//!   movslq (%rdx,%rdi,4), %rax; add %rdx, %rax   entry: 32 bits, relative to the table
//!   jmp *%rax
//!
//!   cmp $7, %edi; ja default
//!   jmp *table(,%rdi,8)                          entry: 64 bits, an address
//! ```
//!
//! Every entry within the bound has to be an instruction of the function, or, as its split-off part
//! is not always known, code outside; of a table with another one nothing is believed, nor of one
//! within which other code names something.
//!
//! An index that was loaded as a byte is bounded by 255, as the one of an interpreter's opcodes,
//! and one that was masked by the mask. But where the source says that not all values occur, as of
//! an `enum`, the table is shorter. So of a table whose bound is [the width](Bound::by_width) of
//! its index, those entries count that stand before the first that is no instruction of the
//! function, and that no other code names. A table of addresses that nothing bounds is read
//! likewise: that of a `goto *`. If it leads to nothing but the function's beginning, it is a table
//! of functions.

use std::collections::{HashMap, HashSet};

use iced_x86::{
    ConditionCode, FlowControl, Instruction, InstructionInfoFactory, InstructionInfoOptions,
    Mnemonic, OpAccess, OpKind, Register,
};

use super::blocks::Blocks;
use super::code::Memory;
use super::sweep::Sweep;

/// Instructions before a jump that are gone through.
const LONGEST_WAY: usize = 128;

/// Blocks before a jump that are gone through.
const MOST_BLOCKS: usize = 12;

/// Blocks that lead to a jump, each with an entry of its own.
const MOST_WAYS: usize = 64;

/// Entries of a table that are read.
const MOST_ENTRIES: u64 = 1 << 16;

/// Bytes of a table that are read at once where it may end before its bound does.
const PIECE: u64 = 512;

/// What was found of an indirect jump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Indirect {
    /// A table; its targets in ascending order, each once.
    Table(Vec<u64>),
    /// An entry of a table that is not understood.
    Unresolved,
    /// Through a pointer; no table.
    Pointer,
}

/// A value of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// What is not known, by its number.
    Variable(usize),
    /// A constant.
    Constant(u64),
    /// A variable times a power of two.
    Scaled(usize, u32),
    /// A constant and a variable times a power of two: the address of an entry.
    Place(u64, usize, u32),
    /// The entry of a table that a variable selects.
    Entry(Entry),
    /// The same, as a distance from this address.
    Distance(u64, Entry),
    /// An entry of something that is not understood.
    Selected,
}

/// An entry of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    table: u64,
    index: usize,
    size: u32,
}

/// The greatest value of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bound {
    last: u64,
    /// It is the greatest that there may be, whether it occurs or not.
    by_width: bool,
}

impl Bound {
    /// Of a value that was loaded as a byte.
    const BYTE: Self = Self { last: 255, by_width: true };

    /// Of any value.
    const NONE: Self = Self { last: MOST_ENTRIES - 1, by_width: true };

    fn known(last: u64) -> Self {
        Self { last, by_width: false }
    }

    /// The lesser one.
    fn and(self, other: Option<Self>) -> Self {
        other
            .filter(|other| (other.last, other.by_width) < (self.last, self.by_width))
            .unwrap_or(self)
    }
}

/// Finds where indirect jumps of a function lead.
pub(super) struct Resolver<'a> {
    pub(super) sweep: &'a Sweep<'a>,
    pub(super) memory: &'a dyn Memory,
    pub(super) blocks: &'a Blocks,
    /// Instructions that may still be looked at.
    pub(super) effort: &'a mut usize,
}

impl Resolver<'_> {
    /// Where the jump at the end of a block leads.
    pub(super) fn resolve(&mut self, block: u32) -> Indirect {
        let way = self.way(vec![block]);
        let found = self.along(way.clone());
        let first = way[way.len() - 1];
        let before = self.blocks.predecessors(first);
        let are_several = (2..=MOST_WAYS).contains(&before.len()) && !self.blocks.is_entry(first);
        if matches!(found, Indirect::Table(_)) || !are_several {
            return found;
        }
        // A jump that several places share, each of which has selected an entry.
        let mut targets = Vec::new();
        for &before in before {
            if way.contains(&before) {
                return found;
            }
            let longer = self.way([&way[..], &[before]].concat());
            let Indirect::Table(more) = self.along(longer) else { return found };
            targets.extend(more);
        }
        targets.sort_unstable();
        targets.dedup();
        Indirect::Table(targets)
    }

    /// The blocks that lead to the last of these and nowhere else, the nearest first.
    fn way(&self, mut way: Vec<u32>) -> Vec<u32> {
        let mut length = 0;
        while way.len() < MOST_BLOCKS && length < LONGEST_WAY {
            let first = way[way.len() - 1];
            length += self
                .sweep
                .instructions(self.blocks.start(first), self.blocks.end(first))
                .take(LONGEST_WAY)
                .count();
            let &[before] = self.blocks.predecessors(first) else { break };
            if way.contains(&before) || self.blocks.is_entry(first) {
                break;
            }
            way.push(before);
        }
        way
    }

    /// Where the jump at the end of a way leads, of which the last block is given first.
    fn along(&mut self, mut way: Vec<u32>) -> Indirect {
        way.reverse();
        let mut known = Known::new(self, way[0]);
        let mut result = None;
        for (at, &block) in way.iter().enumerate() {
            let end = known.resolver.blocks.end(block);
            let mut start = known.resolver.blocks.start(block);
            if at == 0 {
                start = known.resolver.sweep.last_before(start, end, LONGEST_WAY);
                known.from = start;
            }
            for instruction in known.resolver.sweep.instructions(start, end) {
                *known.resolver.effort = known.resolver.effort.saturating_sub(1);
                result = Some(instruction);
                known.step(&instruction);
            }
            if let (Some(last), Some(&next)) = (result, way.get(at + 1)) {
                known.learn(&last, known.resolver.blocks.start(next));
            }
        }
        let Some(jump) = result else { return Indirect::Unresolved };
        let value = match jump.op0_kind() {
            OpKind::Register => known.register(jump.op0_register()),
            OpKind::Memory => known.load(&jump, 8),
            _ => return Indirect::Unresolved,
        };
        let (base, entry) = match value {
            Value::Entry(entry) => (None, entry),
            Value::Distance(base, entry) => (Some(base), entry),
            Value::Selected => return Indirect::Unresolved,
            _ => return Indirect::Pointer,
        };
        // What lies behind a table of distances may look like more of them.
        let bound = known.bounds[entry.index].or((entry.size == 8).then_some(Bound::NONE));
        match bound.and_then(|bound| self.read(base, entry, bound)) {
            Some(targets) => Indirect::Table(targets),
            None => Indirect::Unresolved,
        }
    }

    /// Reads a table up to its last entry; `None` if one leads to no code.
    fn read(&mut self, base: Option<u64>, entry: Entry, bound: Bound) -> Option<Vec<u64>> {
        let mut count = bound.last.checked_add(1).filter(|&count| count <= MOST_ENTRIES)?;
        let size = u64::from(entry.size);
        let end = entry.table.checked_add(count * size)?;
        if let Some(next) = self.memory.named_in(entry.table + 1..end) {
            count = bound.by_width.then_some((next - entry.table) / size)?;
        }
        let mut targets = Vec::new();
        let mut from = entry.table;
        'table: while count > 0 {
            // What several tables share is read once.
            let piece = (PIECE - from % PIECE).div_ceil(size);
            let piece = if bound.by_width { piece.min(count) } else { count };
            *self.effort = self.effort.saturating_sub(usize::try_from(piece).unwrap_or(usize::MAX));
            let bytes = self.beginning(from, piece, size, bound.by_width)?;
            for value in bytes.chunks_exact(entry.size as usize) {
                let target = match (value.first_chunk::<8>(), base) {
                    (Some(&value), None) => u64::from_le_bytes(value),
                    (None, None) => u64::from(u32::from_le_bytes(*value.first_chunk()?)),
                    (_, Some(base)) => {
                        let distance = i32::from_le_bytes(*value.first_chunk()?);
                        base.wrapping_add_signed(i64::from(distance))
                    }
                };
                if bound.by_width && !self.sweep.is_start(target) {
                    break 'table;
                }
                targets.push(target);
            }
            if (bytes.len() as u64) < piece * size {
                break;
            }
            from += piece * size;
            count -= piece;
        }
        targets.sort_unstable();
        targets.dedup();
        let is_code = |&to: &u64| match self.sweep.part(to) {
            Some(_) => self.sweep.is_start(to),
            None => to.checked_add(1).is_some_and(|end| self.memory.code(to..end).is_some()),
        };
        let leads_inside = targets.iter().any(|&to| self.sweep.part(to).is_some());
        let is_of_functions = bound.by_width && matches!(*targets, [to] if self.is_entry(to));
        (leads_inside && !is_of_functions && targets.iter().all(is_code)).then_some(targets)
    }

    /// The bytes of so many entries; if it may be the last table there is, of those that there are.
    fn beginning(&self, from: u64, count: u64, size: u64, may_end: bool) -> Option<&[u8]> {
        let read = |count| self.memory.data(from..from + count * size);
        let whole = read(count);
        if whole.is_some() || !may_end {
            return whole;
        }
        let (mut fits, mut too_many) = (0, count);
        while too_many - fits > 1 {
            let middle = fits.midpoint(too_many);
            *(if read(middle).is_some() { &mut fits } else { &mut too_many }) = middle;
        }
        if fits == 0 { Some(&[]) } else { read(fits) }
    }

    /// Whether the function is entered at an address.
    fn is_entry(&self, address: u64) -> bool {
        self.blocks
            .find(address)
            .is_some_and(|block| self.blocks.is_entry(block) && self.blocks.start(block) == address)
    }

    /// The constant that a register has at an address of a block, on whatever way it is reached:
    /// the address of a table that is used in a loop stands before it.
    fn constant(&mut self, register: Register, block: u32, address: u64) -> Option<u64> {
        let mut factory = InstructionInfoFactory::new();
        let mut found = None;
        let mut seen = HashSet::new();
        let mut work = vec![(block, address)];
        while let Some((block, end)) = work.pop() {
            let mut last = None;
            for instruction in self.sweep.instructions(self.blocks.start(block), end) {
                *self.effort = self.effort.checked_sub(1)?;
                if writes(&mut factory, &instruction).any(|written| written == register) {
                    last = Some(constant_of(&instruction));
                }
            }
            match last {
                Some(constant) => {
                    let constant = constant?;
                    if *found.get_or_insert(constant) != constant {
                        return None;
                    }
                }
                // It has what the caller gave.
                None if self.blocks.is_entry(block) => return None,
                None => {
                    for &before in self.blocks.predecessors(block) {
                        if seen.insert(before) {
                            work.push((before, self.blocks.end(before)));
                        }
                    }
                }
            }
        }
        found
    }
}

/// The constant that an instruction puts into the register it writes.
fn constant_of(instruction: &Instruction) -> Option<u64> {
    match instruction.mnemonic() {
        Mnemonic::Lea if instruction.is_ip_rel_memory_operand() => {
            Some(instruction.ip_rel_memory_address())
        }
        // Of a narrower register the rest is kept.
        Mnemonic::Mov if is_immediate(instruction.op1_kind()) => {
            (instruction.op0_register().size() >= 4).then(|| instruction.immediate(1))
        }
        _ => None,
    }
}

fn is_immediate(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::Immediate8
            | OpKind::Immediate16
            | OpKind::Immediate32
            | OpKind::Immediate64
            | OpKind::Immediate8to16
            | OpKind::Immediate8to32
            | OpKind::Immediate8to64
            | OpKind::Immediate32to64
    )
}

/// Registers that a function may leave with other values (psABI x86-64, 3.2.1).
const CHANGED_BY_CALLS: [Register; 9] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
];

/// The general registers that an instruction changes, as their 64 bits.
fn writes<'f>(
    factory: &'f mut InstructionInfoFactory,
    instruction: &Instruction,
) -> impl Iterator<Item = Register> + use<'f> {
    let is_call =
        matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
    let called = if is_call { &CHANGED_BY_CALLS[..] } else { &[] };
    let info = factory.info_options(instruction, InstructionInfoOptions::NO_MEMORY_USAGE);
    let is_write = |access| {
        matches!(
            access,
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        )
    };
    let written = info.used_registers().iter().filter(move |used| is_write(used.access()));
    let written = written.map(|used| used.register()).filter(|register| register.is_gpr());
    written.map(Register::full_register).chain(called.iter().copied())
}

const HIGH_BYTES: [Register; 4] = [Register::AH, Register::BH, Register::CH, Register::DH];

/// What is known at one place of the way.
struct Known<'r, 'a> {
    resolver: &'r mut Resolver<'a>,
    factory: InstructionInfoFactory,
    /// Where the way begins.
    block: u32,
    from: u64,
    /// Values of the general registers, by number.
    registers: [Value; 16],
    /// Variables: the greatest value, if known. The first 16 are what registers have at first.
    bounds: Vec<Option<Bound>>,
    /// Bytes of each variable that may differ from 0.
    widths: Vec<usize>,
    /// Variables that are the lowest bytes of others, by these and the number of bytes.
    parts: Vec<((usize, usize), usize)>,
    /// What was looked for before the way.
    before: HashMap<usize, Option<u64>>,
    /// Variables in memory, by the variable of the address's register, distance and size. None is
    /// written to in between.
    slots: Vec<((usize, u64, u32), usize)>,
    /// A comparison whose flags stand: of a variable with a constant.
    compared: Option<(usize, u64)>,
}

impl<'r, 'a> Known<'r, 'a> {
    fn new(resolver: &'r mut Resolver<'a>, block: u32) -> Self {
        Self {
            resolver,
            factory: InstructionInfoFactory::new(),
            block,
            from: 0,
            registers: core::array::from_fn(Value::Variable),
            bounds: vec![None; 16],
            widths: vec![8; 16],
            parts: Vec::new(),
            before: HashMap::new(),
            slots: Vec::new(),
            compared: None,
        }
    }

    fn variable(&mut self, bound: Option<Bound>) -> usize {
        self.bounds.push(bound);
        self.widths.push(8);
        self.bounds.len() - 1
    }

    fn unknown(&mut self, bound: Option<Bound>) -> Value {
        Value::Variable(self.variable(bound))
    }

    fn register(&self, register: Register) -> Value {
        let register = register.full_register();
        if register.is_gpr() { self.registers[register.number()] } else { Value::Selected }
    }

    /// The value of a register, or of a part of one: another variable than the whole.
    fn part(&mut self, register: Register) -> Value {
        let whole = self.register(register);
        match (whole, register.size()) {
            (_, 4 | 8) => whole,
            (Value::Variable(variable), size @ 1..=2) if !HIGH_BYTES.contains(&register) => {
                if self.widths[variable] <= size {
                    return whole;
                }
                if let Some(&(_, part)) = self.parts.iter().find(|(of, _)| *of == (variable, size))
                {
                    return Value::Variable(part);
                }
                let part = self.variable((size == 1).then_some(Bound::BYTE));
                self.widths[part] = size;
                self.parts.push(((variable, size), part));
                Value::Variable(part)
            }
            _ => self.unknown(None),
        }
    }

    /// A value, as the address of a table: what the register had before the way.
    fn base(&mut self, value: Value) -> Value {
        let Value::Variable(number @ 0..16) = value else { return value };
        let known = self.before.get(&number).copied().unwrap_or_else(|| {
            let register = Register::RAX + u32::try_from(number).unwrap_or(0);
            self.resolver.constant(register, self.block, self.from)
        });
        self.before.insert(number, known);
        known.map_or(value, Value::Constant)
    }

    /// The address of a memory operand.
    fn address(&mut self, instruction: &Instruction) -> Value {
        if instruction.is_ip_rel_memory_operand() {
            return Value::Constant(instruction.ip_rel_memory_address());
        }
        let displacement = Value::Constant(instruction.memory_displacement64());
        let base = match instruction.memory_base() {
            Register::None => displacement,
            base => {
                let base = self.register(base);
                self.sum(base, displacement)
            }
        };
        match instruction.memory_index() {
            Register::None => base,
            index => {
                let scale = instruction.memory_index_scale().trailing_zeros();
                let index = self.register(index);
                let index = self.shifted(index, scale);
                self.sum(base, index)
            }
        }
    }

    fn shifted(&mut self, value: Value, by: u32) -> Value {
        match value {
            _ if by == 0 => value,
            Value::Variable(variable) => Value::Scaled(variable, by),
            Value::Constant(constant) => Value::Constant(constant.wrapping_shl(by)),
            _ => self.unknown(None),
        }
    }

    fn sum(&mut self, left: Value, right: Value) -> Value {
        let is_entry = |value: &Value| matches!(value, Value::Entry(_) | Value::Scaled(..));
        let (left, right) = if is_entry(&left) { (right, left) } else { (left, right) };
        let left = if is_entry(&right) { self.base(left) } else { left };
        match (left, right) {
            (Value::Constant(0), other) | (other, Value::Constant(0)) => other,
            (Value::Constant(a), Value::Constant(b)) => Value::Constant(a.wrapping_add(b)),
            (Value::Constant(table), Value::Scaled(index, by)) => Value::Place(table, index, by),
            (Value::Constant(a), Value::Place(b, index, by))
            | (Value::Place(b, index, by), Value::Constant(a)) => {
                Value::Place(a.wrapping_add(b), index, by)
            }
            (Value::Constant(base), Value::Entry(entry)) if entry.size == 4 => {
                Value::Distance(base, entry)
            }
            (_, Value::Entry(_) | Value::Scaled(..) | Value::Selected)
            | (Value::Selected | Value::Place(..), _) => Value::Selected,
            _ => self.unknown(None),
        }
    }

    /// What a memory operand of so many bytes holds.
    fn load(&mut self, instruction: &Instruction, size: u32) -> Value {
        let slot = self.slot(instruction, size);
        if let Some(slot) = slot
            && let Some(&(_, variable)) = self.slots.iter().find(|(at, _)| *at == slot)
        {
            return Value::Variable(variable);
        }
        match self.address(instruction) {
            Value::Place(table, index, by @ 2..=3) if size == 1 << by => {
                Value::Entry(Entry { table, index, size })
            }
            Value::Place(..) | Value::Scaled(..) => Value::Selected,
            // Reached by what another table holds: no entry of one.
            Value::Selected if instruction.memory_index() != Register::None => Value::Selected,
            _ => {
                let bound = (size == 1).then_some(Bound::BYTE);
                let variable = self.variable(bound);
                self.widths[variable] = size as usize;
                if let Some(slot) = slot {
                    self.slots.push((slot, variable));
                }
                Value::Variable(variable)
            }
        }
    }

    /// A memory operand of so many bytes that a register points near to.
    fn slot(&self, instruction: &Instruction, size: u32) -> Option<(usize, u64, u32)> {
        match (instruction.memory_base(), instruction.memory_index()) {
            (Register::None | Register::RIP, _) => None,
            (base, Register::None) => match self.register(base) {
                Value::Variable(variable) => {
                    Some((variable, instruction.memory_displacement64(), size))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Goes over one instruction.
    fn step(&mut self, instruction: &Instruction) {
        let result = self.result(instruction);
        if instruction.rflags_modified() != 0 {
            self.compared = match instruction.mnemonic() {
                Mnemonic::Cmp => self.comparison(instruction),
                _ => None,
            };
        }
        let mut changed = [false; 16];
        for register in writes(&mut self.factory, instruction) {
            changed[register.number()] = true;
        }
        for (number, _) in changed.iter().enumerate().filter(|(_, changed)| **changed) {
            self.registers[number] = self.unknown(None);
        }
        if let Some((register, value)) = result {
            self.registers[register.full_register().number()] = value;
        }
        let is_call =
            matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
        let writes_memory = instruction.op0_kind() == OpKind::Memory
            && !matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test);
        let is_string = instruction.is_string_instruction();
        if is_call || writes_memory || is_string || instruction.mnemonic() == Mnemonic::Push {
            self.slots.clear();
        }
    }

    fn comparison(&mut self, instruction: &Instruction) -> Option<(usize, u64)> {
        if !is_immediate(instruction.op1_kind()) {
            return None;
        }
        let (value, size) = match instruction.op0_kind() {
            OpKind::Register => {
                let register = instruction.op0_register();
                (self.part(register), register.size())
            }
            OpKind::Memory => {
                let size = instruction.memory_size().size();
                (self.load(instruction, u32::try_from(size).ok()?), size)
            }
            _ => return None,
        };
        let mask = if size >= 8 { u64::MAX } else { (1 << (size * 8)) - 1 };
        match value {
            Value::Variable(variable) => Some((variable, instruction.immediate(1) & mask)),
            _ => None,
        }
    }

    /// The register that an instruction gives a value that is kept track of.
    fn result(&mut self, instruction: &Instruction) -> Option<(Register, Value)> {
        if instruction.mnemonic() == Mnemonic::Cdqe {
            return Some((Register::RAX, self.register(Register::RAX)));
        }
        if instruction.op_count() < 2 || instruction.op0_kind() != OpKind::Register {
            return None;
        }
        let to = instruction.op0_register();
        let (wide, size) = (to.full_register(), to.size());
        if !wide.is_gpr() || size < 4 {
            return None;
        }
        let from = |known: &mut Self| -> Option<(Value, usize)> {
            match instruction.op1_kind() {
                OpKind::Register => {
                    let register = instruction.op1_register();
                    register.is_gpr().then(|| (known.part(register), register.size()))
                }
                OpKind::Memory => {
                    let size = instruction.memory_size().size();
                    Some((known.load(instruction, u32::try_from(size).ok()?), size))
                }
                kind if is_immediate(kind) => {
                    Some((Value::Constant(instruction.immediate(1)), size))
                }
                _ => None,
            }
        };
        // Shifts count modulo the width (Intel SDM, volume 2, SAL).
        let distance = match is_immediate(instruction.op1_kind()) {
            true => {
                u32::try_from(instruction.immediate(1) & if size == 8 { 63 } else { 31 }).ok()?
            }
            false => 0,
        };
        let value = match instruction.mnemonic() {
            Mnemonic::Lea => self.address(instruction),
            Mnemonic::Mov | Mnemonic::Movsxd => from(self)?.0,
            Mnemonic::Movzx => from(self)?.0,
            // What is negative stays so.
            Mnemonic::Movsx => self.unknown(None),
            Mnemonic::Add => {
                let (other, _) = from(self)?;
                let own = self.register(to);
                self.sum(own, other)
            }
            Mnemonic::Shl if is_immediate(instruction.op1_kind()) => {
                let own = self.register(to);
                self.shifted(own, distance)
            }
            Mnemonic::Shr if is_immediate(instruction.op1_kind()) => {
                let by = distance;
                let most = if size == 4 { u64::from(u32::MAX) } else { u64::MAX };
                let before = match self.register(to) {
                    Value::Variable(variable) => self.bounds[variable],
                    _ => None,
                };
                let before = before.unwrap_or(Bound { last: most, by_width: true });
                self.unknown(Some(Bound { last: before.last >> by, ..before }))
            }
            Mnemonic::And if is_immediate(instruction.op1_kind()) => {
                let mask = instruction.immediate(1);
                let mask = if size == 4 { mask & u64::from(u32::MAX) } else { mask };
                self.unknown(Some(Bound { last: mask, by_width: true }))
            }
            Mnemonic::Xor
                if instruction.op1_kind() == OpKind::Register
                    && instruction.op1_register() == to =>
            {
                Value::Constant(0)
            }
            _ => return None,
        };
        Some((wide, value))
    }

    /// Takes into account that a jump on a condition led to `next`.
    fn learn(&mut self, jump: &Instruction, next: u64) {
        if jump.flow_control() != FlowControl::ConditionalBranch {
            return;
        }
        let Some((variable, constant)) = self.compared else { return };
        let is_taken = jump.near_branch_target() == next;
        if is_taken && jump.next_ip() == next {
            return;
        }
        let bound = match (jump.condition_code(), is_taken) {
            (ConditionCode::a, false) | (ConditionCode::be, true) => Some(constant),
            (ConditionCode::ae, false) | (ConditionCode::b, true) => constant.checked_sub(1),
            _ => None,
        };
        if let Some(bound) = bound {
            let known = &mut self.bounds[variable];
            *known = Some(Bound::known(bound).and(*known));
        }
    }
}
