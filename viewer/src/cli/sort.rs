//! What `--sort` names: a column, or a metric of the profile.

use std::ffi::OsStr;

use anyhow::Result;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::exit_code::WrongUsage;
use crate::profile::Profile;
use crate::profile::reduce::ranks_of;
use crate::views::Cost;
use crate::views::columns::{Column, Id, Unit};

/// What `--sort` names.
#[derive(Clone, Debug)]
pub(super) enum SortBy {
    /// A column.
    Column(Id),
    /// What no column is called: a metric, as profiles have them.
    Metric(String),
}

/// The columns that `--sort` offers.
fn offered(is_compared: bool) -> impl Iterator<Item = PossibleValue> {
    let columns = Column::sortable(is_compared);
    columns.map(|(name, column)| PossibleValue::new(name).help(column.help))
}

fn column(name: &str, is_compared: bool) -> Option<Id> {
    let mut columns = Column::sortable(is_compared);
    columns.find(|(sort_name, _)| *sort_name == name).map(|(_, column)| column.id)
}

/// The columns of a comparison.
pub(super) fn compared_column() -> impl TypedValueParser<Value = Id> {
    PossibleValuesParser::new(offered(true)).map(|name| column(&name, true).unwrap_or(Id::Delta))
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
        Ok(column(&text, false).map_or_else(|| SortBy::Metric(text.into_owned()), SortBy::Column))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(offered(false)))
    }
}

impl SortBy {
    /// The column that orders rows of a profile.
    ///
    /// # Errors
    ///
    /// When it is neither a column nor a metric of the profile, or a column over ranks and the
    /// profile is no sum.
    pub(super) fn column(&self, profile: &Profile) -> Result<Column> {
        let name = match self {
            Self::Metric(name) => name,
            Self::Column(id) => {
                let column = Column::of(*id, None);
                if column.definition().unit == Unit::OverRanks && !profile.info.is_sum() {
                    let why = match ranks_of(&profile.info).is_empty() {
                        true => "this has no ranks",
                        false => {
                            "this is none; csprof merge --keep-ranks all makes one of its ranks, if none \
                             comes twice, and --view distribution and --spread tell how ranks differ that \
                             are kept apart"
                        }
                    };
                    return Err(WrongUsage(format!(
                        "--sort: `{}` orders sums over the ranks of a job, and {why}",
                        column.definition().name.unwrap_or_default()
                    ))
                    .into());
                }
                return Ok(column);
            }
        };
        let (source, cost) = match name.strip_suffix(":excl") {
            Some(source) => (source, Cost::Exclusive),
            None => (&name[..], Cost::Inclusive),
        };
        if let Some(derived) = profile.derived_of(source) {
            return Ok(Column::derived_of(derived, cost));
        }
        let metric = profile.metric_of(source).ok_or_else(|| {
            let columns: Vec<_> = Column::sortable(false).map(|(name, _)| name).collect();
            let (columns, sources) = (columns.join(", "), profile.sources());
            let derived: Vec<_> =
                profile.derived.iter().map(|derived| derived.name.as_str()).collect();
            let derived = match &derived[..] {
                [] => String::new(),
                names => format!("; derived: {}", names.join(", ")),
            };
            WrongUsage(format!(
                "--sort: no column `{name}`; there are {columns}, and the metrics of \
                                this profile: {sources}{derived}"
            ))
        })?;
        Ok(Column::cost_of(metric, cost))
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    const GUIDE: &str = include_str!("../../../docs/guide.md");

    /// What the help and the guide say of `--sort`.
    fn told(command: &str) -> (String, &'static str) {
        let mut cli = Cli::command();
        let help = cli.find_subcommand_mut(command).unwrap().render_long_help().to_string();
        let option = GUIDE.lines().find(|line| line.starts_with("| `--sort`"));
        (help, option.unwrap())
    }

    #[test]
    fn help_and_guide_name_every_column_that_orders_rows() {
        for (command, is_compared) in [("report", false), ("diff", true)] {
            let (help, guide) = told(command);
            for (name, definition) in Column::sortable(is_compared) {
                let words =
                    definition.help.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
                let line = help.lines().find(|line| line.trim().starts_with(&format!("- {name}:")));
                assert!(line.is_some_and(|line| line.contains(&words)), "{name}: {help}");
                assert!(is_compared || guide.contains(&format!("`{name}`")), "{name}: {guide}");
            }
        }
    }
}
