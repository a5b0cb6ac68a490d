//! Globs, and names in their forms.

use super::names::NameTable;
use super::*;
use crate::refine::parser::parse_pattern;

#[test]
fn c_names_match_as_they_were_called() {
    for glob in ["memcpy", "memcpy*", "__memcpy*", "__memcpy_avx512_unaligned_erms"] {
        assert!(matches(glob, "__memcpy_avx512_unaligned_erms"), "{glob}");
    }
    assert!(matches("strlen", "__strlen_evex"));
    assert!(matches("write", "__write"));
    for (glob, name) in [
        ("scan", "scan.part.0"),
        ("scan.part.0", "scan.part.0"),
        ("_int_free", "_int_free.isra.0"),
        ("int_free", "_int_free.constprop.0.isra.0"),
        ("dgemm", "dgemm_"),
        ("dgemm_", "dgemm_"),
        ("step", "__grid_MOD_step"),
        ("step*", "__grid_MOD_step"),
    ] {
        assert!(matches(glob, name), "{glob} {name}");
    }
    assert!(!matches("Init", "Init_") && !matches("libc", "libc.so.6+0x1234"));
    assert!(!matches("memcpy", "memcpy_s"));
    assert!(!matches("write", "fwrite"));
}

/// The quick way through bare names and the long way must agree.
fn matches(glob: &str, name: &str) -> bool {
    let names = NameTable::of(std::iter::once(name));
    let glob = NameGlob::new(glob);
    let found = glob.matches(name);
    assert_eq!(names.matches(0, name, &glob), found, "{name}");
    found
}

