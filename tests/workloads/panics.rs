//! Panics through frames that burn CPU, caught in this thread and in others.

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook};
use std::sync::atomic::{AtomicU32, Ordering};

static CLEANED: AtomicU32 = AtomicU32::new(0);

struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        CLEANED.fetch_add(1, Ordering::Relaxed);
    }
}

fn burn(n: u64) {
    black_box((0..n).fold(0_u64, |sum, i| sum.wrapping_add(i ^ (sum >> 3))));
}

#[inline(never)]
fn through(frames: u32) -> u32 {
    let _guard = Counted;
    burn(20_000);
    assert!(frames > 0, "deep");
    let below = through(frames - 1);
    burn(20_000);
    black_box(below) + 1
}

fn rounds() -> u32 {
    (0..200)
        .map(|_| {
            let payload = catch_unwind(|| through(20)).unwrap_err();
            let again = catch_unwind(AssertUnwindSafe(|| resume_unwind(payload))).unwrap_err();
            u32::from(again.downcast_ref::<&str>() == Some(&"deep"))
        })
        .sum()
}

fn main() {
    set_hook(Box::new(|_| {}));
    println!("caught {}", rounds());
    let threads: Vec<_> = (0..3).map(|_| std::thread::spawn(rounds)).collect();
    for thread in threads {
        println!("thread caught {}", thread.join().unwrap());
    }
    let died = std::thread::spawn(|| through(20)).join().is_err();
    println!("thread died {died}, cleaned {}", CLEANED.load(Ordering::Relaxed));
}
