//! `by`: rows stand for load modules, files, lines or addresses instead of functions.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use csprof_format::ids::{FrameId, ModuleId, StringId};

use super::delete::runs_of_one;
use super::step::{Moved, Step, Transform};
use crate::profile::{Frame, FrameKind, Function, FunctionRef};
use crate::refine::forest::error::{Cause, Stop};
use crate::refine::forest::recorded::Effect;
use crate::refine::forest::refined::Refined;
use crate::refine::forest::workspace::Table;
use crate::refine::lang::syntax::Grain;
use crate::refine::watch::Watch;

/// What a frame becomes; equal ones become one function.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Module(Option<ModuleId>),
    File(Option<StringId>),
    Line(FunctionRef, Option<StringId>, u32),
    Address(FunctionRef, FrameId),
}

/// Bytes of names that it may make: each line and each address of a function has its name.
const MOST_NAME_BYTES: usize = 256 << 20;

/// `by module`: every frame is renamed, and runs of one module or file are merged.
pub(crate) struct By(pub(crate) Grain);

impl Transform for By {
    fn run(&self, mut refined: Refined, watch: &Watch<'_>) -> Result<Step, Stop> {
        let grain = self.0;
        if matches!(grain, Grain::Function | Grain::Loop) {
            return Ok(Step { refined, moved: Moved::NONE, effect: Effect::None });
        }
        let mut numbers: HashMap<Key, FunctionRef> = HashMap::new();
        let mut frames: Vec<Frame> = refined.frames.iter().copied().collect();
        let mut functions: Vec<Function> = Vec::new();
        let mut name_bytes = 0;
        for frame in &mut frames {
            let Some(key) = key(&refined, frame, grain) else { continue };
            let next = refined.functions.len() + functions.len();
            frame.function = match numbers.entry(key) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(vacant) => {
                    let function = function(&refined, vacant.key());
                    name_bytes += function.name.len();
                    if name_bytes > MOST_NAME_BYTES {
                        let part = format!("by {}", grain.name());
                        return Err(Stop::Refused { part, cause: Cause::TooManyNames });
                    }
                    functions.push(function);
                    *vacant.insert(FunctionRef(u32::try_from(next).unwrap_or(u32::MAX)))
                }
            };
            if !grain.is_within_function() {
                *frame = Frame::made_up(frame.function, frame.kind.renamed());
            }
        }
        let becomes = |frame: usize| (frames[frame].function, frames[frame].kind);
        let parts = refined.are_procedures_parted(becomes);
        let effect = if parts { Effect::Parts } else { Effect::None };
        refined.functions.add(functions);
        let mut moved = Moved::NONE;
        if !grain.is_within_function() {
            let named: Vec<FunctionRef> = frames.iter().map(|frame| frame.function).collect();
            (refined, moved) = runs_of_one(refined, &named, watch)?;
        }
        refined.frames = Table::made(frames);
        Ok(Step { refined, moved, effect })
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn passes(&self, metrics: usize) -> usize {
        match self.0 {
            Grain::Function | Grain::Line | Grain::Address | Grain::Loop => 0,
            Grain::File | Grain::Module => 1 + metrics,
        }
    }
}

/// What a frame becomes; `None` if it stays: what is no code, and lines that are not
/// known.
fn key(refined: &Refined, frame: &Frame, grain: Grain) -> Option<Key> {
    if !frame.kind.is_code() {
        return None;
    }
    let function = &refined.functions[frame.function.index()];
    let is_within = frame.kind == FrameKind::Loop && grain.is_within_function();
    match grain {
        // Its name is its place.
        _ if is_within => None,
        Grain::Module => Some(Key::Module(function.module)),
        Grain::File => Some(Key::File(frame.file.or(function.file))),
        Grain::Line if frame.line > 0 => Some(Key::Line(frame.function, frame.file, frame.line)),
        Grain::Address => frame.site.map(|site| Key::Address(frame.function, site)),
        Grain::Line | Grain::Function | Grain::Loop => None,
    }
}

fn function(refined: &Refined, key: &Key) -> Function {
    let end = |path| str::rsplit(path, '/').next().unwrap_or(path);
    match *key {
        Key::Module(module) => {
            let path = module.map(|module| refined.profile.module_path(module));
            Function { module, ..Function::named(path.map_or("[no module]", end)) }
        }
        Key::File(file) => {
            let path = file.map(|file| refined.profile.string(file));
            Function { file, ..Function::named(path.map_or("[no source file]", end)) }
        }
        Key::Address(function, site) => {
            let function = &refined.functions[function.index()];
            let site = &refined.profile.info.frames[site.index()];
            let address = refined.profile.address(site);
            let name = match *function.name == *address {
                true => Arc::clone(&function.name),
                false => format!("{} {address}", function.name).into(),
            };
            Function { name, ..function.clone() }
        }
        Key::Line(function, file, line) => {
            let function = &refined.functions[function.index()];
            let file = file.or(function.file);
            let place = file.map_or("", |file| end(refined.profile.string(file)));
            let name = format!("{} {place}:{line}", function.name).into();
            Function { name, file, line, ..function.clone() }
        }
    }
}
