//! `--derive`: columns by formulas over metrics, from the command line and the configuration file.

use anyhow::Result;
use clap::Args;

use super::exit_code::WrongUsage;
use crate::print::printable;
use crate::profile::Profile;
use crate::profile::derived::{EDGES, MOST, Unfit, Wanted};
use crate::refine::meant;

/// The option that has what the configuration file says.
pub(super) const CONFIGURED: &str = "configured-derived";

/// Derived metrics.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct Derive {
    /// Add columns of a derived metric: `'ipc = instructions / cycles'`, `'cpu = cputime / realtime
    /// as percent'`; metrics, `edges`, numbers, + - * /, parentheses, `incl(METRIC)`,
    /// `excl(METRIC)`, `"METRIC"` in quotes for any name
    #[arg(long, value_name = "NAME = FORMULA", value_parser = wanted)]
    derive: Vec<Wanted>,
    /// What the configuration file says.
    #[arg(long = CONFIGURED, hide = true, value_parser = wanted)]
    configured: Vec<Wanted>,
}

impl Derive {
    /// Whether the command line asks for one.
    pub(super) const fn is_asked(&self) -> bool {
        !self.derive.is_empty()
    }

    /// The metrics that formulas name, of those that are known, each once: of the configuration
    /// file only those of formulas all of whose names are known.
    pub(super) fn sources(&self, is_known: impl Fn(&str) -> bool) -> Vec<&str> {
        let mut sources = Vec::new();
        let is_fit = |wanted: &&Wanted| wanted.names().all(|name| name == EDGES || is_known(name));
        for name in
            self.configured.iter().filter(is_fit).chain(&self.derive).flat_map(Wanted::names)
        {
            if is_known(name) && !sources.contains(&name) {
                sources.push(name);
            }
        }
        sources
    }

    /// The profile with the derived metrics that are ready, those of the configuration file that
    /// fit it, and those that were asked for. A comparison has none that nobody has named.
    ///
    /// # Errors
    ///
    /// [`WrongUsage`] if one of the last does not fit.
    pub(super) fn begun(&self, mut profile: Profile) -> Result<Profile> {
        if profile.comparison.is_none() {
            profile.derive_ready();
        }
        for wanted in &self.configured {
            // The file is for other profiles, too.
            let _ = profile.derive(wanted);
        }
        self.added(profile)
    }

    /// The profile with those that were asked for.
    ///
    /// # Errors
    ///
    /// [`WrongUsage`] if one does not fit.
    pub(super) fn added(&self, mut profile: Profile) -> Result<Profile> {
        for wanted in &self.derive {
            let fitted = profile.derive(wanted);
            fitted.map_err(|unfit| WrongUsage(told(wanted, &unfit, &profile)))?;
        }
        Ok(profile)
    }
}

/// Why a derived metric is none of a profile.
fn told(wanted: &Wanted, unfit: &Unfit, profile: &Profile) -> String {
    let name = printable(&wanted.name);
    let cause = match unfit {
        Unfit::NoMetric(metric, _) if metric == EDGES => {
            "edges have no incl or excl, and stand without quotes: `edges`".to_owned()
        }
        Unfit::NoMetric(metric, at) => {
            let formula = wanted.formula.as_ref().map_or("", |formula| &formula.text);
            let names = || profile.metrics_of_formulas().map(|(_, of)| of.source.as_str());
            let near = meant(metric, names().chain([EDGES]));
            let hint = match metric.contains('-') {
                true => "; a minus between two metrics has spaces around it",
                false => "",
            };
            let name = printable(metric);
            let cause = match profile.comparison.is_some() {
                true => format!("no metric `{name}` that is alike in all these profiles{near}"),
                false => {
                    format!(
                        "no metric `{name}` in this profile{near}; it has {}",
                        profile.sources()
                    )
                }
            };
            let (formula, before) = (printable(formula), " ".repeat(*at));
            format!("{cause}{hint}\n  {formula}\n  {before}^")
        }
        Unfit::IsMetric => "this is what a metric is called; choose another name".to_owned(),
        Unfit::TooMany => format!("a profile has {MOST} derived metrics at most"),
    };
    format!("--derive: {name}: {cause}")
}

fn wanted(text: &str) -> Result<Wanted, String> {
    Wanted::parse(text).map_err(|problem| problem.to_string())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::profile::from_outline;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        derive: Derive,
    }

    fn derived(words: &[&str]) -> Result<String> {
        let line = Line::try_parse_from([&["csprof"], words].concat())?;
        let profile = from_outline("main 9 realtime:3\n").unwrap();
        let profile = line.derive.begun(profile)?;
        let text = |of: &crate::profile::derived::Derived| format!("{}={}", of.name, of.formula);
        Ok(profile.derived.iter().map(text).collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn what_is_asked_for_counts_more_than_the_file_and_that_more_than_what_is_ready() {
        let cpu = "cpu=cputime / realtime as percent";
        assert_eq!(derived(&[]).unwrap(), cpu);
        let file = ["--configured-derived", "ipc = x / y", "--configured-derived", "a = cputime"];
        assert_eq!(derived(&file).unwrap(), format!("{cpu}; a=cputime"));
        let both = [&file[..], &["--derive", "a=2*realtime", "--derive", "cpu ="]].concat();
        assert_eq!(derived(&both).unwrap(), "a=2*realtime");
    }

    /// Of the file only formulas all of whose metrics are there: a comparison gets no more than it
    /// shows.
    #[test]
    fn sources_are_those_that_are_known() {
        let words = [
            "csprof",
            "--configured-derived",
            "ipc = realtime / cycles",
            "--configured-derived",
            "each = cputime / edges",
            "--derive",
            "x = cputime + alloc",
        ];
        let line = Line::try_parse_from(words).unwrap();
        let is_known = |name: &str| ["cputime", "realtime"].contains(&name);
        assert_eq!(line.derive.sources(is_known), ["cputime"]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let told = |text: &str| derived(&["--derive", text]).unwrap_err().to_string();
        let missing = told("x = 2 * realtme");
        assert!(missing.contains("the nearest is `realtime`"), "{missing}");
        assert!(missing.ends_with("\n   2 * realtme\n       ^"), "{missing}");
        let joined = told("x = cputime-realtime");
        assert!(joined.contains("a minus between two metrics has spaces"), "{joined}");
        assert!(told("x = incl(edges)").contains("edges have no incl or excl"));
        assert!(told("realtime = 2").contains("choose another name"));
        assert!(told("x = 2 +").contains("column 8: expected a number"), "{}", told("x = 2 +"));
    }
}
