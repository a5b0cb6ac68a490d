//! Symbols of real files: small programs compiled here, by the compilers of this machine.
//!
//! | module | what it checks |
//! |---|---|
//! | `tables` | names from symbol tables, PLT stubs, stripped files |
//!
//! A test that needs a tool which is not installed prints that it was skipped.

#[cfg(test)]
mod build;
#[cfg(test)]
mod lines;
#[cfg(test)]
mod tables;
