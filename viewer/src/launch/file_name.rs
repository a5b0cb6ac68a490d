//! Names of files that `record -o` writes as patterns, so that one command line, which a launcher
//! gives to all ranks of a job, makes a file for each.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use csprof_format::launch::job::{JOB_IDS, LAUNCHERS, Place};

use super::machine;
use crate::job_place::place_here;

/// Ending of saved profiles.
pub const SUFFIX: &str = "csprof";

/// What may stand behind `%`, for messages.
const KNOWN: &str = "%r (rank), %p (process id of csprof), %h (host), %j (job), %q{VAR} (a variable) \
                     and %% are known";

/// What the parts of a pattern stand for: what is known of this process before its program runs.
pub struct Facts<'e> {
    /// Where a launcher put it.
    pub place: Option<Place>,
    /// Name of the host.
    pub host: String,
    /// Process id.
    pub pid: u32,
    /// The environment.
    variable: &'e dyn Fn(&str) -> Option<OsString>,
}

/// A name without patterns.
#[derive(Debug, PartialEq, Eq)]
pub struct FileName {
    /// The file; relative as the pattern is.
    pub path: PathBuf,
    /// Whether it is in a folder that was asked for, by a name that nobody has chosen.
    pub is_chosen_here: bool,
}

/// The job of this process, by its environment.
#[must_use]
pub fn job_here() -> Option<String> {
    let filled = |name: &&str| std::env::var(name).ok().filter(|id| !id.is_empty());
    JOB_IDS.iter().find_map(filled)
}

/// What the profile of a rank is called in a folder.
#[must_use]
pub fn of_rank(host: &str, rank: u32) -> PathBuf {
    let mut name = component(host.as_bytes());
    name.extend_from_slice(format!(".{rank}.{SUFFIX}").as_bytes());
    OsString::from_vec(name).into()
}

/// The file that `asked` means for this process, which runs `program`. A folder that it names is
/// made.
///
/// # Errors
///
/// When a part of the pattern means nothing here, all ranks of the job would write one file, or the
/// folder cannot be made.
pub fn file_name(asked: &Path, program: &OsStr) -> Result<FileName> {
    let variable = |name: &str| std::env::var_os(name);
    let host = machine::describe().0;
    let facts = Facts { place: place_here(), host, pid: std::process::id(), variable: &variable };
    let name = facts.named(asked, program)?;
    if name.is_chosen_here
        && let Some(folder) = name.path.parent()
    {
        make_folder(folder)?;
    }
    Ok(name)
}

pub(super) fn make_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)
        .with_context(|| format!("{}: this folder cannot be made", folder.display()))
}

/// The name that a program gives its profile.
#[must_use]
pub fn of_program(program: &OsStr) -> OsString {
    let mut name = Path::new(program).file_name().unwrap_or(program).to_owned();
    name.push(".");
    name.push(SUFFIX);
    name
}

