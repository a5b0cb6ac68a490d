//! Letters looked for in many texts.

use memchr::memchr2;
use memchr::memmem::Finder;

/// Letters that are looked for.
#[derive(Debug)]
pub(crate) struct Letters {
    text: Vec<u8>,
    ignore_case: bool,
    finder: Finder<'static>,
    /// The place of the letter that is likely to be the rarest.
    rarest: usize,
}

/// Letters of names, frequent ones first; others are rare.
const FREQUENT: &[u8] = b"etrnsaoi_lcdpum";

impl Letters {
    /// Where case is ignored, that of ASCII letters.
    pub(crate) fn new(text: &[u8], ignore_case: bool) -> Self {
        let rank = |byte: &u8| {
            let lower = byte.to_ascii_lowercase();
            FREQUENT.iter().position(|&letter| letter == lower).unwrap_or(FREQUENT.len())
        };
        let rarest = (0..text.len()).max_by_key(|&at| rank(&text[at])).unwrap_or(0);
        let finder = Finder::new(text).into_owned();
        Self { text: text.to_owned(), ignore_case, finder, rarest }
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Where they begin in a text first, at or behind a place.
    pub(crate) fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        if !self.ignore_case {
            return self.finder.find(text.get(from..)?).map(|at| from + at);
        }
        let Some(rarest) = self.text.get(self.rarest) else {
            return (from <= text.len()).then_some(from);
        };
        let (lower, upper) = (rarest.to_ascii_lowercase(), rarest.to_ascii_uppercase());
        let mut at = from + self.rarest;
        loop {
            at += memchr2(lower, upper, text.get(at..)?)?;
            let begin = at - self.rarest;
            if text.get(begin..begin + self.len())?.eq_ignore_ascii_case(&self.text) {
                return Some(begin);
            }
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Letters;

    #[test]
    fn letters_are_found_with_and_without_regard_to_case() {
        for (letters, text, from, exactly, anyhow) in [
            ("send", "MPI_Send_send", 0, Some(9), Some(4)),
            ("Send", "MPI_Send_send", 5, None, Some(9)),
            ("send", "sen", 0, None, None),
            ("zz", "zzz", 1, Some(1), Some(1)),
            ("a_b", "xa_a_B", 0, None, Some(3)),
            ("", "ab", 2, Some(2), Some(2)),
            ("", "ab", 3, None, None),
            ("é", "caFÉé", 0, Some(5), Some(5)),
        ] {
            let find = |ignore_case| {
                Letters::new(letters.as_bytes(), ignore_case).find(text.as_bytes(), from)
            };
            assert_eq!((find(false), find(true)), (exactly, anyhow), "{letters} in {text}");
        }
    }
}
