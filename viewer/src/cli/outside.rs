//! `csprof record -p`: processes that run already.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use super::closing::{resolve, summary, tell, told_of_cache};
use super::exit_code::{self, WrongUsage};
use super::kept_sources::{keep_sources, saved_at_least_without};
use super::size::bytes;
use crate::launch::inherited::is_ignored;
use crate::launch::output::Output;
use crate::launch::outside::{self, Asked, MOST_STACK_BYTES, Taken, Unwind};
use crate::launch::signals::SAME_KEY_PRESS;
use crate::launch::spawn::Settings;
use crate::profile::Profile;
use crate::sources::Sources;
use crate::sources::keep::When;
use crate::symbols::files::DiskFiles;

/// Bytes that are copied of a stack where nobody says how many.
const STACK_BYTES: u32 = 16 << 10;

/// Which processes are sampled from outside, and how.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Processes that run already")]
pub(super) struct Outside {
    /// Sample this process from outside, with all threads and processes that it begins: nothing is
    /// loaded into it, and it goes on when sampling ends. Several with commas
    ///
    /// Until it has ended, for --duration, or until Ctrl-C. There are no edge counts, and paths
    /// deeper than what is copied of a stack are partial. Sources are cputime, task-clock and the
    /// kernel's and the processor's events: what the program calls, and where it waits, is seen
    /// from inside alone (csprof prepare, csprof attach). Needs the user's own process and
    /// kernel.perf_event_paranoid of 2 at most, for time in the kernel 1, or root.
    #[arg(short = 'p', long = "pid", value_name = "PID", value_delimiter = ',')]
    pids: Vec<u32>,
    /// How callers are found, with -p: by unwind tables, in a copy of the stack, or by frame
    /// pointers, which costs less and needs programs built with -fno-omit-frame-pointer
    #[arg(long, value_name = "HOW", value_enum, requires = "pids")]
    unwind: Option<How>,
    /// Bytes that are copied of the stack in each sample, with -p: 16k without it, at most 63k
    #[arg(long, value_name = "SIZE", value_parser = stack_size, requires = "pids")]
    stack_copy: Option<u32>,
}

/// How callers are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum How {
    /// By unwind tables.
    Tables,
    /// By frame pointers.
    FramePointers,
}

/// `16k`, `63k`, or a number of bytes.
fn stack_size(text: &str) -> Result<u32, String> {
    const LEAST: u32 = 1 << 10;
    let size = bytes(text)?.and_then(|size| u32::try_from(size).ok());
    let size = size.filter(|size| (LEAST..=MOST_STACK_BYTES).contains(size));
    // The kernel copies words.
    size.map(|size| size & !7)
        .ok_or_else(|| "1k to 63k of a stack are copied, for instance 32k".to_owned())
}

/// What of `csprof record` is the same for processes that run.
pub(super) struct Common<'a> {
    pub(super) output: Option<&'a Path>,
    pub(super) overwrite: bool,
    pub(super) settings: Settings,
    pub(super) delay: Option<Duration>,
    pub(super) duration: Option<Duration>,
    pub(super) with_symbols: bool,
    pub(super) sources: Option<u64>,
}

impl Outside {
    /// Whether processes are to be sampled that run already.
    pub(super) fn is_asked(&self) -> bool {
        !self.pids.is_empty()
    }

    /// Whether the options go together.
    ///
    /// # Errors
    ///
    /// [`WrongUsage`] if they do not.
    pub(super) fn check(&self) -> Result<(), WrongUsage> {
        if self.unwind == Some(How::FramePointers) && self.stack_copy.is_some() {
            let cause =
                "--unwind frame-pointers copies nothing of the stack; leave out --stack-copy";
            return Err(WrongUsage(cause.to_owned()));
        }
        Ok(())
    }

    fn unwind(&self) -> Unwind {
        match self.unwind {
            Some(How::FramePointers) => Unwind::FramePointers,
            Some(How::Tables) | None => {
                Unwind::Tables { stack_bytes: self.stack_copy.unwrap_or(STACK_BYTES) }
            }
        }
    }

