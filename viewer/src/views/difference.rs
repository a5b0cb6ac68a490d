//! What two counts of samples differ by, for people: the numbers of a comparison's columns.

use super::number::{self, Form, count, duration};
use super::printable::printable;
use super::row::Edges;
use crate::profile::Profile;
use crate::profile::comparison::{BASE, Comparison, LEAST_VARIANCE, Method, Noise, OTHER, Scale};

/// Samples of BASE and of OTHER, and what they are compared in.
#[derive(Clone, Copy, Debug)]
pub struct Difference<'c> {
    comparison: &'c Comparison,
    samples: [u64; 2],
    noise: Noise,
}

/// More decimals than these are for nobody.
const MOST_DECIMALS: u32 = 6;

/// What became of something from BASE to OTHER.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Only OTHER has it.
    New,
    /// Only BASE has it.
    Gone,
    /// OTHER has more of it.
    More,
    /// OTHER has less of it.
    Less,
    /// Both have as much.
    Same,
}

impl Change {
    /// The word for it in forms for machines.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Gone => "gone",
            Self::More => "more",
            Self::Less => "less",
            Self::Same => "same",
        }
    }

    /// What became of it, for people.
    #[must_use]
    pub const fn verb(self) -> &'static str {
        match self {
            Self::More => "grew",
            Self::Less => "shrank",
            Self::New | Self::Gone | Self::Same => self.word(),
        }
    }
}

impl<'c> Difference<'c> {
    /// Of so many samples of BASE and of OTHER, and then of each run, where a side has several.
    /// Without those of runs, the noise is that of sampling. O(runs).
    #[must_use]
    pub fn new(comparison: &'c Comparison, samples: impl IntoIterator<Item = u64>) -> Self {
        let mut samples = samples.into_iter();
        let sides = [samples.next().unwrap_or(0), samples.next().unwrap_or(0)];
        let noise = match comparison.has_several_runs() {
            true => {
                // What a row has behind them is of other metrics.
                let runs = comparison.sides.iter().map(|side| side.runs.len()).sum();
                comparison.noise_of(sides, &samples.take(runs).collect::<Vec<_>>())
            }
            false => comparison.noise_of(sides, &[]),
        };
        Self { comparison, samples: sides, noise }
    }

    /// How the noise was found.
    #[must_use]
    pub const fn method(&self) -> Method {
        self.noise.method
    }

    /// Whether runs of a side differ by less than counts can tell.
    #[must_use]
    pub fn is_least(&self) -> bool {
        let least = LEAST_VARIANCE.sqrt();
        self.noise.deviations.iter().flatten().any(|deviation| *deviation < least)
    }

    /// What the runs of a side differ by: their standard deviation, for people; `None` of a single
    /// run.
    #[must_use]
    pub fn deviation(&self, side: usize, form: Form) -> Option<String> {
        Some(self.size_text(self.deviation_of(side)?, form))
    }

    /// How many decimals tell two means apart that differ: of n and of m runs they do by 1 / (n·m)
    /// at least. Times need none, since a sample stands for many nanoseconds.
    #[must_use]
    pub fn decimals(&self) -> u32 {
        let is_counted = match self.comparison.scale {
            Scale::Samples => true,
            Scale::Amount => !self.comparison.sides[OTHER].metric.is_time(),
            Scale::Share => false,
        };
        let [_, fewer] = self.comparison.expected();
        let parts = [BASE, OTHER].map(|side| u128::from(self.comparison.runs(side)));
        let parts = parts[BASE].saturating_mul(parts[OTHER]).saturating_mul(fewer);
        let is_enough = |decimals: &u32| 10_u128.pow(*decimals) >= parts;
        if is_counted { (0..MOST_DECIMALS).find(is_enough).unwrap_or(MOST_DECIMALS) } else { 0 }
    }

    /// How many of the integers of `plain_…` are one [`unit`](unit()).
    fn fractions(&self) -> u128 {
        10_u128.pow(self.decimals())
    }

