//! Libraries that come and go at one address: an address alone says nothing, only with its epoch.

use csprof_tests::paths::is_share;
use csprof_tests::workshop::Workshop;

#[test]
fn two_libraries_at_one_address_keep_their_samples() {
    let workshop = Workshop::new("libraries");
    workshop.compile("cc -O2 -o program @reload.c");
    // The same code and layout under two names.
    workshop
        .compile("cc -O2 -shared -fPIC -Dwork=first -DANSWER=1 -o one.so @load_libraries/work.c");
    workshop
        .compile("cc -O2 -shared -fPIC -Dwork=other -DANSWER=2 -o two.so @load_libraries/work.c");
    let words = ["./program", "./one.so", "first", "50", "./two.so", "other", "150"];
    let alone = workshop.run(&words);
    assert_eq!(alone.said(), "first: 50\nother: 300, at the same address\n");

    let recording = workshop.record(&[], &words);
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
