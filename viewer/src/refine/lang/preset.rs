//! The sets of frames that csprof ships, written `@mpi`, `@lock` and so on.
//!
//! Each is a pattern in the language itself, so that `?` can show it and a user can copy it.

/// A set of frames that csprof knows by name, written `@name`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// MPI functions and the libraries behind them.
    Mpi,
    /// The OpenMP run-time libraries.
    OpenMp,
    /// Allocation and release of memory.
    Alloc,
    /// Copying and filling of memory.
    Memcpy,
    /// Locks, condition variables, barriers, futexes.
    Lock,
    /// Input and output.
    Io,
    /// Rust's standard library, wherever it was inlined or linked.
    RustStd,
    /// C++'s standard library and run-time support.
    CxxStd,
    /// The C library with its mathematics, threads and loader.
    Libc,
    /// The program itself and libraries outside the system's folders: the user's own code.
    User,
    /// What runs before `main` and before a thread's function.
    Start,
    /// The interpreter of CPython: what is left without it are functions in Python, where they have
    /// names, and what they call outside the interpreter.
    Python,
}

impl Preset {
    /// All presets, their names, and the patterns they stand for, in the language itself.
    pub const ALL: [(Self, &'static str, &'static str); 12] = [
        (
            Self::Mpi,
            "mpi",
            "{mpi_*, pmpi_*, ompi_*, opal_*, MPIR_*, MPID_*, module:libmpi*, module:libmpich*, \
             module:libopen-pal*, module:libopen-rte*, module:libpmix*, module:libucp.so*, \
             module:libuct.so*, module:libucs.so*, module:libfabric.so*}",
        ),
        (
            Self::OpenMp,
            "openmp",
            "{omp_*, GOMP_*, gomp_*, __kmp*, __kmpc_*, module:libomp*, module:libgomp*, \
             module:libiomp*}",
        ),
        (
            Self::Alloc,
            "alloc",
            "{/^_*(GI_+)?(libc_)?(malloc|calloc|realloc|reallocarray|c?free|memalign|aligned_alloc|posix_memalign|valloc|pvalloc)(_[a-z]+)*$/, \
             _int_malloc, _int_free*, _int_realloc, _int_memalign, malloc_consolidate, tcache_*, \
             sysmalloc*, systrim*, unlink_chunk*, __rust_alloc*, __rust_dealloc, __rust_realloc, \
             __rdl_*, je_*, mi_malloc*, mi_free*, tc_malloc*, tc_free*, \
             /^operator (new|delete)/}",
        ),
        (
            Self::Memcpy,
            "memcpy",
            "{memcpy*, __memcpy*, memmove*, __memmove*, memset*, __memset*, mempcpy*, \
             __mempcpy*, bcopy, bzero, wmemcpy*, wmemset*, __wmemset*, *memcpy_avx*, \
             *memmove_avx*, *memset_avx*}",
        ),
        (
            Self::Lock,
            "lock",
            "{pthread_mutex_*, __pthread_mutex_*, ___pthread_mutex_*, pthread_rwlock_*, \
             __pthread_rwlock_*, pthread_spin_*, pthread_cond_*, __pthread_cond_*, \
             ___pthread_cond_*, pthread_barrier_*, __pthread_barrier_*, sem_wait*, sem_post*, \
             sem_timedwait*, __new_sem_*, __lll_lock_*, lll_*, __GI___lll_*, futex_*, \
             __futex_*, std::mutex::*, std::condition_variable::*, parking_lot*, \
             /^std::sys::.*(mutex|futex|rwlock|condvar)/}",
        ),
        (
            Self::Io,
            "io",
            "{/^_*(GI_+)?(libc_)?(p?(read|write)v?2?|open(at)?|creat|close|lseek|fsync|fdatasync|poll|ppoll|p?select|epoll_p?wait2?|recv(from|m?msg)?|send(to|m?msg|file)?|splice|getdents)(64)?(_nocancel)?$/, \
             /^_*(f(read|write|open|close|flush|gets|puts|getc|putc|printf|scanf|seek|tell)|getline|getdelim|v?fprintf|puts|printf)(64|_unlocked)*$/, \
             _IO_*, new_do_write*}",
        ),
        (
            Self::RustStd,
            "rust-std",
            "{file:/rustc/*/library/*, file:rustlib/src/rust/library/*, \
             /^<?(&(mut )?|\\[|\\()*core::(alloc|any|array|ascii|bool|borrow|cell|char|clone|cmp|convert|default|error|ffi|fmt|future|hash|hint|intrinsics|iter|marker|mem|net|num|ops|option|panic|panicking|pin|ptr|range|result|slice|str|sync|task|time|tuple|unicode)::/, \
             /^<?(&(mut )?|\\[|\\()*alloc::(alloc|borrow|boxed|collections|ffi|fmt|raw_vec|rc|slice|str|string|sync|task|vec)::/, \
             /^<?(&(mut )?|\\[|\\()*std::(alloc|ascii|backtrace|backtrace_rs|collections|env|error|ffi|fs|hash|io|net|num|os|panic|panicking|path|process|rt|sync|sys|sys_common|thread::(builder|current|functions|id|join_handle|lifecycle|local|park|scoped|sleep|spawn|thread|Builder|JoinHandle|LocalKey|Thread)|time)::/, \
             /^<.* as (core|alloc|std)::[a-z_:]+::/, hashbrown::*, std_detect::*, rustc_demangle::*, \
             __rust_*, __rdl_*, __rustc::*, rust_begin_unwind, rust_panic*, rust_eh_personality}",
        ),
        (
            Self::CxxStd,
            "cxx-std",
            "{module:libstdc++*, module:libc++.so*, module:libc++abi*, file:include/c++/*, \
             std::* & !@rust-std, __gnu_cxx::*, __cxxabiv1::*, __cxa_*, __gxx_personality*, \
             /^operator (new|delete)/}",
        ),
        (
            Self::Libc,
            "libc",
            "{module:libc.so*, module:libc-2*, module:libm.so*, module:libm-2*, \
             module:libmvec*, module:libpthread*, module:librt.so*, module:libdl.so*, \
             module:libresolv*, module:ld-linux*, module:ld-2*, module:ld-musl*, \
             module:libc.musl*}",
        ),
        (
            Self::User,
            "user",
            "!{module:/lib/*.so*, module:/lib64/*.so*, module:/usr/lib/*.so*, \
             module:/usr/lib64/*.so*, module:[vdso], kind:partial}",
        ),
        (
            Self::Start,
            "start",
            // Exact names: programs have methods that are called so.
            "{\"_start\", __libc_start_main*, __libc_start_call_main*, \
             generic_start_main*, \"clone\", __clone, clone3, __clone3, \"start_thread\", \
             __GI___clone*, \"thread_start\"}",
        ),
        (
            Self::Python,
            "python",
            // Folders of such names have libraries of others in them, or another interpreter.
            "{module:libpython* & !module:libpython*/*, \
             module:libpython*/libpython* & !module:libpython*/libpython*/*, \
             module:bin/python* & !module:bin/python*/*, \
             module:bin/python*/bin/python* & !module:bin/python*/bin/python*/*}",
        ),
    ];

