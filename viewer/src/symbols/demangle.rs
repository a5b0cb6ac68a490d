//! Mangled names to names for people.
//!
//! C++ names follow the Itanium ABI; Rust names its legacy scheme, which borrows the Itanium form
//! and ends in a hash, or the v0 scheme. Names of a few more languages are in
//! [`languages`](super::languages). Everything else is shown as it is.
//!
//! Names come from files that may be damaged. A name that cannot be demangled within the limits
//! below stays mangled: ugly, but true and unique.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};

use super::{itanium, languages};

/// Longest mangled name that is tried, in bytes. Template-heavy code reaches a few tens of
/// thousands.
const INPUT_LIMIT: usize = 1 << 16;

/// Longest demangled name, in bytes. Substitutions can make a short name expand exponentially.
const OUTPUT_LIMIT: usize = 1 << 16;

/// Nesting of a C++ name that is left to `cpp_demangle`, which needs between one and two MiB of
/// stack for this depth without optimization.
const RECURSION_LIMIT: u32 = 96;

/// A name before it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Name<'a> {
    /// As a compiler wrote it; mangled or not.
    Mangled(Cow<'a, str>),
    /// Made for people already.
    Plain(String),
    /// Made from the address of a function that has no name.
    MadeUp(String),
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
            Name::Plain(text) | Name::MadeUp(text) => text,
        }
    }
}

/// The name to show for `mangled`: itself if it is not mangled or cannot be demangled.
pub(super) fn demangle(mangled: &str) -> String {
    if mangled.len() > INPUT_LIMIT {
        return mangled.to_owned();
    }
    // A stub has the name of what it leads to.
    let (target, stub) = match mangled.strip_suffix("@plt") {
        Some(target) => (target, "@plt"),
        None => (mangled, ""),
    };
    let name = demangle_rust(target).or_else(|| demangle_cpp(target));
    let name = name.or_else(|| languages::demangle(target));
    name.map_or_else(|| mangled.to_owned(), |name| name + stub)
}

fn demangle_rust(mangled: &str) -> Option<String> {
    if !mangled.starts_with("_R") && rust_hash_end(mangled).is_none() {
        return None;
    }
    let name = rustc_demangle::try_demangle(mangled).ok()?;
    // The alternate form leaves out hashes, and v0 crate disambiguators.
    bounded(|out| fmt::write(out, format_args!("{name:#}")))
}

/// A mangled name without what compilers append to that of a part or a copy of the function:
/// `.cold`, `.isra.0`, `.llvm.123`.
pub(super) fn without_clone(mangled: &str) -> &str {
    // Of the mangling schemes, only Rust's legacy one puts dots into names.
    let end = rust_hash_end(mangled).or_else(|| mangled.find('.'));
    end.map_or(mangled, |end| &mangled[..end])
}

/// Where a legacy Rust name ends, `_ZN…17h<16 hex digits>E`, before a suffix that LLVM may have
/// added; `None` if the name is none. A C++ function cannot have that form: after `E` its parameter
/// types follow.
fn rust_hash_end(mangled: &str) -> Option<usize> {
    const TAIL: usize = "17h0123456789abcdefE".len();
    if !mangled.starts_with("_ZN") {
        return None;
    }
    // Dots are no sign of a suffix: `drop_in_place$LT$alloc..vec..Vec$GT$`.
    let ends = core::iter::once(mangled.len()).chain(mangled.rmatch_indices('.').map(|(at, _)| at));
    ends.take_while(|&end| end >= "_ZN".len() + TAIL).find(|&end| {
        let tail = &mangled.as_bytes()[end - TAIL..end];
        tail.starts_with(b"17h")
            && tail.ends_with(b"E")
            && tail[3..TAIL - 1].iter().all(u8::is_ascii_hexdigit)
    })
}

