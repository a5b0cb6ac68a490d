//! Symbol tables as functions: which name owns an address.
//!
//! Input are the symbols of one or more files of a module (its own, a separate debug file, mini
//! debuginfo); the result is a list of disjoint address ranges, each with one name.
//!
//! ```text
//!   symbols     foo [10..40)    inner [20..30)   asm_start [50..50)        next [80..90)
//!   ranges      foo 10..20 · inner 20..30 · foo 30..40 · asm_start 50..80 (guessed) · next 80..90
//! ```
//!
//! A symbol owns its size and not a byte more: what follows an exported function of a stripped
//! library is *not* that function. Only symbols without a size, which assembly leaves behind, reach
//! to the next symbol or the end of their section, and such a range says that it is
//! [guessed](Function::guessed).

use core::cell::OnceCell;
use core::cmp::Reverse;
use core::ops::Range;

use object::LittleEndian;
use object::elf;

use super::elf::{RawSymbol, RawSymbols};

/// A name and the addresses that it covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function<'data> {
    /// ELF virtual addresses.
    pub(super) range: Range<u64>,
    /// Where the symbol begins; before `range.start` after a symbol nested in this one.
    pub(super) start: u64,
    /// Name as in the table, without its version.
    pub(super) name: &'data [u8],
    /// The symbol has no size, so its end was guessed.
    pub(super) guessed: bool,
    /// No other file can call it by this name.
    pub(super) local: bool,
}

/// The functions of a module, by address. They are brought in order when the first is asked for:
/// of a program with many symbols that takes longer than all else where the rest is remembered.
#[derive(Debug, Default)]
pub(super) struct SymbolTable<'data> {
    tables: Vec<RawSymbols<'data>>,
    code: Vec<Range<u64>>,
    functions: OnceCell<Vec<Function<'data>>>,
}

/// A symbol that names code.
#[derive(Clone, Copy, Debug)]
struct Candidate<'data> {
    start: u64,
    size: u64,
    name: &'data [u8],
    rank: Rank,
}

/// What makes one of several names of a function the better one; the least is best.
///
/// What the program called is the name a reader looks for, so the rank follows how a C library
/// makes its names:
///
/// | names | better is | because |
/// |---|---|---|
/// | `write`, `__write`, `__libc_write` | `write` | a program must not use the others (C11, 7.1.3) |
/// | `MPI_Send`, `PMPI_Send` | `MPI_Send` | tools shift calls to the other (MPI 4.1, 15.2) |
/// | `lseek@@V`, `llseek@V` | `lseek` | nothing is linked with a hidden version any more |
/// | `open`, `open64` | `open` | the large file interface makes its names of others |
/// | `pow@@GLIBC_2.29`, `powf64@@GLIBC_2.27` | `pow` | so do the types `_FloatN` (C23, H.11) |
/// | `labs@@GLIBC_2.2.5`, `imaxabs@@GLIBC_2.3` | `labs` | the function came first, and then its aliases |
/// | `strchr`, weak `index` | `strchr` | the other is there for old programs |
/// | `strtol`, `strtoll`, `strtoimax` | `strtol` | the shortest says all that is common to them |
///
/// Before all that, a function symbol beats a bare label, and a name that other files can use a
/// local one. Which of the names are compared depends on what modules import; see
/// [`chosen`](super::chosen).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    untyped: bool,
    local: bool,
    underscores: u8,
    name_shifted: bool,
    hidden: bool,
    derived: bool,
    /// See [`age`].
    version: u64,
    weak: bool,
    length: u32,
}

impl Rank {
    /// The rank of a name; `version` is its own, if it has one, and whether that is hidden.
    fn new(raw: &RawSymbol, name: &[u8], version: Option<(&[u8], bool)>) -> Self {
        let mangled = name.starts_with(b"_Z") || name.starts_with(b"_R");
        let underscores = name.iter().take_while(|&&byte| byte == b'_').count();
        Self {
            untyped: raw.st_type() == elf::STT_NOTYPE,
            local: raw.st_bind() == elf::STB_LOCAL,
            underscores: if mangled { 0 } else { u8::try_from(underscores).unwrap_or(u8::MAX) },
            name_shifted: name.starts_with(b"PMPI_") || name.starts_with(b"pmpi_"),
            hidden: version.is_some_and(|(_, hidden)| hidden),
            derived: !mangled && (plain_of(name).is_some() || is_of_float_n(name)),
            version: version.map_or(u64::MAX, |(version, _)| age(version)),
            weak: raw.st_bind() == elf::STB_WEAK,
            length: u32::try_from(name.len()).unwrap_or(u32::MAX),
        }
    }

    /// The rank among names of several functions.
    pub(super) const fn without_version(self) -> Self {
        Self { version: u64::MAX, ..self }
    }
}

