//! Functions by value, where equal ones get one number, and frames.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use csprof_format::ids::ModuleId;

use super::frame_kind::FrameKind;
use super::model::{Frame, FrameRef, Function, FunctionRef};

/// Which of several functions of one name in one load module: there may be many static functions,
/// closures or scripts' `main`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Which {
    /// The one that is defined in this file and line.
    Defined(Arc<str>, u32),
    /// The one of this number among those that runs have in common.
    Nth(u32),
}

/// What tells functions apart: name, load module, and which it is of several.
type Key = (Arc<str>, Option<ModuleId>, Option<Which>);

/// The tables of functions and frames while a profile is being built.
pub(super) struct Interner {
    pub(super) functions: Vec<Function>,
    pub(super) frames: Vec<Frame>,
    function_numbers: HashMap<Key, FunctionRef>,
}

impl Interner {
    /// Tables that hold the root's function and frame.
    pub(super) fn new() -> Self {
        let mut interner =
            Self { functions: Vec::new(), frames: Vec::new(), function_numbers: HashMap::new() };
        let function = interner.function(Function::named("<root>"));
        interner.frame(Frame::made_up(function, FrameKind::Root));
        interner
    }

    /// Makes room for so many more of both.
    pub(super) fn reserve(&mut self, functions: usize, frames: usize) {
        self.functions.reserve(functions);
        self.function_numbers.reserve(functions);
        self.frames.reserve(frames);
    }

    /// The number of the function of this name in this module.
    pub(super) fn function(&mut self, function: Function) -> FunctionRef {
        self.one_of_several(function, None)
    }

    /// The number of a function. Name, module and which it is of several decide; a definition's
    /// file and line are taken from the first that knows them.
    pub(super) fn one_of_several(
        &mut self,
        function: Function,
        which: Option<Which>,
    ) -> FunctionRef {
        let next = FunctionRef(number(self.functions.len()));
        match self.function_numbers.entry((function.name.clone(), function.module, which)) {
            Entry::Occupied(known) => {
                let known = *known.get();
                let present = &mut self.functions[known.index()];
                let knows_more = function.line > 0 && function.file.is_some();
                if present.line == 0 && (knows_more || present.file.is_none()) {
                    present.file = function.file;
                    present.line = function.line;
                }
                known
            }
            Entry::Vacant(vacant) => {
                vacant.insert(next);
                self.functions.push(function);
                next
            }
        }
    }

    /// Adds a frame. Nearly all differ, if by nothing else, then by their address.
    pub(super) fn frame(&mut self, frame: Frame) -> FrameRef {
        let added = self.next_frame();
        self.frames.push(frame);
        added
    }

    /// The number that the next frame gets.
    pub(super) fn next_frame(&self) -> FrameRef {
        FrameRef(number(self.frames.len()))
    }

    /// The name of a frame's function.
    pub(super) fn name(&self, frame: FrameRef) -> &str {
        &self.functions[self.frames[frame.index()].function.index()].name
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
