//! Functions that left by a tail call, found again.
//!
//! Where the last thing that a function does is to call another one, compilers jump there, and
//! nothing of the function is left on the stack. But the caller's instruction says whom it called:
//!
//! ```text
//!   samples   main ── return address 0x1182 ──► d                 main calls b, not d
//!   program   0x117d: call b          b: … jmp c          c: … jmp d
//!             so the path is main, b, c, d
//! ```
//!
//! The called function and the one that was found on the stack are joined by a search among the
//! jumps that leave functions. Invariant: nothing is guessed. `b` is told only if a chain of jumps
//! with known ends leads from it to what was found. What lies between is told if there is one such
//! chain, or several of one length, whose functions are then told together (`c or e`). Where other
//! chains may have gone through a jump whose end is not known, or round in circles, `b` alone is
//! told, as where what was found may itself have left and been reached again. Conditional jumps
//! count as jumps whose end is not known: they may lead into a piece of the function itself that
//! nothing shows to be one.
//!
//! Nothing is told of frames in the dynamic loader: the first call through a slot of lazy binding
//! arrives there (`_dl_runtime_resolve`), and what is called has not begun.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use csprof_format::address::FrameKind;
use csprof_format::ids::{FrameId, ModuleId};
use csprof_format::profile as saved;
use object::LittleEndian;
use object::elf::{SHN_UNDEF, STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE};

use crate::profile::name_of_file;
use crate::structure::Target;

use super::calls::{self, LONGEST_CALL, Reach};
use super::elf::Elf;
use super::extent::Extents;
use super::locate::FoundFile;
use super::machine::{Machine, NameMemo, Reached, ReadFunctions};
use super::plt::{self, Callee, Slots, Stub};
use super::symbol_table::SymbolTable;

/// Functions that are visited to find a chain.
const MOST_VISITED: usize = 256;

/// Chains that are compared.
const MOST_CHAINS: usize = 16;

/// A function: its module, and the ELF virtual address where it begins.
pub(super) type Node = (ModuleId, u64);

/// Functions of which one left by a tail call; mostly there is one.
pub(super) type OneOf = BTreeSet<Node>;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// For each two frames, caller and callee, the functions that left between them; no empty list.
    pub(super) between: BTreeMap<(FrameId, FrameId), Vec<OneOf>>,
    /// A frame of each of these functions that was sampled too.
    pub(super) sampled: BTreeMap<Node, FrameId>,
}

