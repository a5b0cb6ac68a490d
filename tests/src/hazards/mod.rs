//! The hazards, by kind. Each program is in `tests/workloads` and says at its top what it does.

pub mod contexts;
pub mod exceptions;
pub mod jumps;
pub mod signals;
pub mod stacks;

use crate::hazard::Hazard;

/// Every hazard there is.
pub fn all() -> impl Iterator<Item = &'static Hazard> {
    [contexts::ALL, exceptions::ALL, jumps::ALL, signals::ALL, stacks::ALL].into_iter().flatten()
}
