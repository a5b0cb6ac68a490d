//! Function names as people say them: without arguments, templates and namespaces.
//!
//! Demangled C++ and Rust names are split into the components that `::` separates, at the depth
//! where no bracket is open. What each component carries in `<…>` and `(…)` is set aside. Names
//! that do not look like either (C, Fortran, addresses, groups) come back unchanged.

use std::borrow::Cow;

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
    let short = forms(name).bare.text;
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
    let bare = forms(name).bare;
    let mut first = bare.starts.len() - 1;
    // `{lambda#1}::operator()` is named by what surrounds the lambda.
    if first > 0 && bare.from(first) == "operator()" && bare.from(first - 1).starts_with('{') {
        first -= 1;
    }
    while first > 0 && bare.from(first).starts_with('{') {
        first -= 1;
    }
    let base = bare.from(first);
    if base.is_empty() { Cow::Borrowed(name) } else { Cow::Owned(base.to_owned()) }
}

/// Whether a name has nothing to set aside.
fn is_plain(name: &str) -> bool {
    name.starts_with('[') || !name.contains(['<', '(', '{', ':'])
}

/// The ways to say a name: without namespaces, from each of them inwards, each with and without
/// arguments and template arguments; a method by its type and by its trait. The name as it is need
/// not be among them.
pub(crate) fn has_form(name: &str, matches: impl Fn(&str) -> bool) -> bool {
    // People leave out what stands behind the arguments.
    let is_match = |text: &str| {
        matches(text)
            || text.find(" [clone ").is_some_and(|end| matches(&text[..end]))
            || text.rfind(") ").is_some_and(|end| matches(&text[..=end]))
    };
    let has = |forms: &Forms| {
        [&forms.bare, &forms.templated, &forms.called, &forms.full]
            .into_iter()
            .any(|form| form.starts.iter().any(|&start| is_match(&form.text[start..])))
    };
    let forms = forms(name);
    has(&forms)
        || also_called(name, forms.self_type.as_ref()).iter().any(|name| has(&self::forms(name)))
}

/// The bare form of a name, in each of the ways to say it, from its last so many components on.
pub(crate) fn last_components(name: &str, count: usize) -> Vec<String> {
    let last = |forms: &Forms| {
        let component = forms.bare.starts.len().saturating_sub(count);
        forms.bare.from(component).to_owned()
    };
    let forms = forms(name);
    let others = also_called(name, forms.self_type.as_ref());
    [last(&forms)].into_iter().chain(others.iter().map(|name| last(&self::forms(name)))).collect()
}

/// What else a name is called: `<T as Trait>::f` is `T::f` and `Trait::f`, and what lies in an
/// inline namespace of C++'s standard library is in `std` itself.
fn also_called(name: &str, self_type: Option<&[String; 2]>) -> Vec<String> {
    let mut names = Vec::new();
    if let Some([inside, after]) = self_type {
        let (one, other) = match inside.strip_prefix("impl ") {
            Some(of) => split_outside(of, " for "),
            None => split_outside(inside, " as "),
        };
        for part in [Some(one), other].into_iter().flatten() {
            let part = part.trim_start_matches(['&', '*']);
            let part = ["mut ", "const ", "dyn "]
                .iter()
                .fold(part, |part, word| part.strip_prefix(word).unwrap_or(part));
            if is_path(part) {
                names.push(format!("{part}{after}"));
            }
        }
    }
    const STRING: &str = "basic_string<char, std::char_traits<char>, std::allocator<char> >";
    for inline in ["std::__cxx11::", "std::__1::"] {
        if name.contains(inline) {
            let outside = name.replace(inline, "std::");
            let string = outside.replace(&format!("std::{STRING}"), "std::string");
            names.extend((string != outside).then_some(string));
            names.push(outside);
        }
    }
    names
}

/// The two sides of a separator that stands in no brackets, or the text itself.
fn split_outside<'t>(text: &'t str, separator: &str) -> (&'t str, Option<&'t str>) {
    let mut at = 0;
    while at < text.len() {
        if let Some(after) = text.get(at..).and_then(|rest| rest.strip_prefix(separator)) {
            return (&text[..at], Some(after));
        }
        let opens = matches!(text.as_bytes()[at], b'<' | b'(' | b'[' | b'{');
        at = if opens { group_end(text.as_bytes(), at) } else { at + 1 };
    }
    (text, None)
}

/// Whether a type is one with a name, and not a reference, slice, tuple or the like.
fn is_path(text: &str) -> bool {
    text.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && !["impl ", "dyn ", "fn(", "unsafe ", "extern "].iter().any(|word| text.starts_with(word))
}

