//! The stages that a profile was saved with, which every refinement of it begins with.

use std::io;

use clap::Args;

use crate::print::{self, printable};
use crate::profile::merge::CommonStages;
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
    /// How many of them are the profile's, which are applied already.
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
    /// Says which stages are left out of profiles that are shown together, if any count.
    ///
    /// # Errors
    ///
    /// When standard error cannot be written.
    pub(super) fn tell_left_out(self, stages: &CommonStages) -> io::Result<()> {
        self.left_out(stages).iter().try_for_each(print::message)
    }

    fn left_out(self, stages: &CommonStages) -> Vec<String> {
        if self.no_saved_stages { Vec::new() } else { stages.left_out() }
    }

    /// The stages that the profile was saved with, then those that were `asked` for, and the
    /// profile refined by the first ones, which is given without any. What is asked for may begin
    /// with them, as a command line does that was made for another profile, or hide what they
    /// hide. Those of the profile that do not apply to it are left out.
    pub(super) fn before(self, asked: Refinement, base: &Refined, sets: &Sets) -> (Begun, Refined) {
        let profile = &base.profile;
        let mut begun = Begun::default();
        let mut refined = base.clone();
        let texts = if self.no_saved_stages { &[][..] } else { &profile.info.stages[..] };
        for text in texts {
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
        let saved = &mut begun.refinement.stages;
        begun.saved = saved.len();
        if asked.stages.starts_with(saved) {
            *saved = asked.stages;
        } else {
            let hides_alone = saved.iter().all(|stage| matches!(stage, Stage::Hide(_)));
            let is_done = |stage: &Stage| hides_alone && is_hidden(stage, base, &refined);
            saved.extend(asked.stages.into_iter().skip_while(is_done));
        }
        (begun, refined)
    }
}

/// Whether a stage hides frames of the profile that are all hidden here.
fn is_hidden(stage: &Stage, base: &Refined, here: &Refined) -> bool {
    let Stage::Hide(pattern) = stage else { return false };
    let has = |refined: &Refined| !refined.matching(pattern).functions.is_empty();
    !has(here) && has(base)
}

