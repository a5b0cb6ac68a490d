//! One pass over a name, which hands out its parts: components, and what they carry in brackets.

use std::ops::Range;

/// A name in pieces that follow each other, so that none has to be copied to be left out. Brackets
/// that open in a piece close in it.
pub(super) type Pieces<'n> = [&'n str; 3];

/// Where the parts of a name go.
pub(crate) trait Parts {
    /// What follows is another component.
    fn begin_component(&mut self);

    /// Whether nothing of the present component has come yet.
    fn at_component_start(&self) -> bool;

    /// Forgets what came so far: it was a return type.
    fn restart(&mut self);

    /// Text that no form lacks.
    fn push(&mut self, text: &str);

    /// What stands inside of Rust's `<T as Trait>`.
    fn push_self_type(&mut self, inside: &str) {
        self.push("<");
        push_without_angles(inside, self);
        self.push(">");
    }

    /// `{lambda#1}`, in two pieces, and `{lambda(int)#1}` where template arguments are.
    fn push_braces(&mut self, bare: [&str; 2], whole: &str);

    /// Template arguments.
    fn push_template(&mut self, _text: &str) {}

    /// Arguments and qualifiers.
    fn push_arguments(&mut self, _text: &str) {}

    /// Whether nothing that may still come matters.
    fn is_done(&self) -> bool {
        false
    }
}

/// What a pass over a name finds that is no part of it.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    /// Where the last return type ended.
    pub(super) begin: usize,
    /// Where, in all pieces together, the text inside the first `<T as Trait>` or
    /// `<impl Trait for T>` stands.
    pub(super) self_type: Option<Range<usize>>,
    /// Whether it has arguments.
    pub(super) is_called: bool,
}

/// Symbols that may follow `operator`, longer ones first.
pub(crate) const OPERATORS: &[&str] = &[
    "<=>", "<<=", ">>=", "->*", "()", "[]", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++",
    "--", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "->", "<", ">", "+", "-", "*", "/", "%",
    "^", "&", "|", "~", "!", "=", ",",
];

/// C++'s namespace without a name.
const ANONYMOUS: &str = "(anonymous namespace)";

/// Hands out the parts of a name. Bytes are looked at one by one: what decides is ASCII.
pub(super) fn scan(pieces: Pieces<'_>, parts: &mut impl Parts) -> Scanned {
    let mut found = Scanned::default();
    parts.begin_component();
    let mut before = 0;
    let has_arguments = has_arguments(pieces);
    for name in pieces {
        let found = &mut found;
        let is_broken = false;
        let text = name.as_bytes();
        let scanner = Scanner { name, text, at: 0, before, has_arguments, is_broken, found };
        scanner.scan(parts);
        before += name.len();
    }
    found
}

struct Scanner<'n, 'f> {
    name: &'n str,
    text: &'n [u8],
    at: usize,
    /// The length of the pieces before this one.
    before: usize,
    /// Whether arguments follow somewhere.
    has_arguments: bool,
    /// Whether a bracket was met that nothing closes. From there on brackets are text: nothing
    /// is lost, and no bracket is looked for twice.
    is_broken: bool,
    found: &'f mut Scanned,
}

/// Whether a function's arguments are in the name, and not only `(anonymous namespace)`.
fn has_arguments(pieces: Pieces<'_>) -> bool {
    let last = pieces.iter().rfind(|piece| !piece.is_empty());
    last.is_some_and(|last| last.ends_with(')'))
        || pieces.iter().any(|piece| piece.as_bytes().windows(2).any(|pair| pair == b") "))
}

