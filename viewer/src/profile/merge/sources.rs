//! Lines of source files that several profiles keep.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use csprof_format::ids::{ModuleId, StringId};
use csprof_format::profile::SourceFile;

/// What a warning begins with that says which versions of source files contradict each other.
pub const CONFLICT: &str = "source files: the profiles keep different versions of ";

/// Source files of the parts: each version of a file once, with the modules and lines of all parts
/// that keep it. Where parts keep different versions for one module, both stay, and whoever shows
/// the file does not guess which is meant.
#[derive(Clone, Debug, Default)]
pub(in crate::profile) struct SourcesOfParts {
    files: BTreeMap<(StringId, u64, u32), SourceFile>,
}

impl SourcesOfParts {
    /// Adds those of a part, whose strings and modules are these in the merged profile.
    pub(in crate::profile) fn add(
        &mut self,
        part: &[SourceFile],
        strings: &[StringId],
        modules: &[ModuleId],
    ) {
        for file in part {
            let path = strings[file.path.index()];
            let moved: BTreeSet<ModuleId> =
                file.modules.iter().map(|module| modules[module.index()]).collect();
            let file = SourceFile { path, modules: moved.into_iter().collect(), ..file.clone() };
            match self.files.get_mut(&(path, file.digest, file.lines)) {
                Some(known) => known.join(&file),
                None => drop(self.files.insert((path, file.digest, file.lines), file)),
            }
        }
    }

    /// What is to be said of files that parts keep in different versions for one module.
    pub(in crate::profile) fn conflict(&self, strings: &[Arc<str>]) -> Option<String> {
        let mut versions: BTreeMap<(StringId, ModuleId), u32> = BTreeMap::new();
        for file in self.files.values() {
            for module in &file.modules {
                *versions.entry((file.path, *module)).or_default() += 1;
            }
        }
        let unclear = versions.iter().filter(|(_, versions)| **versions > 1);
        let paths: BTreeSet<StringId> = unclear.map(|((path, _), _)| *path).collect();
        let first = paths.first()?;
        let more = match paths.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!(
            "{CONFLICT}{}{more} for one module: which was compiled is not known, so they are not shown",
            strings[first.index()]
        ))
    }

    /// The files in their order.
    pub(in crate::profile) fn finish(self) -> Vec<SourceFile> {
        self.files.into_values().collect()
    }
}
