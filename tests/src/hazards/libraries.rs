//! Libraries that come and go, and others that are preloaded.

use super::processes::nothing_is_damaged;
use crate::hazard::{Hazard, Trial};

/// All of them.
pub const ALL: &[Hazard] = &[Hazard::new(
    "load_storm",
    &[
        "cc -O2 -pthread -Wl,-rpath,$ORIGIN -o program @load_storm.c",
        "cc -O2 -shared -fPIC -DANSWER=1 -o one.so @load_libraries/work.c",
        "cc -O2 -shared -fPIC -DANSWER=2 -o two.so @load_libraries/work.c",
        "cc -O2 -shared -fPIC -DANSWER=3 -o three.so @load_libraries/work.c",
    ],
)
.command(&["./program", "10"])
.says("loaded: 45 45\nforked in a callback: 10\napart: 5\n")
.also(libraries_work)];

/// In the constructors and in the functions of the libraries.
fn libraries_work(trial: &Trial<'_>) {
    let rows = trial.recording.rows();
    assert!(rows.inclusive_of("burn") > 0, "{rows}");
    nothing_is_damaged(trial);
}
