//! Globs, and names in their forms.

use proptest::prelude::*;

use super::glob::{Glob, regex};
use super::names::{NameGlob, NameTable};
use super::reference;
use crate::refine::lang::parser::parse_pattern;
use crate::refine::lang::syntax::FramePattern;

mod c_names;

/// The quick ways, with what is known of names before and without it, and the long way agree.
fn matches(text: &str, name: &str) -> bool {
    matches_of(text, name, false)
}

/// As above, of a name in a language that may write paths with dots.
fn matches_of(text: &str, name: &str, writes_dots: bool) -> bool {
    let names = NameTable::of(std::iter::once(name));
    let glob = NameGlob::new(text);
    let found = reference::matches(text, name, writes_dots);
    let known = names.matches(0, name, &glob, || writes_dots);
    assert_eq!(known, found, "{text} {name}");
    let nothing_known = NameTable::of(std::iter::empty());
    let unknown = nothing_known.matches(0, name, &glob, || writes_dots);
    assert_eq!(unknown, found, "{text} {name}, nothing known");
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

/// Names of libraries whose namespaces hold a version.
#[test]
fn inline_namespaces_may_be_left_out() {
    for (name, typed, others) in [
        (
            "fmt::v9::vformat[abi:cxx11](fmt::v9::basic_string_view<char>, fmt::v9::basic_format_args<fmt::v9::basic_format_context<fmt::v9::appender, char> >)",
            &[
                "fmt::vformat",
                "fmt::v*",
                "fmt::v9::vformat",
                "vformat",
                "fmt::vformat(fmt::basic_string_view<char>, *)",
            ][..],
            &["fmt::v8::vformat", "fmt::format"][..],
        ),
        (
            "void fmt::v10::detail::vformat_to<char>(fmt::v10::detail::buffer<char>&, fmt::v10::basic_string_view<char>)",
            &["fmt::detail::vformat_to", "fmt::detail::vformat_to<char>", "detail::vformat_to"],
            &["fmt::vformat_to"],
        ),
        (
            "absl::lts_20220623::synchronization_internal::Waiter::Wait(absl::lts_20220623::synchronization_internal::KernelTimeout)",
            &["absl::synchronization_internal::Waiter::Wait", "absl::*", "absl::lts_*::Wait"],
            &["absl::Wait"],
        ),
        (
            "std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char> >::append(char const*)",
            &[
                "std::string::append",
                "std::basic_string::append",
                "std::basic_string<char>::append",
            ],
            &["std::wstring::append"],
        ),
        (
            "std::__8::vector<int, std::__8::allocator<int> >::push_back(int const&)",
            &[
                "std::vector::push_back",
                "std::vector<int>::push_back",
                "std::vector<int, std::allocator<int>>::*",
            ],
            &["std::vector<long>::push_back"],
        ),
        (
            "std::_V2::condition_variable_any::notify_all()",
            &["std::condition_variable_any::notify_all"],
            &["std::notify_all"],
        ),
        (
            "nlohmann::json_abi_v3_11_2::detail::lexer<char>::scan()",
            &["nlohmann::detail::lexer::scan", "nlohmann::detail::lexer<char>::scan"],
            &["nlohmann::lexer::scan"],
        ),
        (
            "boost::log::v2s_mt_posix::core::flush()",
            &["boost::log::core::flush"],
            &["boost::core::flush"],
        ),
        // A module of Rust is none.
        ("api::v1::serve", &["api::v1::serve", "v1::serve"], &["api::serve"]),
        // The function itself.
        ("fmt::v9()", &["fmt::v9"], &["fmt"]),
    ] {
        for typed in typed {
            assert!(matches(typed, name), "{typed} is {name}");
        }
        for typed in others {
            assert!(!matches(typed, name), "{typed} is not {name}");
        }
    }
}

/// Names out of g++ and rustc, libstdc++ and csprof itself, with what people leave out of their
/// template arguments and what they call by another name; and what is another function.
#[test]
fn template_arguments_may_be_left_out() {
    const STRING: &str =
        "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
    const WSTRING: &str =
        "std::__cxx11::basic_string<wchar_t, std::char_traits<wchar_t>, std::allocator<wchar_t> >";
    for (name, typed, others) in [
        (
            "std::vector<int, std::allocator<int> >::push_back(int const&)".to_owned(),
            &[
                "std::vector<int>::push_back",
                "vector<int>::push_back(int const&)",
                "vector<int >::push_back(*)",
                "std::vector<int>::*",
                "vector<int,std::allocator<int>>::push_back",
                "vector<?nt>::push_back",
                "push_back(int const&)",
            ][..],
            &["vector<in>::push_back", "vector<int\\*>::push_back", "vector<>::push_back"][..],
        ),
        (
            "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>(__gnu_cxx::__normal_iterator<int*, std::vector<int, std::allocator<int> > >, int const&)".to_owned(),
            &[
                "std::vector<int>::_M_realloc_insert",
                "vector::_M_realloc_insert<int const&>",
                "vector<int>::_M_realloc_insert<*>(__normal_iterator<int*>, int const&)",
            ],
            &["vector<long>::_M_realloc_insert", "_M_realloc_insert<int>"],
        ),
        (
            "void std::vector<std::vector<int, std::allocator<int> >, std::allocator<std::vector<int, std::allocator<int> > > >::_M_realloc_insert<int>(int&&)".to_owned(),
            &["vector<vector<int>>::_M_realloc_insert", "std::vector<std::vector<int> >::*"],
            &["vector<int>::_M_realloc_insert", "vector<vector<long>>::_M_realloc_insert"],
        ),
        (
            "std::map<app::Key, std::vector<double, std::allocator<double> >, std::less<app::Key>, std::allocator<std::pair<app::Key const, std::vector<double, std::allocator<double> > > > >::operator[](app::Key&&)".to_owned(),
            &[
                "map<app::Key, vector<double>>::operator[]",
                "std::map<Key, std::vector<double>>::operator[]",
                "map<Key,vector>::operator[]",
                "map<Key>::operator[](Key&&)",
            ],
            &["map<Ke>::operator[]", "map<vector<double>>::operator[]", "map<pp::Key>::operator[]"],
        ),
        (
            "std::_Rb_tree<long, std::pair<long const, long>, std::_Select1st<std::pair<long const, long> >, std::less<long>, std::allocator<std::pair<long const, long> > >::find(long const&) const".to_owned(),
            &["_Rb_tree<long>::find", "_Rb_tree<long, pair<long const, long>>::find"],
            &["_Rb_tree<long const>::find", "_Rb_tree<long, long>::find"],
        ),
        (
            "std::unique_ptr<app::Key, std::default_delete<app::Key> >::~unique_ptr()".to_owned(),
            &["unique_ptr<Key>::~unique_ptr", "std::unique_ptr<app::Key>::~*"],
            &["unique_ptr<app>::~unique_ptr"],
        ),
        (
            "std::unique_ptr<std::thread::_State, std::default_delete<std::thread::_State> >::~unique_ptr()".to_owned(),
            &["unique_ptr<std::thread::_State>::*", "unique_ptr<thread::_State>::*", "unique_ptr<_State>::*"],
            &["unique_ptr<std::_State::thread>::*", "unique_ptr<thread>::*"],
        ),
        (
            "void app::Grid<double, 3>::each<main::{lambda(double&)#2}>(main::{lambda(double&)#2})".to_owned(),
            &["Grid<double>::each", "app::Grid<double, 3>::each", "Grid<double,3>::each<main::{lambda(double&)#2}>"],
            &["Grid<3>::each", "Grid<double, 4>::each"],
        ),
        (
            "std::_Function_handler<bool (char), std::__detail::_AnyMatcher<std::__cxx11::regex_traits<char>, false, true, false> >::_M_invoke(std::_Any_data const&, char&&)".to_owned(),
            &[
                "_Function_handler<bool (char)>::_M_invoke",
                "_Function_handler<bool (char), _AnyMatcher<regex_traits<char>>>::_M_invoke",
                "_Function_handler<bool(char), *>::_M_invoke"
            ][..2],
            &["_Function_handler<bool>::_M_invoke", "_Function_handler<bool (int)>::_M_invoke"],
        ),
        (
            "std::_Sp_counted_ptr_inplace<app::Key, std::allocator<void>, (__gnu_cxx::_Lock_policy)2>::_M_dispose()".to_owned(),
            &["_Sp_counted_ptr_inplace<Key>::_M_dispose"],
            &["_Sp_counted_ptr_inplace<allocator<void>>::_M_dispose"],
        ),
        (
            "std::deque<long, std::allocator<long> >::push_back(long const&)".to_owned(),
            &["deque<long>::push_back", "std::deque<long>::push_back(long const&)"],
            &["deque<long long>::push_back"],
        ),
        (
            "hash_table<spec_hasher, false, xcallocator>::find_slot_with_hash(spec_entry* const&, unsigned int, insert_option)".to_owned(),
            &["hash_table<spec_hasher>::find_slot_with_hash", "hash_table<spec_hasher, false>::*"],
            &["hash_table<xcallocator>::find_slot_with_hash", "hash_table<spec_hasher, true>::*"],
        ),
        (
            "hash_table<hash_map<tree_node*, tree_node*, simple_hashmap_traits<default_hash_traits<tree_node*>, tree_node*> >::hash_entry, false, xcallocator>::expand()".to_owned(),
            &["hash_table<hash_map<tree_node*>::hash_entry>::expand", "hash_table<hash_map::hash_entry>::expand"],
            &["hash_table<hash_map>::expand"],
        ),
        (
            "bool wi::fits_to_tree_p<poly_int<1, generic_wide_int<wide_int_ref_storage<false, true> > > >(poly_int<1, generic_wide_int<wide_int_ref_storage<false, true> > > const&, tree_node const*)".to_owned(),
            &["fits_to_tree_p<poly_int<1>>", "wi::fits_to_tree_p<poly_int>(poly_int<1> const&, tree_node const*)"],
            &["fits_to_tree_p<poly_int<2>>"],
        ),
        (
            "inverted_post_order_compute(vec<int, va_heap, vl_ptr>*, simple_bitmap_def**)".to_owned(),
            &["inverted_post_order_compute(vec<int>*, simple_bitmap_def**)", "inverted_post_order_compute(vec<int>*)"][..1],
            &["inverted_post_order_compute(vec<long>*, simple_bitmap_def**)"],
        ),
        (
            "void std::__sort<__gnu_cxx::__normal_iterator<char*, std::vector<char, std::allocator<char> > >, __gnu_cxx::__ops::_Iter_less_iter>(__gnu_cxx::__normal_iterator<char*, std::vector<char, std::allocator<char> > >, __gnu_cxx::__ops::_Iter_less_iter)".to_owned(),
            &["std::__sort<__normal_iterator<char*>>", "__sort<__normal_iterator<char*, vector<char>>, _Iter_less_iter>"],
            &["__sort<_Iter_less_iter>"],
        ),
        (
            format!("{STRING}::append(char const*)"),
            &["std::string::append", "string::append", "std::string::append(char const*)", "std::basic_string<char>::append"],
            &["std::wstring::append", "std::string"],
        ),
        (
            format!("std::vector<{STRING}, std::allocator<{STRING} > >::push_back({STRING} const&)"),
            &[
                "vector<std::string>::push_back",
                "std::vector<string>::push_back(std::string const&)",
                "vector<basic_string<char>>::push_back",
            ],
            &["vector<std::wstring>::push_back", "vector<char>::push_back"],
        ),
        (
            format!("std::_Hashtable<{STRING}, std::pair<{STRING} const, int>, std::allocator<std::pair<{STRING} const, int> >, std::__detail::_Select1st>::find({STRING} const&)"),
            &["_Hashtable<std::string>::find", "_Hashtable<string, pair<string const, int>>::find"],
            &["_Hashtable<string, int>::find"],
        ),
        (
            format!("{WSTRING}::find_first_of(wchar_t const*, unsigned long, unsigned long) const"),
            &["std::wstring::find_first_of", "wstring::find*", "basic_string<wchar_t>::find_first_of"],
            &["std::string::find_first_of"],
        ),
        (
            "std::basic_ofstream<char, std::char_traits<char> >::is_open() const".to_owned(),
            &["std::ofstream::is_open", "ofstream::is_open", "std::basic_ofstream::is_open"],
            &["std::wofstream::is_open"],
        ),
        (
            "std::basic_stringbuf<char, std::char_traits<char>, std::allocator<char> >::_M_sync(char*, unsigned long, unsigned long)".to_owned(),
            &["std::stringbuf::_M_sync", "stringbuf::_M_sync(*)"],
            &["stringbuf"],
        ),
        (
            "auto std::filesystem::__cxx11::path::_S_convert<std::basic_string_view<char, std::char_traits<char> > >(std::basic_string_view<char, std::char_traits<char> >)".to_owned(),
            &["std::filesystem::path::_S_convert", "path::_S_convert<std::string_view>", "path::_S_convert<*>(string_view)"][..2],
            &["path::_S_convert<std::wstring_view>"],
        ),
        (
            "app::find(app::Key const&, std::vector<app::Key, std::allocator<app::Key> > const&)".to_owned(),
            &["find(Key const&, *)", "app::find(Key const&, vector<Key> const&)", "find(Key*)"],
            &["find(app const&, *)", "find(Key)"],
        ),
        (
            "std::chrono::_V2::system_clock::now()".to_owned(),
            &["std::chrono::system_clock::now", "system_clock::now()"],
            &["std::chrono::steady_clock::now"],
        ),
        (
            "std::filesystem::__cxx11::path::~path()".to_owned(),
            &["std::filesystem::path::~path", "path::~path"],
            &["std::path::~path"],
        ),
        (
            "core::ptr::drop_in_place<alloc::vec::Vec<regex_syntax::ast::FlagsItem>>".to_owned(),
            &["drop_in_place<Vec<FlagsItem>>", "drop_in_place<alloc::vec::Vec>", "drop_in_place<Vec<ast::FlagsItem>>"],
            &["drop_in_place<FlagsItem>", "Vec<FlagsItem>"],
        ),
        (
            "core::ptr::drop_in_place::<alloc::vec::Vec<alloc::string::String>>".to_owned(),
            &["drop_in_place::<Vec<String>>", "drop_in_place<Vec<String>>", "core::ptr::drop_in_place<*String*>"],
            &["drop_in_place<String>"],
        ),
        (
            "core::ptr::drop_in_place<std::collections::hash::map::HashMap<csprof_format::address::FrameKey,csprof_format::ids::FrameId>>".to_owned(),
            &["drop_in_place<HashMap<FrameKey>>", "drop_in_place<HashMap<FrameKey, FrameId>>"],
            &["drop_in_place<HashMap<FrameId>>"],
        ),
        (
            "std::collections::hash::map::HashMap<K,V,S,A>::insert".to_owned(),
            &["HashMap<K,V>::insert", "HashMap<K, V, S, A>::insert", "HashMap<*>::insert"],
            &["HashMap<V>::insert"],
        ),
        (
            "<alloc::raw_vec::RawVec<&addr2line::function::InlinedFunction<gimli::read::endian_slice::EndianSlice<gimli::endianity::LittleEndian>>>>::grow_one".to_owned(),
            &["RawVec<&InlinedFunction>::grow_one", "RawVec<&addr2line::function::InlinedFunction<*>>::grow_one"],
            &["RawVec<InlinedFunction>::grow_one"],
        ),
        (
            "<hashbrown::raw::RawTable<(a::Key, u64)>>::reserve_rehash::<a::{closure#0}>".to_owned(),
            &["RawTable<(a::Key, u64)>::reserve_rehash", "RawTable<(Key, u64)>::reserve_rehash"],
            &["RawTable<Key>::reserve_rehash"],
        ),
    ] {
        let is_found = |typed: &str| match parse_pattern(typed) {
            Ok(FramePattern::Glob(glob)) => matches(&glob, &name),
            other => panic!("{typed} is read as {other:?}"),
        };
        for typed in typed {
            assert!(is_found(typed), "{typed} is {name}");
        }
        for typed in others {
            assert!(!is_found(typed), "{typed} is not {name}");
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

#[test]
fn what_is_known_of_the_ends_of_names_leaves_no_match_out() {
    for name in [
        "void ns::Matrix<double>::multiply<4>(ns::Matrix<double> const&) const",
        "std::__cxx11::basic_string<wchar_t, std::char_traits<wchar_t> >::at(unsigned long)",
        "std::vector<int, std::allocator<int> >::operator[](unsigned long)",
        "(anonymous namespace)::f<int>(int) [clone .part.0]",
        "main::{lambda(int)#1}::operator()(int) const",
        "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
        "core::ops::function::FnOnce::call_once{{vtable.shim}}",
        "f::<g::H>",
        "__memcpy_avx512_unaligned_erms",
        "__grid_MOD_step.isra.0",
        "dgemm_",
        "straße::größe<K>(K)",
    ] {
        for text in [name, &crate::profile::short_name(name)] {
            let stride = if text.len() < 20 { 1 } else { 7 };
            let inner = || text.char_indices().map(|(at, _)| at).step_by(stride);
            let cuts = || inner().chain([text.len()]);
            for (from, to) in cuts().flat_map(|from| cuts().map(move |to| (from, to))) {
                let [begin, end] = [&text[..from], &text[to..]].map(|piece| {
                    piece.replace('\\', r"\\").replace('*', r"\*").replace('?', r"\?")
                });
                // Compares the long way with the quick one.
                matches(&format!("{begin}*{end}"), name);
                matches(&format!("*{begin}*{end}"), name);
                matches(&format!("{end}*"), name);
            }
        }
    }
}

#[test]
fn what_stands_behind_arguments_may_be_left_out() {
    let cold = "ns::f(int) const [clone .part.0] [clone .cold]";
    for glob in ["f(int)", "f(int) const", "ns::f", "f(int) const [clone .part.0]*"] {
        assert!(matches(glob, cold), "{glob}");
    }
    assert!(!matches("f(int) const [clone .part.0]", cold));
    // But not what else it may be the scope of.
    let local = "ns::f(int) const::Local::run(char)";
    assert!(matches("ns::f::Local::run", local) && matches("run(char)", local));
    assert!(!matches("ns::f(int)", local) && !matches("f(int) const", local));
}

#[test]
fn long_globs_are_compared_to_their_end() {
    for length in [10, 58, 59, 60, 61, 250, 251, 252, 253, 2000] {
        let long = "x".repeat(length);
        let name = format!("void ns::f<{long}>(int)");
        assert!(matches(&format!("f<{long}>"), &name), "{length}");
        assert!(matches(&format!("f<{long}>(?nt)"), &name), "{length}");
        assert!(!matches(&format!("f<{long}y>"), &name), "{length}");
        assert!(!matches(&format!("f<{long}>x"), &name), "{length}");
    }
    // Of a glob longer than that, the beginning counts.
    let long = "x".repeat(5000);
    assert!(matches(&format!("f<{long}>*"), &format!("ns::f<{long}>(int)")));
}

/// A type as demanglers write it.
fn a_type() -> impl Strategy<Value = String> {
    let word = prop::sample::select(&["a", "b", "ab", "int", "char", "Vec", "wide", "_x", "é"][..]);
    word.prop_map(str::to_owned).prop_recursive(3, 8, 3, |inner| {
        let list = prop::collection::vec(inner.clone(), 1..3).prop_map(|types| types.join(", "));
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(space, of)| format!("{space}::{of}")),
            list.clone().prop_map(|list| {
                let end = if list.ends_with('>') { " >" } else { ">" };
                format!("Vec<{list}{end}")
            }),
            list.clone().prop_map(|list| format!("std::__cxx11::basic_string<char, {list}>")),
            list.clone().prop_map(|list| format!("Map::<{list}>")),
            list.clone().prop_map(|list| format!("a::{{lambda({list})#1}}")),
            (inner.clone(), list).prop_map(|(one, list)| format!("{one} ({list})")),
            inner.clone().prop_map(|of| format!("{of} const&")),
            inner.prop_map(|of| format!("&{of}")),
        ]
    })
}

/// A component of a name.
fn a_component() -> impl Strategy<Value = String> {
    const PLAIN: &[&str] = &[
        "a",
        "b",
        "ab",
        "step_1",
        "Vec",
        "operator()",
        "operator<",
        "operator new",
        "v9",
        "__1",
        "(anonymous namespace)",
        "{closure#0}",
        "{{closure}}",
        "f[abi:cxx11]",
        "_x",
        "straße",
    ];
    prop_oneof![
        4 => prop::sample::select(PLAIN).prop_map(str::to_owned),
        2 => a_type().prop_map(|of| format!("Vec<{of}>")),
        1 => a_type().prop_map(|of| format!("b::<{of}>")),
        1 => a_type().prop_map(|of| format!("operator< <{of}>")),
        1 => a_type().prop_map(|of| format!("{{lambda({of})#2}}")),
        1 => a_type().prop_map(|of| format!("std::basic_string<wchar_t, {of}>")),
        1 => (a_type(), a_type()).prop_map(|(of, by)| format!("<{of} as {by}>")),
        1 => (a_type(), a_type()).prop_map(|(by, of)| format!("<impl {by} for {of}>")),
        1 => a_type().prop_map(|of| format!("run({of})")),
    ]
}

fn a_name() -> impl Strategy<Value = String> {
    (
        prop::option::weighted(0.3, a_type()),
        prop::collection::vec(a_component(), 1..5),
        prop::option::weighted(0.6, prop::collection::vec(a_type(), 0..3)),
        prop::sample::select(&["", " const", " const &", " [clone .cold]"][..]),
    )
        .prop_map(|(result, components, arguments, end)| {
            let name = components.join("::");
            match arguments {
                Some(types) => {
                    let result = result.map_or_else(String::new, |result| result + " ");
                    format!("{result}{name}({}){end}", types.join(", "))
                }
                None => name,
            }
        })
}

proptest! {
    /// What is typed is the name with some of it left out, or with wildcards for it.
    #[test]
    fn the_quick_ways_find_what_the_long_way_finds(
        name in a_name(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..12_usize, 0..6_usize), 0..5),
    ) {
        let mut typed: Vec<char> = name.chars().collect();
        for (at, length, what) in edits {
            let at = at.index(typed.len() + 1);
            let end = (at + length).min(typed.len());
            match what {
                0 => drop(typed.drain(..at)),
                1 => drop(typed.drain(at..)),
                2 | 3 => drop(typed.splice(at..end, ['*'])),
                4 if at < end => drop(typed.splice(at..at + 1, ['?'])),
                _ => drop(typed.drain(at..end)),
            }
        }
        let typed: String = typed.into_iter().collect();
        matches(&typed, &name);
        matches(&format!("{typed}*"), &name);
        matches(&typed.to_lowercase(), &name);
    }
}
