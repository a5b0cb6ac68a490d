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

/// Whether this process is one of several ranks, so that a launcher may end it, and has others
/// write beside it.
#[must_use]
pub(crate) fn has_peers_here() -> bool {
    place_here().is_some_and(|place| place.has_peers())
}
