//! Jitdump files: a header and then records, each with its size and time (Linux,
//! tools/perf/Documentation/jitdump-specification.txt). Read are code that appeared
//! (`JIT_CODE_LOAD`), code that was moved (`JIT_CODE_MOVE`), and lines (`JIT_CODE_DEBUG_INFO`,
//! which comes before the code that it is about).

use std::collections::HashMap;
use std::ops::Range;

use super::entries::{Entries, MOST_ENTRIES, MOST_NAME, Meaning};
use super::symbol;

/// `JiTD`, as a number in the byte order of the file.
const MAGIC: u32 = 0x4A69_5444;
/// Flag of the file's header: times are the processor's counter and not a clock's.
const ARCH_TIMESTAMP: u64 = 1;
/// Bytes of the file's header, and of a record's.
const HEADER: usize = 40;
const RECORD: usize = 16;

const CODE_LOAD: u32 = 0;
const CODE_MOVE: u32 = 1;
const DEBUG_INFO: u32 = 2;

/// V8 writes the lines of code 64 bytes too far, for the sake of a fault that perf had
/// (src/diagnostics/perf-jit.cc).
const SHIFT_OF_V8: u64 = 0x40_u64.wrapping_neg();

/// A piece of code by its index in the file.
struct Code {
    start: u64,
    meaning: Meaning,
}

/// Reads all records. The moment of an entry is its time, in nanoseconds of `CLOCK_MONOTONIC`; 0
/// where the file has no such times.
pub(super) fn read(bytes: &[u8], entries: &mut Entries<'_>) {
    let beginning = || "byte 0x0".to_owned();
    let mut header = Fields(bytes);
    if header.u32() != Some(MAGIC) {
        return entries.refuse("headers that are no little-endian jitdump's", beginning);
    }
    let (_version, size) = (header.u32(), header.u32());
    let flags = bytes.get(HEADER - 8..HEADER).and_then(|bytes| Fields(bytes).u64());
    let (Some(size), Some(flags)) = (size, flags) else {
        return entries.refuse("headers that are cut off", beginning);
    };
    let has_times = flags & ARCH_TIMESTAMP == 0;
    entries.has_moments = has_times;
    let mut at = (size as usize).max(HEADER);
    let mut known: HashMap<u64, Code> = HashMap::new();
    // Start of the code, and the record of its lines.
    let mut lines: Option<(u64, Range<usize>)> = None;
    while let Some(record) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let place = || format!("byte {at:#x}");
        let mut fields = Fields(record);
        let (kind, size, time_ns) = (fields.u32(), fields.u32(), fields.u64());
        let (Some(kind), Some(size), Some(time_ns)) = (kind, size, time_ns) else {
            return entries.refuse("records that are cut off", place);
        };
        // One whose process was killed, or still writes, ends behind the file.
        let size = size as usize;
        let Some(body) = record.get(RECORD..size) else {
            return entries.refuse("records that are cut off", place);
        };
        let moment = if has_times { time_ns } else { 0 };
        let body_at = at + RECORD;
        match kind {
            CODE_LOAD => match Load::read(body) {
                Some(load) => {
                    let own = lines.take().filter(|(start, _)| *start == load.start);
                    let meaning = Meaning {
                        name: body_at + load.name.start..body_at + load.name.end,
                        lines: own.map_or(0..0, |(_, lines)| lines),
                        shift: if symbol::is_of_v8(load.name_in(body)) { SHIFT_OF_V8 } else { 0 },
                    };
                    if known.len() < MOST_ENTRIES {
                        let code = Code { start: load.start, meaning: meaning.clone() };
                        known.insert(load.index, code);
                    }
                    let code = load.start..load.start.saturating_add(load.size);
                    entries.add(code, moment, meaning, place);
                }
                None => entries.refuse("records of code that cannot be read", place),
            },
            CODE_MOVE => match Move::read(body).map(|to| (known.get(&to.index), to)) {
                Some((Some(code), to)) => {
                    let moved = to.start.wrapping_sub(code.start);
                    let shift = code.meaning.shift.wrapping_add(moved);
                    let meaning = Meaning { shift, ..code.meaning.clone() };
                    let code = to.start..to.start.saturating_add(to.size);
                    entries.add(code, moment, meaning, place);
                }
                Some((None, _)) => entries.refuse("moves of code that is not known", place),
                None => entries.refuse("moves of code that cannot be read", place),
            },
            DEBUG_INFO => match Fields(body).u64() {
                Some(start) => lines = Some((start, body_at..at + size)),
                None => entries.refuse("records of lines that cannot be read", place),
            },
            // How to unwind, the end, and what later versions may have.
            _ => {}
        }
        at += size;
    }
}

