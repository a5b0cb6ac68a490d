//! Words and signs of the refinement language, with the bytes they stand at.
//!
//! A word is anything without white space and signs, so `MPI_*`, `ns::f`, `module:libmpi.so.*` and
//! `[vdso]` are words. `\` before a sign makes it part of the word; `\*`, `\?` and `\\` stay as
//! they are and mean the character itself in the glob. `$` is a sign only where a word ends.
//! Brackets are signs only in `node[…]`, since names have them: `operator[]`, `foo[abi:cxx11]`.
//!
//! Names of C++, Rust and D can be typed as they are shown. What opens directly behind a name and
//! is closed again belongs to it, `vector<int>::push_back(int const&)` and `Matrix!(double).row`,
//! as does `{…}` behind `::` and the symbol of an `operator<<`; so do `<T as Trait>::` and
//! `(anonymous namespace)` before one.
//! Nothing else could stand there: `<` compares only behind what is measured, and parentheses
//! stand behind words with a meaning.

use std::ops::Range;

use super::keywords::is_keyword;
use crate::profile::{OPERATORS, begins_mark, closed_group};

/// A word or sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    /// Bytes in the text.
    pub(crate) range: Range<usize>,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// Not a sign. A word that begins with `\` is no keyword.
    Word {
        /// The word, escapes of signs removed.
        text: String,
        /// Whether it may be a keyword.
        plain: bool,
    },
    /// `"…"`: an exact name.
    Quoted(String),
    /// `/…/`: a regular expression.
    Regex(String),
    /// One of [`SIGNS`], or a bracket of `node[…]`.
    Sign(&'static str),
}

/// All signs; longer ones before those that begin them.
const SIGNS: [&str; 17] =
    [">>", ">=", "<=", "!=", ">", "<", "=", "!", "|", "(", ")", "{", "}", ",", "&", "^", "$"];

/// What begins a test of a row.
const NODE: &str = "node[";

/// A string that does not end, or the like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LexError {
    pub(crate) range: Range<usize>,
    pub(crate) message: &'static str,
}

/// Whether a character ends a word unless it is escaped.
pub(crate) fn is_sign(character: char) -> bool {
    character.is_whitespace() || "|><=!(){},&^\"".contains(character)
}

/// Whether there is a regular expression in a text, if it can be read.
pub(crate) fn has_regex(text: &str) -> bool {
    let is_one = |token: &Token| matches!(token.kind, TokenKind::Regex(_));
    tokens(text).is_ok_and(|tokens| tokens.iter().any(is_one))
}

/// Whether a text is read as one word that is the text itself: `f<int>(a, b)`, but not `a > b`.
pub(crate) fn is_one_word(text: &str) -> bool {
    match tokens(text).as_deref() {
        Ok([Token { kind: TokenKind::Word { text: word, plain: true }, range }]) => {
            word == text && range.len() == text.len()
        }
        _ => false,
    }
}

/// The tokens of a text.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, LexError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    // Inside the brackets of `node[…]`.
    let mut in_test = false;
    while let Some(next) = text[at..].chars().next() {
        if next.is_whitespace() {
            at += next.len_utf8();
            continue;
        }
        let start = at;
        if text[at..].starts_with(NODE) {
            let bracket = at + NODE.len() - 1;
            at = bracket + 1;
            let text = text[start..bracket].to_owned();
            tokens
                .push(Token { kind: TokenKind::Word { text, plain: true }, range: start..bracket });
            tokens.push(Token { kind: TokenKind::Sign("["), range: bracket..at });
            in_test = true;
            continue;
        }
        let kind = match next {
            ']' if in_test => {
                at += 1;
                in_test = false;
                TokenKind::Sign("]")
            }
            '"' => TokenKind::Quoted(delimited(text, &mut at, '"')?),
            '/' => TokenKind::Regex(delimited(text, &mut at, '/')?),
            _ if !in_test && begins_name(text, at, tokens.last()) => word(text, &mut at, in_test),
            _ => match SIGNS.iter().find(|&&sign| sign_at(text, at, sign)) {
                Some(sign) => {
                    at += sign.len();
                    TokenKind::Sign(sign)
                }
                None => word(text, &mut at, in_test),
            },
        };
        tokens.push(Token { kind, range: start..at });
    }
    Ok(tokens)
}

