//! Names in few cells.
//!
//! A demangled C++ or Rust name can be thousands of characters long; what tells functions apart is
//! mostly the end of its path. When a name does not fit, these are left out in turn, until it does:
//! arguments, the trait of a Rust method, template arguments, enclosing namespaces, the end. A
//! closure means nothing without the function that it stands in, so the two stay together. What the
//! parts of a name are is told by [`profile::NarrowName`](crate::profile).
//!
//! A file from outside may have names of megabytes, and many of them on one screen. So no more than
//! `LONGEST` bytes of a text are ever looked at, whatever of it could be shown.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::print::printable;
use crate::profile::NarrowName;

/// Bytes of a text that are looked at: far more than any screen shows.
const LONGEST: usize = 1 << 14;

/// Characters that take no cell of their own, one after the other, that are painted with the one
/// before them. Languages need up to four.
const MOST_MARKS: usize = 4;

/// The beginning of a text that is looked at.
pub(super) fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST)]
}

/// The end of a text that is looked at.
fn tail(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(LONGEST))..]
}

/// Text as it can be painted: with escapes for what a terminal would obey, and few marks on one
/// character.
pub(super) fn paintable(text: &str) -> Cow<'_, str> {
    let text = printable(head(text));
    let is_mark = |c: char| c.width() == Some(0);
    if text.is_ascii() || !text.contains(is_mark) {
        return text;
    }
    let mut marks = 0;
    let few = |&c: &char| {
        marks = if is_mark(c) { marks + 1 } else { 0 };
        marks <= MOST_MARKS
    };
    Cow::Owned(text.chars().filter(few).collect())
}

/// Cells that `text` takes on a terminal.
#[must_use]
pub fn width(text: &str) -> usize {
    head(text).width()
}

/// The end of `text` that fits into `cells`, after `ellipsis` if something was cut: of a path
/// through folders or calls it says most.
#[must_use]
pub fn cut_start<'a>(text: &'a str, cells: usize, ellipsis: &str) -> Cow<'a, str> {
    if text.len() <= LONGEST {
        let text = paintable(text);
        if width(&text) <= cells {
            return text;
        }
    }
    let text = paintable(tail(text));
    let room = cells.saturating_sub(width(ellipsis));
    let mut used = 0;
    let mut fits = |c: char| {
        used += c.width().unwrap_or(0);
        used <= room
    };
    let end = text.char_indices().rev().take_while(|&(_, c)| fits(c)).last();
    Cow::Owned(format!("{ellipsis}{}", end.map_or("", |(at, _)| &text[at..])))
}

/// The beginning of `text` that fits into `cells`, ending in `ellipsis` if something was cut.
#[must_use]
pub fn cut<'a>(text: &'a str, cells: usize, ellipsis: &str) -> Cow<'a, str> {
    let is_all = text.len() <= LONGEST;
    let text = paintable(text);
    if is_all && width(&text) <= cells {
        return text;
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

/// What comes after the first `cells` cells of `text`; a wide character that lies across leaves a
/// blank.
#[must_use]
pub fn cells_from(text: &str, cells: usize) -> Cow<'_, str> {
    let text = paintable(text);
    if cells == 0 {
        return text;
    }
    let mut used = 0;
    let mut ends = text.char_indices().map(|(at, c)| {
        used += c.width().unwrap_or(0);
        (at + c.len_utf8(), used)
    });
    let Some((end, used)) = ends.find(|(_, used)| *used >= cells) else { return "".into() };
    let marks = text[end..].chars().take_while(|c| c.width() == Some(0));
    let end = end + marks.map(char::len_utf8).sum::<usize>();
    Cow::Owned(format!("{}{}", " ".repeat(used - cells), &text[end..]))
}

/// `name` in at most `cells` cells.
#[must_use]
pub fn shorten<'a>(name: &'a str, cells: usize, ellipsis: &str) -> Cow<'a, str> {
    let is_all = name.len() <= LONGEST;
    let name = paintable(name);
    if is_all && width(&name) <= cells {
        return name;
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
    let Some(narrow) = NarrowName::of(&name, ellipsis) else {
        return Cow::Owned(cut_all(&name, cells, ellipsis));
    };
    let forms = [Some(narrow.whole), narrow.of_type].into_iter().flatten();
    if let Some(fits) = forms.filter(|form| width(form) <= cells).find(|_| is_all) {
        return Cow::Owned(fits);
    }
    let mut own = narrow.marked.as_str();
    let mut needed = width(own);
    let scope = width(ellipsis) + "::".len();
    for (place, &start) in narrow.starts.iter().enumerate() {
        let before = narrow.starts[place.saturating_sub(1)]..start;
        needed -= width(&narrow.marked[before]);
        own = &narrow.marked[start..];
        let (lead, taken) = if start > 0 { (scope, true) } else { (0, false) };
        if needed + lead <= cells {
            return Cow::Owned(if taken { format!("{ellipsis}::{own}") } else { own.to_owned() });
        }
    }
    // Even the last part is too long: its beginning says more than the ellipsis before it.
    Cow::Owned(cut_all(own, cells, ellipsis))
}

