//! The machine code of a function, from the very file that ran.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use csprof_format::ids::ModuleId;
use csprof_format::profile as saved;

use super::locate::{self, CHANGED, Own, Wanted};
use super::module::{self, Detail};
use super::request::FileSource;
use crate::structure::{Listed, listing};

/// Most bytes of code that are listed.
const MOST_CODE: usize = 1 << 20;

/// An instruction and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeLine {
    /// The instruction.
    pub listed: Listed,
    /// File and line, if they are known; of inlined code where that is written.
    pub line: Option<(Arc<str>, u32)>,
    /// The function that it calls or jumps to, if that is another one and its name is known.
    pub callee: Option<Arc<str>>,
}

/// The instructions of the functions, and of their parts, that hold some addresses of a module.
///
/// Only the file that ran tells: known by its build id, or by inode, size and times without one.
///
/// # Errors
/// Why there are none, and what would help, for people.
pub fn code_of(
    profile: &saved::Profile,
    id: ModuleId,
    addresses: &[u64],
    files: &dyn FileSource,
) -> Result<Vec<CodeLine>, String> {
    let directory = Path::new(OsStr::from_bytes(&profile.run.directory)).to_owned();
    let Some(wanted) = locate::wanted(profile, &directory, id) else {
        return Err("code that was generated while the program ran is in no file".to_owned());
    };
    // A damaged file may be too much for a library that reads it.
    let read = catch_unwind(AssertUnwindSafe(|| read(&wanted, addresses, files)));
    let damaged = || format!("{}: it is damaged in a way that csprof cannot handle", wanted.path);
    read.unwrap_or_else(|_| Err(damaged()))
}

fn read(
    wanted: &Wanted<'_>,
    addresses: &[u64],
    files: &dyn FileSource,
) -> Result<Vec<CodeLine>, String> {
    let path = wanted.path;
    if !wanted.is_certain() {
        return Err(format!(
            "{path} has no build id, and the profile does not tell which file it was, so the one \
             that is there now may be another; link it with --build-id and record again"
        ));
    }
    let located = locate::locate(wanted, files);
    match &located.own {
        Own::Matches(_) => {}
        Own::Differs { path } => {
            return Err(format!(
                "{path} is another build than the one that ran (its build id differs); put that \
                 one back, or record again"
            ));
        }
        Own::Unreadable(reason) => return Err(format!("{path}: {reason}")),
    }
    let parts = module::code(wanted, &located, addresses)?;
    if parts.iter().map(|(_, code)| code.len()).sum::<usize>() > MOST_CODE {
        return Err(format!("the function has more than {} MiB of code", MOST_CODE >> 20));
    }
    let listed: Vec<Listed> =
        parts.iter().flat_map(|(start, code)| listing(*start, code)).collect();
    let is_own = |address: u64| {
        parts.iter().any(|(start, code)| {
            address.checked_sub(*start).is_some_and(|at| at < code.len() as u64)
        })
    };
    let targets = listed.iter().filter_map(|of| of.target).filter(|target| !is_own(*target));
    let mut all: Vec<u64> = listed.iter().map(|of| of.address).chain(targets).collect();
    all.sort_unstable();
    all.dedup();
    let found = module::resolve(wanted, &located, &all, Detail::Lines, files, || {});
    if located.is_changed() {
        return Err(format!("{path}: {CHANGED}"));
    }
    let mut texts: BTreeMap<&str, Arc<str>> = BTreeMap::new();
    let mut shared = |text| Arc::clone(texts.entry(text).or_insert_with(|| text.into()));
    let rows = |address| match all.binary_search(&address) {
        Ok(at) => found.sites.rows_of(at),
        Err(_) => &[],
    };
    let told = |listed: Listed| {
        let row = rows(listed.address).last().filter(|row| row.line > 0);
        let line = row.and_then(|row| Some((shared(found.sites.string(row.file?)), row.line)));
        let other = listed.target.filter(|target| !is_own(*target));
        let callee = other.and_then(|target| rows(target).first());
        let callee = callee.map(|row| shared(found.sites.name_of(row.function)));
        CodeLine { listed, line, callee }
    };
    Ok(listed.into_iter().map(told).collect())
}

/// When the file of a module was last written to, in nanoseconds since 1970-01-01 UTC, if it is
/// certain that it is what ran.
#[must_use]
pub fn written_ns(profile: &saved::Profile, id: ModuleId, files: &dyn FileSource) -> Option<u64> {
    let directory = Path::new(OsStr::from_bytes(&profile.run.directory)).to_owned();
    let wanted = locate::wanted(profile, &directory, id).filter(Wanted::is_certain)?;
    let own = catch_unwind(AssertUnwindSafe(|| locate::open_own(&wanted, files)));
    match own {
        Ok(Own::Matches(found)) => found.bytes.modified_ns(),
        _ => None,
    }
}
