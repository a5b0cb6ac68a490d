//! Perf maps: a line `START SIZE name` for each piece of code, in hexadecimal, where the name is
//! the rest of the line (Linux, tools/perf/Documentation/jit-interface.txt). The JVM writes `0x`
//! before its numbers. Files are appended to, so what comes later is what is there later.

use core::ops::Range;

use super::entries::{Entries, Meaning};

/// Reads all lines. The moment of an entry is the place in the file at which its line ends.
pub(super) fn read(text: &[u8], entries: &mut Entries<'_>) {
    let mut end = 0;
    for (number, line) in (1_u64..).zip(text.split_inclusive(|&byte| byte == b'\n')) {
        let start = end;
        end += line.len();
        let place = || format!("line {number}");
        if line.trim_ascii().is_empty() {
            continue;
        }
        match entry(line) {
            Some((code, name)) => {
                let name = start + name.start..start + name.end;
                let meaning = Meaning { name, ..Meaning::default() };
                entries.add(code, end as u64, meaning, place);
            }
            // A process that was killed has not written its last line to the end.
            None => entries.refuse("lines that are no entry", place),
        }
    }
}

/// Addresses of the code, and where in the line its name is.
fn entry(line: &[u8]) -> Option<(Range<u64>, Range<usize>)> {
    let end = line.trim_ascii_end().len();
    let line = &line[..end];
    let is_blank = |byte: &u8| *byte == b' ' || *byte == b'\t';
    let mut words = line.splitn(3, is_blank);
    let start = number(words.next()?)?;
    let size = number(words.next()?)?;
    let name = words.next()?.trim_ascii_start();
    (!name.is_empty()).then_some((start..start.saturating_add(size), end - name.len()..end))
}

fn number(digits: &[u8]) -> Option<u64> {
    let digits = digits.strip_prefix(b"0x").unwrap_or(digits);
    // A sign is none of these digits.
    if digits.first() == Some(&b'+') {
        return None;
    }
    u64::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}