/// Names out of cc1plus, libstdc++, LLVM, clang, rustc and programs in C++ and Rust, and how
/// people would type them at the prompt.
#[test]
fn real_names_match_as_people_type_them() {
    for (name, typed) in [
        (
            "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_replace(unsigned long, unsigned long, char const*, unsigned long)",
            &[
                "basic_string::_M_replace",
                "std::basic_string::_M_replace",
                "std::string::_M_*",
                "std::__cxx11::basic_string::_M_replace",
                "std::string::_M_replace(*)",
            ][..],
        ),
        ("std::__cxx11::to_string(int)", &["to_string", "std::to_string", "std::to_string(int)"]),
        (
            "log(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)",
            &["log", "log(std::string const&)", "log(*)"],
        ),
        (
            "std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>(__gnu_cxx::__normal_iterator<int*, std::vector<int, std::allocator<int> > >, int const&)",
            &[
                "std::vector::_M_realloc_insert",
                "vector<int, *>::_M_realloc_insert<*>",
                "std::vector*",
            ],
        ),
        (
            "std::map<ns::Key, int, std::less<ns::Key>, std::allocator<std::pair<ns::Key const, int> > >::operator[](ns::Key&&)",
            &[
                "std::map::operator[]",
                "operator[]",
                "map::operator*",
                "std::map<ns::Key, *>::operator[]",
            ],
        ),
        (
            "std::function<int (int)>::operator()(int) const",
            &[
                "std::function::operator()",
                "operator()",
                "std::function<int (int)>::operator()",
                "function::operator()(int)",
            ],
        ),
        (
            "std::ostream& operator<< <char>(std::ostream&, char const*)",
            &["operator<<", "operator<<(*)"],
        ),
        (
            "ns::operator<(ns::Key const&, ns::Key const&)",
            &["ns::operator<", "operator<", "ns::operator<(ns::Key const&, ns::Key const&)"],
        ),
        (
            "ns::Key::operator bool() const",
            &["ns::Key::operator bool", "Key::operator bool()", "operator bool"],
        ),
        (
            "operator new(unsigned long)",
            &["operator new", "operator new(unsigned long)", "operator*"],
        ),
        (
            "ns::Matrix<double, 24>::operator*(ns::Matrix<double, 24> const&) const",
            &[
                "Matrix::operator\\*",
                "Matrix<double, 24>::operator*",
                "ns::Matrix<double, 24>::operator*(ns::Matrix<double, 24> const&) const",
            ],
        ),
        (
            "llvm::BasicBlock::~BasicBlock()",
            &["~BasicBlock", "BasicBlock::~BasicBlock", "llvm::BasicBlock::~BasicBlock()"],
        ),
        (
            "tagged[abi:v2](int)",
            &["tagged", "tagged[abi:v2]", "tagged(int)", "tagged[abi:v2](int)"],
        ),
        (
            "(anonymous namespace)::DAGCombiner::visitADDLike(llvm::SDNode*)",
            &[
                "visitADDLike",
                "DAGCombiner::visitADDLike",
                "(anonymous namespace)::DAGCombiner::*",
                "(anonymous namespace)::DAGCombiner::visitADDLike(llvm::SDNode*)",
            ],
        ),
        (
            "simplifyICmpInst(llvm::Value*, unsigned int) [clone .llvm] [clone .16671654276026231535]",
            &[
                "simplifyICmpInst",
                "simplifyICmpInst(llvm::Value*, unsigned int)",
                "simplifyICmpInst(llvm::Value*, unsigned int) [clone .llvm] [clone .16671654276026231535]",
            ],
        ),
        (
            "llvm::FunctionComparator::cmpValues(llvm::Value const*, llvm::Value const*) const [clone .cold]",
            &[
                "cmpValues",
                "FunctionComparator::cmpValues(llvm::Value const*, llvm::Value const*) const",
            ],
        ),
        ("tree_cons.isra.0", &["tree_cons"]),
        (
            "llvm::detail::PassModel<llvm::Function, llvm::SimplifyCFGPass, llvm::AnalysisManager<llvm::Function, >, >::run(llvm::Function&, llvm::AnalysisManager<llvm::Function, >&)",
            &["PassModel::run", "llvm::detail::*", "PassModel<*SimplifyCFGPass*>::run"],
        ),
        (
            "hash_table<spec_hasher, false, xcallocator>::find_with_hash(spec_entry* const&, unsigned int)",
            &["hash_table::find_with_hash", "hash_table<spec_hasher*>::find_with_hash"],
        ),
        (
            "main::{lambda(int)#1}::operator()(int) const",
            &[
                "main::{lambda#1}::operator()",
                "main::{lambda(int)#1}::operator()",
                "main::{lambda*}::operator()",
                "operator()",
            ],
        ),
        (
            "<a::Circle as a::Shape>::area",
            &[
                "area",
                "Circle::area",
                "a::Circle::area",
                "Shape::area",
                "a::Shape::area",
                "<a::Circle as a::Shape>::area",
                "a::*",
            ],
        ),
        (
            "<alloc::vec::Vec<T,A> as core::ops::deref::Deref>::deref",
            &["Vec::deref", "alloc::vec::Vec::deref", "Deref::deref", "Vec<T,A>::deref"],
        ),
        (
            "core::iter::range::<impl core::iter::traits::iterator::Iterator for core::ops::range::Range<A>>::next",
            &["Range::next", "Iterator::next", "next", "core::iter::range::*"],
        ),
        (
            "<hashbrown::raw::RawTable<(a::Key, u64)>>::reserve_rehash::<hashbrown::map::make_hasher<a::Key, u64>::{closure#0}>",
            &[
                "RawTable::reserve_rehash",
                "hashbrown::raw::RawTable::reserve_rehash",
                "hashbrown::*",
                "reserve_rehash",
            ],
        ),
        (
            "<alloc::raw_vec::RawVec<u8>>::reserve",
            &["RawVec::reserve", "RawVec<u8>::reserve", "alloc::raw_vec::*"],
        ),
        ("<usize>::wrapping_sub", &["wrapping_sub", "usize::wrapping_sub"]),
        ("<[a::Key]>::sort_by", &["sort_by", "<[a::Key]>::sort_by"]),
        ("<&str as core::fmt::Display>::fmt", &["str::fmt", "Display::fmt", "fmt"]),
        (
            "core::ptr::drop_in_place::<alloc::vec::Vec<u8>>",
            &[
                "drop_in_place",
                "core::ptr::drop_in_place",
                "core::ptr::drop_in_place::<alloc::vec::Vec<u8>>",
                "drop_in_place::<*Vec<u8>*>",
            ],
        ),
        (
            "a::inner::deep::apply::<a::main::{closure#0}>::{closure#0}",
            &[
                "a::inner::deep::apply::{closure#0}",
                "apply::{closure#0}",
                "apply::*",
                "deep::apply*",
            ],
        ),
        ("app::run::{{closure}}", &["run::{{closure}}", "app::run::*", "app::*"]),
        (
            "rustc_query_impl::query_impl::mir_promoted::execute_query_non_incr::__rust_end_short_backtrace",
            &["__rust_end_short_backtrace", "*::__rust_end_short_backtrace", "rustc_query_impl::*"],
        ),
    ] {
        for typed in typed {
            let glob = match parse_pattern(typed) {
                Ok(FramePattern::Glob(glob)) => glob,
                other => panic!("{typed} is read as {other:?}"),
            };
            assert!(matches(&glob, name), "{typed} is {name}");
        }
    }
    for (name, typed) in [
        ("<a::Circle as a::Shape>::area", &["Circle", "Square::area", "Shape"][..]),
        ("std::vector<int>::push_back(int const&)", &["vector", "push", "vector<long>::push_back"]),
        ("core::ptr::drop_in_place::<alloc::vec::Vec<u8>>", &["Vec*", "alloc::*"]),
        ("f(std::vector<int>)", &["std::*", "vector*"]),
    ] {
        for typed in typed {
            assert!(!matches(typed, name), "{typed} is not {name}");
        }
    }
}