    /// The name used in the language, without `@`.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The pattern it stands for, in the language.
    #[must_use]
    pub fn definition(self) -> &'static str {
        Self::ALL[self as usize].2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::from_outline;
    use crate::refine::lang::parser::parse_pattern;
    use crate::refine::{FramePattern, Refined};

    /// The sets that a function of this name and module is in; `_` is a space in the name.
    fn sets_of(function: &str) -> String {
        let (name, rest) = function.split_once(' ').unwrap_or((function, ""));
        let profile = from_outline(&format!("\"{}\" 1 {rest}\n", name.replace('~', " "))).unwrap();
        let refined = Refined::base(&profile);
        let is_in = |preset: &Preset| {
            !refined.matching(&FramePattern::Preset(*preset)).functions.is_empty()
        };
        let names = Preset::ALL.iter().filter(|(preset, ..)| is_in(preset));
        names.map(|&(_, name, _)| name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn functions_are_in_the_sets_that_one_expects() {
        for (function, sets) in [
            ("main module:/home/me/app", "user"),
            ("_start module:/usr/bin/xz", "user start"),
            ("__libc_start_main_impl module:/usr/lib/x86_64-linux-gnu/libc.so.6", "libc start"),
            ("clone module:/lib/libc.so.6", "libc start"),
            ("start_thread module:/lib/libc.so.6", "libc start"),
            ("cgraph_edge::clone(cgraph_node*)", "user"),
            ("Pool::start_thread()", "user"),
            ("build_expr module:/usr/libexec/gcc/x86_64-linux-gnu/14/cc1plus", "user"),
            ("build_expr module:/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", "user"),
            ("MPI_Send module:/usr/lib/x86_64-linux-gnu/libmpi.so.40.30.4", "mpi"),
            ("f module:/usr/lib/x86_64-linux-gnu/openmpi/lib/openmpi3/mca_pml_ob1.so", ""),
            ("GOMP_parallel module:/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0", "openmp"),
            ("__GI___libc_malloc module:/lib/libc.so.6", "alloc libc"),
            ("cfree module:/lib/libc.so.6", "alloc libc"),
            ("Pool::free(void*)", "user"),
            ("operator~new(unsigned~long) module:/lib/libstdc++.so.6", "alloc cxx-std"),
            ("__memcpy_avx512_unaligned_erms module:/lib/libc.so.6", "memcpy libc"),
            ("pthread_mutex_lock module:/lib/libc.so.6", "lock libc"),
            ("write module:/lib/libc.so.6", "io libc"),
            ("__GI___libc_read module:/lib/libc.so.6", "io libc"),
            ("_IO_file_xsputn module:/lib/libc.so.6", "io libc"),
            ("core::fmt::write module:/home/me/app", "rust-std user"),
            ("<core::hash::sip::Hasher~as~core::hash::Hasher>::write", "rust-std user"),
            ("<alloc::vec::Vec<T>~as~core::ops::drop::Drop>::drop", "rust-std user"),
            ("std::io::Write::write_all", "rust-std user"),
            ("app::io::write", "user"),
            ("app::core::run", "user"),
            ("f at:/rustc/59807616e1fa/library/core/src/ptr/mod.rs:12", "rust-std user"),
            ("std::vector<int>::push_back(int&&)", "cxx-std user"),
            ("void~std::sort<int*>(int*,~int*)", "cxx-std user"),
            ("std::thread::_State_impl<X>::_M_run()", "cxx-std user"),
            ("f at:/usr/include/c++/12/bits/stl_map.h:4", "cxx-std user"),
            ("f(std::vector<int>)", "user"),
            ("PyEval_EvalCode module:/usr/lib/x86_64-linux-gnu/libpython3.13.so.1.0", "python"),
            ("fib at:/usr/lib/python3.13/json/decoder.py:3", "user"),
            ("_PyEval_Vector module:/usr/local/bin/python3.12", "user python"),
            ("fast module:/home/me/bin/python-tools/libfast.so", "user"),
            (
                "ufunc_add module:/opt/lib/python3.12/site-packages/numpy/_multiarray_umath.so",
                "user",
            ),
            ("sin module:/lib/x86_64-linux-gnu/libm.so.6", "libc"),
        ] {
            assert_eq!(sets_of(function), sets, "{function}");
        }
    }

    #[test]
    fn definitions_are_patterns() {
        for (preset, name, definition) in Preset::ALL {
            assert!(parse_pattern(definition).is_ok(), "@{name}: {definition}");
            assert_eq!(preset.name(), name);
        }
    }
}
