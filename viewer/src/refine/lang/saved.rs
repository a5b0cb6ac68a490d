//! Refinements that people name: `@hot = through solve | hide module:libc.so.6`.
//!
//! They lie in a file of the user's, written like those of [sets](super::definitions): one a line,
//! a line that begins with white space goes on with the line above, `#` begins a comment line. In a
//! refinement, `@hot` alone stands for its stages. It is read where it stands, so what is made of
//! it, kept of it and printed of it has its stages and not its name.
//!
//! A refinement may name those above it in the file, so none lies inside itself. A name is that of
//! a set or of a refinement; where it would be both, it is the set.

use super::definitions::{SetText, head, is_name_character, replaced_in, statements};
use super::parser;
use super::sets::{Problem, RefinementLookup, SavedRefinement, SetLookup, Sets};
use super::stage::Refinement;

/// Stages that a name may stand for: those of a refinement that names others double quickly.
pub(crate) const MOST_STAGES: usize = 200;

/// Stages of all refinements of a file.
const MOST_STAGES_OF_FILE: usize = 20_000;

impl Sets {
    /// Reads refinements that may name the sets there are.
    pub fn read_refinements(&mut self, source: SetText<'_>) {
        let mut stages = 0;
        for found in statements(source.text) {
            let place = format!("{}:{}", source.place, found.line);
            if stages > MOST_STAGES_OF_FILE {
                let cause = "what begins here is not read: it is too much with what stands above";
                self.problems.push(Problem { place, name: None, cause: cause.to_owned() });
                break;
            }
            let (name, read) = match head(&found.text) {
                Ok((name, at)) => {
                    let read = self.saved(&name, &found.text[at..]);
                    (Some(name), read)
                }
                Err(_) => (None, Err("a refinement is written @name = stage | stage".to_owned())),
            };
            match (name, read) {
                (Some(name), Ok(refinement)) => {
                    stages += refinement.stages.len();
                    self.broken_refinements.remove(&name);
                    if let Some(before) = self.refinements.iter().find(|saved| saved.name == name) {
                        let cause = format!("replaces {}", before.place);
                        let (place, name) = (place.clone(), Some(name.clone()));
                        self.problems.push(Problem { place, name, cause });
                    }
                    self.refinements.retain(|before| before.name != name);
                    self.refinements.push(SavedRefinement { name, place, refinement });
                }
                (name, Err(cause)) => {
                    if let Some(name) = &name {
                        self.broken_refinements.insert(name.clone(), self.problems.len());
                        self.refinements.retain(|before| before.name != *name);
                    }
                    self.problems.push(Problem { place, name, cause });
                }
                (None, Ok(_)) => {}
            }
        }
        self.refinements.sort_by(|one, other| one.name.cmp(&other.name));
    }

    fn saved(&self, name: &str, text: &str) -> Result<Refinement, String> {
        if !matches!(self.find(name), SetLookup::Unknown) {
            return Err("this is the name of a set of frames, too".to_owned());
        }
        let refinement = parser::refinement_up_to(text, self, MOST_STAGES);
        let refinement = refinement.map_err(|error| error.in_one_line())?;
        match refinement.stages.is_empty() {
            true => Err("it has no stages".to_owned()),
            false => Ok(refinement),
        }
    }

    /// Whether a refinement of these stages can be saved under this name, with or without `@`, and
    /// in place of another one; returns the name.
    ///
    /// # Errors
    /// One sentence for people.
    pub fn free_name<'n>(&self, name: &'n str, replaces: bool) -> Result<&'n str, String> {
        let name = name.trim();
        let name = name.strip_prefix('@').unwrap_or(name);
        if name.is_empty() {
            return Err("the name is missing".to_owned());
        }
        if !name.chars().all(is_name_character) {
            return Err("a name has letters, digits, `_`, `-` and `.`".to_owned());
        }
        if !matches!(self.find(name), SetLookup::Unknown) {
            return Err(format!("@{name} is a set of frames already; choose another name"));
        }
        let is_there = !matches!(self.refinement(name), RefinementLookup::Unknown);
        match is_there && !replaces {
            true => Err(format!("@{name} is saved already; `{name}!` puts this in its place")),
            false => Ok(name),
        }
    }

    /// Whether a set of frames can be defined under this name: a refinement of the same name could
    /// not be used any more.
    ///
    /// # Errors
    /// One sentence for people.
    pub fn free_set_name(&self, name: &str) -> Result<(), String> {
        let is_new = matches!(self.find(name), SetLookup::Unknown);
        match self.refinement(name) {
            RefinementLookup::Saved(_) | RefinementLookup::Broken(_) if is_new => {
                Err(format!("@{name} is a refinement already; choose another name"))
            }
            _ => Ok(()),
        }
    }
}