/// A number for each version such that later ones have greater numbers: the four first numbers of
/// `GLIBC_2.2.5`, of which each counts up to 65 535. A version without one (`GLIBC_PRIVATE`) is for
/// the library's own parts, and comes last.
fn age(version: &[u8]) -> u64 {
    let Some(at) = version.iter().position(u8::is_ascii_digit) else { return u64::MAX };
    let number = |digits: &[u8]| {
        let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        number.unwrap_or(u16::MAX)
    };
    let mut numbers = version[at..].split(|byte| !byte.is_ascii_digit()).map(number);
    (0..4).fold(0, |age, _| age << 16 | u64::from(numbers.next().unwrap_or(0)))
}

/// Whether a name ends with one of the types `_Float32`, `_Float64x` and so on: `fmodf32x`,
/// `strtof64_l`.
fn is_of_float_n(name: &[u8]) -> bool {
    let name = [b"_l", b"_r"].iter().find_map(|end| name.strip_suffix(*end)).unwrap_or(name);
    let name = name.strip_suffix(b"x").unwrap_or(name);
    [&b"f32"[..], b"f64", b"f128"].iter().any(|end| name.len() > end.len() && name.ends_with(end))
}

/// The name of which a name of the large file interface is made: `open` of `open64`, `fts_open` of
/// `fts64_open` (Large File Summit, Adding Support for Arbitrary File Sizes, 3.1.1).
pub(super) fn plain_of(name: &[u8]) -> Option<Vec<u8>> {
    let at = memchr::memmem::find(name, b"64").filter(|&at| at > 0)?;
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    if is_digit(name.get(at - 1)) || is_digit(name.get(at + 2)) {
        return None;
    }
    Some([&name[..at], &name[at + 2..]].concat())
}

impl<'data> SymbolTable<'data> {
    /// Builds the table from the symbols of some files.
    ///
    /// `code` are the address ranges of sections with code, ordered; other symbols are left out.
    pub(super) fn new(tables: Vec<RawSymbols<'data>>, code: Vec<Range<u64>>) -> Self {
        Self { tables, code, functions: OnceCell::new() }
    }

    /// The symbols as they are in the files.
    pub(super) fn tables(&self) -> &[RawSymbols<'data>] {
        &self.tables
    }

    fn functions(&self) -> &[Function<'data>] {
        self.functions.get_or_init(|| {
            let mut candidates = Vec::new();
            for table in &self.tables {
                let all = 0..table.symbols.len();
                candidates.extend(all.filter_map(|index| candidate(index, table, &self.code)));
            }
            disjoint(candidates, &self.code)
        })
    }

    /// The function that owns this address.
    pub(super) fn find(&self, address: u64) -> Option<&Function<'data>> {
        let functions = self.functions();
        let after = functions.partition_point(|function| function.range.start <= address);
        let function = &functions[after.checked_sub(1)?];
        function.range.contains(&address).then_some(function)
    }
}

/// The name of the symbol with this number, without its version, and how good it is.
pub(super) fn ranked<'data>(
    index: usize,
    table: &RawSymbols<'data>,
) -> Option<(&'data [u8], Rank)> {
    let raw = table.symbols.get(index)?;
    let name = table.name(raw)?;
    // `memcpy@@GLIBC_2.14`; no mangling scheme for functions contains `@`.
    let (name, version) = match memchr::memchr(b'@', name) {
        Some(at) => {
            let hidden = name.get(at + 1) != Some(&b'@');
            (&name[..at], Some((&name[at..], hidden)))
        }
        None => (name, table.version(index)),
    };
    Some((name, Rank::new(raw, name, version)))
}

fn candidate<'data>(
    index: usize,
    table: &RawSymbols<'data>,
    code: &[Range<u64>],
) -> Option<Candidate<'data>> {
    let raw = table.symbols.get(index)?;
    let kind = raw.st_type();
    if !matches!(kind, elf::STT_FUNC | elf::STT_GNU_IFUNC | elf::STT_NOTYPE | elf::STT_OBJECT) {
        return None;
    }
    let section = raw.st_shndx.get(LittleEndian);
    let start = raw.st_value.get(LittleEndian);
    if section == elf::SHN_UNDEF || section == elf::SHN_ABS || section_of(start, code).is_none() {
        return None;
    }
    let (name, rank) = ranked(index, table)?;
    // Labels of compilers and their plugins: `.L42`, `.annobin_foo.c`. Clang has a function
    // `.omp_outlined.` for the body of a parallel loop.
    let is_label = kind == elf::STT_NOTYPE || name.starts_with(b".annobin");
    if name.is_empty() || (name.starts_with(b".") && is_label) {
        return None;
    }
    // GHC gives code the type of data, since there is data before it.
    if kind == elf::STT_OBJECT && !name.ends_with(b"_info") {
        return None;
    }
    Some(Candidate { start, size: raw.st_size.get(LittleEndian), name, rank })
}

