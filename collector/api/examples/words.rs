//! Two phases, and rows that are counted in each: run it under
//! `csprof record -e cputime -e resource:rows`.

use std::hint::black_box;

fn main() {
    for _ in 0..3 {
        csprof_api::phase(c"assemble");
        work(20);
        csprof_api::phase(c"solve");
        work(60);
    }
    csprof_api::phase(c"");
}

#[inline(never)]
fn work(rows: u64) {
    for row in 0..rows {
        let sum = (0..500_000u64).fold(row, |sum, number| black_box(sum ^ number));
        csprof_api::count(c"rows", 1);
        black_box(sum);
    }
}
