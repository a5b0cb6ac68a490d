//! From the names of each module to the tables of a saved profile.
//!
//! Modules are resolved apart from each other, perhaps on several threads, into tables of their
//! own; here they meet in the profile's, in the order of modules and frames, so that one profile
//! resolves to the same bytes every time.

use core::ops::Range;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use csprof_format::ids::{FrameId, FunctionId, ModuleId, StringId};
use csprof_format::profile as saved;

/// A table in which every value occurs once.
#[derive(Debug)]
pub(super) struct Interned<T> {
    ids: HashMap<T, u32>,
    values: Vec<T>,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self { ids: HashMap::new(), values: Vec::new() }
    }
}

impl<T: Clone + Eq + Hash> Interned<T> {
    /// The number of a value, which is added if it is new.
    pub(super) fn id<Q>(&mut self, value: &Q) -> u32
    where
        Q: ?Sized + Eq + Hash + ToOwned<Owned = T>,
        T: std::borrow::Borrow<Q>,
    {
        if let Some(&id) = self.ids.get(value) {
            return id;
        }
        // A table of 2^32 names would not fit into memory.
        let id = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        self.ids.insert(value.to_owned(), id);
        self.values.push(value.to_owned());
        id
    }

    /// All values, by number.
    pub(super) fn values(&self) -> &[T] {
        &self.values
    }
}

/// A function of one module. Strings are numbers in [`ModuleSites::strings`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Function {
    /// Name for people.
    pub(super) name: u32,
    /// File of the definition.
    pub(super) file: Option<u32>,
    /// Line of the definition, 0 if unknown.
    pub(super) line: u32,
}

/// A source-level frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SiteRow {
    /// Number in [`ModuleSites::functions`].
    pub(super) function: u32,
    /// File of the line being executed, number in [`ModuleSites::strings`].
    pub(super) file: Option<u32>,
    /// That line, 0 if unknown.
    pub(super) line: u32,
}

/// The source-level frames of some addresses of one module.
#[derive(Debug, Default)]
pub(super) struct ModuleSites {
    pub(super) strings: Interned<String>,
    pub(super) functions: Interned<Function>,
    /// Rows of all addresses, outermost first for each.
    pub(super) rows: Vec<SiteRow>,
    /// For each address, in the order in which they were given, the end of its rows.
    pub(super) ends: Vec<u32>,
    /// The loops that the addresses lie in; `None` if the machine code was not there to be read.
    pub(super) loops: Option<ModuleLoops>,
}

/// A loop of one module: [`saved::Loop`], with numbers in [`ModuleSites::strings`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LoopPlace {
    /// ELF virtual address of its header.
    pub(super) offset: u64,
    /// File of its first line.
    pub(super) file: Option<u32>,
    /// That line, 0 if unknown.
    pub(super) line: u32,
    /// It can be entered elsewhere than at its header.
    pub(super) irreducible: bool,
}

/// The loops that some addresses of one module lie in.
#[derive(Debug, Default)]
pub(super) struct ModuleLoops {
    loops: Vec<LoopPlace>,
    /// Of all addresses: the row in whose code a loop lies, and the loop's number; outermost first
    /// for each.
    pub(super) around: Vec<(u32, u32)>,
    /// For each address, in the order in which they were given, the end of its loops.
    ends: Vec<u32>,
}

impl ModuleLoops {
    /// Adds a loop; returns its number.
    pub(super) fn add(&mut self, place: LoopPlace) -> u32 {
        self.loops.push(place);
        u32::try_from(self.loops.len() - 1).unwrap_or(u32::MAX)
    }

    /// Begins the next address.
    pub(super) fn end_address(&mut self) {
        self.ends.push(u32::try_from(self.around.len()).unwrap_or(u32::MAX));
    }

    /// All loops, by number.
    pub(super) fn places(&self) -> &[LoopPlace] {
        &self.loops
    }

    /// The loops of address number `index`.
    pub(super) fn around(&self, index: usize) -> &[(u32, u32)] {
        piece(&self.around, &self.ends, index)
    }
}

