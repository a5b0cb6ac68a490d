//! Function names as people say them: without arguments, templates and namespaces.
//!
//! Demangled C++ and Rust names are split into the components that `::` separates, at the depth
//! where no bracket is open. What each component carries in `<…>` and `(…)` is set aside. Names
//! that do not look like either (C, Fortran, addresses, groups) come back unchanged.

mod bare;
mod clones;
mod narrow;
mod scan;
mod spelling;
mod versions;

use std::borrow::Cow;

pub(crate) use bare::BareNames;
pub(crate) use clones::{CloneMarks, ShownName, begins_mark, is_same_name, marked};
pub(crate) use narrow::NarrowName;
use scan::scan;
pub(crate) use scan::{OPERATORS, Parts, closed_group};
pub(crate) use spelling::spell;
use spelling::{base_component, is_plain, of_type};

/// The name without arguments, template arguments and return type: what a narrow column shows.
///
/// ```
/// use csprof::profile::short_name;
/// assert_eq!(short_name("void ns::sort<int*>(int*, int*)"), "ns::sort");
/// assert_eq!(short_name("<Vec<T> as Drop>::drop"), "<Vec as Drop>::drop");
/// ```
#[must_use]
pub fn short_name(name: &str) -> Cow<'_, str> {
    if is_plain(name) {
        return Cow::Borrowed(name);
    }
    let short = BareName::of(name).text;
    if short.is_empty() { Cow::Borrowed(name) } else { Cow::Owned(short) }
}

/// The last component of the short name: the function without its namespaces.
///
/// For a lambda or closure it begins at the function that holds it, since every lambda is called
/// the same.
///
/// ```
/// use csprof::profile::base_name;
/// assert_eq!(base_name("ns::Matrix<double>::row(int) const"), "row");
/// assert_eq!(base_name("app::run::{{closure}}"), "run::{{closure}}");
/// ```
#[must_use]
pub fn base_name(name: &str) -> Cow<'_, str> {
    if is_plain(name) {
        return Cow::Borrowed(name);
    }
    let bare = BareName::of(name);
    let base = bare.from(base_component(bare.starts.len(), |component| bare.from(component)));
    if base.is_empty() { Cow::Borrowed(name) } else { Cow::Owned(base.to_owned()) }
}

/// A name without what its components carry.
#[derive(Default)]
struct BareName {
    text: String,
    /// Where each component begins.
    starts: Vec<usize>,
}

impl BareName {
    /// The bare form of a name.
    fn of(name: &str) -> Self {
        let mut form = Self::default();
        scan(of_type(name), &mut form);
        form
    }

    /// The components from one of them on.
    fn from(&self, component: usize) -> &str {
        &self.text[self.starts[component]..]
    }
}

impl Parts for BareName {
    fn begin_component(&mut self) {
        if !self.starts.is_empty() {
            self.text.push_str("::");
        }
        self.starts.push(self.text.len());
    }

    fn at_component_start(&self) -> bool {
        self.starts.last() == Some(&self.text.len())
    }

    fn restart(&mut self) {
        self.text.clear();
        self.starts.clear();
        self.begin_component();
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn push_braces(&mut self, bare: [&str; 2], _whole: &str) {
        bare.into_iter().for_each(|piece| self.push(piece));
    }
}

/// Names that are hard to take apart, each with the function's own name.
#[cfg(test)]
pub(crate) fn hard_names() -> impl Iterator<Item = (&'static str, &'static str)> {
    tests::NAMES.iter().map(|&(name, _, base)| (name, base))
}

#[cfg(test)]
mod tests {
    use super::{base_name, short_name};

