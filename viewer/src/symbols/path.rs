//! Source paths as DWARF has them: in pieces, and with detours.

/// Appends `piece` to `path`, which it replaces if it is absolute.
pub(super) fn push(path: &mut String, piece: &str) {
    if piece.starts_with('/') {
        path.clear();
    } else if !path.is_empty() && !path.ends_with('/') {
        path.push('/');
    }
    path.push_str(piece);
}

/// Removes what makes one file have many names: `./`, `//` and `folder/../`.
///
/// The same header reached from two compilation folders has two spellings, and functions inlined
/// from it should be one row. The text alone decides, so where `folder` is a symbolic link the
/// result can name another file; builds that do this are rare, headers with detours are in every
/// build.
pub(super) fn tidy(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if matches!(parts.last(), Some(&last) if last != "..") => {
                parts.pop();
            }
            ".." if absolute => {} // the root is its own parent
            _ => parts.push(part),
        }
    }
    let tidied = parts.join("/");
    if absolute { format!("/{tidied}") } else { tidied }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detours_are_removed() {
        for (given, tidied) in [
            ("/build/src/../include/./x.h", "/build/include/x.h"),
            ("/a//b.c", "/a/b.c"),
            ("/../x.c", "/x.c"),
            ("../x.c", "../x.c"),
            ("a/../../x.c", "../x.c"),
            ("<built-in>", "<built-in>"),
            ("", ""),
        ] {
            assert_eq!(tidy(given), tidied, "{given}");
        }
    }

    #[test]
    fn an_absolute_piece_replaces_the_path() {
        let mut path = "/build".to_owned();
        push(&mut path, "src");
        push(&mut path, "x.c");
        assert_eq!(path, "/build/src/x.c");
        push(&mut path, "/usr/include/y.h");
        assert_eq!(path, "/usr/include/y.h");
    }
}