    /// Samples the processes, and saves.
    ///
    /// # Errors
    ///
    /// When they cannot be sampled, or the profile cannot be saved.
    pub(super) fn record(&self, common: &Common<'_>) -> Result<ExitCode> {
        let Common { settings, .. } = common;
        let refused: Vec<String> =
            settings.sources.iter().filter_map(|source| outside::refused(&source)).collect();
        if !refused.is_empty() {
            return Err(WrongUsage(refused.join("\n")).into());
        }
        let found = outside::find(&self.pids).map_err(exit_code::before_program)?;
        let output = Output::of_run(common.output, &found.program(), common.overwrite)
            .map_err(exit_code::before_program)?;
        let signals = Signals::watch()?;
        let asked = Asked {
            sources: settings.sources,
            unwind: self.unwind(),
            times: settings.times,
            delay: common.delay.unwrap_or_default(),
            duration: common.duration,
        };
        let taken = outside::record(asked, found, &signals.told_to_end)
            .map_err(exit_code::before_program)?;
        let sampled = Instant::now();
        save(taken, &output, common, &|| signals.end_saving(sampled))
    }
}

/// What signals ask for.
#[derive(Debug, Default)]
struct Signals {
    /// The end of sampling, and then of looking for names, which saves what there is.
    told_to_end: Arc<AtomicBool>,
    /// Set when csprof has been told both: the next one ends it at once.
    is_last: Arc<AtomicBool>,
}

impl Signals {
    /// Watches for them from now on. One that was ignored at csprof's start (nohup, background jobs
    /// of scripts) stays so.
    fn watch() -> Result<Self> {
        let signals = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&of| !is_ignored(of)) {
            let (told_to_end, is_last) = (&signals.told_to_end, &signals.is_last);
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(is_last))
                .and_then(|_| flag::register(signal, Arc::clone(told_to_end)))
                .context("cannot watch for signals")?;
        }
        Ok(signals)
    }

    /// Whether csprof is told to save what there is, after it has `sampled`. What has ended
    /// sampling may come twice, from a terminal and from a shell.
    fn end_saving(&self, sampled: Instant) -> bool {
        let is_told = self.told_to_end.swap(false, Ordering::Relaxed);
        if is_told && sampled.elapsed() > SAME_KEY_PRESS {
            self.is_last.store(true, Ordering::Relaxed);
            tell(&["saving the profile without further names; interrupt again to stop".to_owned()]);
        }
        self.is_last.load(Ordering::Relaxed)
    }
}

/// Saves what was taken, with names, until it `stops`.
fn save(
    taken: Taken,
    output: &Output,
    common: &Common<'_>,
    stops: &dyn Fn() -> bool,
) -> Result<ExitCode> {
    let Taken { mut profile, copies } = taken;
    let files = DiskFiles::from_environment(&[]).and_copies(copies);
    let mut kept = Vec::new();
    if common.with_symbols {
        let warnings = resolve(&mut profile, &files, stops);
        profile.run.warnings.extend(warnings);
        if let Some(most) = common.sources {
            let places = (&Sources::default(), When::OfRun);
            kept = keep_sources(&mut profile, places, most, &files, stops);
        }
    }
    let (path, is_kept) = saved_at_least_without(&mut profile, |profile| output.save(profile))?;
    files.remember();
    if !common.settings.quiet {
        tell(&told_of_cache());
        kept.retain(|_| is_kept);
        tell(&kept);
        tell(&summary(&path, &Profile::from_saved(profile)));
    }
    Ok(exit_code::DONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_while_saving_saves_and_the_next_one_ends() {
        let signals = Signals::default();
        let now = Instant::now();
        let long_ago = now.checked_sub(2 * SAME_KEY_PRESS).unwrap();
        assert!(!signals.end_saving(long_ago));
        // That which has ended sampling, a second time.
        signals.told_to_end.store(true, Ordering::Relaxed);
        assert!(!signals.end_saving(now) && !signals.end_saving(long_ago));
        signals.told_to_end.store(true, Ordering::Relaxed);
        assert!(!signals.is_last.load(Ordering::Relaxed));
        assert!(signals.end_saving(long_ago) && signals.is_last.load(Ordering::Relaxed));
        assert!(signals.end_saving(long_ago));
    }

    #[test]
    fn a_copy_of_a_stack_has_room_in_a_record() {
        assert_eq!(stack_size("16k"), Ok(16 << 10));
        assert_eq!(stack_size("1025"), Ok(1024));
        for text in ["", "0", "1000", "64k", "1M", "-5"] {
            assert!(stack_size(text).unwrap_err().contains("1k to 63k"), "{text}");
        }
    }
}
