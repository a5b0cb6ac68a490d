//! Which share of a merge this process does.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;
use std::thread;

use csprof_format::launch::job::Place;

use super::super::exit_code::WrongUsage;

/// Threads that read profiles, at most: one thread adds what they have read.
const MOST_READERS: usize = 8;

/// One of several processes that merge the same profiles. Share `number` reads every `count`th of
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// From 0, as ranks are counted.
    pub(super) number: u32,
    pub(super) count: u32,
    /// The processor cores for it.
    pub(super) cores: Cores,
}

/// The processor cores that a share has, of those that its process may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cores {
    /// All of them: nothing is known of other shares on this node.
    All,
    /// An even part of them: so many shares are on this node.
    Among(u32),
    /// So many.
    Own(u32),
}

impl Cores {
    /// Those of a process that a launcher started. Where it says neither how many are on this node,
    /// nor how many cores each has, there may be one for each core, as there is by default.
    fn of(place: Place) -> Self {
        match place.local_ranks {
            Some(shares) => Self::Among(shares),
            None => Self::Own(place.cores.unwrap_or(1)),
        }
    }

    /// How many, where the process may use `usable` ones.
    fn count(self, usable: usize) -> usize {
        match self {
            Self::All => usable,
            Self::Among(shares) => usable / shares.max(1) as usize,
            Self::Own(cores) => usable.min(cores as usize),
        }
    }
}

impl Share {
    /// All of it.
    pub(super) const WHOLE: Self = Self { number: 0, count: 1, cores: Cores::All };

    /// The share that was asked for, or else the one that the launcher of this process gave it.
    ///
    /// # Errors
    ///
    /// [`WrongUsage`] if a launcher gave it a rank and does not say how many there are.
    pub(super) fn here(asked: Option<Self>, place: Option<Place>) -> Result<Self, WrongUsage> {
        match (asked, place) {
            (Some(share), Some(place)) if !share.is_whole() => {
                Ok(Self { cores: Cores::of(place), ..share })
            }
            (Some(share), _) => Ok(share),
            (None, Some(Place { launcher, ranks: None, .. })) => Err(WrongUsage(format!(
                "{} does not say how many processes it started: --share ${}/N says which of N shares \
                 each does, and --share 0/1 that this one merges alone",
                launcher.name, launcher.rank
            ))),
            (None, Some(Place { ranks: Some(1), .. })) => Ok(Self::WHOLE),
            (None, Some(place @ Place { rank, ranks: Some(count), .. })) => {
                Ok(Self { number: rank, count, cores: Cores::of(place) })
            }
            (None, None) => Ok(Self::WHOLE),
        }
    }

    /// Whether all is done by this process.
    pub(super) const fn is_whole(self) -> bool {
        self.count == 1
    }

    /// The shares whose results this one adds to its own, in this order; then its result goes to
    /// [`its parent`](Self::parent).
    pub(super) fn children(self) -> impl Iterator<Item = u32> {
        let steps = (0..u32::BITS).map(|bit| 1_u32 << bit);
        steps
            .take_while(move |step| self.number & step == 0 && *step < self.count)
            .filter_map(move |step| self.number.checked_add(step).filter(|of| *of < self.count))
    }

    /// The share that adds the result of this one; `None` for share 0.
    #[cfg(test)]
    pub(super) const fn parent(self) -> Option<u32> {
        match self.number {
            0 => None,
            number => Some(number & (number - 1)),
        }
    }

    /// Threads that read profiles in this process.
    pub(super) fn readers(self) -> usize {
        // By the mask of the process (sched_getaffinity(2)) and the limits of its cgroup.
        let usable = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.cores.count(usable).clamp(1, MOST_READERS)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "share {} of {}", self.number, self.count)
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/');
        let numbers = numbers.and_then(|(of, all)| Some((of.parse().ok()?, all.parse().ok()?)));
        match numbers {
            Some((number, count)) if number < count => {
                Ok(Self { number, count, cores: Cores::All })
            }
            Some((_, count @ 1..)) => {
                Err(format!("shares of {count} are 0/{count} to {}/{count}", count - 1))
            }
            _ => Err("a share is I/N: number I, from 0, of N".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use csprof_format::launch::job::LAUNCHERS;

    use super::*;

    #[test]
    fn a_share_is_a_number_below_their_count() {
        assert_eq!("3/4".parse(), Ok(Share { number: 3, count: 4, cores: Cores::All }));
        assert_eq!("4/4".parse::<Share>(), Err("shares of 4 are 0/4 to 3/4".to_owned()));
        for wrong in ["", "1", "-1/4", "1/0", "a/b", "1/2/3"] {
            assert!(wrong.parse::<Share>().unwrap_err().starts_with("a share is I/N"), "{wrong}");
        }
    }

    #[test]
    fn the_launcher_says_which_share_unless_it_is_asked_for() {
        let mut place = Place {
            launcher: &LAUNCHERS[0],
            rank: 2,
            ranks: Some(8),
            local_ranks: Some(4),
            cores: None,
        };
        let expected = Share { number: 2, count: 8, cores: Cores::Among(4) };
        assert_eq!(Share::here(None, Some(place)).unwrap(), expected);
        let asked = "0/1".parse().unwrap();
        assert_eq!(Share::here(Some(asked), Some(place)).unwrap(), Share::WHOLE);
        assert_eq!(Share::here(None, None).unwrap(), Share::WHOLE);
        place.ranks = None;
        let refused = Share::here(None, Some(place)).unwrap_err().0;
        assert!(refused.contains("--share $OMPI_COMM_WORLD_RANK/N"), "{refused}");
        assert_eq!(Share::here(Some(asked), Some(place)).unwrap(), Share::WHOLE);
    }

    /// Slurm does not say how many tasks are on a node: eight readers of each would be too many.
    #[test]
    fn a_task_reads_with_the_cores_that_it_has() {
        let readers = |variables: &[(&str, &'static str)], usable: usize| {
            let of = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| value.as_bytes())
            };
            Share::here(None, Place::of(of)).unwrap().cores.count(usable)
        };
        let slurm = [("SLURM_PROCID", "2"), ("SLURM_STEP_NUM_TASKS", "16")];
        assert_eq!(readers(&slurm, 64), 1);
        let asked = [&slurm[..], &[("SLURM_CPUS_PER_TASK", "4")]].concat();
        assert_eq!([readers(&asked, 64), readers(&asked, 2)], [4, 2]);
        let open_mpi = [
            ("OMPI_COMM_WORLD_RANK", "2"),
            ("OMPI_COMM_WORLD_SIZE", "16"),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", "8"),
        ];
        assert_eq!(readers(&open_mpi, 64), 8);
        let alone = [("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "1")];
        assert_eq!([readers(&alone, 64), readers(&[], 64)], [64, 64]);
    }

    /// Each result is added once, and what share 0 has in the end is of all.
    #[test]
    fn results_go_to_share_0_in_a_tree() {
        for count in 1..40 {
            let share = |number| Share { number, count, cores: Cores::All };
            let mut added = vec![0; count as usize];
            for number in 0..count {
                for child in share(number).children() {
                    assert_eq!(share(child).parent(), Some(number), "{child} of {count}");
                    added[child as usize] += 1;
                }
            }
            assert_eq!(added[0], 0);
            assert!(added[1..].iter().all(|times| *times == 1), "{added:?}");
            let most = share(0).children().count() as u32;
            assert_eq!(most, u32::BITS - (count - 1).leading_zeros(), "{count}");
        }
    }
}
