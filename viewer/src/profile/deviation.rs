//! How much repeated runs differ, and what that says of a difference.
//!
//! Where both sides have several runs, the interval of the difference of their means is Welch's
//! ("The generalization of Student's problem when several different population variances are
//! involved", Biometrika 34, 1947): the variances of the sides are not taken to be equal, and the
//! degrees of freedom are those of Welch and Satterthwaite, rounded down. Where one side has a
//! single run, nothing is known of its spread: that of the other side is taken for it (the test of
//! a single case against a sample, with one degree of freedom less than that has runs), or the
//! noise of sampling, if that is more.
//!
//! Counts are whole numbers: a run that is sampled regularly has k or k + 1 samples of what takes
//! k + f periods, with a variance of f·(1 − f). So three runs of one sample each do not say that
//! there is no spread; the variance of a run is taken to be a quarter of a squared sample at least.
//!
//! Shares are compared as all samples of a row divided by all that were measured. Their deviations
//! are those of a ratio of sums (the ratio estimator): what a run has beyond its part of the share.

use super::sides::{BASE, Comparison, OTHER, Scale};

/// Samples of a run are known to this variance at best.
pub const LEAST_VARIANCE: f64 = 0.25;

/// How an interval was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Two standard deviations of sampling: there is one run of each side.
    Sampling,
    /// Welch's t of this many degrees of freedom.
    Welch(u32),
    /// A side of several runs, and this many degrees of freedom, against a single run.
    OneSided {
        /// The side with one run.
        single: usize,
        /// Degrees of freedom.
        freedom: u32,
        /// Whether the noise of sampling is more.
        is_of_sampling: bool,
    },
}

/// How far a difference may be from the true one, in 95 of 100 cases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// How it was found.
    pub method: Method,
    /// Standard deviation of the runs of each side as it is, in samples; `None` of a single run.
    pub deviations: [Option<f64>; 2],
    /// Half the width of the interval of [`Comparison::delta`], in units of
    /// [`Comparison::weights`].
    pub half_width: f64,
}

impl Comparison {
    /// The noise of a difference, of the samples of each run, those of BASE first. O(runs).
    ///
    /// Where a side has one run, or there are not as many numbers as runs, it is that of sampling.
    #[must_use]
    pub fn noise_of(&self, samples: [u64; 2], of_runs: &[u64]) -> Noise {
        let by_sampling = Noise {
            method: Method::Sampling,
            deviations: [None; 2],
            half_width: self.noise(samples),
        };
        let [base, other] = &self.sides;
        if !self.has_several_runs() || of_runs.len() != base.runs.len() + other.runs.len() {
            return by_sampling;
        }
        let (of_base, of_other) = of_runs.split_at(base.runs.len());
        let measured = [
            self.variance(BASE, samples[BASE], of_base),
            self.variance(OTHER, samples[OTHER], of_other),
        ];
        let deviations = measured.map(|variance| variance.map(f64::sqrt));
        let variances = measured.map(|variance| variance.map(|value| value.max(LEAST_VARIANCE)));
        let runs = [BASE, OTHER].map(|side| self.runs(side) as f64);
        let weights = self.weights().map(|weight| weight as f64);
        // The variance of a side's sum, in units of the weights; the mean is in these, too.
        let of_sum = |side: usize, variance: f64| runs[side] * variance * weights[side].powi(2);
        let (method, half_width) = match variances {
            [Some(one), Some(two)] => {
                let [one, two] = [of_sum(BASE, one), of_sum(OTHER, two)];
                let freedom = (one + two).powi(2)
                    / (one.powi(2) / (runs[BASE] - 1.0) + two.powi(2) / (runs[OTHER] - 1.0));
                // Of unequal numbers of runs the smaller one counts: Welch's formula alone would
                // mark one row in ten of equal programs, of 2 runs against 10.
                let most = 2.0 * (runs[BASE].min(runs[OTHER]) - 1.0);
                let freedom = (freedom + 1e-9).floor().min(most).max(1.0) as u32;
                (Method::Welch(freedom), t_quantile(freedom) * (one + two).sqrt())
            }
            [Some(known), None] | [None, Some(known)] => {
                let several = if variances[BASE].is_some() { BASE } else { OTHER };
                let single = 1 - several;
                // A run of each side weighs as much as its sum, divided by the runs.
                let run = known * (weights[several] * runs[several]).powi(2);
                // A sample of its own may stand for more than one of theirs.
                let run = run.max(LEAST_VARIANCE * weights[single].powi(2));
                let freedom = (runs[several] - 1.0) as u32;
                let spread = t_quantile(freedom) * (of_sum(several, known) + run).sqrt();
                let is_of_sampling = spread < by_sampling.half_width;
                let method = Method::OneSided { single, freedom, is_of_sampling };
                (method, spread.max(by_sampling.half_width))
            }
            [None, None] => return by_sampling,
        };
        // Nothing is nothing in every run.
        let half_width = if samples == [0, 0] { 0.0 } else { half_width };
        Noise { method, deviations, half_width }
    }

