//! A key as the viewer knows it, and its written form.
//!
//! The written form is that of helix and vim: a printable character stands for itself, everything
//! else is in angle brackets, `<enter>`, `<C-r>`, `<lt>`. The key table, the help screen and the
//! tests of screens all use it, so a key is spelled in one way everywhere.

use std::fmt;

/// What was pressed, without modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// A character; shift is part of it.
    Char(char),
    /// Return.
    Enter,
    /// Escape.
    Esc,
    /// Tabulator.
    Tab,
    /// Shift and tabulator.
    BackTab,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Arrow left.
    Left,
    /// Arrow right.
    Right,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Home.
    Home,
    /// End.
    End,
}

/// A key with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// What was pressed.
    pub code: Code,
    /// Whether control was held.
    pub control: bool,
    /// Whether alt (or an escape just before) was held.
    pub alt: bool,
}

/// Names in angle brackets; the first name of a code is the one that is printed.
const NAMES: &[(&str, Code)] = &[
    ("enter", Code::Enter),
    ("esc", Code::Esc),
    ("tab", Code::Tab),
    ("S-tab", Code::BackTab),
    ("backspace", Code::Backspace),
    ("del", Code::Delete),
    ("up", Code::Up),
    ("down", Code::Down),
    ("left", Code::Left),
    ("right", Code::Right),
    ("pageup", Code::PageUp),
    ("pagedown", Code::PageDown),
    ("home", Code::Home),
    ("end", Code::End),
    ("space", Code::Char(' ')),
    ("lt", Code::Char('<')),
];

impl Key {
    /// A key without modifiers.
    #[must_use]
    pub const fn plain(code: Code) -> Self {
        Self { code, control: false, alt: false }
    }

    /// The first key of `text` and what follows it; `None` at the end of the text or where an
    /// angle bracket opens something that is no key.
    #[must_use]
    pub fn parse_first(text: &str) -> Option<(Self, &str)> {
        let first = text.chars().next()?;
        if first != '<' {
            return Some((Self::plain(Code::Char(first)), &text[first.len_utf8()..]));
        }
        let end = text.find('>')?;
        let (mut name, rest) = (&text[1..end], &text[end + 1..]);
        let mut key = Self::plain(Code::Esc);
        loop {
            if let Some(shorter) = name.strip_prefix("C-") {
                (key.control, name) = (true, shorter);
            } else if let Some(shorter) = name.strip_prefix("A-") {
                (key.alt, name) = (true, shorter);
            } else {
                break;
            }
        }
        let named = NAMES.iter().find(|(known, _)| *known == name).map(|(_, code)| *code);
        let mut chars = name.chars();
        key.code = match (named, chars.next(), chars.next()) {
            (Some(code), ..) => code,
            (None, Some(c), None) => Code::Char(c),
            _ => return None,
        };
        Some((key, rest))
    }

    /// All keys of a text such as `jj<enter>s`; `None` if it is malformed.
    #[must_use]
    pub fn parse_all(mut text: &str) -> Option<Vec<Self>> {
        let mut keys = Vec::new();
        while !text.is_empty() {
            let (key, rest) = Self::parse_first(text)?;
            keys.push(key);
            text = rest;
        }
        Some(keys)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, code)| *code == self.code).map(|(name, _)| *name);
        let modifiers =
            format!("{}{}", if self.control { "C-" } else { "" }, if self.alt { "A-" } else { "" });
        match (name, self.code) {
            (Some(name), _) => write!(f, "<{modifiers}{name}>"),
            (None, Code::Char(c)) if modifiers.is_empty() => write!(f, "{c}"),
            (None, Code::Char(c)) => write!(f, "<{modifiers}{c}>"),
            (None, _) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_form_round_trips() {
        for text in ["j", "%", "<enter>", "<C-r>", "<A-x>", "<space>", "<lt>", "<S-tab>", "µ"] {
            let (key, rest) = Key::parse_first(text).unwrap();
            assert_eq!((key.to_string().as_str(), rest), (text, ""));
        }
    }

    #[test]
    fn sequences() {
        let keys = Key::parse_all("jG<enter><C-r>s").unwrap();
        let printed: Vec<_> = keys.iter().map(ToString::to_string).collect();
        assert_eq!(printed, ["j", "G", "<enter>", "<C-r>", "s"]);
        assert_eq!(Key::parse_all("a<nokey>"), None);
    }
}
