//! The process that a test runs in, as a walk asks for it: load modules found with
//! `dl_iterate_phdr`, tables built from program headers in memory, and reads within given stacks.

use std::ffi::{c_int, c_void};
use std::ops::Range;

use csprof_collector::unwind::cfi;
use csprof_collector::unwind::table::{Lookup, RecipeTable};
use csprof_collector::unwind::validate::StackBounds;
use csprof_collector::unwind::walk::{Code, Target};

struct Module {
    text: Range<u64>,
    table: Option<RecipeTable>,
    may_jump: bool,
}

/// Load modules and the stacks of one thread.
pub(crate) struct Process {
    modules: Vec<Module>,
    stacks: Vec<StackBounds>,
}

impl Process {
    /// The modules loaded now, and the calling thread's stack.
    pub(crate) fn now() -> Self {
        let mut modules: Vec<Module> = Vec::new();
        // SAFETY: the callback has the type that dl_iterate_phdr(3) asks for, and `data` is the
        // vector that it expects, alive until the call returns.
        unsafe { libc::dl_iterate_phdr(Some(add_module), (&raw mut modules).cast()) };
        Self { modules, stacks: vec![thread_stack()] }
    }

    /// Admits walks over another stack too.
    pub(crate) fn add_stack(&mut self, memory: &[u8]) {
        let range = memory.as_ptr_range();
        self.stacks.push(StackBounds { low: range.start as u64, high: range.end as u64 & !7 });
    }

    /// The text of the module that `pc` belongs to.
    pub(crate) fn text_of(&self, pc: u64) -> Option<Range<u64>> {
        let module = self.modules.iter().find(|module| module.text.contains(&pc))?;
        Some(module.text.clone())
    }

    /// Whether the code at `pc` belongs to the module that contains `other`.
    pub(crate) fn same_module(&self, pc: u64, other: u64) -> bool {
        self.modules.iter().any(|module| module.text.contains(&pc) && module.text.contains(&other))
    }
}

impl Target for Process {
    fn code(&self, pc: u64) -> Option<Code<'_>> {
        let module = self.modules.iter().find(|module| module.text.contains(&pc))?;
        let recipes = module.table.as_ref().map(|table| table as &dyn Lookup);
        Some(Code { base: module.text.start, recipes })
    }

    fn may_jump(&self, pc: u64) -> bool {
        self.modules.iter().any(|module| module.may_jump && module.text.contains(&pc))
    }

    fn text(&self, pc: u64) -> Option<Range<u64>> {
        self.text_of(pc)
    }

    fn copy_text(&self, address: u64, to: &mut [u8]) -> usize {
        let start = std::ptr::with_exposed_provenance::<u8>(address as usize);
        // SAFETY: inside the one executable segment of a module that no test unmaps.
        to.copy_from_slice(unsafe { std::slice::from_raw_parts(start, to.len()) });
        to.len()
    }

    fn stack(&self, sp: u64) -> Option<StackBounds> {
        self.stacks.iter().copied().find(|stack| sp >= stack.low && sp < stack.high)
    }

    fn read(&self, address: u64) -> Option<u64> {
        let admitted = self.stacks.iter().any(|stack| stack.contains_word(address));
        if !admitted || !address.is_multiple_of(8) {
            return None;
        }
        let word = std::ptr::with_exposed_provenance::<u64>(address as usize);
        // SAFETY: the word is aligned and lies on one of this thread's mapped stacks.
        Some(unsafe { word.read_volatile() })
    }
}

/// The calling thread's stack, as pthread_getattr_np(3) gives it.
fn thread_stack() -> StackBounds {
    let mut base = std::ptr::null_mut();
    let mut size = 0;
    // SAFETY: `attributes` is initialized by the first call before the others use it, and all
    // pointers are to locals.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        assert_eq!(libc::pthread_getattr_np(libc::pthread_self(), &mut attributes), 0);
        assert_eq!(libc::pthread_attr_getstack(&attributes, &mut base, &mut size), 0);
        libc::pthread_attr_destroy(&mut attributes);
    }
    StackBounds { low: base as u64, high: base as u64 + size as u64 }
}

unsafe extern "C" fn add_module(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    modules: *mut c_void,
) -> c_int {
    // SAFETY: dl_iterate_phdr(3) passes a valid description, and the data given to it.
    let (info, modules) = unsafe { (&*info, &mut *modules.cast::<Vec<Module>>()) };
    // SAFETY: as above: that many program headers are there.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let range = |header: &libc::Elf64_Phdr| {
        let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
        start..start + header.p_memsz
    };
    let loads = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let text = loads()
        .filter(|header| header.p_flags & libc::PF_X != 0)
        .map(range)
        .reduce(|a, b| a.start.min(b.start)..a.end.max(b.end));
    let Some(text) = text else { return 0 };
    let segment_from = |address: u64| {
        let segment = loads().map(range).find(|segment| segment.contains(&address))?;
        let start = std::ptr::with_exposed_provenance::<u8>(address as usize);
        // SAFETY: the rest of a segment that the loader mapped and that no test unmaps.
        Some(unsafe { std::slice::from_raw_parts(start, (segment.end - address) as usize) })
    };
    let header = headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME).map(range);
    let table = header.and_then(|header| {
        let bytes = segment_from(header.start)?.get(..(header.end - header.start) as usize)?;
        Some(
            cfi::from_header(bytes, header.start, segment_from, text.clone())
                .expect("a table")
                .table,
        )
    });
    // SAFETY: a string, empty for the executable.
    let name = unsafe { std::ffi::CStr::from_ptr(info.dlpi_name) };
    let name = name.to_string_lossy();
    let may_jump = name.contains("/libgcc_s.so") || name.contains("/libc.so");
    modules.push(Module { text, table, may_jump });
    0
}