impl<'n> Scanner<'n, '_> {
    fn rest(&self) -> &'n str {
        self.name.get(self.at..).unwrap_or("")
    }

    fn scan(mut self, parts: &mut impl Parts) {
        while let Some(&byte) = self.text.get(self.at) {
            if parts.is_done() {
                return;
            }
            let start = self.at;
            match byte {
                _ if self.is_broken => self.plain(parts),
                // Go's `pkg.(*Type).Method`, OCaml's `Module.(+)`, Java's `Class.<init>`.
                b'(' | b'<' if start > 0 && self.text[start - 1] == b'.' => {
                    self.member(parts);
                }
                b':' if self.text.get(start + 1) == Some(&b':') => {
                    self.at += 2;
                    // Rust's `f::<T>`: what follows is no component of its own.
                    if !parts.at_component_start()
                        && self.text.get(self.at) == Some(&b'<')
                        && !self.is_self_type()
                    {
                        if self.skip_group() {
                            parts.push_template(&self.name[start..self.at]);
                        } else {
                            parts.push("::");
                        }
                    } else {
                        parts.begin_component();
                    }
                }
                b'(' if self.rest().starts_with(ANONYMOUS) => {
                    parts.push(ANONYMOUS);
                    self.at += ANONYMOUS.len();
                }
                b'o' if parts.at_component_start() && self.at_operator() => {
                    self.operator(parts);
                }
                b'(' => {
                    if self.skip_group() {
                        self.found.is_called = true;
                        parts.push_arguments(&self.name[start..self.at]);
                    }
                }
                b'<' if parts.at_component_start() => {
                    self.self_type(parts);
                }
                b'<' => self.template(parts),
                b'[' if GROUPS_IN_BRACKETS.iter().any(|group| self.rest().starts_with(group)) => {
                    self.template(parts);
                }
                b'{' => {
                    self.braces(parts);
                }
                b' ' if self.skip_qualifier() => {
                    parts.push_arguments(&self.name[start..self.at]);
                }
                // Spaces separate a return type from the name only where arguments follow; a name
                // without arguments is taken as it is.
                b' ' if self.has_arguments => {
                    parts.restart();
                    self.at += 1;
                    while matches!(self.text.get(self.at), Some(b'*' | b'&')) {
                        self.at += 1;
                    }
                    self.found.begin = self.before + self.at;
                }
                _ => self.plain(parts),
            }
        }
    }

    /// The first character, whatever it is, and all plain ones after it; all there is behind a
    /// bracket that nothing closes.
    fn plain(&mut self, parts: &mut impl Parts) {
        let start = self.at;
        let begins_more =
            |byte: &u8| !self.is_broken && matches!(byte, b':' | b'(' | b'<' | b'{' | b' ' | b'[');
        let plain = self.text[start + 1..].iter().position(begins_more);
        self.at = plain.map_or(self.text.len(), |length| start + 1 + length);
        parts.push(&self.name[start..self.at]);
    }

    /// What stands in brackets and tells no functions apart.
    fn template(&mut self, parts: &mut impl Parts) {
        let start = self.at;
        if self.skip_group() {
            parts.push_template(&self.name[start..self.at]);
        }
    }

    /// A part of the name in brackets, such as `(*List[go.shape.int])`.
    fn member(&mut self, parts: &mut impl Parts) {
        let start = self.at;
        if !self.skip_group() {
            return;
        }
        let whole = &self.name[start..self.at];
        match whole.split_once(GROUPS_IN_BRACKETS[1]) {
            Some((before, _)) => {
                let inside = before.len()..group_end(whole.as_bytes(), before.len());
                parts.push(before);
                parts.push_template(&whole[inside.clone()]);
                parts.push(&whole[inside.end..]);
            }
            None => parts.push(whole),
        }
    }

    /// Skips what may follow an argument list: ` const`, ` &&`, ` [clone .cold]`.
    fn skip_qualifier(&mut self) -> bool {
        const QUALIFIERS: [&str; 6] = [" const", " volatile", " noexcept", " &&", " &", " (.cold)"];
        // Of D; where no arguments are before them, they are names.
        const OF_D: [&str; 3] = [" shared", " inout", " immutable"];
        if self.at == 0 || self.text[self.at - 1] == b',' {
            return false;
        }
        // Swift's result: `f(x: Int) async throws -> Int`.
        if self.found.is_called {
            for word in [" -> ", " async ", " throws "] {
                if self.rest().starts_with(word) {
                    self.at = self.text.len();
                    return true;
                }
            }
        }
        if self.text.get(self.at + 1) == Some(&b'[') {
            let end = self.rest().find(']').map_or(self.text.len(), |end| self.at + end + 1);
            self.at = end;
            return true;
        }
        if !matches!(self.text[self.at - 1], b')' | b't' | b'e' | b'd' | b'&' | b']') {
            return false;
        }
        let before = &self.name[..self.at];
        let is_behind = |word: &&str| before.ends_with(*word);
        let is_of_d = before.ends_with(')') || OF_D.iter().chain(&[" const"]).any(is_behind);
        for &word in QUALIFIERS.iter().chain(OF_D.iter().filter(|_| is_of_d)) {
            if let Some(after) = self.rest().strip_prefix(word)
                && (after.is_empty() || after.starts_with([':', ' ', '(', '.']))
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
    fn operator(&mut self, parts: &mut impl Parts) {
        let start = self.at;
        self.at += "operator".len();
        if let Some(symbol) = OPERATORS.iter().find(|symbol| self.rest().starts_with(**symbol)) {
            self.at += symbol.len();
            parts.push(&self.name[start..self.at]);
            // The demangler writes `operator< <int>`, and `operator, (int)`.
            if self.rest().starts_with([' ']) && self.rest()[1..].starts_with(['<', '(']) {
                self.at += 1;
            }
            return;
        }
        // A conversion's type, or `new`, `delete`, a literal's suffix: all up to the arguments.
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'(' => break,
                b'<' if !self.is_broken => _ = self.skip_group(),
                _ => self.at += 1,
            }
        }
        push_without_angles(&self.name[start..self.at], parts);
    }

    /// Whether the `<` here opens Rust's `<T as Trait>` or `<impl Trait for T>`.
    fn is_self_type(&self) -> bool {
        let end = group_end(self.text, self.at);
        let inside = self.name.get(self.at..end).unwrap_or("");
        inside.starts_with("<impl ") || inside.contains(" as ")
    }

    /// Rust's `<T as Trait>`, without the generics inside it.
    fn self_type(&mut self, parts: &mut impl Parts) {
        let start = self.at;
        if !self.skip_group() {
            return;
        }
        let inside = self.name.get(start + 1..self.at - 1).unwrap_or("");
        parts.push_self_type(inside);
        let start = self.before + start + 1;
        self.found.self_type.get_or_insert(start..start + inside.len());
    }

    /// `{lambda(int)#1}` becomes `{lambda#1}`; `{{closure}}` stays.
    fn braces(&mut self, parts: &mut impl Parts) {
        let start = self.at;
        if !self.skip_group() {
            return;
        }
        let whole = &self.name[start..self.at];
        let bare = match (whole.find('('), whole.rfind(')')) {
            (Some(open), Some(close)) if open < close => [&whole[..open], &whole[close + 1..]],
            _ => [whole, ""],
        };
        parts.push_braces(bare, whole);
    }

    /// Goes behind the group that opens here, if it is closed.
    fn skip_group(&mut self) -> bool {
        match closed_group(self.text, self.at) {
            Some(end) => self.at = end,
            None => self.is_broken = true,
        }
        !self.is_broken
    }
}