/// Finds the functions that left between frames. `opened` has the modules whose files could be
/// read; if they are all that were loaded, `is_complete`. Some of their functions are `known`.
/// Should a library panic on a damaged file, nothing is told of it. Once it is stopped, the rest is
/// left out.
pub(super) fn find<'a>(
    profile: &saved::Profile,
    opened: &'a HashMap<ModuleId, FoundFile>,
    mut known: HashMap<ModuleId, ReadFunctions>,
    is_complete: bool,
    is_stopped: &dyn Fn() -> bool,
) -> Found {
    let parse = |(&id, file): (&ModuleId, &'a FoundFile)| Some((id, Elf::parse(&file.bytes).ok()?));
    let elves: HashMap<ModuleId, Elf<'_>> = opened.iter().filter_map(parse).collect();
    let is_complete = is_complete && elves.len() == opened.len();
    let read = |id: ModuleId| {
        let elf = elves.get(&id).filter(|_| !is_stopped())?;
        Some((id, (elf, catch_unwind(AssertUnwindSafe(|| Read::new(elf))).ok()?)))
    };
    let read: HashMap<_, _> = modules(profile).into_iter().filter_map(read).collect();
    let called = read.values().flat_map(|(_, read)| read.slots.names()).collect();
    let exports = catch_unwind(AssertUnwindSafe(|| Exports::read(&elves, &called, is_complete)));
    let loaders = read.iter().filter(|(id, (elf, _))| is_loader(profile, **id, elf));
    let mut machines = HashMap::new();
    for (&id, (elf, read)) in &read {
        machines.insert(id, read.machine(elf, known.remove(&id).unwrap_or_default()));
    }
    let search = Search {
        loaders: loaders.map(|(&id, _)| id).collect(),
        machines,
        exports: exports.unwrap_or_default(),
        exported: NameMemo::default(),
        jumps: RefCell::default(),
    };
    let mut between = BTreeMap::new();
    // Many frames of one function are called from one place.
    let mut known = HashMap::new();
    for (caller, callee) in neighbors(profile) {
        if is_stopped() {
            break;
        }
        let one = catch_unwind(AssertUnwindSafe(|| {
            let (from, to) = search.ends(profile, caller, callee)?;
            let via = known.entry((from, to)).or_insert_with(|| search.chain(from, to));
            Some(via.clone())
        }));
        if let Some(via) = one.ok().flatten().filter(|via| !via.is_empty()) {
            between.insert((caller, callee), via);
        }
    }
    let nodes: BTreeSet<Node> = between.values().flatten().flatten().copied().collect();
    let of: BTreeSet<_> = nodes.iter().map(|&(module, _)| module).collect();
    let mut sampled = BTreeMap::new();
    for (number, frame) in profile.frames.iter().enumerate().take_while(|_| !is_stopped()) {
        // Of other modules nothing more has to be read.
        if frame.module.is_none_or(|module| !of.contains(&module)) {
            continue;
        }
        let function = || search.function_of(frame);
        let node = catch_unwind(AssertUnwindSafe(function)).ok().flatten();
        if let Some(node) = node.filter(|node| nodes.contains(node)) {
            sampled.entry(node).or_insert(FrameId::from_index(number));
        }
    }
    Found { between, sampled }
}

/// Whether a module is the dynamic loader, by its file's name (`ld-linux-x86-64.so.2`,
/// `ld-2.31.so`) or, if that was changed, by what only loaders export.
fn is_loader(profile: &saved::Profile, id: ModuleId, elf: &Elf<'_>) -> bool {
    let path = profile.modules.get(id.index());
    let path = path.and_then(|module| profile.strings.get(module.path.index()));
    let name = path.map(|path| name_of_file(path));
    let by_name = name.is_some_and(|name| name.starts_with("ld-") || name.starts_with("ld.so"));
    by_name || elf.defines(b"__tls_get_addr")
}

/// The modules in whose code there may be calls to look at.
fn modules(profile: &saved::Profile) -> BTreeSet<ModuleId> {
    let pairs = neighbors(profile).into_iter().flat_map(|(caller, callee)| [caller, callee]);
    pairs.filter_map(|frame| profile.frames.get(frame.index())?.module).collect()
}

/// All pairs of a call and a frame below it.
fn neighbors(profile: &saved::Profile) -> BTreeSet<(FrameId, FrameId)> {
    let is_call = |frame: &saved::Frame| frame.kind == FrameKind::Call && frame.module.is_some();
    let is_code = |frame: &saved::Frame| {
        matches!(frame.kind, FrameKind::Call | FrameKind::Leaf) && frame.module.is_some()
    };
    let nodes = &profile.nodes;
    let pairs = nodes.parent.iter().enumerate().filter_map(|(node, &parent)| {
        let callee = *nodes.frame.get(node)?;
        let caller = *nodes.frame.get(parent as usize)?;
        let is_one = is_call(profile.frames.get(caller.index())?)
            && is_code(profile.frames.get(callee.index())?)
            && parent as usize != node;
        is_one.then_some((caller, callee))
    });
    pairs.collect()
}

/// What is read of a module's file.
struct Read<'data> {
    table: SymbolTable<'data>,
    extents: Extents<'data>,
    slots: Slots<'data>,
    stubs: Vec<Stub<'data>>,
}

impl<'data> Read<'data> {
    fn new(elf: &Elf<'data>) -> Self {
        let tables = [elf.symbols(), elf.dynamic_symbols()].into_iter().filter_map(Result::ok);
        let slots = Slots::read(elf);
        Self {
            table: SymbolTable::new(tables.collect(), elf.code()),
            extents: Extents::read(elf),
            stubs: plt::stubs(elf, &slots),
            slots,
        }
    }

    fn machine<'m>(&'m self, elf: &'m Elf<'data>, known: ReadFunctions) -> Machine<'m, 'data> {
        Machine::new(elf, &self.table, &self.extents, &self.slots, &self.stubs, known)
    }
}

