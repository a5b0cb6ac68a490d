//! From the registers and the copy of a stack to the frames of a call path.
//!
//! An interrupted frame is looked up at its own pc, every other one a byte before its return
//! address, as [`FrameKind::lookup_bias`] has it. Each step leads to a higher address of the stack,
//! but out of a signal's handler, which may have had another one.

use std::rc::Rc;

use csprof_format::address::{FrameKey, FrameKind};
use csprof_format::loss::PartialReason;

use super::recipe::{
    Cfa, FRAME_POINTER, KEPT, RETURN_ADDRESS, Recipe, Rule, Rules, STACK_POINTER, evaluate,
};
use super::records::{REGISTERS, chain};

/// Frames of a path at most: a copy of a stack has no more.
const MOST_FRAMES: usize = 1 << 13;
/// Frames of a chain by which the kernel says that there are more (kernel.perf_event_max_stack).
const WHOLE_CHAIN: usize = 127;

/// What is known of the code of a process.
pub(super) trait Code {
    /// How the frame is left whose code is at this runtime address; `None` if it is in no module.
    fn recipe(&mut self, address: u64) -> Option<Rc<Recipe>>;
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// At the outermost frame.
    Whole,
    /// Before it.
    Partial(PartialReason),
}

/// A copy of the innermost bytes of a stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stack<'a> {
    /// The address of the first one: the stack pointer.
    pub(super) start: u64,
    pub(super) bytes: &'a [u8],
    /// Whether the stack goes on behind them.
    pub(super) is_cut: bool,
}

impl Stack<'_> {
    /// The word at an address, or why it is not known.
    fn word(&self, address: u64) -> Result<u64, PartialReason> {
        let place = address.checked_sub(self.start).and_then(|place| usize::try_from(place).ok());
        let Some(place) = place else { return Err(PartialReason::BadStack) };
        match self.bytes.get(place..).and_then(|rest| rest.first_chunk()) {
            Some(word) => Ok(u64::from_le_bytes(*word)),
            None if self.is_cut => Err(PartialReason::StackCopy),
            None => Err(PartialReason::BadStack),
        }
    }
}

/// Registers by their numbers in call frame information, as far as they are known.
type Registers = [Option<u64>; 17];

/// Follows a stack outwards, and appends the frames, the innermost first.
pub(super) fn walk(
    registers: &[u8],
    bytes: &[u8],
    asked_bytes: u32,
    code: &mut impl Code,
    path: &mut Vec<FrameKey>,
) -> End {
    let mut known: Registers = [None; 17];
    let (words, _) = registers.as_chunks::<8>();
    for (word, (_, number)) in words.iter().zip(REGISTERS) {
        known[number] = Some(u64::from_le_bytes(*word));
    }
    let (Some(pc), Some(start)) = (known[RETURN_ADDRESS], known[STACK_POINTER]) else {
        return End::Partial(PartialReason::BadStack);
    };
    let stack = Stack { start, bytes, is_cut: bytes.len() as u64 >= asked_bytes.into() };
    follow(pc, &mut known, &stack, code, path)
}

fn follow(
    mut pc: u64,
    registers: &mut Registers,
    stack: &Stack<'_>,
    code: &mut impl Code,
    path: &mut Vec<FrameKey>,
) -> End {
    let mut kind = FrameKind::Leaf;
    let mut sp = stack.start;
    while path.len() < MOST_FRAMES {
        path.push(FrameKey::new(kind, pc));
        let recipe = code.recipe(pc.wrapping_sub(kind.lookup_bias()));
        let stepped = match recipe.as_deref() {
            None => return End::Partial(PartialReason::UnknownModule),
            Some(Recipe::Outermost) => return End::Whole,
            Some(Recipe::Unsupported) => return End::Partial(PartialReason::UnsupportedCfi),
            Some(Recipe::None) if kind == FrameKind::Call => {
                by_frame_pointer(registers, stack, code)
            }
            Some(Recipe::None) => return End::Partial(PartialReason::NoCfi),
            Some(Recipe::Rules(rules)) => step(rules, pc, registers, stack),
        };
        let (next, is_signal) = match stepped {
            Ok(stepped) => stepped,
            Err(reason) => return End::Partial(reason),
        };
        // Coroutine libraries and thread starters put zero where the outermost frame returns to.
        if next == 0 {
            return End::Whole;
        }
        let Some(caller_sp) = registers[STACK_POINTER].filter(|&found| found > sp || is_signal)
        else {
            return End::Partial(PartialReason::BadStack);
        };
        (pc, sp) = (next, caller_sp);
        kind = if is_signal { FrameKind::Interrupted } else { FrameKind::Call };
    }
    End::Partial(PartialReason::TooDeep)
}

