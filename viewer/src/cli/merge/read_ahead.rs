//! Things that are made by several threads and taken by one, in their order.

use std::sync::mpsc::sync_channel;
use std::thread;

/// Makes things number 0 to `count` - 1 on so many threads, and hands them on in their order. Each
/// thread has one thing at a time, made or in the making, until `take` has the thing before it.
///
/// # Errors
///
/// The first of `take`; nothing is taken after it.
pub(super) fn in_order<T: Send, E>(
    count: usize,
    threads: usize,
    make: impl Fn(usize) -> T + Sync,
    mut take: impl FnMut(usize, T) -> Result<(), E>,
) -> Result<(), E> {
    let threads = threads.min(count);
    if threads <= 1 {
        return (0..count).try_for_each(|number| take(number, make(number)));
    }
    thread::scope(|scope| {
        let make = &make;
        let queues: Vec<_> = (0..threads)
            .map(|first| {
                // Without room: what is made waits in its thread.
                let (sender, queue) = sync_channel(0);
                scope.spawn(move || {
                    // Nobody takes any more after an error.
                    let mut numbers = (first..count).step_by(threads);
                    numbers.all(|number| sender.send(make(number)).is_ok())
                });
                queue
            })
            .collect();
        for number in 0..count {
            // A thread that is gone has panicked, which the scope passes on.
            let Ok(made) = queues[number % threads].recv() else { break };
            take(number, made)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn things_come_in_order_and_there_are_few_at_a_time() {
        for threads in [1, 2, 3, 8, 100] {
            let (alive, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let make = |number: usize| {
                let now = alive.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                number * 3
            };
            let mut taken = Vec::new();
            let done: Result<(), ()> = in_order(50, threads, make, |number, thing| {
                assert_eq!(thing, number * 3);
                taken.push(number);
                alive.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            });
            assert_eq!(done, Ok(()));
            assert_eq!(taken, (0..50).collect::<Vec<_>>());
            // The one that is taken, and one in each thread.
            assert!(most.load(Ordering::SeqCst) <= threads.min(50) + 1, "{threads}: {most:?}");
        }
    }

    #[test]
    fn an_error_ends_it_and_nothing_is_made_for_long_after() {
        let made = AtomicUsize::new(0);
        let make = |number: usize| {
            made.fetch_add(1, Ordering::SeqCst);
            number
        };
        let error =
            in_order(1000, 4, make, |number, _| if number == 7 { Err(number) } else { Ok(()) });
        assert_eq!(error, Err(7));
        assert!(made.load(Ordering::SeqCst) <= 7 + 1 + 4, "{made:?}");
    }
}
