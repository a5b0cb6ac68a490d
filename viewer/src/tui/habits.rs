//! What keys do in programs that people know, where that is something else here.

use super::commands;
use super::key::Key;
use super::keymap::{Keymap, Meaning};
use super::mode::Mode;

/// What a key does in another program.
#[derive(Debug)]
pub struct Habit {
    /// The key.
    pub key: &'static str,
    /// The program.
    pub program: &'static str,
    /// What it does there.
    pub there: &'static str,
    /// The command that does it here; empty if none does.
    command: &'static str,
}

const fn habit(
    key: &'static str,
    program: &'static str,
    there: &'static str,
    command: &'static str,
) -> Habit {
    Habit { key, program, there, command }
}

/// Those of less, of vim as far as its users know less, and of `perf report` (6.1, its help on
/// `h`). Of several of one key, the one that most people know comes first. `j`, `k` and digits are
/// left out: what they do is seen at once.
pub static HABITS: [Habit; 24] = [
    habit("d", "less", "half a screen down", "half-page-down"),
    habit("u", "less", "half a screen up", "half-page-up"),
    habit("f", "less", "a screen down", "page-down"),
    habit("<space>", "less", "a screen down", "page-down"),
    habit("b", "less", "a screen up", "page-up"),
    habit("e", "less", "a line down", "down"),
    habit("y", "less", "a line up", "up"),
    habit("<lt>", "less", "the first line", "first"),
    habit(">", "less", "the last line", "last"),
    habit("R", "less", "paint again", "repaint"),
    habit("h", "less, perf report", "help", "help"),
    habit("H", "vim", "the first line of the screen", ""),
    habit("L", "vim", "the last line of the screen", ""),
    habit("d", "perf report", "only this load module", "refine"),
    habit("t", "perf report", "only this thread", "thread"),
    habit("m", "perf report", "the menu", "menu"),
    habit("E", "perf report", "opens all rows", "expand"),
    habit("C", "perf report", "closes all rows", "close-all"),
    habit("F", "perf report", "percent of all, or of what is shown", "percent"),
    habit("P", "perf report", "writes the rows", "export"),
    habit("s", "perf report", "another file", ""),
    habit("S", "perf report", "only this socket", ""),
    habit("a", "perf report", "annotate", "source"),
    habit("i", "perf report", "facts of the file", "info"),
];

impl Habit {
    /// What its key does here, if that is another command: the name of that. Empty if it does
    /// nothing.
    #[must_use]
    pub fn here(&self, keymap: &Keymap, mode: &'static Mode) -> Option<String> {
        let name = match keymap.meaning(mode, &Key::parse_all(self.key)?) {
            Meaning::Message(message) => commands::name(&message).unwrap_or_default().into_owned(),
            Meaning::Beginning => return None,
            Meaning::Nothing => String::new(),
        };
        (name != self.command).then_some(name)
    }

    /// What does that here: a key, or the name of a command.
    #[must_use]
    pub fn instead(&self, keymap: &Keymap, mode: &'static Mode) -> Option<String> {
        let keys = keymap.keys_of(mode, self.command);
        match keys.split(' ').next() {
            _ if self.command.is_empty() => None,
            Some(own) if !own.is_empty() => Some(own.to_owned()),
            _ => Some(format!(":{}", self.command)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::keymap::command_names;
    use super::*;

    #[test]
    fn habits_are_of_keys_and_commands_that_there_are() {
        let names = command_names();
        for Habit { key, command, .. } in &HABITS {
            assert!(Key::parse_all(key).is_some_and(|keys| keys.len() == 1), "{key}");
            assert!(command.is_empty() || names.contains(*command), "{key}: {command}");
        }
    }
}
