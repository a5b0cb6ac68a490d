//! The lines of a source file, whatever is in it.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use csprof_format::profile::SourceFile;
use csprof_format::source_file::digest;

/// Bytes of a line that are looked at: more than anybody reads, and far less than a file has that
/// is one line.
const LONGEST_LINE: usize = 1 << 14;

/// Stands for a line that the profile does not keep.
const NOT_KEPT: &str = "(not kept)";

/// Cells between two stops of tabs.
const TAB: usize = 8;

/// A file as lines, or those of its lines that are known. A clone costs nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceText {
    bytes: Arc<[u8]>,
    /// Where each line begins.
    starts: Arc<[u32]>,
    /// The numbers of lines that follow each other, in ascending order, and the place of the first.
    stretches: Arc<[(Range<u32>, u32)]>,
    /// How many lines the file has.
    lines: u32,
}

impl SourceText {
    /// The lines of these bytes, less than 4 GiB. What follows the last end of a line is one only
    /// if it is something.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let ends = memchr::memchr_iter(b'\n', &bytes).map(|end| end + 1);
        let starts = std::iter::once(0).chain(ends).filter(|start| *start < bytes.len());
        let starts: Arc<[u32]> = starts.map(place).collect();
        let lines = place(starts.len());
        let all = (lines > 0).then_some((1..lines.saturating_add(1), 0));
        Self { starts, bytes: bytes.into(), stretches: all.into_iter().collect(), lines }
    }

    /// The lines of a file that a profile keeps.
    #[must_use]
    pub fn of_kept(file: &SourceFile) -> Self {
        let mut at = 0;
        let stretches = file.stretches.iter().map(|stretch| {
            let before = at;
            at += stretch.count;
            (stretch.first..stretch.end(), before)
        });
        let stretches = stretches.collect();
        Self { stretches, lines: file.lines, ..Self::new(file.text.clone().into_bytes()) }
    }

    /// How many lines the file has, also where not all are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines as usize
    }

    /// The bytes of the lines that are known.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What tells it from other versions of the file; of all lines.
    #[must_use]
    pub fn digest(&self) -> u64 {
        digest(&self.bytes)
    }

    /// The numbers of the lines that are known, as stretches in ascending order.
    pub fn known(&self) -> impl Iterator<Item = Range<u32>> {
        self.stretches.iter().map(|(lines, _)| lines.clone())
    }

    /// What is shown of a line: also that it is there and not known.
    #[must_use]
    pub fn shown(&self, number: u32) -> Cow<'_, str> {
        let is_there = (1..=self.lines).contains(&number);
        self.line(number).unwrap_or(if is_there { NOT_KEPT.into() } else { "".into() })
    }

    /// How many lines are known.
    #[must_use]
    pub fn known_lines(&self) -> usize {
        self.starts.len()
    }

    /// The place of a line among those that are known.
    fn place(&self, number: u32) -> Option<usize> {
        let after = self.stretches.partition_point(|(lines, _)| lines.start <= number);
        let (lines, place) = self.stretches.get(after.checked_sub(1)?)?;
        lines.contains(&number).then(|| (place + (number - lines.start)) as usize)
    }

    /// Whether a line is known.
    #[must_use]
    pub fn has(&self, number: u32) -> bool {
        self.place(number).is_some()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines == 0
    }

    /// A line by its number, from 1, or its beginning if it is long; what is no UTF-8 becomes
    /// U+FFFD. `None` if there is no such line, or it is not known.
    #[must_use]
    pub fn line(&self, number: u32) -> Option<Cow<'_, str>> {
        let at = self.place(number)?;
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
    fn kept_lines_have_their_numbers() {
        let mut kept = SourceFile { lines: 9, ..SourceFile::default() };
        for (number, line) in [(2, "b"), (3, ""), (7, "\u{202e}g")] {
            kept.push(number, line);
        }
        let text = SourceText::of_kept(&kept);
        let lines: Vec<Option<Cow<'_, str>>> = (0..=10).map(|line| text.line(line)).collect();
        let expected: Vec<Option<Cow<'_, str>>> = (0..=10)
            .map(|line| kept.numbered().find(|(of, _)| *of == line).map(|(_, text)| text.into()))
            .collect();
        assert_eq!(lines, expected);
        assert_eq!((text.len(), text.known_lines()), (9, 3));
        assert_eq!(
            [3, 4, 9, 10].map(|line| text.shown(line)),
            ["", "(not kept)", "(not kept)", ""]
        );
        assert_eq!(text.known().collect::<Vec<_>>(), [2..4, 7..8]);
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
