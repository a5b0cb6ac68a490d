//! Gives functions with several names the ones that are shown; see [`chosen`](super::chosen).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use csprof_format::ids::{FrameId, ModuleId};
use csprof_format::profile as saved;

use super::calls::{self, Called, Calls, Sought};
use super::chosen::{Callable, with_check};
use super::demangle::demangle;
use super::elf::Elf;
use super::imports::Imports;
use super::locate::{self, Own};
use super::module::ResolvedModule;
use super::request::FileSource;
use super::sites::Place;
use crate::profile::ShownName;

/// The profile whose functions are named, and the files that say how.
#[derive(Clone, Copy)]
pub(super) struct Naming<'n> {
    pub(super) profile: &'n saved::Profile,
    /// Where the program was started.
    pub(super) directory: &'n Path,
    pub(super) files: &'n dyn FileSource,
}

/// What functions were called before, by module and where they begin.
type Before<'n> = HashMap<(ModuleId, u64), &'n str>;

impl<'n> Naming<'n> {
    /// Names the functions of modules. `calls` are those on the stack: the caller's frame, and the
    /// place of what it called. `places` are those of the profile's frames.
    pub(super) fn apply(
        self,
        modules: &mut HashMap<ModuleId, ResolvedModule>,
        places: &[Option<Place>],
        calls: impl Iterator<Item = (FrameId, Place)>,
    ) {
        let callables = || modules.values().flat_map(|module| module.callable_at.by_key.values());
        if callables().next().is_none() {
            return;
        }
        let names: Vec<&String> = callables().flat_map(Callable::names).collect();
        let checked: Vec<String> = names.iter().map(|name| with_check(name)).collect();
        let all = names.into_iter().chain(&checked);
        let sought: HashSet<&[u8]> = all.map(String::as_bytes).collect();
        let imports = if sought.is_empty() {
            Imports::default()
        } else {
            Imports::read(self.profile, self.directory, self.files, &sought)
        };
        let before =
            if imports.is_complete() { Before::new() } else { self.before(modules, places) };
        let called = self.called(calls::sought(self.profile, calls, modules), modules);
        for (&id, module) in modules {
            let mut names = BTreeMap::new();
            for index in 0..module.callable_at.keys.len() {
                let Some((start, callable)) = module.callable_at.get(index) else { continue };
                let Some(row) = module.sites.rows_of(index).first() else { continue };
                let own = module.sites.name_of(row.function);
                names.entry(start).or_insert_with(|| match callable {
                    Callable::Nameless => called.best((id, start)),
                    _ => {
                        let known = before.get(&(id, start)).map(|name| ShownName::of(name));
                        let known = known.filter(|known| {
                            callable.names().iter().any(|name| demangle(name) == known.first)
                        });
                        callable.shown(own, |name| match &known {
                            Some(known) => {
                                let name = demangle(name);
                                known.called().any(|known| known == name)
                            }
                            None => {
                                let is_copy = !matches!(callable, Callable::Aliases(_));
                                imports.has(name)
                                    || is_copy && imports.has(&with_check(name))
                                    || module.chosen.is_called_inside(name)
                            }
                        })
                    }
                });
            }
            let keys = module.callable_at.keys.iter().enumerate();
            let renamed =
                keys.filter_map(|(index, key)| Some((index, names.get(&(*key)?)?.as_deref()?)));
            module.sites.rename(renamed);
        }
    }

    /// The names that the profile has, which its modules may have decided that are not there now.
    fn before(
        self,
        modules: &HashMap<ModuleId, ResolvedModule>,
        places: &[Option<Place>],
    ) -> Before<'n> {
        let mut before = Before::new();
        for (frame, place) in places.iter().enumerate() {
            let known = place.and_then(|place| {
                let (start, _) = modules.get(&place.module)?.callable_at.get(place.index)?;
                let row = self.profile.sites.rows(FrameId::from_index(frame)).next()?;
                let function = self.profile.sites.function.get(row)?;
                let function = self.profile.functions.get(function.index())?;
                let name = self.profile.strings.get(function.name.index())?;
                Some(((place.module, start), &**name))
            });
            if let Some((function, name)) = known {
                before.entry(function).or_insert(name);
            }
        }
        before
    }

    /// What functions without a name are called on the stack.
    fn called(self, sought: Sought, modules: &HashMap<ModuleId, ResolvedModule>) -> Called {
        let mut called = Called::default();
        for (caller, sought) in sought {
            let Some(wanted) = locate::wanted(self.profile, self.directory, caller) else {
                continue;
            };
            let own = catch_unwind(AssertUnwindSafe(|| locate::open_own(&wanted, self.files)));
            let Ok(Own::Matches(found)) = own else { continue };
            // A damaged file costs the names that it could have told. What is odd about it was
            // told when its own addresses were looked up. What was read of it before a panic is
            // part of what there is, so then nothing is chosen.
            let read = catch_unwind(AssertUnwindSafe(|| {
                let Ok(elf) = Elf::parse(&found.bytes) else { return };
                called.add(caller, &Calls::read(&elf), &sought, modules);
            }));
            if read.is_err() || found.bytes.is_changed() {
                return Called::default();
            }
        }
        called
    }
}
