//! What paths are made of, each thing once: strings, load modules, functions, loops, frames.
//!
//! While a sum grows, things have the numbers in which they came. Which of two descriptions of one
//! address is kept, and the order of the tables that are saved, depend on contents alone: so the
//! same parts give the same tables in whatever order they come, and however they were grouped.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use csprof_format::ids::{FrameId, FunctionId, ModuleId, StringId};
use csprof_format::profile::{self as saved, ModuleFile, SourceFile, SymbolSource};

use super::super::merge::{FilesOfModules, ModuleKey, SourcesOfParts, renamed};

/// Things by number, each once.
#[derive(Debug)]
struct Table<T> {
    numbers: HashMap<T, u32>,
    things: Vec<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), things: Vec::new() }
    }
}

impl<T: Clone + Eq + Hash> Table<T> {
    fn number(&mut self, thing: T) -> u32 {
        let next = self.things.len() as u32;
        *self.numbers.entry(thing).or_insert_with_key(|thing| {
            self.things.push(thing.clone());
            next
        })
    }
}

/// What a module is in all profiles: build id, or path and its place among those of one path.
type ModuleContent<'t> = (&'t [u8], &'t str, usize);

/// What a function is in all profiles: name, place of its definition, module.
type FunctionContent<'t> = (&'t str, Option<&'t str>, u32, ModuleContent<'t>);

/// One source-level frame: function, file, line.
type Site = (FunctionId, Option<StringId>, u32);

/// What is known of an address: its source-level frames, and the loops that they are in, by row and
/// number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Known {
    sites: Vec<Site>,
    loops: Vec<(u32, u32)>,
}

/// What makes a frame the same in two processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct FrameKey {
    frame: saved::Frame,
    /// Without a build id, one address of a module may be other code in another process.
    known: Option<Known>,
}

/// All tables of a sum.
#[derive(Debug, Default)]
pub(super) struct Tables {
    strings: Table<Arc<str>>,
    modules: Table<ModuleKey>,
    /// The path and the symbols of each module.
    about_modules: Vec<(StringId, SymbolSource)>,
    functions: Table<saved::Function>,
    loops: Table<saved::Loop>,
    frames: Table<FrameKey>,
    /// What is known of each frame.
    known: Vec<Known>,
    tail_calls: BTreeMap<(FrameId, FrameId), Vec<FunctionId>>,
    files_of: FilesOfModules,
    sources: SourcesOfParts,
}

impl Tables {
    /// Adds those of a part, and says what number each of its frames has here.
    pub(super) fn add(&mut self, part: &saved::Profile) -> Vec<FrameId> {
        let strings: Vec<StringId> = part
            .strings
            .iter()
            .map(|text| StringId(self.strings.number(Arc::clone(text))))
            .collect();
        let file = |id: Option<StringId>| id.map(|id| strings[id.index()]);
        let modules = self.modules(part, &strings);
        let function = |of: &saved::Function| saved::Function {
            name: strings[of.name.index()],
            module: modules[of.module.index()],
            file: file(of.file),
            line: of.line,
        };
        let functions: Vec<FunctionId> = part
            .functions
            .iter()
            .map(|of| FunctionId(self.functions.number(function(of))))
            .collect();
        let loops: Vec<u32> = part
            .structure
            .loops
            .iter()
            .map(|of| {
                let module = modules[of.module.index()];
                self.loops.number(saved::Loop { module, file: file(of.file), ..*of })
            })
            .collect();
        let mut frames = Vec::with_capacity(part.frames.len());
        for (number, frame) in part.frames.iter().enumerate() {
            let id = FrameId::from_index(number);
            let sites = part.sites.rows(id).map(|row| {
                let function = functions[part.sites.function[row].index()];
                (function, file(part.sites.file[row]), part.sites.line[row])
            });
            let in_loops = &part.structure.in_loops[part.structure.loops_of(id)];
            let known = Known {
                sites: sites.collect(),
                loops: in_loops.iter().map(|of| (of.row, loops[of.number as usize])).collect(),
            };
            let module = frame.module.map(|module| modules[module.index()]);
            frames.push(self.frame(saved::Frame { module, ..*frame }, known));
        }
        for call in &part.structure.tail_calls {
            let place = (frames[call.caller.index()], frames[call.callee.index()]);
            let via: Vec<FunctionId> =
                call.via.iter().map(|function| functions[function.index()]).collect();
            let is_better = self
                .tail_calls
                .get(&place)
                .is_none_or(|present| self.compare_functions(present, &via) == Ordering::Less);
            if is_better {
                self.tail_calls.insert(place, via);
            }
        }
        self.sources.add(&part.sources, &strings, &modules);
        frames
    }

