//! From call frame information to what a step from a frame to its caller takes.

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EhFrameHdr, EndianSlice, EvaluationResult,
    Expression, LittleEndian, Location, Register, RegisterRule, UnwindContext, UnwindSection as _,
    Value, X86_64,
};

/// A number of a register in call frame information (psABI, figure 3.36).
type Number = usize;

/// How a frame is left towards its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Recipe {
    /// It has no caller: its return address is undefined.
    Outermost,
    /// By rules.
    Rules(Rules),
    /// By rules that are not evaluated.
    Unsupported,
    /// Nobody says.
    None,
}

/// What a step takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) cfa: Cfa,
    /// How the caller's registers are found that are neither kept nor lost; of the return address
    /// under [`RETURN_ADDRESS`].
    pub(super) registers: Vec<(Number, Rule)>,
    /// Whether the caller was interrupted by a signal.
    pub(super) is_signal: bool,
}

/// The canonical frame address: the caller's stack pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cfa {
    /// A register and a distance.
    Register(Number, i64),
    /// What a DWARF expression gives.
    Expression(Vec<u8>),
}

/// How the value of a register is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// In memory, so far from the CFA.
    At(i64),
    /// So far from the CFA.
    Value(i64),
    /// In another register.
    Register(Number),
    /// In memory where an expression says.
    AtExpression(Vec<u8>),
    /// What an expression gives.
    Expression(Vec<u8>),
    /// Not at all.
    Lost,
}

/// The number of the return address.
pub(super) const RETURN_ADDRESS: Number = 16;
/// Numbers of registers.
pub(super) const STACK_POINTER: Number = 7;
pub(super) const FRAME_POINTER: Number = 6;
/// Registers that a function leaves as they were, unless it says otherwise.
pub(super) const KEPT: [Number; 6] = [3, FRAME_POINTER, 12, 13, 14, 15];

/// `.eh_frame_hdr` and `.eh_frame` of a module, by its own addresses.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) header: Section,
    pub(super) frames: Section,
    /// Where there is no header: the first address of each entry, in order, and its offset.
    index: Vec<(u64, usize)>,
}

/// Bytes of a module, and where they are linked to be.
#[derive(Debug, Default)]
pub(super) struct Section {
    pub(super) address: u64,
    pub(super) bytes: Vec<u8>,
}

impl Tables {
    /// Where `.eh_frame` is linked to be, as its header has it.
    pub(super) fn frames_of(header: &Section) -> Option<u64> {
        let bases = BaseAddresses::default().set_eh_frame_hdr(header.address);
        let parsed = EhFrameHdr::new(&header.bytes, LittleEndian).parse(&bases, 8).ok()?;
        parsed.eh_frame_ptr().direct().ok()
    }

    /// With a header, which is sorted.
    pub(super) fn with_header(header: Section, frames: Section) -> Self {
        Self { header, frames, index: Vec::new() }
    }

