//! C++ names, by the grammar of the Itanium C++ ABI (5.1, "External Names (a.k.a. Mangling)"), with
//! the constraints and template parameter declarations of C++20.
//!
//! The crate `cpp_demangle` reads this grammar too, and is asked for what is not understood here.
//! It does not come first because it loses arguments: of the names in libLLVM three in a hundred
//! have an empty pack as `<Module, >`, and more a parameter pack without its references, or the
//! parameters of another function.
//!
//! ```text
//!   _ZN4llvm11PassManagerINS_8FunctionEJEE3runEOT_          parse: nodes, which refer to nodes
//!   Nested(Template(Nested(llvm, PassManager), [Function, []]), run)       print: text
//!   llvm::PassManager<llvm::Function>::run(…)
//! ```
//!
//! The text is that of c++filt(1), with two things left out that tell no functions apart: return
//! types and constraints.
//!
//! Invariant: a name costs a bounded time, memory and stack: parsing takes each byte once, nodes
//! are shared, and printing ends at [`STEPS`](nodes::STEPS) nodes or the longest text that is
//! wanted.

mod expression;
mod nodes;
mod parse;
mod print;
mod tables;
mod types;

/// The text for people; `None` if the name is malformed, beyond the limits, or has a part that is
/// not understood.
pub(super) fn demangle(mangled: &str, longest: usize) -> Option<String> {
    let name = mangled.strip_prefix("_Z")?;
    let parsed = parse::parse(name, false).or_else(|| parse::parse(name, true));
    let (nodes, root, rest) = parsed?;
    let mut text = print::print(&nodes, root, longest)?;
    clones(rest, &mut text)?;
    Some(text)
}

/// What compilers appended, as c++filt(1) shows it: `.isra.0.cold` is ` [clone .isra.0] [clone
/// .cold]`.
fn clones(mut rest: &str, text: &mut String) -> Option<()> {
    while !rest.is_empty() {
        let inside = rest.strip_prefix('.')?;
        let mut end = inside.find('.').unwrap_or(inside.len());
        loop {
            let digits = inside[end..]
                .strip_prefix('.')
                .map_or("", |after| &after[..after.bytes().take_while(u8::is_ascii_digit).count()]);
            let after = inside.as_bytes().get(end + 1 + digits.len());
            if digits.is_empty() || after.is_some_and(|&byte| byte != b'.') {
                break;
            }
            end += 1 + digits.len();
        }
        // No compiler appends nothing.
        if end == 0 {
            return None;
        }
        text.push_str(&format!(" [clone .{}]", &inside[..end]));
        rest = &inside[end..];
    }
    Some(())
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::demangle;
    use crate::surroundings::skip;

    /// Standard output of a tool with this input; `None` if it is not installed.
    pub(in crate::symbols) fn run(tool: &str, arguments: &[&str], input: String) -> Option<String> {
        let mut command = Command::new(tool);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let Ok(mut child) = command.spawn() else {
            skip("names as others write them", &format!("{tool} not installed"));
            return None;
        };
        let mut stdin = child.stdin.take().unwrap();
        let feeder = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
        let output = child.wait_with_output().unwrap();
        let _ = feeder.join().unwrap();
        Some(String::from_utf8(output.stdout).unwrap())
    }

    /// What is left out here, and names that c++filt(1) spells out.
    fn normal(name: &str) -> String {
        let mut name =
            name.replace("std::basic_ostream<char, std::char_traits<char> >", "std::ostream");
        for (long, short) in [
            ("std::basic_istream<char, std::char_traits<char> >", "std::istream"),
            ("std::basic_iostream<char, std::char_traits<char> >", "std::iostream"),
            (
                "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
                "std::string",
            ),
            ("::basic_string(", "::string("),
            ("::basic_ostream(", "::ostream("),
            ("::basic_istream(", "::istream("),
            ("::basic_iostream(", "::iostream("),
            ("::~basic_", "::~"),
            ("> >", ">>"),
            ("> >", ">>"),
        ] {
            name = name.replace(long, short);
        }
        name
    }

    #[test]
    fn names_of_libraries_are_those_of_binutils() {
        for library in ["libstdc++.so.6", "libLLVM-14.so.1", "libLLVM.so.19.1"] {
            let path = format!("/usr/lib/x86_64-linux-gnu/{library}");
            if !std::path::Path::new(&path).exists() {
                skip("names of C++ as c++filt writes them", &format!("no {path}"));
                continue;
            }
            let Some(symbols) = run("nm", &["-D", &path], String::new()) else { return };
            let names = symbols.lines().filter_map(|line| line.rsplit(' ').next());
            let names = names.map(|name| name.split('@').next().unwrap());
            // What is data of a class has no arguments, in which the faults of demanglers are.
            let of_function = |name: &&str| name.starts_with("_Z") && !name.starts_with("_ZT");
            let names: Vec<&str> = names.filter(of_function).step_by(7).take(5000).collect();
            let Some(expected) = run("c++filt", &[], names.join("\n")) else { return };
            let mut differ = Vec::new();
            for (name, expected) in names.iter().zip(expected.lines()) {
                let found = demangle(name, 1 << 16).unwrap_or_default();
                let (found, expected) = (normal(&found), normal(expected));
                let result = expected.strip_suffix(&*found);
                if !result
                    .is_some_and(|result| result.is_empty() || result.ends_with([' ', '&', '*']))
                {
                    differ.push(format!("{name}\n  {found}\n  {expected}"));
                }
            }
            // What c++filt(1) does wrong: `<, void>` of an empty pack.
            let few = names.len() / 100;
            assert!(
                differ.len() <= few,
                "{path}: {} of {}: {:#?}",
                differ.len(),
                names.len(),
                &differ[..differ.len().min(20)]
            );
        }
    }

    #[test]
    fn what_compilers_append_is_shown_behind() {
        for (name, shown) in [
            ("_Z1fv.cold", "f() [clone .cold]"),
            ("_Z1fv.isra.0.cold", "f() [clone .isra.0] [clone .cold]"),
            ("_Z1fv.llvm.123", "f() [clone .llvm.123]"),
            ("_Z1fv.part.0.constprop.1", "f() [clone .part.0] [clone .constprop.1]"),
            ("_Z1fv.1", "f() [clone .1]"),
            ("_Z1fv.A", "f() [clone .A]"),
        ] {
            assert_eq!(demangle(name, 1000).as_deref(), Some(shown));
        }
        for name in ["_Z1fv@", "_Z1fv.", "_Z1fv..", "_Z1fv..cold", "_Z1fv.cold."] {
            assert_eq!(demangle(name, 1000), None, "{name}");
        }
        assert_eq!(demangle("_Z1fv.cold", 2), None);
    }

    #[test]
    fn damaged_names_end() {
        let name = "_ZN3Set3addIJiRiA4_KcEEEvDpOT_";
        for end in 0..name.len() {
            let _ = demangle(&name[..end], 1000);
            for byte in (b'!'..b'~').map(char::from) {
                let _ = demangle(&format!("{}{byte}{}", &name[..end], &name[end + 1..]), 1000);
            }
        }
        for name in [
            "_ZT",
            "_ZL",
            "_ZN",
            "_Z1",
            "_Z99999999999a",
            "_ZS_",
            "_ZNSE",
            "_Z1fT_",
            "_Z1fIT_EvT_",
            "_Zé",
        ] {
            assert_eq!(demangle(name, 1000), None, "{name}");
        }
    }
}
