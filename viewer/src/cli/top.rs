//! `csprof top`

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::{Args, Parser};

use super::appearance::Appearance;
use super::exit_code::{self, WrongUsage};
use super::live::LiveRun;
use super::settings::Settings;
use super::view::View;
use crate::profile::comparison::OTHER;
use crate::profile::{Profile, short_name};
use crate::refine::Refined;
use crate::tui::live::{Live, Since, compared, elapsed_ns};
use crate::views::columns::{Basis, Column, Id};
use crate::views::flat::flat;
use crate::views::number::{Form, amount, duration};
use crate::views::printable::{command_line, printable};
use crate::views::{Cost, Sort};
use crate::{print, tui};

const EXAMPLES: &str = "\
Examples:
  csprof top                      the program that csprof record has started
  csprof top 4711                 of several, that of process 4711
  csprof top 4711 | head -20      without a terminal, one table

The program notices nothing: its samples are read from memory that it shares.";

/// How far back `top` looks, in the viewer.
const BACK: Duration = Duration::from_secs(5);

/// Time between two readings without which there is no rate.
const FIRST: Duration = Duration::from_secs(1);

/// Functions of a program that runs, by their own cost in the last seconds
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Top {
    /// The run: its folder, csprof record's process, or any of its processes [default: the only
    /// one]
    #[arg(value_name = "RUN|PID")]
    run: Option<String>,
    /// Without a terminal: print at most this many functions
    #[arg(long, value_name = "N", default_value_t = 40)]
    limit: usize,
}

/// The options of the viewer as they are without any.
#[derive(Parser)]
struct Viewed {
    #[command(flatten)]
    view: View,
}

impl Top {
    /// Shows the functions until the user leaves, or prints them once where there is no terminal.
    ///
    /// # Errors
    ///
    /// When there is no such run, or output fails.
    pub(super) fn run(&self, appearance: Appearance, settings: &Settings) -> Result<ExitCode> {
        let run = Arc::new(LiveRun::find(self.run.as_deref())?);
        let first = run.read()?;
        thread::sleep(FIRST);
        let second = run.read()?;
        if !tui::is_screen() {
            let form = if appearance.ascii { Form::Ascii } else { Form::Unicode };
            let profile = compared(first, second.clone(), None);
            let profile = profile.map_err(|cause| anyhow!(cause))?;
            let mut out = print::output(print::Escaping::Text);
            self.write(&profile, &second.profile, form, &mut out)
                .and_then(|()| out.flush())
                .context(print::CANNOT_PRINT)?;
            return Ok(exit_code::DONE);
        }
        let words = ["csprof", "--live", "--start", "flat", "--remember", "false"];
        let viewed =
            Viewed::try_parse_from(words).map_err(|error| WrongUsage(error.to_string()))?;
        let live = Live::new([first, second], Since::Last(BACK));
        viewed.view.show_live(&run, live, appearance, settings)
    }

    /// One table.
    fn write(
        &self,
        profile: &Profile,
        now: &Profile,
        form: Form,
        out: &mut impl Write,
    ) -> std::io::Result<()> {
        let refined = Refined::base(profile);
        let rows = flat(&refined, Sort::usual(Cost::Exclusive, profile));
        let basis = Basis { form, ..Basis::new(&refined) };
        let comparison = profile.comparison.as_ref();
        let total = comparison.map_or(0, |of| of.sides[OTHER].total);
        let between_ns = comparison.and_then(|of| of.moments).unwrap_or(0);
        let state = if now.info.run.goes_on() { "while it runs, after" } else { "ended, after" };
        writeln!(out, "{}", command_line(&now.info.run.command))?;
        writeln!(
            out,
            "{state} {}: {} of {}; own cost per second of the last {}, and in all",
            duration(elapsed_ns(now) as f64, form),
            amount(total, refined.looked_at(), form),
            printable(&refined.looked_at().source),
            duration(between_ns as f64, form),
        )?;
        writeln!(out, "\n{:>10} {:>10}  function", "per s", "total")?;
        for row in rows.iter().take(self.limit) {
            let cell = |id| {
                let column = Column::comparing(id, Cost::Exclusive);
                column.text_of(&basis, row)
            };
            let name = refined.functions.get(row.function.index()).map_or("", |of| &*of.name);
            writeln!(
                out,
                "{:>10} {:>10}  {}",
                cell(Id::Rate),
                cell(Id::Other),
                printable(&short_name(name))
            )?;
        }
        Ok(())
    }
}
