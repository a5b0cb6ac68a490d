//! Derived metrics: formulas over the metrics of a profile, such as instructions per cycle.
//!
//! They are computed for each row after its samples were added up, and never added up themselves.

mod formula;
#[cfg(test)]
mod tests;
mod value;

pub use formula::{Formula, MOST_CHARACTERS, Name, Of, Operation, Problem, Step};
pub use value::{Value, computed};

use super::metric::MetricRef;

/// What stands for the edge count of a row.
pub const EDGES: &str = "edges";

/// Derived metrics that a profile has if it has their metrics: name and formula.
pub const READY: [(&str, &str); 5] = [
    ("ipc", "instructions / cycles"),
    ("miss/kinst", "1000 * cache-misses / instructions"),
    ("br-miss/kinst", "1000 * branch-misses / instructions"),
    ("bytes/alloc", "alloc / alloc-calls"),
    ("cpu", "cputime / realtime as percent"),
];

/// Derived metrics that a profile has at most.
pub const MOST: usize = 32;

/// Characters of a name at most.
const LONGEST_NAME: usize = 64;

/// A derived metric as it is asked for: `NAME = FORMULA`.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// What it is called.
    pub name: String,
    /// The formula; `None` takes away the derived metric of this name.
    pub formula: Option<Formula>,
}

impl Wanted {
    /// Reads `NAME = FORMULA`. Places of problems are in this text.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let Some((name, formula)) = text.split_once('=') else {
            let cause = "expected NAME = FORMULA, as in 'ipc = instructions / cycles'".to_owned();
            return Err(Problem { at: text.trim_end().chars().count(), cause });
        };
        let before = name.chars().count() + 1;
        Self::new(name, formula).map_err(|problem| Problem { at: problem.at + before, ..problem })
    }

    /// The same of a name and a formula. Places of problems are in the formula.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(name: &str, formula: &str) -> Result<Self, Problem> {
        let wrong = |cause: String| Err(Problem { at: 0, cause });
        let name = name.trim();
        if name.is_empty() {
            return wrong("a derived metric has a name before its `=`".to_owned());
        }
        if name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
            return wrong(format!("a name is one line of {LONGEST_NAME} characters at most"));
        }
        let is_removed = formula.trim().is_empty();
        let formula = (!is_removed).then(|| Formula::parse(formula)).transpose()?;
        Ok(Self { name: name.to_owned(), formula })
    }
}

impl Wanted {
    /// The names of its formula: metrics, and [`EDGES`].
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let steps = self.formula.iter().flat_map(|formula| &formula.steps);
        steps.filter_map(|step| match step {
            Step::Term(name) => Some(&*name.name),
            _ => None,
        })
    }
}

/// One of the derived metrics of a profile.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct DerivedRef(pub u8);

impl DerivedRef {
    /// Position among them.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a name of a formula stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// A cost of a metric, in its unit.
    Metric(MetricRef, Of),
    /// The edge count.
    Edges,
}

/// How the values of a derived metric are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// As a number.
    Number,
    /// In percent.
    Percent,
    /// As a time; the values are in nanoseconds.
    Time,
    /// As an amount of memory; the values are in bytes.
    Bytes,
}

impl Shown {
    /// The unit of the values for machines; empty if they have none.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Number | Self::Percent => "",
            Self::Time => "ns",
            Self::Bytes => "bytes",
        }
    }
}

/// A derived metric of a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    /// What it is called.
    pub name: String,
    /// Its formula as it was written.
    pub formula: String,
    /// How its values are shown.
    pub shown: Shown,
    /// What is done.
    pub steps: Vec<Step<Term>>,
}

/// Why a formula is none of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// A metric that the profile does not have: its name, and its place in the formula.
    NoMetric(String, usize),
    /// The name is that of a metric.
    IsMetric,
    /// There are [`MOST`] already.
    TooMany,
}

impl Derived {
    /// Whether it is about edge counts, so that its values may be known between bounds alone.
    #[must_use]
    pub fn has_edges(&self) -> bool {
        self.steps.contains(&Step::Term(Term::Edges))
    }

    /// The metrics that it is computed from, each once.
    #[must_use]
    pub fn metrics(&self) -> Vec<MetricRef> {
        let mut metrics = Vec::new();
        for step in &self.steps {
            if let Step::Term(Term::Metric(metric, _)) = step
                && !metrics.contains(metric)
            {
                metrics.push(*metric);
            }
        }
        metrics
    }
}
