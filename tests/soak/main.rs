//! The soak: every hazard in every variant, and the real programs that are installed, recorded with
//! each setting of the sources, in random order, again and again for as long as asked, or as often.
//!
//! ```text
//! CSPROF_SOAK_MINUTES  how long; 30 if neither this nor a number of runs is given
//! CSPROF_SOAK_RUNS     how often each program is recorded with each setting
//! CSPROF_SOAK_SEED     the order; printed, and another one each time if not given
//! CSPROF_SOAK_ONLY     names, separated by commas; all if not given; `generated` is a random hazard,
//!                      another one each time
//! CSPROF_SOAK_SOURCE   settings, separated by commas; a setting is a source, or several at once,
//!                      separated by spaces; those of the gate if not given
//! ```
//!
//! Each run must be what the run alone is: output, errors, status. Each recording obeys the laws of
//! all recordings, so that every loss has a name. Of a native program at most one sample in a
//! thousand may be partial. What fails is kept in a folder, with its command and its reason; the
//! last lines are a table of all that ran.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test, with a table at its end")]

mod candidate;
mod tally;

use std::env;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use candidate::Candidate;
use csprof_tests::generator::Random;
use csprof_tests::hazard::{SOURCES, TWO};
use csprof_tests::notes::note;
use csprof_tests::script::Skipped;
use tally::Tally;

/// What the last panic said.
static SAID: Mutex<String> = Mutex::new(String::new());

fn main() -> ExitCode {
    let number = |name: &str| env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let rounds = number("CSPROF_SOAK_RUNS");
    let minutes = number("CSPROF_SOAK_MINUTES").or(rounds.is_none().then_some(30));
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let mut random = Random(number("CSPROF_SOAK_SEED").unwrap_or_else(now));
    let only = env::var("CSPROF_SOAK_ONLY").ok();
    note(&format!("soak: CSPROF_SOAK_SEED={}", random.0));
    panic::set_hook(Box::new(|info| *SAID.lock().unwrap() = info.to_string()));

    let is_asked_for = |candidate: &Candidate| {
        only.as_ref().is_none_or(|only| only.split(',').any(|name| name == candidate.name()))
    };
    let mut candidates = Candidate::all();
    candidates.retain(is_asked_for);
    let gate = || SOURCES.into_iter().chain([TWO]).collect::<Vec<_>>().join(",");
    let settings = env::var("CSPROF_SOAK_SOURCE").unwrap_or_else(|_| gate());
    let mut tally = Tally::default();
    let end = minutes.map(|minutes| Instant::now() + Duration::from_secs(minutes * 60));
    let mut left = rounds.unwrap_or(u64::MAX);
    loop {
        let generated = Candidate::Generated(random.below(1 << 31) as u64, None);
        candidates.extend(is_asked_for(&generated).then_some(generated));
        if left == 0 || candidates.is_empty() {
            break;
        }
        left -= 1;
        random.shuffle(&mut candidates);
        candidates.retain_mut(|candidate| {
            for source in settings.split(',') {
                if end.is_some_and(|end| Instant::now() >= end) {
                    left = 0;
                    return false;
                }
                if let Err(Skipped(reason)) = run(candidate, source, &mut tally) {
                    tally.skipped(candidate.name(), &reason);
                    return false;
                }
            }
            candidate.stays()
        });
    }
    tally.close()
}

/// Runs a program once; what fails is kept.
fn run(candidate: &mut Candidate, source: &str, tally: &mut Tally) -> Result<(), Skipped> {
    match panic::catch_unwind(AssertUnwindSafe(|| candidate.run(source))) {
        Ok(recording) => {
            let recording = recording?;
            note(&format!("{} {source}: {:?}", candidate.name(), recording.samples()));
            tally.ran(candidate.name(), candidate.is_native(), &recording);
        }
        Err(_) => {
            let why = std::mem::take(&mut *SAID.lock().unwrap());
            note(&format!("{} {source} FAILED: {why}", candidate.name()));
            tally.failed(candidate.name(), candidate.keep(source, &why, tally.failures()));
        }
    }
    Ok(())
}