#[test]
fn globs_match_whole_texts() {
    assert!(Glob::new("MPI_*").matches("MPI_Send"));
    assert!(!Glob::new("MPI_*").matches("PMPI_Send"));
    assert!(Glob::new("*a*b?c").matches("xaabbbzc"));
    assert!(!Glob::new("*a*b?c").matches("xaabbbc2"));
    assert!(Glob::new(r"a\*b").matches("a*b"));
    assert!(!Glob::new(r"a\*b").matches("axb"));
    assert!(Glob::new("*").matches("") && !Glob::new("").matches("a"));
}

#[test]
fn lower_case_ignores_case() {
    assert!(matches("mpi_send", "MPI_Send"));
    assert!(!matches("Mpi_send", "MPI_Send"));
    assert!(regex("send$").unwrap().is_match("MPI_SEND"));
    assert!(!regex("Send$").unwrap().is_match("MPI_SEND"));
    assert!(regex(r"\Wsend").unwrap().is_match("a SEND"));
}

#[test]
fn names_match_in_all_their_forms() {
    let name = "void ns::Matrix<double>::multiply<4>(ns::Matrix<double> const&) const";
    for glob in [
        "multiply",
        "mult*",
        "Matrix::multiply",
        "ns::Matrix::multiply",
        "ns::*",
        "Matrix<double>::multiply<4>",
        "ns::Matrix<double>::multiply<4>",
        "ns::Matrix<double>::multiply<4>(ns::Matrix<double> const&) const",
        "multiply<4>(ns::Matrix<double> const&) const",
        "multiply(*",
    ] {
        assert!(matches(glob, name), "{glob}");
    }
    for glob in ["Matrix", "ns", "ultiply", "multiply::*", "double"] {
        assert!(!matches(glob, name), "{glob}");
    }
    assert!(matches("f::*", "f::<int>"));
    assert!(matches("drop", "<alloc::vec::Vec<T> as core::ops::Drop>::drop"));
    assert!(matches("operator()", "main::{lambda(int)#1}::operator()(int) const"));
}
