//! Names of functions in C and Fortran and of languages that write paths with dots, and what else
//! these are called.

use crate::profile::closed_group;

/// Whether a name is one of a function of C or Fortran, or a path with dots of plain words.
pub(crate) fn is_of_c(name: &str) -> bool {
    !name.bytes().any(|byte| matches!(byte, b'(' | b'<' | b':')) && !name.contains("[go.shape.")
}

/// What else a function of C or Fortran is called. `__write` is `write`;
/// `__memcpy_avx512_unaligned_erms`, one of the implementations that glibc chooses from when the
/// program starts, is `memcpy_avx512_unaligned_erms` and `memcpy`; `scan.part.0`, which the
/// compiler made of a piece of it, is `scan`; `dgemm_` is `dgemm`, and `__grid_MOD_step` is `step`.
pub(crate) fn c_forms(name: &str) -> impl Iterator<Item = &str> {
    const PROCESSORS: [&str; 7] =
        ["_avx", "_evex", "_sse2", "_sse4", "_ssse3", "_erms", "_generic"];
    let whole = without_clone(name);
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
        .chain((public.len() < whole.len()).then_some(public))
        .chain(plain)
        .chain(fortran)
        .chain(in_module)
        .chain(dotted(whole))
}

/// What follows each dot of a path as OCaml, Haskell, Ada, D, Go and Java write it, so that
/// `Stdlib.List.map` is `List.map` and `map`, and `bytes.(*Buffer).Write` is `(*Buffer).Write` and
/// `Write`. A dot inside of brackets parts nothing, nor does one in `libc.so.6+0x1234` or before
/// the end of a name of a file, nor any in names that have colons: those of C++ and Rust have their
/// own way, and others have files.
pub(crate) fn dotted(name: &str) -> impl Iterator<Item = &str> {
    let is_path = !name.contains(':') && !name.contains("+0x") && !name.starts_with(['[', '<']);
    let text = if is_path { name } else { "" };
    let mut at = 0;
    std::iter::from_fn(move || {
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
                    if at > 1 && rest.starts_with(begins) && !is_of_file(rest) {
                        return Some(rest);
                    }
                }
                _ => at += 1,
            }
        }
    })
}

/// Whether what follows a dot is how names of files end: of source, which rows are called that
/// stand for files, and of libraries.
fn is_of_file(end: &str) -> bool {
    const SOURCE: [&str; 33] = [
        "adb", "ads", "asm", "c", "cc", "cpp", "cu", "cxx", "d", "f", "f03", "f08", "f90", "f95",
        "for", "go", "h", "hh", "hpp", "hs", "hxx", "inc", "inl", "java", "js", "m", "ml", "nim",
        "py", "rs", "s", "so", "ts",
    ];
    end.starts_with("so.") || SOURCE.iter().any(|known| known.eq_ignore_ascii_case(end))
}

/// The name of the function that a compiler made this one of.
fn without_clone(name: &str) -> &str {
    const MADE: [&str; 12] = [
        ".cold",
        ".warm",
        ".part.",
        ".isra.",
        ".constprop.",
        ".lto_priv.",
        ".llvm.",
        ".clone.",
        ".localalias",
        "._omp_fn.",
        ".omp_outlined",
        " [clone ",
    ];
    let end = MADE.iter().filter_map(|made| name.find(made)).min();
    end.filter(|&end| end > 0).map_or(name, |end| &name[..end])
}
