//! `csprof control`

use std::ffi::OsStr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use csprof_format::launch::control::RATE;
use csprof_format::launch::{SampleSource, Trigger, Unit};

use super::closing::tell;
use super::event::{Asked, parse};
use super::exit_code::{self, WrongUsage};
use super::snapshot::save_snapshot;
use crate::launch::control::State;
use crate::launch::output::Output;
use crate::launch::run_phases;
use crate::launch::running::{self, Running};
use crate::refine::meant;

const EXAMPLES: &str = "\
A run is named by the process id of its `csprof record` or of any of its processes, or by its run \
folder; the only one that goes on needs no name. Threads notice when their next sample is due, and \
none is interrupted for it.

Examples:
  csprof control                             is something being recorded?
  csprof control 4711 pause
  csprof control 4711 rate cputime@50
  csprof control 4711 phase warm             then: csprof report FILE --refine 'phase = warm'
  csprof control snapshot now.csprof         of the only run";

/// What can be done with a run.
struct Action {
    name: &'static str,
    /// What stands behind it, for help.
    operand: &'static str,
    /// How many words stand behind it.
    words: RangeInclusive<usize>,
    /// What is said of more or fewer; empty where none may stand behind it.
    wrong: &'static str,
    /// What it does, for help.
    help: &'static str,
    /// Does it; says what was done, if that is to be told.
    act: fn(&Control, &Running, &str) -> Result<Option<String>>,
}

/// One with nothing behind its name.
const fn alone(
    name: &'static str,
    help: &'static str,
    act: fn(&Control, &Running, &str) -> Result<Option<String>>,
) -> Action {
    Action { name, operand: "", words: 0..=0, wrong: "", help, act }
}

/// All of them, in the order of help. The first is that of no word.
static ACTIONS: [Action; 7] = [
    alone("status", "what the run is told at present", |_, run, _| {
        Ok(Some(status(run, &run.control()?.state()?)))
    }),
    alone(
        "pause",
        "nothing is sampled from now on; what passes meanwhile is no time of the run",
        |_, run, _| {
            let is_new = run.control()?.pause()?;
            Ok(Some(if is_new { "paused" } else { "it was paused already" }.to_owned()))
        },
    ),
    alone("resume", "sampled again", |_, run, _| {
        let is_new = run.control()?.resume()?;
        Ok(Some(if is_new { "resumed" } else { "it was not paused" }.to_owned()))
    }),
    Action {
        name: "rate",
        operand: " SOURCE@RATE",
        words: 1..=1,
        wrong: "rate wants a source and its rate: rate cputime@50",
        help: "so many samples per second, at most as many as the run began with: each stands for \
               several of its periods, so sums stay what they are",
        act: |_, run, operand| set_rate(run, operand).map(Some),
    },
    Action {
        name: "phase",
        operand: " NAME",
        words: 0..=1,
        wrong: "phase wants one word at most: quote a name of several",
        help: "a phase of this name begins in all processes, as csprof_phase begins one in a \
               program; without a name it ends, and the program's own phases go on",
        act: |_, run, operand| set_phase(run, operand).map(Some),
    },
    alone("stop", "nothing is sampled any more, for good; the program goes on", |_, run, _| {
        run.control()?.stop("")?;
        Ok(Some("stopped for good; the program goes on".to_owned()))
    }),
    Action {
        name: "snapshot",
        operand: " FILE",
        words: 1..=1,
        wrong: "snapshot wants the file to save: snapshot now.csprof",
        help: "save a profile of what was sampled so far",
        act: |asked, run, operand| {
            let file = PathBuf::from(operand);
            let output = Output::new(Some(&file), OsStr::new(operand), asked.force)?;
            save_snapshot(run, &output, !asked.no_symbols)?;
            Ok(None)
        },
    },
];

/// The actions, and examples.
fn after_help() -> String {
    let line = |action: &Action| {
        let written = format!("{}{}", action.name, action.operand);
        format!("  {written:<20} {}\n", action.help)
    };
    format!("Actions:\n{}\n{EXAMPLES}", ACTIONS.iter().map(line).collect::<String>())
}