/// The one stage that a text of a profile stands for. A profile may come from anybody, so what can
/// take long is refused.
fn read(text: &str, sets: &Sets) -> Result<Stage, String> {
    const QUICK: &str = "it may take long; a file's stages hide, stop, cut, group, collapse or \
                         select, without regular expressions";
    // Before one is compiled.
    if has_regex(text) {
        return Err(QUICK.to_owned());
    }
    let mut stages = sets.parse(text).map_err(|error| error.in_one_line())?.stages;
    match (stages.pop(), stages.is_empty()) {
        (Some(stage), true) if stage.is_quick() => Ok(stage),
        (Some(_), true) => Err(QUICK.to_owned()),
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
    use crate::profile::{Profile, from_outline};
    use crate::refine::{SetText, parse};

    fn profile(stages: &[&str]) -> Profile {
        let outline = "main 1\n  eval 3 module:/usr/bin/python3.12\n    burn 5\n";
        let mut profile = from_outline(outline).unwrap();
        profile.info.stages = stages.iter().map(|stage| (*stage).to_owned()).collect();
        profile
    }

    fn begun_with(stages: &[&str], asked: &str, sets: &Sets) -> (String, usize, Vec<String>) {
        let asked = sets.parse(asked).unwrap();
        let profile = profile(stages);
        let (begun, refined) = SavedStages::default().before(asked, &Refined::base(&profile), sets);
        assert_eq!(refined.outcomes.len(), begun.saved);
        // What is asked for applies to what they leave.
        let rest = &begun.refinement.stages[begun.saved..];
        refined.refine_unwatched(rest).unwrap();
        (begun.refinement.to_string(), begun.saved, begun.left_out)
    }

    fn begun(stages: &[&str], asked: &str) -> (String, usize, Vec<String>) {
        begun_with(stages, asked, &Sets::default())
    }

    #[test]
    fn what_is_asked_for_comes_after_the_profile_s_own() {
        const SAVED: &str = "hide module:python3.1?";
        for (stages, asked, expected) in [
            (&[][..], "through burn", "through burn"),
            (&[SAVED], "", "hide module:python3.1?"),
            (&[SAVED], "through burn", "hide module:python3.1? | through burn"),
            // As the viewer's `:repro` writes it.
            (
                &[SAVED],
                "hide module:python3.1? | through burn",
                "hide module:python3.1? | through burn",
            ),
            (
                &[SAVED, "through burn"],
                "hide main",
                "hide module:python3.1? | through burn | hide main",
            ),
            // What they hide already.
            (&[SAVED], "hide @python", "hide module:python3.1?"),
            (&[SAVED], "hide eval", "hide module:python3.1?"),
            (
                &[SAVED],
                "hide @python | hide eval | through burn",
                "hide module:python3.1? | through burn",
            ),
            (
                &[SAVED],
                "hide {@python, main} | through burn",
                "hide module:python3.1? | hide {@python, main} | through burn",
            ),
        ] {
            let (text, saved, left_out) = begun(stages, asked);
            assert_eq!((&*text, saved, left_out.len()), (expected, stages.len(), 0));
        }
        let none = SavedStages { no_saved_stages: true };
        let (begun, refined) = none.before(
            parse("hide main").unwrap(),
            &Refined::base(&profile(&[SAVED])),
            &Sets::default(),
        );
        assert_eq!((&*begun.refinement.to_string(), begun.saved), ("hide main", 0));
        assert!(refined.outcomes.is_empty());
    }

    #[test]
    fn what_the_user_leaves_out_is_not_told() {
        let mut stages = CommonStages::default();
        for (name, stage) in [("a", "hide x"), ("b", "hide y")] {
            stages.add(name, &[stage.to_owned()]);
        }
        assert_eq!(SavedStages::default().left_out(&stages).len(), 2);
        assert!(SavedStages { no_saved_stages: true }.left_out(&stages).is_empty());
    }

    /// What finds nothing for another reason stays, and is refused where it is applied.
    #[test]
    fn what_hides_nothing_at_all_is_no_repetition() {
        for (stages, asked) in [
            (&["hide module:python3.1?"][..], "hide nothing"),
            (&["cut eval"], "hide eval"),
            (&["where through eval"], "hide nothing"),
        ] {
            let asked = parse(asked).unwrap();
            let profile = profile(stages);
            let (begun, refined) = SavedStages::default().before(
                asked.clone(),
                &Refined::base(&profile),
                &Sets::default(),
            );
            assert_eq!(begun.refinement.stages[1..], asked.stages, "{stages:?}");
            assert!(refined.refine_unwatched(&asked.stages).is_err());
        }
    }

    /// By a later version, or after a merge.
    #[test]
    fn what_does_not_apply_is_left_out_and_told() {
        let (text, saved, left_out) =
            begun(&["hide @mpi", "sing", "hide eval", "hide @mine"], "hide main");
        assert_eq!((&*text, saved), ("hide eval | hide main", 1));
        assert!(left_out[0].contains("`hide @mpi`"), "{left_out:?}");
        assert!(left_out[1].contains("`sing`"), "{left_out:?}");
        // A whole sentence, cut short.
        assert!(
            left_out[2].contains("there is no such set; sets are: @mpi, @openmp"),
            "{left_out:?}"
        );
    }

    /// A profile may come from anybody. All of these would find something in it.
    #[test]
    fn what_may_take_long_is_left_out_and_no_line_is_forged() {
        let text = "@slow = {eval, /bu{60}rn/}\n@quick = {eval, burn}\n";
        let sets = Sets::read(&[SetText { place: "sets", text }]);
        for (stage, cause) in [
            ("hide /b{1}urn/", "may take long"),
            ("where not (through /burn/ or under main)", "may take long"),
            ("hide @slow", "may take long"),
            ("where through main >> {eval, !@slow}", "may take long"),
            ("through main and times(burn) >= 1", "may take long"),
            ("where node[incl(time) > 0.1%]", "may take long"),
            ("callers of burn", "may take long"),
            ("root at eval", "may take long"),
            ("fold eval", "may take long"),
            ("by module", "may take long"),
            ("split thread", "may take long"),
            ("small incl(time) < 90%", "may take long"),
            ("hide eval | hide burn", "not one stage"),
            ("", "not one stage"),
            (" ", "not one stage"),
        ] {
            let (text, saved, left_out) = begun_with(&[stage], "", &sets);
            assert_eq!((&*text, saved, left_out.len()), ("", 0, 1), "{stage}");
            let said = left_out[0].rsplit_once("left out: ").unwrap().1;
            assert!(said.contains(cause), "{stage}: {said}");
        }
        for stage in [
            "hide @quick",
            "stop at eval",
            "cut eval",
            "group eval as x",
            "collapse burn",
            "collapse-run burn",
            "through main >> burn",
            "under eval or depth > 1",
        ] {
            let (_, saved, left_out) = begun_with(&[stage], "", &sets);
            assert_eq!((saved, left_out), (1, vec![]), "{stage}");
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