/// Of values that lie together for each address, those of address number `index`.
fn piece<'a, T>(values: &'a [T], ends: &[u32], index: usize) -> &'a [T] {
    values.get(range(ends, index)).unwrap_or_default()
}

fn range(ends: &[u32], index: usize) -> Range<usize> {
    let start = index.checked_sub(1).and_then(|before| ends.get(before)).map_or(0, |&e| e);
    let end = ends.get(index).map_or(start, |&e| e);
    start as usize..end as usize
}

impl ModuleSites {
    /// Begins the next address.
    pub(super) fn end_address(&mut self) {
        self.ends.push(u32::try_from(self.rows.len()).unwrap_or(u32::MAX));
    }

    /// Whether an address lies in a loop.
    pub(super) fn has_loops(&self) -> bool {
        self.loops.as_ref().is_some_and(|loops| !loops.around.is_empty())
    }

    /// Leaves nothing but the loops.
    pub(super) fn keep_only_loops(&mut self) {
        self.rows.clear();
        self.ends.fill(0);
    }

    /// The name of a function; empty if there is none.
    pub(super) fn name_of(&self, function: u32) -> &str {
        let name = self.functions.values().get(function as usize).map(|function| function.name);
        name.and_then(|name| self.strings.values().get(name as usize)).map_or("", String::as_str)
    }

    /// Some text; empty if there is none of this number.
    pub(super) fn string(&self, number: u32) -> &str {
        self.strings.values().get(number as usize).map_or("", String::as_str)
    }

    /// The function that address number `index` lies in, not one that is inlined there.
    pub(super) fn outermost(&self, index: usize) -> Option<&Function> {
        let row = self.rows_of(index).first()?;
        self.functions.values().get(row.function as usize)
    }

    /// Gives another name to the outermost functions of some addresses, which are numbered.
    pub(super) fn rename<'n>(&mut self, names: impl Iterator<Item = (usize, &'n str)>) {
        for (index, name) in names {
            let Some(&SiteRow { function, .. }) = self.rows_of(index).first() else { continue };
            let name = self.strings.id(name);
            let known = self.functions.values()[function as usize];
            let renamed = self.functions.id(&Function { name, ..known });
            let rows = range(&self.ends, index);
            let rows = self.rows.get_mut(rows).unwrap_or_default().iter_mut();
            // A function that is inlined in itself is one.
            rows.filter(|row| row.function == function).for_each(|row| row.function = renamed);
        }
    }

    /// The rows of address number `index`.
    pub(super) fn rows_of(&self, index: usize) -> &[SiteRow] {
        piece(&self.rows, &self.ends, index)
    }

    /// Which functions have rows, and which strings are told of these and of loops: what was
    /// looked at to find out where loops are has no rows.
    fn used(&self) -> (Vec<bool>, Vec<bool>) {
        let mut functions = vec![false; self.functions.values().len()];
        let mut strings = vec![false; self.strings.values().len()];
        for row in &self.rows {
            functions[row.function as usize] = true;
            row.file.into_iter().for_each(|file| strings[file as usize] = true);
        }
        let used = self.functions.values().iter().zip(&functions).filter(|(_, used)| **used);
        for (function, _) in used {
            strings[function.name as usize] = true;
            function.file.into_iter().for_each(|file| strings[file as usize] = true);
        }
        for place in self.loops.iter().flat_map(|loops| &loops.loops) {
            place.file.into_iter().for_each(|file| strings[file as usize] = true);
        }
        (functions, strings)
    }
}

/// Where a frame's address is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The module that holds it.
    pub(super) module: ModuleId,
    /// Which of the module's addresses it is.
    pub(super) index: usize,
}

/// The strings of a profile, to which more are added.
pub(super) struct Strings<'a> {
    ids: HashMap<Arc<str>, StringId>,
    strings: &'a mut Vec<Arc<str>>,
}

impl<'a> Strings<'a> {
    /// Takes over what the profile has.
    pub(super) fn new(strings: &'a mut Vec<Arc<str>>) -> Self {
        let mut ids = HashMap::with_capacity(strings.len());
        for (index, text) in strings.iter().enumerate() {
            ids.entry(text.clone()).or_insert(StringId::from_index(index));
        }
        Self { ids, strings }
    }

