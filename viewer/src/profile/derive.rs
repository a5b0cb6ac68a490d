//! Gives a profile [derived metrics](super::derived): finds the metrics that a formula names, and
//! how its values are shown by their units.

use csprof_format::profile::{Metric, TOOK_TURNS};

use super::derived::{
    Derived, DerivedRef, EDGES, MOST, Name, Of, Operation, READY, Shown, Step, Term, Unfit, Wanted,
};
use super::model::Profile;

impl Profile {
    /// Gives the profile a derived metric, in the place of one of the same name if it has one.
    ///
    /// # Errors
    /// If it has not all of its metrics.
    pub fn derive(&mut self, wanted: &Wanted) -> Result<(), Unfit> {
        let place = self.derived.iter().position(|derived| derived.name == wanted.name);
        let Some(formula) = &wanted.formula else {
            if let Some(place) = place {
                self.derived.remove(place);
            }
            return Ok(());
        };
        let mut metrics = self.metrics_of_formulas();
        if wanted.name == EDGES || metrics.any(|(_, of)| of.source == wanted.name) {
            return Err(Unfit::IsMetric);
        }
        drop(metrics);
        let named = |name: &str| self.metrics_of_formulas().find(|(_, of)| of.source == name);
        let term = |name: &Name| match named(&name.name) {
            Some((metric, _)) => Ok(Term::Metric(metric, name.of)),
            None if name.name == EDGES && !name.is_quoted && name.of == Of::Column => {
                Ok(Term::Edges)
            }
            None => Err(Unfit::NoMetric(name.name.clone(), name.at)),
        };
        let step = |step: &Step<Name>| {
            Ok(match step {
                Step::Number(number) => Step::Number(*number),
                Step::Term(name) => Step::Term(term(name)?),
                Step::Two(operation) => Step::Two(*operation),
                Step::Negated => Step::Negated,
            })
        };
        let steps = formula.steps.iter().map(step).collect::<Result<Vec<_>, Unfit>>()?;
        let shown = match formula.is_percent {
            true => Shown::Percent,
            false => Dimension::of(&steps, self).map_or(Shown::Number, Dimension::shown),
        };
        let (name, formula) = (wanted.name.clone(), formula.text.trim().to_owned());
        let derived = Derived { name, formula, shown, steps };
        match place {
            Some(place) => self.derived[place] = derived,
            None if self.derived.len() >= MOST => return Err(Unfit::TooMany),
            None => self.derived.push(derived),
        }
        Ok(())
    }

    /// Gives the profile those [ready ones](READY) that it has the metrics of: of the whole run,
    /// for of events that took turns each ratio would be one of different times.
    pub fn derive_ready(&mut self) {
        for (name, formula) in READY {
            let Ok(wanted) = Wanted::new(name, formula) else { continue };
            if !wanted.names().any(|source| self.took_turns(source)) {
                // One that does not fit is of other profiles.
                let _ = self.derive(&wanted);
            }
        }
    }

    /// Whether a warning of a run says that an event was counted for a part of the time alone.
    fn took_turns(&self, source: &str) -> bool {
        let told = format!("{source}{TOOK_TURNS}");
        let runs = self.info.runs.iter().map(|merged| &merged.info);
        let mut warnings =
            std::iter::once(&self.info.run).chain(runs).flat_map(|run| &run.warnings);
        // Of a merged profile, what it is of stands before it.
        warnings.any(|warning| {
            let before = warning.split_once(&told).map(|(before, _)| before);
            before.is_some_and(|before| before.is_empty() || before.ends_with(' '))
        })
    }

    /// The derived metric of a name.
    #[must_use]
    pub fn derived_of(&self, name: &str) -> Option<DerivedRef> {
        (0..)
            .map(DerivedRef)
            .zip(self.derived.iter())
            .find(|(_, of)| of.name == name)
            .map(|found| found.0)
    }
}

/// Powers of units of time and of memory. All else is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dimension {
    time: i32,
    bytes: i32,
}

impl Dimension {
    const NONE: Self = Self { time: 0, bytes: 0 };

    fn of_metric(metric: &Metric) -> Self {
        Self { time: metric.is_time().into(), bytes: (metric.unit == "bytes").into() }
    }

    /// That of what steps make; `None` where unlike things are added.
    fn of(steps: &[Step<Term>], profile: &Profile) -> Option<Self> {
        let metrics: Vec<Self> =
            profile.metrics_of_formulas().map(|(_, of)| Self::of_metric(of)).collect();
        let mut stack: Vec<Self> = Vec::new();
        for step in steps {
            let dimension = match step {
                Step::Number(_) | Step::Term(Term::Edges) => Self::NONE,
                Step::Term(Term::Metric(metric, _)) => *metrics.get(metric.index())?,
                Step::Negated => stack.pop()?,
                Step::Two(operation) => {
                    let (b, a) = (stack.pop()?, stack.pop()?);
                    match operation {
                        Operation::Add | Operation::Subtract if a == b => a,
                        Operation::Add | Operation::Subtract => return None,
                        Operation::Multiply => {
                            Self { time: a.time + b.time, bytes: a.bytes + b.bytes }
                        }
                        Operation::Divide => {
                            Self { time: a.time - b.time, bytes: a.bytes - b.bytes }
                        }
                    }
                }
            };
            stack.push(dimension);
        }
        stack.pop()
    }

    const fn shown(self) -> Shown {
        match self {
            Self { time: 1, bytes: ..=0 } => Shown::Time,
            Self { time: 0, bytes: 1 } => Shown::Bytes,
            _ => Shown::Number,
        }
    }
}