/// The functions that modules define for others and that are called, by name; `None` if there are
/// several, or what is called is chosen at run time. Where some modules are not known, none are:
/// any of them may define what is called, as one does that is preloaded.
#[derive(Default)]
struct Exports<'data>(HashMap<&'data [u8], Option<Node>>);

impl<'data> Exports<'data> {
    fn read(
        elves: &HashMap<ModuleId, Elf<'data>>,
        called: &HashSet<&[u8]>,
        is_complete: bool,
    ) -> Self {
        let mut exports = HashMap::new();
        for (&module, elf) in elves.iter().filter(|_| is_complete) {
            let Ok(table) = elf.dynamic_symbols() else { return Self::default() };
            for symbol in table.symbols {
                let kind = symbol.st_type();
                let is_code = matches!(kind, STT_FUNC | STT_GNU_IFUNC | STT_NOTYPE);
                if !is_code || symbol.st_shndx.get(LittleEndian) == SHN_UNDEF {
                    continue;
                }
                let name = table.name(symbol).filter(|name| called.contains(name));
                let Some(name) = name else { continue };
                let node = (kind == STT_FUNC).then(|| (module, symbol.st_value.get(LittleEndian)));
                let known = exports.entry(name).or_insert(node);
                if *known != node {
                    *known = None;
                }
            }
        }
        Self(exports)
    }
}

/// Where jumps lead that leave a function.
#[derive(Debug, Default)]
struct Jumps {
    to: BTreeSet<Node>,
    /// There may be one whose end is not known.
    is_open: bool,
}

struct Search<'m, 'data> {
    machines: HashMap<ModuleId, Machine<'m, 'data>>,
    exports: Exports<'data>,
    /// What they say of names of those who call.
    exported: NameMemo<Option<Node>>,
    /// Dynamic loaders.
    loaders: BTreeSet<ModuleId>,
    jumps: RefCell<HashMap<Node, Rc<Jumps>>>,
}

impl Search<'_, '_> {
    /// The function that a frame's call calls, and the one that the frame below it lies in, if
    /// they differ.
    fn ends(
        &self,
        profile: &saved::Profile,
        caller: FrameId,
        callee: FrameId,
    ) -> Option<(Node, Node)> {
        let caller = profile.frames.get(caller.index())?;
        let callee = profile.frames.get(callee.index())?;
        let module = caller.module?;
        let machine = self.machines.get(&module)?;
        let code = machine.elf.code_at(caller.offset.checked_sub(LONGEST_CALL)?..caller.offset)?;
        let target = match calls::decode(code, caller.offset)? {
            Reach::Code(address) => Target::Code(address),
            Reach::Slot(slot) => Target::Slot(slot),
        };
        let address = callee.offset.checked_sub(callee.kind.lookup_bias())?;
        let own = self.machines.get(&callee.module?)?;
        if self.loaders.contains(&callee.module?) {
            return None;
        }
        // Mostly what is called was found, and nothing more has to be read of it.
        let extent = own.extent(address)?;
        if (callee.module?, extent.start) == self.address(module, target)? {
            return None;
        }
        if plt::find(own.stubs, address).is_some() {
            return None;
        }
        // All stubs of a module may have one entry in the call frame information.
        let after = own.stubs.partition_point(|stub| stub.range.start < extent.start);
        if own.stubs.get(after).is_some_and(|stub| extent.contains(&stub.range.start)) {
            return None;
        }
        let from = self.node(module, target)?;
        let to = (callee.module?, own.function_at(address)?);
        (from != to).then_some((from, to))
    }

    /// The function that a frame lies in.
    fn function_of(&self, frame: &saved::Frame) -> Option<Node> {
        let module = frame.module?;
        let machine = self.machines.get(&module)?;
        let address = frame.offset.checked_sub(frame.kind.lookup_bias())?;
        let start = machine.extent(address)?.start;
        let is_part = machine.is_split_off(start);
        Some((module, if is_part { machine.function_at(start)? } else { start }))
    }