    /// The variance of the samples of one run of a side; `None` of a single one.
    fn variance(&self, side: usize, sum: u64, of_runs: &[u64]) -> Option<f64> {
        let freedom = of_runs.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
        let side = &self.sides[side];
        let expected = |run: usize| match self.scale {
            Scale::Amount | Scale::Samples => sum as f64 / of_runs.len() as f64,
            Scale::Share => sum as f64 * side.runs[run].total as f64 / side.total.max(1) as f64,
        };
        let squares = of_runs.iter().enumerate();
        let squares = squares.map(|(run, &samples)| (samples as f64 - expected(run)).powi(2));
        Some(squares.sum::<f64>() / freedom as f64)
    }
}

/// Student's t that 97.5 % are below, so that 95 % are within: of so many degrees of freedom, or of
/// fewer, which have a greater one. Never less than the exact one.
fn t_quantile(freedom: u32) -> f64 {
    const FIRST: [f64; 30] = [
        12.707, 4.303, 3.183, 2.777, 2.571, 2.447, 2.365, 2.307, 2.263, 2.229, 2.201, 2.179, 2.161,
        2.145, 2.132, 2.120, 2.110, 2.101, 2.094, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.049, 2.046, 2.043,
    ];
    match freedom {
        0 => f64::INFINITY,
        1..=30 => FIRST[freedom as usize - 1],
        31..=39 => FIRST[29],
        40..=59 => 2.022,
        60..=119 => 2.001,
        _ => 1.981,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Profile, from_outline};
    use super::*;

    /// A comparison of runs with these totals of one function, and periods.
    fn comparison(runs: [&[u64]; 2], periods: [u64; 2]) -> Comparison {
        let mut number = 0;
        let mut side = |side: usize| {
            let run = |&samples: &u64| {
                let mut run = from_outline(&format!("main {samples}\n")).unwrap();
                number += 1;
                run.info.run.start_unix_ns = number;
                run.info.metric.period = periods[side];
                (format!("run{number}"), run)
            };
            runs[side].iter().map(run).collect::<Vec<_>>()
        };
        let sides = [side(BASE), side(OTHER)];
        *Profile::compared_runs(sides, None, &[]).unwrap().comparison.unwrap()
    }

    fn noise(runs: [&[u64]; 2], periods: [u64; 2]) -> (Noise, f64, f64) {
        let comparison = comparison(runs, periods);
        let sums = runs.map(|runs| runs.iter().sum());
        let noise = comparison.noise_of(sums, &runs.concat());
        let unit = comparison.unit();
        (noise, comparison.delta(sums) as f64 / unit, noise.half_width / unit)
    }

    /// By hand: variances of 4 and 62 / 3.
    #[test]
    fn several_runs_are_compared_by_the_test_of_welch() {
        let (noise, delta, half) = noise([&[10, 12, 14], &[20, 24, 31, 25]], [1, 1]);
        // 4.3 degrees of freedom, rounded down.
        assert_eq!(noise.method, Method::Welch(4));
        assert_eq!(delta, 13.0);
        assert!((half - 2.777 * (4.0_f64 / 3.0 + 62.0 / 12.0).sqrt()).abs() < 1e-9, "{half}");
        let [base, other] = noise.deviations.map(Option::unwrap);
        assert!((base - 2.0).abs() < 1e-9 && (other - (62.0_f64 / 3.0).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn runs_of_other_periods_are_compared_in_amounts() {
        let [one, two] = [[1, 1], [10, 2]].map(|periods| {
            let base: &[u64] = if periods == [1, 1] { &[100, 120] } else { &[10, 12] };
            let other: &[u64] = if periods == [1, 1] { &[200, 230] } else { &[100, 115] };
            noise([base, other], periods)
        });
        assert_eq!(one.1, two.1);
        assert!((one.2 - two.2).abs() < 1e-9, "{one:?} {two:?}");
    }

    #[test]
    fn a_single_run_has_the_spread_of_the_others_or_that_of_sampling() {
        let (noise, _, half) = noise([&[1000, 1200, 1400], &[1300]], [1, 1]);
        let method = Method::OneSided { single: OTHER, freedom: 2, is_of_sampling: false };
        assert_eq!((noise.method, noise.deviations[OTHER]), (method, None));
        assert!((half - 4.303 * (40_000.0_f64 * (1.0 + 1.0 / 3.0)).sqrt()).abs() < 1e-6, "{half}");
        let (noise, _, half) = super::tests::noise([&[50], &[50, 50, 50]], [1, 1]);
        let method = Method::OneSided { single: BASE, freedom: 2, is_of_sampling: true };
        assert_eq!(noise.method, method);
        assert!((half - 2.0 * (50.0_f64 + 50.0 / 3.0).sqrt()).abs() < 1e-9, "{half}");
    }

    #[test]
    fn one_run_of_each_side_is_judged_by_sampling() {
        let (noise, _, half) = noise([&[9], &[16]], [1, 1]);
        assert_eq!((noise.method, half), (Method::Sampling, 10.0));
    }

    #[test]
    fn equal_runs_differ_in_nothing() {
        for runs in [2, 3, 10] {
            for samples in [0, 1, 7, 100_000] {
                let runs = vec![samples; runs];
                let (noise, delta, half) = noise([&runs, &runs], [3, 3]);
                assert_eq!((delta, noise.deviations), (0.0, [Some(0.0); 2]));
                assert!((half == 0.0) == (samples == 0), "{noise:?}");
            }
        }
        // Three runs of one sample do not say that there never are two.
        let (_, delta, half) = noise([&[0, 0, 0], &[1, 1, 1]], [1, 1]);
        assert!(half > delta);
    }

    /// Of runs that do not differ, about one difference in twenty is beyond the noise, and not many
    /// more, however few samples there are.
    #[test]
    fn as_many_differences_are_significant_as_is_said() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        // Knuth's way: as many events as fit before a product of random numbers is small.
        let mut poisson = |mean: f64| {
            let (mut events, mut product) = (0, random());
            while product > (-mean).exp() {
                product *= random();
                events += 1;
            }
            events
        };
        for runs in [2, 3, 5, 10] {
            let like: Vec<u64> = vec![1; runs];
            let comparison = comparison([&like, &like], [1, 1]);
            for mean in [0.3, 1.0, 4.0, 30.0] {
                const TRIES: usize = 4000;
                let mut beyond = 0;
                for _ in 0..TRIES {
                    let of_runs: Vec<u64> = (0..2 * runs).map(|_| poisson(mean)).collect();
                    let sums = [&of_runs[..runs], &of_runs[runs..]].map(|of| of.iter().sum());
                    let noise = comparison.noise_of(sums, &of_runs);
                    beyond += usize::from(comparison.delta(sums).abs() as f64 > noise.half_width);
                }
                let percent = beyond as f64 * 100.0 / TRIES as f64;
                assert!(percent < 6.5, "{runs} runs of {mean} samples: {percent} %");
            }
        }
    }

    #[test]
    fn quantiles_are_those_of_student() {
        for (freedom, exact) in [(1, 12.706_2), (4, 2.776_4), (30, 2.042_3), (50, 2.008_6)] {
            let quantile = t_quantile(freedom);
            assert!(quantile >= exact && quantile < exact * 1.01, "{freedom}: {quantile}");
        }
        assert!((2..200).all(|freedom| t_quantile(freedom) <= t_quantile(freedom - 1)));
        assert!(t_quantile(u32::MAX) > 1.959_9);
    }
}
