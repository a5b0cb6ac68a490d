//! What numbers count: samples, or what samples stand for.

use csprof_format::profile::Metric;

use super::number::{Form, amount, count, duration, in_unit, memory, with_unit};
use crate::profile::{MetricRef, Profile};

/// What a number in a report counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Measure {
    /// Samples.
    #[default]
    Samples,
    /// The metric of the sample source: samples × period, in its unit.
    Source,
}

impl Measure {
    /// What a name stands for: `samples`, those of the first metric, or a sample source.
    ///
    /// # Errors
    /// A sentence that lists the names there are.
    pub fn named(name: &str, profile: &Profile) -> Result<(Self, MetricRef), String> {
        if name == "samples" {
            return Ok((Self::Samples, MetricRef::FIRST));
        }
        let metric = profile.metric_of(name).ok_or_else(|| {
            let mut names: Vec<_> =
                profile.metrics().map(|(_, metric)| format!("`{}`", metric.source)).collect();
            let last = names.pop().unwrap_or_default();
            names.insert(0, "`samples`".to_owned());
            format!("no metric `{name}` in this profile; it has {} and {last}", names.join(", "))
        })?;
        Ok((Self::Source, metric))
    }

    /// Its name.
    #[must_use]
    pub fn name(self, metric: &Metric) -> &str {
        match self {
            Self::Samples => "samples",
            Self::Source => &metric.source,
        }
    }

    /// Its unit.
    #[must_use]
    pub fn unit(self, metric: &Metric) -> &str {
        match self {
            Self::Samples => "samples",
            Self::Source => &metric.unit,
        }
    }

    /// What a number of samples is in this measure. Wide enough for every product.
    #[must_use]
    pub fn of(self, samples: u64, metric: &Metric) -> u128 {
        match self {
            Self::Samples => u128::from(samples),
            Self::Source => u128::from(samples) * u128::from(metric.period),
        }
    }

    /// The same for people.
    #[must_use]
    pub fn text(self, samples: u64, metric: &Metric, form: Form) -> String {
        match self {
            Self::Samples => count(samples, form),
            Self::Source => amount(samples, metric, form),
        }
    }
    /// A number of samples that is no whole one, such as a mean, for people.
    #[must_use]
    pub fn real(self, samples: f64, metric: &Metric, form: Form) -> String {
        let total = samples * metric.period as f64;
        let is_fraction = |number: f64| number < 99.95 && number.fract() != 0.0;
        match self {
            Self::Samples if is_fraction(samples) => format!("{samples:.1}"),
            Self::Samples => count(samples.round() as u64, form),
            Self::Source if metric.is_time() => duration(total, form),
            Self::Source if metric.unit == "bytes" => memory(total, form),
            Self::Source if is_fraction(total) => with_unit(format!("{total:.1}"), metric),
            Self::Source => in_unit(total.round() as u64, metric),
        }
    }
}
