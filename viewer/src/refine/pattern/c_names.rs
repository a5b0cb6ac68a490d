//! Names of functions in C and Fortran and of languages that write paths with dots, and what else
//! these are called.

use crate::profile::{CloneMarks, ShownName, closed_group};

/// Dots of a path that part it.
const MOST_DOTS: usize = 64;

/// Whether a name is one of a function of C or Fortran, or a path with dots of plain words.
pub(crate) fn is_of_c(name: &str) -> bool {
    !name.bytes().any(|byte| matches!(byte, b'(' | b'<' | b':')) && !name.contains("[go.shape.")
}

/// What else a function of C or Fortran is called. `__write` is `write`;
/// `__memcpy_avx512_unaligned_erms`, one of the implementations that glibc chooses from when the
/// program starts, is `memcpy_avx512_unaligned_erms` and `memcpy`; `scan.part.0`, which the
/// compiler made of a piece of it, is `scan`; `dgemm_` is `dgemm`, and `__grid_MOD_step` is `step`.
/// `memcpy [also memmove]` is both.
/// In a language that `writes_dots`, what looks like a compiler's mark may be the function; where
/// the language is not known, a word may be both.
pub(crate) fn c_forms(name: &str, writes_dots: impl Fn() -> bool) -> impl Iterator<Item = &str> {
    const PROCESSORS: [&str; 7] =
        ["_avx", "_evex", "_sse2", "_sse4", "_ssse3", "_erms", "_generic"];
    let marks = CloneMarks::of(name);
    let certain = marks.certain.unwrap_or(name.len());
    let of_c = marks.of_c(name).unwrap_or(certain);
    let whole = if of_c < certain && writes_dots() { certain } else { of_c };
    let whole = &name[..whole];
    let public = whole.trim_start_matches('_');
    let end = PROCESSORS.iter().filter_map(|processor| public.find(processor)).min();
    let plain = end.filter(|&end| end > 0).and_then(|end| public.get(..end));
    let fortran = whole.strip_suffix('_').filter(|name| {
        !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    });
    let in_module = public.split_once("_MOD_").map(|(_, name)| name);
    (whole.len() < name.len())
        .then_some(whole)
        .into_iter()
        .chain((whole.len() < certain && certain < name.len()).then(|| &name[..certain]))
        .chain((public.len() < whole.len()).then_some(public))
        .chain(plain)
        .chain(fortran)
        .chain(in_module)
        .chain(parts(name))
        .chain(in_marks(name))
}

/// The names that stand in the marks of a name, and without underscores before them.
pub(crate) fn in_marks(name: &str) -> impl Iterator<Item = &str> {
    ShownName::of(name).in_marks().flat_map(|name| [name, name.trim_start_matches('_')])
}

/// What [`dotted`] gives of a name without what is certainly a compiler's mark.
pub(crate) fn parts(name: &str) -> impl Iterator<Item = &str> {
    dotted(&name[..CloneMarks::of(name).certain.unwrap_or(name.len())])
}

/// Ends of names of files in languages that write paths with dots.
const WITH_DOTS: [&str; 20] = [
    "adb", "ads", "cr", "cs", "d", "di", "go", "hs", "java", "js", "kt", "lhs", "ml", "mll", "mly",
    "odin", "py", "scala", "swift", "zig",
];

/// Whether functions of a file are of a language that writes paths with dots.
pub(crate) fn writes_dots(file: &str) -> bool {
    file.rsplit_once('.').is_some_and(|(_, end)| WITH_DOTS.contains(&end))
}

/// What follows each dot of a path as OCaml, Haskell, Ada, D, Go and Java write it, so that
/// `Stdlib.List.map` is `List.map` and `map`, and `bytes.(*Buffer).Write` is `(*Buffer).Write` and
/// `Write`. A dot inside of brackets parts nothing, nor does one in `libc.so.6+0x1234`, nor any in
/// names that have colons: those of C++ and Rust have their own way, and others have files. So many
/// dots count that a name costs no more than in proportion to its length.
pub(crate) fn dotted(name: &str) -> impl Iterator<Item = &str> {
    let is_path = !name.contains(':') && !name.contains("+0x") && !name.starts_with(['[', '<']);
    let text = if is_path { name } else { "" };
    let mut at = 0;
    let forms = std::iter::from_fn(move || {
        loop {
            match text.as_bytes().get(at)? {
                b'(' | b'<' | b'[' | b'{' if at > 0 => {
                    // A bracket that nothing closes is text.
                    at = closed_group(text.as_bytes(), at).unwrap_or(text.len());
                }
                b'.' => {
                    at += 1;
                    let rest = &text[at..];
                    // No part of a name begins with a digit.
                    let begins = |first: char| {
                        first.is_alphabetic() || matches!(first, '_' | '$' | '(' | '<' | '"')
                    };
                    if at > 1 && rest.starts_with(begins) {
                        return Some(rest);
                    }
                }
                _ => at += 1,
            }
        }
    });
    forms.take(MOST_DOTS)
}

/// Those of [`dotted`] in which brackets hold arguments: not the ones that a name begins with.
pub(crate) fn spelled(name: &str) -> impl Iterator<Item = &str> {
    dotted(name).filter(|form| !form.starts_with('('))
}
