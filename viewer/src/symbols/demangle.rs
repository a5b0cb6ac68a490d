//! Mangled names to names for people.
//!
//! C++ names follow the Itanium ABI; Rust names its legacy scheme, which borrows the Itanium form
//! and ends in a hash, or the v0 scheme. Everything else is shown as it is.
//!
//! Names come from files that may be damaged. A name that cannot be demangled within the limits
//! below stays mangled: ugly, but true and unique.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};

/// Longest mangled name that is tried, in bytes. Template-heavy code reaches a few tens of
/// thousands.
const INPUT_LIMIT: usize = 1 << 16;

/// Longest demangled name, in bytes. Substitutions can make a short name expand exponentially.
const OUTPUT_LIMIT: usize = 1 << 16;

/// Nesting of a C++ name. Both passes recurse: this depth needs between one and two MiB of stack
/// without optimization, and is enough for every name in libLLVM and libstdc++.
const RECURSION_LIMIT: u32 = 96;

/// A name before it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Name<'a> {
    /// As a compiler wrote it; mangled or not.
    Mangled(Cow<'a, str>),
    /// Made for people already.
    Plain(String),
}

/// Demangles names, each one once: a few functions are named by most of the frames.
#[derive(Debug, Default)]
pub(super) struct Demangler {
    known: HashMap<Box<str>, Box<str>>,
}

impl Demangler {
    /// The name to show for a name as a symbol table or DWARF has it.
    pub(super) fn name(&mut self, mangled: &str) -> &str {
        if !self.known.contains_key(mangled) {
            self.known.insert(mangled.into(), demangle(mangled).into());
        }
        &self.known[mangled]
    }

    /// The text to show for a name.
    pub(super) fn show<'n>(&'n mut self, name: &'n Name<'_>) -> &'n str {
        match name {
            Name::Mangled(mangled) => self.name(mangled),
            Name::Plain(plain) => plain,
        }
    }
}

/// The name to show for `mangled`: itself if it is not mangled or cannot be demangled.
fn demangle(mangled: &str) -> String {
    if mangled.len() > INPUT_LIMIT {
        return mangled.to_owned();
    }
    let name = demangle_rust(mangled).or_else(|| demangle_cpp(mangled));
    name.unwrap_or_else(|| mangled.to_owned())
}

fn demangle_rust(mangled: &str) -> Option<String> {
    if !mangled.starts_with("_R") && !has_rust_hash(mangled) {
        return None;
    }
    let name = rustc_demangle::try_demangle(mangled).ok()?;
    // The alternate form leaves out hashes, and v0 crate disambiguators.
    bounded(|out| fmt::write(out, format_args!("{name:#}")))
}

/// Whether a name is `_ZN…17h<16 hex digits>E`, perhaps with a suffix that LLVM added. A C++
/// function cannot have that form: after `E` its parameter types follow.
fn has_rust_hash(mangled: &str) -> bool {
    const TAIL: usize = "17h0123456789abcdefE".len();
    let core = mangled.split('.').next().unwrap_or(mangled);
    let legacy = core.starts_with("_ZN") && core.len() > TAIL + "_ZN".len();
    legacy && {
        let tail = &core.as_bytes()[core.len() - TAIL..];
        tail.starts_with(b"17h")
            && tail.ends_with(b"E")
            && tail[3..TAIL - 1].iter().all(u8::is_ascii_hexdigit)
    }
}

fn demangle_cpp(mangled: &str) -> Option<String> {
    if !mangled.starts_with("_Z") && !mangled.starts_with("_GLOBAL_") {
        return None;
    }
    let parse = ParseOptions::default().recursion_limit(RECURSION_LIMIT);
    let symbol = Symbol::new_with_options(mangled.as_bytes(), &parse).ok()?;
    let options = DemangleOptions::new()
        .no_return_type()
        .hide_expression_literal_types()
        .recursion_limit(RECURSION_LIMIT);
    bounded(|out| symbol.structured_demangle(out, &options))
}

/// Text of at most [`OUTPUT_LIMIT`] bytes; writing more is an error, which ends the demangling.
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > OUTPUT_LIMIT {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

fn bounded(write: impl FnOnce(&mut Bounded) -> fmt::Result) -> Option<String> {
    let mut out = Bounded(String::new());
    write(&mut out).ok()?;
    (!out.0.is_empty()).then_some(out.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_for_people() {
        for (mangled, shown) in [
            // C, and what only looks mangled.
            ("main", "main"),
            ("__memmove_avx_unaligned_erms", "__memmove_avx_unaligned_erms"),
            ("_Z", "_Z"),
            ("_ZN5space3foo", "_ZN5space3foo"),
            ("_Rnonsense", "_Rnonsense"),
            ("", ""),
            // C++: arguments, no return type, clones, lambdas, values of template parameters.
            ("_ZN5space3fooEii", "space::foo(int, int)"),
            ("_Z5applyIiET_S0_", "apply<int>(int)"),
            ("_Z4callPFivE", "call(int (*)())"),
            ("_ZN4RingIiLj8EE5totalEv", "Ring<int, 8>::total()"),
            ("_ZN5space12_GLOBAL__N_16hiddenEi", "space::(anonymous namespace)::hidden(int)"),
            ("_Z3foov.isra.0", "foo() [clone .isra.0]"),
            ("_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const"),
            // Rust: legacy without its hash, v0 without crate disambiguators.
            ("_ZN7program4main17h0123456789abcdefE", "program::main"),
            ("_ZN7program3sum17h0123456789abcdefE.llvm.123", "program::sum"),
            ("_RNvCs1234_7program4main", "program::main"),
            ("_RINvCs1234_7program3sumhEB2_", "program::sum::<u8>"),
            // C++ without parameters is no Rust.
            ("_ZN3foo3barE", "foo::bar"),
        ] {
            assert_eq!(demangle(mangled), shown, "{mangled}");
        }
    }

    /// A function of `levels` arguments, each a pair of two of the one before: the substitutions
    /// `S1_`, `S2_`, … make its text double in length with each.
    fn doubling(levels: u32) -> String {
        let mut mangled = "_Z1f1PI1AS0_E".to_owned();
        for level in 1..levels {
            let digit = char::from_digit(level, 36).unwrap().to_ascii_uppercase();
            mangled.push_str(&format!("S_IS{digit}_S{digit}_E"));
        }
        mangled
    }

    #[test]
    fn a_name_that_expands_beyond_all_bounds_stays_mangled() {
        assert_eq!(demangle(&doubling(2)), "f(P<A, A>, P<P<A, A>, P<A, A> >)");
        assert_eq!(demangle(&doubling(30)), doubling(30));
    }

    #[test]
    fn deep_nesting_stays_mangled() {
        let mangled = format!("_Z1f{}i", "P".repeat(50_000));
        assert_eq!(demangle(&mangled), mangled);
        let nested = format!("_Z1f{}i{}", "1AI".repeat(10_000), "E".repeat(10_000));
        assert_eq!(demangle(&nested), nested);
    }

    #[test]
    fn a_name_is_demangled_once() {
        let mut demangler = Demangler::default();
        assert_eq!(demangler.name("_Z3foov"), "foo()");
        assert_eq!(demangler.name("_Z3foov"), "foo()");
        assert_eq!(demangler.known.len(), 1);
    }
}
