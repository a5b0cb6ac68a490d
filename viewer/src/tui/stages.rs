//! The stages of the present refinement, and what they were before: undo and redo.
//!
//! A stage is kept as its text. Printing a stage and reading it again gives the same stage (a law
//! of the refinement language), so the text loses nothing, and it can be shown, edited, copied and
//! saved as it is.

use std::fmt;

use crate::refine::{ParseError, Sets};

/// One stage, which can be switched off without being forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The stage in the refinement language.
    pub text: String,
    /// Whether it takes part.
    pub on: bool,
}

/// Stages in the order in which they are applied. Displayed: those that are on, with `|` between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stages(pub Vec<Stage>);

impl Stages {
    /// The stages of a refinement.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(refinement: &str, sets: &Sets) -> Result<Self, ParseError> {
        let mut stages = Self::default();
        let read = sets.parse(refinement)?.stages;
        read.iter().for_each(|stage| stages.push(stage.to_string()));
        Ok(stages)
    }

    /// Adds a stage at the end.
    pub fn push(&mut self, text: String) {
        self.0.push(Stage { text, on: true });
    }

    /// The texts of the stages that are on.
    pub fn active(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|stage| stage.on).map(|stage| stage.text.as_str())
    }
}

impl fmt::Display for Stages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, text) in self.active().enumerate() {
            write!(f, "{}{text}", if place > 0 { " | " } else { "" })?;
        }
        Ok(())
    }
}

/// What the stages were and are, for undo and redo.
///
/// Invariant: `now` is a position in `states`.
#[derive(Clone, Debug)]
pub struct History {
    states: Vec<Stages>,
    now: usize,
}

impl Default for History {
    fn default() -> Self {
        Self { states: vec![Stages::default()], now: 0 }
    }
}

impl History {
    /// A history that begins with these stages.
    #[must_use]
    pub fn of(stages: Stages) -> Self {
        Self { states: vec![stages], now: 0 }
    }

    /// The stages at present.
    #[must_use]
    pub fn now(&self) -> &Stages {
        &self.states[self.now]
    }

    /// Changes the stages. What had been taken back is forgotten.
    pub fn change(&mut self, stages: Stages) {
        if stages != *self.now() {
            self.states.truncate(self.now + 1);
            self.states.push(stages);
            self.now += 1;
        }
    }

    /// Goes back to what the stages were before; `false` if there is no before.
    pub fn undo(&mut self) -> bool {
        let possible = self.now > 0;
        self.now -= usize::from(possible);
        possible
    }

    /// Takes the last undo back; `false` if there is none.
    pub fn redo(&mut self) -> bool {
        let possible = self.now + 1 < self.states.len();
        self.now += usize::from(possible);
        possible
    }

    /// Forgets the last change altogether: it was refused.
    pub fn forget_last(&mut self) {
        if self.now > 0 {
            self.states.remove(self.now);
            self.now -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stages(texts: &[&str]) -> Stages {
        let mut stages = Stages::default();
        texts.iter().for_each(|text| stages.push((*text).to_owned()));
        stages
    }

    #[test]
    fn undo_and_redo() {
        let mut history = History::default();
        history.change(stages(&["a"]));
        history.change(stages(&["a", "b"]));
        history.change(stages(&["a", "b"]));
        assert!(history.undo());
        assert_eq!(*history.now(), stages(&["a"]));
        assert!(history.redo());
        assert!(!history.redo());
        assert!(history.undo() && history.undo() && !history.undo());
        history.change(stages(&["c"]));
        assert!(!history.redo());
        assert_eq!(*history.now(), stages(&["c"]));
    }

    #[test]
    fn only_what_is_on_is_shown() {
        let mut three = stages(&["through a", "hide b", "hide c"]);
        three.0[1].on = false;
        assert_eq!(three.to_string(), "through a | hide c");
    }
}
