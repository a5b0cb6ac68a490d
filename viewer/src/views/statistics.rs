//! Statistics of how samples are spread over peers.
//!
//! All peers are known, so the standard deviation is that of all of them, not an estimate from
//! some. *Noise* is what [`Comparison::noise`](crate::profile::comparison::Comparison::noise) is
//! for two runs: a count of n samples varies by √n (Poisson), which is an upper bound of what
//! timers do, and what is within two standard deviations of that need not be more than sampling
//! makes of equal peers. Two peers are tested as two runs are. Of more, the one that is farthest
//! from the mean is farther by chance the more there are: with n of them it must be beyond
//! √(4 + 2 ln n) standard deviations, at which a normal deviation is at most 1/n times as likely
//! as beyond 2. And all of them together must differ by more than two standard deviations of
//! Σ (x − mean)² / mean, which sees that many differ by a little.

use csprof_format::profile::Metric;

use super::contexts::Balance;
use super::measure::Measure;
use super::number::Form;
use super::summary::clustered;
use crate::profile::MetricRef;
use crate::refine::Refined;

/// How samples are spread over peers; numbers are samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    /// How many peers there are, what they have together, and what the one with most has.
    pub balance: Balance,
    /// What the one with least has.
    pub least: u64,
    /// Twice the median: of an even number of peers it may be a half.
    pub median_twice: u64,
    /// Standard deviation of all peers.
    pub deviation: f64,
    /// Within these each of so many equal peers would be, by sampling alone.
    pub noise: [f64; 2],
    /// Whether sampling alone could make such a spread of equal peers. It may be more though each
    /// peer is within `noise`: then all of them together differ by more.
    pub is_noise: bool,
}

impl Statistics {
    /// Of peers with these samples, so many of which come together. O(peers × log peers).
    #[must_use]
    pub fn of(parts: &[u64], per_signal: f64) -> Self {
        let balance = Balance::of(parts);
        let mut sorted = parts.to_vec();
        sorted.sort_unstable();
        let middle = |place: usize| sorted.get(place).copied().unwrap_or(0);
        let (half, mean) = (sorted.len() / 2, mean(parts));
        let before = if sorted.len().is_multiple_of(2) { half.saturating_sub(1) } else { half };
        let squares: f64 = parts.iter().map(|&part| (part as f64 - mean).powi(2)).sum();
        Self {
            balance,
            least: middle(0),
            median_twice: middle(before).saturating_add(middle(half)),
            deviation: (squares / parts.len().max(1) as f64).sqrt(),
            noise: noise_bounds(parts.len(), mean, per_signal),
            is_noise: is_within_noise(parts, per_signal),
        }
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.balance.sum as f64 / self.balance.peers.max(1) as f64
    }

    /// Names and numbers of samples, as far as they mean something: the imbalance of those that
    /// wait for each other.
    #[must_use]
    pub fn facts(&self, has_imbalance: bool) -> Vec<(&'static str, f64)> {
        let mut facts = vec![
            ("min", self.least as f64),
            ("median", self.median_twice as f64 / 2.0),
            ("mean", self.mean()),
            ("max", self.balance.most as f64),
            ("std dev", self.deviation),
        ];
        if has_imbalance {
            facts.push(("imbalance", self.balance.imbalance() as f64));
        }
        facts
    }

    /// Whether the spread says something, in words.
    #[must_use]
    pub fn verdict(
        &self,
        has_imbalance: bool,
        measure: Measure,
        shown_as: (&Metric, Form),
    ) -> String {
        let (metric, form) = shown_as;
        let [low, high] = self.noise.map(|samples| measure.real(samples, metric, form));
        let are_within =
            self.noise[0] <= self.least as f64 && self.balance.most as f64 <= self.noise[1];
        match () {
            () if self.balance.sum == 0 => "no peer has any of this cost".to_owned(),
            () if !has_imbalance => {
                "these do not wait for each other: there is no imbalance".to_owned()
            }
            () if self.is_noise => {
                format!("may be sampling noise alone: equal peers would have {low} to {high} each")
            }
            () if are_within => format!(
                "more than sampling noise: each has {low} to {high}, but together they differ more"
            ),
            () => format!("more than sampling noise: equal peers would have {low} to {high} each"),
        }
    }
}

fn mean(parts: &[u64]) -> f64 {
    parts.iter().map(|&part| part as f64).sum::<f64>() / parts.len().max(1) as f64
}

/// How many samples of a metric come with one signal: 1, or more where these are clustered.
#[must_use]
pub fn samples_per_signal(refined: &Refined, metric: MetricRef) -> f64 {
    let is_cpu_time = Metric::is_cpu_time(refined.source_of(metric));
    match clustered(&refined.profile).filter(|_| is_cpu_time) {
        Some((signals, samples)) => samples as f64 / signals.max(1) as f64,
        None => 1.0,
    }
}

/// Within which samples each of so many equal peers is by sampling alone, with this mean.
pub(super) fn noise_bounds(peers: usize, mean: f64, per_signal: f64) -> [f64; 2] {
    let mean = mean / per_signal;
    let [low, high] = if peers == 2 {
        // Half of 2 √(a + b), the difference at which two runs are told apart.
        let half = (2.0 * mean).sqrt();
        [mean - half, mean + half]
    } else {
        // Roots of small counts are nearer to a normal distribution than counts (Anscombe).
        let far = (4.0 + 2.0 * (peers.max(1) as f64).ln()).sqrt() / 2.0;
        let root = (mean + 0.375).sqrt();
        [(root - far).max(0.0), root + far].map(|root| root.powi(2) - 0.375)
    };
    [low.max(0.0), high].map(|count| count * per_signal)
}

