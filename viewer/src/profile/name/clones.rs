//! The marks that compilers put behind the symbol of a function for what they make of it: a part
//! (`f.cold`), a copy (`f.constprop.0`), one for some processors (`f.avx2`).
//!
//! A mark ends where the name does, at a dot before a digit or another mark, or at a space, so
//! `camlCache.cold_start_270` has none. One with a number can be nothing else, for no name of a
//! source begins with a digit. One without is a word, `cold`, that may as well be what somebody
//! called a function in a language that writes paths with dots.

/// Marks that always have a number.
const NUMBERED: [&str; 12] = [
    "part",
    "isra",
    "constprop",
    "lto_priv",
    "llvm",
    "clone",
    "simdclone",
    "specialized",
    "_omp_fn",
    "_omp_cpyfn",
    "__uniq",
    "__part",
];

/// Marks that may have one.
const WORDS: [&str; 7] =
    ["cold", "warm", "localalias", "argprom", "extracted", "omp_outlined", "omp_outlined_debug__"];

/// Marks of what is made of one function for several processors, and of what chooses one of them.
/// Beside these there are the names of sets of instructions.
const CHOICES: [&str; 3] = ["default", "resolver", "ifunc"];

/// Sets of instructions that a function is compiled for, beside those of `avx…` and `sse…`.
const INSTRUCTIONS: [&str; 23] = [
    "adx",
    "aes",
    "avx",
    "avxifma",
    "avxneconvert",
    "avxvnni",
    "bmi",
    "bmi2",
    "f16c",
    "fma",
    "fma4",
    "gfni",
    "lzcnt",
    "mmx",
    "movbe",
    "pclmul",
    "popcnt",
    "sha",
    "sse",
    "ssse3",
    "vaes",
    "vpclmulqdq",
    "xop",
];

/// What the marks begin with that csprof shows: other names of a function, and its own name behind
/// that of the function of which it is a copy.
const SHOWN: [&str; 2] = [" [also ", " [clone "];

/// The names in ` [also memmove] [clone __memmove_avx_unaligned]`, but no marks of compilers.
pub(crate) fn names_in_marks(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = name;
    let marks = std::iter::from_fn(move || {
        let next = SHOWN.iter().filter_map(|mark| Some((rest.find(mark)?, mark.len())));
        let (at, length) = next.min()?;
        let inside = &rest[at + length..];
        let end = inside.find(']').unwrap_or(inside.len());
        rest = &inside[end..];
        Some(&inside[..end])
    });
    marks.flat_map(|inside| inside.split(", ")).filter(|name| !name.starts_with('.'))
}

/// The names of a function as it is shown: that before its marks, and those in ` [also …]`.
pub(crate) fn marked_names(name: &str) -> Vec<&str> {
    let marks = SHOWN.map(|mark| name.find(mark).unwrap_or(name.len()));
    let also = &name[marks[0]..marks[1].max(marks[0])];
    std::iter::once(&name[..marks[0].min(marks[1])]).chain(names_in_marks(also)).collect()
}

/// Where the marks of a name begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CloneMarks {
    /// The first mark.
    pub(crate) first: Option<usize>,
    /// The first that can be nothing else.
    pub(crate) certain: Option<usize>,
}

impl CloneMarks {
    /// Those of a symbol, or of a name that csprof made of one: ` [clone .cold]`. O(length).
    pub(crate) fn of(name: &str) -> Self {
        let shown = name.match_indices(" [").map(|(at, _)| at).filter(|&at| at > 0);
        let shown = shown.filter(|&at| SHOWN.iter().any(|mark| name[at..].starts_with(mark))).min();
        let mut marks = Self { first: shown, certain: shown };
        let mut end = name.find(' ').unwrap_or(name.len());
        // Whether a mark may end where the parts looked at so far begin, and whether by a number.
        let (mut may_end, mut is_numbered) = (true, false);
        while let Some(dot) = name[..end].rfind('.').filter(|&dot| dot > 0) {
            let part = &name[dot + 1..end];
            end = dot;
            if part.is_empty() {
                // `main.omp_outlined..1`
                continue;
            }
            if part.starts_with(|first: char| first.is_ascii_digit()) {
                (may_end, is_numbered) = (true, true);
                continue;
            }
            may_end = may_end && is_mark(part, is_numbered);
            if may_end {
                marks.first = Some(dot);
                marks.certain = if is_numbered { Some(dot) } else { marks.certain };
            }
            is_numbered = false;
        }
        marks
    }

    /// Where those begin that are not the name of a function in another language: what is certain,
    /// or a word at the first dot. Functions of modules with capital letters are seldom in doubt.
    pub(crate) fn of_c(self, name: &str) -> Option<usize> {
        let begins_with = |is: fn(char) -> bool, at: usize| name[at..].starts_with(is);
        let dots = name.match_indices('.').map(|(at, _)| at);
        let first = dots.clone().find(|at| !begins_with(|c| c.is_ascii_digit(), at + 1));
        let word = self.first.filter(|&at| {
            let word = name[at + 1..].split(['.', ' ']).next().unwrap_or_default();
            first == Some(at) && !(begins_with(char::is_uppercase, 0) && is_for_processors(word))
        });
        word.or(self.certain)
    }
}