    /// Full name, short name, base name.
    pub(super) const NAMES: &[(&str, &str, &str)] = &[
        ("main", "main", "main"),
        ("dgemm_", "dgemm_", "dgemm_"),
        ("libc.so.6+0x1234", "libc.so.6+0x1234", "libc.so.6+0x1234"),
        ("[partial: no-cfi]", "[partial: no-cfi]", "[partial: no-cfi]"),
        ("<root>", "<root>", "<root>"),
        ("MPI library", "MPI library", "MPI library"),
        ("foo(int, char const*)", "foo", "foo"),
        ("foo(int) [clone .cold]", "foo", "foo"),
        ("ns::Matrix<double, 3>::row(unsigned long) const", "ns::Matrix::row", "row"),
        ("void ns::sort<int*, std::less<int> >(int*, int*)", "ns::sort", "sort"),
        ("unsigned long count(char)", "count", "count"),
        ("decltype(auto) apply<int>(int)", "apply", "apply"),
        ("(anonymous namespace)::work(int)", "(anonymous namespace)::work", "work"),
        ("foo[abi:cxx11](int)", "foo", "foo"),
        ("<hashbrown::raw::RawTable<u8>>::probe", "hashbrown::raw::RawTable::probe", "probe"),
        ("<usize>::wrapping_sub", "usize::wrapping_sub", "wrapping_sub"),
        ("Vec::operator[](unsigned long)", "Vec::operator[]", "operator[]"),
        ("Vec::operator()(int) const", "Vec::operator()", "operator()"),
        ("bool operator< <int>(A<int> const&, A<int> const&)", "operator<", "operator<"),
        ("A::operator<(A const&) const", "A::operator<", "operator<"),
        ("std::ostream& operator<<(std::ostream&, A const&)", "operator<<", "operator<<"),
        ("A::operator->() const", "A::operator->", "operator->"),
        ("A::operator<=>(A const&) const", "A::operator<=>", "operator<=>"),
        ("operator new(unsigned long)", "operator new", "operator new"),
        ("operator delete[](void*)", "operator delete[]", "operator delete[]"),
        ("A::operator bool() const", "A::operator bool", "operator bool"),
        ("A::operator std::vector<int>() const", "A::operator std::vector", "operator std::vector"),
        (
            "main::{lambda(int)#1}::operator()(int) const",
            "main::{lambda#1}::operator()",
            "main::{lambda#1}::operator()",
        ),
        (
            "ns::run(int)::{lambda(int, void (*)(char))#2}::operator()(int, void (*)(char)) const",
            "ns::run::{lambda#2}::operator()",
            "run::{lambda#2}::operator()",
        ),
        (
            "Foo::bar() const::{lambda()#1}::operator()() const",
            "Foo::bar::{lambda#1}::operator()",
            "bar::{lambda#1}::operator()",
        ),
        (
            "std::function<void (int)>::operator()(int) const",
            "std::function::operator()",
            "operator()",
        ),
        ("qsort_by(void*, int (*)(void const*, void const*))", "qsort_by", "qsort_by"),
        (
            "std::_Function_handler<void (int), f(int)::{lambda()#1}>::_M_invoke(std::_Any_data const&)",
            "std::_Function_handler::_M_invoke",
            "_M_invoke",
        ),
        ("Buffer<(1 << 3)>::size() const", "Buffer::size", "size"),
        ("non-virtual thunk to A::f()", "A::f", "f"),
        ("alloc::vec::Vec<T,A>::push", "alloc::vec::Vec::push", "push"),
        (
            "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
            "<alloc::vec::Vec as core::ops::Drop>::drop",
            "drop",
        ),
        (
            "<F as core::ops::FnOnce<()>>::call_once",
            "<F as core::ops::FnOnce>::call_once",
            "call_once",
        ),
        (
            "core::ops::function::impls::<impl core::ops::FnOnce<A> for &F>::call_once",
            "core::ops::function::impls::<impl core::ops::FnOnce for &F>::call_once",
            "call_once",
        ),
        (
            "core::ptr::drop_in_place::<alloc::vec::Vec<u8>>",
            "core::ptr::drop_in_place",
            "drop_in_place",
        ),
        ("core::ptr::drop_in_place<fn(i32) -> i32>", "core::ptr::drop_in_place", "drop_in_place"),
        ("<[T]>::sort_by", "<[T]>::sort_by", "sort_by"),
        ("app::run::{{closure}}", "app::run::{{closure}}", "run::{{closure}}"),
        (
            "app::run::{closure#0}::{closure#1}",
            "app::run::{closure#0}::{closure#1}",
            "run::{closure#0}::{closure#1}",
        ),
        (
            "std::rt::lang_start::<()>::{closure#0}",
            "std::rt::lang_start::{closure#0}",
            "lang_start::{closure#0}",
        ),
        // Operators of templates, and those that look like brackets inside of arguments.
        ("bool ns::operator<< <char>(A<char>&, char)", "ns::operator<<", "operator<<"),
        ("bool operator<=> <int>(A<int>, A<int>)", "operator<=>", "operator<=>"),
        ("ns::A<int>::operator->*(int)", "ns::A::operator->*", "operator->*"),
        ("ns::A<int>::operator, (int)", "ns::A::operator,", "operator,"),
        ("operator\"\" _km(long double)", "operator\"\" _km", "operator\"\" _km"),
        ("Buffer<1 << 3>::size_of(int)", "Buffer::size_of", "size_of"),
        ("Buffer<((1)<<(3))>::size_of(int)", "Buffer::size_of", "size_of"),
        ("If<(a < b), (c > d)>::then() const", "If::then", "then"),
        ("If<a <= b>::then()", "If::then", "then"),
        ("If<((a <=> b) < 0)>::then()", "If::then", "then"),
        ("Order<a <=> b>::get(int)", "Order::get", "get"),
        ("std::enable_if<(8)>=(4), int>::type pick<unsigned long>(unsigned long)", "pick", "pick"),
        ("decltype (f(x)) ns::pick<int>(int)", "ns::pick", "pick"),
        ("decltype((*this).at(0)) Vec<int>::front<0>() const &", "Vec::front", "front"),
        (
            "A::operator std::vector<B<1 << 2> > const&() const",
            "A::operator std::vector const&",
            "operator std::vector const&",
        ),
        // Lambdas and types without a name, as libiberty and LLVM write them.
        ("main::$_0::operator()(int) const", "main::$_0::operator()", "operator()"),
        (
            "main::'lambda'(int)::operator()(int) const",
            "main::'lambda'::operator()",
            "main::'lambda'::operator()",
        ),
        ("f(int)::{unnamed type#1}::g()", "f::{unnamed type#1}::g", "g"),
        (
            "(anonymous namespace)::A<(anonymous namespace)::B>::f()",
            "(anonymous namespace)::A::f",
            "f",
        ),
        // Rust: what debug information says of impl blocks.
        ("app::{impl#0}::run", "app::{impl#0}::run", "run"),
        (
            "app::{impl#3}::run::{closure_env#0}<u8>",
            "app::{impl#3}::run::{closure_env#0}",
            "run::{closure_env#0}",
        ),
        (
            "<app::A<T> as app::B<U>>::f::{{closure}}",
            "<app::A as app::B>::f::{{closure}}",
            "f::{{closure}}",
        ),
        ("<<A as B>::C as D>::f", "<<A as B>::C as D>::f", "f"),
        // Fortran, OCaml, D, Go, Swift, Java, Objective-C, Haskell.
        ("__solver_MOD_apply", "__solver_MOD_apply", "__solver_MOD_apply"),
        ("camlStdlib__List__map_123", "camlStdlib__List__map_123", "camlStdlib__List__map_123"),
        ("Stdlib.List.(@)", "Stdlib.List.(@)", "Stdlib.List.(@)"),
        ("int app.foo(int, char[])", "app.foo", "app.foo"),
        ("app.S.f(int) inout", "app.S.f", "app.S.f"),
        ("app.S.f(int) shared const", "app.S.f", "app.S.f"),
        ("app.S.f(int) immutable", "app.S.f", "app.S.f"),
        ("void shared(int)", "shared", "shared"),
        ("std::vector<int> inout(int)", "inout", "inout"),
        ("app.S.f(int) shared inout.inner(char)", "app.S.f.inner", "app.S.f.inner"),
        (
            "pure @safe void std.sort!(\"a < b\", int[]).sort(int[])",
            "std.sort!.sort",
            "std.sort!.sort",
        ),
        ("main.Map[go.shape.int,go.shape.string]", "main.Map", "main.Map"),
        ("main.(*List[go.shape.int]).Push", "main.(*List).Push", "main.(*List).Push"),
        ("main.(*Buffer).Write", "main.(*Buffer).Write", "main.(*Buffer).Write"),
        ("main.main.func1", "main.main.func1", "main.main.func1"),
        ("app.Foo.bar(x: Swift.Int) -> Swift.Int", "app.Foo.bar", "app.Foo.bar"),
        ("app.load(from: A) async throws -> B", "app.load", "app.load"),
        (
            "void com.app.Main.<init>(java.lang.String[])",
            "com.app.Main.<init>",
            "com.app.Main.<init>",
        ),
        ("-[NSString(Extra) at:]", "-[NSString(Extra) at:]", "-[NSString(Extra) at:]"),
        ("+[A b]", "+[A b]", "+[A b]"),
        ("GHC.Base.(>>=)", "GHC.Base.(>>=)", "GHC.Base.(>>=)"),
        // Nothing closes these.
        ("void f<A<B", "void f<A<B", "void f<A<B"),
        ("ns::f(int", "ns::f(int", "f(int"),
    ];

    #[test]
    fn names_lose_arguments_templates_and_namespaces() {
        for &(name, short, base) in NAMES {
            assert_eq!(short_name(name), short, "short form of {name}");
            assert_eq!(base_name(name), base, "base of {name}");
        }
    }

    #[test]
    fn broken_names_come_back_somehow() {
        for name in ["(", "<", "a<b", "a(b", "operator", "operator(", "::", "{", "é<ü>(ö)", "a::"]
        {
            assert!(!short_name(name).is_empty(), "{name}");
            assert!(!base_name(name).is_empty(), "{name}");
        }
    }
}
