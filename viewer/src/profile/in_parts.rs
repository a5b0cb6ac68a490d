//! Work that several threads do at once; of two things that differ, see [`csprof_format::beside`].

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, Builder};

/// Threads at most: more of them wait for memory, and not for a processor.
const MOST: usize = 4;

/// How many threads are of use.
pub(crate) fn processors() -> usize {
    // To ask takes as long as a thousand items do.
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    let count = || thread::available_parallelism().map_or(1, usize::from).min(MOST);
    *PROCESSORS.get_or_init(count)
}

/// What `work` makes of the parts of a list, in their order. It is given the place of a part's
/// first item, and the part. There is a part for each processor, as long as it has `fewest` items,
/// and one at least.
pub(crate) fn in_parts<T: Sync, R: Send>(
    items: &[T],
    fewest: usize,
    work: impl Fn(usize, &[T]) -> R + Sync,
) -> Vec<R> {
    let parts = (items.len() / fewest.max(1)).clamp(1, processors());
    let length = items.len().div_ceil(parts).max(1);
    let (own, others) = items.split_at(length.min(items.len()));
    let parts = [own].into_iter().chain(others.chunks(length)).enumerate().collect();
    of_each(parts, |(number, part)| work(number * length, part))
}

/// What `work` makes of each of a few items, in their order. Each processor takes the next one that
/// none has taken.
pub(crate) fn of_each<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let others = items.len().min(processors()).saturating_sub(1);
    if others == 0 {
        return items.into_iter().map(work).collect();
    }
    let items = Mutex::new(items.into_iter().enumerate());
    // The lock is free again before the work begins.
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let take_all = || {
        let mut made = Vec::new();
        while let Some((number, item)) = next() {
            made.push((number, work(item)));
        }
        made
    };
    thread::scope(|scope| {
        // Without threads, this one does it all.
        let start = |_| Builder::new().spawn_scoped(scope, take_all).ok();
        let others: Vec<_> = (0..others).map_while(start).collect();
        let mut made = take_all();
        for other in others {
            made.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        made.sort_unstable_by_key(|(number, _)| *number);
        made.into_iter().map(|(_, made)| made).collect()
    })
}

/// Divides numbers up to `count` into so many parts at most, as equal as can be where each part but
/// the first begins with one of `starts`, which ascend.
pub(crate) fn divided(starts: &[usize], count: usize, parts: usize) -> Vec<Range<usize>> {
    let near = |part: usize| {
        let wanted = count / parts * part;
        let after = starts.partition_point(|&start| start < wanted);
        let near = starts[after.saturating_sub(1)..].iter().take(2);
        near.copied().min_by_key(|start| start.abs_diff(wanted))
    };
    let mut start = 0;
    let mut divided = Vec::new();
    for end in (1..parts).filter_map(near).chain([count]) {
        if start < end && end <= count {
            divided.push(start..end);
            start = end;
        }
    }
    divided
}

/// The parts of a column, each with its numbers.
pub(crate) fn split<'c, T>(
    mut column: &'c mut [T],
    parts: &[Range<usize>],
) -> Vec<(Range<usize>, &'c mut [T])> {
    let part =
        |numbers: &Range<usize>| Some((numbers.clone(), column.split_off_mut(..numbers.len())?));
    parts.iter().map_while(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_in_order_and_together_all() {
        for count in 0..40 {
            let items: Vec<usize> = (0..count).collect();
            for fewest in [0, 1, 3, 50] {
                let made = in_parts(&items, fewest, |first, part| {
                    assert!(part.first().is_none_or(|item| *item == first));
                    part.to_vec()
                });
                assert!(made.len() <= MOST && made[1..].iter().all(|part| !part.is_empty()));
                assert_eq!(made.concat(), items);
            }
        }
    }

    #[test]
    fn parts_begin_where_they_may() {
        let starts = [1, 40, 50, 90, 95];
        let whole: Vec<_> = std::iter::once(0..100).collect();
        assert_eq!(divided(&starts, 100, 1), whole);
        assert_eq!(divided(&starts, 100, 2), [0..50, 50..100]);
        assert_eq!(divided(&starts, 100, 3), [0..40, 40..50, 50..100]);
        assert_eq!(divided(&starts, 100, 4), [0..40, 40..50, 50..90, 90..100]);
        assert_eq!(divided(&[1, 2], 100, 4), [0..2, 2..100]);
        assert_eq!(divided(&[], 100, 4), whole);
        assert!(divided(&[], 0, 4).is_empty());
    }

    #[test]
    fn what_is_made_is_in_order() {
        for count in [0, 1, 2, 50] {
            let made = of_each((0..count).collect(), |item: u64| item * 2);
            assert_eq!(made, (0..count).map(|item| item * 2).collect::<Vec<_>>());
        }
    }
}
