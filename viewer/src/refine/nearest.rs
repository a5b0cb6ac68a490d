//! Names near to one that does not exist.

use crate::profile::{last_components, short_name};

/// How many names are suggested.
const SUGGESTIONS: usize = 5;

/// The names that resemble `wanted` most, nearest first: those that contain it, then those that
/// differ by few letters in as many components, without regard to case, wildcards, arguments and
/// template parameters.
pub(super) fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let wanted = wanted.replace(['*', '?', '\\', '^', '$'], "").to_ascii_lowercase();
    let wanted = short_name(&wanted);
    let components = wanted.matches("::").count() + 1;
    let wanted = wanted.as_bytes();
    if wanted.is_empty() {
        return Vec::new();
    }
    // A third of the letters may be wrong.
    let most = (wanted.len() / 3).max(1);
    let mut found: Vec<(usize, usize, &str)> = Vec::new();
    let mut rows = <[Vec<usize>; 3]>::default();
    for name in names {
        let contains = wanted.len() >= 3 && has(name, wanted);
        let distance = if contains {
            0
        } else if missing(name, wanted) > most {
            // As many letters would have to be put in at least.
            continue;
        } else {
            let distance = |end: &String| {
                let end = end.to_ascii_lowercase();
                let length = end.len().min(wanted.len() + most);
                distances(wanted, &end.as_bytes()[..length], &mut rows);
                let [_, distances, _] = &rows;
                // The beginning of a name may be all that was typed.
                let from = if wanted.len() < 4 { length } else { length.min(wanted.len() - most) };
                distances[from..].iter().copied().min().unwrap_or(usize::MAX)
            };
            last_components(name, components).iter().map(distance).min().unwrap_or(usize::MAX)
        };
        if distance <= most {
            found.push((distance, name.len(), name));
        }
    }
    found.sort_unstable();
    found.dedup_by_key(|(_, _, name)| *name);
    found.truncate(SUGGESTIONS);
    found.into_iter().map(|(_, _, name)| name.to_owned()).collect()
}

/// Whether letters are in a name, one after the other, without regard to the case of ASCII letters.
pub(super) fn has(name: &str, part: &[u8]) -> bool {
    let Some((first, rest)) = part.split_first() else { return true };
    let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
    let name = name.as_bytes();
    let ends = (name.len() + 1).saturating_sub(part.len());
    (0..ends).any(|at| {
        (name[at] == lower || name[at] == upper)
            && name[at + 1..at + part.len()].eq_ignore_ascii_case(rest)
    })
}

/// How many letters of a word in lower case are nowhere in a name; some that are not may not be
/// counted.
fn missing(name: &str, wanted: &[u8]) -> usize {
    let bit = |byte: u8| 1_u64 << (byte.to_ascii_lowercase() % 64);
    let there = name.bytes().fold(0, |there, byte| there | bit(byte));
    wanted.iter().filter(|&&byte| there & bit(byte) == 0).count()
}

/// Fills the middle row: how many insertions, deletions, replacements and swaps of neighbours make
/// each beginning of `b` of `a` (optimal string alignment).
fn distances(a: &[u8], b: &[u8], rows: &mut [Vec<usize>; 3]) {
    let [before, above, row] = rows;
    above.clear();
    above.extend(0..=b.len());
    before.clone_from(above);
    for (i, x) in a.iter().enumerate() {
        row.clear();
        row.push(i + 1);
        for (j, y) in b.iter().enumerate() {
            let mut least = (above[j] + usize::from(x != y)).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i - 1] == *y && b[j - 1] == *x {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        std::mem::swap(before, above);
        std::mem::swap(above, row);
    }
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn likely_names_come_first() {
        let names = ["MPI_Send", "MPI_Isend", "MPI_Recv", "main", "ns::send(int)", "solve"];
        assert_eq!(nearest("MPI_Sned", names.into_iter()), ["MPI_Send", "MPI_Isend"]);
        assert_eq!(nearest("send*", names.into_iter()), ["MPI_Send", "MPI_Isend", "ns::send(int)"]);
        assert_eq!(nearest("mian", names.into_iter()), ["main"]);
        let names = [
            "void std::vector<int, std::allocator<int> >::push_back(int const&)",
            "<a::Circle as a::Shape>::area",
            "std::__cxx11::to_string(int)",
            "app::run::{closure#0}",
            "main",
        ];
        for (wanted, expected) in [
            ("vector::push_bakc", 0),
            ("std::vector<int>::push_bakc", 0),
            ("Cirle::area", 1),
            ("Shape::arae", 1),
            ("std::to_srting", 2),
            ("rnu::{closure#0}", 3),
        ] {
            assert_eq!(nearest(wanted, names.into_iter()), [names[expected]], "{wanted}");
        }
        assert_eq!(nearest("xyzzy", names.into_iter()), Vec::<String>::new());
    }
}
