//! Records as the kernel writes them into a [ring](super::ring): perf_event_open(2),
//! "MMAP layout", in the order of `PERF_SAMPLE_…` that [`events`](super::events) asks for.

/// What one record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record<'a> {
    /// An event has counted a period.
    Sample(Sample<'a>),
    /// Code was mapped.
    Mapped(Mapped<'a>),
    /// A thread has a name, by exec or of its own will.
    Named { is_exec: bool, name: &'a [u8] },
    /// A thread began, in its parent's process or in one of its own.
    Begun { parent_process: u32, parent: u32 },
    /// A thread has ended.
    Ended,
    /// So many records found no room.
    Lost(u64),
    /// The kernel holds an event up that comes too often.
    Throttled,
    /// Nothing that matters here.
    Other,
    /// Not as the kernel writes it.
    Unreadable,
}

/// A record that cannot be read, of which nobody knows when it was written and whose it is.
const UNREADABLE: Stamped<'static> =
    Stamped { process: 0, thread: 0, time_ns: 0, record: Record::Unreadable };

/// A record, and what all of them have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamped<'a> {
    pub(super) process: u32,
    pub(super) thread: u32,
    /// `CLOCK_MONOTONIC`.
    pub(super) time_ns: u64,
    pub(super) record: Record<'a>,
}

/// A sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample<'a> {
    /// The event's [identifier](crate::launch::perf_event::identifier).
    pub(super) event: u64,
    pub(super) callers: Callers<'a>,
}

/// What a sample has of its call path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Callers<'a> {
    /// The thread was not in its program: it was ending, or executing another one.
    None,
    /// Runtime addresses by frame pointers, the innermost first, little-endian words.
    Chain(&'a [u8]),
    /// Registers in the order of [`REGISTERS`], and the innermost bytes of the stack.
    Stack { registers: &'a [u8], bytes: &'a [u8] },
}

/// A mapping of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mapped<'a> {
    pub(super) start: u64,
    pub(super) length: u64,
    /// In the file, in bytes.
    pub(super) offset: u64,
    /// Major and minor number.
    pub(super) device: (u32, u32),
    pub(super) inode: u64,
    pub(super) path: &'a [u8],
}

/// `PERF_SAMPLE_IDENTIFIER`, `TID` and `TIME`: what each record has.
pub(super) const STAMP: u64 = 1 << 16 | 1 << 1 | 1 << 2;
/// `PERF_SAMPLE_CALLCHAIN`.
pub(super) const CHAIN: u64 = 1 << 5;
/// `PERF_SAMPLE_REGS_USER` and `PERF_SAMPLE_STACK_USER`.
pub(super) const STACK: u64 = 1 << 12 | 1 << 13;
/// Bytes of the stamp behind a record that is no sample.
const STAMP_BYTES: usize = 24;

/// The registers of a sample, which come by their numbers in the kernel (asm/perf_regs.h), by their
/// numbers in call frame information (psABI, figure 3.36); 16 is the program counter.
pub(super) const REGISTERS: [(u32, usize); 17] = [
    (0, 0),   // rax
    (1, 3),   // rbx
    (2, 2),   // rcx
    (3, 1),   // rdx
    (4, 4),   // rsi
    (5, 5),   // rdi
    (6, 6),   // rbp
    (7, 7),   // rsp
    (8, 16),  // rip
    (16, 8),  // r8
    (17, 9),  // r9
    (18, 10), // r10
    (19, 11), // r11
    (20, 12), // r12
    (21, 13), // r13
    (22, 14), // r14
    (23, 15), // r15
];
const _: () = assert!(REGISTERS.len() == 17);

/// `PERF_SAMPLE_REGS_ABI_32` and `PERF_SAMPLE_REGS_ABI_64`.
const ABI_32: u64 = 1;
const ABI_64: u64 = 2;
/// Where call chains tell whose frames follow: numbers from here on are no addresses.
const CONTEXTS: u64 = u64::MAX - 4094;

const EXEC: u16 = 1 << 13;

/// What the events of a session sample beside the stamp: [`CHAIN`] or [`STACK`].
pub(super) type Parts = u64;

/// Takes the first record off; `None` at the end. One that cannot be read is taken off whole; where
/// that has no end, all the rest.
pub(super) fn next<'a>(bytes: &mut &'a [u8], parts: Parts) -> Option<Stamped<'a>> {
    if bytes.is_empty() {
        return None;
    }
    let record = take(bytes).and_then(|(kind, misc, body)| match kind {
        9 => sample(body, parts),
        _ => stamped(kind, misc, body),
    });
    Some(record.unwrap_or(UNREADABLE))
}

