//! Two things of a large profile at once.

use std::panic::resume_unwind;
use std::thread::{self, Builder};

/// Nodes from which on a thread is worth what it costs.
pub const MANY_NODES: usize = 1 << 19;

/// What both make, the first beside the second if that is worth a thread and there is one.
pub fn both<A: Send, B>(
    is_worth_it: bool,
    beside: impl Fn() -> A + Sync,
    own: impl FnOnce() -> B,
) -> (A, B) {
    let has_processors = || thread::available_parallelism().is_ok_and(|count| count.get() > 1);
    if !(is_worth_it && has_processors()) {
        // First, for it may say how far it is.
        let own = own();
        return (beside(), own);
    }
    thread::scope(|scope| {
        let other = Builder::new().spawn_scoped(scope, &beside);
        let own = own();
        let made = match other {
            Ok(other) => other.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // Without a thread, this one does it.
            Err(_) => beside(),
        };
        (made, own)
    })
}

#[cfg(test)]
mod tests {
    use super::both;

    #[test]
    fn what_both_make_is_in_order() {
        for is_worth_it in [false, true] {
            assert_eq!(both(is_worth_it, || 1, || 2), (1, 2));
        }
    }
}