    fn modules(&mut self, part: &saved::Profile, strings: &[StringId]) -> Vec<ModuleId> {
        let mut numbers: HashMap<StringId, usize> = HashMap::new();
        let mut modules = Vec::with_capacity(part.modules.len());
        for (index, module) in part.modules.iter().enumerate() {
            let path = strings[module.path.index()];
            let symbols = renamed(&module.symbols, |id| strings[id.index()]);
            let key = match &module.build_id[..] {
                [] => {
                    let number = numbers.entry(path).or_default();
                    *number += 1;
                    ModuleKey::Path(path, *number)
                }
                id => ModuleKey::BuildId(id.to_vec()),
            };
            let id = ModuleId(self.modules.number(key));
            modules.push(id);
            match self.about_modules.get(id.index()) {
                None => self.about_modules.push((path, symbols)),
                Some(&(known, ref present)) => {
                    let worth = |of: &SymbolSource| (of.worth(), self.text_of(of));
                    let best =
                        if worth(&symbols) > worth(present) { symbols } else { present.clone() };
                    let first = if self.text(path) < self.text(known) { path } else { known };
                    self.about_modules[id.index()] = (first, best);
                }
            }
            if module.build_id.is_empty() {
                self.files_of.add(part, ModuleId::from_index(index), id);
            }
        }
        modules
    }

    fn frame(&mut self, frame: saved::Frame, known: Known) -> FrameId {
        let has_build_id = frame.module.is_some_and(|module| {
            matches!(self.modules.things[module.index()], ModuleKey::BuildId(_))
        });
        let key = FrameKey { frame, known: (!has_build_id).then(|| known.clone()) };
        let id = FrameId(self.frames.number(key));
        match self.known.get(id.index()) {
            None => self.known.push(known),
            // The run that resolved an address knows its name for all.
            Some(present) if self.compare(present, &known) == Ordering::Less => {
                self.known[id.index()] = known;
            }
            Some(_) => {}
        }
        id
    }

    fn text(&self, id: StringId) -> &str {
        &self.strings.things[id.index()]
    }

    fn text_of(&self, symbols: &SymbolSource) -> &str {
        match *symbols {
            SymbolSource::NotAsked => "",
            SymbolSource::Dwarf(id)
            | SymbolSource::SymbolTable(id)
            | SymbolSource::Exports(id)
            | SymbolSource::Stripped(id)
            | SymbolSource::Unreadable(id)
            | SymbolSource::BuildIdDiffers(id) => self.text(id),
        }
    }

    /// Compares two descriptions of one address by their contents; the greater one says more.
    fn compare(&self, one: &Known, other: &Known) -> Ordering {
        if one == other {
            return Ordering::Equal;
        }
        let file = |file: Option<StringId>| file.map(|file| self.text(file));
        let site = |&(function, at, line): &Site| (self.function(function), file(at), line);
        let loops = |known: &Known| -> Vec<_> {
            let found = |number: u32| &self.loops.things[number as usize];
            let content = |&(row, number): &(u32, u32)| {
                let saved::Loop { module, offset, file: at, line, irreducible } = *found(number);
                (row, self.module(module), offset, file(at), line, irreducible)
            };
            known.loops.iter().map(content).collect()
        };
        let content = |known: &Known| -> Vec<_> { known.sites.iter().map(site).collect() };
        (one.sites.len(), content(one), loops(one)).cmp(&(
            other.sites.len(),
            content(other),
            loops(other),
        ))
    }

    fn compare_functions(&self, one: &[FunctionId], other: &[FunctionId]) -> Ordering {
        let content =
            |of: &[FunctionId]| -> Vec<_> { of.iter().map(|&id| self.function(id)).collect() };
        content(one).cmp(&content(other))
    }