fn is_mark(word: &str, is_numbered: bool) -> bool {
    is_numbered && NUMBERED.contains(&word) || WORDS.contains(&word) || is_for_processors(word)
}

fn is_for_processors(word: &str) -> bool {
    // Clang writes `arch_x86-64-v3`, gcc `arch_x86_64_v3`.
    let is_lower = word.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'));
    let has_number = |word: &str| {
        let rest = ["avx", "sse"].iter().find_map(|of| word.strip_prefix(of));
        rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    };
    let is_set = |of: &str| INSTRUCTIONS.contains(&of) || has_number(of);
    CHOICES.contains(&word)
        || is_lower && (word.starts_with("arch_") || has_number(word))
        // One for `target("bmi,bmi2")`.
        || word.split('_').all(is_set)
}

#[cfg(test)]
mod tests {
    use super::{CloneMarks, marked_names, names_in_marks};

    #[test]
    fn names_stand_in_marks() {
        for (name, shown, inside) in [
            ("memcpy", &["memcpy"][..], &[][..]),
            ("memcpy [also memmove]", &["memcpy", "memmove"], &["memmove"]),
            ("f [also g, h] [clone __f_c]", &["f", "g", "h"], &["g", "h", "__f_c"]),
            ("tan [clone __tan_fma]", &["tan"], &["__tan_fma"]),
            ("f() [clone .part.0] [clone .cold]", &["f()"], &[]),
            ("f [clone x] [also g]", &["f"], &["x", "g"]),
            ("f [also ", &["f", ""], &[""]),
            ("", &[""], &[]),
        ] {
            assert_eq!(marked_names(name), shown, "{name}");
            assert_eq!(names_in_marks(name).collect::<Vec<_>>(), inside, "{name}");
        }
    }

    #[test]
    fn marks_end_where_names_numbers_or_other_marks_do() {
        for (name, first, certain) in [
            ("f.cold", ".cold", ""),
            ("f.part.0.cold", ".part.0.cold", ".part.0.cold"),
            ("f.argprom.llvm.12", ".argprom.llvm.12", ".llvm.12"),
            ("f.cold.1", ".cold.1", ".cold.1"),
            ("main.omp_outlined..1", ".omp_outlined..1", ".omp_outlined..1"),
            ("work.popcnt", ".popcnt", ""),
            ("work.bmi2", ".bmi2", ""),
            ("work.sse4.2", ".sse4.2", ".sse4.2"),
            ("work.arch_x86_64_v3.0", ".arch_x86_64_v3.0", ".arch_x86_64_v3.0"),
            ("work.arch_x86-64-v3.0", ".arch_x86-64-v3.0", ".arch_x86-64-v3.0"),
            ("work.bmi_bmi2", ".bmi_bmi2", ""),
            ("work.popcnt_sse4.2", ".popcnt_sse4.2", ".popcnt_sse4.2"),
            ("work.avx512f_avx512vl", ".avx512f_avx512vl", ""),
            ("work.bmi_total", "", ""),
            ("work.x86-64", "", ""),
            ("memcpy [also memmove]", " [also memmove]", " [also memmove]"),
            (
                "tan [also x] [clone __tan_fma]",
                " [also x] [clone __tan_fma]",
                " [also x] [clone __tan_fma]",
            ),
            ("f.cold [clone .part.0]", ".cold [clone .part.0]", " [clone .part.0]"),
            ("f.cold or g", ".cold or g", ""),
            ("inner.0.isra.1", ".isra.1", ".isra.1"),
            ("main.resolver", ".resolver", ""),
            // Words of names that only begin like marks, or stand before others.
            ("main.coldStart", "", ""),
            ("camlCache.cold_start_270", "", ""),
            ("camlCache.omp_run_272", "", ""),
            ("cache.extractedKey", "", ""),
            ("main.ssearch", "", ""),
            ("arena.archive", "", ""),
            ("cold.start", "", ""),
            ("main.part", "", ""),
            ("main.cold.func1", "", ""),
            ("main.init.0", "", ""),
            ("main.init.0.func1.2", "", ""),
            (".omp_outlined.", "", ""),
            (".cold", "", ""),
            ("inner.0", "", ""),
            ("..", "", ""),
            ("", "", ""),
            ("é.cold", ".cold", ""),
        ] {
            let marks = CloneMarks::of(name);
            let from = |at: Option<usize>| at.map_or("", |at| &name[at..]);
            assert_eq!((from(marks.first), from(marks.certain)), (first, certain), "{name}");
        }
    }
}
