//! What is said when a profile is saved: names that were looked for, and the closing lines.

use std::ops::ControlFlow;
use std::path::Path;

use csprof_format::launch::Unit;
use csprof_format::profile::{self as saved, Exit};
use nix::sys::signal::Signal;

use super::progress::Progress;
use crate::left_out;
use crate::print;
use crate::profile::Profile;
use crate::symbols::cache::Cache;
use crate::symbols::{self, files::DiskFiles};
use crate::views::cost_lines::coverage;
use crate::views::names;
use crate::views::number::{Form, amount, count, counted};
use crate::views::printable::printable;
use crate::views::summary::{
    SourceSummary, Summary, clustered, signal, why_clustered, why_no_samples,
};

/// Signals that a shell does not tell of: people send one themselves, and the other is the end of a
/// pipe.
const SILENT: [u8; 2] = [Signal::SIGINT as u8, Signal::SIGPIPE as u8];

/// Names the frames of a profile by these files, until `stops` says that there is no time for more;
/// returns what is worth telling.
pub(super) fn resolve(
    profile: &mut saved::Profile,
    files: &DiskFiles,
    stops: &dyn Fn() -> bool,
) -> Vec<String> {
    let mut progress = Progress::new("resolving symbols");
    let mut stopped = false;
    let mut warnings = symbols::resolve(profile, files, |done, total| {
        progress.report(done, total);
        stopped |= done < total && stops();
        if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if stopped {
        warnings.push(
            "csprof was told to end before it had found all names; csprof symbolize adds them"
                .to_owned(),
        );
    }
    warnings
}

/// What is wrong with how a cache was asked for.
pub(super) fn told_of_cache() -> Vec<String> {
    let why = Cache::from_environment().err();
    why.map(|why| format!("warning: {why}")).into_iter().collect()
}

/// Says something on standard error; names and messages in it may come from the program or from a
/// file. The profile is saved by then, so that a standard error which takes no more (closed, a full
/// disk) changes nothing.
pub(super) fn tell(lines: &[String]) {
    for line in lines {
        let _ = print::message(printable(line));
    }
}

/// What is said at the end: where the profile is, what is in it, how to see it.
pub(super) fn summary(path: &Path, profile: &Profile) -> Vec<String> {
    let form = Form::Ascii;
    let summary = Summary::of(profile);
    let file = shown_path(path);
    let warnings = profile.info.run.warnings.iter();
    let mut lines: Vec<String> = warnings.map(|warning| format!("warning: {warning}")).collect();
    let cause = why_no_samples(profile, form);
    let mut told = told_by_processes(profile);
    // What is the cause is told as such below.
    told.retain(|line| !cause.as_ref().is_some_and(|cause| line.starts_with(cause.as_str())));
    lines.extend(told);
    lines.extend(killed(profile));
    lines.extend(cause.map(|cause| format!("no samples: {cause}")));
    lines.extend(told_clustered(profile));
    lines.extend(uncounted(&summary));
    if profile.total() > 0 {
        lines.extend(coverage(profile));
    }
    lines.extend(names::advice(profile, form));

    let mut parts = vec![samples(&summary, form)];
    if summary.partial > 0 {
        parts.push(format!("{} of them partial", count(summary.partial, form)));
    }
    if summary.lost() > 0 {
        let happened = summary.losses.iter().filter(|reason| reason.samples > 0);
        let reasons: Vec<String> =
            happened.map(|reason| format!("{} {}", reason.key, reason.samples)).collect();
        parts.push(format!("{} lost ({})", count(summary.lost(), form), reasons.join(", ")));
    }
    lines.push(format!("{file}: {}; csprof view {file}", parts.join(", ")));
    lines
}

/// `855 samples`; of several sources, `201 samples of cputime, 654 of realtime`; of what is no
/// time, how much each stands for.
fn samples(summary: &Summary, form: Form) -> String {
    // Nobody asked for the period of an event that was given none.
    let each = |source: &SourceSummary| match source.metric.is_time() {
        true => String::new(),
        false => format!(" (one each {})", amount(1, &source.metric, form)),
    };
    let (first, further) = match summary.sources.as_slice() {
        [first] if first.metric.is_time() => {
            return counted(summary.recorded, "sample", form);
        }
        [first, further @ ..] => (first, further),
        [] => return counted(summary.recorded, "sample", form),
    };
    let mut text = counted(first.samples.recorded, "sample", form);
    text.push_str(&format!(" of {}{}", first.metric.source, each(first)));
    for source in further {
        let samples = count(source.samples.recorded, form);
        text.push_str(&format!(", {samples} of {}{}", source.metric.source, each(source)));
    }
    text
}

/// What the collector left to say in the processes of the run, each thing once; those that are not
/// in the profile are added up.
fn told_by_processes(profile: &Profile) -> Vec<String> {
    const MOST: usize = 8;
    let messages = profile.info.processes.iter().flat_map(|process| &process.messages);
    let told = left_out::summed(messages.map(|message| &**message));
    let more = told.len().saturating_sub(MOST);
    let lines = told.iter().take(MOST).map(|(text, processes)| match processes {
        1 => text.clone(),
        _ => format!("{text} (in {processes} processes)"),
    });
    let more = (more > 0).then(|| format!("and {more} messages more; csprof info has them all"));
    lines.chain(more).collect()
}

/// Resources of which there are no samples.
fn uncounted(summary: &Summary) -> Vec<String> {
    let of = summary
        .sources
        .iter()
        .filter(|source| source.metric.unit == Unit::Units.name() && source.samples.delivered == 0);
    of.map(|source| {
        let (name, period) = (&source.metric.source, source.metric.period);
        format!(
            "no samples of {name}: the program did not call csprof_count(\"{name}\", …), or each \
             thread counted less than {period}"
        )
    })
    .collect()
}

/// Says that samples came in clusters: see [`clustered`].
fn told_clustered(profile: &Profile) -> Option<String> {
    let (signals, samples) = clustered(profile)?;
    let (why, finer) = why_clustered(profile);
    let finer = finer.map_or(String::new(), |source| format!(", and {source} sees finer detail"));
    Some(format!("{samples} samples came in {signals} signals: {why}; the counts are right{finer}"))
}

/// How a signal ended the program. A shell says so of programs that it has started itself, which
/// csprof takes from it.
fn killed(profile: &Profile) -> Option<String> {
    match profile.info.run.exit {
        Exit::Signal(number) if !SILENT.contains(&number) => {
            Some(format!("the program was killed by {}", signal(number)))
        }
        _ => None,
    }
}

/// The path as a person would type it here: relative if the file is in or below this folder.
pub(super) fn shown_path(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).display().to_string()
}
