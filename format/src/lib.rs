//! The layouts that the parts of csprof share, and nothing else.
//!
//! Three contracts live here, in the order in which a run meets them:
//!
//! 1. [`launch`]: what `csprof record` tells the collector through the environment.
//! 2. [`arena`]: what the collector writes into shared memory while the program runs.
//! 3. [`profile`], [`write`](mod@write), [`read`](mod@read): the saved profile, `*.csprof`.
//!
//! `FORMAT.md` beside this crate is the normative description of 2 and 3. The collector uses
//! 1 and 2 only (feature `saved` off), so it links neither serde nor bincode.

pub mod address;
pub mod arena;
pub mod launch;
pub mod loss;

#[cfg(feature = "saved")]
mod block;
#[cfg(feature = "saved")]
mod codec;
#[cfg(feature = "saved")]
pub mod error;
#[cfg(feature = "saved")]
mod header;
#[cfg(feature = "saved")]
pub mod ids;
#[cfg(feature = "saved")]
pub mod intern;
#[cfg(feature = "saved")]
pub mod profile;
#[cfg(feature = "saved")]
pub mod read;
#[cfg(feature = "saved")]
mod salvage;
#[cfg(feature = "saved")]
mod sections;
#[cfg(feature = "saved")]
pub mod validate;
#[cfg(feature = "saved")]
pub mod write;
