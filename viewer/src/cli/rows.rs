//! Which rows of a view are printed, and in what order: what the viewer's `:repro` writes.

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::exit_code::WrongUsage;
use crate::profile::FrameKind;
use crate::refine::{Chain, Grain, Refined, Stopped, unwatched};
use crate::set_files::SetFiles;
use crate::views::Row;
use crate::views::hall::{self, HallTable, Reach, Way};

/// Rows by place, and the table of a path.
#[derive(Debug, Args)]
pub(super) struct RowChoice {
    /// Turn the order round
    #[arg(long)]
    pub(super) reverse: bool,
    /// Open these rows and no others: 1.3 is the third row below the first row; `none` opens none
    #[arg(long, value_name = "ROWS", value_parser = open_rows)]
    open: Option<OpenRows>,
    /// With --view tables: the path, such as `main > solve >> memcpy`, or a function [default: the
    /// empty path]. With --view distribution: what is spread, the same [default: all that is
    /// shown]. With --view butterfly: the function
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// With --view tables: with any number of calls between path and function
    #[arg(long)]
    extended: bool,
    /// With --view tables: by what calls the path, not by what it calls
    #[arg(long)]
    upward: bool,
}

/// Grains by name, each with what the help says of it.
pub(super) fn grain(offered: [(Grain, &'static str); 3]) -> impl TypedValueParser<Value = Grain> {
    let values = offered.map(|(grain, help)| PossibleValue::new(grain.name()).help(help));
    PossibleValuesParser::new(values).map(move |name| {
        let named = offered.iter().find(|(grain, _)| grain.name() == name);
        named.map_or(Grain::Function, |(grain, _)| *grain)
    })
}

/// Places of open rows.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OpenRows(Vec<Vec<usize>>);

impl RowChoice {
    /// The places of the open rows, if they were given.
    pub(super) fn open(&self) -> Option<Vec<Vec<usize>>> {
        self.open.clone().map(|rows| rows.0)
    }

    /// Whether the view has what is asked for.
    ///
    /// # Errors
    ///
    /// [`WrongUsage`] if what is for tables, or a path, is given for another view.
    pub(super) fn check(&self, is_of_tables: bool, has_path: bool) -> Result<(), WrongUsage> {
        let cause = if (self.extended || self.upward) && !is_of_tables {
            "--extended and --upward are for --view tables"
        } else if self.path.is_some() && !is_of_tables && !has_path {
            "--path is for --view tables, and of reports for --view distribution and butterfly"
        } else {
            return Ok(());
        };
        Err(WrongUsage(cause.into()))
    }

    /// Whether a path is given.
    pub(super) const fn has_path(&self) -> bool {
        self.path.is_some()
    }

    /// The path; `None` is the empty one.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub(super) fn path(&self, files: &SetFiles) -> Result<Option<Chain>> {
        let text = self.path.as_deref().unwrap_or("");
        let path = files.load().parse_path(text);
        Ok(path.map_err(|error| WrongUsage(format!("--path:\n{error}")))?)
    }

    /// The callees of the function at the end of the path, with its own row, and its callers.
    ///
    /// # Errors
    ///
    /// When the path is not one of this profile's, or ends with several functions.
    pub(super) fn butterfly(
        &self,
        refined: &Refined,
        files: &SetFiles,
    ) -> Result<(HallTable, Vec<Row>)> {
        let path = self.path(files)?;
        let path = path.ok_or_else(|| WrongUsage("--path is empty: it names a function".into()))?;
        if !path.rest.is_empty() {
            let cause =
                format!("--path: {path} is of several frames; a butterfly is of one function");
            return Err(WrongUsage(cause).into());
        }
        let table = |way| {
            let reach = Reach::Immediate;
            let made = unwatched(|watch| {
                Stopped::nested(HallTable::new(refined, Some(&path), way, reach, watch))
            });
            made.context("--path")
        };
        let (above, mut below) = (table(Way::Up)?, table(Way::Down)?);
        let function = unwatched(|watch| Stopped::nested(hall::end_of(refined, &path, watch)));
        let Some(function) = function.context("--path")? else {
            let cause =
                format!("--path: {path} ends with several functions; a butterfly is of one");
            return Err(WrongUsage(cause).into());
        };
        (below.path.function, below.path.kind) = (function, FrameKind::Call);
        Ok((below, above.rows))
    }

    /// The table and its title, if the view is that of tables.
    ///
    /// # Errors
    ///
    /// When the path is not one of this profile's.
    pub(super) fn table(
        &self,
        is_view: bool,
        refined: &Refined,
        files: &SetFiles,
    ) -> Result<Option<(HallTable, String)>> {
        if !is_view {
            return Ok(None);
        }
        let path = self.path(files)?;
        let way = if self.upward { Way::Up } else { Way::Down };
        let reach = if self.extended { Reach::Extended } else { Reach::Immediate };
        let table = unwatched(|watch| {
            Stopped::nested(HallTable::new(refined, path.as_ref(), way, reach, watch))
        });
        Ok(Some((table.context("--path")?, hall::title(path.as_ref(), way, reach))))
    }
}

/// `1`, `1.3,2`, `none`.
fn open_rows(text: &str) -> Result<OpenRows, String> {
    if text == "none" {
        return Ok(OpenRows(Vec::new()));
    }
    let place = |word: &str| -> Result<Vec<usize>, String> {
        let number = |digits: &str| match digits.parse() {
            Ok(number @ 1_usize..) => Ok(number),
            _ => Err("rows are numbered from 1: 1.3 is the third row below the first".to_owned()),
        };
        word.trim().split('.').map(number).collect()
    };
    Ok(OpenRows(text.split(',').map(place).collect::<Result<_, _>>()?))
}