    fn function(&self, id: FunctionId) -> FunctionContent<'_> {
        let function = &self.functions.things[id.index()];
        let file = function.file.map(|file| self.text(file));
        (self.text(function.name), file, function.line, self.module(function.module))
    }

    fn module(&self, id: ModuleId) -> ModuleContent<'_> {
        match &self.modules.things[id.index()] {
            ModuleKey::BuildId(id) => (id, "", 0),
            ModuleKey::Path(path, number) => (&[], self.text(*path), *number),
        }
    }

    /// Fills the tables of a profile, in the order of their contents, and says what number each
    /// frame has there.
    pub(super) fn save(&self, profile: &mut saved::Profile) -> Vec<FrameId> {
        let modules = order(self.modules.things.len(), |a, b| {
            self.module(ModuleId(a)).cmp(&self.module(ModuleId(b)))
        });
        let is_used = self.used_functions();
        let functions: Vec<u32> = (0..self.functions.things.len() as u32)
            .filter(|&function| is_used[function as usize])
            .collect();
        let text = |id: StringId| Arc::clone(&self.strings.things[id.index()]);
        let strings = self.used_strings(&functions);
        let string = |id: StringId| {
            StringId::from_index(strings.binary_search(&text(id)).unwrap_or(usize::MAX))
        };
        let file = |id: Option<StringId>| id.map(string);
        let module_of = places(&modules);
        let module = |id: ModuleId| ModuleId(module_of[id.index()]);

        profile.modules = modules
            .iter()
            .map(|&id| {
                let (path, symbols) = &self.about_modules[id as usize];
                let build_id = self.module(ModuleId(id)).0.to_vec();
                let symbols = renamed(symbols, string);
                saved::Module { path: string(*path), build_id, symbols }
            })
            .collect();
        let mut named: Vec<(saved::Function, u32)> = functions
            .iter()
            .map(|&id| {
                let of = &self.functions.things[id as usize];
                let (name, module) = (string(of.name), module(of.module));
                (saved::Function { name, module, file: file(of.file), line: of.line }, id)
            })
            .collect();
        named.sort_by_key(|(of, _)| (of.name, of.module, of.file, of.line));
        let mut function_of = vec![0; self.functions.things.len()];
        for (place, (_, id)) in named.iter().enumerate() {
            function_of[*id as usize] = place as u32;
        }
        profile.functions = named.into_iter().map(|(function, _)| function).collect();
        let function = |id: FunctionId| FunctionId(function_of[id.index()]);

        let used: BTreeSet<u32> =
            self.known.iter().flat_map(|of| &of.loops).map(|&(_, number)| number).collect();
        let mut loops: Vec<(saved::Loop, u32)> = used
            .into_iter()
            .map(|id| {
                let of = self.loops.things[id as usize];
                (saved::Loop { module: module(of.module), file: file(of.file), ..of }, id)
            })
            .collect();
        loops.sort_by_key(|(of, _)| (of.module, of.offset, of.file, of.line, of.irreducible));
        let mut loop_of = vec![0; self.loops.things.len()];
        for (place, (_, id)) in loops.iter().enumerate() {
            loop_of[*id as usize] = place as u32;
        }
        profile.structure.loops = loops.into_iter().map(|(of, _)| of).collect();

        let mut frames: Vec<_> = (0..).zip(&self.frames.things).zip(&self.known).collect();
        let mut described: Vec<_> = frames
            .drain(..)
            .map(|((id, key), known)| {
                let frame = saved::Frame { module: key.frame.module.map(module), ..key.frame };
                let sites: Vec<Site> = known
                    .sites
                    .iter()
                    .map(|&(of, at, line)| (function(of), file(at), line))
                    .collect();
                let loops: Vec<(u32, u32)> =
                    known.loops.iter().map(|&(row, of)| (row, loop_of[of as usize])).collect();
                (frame.kind as u32, frame.module, frame.offset, sites, loops, id, frame)
            })
            .collect();
        described.sort_by(|a, b| (a.0, a.1, a.2, &a.3, &a.4).cmp(&(b.0, b.1, b.2, &b.3, &b.4)));
        let mut frame_of: Vec<FrameId> = vec![FrameId(0); described.len()];
        let has_sites = described.iter().any(|(.., sites, _, _, _)| !sites.is_empty());
        if has_sites {
            profile.sites.first.push(0);
        }
        for (place, (_, _, _, sites, loops, id, frame)) in described.into_iter().enumerate() {
            let here = FrameId::from_index(place);
            frame_of[id as usize] = here;
            profile.frames.push(frame);
            for (function, file, line) in sites {
                profile.sites.function.push(function);
                profile.sites.file.push(file);
                profile.sites.line.push(line);
            }
            if has_sites {
                profile.sites.first.push(profile.sites.function.len() as u32);
            }
            let in_loops = loops.into_iter();
            let in_loops = in_loops.map(|(row, number)| saved::InLoop { frame: here, row, number });
            profile.structure.in_loops.extend(in_loops);
        }
        let mut tail_calls: Vec<saved::TailCall> = self
            .tail_calls
            .iter()
            .map(|(&(caller, callee), via)| saved::TailCall {
                caller: frame_of[caller.index()],
                callee: frame_of[callee.index()],
                via: via.iter().map(|&of| function(of)).collect(),
            })
            .collect();
        tail_calls.sort_by_key(|call| (call.caller, call.callee));
        profile.structure.tail_calls = tail_calls;

        let rows = self.files_of.0.iter().flat_map(|(&id, files)| {
            files.iter().map(move |&file| ModuleFile { module: module(id), file })
        });
        profile.files = rows.collect();
        profile.files.sort_unstable();

        let numbers: Vec<StringId> =
            (0..self.strings.things.len()).map(|id| string(StringId::from_index(id))).collect();
        let module_ids: Vec<ModuleId> = module_of.iter().map(|&id| ModuleId(id)).collect();
        let mut sources = SourcesOfParts::default();
        sources.add(&self.source_files(), &numbers, &module_ids);
        profile.run.warnings.extend(sources.conflict(&strings));
        profile.sources = sources.finish();
        profile.strings = strings;
        frame_of
    }

    fn source_files(&self) -> Vec<SourceFile> {
        self.sources.clone().finish()
    }

    /// Functions that a frame or a tail call names: others were of descriptions that say less.
    fn used_functions(&self) -> Vec<bool> {
        let mut is_used = vec![false; self.functions.things.len()];
        let of_sites = self.known.iter().flat_map(|of| &of.sites).map(|&(function, ..)| function);
        for function in of_sites.chain(self.tail_calls.values().flatten().copied()) {
            is_used[function.index()] = true;
        }
        is_used
    }

    /// The strings that what is saved names, in order.
    fn used_strings(&self, functions: &[u32]) -> Vec<Arc<str>> {
        let mut used: BTreeSet<Arc<str>> = BTreeSet::new();
        let mut add = |id: StringId| {
            used.insert(Arc::clone(&self.strings.things[id.index()]));
        };
        for (path, symbols) in &self.about_modules {
            add(*path);
            renamed(symbols, |id| {
                add(id);
                id
            });
        }
        for &function in functions {
            let of = &self.functions.things[function as usize];
            add(of.name);
            of.file.map(&mut add);
        }
        for known in &self.known {
            known.sites.iter().filter_map(|&(_, file, _)| file).for_each(&mut add);
            let loops = known.loops.iter().map(|&(_, number)| self.loops.things[number as usize]);
            loops.filter_map(|of| of.file).for_each(&mut add);
        }
        self.source_files().iter().for_each(|file| add(file.path));
        used.into_iter().collect()
    }
}

/// Numbers below this one, in an order.
fn order(count: usize, compare: impl Fn(u32, u32) -> Ordering) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..count as u32).collect();
    numbers.sort_by(|&a, &b| compare(a, b));
    numbers
}

/// The place of each number in an order.
fn places(order: &[u32]) -> Vec<u32> {
    let mut places = vec![0; order.len()];
    for (place, &number) in (0..).zip(order) {
        places[number as usize] = place;
    }
    places
}
