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
    thrown_far_and_near
}
