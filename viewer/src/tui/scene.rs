//! What the screen is about, and how numbers and text are written on it.
//!
//! Views know the scene and nothing of the frame around them.

use csprof_format::profile::Metric;

use super::theme::Theme;
use crate::profile::comparison::Comparison;
use crate::profile::{MetricRef, Profile};
use crate::refine::Refined;
use crate::sources::Sources;
pub use crate::views::columns::PercentOf;
use crate::views::number::Form;
use crate::views::search::NamePattern;
use crate::views::summary::clustered;
use crate::views::{Row, shown_of_sides};

/// Terminals smaller than this get one line of text.
pub const SMALLEST: (u16, u16) = (40, 10);

/// What the screen is about, and how numbers and text are written on it.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The profile.
    pub profile: Profile,
    /// The refined profile that is shown.
    pub refined: Refined,
    /// Signals and samples, where samples do not tell how long calls are.
    pub clustered: Option<(u64, u64)>,
    /// Samples shown of BASE and of OTHER, where two profiles are compared.
    pub shown_of_sides: [u64; 2],
    /// What percentages are of.
    pub percent_of: PercentOf,
    /// Whether rows of a comparison that differ by no more than noise are dimmed.
    pub dims_noise: bool,
    /// What is searched for.
    pub search: Option<NamePattern>,
    /// Glyphs and styles.
    pub theme: Theme,
    /// Columns and lines of the terminal.
    pub size: (u16, u16),
    /// Where source files are looked for.
    pub sources: Sources,
}

impl Scene {
    /// A refined profile on a terminal of this size.
    #[must_use]
    pub fn new(refined: Refined, theme: Theme, size: (u16, u16)) -> Self {
        Self {
            profile: refined.profile.clone(),
            clustered: clustered(&refined.profile),
            shown_of_sides: shown_of_sides(&refined),
            refined,
            percent_of: PercentOf::default(),
            dims_noise: false,
            search: None,
            theme,
            size,
            sources: Sources::default(),
        }
    }

    /// Puts another refinement in the place of the present one, which is returned.
    pub fn replace(&mut self, refined: Refined) -> Refined {
        self.shown_of_sides = shown_of_sides(&refined);
        std::mem::replace(&mut self.refined, refined)
    }

    /// The metric that is looked at.
    #[must_use]
    pub fn metric(&self) -> &Metric {
        self.refined.looked_at()
    }

    /// Whether there are others.
    #[must_use]
    pub fn has_several_metrics(&self) -> bool {
        !self.profile.info.further.is_empty()
    }

    /// What numbers are of, where they could be of another metric: ` of cputime`.
    #[must_use]
    pub fn of_metric(&self) -> String {
        match self.has_several_metrics() {
            true => format!(" of {}", self.metric().source),
            false => String::new(),
        }
    }

    /// The others, in their order.
    pub fn other_metrics(&self) -> impl Iterator<Item = (MetricRef, &Metric)> {
        let looked_at = self.refined.metric;
        self.profile.metrics().filter(move |(metric, _)| *metric != looked_at)
    }

    /// The metric so many places after the one that is looked at, going round; `None` if that is
    /// the one that is looked at.
    #[must_use]
    pub fn metric_after(&self, places: usize) -> Option<(MetricRef, &Metric)> {
        let count = self.profile.metrics().count();
        let found = self.profile.metrics().nth((self.refined.metric.index() + places) % count);
        found.filter(|(metric, _)| *metric != self.refined.metric)
    }

    /// What percentages are of, in samples, of a row below this one or below nothing.
    #[must_use]
    pub fn whole_of(&self, parent: Option<&Row>) -> u64 {
        match (self.percent_of, parent) {
            (PercentOf::Base, _) => self.refined.base,
            (PercentOf::Parent, Some(parent)) => parent.of(self.refined.metric).inclusive,
            (PercentOf::View | PercentOf::Parent, _) => self.refined.shown,
        }
    }

    /// Which characters numbers may use.
    #[must_use]
    pub fn form(&self) -> Form {
        if self.theme.is_ascii() { Form::Ascii } else { Form::Unicode }
    }

    /// What is compared, where two profiles are.
    #[must_use]
    pub fn comparison(&self) -> Option<&Comparison> {
        self.profile.comparison.as_deref()
    }
}