/// Code that appeared: pid u32, tid u32, vma u64, address u64, size u64, index u64, name, code.
struct Load {
    start: u64,
    size: u64,
    index: u64,
    /// In the body, without the zero at its end.
    name: Range<usize>,
}

impl Load {
    fn name_in<'b>(&self, body: &'b [u8]) -> &'b [u8] {
        &body[self.name.clone()]
    }

    fn read(body: &[u8]) -> Option<Self> {
        const NAME: usize = 40;
        let mut fields = Fields(body);
        let (_pid_and_tid, _vma) = (fields.u64()?, fields.u64()?);
        let (start, size, index) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let length = body.get(NAME..)?.iter().position(|&byte| byte == 0)?;
        (length > 0).then_some(Self { start, size, index, name: NAME..NAME + length })
    }
}

/// Code that was moved: pid u32, tid u32, vma u64, old and new address u64, size u64, index u64.
struct Move {
    start: u64,
    size: u64,
    index: u64,
}

impl Move {
    fn read(body: &[u8]) -> Option<Self> {
        let mut fields = Fields(body);
        let (_pid_and_tid, _vma, _old) = (fields.u64()?, fields.u64()?, fields.u64()?);
        Some(Self { start: fields.u64()?, size: fields.u64()?, index: fields.u64()? })
    }
}

/// File and line of the code at an address, by a record of lines: code address u64, count u64, then
/// for each stretch its address u64, line u32, discriminator u32 and file, which ends with a zero;
/// the file `\xff` is that of the stretch before.
///
/// `steps` is how many bytes may still be looked at. A record that is damaged, or has a longer name
/// than [`MOST_NAME`], says nothing.
pub(super) fn line_at<'b>(
    bytes: &'b [u8],
    meaning: &Meaning,
    address: u64,
    steps: &mut u64,
) -> Option<(&'b [u8], u32)> {
    const SAME_FILE: &[u8] = b"\xff";
    let mut fields = Fields(bytes.get(meaning.lines.clone())?);
    let (_code, count) = (fields.u64()?, fields.u64()?);
    let sought = address.wrapping_sub(meaning.shift);
    let mut file = None;
    let mut found: Option<(u64, Option<&[u8]>, u32)> = None;
    for _ in 0..count {
        let (start, line, _discriminator) = (fields.u64()?, fields.u32()?, fields.u32()?);
        let name = fields.text()?;
        *steps = steps.saturating_sub(16 + name.len() as u64);
        if *steps == 0 {
            return None;
        }
        if name != SAME_FILE {
            file = Some(name);
        }
        // Stretches are mostly, not always, in order.
        if start <= sought && found.is_none_or(|(before, ..)| before <= start) {
            found = Some((start, file, line));
        }
    }
    let (_, file, line) = found?;
    Some((file.filter(|file| !file.is_empty())?, line))
}

/// Takes little-endian fields from the front.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn u32(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*bytes))
    }

    fn u64(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    /// Up to a zero, which is no further than a name may reach.
    fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.0.iter().take(MOST_NAME + 1).position(|&byte| byte == 0)?;
        let (text, rest) = self.0.split_at(length);
        self.0 = &rest[1..];
        Some(text)
    }
}
