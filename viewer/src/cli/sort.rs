//! What `csprof report --sort` names: a column, or a metric of the profile.

use std::ffi::OsStr;

use anyhow::Result;
use clap::ValueEnum;
use clap::builder::{PossibleValue, TypedValueParser};

use super::exit_code::WrongUsage;
use crate::profile::Profile;
use crate::views::{Cost, SortKey};

/// Columns by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum SortName {
    /// Inclusive cost
    Time,
    /// Exclusive cost
    Excl,
    /// Edge count
    Edges,
    /// Cost per edge
    PerEdge,
    /// Function name
    Name,
}

/// What `--sort` names.
#[derive(Clone, Debug)]
pub(super) enum SortBy {
    /// A column.
    Column(SortName),
    /// What no column is called: a metric, as profiles have them.
    Metric(String),
}

/// Columns are offered; the names of metrics are known when there is a profile.
#[derive(Clone)]
pub(super) struct SortParser;

impl TypedValueParser for SortParser {
    type Value = SortBy;

    fn parse_ref(
        &self,
        _: &clap::Command,
        _: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<SortBy, clap::Error> {
        let text = value.to_string_lossy();
        Ok(SortName::from_str(&text, false)
            .map_or_else(|_| SortBy::Metric(text.into_owned()), SortBy::Column))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(SortName::value_variants().iter().filter_map(ValueEnum::to_possible_value)))
    }
}

impl SortBy {
    /// The order in a profile.
    ///
    /// # Errors
    ///
    /// When it is neither a column nor a metric of the profile.
    pub(super) fn key(&self, profile: &Profile) -> Result<SortKey> {
        let name = match self {
            Self::Metric(name) => name,
            Self::Column(column) => return Ok(column.key()),
        };
        let (source, cost) = match name.strip_suffix(":excl") {
            Some(source) => (source, Cost::Exclusive),
            None => (&name[..], Cost::Inclusive),
        };
        let metric = profile.metric_of(source).ok_or_else(|| {
            let columns =
                SortName::value_variants().iter().filter_map(ValueEnum::to_possible_value);
            let columns: Vec<_> = columns.map(|column| column.get_name().to_owned()).collect();
            let (columns, sources) = (columns.join(", "), profile.sources());
            WrongUsage(format!(
                "--sort: no column `{name}`; there are {columns}, and the metrics of \
                                this profile: {sources}"
            ))
        })?;
        Ok(SortKey::Of(metric, cost))
    }
}

impl SortName {
    const fn key(self) -> SortKey {
        match self {
            Self::Time => SortKey::Inclusive,
            Self::Excl => SortKey::Exclusive,
            Self::Edges => SortKey::Edges,
            Self::PerEdge => SortKey::PerEdge,
            Self::Name => SortKey::Name,
        }
    }
}