/// The text of a file in which a refinement is saved anew: it is replaced where it stands, or added
/// at the end. Everything else stays as it is.
#[must_use]
pub fn saved_in(file: &str, name: &str, refinement: &str) -> String {
    replaced_in(file, name, &format!("@{name} = {refinement}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Sets {
        let mut sets = Sets::read(&[SetText { place: "sets", text: "@mine = {f, g}\n" }]);
        sets.read_refinements(SetText { place: "refinements", text });
        sets
    }

    #[test]
    fn a_name_stands_for_its_stages() {
        let sets =
            read("# what matters\n@hot = through @mine\n  | hide lib*\n@more = @hot | by module\n");
        assert_eq!(sets.problems(), []);
        let stages = |text: &str| sets.parse(text).unwrap().to_string();
        let hot = "through @mine | hide lib*";
        assert_eq!(stages("@hot"), hot);
        assert_eq!(stages("hide x | @more"), format!("hide x | {hot} | by module"));
        // A set alone is a stage, as before.
        assert_eq!(stages("@mine | @hot"), format!("{} | {hot}", stages("through @mine")));
    }

    #[test]
    fn what_cannot_be_used_says_why() {
        let sets =
            read("@a = hide\n@b = @a\n@mine = hide f\n@c = \nhide x\n@d = hide x\n@d = hide y\n");
        let problems: Vec<_> = sets.problems().iter().map(ToString::to_string).collect();
        for (problem, said) in problems.iter().zip([
            "refinements:1: @a: ",
            "refinements:2: @b: this refinement cannot be used",
            "refinements:3: @mine: this is the name of a set",
            "refinements:4: @c: it has no stages",
            "refinements:5: a refinement is written",
            "refinements:7: @d: replaces refinements:6",
        ]) {
            assert!(problem.starts_with(said), "{problem}");
        }
        assert_eq!(problems.len(), 6);
        let error = |text: &str| sets.parse(text).unwrap_err().in_one_line();
        assert!(error("@a").contains("cannot be used: refinements:1"), "{}", error("@a"));
        assert!(error("@dd").contains("@d"), "{}", error("@dd"));
        assert!(error("hide @d").contains("stands alone"), "{}", error("hide @d"));
        assert_eq!(sets.parse("@d").unwrap().to_string(), "hide y");
    }

    #[test]
    fn names_do_not_double_without_end() {
        let mut text = "@n0 = hide a | hide b\n".to_owned();
        for number in 1..40 {
            text.push_str(&format!("@n{number} = @n{0} | @n{0}\n", number - 1));
        }
        let sets = read(&text);
        assert!(sets.problems()[0].cause.contains("more than 200"), "{:?}", sets.problems());
        // Names are not written out beyond that: this would be 13 million stages.
        let mut text = "@n = ".to_owned() + &"hide a | ".repeat(199) + "hide a\n@m = ";
        text += &["@n"; 65_536].join("|");
        // Nor to see whether it would be right with `|`.
        let began = std::time::Instant::now();
        for end in ["", "| hide a;b"] {
            let sets = read(&(text.clone() + end));
            assert!(sets.problems()[0].cause.contains("more than 200"), "{:?}", sets.problems());
        }
        assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
    }

    #[test]
    fn names_are_read_until_they_are_too_much() {
        let mut text = "@m = ".to_owned() + &"hide a | ".repeat(199) + "hide a\n";
        (0..1000).for_each(|number| text += &format!("@n{number} = @m\n"));
        let sets = read(&text);
        assert_eq!(sets.refinements().len(), MOST_STAGES_OF_FILE / MOST_STAGES + 1);
        let problems: Vec<_> = sets.problems().iter().map(ToString::to_string).collect();
        assert!(problems[0].starts_with("refinements:102: what begins here"), "{problems:?}");
        assert_eq!(problems.len(), 1);
    }

    #[test]
    fn a_set_takes_no_name_of_a_refinement() {
        let sets = read("@hot = hide x\n@bad = hide\n");
        for (name, is_free) in [("hot", false), ("bad", false), ("mine", true), ("new", true)] {
            assert_eq!(sets.free_set_name(name).is_ok(), is_free, "{name}");
        }
    }

    #[test]
    fn a_name_is_free_or_replaced_knowingly() {
        let sets = read("@hot = hide x\n@bad = hide\n");
        assert_eq!(sets.free_name(" @cold ", false), Ok("cold"));
        for (name, cause) in
            [("hot", "hot!"), ("bad", "bad!"), ("mpi", "set"), ("a b", "letters"), ("@", "missing")]
        {
            let error = sets.free_name(name, false).unwrap_err();
            assert!(error.contains(cause), "{error}");
        }
        assert_eq!(sets.free_name("hot", true), Ok("hot"));
        let file = "# mine\n@hot = hide x\n  | hide y\n@b = hide z\n";
        assert_eq!(saved_in(file, "hot", "by file"), "# mine\n@hot = by file\n@b = hide z\n");
        assert_eq!(saved_in("@b = x", "hot", "by file"), "@b = x\n@hot = by file\n");
    }
}
