//! `csprof salvage`

use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use clap::Args;

use super::closing::{shown_path, tell};
use super::exit_code;
use super::snapshot::save;
use crate::launch::output::Output;
use crate::launch::run_dir::RunDir;
use crate::launch::{self, LeftRun, file_name};
use crate::print;
use crate::views::number::{Form, duration};
use crate::views::printable::{command_line, printable};

const EXAMPLES: &str = "\
Examples:
  csprof salvage                  what is there to salvage?
  csprof salvage /dev/shm/csprof-4711-x3fQ9a -o run.csprof
  csprof salvage --all -o prof/   all that is there
  srun --ntasks-per-node=1 csprof salvage --all --job $SLURM_JOB_ID --remove -o prof/

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
    /// Remove each run folder when its profile is saved
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
        match (&self.run_dir, &self.output) {
            (Some(run_dir), Some(output)) => {
                self.save(run_dir, &Output::new(Some(output), output.as_os_str(), self.force)?)?;
            }
            (_, folder) if self.all => {
                return self.save_all(folder.as_deref().unwrap_or(Path::new(".")));
            }
            (None, None) => return list(&self.left()),
            _ => {
                return Err(
                    exit_code::WrongUsage("-o needs the run folder, or --all".into()).into()
                );
            }
        }
        Ok(exit_code::DONE)
    }

    /// What there is, of the job that was asked for.
    fn left(&self) -> Vec<LeftRun> {
        let mut left = launch::salvageable();
        left.retain(|run| self.job.is_none() || run.place.job == self.job);
        left
    }

    /// Saves what is in one run folder.
    fn save(&self, run_dir: &Path, output: &Output) -> Result<()> {
        let salvaged = launch::salvage(run_dir)?;
        if salvaged.profile.processes.is_empty() {
            bail!("{}: no process left anything there", run_dir.display());
        }
        if self.all
            && let Some(path) = output.has(&salvaged.profile.run)
        {
            tell(&[format!("{}: is saved already, as {}", run_dir.display(), shown_path(&path))]);
            return self.remove(run_dir);
        }
        save(salvaged, output, !self.no_symbols)?;
        self.remove(run_dir)
    }

    fn remove(&self, run_dir: &Path) -> Result<()> {
        if !self.remove {
            return Ok(());
        }
        let mut left = RunDir::open(run_dir)?;
        match launch::mapping_processes(&left).is_empty() {
            true => left.remove(),
            false => tell(&[format!("{}: stays, for its run goes on", run_dir.display())]),
        }
        Ok(())
    }

    /// Saves all runs in a folder. One that cannot be saved does not keep others from it.
    fn save_all(&self, folder: &Path) -> Result<ExitCode> {
        let left = self.left();
        list(&left)?;
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
        Ok(exit_code::DONE)
    }
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

fn list(found: &[LeftRun]) -> Result<ExitCode> {
    if found.is_empty() {
        tell(&["no interrupted run has left anything on this machine".to_owned()]);
    }
    let mut out = print::output(print::Escaping::Text);
    for run in found {
        writeln!(out, "{}  {}", run.path.display(), printable(&described(run)))?;
    }
    out.flush()?;
    Ok(exit_code::DONE)
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
