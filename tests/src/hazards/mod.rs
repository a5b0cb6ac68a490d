//! The hazards, by kind. Each program is in `tests/workloads` and says at its top what it does.

pub mod exceptions;

use crate::hazard::Hazard;

/// Every hazard there is.
pub fn all() -> impl Iterator<Item = &'static Hazard> {
    [exceptions::ALL].into_iter().flatten()
}
