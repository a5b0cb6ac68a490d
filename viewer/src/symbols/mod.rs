//! From addresses in load modules to functions, lines and inlined frames.
//!
//! In the life of a sample this happens once, when `csprof record` has gathered the arenas and
//! before it saves the profile: the machine that ran the program has the binaries that ran, and
//! whoever opens the profile need not have them. [`resolve`] fills the profile's
//! [functions](saved::Profile::functions), [sites](saved::Profile::sites),
//! [structure](saved::Profile::structure) and each module's [`symbols`](saved::Module::symbols).
//!
//! Invariants: a name comes from the very build that ran, shown by its build id, or by its inode,
//! size and times where it has none;
//! an address without a name stays without one and its module says why; a damaged file costs its
//! own names and nothing else.
//!
//! | file | what it answers |
//! |---|---|
//! | [`request`] | what the resolver asks for, and who answers |
//! | [`files`] | the files of this machine |
//! | `bytes`, `mapped` | the bytes of a file, of which others may take some away |
//! | `elf` | what is in one file |
//! | `locate` | which files belong to a module |
//! | `symbol_table`, `plt`, `extent` | which function owns an address, without DWARF |
//! | `chosen`, `imports`, `calls`, `naming` | what to call functions with several names, or chosen at run time |
//! | `machine`, `loops` | which loops an address lies in, and where these are written |
//! | `tail_calls` | which functions left by a tail call between two frames |
//! | `dwarf`, `declaration`, `scope` | which functions and lines an address stands for, and where they are declared |
//! | `split` | where the rest of split DWARF is |
//! | `reader` | the type by which DWARF is read |
//! | `demangle`, `itanium`, `dlang`, `languages`, `path` | what to call them |
//! | `module` | all rows of one module |
//! | [`cache`], `remembered` | what is remembered of modules from run to run |
//! | `sites` | all rows of a profile |
//! | [`code`] | the instructions of a function |
//! | [`functions`] | the functions of a file, by name, before it runs |
//!
//! # Functions without a name
//!
//! In a stripped module only exported functions have names. A sample in any other function gets
//! the name `libfoo.so.1+0x4a30`, which csprof makes of the module's file name and the ELF virtual
//! address where the function begins according to `.eh_frame`. So the samples of one function are
//! one row, and two runs of one build can be compared. A function that is chosen at run time
//! (`STT_GNU_IFUNC`: `memcpy`, `strlen`) has the name by which it is called. Where not even call
//! frame information covers an address (hand-written assembly without it), the frame has no row at
//! all and views show module and address.

mod bytes;
pub mod cache;
mod calls;
mod chosen;
pub mod code;
mod declaration;
mod demangle;
mod dlang;
mod dwarf;
mod elf;
mod extent;
pub mod files;
pub mod functions;
mod imports;
mod itanium;
mod languages;
mod locate;
mod loops;
mod machine;
mod mapped;
mod module;
mod naming;
mod path;
mod plt;
mod reader;
mod remembered;
pub mod request;
mod scope;
mod sites;
mod split;
mod symbol_table;
mod tail_calls;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use csprof_format::address::FrameKind;
use csprof_format::ids::{FunctionId, ModuleId};
use csprof_format::profile as saved;

pub(crate) use self::locate::is_file;
use self::locate::{Own, Wanted, wanted};
use self::machine::ReadFunctions;
use self::module::{Detail, NameSource, ResolvedModule};
use self::naming::Naming;
use self::request::FileSource;
use self::sites::{Place, Strings, Tables};

/// Stack of a resolving thread, in bytes. Demangling recurses, within its limits.
const STACK_SIZE: usize = 16 << 20;

/// Addresses between two reports of progress.
const PROGRESS_STEP: usize = 256;

/// Time between two reports at most.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Names all frames of a profile.
///
/// Reads the modules' files, and their separate debug files, through `files`. What the profile has
/// of a module already is replaced by what tells more, and stays otherwise: files may have gone
/// since, and debug files come. A module with names of which no frame lies in a loop gets its
/// loops. `progress` is told how many of how many distinct addresses are
/// done, on the calling thread, ten times a second at least. When it breaks off, the modules that
/// are not done stay as they were.
///
/// Returns what is worth telling the user: files that were missing, changed, or damaged. A module
/// without symbols is no failure, and its [`saved::Module::symbols`] says what was found.
///
/// Whatever goes wrong here, also a panic in `progress`, the profile stays as it was, and the
/// returned text says so.
pub fn resolve(
    profile: &mut saved::Profile,
    files: &dyn FileSource,
    progress: impl FnMut(usize, usize) -> ControlFlow<()>,
) -> Vec<String> {
    // Strings may be added before; the rest is replaced at the end, so nothing half-done is seen.
    let resolved = catch_unwind(AssertUnwindSafe(|| resolve_all(profile, files, progress)));
    resolved.unwrap_or_else(|_| {
        vec!["csprof failed while it looked for symbols, so no function was named".to_owned()]
    })
}

