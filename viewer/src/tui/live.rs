//! A profile of a program that runs: it is read again and again while it is looked at.
//!
//! One reading follows the other: the next begins half a second after the one before has begun, or
//! as long after its end as it took, if that is later. While the screen stands still, or something
//! lies over it that the user is about to answer, readings are put off.

use std::collections::VecDeque;
use std::time::Duration;

use csprof_format::ids::ThreadId;

use super::reading::Reading;
use super::stages::Stages;
use crate::profile::{MetricRef, Profile};
use crate::views::number::{Form, amount_per, duration};

/// Time from the beginning of a reading to that of the next one.
pub const INTERVAL: Duration = Duration::from_millis(500);

/// How far back the rate in the header goes.
const RATE_OVER: Duration = Duration::from_secs(3);

/// What is shown of a program that runs.
#[derive(Clone, Debug)]
pub enum Since {
    /// All that was sampled.
    Start,
    /// What came since this moment, beside all.
    Mark(Reading),
    /// What came in this time before now, beside all.
    Last(Duration),
}

/// The state of looking at a program that runs.
#[derive(Clone, Debug)]
pub struct Live {
    /// Whether the screen stands still.
    pub is_frozen: bool,
    /// Whether what is shown is the last state.
    pub is_over: bool,
    /// Whether the last reading could not be shown: what is on the screen is an older one.
    pub is_stale: bool,
    /// What is shown.
    pub since: Since,
    /// Number of the reading under way, and the stages by which it is refined.
    pub asked: Option<(u64, Stages)>,
    /// Number of the wait for the next one.
    pub wait: u64,
    /// Readings of the last seconds, the newest last; one at least.
    readings: VecDeque<Reading>,
}

impl Live {
    /// Looking at these readings, one at least, the newest last.
    #[must_use]
    pub fn new(readings: impl IntoIterator<Item = Reading>, since: Since) -> Self {
        let (mut all, mut is_over) = (VecDeque::new(), false);
        for reading in readings {
            is_over |= reading.is_over;
            all.push_back(reading);
        }
        let (is_frozen, is_stale) = (false, false);
        Self { is_frozen, is_over, is_stale, since, asked: None, wait: 0, readings: all }
    }

    /// The newest reading.
    #[must_use]
    pub fn now(&self) -> Option<&Reading> {
        self.readings.back()
    }

    /// Takes a reading in.
    pub fn take(&mut self, reading: &Reading) {
        self.is_over = reading.is_over;
        self.is_stale = false;
        self.readings.push_back(reading.clone());
        let back = match self.since {
            Since::Last(back) => back.max(RATE_OVER),
            Since::Start | Since::Mark(_) => RATE_OVER,
        };
        let least = elapsed_ns(&reading.profile).saturating_sub(back.as_nanos() as u64);
        // One that is older is kept: what came since is at least as much as was asked for.
        while self.readings.get(1).is_some_and(|next| elapsed_ns(&next.profile) <= least) {
            self.readings.pop_front();
        }
    }

    /// The moment with which a newer one is compared, if it is.
    #[must_use]
    pub fn before(&self) -> Option<Reading> {
        match &self.since {
            Since::Start => None,
            Since::Mark(reading) => Some(reading.clone()),
            Since::Last(_) => self.readings.front().cloned(),
        }
    }

    /// What the header says: that it is live, for how long the program has run, and its cost in
    /// the metric of this source for each of the last seconds.
    #[must_use]
    pub fn header(&self, source: &str, form: Form) -> String {
        let Some(now) = self.now() else { return String::new() };
        let elapsed = duration(elapsed_ns(&now.profile) as f64, form);
        let state = match (self.is_over, self.is_frozen, self.is_stale) {
            (true, ..) => return format!("ended, {elapsed}"),
            (false, true, _) => "frozen",
            (false, false, true) => return format!("not live, {elapsed}"),
            (false, false, false) => "live",
        };
        format!("{state} {elapsed}{}", self.rate(source, form).unwrap_or_default())
    }

    fn rate(&self, source: &str, form: Form) -> Option<String> {
        let (first, now) = (self.readings.front()?, self.readings.back()?);
        // By its name: a comparison has one metric, which need not be the first of the program.
        let (number, of) = now.profile.metrics().find(|(_, metric)| metric.source == source)?;
        let ms = now.sampled_ns.saturating_sub(first.sampled_ns) / 1_000_000;
        let samples =
            recorded(&now.profile, number).saturating_sub(recorded(&first.profile, number));
        let rate = (ms > 0).then(|| amount_per(samples.saturating_mul(1000), ms, of, form))?;
        Some(format!(" {rate}/s"))
    }
}

/// Samples of a metric in all threads.
fn recorded(profile: &Profile, metric: MetricRef) -> u64 {
    let threads = (0..profile.info.threads.len()).map(ThreadId::from_index);
    threads.map(|thread| profile.info.share(thread, metric.index()).recorded).sum()
}

/// For how long the run had gone on, in nanoseconds.
#[must_use]
pub fn elapsed_ns(profile: &Profile) -> u64 {
    profile.info.run.duration_ns
}

/// One run at two moments as one profile, of the metric of a source, or else of the first.
///
/// # Errors
/// If they do not have it.
pub fn compared(before: Reading, now: Reading, source: Option<&str>) -> Result<Profile, String> {
    let moments = now.sampled_ns.saturating_sub(before.sampled_ns);
    let sides = (("before", before.profile), ("now", now.profile));
    let profile = Profile::compared_by(sides.0, sides.1, source, &[]);
    let mut profile = profile.map_err(|error| error.to_string())?;
    if let Some(comparison) = &mut profile.comparison {
        comparison.moments = Some(moments);
    }
    Ok(profile)
}
