//! What a thread leaves to the next one.

use super::handler_stack::HandlerStack;
use crate::sampler::Buffers;

/// Memory that threads need while they live.
pub(super) struct Spare {
    /// For its samples.
    pub buffers: Buffers,
    /// What its handlers run on; `None` if the thread could not let go of it.
    pub handlers: Option<HandlerStack>,
}

// SAFETY: whoever has it is alone with it: a thread that ends has no record any more, through which
// its trampoline could have found its path.
#[expect(unsafe_code, reason = "mappings that change hands")]
unsafe impl Send for Spare {}

impl Spare {
    /// New; `None` if memory is refused.
    pub(super) fn new() -> Option<Self> {
        Some(Self { buffers: Buffers::new()?, handlers: None })
    }

    /// Gives the memory back.
    pub(super) fn release(self) {
        self.buffers.release();
        if let Some(stack) = self.handlers {
            stack.release();
        }
    }
}
