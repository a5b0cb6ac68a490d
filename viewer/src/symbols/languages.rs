//! Names of languages that write theirs into plain C identifiers, as their users write them.
//!
//! | language | in a symbol table | shown |
//! |---|---|---|
//! | Fortran, gfortran | `__solver_MOD_step` | `solver::step` |
//! | Fortran, flang | `_QMsolverPstep`, `_QFPinner` | `solver::step`, `inner` |
//! | OCaml | `camlStdlib__List__map_123` | `Stdlib.List.map` |
//! | Haskell, GHC | `base_GHCziBase_map_info` | `GHC.Base.map` |
//! | D | `_D3app4work5wordsFiZi` | `app.work.words(int)` |
//! | Ada, GNAT | `_ada_main`, `pkg__run__2` | `main`, `pkg.run` |
//!
//! Invariant: a name is only taken apart by the marks of its language: OCaml's number, a dot in a
//! module of Haskell or the version of its package. Two underscores, which are
//! Ada's dot, are also in many names of C; so those are Ada's only where DWARF, the mark `_ada_` or
//! the name of a source file of Ada says so ([`AdaUnits`]).

use std::collections::BTreeSet;

use object::elf;

use super::dlang;
use super::elf::RawSymbols;
use crate::profile::CloneMarks;

/// The name to show for a symbol; `None` if it is of none of these languages.
pub(super) fn demangle(symbol: &str) -> Option<String> {
    if !symbol.is_ascii() {
        return None;
    }
    let (name, clone) = without_marks(symbol);
    let shown = gfortran(name)
        .or_else(|| flang(name))
        .or_else(|| ocaml(name))
        .or_else(|| haskell(name))
        .or_else(|| dlang::demangle(name))
        .or_else(|| name.strip_prefix("_ada_").and_then(ada))?;
    Some(if clone.is_empty() { shown } else { format!("{shown} [clone {clone}]") })
}

/// A symbol without what a compiler appended to that of a part or a copy, `.isra.0`, and that.
fn without_marks(symbol: &str) -> (&str, &str) {
    symbol.split_at(CloneMarks::of(symbol).first.unwrap_or(symbol.len()))
}

/// `__MODULE_MOD_NAME`; a procedure of a submodule is in `__MODULE.SUBMODULE_MOD_NAME`.
fn gfortran(name: &str) -> Option<String> {
    let (module, name) = name.strip_prefix("__")?.split_once("_MOD_")?;
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(is_lower);
    if !module.split('.').all(is_name) || !is_name(name) {
        return None;
    }
    Some(format!("{}::{name}", module.replace('.', "::")))
}

/// `_Q`, and then each name behind a capital letter: `M` module, `S` submodule, `F` function that
/// contains the next one, `P` procedure (Flang, "Bijective Internal Name Uniquing"). `_QQmain` is
/// the main program.
fn flang(name: &str) -> Option<String> {
    let mut rest = name.strip_prefix("_Q")?;
    if rest == "Qmain" {
        return Some("main program".to_owned());
    }
    let mut parts = Vec::new();
    while let Some(kind) = rest.chars().next() {
        let after = &rest[1..];
        let length = after.bytes().take_while(|&byte| is_lower(byte)).count();
        let part = &after[..length];
        match kind {
            // The main program has no name.
            'F' if part.is_empty() => {}
            'M' | 'S' | 'F' | 'P' if !part.is_empty() => parts.push(part),
            _ => return None,
        }
        rest = &after[length..];
        if kind == 'P' {
            return rest.is_empty().then(|| parts.join("::"));
        }
    }
    None
}

fn is_lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'
}

/// `caml`, the module path with `__` or `.` between its parts, the name, and a number that tells
/// apart functions of one name. `fun_123`, a function without a name, keeps it. Other characters
/// than letters are written `$hh`, in hexadecimal.
fn ocaml(name: &str) -> Option<String> {
    let path = name.strip_prefix("caml")?;
    // What dune puts before the modules of a program.
    let path = path.strip_prefix("Dune__exe__").unwrap_or(path);
    if !path.starts_with(|first: char| first.is_ascii_uppercase()) {
        return None;
    }
    // The last separator is the one before the function; names may have two underscores as well.
    let mut parts = Vec::new();
    let mut rest = path;
    while rest.starts_with(|first: char| first.is_ascii_uppercase()) {
        let separators = [rest.find("__").map(|at| (at, 2)), rest.find('.').map(|at| (at, 1))];
        let Some((at, length)) = separators.into_iter().flatten().min() else { break };
        parts.push(rest[..at].to_owned());
        rest = &rest[at + length..];
    }
    let (function, number) = rest.rsplit_once('_').unwrap_or((rest, ""));
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    // Without the number it may be a name of C.
    if parts.is_empty() || function.is_empty() || !is_number {
        return None;
    }
    let function = if function == "fun" { rest } else { function };
    let function = from_hexadecimal(function)?;
    parts.push(in_brackets(function));
    Some(parts.join("."))
}

