//! What one share of a merge does: it sums its profiles, adds the sums of others, and hands on the
//! result, so that share 0 has all.

use std::path::PathBuf;

use anyhow::Result;
use csprof_format::{read, write};
use serde::{Deserialize, Serialize};

use super::super::open::read_part;
use super::super::progress::Progress;
use super::meeting::Meeting;
use super::parts::{FEW_RANKS, names_were_sought};
use super::read_ahead::in_order;
use super::share::Share;
use crate::profile::reduce::{Keep, Reduction, ranks_of, repeated_rank};

/// What is known of a sum beside itself. Files are known by their place among all.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Notes {
    /// Why the files are not summed in shares; then one process has to look at them all.
    pub(super) not_in_shares: Option<String>,
    /// Whether there is a sum, of one file or more.
    has_sum: bool,
    /// Whether a file is a sum itself.
    has_summed: bool,
    /// Whether nobody has looked for names of some part.
    pub(super) lacks_names: bool,
    /// Files that are left out, and why.
    pub(super) left_out: Vec<(usize, String)>,
    /// The stages that each file was saved with.
    pub(super) stages: Vec<(usize, String, Vec<String>)>,
}

/// The sum so far.
#[derive(Debug)]
pub(super) struct ShareSum {
    sum: Reduction,
    pub(super) notes: Notes,
}

/// How files are read and summed.
#[derive(Debug)]
pub(super) struct Task<'f> {
    pub(super) files: &'f [PathBuf],
    pub(super) keep: Option<Keep>,
    pub(super) salvage: bool,
    pub(super) skip_damaged: bool,
}

impl Task<'_> {
    /// Sums the files of a share.
    ///
    /// # Errors
    ///
    /// When a file cannot be read, or another share has failed.
    pub(super) fn sum(&self, share: Share, meeting: &Meeting) -> Result<ShareSum> {
        let mut made = ShareSum::new(self.keep);
        let places = (share.number as usize..self.files.len()).step_by(share.count as usize);
        let places: Vec<usize> = places.collect();
        let mut progress = Progress::new("reading profiles");
        let read = |at: usize| read_part(&self.files[places[at]], self.salvage);
        in_order(places.len(), share.readers(), read, |at, read| {
            progress.report(at, places.len());
            meeting.check()?;
            let (place, name) = (places[at], self.files[places[at]].display().to_string());
            let part = match read {
                Ok(part) => part.told()?,
                Err(error) if self.skip_damaged => {
                    made.notes.left_out.push((place, format!("{error:#}")));
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            made.notes.stages.push((place, name.clone(), part.stages.clone()));
            made.notes.lacks_names |= !names_were_sought(&part);
            made.notes.has_summed |= part.is_sum();
            if self.keep.is_none() && ranks_of(&part).is_empty() {
                made.give_up(format!("{name} has no rank"));
            } else if self.keep.is_none() && repeated_rank(&part).is_some() {
                made.give_up(format!("{name} has a rank twice"));
            }
            made.add(&name, &part);
            Ok(())
        })?;
        Ok(made)
    }
}

impl ShareSum {
    fn new(keep: Option<Keep>) -> Self {
        Self { sum: Reduction::new(keep.unwrap_or_default()), notes: Notes::default() }
    }

    /// Nothing, since the files are not summed in shares.
    pub(super) fn not_in_shares(cause: &str) -> Self {
        let mut none = Self::new(None);
        none.give_up(cause.to_owned());
        none
    }

    fn give_up(&mut self, cause: String) {
        self.notes.not_in_shares.get_or_insert(cause);
    }

    /// Adds a profile unless it is clear already that there will be no sum.
    fn add(&mut self, name: &str, part: &csprof_format::profile::Profile) {
        if self.notes.not_in_shares.is_some() {
            return;
        }
        match self.sum.add(name, part) {
            Ok(()) => self.notes.has_sum = true,
            // Who reads them in their order says which files do not go together.
            Err(error) => self.give_up(error.to_string()),
        }
    }

    /// Adds the sums of other shares, and hands on the result unless this is share 0.
    ///
    /// # Errors
    ///
    /// When another share has failed, or a result cannot be written or read.
    pub(super) fn gather(mut self, share: Share, meeting: &Meeting) -> Result<Option<Self>> {
        for child in share.children() {
            let notes: Notes = meeting.wait_for(child)?;
            let Notes { not_in_shares, has_sum, has_summed, lacks_names, left_out, stages } = notes;
            if let Some(cause) = not_in_shares {
                self.give_up(cause);
            }
            if has_sum {
                let part = read::open(&meeting.path_of_result(child, "csprof"))?;
                self.add(&Share { number: child, ..share }.to_string(), &part);
            }
            self.notes.has_summed |= has_summed;
            self.notes.lacks_names |= lacks_names;
            self.notes.left_out.extend(left_out);
            self.notes.stages.extend(stages);
        }
        if share.number == 0 {
            self.notes.left_out.sort_unstable();
            self.notes.stages.sort_unstable();
            return Ok(Some(self));
        }
        self.notes.has_sum &= self.notes.not_in_shares.is_none();
        if self.notes.has_sum {
            let path = meeting.path_of_result(share.number, "csprof");
            write::save_new(&self.sum.finish(), &path)?;
        }
        meeting.hand_over(&self.notes)?;
        Ok(None)
    }

    /// The sum of all, with how many ranks it keeps apart, and what is known of it. `Err` says why
    /// one process has to merge all files instead: they are few, or no ranks of one job.
    pub(super) fn finish(
        mut self,
        keep: Option<Keep>,
    ) -> Result<(csprof_format::profile::Profile, usize, Notes), String> {
        let ranks = self.sum.ranks().count();
        if keep.is_none() && !self.notes.has_summed && ranks <= FEW_RANKS {
            self.give_up(format!("{ranks} ranks are kept apart"));
        }
        match self.notes.not_in_shares {
            Some(cause) => Err(cause),
            None => {
                let kept = self.sum.kept();
                Ok((self.sum.finish(), kept, self.notes))
            }
        }
    }
}