/// As [`cut`], of text that may be the beginning of more.
fn cut_all(text: &str, cells: usize, ellipsis: &str) -> String {
    match width(text) < cells {
        true => format!("{text}{ellipsis}"),
        false => cut(text, cells, ellipsis).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::hard_names;

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
            ("bool operator< <int>(A<int> const&, A<int> const&)", 20, "operator< <int>"),
            ("bool operator< <ns::Long<int>>(ns::Long<int> const&)", 20, "operator< <…>"),
            ("Buffer<(1 << 3)>::size_of_all() const", 20, "…::size_of_all"),
            ("Buffer<(1 << 3)>::size_of_all() const", 24, "Buffer<…>::size_of_all"),
            ("std::panic::catch_unwind::<isize, f::{closure#0}>", 30, "std::panic::catch_unwind"),
            ("std::panic::catch_unwind::<isize, f::{closure#0}>", 16, "…::catch_unwind"),
            ("std::rt::lang_start::{closure#0}", 30, "…::rt::lang_start::{closure#0}"),
            ("std::rt::lang_start::{closure#0}", 27, "…::lang_start::{closure#0}"),
            ("std::rt::lang_start::{{closure}}", 12, "lang_start:…"),
            ("std::iter::map::<u8>::{closure#0}", 29, "std::iter::map::{closure#0}"),
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
    fn no_form_loses_the_functions_own_name() {
        // Of a place in a module, the offset is what stays.
        for (name, own) in hard_names().filter(|(name, _)| !name.contains("+0x")) {
            for cells in 0..=width(name) + 1 {
                let shown = shorten(name, cells, "…");
                assert!(width(&shown) <= cells, "{shown} in {cells}");
                let visible = shown.strip_suffix('…').unwrap_or(&shown);
                let is_whole = shown == name || shown.contains(own);
                let is_beginning = own.starts_with(visible);
                assert!(is_whole || is_beginning, "{name}: {shown} in {cells} without {own}");
                assert!(is_whole || cells < width(own) + 3, "{name}: {shown} in {cells}");
            }
        }
    }

    #[test]
    fn long_texts_are_cut_soon() {
        let deep = "a::".repeat(1 << 20) + "f";
        let open = "f<".repeat(1 << 20);
        let marks = "e".to_owned() + &"\u{301}".repeat(1 << 20);
        for text in [&deep, &open, &marks, &"名".repeat(1 << 20), &"x".repeat(1 << 20)] {
            for cells in [0, 1, 7, 80] {
                for shown in [shorten(text, cells, "…"), cut(text, cells, "…")] {
                    assert!(shown.width() <= cells && shown.len() <= 1000, "{} bytes", shown.len());
                }
                assert!(cut_start(text, cells, "…").width() <= cells.max(1));
            }
        }
        assert_eq!(cut(&marks, 80, "…"), "e\u{301}\u{301}\u{301}\u{301}…");
    }

    #[test]
    fn what_a_terminal_would_obey_takes_its_cells() {
        assert_eq!(cut("a\u{202e}b", 20, "…"), "a\\u{202e}b");
        assert_eq!(cut("a\u{1b}[31m", 6, "…"), "a\\u{1…");
        assert_eq!(shorten("ns::a\u{9b}\u{200b}", 40, "…"), "ns::a\\u{9b}\\u{200b}");
    }

    #[test]
    fn names_are_scrolled_by_cells() {
        for (cells, left) in
            [(0, "漢e\u{301}字x"), (1, " e\u{301}字x"), (2, "e\u{301}字x"), (3, "字x")]
        {
            assert_eq!(cells_from("漢e\u{301}字x", cells), left);
        }
        assert_eq!(cells_from("abc", 9), "");
        assert_eq!(cells_from("a\u{1b}b", 1), "\\u{1b}b");
    }

    #[test]
    fn cells_not_characters() {
        assert_eq!(cut("漢字漢字", 5, "…"), "漢字…");
        assert_eq!(cut("漢字漢字", 6, "…"), "漢字…");
        assert_eq!(shorten("名前空間::関数", 7, "…"), "…::関数");
    }
}