impl Facts<'_> {
    fn named(&self, asked: &Path, program: &OsStr) -> Result<FileName> {
        let Expanded { name, is_per_rank } = self.expanded(asked)?;
        let path = PathBuf::from(name);
        if path.as_os_str().as_bytes().ends_with(b"/") || path.is_dir() {
            let name = match self.place {
                Some(place) => of_rank(&self.host, place.rank),
                None => of_program(program).into(),
            };
            return Ok(FileName { path: path.join(name), is_chosen_here: true });
        }
        // What is there and no file, such as a pipe or /dev/null, takes all of them.
        let is_file = path.metadata().map_or(true, |there| there.is_file());
        if let Some(place) = self.place.filter(|place| place.has_peers() && !is_per_rank && is_file)
        {
            let ranks = match place.ranks {
                Some(ranks) => format!("the {ranks} ranks"),
                None => "all ranks".to_owned(),
            };
            bail!(
                "{}: {ranks} of this job ({}) would write this one file; give each its own: -o {}, or \
                 a folder: -o {}/",
                asked.display(),
                place.launcher.name,
                with_rank(asked).display(),
                asked.with_extension("").display(),
            );
        }
        Ok(FileName { path, is_chosen_here: false })
    }

    fn expanded(&self, asked: &Path) -> Result<Expanded> {
        let mut rest = asked.as_os_str().as_bytes();
        let mut name = Vec::new();
        let mut parts = Vec::new();
        while let Some(at) = rest.iter().position(|&byte| byte == b'%') {
            name.extend_from_slice(&rest[..at]);
            let (part, after) = Part::read(&rest[at + 1..]).with_context(|| {
                format!("-o {}: a % means nothing there; {KNOWN}", asked.display())
            })?;
            rest = after;
            let value = self
                .value(&part)
                .with_context(|| format!("-o {}: {}", asked.display(), part.why_unknown()))?;
            name.extend_from_slice(&value);
            parts.push(part);
        }
        name.extend_from_slice(rest);
        let is_per_rank = self.tell_ranks_apart(&parts);
        Ok(Expanded { name: OsString::from_vec(name), is_per_rank })
    }

    /// Whether these are others for each rank of the job: its number, or a number on a node and
    /// the node.
    fn tell_ranks_apart(&self, parts: &[Part<'_>]) -> bool {
        let Some(place) = self.place else { return true };
        // A variable of a launcher around this one is the same in all ranks.
        let is_rank = |part: &Part<'_>| match part {
            Part::Rank => true,
            Part::Variable(name) => {
                let value = self.filled(name).and_then(|value| value.to_str()?.trim().parse().ok());
                LAUNCHERS.iter().any(|of| of.rank == *name) && value == Some(place.rank)
            }
            _ => false,
        };
        let is_local = |part: &Part<'_>| match part {
            Part::Pid => true,
            Part::Variable(name) => place.launcher.local_rank.contains(name),
            _ => false,
        };
        let has_node = parts.iter().any(|part| matches!(part, Part::Host));
        parts.iter().any(is_rank) || has_node && parts.iter().any(is_local)
    }

    /// What stands for a part; `None` where that is not known.
    fn value(&self, part: &Part<'_>) -> Option<Vec<u8>> {
        Some(match part {
            Part::Percent => b"%".to_vec(),
            Part::Rank => self.place?.rank.to_string().into_bytes(),
            Part::Pid => self.pid.to_string().into_bytes(),
            Part::Host => component(self.host.as_bytes()),
            Part::Job => component(JOB_IDS.iter().find_map(|id| self.filled(id))?.as_bytes()),
            Part::Variable(name) => component(self.filled(name)?.as_bytes()),
        })
    }

    /// The value of a variable, which is not empty.
    fn filled(&self, name: &str) -> Option<OsString> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }
}

/// A pattern whose parts are known.
struct Expanded {
    name: OsString,
    /// Whether it differs from rank to rank.
    is_per_rank: bool,
}

/// What stands behind a `%`.
enum Part<'p> {
    Percent,
    Rank,
    Pid,
    Host,
    Job,
    Variable(&'p str),
}

impl<'p> Part<'p> {
    /// The part that a text begins with, and what is behind it.
    fn read(text: &'p [u8]) -> Option<(Self, &'p [u8])> {
        let (letter, after) = text.split_first()?;
        Some(match letter {
            b'%' => (Self::Percent, after),
            b'r' => (Self::Rank, after),
            b'p' => (Self::Pid, after),
            b'h' => (Self::Host, after),
            b'j' => (Self::Job, after),
            b'q' => {
                let name = after.strip_prefix(b"{")?;
                let end = name.iter().position(|&byte| byte == b'}')?;
                let text = std::str::from_utf8(&name[..end]).ok()?;
                let is_name = !text.is_empty() && !text.contains(['=', '\0']);
                (Self::Variable(is_name.then_some(text)?), &name[end + 1..])
            }
            _ => return None,
        })
    }

    /// Why nothing stands for it here, and what to do.
    fn why_unknown(&self) -> String {
        match self {
            Self::Rank => {
                "%r: no launcher gave csprof a rank; put csprof behind it (mpirun … csprof \
                           record …), or leave %r out"
                    .to_owned()
            }
            Self::Job => "%j: no batch system or launcher named a job; %q{VAR} is the value of a \
                          variable"
                .to_owned(),
            Self::Variable(name) => format!("%q{{{name}}}: this variable is not set, or is empty"),
            Self::Percent | Self::Pid | Self::Host => "nothing is known".to_owned(),
        }
    }
}

/// A value as a part of a name: what would lead into another folder does not, be it a slash, `.` or
/// `..`.
fn component(value: &[u8]) -> Vec<u8> {
    let is_dots = value.iter().all(|&byte| byte == b'.');
    let leads = |byte: u8| byte == b'/' || is_dots;
    value.iter().map(|&byte| if leads(byte) { b'_' } else { byte }).collect()
}