/// Rust's `<Type>::f` as `Type::f`.
fn of_type(name: &str) -> Cow<'_, str> {
    if !name.starts_with('<') {
        return Cow::Borrowed(name);
    }
    let Some(end) = closed_group(name.as_bytes(), 0) else { return Cow::Borrowed(name) };
    let inside = &name[1..end - 1];
    if is_path(inside) && name[end..].starts_with("::") && split_outside(inside, " as ").1.is_none()
    {
        Cow::Owned(format!("{inside}{}", &name[end..]))
    } else {
        Cow::Borrowed(name)
    }
}

/// The bare forms of many names, to be compared with patterns again and again.
#[derive(Debug, Default)]
pub(crate) struct BareNames {
    text: String,
    /// For each name, where its entries begin in `starts`; the last is the end of all.
    first: Vec<u32>,
    /// From where to where in `text` a name is, from each of its components on.
    starts: Vec<(u32, u32)>,
}

impl BareNames {
    /// The bare forms of these names. A name that has nothing to set aside has no components here.
    pub(crate) fn of<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let mut bare = Self::default();
        let mut forms = Forms { only_bare: true, ..Forms::default() };
        for name in names {
            bare.first.push(number(bare.starts.len()));
            if is_plain(name) {
                continue;
            }
            forms.scan(name);
            bare.add(&forms.bare);
            for name in also_called(name, forms.self_type.as_ref()) {
                forms.scan(&name);
                bare.add(&forms.bare);
            }
        }
        bare.first.push(number(bare.starts.len()));
        bare
    }

    fn add(&mut self, form: &Form) {
        let base = self.text.len();
        self.text.push_str(&form.text);
        let end = number(self.text.len());
        self.starts.extend(form.starts.iter().map(|start| (number(base + start), end)));
    }

    /// A name from each of its components on; nothing if there is no such name, or it has nothing
    /// to set aside.
    pub(crate) fn components(&self, name: usize) -> impl ExactSizeIterator<Item = &str> {
        let first = self.first.get(name..).and_then(|rest| Some([*rest.first()?, *rest.get(1)?]));
        let [first, end] = first.unwrap_or_default();
        let components = &self.starts[first as usize..end as usize];
        components.iter().map(|&(start, end)| &self.text[start as usize..end as usize])
    }

    /// Whether a name has components, and `matches` holds for those from one of them on. `None`
    /// if there are none.
    pub(crate) fn any(&self, name: usize, matches: impl Fn(&str) -> bool) -> Option<bool> {
        let mut components = self.components(name);
        (components.len() > 0).then(|| components.any(matches))
    }
}

/// A place in the text of all names, which is smaller than a profile can be.
fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// A name with some of what its components carry.
#[derive(Default)]
struct Form {
    text: String,
    /// Where each component begins.
    starts: Vec<usize>,
}

impl Form {
    /// The components from one of them on.
    fn from(&self, component: usize) -> &str {
        &self.text[self.starts[component]..]
    }
}

/// A name in its four forms.
#[derive(Default)]
struct Forms {
    /// Without arguments and template arguments.
    bare: Form,
    /// With template arguments.
    templated: Form,
    /// With arguments and qualifiers.
    called: Form,
    /// With both.
    full: Form,
    /// Whether only the bare form is wanted.
    only_bare: bool,
    /// What stands inside the first `<T as Trait>` or `<impl Trait for T>`, and what follows it.
    self_type: Option<[String; 2]>,
}

impl Forms {
    fn all(&mut self) -> impl Iterator<Item = &mut Form> {
        let forms = [&mut self.bare, &mut self.templated, &mut self.called, &mut self.full];
        forms.into_iter().take(if self.only_bare { 1 } else { 4 })
    }

    /// Makes them those of another name.
    fn scan(&mut self, name: &str) {
        self.clear();
        self.self_type = None;
        let name = of_type(name);
        Scanner { text: name.as_bytes(), name: &name, at: 0 }.scan(self);
    }

    fn clear(&mut self) {
        for form in self.all() {
            form.text.clear();
            form.starts.clear();
        }
    }

    fn begin_component(&mut self) {
        for form in self.all() {
            if !form.starts.is_empty() {
                form.text.push_str("::");
            }
            form.starts.push(form.text.len());
        }
    }

    /// Forgets what came so far: it was a return type.
    fn restart(&mut self) {
        self.clear();
        self.begin_component();
    }

