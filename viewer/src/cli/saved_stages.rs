//! The stages that a profile was saved with, which every refinement of it begins with.

use std::io;

use clap::Args;

use crate::print::{self, printable};
use crate::profile::Profile;
use crate::refine::{Refined, Refinement, Sets, Stage, has_regex};

/// Whether a profile's own stages count.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(super) struct SavedStages {
    /// Leave out the stages that the profile was saved with, such as the one of
    /// `record --python`, which hides CPython's interpreter
    #[arg(long)]
    no_saved_stages: bool,
}

/// A refinement that begins with a profile's own stages.
#[derive(Clone, Debug, Default)]
pub(super) struct Begun {
    /// All stages, with those that the user asked for.
    pub(super) refinement: Refinement,
    /// How many of them are the profile's.
    pub(super) saved: usize,
    /// Why others of the profile's are left out, for people.
    pub(super) left_out: Vec<String>,
}

impl Begun {
    /// Says on standard error which of the profile's stages count, for output that does not show
    /// them itself.
    ///
    /// # Errors
    ///
    /// When standard error cannot be written.
    pub(super) fn tell(&self) -> io::Result<()> {
        match self.of_profile() {
            Some(saved) => print::message(format_args!(
                "refined by `{saved}`, with which the profile was saved; --no-saved-stages leaves it out"
            )),
            None => Ok(()),
        }
    }

    /// The profile's stages that count, if there are any, as text for people.
    pub(super) fn of_profile(&self) -> Option<String> {
        let stages = self.refinement.stages[..self.saved].to_vec();
        (!stages.is_empty()).then(|| printable(&Refinement { stages }.to_string()).into_owned())
    }
}

impl SavedStages {
    /// The stages that the profile was saved with, then those that were `asked` for. What is asked
    /// for may begin with them, as a command line does that was made for another profile. Those of
    /// the profile that do not apply to it are left out.
    pub(super) fn before(self, asked: Refinement, profile: &Profile, sets: &Sets) -> Begun {
        let mut begun = Begun::default();
        let saved = &profile.info.stages;
        if self.no_saved_stages || saved.is_empty() {
            return Begun { refinement: asked, ..begun };
        }
        let mut refined = Refined::base(profile);
        for text in saved {
            let applied = read(text, sets).and_then(|stage| {
                let next = refined.then(&stage).map_err(|error| error.to_string())?;
                Ok((stage, next))
            });
            match applied {
                Ok((stage, next)) => {
                    begun.refinement.stages.push(stage);
                    refined = next;
                }
                Err(cause) => begun.left_out.push(format!(
                    "the profile was saved with the stage `{}`, which is left out: {}",
                    told(text),
                    told(&cause)
                )),
            }
        }
        begun.saved = begun.refinement.stages.len();
        if asked.stages.starts_with(&begun.refinement.stages) {
            begun.refinement = asked;
        } else {
            begun.refinement.stages.extend(asked.stages);
        }
        begun
    }
}

/// The one stage that a text of a profile stands for. A profile may come from anybody, so what can
/// take long is refused.
fn read(text: &str, sets: &Sets) -> Result<Stage, String> {
    if has_regex(text) {
        return Err("it has a regular expression, which may take long".to_owned());
    }
    let mut stages = sets.parse(text).map_err(|error| error.message)?.stages;
    match (stages.pop(), stages.is_empty()) {
        (Some(stage), true) => Ok(stage),
        _ => Err("it is not one stage".to_owned()),
    }
}

/// The beginning of what a file says, on one line.
fn told(text: &str) -> String {
    const MOST: usize = 120;
    let text = printable(text);
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::from_outline;
    use crate::refine::parse;

    fn profile(stages: &[&str]) -> Profile {
        let outline = "main 1\n  eval 3 module:/usr/bin/python3.12\n    burn 5\n";
        let mut profile = from_outline(outline).unwrap();
        profile.info.stages = stages.iter().map(|stage| (*stage).to_owned()).collect();
        profile
    }

    fn begun(stages: &[&str], asked: &str) -> (String, usize, Vec<String>) {
        let asked = parse(asked).unwrap();
        let begun = SavedStages::default().before(asked, &profile(stages), &Sets::default());
        (begun.refinement.to_string(), begun.saved, begun.left_out)
    }

    #[test]
    fn what_is_asked_for_comes_after_the_profile_s_own() {
        for (stages, asked, expected) in [
            (&[][..], "through burn", "through burn"),
            (&["hide @python"], "", "hide @python"),
            (&["hide @python"], "through burn", "hide @python | through burn"),
            // As the viewer's `:repro` writes it.
            (&["hide @python"], "hide @python | through burn", "hide @python | through burn"),
            (
                &["hide @python", "through burn"],
                "hide main",
                "hide @python | through burn | hide main",
            ),
        ] {
            let (text, saved, left_out) = begun(stages, asked);
            assert_eq!((&*text, saved, left_out.len()), (expected, stages.len(), 0));
        }
        let none = SavedStages { no_saved_stages: true };
        let begun =
            none.before(parse("hide main").unwrap(), &profile(&["hide @python"]), &Sets::default());
        assert_eq!((&*begun.refinement.to_string(), begun.saved), ("hide main", 0));
    }

    /// By a later version, or after a merge.
    #[test]
    fn what_does_not_apply_is_left_out_and_told() {
        let (text, saved, left_out) = begun(&["hide @mpi", "sing", "hide @python"], "hide main");
        assert_eq!((&*text, saved), ("hide @python | hide main", 1));
        assert!(left_out[0].contains("`hide @mpi`"), "{left_out:?}");
        assert!(left_out[1].contains("`sing`"), "{left_out:?}");
    }

    /// A profile may come from anybody.
    #[test]
    fn what_may_take_long_is_left_out_and_no_line_is_forged() {
        for stage in
            ["hide /a{60}b/", "where not (through /a/ or under x)", "hide a | hide b", "", " "]
        {
            let (text, saved, left_out) = begun(&[stage], "");
            assert_eq!((&*text, saved, left_out.len()), ("", 0, 1), "{stage}");
        }
        let long = "x".repeat(500);
        for stage in [&*format!("hide {long}"), "hide x\ncsprof: all is well", "\u{1b}[2J"] {
            let (_, _, left_out) = begun(&[stage], "");
            let said = &left_out[0];
            assert!(said.len() < 400 && !said.contains(char::is_control), "{said}");
        }
        let path = "hide module:/usr/bin/python3.12";
        assert_eq!(begun(&[path], ""), (path.to_owned(), 1, vec![]), "slashes of paths");
    }
}
