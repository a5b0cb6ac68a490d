//! The step out of a frame in the way that was read off its code.

use crate::arch::RED_ZONE;
use crate::arch::unwind::inference::Inferred;
use crate::arch::unwind::registers::{Register, Registers};
use crate::arch::unwind::step::{Obstacle, Step, step_with_callee_saved};
use crate::unwind::target::Target;
use crate::unwind::validate::StackBounds;

/// The caller's registers, and the slot of the return address, if this is how code without CFI is
/// left. Of those registers and the slot, `is_called` must hold.
pub(super) fn leave_as_inferred(
    registers: &Registers,
    way: Inferred,
    bounds: StackBounds,
    target: &impl Target,
    is_called: impl FnOnce(&Registers, u64) -> bool,
) -> Result<(Registers, u64), Obstacle> {
    let mut caller = *registers;
    // Code that is not understood may seem to have its frame wherever a register leads to: also to
    // pages of a file, or of memory that another thread is waited for. What a frame keeps is on its
    // stack.
    let low = bounds.low.saturating_sub(RED_ZONE);
    let is_on_stack = |word| StackBounds { low, ..bounds }.contains_word(word);
    let read = |word| if is_on_stack(word) { target.read(word) } else { None };
    let Step::Caller { ra_slot: Some(slot) } =
        step_with_callee_saved(&mut caller, way.recipe, &way.saved, read)?
    else {
        return Err(Obstacle::Unsupported);
    };
    let admitted = bounds.admits_caller(registers.sp(), caller.sp());
    if !admitted || !is_called(&caller, slot) {
        return Err(Obstacle::Unsupported);
    }
    for number in (0..16).filter(|number| way.kept >> number & 1 == 1) {
        let register = Register::from_dwarf(number).filter(|register| *register != Register::RSP);
        if let Some((register, value)) =
            register.and_then(|register| Some((register, registers.get(register)?)))
        {
            caller.set(register, value);
        }
    }
    Ok((caller, slot))
}