/// Makes the registers those of the caller; its pc, and whether a signal has interrupted it.
fn step(
    rules: &Rules,
    pc: u64,
    registers: &mut Registers,
    stack: &Stack<'_>,
) -> Result<(u64, bool), PartialReason> {
    let before = *registers;
    let value = |number: usize| match number {
        RETURN_ADDRESS => Some(pc),
        number => before.get(number).copied().flatten(),
    };
    // Why memory was not to be read, of those that expressions ask for.
    let mut unread = None;
    let mut compute = |expression: &[u8], first| {
        let read = |address, size: u8| {
            let word = stack.word(address).map_err(|reason| unread = Some(reason)).ok()?;
            Some(if size < 8 { word & !(u64::MAX << (8 * size)) } else { word })
        };
        let found = evaluate(expression, first, value, read);
        found.ok_or(unread.unwrap_or(PartialReason::UnsupportedCfi))
    };
    let cfa = match &rules.cfa {
        Cfa::Register(number, offset) => {
            let base = value(*number).ok_or(PartialReason::UnsupportedCfi)?;
            base.wrapping_add_signed(*offset)
        }
        Cfa::Expression(expression) => compute(expression, None)?,
    };
    let mut after: Registers = [None; 17];
    for number in KEPT {
        after[number] = before[number];
    }
    after[STACK_POINTER] = Some(cfa);
    let mut next = None;
    for (number, rule) in &rules.registers {
        let found = match rule {
            Rule::At(offset) => stack.word(cfa.wrapping_add_signed(*offset)),
            Rule::Value(offset) => Ok(cfa.wrapping_add_signed(*offset)),
            Rule::Register(other) => value(*other).ok_or(PartialReason::UnsupportedCfi),
            Rule::AtExpression(expression) => {
                compute(expression, Some(cfa)).and_then(|address| stack.word(address))
            }
            Rule::Expression(expression) => compute(expression, Some(cfa)),
            Rule::Lost => Err(PartialReason::UnsupportedCfi),
        };
        match *number {
            RETURN_ADDRESS => next = Some(found?),
            // What no later frame asks for need not be there.
            number => {
                if let Some(register) = after.get_mut(number) {
                    *register = found.ok();
                }
            }
        }
    }
    *registers = after;
    Ok((next.ok_or(PartialReason::UnsupportedCfi)?, rules.is_signal))
}

/// Steps out of a caller without call frame information, if its frame pointer leads to a return
/// address in a module.
fn by_frame_pointer(
    registers: &mut Registers,
    stack: &Stack<'_>,
    code: &mut impl Code,
) -> Result<(u64, bool), PartialReason> {
    let frame = registers[FRAME_POINTER].filter(|frame| frame % 8 == 0 && *frame >= stack.start);
    let Some(frame) = frame else { return Err(PartialReason::NoCfi) };
    let unless_cut = |reason| match reason {
        PartialReason::StackCopy => reason,
        _ => PartialReason::NoCfi,
    };
    let saved = stack.word(frame).map_err(unless_cut)?;
    let next = stack.word(frame.wrapping_add(8)).map_err(unless_cut)?;
    if code.recipe(next.wrapping_sub(1)).is_none() {
        return Err(PartialReason::NoCfi);
    }
    *registers = [None; 17];
    registers[FRAME_POINTER] = Some(saved);
    registers[STACK_POINTER] = Some(frame.wrapping_add(16));
    Ok((next, false))
}