    /// Where a call or a jump arrives, if that is certain.
    fn address(&self, module: ModuleId, target: Target) -> Option<(ModuleId, u64)> {
        match self.machines.get(&module)?.callee(target)? {
            Reached::Code(address) => Some((module, address)),
            Reached::Slot(Callee::Symbol(name)) => {
                self.exported.get(name, || *self.exports.0.get(name)?)
            }
            Reached::Slot(Callee::Resolver(_)) => None,
        }
    }

    /// The function at which a call or a jump arrives, if that is certain.
    fn node(&self, module: ModuleId, target: Target) -> Option<Node> {
        let (module, address) = self.address(module, target)?;
        let start = self.machines.get(&module)?.function_at(address)?;
        (start == address).then_some((module, start))
    }

    fn jumps(&self, node: Node) -> Rc<Jumps> {
        if let Some(known) = self.jumps.borrow().get(&node) {
            return Rc::clone(known);
        }
        let mut jumps = Jumps::default();
        let machine = self.machines.get(&node.0);
        let structure = machine.and_then(|machine| machine.structure_at(node.1));
        jumps.is_open = structure.as_ref().is_none_or(|found| !found.unresolved().is_empty());
        for leave in structure.iter().flat_map(|structure| structure.leaves()) {
            // Where a conditional one leads does not matter, and need not be read.
            let to = (!leave.conditional).then(|| self.node(node.0, leave.target)).flatten();
            match to {
                Some(to) => jumps.to.extend([to]),
                None => jumps.is_open = true,
            }
        }
        let jumps = Rc::new(jumps);
        self.jumps.borrow_mut().insert(node, Rc::clone(&jumps));
        jumps
    }

    /// The functions from the one that was called to the one that was found, without the latter;
    /// empty if none is certain.
    fn chain(&self, from: Node, to: Node) -> Vec<OneOf> {
        let first = || vec![OneOf::from([from])];
        let mut reached = BTreeSet::from([from]);
        let mut work = vec![from];
        let mut is_open = false;
        // What was found may have been there before, and have left too.
        while let Some(node) = work.pop() {
            let jumps = self.jumps(node);
            is_open |= jumps.is_open;
            work.extend(jumps.to.iter().filter(|&&next| reached.insert(next)));
            if reached.len() > MOST_VISITED {
                is_open = true;
                break;
            }
            // More cannot change what is told.
            if is_open && reached.contains(&to) {
                return first();
            }
        }
        if !reached.contains(&to) {
            return Vec::new();
        }
        if is_open {
            return first();
        }
        let chains = self.chains(from, to, &reached);
        chains.and_then(|chains| together(&chains)).unwrap_or_else(first)
    }

    /// All chains; `None` if there are too many, or they lead in circles.
    fn chains(&self, from: Node, to: Node, reached: &BTreeSet<Node>) -> Option<Vec<Vec<Node>>> {
        let mut leading = HashSet::from([to]);
        let leads = |node: Node, leading: &HashSet<Node>| {
            self.jumps(node).to.iter().any(|next| leading.contains(next))
        };
        loop {
            let before = leading.len();
            for &node in reached.iter().filter(|&&node| node != to) {
                if leads(node, &leading) {
                    leading.insert(node);
                }
            }
            if leading.len() == before {
                break;
            }
        }
        if leads(to, &leading) {
            return None;
        }
        let mut chains = Vec::new();
        let mut work = vec![vec![from]];
        while let Some(chain) = work.pop() {
            let last = *chain.last()?;
            for &next in self.jumps(last).to.iter().filter(|next| leading.contains(*next)) {
                if next == to {
                    chains.push(chain.clone());
                } else if chain.contains(&next) {
                    return None;
                } else {
                    work.push([&chain[..], &[next]].concat());
                }
            }
            if chains.len() + work.len() > MOST_CHAINS {
                return None;
            }
        }
        Some(chains)
    }
}

/// What chains of one length have at each place; of long ones, as far as a profile has room.
fn together(chains: &[Vec<Node>]) -> Option<Vec<OneOf>> {
    let length = chains.first()?.len();
    if chains.iter().any(|chain| chain.len() != length) {
        return None;
    }
    let length = length.min(saved::MAX_TAIL_CALLS - 1);
    Some((0..length).map(|at| chains.iter().map(|chain| chain[at]).collect()).collect())
}