/// Groups in square brackets that tell no functions apart: ABI tags, and what Go's compiler made a
/// generic function for.
const GROUPS_IN_BRACKETS: [&str; 2] = ["[abi:", "[go.shape."];

/// Hands out `text` without what stands in `<…>`.
fn push_without_angles(text: &str, parts: &mut (impl Parts + ?Sized)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut from = 0;
    while at < bytes.len() {
        if bytes[at] == b'<' && at > from {
            parts.push(&text[from..at]);
            at = group_end(bytes, at);
            from = at;
        } else {
            at += 1;
        }
    }
    parts.push(&text[from..]);
}

/// One past the bracket that closes the group opened at `start`; the end of the text if none does.
pub(super) fn group_end(text: &[u8], start: usize) -> usize {
    closed_group(text, start).unwrap_or(text.len())
}

/// One past the bracket that closes the group opened at `start`, if one does.
pub(crate) fn closed_group(text: &[u8], start: usize) -> Option<usize> {
    let mut open = OpenBrackets::default();
    let mut at = start;
    loop {
        let byte = *text.get(at)?;
        match byte {
            // Operators between spaces, `1 << 3` or `a < b`. A `>` may stand so and close.
            b'<' if at > start && text[at - 1] == b' ' => match operator(&text[at..]) {
                Some(length) => at += length - 1,
                None => open.push(byte),
            },
            b'(' | b'{' | b'[' | b'<' => open.push(byte),
            // `->` closes nothing, nor does a `>` inside parentheses: `(a > b)`.
            b'>' if open.last() == Some(b'<') && text[at - 1] != b'-' => open.pop(),
            b')' | b'}' | b']' => {
                // A stray `<` inside, as in `(1 << 3)`, is given up.
                while open.last() == Some(b'<') {
                    open.pop();
                }
                if open.last().is_some_and(|open| is_pair(open, byte)) {
                    open.pop();
                }
            }
            _ => {}
        }
        at += 1;
        if open.last().is_none() {
            return Some(at);
        }
        while text.get(at).is_some_and(|&byte| !IS_BRACKET[byte as usize]) {
            at += 1;
        }
    }
}

