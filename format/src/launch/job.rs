//! What launchers of parallel jobs tell the processes that they start: one table.
//!
//! The collector reads from it which rank a process is, and `csprof record` how to name its file.

/// A launcher, and the variables that it sets for each process of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// What people call it.
    pub name: &'static str,
    /// The variable with the rank: the number of the process in the job, from 0.
    pub rank: &'static str,
    /// Variables with the number of ranks of the job, the best first.
    pub ranks: &'static [&'static str],
    /// The number of the process on its node: never a rank, for each node has a 0.
    pub local_rank: &'static [&'static str],
    /// The number of the job's ranks on this node.
    pub local_ranks: &'static [&'static str],
    /// The number of processor cores of each process, where that was asked for.
    pub cores: &'static [&'static str],
    /// Set where a process is one of a job, by launchers that give their [`SCRIPT`] a rank, too.
    pub step: Option<&'static str>,
}

/// Variable and value of a script that a batch system runs, on the first node of a job. Unless a
/// step of the job was started in it, the rank there is not one of a program.
const SCRIPT: (&str, &str) = ("ENVIRONMENT", "BATCH");

/// All launchers: those of MPI before batch systems, since `mpirun` in an allocation of Slurm's
/// starts ranks of its own, and Slurm's variables are those of the script around it. Which of two
/// is within the other, the environment does not say.
pub const LAUNCHERS: &[Launcher] = &[
    Launcher {
        name: "Open MPI",
        rank: "OMPI_COMM_WORLD_RANK",
        ranks: &["OMPI_COMM_WORLD_SIZE"],
        local_rank: &["OMPI_COMM_WORLD_LOCAL_RANK"],
        local_ranks: &["OMPI_COMM_WORLD_LOCAL_SIZE"],
        cores: &[],
        step: None,
    },
    Launcher {
        name: "MVAPICH2",
        rank: "MV2_COMM_WORLD_RANK",
        ranks: &["MV2_COMM_WORLD_SIZE"],
        local_rank: &["MV2_COMM_WORLD_LOCAL_RANK"],
        local_ranks: &["MV2_COMM_WORLD_LOCAL_SIZE"],
        cores: &[],
        step: None,
    },
    Launcher {
        name: "JSM",
        rank: "JSM_NAMESPACE_RANK",
        ranks: &["JSM_NAMESPACE_SIZE"],
        local_rank: &["JSM_NAMESPACE_LOCAL_RANK"],
        local_ranks: &["JSM_NAMESPACE_LOCAL_SIZE"],
        cores: &[],
        step: None,
    },
    Launcher {
        name: "MPICH, Intel MPI",
        rank: "PMI_RANK",
        ranks: &["PMI_SIZE"],
        // The last is of mpirun_rsh, which comes with MVAPICH 3.
        local_rank: &["MPI_LOCALRANKID", "PMI_LOCAL_RANK", "MVP_COMM_WORLD_LOCAL_RANK"],
        local_ranks: &["MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"],
        // Where Slurm starts them (srun --mpi=pmi2), which says nothing of those on the node.
        cores: &["SLURM_CPUS_PER_TASK"],
        step: None,
    },
    // It has no variable for the number of ranks; Slurm's is right where Slurm starts its ranks.
    Launcher {
        name: "PMIx",
        rank: "PMIX_RANK",
        ranks: &["SLURM_STEP_NUM_TASKS"],
        local_rank: &[],
        local_ranks: &[],
        cores: &["SLURM_CPUS_PER_TASK"],
        step: None,
    },
    Launcher {
        name: "PALS",
        rank: "PALS_RANKID",
        ranks: &[],
        local_rank: &["PALS_LOCAL_RANKID"],
        local_ranks: &["PALS_LOCAL_SIZE"],
        cores: &[],
        step: None,
    },
    Launcher {
        name: "ALPS",
        rank: "ALPS_APP_PE",
        ranks: &[],
        local_rank: &[],
        local_ranks: &[],
        cores: &[],
        step: None,
    },
    Launcher {
        name: "Flux",
        rank: "FLUX_TASK_RANK",
        ranks: &["FLUX_JOB_SIZE"],
        local_rank: &["FLUX_TASK_LOCAL_ID"],
        local_ranks: &[],
        cores: &[],
        step: None,
    },
    Launcher {
        name: "Slurm",
        rank: "SLURM_PROCID",
        ranks: &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"],
        local_rank: &["SLURM_LOCALID"],
        local_ranks: &[],
        cores: &["SLURM_CPUS_PER_TASK"],
        step: Some("SLURM_STEP_ID"),
    },
];

/// Variables with the id of a job: that of a batch system, by which people know it, before that of
/// a launcher.
pub const JOB_IDS: &[&str] = &[
    "SLURM_JOB_ID",
    "PBS_JOBID",
    "LSB_JOBID",
    "COBALT_JOBID",
    "FLUX_JOB_ID",
    "PALS_APID",
    "ALPS_APP_ID",
    "PMIX_NAMESPACE",
    "OMPI_MCA_ess_base_jobid",
];