    fn at_component_start(&self) -> bool {
        self.bare.starts.last() == Some(&self.bare.text.len())
    }

    fn push(&mut self, text: &str) {
        for form in self.all() {
            form.text.push_str(text);
        }
    }

    fn push_template(&mut self, text: &str) {
        if self.only_bare {
            return;
        }
        self.templated.text.push_str(text);
        self.full.text.push_str(text);
    }

    /// `{lambda#1}`, and `{lambda(int)#1}` where template arguments are.
    fn push_braces(&mut self, bare: &str, whole: &str) {
        self.bare.text.push_str(bare);
        if self.only_bare {
            return;
        }
        self.called.text.push_str(bare);
        self.templated.text.push_str(whole);
        self.full.text.push_str(whole);
    }

    fn push_arguments(&mut self, text: &str) {
        if self.only_bare {
            return;
        }
        self.called.text.push_str(text);
        self.full.text.push_str(text);
    }
}

fn forms(name: &str) -> Forms {
    let mut forms = Forms::default();
    forms.scan(name);
    forms
}

/// Symbols that may follow `operator`, longer ones first.
pub(crate) const OPERATORS: &[&str] = &[
    "<=>", "<<=", ">>=", "->*", "()", "[]", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++",
    "--", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "->", "<", ">", "+", "-", "*", "/", "%",
    "^", "&", "|", "~", "!", "=", ",",
];

struct Scanner<'n> {
    name: &'n str,
    text: &'n [u8],
    at: usize,
}

impl<'n> Scanner<'n> {
    fn rest(&self) -> &'n str {
        self.name.get(self.at..).unwrap_or("")
    }

    fn scan(mut self, forms: &mut Forms) {
        forms.begin_component();
        // Spaces separate a return type from the name only where arguments follow; a name without
        // arguments is taken as it is.
        let has_arguments = self.name.ends_with(')') || self.name.contains(") ");
        while self.at < self.text.len() {
            let rest = self.rest();
            let start = self.at;
            if rest.starts_with("::") {
                self.at += 2;
                // Rust's `f::<T>`: what follows is no component of its own.
                if !forms.at_component_start()
                    && self.rest().starts_with('<')
                    && !self.is_self_type()
                {
                    self.skip_group();
                    forms.push_template(&self.name[start..self.at]);
                } else {
                    forms.begin_component();
                }
            } else if rest.starts_with("(anonymous namespace)") {
                forms.push("(anonymous namespace)");
                self.at += "(anonymous namespace)".len();
            } else if forms.at_component_start() && self.at_operator() {
                forms.push(&self.operator());
            } else {
                let byte = self.text[self.at];
                match byte {
                    b'(' => {
                        self.skip_group();
                        forms.push_arguments(&self.name[start..self.at]);
                    }
                    b'<' if forms.at_component_start() => {
                        forms.push(&self.self_type());
                        let inside = self.name.get(start + 1..self.at - 1).unwrap_or("");
                        forms
                            .self_type
                            .get_or_insert_with(|| [inside.to_owned(), self.rest().to_owned()]);
                    }
                    b'[' if rest.starts_with("[abi:") => {
                        self.skip_group();
                        forms.push_template(&self.name[start..self.at]);
                    }
                    b'<' => {
                        self.skip_group();
                        forms.push_template(&self.name[start..self.at]);
                    }
                    b'{' => {
                        let text = self.braces();
                        forms.push_braces(&text, &self.name[start..self.at]);
                    }
                    b' ' if self.skip_qualifier() => {
                        forms.push_arguments(&self.name[start..self.at]);
                    }
                    b' ' if has_arguments => {
                        forms.restart();
                        self.at += 1;
                        while matches!(self.text.get(self.at), Some(b'*' | b'&')) {
                            self.at += 1;
                        }
                    }
                    _ => {
                        // The first character, whatever it is, and all plain ones after it.
                        let first = rest.chars().next().map_or(1, char::len_utf8);
                        let plain = rest[first..].find([':', '(', '<', '{', ' ', '[']);
                        let length = plain.map_or(rest.len(), |plain| first + plain);
                        forms.push(&rest[..length]);
                        self.at += length;
                    }
                }
            }
        }
    }

    /// Skips what may follow an argument list: ` const`, ` &&`, ` [clone .cold]`.
    fn skip_qualifier(&mut self) -> bool {
        const QUALIFIERS: [&str; 6] = [" const", " volatile", " noexcept", " &&", " &", " (.cold)"];
        if self.at == 0 || self.text[self.at - 1] == b',' {
            return false;
        }
        if self.rest().starts_with(" [") {
            let end = self.rest().find(']').map_or(self.text.len(), |end| self.at + end + 1);
            self.at = end;
            return true;
        }
        for word in QUALIFIERS {
            if let Some(after) = self.rest().strip_prefix(word)
                && (after.is_empty() || after.starts_with([':', ' ', '(']))
                && matches!(self.text[self.at - 1], b')' | b't' | b'e' | b'&' | b']')
            {
                self.at += word.len();
                return true;
            }
        }
        false
    }

    fn at_operator(&self) -> bool {
        self.rest().strip_prefix("operator").is_some_and(|after| {
            after.starts_with(|next: char| !next.is_alphanumeric() && next != '_')
        })
    }

    /// `operator<<`, `operator new[]`, `operator bool`, `operator"" _s`.
    fn operator(&mut self) -> String {
        let start = self.at;
        self.at += "operator".len();
        for symbol in OPERATORS {
            if self.rest().starts_with(symbol) {
                self.at += symbol.len();
                let end = self.at;
                // The demangler writes `operator< <int>`.
                if self.rest().starts_with(" <") {
                    self.at += 1;
                }
                return self.name[start..end].to_owned();
            }
        }
        // A conversion's type, or `new`, `delete`, a literal's suffix: all up to the arguments.
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'(' => break,
                b'<' => self.skip_group(),
                _ => self.at += 1,
            }
        }
        let mut text = String::new();
        strip_angles(&self.name[start..self.at], &mut text);
        text
    }

    /// Whether the `<` here opens Rust's `<T as Trait>` or `<impl Trait for T>`.
    fn is_self_type(&self) -> bool {
        let end = group_end(self.text, self.at);
        let inside = self.name.get(self.at..end).unwrap_or("");
        inside.starts_with("<impl ") || inside.contains(" as ")
    }

    /// Rust's `<T as Trait>`, without the generics inside it.
    fn self_type(&mut self) -> String {
        let end = group_end(self.text, self.at);
        let inside = self.name.get(self.at + 1..end.saturating_sub(1)).unwrap_or("");
        let mut text = String::from("<");
        strip_angles(inside, &mut text);
        text.push('>');
        self.at = end;
        text
    }

    /// `{lambda(int)#1}` becomes `{lambda#1}`; `{{closure}}` stays.
    fn braces(&mut self) -> String {
        let end = group_end(self.text, self.at);
        let inside = self.name.get(self.at..end).unwrap_or("");
        let text = match (inside.find('('), inside.rfind(')')) {
            (Some(open), Some(close)) if open < close => {
                format!("{}{}", &inside[..open], &inside[close + 1..])
            }
            _ => inside.to_owned(),
        };
        self.at = end;
        text
    }

    fn skip_group(&mut self) {
        self.at = group_end(self.text, self.at);
    }
}