/// Takes a record off; its kind, its bits, and what is behind its header.
fn take<'a>(bytes: &mut &'a [u8]) -> Option<(u32, u16, &'a [u8])> {
    let all = std::mem::take(bytes);
    let mut header = Cursor(all);
    let (kind, misc, size) = (header.u32()?, header.u16()?, header.u16()?);
    let (record, rest) = all.split_at_checked(size.into())?;
    let body = record.get(8..)?;
    *bytes = rest;
    Some((kind, misc, body))
}

/// A record with its stamp behind it.
fn stamped(kind: u32, misc: u16, body: &[u8]) -> Option<Stamped<'_>> {
    let (body, stamp) = body.split_at_checked(body.len().checked_sub(STAMP_BYTES)?)?;
    let mut stamp = Cursor(stamp);
    let (process, thread, time_ns) = (stamp.u32()?, stamp.u32()?, stamp.u64()?);
    let (process, thread, record) = other(kind, misc, Cursor(body), (process, thread))?;
    Some(Stamped { process, thread, time_ns, record })
}

fn sample(body: &[u8], parts: Parts) -> Option<Stamped<'_>> {
    let mut body = Cursor(body);
    let event = body.u64()?;
    let (process, thread, time_ns) = (body.u32()?, body.u32()?, body.u64()?);
    let callers = if parts & CHAIN != 0 {
        let words = usize::try_from(body.u64()?).ok()?;
        match body.bytes(words.checked_mul(8)?)? {
            [] => Callers::None,
            chain => Callers::Chain(chain),
        }
    } else {
        match body.u64()? {
            abi @ (ABI_32 | ABI_64) => {
                let registers = body.bytes(8 * REGISTERS.len())?;
                let room = usize::try_from(body.u64()?).ok()?;
                let bytes = body.bytes(room)?;
                let used = if room > 0 { body.u64()? as usize } else { 0 };
                let used = bytes.get(..used)?;
                // What 32-bit code has on its stack is not followed: its path is the pc alone.
                Callers::Stack { registers, bytes: if abi == ABI_64 { used } else { &[] } }
            }
            _ => Callers::None,
        }
    };
    let record = Record::Sample(Sample { event, callers });
    Some(Stamped { process, thread, time_ns, record })
}

/// Who it is about, and what it says; `stamp` is who was running.
fn other<'a>(
    kind: u32,
    misc: u16,
    mut body: Cursor<'a>,
    stamp: (u32, u32),
) -> Option<(u32, u32, Record<'a>)> {
    let of_stamp = |record| Some((stamp.0, stamp.1, record));
    match kind {
        2 => {
            let _event = body.u64()?;
            of_stamp(Record::Lost(body.u64()?))
        }
        3 => {
            let (process, thread) = (body.u32()?, body.u32()?);
            let record = Record::Named { is_exec: misc & EXEC != 0, name: body.text() };
            Some((process, thread, record))
        }
        // PERF_RECORD_EXIT and PERF_RECORD_FORK.
        4 | 7 => {
            let (process, parent_process) = (body.u32()?, body.u32()?);
            let (thread, parent) = (body.u32()?, body.u32()?);
            let is_begin = kind == 7;
            let begun = Record::Begun { parent_process, parent };
            Some((process, thread, if is_begin { begun } else { Record::Ended }))
        }
        5 => of_stamp(Record::Throttled),
        // PERF_RECORD_MMAP2.
        10 => {
            let (process, thread) = (body.u32()?, body.u32()?);
            let (start, length, offset) = (body.u64()?, body.u64()?, body.u64()?);
            let device = (body.u32()?, body.u32()?);
            let inode = body.u64()?;
            let _generation_protection_and_flags = (body.u64()?, body.u64()?);
            let path = body.text();
            let mapped = Mapped { start, length, offset, device, inode, path };
            Some((process, thread, Record::Mapped(mapped)))
        }
        _ => of_stamp(Record::Other),
    }
}

