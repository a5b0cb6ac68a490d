//! Records of the log: what a process ran and loaded, its epochs, and what it has to say.

use alloc::string::String;
use alloc::vec::Vec;

use crate::file_identity::FileIdentity;

/// A record of the log: `length` bytes of payload follow this header, then zeros up to a multiple
/// of eight.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LogRecordHeader {
    /// Number of the kind; see [`LogRecord`].
    pub kind: u32,
    /// Bytes of payload.
    pub length: u32,
    /// `CLOCK_MONOTONIC` when it was written.
    pub time_ns: u64,
}

const _: () = assert!(size_of::<LogRecordHeader>() == 16);

/// What a log record says. The payloads are encoded by [`LogRecord::encode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum LogKind {
    Command = 1,
    Load = 2,
    Unload = 3,
    Epoch = 4,
    Message = 5,
    PerfMap = 6,
    Jitdump = 7,
    Temporary = 8,
    Phase = 9,
    PhaseFunction = 10,
}

/// Why an epoch began, as stored in the log.
pub mod epoch_reason {
    /// The process started.
    pub const START: u32 = 0;
    /// An address range was reused by another module.
    pub const ADDRESS_REUSE: u32 = 1;
    /// A module was loaded, and every load begins an epoch.
    pub const LOAD: u32 = 2;
    /// The program asked for it.
    pub const REQUEST: u32 = 3;
}

/// A record of the log, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogRecord {
    /// Program and arguments of the process.
    Command(Vec<Vec<u8>>),
    /// A load module appeared. It belongs to the present epoch and all later ones until unloaded.
    Load(LoadRecord),
    /// The module with this number is gone; it belongs to no later epoch.
    Unload {
        /// [`LoadRecord::number`] of the module.
        number: u32,
    },
    /// A new epoch begins.
    Epoch {
        /// Its number in the process, from 0.
        number: u32,
        /// One of [`epoch_reason`].
        reason: u32,
    },
    /// Something to tell the user.
    Message(String),
    /// How long the perf map of a process is at this moment. Before the first epoch: that of the
    /// parent, whose generated code a forked child has.
    PerfMap {
        /// The process, in its own namespace.
        pid: u32,
        /// Bytes of `/tmp/perf-PID.map`.
        length: u64,
    },
    /// Where the process has its jitdump file, which it has mapped.
    Jitdump(Vec<u8>),
    /// The process's `/tmp`, when it began and when it ended.
    Temporary {
        /// Device of the folder (`st_dev` of stat(2)).
        device: u64,
        /// Its inode.
        inode: u64,
        /// The last bytes of the perf map that was there, of an earlier process with this id: at
        /// most [`TAIL`]. Empty if there was none.
        tail: Vec<u8>,
        /// Where they end in that file.
        length: u64,
    },
    /// A phase begins for the first time; see [`FrameKey::root`](crate::address::FrameKey::root).
    Phase {
        /// Its number in the process, from 1 to [`MOST_PHASES`].
        number: u32,
        /// What the program calls it: at most [`PHASE_NAME`] bytes, not empty.
        name: Vec<u8>,
    },
    /// A function that begins phases when it is entered; see
    /// [`EntryRecord`](super::EntryRecord).
    PhaseFunction {
        /// Its number in the process, from 0.
        number: u32,
        /// What its phases are called, before their counts.
        name: Vec<u8>,
    },
}

/// Most phases of a process.
pub const MOST_PHASES: usize = 4096;

/// Most bytes of the name of a phase.
pub const PHASE_NAME: usize = 128;

/// Most bytes by which a file is known again: see [`LogRecord::Temporary`].
pub const TAIL: usize = 128;

/// A load module as the collector saw it in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadRecord {
    /// Number of the load in the process, from 0, never reused.
    pub number: u32,
    /// Path from the loader; `[vdso]` for the vdso.
    pub path: Vec<u8>,
    /// GNU build id, empty if none.
    pub build_id: Vec<u8>,
    /// The file, if it has no build id and could be asked.
    pub file: Option<FileIdentity>,
    /// Runtime address minus ELF virtual address. Wraps.
    pub bias: u64,
    /// Runtime addresses of its segments: start and end of each.
    pub segments: Vec<(u64, u64)>,
}

