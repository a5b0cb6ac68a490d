//! Libraries that come and go, and others that are preloaded.

use super::processes::nothing_is_damaged;
use crate::hazard::{Ended, Hazard, Trial};
use crate::paths::Rows;
use crate::recording::Recording;

/// All of them.
pub const ALL: &[Hazard] = &[
    Hazard::new("found_by_handle", &["cc -O2 -w -o program @found_by_handle.c -ldl"])
        .command(&[
            "sh",
            "-c",
            "for way in action mask stack program wait; do ./program $way; echo $?; done",
        ])
        .by_two()
        .says(
            "was default 1, came 1\nnone 1 1\n0\n\
             blocked 0, then 1\n0\n\
             none before 1, now mine 1\n0\n\
             executed, default 1\nexecuted, default 1\nexecuted, default 1\n0\n\
             ended early: 0\n0\n",
        ),
    Hazard::new(
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
    .also(libraries_work),
    Hazard::new("fork_beside_loads", &["cc -O2 -pthread -o program @fork_beside_loads.c"])
        .says("library open, 60 children ended\n"),
    Hazard::new("waits_in_callback", &["cc -O2 -pthread -o program @waits_in_callback.c"])
        .says("5 threads asked, 20 times stopped\n"),
    Hazard::new(
        "ends_beside_callback",
        &[
            "cc -O2 -pthread -o program @ends_beside_callback.c",
            "cc -O2 -shared -fPIC -DANSWER=1 -o one.so @load_libraries/work.c",
        ],
    )
    .says("5 children ended\n"),
    // The constructor of a library that the program is linked with, before `main` and before the
    // constructors of the program.
    Hazard::new(
        "linked_constructor",
        &[
            "cc -O2 -shared -fPIC -DWORK=prepare -o linked.so @load_constructor/library.c",
            "cc -O2 -Wl,--no-as-needed,-rpath,$ORIGIN -o program @without_work.c linked.so",
        ],
    )
    .variants(&["", "clang"])
    .says("worked before main\n")
    .also(the_constructor_works),
    Hazard::new(
        "namespaces",
        &[
            "cc -O2 -o program @namespaces.c",
            "cc -O2 -shared -fPIC -DANSWER=1 -o one.so @load_libraries/sorts.c",
            "cc -O2 -shared -fPIC -DANSWER=2 -o two.so @load_libraries/sorts.c",
        ],
    )
    .says("sum 48\n")
    .also(namespaces_have_names),
    // An unwinder that comes with a library of one library's own.
    Hazard::new(
        "late_unwinder",
        &[
            "cc -O2 -o program @late_unwinder.c",
            "c++ -O2 -shared -fPIC -o throws.so @late_unwinder_library.cpp",
        ],
    )
    .says("caught: 30000\n")
    .also(nothing_is_damaged),
    Hazard::new(
        "unwinder_again",
        &[
            "cc -O2 -o program @unwinder_again.c",
            "cc -O2 -shared -fPIC -shared-libgcc -o walks.so @unwinder_again_library.c",
        ],
    )
    .says(
        "walked, gone, taken\n\
         walked, gone, taken\n\
         walked, gone, taken\n\
         walked, gone, taken\n",
    )
    .also(nothing_is_damaged),
    Hazard::new(
        "mpi_again",
        &[
            "cc -O2 -shared -fPIC -o mpi.so @mpi_again_library.c -DMPI",
            "cc -O2 -shared -fPIC -o calls.so @mpi_again_library.c mpi.so -Wl,-rpath,$ORIGIN",
            "cc -O2 -pthread -o program @mpi_again.c",
        ],
    )
    .options(&["-e", "mpi@10us"])
    .says("called 42 42 42 42, beside: 42\n")
    .also(nothing_is_damaged),
    // Functions of the program's own under names of the C library's.
    Hazard::new(
        "own_names",
        &["cc -O2 -w -fno-builtin -rdynamic -pthread -o program @own_names.c"],
    )
    .says("foreign calls: 0\n")
    .by_two()
    .also(nothing_is_damaged),
    Hazard::new("own_wrappers", &["cc -O2 -rdynamic -pthread -o program @own_wrappers.c"])
        .variants(&["", "-Wl,-z,now", "clang"])
        .says(OWN_WRAPPERS_SAY)
        .by_two()
        .also(nothing_is_damaged),
    // A library behind csprof's that calls the C library by second names.
    Hazard::new(
        "second_names",
        &[
            "cc -O2 -pthread -o program @second_names.c",
            "cc -O2 -w -shared -fPIC -o second.so @second_names_library.c",
        ],
    )
    .variants(&["", "clang"])
    .options(&["-e", "yields@1"])
    .command(&["sh", "-c", "LD_PRELOAD=$LD_PRELOAD:./second.so exec ./program"])
    .says(
        "poll 0, calls 1\n\
         select 0, calls 1\n\
         ppoll 0\n\
         pause -1, alarmed 1, calls 1\n\
         locks 0 0 0\n\
         yield 0\n\
         sigaction 1 1\n\
         signal 1\n\
         came 3\n\
         vfork 3\n",
    )
    .by_two()
    .also(the_yield_is_counted_once),
    // Other preloaded libraries, in front of csprof's and behind it.
    Hazard::new("between_in_front", BETWEEN)
        .command(&["sh", "-c", "LD_PRELOAD=./between.so:$LD_PRELOAD exec ./program"])
        .says(BETWEEN_SAYS)
        .also(nothing_is_damaged),
    Hazard::new("between_behind", BETWEEN)
        .command(&["sh", "-c", "LD_PRELOAD=$LD_PRELOAD:./between.so exec ./program"])
        .says(BETWEEN_SAYS)
        .also(nothing_is_damaged),
    // In its place.
    Hazard::new("between_instead", BETWEEN)
        .command(&["sh", "-c", "LD_PRELOAD=./between.so exec ./program"])
        .says(BETWEEN_SAYS)
        .also(nothing_is_left_out),
    // By one that starts itself until nothing else is preloaded.
    Hazard::new("between_alone", BETWEEN)
        .command(&[
            "sh",
            "-c",
            "export SELF='[ \"$LD_PRELOAD\" = ./between.so ] && exec ./program; \
             STARTS=$((STARTS + 1)); [ $STARTS -gt 5 ] && exit 9; export STARTS; \
             LD_PRELOAD=./between.so exec sh -c \"$SELF\"'; exec sh -c \"$SELF\"",
        ])
        .says(BETWEEN_SAYS)
        .also(nothing_is_left_out),
    Hazard::new("jemalloc_in_front", ALLOCATIONS)
        .variants(&["/usr/lib/x86_64-linux-gnu/libjemalloc.so.2: "])
        .command(&["sh", "-c", "LD_PRELOAD=libjemalloc.so.2:$LD_PRELOAD exec ./program"])
        .says(ALLOCATIONS_SAY)
        .also(nothing_is_damaged),
    Hazard::new("jemalloc_behind", ALLOCATIONS)
        .variants(&["/usr/lib/x86_64-linux-gnu/libjemalloc.so.2: "])
        .command(&["sh", "-c", "LD_PRELOAD=$LD_PRELOAD:libjemalloc.so.2 exec ./program"])
        .says(ALLOCATIONS_SAY)
        .by_two()
        .also(nothing_is_damaged),
    Hazard::new("own_malloc", &["cc -O2 -fno-builtin -pthread -o program @own_malloc.c"])
        .variants(&["", "clang"])
        .says("before main 0, in threads 0, in a fork 0, in its child 0\n")
        .also(nothing_is_damaged),
    Hazard::new("tcmalloc_in_front", ALLOCATIONS)
        .variants(&["/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4: "])
        .command(&["sh", "-c", "LD_PRELOAD=libtcmalloc.so.4:$LD_PRELOAD exec ./program"])
        .says(ALLOCATIONS_SAY)
        .also(nothing_is_damaged),
    Hazard::new("tcmalloc_behind", ALLOCATIONS)
        .variants(&["/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4: "])
        .command(&["sh", "-c", "LD_PRELOAD=$LD_PRELOAD:libtcmalloc.so.4 exec ./program"])
        .says(ALLOCATIONS_SAY)
        .by_two()
        .also(nothing_is_damaged),
    // Runtimes that are preloaded by being linked. gcc's refuses to come second unless it is told
    // to.
    Hazard::new("sanitized", &["g++ -O1 -pthread -o program @sanitized.cpp"])
        .variants(&[
            "/usr/lib/gcc/x86_64-linux-gnu/12/libasan.so: -fsanitize=address",
            "/usr/lib/gcc/x86_64-linux-gnu/12/libasan.so: -fsanitize=address -static-libasan",
            "/usr/lib/gcc/x86_64-linux-gnu/12/libubsan.so: -fsanitize=undefined",
            "/usr/lib/gcc/x86_64-linux-gnu/12/liblsan.so: -fsanitize=leak",
            // It knows nothing of the collector's locks, and must not see what they guard.
            "/usr/lib/gcc/x86_64-linux-gnu/12/libtsan.so: -fsanitize=thread",
        ])
        .command(&[
            "sh",
            "-c",
            "[ $CSPROF_RUN_DIR ] || export ASAN_OPTIONS=verify_asan_link_order=0; exec ./program",
        ])
        .says("caught 400, handled 200\n")
        .ends(Ended::Status(3))
        .also(nothing_is_damaged),
    Hazard::new("sanitizer_reports", &["cc -O1 -g -fno-inline -pthread -o program @reported.c"])
        .variants(&["/usr/lib/gcc/x86_64-linux-gnu/12/libtsan.so: -fsanitize=thread"])
        .command(&[
            "sh",
            "-c",
            "./program 2>&1 | grep -oE 'lock-order-inversion .potential deadlock. [(]|data race [(]|\
             reported [0-9]* warnings|created by main thread|#1 run|#2 main'",
        ])
        .says(
            "lock-order-inversion (potential deadlock) (\n\
             created by main thread\n#1 run\n#2 main\n\
             created by main thread\n#1 run\n#2 main\n\
             data race (\n\
             created by main thread\n#1 run\n#2 main\n\
             reported 2 warnings\n",
        )
        .also(nothing_is_damaged),
];

const OWN_WRAPPERS_SAY: &str = "\
two signals: 2
SIGPROF: 3, before 1
blocked: 3
open: 4
poll: 0
close: -1
dlopen: 1
executed
child: 0
";

const BETWEEN: &[&str] = &[
    "cc -O2 -pthread -o program @between/main.c",
    "cc -O2 -shared -fPIC -o between.so @between/library.c",
    "cc -O2 -shared -fPIC -DANSWER=1 -o work.so @load_libraries/work.c",
];
const BETWEEN_SAYS: &str = "sum 34, handled 1\n\
                            between: create 8, action 1, mask 16, open 5, close 5, dup 1\n";

const ALLOCATIONS: &[&str] = &["cc -O2 -fno-builtin -pthread -o program @allocations.c"];
const ALLOCATIONS_SAY: &str = "wrong 0, children 10\n";

/// Nearly all of the first source's samples. One that a tick has brought late is where the program
/// was by then, and counts for all since the tick before.
fn the_constructor_works(trial: &Trial<'_>) {
    let is_there = |recording: &Recording| {
        let rows = recording.rows();
        let there = u128::from(rows.inclusive_of("prepare"));
        there > 0 && there * 10 >= rows.base * 9
    };
    assert!(trial.in_one_of_three(is_there), "{}", trial.recording.rows());
}

/// By the name that the program calls, and not by the second one as well.
fn the_yield_is_counted_once(trial: &Trial<'_>) {
    let report = ["report", "--format", "json", "--metric", "yields"];
    assert_eq!(Rows::new(&trial.recording.output(&report)).base, 1);
    nothing_is_damaged(trial);
}

/// In the constructors and in the functions of the libraries.
fn libraries_work(trial: &Trial<'_>) {
    let works = |recording: &Recording| recording.rows().inclusive_of("burn") > 0;
    assert!(trial.in_one_of_three(works), "{}", trial.recording.rows());
    nothing_is_damaged(trial);
}

/// All of what they do, in constructors and when called, through the C library that each namespace
/// has.
fn namespaces_have_names(trial: &Trial<'_>) {
    let rows = trial.recording.rows();
    let compare = rows.inclusive_of("compare");
    let is_most = |recording: &Recording| {
        let rows = recording.rows();
        u128::from(rows.inclusive_of("compare")) * 10 > rows.base * 7
    };
    assert!(trial.in_one_of_three(is_most), "{rows}");
    let through_qsort = trial.recording.refined("through qsort_r | through compare").shown;
    assert_eq!(through_qsort, u128::from(compare), "{rows}");
    nothing_is_damaged(trial);
}

fn nothing_is_left_out(trial: &Trial<'_>) {
    let messages = trial.recording.messages();
    assert!(!messages.contains("not in this profile"), "{messages}");
    nothing_is_damaged(trial);
}
