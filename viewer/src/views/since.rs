//! What became of an entry of the ledger since it was made: before, now, and what sampling alone
//! may make of that.

use std::collections::BTreeSet;
use std::sync::Arc;

use csprof_format::ids::ProcessId;
use csprof_format::profile::{Exit, Metric, RunInfo};

use super::notes::{Entry, Note, Then};
use crate::profile::comparison::{Comparison, Scale, Side, SideRun};
use crate::refine::Refined;

/// What became of a path since it was entered.
#[derive(Clone, Debug)]
pub enum Since {
    /// It was entered in this very run.
    SameRun,
    /// Samples before and now, and what they are compared in.
    Compared(Box<Comparison>, [u64; 2]),
    /// They do not compare, for this reason.
    NotComparable(String),
}

/// Compares what a path cost when it was entered with what it costs in what is shown, under these
/// stages. `None` samples: the path is not there.
#[must_use]
pub fn since(note: &Note, samples: Option<u64>, refined: &Refined, stages: &str) -> Since {
    let Some(Entry { then, .. }) = &note.entry else { return Since::SameRun };
    match compared(then, samples, refined, stages) {
        Since::Compared(..) if note.has_nameless() => Since::NotComparable(
            "its path has code without names, whose addresses may mean something else in this run"
                .to_owned(),
        ),
        since => since,
    }
}

fn compared(then: &Then, samples: Option<u64>, refined: &Refined, stages: &str) -> Since {
    let info = &refined.profile.info;
    let run = &info.run;
    let no = |why: String| Since::NotComparable(why);
    // Before the run itself: a profile of several has the number of its first.
    if then.runs.max(1) != info.runs.len().max(1) {
        return no(match then.runs {
            0 | 1 => "this profile is of several runs".to_owned(),
            runs => format!("it was entered in a profile of {runs} runs"),
        });
    }
    if then.run == format!("{:032x}", run.id()) {
        return Since::SameRun;
    }
    if !info.runs.is_empty() {
        return no("this profile is of several runs".to_owned());
    }
    if run.start_unix_ns < then.start_unix_ns {
        return no("this run is older than the one in which it was entered".to_owned());
    }
    if !then.is_whole {
        return no(
            "an earlier csprof entered it, which took called and inlined code apart; enter it \
                   anew"
                .to_owned(),
        );
    }
    if let Some(why) = ended_otherwise(then.exit, run.exit) {
        return no(why.to_owned());
    }
    if then.lost > 0 || refined.profile.lost() > 0 {
        return no("samples were lost in one of the two runs".to_owned());
    }
    let metric = refined.looked_at();
    if (&*then.source, &*then.unit) != (&*metric.source, &*metric.unit) {
        let has_it = refined.profile.metrics().any(|(_, metric)| metric.source == then.source);
        let other = match has_it {
            true => format!("--metric {} compares it", then.source),
            false => format!("this profile has {} alone", metric.source),
        };
        return no(format!("it was measured by {}; {other}", then.source));
    }
    let command = run.command.iter().map(|word| String::from_utf8_lossy(word).into_owned());
    if !command.eq(then.command.iter().cloned()) {
        return no(format!("another command line: it was `{}`", then.command.join(" ")));
    }
    if then.stages != stages {
        return no(match &*then.stages {
            "" => "it was entered without stages".to_owned(),
            before => format!("it was entered under other stages: --refine '{before}'"),
        });
    }
    let Some(samples) = samples else {
        return no("the path is not in this profile: gone, or called by other names".to_owned());
    };
    let side = |name: &str, metric: Metric| Side {
        name: name.to_owned(),
        runs: vec![SideRun {
            name: name.to_owned(),
            total: 0,
            parts: 1,
            first: ProcessId::from_index(0),
        }],
        run: RunInfo::default(),
        metric,
        total: 0,
        lost: 0,
        summed: BTreeSet::new(),
    };
    let before = Metric { period: then.period, ..metric.clone() };
    let comparison = Comparison {
        sides: [side("before", before), side("now", metric.clone())],
        first_other: ProcessId::from_index(0),
        hosts: Arc::default(),
        scale: Scale::Amount,
        scaling: None,
        further: Vec::new(),
        moments: None,
    };
    Since::Compared(Box::new(comparison), [then.samples, samples])
}

/// Why two runs that ended in these ways may not have done the same.
fn ended_otherwise(then: Exit, now: Exit) -> Option<&'static str> {
    match (then, now) {
        (Exit::Unknown, _) | (_, Exit::Unknown) => {
            Some("how one of the two runs ended is not known")
        }
        (Exit::Signal(_), _) | (_, Exit::Signal(_)) => {
            Some("one of the two runs was ended by a signal")
        }
        _ if then != now => Some("the two runs ended with another status"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::from_outline;
    use crate::views::difference::Difference;

    #[test]
    fn only_what_was_measured_alike_is_compared() {
        let mut profile = from_outline("main 10\n  solve 400\n").unwrap();
        profile.info.run.command = vec![b"./solver".to_vec(), b"big".to_vec()];
        (profile.info.run.exit, profile.info.run.start_unix_ns) = (Exit::Status(0), 9);
        let shown = Refined::base(&profile);
        let metric = shown.looked_at();
        let then = Then {
            run: "another".to_owned(),
            command: vec!["./solver".to_owned(), "big".to_owned()],
            source: metric.source.clone(),
            unit: metric.unit.clone(),
            period: metric.period,
            samples: 600,
            stages: String::new(),
            is_whole: true,
            exit: Exit::Status(0),
            start_unix_ns: 5,
            ..Then::default()
        };
        let Since::Compared(comparison, samples) = compared(&then, Some(400), &shown, "") else {
            panic!("not compared")
        };
        let difference = Difference::new(&comparison, samples);
        assert!(difference.is_significant() && difference.plain_delta() < 0);
        let small = Difference::new(&comparison, [410, 400]);
        assert!(!small.is_significant());
        let why = |then: &Then, samples, stages| match compared(then, samples, &shown, stages) {
            Since::NotComparable(why) => why,
            other => format!("{other:?}"),
        };
        let other = Then { source: "realtime".to_owned(), ..then.clone() };
        assert!(why(&other, Some(1), "").starts_with("it was measured by realtime"));
        let other = Then { command: vec!["./solver".to_owned()], ..then.clone() };
        assert!(why(&other, Some(1), "").starts_with("another command line"));
        assert!(why(&then, Some(1), "hide x").starts_with("it was entered without"));
        assert!(why(&then, None, "").starts_with("the path is not in this profile"));
        // What may be another amount for another reason.
        let killed = Then { exit: Exit::Signal(9), ..then.clone() };
        assert!(why(&killed, Some(1), "").contains("by a signal"));
        let lossy = Then { lost: 1, ..then.clone() };
        assert!(why(&lossy, Some(1), "").contains("lost"));
        let later = Then { start_unix_ns: 10, ..then.clone() };
        assert!(why(&later, Some(1), "").contains("older"));
        let part = Then { is_whole: false, ..then.clone() };
        assert!(why(&part, Some(1), "").contains("inlined"));
        // Entered in a profile of two runs, of which this is the first.
        let run = format!("{:032x}", profile.info.run.id());
        let merged = Then { runs: 2, run, ..then.clone() };
        assert!(why(&merged, Some(1), "").contains("2 runs"));
        let same = Then { run: format!("{:032x}", profile.info.run.id()), ..then };
        assert!(matches!(compared(&same, Some(1), &shown, "x"), Since::SameRun));
    }
}
