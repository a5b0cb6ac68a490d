//! Names near to one that does not exist.

use std::collections::BTreeSet;

use super::letters::Letters;
use crate::profile::{BareNames, short_name};

/// How many names are suggested.
const SUGGESTIONS: usize = 5;

/// Letters that are compared at most: as many as a word of the machine has bits.
const COMPARED: usize = 64;

/// The names that resemble `wanted` most, nearest first: those that contain it, then those that
/// differ by few letters in as many components, without regard to case, wildcards, arguments and
/// template parameters.
pub(crate) fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let names: Vec<&str> = names.collect();
    let bare = BareNames::of(names.iter().copied());
    nearest_of(wanted, &bare, names.into_iter().enumerate())
}

/// What to add to a refusal of a name that does not exist: the nearest that does, if one is near.
pub(crate) fn meant<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> String {
    let nearest = nearest(wanted, names).into_iter().next();
    nearest.map_or_else(String::new, |name| format!("; the nearest is `{name}`"))
}

/// The same of names whose bare forms are known, with their numbers there.
pub(crate) fn nearest_of<'n>(
    wanted: &str,
    bare: &BareNames,
    names: impl Iterator<Item = (usize, &'n str)>,
) -> Vec<String> {
    let wanted = wanted.replace(['*', '?', '\\', '^', '$'], "").to_ascii_lowercase();
    let wanted = short_name(&wanted);
    if wanted.is_empty() {
        return Vec::new();
    }
    let components = wanted.matches("::").count() + 1;
    let letters = Letters::new(wanted.as_bytes(), true);
    let word = Word::new(wanted.as_bytes());
    // A third of the letters may be wrong.
    let mut most = (wanted.len() / 3).max(1);
    let mut found: BTreeSet<(usize, usize, &str)> = BTreeSet::new();
    for (number, name) in names {
        let contains = || wanted.len() >= 3 && letters.find(name.as_bytes(), 0).is_some();
        let distance = if contains() {
            Some(0)
        } else {
            let of_name = bare.components(number).len() == 0;
            let ends = bare.last(number, components).chain(of_name.then_some(name));
            ends.filter_map(|end| word.distance(end.as_bytes(), most)).min()
        };
        if let Some(distance) = distance {
            found.insert((distance, name.len(), name));
        }
        if found.len() > SUGGESTIONS {
            found.pop_last();
            // What is further off than all of them is no longer of interest.
            most = found.last().map_or(most, |&(distance, ..)| distance);
        }
    }
    found.into_iter().map(|(_, _, name)| name.to_owned()).collect()
}

/// A word in lower case that others are compared with.
struct Word {
    length: usize,
    /// Letters that may be missing at the end of what it is compared with.
    may_lack: usize,
    /// For each byte its places in the word, in either case.
    places: Box<[u64; 256]>,
    /// A bit for each byte that is in it.
    bytes: Vec<u64>,
}

impl Word {
    fn new(word: &[u8]) -> Self {
        let word = &word[..word.len().min(COMPARED)];
        let mut places = Box::new([0; 256]);
        for (at, byte) in word.iter().enumerate() {
            places[byte.to_ascii_lowercase() as usize] |= 1 << at;
            places[byte.to_ascii_uppercase() as usize] |= 1 << at;
        }
        // The beginning of a name may be all that was typed.
        let may_lack = if word.len() < 4 { 0 } else { (word.len() / 3).max(1) };
        Self {
            length: word.len(),
            may_lack,
            places,
            bytes: word.iter().map(|&byte| byte_bit(byte)).collect(),
        }
    }

    /// How many insertions, deletions, replacements and swaps of neighbours make a text, or a
    /// beginning of it that is about as long, of the word (optimal string alignment); `None` if
    /// these are more than `most`.
    ///
    /// All rows of a column of the usual table are bits of words (Hyyrö, "A bit-vector algorithm
    /// for computing Levenshtein and Damerau edit distances", 2003). strsim 0.11, which compares
    /// whole texts alone, takes 1 to 35 times as long on 165 000 names: up to half a second.
    fn distance(&self, text: &[u8], most: usize) -> Option<usize> {
        let most_wrong = (self.length / 3).max(1);
        let length = text.len().min(self.length + most_wrong);
        let text = &text[..length];
        // As many letters as are missing would have to be put in at least.
        let letters = text.iter().fold(0, |letters, &byte| letters | byte_bit(byte));
        if self.bytes.iter().filter(|&&bit| letters & bit == 0).count() > most {
            return None;
        }
        let from =
            if self.may_lack == 0 { length } else { length.min(self.length - self.may_lack) };
        let (mut above, mut below) = (u64::MAX, 0_u64);
        let (mut same, mut before) = (0_u64, 0_u64);
        let last = 1 << (self.length - 1);
        let mut distance = self.length;
        let mut least = if from == 0 { distance } else { usize::MAX };
        for (count, &byte) in (1..).zip(text) {
            let places = self.places[byte as usize];
            let swapped = (!same & places) << 1 & before;
            same = swapped | ((places & above).wrapping_add(above) ^ above) | places | below;
            let (greater, less) = (below | !(same | above), same & above);
            distance += usize::from(greater & last != 0);
            distance -= usize::from(less & last != 0);
            let (greater, less) = (greater << 1 | 1, less << 1);
            above = less | !(same | greater);
            below = greater & same;
            before = places;
            if count >= from {
                least = least.min(distance);
            }
        }
        (least <= most).then_some(least)
    }
}

/// One of 64 bits for a byte, the same for letters of either case.
fn byte_bit(byte: u8) -> u64 {
    1 << (byte.to_ascii_lowercase() % 64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Word, nearest};

    /// The table of the textbooks: the last row.
    fn distances(a: &[u8], b: &[u8]) -> Vec<usize> {
        let mut table = vec![(0..=b.len()).collect::<Vec<_>>()];
        for (i, x) in a.iter().enumerate() {
            let mut row = vec![i + 1];
            for (j, y) in b.iter().enumerate() {
                let replaced = table[i][j] + usize::from(!x.eq_ignore_ascii_case(y));
                row.push(replaced.min(table[i][j + 1] + 1).min(row[j] + 1));
                let is_same = |p: u8, q: u8| p.eq_ignore_ascii_case(&q);
                if i > 0 && j > 0 && is_same(a[i - 1], *y) && is_same(b[j - 1], *x) {
                    row[j + 1] = row[j + 1].min(table[i - 1][j - 1] + 1);
                }
            }
            table.push(row);
        }
        table.pop().unwrap()
    }

    proptest! {
        #[test]
        fn distances_are_those_of_the_table(word in "[abc]{1,70}", text in "[abcA]{0,80}", most in 0..40_usize) {
            let compared = &word.as_bytes()[..word.len().min(64)];
            let wrong = (compared.len() / 3).max(1);
            let length = text.len().min(compared.len() + wrong);
            let from = if compared.len() < 4 { length } else { length.min(compared.len() - wrong) };
            let row = distances(compared, &text.as_bytes()[..length]);
            let least = row[from..].iter().copied().min().filter(|&least| least <= most);
            prop_assert_eq!(Word::new(word.as_bytes()).distance(text.as_bytes(), most), least);
        }
    }

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