/// Appends `text` without what stands in `<…>`.
fn strip_angles(text: &str, out: &mut String) {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut from = 0;
    while at < bytes.len() {
        if bytes[at] == b'<' && at > from {
            out.push_str(&text[from..at]);
            at = group_end(bytes, at);
            from = at;
        } else {
            at += 1;
        }
    }
    out.push_str(&text[from..]);
}

/// One past the bracket that closes the group opened at `start`; the end of the text if none does.
fn group_end(text: &[u8], start: usize) -> usize {
    closed_group(text, start).unwrap_or(text.len())
}

/// One past the bracket that closes the group opened at `start`, if one does.
pub(crate) fn closed_group(text: &[u8], start: usize) -> Option<usize> {
    let mut open: Vec<u8> = Vec::new();
    let mut at = start;
    while at < text.len() {
        match text[at] {
            b'(' => open.push(b')'),
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'<' => open.push(b'>'),
            // `->` closes nothing, nor does a `>` inside parentheses: `(a > b)`.
            b'>' if at > 0 && text[at - 1] == b'-' => {}
            close @ (b')' | b'}' | b']') => {
                // A stray `<` inside, as in `(1 << 3)`, is given up.
                while open.last().is_some_and(|&wanted| wanted == b'>' && wanted != close) {
                    open.pop();
                }
                if open.last() == Some(&close) {
                    open.pop();
                }
            }
            b'>' if open.last() == Some(&b'>') => {
                open.pop();
            }
            _ => {}
        }
        at += 1;
        if open.is_empty() {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{base_name, short_name};

    /// Full name, short name, base name.
    const NAMES: &[(&str, &str, &str)] = &[
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