/// The place of a process in a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Who started it.
    pub launcher: &'static Launcher,
    /// Its rank.
    pub rank: u32,
    /// Ranks of the job, more than `rank`; `None` where the launcher does not say how many.
    pub ranks: Option<u32>,
    /// Of these, those on this node.
    pub local_ranks: Option<u32>,
    /// Processor cores of each rank, where that was asked for.
    pub cores: Option<u32>,
}

impl Place {
    /// The place of a process whose environment has these variables: that by the first launcher
    /// which says that there are other ranks (a driver that is one of one may have started them by
    /// another launcher), else by the first. `None` if no launcher started it.
    #[must_use]
    pub fn of<'v>(variable: impl Fn(&str) -> Option<&'v [u8]>) -> Option<Self> {
        let number = |name: &str| -> Option<u32> {
            core::str::from_utf8(variable(name)?).ok()?.trim().parse().ok()
        };
        let first = |names: &[&str]| names.iter().find_map(|name| number(name));
        let is_script = |launcher: &Launcher| {
            launcher.step.is_some_and(|step| variable(step).is_none())
                && variable(SCRIPT.0) == Some(SCRIPT.1.as_bytes())
        };
        let place = |launcher: &'static Launcher| {
            let rank = number(launcher.rank).filter(|_| !is_script(launcher))?;
            // What does not fit is of another job, around this one.
            let ranks = first(launcher.ranks).filter(|&ranks| ranks > rank);
            let local_ranks = first(launcher.local_ranks)
                .filter(|&local| local > 0 && ranks.is_none_or(|ranks| local <= ranks));
            let cores = first(launcher.cores).filter(|&cores| cores > 0);
            Some(Self { launcher, rank, ranks, local_ranks, cores })
        };
        let places = || LAUNCHERS.iter().filter_map(place);
        places().find(|place| place.ranks > Some(1)).or_else(|| places().next())
    }

    /// Whether the job has other ranks, or may have.
    #[must_use]
    pub fn has_peers(&self) -> bool {
        self.ranks.is_none_or(|ranks| ranks > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(environment: &[(&str, &'static str)]) -> Option<(&'static str, u32, Option<u32>)> {
        let of = |name: &str| {
            environment.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_bytes())
        };
        Place::of(of).map(|place| (place.launcher.name, place.rank, place.ranks))
    }

    #[test]
    fn each_launcher_gives_ranks() {
        for launcher in LAUNCHERS {
            let size = launcher.ranks.first().copied().unwrap_or("none");
            let found = place(&[(launcher.rank, "3"), (size, "8")]);
            let ranks = launcher.ranks.first().map(|_| 8);
            assert_eq!(found, Some((launcher.name, 3, ranks)));
        }
    }

    #[test]
    fn what_counts_on_one_node_is_no_rank() {
        for launcher in LAUNCHERS {
            for local in launcher.local_rank.iter().chain(launcher.local_ranks) {
                assert_eq!(place(&[(local, "0")]), None, "{local}");
                assert!(!LAUNCHERS.iter().any(|other| other.rank == *local), "{local}");
            }
        }
        // As srun with Intel's library has it on the second node.
        let intel = [("MPI_LOCALRANKID", "0"), ("SLURM_PROCID", "2"), ("SLURM_NTASKS", "4")];
        assert_eq!(place(&intel), Some(("Slurm", 2, Some(4))));
    }

    #[test]
    fn of_two_launchers_that_of_mpi_counts_unless_it_has_started_one_rank_alone() {
        let slurm = [("SLURM_PROCID", "3"), ("SLURM_NTASKS", "4"), ("SLURM_STEP_ID", "0")];
        let mpich = [("PMI_RANK", "5"), ("PMI_SIZE", "8")];
        assert_eq!(place(&[&slurm[..], &mpich].concat()), Some(("MPICH, Intel MPI", 5, Some(8))));
        let driver = [("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "1")];
        assert_eq!(place(&[&driver[..], &slurm].concat()), Some(("Slurm", 3, Some(4))));
        // Who says nothing of others is no reason to leave it.
        let without_size = [("PALS_RANKID", "0")];
        assert_eq!(place(&[&driver[..], &without_size].concat()), Some(("Open MPI", 0, Some(1))));
    }

    #[test]
    fn a_batch_script_is_no_rank_and_the_steps_in_it_are() {
        let script = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8"), ("ENVIRONMENT", "BATCH")];
        assert_eq!(place(&script), None);
        let step = [("SLURM_STEP_ID", "0"), ("SLURM_STEP_NUM_TASKS", "4")];
        assert_eq!(place(&[&script[..], &step].concat()), Some(("Slurm", 0, Some(4))));
        assert_eq!(place(&script[..2]), Some(("Slurm", 0, Some(8))));
    }

    #[test]
    fn what_is_no_number_or_does_not_fit_is_not_known() {
        assert_eq!(place(&[("PMI_RANK", "-1")]), None);
        assert_eq!(place(&[("PMI_RANK", "")]), None);
        assert_eq!(place(&[("PMI_RANK", "8"), ("PMI_SIZE", "8")]).unwrap().2, None);
    }
}
