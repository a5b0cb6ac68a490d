//! Files that are no profiles, told apart by their first bytes.

use core::fmt;

/// Files that people mistake for profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// Readable text.
    Text,
    /// A saved profile after a transfer as text.
    TextTransfer,
    /// A live arena of csprof.
    Arena,
    /// An executable, library or object file.
    Elf,
    /// A gzip file; pprof writes those.
    Gzip,
    /// A zstd file.
    Zstd,
    /// A zip archive.
    Zip,
    /// perf.data.
    PerfData,
    /// A file of HPCToolkit.
    HpcToolkit,
    /// A gmon.out of gprof.
    Gmon,
    /// Anything else.
    Unknown,
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "this is a text file, not a profile",
            Self::TextTransfer => {
                "this profile was transferred as text, which changed its bytes; copy it as binary"
            }
            Self::Arena => {
                "this is the live data of a running or abandoned recording, not a saved profile"
            }
            Self::Elf => {
                "this is a program or library, not a profile; profile it with `csprof record`"
            }
            Self::Gzip => {
                "this is a gzip file (pprof writes such), not a profile of csprof; if a profile \
                 is inside, unpack it with gunzip"
            }
            Self::Zstd => "this is a zstd file; if a profile is inside, unpack it with unzstd",
            Self::Zip => "this is a zip archive; if a profile is inside, unpack it first",
            Self::PerfData => "this is a perf.data file, not a profile of csprof",
            Self::HpcToolkit => "this is a file of HPCToolkit, not a profile of csprof",
            Self::Gmon => "this is a gmon.out of gprof, not a profile of csprof",
            Self::Unknown => "this is not a profile of csprof",
        })
    }
}

impl Foreign {
    /// What a file that is no profile is, by its first bytes.
    pub(crate) fn recognize(file: &[u8]) -> Self {
        const BEGINNINGS: [(&[u8], Foreign); 12] = [
            (b"\x89CSPA", Foreign::Arena),
            (b"\x89CSPP", Foreign::TextTransfer),
            (b"\x09CSPP", Foreign::TextTransfer),
            (b"\xc2\x89CSPP", Foreign::TextTransfer),
            (b"\xef\xbf\xbdCSPP", Foreign::TextTransfer),
            (b"\x7fELF", Foreign::Elf),
            (b"\x1f\x8b", Foreign::Gzip),
            (b"\x28\xb5\x2f\xfd", Foreign::Zstd),
            (b"PK\x03\x04", Foreign::Zip),
            (b"PERFILE", Foreign::PerfData),
            (b"HPC", Foreign::HpcToolkit),
            (b"gmon\x01", Foreign::Gmon),
        ];
        match BEGINNINGS.iter().find(|(beginning, _)| file.starts_with(beginning)) {
            Some((_, foreign)) => *foreign,
            None if is_text(&file[..file.len().min(512)]) => Self::Text,
            None => Self::Unknown,
        }
    }
}

/// Whether the bytes are UTF-8, possibly cut, without control characters that text has not.
fn is_text(bytes: &[u8]) -> bool {
    let text = match core::str::from_utf8(bytes) {
        Ok(text) => text,
        // No length: the bytes end inside a character, which cutting at 512 may do.
        Err(error) if error.error_len().is_none() => {
            core::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\x0c' | '\x1b'))
}