/// The section that holds an address.
fn section_of(address: u64, code: &[Range<u64>]) -> Option<&Range<u64>> {
    let after = code.partition_point(|section| section.start <= address);
    code[..after].last().filter(|section| section.contains(&address))
}

/// Makes disjoint ranges of symbols that may be nested, overlap, or have several names.
fn disjoint<'data>(
    mut symbols: Vec<Candidate<'data>>,
    code: &[Range<u64>],
) -> Vec<Function<'data>> {
    // One symbol for each start. One with a size wins over one without; sizes of aliases differ
    // only by mistake.
    symbols.sort_unstable_by(|a, b| {
        let key = |s: &Candidate<'data>| (s.start, s.size == 0, s.rank, Reverse(s.size));
        key(a).cmp(&key(b)).then_with(|| a.name.cmp(b.name))
    });
    symbols.dedup_by_key(|symbol| symbol.start);

    let mut functions = Vec::with_capacity(symbols.len());
    let mut emit = |range: Range<u64>, of: &Candidate<'data>, guessed| {
        if !range.is_empty() {
            let local = of.rank.local;
            functions.push(Function { range, start: of.start, name: of.name, guessed, local });
        }
    };
    // Symbols that began before `position` and may end after it, inner ones last.
    let mut open: Vec<Candidate<'data>> = Vec::new();
    let mut position = 0;
    for (i, &symbol) in symbols.iter().enumerate() {
        close(&mut open, &mut position, symbol.start, &mut emit);
        if let Some(outer) = open.last() {
            emit(position..symbol.start, outer, false);
        }
        position = symbol.start;
        if symbol.size > 0 {
            open.push(symbol);
        } else if open.is_empty() {
            let section_end = section_of(symbol.start, code).map_or(symbol.start, |s| s.end);
            let next = symbols.get(i + 1).map_or(u64::MAX, |next| next.start);
            emit(symbol.start..next.min(section_end), &symbol, true);
        }
    }
    close(&mut open, &mut position, u64::MAX, &mut emit);
    functions
}