/// The pattern with the rank before the ending.
fn with_rank(asked: &Path) -> PathBuf {
    match asked.extension() {
        Some(ending) => {
            let mut with_rank = OsString::from("%r.");
            with_rank.push(ending);
            asked.with_extension(with_rank)
        }
        None => asked.with_extension(format!("%r.{SUFFIX}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(name: &str) -> Option<OsString> {
        let known = [
            ("SLURM_JOB_ID", "4711"),
            ("WHERE", "a/b"),
            ("EMPTY", ""),
            ("UP", ".."),
            ("USER", "ada"),
            ("PMI_RANK", "2"),
            ("SLURM_PROCID", "0"),
            ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
            ("SLURM_LOCALID", "1"),
        ];
        known.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
    }

    fn facts(rank: Option<(u32, Option<u32>)>) -> Facts<'static> {
        let place = rank.map(|(rank, ranks)| Place {
            launcher: &LAUNCHERS[0],
            rank,
            ranks,
            local_ranks: None,
            cores: None,
        });
        Facts { place, host: "node7".to_owned(), pid: 815, variable: &variable }
    }

    fn named(rank: Option<(u32, Option<u32>)>, asked: &str) -> String {
        match facts(rank).named(asked.as_ref(), "/bin/xz".as_ref()) {
            Ok(name) => name.path.display().to_string(),
            Err(error) => format!("{error:#}"),
        }
    }

    const THIRD: Option<(u32, Option<u32>)> = Some((2, Some(8)));

    #[test]
    fn parts_stand_for_what_is_known() {
        assert_eq!(named(THIRD, "%j.%h.%r.%p.csprof"), "4711.node7.2.815.csprof");
        assert_eq!(named(THIRD, "%q{WHERE}-100%%.csprof-%r"), "a_b-100%.csprof-2");
        assert_eq!(named(None, "%p.csprof"), "815.csprof");
        assert_eq!(named(None, "%q{UP}/%q{UP}x"), "__/__x");
    }

    #[test]
    fn what_is_not_known_is_refused() {
        assert!(named(None, "%r.csprof").contains("%r: no launcher gave csprof a rank"));
        assert!(named(THIRD, "%q{EMPTY}.csprof").contains("%q{EMPTY}: this variable is not set"));
        for wrong in ["50%", "%x", "%q", "%q{", "%q{}"] {
            assert!(named(THIRD, wrong).contains("a % means nothing there"), "{wrong}");
        }
    }

    #[test]
    fn a_folder_gets_a_file_for_each_rank() {
        assert_eq!(named(THIRD, "prof/"), "prof/node7.2.csprof");
        assert_eq!(named(THIRD, "prof.%j/"), "prof.4711/node7.2.csprof");
        assert_eq!(named(None, "prof/"), "prof/xz.csprof");
        assert_eq!(named(None, "/tmp"), "/tmp/xz.csprof");
    }

    #[test]
    fn one_file_for_all_ranks_is_refused_with_the_pattern_to_use() {
        let refused = named(THIRD, "run.csprof");
        assert!(refused.starts_with("run.csprof: the 8 ranks of this job (Open MPI)"), "{refused}");
        assert!(refused.ends_with("-o run.%r.csprof, or a folder: -o run/"), "{refused}");
        assert!(named(Some((0, None)), "out/run").contains("-o out/run.%r.csprof"));
        assert!(named(THIRD, "%h.csprof").contains("-o %h.%r.csprof"));
        assert_eq!(named(THIRD, "/dev/null"), "/dev/null");
        assert_eq!(named(Some((0, Some(1))), "run.csprof"), "run.csprof");
    }

    #[test]
    fn what_may_be_the_same_in_two_ranks_is_no_name_for_each() {
        for (asked, name) in [
            ("%q{PMI_RANK}", "2"),
            ("%h.%p", "node7.815"),
            ("%h.%q{OMPI_COMM_WORLD_LOCAL_RANK}", "node7.1"),
        ] {
            assert_eq!(named(THIRD, asked), name);
        }
        // Of all ranks of a node; of ranks on two nodes; of a launcher around this one.
        for asked in [
            "%q{USER}",
            "%p",
            "%q{OMPI_COMM_WORLD_LOCAL_RANK}",
            "%q{SLURM_PROCID}",
            "%h.%q{SLURM_LOCALID}",
        ] {
            assert!(named(THIRD, asked).contains("would write this one file"), "{asked}");
        }
    }
}
