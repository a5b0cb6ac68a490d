//! What is remembered of a module in the [cache](super::cache) from run to run.
//!
//! Reading DWARF is most of what finding names takes, and who profiles one program again and again
//! samples mostly the same addresses. Remembered are the rows and loops of each address, by build
//! id; addresses that are new are looked up alone, and added. So the result is the same with and
//! without a cache: [`select`] brings both into one order.
//!
//! A module is remembered if it has a build id, its files are there, its own is no copy that a
//! process left, none of its DWARF is in split units, which are in too many files, none of its
//! files was changed just now, and no limit for all of it was reached. (If one is, what is
//! remembered is not affected by it, so with a cache fewer loops are left out.) The key holds all
//! that decides what is found: this very csprof, the build id, and each file with its path, inode,
//! size and times. Of a function with several names all are remembered; which are shown depends on
//! the other modules of a profile, and is decided anew.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bytes;
use super::chosen::{Callable, Chosen};
use super::locate::{self, Located, Wanted};
use super::loops::Limits;
use super::module::{self, CallableAt, Detail, NameSource, ResolvedModule};
use super::request::FileSource;
use super::sites::{Function, LoopPlace, ModuleLoops, ModuleSites, SiteRow};

/// Addresses of one module that are remembered at most; of more, those of the last run.
const MOST_ADDRESSES: usize = 1 << 18;

/// The names of a module's addresses, remembered or looked up; see [`module::resolve`].
pub(super) fn resolve(
    wanted: &Wanted<'_>,
    addresses: &[u64],
    files: &dyn FileSource,
    mut progress: impl FnMut(),
) -> ResolvedModule {
    let located = locate::locate(wanted, files);
    let key =
        files.cache().and_then(|cache| Some((cache, key(wanted, &located, cache.settled())?)));
    let known = key.as_ref().and_then(|(cache, key)| Module::read(&cache.get(key)?));
    let missing: Vec<u64> = match &known {
        Some(known) => addresses.iter().copied().filter(|at| !known.has(*at)).collect(),
        None => addresses.to_vec(),
    };
    (missing.len()..addresses.len()).for_each(|_| progress());
    let found = catch_unwind(AssertUnwindSafe(|| {
        let known = known.as_ref().filter(|_| missing.is_empty());
        let known = known.and_then(|known| Some((known, module::source(&located)?)));
        if let Some((known, source)) = known {
            let chosen = known.has_chosen.then(|| module::chosen(wanted, &located));
            let about_files = &located.warnings;
            return (
                known.clone_for(addresses, source, chosen.unwrap_or_default(), about_files),
                true,
            );
        }
        let detail = Detail::All(Limits::default());
        (module::resolve(wanted, &located, &missing, detail, files, progress), false)
    }));
    // What made a library panic may be what was written meanwhile.
    if located.is_changed() {
        let warning = format!("{}: no symbols: {}", wanted.path, locate::CHANGED);
        return ResolvedModule::unreadable(locate::CHANGED.to_owned(), vec![warning]);
    }
    let (mut found, is_whole) = found.unwrap_or_else(|panic| resume_unwind(panic));
    if is_whole {
        return found;
    }
    let looked_up = KnownNames::new(&missing, &found.sites, &found.callable_at);
    let parts: Vec<KnownNames<'_>> = known.iter().map(Module::part).chain([looked_up]).collect();
    if let Some((cache, key)) = key.filter(|_| found.is_complete && !addresses.is_empty()) {
        let all: BTreeSet<u64> = parts.iter().flat_map(|part| part.addresses).copied().collect();
        let all: Vec<u64> =
            if all.len() > MOST_ADDRESSES { addresses.to_vec() } else { all.into_iter().collect() };
        let (sites, callable_at) = select(&parts, &all);
        let has_chosen = !found.chosen.is_empty();
        // What is odd about the files is found anew.
        let warnings = found.warnings.iter().skip(located.warnings.len()).cloned().collect();
        let module = Module { addresses: all, sites, callable_at, has_chosen, warnings };
        cache.put(key, module.write());
    }
    (found.sites, found.callable_at) = select(&parts, addresses);
    found
}

