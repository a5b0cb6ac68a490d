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
//!
//! ```text
//!  arena, one per process                      saved profile, one per run
//! ┌─────────────────────────────┐             ┌─────────────────────────────────────────────┐
//! │ header: pid, source, period │             │ header: magic, version, run id, checksum    │
//! ├─────────────────────────────┤             ├─────────────────────────────────────────────┤
//! │ log: command, loads, epochs │   gather    │ run, metrics, strings, modules, processes,  │
//! ├─────────────────────────────┤ ──────────► │ threads with their losses, epochs           │
//! │ thread: counters, losses    │  (record)   ├─────────────────────────────────────────────┤
//! │   node node node …          │             │ frames, functions, sites                    │
//! ├─────────────────────────────┤             ├─────────────────────────────────────────────┤
//! │ more nodes …                │             │ trees, nodes in pre-order, end              │
//! └─────────────────────────────┘             └─────────────────────────────────────────────┘
//!  grows while the program runs                blocks of a header, a checksum and a payload;
//!  and survives its death                      each refers only to blocks before it
//! ```
//!
//! Saving and opening, the profile of a run in which nothing was sampled:
//!
//! ```
//! # #[cfg(feature = "saved")] {
//! use csprof_format::profile::{Metric, Profile};
//! use csprof_format::{read, write};
//!
//! let metric = Metric { source: "cputime".into(), unit: "ns".into(), period: 5_000_000 };
//! let profile = Profile { metric, ..Profile::default() };
//! let mut file = Vec::new();
//! write::write(&profile, &mut file)?;
//! assert_eq!(read::read(&file)?, profile);
//!
//! let error = read::read(&file[..200]).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "block 2 at byte 0xbc: the file is cut off, bytes missing: 36 or more; \
//!      2 of 3 blocks were readable, use --salvage to open them"
//! );
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariant: nothing here panics, recurses deeply or allocates without limit, whatever bytes it
//! is given.

#![cfg_attr(not(any(feature = "saved", test)), no_std)] // as the collector is

extern crate alloc;

pub mod address;
pub mod arena;
pub mod file_identity;
pub mod launch;
pub mod loss;
pub mod program;
pub mod role;

#[cfg(feature = "saved")]
mod ahead;
#[cfg(feature = "saved")]
pub mod beside;
#[cfg(feature = "saved")]
mod block;
#[cfg(feature = "saved")]
pub mod budget;
#[cfg(feature = "saved")]
mod codec;
#[cfg(feature = "saved")]
pub mod earlier;
#[cfg(feature = "saved")]
pub mod error;
#[cfg(feature = "saved")]
mod foreign;
#[cfg(feature = "saved")]
mod header;
#[cfg(feature = "saved")]
pub mod ids;
#[cfg(feature = "saved")]
mod integers;
#[cfg(feature = "saved")]
pub mod intern;
#[cfg(feature = "saved")]
mod kind;
#[cfg(feature = "saved")]
pub mod profile;
#[cfg(feature = "saved")]
pub mod read;
#[cfg(feature = "saved")]
pub mod salvage;
#[cfg(feature = "saved")]
mod sections;
#[cfg(feature = "saved")]
pub mod source_file;
#[cfg(feature = "saved")]
pub mod spread;
#[cfg(feature = "saved")]
mod structure;
#[cfg(feature = "saved")]
pub mod sum;
#[cfg(feature = "saved")]
mod thread_count;
#[cfg(feature = "saved")]
pub mod times;
#[cfg(feature = "saved")]
pub mod validate;
#[cfg(feature = "saved")]
mod version;
#[cfg(feature = "saved")]
mod violation;
#[cfg(feature = "saved")]
pub mod whole_file;
#[cfg(feature = "saved")]
pub mod write;

/// The 128-bit FNV-1a hash (Fowler, Noll, Vo).
#[must_use]
pub fn fnv_1a(bytes: impl IntoIterator<Item = u8>) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let step = |hash: u128, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME);
    bytes.into_iter().fold(OFFSET, step)
}