    /// The same as an integer, as [`Self::plain_amount`], rounded up.
    #[must_use]
    pub fn plain_deviation(&self, side: usize) -> Option<u128> {
        Some((self.deviation_of(side)? / self.plain_unit()).ceil() as u128)
    }

    /// The same in units of the comparison's weights.
    fn deviation_of(&self, side: usize) -> Option<f64> {
        let runs = self.comparison.runs(side) as f64;
        let weight = self.comparison.weights()[side] as f64;
        // What BASE weighs is what is expected of it; what its runs differ by is not.
        let [more, fewer] = self.comparison.expected();
        let expected = if side == BASE { more as f64 } else { fewer as f64 };
        let unit = weight * runs / expected * fewer as f64;
        Some(self.noise.deviations[side]? * unit)
    }

    /// The least and the greatest difference that the noise leaves, as [`Self::plain_delta`],
    /// rounded outward.
    #[must_use]
    pub fn plain_interval(&self) -> [i128; 2] {
        let exact = self.comparison.delta(self.samples) as f64;
        let [low, high] = [exact - self.noise.half_width, exact + self.noise.half_width]
            .map(|end| end / self.plain_unit());
        // A difference of rounded amounts may be off by one.
        let delta = self.plain_delta();
        [delta.min(low.floor() as i128), delta.max(high.ceil() as i128)]
    }

    /// The same for people: `+700 ms` and `+780 ms`.
    #[must_use]
    pub fn ends(&self, form: Form) -> [String; 2] {
        let delta = self.comparison.delta(self.samples) as f64;
        let end = |end: f64| {
            let sign = if end < 0.0 { '-' } else { '+' };
            format!("{sign}{}", self.size_text(end.abs(), form))
        };
        [end(delta - self.noise.half_width), end(delta + self.noise.half_width)]
    }

    /// Whether OTHER has less than is expected of it.
    #[must_use]
    pub fn is_less(&self) -> bool {
        self.comparison.delta(self.samples) < 0
    }

    /// What is expected of OTHER as an integer, as [`Self::plain_amount`], rounded.
    #[must_use]
    pub fn plain_expected(&self) -> u128 {
        let [more, fewer] = self.comparison.expected();
        if more == fewer {
            return self.plain_amount(BASE);
        }
        let Comparison { sides, scale, .. } = self.comparison;
        let samples = u128::from(self.samples[BASE]);
        let (sum, parts) = match scale {
            Scale::Amount => (samples * u128::from(sides[BASE].metric.period), self.runs()),
            Scale::Samples => (samples, self.runs()),
            Scale::Share => (samples * 1_000_000, u128::from(sides[BASE].total.max(1))),
        };
        let sum = sum.saturating_mul(self.fractions());
        let parts = parts.saturating_mul(fewer);
        sum.saturating_mul(more).saturating_add(parts / 2) / parts
    }

    /// The runs of BASE.
    fn runs(&self) -> u128 {
        u128::from(self.comparison.runs(BASE))
    }

    /// The same for people.
    #[must_use]
    pub fn expected(&self, form: Form) -> String {
        match self.samples[BASE] {
            0 => ".".to_owned(),
            base => {
                let weighed = u128::from(base).saturating_mul(self.comparison.weights()[BASE]);
                self.size_text(weighed as f64, form)
            }
        }
    }

    /// OTHER minus BASE as a share of all that was measured in OTHER, in percent; `None` of
    /// nothing.
    #[must_use]
    pub fn share_of_other(&self) -> Option<f64> {
        let [_, weight] = self.comparison.weights();
        let whole = self.comparison.sides[OTHER].total as f64 * weight as f64;
        (whole > 0.0).then(|| self.comparison.delta(self.samples) as f64 * 100.0 / whole)
    }

    /// The same for people: `+12.5`.
    #[must_use]
    pub fn share_of_other_text(&self) -> String {
        match self.share_of_other() {
            None => String::new(),
            Some(0.0) => ".".to_owned(),
            Some(share) if share.abs() < 0.05 => {
                format!("{}<0.1", if share > 0.0 { '+' } else { '-' })
            }
            Some(share) => format!("{share:+.1}"),
        }
    }

