//! From the names of each module to the tables of a saved profile.
//!
//! Modules are resolved apart from each other, perhaps on several threads, into tables of their
//! own; here they meet in the profile's, in the order of modules and frames, so that one profile
//! resolves to the same bytes every time.

use std::collections::{BTreeMap, HashMap};
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
}

impl ModuleSites {
    /// Begins the next address.
    pub(super) fn end_address(&mut self) {
        self.ends.push(u32::try_from(self.rows.len()).unwrap_or(u32::MAX));
    }

    /// Gives functions other names. Functions that are then the same become one.
    pub(super) fn rename(&mut self, names: &BTreeMap<u32, String>) {
        let mut functions = Interned::default();
        let mut renamed = Vec::with_capacity(self.functions.values().len());
        for (number, function) in (0..).zip(self.functions.values()) {
            let name = match names.get(&number) {
                Some(name) => self.strings.id(name.as_str()),
                None => function.name,
            };
            renamed.push(functions.id(&Function { name, ..*function }));
        }
        for row in &mut self.rows {
            row.function = renamed[row.function as usize];
        }
        self.functions = functions;
    }

    /// The rows of address number `index`.
    pub(super) fn rows_of(&self, index: usize) -> &[SiteRow] {
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |&e| e);
        let end = self.ends.get(index).map_or(start, |&e| e);
        self.rows.get(start as usize..end as usize).unwrap_or_default()
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

/// The tables of a profile with the rows of these modules: functions, and sites for each of
/// `places`, which is `None` for a frame without code. A frame of which the modules say nothing
/// keeps what the profile has of it.
pub(super) fn assemble(
    places: &[Option<Place>],
    modules: &HashMap<ModuleId, ModuleSites>,
    known: (&[saved::Function], &saved::Sites),
    strings: &mut Strings<'_>,
) -> (Vec<saved::Function>, saved::Sites) {
    let mut functions = Vec::new();
    let mut translations = HashMap::new();
    let mut order: Vec<_> = modules.iter().collect();
    order.sort_unstable_by_key(|(id, _)| **id);
    for (&id, module) in order {
        let text: Vec<StringId> =
            module.strings.values().iter().map(|text| strings.id(text)).collect();
        let first_function = functions.len();
        functions.extend(module.functions.values().iter().map(|function| saved::Function {
            name: text[function.name as usize],
            module: id,
            file: function.file.map(|file| text[file as usize]),
            line: function.line,
        }));
        translations.insert(id, (module, text, first_function));
    }

    let (known_functions, known) = known;
    let mut kept = HashMap::new();
    let mut sites = saved::Sites::default();
    sites.first.reserve(places.len() + 1);
    sites.first.push(0);
    for (frame, place) in places.iter().enumerate() {
        let translation = place.and_then(|place| Some((place, translations.get(&place.module)?)));
        let before = sites.function.len();
        if let Some((place, (module, text, first_function))) = translation {
            for row in module.rows_of(place.index) {
                let function = first_function + row.function as usize;
                sites.function.push(FunctionId::from_index(function));
                sites.file.push(row.file.map(|file| text[file as usize]));
                sites.line.push(row.line);
            }
        }
        if sites.function.len() == before {
            for row in known.rows(FrameId::from_index(frame)) {
                let Some(function) = known_functions.get(known.function[row].index()) else {
                    continue;
                };
                let number = *kept.entry(known.function[row]).or_insert_with(|| {
                    functions.push(function.clone());
                    FunctionId::from_index(functions.len() - 1)
                });
                sites.function.push(number);
                sites.file.push(known.file[row]);
                sites.line.push(known.line[row]);
            }
        }
        sites.first.push(u32::try_from(sites.function.len()).unwrap_or(u32::MAX));
    }
    (functions, sites)
}
