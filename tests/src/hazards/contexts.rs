//! Stacks that are switched.

use csprof_format::loss::PartialReason;

use crate::hazard::{Hazard, Trial};
use crate::recording::Allowed;

/// All of them.
pub const ALL: &[Hazard] = &[
    Hazard::new("coroutines", COROUTINES)
        .variants(VARIANTS)
        .says("one thread: returned 26400\nfour threads: returned 26400\n"),
    Hazard::new("coroutines_in_assembly", COROUTINES)
        .variants(VARIANTS)
        .command(&["./program", "assembly"])
        .says("one thread: returned 26400\nfour threads: returned 26400\n"),
    Hazard::new("copied_stacks", COPIES)
        .by_two()
        .variants(VARIANTS)
        .says("36240 36240 36240\n")
        .cut(OVERWRITTEN),
    Hazard::new("copied_stacks_in_assembly", COPIES)
        .by_two()
        .cut(OVERWRITTEN)
        .variants(VARIANTS)
        .command(&["./program", "assembly"])
        .says("36240 36240 36240\n"),
    Hazard::new(
        "boost_contexts",
        &["c++ -O2 -pthread -o program @boost_contexts.cpp -lboost_context"],
    )
    .variants(BOOST)
    .says(
        "destroyed 195\n\
             destroyed in a thread 195\n\
             destroyed in a thread 195\n\
             destroyed in a thread 195\n\
             destroyed in a thread 195\n\
             caught 4040, destroyed 21\n",
    )
    .also(contexts_begin_where_boost_begins_them),
    Hazard::new("small_stacks", &["cc -O2 -o program @small_stacks.c"])
        .says("60000000 steps, memory untouched\n"),
];

const COROUTINES: &[&str] = &["cc -O2 -pthread -o program @coroutines.c"];
/// The callers of `resume` are overwritten from the copy on, until it is left: by what is no
/// address of anything, or one of memory.
const OVERWRITTEN: &[Allowed] = &[
    Allowed { reason: PartialReason::UnknownModule, per_thousand: 10 },
    Allowed { reason: PartialReason::NoCfi, per_thousand: 10 },
];
const COPIES: &[&str] = &["cc -O2 -pthread -o program @copied_stacks.c"];
const VARIANTS: &[&str] = &["", "-O0", "-O3 -fomit-frame-pointer", "-fcf-protection", "clang"];
const BOOST: &[&str] = &[
    "/usr/include/boost/context/continuation.hpp: ",
    "/usr/include/boost/context/continuation.hpp: -O0",
    "/usr/include/boost/context/continuation.hpp: -O3 -static-libgcc -static-libstdc++",
    "/usr/include/boost/context/continuation.hpp: clang",
];

/// What works on the stack of a context has the context's callers, not those of whoever went on
/// with it.
fn contexts_begin_where_boost_begins_them(trial: &Trial<'_>) {
    let burn = "burn(unsigned long)";
    let partial = trial.recording.samples().partial;
    let all = trial.recording.rows().inclusive_of(burn);
    if all > partial {
        let rows = trial.recording.refined("through make_fcontext > context_entry >> burn");
        assert!(rows.inclusive_of(burn) + partial >= all, "{all} samples in all:\n{rows}");
    }
}
