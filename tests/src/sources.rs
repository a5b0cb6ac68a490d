//! The sources of the workspace itself, for tests of what they must not contain.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the workspace.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Rust sources, as by [`files_below`].
#[must_use]
pub fn rust_files(below: &Path) -> Vec<PathBuf> {
    files_below(below, &["rs"])
}

/// Files with one of these endings, in order; a file is below itself. Hidden folders and what
/// cargo builds are left out.
#[must_use]
pub fn files_below(path: &Path, endings: &[&str]) -> Vec<PathBuf> {
    if path.is_file() {
        let ending = path.extension().and_then(|ending| ending.to_str());
        let is_one = ending.is_some_and(|ending| endings.contains(&ending));
        return if is_one { vec![path.to_path_buf()] } else { Vec::new() };
    }
    let mut entries: Vec<PathBuf> =
        fs::read_dir(path).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap_or_default();
        name != "target" && !name.starts_with('.')
    };
    entries
        .iter()
        .filter(|path| is_ours(path))
        .flat_map(|path| files_below(path, endings))
        .collect()
}

/// A source without its comments and without the text in its strings. Tests at the end of a file
/// may name anything.
#[must_use]
pub fn code(source: &str) -> String {
    bare(source.split("\n#[cfg(test)]\nmod ").next().unwrap())
}

/// The same with all tests. Literals of characters go, too.
pub(crate) fn bare(source: &str) -> String {
    let mut bare = String::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let is_in_word = bare.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        let raw = rest.trim_start_matches(['b', 'c']).strip_prefix('r').map(|rest| {
            let quoted = rest.trim_start_matches('#');
            (quoted, rest.len() - quoted.len())
        });
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some((quoted, hashes)) = raw.filter(|_| !is_in_word)
            && quoted.starts_with('"')
        {
            let end = format!("\"{}", "#".repeat(hashes));
            let length = quoted[1..].find(&end).map_or(quoted.len(), |at| at + 1 + end.len());
            bare.push_str("\"\"");
            rest.len() - quoted.len() + length
        } else if first == '"' {
            bare.push_str("\"\"");
            literal(rest, '"').unwrap_or(rest.len())
        } else if let Some(length) = literal(rest, '\'').filter(|_| first == '\'') {
            length
        } else {
            bare.push(first);
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    bare
}

/// Bytes of the literal that `rest` begins with. A character is one, or an escape; a lifetime is no
/// literal.
fn literal(rest: &str, quote: char) -> Option<usize> {
    let is_escape = rest[1..].starts_with('\\');
    if quote == '\'' && !is_escape {
        let character = rest[1..].chars().next()?;
        let end = 1 + character.len_utf8();
        return rest[end..].starts_with(quote).then_some(end + 1);
    }
    let mut is_escaped = false;
    let end = rest[1..].find(|character| {
        let is_end = character == quote && !is_escaped;
        is_escaped = character == '\\' && !is_escaped;
        is_end
    })?;
    Some(end + 2)
}

/// Its words: names, keywords and numbers.
pub fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// All paths that a source names, groups in braces taken apart: `a::{b, c::d}` is `a::b` and
/// `a::c::d`.
#[must_use]
pub fn paths_in(code: &str) -> Vec<String> {
    let dense: String =
        code.split_whitespace().collect::<Vec<_>>().join(" ").replace(":: {", "::{");
    let mut paths = Vec::new();
    let mut prefixes: Vec<String> = Vec::new();
    let mut path = String::new();
    for character in dense.chars() {
        match character {
            '{' => {
                let prefix = if path.ends_with("::") { path.clone() } else { String::new() };
                prefixes.push(prefix);
            }
            ':' | '_' => {
                path.push(character);
                continue;
            }
            _ if character.is_alphanumeric() => {
                if path.is_empty() {
                    path = prefixes.last().cloned().unwrap_or_default();
                }
                path.push(character);
                continue;
            }
            _ => {}
        }
        if !path.is_empty() {
            paths.push(std::mem::take(&mut path));
        }
        if character == '}' {
            prefixes.pop();
        }
    }
    paths.extend((!path.is_empty()).then_some(path));
    paths
}

/// Whether a path is `module` or leads into it.
#[must_use]
pub fn is_below(path: &str, module: &str) -> bool {
    path.strip_prefix(module)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::") || module.ends_with("::"))
}

/// `a::{b,c}` is `a::b` and `a::c`.
#[must_use]
pub fn alternatives(words: &str) -> Vec<String> {
    match words.split_once('{') {
        Some((prefix, rest)) => {
            rest.trim_end_matches('}').split(',').map(|word| format!("{prefix}{word}")).collect()
        }
        None => vec![words.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::{bare, code, is_below, paths_in};

    #[test]
    fn paths_are_found_in_groups_and_not_in_comments() {
        let source = "use a::{b, c::{self, d}};\n// use e::f;\nlet x = g::h(\"i::j\");";
        let found = paths_in(&code(source));
        for path in ["a::b", "a::c::d", "g::h"] {
            assert!(found.iter().any(|named| named == path), "{path} in {found:?}");
        }
        assert!(
            !found.iter().any(|path| path.starts_with('e') || path.starts_with('i')),
            "{found:?}"
        );
        let quotes = "let a = ['\"', '\\'', '{']; f::<'a>(r#\"b::c \"d\" \"#, \"\\\"e::f\"); /* g::h */ i::j";
        assert_eq!(bare(quotes), "let a = [, , ]; f::<'a>(\"\", \"\");  i::j");
        assert!(
            is_below("a::b", "a::b") && is_below("a::b::c", "a::b") && !is_below("a::bc", "a::b")
        );
    }
}
