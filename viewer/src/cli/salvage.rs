//! `csprof salvage`

use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use clap::Args;

use super::closing::{shown_path, tell};
use super::exit_code::{self, WrongUsage};
use super::snapshot::save;
use crate::launch::file_name;
use crate::launch::output::Output;
use crate::launch::run_dir::RunDir;
use crate::launch::salvage::{self, LeftRun};
use crate::print;
use crate::views::number::{Form, duration};
use crate::views::printable::{command_line, printable};

const EXAMPLES: &str = "\
Examples:
  csprof salvage                  what is there to salvage?
  csprof salvage /dev/shm/csprof-4711-x3fQ9a -o run.csprof
  csprof salvage --all -o prof/   all that is there
  srun --ntasks=$SLURM_NNODES --ntasks-per-node=1 csprof salvage --all --job $SLURM_JOB_ID --remove \
-o prof/

The folders are left in place; remove them when the profiles are good, or have --remove do it. What \
they have on a disk (/tmp/csprof-spill-…) is removed an hour later by the next `csprof record`.";

/// Make a profile of what an interrupted `csprof record`, or a prepared program, left in its folder
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Salvage {
    /// The run folder; without it, those on this machine are listed
    #[arg(value_name = "DIR", requires = "output")]
    run_dir: Option<PathBuf>,
    /// Save all that is there, each run whose csprof has ended: ranks as HOST.RANK.csprof, others
    /// as PROG.csprof
    #[arg(long, conflicts_with = "run_dir")]
    all: bool,
    /// Only runs of this job, as the batch system or the launcher names it (%j of record -o)
    #[arg(long, value_name = "ID", conflicts_with = "run_dir")]
    job: Option<String>,
    /// File to save; with --all, a folder
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(short, long, conflicts_with = "all")]
    force: bool,
    /// Remove each run folder when its profile is saved, if all its processes have ended and all
    /// that they left could be read
    #[arg(long)]
    remove: bool,
    /// Save addresses without function names; `csprof symbolize` adds them
    #[arg(long)]
    no_symbols: bool,
}

impl Salvage {
    /// Gathers and saves, or lists what could be.
    ///
    /// # Errors
    ///
    /// When there is no run folder, nothing in it, or the profile cannot be saved.
    pub fn run(&self) -> Result<ExitCode> {
        self.check()?;
        match (&self.run_dir, &self.output) {
            (Some(run_dir), Some(output)) => {
                self.save(run_dir, &Output::new(Some(output), output.as_os_str(), self.force)?)?;
            }
            (_, folder) if self.all => {
                return self.save_all(folder.as_deref().unwrap_or(Path::new(".")));
            }
            _ => {
                self.left(&mut print::output(print::Escaping::Text)).1?;
            }
        }
        Ok(exit_code::DONE)
    }

    /// Whether the options go together.
    ///
    /// # Errors
    ///
    /// [`WrongUsage`] if they do not.
    pub(super) fn check(&self) -> Result<(), WrongUsage> {
        let saves = self.all || self.run_dir.is_some();
        let given = [
            (self.output.is_some(), "-o"),
            (self.remove, "--remove"),
            (self.no_symbols, "--no-symbols"),
            (self.force, "-f"),
        ];
        match given.into_iter().find(|(is_given, _)| *is_given && !saves) {
            Some((_, option)) => {
                Err(WrongUsage(format!("{option} needs the run folder, or --all")))
            }
            None => Ok(()),
        }
    }

    /// What there is, of the job that was asked for; lists it.
    fn left(&self, out: &mut impl Write) -> (Vec<LeftRun>, io::Result<()>) {
        let mut left = salvage::salvageable();
        let all = left.len();
        left.retain(|run| self.job.is_none() || run.place.job == self.job);
        if left.is_empty() {
            tell(&[nothing_of(self.job.as_deref(), all)]);
        }
        let listed = left
            .iter()
            .try_for_each(|run| {
                writeln!(out, "{}  {}", run.path.display(), printable(&described(run)))
            })
            .and_then(|()| out.flush());
        (left, listed)
    }

