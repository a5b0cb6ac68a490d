//! A module's call frame information: where the linker put it, in a copy, or as a table.
//!
//! Made on the setup side, read in handlers, and never changed.
//!
//! What the program was started with is never unloaded, and read in place. Any other module may be
//! unloaded under a handler that reads it. To copy the bytes is a tenth of the work that it is to
//! evaluate them for a table, and of a library's rows a run needs few. (It takes half as much
//! memory again, and brings less of the library into memory.) So a table is made only where the
//! header has no sorted table of FDEs.

#![expect(unsafe_code, reason = "reads call frame information of loaded modules")]

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::elf::{LoaderModule, bytes, bytes_from};
use crate::arch::PAGE_SIZE;
use crate::unwind::cfi;
use crate::unwind::cfi::direct::{Census, InPlace, Look};
use crate::unwind::table::{Lookup, RecipeTable};
use crate::{allocator, sys};

/// How the code of a module unwinds; by offset from the start of its text.
#[derive(Default)]
pub(super) enum Recipes {
    /// Without call frame information.
    #[default]
    None,
    /// Where the linker put them. The module stays loaded for ever.
    InPlace(Mapped),
    /// In a copy.
    Copied {
        module: Mapped,
        /// Of the copy.
        bytes: usize,
    },
    Table {
        table: RecipeTable,
        /// Code that may handle an exception, ascending.
        handlers: Vec<Range<u32>>,
    },
}

/// A module whose recipes are read as the linker wrote them.
pub(super) type Mapped = InPlace<'static, SegmentFrom>;

/// Gives the bytes from an address to the end of its segment.
type SegmentFrom = Box<dyn Fn(u64) -> Option<&'static [u8]> + Send + Sync>;

/// Memory for a module's recipes was refused.
#[derive(Debug)]
pub(super) struct NoRoom;

/// Of a module with little of everything, in bytes: what allocations take besides.
const SLACK: usize = 1 << 18;
/// For each entry of the index, so many bytes of text.
const TEXT_OF_INDEX: usize = 1 << 10;

impl Recipes {
    /// Those of a module that stays loaded meanwhile, and the code of an unwinder in it.
    ///
    /// # Safety
    /// With `stays` it must stay loaded for ever.
    pub(super) unsafe fn of(
        module: &LoaderModule,
        stays: bool,
    ) -> Result<(Self, Vec<Range<u32>>), NoRoom> {
        if stays {
            ask_room(index_of(module))?;
            // SAFETY: the caller's promise.
            if let Some((mapped, census)) = unsafe { in_place(module) } {
                return Ok((Self::InPlace(mapped), census.unwinders));
            }
        } else if let Some(of_copy) = copied(module)? {
            return Ok(match of_copy {
                Some((module, bytes, census)) => (Self::Copied { module, bytes }, census.unwinders),
                None => (Self::None, Vec::new()),
            });
        }
        let text = module.text();
        // Of a row of recipes, some four bytes of code.
        ask_room(text.end.saturating_sub(text.start) as usize / 2)?;
        Ok(match table(module) {
            Some(cfi::Built { table, handlers, unwinders, .. }) => {
                (Self::Table { table, handlers }, unwinders)
            }
            None => (Self::None, Vec::new()),
        })
    }

    /// Whether they are read in a module that stays loaded for ever. Signal side.
    pub(super) const fn are_in_place(&self) -> bool {
        matches!(self, Self::InPlace(_))
    }

    /// Signal side.
    pub(super) fn lookup(&self) -> Option<&dyn Lookup> {
        match self {
            Self::None => None,
            Self::InPlace(module) | Self::Copied { module, .. } => Some(module),
            Self::Table { table, .. } => Some(table),
        }
    }

    /// Whether the function at `offset` may handle an exception. Signal side.
    pub(super) fn may_handle_exceptions(&self, offset: u32) -> bool {
        match self {
            Self::None => false,
            Self::InPlace(module) | Self::Copied { module, .. } => {
                module.may_handle_exceptions(offset)
            }
            Self::Table { handlers, .. } => {
                let after = handlers.partition_point(|range| range.start <= offset);
                let before = after.checked_sub(1).and_then(|before| handlers.get(before));
                before.is_some_and(|range| offset < range.end)
            }
        }
    }

    /// Bytes of memory that they take.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::None => 0,
            Self::InPlace(module) => module.bytes(),
            Self::Copied { module, bytes } => module.bytes() + bytes,
            Self::Table { table, handlers } => table.bytes() + size_of_val(handlers.as_slice()),
        }
    }
}

fn ask_room(bytes: usize) -> Result<(), NoRoom> {
    let is_there = allocator::has_room(bytes.next_multiple_of(PAGE_SIZE) + SLACK);
    is_there.then_some(()).ok_or(NoRoom)
}

/// Bytes of the index of a module that is read as the linker wrote it.
fn index_of(module: &LoaderModule) -> usize {
    let text = module.text();
    text.end.saturating_sub(text.start) as usize / TEXT_OF_INDEX
}

/// Builds a table from the module's memory.
pub(super) fn table(module: &LoaderModule) -> Option<cfi::Built> {
    let header = module.eh_frame_header.clone()?;
    let header_bytes = bytes(&module.readable, header.clone())?;
    let segment_from = |address: u64| bytes_from(&module.readable, address);
    cfi::from_header(header_bytes, header.start, segment_from, module.text()).ok()
}

/// Finds the module's mapped call frame information; `None` where only a table will do.
///
/// # Safety
/// The module must stay loaded for ever.
unsafe fn in_place(module: &LoaderModule) -> Option<(Mapped, Census)> {
    let header = module.eh_frame_header.clone()?;
    let header_bytes = bytes(&module.readable, header.clone())?;
    let readable = module.readable.clone();
    let segment_from = Box::new(move |address: u64| bytes_from(&readable, address));
    let mut mapped = Mapped::new(header_bytes, header.start, segment_from, module.text())?;
    let census = mapped.census(look_at(module));
    Some((mapped, census))
}