fn from_hexadecimal(name: &str) -> Option<String> {
    let mut parts = name.split('$');
    let mut whole = parts.next()?.to_owned();
    for part in parts {
        let code = u8::from_str_radix(part.get(..2)?, 16).ok().filter(u8::is_ascii_graphic)?;
        whole.push(char::from(code));
        whole.push_str(&part[2..]);
    }
    Some(whole)
}

/// An operator, `>>=`, as it stands behind a dot: `(>>=)`.
fn in_brackets(name: String) -> String {
    let is_word =
        |first: char| first.is_alphanumeric() || matches!(first, '_' | '$' | '(' | '[' | '\'');
    if name.starts_with(is_word) { name } else { format!("({name})") }
}

/// `PACKAGE_MODULE_NAME_info`, each part in GHC's Z-encoding, in which there are no underscores
/// (GHC Commentary, "Symbol Names"). The package is left out for the program's own.
fn haskell(name: &str) -> Option<String> {
    const CODE: [&str; 4] = ["_info", "_entry", "_slow", "_fast"];
    let whole = CODE.iter().find_map(|end| name.strip_suffix(end))?;
    let whole = ["_con", "_static"].iter().find_map(|end| whole.strip_suffix(end)).unwrap_or(whole);
    let parts: Vec<&str> = whole.split('_').collect();
    let [package, module, function] = parts[..] else { return None };
    // A dot in the module, or the version of the package: else it may be a name of C.
    let has = |part: &str, code, is_next: fn(&u8) -> bool| {
        part.match_indices(code).any(|(at, _)| part.as_bytes().get(at + 2).is_some_and(is_next))
    };
    let is_ghc =
        has(module, "zi", u8::is_ascii_uppercase) || has(package, "zm", u8::is_ascii_digit);
    if !is_ghc {
        return None;
    }
    let is_module = module.starts_with(|first: char| first.is_ascii_uppercase());
    if !is_module || function.is_empty() {
        return None;
    }
    Some(format!("{}.{}", from_z(module)?, in_brackets(from_z(function)?)))
}

/// Undoes the Z-encoding.
fn from_z(text: &str) -> Option<String> {
    let mut whole = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        rest = &rest[first.len_utf8()..];
        if !matches!(first, 'z' | 'Z') {
            whole.push(first);
            continue;
        }
        let code = rest.chars().next()?;
        if code.is_ascii_digit() {
            let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
            let number = &rest[..digits];
            let end = rest[digits..].chars().next()?;
            rest = &rest[digits + 1..];
            match (first, end) {
                // A tuple of so many elements; `H` has no boxes.
                ('Z', 'T' | 'H') => {
                    let count: usize = number.parse().ok().filter(|&count| count <= 64)?;
                    let commas = ",".repeat(count.saturating_sub(1));
                    let hash = if end == 'H' { "#" } else { "" };
                    whole.push_str(&format!("({hash}{commas}{hash})"));
                }
                ('z', 'U') => {
                    whole.push(u32::from_str_radix(number, 16).ok().and_then(char::from_u32)?);
                }
                _ => return None,
            }
            continue;
        }
        const SMALL: &[(char, char)] = &[
            ('a', '&'),
            ('b', '|'),
            ('c', '^'),
            ('d', '$'),
            ('e', '='),
            ('g', '>'),
            ('h', '#'),
            ('i', '.'),
            ('l', '<'),
            ('m', '-'),
            ('n', '!'),
            ('p', '+'),
            ('q', '\''),
            ('r', '\\'),
            ('s', '/'),
            ('t', '*'),
            ('u', '_'),
            ('v', '%'),
            ('z', 'z'),
        ];
        const LARGE: &[(char, char)] =
            &[('C', ':'), ('L', '('), ('M', '['), ('N', ']'), ('R', ')'), ('Z', 'Z')];
        let codes = if first == 'z' { SMALL } else { LARGE };
        whole.push(codes.iter().find(|(from, _)| *from == code)?.1);
        rest = &rest[1..];
    }
    Some(whole)
}

/// The units of Ada in a module, which tell names of Ada from names of C where there is no DWARF:
/// the unit `geometry.solids` is the file `geometry-solids.adb` (GNAT User's Guide, "Naming
/// Conventions"), which is a symbol of type `STT_FILE`, and all its subprograms begin with
/// `geometry__solids__`.
#[derive(Debug, Default)]
pub(super) struct AdaUnits(BTreeSet<String>);

