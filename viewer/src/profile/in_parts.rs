//! Long lists, gone over by several threads at once.

use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::thread::{self, Builder};

/// Threads at most: more of them wait for memory, and not for a processor.
const MOST: usize = 4;

/// What `work` makes of the parts of a list, in their order. It is given the place of a part's
/// first item, and the part. There is a part for each processor, as long as it has `fewest` items,
/// and one at least.
pub(crate) fn in_parts<T: Sync, R: Send>(
    items: &[T],
    fewest: usize,
    work: impl Fn(usize, &[T]) -> R + Sync,
) -> Vec<R> {
    // To ask takes as long as a thousand items do.
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    let count = || thread::available_parallelism().map_or(1, usize::from).min(MOST);
    let parts = (items.len() / fewest.max(1)).clamp(1, *PROCESSORS.get_or_init(count));
    let length = items.len().div_ceil(parts).max(1);
    let (own, others) = items.split_at(length.min(items.len()));
    if others.is_empty() {
        return vec![work(0, own)];
    }
    let work = &work;
    thread::scope(|scope| {
        let others = others.chunks(length).zip(1..).map(|(part, number)| {
            let of_part = move || work(number * length, part);
            // Without a thread, this one does it.
            Builder::new().spawn_scoped(scope, of_part).map_err(|_| of_part)
        });
        let others: Vec<_> = others.collect();
        let mut made = vec![work(0, own)];
        made.extend(others.into_iter().map(|other| match other {
            Ok(handle) => handle.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(of_part) => of_part(),
        }));
        made
    })
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
}