/// All that decides what is found; `None` if a module is not remembered.
fn key(wanted: &Wanted<'_>, located: &Located, settled: Duration) -> Option<String> {
    let source = module::source(located)?;
    let is_there = !matches!(source, NameSource::Unreadable(_) | NameSource::BuildIdDiffers(_));
    // A copy may be made of memory, and the next one is another file.
    if wanted.build_id.is_empty() || !is_there || located.is_copy() {
        return None;
    }
    // What is written to now may be so in the step of time in which it was opened.
    if !located.is_older_than(settled) {
        return None;
    }
    // A csprof of another build may call functions otherwise.
    let program = bytes::identity(&std::env::current_exe().ok()?.metadata().ok()?);
    let mut key = format!("csprof {} {program}\n", env!("CARGO_PKG_VERSION"));
    let _ = write!(key, "{:02x?} {}\n{}", wanted.build_id, wanted.path, located.identity());
    Some(key)
}

/// What is remembered of a module.
struct Module {
    /// Ordered.
    addresses: Vec<u64>,
    sites: ModuleSites,
    callable_at: CallableAt,
    /// Functions of it are chosen at run time; which, is read anew.
    has_chosen: bool,
    warnings: Vec<String>,
}

/// The same, as it is stored: rows as function, file and line; strings and functions by number.
#[derive(Serialize, Deserialize)]
struct Stored {
    addresses: Vec<u64>,
    strings: Vec<String>,
    functions: Vec<(u32, Option<u32>, u32)>,
    /// For each address.
    rows: Vec<Vec<(u32, Option<u32>, u32)>>,
    loops: Option<StoredLoops>,
    /// For each address.
    callable_keys: Vec<Option<u64>>,
    callable: Vec<(u64, Callable)>,
    has_chosen: bool,
    warnings: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct StoredLoops {
    /// Address of the header, file, line, whether it is irreducible.
    loops: Vec<(u64, Option<u32>, u32, bool)>,
    /// For each address.
    around: Vec<Vec<(u32, u32)>>,
}

impl Module {
    fn has(&self, address: u64) -> bool {
        self.addresses.binary_search(&address).is_ok()
    }

    fn part(&self) -> KnownNames<'_> {
        KnownNames::new(&self.addresses, &self.sites, &self.callable_at)
    }

    fn clone_for(
        &self,
        addresses: &[u64],
        source: NameSource,
        chosen: Chosen,
        about_files: &[String],
    ) -> ResolvedModule {
        let (sites, callable_at) = select(&[self.part()], addresses);
        ResolvedModule {
            read: None,
            source,
            sites,
            callable_at,
            chosen,
            warnings: [about_files, &self.warnings].concat(),
            about_loops: None,
            is_complete: true,
        }
    }

    fn write(&self) -> Vec<u8> {
        let sites = &self.sites;
        let indices = 0..self.addresses.len();
        let rows_of = |index| {
            sites.rows_of(index).iter().map(|row| (row.function, row.file, row.line)).collect()
        };
        let loops = sites.loops.as_ref().map(|loops| StoredLoops {
            loops: loops
                .places()
                .iter()
                .map(|place| (place.offset, place.file, place.line, place.irreducible))
                .collect(),
            around: indices.clone().map(|index| loops.around(index).to_vec()).collect(),
        });
        let callable = &self.callable_at.by_key;
        let callable = callable.iter().map(|(&key, callable)| (key, callable.clone()));
        let stored = Stored {
            addresses: self.addresses.clone(),
            strings: sites.strings.values().to_vec(),
            functions: (sites.functions.values().iter())
                .map(|function| (function.name, function.file, function.line))
                .collect(),
            rows: indices.map(rows_of).collect(),
            loops,
            callable_keys: self.callable_at.keys.clone(),
            callable: callable.collect(),
            has_chosen: self.has_chosen,
            warnings: self.warnings.clone(),
        };
        serde_json::to_vec(&stored).unwrap_or_default()
    }