fn demangle_cpp(mangled: &str) -> Option<String> {
    if !mangled.starts_with("_Z") && !mangled.starts_with("_GLOBAL_") {
        return None;
    }
    if let Some(name) = itanium::demangle(mangled, OUTPUT_LIMIT) {
        return Some(name);
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
            ("_ZN4RingIiLj8EE5totalEv", "Ring<int, 8u>::total()"),
            ("_ZN5space12_GLOBAL__N_16hiddenEi", "space::(anonymous namespace)::hidden(int)"),
            ("_Z3foov.isra.0", "foo() [clone .isra.0]"),
            ("_Z3foov@plt", "foo()@plt"),
            ("printf@plt", "printf@plt"),
            ("_Z3foov@plt@plt", "_Z3foov@plt@plt"),
            ("_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const"),
            // Packs without elements, with references, and with functions of their own.
            (
                "_ZN4llvm15AnalysisManagerINS_6ModuleEJEE5clearEv",
                "llvm::AnalysisManager<llvm::Module>::clear()",
            ),
            ("_ZN3Set3addI1AJEEERT_DpOT0_", "Set::add<A>()"),
            (
                "_ZN3Set3addIJiRiA4_KcEEEvDpOT_",
                "Set::add<int, int&, char const [4]>(int&&, int&, char const (&&) [4])",
            ),
            (
                "_Z5firstIPFivEJZ1gvEUlvE_EEvT_DpT0_",
                "first<int (*)(), g()::{lambda()#1}>(int (*)(), g()::{lambda()#1})",
            ),
            // Of C++20: constraints, and declarations of template parameters.
            (
                "_ZN2DB5Field6createIcQeqstT_Li1EEEvPKS2_m",
                "DB::Field::create<char>(char const*, unsigned long)",
            ),
            (
                "_ZL13readULEB128AsIjTnNSt9enable_ifIXsr3stdE13is_unsigned_vIT_EEiE4typeELi0EES1_Rj",
                "readULEB128As<unsigned int, 0>(unsigned int&)",
            ),
            ("_Z1fITk5IsIntiEvT_", "f<int>(int)"),
            // A substitution that names a template parameter means that of the function around it.
            (
                "_Z3runIZ4makeIPFivEEvT_EUlvE_iEvS3_T0_",
                "run<make<int (*)()>(int (*)())::{lambda()#1}, int>(make<int (*)()>(int (*)())::{lambda()#1}, int)",
            ),
            // How gcc writes members of types.
            ("_Z3mulI1AEvRAsr6traitsIT_E4size_c", "mul<A>(char (&) [traits<A>::size])"),
            ("_ZN1AcvT_IiEEv", "A::operator int<int>()"),
            ("_ZlsRSoRK1A", "operator<<(std::ostream&, A const&)"),
            ("_ZN2nsltI1AEEbT_S2_", "ns::operator< <A>(A, A)"),
            (
                "_ZNKSt8functionIFvRKiEEclES1_",
                "std::function<void (int const&)>::operator()(int const&) const",
            ),
            ("_ZN1AC2ERKS_", "A::A(A const&)"),
            ("_ZThn16_N1A1fEv", "non-virtual thunk to A::f()"),
            ("_Z1fM1AKFivE", "f(int (A::*)() const)"),
            ("_Z1fRA3_A4_i", "f(int (&) [3][4])"),
            ("_ZN1fB5cxx11Ev", "f[abi:cxx11]()"),
            // Rust: legacy without its hash, v0 without crate disambiguators.
            ("_ZN7program4main17h0123456789abcdefE", "program::main"),
            ("_ZN7program3sum17h0123456789abcdefE.llvm.123", "program::sum"),
            (
                "_ZN4core3ptr36drop_in_place$LT$p..store..Store$GT$17hc3cf3b18fe7a1e56E",
                "core::ptr::drop_in_place<p::store::Store>",
            ),
            (
                "_ZN57_$LT$p..store..Store$u20$as$u20$core..ops..drop..Drop$GT$4drop\
                 17h268783743b86a612E.llvm.12818845636219016053",
                "<p::store::Store as core::ops::drop::Drop>::drop",
            ),
            (
                "_ZN1p4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
                "p::main::{{closure}}",
            ),
            ("_RNvCs1234_7program4main", "program::main"),
            ("_RNvCs1234_7program4main.llvm.123", "program::main"),
            ("_RINvCs1234_7program3sumhEB2_", "program::sum::<u8>"),
            // C++ without parameters is no Rust.
            ("_ZN3foo3barE", "foo::bar"),
        ] {
            assert_eq!(demangle(mangled), shown, "{mangled}");
        }
    }

    #[test]
    fn parts_and_copies_of_a_function_have_its_name() {
        for (part, whole) in [
            ("_Z3foov.isra.0.cold", "_Z3foov"),
            ("_RNvCs1234_7program4main.llvm.123", "_RNvCs1234_7program4main"),
            ("_ZN1a..b17h0123456789abcdefE.llvm.1", "_ZN1a..b17h0123456789abcdefE"),
            ("_ZN1a..b17h0123456789abcdefE", "_ZN1a..b17h0123456789abcdefE"),
            ("main", "main"),
        ] {
            assert_eq!(without_clone(part), whole);
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
    fn deep_nesting_is_read_within_half_the_stack_and_stays_mangled_beyond() {
        let nested = |depth: usize| {
            [
                format!("_Z1f{}i", "P".repeat(depth)),
                format!("_Z1f{}i{}", "1AI".repeat(depth), "E".repeat(depth)),
                format!("_Z1f{}i{}", "PF".repeat(depth), "vE".repeat(depth)),
                format!("_Z1fIXL{}", "Z1fIXL".repeat(depth)),
                format!("_Z1fIX{}Li1E{}EEvv", "nt".repeat(depth), ""),
                format!("_Z{}1f{}", "Z1fvE".repeat(depth), "v"),
                format!("_Z{}1fv{}1gv", "Z".repeat(depth), "E1gv".repeat(depth - 1) + "E"),
            ]
        };
        let test = move || {
            for depth in [50, 100, 200, 250, 300, 1000, 10_000] {
                nested(depth).iter().for_each(|mangled| _ = demangle(mangled));
            }
            for mangled in &nested(10_000)[..3] {
                assert_eq!(demangle(mangled), *mangled);
            }
            let shown = format!("f({}int>{})", "A<".repeat(80), " >".repeat(79));
            assert_eq!(demangle(&nested(80)[1]), shown);
            let shown = format!("f(int{})", "*".repeat(200));
            assert_eq!(demangle(&nested(200)[0]), shown);
        };
        let thread = std::thread::Builder::new().stack_size(crate::symbols::STACK_SIZE / 2);
        thread.spawn(test).unwrap().join().unwrap();
    }

    #[test]
    fn a_name_is_demangled_once() {
        let mut demangler = Demangler::default();
        assert_eq!(demangler.name("_Z3foov"), "foo()");
        assert_eq!(demangler.name("_Z3foov"), "foo()");
        assert_eq!(demangler.known.len(), 1);
    }
}