/// A copy, how many bytes it has, and what was found in it.
type Copy = (Mapped, usize, Census);

/// Copies the module's call frame information; `None` where only a table will do. Nothing is in it
/// if bytes of it are not there. What says how much there is, the header and the last FDE, is read
/// directly, and so is code between functions: a file that was made shorter while it was opened,
/// and has lost these, ends the program here, where alone it might have gone on without exceptions.
fn copied(module: &LoaderModule) -> Result<Option<Option<Copy>>, NoRoom> {
    let parts = || {
        let header = module.eh_frame_header.clone()?;
        let header_bytes = bytes(&module.readable, header.clone())?;
        let segment_from = |address: u64| bytes_from(&module.readable, address);
        let original = InPlace::new(header_bytes, header.start, segment_from, module.text())?;
        Some((header.start, original.extent()?))
    };
    let Some((header, (section, of_header, of_section))) = parts() else { return Ok(None) };
    let size = of_header + of_section;
    ask_room(size + index_of(module))?;
    let mut copy = vec![0; size];
    let (to_header, to_section) = copy.split_at_mut(of_header);
    if !copy_of(module, header, to_header) || !copy_of(module, section, to_section) {
        return Ok(Some(None));
    }
    // Recipes are kept for ever.
    let (of_header, of_section) = copy.leak().split_at(of_header);
    let copied = Mapped::new(of_header, header, only_at(section, of_section), module.text());
    Ok(copied.map(|mut copied| {
        let census = copied.census(look_at(module));
        copied.note_gaps(|address| bytes_from(&module.readable, address));
        Some((copied, size, census))
    }))
}

/// The bytes at an address, and none elsewhere.
fn only_at(start: u64, bytes: &'static [u8]) -> SegmentFrom {
    Box::new(move |address: u64| (address == start).then_some(bytes))
}

fn look_at(module: &LoaderModule) -> Look {
    if module.shares_unwinder() { Look::AtSome } else { Look::AtEach }
}

/// Copies what is at an address of the module; whether all of it was there. The kernel reads it: a
/// page that the file does not reach to any more would end the program.
fn copy_of(module: &LoaderModule, from: u64, to: &mut [u8]) -> bool {
    if sys::probe_into(from, to) {
        return true;
    }
    let range = from..from.saturating_add(to.len() as u64);
    let found = sys::is_probing_forbidden().then(|| bytes(&module.readable, range)).flatten();
    found.map(|found| to.copy_from_slice(found)).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::discovery;
    use crate::modules::tests::{LOOKS, loaded_modules};

    /// At the first and the last byte of each row, and where exceptions may be handled.
    fn compare(expected: &cfi::Built, found: &[(&Mapped, &Census)]) -> u64 {
        for (found, census) in found {
            assert_eq!(census.unwinders, expected.unwinders);
            for range in &expected.handlers {
                assert!(found.may_handle_exceptions(range.start));
                assert!(found.may_handle_exceptions(range.end - 1));
            }
        }
        let (mut rows, mut last) = (0, None);
        for offset in 0..expected.table.length() + 2 {
            let row = expected.table.lookup_all(offset);
            if last.replace(row) == Some(row) {
                continue;
            }
            rows += 1;
            let before = offset.saturating_sub(1);
            for (found, _) in found {
                assert_eq!(found.lookup_all(offset), row, "{offset:#x}");
                assert_eq!(found.lookup_all(before), expected.table.lookup_all(before));
            }
        }
        rows
    }

    /// What is read in place, or in a copy, is what a table has.
    #[test]
    fn in_place_and_in_a_copy_as_in_a_table() {
        let (mut rows, mut handling, mut unwinders) = (0, 0, 0);
        let mut startup = 0;
        for (module, _) in &loaded_modules() {
            let Some(built) = table(module) else { continue };
            // SAFETY: a test unloads none of them.
            let (mapped, census) = unsafe { in_place(module) }.unwrap();
            let (copy, _, of_copy) = copied(module).unwrap().flatten().unwrap();
            rows += compare(&built, &[(&mapped, &census), (&copy, &of_copy)]);
            handling += built.handlers.len();
            unwinders += census.unwinders.len();
            startup += built.census.startup_functions;
        }
        assert!(rows > 10_000 && handling > 100, "{rows} rows, {handling} may handle exceptions");
        assert!(unwinders > 3, "libgcc_s has some: {unwinders}");
        assert!(startup > 1, "the C library's files have some: {startup}");
    }

    /// Also what has no call frame information of its own.
    #[test]
    fn a_copy_is_looked_up_when_the_library_is_gone() {
        let _alone = LOOKS.lock();
        // SAFETY: a library of the C library's own, which runs no code of its own.
        let opened = unsafe { libc::dlopen(c"libresolv.so.2".as_ptr(), libc::RTLD_NOW) };
        let modules = discovery::loaded_modules(&Vec::new(), &[], discovery::Counts::NONE).modules;
        let is_it = |path: &[u8]| path.ends_with(b"/libresolv.so.2");
        let (module, _) = modules.iter().find(|(module, _)| is_it(&module.identity.path)).unwrap();
        let built = table(module).unwrap();
        let (copy, _, census) = copied(module).unwrap().flatten().unwrap();
        // SAFETY: opened above.
        assert_eq!(unsafe { libc::dlclose(opened) }, 0);
        assert!(!sys::is_readable(module.headers), "it is gone");
        assert!(compare(&built, &[(&copy, &census)]) > 100);
        assert!(built.census.startup_functions > 0);
    }
}
