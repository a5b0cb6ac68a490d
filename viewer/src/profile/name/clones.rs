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
const ALSO: &str = " [also ";
const CLONE: &str = " [clone ";

/// Whether a text begins with a mark.
pub(crate) fn begins_mark(text: &str) -> bool {
    [ALSO, CLONE].iter().any(|mark| text.starts_with(mark))
}

/// A name with the marks of csprof: `first [also other, another] [clone own]`.
pub(crate) fn marked(first: &str, others: &[String], own: Option<&str>) -> String {
    let mut name = first.to_owned();
    if !others.is_empty() {
        name.extend([ALSO, &others.join(", "), "]"]);
    }
    if let Some(own) = own {
        name.extend([CLONE, own, "]"]);
    }
    name
}

/// The parts of a name that [`marked`] may have made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShownName<'n> {
    /// What stands before the marks.
    pub(crate) first: &'n str,
    also: &'n str,
    /// The symbol of a copy.
    pub(crate) own: Option<&'n str>,
}

impl<'n> ShownName<'n> {
    /// The parts of a name. A compiler's mark, `[clone .cold]`, belongs to what it stands behind.
    /// O(length).
    pub(crate) fn of(name: &'n str) -> Self {
        let split = |name: &'n str, mark: &str| {
            let (before, inside) = name.strip_suffix(']')?.rsplit_once(mark)?;
            let is_mark = !before.is_empty() && !inside.is_empty() && !inside.starts_with('.');
            is_mark.then_some((before, inside))
        };
        let (rest, own) = split(name, CLONE).map_or((name, None), |(rest, own)| (rest, Some(own)));
        let (first, also) = split(rest, ALSO).unwrap_or((rest, ""));
        Self { first, also, own }
    }

    /// What it is called in two profiles of which one tells more of its other names.
    pub(crate) const fn key(self) -> (&'n str, Option<&'n str>) {
        (self.first, self.own)
    }

    /// The names in `[also …]`. A comma in brackets is one of arguments.
    pub(crate) fn also(self) -> impl Iterator<Item = &'n str> {
        let mut rest = Some(self.also).filter(|also| !also.is_empty());
        std::iter::from_fn(move || {
            let names = rest?;
            let mut depth = 0_usize;
            let end = names.bytes().zip(0..).find_map(|(byte, at)| {
                match byte {
                    b'(' | b'[' | b'{' | b'<' => depth += 1,
                    b')' | b']' | b'}' | b'>' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                (depth == 0 && names.as_bytes()[at..].starts_with(b", ")).then_some(at)
            });
            rest = end.map(|end| &names[end + 2..]);
            Some(&names[..end.unwrap_or(names.len())])
        })
    }

    /// The names by which it is called.
    pub(crate) fn called(self) -> impl Iterator<Item = &'n str> {
        std::iter::once(self.first).chain(self.also())
    }

    /// The names in its marks.
    pub(crate) fn in_marks(self) -> impl Iterator<Item = &'n str> {
        self.also().chain(self.own)
    }
}

/// Whether two names are of one function, of which one may have more names behind it.
pub(crate) fn is_same_name(one: &str, other: &str) -> bool {
    let has_marks = one.ends_with(']') || other.ends_with(']');
    one == other || has_marks && ShownName::of(one).key() == ShownName::of(other).key()
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
        let mut shown = name.match_indices(" [").map(|(at, _)| at).filter(|&at| at > 0);
        let shown = shown.find(|&at| begins_mark(&name[at..]));
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
        let rest = ["avx", "sse"].iter().find_map(|prefix| word.strip_prefix(prefix));
        rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    };
    let is_set = |set: &str| INSTRUCTIONS.contains(&set) || has_number(set);
    CHOICES.contains(&word)
        || is_lower && (word.starts_with("arch_") || has_number(word))
        // One for `target("bmi,bmi2")`.
        || word.split('_').all(is_set)
}

#[cfg(test)]
mod tests {
    use super::{CloneMarks, ShownName, is_same_name, marked};

    #[test]
    fn names_stand_in_marks() {
        for (name, called, inside) in [
            ("memcpy", &["memcpy"][..], &[][..]),
            ("memcpy [also memmove]", &["memcpy", "memmove"], &["memmove"]),
            ("f [also g, h] [clone __f_c]", &["f", "g", "h"], &["g", "h", "__f_c"]),
            ("tan [clone __tan_fma]", &["tan"], &["__tan_fma"]),
            (
                "f(int, A<int, B>) [also g(int, B<(1, 2)>), h(int)] [clone k(int)]",
                &["f(int, A<int, B>)", "g(int, B<(1, 2)>)", "h(int)"],
                &["g(int, B<(1, 2)>)", "h(int)", "k(int)"],
            ),
        ] {
            let shown = ShownName::of(name);
            assert_eq!(shown.called().collect::<Vec<_>>(), called, "{name}");
            assert_eq!(shown.in_marks().collect::<Vec<_>>(), inside, "{name}");
            let also: Vec<String> = shown.also().map(str::to_owned).collect();
            assert_eq!(marked(shown.first, &also, shown.own), name);
        }
        // Marks of compilers, and what only looks so.
        for name in [
            "f() [clone .part.0] [clone .cold]",
            "f [also ",
            "f [also ]",
            "f [also g] h",
            " [also g]",
            "f[abi:cxx11]",
            "",
        ] {
            assert_eq!(ShownName::of(name), ShownName { first: name, ..ShownName::default() });
        }
    }

    #[test]
    fn a_name_of_a_megabyte_is_read_once() {
        let name = format!("f{} [also g]", " [also ]".repeat(1 << 17));
        assert_eq!(ShownName::of(&name).also().collect::<Vec<_>>(), ["g"]);
        let name = format!("f [also {}g]", "(, ".repeat(1 << 17));
        assert_eq!(ShownName::of(&name).also().count(), 1);
        let name = format!("f [also {}g]", "g, ".repeat(1 << 17));
        assert_eq!(ShownName::of(&name).also().count(), (1 << 17) + 1);
    }

    #[test]
    fn other_names_make_no_other_function() {
        for (one, other, is) in [
            ("memcpy", "memcpy [also memmove]", true),
            ("memcpy [also mempcpy]", "memcpy [also memmove]", true),
            ("tan [also x] [clone t]", "tan [clone t]", true),
            ("tan [clone s]", "tan [clone t]", false),
            ("tan", "tan [clone t]", false),
            ("f() [clone .cold]", "f()", false),
            ("memmove", "memcpy [also memmove]", false),
        ] {
            assert_eq!(is_same_name(one, other), is, "{one} {other}");
            assert_eq!(is_same_name(other, one), is, "{other} {one}");
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
