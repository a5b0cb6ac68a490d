//! Symbols of real files: small programs compiled here, by the compilers of this machine.
//!
//! | module | what it checks |
//! |---|---|
//! | `chosen` | functions that are chosen at run time: `memcpy` |
//! | `files` | separate debug files, changed and damaged files |
//! | `hostile` | damage of any kind |
//! | `lines` | lines, inlined functions, names from DWARF |
//! | `loops` | the loops that addresses lie in |
//! | `remembered` | names from a cache, files that change while they are read |
//! | `tables` | names from symbol tables, PLT stubs, stripped files |
//! | `tail_calls` | functions that left by tail calls |
//! | `whole` | a profile of several modules |
//!
//! A test that needs a tool which is not installed says that it is skipped.

#[cfg(test)]
mod build;
#[cfg(test)]
mod chosen;
#[cfg(test)]
mod files;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod lines;
#[cfg(test)]
mod loops;
#[cfg(test)]
#[path = "../../../tests/src/notes.rs"]
#[expect(unreachable_pub, reason = "it is public where it is at home")]
mod notes;
#[cfg(test)]
mod remembered;
#[cfg(test)]
mod tables;
#[cfg(test)]
mod tail_calls;
#[cfg(test)]
mod whole;
