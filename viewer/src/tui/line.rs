//! The line being typed at a prompt: text and a cursor.
//!
//! Invariant: the cursor is a byte position on a character boundary of the text.

use super::message::LineEdit;

/// One line of text with a cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    text: String,
    cursor: usize,
}

impl Line {
    /// A line with the cursor at its end. Control characters are left out.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut line = Self::default();
        line.insert_text(text);
        line
    }

    /// Moves the cursor to a byte position, or to the end if there is no character boundary.
    pub fn move_to(&mut self, cursor: usize) {
        self.cursor = if self.text.is_char_boundary(cursor) { cursor } else { self.text.len() };
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Byte position of the cursor.
    #[must_use]
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// The text before the cursor.
    #[must_use]
    pub fn before(&self) -> &str {
        &self.text[..self.cursor]
    }

    /// Changes the line.
    pub fn apply(&mut self, edit: LineEdit) {
        match edit {
            LineEdit::Backspace => self.backspace(),
            LineEdit::Delete => self.delete(),
            LineEdit::DeleteWord => self.delete_word(),
            LineEdit::DeleteToStart => self.delete_to_start(),
            LineEdit::Left => self.left(),
            LineEdit::Right => self.right(),
            LineEdit::Start => self.cursor = 0,
            LineEdit::End => self.cursor = self.text.len(),
        }
    }

    /// Inserts a character at the cursor.
    pub fn insert(&mut self, c: char) {
        if !c.is_control() {
            self.text.insert(self.cursor, c);
            self.cursor += c.len_utf8();
        }
    }

    /// Inserts pasted text at the cursor; line breaks become spaces.
    pub fn insert_text(&mut self, text: &str) {
        for c in text.chars() {
            self.insert(if matches!(c, '\n' | '\t') { ' ' } else { c });
        }
    }

    /// Replaces the bytes from `start` to the cursor; the cursor ends behind the new text.
    pub fn replace_before(&mut self, start: usize, text: &str) {
        if start <= self.cursor && self.text.is_char_boundary(start) {
            self.text.replace_range(start..self.cursor, text);
            self.cursor = start + text.len();
        }
    }

    /// Deletes the character before the cursor.
    pub fn backspace(&mut self) {
        let end = self.cursor;
        self.left();
        self.text.replace_range(self.cursor..end, "");
    }

    /// Deletes the character at the cursor.
    pub fn delete(&mut self) {
        let end = self.cursor + self.text[self.cursor..].chars().next().map_or(0, char::len_utf8);
        self.text.replace_range(self.cursor..end, "");
    }

    /// Deletes the word before the cursor.
    pub fn delete_word(&mut self) {
        let kept = self.before().trim_end();
        let start = kept
            .rfind(char::is_whitespace)
            .map_or(0, |at| at + kept[at..].chars().next().map_or(0, char::len_utf8));
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
    }

    /// Deletes everything before the cursor.
    pub fn delete_to_start(&mut self) {
        self.text.replace_range(..self.cursor, "");
        self.cursor = 0;
    }

    /// Moves one character left.
    pub fn left(&mut self) {
        self.cursor -= self.before().chars().next_back().map_or(0, char::len_utf8);
    }

    /// Moves one character right.
    pub fn right(&mut self) {
        self.cursor += self.text[self.cursor..].chars().next().map_or(0, char::len_utf8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editing_keeps_character_boundaries() {
        let mut line = Line::new("through größe\u{7}");
        line.left();
        line.left();
        line.backspace();
        assert_eq!((line.text(), line.before()), ("through grße", "through gr"));
        line.delete_word();
        assert_eq!(line.text(), "through ße");
        line.delete_to_start();
        line.delete();
        assert_eq!((line.text(), line.cursor()), ("e", 0));
        line.backspace();
        line.left();
        assert_eq!(line.cursor(), 0);
        line.apply(LineEdit::End);
        line.right();
        line.delete();
        assert_eq!((line.text(), line.cursor()), ("e", 1));
    }

    #[test]
    fn completion_replaces_the_word() {
        let mut line = Line::new("through MP and x");
        for _ in 0.." and x".len() {
            line.left();
        }
        line.replace_before("through ".len(), "MPI_Send");
        assert_eq!((line.text(), line.before()), ("through MPI_Send and x", "through MPI_Send"));
    }
}
