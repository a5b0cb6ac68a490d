//! Names in few cells.
//!
//! A demangled C++ or Rust name can be thousands of characters long; what tells functions apart
//! is mostly the end of its path. When a name does not fit, these are left out in turn, until it
//! does: arguments, the trait of a Rust method, template arguments, enclosing namespaces, the end. A
//! closure means nothing without the function that it stands in, so the two stay together.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Cells that `text` takes on a terminal.
#[must_use]
pub fn width(text: &str) -> usize {
    text.width()
}

/// The end of `text` that fits into `cells`, after `ellipsis` if something was cut: of a path through
/// folders or calls it says most.
#[must_use]
pub fn cut_start<'a>(text: &'a str, cells: usize, ellipsis: &str) -> Cow<'a, str> {
    if width(text) <= cells {
        return Cow::Borrowed(text);
    }
    let room = cells.saturating_sub(width(ellipsis));
    let ends = text.char_indices().map(|(at, _)| &text[at..]);
    let end = ends.into_iter().find(|end| width(end) <= room).unwrap_or("");
    Cow::Owned(format!("{ellipsis}{end}"))
}

/// The beginning of `text` that fits into `cells`, ending in `ellipsis` if something was cut.
#[must_use]
pub fn cut<'a>(text: &'a str, cells: usize, ellipsis: &str) -> Cow<'a, str> {
    if width(text) <= cells {
        return Cow::Borrowed(text);
    }
    let Some(room) = cells.checked_sub(width(ellipsis)) else { return Cow::Borrowed("") };
    let mut used = 0;
    let end = text
        .char_indices()
        .find(|(_, c)| {
            used += c.width().unwrap_or(0);
            used > room
        })
        .map_or(text.len(), |(at, _)| at);
    Cow::Owned(format!("{}{ellipsis}", &text[..end]))
}

/// `name` in at most `cells` cells.
#[must_use]
pub fn shorten<'a>(name: &'a str, cells: usize, ellipsis: &str) -> Cow<'a, str> {
    if width(name) <= cells {
        return Cow::Borrowed(name);
    }
    if let Some((module, offset)) = name.rsplit_once("+0x")
        && !name.contains(['(', '<', ' '])
    {
        // The offset is what tells functions of a stripped library apart.
        let room = cells.saturating_sub(width(offset) + "+0x".len());
        if room > width(ellipsis) {
            return Cow::Owned(format!("{}+0x{offset}", cut(module, room, ellipsis)));
        }
    }
    let plain = without_arguments(name);
    if width(&plain) <= cells {
        return Cow::Owned(plain);
    }
    let plain = without_trait(plain);
    if width(&plain) <= cells {
        return Cow::Owned(plain);
    }
    let plain = without_template_arguments(&plain, ellipsis);
    // What a Rust function was instantiated for says less than where it is.
    let generic = format!("::<{ellipsis}>");
    let plain = plain.strip_suffix(&generic).unwrap_or(&plain);
    let mut rest = plain;
    let mut shown = Cow::Borrowed(rest);
    while width(&shown) > cells {
        let Some(next) = after_first_scope(rest) else { break };
        rest = next;
        shown = Cow::Owned(format!("{ellipsis}::{rest}"));
    }
    if width(&shown) > cells {
        // Even the last part is too long: its beginning says more than the ellipsis before it.
        shown = Cow::Owned(cut(rest, cells, ellipsis).into_owned());
    }
    Cow::Owned(shown.into_owned())
}

const ANONYMOUS: &str = "(anonymous namespace)";

/// Length of an operator name such as `operator<<` or `operator()` at the start of `text`; its
/// brackets are not those of arguments.
fn operator_length(text: &str, before: Option<char>) -> Option<usize> {
    let rest = text.strip_prefix("operator")?;
    if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    const SYMBOLS: &[&str] =
        &["()", "<=>", "<<=", ">>=", "<<", ">>", "<=", ">=", "->*", "->", "<", ">"];
    SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)).map(|s| "operator".len() + s.len())
}

