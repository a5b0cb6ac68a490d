//! The source-level frames of machine frames.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use csprof_format::address::FrameKind as SavedKind;
use csprof_format::beside::both;
use csprof_format::budget::MAX_INLINED;
use csprof_format::ids::{FrameId, FunctionId, ModuleId, StringId};
use csprof_format::loss::PartialReason;
use csprof_format::profile as saved;

use super::super::definitions::end_of_path;
use super::super::intern::{Interner, Which};
use super::super::model::{address, module_name, text};
use super::super::{Frame, FrameKind, FrameRef, Function, pseudo};
use super::regions::Regions;

/// Functions from which on a thread is worth what it costs.
const MANY_FUNCTIONS: usize = if cfg!(test) { 4 } else { 1 << 14 };

/// The source-level frames of all machine frames.
pub(super) struct Expansion {
    pub(super) interner: Interner,
    pub(super) frames: FrameLists,
    /// The frame of each function that left by a tail call.
    pub(super) left: HashMap<FunctionId, FrameRef>,
    /// The frame of samples without a path, if there are any.
    pub(super) no_path: Option<FrameRef>,
}

/// The source-level frames of each machine frame, outermost first; at least one each. They are
/// numbered in this order, so it is enough to know the first of each, and the one after the last.
pub(super) struct FrameLists(Vec<u32>);

impl FrameLists {
    /// The numbers of a machine frame's frames.
    #[inline]
    pub(super) fn of(&self, frame: FrameId) -> Range<u32> {
        let index = frame.index();
        self.0[index]..self.0[index + 1]
    }

    /// The outermost one.
    pub(super) fn outermost(&self, frame: FrameId) -> FrameRef {
        FrameRef(self.0[frame.index()])
    }
}

impl Expansion {
    /// Takes the tables of functions and sites out of `saved`.
    pub(super) fn of(
        saved: &mut saved::Profile,
        structure: &saved::Structure,
        are_paths_missing: bool,
    ) -> Self {
        let functions = std::mem::take(&mut saved.functions);
        let sites = std::mem::take(&mut saved.sites);
        let machine = &saved.frames;
        let mut interner = Interner::new();
        interner.reserve(functions.len(), machine.len().max(sites.function.len()));
        let several = defined_several_times(saved, &functions);
        let mut number = |function: &saved::Function| {
            let is_one_of_several = several.contains(&key(function));
            let which = definition(saved, function).filter(|_| is_one_of_several);
            let function = Function {
                name: name(saved, function.name),
                module: Some(function.module),
                file: function.file,
                line: function.line,
            };
            let which = which.map(|(file, line)| Which::Defined(file.into(), line));
            interner.one_of_several(function, which)
        };
        let (nameless, numbers): (Vec<bool>, Vec<_>) = both(
            functions.len() >= MANY_FUNCTIONS,
            || functions.iter().map(|function| is_nameless(saved, function)).collect(),
            || functions.iter().map(&mut number).collect(),
        );
        let regions = Regions::of(machine.iter().enumerate().filter_map(|(index, frame)| {
            let is_unnamed = sites.rows(FrameId::from_index(index)).is_empty();
            Some(frame.offset).filter(|_| is_unnamed && is_anonymous(frame))
        }));
        let kernel = pseudo::kernel(saved);
        let mut first = Vec::with_capacity(machine.len() + 1);
        for (index, frame) in machine.iter().enumerate() {
            first.push(interner.next_frame().0);
            let id = FrameId::from_index(index);
            let rows = sites.rows(id);
            let site = is_code(frame).then_some(id);
            if rows.is_empty() {
                let (name, kind) = unnamed(saved, frame, &regions);
                let module = frame.module;
                let function = interner.function(Function { module, ..Function::named(name) });
                interner.frame(Frame { site, ..Frame::made_up(function, kind) });
                continue;
            }
            let outermost = rows.start;
            // Beyond the limit the middle is left out: the caller and the innermost frames stay.
            let inner = (outermost + 1).max(rows.end.saturating_sub(MAX_INLINED));
            for row in std::iter::once(outermost).chain(inner..rows.end) {
                let number = u32::try_from(row - outermost).unwrap_or(u32::MAX);
                let FunctionId(function) = sites.function[row];
                let kind = match row == outermost {
                    true if kernel.is_some() && frame.module == kernel => FrameKind::Kernel,
                    true if nameless[function as usize] => FrameKind::Unknown,
                    true => FrameKind::Call,
                    false => FrameKind::Inline,
                };
                interner.frame(Frame {
                    function: numbers[function as usize],
                    kind,
                    file: sites.file[row],
                    line: sites.line[row],
                    site,
                    row: number,
                });
            }
        }
        first.push(interner.next_frame().0);
        let mut left = HashMap::new();
        for &function in structure.tail_calls.iter().flat_map(|call| &call.via) {
            left.entry(function).or_insert_with(|| {
                interner.frame(Frame::made_up(numbers[function.index()], FrameKind::Tail))
            });
        }
        let no_path = are_paths_missing.then(|| {
            let function = interner.function(Function::named("[no path]"));
            interner.frame(Frame::made_up(function, FrameKind::Partial))
        });
        Self { interner, frames: FrameLists(first), left, no_path }
    }
}

