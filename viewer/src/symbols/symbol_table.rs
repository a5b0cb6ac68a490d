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
}

/// The functions of a module, by address.
#[derive(Debug, Default)]
pub(super) struct SymbolTable<'data> {
    functions: Vec<Function<'data>>,
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
/// A function symbol beats a bare label, a name other files can use beats a local one, and
/// `write` beats its aliases `__write` and `__libc_write`, whichever of them is the strong one:
/// what the program called is the name a reader looks for. So does `MPI_Send` beat `PMPI_Send`, the
/// name that tools shift calls to (MPI 4.1, 15.2). The longer of two equal ones says more
/// (`__memmove_avx_unaligned` is also `__memcpy_avx_unaligned`), and is what perf-report(1) shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    untyped: bool,
    local: bool,
    underscores: u8,
    name_shifted: bool,
    weak: bool,
    length: Reverse<u32>,
}

impl<'data> SymbolTable<'data> {
    /// Builds the table from the symbols of some files.
    ///
    /// `code` are the address ranges of sections with code, ordered; other symbols are left out.
    pub(super) fn new<'a>(
        tables: impl IntoIterator<Item = &'a RawSymbols<'data>>,
        code: &[Range<u64>],
    ) -> Self
    where
        'data: 'a,
    {
        let mut candidates = Vec::new();
        for table in tables {
            let named = table.symbols.iter().filter_map(|raw| candidate(raw, table, code));
            candidates.extend(named);
        }
        Self { functions: disjoint(candidates, code) }
    }

    /// The function that owns this address.
    pub(super) fn find(&self, address: u64) -> Option<&Function<'data>> {
        let after = self.functions.partition_point(|function| function.range.start <= address);
        let function = &self.functions[after.checked_sub(1)?];
        function.range.contains(&address).then_some(function)
    }
}

fn candidate<'data>(
    raw: &RawSymbol,
    table: &RawSymbols<'data>,
    code: &[Range<u64>],
) -> Option<Candidate<'data>> {
    let untyped = match raw.st_type() {
        elf::STT_FUNC | elf::STT_GNU_IFUNC => false,
        elf::STT_NOTYPE => true,
        _ => return None,
    };
    let section = raw.st_shndx.get(LittleEndian);
    let start = raw.st_value.get(LittleEndian);
    if section == elf::SHN_UNDEF || section == elf::SHN_ABS || section_of(start, code).is_none() {
        return None;
    }
    let name = table.name(raw)?;
    // `memcpy@@GLIBC_2.14`; no mangling scheme for functions contains `@`.
    let name = name.split(|&byte| byte == b'@').next().unwrap_or(name);
    // Labels of compilers and their plugins: `.L42`, `.annobin_foo.c`.
    if name.is_empty() || name.starts_with(b".") {
        return None;
    }
    let mangled = name.starts_with(b"_Z") || name.starts_with(b"_R");
    let underscores = name.iter().take_while(|&&byte| byte == b'_').count();
    let rank = Rank {
        untyped,
        local: raw.st_bind() == elf::STB_LOCAL,
        underscores: if mangled { 0 } else { u8::try_from(underscores).unwrap_or(u8::MAX) },
        name_shifted: name.starts_with(b"PMPI_"),
        weak: raw.st_bind() == elf::STB_WEAK,
        length: Reverse(u32::try_from(name.len()).unwrap_or(u32::MAX)),
    };
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
            functions.push(Function { range, start: of.start, name: of.name, guessed });
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
        let rank = Rank {
            untyped: false,
            local: false,
            underscores: 0,
            name_shifted: false,
            weak: false,
            length: Reverse(u32::try_from(name.len()).unwrap()),
        };
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

    #[test]
    fn of_several_names_the_one_to_look_for_wins() {
        let rank = |name: &str, local, weak| Rank {
            untyped: false,
            local,
            underscores: u8::try_from(name.bytes().take_while(|&b| b == b'_').count()).unwrap(),
            name_shifted: name.starts_with("PMPI_"),
            weak,
            length: Reverse(u32::try_from(name.len()).unwrap()),
        };
        let mut names = [
            ("__libc_write", rank("__libc_write", false, false)),
            ("__GI___write", rank("__GI___write", true, false)),
            ("write", rank("write", false, true)),
            ("__write", rank("__write", false, false)),
            ("PMPI_Send", rank("PMPI_Send", false, false)),
            ("MPI_Send", rank("MPI_Send", false, true)),
        ];
        names.sort_by_key(|(_, rank)| *rank);
        assert_eq!(
            names.map(|(name, _)| name),
            ["MPI_Send", "write", "PMPI_Send", "__libc_write", "__write", "__GI___write"]
        );
    }

    #[test]
    fn an_address_is_found_in_the_range_that_holds_it() {
        let table =
            SymbolTable { functions: disjoint(vec![symbol(10, 5, "a"), symbol(20, 5, "b")], CODE) };
        let name = |address| table.find(address).map(|f| f.name);
        assert_eq!(
            [9, 10, 14, 15, 20, 24, 25].map(name),
            [None, Some(&b"a"[..]), Some(b"a"), None, Some(b"b"), Some(b"b"), None]
        );
    }
}
