//! The stages that several profiles begin with together.

use csprof_format::profile as saved;

use crate::print::printable;

/// Stages of the parts, which all begin with those that all were saved with: where one was not,
/// what it shows was never looked at without.
#[derive(Clone, Debug, Default)]
pub struct CommonStages {
    parts: Vec<(String, Vec<String>)>,
}

impl CommonStages {
    /// Adds those of a part, which people know as `name`.
    pub fn add(&mut self, name: &str, part: &saved::Profile) {
        self.parts.push((name.to_owned(), part.stages.clone()));
    }

    /// The stages that all parts have, in the order of the first.
    #[must_use]
    pub fn common(&self) -> Vec<String> {
        let Some((_, first)) = self.parts.first() else { return Vec::new() };
        first.iter().filter(|stage| self.without(stage).next().is_none()).cloned().collect()
    }

    /// The stages that are left out, each once and with who does not have it, for people.
    #[must_use]
    pub fn left_out(&self) -> Vec<String> {
        let mut known: Vec<&String> = Vec::new();
        let mut said = Vec::new();
        for stage in self.parts.iter().flat_map(|(_, stages)| stages) {
            let mut without = self.without(stage);
            let Some(first) = without.next().filter(|_| !known.contains(&stage)) else { continue };
            known.push(stage);
            let more = match without.count() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let stage = printable(stage);
            said.push(format!(
                "the stage `{stage}` is left out: {first}{more} was saved without it"
            ));
        }
        said
    }

    fn without<'s>(&'s self, stage: &'s String) -> impl Iterator<Item = &'s str> {
        let parts = self.parts.iter().filter(move |(_, stages)| !stages.contains(stage));
        parts.map(|(name, _)| &**name)
    }
}
