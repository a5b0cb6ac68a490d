//! The soak: every hazard in every variant, and the real programs that are installed, recorded at
//! 5000 samples a second, in random order, again and again for as long as asked.
//!
//! ```text
//! CSPROF_SOAK_MINUTES  how long; 30 if not given
//! CSPROF_SOAK_SEED     the order; printed, and another one each time if not given
//! CSPROF_SOAK_ONLY     names, separated by commas; all if not given
//! CSPROF_SOAK_SOURCE   another source, or several at once, separated by spaces
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
use csprof_tests::notes::note;
use csprof_tests::script::Skipped;
use tally::Tally;

/// What the last panic said.
static SAID: Mutex<String> = Mutex::new(String::new());

fn main() -> ExitCode {
    let number = |name: &str| env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let minutes = number("CSPROF_SOAK_MINUTES").unwrap_or(30);
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let mut random = Random(number("CSPROF_SOAK_SEED").unwrap_or_else(now));
    let only = env::var("CSPROF_SOAK_ONLY").ok();
    note(&format!("soak: {minutes} minutes, CSPROF_SOAK_SEED={}", random.0));
    panic::set_hook(Box::new(|info| *SAID.lock().unwrap() = info.to_string()));

    let mut candidates = Candidate::all();
    if let Some(only) = only {
        candidates.retain(|candidate| only.split(',').any(|name| name == candidate.name()));
    }
    let source = env::var("CSPROF_SOAK_SOURCE").unwrap_or_else(|_| "task-clock@5000".to_owned());
    let mut tally = Tally::default();
    let end = Instant::now() + Duration::from_secs(minutes * 60);
    while !candidates.is_empty() {
        random.shuffle(&mut candidates);
        let mut kept = Vec::new();
        for mut candidate in candidates {
            if Instant::now() >= end {
                return tally.close();
            }
            match panic::catch_unwind(AssertUnwindSafe(|| candidate.run(&source))) {
                Ok(Ok(recording)) => {
                    note(&format!("{}: {:?}", candidate.name(), recording.samples()));
                    tally.ran(candidate.name(), candidate.is_native(), &recording);
                }
                Ok(Err(Skipped(reason))) => {
                    tally.skipped(candidate.name(), &reason);
                    continue;
                }
                Err(_) => {
                    let why = std::mem::take(&mut *SAID.lock().unwrap());
                    note(&format!("{} FAILED: {why}", candidate.name()));
                    tally.failed(candidate.name(), candidate.keep(&source, &why, tally.failures()));
                }
            }
            kept.push(candidate);
        }
        candidates = kept;
    }
    tally.close()
}

/// Knuth's linear congruential generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }
}