fn sign_at(text: &str, at: usize, sign: &str) -> bool {
    let Some(after) = text[at..].strip_prefix(sign) else { return false };
    // `$` inside or before a word belongs to it: Fortran and Java names have them.
    sign != "$" || after.chars().next().is_none_or(is_sign)
}

fn word(text: &str, at: &mut usize, in_test: bool) -> TokenKind {
    let start = *at;
    let plain = !text[start..].starts_with('\\');
    let mut word = String::new();
    // Up to here, signs belong to the name.
    let mut inside = start;
    while let Some(next) = text[*at..].chars().next() {
        if *at >= inside && !in_test {
            inside = part_of_name(text, start, *at).unwrap_or(inside);
        }
        if *at >= inside
            && (is_sign(next)
                || (next == '$' && sign_at(text, *at, "$"))
                || (next == ']' && in_test))
        {
            break;
        }
        *at += next.len_utf8();
        if next != '\\' {
            word.push(next);
            continue;
        }
        // What is escaped; a `\` at the very end stands for itself.
        let escaped = text[*at..].chars().next().unwrap_or('\\');
        *at += text[*at..].chars().next().map_or(0, char::len_utf8);
        if matches!(escaped, '*' | '?' | '\\') {
            word.push('\\');
        }
        word.push(escaped);
    }
    TokenKind::Word { text: word, plain }
}

/// What stands before every method of some types and functions without a name outside.
const ANONYMOUS: &str = "(anonymous namespace)";

/// Whether a name begins here with what would else be a sign.
fn begins_name(text: &str, at: usize, before: Option<&Token>) -> bool {
    let rest = &text[at..];
    if rest.starts_with(ANONYMOUS) {
        return true;
    }
    let compares = match before.map(|token| &token.kind) {
        Some(TokenKind::Sign(sign)) => *sign == ")",
        Some(TokenKind::Word { text, plain: true }) => is_measured(text),
        _ => false,
    };
    rest.starts_with('<')
        && !compares
        && group_of(text, at).is_some_and(|end| text[end..].starts_with("::"))
}

/// Bytes in one bracket of a name at most: longer ones need quotes. So that no text takes long.
const MOST_IN_BRACKETS: usize = 1 << 10;

/// One past the bracket that closes the one here, if one does.
fn group_of(text: &str, at: usize) -> Option<usize> {
    let end = text.len().min(at + MOST_IN_BRACKETS);
    closed_group(&text.as_bytes()[..end], at)
}

/// Whether a word can stand before `<` as a comparison.
fn is_measured(word: &str) -> bool {
    matches!(word, "depth" | "edges" | "edge" | "time/edge" | "samples/edge")
}

/// Where signs at a place in a word that began at `start` end to belong to it.
fn part_of_name(text: &str, start: usize, at: usize) -> Option<usize> {
    let (before, rest) = (&text[start..at], &text[at..]);
    let group = || group_of(text, at);
    let is_name = || {
        let last = before.chars().next_back();
        let is_symbol = |symbol: &&str| {
            before.strip_suffix(*symbol).is_some_and(|named| named.ends_with("operator"))
        };
        (last.is_some_and(|c| c.is_alphanumeric() || "_:>})]".contains(c))
            || OPERATORS.iter().any(is_symbol))
            && !is_keyword(before)
            && !is_measured(before)
            && !matches!(before, "incl" | "excl")
    };
    if let Some(named) = before.strip_suffix("operator")
        && !named.ends_with(|c: char| c.is_alphanumeric() || c == '_')
    {
        let symbol = OPERATORS.iter().find(|&&symbol| symbol != "," && rest.starts_with(symbol));
        // `operator new`, `operator bool`; but `through operator and …`.
        let word = rest.strip_prefix(' ').map(|after| {
            &after[..after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len())]
        });
        return match (symbol, word) {
            // The demangler writes `operator< <int>`.
            (Some(symbol), _) if rest[symbol.len()..].starts_with(" <") => {
                group_of(text, at + symbol.len() + 1).or(Some(at + symbol.len()))
            }
            (Some(symbol), _) => Some(at + symbol.len()),
            (_, Some("" | "and" | "or" | "as") | None) => None,
            (_, Some(word)) => Some(at + 1 + word.len()),
        };
    }
    match rest.chars().next() {
        Some('<') if before.is_empty() => group(),
        Some('(') if rest.starts_with(ANONYMOUS) => Some(at + ANONYMOUS.len()),
        Some('<' | '(') if is_name() => group(),
        Some('!') if rest.starts_with("!(") && is_name() => group_of(text, at + 1),
        Some('{') if before.ends_with("::") => group(),
        Some(' ') if begins_mark(rest) && (before.contains(')') || is_name()) => {
            group_of(text, at + 1)
        }
        // What stands behind arguments.
        Some(' ') if before.contains(')') => {
            let after = rest.strip_prefix(" const").filter(|_| before.ends_with(')'))?;
            let ends = after.chars().next().is_none_or(is_sign);
            ends.then_some(at + rest.len() - after.len())
        }
        _ => None,
    }
}

