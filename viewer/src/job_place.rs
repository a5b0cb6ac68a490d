//! Which rank of a job this process is.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use csprof_format::launch::job::Place;

/// The place of this process, by its environment.
#[must_use]
pub(crate) fn place_here() -> Option<Place> {
    let variables: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    Place::of(|name| {
        let found = variables.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_bytes())
    })
}

/// Whether this process may say what is true of its node: it is no rank, or the first one there; of
/// the job, where the launcher does not number those of a node.
#[must_use]
pub(crate) fn speaks_for_node() -> bool {
    let Some(place) = place_here() else { return true };
    let number = |name: &&str| std::env::var(name).ok()?.trim().parse::<u32>().ok();
    place.launcher.local_rank.iter().find_map(number).unwrap_or(place.rank) == 0
}

/// Whether this process is one of several ranks, so that a launcher may end it, and has others
/// write beside it.
#[must_use]
pub(crate) fn has_peers_here() -> bool {
    place_here().is_some_and(|place| place.has_peers())
}
