//! All that csprof writes to standard output and standard error.
//!
//! Names, paths, commands and notes come out of files, and a terminal obeys what it is sent. So
//! nothing reaches either stream but through [`Printable`], which shows characters that a terminal
//! would act upon, or that nobody would see, as escapes. The same bytes go to a terminal and to a
//! pipe: what is piped is often looked at in the end.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::io::{self, BufWriter, IsTerminal, StderrLock, StdoutLock, Write};
use std::ops::RangeInclusive;

/// Names the place where output failed.
pub(crate) const CANNOT_PRINT: &str = "standard output: cannot be written";

/// Characters that terminals do not show as they stand: they change the direction of the text
/// around them (Trojan Source, CVE-2021-42574), take no room, or end lines. Control characters
/// come besides. Unicode 16, general categories Cf, Zl, Zp, and variation selectors.
const UNSEEN: &[RangeInclusive<char>] = &[
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{600}'..='\u{605}',
    '\u{61c}'..='\u{61c}',
    '\u{6dd}'..='\u{6dd}',
    '\u{70f}'..='\u{70f}',
    '\u{890}'..='\u{891}',
    '\u{8e2}'..='\u{8e2}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{3164}'..='\u{3164}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff0}'..='\u{fffb}',
    '\u{110bd}'..='\u{110bd}',
    '\u{110cd}'..='\u{110cd}',
    '\u{13430}'..='\u{1343f}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0000}'..='\u{e0fff}',
];

/// Whether a character is shown as an escape.
fn is_escaped(c: char) -> bool {
    // Nothing between DEL and the soft hyphen but C1 controls, and nothing else in ASCII.
    if c < '\u{ad}' {
        return c.is_control();
    }
    let place = UNSEEN.partition_point(|range| *range.end() < c);
    UNSEEN.get(place).is_some_and(|range| range.contains(&c))
}

/// The text on one line, with escapes for what a terminal would obey or nobody would see.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~');
    if text.as_bytes().iter().all(plain) || !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_escaped(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// What is written, and therefore how a character is escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escaping {
    /// Lines for people, or CSV: `\u{1b}`.
    Text,
    /// JSON, in which such characters occur in strings only: `\u001b`.
    Json,
}

/// Passes text on with escapes. Line ends stay, since what is one line is decided where it is made;
/// bytes that are no UTF-8 become U+FFFD.
#[derive(Debug)]
pub struct Printable<W: Write> {
    out: W,
    escaping: Escaping,
    /// The beginning of a character whose other bytes are still to come.
    begun: Vec<u8>,
}

impl<W: Write> Printable<W> {
    /// A writer to `out`.
    pub const fn new(out: W, escaping: Escaping) -> Self {
        Self { out, escaping, begun: Vec::new() }
    }

    /// What it wrote to.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        let is_escaped = |c: char| c != '\n' && is_escaped(c);
        let mut rest = text;
        while let Some(at) = rest.find(is_escaped) {
            let (before, from) = rest.split_at(at);
            self.out.write_all(before.as_bytes())?;
            let mut chars = from.chars();
            match (chars.next(), self.escaping) {
                (Some(c), Escaping::Text) => write!(self.out, "{}", c.escape_default())?,
                (Some(c), Escaping::Json) => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        write!(self.out, "\\u{unit:04x}")?;
                    }
                }
                (None, _) => {}
            }
            rest = chars.as_str();
        }
        self.out.write_all(rest.as_bytes())
    }

    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => return self.text(text),
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    self.text(&String::from_utf8_lossy(valid))?;
                    let Some(length) = error.error_len() else {
                        self.begun = after.to_vec();
                        return Ok(());
                    };
                    self.text("\u{fffd}")?;
                    rest = &after[length..];
                }
            }
        }
    }
}

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n');
        if self.begun.is_empty() && bytes.iter().all(plain) {
            self.out.write_all(bytes)?;
        } else if self.begun.is_empty() {
            self.bytes(bytes)?;
        } else {
            let mut whole = std::mem::take(&mut self.begun);
            whole.extend_from_slice(bytes);
            self.bytes(&whole)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Standard output, for a report with these escapes; its end is a flush.
#[must_use]
pub fn output(escaping: Escaping) -> Printable<BufWriter<StdoutLock<'static>>> {
    Printable::new(BufWriter::new(io::stdout().lock()), escaping)
}

