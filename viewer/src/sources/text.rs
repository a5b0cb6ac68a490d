//! The lines of a source file, whatever is in it.

use std::borrow::Cow;
use std::sync::Arc;

/// Bytes of a line that are looked at: more than anybody reads, and far less than a file has that
/// is one line.
const LONGEST_LINE: usize = 1 << 14;

/// Cells between two stops of tabs.
const TAB: usize = 8;

/// A file as lines. A clone costs nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceText {
    bytes: Arc<[u8]>,
    /// Where each line begins.
    starts: Arc<[u32]>,
}

impl SourceText {
    /// The lines of these bytes, less than 4 GiB. What follows the last end of a line is one only
    /// if it is something.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let ends = memchr::memchr_iter(b'\n', &bytes).map(|end| end + 1);
        let starts = std::iter::once(0).chain(ends).filter(|start| *start < bytes.len());
        Self { starts: starts.map(place).collect(), bytes: bytes.into() }
    }

    /// How many lines there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// A line by its number, from 1, or its beginning if it is long; what is no UTF-8 becomes
    /// U+FFFD. `None` if there is no such line.
    #[must_use]
    pub fn line(&self, number: u32) -> Option<Cow<'_, str>> {
        let at = (number as usize).checked_sub(1)?;
        let start = *self.starts.get(at)? as usize;
        let end = self.starts.get(at + 1).map_or(self.bytes.len(), |next| *next as usize);
        let line = &self.bytes[start..end];
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Some(match line.get(..LONGEST_LINE) {
            // Not in the middle of a character.
            Some(head) => {
                Cow::Owned(String::from_utf8_lossy(head).trim_end_matches('\u{fffd}').into())
            }
            None => String::from_utf8_lossy(line),
        })
    }
}

/// Text with blanks for its tabs, where `width` says how many cells a stretch without tabs takes.
#[must_use]
pub fn without_tabs<'t>(text: &'t str, width: impl Fn(&str) -> usize) -> Cow<'t, str> {
    if !text.contains('\t') {
        return Cow::Borrowed(text);
    }
    let mut spread = String::with_capacity(text.len() + 4 * TAB);
    let mut cells = 0;
    let mut parts = text.split('\t').peekable();
    while let Some(part) = parts.next() {
        spread.push_str(part);
        cells += width(part);
        if parts.peek().is_some() {
            let to_next = TAB - cells % TAB;
            spread.push_str(&" ".repeat(to_next));
            cells += to_next;
        }
    }
    Cow::Owned(spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<String> {
        let text = SourceText::new(bytes.to_vec());
        let count = u32::try_from(text.len()).unwrap();
        (1..=count).map(|number| text.line(number).unwrap().into_owned()).collect()
    }

    #[test]
    fn a_file_is_its_lines_whatever_ends_them() {
        assert_eq!(lines(b"a\nb\n"), ["a", "b"]);
        assert_eq!(lines(b"a\r\n\nb"), ["a", "", "b"]);
        assert_eq!(lines(b""), [""; 0]);
        assert_eq!(lines(b"\n"), [""]);
        assert_eq!(lines(b"\xffa\xe6\xbc\xa2\n"), ["\u{fffd}a\u{6f22}"]);
        let text = SourceText::new(b"a\n".to_vec());
        assert_eq!((text.line(0), text.line(2), text.line(u32::MAX)), (None, None, None));
    }

    #[test]
    fn of_a_line_of_megabytes_the_beginning_is_there() {
        let long = "\u{6f22}".repeat(1 << 19);
        let line = lines(long.as_bytes()).remove(0);
        assert!(line.len() <= LONGEST_LINE && long.starts_with(&line) && line.len() > 16_000);
    }

    #[test]
    fn tabs_lead_to_the_next_stop() {
        for (text, spread) in [
            ("a", "a"),
            ("\ta", "        a"),
            ("ab\tc\t", "ab      c       "),
            ("1234567\ta", "1234567 a"),
            ("12345678\ta", "12345678        a"),
        ] {
            assert_eq!(without_tabs(text, str::len), spread);
        }
    }
}
