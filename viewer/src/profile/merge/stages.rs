//! The stages that several profiles begin with together.

use crate::print::printable;

/// Stages of the parts, which all begin with those that all were saved with: where one was not,
/// what it shows was never looked at without. What a stage does depends on those before it, so
/// those count that are the same up to one that is not.
#[derive(Clone, Debug, Default)]
pub struct CommonStages {
    parts: Vec<(String, Vec<String>)>,
}

impl CommonStages {
    /// Adds those of a part, which people know as `name`.
    pub fn add(&mut self, name: &str, stages: &[String]) {
        self.parts.push((name.to_owned(), stages.to_owned()));
    }

    /// The stages that all parts begin with.
    #[must_use]
    pub fn common(&self) -> Vec<String> {
        let Some((_, first)) = self.parts.first() else { return Vec::new() };
        let is_of_all = |at: usize| self.parts.iter().all(|(_, of)| of.get(at) == first.get(at));
        (0..first.len()).take_while(|&at| is_of_all(at)).map(|at| first[at].clone()).collect()
    }

    /// The stages that are left out, each once and with who does not have it, for people.
    #[must_use]
    pub fn left_out(&self) -> Vec<String> {
        let common = self.common().len();
        let mut known: Vec<&String> = Vec::new();
        let mut messages = Vec::new();
        for stage in self.parts.iter().flat_map(|(_, stages)| &stages[common..]) {
            if known.contains(&stage) {
                continue;
            }
            known.push(stage);
            let mut without = self.parts.iter().filter(|(_, stages)| !stages.contains(stage));
            let cause = match (without.next(), without.count()) {
                (Some((first, _)), 0) => format!("{first} was saved without it"),
                (Some((first, _)), more) => {
                    format!("{first} and {more} more were saved without it")
                }
                (None, _) => "not all were saved with the same stages before it".to_owned(),
            };
            messages.push(format!("the stage `{}` is left out: {cause}", printable(stage)));
        }
        messages
    }
}
