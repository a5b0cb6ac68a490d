//! What profilers stumble over. Each hazard is a program whose answer is known
//! ([`csprof_tests::hazards`]); here each is checked once, in the first of its variants.

use csprof_tests::hazards;

/// One test for each name; and one that no hazard is without.
macro_rules! checks {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            hazards::all().find(|hazard| hazard.name == stringify!($name)).unwrap().check();
        })*

        #[test]
        fn every_hazard_is_checked() {
            let checked = [$(stringify!($name)),*];
            let mut names: Vec<&str> = hazards::all().map(|hazard| hazard.name).collect();
            names.retain(|name| !checked.contains(name));
            assert_eq!(names, [""; 0]);
        }
    };
}

checks! {
    // Exceptions.
    thrown_far_and_near thrown_elsewhere uncaught thrown_where_it_must_not a_second_exception
    a_terminate_handler canceled panics
    // Jumps.
    jumps_in_loops timer_jumps jumps_out_of_waits thrown_out_of_waits every_tail_call
    // Signals.
    alternate_stack nested_signals interrupted_waits own_profiler own_profiling_signal
    blocked_signals inherited_signals saved_masks masked_coroutine handlers_in_waits waits
    handlers_elsewhere bad_pointers ended_waits queued_signals queued_signals_without_files traps default_profiling_signal
    kernel_actions calls_by_number thread_ends
    // Contexts.
    coroutines coroutines_in_assembly copied_stacks copied_stacks_in_assembly boost_contexts small_stacks
    // Stacks.
    registers_kept realigned_frames large_frames deep_recursion deep_unarmed without_cfi matrix_kernels lazy_binding
    split_stack short_stacks smallest_threads executed_on_a_small_stack ended_on_a_small_stack
    executed_in_a_coroutine ended_in_a_coroutine alternate_rules processor_state execute_only code_on_demand
    generated_code returns_otherwise instrumented reads_its_stack
    // Processes.
    forks fork_chain fork_in_thread children exec_among_threads exec_in_a_thread ignored_beside_exec huge_environment endings raw_forks
    identities open_folders unusual
    // Threads.
    thread_storm threads_alive real_time raw_exits raw_threads
    // Libraries.
    load_storm fork_beside_loads waits_in_callback ends_beside_callback late_unwinder unwinder_again mpi_again own_names own_wrappers found_by_handle second_names linked_constructor namespaces between_in_front between_behind between_instead between_alone jemalloc_in_front
    jemalloc_behind own_malloc tcmalloc_in_front tcmalloc_behind sanitized sanitizer_reports
    // Descriptors.
    files_closed_one_by_one files_closed_in_a_range files_closed_as_listed file_numbers_reused
    // Limits.
    limits tight_memory limit_kept sandbox_by_prctl sandbox_by_syscall sandbox_strict sandbox_executes sandbox_asked_for
    sealed_signals forbidden_return seals_beside_waits forbidden_clock sealed_throw seals_beside_callback child_seals_beside_callback
    dispatched_by_prctl dispatched_by_syscall
    traced traced_by_syscall traced_by_nobody
    perf_events_forbidden timers_forbidden all_sources_forbidden
}