impl AdaUnits {
    /// The units that symbol tables tell of.
    pub(super) fn of(tables: &[RawSymbols<'_>]) -> Self {
        let mut units = BTreeSet::new();
        for table in tables {
            let symbols = table.symbols.iter();
            let files = symbols.filter(|symbol| symbol.st_type() == elf::STT_FILE);
            for name in files.filter_map(|file| std::str::from_utf8(table.name(file)?).ok()) {
                let unit = name.strip_suffix(".adb").or_else(|| name.strip_suffix(".ads"));
                units.extend(unit.map(|unit| unit.replace('-', "__")));
            }
        }
        Self::with_runtime(units)
    }

    /// With the units of GNAT's library, whose files have short names.
    fn with_runtime(mut units: BTreeSet<String>) -> Self {
        if !units.is_empty() {
            units.extend(["ada", "gnat", "interfaces", "system"].map(str::to_owned));
        }
        Self(units)
    }

    /// The name of a subprogram of one of the units.
    pub(super) fn name(&self, symbol: &str) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        let (name, clone) = without_marks(symbol);
        // What is nested in a subprogram ends with a number, `work__inner.0`.
        let name = name.split('.').next()?;
        let is_unit = |(at, _): (usize, &str)| self.0.contains(&name[..at]);
        let shown = name.match_indices("__").any(is_unit).then(|| ada(name))??;
        Some(if clone.is_empty() { shown } else { format!("{shown} [clone {clone}]") })
    }
}

/// A name that GNAT made, without `_ada_` before it: `pkg__run__2` is `pkg.run` (GNAT,
/// exp_dbug.ads). `None` for what is no subprogram with a name, such as `pkg___elabb`.
pub(super) fn ada(name: &str) -> Option<String> {
    let name = name.strip_prefix("_ada_").unwrap_or(name);
    if !name.is_ascii() {
        return None;
    }
    let mut parts: Vec<&str> = name.split("__").collect();
    let is_number = |part: &&str| {
        let digits = without_nesting(part);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
    };
    if parts.len() > 1 && parts.last().is_some_and(is_number) {
        parts.pop();
    }
    let mut shown = Vec::new();
    for part in parts {
        if part.is_empty() || part.starts_with('_') {
            return None;
        }
        let part = without_nesting(part);
        let operator = OPERATORS.iter().find(|(from, _)| *from == part);
        match operator {
            Some((_, operator)) => shown.push(format!("\"{operator}\"")),
            // Capital letters mark what the compiler made.
            None if part.bytes().all(is_lower) => shown.push(part.to_owned()),
            None => return None,
        }
    }
    Some(shown.join("."))
}

/// What is nested in bodies ends with `X`, and `n` or `b` for each level.
fn without_nesting(part: &str) -> &str {
    part.trim_end_matches(['n', 'b']).strip_suffix('X').unwrap_or(part)
}