/// Ends all open symbols that end at or before `limit`.
fn close<'data>(
    open: &mut Vec<Candidate<'data>>,
    position: &mut u64,
    limit: u64,
    emit: &mut impl FnMut(Range<u64>, &Candidate<'data>, bool),
) {
    while let Some(&inner) = open.last() {
        let end = inner.start.saturating_add(inner.size);
        if end > limit {
            break;
        }
        emit(*position..end, &inner, false);
        *position = end.max(*position);
        open.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sections with code.
    const CODE: &[Range<u64>] = &[0..1000, 2000..3000];

    fn symbol(start: u64, size: u64, name: &'static str) -> Candidate<'static> {
        let rank = rank(name, elf::STB_GLOBAL, None);
        Candidate { start, size, name: name.as_bytes(), rank }
    }

    /// Ranges as `name start..end`, with `?` where the end was guessed.
    fn ranges(symbols: &[Candidate<'static>]) -> Vec<String> {
        disjoint(symbols.to_vec(), CODE)
            .iter()
            .map(|f| {
                let name = std::str::from_utf8(f.name).unwrap();
                let guessed = if f.guessed { "?" } else { "" };
                format!("{name} {}..{}{guessed}", f.range.start, f.range.end)
            })
            .collect()
    }

    #[test]
    fn a_symbol_owns_its_size_and_no_more() {
        assert_eq!(ranges(&[symbol(10, 5, "a"), symbol(20, 5, "b")]), ["a 10..15", "b 20..25"]);
    }

    #[test]
    fn a_nested_symbol_interrupts_the_outer_one() {
        assert_eq!(
            ranges(&[symbol(10, 30, "outer"), symbol(20, 10, "inner")]),
            ["outer 10..20", "inner 20..30", "outer 30..40"]
        );
    }

    #[test]
    fn of_overlapping_symbols_the_later_one_wins() {
        assert_eq!(ranges(&[symbol(10, 20, "a"), symbol(20, 20, "b")]), ["a 10..20", "b 20..40"]);
    }

    #[test]
    fn a_symbol_without_size_reaches_to_the_next_or_the_end_of_the_section() {
        assert_eq!(
            ranges(&[
                symbol(10, 0, "a"),
                symbol(30, 5, "b"),
                symbol(900, 0, "c"),
                symbol(2000, 9, "d")
            ]),
            ["a 10..30?", "b 30..35", "c 900..1000?", "d 2000..2009"]
        );
    }

    #[test]
    fn a_label_inside_a_function_is_no_function() {
        assert_eq!(
            ranges(&[symbol(10, 30, "f"), symbol(20, 0, "label")]),
            ["f 10..20", "f 20..40"]
        );
    }

    #[test]
    fn a_size_that_overflows_ends_with_the_addresses() {
        assert_eq!(
            ranges(&[symbol(10, u64::MAX, "a"), symbol(20, 5, "b")]),
            ["a 10..20", "b 20..25", &format!("a 25..{}", u64::MAX)]
        );
    }

    fn rank(name: &str, bind: elf::SymbolBind, version: Option<(&str, bool)>) -> Rank {
        let mut raw = RawSymbol::default();
        raw.set_st_info(bind, elf::STT_FUNC);
        let version = version.map(|(version, hidden)| (version.as_bytes(), hidden));
        Rank::new(&raw, name.as_bytes(), version)
    }

    #[test]
    fn of_several_names_the_one_to_look_for_wins() {
        let (local, global, weak) = (elf::STB_LOCAL, elf::STB_GLOBAL, elf::STB_WEAK);
        let (old, new) = (Some(("GLIBC_2.2.5", false)), Some(("GLIBC_2.27", false)));
        let hidden = Some(("GLIBC_2.2.5", true));
        let private = Some(("GLIBC_PRIVATE", false));
        for (names, best) in [
            (
                &[
                    ("__libc_write", global, private),
                    ("write", weak, old),
                    ("__write", global, old),
                ][..],
                "write",
            ),
            (&[("__GI___write", local, None), ("__write", weak, old)], "__write"),
            (&[("PMPI_Send", global, None), ("MPI_Send", weak, None)], "MPI_Send"),
            (&[("pmpi_send_", global, None), ("mpi_send_", weak, None)], "mpi_send_"),
            (&[("fmodf32x", weak, new), ("fmodf64", weak, new), ("fmod", weak, old)], "fmod"),
            (&[("powf32x", weak, old), ("pow", global, new)], "pow"),
            (&[("lgammaf64_r", weak, old), ("lgamma_r", weak, new)], "lgamma_r"),
            (&[("imaxabs", weak, new), ("llabs", weak, old)], "llabs"),
            (&[("strtof64", weak, new), ("strtod", global, old)], "strtod"),
            (&[("open64", weak, old), ("__open", weak, old), ("open", weak, old)], "open"),
            (&[("scandirat64", global, old), ("scandirat", weak, old)], "scandirat"),
            (&[("preadv64v2", global, old), ("preadv2", global, old)], "preadv2"),
            (&[("llseek", global, hidden), ("lseek64", weak, old), ("lseek", weak, old)], "lseek"),
            (&[("index", weak, old), ("strchr", global, old)], "strchr"),
            (&[("bcmp", weak, old), ("memcmp", global, old)], "memcmp"),
            (&[("strtoimax", weak, old), ("strtoll", weak, old), ("strtol", weak, old)], "strtol"),
            (
                &[("siglongjmp", weak, old), ("_longjmp", weak, old), ("longjmp", weak, old)],
                "longjmp",
            ),
            // Without versions, as a symbol table of a debug file has them.
            (&[("fmodf32x", weak, None), ("fmod", weak, None)], "fmod"),
        ] {
            let found =
                names.iter().min_by_key(|&&(name, bind, version)| rank(name, bind, version));
            assert_eq!(found.unwrap().0, best);
        }
    }

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        let ordered =
            ["GLIBC_2.2", "GLIBC_2.2.5", "GLIBC_2.4", "GLIBC_2.17", "V3", "GLIBC_PRIVATE"];
        assert!(ordered.is_sorted_by(|a, b| age(a.as_bytes()) < age(b.as_bytes())));
        assert_eq!(age(b"X_70000.1.2.3.4.5"), age(b"X_65535.1.2.3"));
    }

    #[test]
    fn names_of_the_large_file_interface_are_made_of_others() {
        for (name, plain) in [("open64", "open"), ("fts64_open", "fts_open")] {
            assert_eq!(plain_of(name.as_bytes()).as_deref(), Some(plain.as_bytes()));
        }
        for name in ["open", "64open", "sum164", "crc640", ""] {
            assert_eq!(plain_of(name.as_bytes()), None);
        }
    }

    #[test]
    fn an_address_is_found_in_the_range_that_holds_it() {
        let functions = disjoint(vec![symbol(10, 5, "a"), symbol(20, 5, "b")], CODE);
        let table = SymbolTable { functions: functions.into(), ..SymbolTable::default() };
        let name = |address| table.find(address).map(|f| f.name);
        assert_eq!(
            [9, 10, 14, 15, 20, 24, 25].map(name),
            [None, Some(&b"a"[..]), Some(b"a"), None, Some(b"b"), Some(b"b"), None]
        );
    }
}