/// The length of the operator that `<` begins, if it begins one that is followed by a space.
fn operator(text: &[u8]) -> Option<usize> {
    let mut operators = ["< ", "<< ", "<= ", "<=> "].into_iter();
    operators
        .find(|operator| text.starts_with(operator.as_bytes()))
        .map(|operator| operator.len() - 1)
}

/// For each byte, whether it is a bracket. Most of a name is within brackets, and most of that is
/// none.
const IS_BRACKET: [bool; 256] = {
    let mut is_bracket = [false; 256];
    let brackets = b"(){}[]<>";
    let mut at = 0;
    while at < brackets.len() {
        is_bracket[brackets[at] as usize] = true;
        at += 1;
    }
    is_bracket
};

fn is_pair(open: u8, close: u8) -> bool {
    matches!((open, close), (b'(', b')') | (b'{', b'}') | (b'[', b']'))
}

/// The brackets that are open, each as one byte: eight in a word, so that nearly all names need no
/// memory for it.
#[derive(Default)]
struct OpenBrackets {
    /// The innermost of them, the last one in the lowest byte.
    word: u64,
    /// Full words of those further out.
    outer: Vec<u64>,
}

impl OpenBrackets {
    fn push(&mut self, bracket: u8) {
        if self.word >> 56 != 0 {
            self.outer.push(self.word);
            self.word = 0;
        }
        self.word = self.word << 8 | u64::from(bracket);
    }

    fn pop(&mut self) {
        self.word >>= 8;
        if self.word == 0 {
            self.word = self.outer.pop().unwrap_or(0);
        }
    }

    fn last(&self) -> Option<u8> {
        let [last, ..] = self.word.to_le_bytes();
        (last != 0).then_some(last)
    }
}

#[cfg(test)]
mod tests {
    use super::closed_group;

    #[test]
    fn groups_end_however_deep_they_are() {
        for depth in [1, 7, 8, 9, 16, 17, 40] {
            let text = format!("f{}x{}::g", "<(".repeat(depth), ")>".repeat(depth));
            assert_eq!(closed_group(text.as_bytes(), 1), Some(2 + 4 * depth), "{text}");
            assert_eq!(closed_group(&text.as_bytes()[..1 + 4 * depth], 1), None, "{text}");
        }
        assert_eq!(closed_group(b"(1 << 3)>", 0), Some(8));
        assert_eq!(closed_group(b"<fn() -> (a > b)>x", 0), Some(17));
    }
}