/// Pause, resume or stop sampling of a running program, change its rate, begin a phase, or save
/// what it has so far
#[derive(Debug, Args)]
#[command(after_help = after_help(), override_usage = "csprof control [OPTIONS] [RUN] [ACTION]")]
pub struct Control {
    /// Which run, and what is to be done; without an action, its status
    #[arg(value_name = "RUN] [ACTION", num_args = 0..)]
    words: Vec<String>,
    /// Replace the file of a snapshot if it exists
    #[arg(short, long)]
    force: bool,
    /// Save addresses without function names; `csprof symbolize` adds them
    #[arg(long)]
    no_symbols: bool,
}

/// What the command line asks for.
struct Words<'w> {
    run: Option<&'w str>,
    action: &'static Action,
    operand: &'w str,
}

impl<'w> Words<'w> {
    /// Takes the words apart.
    fn of(words: &'w [String]) -> Result<Self, WrongUsage> {
        let named = |word: &str| ACTIONS.iter().find(|action| action.name == word);
        let mut rest = words.iter().map(String::as_str).peekable();
        let run = rest.next_if(|word| named(word).is_none());
        let word = rest.next().unwrap_or(ACTIONS[0].name);
        let action = named(word);
        // A lone word that is no action is a run's name, or a misspelt action.
        let looks_like_run = |word: &str| word.contains('/') || word.parse::<u32>().is_ok();
        let unknown = match action {
            None => Some(word),
            Some(_) => run.filter(|word| words.len() == 1 && !looks_like_run(word)),
        };
        let Some(action) = action.filter(|_| unknown.is_none()) else {
            let unknown = unknown.unwrap_or(word);
            let names = ACTIONS.each_ref().map(|action| action.name);
            let near = meant(unknown, names.into_iter());
            let names = names.join(", ");
            return Err(WrongUsage(format!("there is no action `{unknown}`{near} (of {names})")));
        };
        let operands: Vec<&str> = rest.collect();
        if !action.words.contains(&operands.len()) {
            return Err(WrongUsage(match action.wrong {
                "" => format!("nothing stands behind {word}"),
                wrong => wrong.to_owned(),
            }));
        }
        Ok(Self { run, action, operand: operands.first().copied().unwrap_or_default() })
    }
}

impl Control {
    /// Does what was asked.
    ///
    /// # Errors
    ///
    /// When there is no such run or action, or it cannot be done.
    pub fn run(&self) -> Result<ExitCode> {
        let Words { run, action, operand } = Words::of(&self.words)?;
        let run = running::find(run)?;
        if let Some(done) = (action.act)(self, &run, operand)? {
            tell(&[format!("{run}: {done}")]);
        }
        Ok(exit_code::DONE)
    }
}

/// Has a source be sampled at another rate; says which it is.
fn set_rate(run: &Running, text: &str) -> Result<String> {
    let Asked(asked) = parse(text).map_err(WrongUsage)?;
    let [asked] = asked[..] else { bail!(WrongUsage(format!("{text} names several sources"))) };
    if !text.contains('@') {
        bail!(WrongUsage(format!("a rate stands behind the source: {text}@50")));
    }
    let is_it = |source: &SampleSource| source.name() == asked.name();
    let Some((metric, source)) = run.sources.iter().enumerate().find(|(_, source)| is_it(source))
    else {
        let names: Vec<String> = run.sources.iter().map(|source| source.name().into()).collect();
        bail!("the run does not sample {}; it samples {}", asked.name(), names.join(", "));
    };
    let properties = source.kind.properties();
    if properties.trigger == Trigger::Call || properties.unit != Unit::Nanoseconds {
        bail!("{}: only the rate of a source of time can be changed", source.name());
    }
    let every = (asked.period as f64 / source.period as f64).round();
    if every < 1.0 || asked.period < source.period {
        bail!(
            "{}: the run began with {}, and no more samples are to be had in it; start it with the \
             higher rate",
            source.name(),
            rate_of(source.period, 1)
        );
    }
    // No less than one in ten seconds of the shortest period.
    let every = every as u32;
    let rate = rate_of(source.period, every);
    let stands_for = match every {
        1 => "one of its periods".to_owned(),
        _ => format!("{every} of its periods"),
    };
    let text = format!("{} was {rate} (a sample stands for {stands_for})", source.name());
    run.control()?.set_rate(metric, every, &format!("{RATE}{text}"))?;
    Ok(format!("{RATE}{} is {rate}: a sample stands for {stands_for}", source.name()))
}

