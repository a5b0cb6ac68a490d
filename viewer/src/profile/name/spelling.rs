//! How a name is spelled, in which other ways it can be, and how to tell the parts of one.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::scan::{Parts, Pieces, Scanned, closed_group, group_end, scan};
use super::versions::without_versions;

/// The component from which on a function is called by its own name; `from` is the text from one
/// on.
pub(super) fn base_component<'t>(components: usize, from: impl Fn(usize) -> &'t str) -> usize {
    let mut first = components - 1;
    // `{lambda#1}::operator()` is named by what surrounds the lambda, also as LLVM writes it.
    let is_lambda = |text: &str| text.starts_with(['{', '\'']);
    if first > 0 && from(first) == "operator()" && is_lambda(from(first - 1)) {
        first -= 1;
    }
    while first > 0 && is_lambda(from(first)) {
        first -= 1;
    }
    first
}

/// Whether a name has nothing to set aside.
pub(super) fn is_plain(name: &str) -> bool {
    let is_mark = |byte| matches!(byte, b'<' | b'(' | b'{' | b':');
    // Objective-C's `-[Class(Category) method:]`, and what stands for code without a name.
    ["[", "-[", "+["].iter().any(|start| name.starts_with(start))
        || !(name.bytes().any(is_mark) || name.contains("[go.shape."))
}

/// Hands out the parts of a name as it is spelled, and of each other way to spell it: a method by
/// its type and by its trait, what lies in an inline namespace outside of it, and `std::string` by
/// its name. `end` is called behind each, and tells whether that is enough; it makes `parts` ready
/// for the next one. Returns whether it ever was.
pub(crate) fn spell<P: Parts>(
    name: &str,
    parts: &mut P,
    mut end: impl FnMut(&mut P) -> bool,
) -> bool {
    let pieces = of_type(name);
    let found = scan(pieces, parts);
    if end(parts) {
        return true;
    }
    let is_enough = |pieces: Pieces<'_>, parts: &mut P, end: &mut dyn FnMut(&mut P) -> bool| {
        scan(pieces, parts);
        end(parts)
    };
    by_self_type(pieces, &found).any(|pieces| is_enough(pieces, parts, &mut end))
        || otherwise_called(name, found.is_called)
            .any(|name| is_enough(of_type(&name), parts, &mut end))
}

/// A method of `<T as Trait>` or `<impl Trait for T>` as that of `T`, and of `Trait`.
pub(super) fn by_self_type<'n>(
    pieces: Pieces<'n>,
    found: &Scanned,
) -> impl Iterator<Item = Pieces<'n>> {
    let halves = found.self_type.clone().and_then(|inside| {
        let [first, second, _] = pieces;
        let (range, whole, after) = match inside.start.checked_sub(first.len()) {
            Some(start) => (start..inside.end - first.len(), second, ""),
            None => (inside, first, second),
        };
        let inside = whole.get(range.clone())?;
        let rest = [whole.get(range.end + 1..)?, after];
        let (one, other) = match inside.strip_prefix("impl ") {
            Some(of) => split_outside(of, " for "),
            None => split_outside(inside, " as "),
        };
        Some(([Some(one), other], rest))
    });
    halves.into_iter().flat_map(|(halves, [rest, after])| {
        let path = |half: &'n str| {
            let half = half.trim_start_matches(['&', '*']);
            let half = ["mut ", "const ", "dyn "]
                .iter()
                .fold(half, |half, word| half.strip_prefix(word).unwrap_or(half));
            is_path(half).then_some([half, rest, after])
        };
        halves.into_iter().flatten().filter_map(path)
    })
}

/// A name outside of inline namespaces, and with the names that the standard library has for types
/// of its own.
fn otherwise_called(name: &str, is_called: bool) -> impl Iterator<Item = String> {
    let outside = without_versions(name, is_called);
    let aliases = with_aliases(outside.as_deref().unwrap_or(name));
    outside.into_iter().chain(aliases)
}

/// `std::basic_string<char, std::char_traits<char>, std::allocator<char> >` is `std::string`, and
/// so on for streams, views and buffers: what `<string>`, `<string_view>` and `<iosfwd>` define for
/// `char`, and for `wchar_t` with a `w` before it.
pub(super) fn with_aliases(name: &str) -> Option<String> {
    const BASIC: &str = "std::basic_";
    static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(BASIC));
    FINDER.find(name.as_bytes())?;
    let mut out = String::new();
    let mut from = 0;
    while let Some(found) = name[from..].find(BASIC) {
        let start = from + found;
        let class = start + BASIC.len();
        out.push_str(&name[from..start]);
        let end = name[class..].find(|c: char| !c.is_ascii_lowercase() && c != '_');
        let list = class + end.unwrap_or(name.len() - class);
        let inside = name[list..].strip_prefix('<').unwrap_or("");
        let wide = [("char", ""), ("wchar_t", "w")].into_iter().find(|(of, _)| {
            inside.strip_prefix(of).is_some_and(|after| after.starts_with([',', '>']))
        });
        let Some((_, wide)) = wide else {
            out.push_str(&name[start..list]);
            from = list;
            continue;
        };
        from = start;
        // A list that does not end is no part of a name, and looking for each one's end would take
        // the square of the length.
        let Some(end) = closed_group(name.as_bytes(), list) else { break };
        out.push_str(&format!("std::{wide}{}", &name[class..list]));
        from = end;
    }
    out.push_str(&name[from..]);
    (out != name).then_some(out)
}

/// The two sides of a separator, which begins with a space, that stands in no brackets, or the
/// text itself.
pub(super) fn split_outside<'t>(text: &'t str, separator: &str) -> (&'t str, Option<&'t str>) {
    let mut at = 0;
    while at < text.len() {
        at = match text.as_bytes()[at] {
            b' ' if text[at..].starts_with(separator) => {
                return (&text[..at], Some(&text[at + separator.len()..]));
            }
            b'<' | b'(' | b'[' | b'{' => group_end(text.as_bytes(), at),
            _ => at + 1,
        };
    }
    (text, None)
}

/// Whether a type is one with a name, and not a reference, slice, tuple or the like.
pub(super) fn is_path(text: &str) -> bool {
    text.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && !["impl ", "dyn ", "fn(", "unsafe ", "extern "].iter().any(|word| text.starts_with(word))
}

/// Rust's `<Type>::f` as `Type::f`.
pub(super) fn of_type(name: &str) -> Pieces<'_> {
    let as_it_is = [name, "", ""];
    if !name.starts_with('<') {
        return as_it_is;
    }
    let Some(end) = closed_group(name.as_bytes(), 0) else { return as_it_is };
    let (inside, after) = (&name[1..end - 1], &name[end..]);
    if is_path(inside) && after.starts_with("::") && split_outside(inside, " as ").1.is_none() {
        [inside, after, ""]
    } else {
        as_it_is
    }
}
