//! `csprof attach`

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use super::amount_of_time::amount_of_time;
use super::control::LOOK;
use super::exit_code;
use super::snapshot::save_snapshot;
use crate::launch::control::Stopped;
use crate::launch::inherited::is_ignored;
use crate::launch::output::Output;
use crate::launch::running;
use crate::print;

const EXAMPLES: &str = "\
Samples until the program has ended, for a while, or until Ctrl-C; then the program goes on as \
before. It may be asked again: each profile has all that was sampled of the program since its \
start.

Examples:
  csprof prepare -- ./server &
  csprof attach $! --duration 10s -o server.csprof";

/// Profile a running program that `csprof prepare` or `csprof record --paused` has started
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Attach {
    /// Process id of the program, or of any process that it has started
    #[arg(value_name = "PID")]
    run: String,
    /// Sample for so long: 10, 10s, 500ms, 2m
    #[arg(long, value_name = "TIME", value_parser = amount_of_time)]
    duration: Option<Duration>,
    /// File to save; without it PROG.csprof, or PROG.1.csprof if that exists
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(short, long)]
    force: bool,
    /// Save addresses without function names; `csprof symbolize` adds them
    #[arg(long)]
    no_symbols: bool,
}

impl Attach {
    /// Samples, and saves.
    ///
    /// # Errors
    ///
    /// When there is no such program, it is being sampled already, or the profile cannot be saved.
    pub fn run(&self) -> Result<ExitCode> {
        let run = running::find(Some(&self.run))?;
        let program = run.command.first().cloned().unwrap_or_default();
        let program = OsString::from(String::from_utf8_lossy(&program).into_owned());
        let output = Output::new(self.output.as_deref(), &program, self.force)?;
        let told_to_end = Arc::new(AtomicBool::new(false));
        let is_saving = Arc::new(AtomicBool::new(false));
        // One that was ignored at its start (nohup, background jobs of scripts) stays so.
        for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&of| !is_ignored(of)) {
            // Once sampling has ended, the next one ends csprof, which may be looking for names.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&is_saving))
                .context("cannot watch for signals")?;
            flag::register(signal, Arc::clone(&told_to_end)).context("cannot watch for signals")?;
        }
        let control = run.control()?;
        if !control.resume()? {
            bail!(
                "{run}: is being sampled; csprof control {} snapshot FILE saves what there is",
                self.run
            );
        }
        let start = Instant::now();
        let is_over = || self.duration.is_some_and(|duration| start.elapsed() >= duration);
        let mut goes_on = true;
        while goes_on && !is_over() && !told_to_end.load(Ordering::Relaxed) {
            let left = self.duration.map_or(LOOK, |all| all.saturating_sub(start.elapsed()));
            thread::sleep(left.min(LOOK));
            goes_on = run.goes_on();
        }
        // Unless it was paused or stopped by somebody else meanwhile, or has ended.
        if let Err(error) = control.pause()
            && goes_on
            && !error.is::<Stopped>()
        {
            let _ = print::message(format_args!("sampling goes on: {error:#}"));
        }
        is_saving.store(true, Ordering::Relaxed);
        let unread = save_snapshot(&run, &output, !self.no_symbols)?;
        // What is not saved may be salvaged when it can be read.
        if unread == 0 {
            let _ = control.note_saved();
        }
        if !goes_on && let Some(stays) = run.remove_if_left(unread) {
            let _ = print::message(stays);
        }
        Ok(exit_code::DONE)
    }
}