    /// Saves what is in one run folder, which no other csprof saves or removes meanwhile.
    fn save(&self, path: &Path, output: &Output) -> Result<()> {
        let shown = path.display();
        // Another csprof has saved and removed it.
        if self.all && !path.exists() {
            return Ok(());
        }
        let mut run_dir = RunDir::open(&path.canonicalize().unwrap_or_else(|_| path.into()))?;
        let is_recorded = salvage::is_recorded(&run_dir);
        if !is_recorded && !run_dir.take() {
            let taken = format!(
                "{shown}: another csprof saves it now, or its own does in another container; try again \
                 later"
            );
            if self.all {
                tell(&[taken]);
                return Ok(());
            }
            bail!(taken);
        }
        let may_remove = self.remove && !is_recorded && salvage::has_ended(&run_dir);
        let salvaged = salvage::salvage(path)?;
        if salvaged.profile.processes.is_empty() {
            bail!("{shown}: no process left anything there");
        }
        let unread = salvaged.unread;
        match self.all.then(|| output.has(&salvaged.profile)).flatten() {
            Some(saved) => {
                tell(&[format!("{shown}: is saved already, as {}", shown_path(&saved))]);
            }
            None => save(salvaged, output, !self.no_symbols)?,
        }
        if may_remove {
            tell(&run_dir.remove_saved(unread).into_iter().collect::<Vec<_>>());
        } else if self.remove {
            tell(&[format!("{shown}: stays, for its run goes on, or may go on in a container")]);
        }
        Ok(())
    }

    /// Saves all runs in a folder. One that cannot be saved does not keep others from it, nor does
    /// a reader of the list who has seen enough of it.
    fn save_all(&self, folder: &Path) -> Result<ExitCode> {
        let (left, listed) = self.left(&mut print::output(print::Escaping::Text));
        let mut failed = 0;
        for run in &left {
            let saved = Output::numbered_in(folder, &name(run))
                .and_then(|output| self.save(&run.path, &output));
            if let Err(error) = saved {
                failed += 1;
                print::message(format_args!("{error:#}"))?;
            }
        }
        if failed > 0 {
            bail!("{failed} of {} runs could not be saved; their folders stay", left.len());
        }
        listed?;
        Ok(exit_code::DONE)
    }
}

/// Says that there is nothing, of this job or at all, of so many runs.
fn nothing_of(job: Option<&str>, all: usize) -> String {
    let Some(job) = job else {
        return "no interrupted run has left anything on this machine".to_owned();
    };
    let others = match all {
        0 => String::new(),
        1 => "; 1 other run has: csprof salvage lists it".to_owned(),
        _ => format!("; {all} other runs have: csprof salvage lists them"),
    };
    format!("no interrupted run of job {job} has left anything on this machine{others}")
}

/// The file of a run.
fn name(run: &LeftRun) -> PathBuf {
    match run.place.rank {
        Some(rank) => file_name::of_rank(&run.info.host, rank),
        None => {
            let program = run.info.command.first().cloned().unwrap_or_else(|| b"unknown".to_vec());
            file_name::of_program(&std::ffi::OsString::from_vec(program)).into()
        }
    }
}

/// `rank 3 of 8, job 4711, host node7, begun 12 min ago: ./solver input`
fn described(run: &LeftRun) -> String {
    let place = &run.place;
    let mut facts = Vec::new();
    match (place.rank, place.ranks) {
        (Some(rank), Some(ranks)) => facts.push(format!("rank {rank} of {ranks}")),
        (Some(rank), None) => facts.push(format!("rank {rank}")),
        (None, _) => {}
    }
    facts.extend(place.job.as_ref().map(|job| format!("job {job}")));
    if !run.info.host.is_empty() {
        facts.push(format!("host {}", run.info.host));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let age_ns = now.saturating_sub(run.info.start_unix_ns.into());
    if run.info.start_unix_ns > 0 {
        facts.push(format!("begun {} ago", duration(age_ns as f64, Form::Ascii)));
    }
    format!("{}: {}", facts.join(", "), command_line(&run.info.command))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        salvage: Salvage,
    }

    #[test]
    fn what_is_for_saving_needs_something_to_save() {
        let told = |words: &[&str]| {
            let line = Line::parse_from([&["csprof"][..], words].concat());
            line.salvage.check().err().map(|error| error.to_string())
        };
        assert_eq!(told(&["--remove"]).unwrap(), "--remove needs the run folder, or --all");
        assert_eq!(
            told(&["--no-symbols", "--job", "7"]).unwrap().split(' ').next(),
            Some("--no-symbols")
        );
        assert_eq!(told(&["--all", "--remove"]), None);
        assert_eq!(told(&["folder", "-o", "file", "--remove"]), None);
        assert_eq!(told(&["--job", "7"]), None);
    }

    #[test]
    fn who_asks_for_a_job_hears_of_others() {
        assert!(nothing_of(None, 0).ends_with("on this machine"));
        assert!(nothing_of(Some("7"), 0).contains("of job 7 has left anything on this machine"));
        assert!(
            nothing_of(Some("7"), 2).ends_with("; 2 other runs have: csprof salvage lists them")
        );
    }
}