/// Has all processes be in the phase of this name, or in none but their own; says which it is.
fn set_phase(run: &Running, name: &str) -> Result<String> {
    let control = run.control()?;
    Ok(match name {
        "" if run_phases::end(&control)? => "the phase has ended".to_owned(),
        "" => "no phase of csprof control was going on".to_owned(),
        _ if run_phases::begin(&run.folder, &control, name)? => format!("phase {name}"),
        _ => format!("it was in phase {name} already"),
    })
}

/// `50/s`.
fn rate_of(period_ns: u64, every: u32) -> String {
    let rate = 1e9 / (period_ns as f64 * f64::from(every));
    let decimals = if rate < 10.0 { 2 } else { 0 };
    format!("{rate:.decimals$}/s")
}

/// What a run is told.
fn status(run: &Running, state: &State) -> String {
    let how = match (state.is_stopped, state.clock.is_paused(), state.begun) {
        (true, ..) => "stopped for good",
        (_, true, 0) => "paused since its start",
        (_, true, _) => "paused",
        _ => "sampled",
    };
    let timed = run.sources.iter().zip(state.every);
    let rates: Vec<String> = timed
        .map(|(source, every)| {
            let properties = source.kind.properties();
            match properties.unit == Unit::Nanoseconds && properties.trigger != Trigger::Call {
                true => format!("{} {}", source.name(), rate_of(source.period, every)),
                false => source.name().to_owned(),
            }
        })
        .collect();
    let processes = match run.processes.len() {
        1 => "1 process".to_owned(),
        processes => format!("{processes} processes"),
    };
    let phase = run_phases::name(&run.folder, state.phase);
    let phase = phase.map_or_else(String::new, |name| format!(", phase {name}"));
    let folder = run.folder.display();
    format!("{how}{phase}, {}, {processes}, {folder}", rates.join(", "))
}

/// How long between two looks at a run that goes on.
pub(super) const LOOK: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        control: Control,
    }

    fn words(line: &str) -> Result<(Option<String>, String, String), String> {
        let line = std::iter::once("control").chain(line.split_whitespace());
        let line = Line::try_parse_from(line).map_err(|refused| refused.to_string())?;
        let words = Words::of(&line.control.words).map_err(|wrong| wrong.0)?;
        Ok((words.run.map(str::to_owned), words.action.name.into(), words.operand.into()))
    }

    #[test]
    fn the_run_may_be_left_out() {
        let right = |run: Option<&str>, action: &str, operand: &str| {
            Ok((run.map(str::to_owned), action.to_owned(), operand.to_owned()))
        };
        assert_eq!(words(""), right(None, "status", ""));
        assert_eq!(words("4711"), right(Some("4711"), "status", ""));
        assert_eq!(words("pause"), right(None, "pause", ""));
        assert_eq!(words("/dev/shm/x stop"), right(Some("/dev/shm/x"), "stop", ""));
        assert_eq!(words("rate cputime@50"), right(None, "rate", "cputime@50"));
        assert_eq!(words("7 snapshot a.csprof"), right(Some("7"), "snapshot", "a.csprof"));
        assert_eq!(words("phase"), right(None, "phase", ""));
        assert_eq!(words("7 phase pause"), right(Some("7"), "phase", "pause"));
    }

    #[test]
    fn what_is_no_action_is_told_with_the_nearest() {
        for line in ["4711 puase", "puase"] {
            let wrong = words(line).unwrap_err();
            assert!(
                wrong.starts_with("there is no action `puase`; the nearest is `pause`"),
                "{wrong}"
            );
        }
        assert!(words("4711 rate").unwrap_err().starts_with("rate wants"));
        assert!(words("snapshot").unwrap_err().starts_with("snapshot wants"));
        for line in ["phase warm up", "4711 phase warm up", "4711 phase a b c d"] {
            assert!(words(line).unwrap_err().ends_with("quote a name of several"), "{line}");
        }
        assert_eq!(words("4711 pause now"), Err("nothing stands behind pause".to_owned()));
    }
}