    /// What is compared.
    #[must_use]
    pub const fn comparison(&self) -> &'c Comparison {
        self.comparison
    }

    /// The samples of BASE and of OTHER.
    #[must_use]
    pub const fn samples(&self) -> [u64; 2] {
        self.samples
    }

    /// By how much they differ, in units of [`Comparison::weights`].
    #[must_use]
    pub fn size(&self) -> u128 {
        self.comparison.delta(self.samples).unsigned_abs()
    }

    /// What one side has, as an integer in [`unit`](unit()), or in so many [decimals] of it; of
    /// several runs the mean, rounded.
    ///
    /// [decimals]: Self::decimals
    #[must_use]
    pub fn plain_amount(&self, side: usize) -> u128 {
        let Comparison { sides, scale, .. } = self.comparison;
        let samples = u128::from(self.samples[side]);
        let runs = u128::from(self.comparison.runs(side));
        let mean = |sum: u128| sum.saturating_mul(self.fractions()).saturating_add(runs / 2) / runs;
        match scale {
            Scale::Amount => mean(samples * u128::from(sides[side].metric.period)),
            Scale::Samples => mean(samples),
            Scale::Share => {
                let total = u128::from(sides[side].total.max(1));
                (samples * 1_000_000 + total / 2) / total
            }
        }
    }

    /// OTHER minus what is expected of it as integers, so that they add up.
    #[must_use]
    pub fn plain_delta(&self) -> i128 {
        let number = |amount: u128| i128::try_from(amount).unwrap_or(i128::MAX);
        number(self.plain_amount(OTHER)) - number(self.plain_expected())
    }

    /// Half the width of the interval of the difference as an integer, rounded up: two standard
    /// deviations of sampling, or what several runs say.
    #[must_use]
    pub fn plain_noise(&self) -> u128 {
        (self.noise.half_width / self.plain_unit()).ceil() as u128
    }

    /// How many units of the comparison's weights are one of the integers.
    fn plain_unit(&self) -> f64 {
        match self.comparison.scale {
            Scale::Share => self.comparison.unit() / 10_000.0,
            Scale::Amount | Scale::Samples => self.comparison.unit() / self.fractions() as f64,
        }
    }

    /// What became of it.
    #[must_use]
    pub fn change(&self) -> Change {
        match (self.samples, self.comparison.delta(self.samples)) {
            ([0, 0], _) | (_, 0) => Change::Same,
            ([0, _], _) => Change::New,
            ([_, 0], _) => Change::Gone,
            (_, 1..) => Change::More,
            _ => Change::Less,
        }
    }

    /// Whether it is more than noise makes of nothing, in 95 of 100 cases: that of sampling, or
    /// that between runs, where there are several.
    #[must_use]
    pub fn is_significant(&self) -> bool {
        self.comparison.delta(self.samples).unsigned_abs() as f64 > self.noise.half_width
    }

    /// OTHER minus BASE as a share of BASE, in percent; `None` of nothing.
    #[must_use]
    pub fn growth(&self) -> Option<f64> {
        let base = self.samples[BASE] as f64 * self.comparison.weights()[BASE] as f64;
        (base > 0.0).then(|| self.comparison.delta(self.samples) as f64 * 100.0 / base)
    }

    /// What one side has: `1.50 s`, `42.3` percent; `.` of nothing.
    #[must_use]
    pub fn amount(&self, side: usize, form: Form) -> String {
        let samples = self.samples[side];
        let metric = &self.comparison.sides[side].metric;
        match self.comparison.scale {
            _ if samples == 0 => ".".to_owned(),
            Scale::Amount | Scale::Samples if self.comparison.runs(side) > 1 => {
                let mean = samples as f64 / self.comparison.runs(side) as f64;
                let of_sample = match self.comparison.scale {
                    Scale::Amount => metric.period as f64,
                    Scale::Samples | Scale::Share => 1.0,
                };
                self.size_text(mean * of_sample * self.comparison.unit(), form)
            }
            Scale::Amount => number::amount(samples, metric, form),
            Scale::Samples => count(samples, form),
            Scale::Share => number::percent(samples, self.comparison.sides[side].total),
        }
    }

    /// OTHER minus BASE with its sign: `+740 ms`; `.` of nothing.
    #[must_use]
    pub fn delta(&self, form: Form) -> String {
        let delta = self.comparison.delta(self.samples);
        let sign = match delta {
            0 => return ".".to_owned(),
            1.. => '+',
            _ => '-',
        };
        format!("{sign}{}", self.size_text(delta.unsigned_abs() as f64, form))
    }

    /// OTHER minus BASE for each second between two moments of one run, in units of what people
    /// see; `None` of other comparisons.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        let seconds = self.comparison.moments.filter(|&ns| ns > 0)? as f64 / 1e9;
        let delta = self.comparison.delta(self.samples) as f64;
        Some(delta / self.comparison.unit() / seconds)
    }

    /// The same for people: `740 ms`; `.` of nothing.
    #[must_use]
    pub fn rate_text(&self, form: Form) -> String {
        match self.rate() {
            None => String::new(),
            Some(0.0) => ".".to_owned(),
            Some(rate) => {
                let sign = if rate < 0.0 { "-" } else { "" };
                format!("{sign}{}", self.size_text(rate.abs() * self.comparison.unit(), form))
            }
        }
    }

    /// Half the width of the interval of the difference: `±273 ms`. By sampling, two standard
    /// deviations.
    #[must_use]
    pub fn noise(&self, form: Form) -> String {
        if self.samples == [0, 0] {
            return ".".to_owned();
        }
        let sign = if form == Form::Unicode { "±" } else { "+-" };
        format!("{sign}{}", self.size_text(self.noise.half_width, form))
    }

    /// The growth for people: `+49.3`, `×12.5` from ten times on, `new`, `gone`; `.` for none.
    #[must_use]
    pub fn growth_text(&self, form: Form) -> String {
        let tenths = |percent: f64| match percent.abs() {
            p if p < 0.05 => format!("{}<0.1", if percent > 0.0 { '+' } else { '-' }),
            p if p < 99.95 => format!("{percent:+.1}"),
            _ => format!("{percent:+.0}"),
        };
        match (self.change(), self.growth()) {
            (Change::Same, _) => ".".to_owned(),
            (Change::New, _) | (_, None) => "new".to_owned(),
            (Change::Gone, _) => "gone".to_owned(),
            (_, Some(percent)) if percent >= 900.0 => {
                let times = percent / 100.0 + 1.0;
                let sign = if form == Form::Unicode { '×' } else { 'x' };
                if times < 99.95 {
                    format!("{sign}{times:.1}")
                } else {
                    format!("{sign}{times:.0}")
                }
            }
            (_, Some(percent)) => tenths(percent),
        }
    }

    /// The same in a sentence: `+49.3%`, `×12.5`, `new`, `gone`.
    #[must_use]
    pub fn growth_with_unit(&self, form: Form) -> String {
        let text = self.growth_text(form);
        if text.starts_with(['+', '-']) { format!("{text}%") } else { text }
    }

    /// What stands behind a difference in a sentence; times and events have their unit.
    #[must_use]
    pub const fn unit_behind(&self) -> &'static str {
        match self.comparison.scale {
            Scale::Share => " percentage points",
            Scale::Samples => " samples",
            Scale::Amount => "",
        }
    }

    /// A number in units of the comparison's weights, without sign.
    fn size_text(&self, value: f64, form: Form) -> String {
        let value = value / self.comparison.unit();
        let metric = &self.comparison.sides[OTHER].metric;
        match self.comparison.scale {
            Scale::Share if value < 0.05 && value > 0.0 => "<0.1".to_owned(),
            Scale::Share => format!("{value:.1}"),
            Scale::Samples => number::decimal(value, self.decimals(), form),
            Scale::Amount if metric.is_time() => duration(value, form),
            Scale::Amount => number::in_unit_of(value, self.decimals(), metric, form),
        }
    }
}