fn resolve_all(
    profile: &mut saved::Profile,
    files: &dyn FileSource,
    mut progress: impl FnMut(usize, usize) -> ControlFlow<()>,
) -> Vec<String> {
    let (addresses, places) = addresses_by_module(profile);
    let total = addresses.values().map(Vec::len).sum();
    let directory = Path::new(OsStr::from_bytes(&profile.run.directory)).to_owned();
    let tasks: Vec<(ModuleId, Wanted<'_>, &[u64])> = addresses
        .iter()
        .filter_map(|(&id, addresses)| Some((id, wanted(profile, &directory, id)?, &**addresses)))
        .collect();

    let mut resolved = resolve_modules(&tasks, files, |done| progress(done, total));

    // It reads programs again, for which there is no time where `progress` broke off.
    let is_complete = resolved.len() == tasks.len();
    let is_first = profile.sites.first.is_empty();
    let mut has_loops = modules_with_loops(profile);
    let read = resolved.iter_mut().filter_map(|(&id, module)| Some((id, module.read.take()?)));
    let read = read.collect();
    if is_complete {
        let nodes = profile.nodes.parent.iter().enumerate();
        let calls = nodes.filter_map(|(node, &parent)| {
            let place = (*places.get(profile.nodes.frame.get(node)?.index())?)?;
            Some((*profile.nodes.frame.get(parent as usize)?, place))
        });
        let naming = Naming { profile, directory: &directory, files };
        naming.apply(&mut resolved, &places, calls);
    }

    let with_files: BTreeSet<_> = profile.files.iter().map(|row| row.module).collect();
    let mut warnings = Vec::new();
    let rows_before = sites::rows_of_modules(profile, &places);
    let mut better = HashMap::new();
    let mut sources = Vec::new();
    let strings_before = profile.strings.len();
    let mut strings = Strings::new(&mut profile.strings);
    for id in addresses.keys().copied() {
        let (Some(module), Some(saved)) = (resolved.remove(&id), profile.modules.get(id.index()))
        else {
            continue;
        };
        let source = module.source.saved(&mut strings);
        let rows = rows_before.get(&id).copied().unwrap_or(0);
        let is_better = (source.worth(), module.sites.rows.len()) > (saved.symbols.worth(), rows);
        let is_certain = !saved.build_id.is_empty() || with_files.contains(&id);
        // Nothing shows that the file is what ran. Right after the run it most likely is; names
        // that are there already came from what was there then.
        if is_better && rows > 0 && !is_certain {
            let path = strings.text(saved.path);
            warnings.push(format!(
                "{path}: has no build id, and the profile does not tell which file it was, so the \
                 one that is there now may be another; its names stay as they are"
            ));
            continue;
        }
        if is_better {
            sources.push((id, source));
            warnings.extend(module.about_loops);
            better.insert(id, module.sites);
        } else if is_certain && module.sites.has_loops() && has_loops.insert(id) {
            warnings.extend(module.about_loops);
            let mut sites = module.sites;
            sites.keep_only_loops();
            better.insert(id, sites);
        }
        // A module that has its names does not miss the files that they came from.
        if is_better || saved.symbols.lacks_names() {
            warnings.extend(module.warnings);
        }
    }
    if better.is_empty() && !is_first {
        profile.strings.truncate(strings_before);
        return warnings;
    }
    let known = Tables {
        functions: std::mem::take(&mut profile.functions),
        sites: std::mem::take(&mut profile.sites),
        structure: std::mem::take(&mut profile.structure),
    };
    let tables = sites::assemble(&places, &better, &known, &mut strings);
    (profile.functions, profile.sites) = (tables.functions, tables.sites);
    profile.structure = tables.structure;
    if is_complete {
        add_tail_calls(profile, is_first, &directory, files, read, || progress(total, total));
    }
    for (id, source) in sources {
        let module = &mut profile.modules[id.index()];
        module.symbols = source;
        // What was told of it before is no longer so.
        if let Some(path) = profile.strings.get(module.path.index()) {
            let about = format!("{path}: ");
            profile.run.warnings.retain(|warning| !warning.starts_with(&about));
        }
    }
    warnings
}

impl NameSource {
    /// As a profile has it.
    fn saved(&self, strings: &mut Strings<'_>) -> saved::SymbolSource {
        match self {
            Self::Dwarf(path) => saved::SymbolSource::Dwarf(strings.id(path)),
            Self::SymbolTable(path) => saved::SymbolSource::SymbolTable(strings.id(path)),
            Self::Exports(path) => saved::SymbolSource::Exports(strings.id(path)),
            Self::Stripped(path) => saved::SymbolSource::Stripped(strings.id(path)),
            Self::Unreadable(reason) => saved::SymbolSource::Unreadable(strings.id(reason)),
            Self::BuildIdDiffers(path) => saved::SymbolSource::BuildIdDiffers(strings.id(path)),
        }
    }
}

/// The modules of which frames lie in loops.
fn modules_with_loops(profile: &saved::Profile) -> BTreeSet<ModuleId> {
    let frames = profile.structure.in_loops.iter().map(|entry| entry.frame);
    frames.filter_map(|frame| profile.frames.get(frame.index())?.module).collect()
}

/// What left by tail calls, and what functions are called of which there are no rows.
#[derive(Default)]
struct Left {
    found: tail_calls::Found,
    names: HashMap<tail_calls::Node, Named>,
}

/// A function that has no rows.
struct Named {
    name: String,
    /// Where it is declared, if that is known.
    file: Option<String>,
    line: u32,
}

/// Looks for what left by tail calls, in modules that are what ran: if names were known before,
/// those of which that is certain.
fn look_for_tail_calls(
    profile: &saved::Profile,
    is_first: bool,
    directory: &Path,
    files: &dyn FileSource,
    read: HashMap<ModuleId, (String, ReadFunctions)>,
    is_stopped: &dyn Fn() -> bool,
) -> Left {
    // A damaged file costs what could be found of it.
    let open = |id: ModuleId| {
        let module = wanted(profile, directory, id)?;
        if is_stopped() || !is_first && !module.is_certain() {
            return None;
        }
        let own = catch_unwind(AssertUnwindSafe(|| locate::open_own(&module, files)));
        let Ok(Own::Matches(found)) = own else { return None };
        Some((id, found))
    };
    // What is called by name may be in any module, also where nothing was sampled.
    let ids = (0..profile.modules.len()).map(ModuleId::from_index);
    let files_of = ids.filter(|&id| {
        let path = profile.strings.get(profile.modules[id.index()].path.index());
        path.is_none_or(|path| !path.starts_with('[') && &**path != saved::GENERATED_CODE)
    });
    let files_of: Vec<ModuleId> = files_of.collect();
    let opened: HashMap<_, _> = files_of.iter().filter_map(|&id| open(id)).collect();
    let is_complete = opened.len() == files_of.len();
    let is_same = |id: &ModuleId, file: &str| {
        let found = opened.get(id);
        found.is_some_and(|found| !file.is_empty() && found.bytes.identity() == file)
    };
    let read = read.into_iter().filter(|(id, (file, _))| is_same(id, file));
    let read = read.map(|(id, (_, functions))| (id, functions)).collect();
    let found = tail_calls::find(profile, &opened, read, is_complete, is_stopped);
    if opened.values().any(|found| found.bytes.is_changed()) {
        return Left::default();
    }
    let nameless = |node: &tail_calls::Node| {
        found.sampled.get(node).is_none_or(|&frame| profile.sites.rows(frame).is_empty())
    };
    let all = found.between.values().flatten().flatten();
    let mut starts = BTreeMap::<ModuleId, BTreeSet<u64>>::new();
    for &(module, start) in all.filter(|node| nameless(node)) {
        starts.entry(module).or_default().insert(start);
    }
    let mut resolved = HashMap::new();
    for (&id, starts) in &starts {
        let Some(wanted) = wanted(profile, directory, id).filter(|_| !is_stopped()) else {
            continue;
        };
        let starts: Vec<u64> = starts.iter().copied().collect();
        let names = || {
            let located = locate::locate(&wanted, files);
            let found = module::resolve(&wanted, &located, &starts, Detail::Lines, files, || {});
            (!located.is_changed()).then_some(found)
        };
        let names = catch_unwind(AssertUnwindSafe(names)).ok().flatten();
        resolved.extend(names.map(|module| (id, module)));
    }
    // What was called is called as any other function is.
    let place = |&(module, start): &tail_calls::Node| {
        let index = starts.get(&module)?.iter().position(|known| *known == start)?;
        Some(Place { module, index })
    };
    let called = found.between.iter().filter_map(|(&(caller, _), via)| match via.first() {
        Some(one_of) if one_of.len() == 1 => Some((caller, place(one_of.first()?)?)),
        _ => None,
    });
    Naming { profile, directory, files }.apply(&mut resolved, &[], called);
    let mut names = HashMap::new();
    for (id, starts) in starts {
        let Some(module) = resolved.get(&id) else { continue };
        for (index, start) in starts.into_iter().enumerate() {
            let function = module.sites.outermost(index).map(|function| {
                let text = |number| module.sites.string(number).to_owned();
                let (name, file) = (text(function.name), function.file.map(text));
                ((id, start), Named { name, file, line: function.line })
            });
            names.extend(function);
        }
    }
    Left { found, names }
}

/// Adds what left by tail calls between frames of which nothing is known yet; nothing if
/// `progress`, which is called ten times a second, breaks off.
fn add_tail_calls(
    profile: &mut saved::Profile,
    is_first: bool,
    directory: &Path,
    files: &dyn FileSource,
    read: HashMap<ModuleId, (String, ReadFunctions)>,
    mut progress: impl FnMut() -> ControlFlow<()>,
) {
    let stopped = AtomicBool::new(false);
    let found = thread::scope(|scope| {
        let (done, inbox) = mpsc::channel::<()>();
        let (profile, stopped) = (&*profile, &stopped);
        let work = move || {
            // Dropped at the end, whatever happens.
            let _done = done;
            let is_stopped = || stopped.load(Ordering::Relaxed);
            look_for_tail_calls(profile, is_first, directory, files, read, &is_stopped)
        };
        let thread = thread::Builder::new().stack_size(STACK_SIZE);
        let thread = thread.spawn_scoped(scope, work).ok()?;
        while inbox.recv_timeout(PROGRESS_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            if progress().is_break() {
                stopped.store(true, Ordering::Relaxed);
            }
        }
        thread.join().ok()
    });
    let Some(left) = found.filter(|_| !stopped.load(Ordering::Relaxed)) else { return };
    let mut strings = Strings::new(&mut profile.strings);
    let mut added = HashMap::new();
    let mut calls = BTreeMap::new();
    for call in std::mem::take(&mut profile.structure.tail_calls) {
        calls.insert((call.caller, call.callee), call.via);
    }
    let sites = &profile.sites;
    for (frames, via) in &left.found.between {
        let functions = via.iter().map(|one_of| {
            // A function that was sampled too is the same one, with its line.
            let sampled = |node| {
                let row = sites.rows(*left.found.sampled.get(node)?).next()?;
                sites.function.get(row).copied()
            };
            let only = one_of.first().filter(|_| one_of.len() == 1);
            if let Some(function) = only.and_then(sampled) {
                return Some(function);
            }
            let name = |node| match sampled(node) {
                Some(function) => {
                    let name = profile.functions.get(function.index())?.name;
                    Some(strings.text(name).to_owned())
                }
                None => left.names.get(node).map(|named| named.name.clone()),
            };
            let names: Option<Vec<String>> = one_of.iter().map(name).collect();
            let module = one_of.first()?.0;
            let (name, at) = (strings.id(&names?.join(" or ")), only.map_or(0, |node| node.1));
            let declared = only.and_then(|node| left.names.get(node));
            let file = declared.and_then(|declared| declared.file.as_ref());
            let (file, line) =
                (file.map(|file| strings.id(file)), declared.map_or(0, |at| at.line));
            Some(*added.entry((module, name, at)).or_insert_with(|| {
                profile.functions.push(saved::Function { name, module, file, line });
                FunctionId::from_index(profile.functions.len() - 1)
            }))
        });
        if let Some(via) = functions.collect::<Option<Vec<_>>>() {
            calls.entry(*frames).or_insert(via);
        }
    }
    let calls = calls.into_iter();
    profile.structure.tail_calls =
        calls.map(|((caller, callee), via)| saved::TailCall { caller, callee, via }).collect();
}

/// Sorts out the addresses to look up: for each module its distinct ones, ordered, and for each
/// frame which module's which address it is.
fn addresses_by_module(
    profile: &saved::Profile,
) -> (BTreeMap<ModuleId, Vec<u64>>, Vec<Option<Place>>) {
    let lookup = |frame: &saved::Frame| match (frame.kind, frame.module) {
        (FrameKind::Call | FrameKind::Leaf | FrameKind::Interrupted, Some(module)) => {
            // No call ends at the very first address.
            Some((module, frame.offset.checked_sub(frame.kind.lookup_bias())?))
        }
        _ => None,
    };
    let mut addresses = BTreeMap::<ModuleId, Vec<u64>>::new();
    for (module, address) in profile.frames.iter().filter_map(lookup) {
        addresses.entry(module).or_default().push(address);
    }
    for of_module in addresses.values_mut() {
        of_module.sort_unstable();
        of_module.dedup();
    }
    let places = profile
        .frames
        .iter()
        .map(|frame| {
            let (module, address) = lookup(frame)?;
            let index = addresses.get(&module)?.binary_search(&address).ok()?;
            Some(Place { module, index })
        })
        .collect();
    (addresses, places)
}

/// What resolving threads report.
enum Report {
    Progress(usize),
    Done(ModuleId, Box<ResolvedModule>),
}

/// Resolves modules on all processors, the ones with most addresses first.
///
/// By module, because addr2line's `Context` belongs to one thread.
fn resolve_modules(
    tasks: &[(ModuleId, Wanted<'_>, &[u64])],
    files: &dyn FileSource,
    mut progress: impl FnMut(usize) -> ControlFlow<()>,
) -> HashMap<ModuleId, ResolvedModule> {
    let mut order: Vec<_> = tasks.iter().collect();
    order.sort_by_key(|(_, _, addresses)| core::cmp::Reverse(addresses.len()));
    let next = AtomicUsize::new(0);
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = processors.min(tasks.len());
    let stopped = AtomicBool::new(false);
    let (reports, inbox) = mpsc::channel();
    let work = |reports: mpsc::Sender<Report>| {
        // Relaxed: the counter only hands out numbers, results travel through the channel.
        while let Some((id, wanted, addresses)) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Some(module) = resolve_guarded(wanted, addresses, files, &reports, &stopped) else {
                break;
            };
            // The receiver outlives the scope.
            let _ = reports.send(Report::Done(*id, Box::new(module)));
        }
    };

    let mut resolved = HashMap::new();
    let mut done = 0;
    thread::scope(|scope| {
        let mut started = false;
        for _ in 0..threads {
            let (reports, work) = (reports.clone(), &work);
            let thread = thread::Builder::new().stack_size(STACK_SIZE);
            started |= thread.spawn_scoped(scope, move || work(reports)).is_ok();
        }
        if !started {
            work(reports.clone());
        }
        drop(reports);
        loop {
            match inbox.recv_timeout(PROGRESS_INTERVAL) {
                Ok(Report::Progress(count)) => done += count,
                Ok(Report::Done(id, module)) => {
                    resolved.insert(id, *module);
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if progress(done).is_break() {
                stopped.store(true, Ordering::Relaxed);
            }
        }
    });
    resolved
}

/// Resolves one module; `None` if it was stopped. Should a library that reads debug information
/// panic on a damaged file, the module loses its names, and the profile is still saved.
fn resolve_guarded(
    wanted: &Wanted<'_>,
    addresses: &[u64],
    files: &dyn FileSource,
    reports: &mpsc::Sender<Report>,
    stopped: &AtomicBool,
) -> Option<ResolvedModule> {
    let is_stopped = || stopped.load(Ordering::Relaxed);
    if is_stopped() {
        return None;
    }
    let mut reported = 0;
    let mut pending = 0;
    let resolved = catch_unwind(AssertUnwindSafe(|| {
        remembered::resolve(wanted, addresses, files, || {
            pending += 1;
            if is_stopped() {
                // Out of all that is under way; no panic that anybody is told of.
                resume_unwind(Box::new(()));
            }
            if pending == PROGRESS_STEP {
                let _ = reports.send(Report::Progress(pending));
                reported += pending;
                pending = 0;
            }
        })
    }));
    let _ = reports.send(Report::Progress(addresses.len() - reported));
    if resolved.is_err() && is_stopped() {
        return None;
    }
    Some(resolved.unwrap_or_else(|_| {
        let reason = "its debug information is damaged in a way that csprof cannot handle";
        let warnings = vec![format!("{}: {reason}", wanted.path)];
        ResolvedModule::unreadable(reason.to_owned(), warnings)
    }))
}
