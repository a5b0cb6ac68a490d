//! Both sides as one profile, in which what is the same in both is one.
//!
//! Aligned are call paths of source-level frames: function name and load module. A load module is
//! the same in both if its file has the same name, versions left out (`libfoo.so.1.2` and
//! `libfoo.so.1.3`), or if it is the one program that only BASE ran, and only OTHER ran another.
//! Code without a name has an address instead, which means nothing in another build, so there it
//! is one row for the whole module.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use csprof_format::ids::{EpochId, ModuleId, ProcessId, StringId, ThreadId};
use csprof_format::profile as saved;

use super::rename::Rename;
use crate::profile::definitions::Named;
use crate::profile::intern::{Interner, Which};
use crate::profile::merge::Renumbered;
use crate::profile::name::{ShownName, marked};
use crate::profile::sides::{BASE, OTHER};
use crate::profile::{
    Frame, FrameKind, FrameRef, Function, FunctionRef, Nodes, NodesBuilder, Profile, Shared,
    Stream, name_of_file,
};

/// Other names of a function that are shown; a profile has 31 at most.
const MOST_OTHERS: usize = 64;

/// Where the tables of a run begin.
#[derive(Default)]
pub(super) struct First {
    pub(super) process: ProcessId,
    pub(super) thread: usize,
    pub(super) epoch: usize,
}

/// Both sides, while they are being put together.
pub(super) struct Union<'r> {
    /// What each load module is taken for, and whether it stands for several builds.
    modules: HashMap<ModuleId, (ModuleId, bool)>,
    renames: &'r [Rename],
    profile: Profile,
    interner: Interner,
    /// Names of functions beside the one that is compared.
    others: HashMap<FunctionRef, Vec<String>>,
    nodes: NodesBuilder,
}

impl<'r> Union<'r> {
    /// An empty union. `info` is about all runs; `first_other` is the first process of OTHER;
    /// `columns` is how many metrics nodes have beside the one that is compared.
    pub(super) fn new(
        info: saved::Profile,
        first_other: ProcessId,
        renames: &'r [Rename],
        columns: usize,
    ) -> Self {
        let mut union = Self {
            modules: HashMap::new(),
            renames,
            profile: Profile {
                info: info.into(),
                functions: Shared::default(),
                frames: Shared::default(),
                nodes: Nodes::default(),
                streams: Shared::default(),
                times: Shared::default(),
                spreads: Shared::default(),
                comparison: None,
                derived: Shared::default(),
            },
            interner: Interner::new(),
            others: HashMap::new(),
            nodes: NodesBuilder::new(columns),
        };
        union.align_modules(first_other);
        union
    }

    /// Finds the load modules that are the same on both sides.
    fn align_modules(&mut self, first_other: ProcessId) {
        let info = &self.profile.info;
        let name = |module: ModuleId| family(self.profile.module_path(module));
        let mut families: HashMap<&str, Vec<ModuleId>> = HashMap::new();
        for module in (0..info.modules.len()).map(ModuleId::from_index) {
            families.entry(name(module)).or_default().push(module);
        }
        // Programs, which the loader maps below all libraries, by side.
        let mut programs = [BTreeSet::new(), BTreeSet::new()];
        for epoch in &info.epochs {
            let side = usize::from(epoch.process >= first_other);
            if let Some(mapping) = epoch.load_map.first()
                && !self.profile.module_path(mapping.module).contains(".so")
            {
                programs[side].insert(name(mapping.module));
            }
        }
        let only = |side: usize| {
            let mut names = programs[side].difference(&programs[1 - side]);
            names.next().filter(|_| names.next().is_none())
        };
        if let (Some(base), Some(other)) = (only(BASE), only(OTHER)) {
            let of_other = families.remove(other).unwrap_or_default();
            families.entry(base).or_default().extend(of_other);
        }
        for members in families.values() {
            for &module in members {
                self.modules.insert(module, (members[0], members.len() > 1));
            }
        }
    }

    /// What the functions of a run of this side are called in the comparison.
    pub(super) fn named(&self, part: &Profile, ids: &Renumbered, side: usize) -> Vec<Named> {
        let mut nameless = vec![false; part.functions.len()];
        for frame in &part.frames {
            nameless[frame.function.index()] |= frame.kind == FrameKind::Unknown;
        }
        let named = |(function, nameless): (&Function, bool)| {
            let (named, is_renamed) = self.name(function, nameless, ids);
            let file = named.file.and_then(|file| self.profile.info.strings.get(file.index()));
            let module = function.module.map(|id| ids.modules[id.index()]);
            let about = module.and_then(|id| self.profile.info.modules.get(id.index()));
            let is_told = about.is_some_and(|module| !module.build_id.is_empty());
            let build = (module, (!is_told).then_some(side));
            Named { is_renamed, build, file: file.map(Arc::clone), function: named }
        };
        part.functions.iter().zip(nameless).map(named).collect()
    }