/// Ada's operators as functions.
const OPERATORS: [(&str, &str); 19] = [
    ("Oabs", "abs"),
    ("Oand", "and"),
    ("Omod", "mod"),
    ("Onot", "not"),
    ("Oor", "or"),
    ("Orem", "rem"),
    ("Oxor", "xor"),
    ("Oeq", "="),
    ("One", "/="),
    ("Olt", "<"),
    ("Ole", "<="),
    ("Ogt", ">"),
    ("Oge", ">="),
    ("Oadd", "+"),
    ("Osubtract", "-"),
    ("Oconcat", "&"),
    ("Omultiply", "*"),
    ("Odivide", "/"),
    ("Oexpon", "**"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_as_their_users_write_them() {
        for (symbol, shown) in [
            ("__solver_MOD_step", "solver::step"),
            ("__solver.fast_MOD_step", "solver::fast::step"),
            ("__solver_MOD_step.constprop.0", "solver::step [clone .constprop.0]"),
            ("__solver_MOD_step._omp_fn.0", "solver::step [clone ._omp_fn.0]"),
            ("_QMsolverPstep", "solver::step"),
            ("_QMsolverSfastPstep", "solver::fast::step"),
            ("_QMsolverFstepPinner", "solver::step::inner"),
            ("_QFPinner", "inner"),
            ("_QPstep", "step"),
            ("_QQmain", "main program"),
            ("camlStdlib__List__map_123", "Stdlib.List.map"),
            ("camlStdlib__List.map_123", "Stdlib.List.map"),
            ("camlRe__Automata__marks_set_idx_651", "Re.Automata.marks_set_idx"),
            ("camlRe__Group__fun_1161", "Re.Group.fun_1161"),
            ("camlDune__exe__Main__run_12", "Main.run"),
            ("camlCache.cold_start_270", "Cache.cold_start"),
            ("camlCache.warm_271", "Cache.warm"),
            ("camlCache.omp_run_272", "Cache.omp_run"),
            ("camlCache.part_273", "Cache.part"),
            ("camlCache.cold_274.cold", "Cache.cold [clone .cold]"),
            ("_D1a4coldFiZv.part.0.cold", "a.cold(int) [clone .part.0.cold]"),
            ("__solver.fast_MOD_step.cold", "solver::fast::step [clone .cold]"),
            ("_QMsolverPstep.omp_outlined..1", "solver::step [clone .omp_outlined..1]"),
            ("camlA__$3e$3e$3d_12", "A.(>>=)"),
            ("base_GHCziBase_map_info", "GHC.Base.map"),
            ("base_GHCziBase_zgzgze_info", "GHC.Base.(>>=)"),
            ("base_DataziEither_Right_con_info", "Data.Either.Right"),
            (
                "randomzm1zi2zi1zi1zmC39Bl6vCcFv5bcBncES6Ba_SystemziRandom_zdfRandomBoolzuzdcrandomRs_info",
                "System.Random.$fRandomBool_$crandomRs",
            ),
            ("ghczmprim_GHCziTuple_Z2T_con_info", "GHC.Tuple.(,)"),
            ("_ada_main", "main"),
            ("_ada_ada__strings__hash", "ada.strings.hash"),
        ] {
            assert_eq!(demangle(symbol).as_deref(), Some(shown), "{symbol}");
        }
    }

    #[test]
    fn names_of_c_stay() {
        for symbol in [
            "main",
            "write",
            "caml_alloc",
            "caml_curry3_1_app",
            "camlFib",
            "a_MOD_b",
            "__A_MOD_b",
            "__x_MOD_",
            "_Quit",
            "_QMx",
            "_QMxPaB",
            "_Q",
            "my_Widget_get_info",
            "get_info",
            "_info",
            "base_GHCzxBase_map_info",
            "base_GHCziBase_Z99T_info",
            "base_GHCziBase__info",
            "z_A_z_info",
            "pkg__run",
            "_ada_",
            "_ada__x",
            "stg_ap_pp_info",
            "camlA__$zz_1",
            "camlA__$e9_1",
            "Main_z9_info",
            "Main_Z9_info",
            "Main_z12345678901U_info",
            "camlÄ__é_1",
            "_Qé",
            "Main_z9é_info",
            "camlFib__entry",
            "camlTest__call",
            "main_Loop_run_fast",
            "Main_menu_entry",
            "fuzzing_Case_get_info",
            "sizing_Foo_bar_info",
            "base_Object_get_info",
        ] {
            assert_eq!(demangle(symbol), None, "{symbol}");
        }
    }

    #[test]
    fn names_of_ada_are_known_by_their_files() {
        let units = ["geometry", "geometry__solids"].map(str::to_owned);
        let units = AdaUnits::with_runtime(units.into());
        for (symbol, shown) in [
            ("geometry__norm", Some("geometry.norm")),
            ("geometry__solids__area__2", Some("geometry.solids.area")),
            ("geometry__sort__swap.0", Some("geometry.sort.swap")),
            ("geometry__norm.part.0", Some("geometry.norm [clone .part.0]")),
            ("ada__text_io__put_line__2", Some("ada.text_io.put_line")),
            ("geometry___elabb", None),
            ("other__norm", None),
            ("geometry_norm", None),
            ("main", None),
        ] {
            assert_eq!(units.name(symbol).as_deref(), shown, "{symbol}");
        }
        let none = AdaUnits::with_runtime(BTreeSet::new());
        assert_eq!(none.name("ada__text_io__put"), None);
    }

    #[test]
    fn names_of_ada_have_dots() {
        for (name, shown) in [
            ("ada__text_io__put__4", "ada.text_io.put"),
            (
                "ada__numerics__real_arrays__instantiations__Oabs__3Xnn",
                "ada.numerics.real_arrays.instantiations.\"abs\"",
            ),
            ("interfaces__fortran__Oadd__2", "interfaces.fortran.\"+\""),
            ("gnat__awk__field_table__growXn", "gnat.awk.field_table.grow"),
            ("_ada_main", "main"),
        ] {
            assert_eq!(ada(name).as_deref(), Some(shown), "{name}");
        }
        for name in ["ada__text_io___elabb", "gnat__awk__session_dataDF", "pkg__clusterIP", ""] {
            assert_eq!(ada(name), None, "{name}");
        }
    }
}
