//! The hazards, by kind. Each program is in `tests/workloads` and says at its top what it does.

pub mod contexts;
pub mod descriptors;
pub mod exceptions;
pub mod jumps;
pub mod libraries;
pub mod limits;
pub mod processes;
pub mod signals;
pub mod stacks;
pub mod threads;

use crate::hazard::Hazard;

/// Every hazard there is.
pub fn all() -> impl Iterator<Item = &'static Hazard> {
    [
        contexts::ALL,
        descriptors::ALL,
        exceptions::ALL,
        jumps::ALL,
        libraries::ALL,
        limits::ALL,
        processes::ALL,
        signals::ALL,
        stacks::ALL,
        threads::ALL,
    ]
    .into_iter()
    .flatten()
}
