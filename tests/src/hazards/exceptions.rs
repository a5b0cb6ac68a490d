//! Exceptions and panics through frames that are sampled, whose return addresses are replaced.

use crate::hazard::{Ended, Hazard, Trial};

/// All of them.
pub const ALL: &[Hazard] = &[
    Hazard::new("thrown_far_and_near", &["c++ -O2 -pthread -o program @exceptions.cpp"])
        .by_two()
        .variants(CPP)
        .command(&["./program", "100"])
        .in_gate(3)
        .says(
            "caught 200 cleaned 2500 values 2100 depth 6000 steady\n\
             thread caught 200 cleaned 2500 values 2100 depth 6000 steady\n\
             thread caught 200 cleaned 2500 values 2100 depth 6000 steady\n\
             thread caught 200 cleaned 2500 values 2100 depth 6000 steady\n",
        )
        .also(frames_did_not_return),
    Hazard::new("thrown_elsewhere", &["c++ -O2 -pthread -o program @thrown_elsewhere.cpp"])
        .variants(CPP)
        .says("caught 800, sum 319600, cleaned 28800, unwinding 28800, inner 11200, nested 5600\n"),
    Hazard::new("uncaught", UNCAUGHT)
        .variants(LIBSTDCXX)
        .command(&["./program", "nothing"])
        .complains(
            "terminate called after throwing an instance of 'std::runtime_error'\n  \
               what():  deep\n",
        )
        .ends(Ended::Signal(6)),
    Hazard::new("thrown_where_it_must_not", UNCAUGHT)
        .variants(LIBSTDCXX)
        .command(&["./program", "noexcept"])
        .complains(
            "terminate called after throwing an instance of 'std::runtime_error'\n  \
               what():  deep\n",
        )
        .ends(Ended::Signal(6)),
    Hazard::new("a_second_exception", UNCAUGHT)
        .variants(LIBSTDCXX)
        .command(&["./program", "second"])
        .complains("terminate called after throwing an instance of 'int'\n")
        .ends(Ended::Signal(6)),
    Hazard::new("a_terminate_handler", UNCAUGHT)
        .variants(LIBSTDCXX)
        .command(&["./program", "handler"])
        .says("terminated: deep\n")
        .ends(Ended::Status(3)),
    // Not with a static unwinder: the C library brings another one to the cancellation, and both
    // meet in the personality of C++.
    Hazard::new("canceled", &["c++ -O2 -pthread -o program @canceled.cpp"])
        .variants(&["", "-O0", "-O3 -fomit-frame-pointer", "-fcf-protection", "clang"])
        .says("canceled 300, destroyed 9450, seen 9450\n"),
    Hazard::new("panics", &["rustc --edition=2024 -O -o program @panics.rs"])
        .variants(&["", "-C opt-level=0", "-C force-frame-pointers=yes", "-C opt-level=z"])
        .says(
            "caught 200\n\
             thread caught 200\n\
             thread caught 200\n\
             thread caught 200\n\
             thread died true, cleaned 16821\n",
        )
        .also(frames_did_not_return),
];

const UNCAUGHT: &[&str] = &["c++ -O2 -o program @uncaught.cpp"];

/// How a program of C++ can be built: with the shared unwinder of gcc, and with others: static, and
/// LLVM's, which is installed or is not.
const CPP: &[&str] = &[
    "",
    "-static-libgcc -static-libstdc++",
    "/usr/lib/llvm-14/lib/libunwind.a: clang -nodefaultlibs -Wl,-Bstatic -lstdc++ \
     /usr/lib/llvm-14/lib/libunwind.a -Wl,-Bdynamic -lm -lc",
    "-O0",
    "-O3 -fomit-frame-pointer",
    "-fno-omit-frame-pointer",
    "-fcf-protection",
    "clang",
    "clang -O3",
    "clang -static-libgcc -static-libstdc++",
    "/usr/lib/llvm-14/lib/libunwind.so: clang -stdlib=libc++ -lunwind",
];

/// All but the last, whose library has other last words.
const LIBSTDCXX: &[&str] = CPP.split_at(CPP.len() - 1).0;

/// What an exception leaves does not return.
fn frames_did_not_return(trial: &Trial<'_>) {
    let is_seen = trial.in_one_of_three(|recording| recording.lost_returns() > 0);
    assert!(is_seen, "frames that were thrown through did not return");
}
