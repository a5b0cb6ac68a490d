//! What is looked up in the [structure](Structure) of the code that was sampled.

use crate::ids::{FrameId, FunctionId};
use crate::profile::{InLoop, Structure, TailCall};

impl Structure {
    /// Where [`Structure::in_loops`] has the loops of a frame.
    #[must_use]
    pub fn loops_of(&self, frame: FrameId) -> core::ops::Range<usize> {
        let start = self.in_loops.partition_point(|entry| entry.frame < frame);
        let end = self.in_loops.partition_point(|entry| entry.frame <= frame);
        start..end
    }

    /// The loops of one of the rows of a frame, the outermost first.
    #[must_use]
    pub fn loops_in(&self, frame: FrameId, row: u32) -> &[InLoop] {
        let place = |entry: &InLoop| (entry.frame, entry.row);
        let start = self.in_loops.partition_point(|entry| place(entry) < (frame, row));
        let end = self.in_loops.partition_point(|entry| place(entry) <= (frame, row));
        &self.in_loops[start..end]
    }

    /// Which of so many frames are what some function left for by a tail call: all others need not
    /// be looked for.
    #[must_use]
    pub fn tail_callees(&self, frames: usize) -> Vec<bool> {
        let mut is_callee = vec![false; frames];
        for call in &self.tail_calls {
            is_callee[call.callee.index()] = true;
        }
        is_callee
    }

    /// The functions that left by tail calls between two frames, the outermost first; empty if
    /// there are none.
    #[must_use]
    pub fn tail_calls_between(&self, caller: FrameId, callee: FrameId) -> &[FunctionId] {
        let place = |call: &TailCall| (call.caller, call.callee);
        match self.tail_calls.binary_search_by_key(&(caller, callee), place) {
            Ok(found) => &self.tail_calls[found].via,
            Err(_) => &[],
        }
    }
}
