//! Text from a profile on its way to a terminal.

pub use crate::print::printable;

/// A command line on one line, as a person would type it in a shell.
#[must_use]
pub fn command_line(words: &[Vec<u8>]) -> String {
    let words: Vec<_> =
        words.iter().map(|word| shell_word(&String::from_utf8_lossy(word))).collect();
    words.join(" ")
}

/// Not by shlex 2.0: it quotes words with `=`, `,`, `%` or letters beyond ASCII too, and cuts words
/// at `^`, as in `'through ''^main'`. People read these lines more often than they run them.
fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", printable(&word.replace('\'', "'\\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_read_as_typed() {
        let text = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
            command_line(&words)
        };
        assert_eq!(text(&["./lulesh", "-s", "30"]), "./lulesh -s 30");
        assert_eq!(text(&["sh", "-c", "echo 'a b'", ""]), "sh -c 'echo '\\''a b'\\''' ''");
        assert_eq!(command_line(&[b"a\xff".to_vec()]), "'a\u{fffd}'");
    }
}
