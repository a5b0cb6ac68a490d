//! When samples were taken: the records of threads become rows of the profile.

use csprof_format::address::FrameKey;
use csprof_format::arena::TimeRecord;
use csprof_format::ids::ProcessId;
use csprof_format::profile::{Exit, RunInfo, SampleTime};

use super::{Gathering, Numbers};
use crate::launch::arena_read::ArenaThread;

impl Gathering {
    /// Adds when the samples of a thread were taken, whose nodes have these numbers now. No node
    /// has times of more samples than it has. What comes before its process began, or behind the
    /// end of the run, is no time: in a time namespace the clock is another.
    pub(super) fn times(&mut self, thread: &ArenaThread, process: ProcessId, numbers: &Numbers) {
        if thread.times.is_empty() {
            return;
        }
        let start_ns = self.profile.processes[process.index()].start_ns;
        let RunInfo { duration_ns, exit, .. } = self.profile.run;
        // The end of a salvaged run is the last that was heard of it.
        let end_ns = if duration_ns == 0 || exit == Exit::Unknown { u64::MAX } else { duration_ns };
        let is_known =
            |time_ns: u64| (start_ns..=end_ns).contains(&time_ns.saturating_sub(self.run_start_ns));
        let is_of_run = |time_ns: u64| time_ns >= self.run_start_ns && is_known(time_ns);
        let of_other_clock = thread.times.iter().filter(|record| !is_of_run(record.time_ns));
        self.of_other_clock += of_other_clock.map(|record| u64::from(record.samples)).sum::<u64>();
        let mut left: Vec<u64> = thread.nodes.iter().map(|node| node.samples).collect();
        let row = |record: &TimeRecord| {
            let place = record.node as usize;
            if !is_of_run(record.time_ns) {
                return None;
            }
            let node = numbers.0.get(place).copied().filter(|&node| node != Numbers::NONE)?;
            let samples = left[place].min(record.samples.into());
            left[place] -= samples;
            let source = thread.nodes[place].key.map_or(0, FrameKey::metric);
            // A profile has few metrics; samples were 32 bits wide.
            let (metric, samples) = (self.metrics.of_source(source) as u8, samples as u32);
            let time_us = self.since_start(record.time_ns) / 1000;
            (samples > 0).then_some(SampleTime { time_us, node, metric, samples })
        };
        let mut rows: Vec<SampleTime> = thread.times.iter().filter_map(row).collect();
        // Trees of epochs stand one after the other, in order of their nodes.
        let trees = &self.profile.trees;
        let tree = |node| trees.partition_point(|tree| tree.first_node <= node);
        rows.sort_by_cached_key(|row| (tree(row.node), row.place()));
        rows.dedup_by(|next, row| {
            let both = next.samples.checked_add(row.samples);
            let is_same = next.place() == row.place() && both.is_some();
            row.samples = both.filter(|_| is_same).unwrap_or(row.samples);
            is_same
        });
        // More than 32 bits of one place are no profile's.
        rows.dedup_by_key(|row| row.place());
        self.profile.times.append(&mut rows);
    }

    /// Says of how many samples the times are not kept.
    pub(super) fn finish_times(&mut self) {
        let [all, timed] = self.timed;
        if timed < all {
            // A record may stand for samples that a node lacks.
            let of_other_clock = self.of_other_clock.min(all - timed);
            let no_room = all - timed - of_other_clock;
            let mut why = Vec::new();
            if of_other_clock > 0 {
                why.push(format!(
                    "{of_other_clock} came by a clock that is not the run's, as in a time namespace"
                ));
            }
            if no_room > 0 {
                why.push(format!(
                    "for {no_room} there was no room (at most --times=SIZE, half of --memory, and \
                     a sixteenth of what is free of shared memory), or the kernel told no time"
                ));
            }
            let warning =
                format!("{} of {all} samples have no time: {}", all - timed, why.join("; "));
            self.profile.run.warnings.push(warning);
        }
    }
}