/// Appends the frames of the kernel's own walk by frame pointers.
///
/// Where the chain ends is the outermost frame if that frame says so; the kernel stops in the same
/// way at the first frame pointer that leads nowhere.
pub(super) fn frames_of_chain(words: &[u8], code: &mut impl Code, path: &mut Vec<FrameKey>) -> End {
    for (number, address) in chain(words).enumerate() {
        let kind = if number == 0 { FrameKind::Leaf } else { FrameKind::Call };
        path.push(FrameKey::new(kind, address));
    }
    let Some(last) = path.last() else { return End::Partial(PartialReason::BadStack) };
    let lookup = last.address().wrapping_sub(last.kind().lookup_bias());
    match code.recipe(lookup).as_deref() {
        Some(Recipe::Outermost) => End::Whole,
        None => End::Partial(PartialReason::UnknownModule),
        _ if path.len() >= WHOLE_CHAIN => End::Partial(PartialReason::TooDeep),
        _ => End::Partial(PartialReason::BadStack),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Code in `0x1000..0x5000`, a recipe in each page.
    struct Pages([Recipe; 4]);

    impl Code for Pages {
        fn recipe(&mut self, address: u64) -> Option<Rc<Recipe>> {
            let page = usize::try_from(address >> 12).ok()?.checked_sub(1)?;
            self.0.get(page).cloned().map(Rc::new)
        }
    }

    fn rules(cfa: Cfa, registers: &[(usize, Rule)], is_signal: bool) -> Recipe {
        Recipe::Rules(Rules { cfa, registers: registers.to_vec(), is_signal })
    }

    const RETURN: (usize, Rule) = (RETURN_ADDRESS, Rule::At(-8));

    /// A leaf without a frame; a function with a frame pointer; one without call frame information;
    /// the outermost.
    fn pages() -> Pages {
        let pointed = [RETURN, (FRAME_POINTER, Rule::At(-16))];
        Pages([
            rules(Cfa::Register(STACK_POINTER, 8), &[RETURN], false),
            rules(Cfa::Register(FRAME_POINTER, 16), &pointed, false),
            Recipe::None,
            Recipe::Outermost,
        ])
    }

    const SP: u64 = 0x7fff_0000;
    /// From the leaf at 0x1010 to 0x2020, by the frame at SP + 8 to 0x3030, by that at SP + 24 to
    /// 0x4040.
    const WORDS: [u64; 5] = [0x2020, SP + 24, 0x3030, 0xdead, 0x4040];

    fn walked(words: &[u64], asked_bytes: u32, code: &mut Pages) -> (Vec<u64>, End) {
        let mut registers = [0; 17];
        for (value, (_, number)) in registers.iter_mut().zip(REGISTERS) {
            *value = match number {
                RETURN_ADDRESS => 0x1010,
                STACK_POINTER => SP,
                FRAME_POINTER => SP + 8,
                _ => 0,
            };
        }
        let bytes = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (registers, stack): (Vec<u8>, Vec<u8>) = (bytes(&registers), bytes(words));
        let mut path = Vec::new();
        let end = walk(&registers, &stack, asked_bytes, code, &mut path);
        (path.iter().map(|key| key.address()).collect(), end)
    }

    #[test]
    fn a_path_is_followed_by_tables_and_where_there_are_none_by_the_frame_pointer() {
        let all = vec![0x1010, 0x2020, 0x3030, 0x4040];
        assert_eq!(walked(&WORDS, 1000, &mut pages()), (all, End::Whole));
    }

    #[test]
    fn a_copy_that_ends_before_its_stack_is_told_from_a_stack_that_ends() {
        let ends = |asked_bytes| walked(&WORDS[..2], asked_bytes, &mut pages());
        let found = vec![0x1010, 0x2020];
        assert_eq!(ends(16), (found.clone(), End::Partial(PartialReason::StackCopy)));
        assert_eq!(ends(1000), (found, End::Partial(PartialReason::BadStack)));
    }

    #[test]
    fn a_stack_does_not_lead_inwards() {
        let mut words = WORDS;
        words[1] = SP;
        let mut code = pages();
        code.0[2] = code.0[1].clone();
        let end = walked(&words, 1000, &mut code).1;
        assert_eq!(end, End::Partial(PartialReason::BadStack));
    }

    #[test]
    fn code_of_no_module_ends_a_path() {
        let mut words = WORDS;
        words[0] = 0x9_9999;
        let found = (vec![0x1010, 0x9_9999], End::Partial(PartialReason::UnknownModule));
        assert_eq!(walked(&words, 1000, &mut pages()), found);
    }

    #[test]
    fn what_a_signal_has_interrupted_is_looked_up_at_its_own_address() {
        let mut code = pages();
        code.0[0] = rules(Cfa::Register(STACK_POINTER, 8), &[RETURN], true);
        // The first byte of the outermost function: one before it is the function before.
        let (path, end) = walked(&[0x4000], 1000, &mut code);
        assert_eq!((path, end), (vec![0x1010, 0x4000], End::Whole));
    }

    #[test]
    fn a_chain_is_whole_where_its_last_frame_is_the_outermost() {
        let ends = |last: u64| {
            let words: Vec<u8> =
                [0x1010, 0x2020, last].iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
            frames_of_chain(&words, &mut pages(), &mut Vec::new())
        };
        assert_eq!(ends(0x4040), End::Whole);
        assert_eq!(ends(0x2040), End::Partial(PartialReason::BadStack));
    }
}