/// The addresses of a call chain, the innermost first.
pub(super) fn chain(words: &[u8]) -> impl Iterator<Item = u64> {
    let (words, _) = words.as_chunks::<8>();
    words.iter().map(|word| u64::from_le_bytes(*word)).filter(|&address| address < CONTEXTS)
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// What is left up to the first zero.
    fn text(self) -> &'a [u8] {
        self.0.split(|&byte| byte == 0).next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
        let size = 8 + body.len() as u16;
        let header = u64::from(kind) | u64::from(misc) << 32 | u64::from(size) << 48;
        [&header.to_le_bytes(), body].concat()
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    const PROCESS_AND_THREAD: u64 = 7 | 8 << 32;

    #[test]
    fn a_sample_has_registers_and_the_used_part_of_its_stack() {
        let registers: Vec<u64> = (100..117).collect();
        let head = words(&[42, PROCESS_AND_THREAD, 1000, 2]);
        let stack = words(&[16, 0xaa, 0xbb, 8]);
        let bytes = record(9, 0, &[head, words(&registers), stack].concat());
        let mut rest = bytes.as_slice();
        let found = next(&mut rest, STACK).unwrap();
        assert!(rest.is_empty());
        assert_eq!((found.process, found.thread, found.time_ns), (7, 8, 1000));
        let callers = Callers::Stack { registers: &words(&registers), bytes: &words(&[0xaa]) };
        assert_eq!(found.record, Record::Sample(Sample { event: 42, callers }));
        // Cut off anywhere, it is unreadable.
        for end in 1..bytes.len() {
            let mut rest = &bytes[..end];
            assert_eq!(next(&mut rest, STACK), Some(UNREADABLE));
            assert_eq!(next(&mut rest, STACK), None);
        }
    }

    #[test]
    fn a_sample_of_32_bit_code_has_its_pc_and_no_stack() {
        let registers: Vec<u64> = (100..117).collect();
        let head = words(&[42, PROCESS_AND_THREAD, 1000, 1]);
        let bytes = [head, words(&registers), words(&[16, 0xaa, 0xbb, 16])].concat();
        let bytes = record(9, 0, &bytes);
        let callers = Callers::Stack { registers: &words(&registers), bytes: &[] };
        let found = next(&mut bytes.as_slice(), STACK).unwrap().record;
        assert_eq!(found, Record::Sample(Sample { event: 42, callers }));
    }

    #[test]
    fn an_unreadable_record_is_one_and_the_next_is_read() {
        let stamp = words(&[PROCESS_AND_THREAD, 1000, 42]);
        let bytes = [record(2, 0, &stamp), record(5, 0, &stamp)].concat();
        let mut rest = bytes.as_slice();
        assert_eq!(next(&mut rest, STACK), Some(UNREADABLE));
        assert_eq!(next(&mut rest, STACK).unwrap().record, Record::Throttled);
        assert_eq!(next(&mut rest, STACK), None);
    }

    #[test]
    fn a_chain_is_what_is_no_context() {
        let bytes = words(&[u64::MAX - 511, 0x40_1000, 0x40_2000]);
        let head = words(&[42, PROCESS_AND_THREAD, 1000, 3]);
        let bytes = record(9, 0, &[head, bytes].concat());
        let found = next(&mut bytes.as_slice(), CHAIN).unwrap();
        let Record::Sample(Sample { callers: Callers::Chain(found), .. }) = found.record else {
            panic!("{found:?}")
        };
        assert_eq!(chain(found).collect::<Vec<_>>(), [0x40_1000, 0x40_2000]);
    }

    #[test]
    fn records_say_who_they_are_about() {
        let stamp = words(&[PROCESS_AND_THREAD, 1000, 42]);
        let forked = words(&[9 | 7 << 32, 9 | 8 << 32, 990]);
        let mapped = words(&[PROCESS_AND_THREAD, 0x1000, 0x2000, 0x3000, 8 | 1 << 32, 99, 0, 5]);
        let bytes = [
            record(7, 0, &[forked.clone(), stamp.clone()].concat()),
            record(4, 0, &[forked, stamp.clone()].concat()),
            record(10, 0, &[mapped, b"/bin/a\0\0".to_vec(), stamp.clone()].concat()),
            record(
                3,
                EXEC,
                &[words(&[PROCESS_AND_THREAD]), b"true\0\0\0\0".to_vec(), stamp.clone()].concat(),
            ),
            record(2, 0, &[words(&[42, 3]), stamp].concat()),
        ]
        .concat();
        let mut rest = bytes.as_slice();
        let found: Vec<_> = std::iter::from_fn(|| next(&mut rest, STACK))
            .map(|stamped| (stamped.process, stamped.thread, stamped.record))
            .collect();
        let mapped = Mapped {
            start: 0x1000,
            length: 0x2000,
            offset: 0x3000,
            device: (8, 1),
            inode: 99,
            path: b"/bin/a",
        };
        let expected = [
            (9, 9, Record::Begun { parent_process: 7, parent: 8 }),
            (9, 9, Record::Ended),
            (7, 8, Record::Mapped(mapped)),
            (7, 8, Record::Named { is_exec: true, name: b"true" }),
            (7, 8, Record::Lost(3)),
        ];
        assert_eq!(found, expected);
    }
}