/// Whether sampling alone could make these counts of peers that are equal. So many samples come
/// together.
#[must_use]
pub fn is_within_noise(parts: &[u64], per_signal: f64) -> bool {
    let mut moments = Moments::default();
    parts.iter().for_each(|&part| moments.add(part));
    moments.is_within_noise(parts.len(), per_signal)
}

/// What tells noise from more, added up count by count. Peers with nothing need not be added.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moments {
    added: usize,
    sum: u64,
    squares: f64,
    least: u64,
    most: u64,
}

impl Moments {
    pub(super) fn add(&mut self, part: u64) {
        self.least = if self.added == 0 { part } else { self.least.min(part) };
        self.added += 1;
        self.sum += part;
        self.squares += (part as f64).powi(2);
        self.most = self.most.max(part);
    }

    /// Whether sampling alone could make such counts of so many equal peers.
    pub(super) fn is_within_noise(&self, peers: usize, per_signal: f64) -> bool {
        let count = peers as f64;
        let mean = self.sum as f64 / count / per_signal;
        if self.sum == 0 {
            return true;
        }
        let least = if self.added < peers { 0 } else { self.least };
        let [low, high] = noise_bounds(peers, self.sum as f64 / count, per_signal);
        let are_within = low <= least as f64 && self.most as f64 <= high;
        if peers == 2 {
            return are_within;
        }
        let squares = (self.squares / per_signal.powi(2) - count * mean.powi(2)) / mean;
        let freedom = count - 1.0;
        are_within && squares <= freedom + 2.0 * (freedom * (2.0 + 1.0 / mean)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_few_peers() {
        let of = |parts: &[u64]| Statistics::of(parts, 1.0);
        let four = of(&[2, 4, 4, 10]);
        assert_eq!((four.least, four.balance.most, four.median_twice), (2, 10, 8));
        assert_eq!((four.mean(), four.deviation), (5.0, 3.0));
        assert_eq!(four.balance.imbalance(), 20);
        assert_eq!(of(&[1, 4]).median_twice, 5);
        assert_eq!(of(&[7, 1, 5]).median_twice, 10);
        assert_eq!(of(&[]).median_twice, 0);
    }

    /// Two peers are told apart as two runs are: |a − b| > 2 √(a + b).
    #[test]
    fn two_peers_are_as_two_runs() {
        for (parts, expected) in
            [([100, 128], true), ([100, 131], false), ([0, 4], true), ([0, 5], false)]
        {
            assert_eq!(is_within_noise(&parts, 1.0), expected, "{parts:?}");
        }
        assert!(is_within_noise(&[100, 131], 4.0), "four samples of one signal are one event");
    }

    #[test]
    fn one_of_many_and_many_of_many_are_seen() {
        let mut parts = vec![100; 1000];
        assert!(is_within_noise(&parts, 1.0));
        parts[7] = 160;
        assert!(!is_within_noise(&parts, 1.0), "one is far away");
        let halves: Vec<u64> =
            (0..1000).map(|place| if place % 2 == 0 { 85 } else { 115 }).collect();
        assert!(!is_within_noise(&halves, 1.0), "each a little, and all of them");
    }

    /// The bounds that are told are those that are tested.
    #[test]
    fn the_verdict_agrees_with_its_bounds() {
        let metric = Metric { source: "cputime".into(), unit: "ns".into(), period: 1 };
        let mut parts = vec![100; 8];
        for most in 100..200 {
            parts[3] = most;
            let of = Statistics::of(&parts, 1.0);
            assert_eq!(of.is_noise, of.noise[0] <= 100.0 && most as f64 <= of.noise[1], "{most}");
        }
        let two = Statistics::of(&[1060, 815], 1.0);
        assert!(!two.is_noise && two.noise[1] < 1060.0 && two.noise[0] > 815.0, "{two:?}");
        let halves: Vec<u64> =
            (0..1000).map(|place| if place % 2 == 0 { 85 } else { 115 }).collect();
        let said =
            Statistics::of(&halves, 1.0).verdict(true, Measure::Samples, (&metric, Form::Ascii));
        assert!(said.ends_with("but together they differ more"), "{said}");
    }

    /// Random counts of equal peers are called noise in most cases, whatever their mean.
    #[test]
    fn equal_peers_are_noise() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut uniform = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        // Knuth's way of drawing from a Poisson distribution.
        let mut poisson = |mean: f64| {
            let (mut product, mut count) = (uniform(), 0u64);
            while product > (-mean).exp() {
                product *= uniform();
                count += 1;
            }
            count
        };
        for (mean, peers) in [(0.05, 1000), (0.5, 100), (3.0, 8), (40.0, 2), (40.0, 300)] {
            let mut alarms = 0;
            for _ in 0..200 {
                let parts: Vec<u64> = (0..peers).map(|_| poisson(mean)).collect();
                alarms += usize::from(!is_within_noise(&parts, 1.0));
            }
            assert!(alarms <= 24, "mean {mean} of {peers}: {alarms} of 200");
        }
    }
}
