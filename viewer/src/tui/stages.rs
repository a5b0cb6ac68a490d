//! The stages of the present refinement.
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

    /// Whether the stages that are on begin with these.
    #[must_use]
    pub fn begins_with(&self, texts: &[String]) -> bool {
        let mut active = self.active();
        texts.iter().all(|text| active.next() == Some(text))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn stages(texts: &[&str]) -> Stages {
        let mut stages = Stages::default();
        texts.iter().for_each(|text| stages.push((*text).to_owned()));
        stages
    }

    #[test]
    fn only_what_is_on_is_shown() {
        let mut three = stages(&["through a", "hide b", "hide c"]);
        three.0[1].on = false;
        assert_eq!(three.to_string(), "through a | hide c");
        let begins_with = |texts: &[&str]| {
            three.begins_with(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
        };
        assert!(begins_with(&[]) && begins_with(&["through a", "hide c"]));
        assert!(!begins_with(&["hide c"]) && !begins_with(&["through a", "hide c", "hide d"]));
    }
}
