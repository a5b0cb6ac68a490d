//! The file of a program that is about to be executed: can the collector be preloaded into it?
//!
//! May run in the child of a vfork or of a raw fork: system calls, and arrays on the stack.

#![expect(unsafe_code, reason = "strings of the program")]

use core::ffi::{CStr, c_char, c_int};

use csprof_format::program::{HEAD_BYTES, MAX_INTERPRETERS, Obstacle, Program, look};

use crate::c_library;
use crate::sys::{self, Peeked};

/// Which file is executed.
#[derive(Clone, Copy, Debug)]
pub(super) enum File<'a> {
    /// The one at this path.
    At(&'a CStr),
    /// The one at this path below an open folder, or the open file itself if the path is empty.
    Below(c_int, &'a CStr),
    /// The first executable one of this name in the folders of `PATH`.
    Named(&'a CStr),
}

impl<'a> File<'a> {
    /// The one at this path.
    ///
    /// # Safety
    /// `path` is null or a C string of the program's.
    pub(super) unsafe fn at(path: *const c_char) -> Option<Self> {
        // SAFETY: by contract.
        unsafe { c_string(path) }.map(File::At)
    }

    /// One that is looked for as execvp(3) does.
    ///
    /// # Safety
    /// As above.
    pub(super) unsafe fn named(name: *const c_char) -> Option<Self> {
        // SAFETY: by contract.
        let name = unsafe { c_string(name) }?;
        Some(if name.to_bytes().contains(&b'/') { File::At(name) } else { File::Named(name) })
    }

    /// One below an open folder.
    ///
    /// # Safety
    /// As above.
    pub(super) unsafe fn below(folder: c_int, path: *const c_char) -> Option<Self> {
        // SAFETY: by contract.
        unsafe { c_string(path) }.map(|path| File::Below(folder, path))
    }
}

/// # Safety
/// `text` is null or a C string that lives for `'a`.
unsafe fn c_string<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: by contract.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

/// Why the collector cannot be preloaded, and what the file is called that says so: a script's
/// interpreter.
pub(super) struct Finding {
    pub(super) obstacle: Obstacle,
    name: [u8; NAME],
}

/// More than is kept of a name.
const NAME: usize = 64;

impl Finding {
    /// The name without folders; cut off where it is long.
    pub(super) fn name(&self) -> &[u8] {
        self.name.split(|byte| *byte == 0).next().unwrap_or_default()
    }
}

/// Looks at the file and, if it is a script, at its interpreters.
pub(super) fn obstacle(file: File<'_>) -> Option<Finding> {
    let (mut folder, mut path) = (libc::AT_FDCWD, Path::EMPTY);
    match file {
        File::At(at) => path.write(&[at.to_bytes()])?,
        File::Below(number, name) if name.is_empty() => {
            path.write(&[b"/proc/self/fd/", decimal(number, &mut [0; 12])])?;
            // Under its name, if it has one.
            let mut name = [0; 1024];
            let name = sys::read_link_to(path.as_c_str()?, &mut name).unwrap_or_default();
            if name.starts_with(b"/") && !name.ends_with(b" (deleted)") {
                path.write(&[name])?;
            }
        }
        File::Below(number, name) => {
            folder = number;
            path.write(&[name.to_bytes()])?;
        }
        File::Named(name) => path.find(name)?,
    }
    for _ in 0..=MAX_INTERPRETERS {
        let at = path.as_c_str()?;
        let peeked = Peeked::open(folder, at)?;
        let mut head = [0; HEAD_BYTES];
        let length = peeked.read(0, &mut head);
        let read = |offset, to: &mut [u8]| peeked.read(offset, to);
        match look(at.to_bytes(), head.get(..length)?, read) {
            Program::Open => return None,
            Program::Closed(obstacle) => {
                let mut name = [0; NAME];
                let last = at.to_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
                name.iter_mut().zip(last).for_each(|(to, from)| *to = *from);
                return Some(Finding { obstacle, name });
            }
            Program::Script(interpreter) => {
                let mut next = Path::EMPTY;
                next.write(&[interpreter])?;
                (folder, path) = (libc::AT_FDCWD, next);
            }
        }
    }
    None
}

/// A path on the stack.
struct Path {
    bytes: [u8; 1024],
}

impl Path {
    const EMPTY: Self = Self { bytes: [0; 1024] };

    /// Makes it that of these parts; `None` if it is too long.
    fn write(&mut self, parts: &[&[u8]]) -> Option<()> {
        let mut at = 0;
        for part in parts {
            self.bytes.get_mut(at..at + part.len())?.copy_from_slice(part);
            at += part.len();
        }
        *self.bytes.get_mut(at)? = 0;
        Some(())
    }

    fn as_c_str(&self) -> Option<&CStr> {
        CStr::from_bytes_until_nul(&self.bytes).ok()
    }

    /// Makes it that of the first executable file of this name in the folders of this process's
    /// `PATH`: an empty folder is the current one (execvp(3)).
    fn find(&mut self, name: &CStr) -> Option<()> {
        // SAFETY: the C library keeps the environment as a vector of C strings.
        let mut strings = unsafe { c_library::strings(c_library::environment()) };
        let folders = strings.find_map(|string| {
            // SAFETY: as above.
            unsafe { CStr::from_ptr(string) }.to_bytes().strip_prefix(b"PATH=")
        });
        for folder in folders.unwrap_or(b"/bin:/usr/bin").split(|byte| *byte == b':') {
            let folder = if folder.is_empty() { b"." } else { folder };
            if self.write(&[folder, b"/", name.to_bytes()]).is_some()
                && sys::is_executable(self.as_c_str()?)
            {
                return Some(());
            }
        }
        None
    }
}

/// A number that is not negative, in decimal.
fn decimal(number: c_int, room: &mut [u8; 12]) -> &[u8] {
    let mut rest = number.unsigned_abs();
    let mut start = room.len();
    loop {
        start -= 1;
        room[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return &room[start..];
        }
    }
}