impl LogRecord {
    /// Appends the record, header included, to `out`; its length is a multiple of eight.
    pub fn encode(&self, time_ns: u64, out: &mut Vec<u8>) {
        let mut payload = Vec::new();
        let kind = match self {
            Self::Command(arguments) => {
                put_u32(&mut payload, arguments.len() as u32);
                arguments.iter().for_each(|argument| put_bytes(&mut payload, argument));
                LogKind::Command
            }
            Self::Load(load) => {
                put_u32(&mut payload, load.number);
                put_bytes(&mut payload, &load.path);
                put_bytes(&mut payload, &load.build_id);
                put_u32(&mut payload, load.file.is_some().into());
                load.file.iter().for_each(|file| put_file(&mut payload, file));
                put_u64(&mut payload, load.bias);
                put_u32(&mut payload, load.segments.len() as u32);
                for &(start, end) in &load.segments {
                    put_u64(&mut payload, start);
                    put_u64(&mut payload, end);
                }
                LogKind::Load
            }
            Self::Unload { number } => {
                put_u32(&mut payload, *number);
                LogKind::Unload
            }
            Self::Epoch { number, reason } => {
                put_u32(&mut payload, *number);
                put_u32(&mut payload, *reason);
                LogKind::Epoch
            }
            Self::Message(text) => {
                put_bytes(&mut payload, text.as_bytes());
                LogKind::Message
            }
            Self::PerfMap { pid, length } => {
                put_u32(&mut payload, *pid);
                put_u64(&mut payload, *length);
                LogKind::PerfMap
            }
            Self::Jitdump(path) => {
                put_bytes(&mut payload, path);
                LogKind::Jitdump
            }
            Self::Temporary { device, inode, tail, length } => {
                [*device, *inode, *length].iter().for_each(|field| put_u64(&mut payload, *field));
                put_bytes(&mut payload, tail);
                LogKind::Temporary
            }
            Self::Phase { number, name } => {
                put_u32(&mut payload, *number);
                put_bytes(&mut payload, name);
                LogKind::Phase
            }
            Self::PhaseFunction { number, name } => {
                put_u32(&mut payload, *number);
                put_bytes(&mut payload, name);
                LogKind::PhaseFunction
            }
        };
        put_u32(out, kind as u32);
        put_u32(out, payload.len() as u32);
        put_u64(out, time_ns);
        out.extend_from_slice(&payload);
        out.resize(out.len().next_multiple_of(8), 0);
    }

    /// Reads the record at the start of `bytes`: its time, itself, and the bytes it took.
    ///
    /// Returns `None` where the bytes are cut off or hold no known record.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<(u64, Self, usize)> {
        let mut header = Cursor(bytes);
        let kind = header.u32()?;
        let length = header.u32()? as usize;
        let time_ns = header.u64()?;
        let mut payload = Cursor(header.0.get(..length)?);
        let record = match kind {
            k if k == LogKind::Command as u32 => {
                let count = payload.u32()?;
                Self::Command((0..count).map(|_| payload.bytes()).collect::<Option<_>>()?)
            }
            k if k == LogKind::Load as u32 => Self::Load(LoadRecord {
                number: payload.u32()?,
                path: payload.bytes()?,
                build_id: payload.bytes()?,
                file: if payload.u32()? == 0 { None } else { Some(payload.file()?) },
                bias: payload.u64()?,
                segments: {
                    let count = payload.u32()?;
                    (0..count)
                        .map(|_| Some((payload.u64()?, payload.u64()?)))
                        .collect::<Option<_>>()?
                },
            }),
            k if k == LogKind::Unload as u32 => Self::Unload { number: payload.u32()? },
            k if k == LogKind::Epoch as u32 => {
                Self::Epoch { number: payload.u32()?, reason: payload.u32()? }
            }
            k if k == LogKind::Message as u32 => {
                Self::Message(String::from_utf8_lossy(&payload.bytes()?).into_owned())
            }
            k if k == LogKind::PerfMap as u32 => {
                Self::PerfMap { pid: payload.u32()?, length: payload.u64()? }
            }
            k if k == LogKind::Jitdump as u32 => Self::Jitdump(payload.bytes()?),
            k if k == LogKind::Temporary as u32 => {
                let (device, inode, length) = (payload.u64()?, payload.u64()?, payload.u64()?);
                Self::Temporary { device, inode, tail: payload.bytes()?, length }
            }
            k if k == LogKind::Phase as u32 => {
                let (number, name) = (payload.u32()?, payload.bytes()?);
                let is_sound = (1..=MOST_PHASES).contains(&(number as usize))
                    && (1..=PHASE_NAME).contains(&name.len());
                is_sound.then_some(Self::Phase { number, name })?
            }
            k if k == LogKind::PhaseFunction as u32 => {
                Self::PhaseFunction { number: payload.u32()?, name: payload.bytes()? }
            }
            _ => return None,
        };
        Some((time_ns, record, (size_of::<LogRecordHeader>() + length).next_multiple_of(8)))
    }
}

fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u32(out, bytes.len() as u32);
    out.extend_from_slice(bytes);
}

fn put_file(out: &mut Vec<u8>, file: &FileIdentity) {
    file.fields().iter().for_each(|field| put_u64(out, *field));
}

struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
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

    fn file(&mut self) -> Option<FileIdentity> {
        Some(FileIdentity {
            device: self.u64()?,
            inode: self.u64()?,
            size: self.u64()?,
            modified_ns: self.u64()?,
            changed_ns: self.u64()?,
        })
    }

    fn bytes(&mut self) -> Option<Vec<u8>> {
        let length = self.u32()? as usize;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_that_no_collector_writes_is_no_record() {
        let is_read = |number: usize, length: usize| {
            let mut bytes = Vec::new();
            let phase = LogRecord::Phase { number: number as u32, name: vec![b'a'; length] };
            phase.encode(42, &mut bytes);
            LogRecord::decode(&bytes).is_some()
        };
        assert!(is_read(1, 1) && is_read(MOST_PHASES, PHASE_NAME));
        assert!(!is_read(0, 1) && !is_read(MOST_PHASES + 1, 1));
        assert!(!is_read(1, 0) && !is_read(1, PHASE_NAME + 1));
    }

    #[test]
    fn log_records_come_back_and_cut_ones_do_not() {
        let records = [
            LogRecord::Command(vec![b"xz".to_vec(), b"-T2".to_vec()]),
            LogRecord::Load(LoadRecord {
                number: 3,
                path: b"/lib/libc.so.6".to_vec(),
                build_id: vec![1, 2, 3],
                bias: 0x7f00_0000_0000,
                segments: vec![(0x7f00_0000_0000, 0x7f00_0002_0000)],
                ..LoadRecord::default()
            }),
            LogRecord::Load(LoadRecord {
                path: b"/opt/plugin.so".to_vec(),
                file: Some(FileIdentity {
                    device: 1 << 40,
                    inode: 2,
                    size: 3,
                    modified_ns: 1 << 60,
                    changed_ns: 5,
                }),
                ..LoadRecord::default()
            }),
            LogRecord::Unload { number: 3 },
            LogRecord::Epoch { number: 1, reason: epoch_reason::ADDRESS_REUSE },
            LogRecord::Message("task-clock was refused".into()),
            LogRecord::PerfMap { pid: 4711, length: 1 << 33 },
            LogRecord::Jitdump(b"/home/me/jit-4711.dump".to_vec()),
            LogRecord::Temporary {
                device: 42,
                inode: 1 << 40,
                tail: b"10 f\n".to_vec(),
                length: 5,
            },
            LogRecord::Phase { number: 7, name: b"assemble".to_vec() },
        ];
        for record in records {
            let mut bytes = Vec::new();
            record.encode(42, &mut bytes);
            assert_eq!(bytes.len() % 8, 0);
            assert_eq!(LogRecord::decode(&bytes), Some((42, record.clone(), bytes.len())));
            for cut in 0..size_of::<LogRecordHeader>() + 4 {
                assert_eq!(LogRecord::decode(&bytes[..cut]), None, "{record:?} cut at {cut}");
            }
        }
    }
}
