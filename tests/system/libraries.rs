//! Libraries that come and go at one address: an address alone says nothing, only with its epoch.

use csprof_tests::paths::is_share;
use csprof_tests::workshop::Workshop;

/// It does not need the kernel's tick: where that comes late, the next library is at work already.
const SOURCE: [&str; 2] = ["-e", "task-clock@200"];

#[test]
fn two_libraries_at_one_address_keep_their_samples() {
    let workshop = Workshop::new("libraries");
    workshop.compile("cc -O2 -o program @reload.c");
    // The same code and layout under two names.
    workshop
        .compile("cc -O2 -shared -fPIC -Dwork=first -DANSWER=1 -o one.so @load_libraries/work.c");
    workshop
        .compile("cc -O2 -shared -fPIC -Dwork=other -DANSWER=2 -o two.so @load_libraries/work.c");
    let words = ["./program", "./one.so", "first", "300", "./two.so", "other", "900"];
    let alone = workshop.run(&words);
    assert_eq!(alone.said(), "first: 1\nother: 2, at the same address\n");

    let recording = workshop.record(&SOURCE, &words);
    assert_eq!(recording.outcome.said(), alone.said());
    let epochs = recording.info["processes"][0]["epochs"].as_array().unwrap();
    let reasons: Vec<_> = epochs.iter().map(|epoch| epoch["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["start", "address-reuse"]);

    let rows = recording.rows();
    let module = |names: &[&str]| rows.at(names).module.clone().unwrap();
    assert!(module(&["main", "first"]).ends_with("/one.so"));
    assert!(module(&["main", "first", "burn"]).ends_with("/one.so"));
    assert!(module(&["main", "other"]).ends_with("/two.so"));
    assert!(module(&["main", "other", "burn"]).ends_with("/two.so"));
    let (first, other) = (rows.inclusive_of("first"), rows.inclusive_of("other"));
    assert!(is_share(first, first + other, 25), "{first} {other}");
}

/// The loader's name of the library leads nowhere any more.
#[test]
fn a_library_stays_itself_when_the_program_goes_to_another_folder() {
    let workshop = Workshop::new("opened-here");
    workshop.compile("cc -O2 -o program @opened_here.c");
    for library in ["one.so", "two.so"] {
        let line = "cc -O2 -shared -fPIC -DANSWER=1 -DPLAIN @load_libraries/work.c -o";
        workshop.compile(&format!("{line} {library}"));
    }
    let recording = workshop.record(&[], &["./program"]);
    assert_eq!(recording.outcome.said(), "80\n");
    assert_eq!(recording.info["processes"][0]["epochs"].as_array().unwrap().len(), 1);
    let rows = recording.rows();
    let works = rows.iter().filter(|row| row.function == "work" && row.inclusive > 0);
    assert_eq!(works.count(), 1, "{rows}");
    assert!(rows.at(&["main", "work"]).module.as_ref().unwrap().ends_with("/one.so"), "{rows}");
}

/// A constructor runs before anyone could see its library, and the second library takes the place
/// of the first.
#[test]
fn constructors_are_charged_to_their_own_library() {
    let workshop = Workshop::new("constructors");
    workshop.compile("cc -O2 -o program @load_constructor/main.c");
    let library = "cc -O2 -shared -fPIC @load_constructor/library.c";
    workshop.compile(&format!("{library} -DWORK=first -o libfirst.so"));
    workshop.compile(&format!("{library} -DWORK=other -o libsecond.so"));
    let recording = workshop.record(&SOURCE, &["./program"]);
    assert_eq!(recording.outcome.said(), "libfirst.so: loaded\nlibsecond.so: loaded\n");

    let rows = recording.rows();
    let (first, other) = (rows.at(&["begin", "first"]), rows.at(&["begin", "other"]));
    assert!(first.module.as_ref().unwrap().ends_with("/libfirst.so"));
    assert!(other.module.as_ref().unwrap().ends_with("/libsecond.so"));
    assert!(
        is_share(first.inclusive, first.inclusive + other.inclusive, 50),
        "{first:?} {other:?}"
    );
    // From the program's main, through dlopen.
    let loading = rows.at(&["main", "load_and_unload"]);
    assert!(loading.inclusive >= first.inclusive + other.inclusive, "{rows}");
    for (name, row) in [("first", first), ("other", other)] {
        assert_eq!(rows.inclusive_of(name), row.inclusive, "{rows}");
    }
    assert_eq!(recording.samples().partial, 0, "{}", recording.partial_reasons());
    // csprof's frame between the program's and the C library's is left out, but for its own work.
    let of_csprof = |module: &String| module.contains("libcsprof_collector");
    let own = rows.iter().filter(|row| row.function == "dlopen");
    let own = own.filter(|row| row.module.as_ref().is_some_and(of_csprof));
    assert!(
        own.map(|row| row.inclusive).sum::<u64>() < first.inclusive.min(other.inclusive),
        "{rows}"
    );
}