    /// Reads what was written; `None` if it is not such a thing.
    fn read(bytes: &[u8]) -> Option<Self> {
        let stored: Stored = serde_json::from_slice(bytes).ok()?;
        let count = stored.addresses.len();
        let is_ordered = stored.addresses.is_sorted_by(|a, b| a < b);
        let strings = stored.strings.len();
        let is_string = |number: u32| (number as usize) < strings;
        let is_file = |number: &Option<u32>| number.is_none_or(is_string);
        let is_whole = stored.rows.len() == count && stored.callable_keys.len() == count;
        if !is_ordered || !is_whole {
            return None;
        }
        let mut sites = ModuleSites::default();
        for text in &stored.strings {
            sites.strings.id(text.as_str());
        }
        for &(name, file, line) in &stored.functions {
            (is_string(name) && is_file(&file)).then_some(())?;
            sites.functions.id(&Function { name, file, line });
        }
        // Twice the same would have moved the numbers.
        let functions = sites.functions.values().len();
        if sites.strings.values().len() != strings || functions != stored.functions.len() {
            return None;
        }
        for rows in stored.rows {
            for (function, file, line) in rows {
                ((function as usize) < functions && is_file(&file)).then_some(())?;
                sites.rows.push(SiteRow { function, file, line });
            }
            sites.end_address();
        }
        if let Some(stored) = stored.loops {
            let mut loops = ModuleLoops::default();
            for (offset, file, line, irreducible) in stored.loops {
                is_file(&file).then_some(())?;
                loops.add(LoopPlace { offset, file, line, irreducible });
            }
            (stored.around.len() == count).then_some(())?;
            for around in stored.around {
                let is_loop = |&(_, number): &(u32, u32)| (number as usize) < loops.places().len();
                around.iter().all(is_loop).then_some(())?;
                loops.around.extend(around);
                loops.end_address();
            }
            sites.loops = Some(loops);
        }
        Some(Self {
            addresses: stored.addresses,
            sites,
            callable_at: CallableAt {
                keys: stored.callable_keys,
                by_key: stored.callable.into_iter().collect(),
            },
            has_chosen: stored.has_chosen,
            warnings: stored.warnings,
        })
    }
}

/// The names of some addresses of a module.
#[derive(Clone, Copy)]
struct KnownNames<'p> {
    /// Ordered.
    addresses: &'p [u64],
    sites: &'p ModuleSites,
    callable_at: &'p CallableAt,
}

impl<'p> KnownNames<'p> {
    fn new(addresses: &'p [u64], sites: &'p ModuleSites, callable_at: &'p CallableAt) -> Self {
        Self { addresses, sites, callable_at }
    }
}

/// The rows and loops of these addresses, with all that they name in the order in which they name
/// it: so the result does not depend on which part has an address.
fn select(parts: &[KnownNames<'_>], addresses: &[u64]) -> (ModuleSites, CallableAt) {
    let mut sites = ModuleSites::default();
    let mut callable_at = CallableAt::default();
    let has_loops = parts.iter().any(|part| part.sites.loops.is_some());
    let mut loops = has_loops.then(ModuleLoops::default);
    let mut numbers = HashMap::new();
    for &address in addresses {
        let found = parts
            .iter()
            .find_map(|part| Some((part, part.addresses.binary_search(&address).ok()?)));
        let mut key = None;
        if let Some((part, index)) = found {
            if let Some((own, names)) = part.callable_at.get(index) {
                key = Some(own);
                callable_at.by_key.entry(own).or_insert_with(|| names.clone());
            }
            let text = &part.sites.strings.values();
            let file = |sites: &mut ModuleSites, file: Option<u32>| {
                file.map(|file| sites.strings.id(text[file as usize].as_str()))
            };
            for row in part.sites.rows_of(index) {
                let function = part.sites.functions.values()[row.function as usize];
                let own = Function {
                    name: sites.strings.id(text[function.name as usize].as_str()),
                    file: file(&mut sites, function.file),
                    line: function.line,
                };
                let number = sites.functions.id(&own);
                let file = file(&mut sites, row.file);
                sites.rows.push(SiteRow { function: number, file, line: row.line });
            }
            for &(row, number) in part.sites.loops.iter().flat_map(|loops| loops.around(index)) {
                let Some(place) = part.sites.loops.as_ref().map(|l| l.places()[number as usize])
                else {
                    continue;
                };
                let place = LoopPlace { file: file(&mut sites, place.file), ..place };
                let Some(loops) = &mut loops else { continue };
                let number = *numbers.entry(place).or_insert_with(|| loops.add(place));
                loops.around.push((row, number));
            }
        }
        callable_at.keys.push(key);
        sites.end_address();
        if let Some(loops) = &mut loops {
            loops.end_address();
        }
    }
    sites.loops = loops;
    (sites, callable_at)
}