    /// Without one, as in programs that are linked statically.
    pub(super) fn without_header(frames: Section) -> Self {
        let bases = BaseAddresses::default().set_eh_frame(frames.address);
        let section = EhFrame::new(&frames.bytes, LittleEndian);
        let mut entries = section.entries(&bases);
        let mut index = Vec::new();
        // Up to what cannot be read.
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(entry) = entry else { continue };
            if let Ok(fde) = entry.parse(EhFrame::cie_from_offset) {
                index.push((fde.initial_address(), fde.offset()));
            }
        }
        index.sort_unstable();
        Self { header: Section::default(), frames, index }
    }

    /// How the frame is left whose code is at this address of the module.
    pub(super) fn recipe(&self, address: u64) -> Recipe {
        match self.row(address) {
            Ok(recipe) => recipe,
            Err(gimli::Error::NoUnwindInfoForAddress) => Recipe::None,
            Err(_) if self.frames.bytes.is_empty() => Recipe::None,
            Err(_) => Recipe::Unsupported,
        }
    }

    fn row(&self, address: u64) -> gimli::Result<Recipe> {
        let bases = BaseAddresses::default()
            .set_eh_frame_hdr(self.header.address)
            .set_eh_frame(self.frames.address);
        let frames = EhFrame::new(&self.frames.bytes, LittleEndian);
        let none = gimli::Error::NoUnwindInfoForAddress;
        let fde = if self.header.bytes.is_empty() {
            let after = self.index.partition_point(|(start, _)| *start <= address);
            let (_, offset) = after.checked_sub(1).map(|place| self.index[place]).ok_or(none)?;
            frames.fde_from_offset(&bases, offset.into(), EhFrame::cie_from_offset)?
        } else {
            let header = EhFrameHdr::new(&self.header.bytes, LittleEndian).parse(&bases, 8)?;
            let table = header.table().ok_or(none)?;
            table.fde_for_address(&frames, &bases, address, EhFrame::cie_from_offset)?
        };
        let mut context = UnwindContext::new();
        let row = fde.unwind_info_for_address(&frames, &bases, &mut context, address)?;
        let bytes = |expression: &gimli::UnwindExpression<usize>| {
            expression.get(&frames).map(|expression| expression.0.slice().to_vec())
        };
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                Cfa::Register(register.0.into(), *offset)
            }
            CfaRule::Expression(expression) => Cfa::Expression(bytes(expression)?),
        };
        let mut registers = Vec::new();
        for (register, rule) in row.registers() {
            let rule = match rule {
                RegisterRule::Undefined if *register == X86_64::RA => {
                    return Ok(Recipe::Outermost);
                }
                RegisterRule::Undefined => Rule::Lost,
                RegisterRule::SameValue => Rule::Register(register.0.into()),
                RegisterRule::Offset(offset) => Rule::At(*offset),
                RegisterRule::ValOffset(offset) => Rule::Value(*offset),
                RegisterRule::Register(other) => Rule::Register(other.0.into()),
                RegisterRule::Expression(expression) => Rule::AtExpression(bytes(expression)?),
                RegisterRule::ValExpression(expression) => Rule::Expression(bytes(expression)?),
                _ => return Ok(Recipe::Unsupported),
            };
            registers.push((register.0.into(), rule));
        }
        Ok(Recipe::Rules(Rules { cfa, registers, is_signal: fde.is_signal_trampoline() }))
    }
}

/// The value of an expression over registers and memory; `None` where it needs more. Some begin
/// with a value, the CFA, on their stack.
pub(super) fn evaluate(
    expression: &[u8],
    first: Option<u64>,
    register: impl Fn(Number) -> Option<u64>,
    mut read: impl FnMut(u64, u8) -> Option<u64>,
) -> Option<u64> {
    /// Real ones have a dozen operations.
    const MOST_OPERATIONS: u32 = 1000;
    let encoding = gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 4 };
    let bytes = EndianSlice::new(expression, LittleEndian);
    let mut evaluation = Expression(bytes).evaluation(encoding);
    evaluation.set_max_iterations(MOST_OPERATIONS);
    if let Some(first) = first {
        evaluation.set_initial_value(first);
    }
    let mut result = evaluation.evaluate().ok()?;
    loop {
        result = match result {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresRegister { register: Register(number), .. } => {
                evaluation.resume_with_register(Value::Generic(register(number.into())?)).ok()?
            }
            EvaluationResult::RequiresMemory { address, size, .. } => {
                evaluation.resume_with_memory(Value::Generic(read(address, size)?)).ok()?
            }
            _ => return None,
        };
    }
    match evaluation.result().as_slice() {
        [gimli::Piece { location: Location::Address { address }, .. }] => Some(*address),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_of_a_linkage_table_asks_where_it_is() {
        // .eh_frame of `.plt`: rsp + 8 + ((rip & 15) >= 11) << 3.
        let expression =
            [0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22].as_slice();
        let cfa = |ip: u64| {
            let register = |number| Some(if number == STACK_POINTER { 0x1000 } else { ip });
            evaluate(expression, None, register, |_, _| None)
        };
        assert_eq!(
            [cfa(0x40_1020), cfa(0x40_102a), cfa(0x40_102b)],
            [0x1008, 0x1008, 0x1010].map(Some)
        );
    }

    #[test]
    fn what_is_not_known_gives_nothing() {
        // breg7 + 0, deref
        let expression = [0x77, 0x00, 0x06];
        let read = |word: Option<u64>| {
            evaluate(
                &expression,
                None,
                |_| Some(0x1000),
                |address, _| {
                    assert_eq!(address, 0x1000);
                    word
                },
            )
        };
        assert_eq!([read(Some(5)), read(None)], [Some(5), None]);
        assert_eq!(evaluate(&expression, None, |_| None, |_, _| Some(5)), None);
        assert_eq!(Tables::default().recipe(5), Recipe::None);
    }
}