/// The unit of the integers of a difference: that of the metric, `samples`, or `ppm`, millionths of
/// what a side measured.
#[must_use]
pub fn unit(comparison: &Comparison) -> &str {
    match comparison.scale {
        Scale::Amount => &comparison.sides[BASE].metric.unit,
        Scale::Samples => "samples",
        Scale::Share => "ppm",
    }
}

/// What to say of two profiles that have little in common: programs of different names whose
/// samples lie mostly in different functions, or any that share hardly a function. `None` where
/// they compare. O(nodes).
#[must_use]
pub fn unrelated(profile: &Profile) -> Option<String> {
    let comparison = profile.comparison.as_ref()?;
    let mut samples = vec![[0u64; 2]; profile.functions.len()];
    for stream in &profile.streams {
        let side = usize::from(stream.process >= comparison.first_other);
        for node in stream.nodes.clone() {
            let of_function = &mut samples[profile.function_of(node).index()][side];
            *of_function += profile.nodes.samples.at(node as usize);
        }
    }
    let mut totals = [0u64; 2];
    let mut common = [0u64; 2];
    for of_function in samples {
        let is_common = of_function.iter().all(|&samples| samples > 0);
        for side in [BASE, OTHER] {
            totals[side] += of_function[side];
            common[side] += if is_common { of_function[side] } else { 0 };
        }
    }
    let less_than = |percent: u64| {
        let is_less = |&side: &usize| {
            u128::from(common[side]) * 100 < u128::from(totals[side]) * u128::from(percent)
        };
        [BASE, OTHER].iter().all(is_less)
    };
    let names = comparison.sides.each_ref().map(|side| {
        let program = side.run.command.first().map_or(&[][..], Vec::as_slice);
        String::from_utf8_lossy(program.rsplit(|&byte| byte == b'/').next().unwrap_or_default())
            .into_owned()
    });
    // Few samples lie in different functions by chance.
    let enough = totals.iter().all(|&samples| samples >= 50);
    if !enough || !(less_than(10) || names[BASE] != names[OTHER] && less_than(50)) {
        return None;
    }
    let shares = [BASE, OTHER].map(|side| number::percent(common[side], totals[side]));
    Some(format!(
        "are these runs of one program? {}% of the samples of base ({}) and {}% of other ({}) are in \
         functions that both have",
        shares[BASE],
        printable(&names[BASE]),
        shares[OTHER],
        printable(&names[OTHER]),
    ))
}