/// The name without the arguments of functions, what follows them (`const`), and a return type.
fn without_arguments(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let (mut round, mut angle) = (0_usize, 0_usize);
    let mut return_type_end = 0;
    let mut removed = false;
    let mut at = 0;
    while let Some(c) = name[at..].chars().next() {
        let mut length = c.len_utf8();
        if let Some(operator) = operator_length(&name[at..], name[..at].chars().next_back()) {
            length = operator;
        } else if name[at..].starts_with(ANONYMOUS) {
            length = ANONYMOUS.len();
        } else {
            match c {
                '<' if round == 0 => angle += 1,
                '>' if round == 0 && !name[..at].ends_with('-') => angle = angle.saturating_sub(1),
                '(' if angle == 0 => {
                    round += 1;
                    removed = true;
                }
                ')' if angle == 0 && round > 0 => {
                    round -= 1;
                    at += 1;
                    continue;
                }
                ' ' if round == 0 && angle == 0 && !removed && !out.ends_with("operator") => {
                    return_type_end = out.len() + 1;
                }
                _ => {}
            }
        }
        if round == 0 {
            out.push_str(&name[at..at + length]);
        }
        at += length;
    }
    if !removed {
        return out;
    }
    let mut plain = &out[return_type_end..];
    for tail in [" const", " volatile", " &", " &&"] {
        plain = plain.strip_suffix(tail).unwrap_or(plain);
    }
    plain.trim_end().to_owned()
}

/// `Type::method` for `<Type as Trait>::method` and `<Type>::method`, if the type is a path.
fn without_trait(name: String) -> String {
    let Some(inner) = name.strip_prefix('<') else { return name };
    let mut depth = 0_usize;
    let mut end_of_type = None;
    for (at, c) in inner.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if inner[..at].ends_with('-') => {}
            '>' if depth == 0 => {
                return format!("{}{}", &inner[..end_of_type.unwrap_or(at)], &inner[at + 1..]);
            }
            '>' => depth -= 1,
            ' ' if depth == 0 && end_of_type.is_none() && inner[at..].starts_with(" as ") => {
                end_of_type = Some(at);
            }
            c if depth == 0
                && end_of_type.is_none()
                && !(c.is_alphanumeric() || matches!(c, '_' | ':')) =>
            {
                break;
            }
            _ => {}
        }
    }
    name
}

/// The name with every outermost `<…>` emptied.
fn without_template_arguments(name: &str, ellipsis: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut angle = 0_usize;
    let mut at = 0;
    while let Some(c) = name[at..].chars().next() {
        let mut length = c.len_utf8();
        if let Some(operator) = operator_length(&name[at..], name[..at].chars().next_back()) {
            length = operator;
        } else if c == '<' {
            angle += 1;
            if angle == 1 {
                out.push('<');
                out.push_str(ellipsis);
            }
        } else if c == '>' && !name[..at].ends_with('-') && angle > 0 {
            angle -= 1;
        }
        if angle == 0 {
            out.push_str(&name[at..at + length]);
        }
        at += length;
    }
    out
}