/// Whether a frame is code of some kind, or a wait.
fn is_code(frame: &saved::Frame) -> bool {
    !matches!(frame.kind, SavedKind::Root | SavedKind::Partial)
}

/// Whether a frame is code outside all load modules.
fn is_anonymous(frame: &saved::Frame) -> bool {
    is_code(frame) && frame.module.is_none()
}

/// What a function is called, and where.
fn key(function: &saved::Function) -> (StringId, ModuleId) {
    (function.name, function.module)
}

/// Names that several functions of a load module have, by where they are defined: each is a row of
/// its own. One whose definition is not known may be any of them, and is another row.
fn defined_several_times(
    saved: &saved::Profile,
    functions: &[saved::Function],
) -> HashSet<(StringId, ModuleId)> {
    let mut first = HashMap::new();
    let mut several = HashSet::new();
    for function in functions {
        if let Some(definition) = definition(saved, function)
            && *first.entry(key(function)).or_insert(definition) != definition
        {
            several.insert(key(function));
        }
    }
    several
}

/// File, by the [end of its path](end_of_path), and line of a function's definition. Where only the
/// file is known (functions of Python, by its map of generated code), it is by the whole path: one
/// program has many files of one name, and nothing else tells them apart.
fn definition<'p>(saved: &'p saved::Profile, function: &saved::Function) -> Option<(&'p str, u32)> {
    let path = saved.strings.get(function.file?.index())?;
    let file = if function.line == 0 { path } else { end_of_path(path) };
    Some((file, function.line))
}

/// Name and kind of a frame for which there is no symbol.
fn unnamed(saved: &saved::Profile, frame: &saved::Frame, regions: &Regions) -> (String, FrameKind) {
    let region = regions.start_of(frame.offset).filter(|_| is_anonymous(frame));
    if let Some(start) = region {
        return (format!("[unknown code at {start:#x}]"), FrameKind::Unknown);
    }
    match frame.kind {
        SavedKind::Partial => {
            let reason = usize::try_from(frame.offset).ok().and_then(PartialReason::from_index);
            let key = reason.map_or("unknown reason", PartialReason::key);
            (format!("[partial: {key}]"), FrameKind::Partial)
        }
        _ => pseudo::name_and_kind(saved, frame)
            .unwrap_or_else(|| (address(saved, frame), FrameKind::Unknown)),
    }
}

/// A name, which the profile's strings share.
fn name(saved: &saved::Profile, id: StringId) -> Arc<str> {
    saved.strings.get(id.index()).map_or_else(|| "".into(), Arc::clone)
}

/// Whether a function is called by its place in its module, `libfoo.so.1+0x4a30`: the symbols of
/// stripped files say where functions begin, and nothing more.
fn is_nameless(saved: &saved::Profile, function: &saved::Function) -> bool {
    let place = text(saved, function.name)
        .strip_prefix(module_name(saved, function.module))
        .and_then(|rest| rest.strip_prefix("+0x"));
    place.is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}
