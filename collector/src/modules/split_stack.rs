//! Programs whose stacks are split: gcc's `-fsplit-stack`, and so gccgo.
//!
//! Setup side. A function of such a program asks for as much stack as it needs itself, and gets a
//! segment of its own when there is less. A signal frame, which is several kilobytes where the
//! processor has wide vectors, finds room only by luck; without an alternate stack no handler can
//! run in such a program (gcc wiki, "SplitStacks"), and a profiler's is none of its concern. So it
//! is not sampled.
//!
//! libgcc sets the end of the main thread's stack, which the functions compare with, in a
//! constructor (`__stack_split_initialize`). It is known by that
//! [instruction](SET_SPLIT_STACK_END), whatever has become of its name.

#![expect(unsafe_code, reason = "reads the dynamic section and code of loaded modules")]

use crate::arch::SET_SPLIT_STACK_END;
use crate::c_library;
use core::ffi::{c_int, c_void};

use libc::{Elf64_Addr, Elf64_Phdr};

/// Bytes of a constructor that are looked at.
const BEGINNING: usize = 32;

/// An entry of a dynamic section.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: u64,
}
const DT_NULL: i64 = 0;
const DT_INIT_ARRAY: i64 = 25;
const DT_INIT_ARRAYSZ: i64 = 27;

/// Whether a loaded module has such a constructor. Before the constructors run.
#[must_use]
pub fn is_loaded() -> bool {
    extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
        // SAFETY: the loader passes a live structure, and holds its lock.
        c_int::from(unsafe { splits_stacks(&*info) })
    }
    // SAFETY: the callback matches what dl_iterate_phdr calls, and needs nothing.
    unsafe { c_library::dl_iterate_phdr(each, core::ptr::null_mut()) != 0 }
}

/// # Safety
/// `info` must describe a module that is loaded and relocated.
unsafe fn splits_stacks(info: &libc::dl_phdr_info) -> bool {
    if info.dlpi_phdr.is_null() {
        return false;
    }
    // SAFETY: the loader's own table.
    let headers =
        unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let at = |header: &Elf64_Phdr| info.dlpi_addr.wrapping_add(header.p_vaddr);
    let Some(dynamic) = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC) else {
        return false;
    };
    let (mut array, mut size) = (0, 0);
    let mut entry = core::ptr::with_exposed_provenance::<Dynamic>(at(dynamic) as usize);
    // SAFETY: the dynamic section ends with DT_NULL (ELF gABI).
    while let Dynamic { tag, value } = unsafe { &*entry }
        && *tag != DT_NULL
    {
        match *tag {
            // The loader leaves this one as it is in the file.
            DT_INIT_ARRAY => array = info.dlpi_addr.wrapping_add(*value),
            DT_INIT_ARRAYSZ => size = *value as usize,
            _ => {}
        }
        // SAFETY: not the last one.
        entry = unsafe { entry.add(1) };
    }
    if array == 0 {
        return false;
    }
    let array = core::ptr::with_exposed_provenance::<Elf64_Addr>(array as usize);
    // SAFETY: the section says that so many addresses are there.
    let constructors =
        unsafe { core::slice::from_raw_parts(array, size / size_of::<Elf64_Addr>()) };
    let is_code = |start: u64| {
        headers.iter().any(|header| {
            header.p_type == libc::PT_LOAD
                && header.p_flags & libc::PF_X != 0
                && at(header) <= start
                && start + BEGINNING as u64 <= at(header) + header.p_filesz
        })
    };
    constructors.iter().copied().filter(|&start| is_code(start)).any(|start| {
        let code = core::ptr::with_exposed_provenance::<[u8; BEGINNING]>(start as usize);
        // SAFETY: in an executable segment, which is readable.
        let code = unsafe { code.read_unaligned() };
        code.windows(SET_SPLIT_STACK_END.len()).any(|bytes| bytes == SET_SPLIT_STACK_END)
    })
}