    /// A string by its number; empty if there is none.
    pub(super) fn text(&self, id: StringId) -> &str {
        self.strings.get(id.index()).map_or("", |text| text)
    }

    /// The number of a string, which is added if it is new.
    pub(super) fn id(&mut self, text: &str) -> StringId {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let id = StringId::from_index(self.strings.len());
        let text: Arc<str> = text.into();
        self.ids.insert(Arc::clone(&text), id);
        self.strings.push(text);
        id
    }
}

/// How many rows a profile has for the addresses of each module; frames of one address count once.
pub(super) fn rows_of_modules(
    profile: &saved::Profile,
    places: &[Option<Place>],
) -> HashMap<ModuleId, usize> {
    let mut seen = HashMap::new();
    for (frame, place) in places.iter().enumerate() {
        if let Some(place) = place {
            let rows = profile.sites.rows(FrameId::from_index(frame)).len();
            let most = seen.entry((place.module, place.index)).or_insert(0);
            *most = rows.max(*most);
        }
    }
    let mut counts = HashMap::new();
    for ((module, _), rows) in seen {
        *counts.entry(module).or_insert(0) += rows;
    }
    counts
}

/// The tables of a profile that say what frames stand for.
pub(super) struct Tables {
    pub(super) functions: Vec<saved::Function>,
    pub(super) sites: saved::Sites,
    pub(super) structure: saved::Structure,
}

/// A module whose strings and functions have numbers in the profile.
struct Translated<'m> {
    module: &'m ModuleSites,
    strings: Vec<Option<StringId>>,
    functions: Vec<Option<FunctionId>>,
}

/// The tables of a profile with the rows and loops of these modules: functions, and sites for each
/// of `places`, which is `None` for a frame without code. A frame of which the modules say nothing
/// keeps what the profile has of it, and the loops of a module whose machine code was not there are
/// kept. Tail calls are kept where no module whose code was read has a part in them.
pub(super) fn assemble(
    places: &[Option<Place>],
    modules: &HashMap<ModuleId, ModuleSites>,
    known: &Tables,
    strings: &mut Strings<'_>,
) -> Tables {
    let mut functions = Vec::new();
    let mut translations = HashMap::new();
    let mut order: Vec<_> = modules.iter().collect();
    order.sort_unstable_by_key(|(id, _)| **id);
    for (&id, module) in order {
        let (used_functions, used_strings) = module.used();
        let text = module.strings.values().iter().zip(used_strings);
        let text: Vec<_> = text.map(|(text, used)| used.then(|| strings.id(text))).collect();
        let numbers =
            module.functions.values().iter().zip(used_functions).map(|(function, used)| {
                let name = text[function.name as usize].filter(|_| used)?;
                functions.push(saved::Function {
                    name,
                    module: id,
                    file: function.file.and_then(|file| text[file as usize]),
                    line: function.line,
                });
                Some(FunctionId::from_index(functions.len() - 1))
            });
        let numbers = numbers.collect();
        translations.insert(id, Translated { module, strings: text, functions: numbers });
    }

    let mut kept = Kept { known, functions: HashMap::new(), loops: HashMap::new() };
    let mut tables = Tables {
        functions,
        sites: saved::Sites::default(),
        structure: saved::Structure::default(),
    };
    let mut loops = HashMap::new();
    tables.sites.first.reserve(places.len() + 1);
    tables.sites.first.push(0);
    for (frame, place) in places.iter().enumerate() {
        let frame = FrameId::from_index(frame);
        let translation = place.and_then(|place| Some((place, translations.get(&place.module)?)));
        let before = tables.sites.function.len();
        if let Some((place, translated)) = translation {
            for row in translated.module.rows_of(place.index) {
                let Some(function) = translated.functions[row.function as usize] else { continue };
                tables.sites.function.push(function);
                let file = row.file.and_then(|file| translated.strings[file as usize]);
                tables.sites.file.push(file);
                tables.sites.line.push(row.line);
            }
        }
        if tables.sites.function.len() == before {
            kept.rows(frame, &mut tables);
        }
        let last_row = (tables.sites.function.len() - before).saturating_sub(1);
        let last_row = u32::try_from(last_row).unwrap_or(u32::MAX);
        let new = translation.and_then(|(place, translated)| {
            Some((place, translated, translated.module.loops.as_ref()?))
        });
        if let Some((place, translated, own_loops)) = new {
            for &(row, number) in own_loops.around(place.index) {
                let own = &own_loops.loops[number as usize];
                let all = &mut tables.structure.loops;
                let number = *loops.entry((place.module, number)).or_insert_with(|| {
                    all.push(saved::Loop {
                        module: place.module,
                        offset: own.offset,
                        file: own.file.and_then(|file| translated.strings[file as usize]),
                        line: own.line,
                        irreducible: own.irreducible,
                    });
                    number_of_last(all)
                });
                let row = row.min(last_row);
                tables.structure.in_loops.push(saved::InLoop { frame, row, number });
            }
        } else {
            kept.loops(frame, last_row, &mut tables.structure);
        }
        tables.sites.first.push(u32::try_from(tables.sites.function.len()).unwrap_or(u32::MAX));
    }
    let is_new =
        |module| modules.get(&module).is_some_and(|module: &ModuleSites| module.loops.is_some());
    kept.tail_calls(places, is_new, &mut tables);
    tables
}