/// Prints a line.
///
/// # Errors
/// Those of standard output.
pub fn line(text: &str) -> io::Result<()> {
    let mut out = output(Escaping::Text);
    writeln!(out, "{text}")?;
    out.flush()
}

/// Prints what csprof itself contains as it is: manual pages, scripts for shells.
///
/// # Errors
/// Those of standard output.
pub fn as_it_is(text: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text)?;
    out.flush()
}

fn messages() -> Printable<BufWriter<StderrLock<'static>>> {
    Printable::new(BufWriter::new(io::stderr().lock()), Escaping::Text)
}

/// Says something on standard error, in one write. Lines of the text stay lines.
///
/// # Errors
/// Those of standard error. Where nothing depends on it, they are for nobody.
pub fn message(text: impl fmt::Display) -> io::Result<()> {
    if MUTE.get() {
        return Ok(());
    }
    let mut out = messages();
    writeln!(out, "csprof: {text}")?;
    out.flush()
}

/// The same without the name of the program, where the text begins with a word of its own.
///
/// # Errors
/// Those of standard error.
pub fn plain_message(text: &str) -> io::Result<()> {
    let mut out = messages();
    writeln!(out, "{text}")?;
    out.flush()
}

/// Whether standard error is a terminal, which shows a line that changes.
#[must_use]
pub fn is_watched() -> bool {
    io::stderr().is_terminal() && !MUTE.get()
}

thread_local! {
    static MUTE: Cell<bool> = const { Cell::new(false) };
}

/// Lets nothing that this thread has to say reach standard error: the screen is somebody else's.
pub fn mute() {
    MUTE.set(true);
}

/// Shows a line that the next one replaces.
pub fn passing(text: &str) {
    let mut out = io::stderr().lock();
    // If nobody sees it, nothing is lost.
    let _ = write!(out, "\rcsprof: {}", printable(text));
}

/// Removes the line that [`passing`] showed: returns to its start and erases it (ECMA-48, EL).
pub fn passed() {
    let _ = write!(io::stderr().lock(), "\r\x1b[K");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_escaped() {
        assert_eq!(printable("f(int)"), "f(int)");
        assert_eq!(printable("\u{1b}[31mred\nµ"), "\\u{1b}[31mred\\nµ");
        assert_eq!(printable("\u{9b}31m\u{7f}"), "\\u{9b}31m\\u{7f}");
        assert_eq!(printable("a\u{202e}b\u{2066}c"), "a\\u{202e}b\\u{2066}c");
        assert_eq!(printable("x\u{200b}y\u{feff}\u{e0041}"), "x\\u{200b}y\\u{feff}\\u{e0041}");
        assert_eq!(printable("größe 名前 🦀 e\u{301}"), "größe 名前 🦀 e\u{301}");
    }

    #[test]
    fn the_unseen_are_in_order() {
        assert!(UNSEEN.windows(2).all(|pair| pair[0].end() < pair[1].start()));
    }

    fn written(pieces: &[&[u8]], escaping: Escaping) -> String {
        let mut out = Printable::new(Vec::new(), escaping);
        pieces.iter().for_each(|piece| out.write_all(piece).unwrap());
        String::from_utf8(out.out).unwrap()
    }

    #[test]
    fn streams_keep_lines_and_escape_the_rest() {
        assert_eq!(written(&[b"a\nb\x1bc\td\r"], Escaping::Text), "a\nb\\u{1b}c\\td\\r");
        let name = "\"\u{9b}\u{202e}\u{e0041}\u{7f}\"";
        let json = written(&[name.as_bytes()], Escaping::Json);
        assert_eq!(json, r#""\u009b\u202e\udb40\udc41\u007f""#);
        let read: String = serde_json::from_str(&json).unwrap();
        assert_eq!(read, name.trim_matches('"'));
    }

    #[test]
    fn characters_may_come_in_pieces_and_bytes_may_be_none() {
        let name = "ö\u{202e}名";
        for at in 0..name.len() {
            let (before, after) = name.as_bytes().split_at(at);
            assert_eq!(written(&[before, after], Escaping::Text), "ö\\u{202e}名");
        }
        assert_eq!(
            written(&[b"a\xff\xc3", b"\x28z\xe2\x80"], Escaping::Text),
            "a\u{fffd}\u{fffd}(z"
        );
    }
}