/// Edge counts of both sides: `4→8`, and one number where they are equal.
#[must_use]
pub fn edges(sides: [Edges; 2], form: Form) -> String {
    let [base, other] = sides.map(|edges| match edges {
        Edges::None => ".".to_owned(),
        edges => number::edges(edges, form),
    });
    let arrow = if form == Form::Unicode { "→" } else { "->" };
    match base == other {
        true if base == "." => String::new(),
        true => base,
        false => format!("{base}{arrow}{other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::from_outline;

    fn comparison(base: u64, other: u64, periods: [u64; 2], scale: Scale) -> Comparison {
        let [mut a, mut b] = [base, other].map(|n| from_outline(&format!("main {n}\n")).unwrap());
        (a.info.metric.period, b.info.metric.period) = (periods[0], periods[1]);
        let profile = Profile::compared(("a", a), ("b", b), &[]).unwrap();
        Comparison { scale, ..*profile.comparison.unwrap() }
    }

    fn texts(comparison: &Comparison, samples: [u64; 2]) -> String {
        let of = Difference::new(comparison, samples);
        let form = Form::Ascii;
        [
            of.amount(0, form),
            of.amount(1, form),
            of.delta(form),
            of.growth_text(form),
            of.noise(form),
        ]
        .join(" | ")
    }

    #[test]
    fn times_of_equal_periods() {
        let comparison = comparison(300, 448, [5_000_000; 2], Scale::Amount);
        for (samples, expected) in [
            ([300, 448], "1.50 s | 2.24 s | +740 ms | +49.3 | +-273 ms"),
            ([0, 9], ". | 45.0 ms | +45.0 ms | new | +-35.2 ms"),
            ([9, 0], "45.0 ms | . | -45.0 ms | gone | +-35.2 ms"),
            ([16, 16], "80.0 ms | 80.0 ms | . | . | +-56.6 ms"),
            ([10, 125], "50.0 ms | 625 ms | +575 ms | x12.5 | +-116 ms"),
            ([0, 0], ". | . | . | . | ."),
        ] {
            assert_eq!(texts(&comparison, samples), expected);
        }
        assert!(Difference::new(&comparison, [300, 448]).is_significant());
        assert!(!Difference::new(&comparison, [16, 20]).is_significant());
    }

    #[test]
    fn times_of_different_periods() {
        let comparison = comparison(300, 1500, [5_000_000, 1_000_000], Scale::Amount);
        assert_eq!(texts(&comparison, [300, 1500]), "1.50 s | 1.50 s | . | . | +-190 ms");
        assert_eq!(
            texts(&comparison, [10, 40]),
            "50.0 ms | 40.0 ms | -10.0 ms | -20.0 | +-34.1 ms"
        );
    }

    /// Of so many runs of each side, with totals that do not matter.
    fn of_runs(runs: [u64; 2], scale: Scale, is_time: bool) -> Comparison {
        let side = |side: usize| {
            let run = |number: u64| {
                let mut run = from_outline("main 100\n").unwrap();
                run.info.run.start_unix_ns = number + 100 * side as u64;
                if !is_time {
                    let metric = &mut run.info.metric;
                    (metric.source, metric.unit) = ("faults".to_owned(), "faults".to_owned());
                    metric.period = 1;
                }
                (number.to_string(), run)
            };
            (0..runs[side]).map(run).collect::<Vec<_>>()
        };
        let profile = Profile::compared_runs([side(0), side(1)], None, &[]).unwrap();
        Comparison { scale, ..*profile.comparison.unwrap() }
    }

    #[test]
    fn means_of_counts_have_the_decimals_that_tell_them_apart() {
        let three = of_runs([3, 3], Scale::Samples, true);
        let of = Difference::new(&three, [0, 1, 0, 0, 0, 1, 0, 0]);
        let texts = [of.amount(OTHER, Form::Ascii), of.delta(Form::Ascii)];
        assert_eq!((of.change(), texts), (Change::New, ["0.3".to_owned(), "+0.3".to_owned()]));
        assert_eq!((of.plain_amount(OTHER), of.plain_delta(), of.decimals()), (3, 3, 1));
        let [low, high] = of.plain_interval();
        assert!((low as f64 / 10.0) < 1.0 / 3.0 - 1.0 && (high as f64 / 10.0) > 1.0 / 3.0 + 1.0);
        for (runs, decimals) in [([1, 1], 0), ([2, 2], 1), ([4, 4], 2), ([10, 10], 2), ([12, 9], 3)]
        {
            let of = of_runs(runs, Scale::Samples, true);
            let samples = [0; 2].into_iter().chain(vec![0; (runs[0] + runs[1]) as usize]);
            assert_eq!(Difference::new(&of, samples).decimals(), decimals, "{runs:?}");
        }
        let times = of_runs([3, 3], Scale::Amount, true);
        assert_eq!(Difference::new(&times, [0; 8]).decimals(), 0);
        let faults = of_runs([2, 2], Scale::Amount, false);
        let of = Difference::new(&faults, [5, 6, 2, 3, 3, 3]);
        assert_eq!(
            [of.amount(0, Form::Ascii), of.delta(Form::Ascii)],
            ["2.5 faults", "+0.5 faults"]
        );
    }

    /// An end of the interval that people and programs see is never within the true one.
    #[test]
    fn intervals_hold_what_they_stand_for() {
        let of = of_runs([3, 2], Scale::Samples, true);
        for runs in [[1, 0, 2, 5, 7], [9, 9, 8, 9, 9], [0, 0, 1, 0, 0], [4, 4, 4, 4, 4]] {
            let sums = [runs[..3].iter().sum::<u64>(), runs[3..].iter().sum()];
            let one = Difference::new(&of, sums.into_iter().chain(runs));
            let exact = of.delta(sums) as f64 / of.unit();
            let half = one.noise.half_width / of.unit();
            let [low, high] = one.plain_interval().map(|end| end as f64 / 10.0);
            assert!(low <= exact - half && exact + half <= high, "{runs:?}: {low} {high}");
            assert!((low..=high).contains(&(one.plain_delta() as f64 / 10.0)));
        }
    }

    #[test]
    fn a_side_without_samples_has_noise_of_its_own() {
        // Of 6 samples of one period that may all be chance, as of the rule of three; not of 7.
        let equal = comparison(300, 300, [1; 2], Scale::Samples);
        let is = |of: &Comparison, samples| Difference::new(of, samples).is_significant();
        assert!(!is(&equal, [0, 6]) && is(&equal, [0, 7]) && is(&equal, [7, 0]));
        // One sample of BASE would be 10 of OTHER: no 9 of them say that it has fewer.
        let rates = comparison(30, 300, [10, 1], Scale::Amount);
        assert!(!is(&rates, [0, 9]) && is(&rates, [0, 60]));
        assert_eq!(Difference::new(&equal, [0, 0]).noise(Form::Ascii), ".");
    }

    #[test]
    fn shares_of_what_each_side_measured() {
        let comparison = comparison(100, 1000, [5_000_000; 2], Scale::Share);
        assert_eq!(texts(&comparison, [25, 250]), "25.0 | 25.0 | . | . | +-10.5");
        assert_eq!(texts(&comparison, [10, 250]), "10.0 | 25.0 | +15.0 | +150 | +-7.1");
    }

    #[test]
    fn runs_of_different_programs_are_told() {
        let told = |base: &str, other: &str, programs: [&str; 2]| {
            let [mut a, mut b] = [base, other].map(|outline| from_outline(outline).unwrap());
            (a.info.run.command, b.info.run.command) =
                (vec![programs[0].into()], vec![programs[1].into()]);
            unrelated(&Profile::compared(("a", a), ("b", b), &[]).unwrap())
        };
        let (old, new) = ("main\n  f 90\n  g 10\n", "main\n  f 10\n  h 90\n");
        assert_eq!(told(old, new, ["/bin/prog", "prog"]), None);
        assert_eq!(told(old, old, ["prog", "next"]), None);
        let python = "eval 95\nmemcpy 5\n";
        let compiler = "parse 96\nmemcpy 4\n";
        assert_eq!(
            told(python, compiler, ["python3", "/usr/lib/cc1plus"]).as_deref(),
            Some(
                "are these runs of one program? 5.0% of the samples of base (python3) and 4.0% of \
                 other (cc1plus) are in functions that both have"
            )
        );
        assert!(told(python, compiler, ["run", "run"]).is_some());
        // Sums of any size are compared.
        assert_eq!(told(&format!("f {}\n", u64::MAX / 2), "f 99\n", ["a", "b"]), None);
        // Of few samples nothing can be told.
        assert_eq!(told("f 9\n", "g 9\n", ["a", "b"]), None);
    }

    #[test]
    fn edges_of_both_sides() {
        let text = |a, b| edges([a, b], Form::Unicode);
        assert_eq!(text(Edges::exact(4), Edges::exact(8)), "4→8");
        assert_eq!(text(Edges::exact(4), Edges::exact(4)), "4");
        assert_eq!(text(Edges::None, Edges::Range { low: 0, high: 9 }), ".→≤9");
        assert_eq!(text(Edges::None, Edges::None), "");
    }
}