fn number_of_last<T>(all: &[T]) -> u32 {
    u32::try_from(all.len() - 1).unwrap_or(u32::MAX)
}

/// What stays of a profile's tables, with its new numbers.
struct Kept<'k> {
    known: &'k Tables,
    functions: HashMap<FunctionId, FunctionId>,
    loops: HashMap<u32, u32>,
}

impl Kept<'_> {
    fn function(&mut self, id: FunctionId, to: &mut Vec<saved::Function>) -> Option<FunctionId> {
        if let Some(&number) = self.functions.get(&id) {
            return Some(number);
        }
        to.push(self.known.functions.get(id.index())?.clone());
        let number = FunctionId::from_index(to.len() - 1);
        self.functions.insert(id, number);
        Some(number)
    }

    fn rows(&mut self, frame: FrameId, to: &mut Tables) {
        let known = &self.known.sites;
        for row in known.rows(frame) {
            let Some(number) = self.function(known.function[row], &mut to.functions) else {
                continue;
            };
            to.sites.function.push(number);
            to.sites.file.push(known.file[row]);
            to.sites.line.push(known.line[row]);
        }
    }

    fn loops(&mut self, frame: FrameId, last_row: u32, to: &mut saved::Structure) {
        let known = &self.known.structure;
        for entry in &known.in_loops[known.loops_of(frame)] {
            let Some(place) = known.loops.get(entry.number as usize) else { continue };
            let number = *self.loops.entry(entry.number).or_insert_with(|| {
                to.loops.push(*place);
                number_of_last(&to.loops)
            });
            let row = entry.row.min(last_row);
            to.in_loops.push(saved::InLoop { number, row, ..*entry });
        }
    }

    fn tail_calls(
        &mut self,
        places: &[Option<Place>],
        is_new: impl Fn(ModuleId) -> bool,
        to: &mut Tables,
    ) {
        for call in &self.known.structure.tail_calls {
            let mut frames = [call.caller, call.callee].into_iter();
            let is_kept = frames.all(|frame| {
                places
                    .get(frame.index())
                    .is_some_and(|place| place.is_none_or(|place| !is_new(place.module)))
            });
            let modules = call.via.iter().map(|id| self.known.functions.get(id.index()));
            if !is_kept || modules.flatten().any(|function| is_new(function.module)) {
                continue;
            }
            let via = call.via.iter().filter_map(|&id| self.function(id, &mut to.functions));
            let via: Vec<_> = via.collect();
            if via.len() == call.via.len() {
                to.structure.tail_calls.push(saved::TailCall { via, ..*call });
            }
        }
    }
}