    /// Appends the trees of a run, of which these are the functions.
    pub(super) fn add(
        &mut self,
        part: Profile,
        ids: &Renumbered,
        first: First,
        functions: Vec<(Function, Option<Which>)>,
    ) {
        let named = part.functions.iter().zip(functions);
        let functions: Vec<FunctionRef> =
            named.map(|(own, (function, which))| self.function(own, function, which)).collect();
        let file = |file: Option<StringId>| file.map(|id| ids.strings[id.index()]);
        let frame = |frame: &Frame| {
            let function = functions[frame.function.index()];
            let site = frame.site.map(|site| ids.frames[site.index()]);
            self.interner.frame(Frame { function, file: file(frame.file), site, ..*frame })
        };
        let of_part = part.frames.iter().skip(1).map(frame);
        let frames: Vec<FrameRef> = std::iter::once(FrameRef::ROOT).chain(of_part).collect();
        // All nodes but the root move by as many as there are.
        let nodes = &mut self.nodes;
        let moved = u32::try_from(nodes.len()).unwrap_or(u32::MAX).saturating_sub(1);
        let node = |node: u32| if node == 0 { 0 } else { node + moved };
        nodes.parent.extend(part.nodes.parent.iter().skip(1).copied().map(node));
        nodes.frame.extend(part.nodes.frame.iter().skip(1).map(|frame| frames[frame.index()]));
        nodes.samples.extend(part.nodes.samples.iter().skip(1));
        for (further, of_part) in nodes.further.iter_mut().zip(&part.nodes.further) {
            further.extend(of_part.iter().skip(1));
        }
        nodes.edges.extend(part.nodes.edges.iter().skip(1));
        self.profile.streams.extend(part.streams.into_iter().map(|stream| Stream {
            process: ProcessId(stream.process.0 + first.process.0),
            thread: ThreadId::from_index(stream.thread.index() + first.thread),
            epoch: EpochId::from_index(stream.epoch.index() + first.epoch),
            nodes: stream.nodes.start + moved..stream.nodes.end + moved,
        }));
    }

    /// A function of a run, as it is called in the comparison, and whether a rule has renamed it.
    fn name(&self, function: &Function, nameless: bool, ids: &Renumbered) -> (Function, bool) {
        let own = function.module.map(|id| ids.modules[id.index()]);
        let (module, of_several) = own
            .and_then(|module| self.modules.get(&module))
            .map_or((None, own.is_none()), |&(module, several)| (Some(module), several));
        let shown = ShownName::of(&function.name);
        let (first, own) = shown.key();
        let compared: Arc<str> = match shown.also().next() {
            Some(_) => marked(first, &[], own).into(),
            None => Arc::clone(&function.name),
        };
        let renamed = || self.renames.iter().find_map(|rule| rule.apply(&compared));
        let (name, is_renamed): (Arc<str>, bool) = match (nameless && of_several, module) {
            (true, Some(module)) => {
                let name = name_of_file(self.profile.module_path(module));
                (format!("[{name} without names]").into(), false)
            }
            (true, None) => ("[code outside all modules]".into(), false),
            (false, _) => match renamed() {
                Some(renamed) => (renamed.into(), true),
                None => (compared, false),
            },
        };
        let file = function.file.map(|id| ids.strings[id.index()]);
        (Function { name, module, file, line: function.line }, is_renamed)
    }

    /// The number of a function that a run calls `own`.
    fn function(&mut self, own: &Function, named: Function, which: Option<Which>) -> FunctionRef {
        let shown = ShownName::of(&own.name);
        let number = self.interner.one_of_several(named, which);
        if shown.also().next().is_some() {
            let known = self.others.entry(number).or_default();
            for other in shown.also().take(MOST_OTHERS) {
                if known.len() < MOST_OTHERS && !known.iter().any(|known| known == other) {
                    known.push(other.to_owned());
                }
            }
        }
        number
    }

    /// How many nodes there are so far, with the root.
    pub(super) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The profile of all runs that were added.
    pub(super) fn finish(self) -> Profile {
        let Self { profile, mut interner, others, nodes, .. } = self;
        for (function, others) in others {
            let name = &mut interner.functions[function.index()].name;
            let (first, own) = ShownName::of(name).key();
            *name = marked(first, &others, own).into();
        }
        let (functions, frames) = (interner.functions.into(), interner.frames.into());
        Profile { functions, frames, nodes: nodes.finish(), ..profile }
    }
}

/// The name of a load module without folder and version: `libfoo.so` for `/lib/libfoo.so.1.2`
/// and `libc` for `libc-2.31.so`.
fn family(path: &str) -> &str {
    let name = name_of_file(path);
    let Some((stem, _)) = name.split_once(".so") else { return name };
    let unversioned = stem.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    match unversioned.strip_suffix('-') {
        Some(stem) if !stem.is_empty() => stem,
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::family;

    #[test]
    fn versions_are_no_part_of_a_name() {
        for (path, name) in [
            ("/lib/libfoo.so.1.2", "libfoo"),
            ("/opt/libfoo.so", "libfoo"),
            ("libc-2.31.so", "libc"),
            ("/usr/bin/python3.11", "python3.11"),
            ("[vdso]", "[vdso]"),
        ] {
            assert_eq!(family(path), name);
        }
    }
}