/// The two halves of `name:glob`; `ns::f` is no property.
pub(crate) fn property(word: &str) -> Option<(&str, &str)> {
    word.split_once(':').filter(|(name, glob)| {
        !glob.starts_with(':')
            && !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphabetic())
    })
}

/// The text between two delimiters. `\` before a delimiter removes its meaning; in a string so it
/// does before `\`.
fn delimited(text: &str, at: &mut usize, delimiter: char) -> Result<String, LexError> {
    let start = *at;
    let mut inside = String::new();
    let mut characters = text[start + 1..].char_indices();
    while let Some((offset, next)) = characters.next() {
        if next == delimiter {
            *at = start + 1 + offset + next.len_utf8();
            return Ok(inside);
        }
        if next != '\\' {
            inside.push(next);
            continue;
        }
        match characters.next() {
            Some((_, escaped)) if escaped == delimiter => inside.push(escaped),
            Some((_, '\\')) if delimiter == '"' => inside.push('\\'),
            Some((_, escaped)) => inside.extend(['\\', escaped]),
            None => break,
        }
    }
    let message = if delimiter == '"' {
        "this name lacks its closing quote"
    } else {
        "this regular expression lacks its closing /"
    };
    Err(LexError { range: start..text.len(), message })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tokens as text: words in brackets.
    fn lexed(text: &str) -> String {
        let shown: Vec<_> = tokens(text)
            .unwrap()
            .into_iter()
            .map(|token| match token.kind {
                TokenKind::Word { text, plain: true } => format!("[{text}]"),
                TokenKind::Word { text, plain: false } => format!("\\[{text}]"),
                TokenKind::Quoted(name) => format!("\"{name}\""),
                TokenKind::Regex(source) => format!("/{source}/"),
                TokenKind::Sign(sign) => sign.to_owned(),
            })
            .collect();
        shown.join(" ")
    }

    #[test]
    fn words_signs_and_names() {
        assert_eq!(lexed("through ^main>>f$ "), "[through] ^ [main] >> [f] $");
        assert_eq!(lexed("hide module:libmpi*|x"), "[hide] [module:libmpi*] | [x]");
        assert_eq!(lexed("times(f)>=3"), "[times] ( [f] ) >= [3]");
        assert_eq!(lexed("a$b $"), "[a$b] $");
        assert_eq!(lexed("{a,!b&c}"), "{ [a] , ! [b] & [c] }");
        assert_eq!(lexed("\"f(int)\" /a\\/b\\d/"), "\"f(int)\" /a/b\\d/");
        assert_eq!(lexed(r#""a\"b\\c\d""#), r#""a"b\c\d""#);
        assert_eq!(lexed(r"operator\(\) \and a\*b"), r"[operator()] \[and] [a\*b]");
        assert_eq!(lexed("ns::é*"), "[ns::é*]");
        assert_eq!(lexed("node[edges>3]or a[b]"), "[node] [ [edges] > [3] ] [or] [a[b]]");
        assert_eq!(lexed(r"\node[3] mynode[3]"), r"\[node[3]] [mynode[3]]");
    }

    #[test]
    fn names_are_typed_as_they_are_shown() {
        for name in [
            "operator()",
            "ns::operator<<",
            "operator->",
            "operator>",
            "operator new",
            "operator<(A const&, A const&)",
            "operator<<<int>(A<int>&)",
            "operator new[](unsigned long)",
            "A::operator bool() const",
            "operator< <int>(A<int> const&, A<int> const&)",
            "std::vector<int, std::allocator<int> >::push_back(int const&)",
            "std::map<ns::Key, int>::operator[](ns::Key&&)",
            "ns::Matrix<double>::row(unsigned long) const",
            "simplify(llvm::Value*, unsigned int) [clone .llvm] [clone .166716]",
            "memcpy [also memmove]",
            "memcpy [also memmove, __memcpy_chk] [clone __memmove_avx_unaligned_erms]",
            "work(long) [also operator[](int, A<int>)] [clone f[abi:cxx11]]",
            "std::function<int (int)>::operator()(int) const",
            "(anonymous namespace)::work(int)",
            "lld::(anonymous namespace)::write<(Kind)1>",
            "f<(a > b)>",
            "main::{lambda(int)#1}::operator()(int) const",
            "app::run::{closure#0}",
            "app::run::{{closure}}",
            "<a::Circle as a::Shape>::area",
            "<fn() as core::ops::FnOnce<()>>::call_once",
            "core::ptr::drop_in_place::<alloc::vec::Vec<u8>>",
            "core::slice::<impl [T]>::sort",
            "app.shared_!(long).shared_(long)",
            "app.Matrix!(double).Matrix.row(int) const",
            "app.f!(a.B!(int, 'x'), \"*\").f(a.B, int)",
            "app.run().inner!(a)",
        ] {
            assert_eq!(lexed(name), format!("[{name}]"));
            assert_eq!(
                lexed(&format!("a>> {name}|hide {{{name}}}")),
                format!("[a] >> [{name}] | [hide] {{ [{name}] }}")
            );
        }
        // What has a meaning keeps it.
        assert_eq!(lexed("depth<3 and a>b"), "[depth] < [3] [and] [a] > [b]");
        assert_eq!(lexed("not(a)or(b)"), "[not] ( [a] ) [or] ( [b] )");
        assert_eq!(lexed("times(f<int>)<3"), "[times] ( [f<int>] ) < [3]");
        assert_eq!(
            lexed("small incl(time)<3%|a>b"),
            "[small] [incl] ( [time] ) < [3%] | [a] > [b]"
        );
        assert_eq!(lexed("node[edges<3]|a>b"), "[node] [ [edges] < [3] ] | [a] > [b]");
        assert_eq!(
            lexed("{a,!(b)}|not !(c)|a!(b"),
            "{ [a] , ! ( [b] ) } | [not] ! ( [c] ) | [a] ! ( [b]"
        );
        assert_eq!(
            lexed("hide!(a)|in!(b)|x = !(c)"),
            "[hide] ! ( [a] ) | [in] ! ( [b] ) | [x] = ! ( [c] )"
        );
        assert_eq!(lexed("hide{a,b}"), "[hide] { [a] , [b] }");
        assert_eq!(
            lexed("operator > f and operator and g"),
            "[operator] > [f] [and] [operator] [and] [g]"
        );
        assert_eq!(
            lexed("node[(anonymous namespace)::f"),
            "[node] [ ( [anonymous] [namespace] ) [::f]"
        );
        assert_eq!(lexed("node[a<int>::f"), "[node] [ [a] < [int] > [::f]");
        assert_eq!(lexed("a<b"), "[a] < [b]");
        assert_eq!(lexed("f(a"), "[f] ( [a]");
    }

    #[test]
    fn what_does_not_end_is_an_error() {
        assert_eq!(tokens("a \"b").unwrap_err().range, 2..4);
        assert_eq!(tokens("/b\\").unwrap_err().range, 0..3);
    }
}
