//! Forests: the columns of their nodes, and what is computed from them.

pub(crate) mod bits;
pub(crate) mod children;
pub(crate) mod costs;
mod edges;
pub(crate) mod error;
mod families;
pub(crate) mod lazy;
pub(crate) mod lists;
mod name_order;
pub(crate) mod outline;
pub(crate) mod procedures;
pub(crate) mod recorded;
pub(crate) mod refined;
pub(crate) mod timing;
pub(crate) mod walk;
pub(crate) mod weights;
pub(crate) mod workspace;