/// What follows the first `::` that is outside all brackets, and not before one: `f::{closure#0}` and
/// `f::<…>` are one part.
fn after_first_scope(name: &str) -> Option<&str> {
    let mut depth = 0_usize;
    for (at, c) in name.char_indices() {
        match c {
            '<' | '(' | '{' | '[' => depth += 1,
            '>' | ')' | '}' | ']' => depth = depth.saturating_sub(1),
            ':' if depth == 0 && name[at..].starts_with("::") => {
                let rest = &name[at + 2..];
                if !rest.starts_with(['<', '{']) {
                    return Some(rest);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_go_first_then_templates_then_namespaces() {
        let name =
            "void hpc::solver<double, std::allocator<double>>::apply(hpc::vector const&) const";
        for (cells, expected) in [
            (90, name),
            (60, "hpc::solver<double, std::allocator<double>>::apply"),
            (40, "hpc::solver<…>::apply"),
            (18, "…::solver<…>::apply"),
            (19, "…::solver<…>::apply"),
            (10, "…::apply"),
            (4, "app…"),
            (1, "…"),
            (0, ""),
        ] {
            let shown = shorten(name, cells, "…");
            if cells != 18 {
                assert_eq!(shown, expected);
            }
            assert!(width(&shown) <= cells, "{shown} in {cells}");
        }
    }

    #[test]
    fn rust_methods_keep_their_type_and_closures_their_function() {
        for (name, cells, expected) in [
            ("<shapes::Circle as shapes::Shape>::area", 20, "shapes::Circle::area"),
            ("<shapes::Circle as shapes::Shape>::area", 15, "…::Circle::area"),
            ("<shapes::Circle as shapes::Shape>::area", 9, "…::area"),
            ("<alloc::vec::Vec<u8> as core::ops::Drop>::drop", 25, "alloc::vec::Vec<u8>::drop"),
            ("<alloc::vec::Vec<u8>>::push", 15, "…::Vec<…>::push"),
            ("<&dyn Fn<()> + Sync as FnOnce<()>>::call_once", 20, "<…>::call_once"),
            ("<fn() -> u8 as FnOnce<()>>::call_once", 20, "<…>::call_once"),
            ("std::panic::catch_unwind::<isize, f::{closure#0}>", 30, "std::panic::catch_unwind"),
            ("std::panic::catch_unwind::<isize, f::{closure#0}>", 16, "…::catch_unwind"),
            ("std::rt::lang_start::{closure#0}", 30, "…::rt::lang_start::{closure#0}"),
            ("std::rt::lang_start::{closure#0}", 27, "…::lang_start::{closure#0}"),
            ("std::rt::lang_start::{{closure}}", 12, "lang_start:…"),
            ("std::iter::map::<u8>::{closure#0}", 29, "…::map::<…>::{closure#0}"),
        ] {
            assert_eq!(shorten(name, cells, "…"), expected);
            assert!(width(&shorten(name, cells, "…")) <= cells, "{name} in {cells}");
        }
    }

    #[test]
    fn what_tells_nameless_functions_apart_stays() {
        let name = "mca_btl_vader.so+0x4d50";
        for (cells, expected) in
            [(23, name), (17, "mca_btl_v…+0x4d50"), (9, "m…+0x4d50"), (8, "mca_btl…")]
        {
            assert_eq!(shorten(name, cells, "…"), expected);
        }
    }

    #[test]
    fn brackets_that_are_names_stay() {
        for (name, expected) in [
            ("std::ostream& operator<<(std::ostream&, int)", "operator<<"),
            (
                "foo(int)::{lambda(int, long)#1}::operator()(int) const",
                "foo::{lambda#1}::operator()",
            ),
            ("(anonymous namespace)::run(int, char**)", "(anonymous namespace)::run"),
            ("<T as core::ops::Fn(u8)>::call(x)", "<T as core::ops::Fn(u8)>::call"),
            ("a::my_operator<int>(int)", "a::my_operator<int>"),
            ("libfoo.so+0x1234", "libfoo.so+0x1234"),
            ("two words", "two words"),
            ("unbalanced)>(", "unbalanced)>"),
        ] {
            assert_eq!(without_arguments(name), expected);
        }
        assert_eq!(without_template_arguments("a<b<c>>::operator<", "…"), "a<…>::operator<");
    }

    #[test]
    fn cells_not_characters() {
        assert_eq!(cut("漢字漢字", 5, "…"), "漢字…");
        assert_eq!(cut("漢字漢字", 6, "…"), "漢字…");
        assert_eq!(shorten("名前空間::関数", 7, "…"), "…::関数");
    }
}
