//! Words and signs of the refinement language, with the bytes they stand at.
//!
//! A word is anything without white space and signs, so `MPI_*`, `ns::f`, `module:libmpi.so.*` and
//! `[vdso]` are words. `\` before a sign makes it part of the word; `\*`, `\?` and `\\` stay as they
//! are and mean the character itself in the glob. `$` is a sign only where a word ends. Brackets
//! are signs only in `node[…]`, since names have them: `operator[]`, `foo[abi:cxx11]`.

use std::ops::Range;

/// A word or sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    /// Bytes in the text.
    pub(super) range: Range<usize>,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
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
pub(super) struct LexError {
    pub(super) range: Range<usize>,
    pub(super) message: &'static str,
}

/// Whether a character ends a word unless it is escaped.
pub(super) fn is_sign(character: char) -> bool {
    character.is_whitespace() || "|><=!(){},&^\"".contains(character)
}

/// The tokens of a text.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, LexError> {
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
    let plain = !text[*at..].starts_with('\\');
    let mut word = String::new();
    while let Some(next) = text[*at..].chars().next() {
        if is_sign(next) || (next == '$' && sign_at(text, *at, "$")) || (next == ']' && in_test) {
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
    fn what_does_not_end_is_an_error() {
        assert_eq!(tokens("a \"b").unwrap_err().range, 2..4);
        assert_eq!(tokens("/b\\").unwrap_err().range, 0..3);
    }
}
