//! Which run folders are found, and which are removed.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::time::Duration;

use super::super::arena_bytes::{ArenaBytes, lock_mapped};
use super::super::run_dir::ARENAS;
use super::*;

#[test]
fn run_folders_of_a_csprof_that_has_ended_are_found() {
    let place = tempfile::tempdir().unwrap();
    let make = |name: &str, file: &str| {
        let arenas = place.path().join(name).join("arenas");
        fs::create_dir_all(&arenas).unwrap();
        fs::write(arenas.join(file), "sampled").unwrap();
    };
    // Process ids end at 2^22 (proc_sys_kernel(5), pid_max).
    make("csprof-4194305-aaaaaa", "1-1.arena");
    make("csprof-4194305-bbbbbb", "nothing-sampled");
    make(&format!("csprof-{}-cccccc", std::process::id()), "1-1.arena");
    make("csprof-demo-dddddd", "1-1.arena");
    make("other-4194305-eeeeee", "1-1.arena");
    assert_eq!(left_over_in(place.path()), [place.path().join("csprof-4194305-aaaaaa")]);
}

#[test]
fn what_is_not_all_of_csprofs_making_is_nothing_that_was_left_half_made() {
    let place = tempfile::tempdir().unwrap();
    let make = |name: &str, file: Option<&str>| {
        let path = place.path().join(name);
        fs::create_dir(&path).unwrap();
        file.into_iter().for_each(|file| fs::write(path.join(file), "").unwrap());
        is_torso(&path)
    };
    assert!(make("csprof-1-aaaaaa", None) && make("csprof-spill-1-aaaaaa", Some(HOME)));
    assert!(make("csprof-20250101-Xz19Qa", Some("run.json")));
    assert!(make("csprof-4-aaaaaa", Some(SLICES)) && make("csprof-5-aaaaaa", Some(PHASES)));
    for (name, file) in [
        ("csprof-20250101-results", None),
        ("csprof-20250102-tables", Some("solver.csprof")),
        ("csprof-spill-of-aaaaaa", None),
        ("csprof-2-aaaaaa", Some("arenas-12")),
        ("other-2-aaaaaa", None),
    ] {
        assert!(!make(name, file), "{name}");
    }
    fs::create_dir_all(place.path().join("csprof-3-aaaaaa").join(OUTPUT)).unwrap();
    assert!(!is_torso(&place.path().join("csprof-3-aaaaaa")), "a folder");
}

#[test]
fn what_a_run_had_on_a_disk_goes_when_its_folder_is_gone() {
    let place = tempfile::tempdir().unwrap();
    let make = |pid: u32, age: Duration| {
        let path = place.path().join(format!("{SPILL_NAME}-{pid}-aaaaaa"));
        fs::create_dir_all(path.join(ARENAS)).unwrap();
        let then = std::time::SystemTime::now() - age;
        File::open(&path).unwrap().set_modified(then).unwrap();
        path
    };
    let long = Duration::from_secs(2 * 3600);
    let (lost, known) = (make(4_194_305, long), make(4_194_306, long));
    let _ = (make(4_194_307, Duration::ZERO), make(std::process::id(), long));
    let used = make(4_194_308, long).join(ARENAS).join("1-1.arena");
    fs::write(&used, &ArenaBytes::new(4_194_308, 1, 0).locked().bytes).unwrap();
    let _mapped = lock_mapped(&used);
    // Whose run folders are gone from here; or from where it is not known, or another container's.
    let gone = place.path().join("csprof-1-aaaaaa");
    let device = place.path().metadata().unwrap().dev();
    let homes = [(0, Some(device)), (1, None), (2, Some(device + 1))];
    let [left, ..] = homes.map(|(number, device)| {
        let path = make(4_194_310 + number, long);
        fs::write(path.join(ARENAS).join("1-1.arena"), &ArenaBytes::new(4_194_310, 1, 2).bytes)
            .unwrap();
        if let Some(device) = device {
            symlink(format!("{device}:{}", gone.display()), path.join(HOME)).unwrap();
        }
        let then = std::time::SystemTime::now() - long;
        File::open(&path).unwrap().set_modified(then).unwrap();
        path
    });
    // Its csprof was killed while it removed it.
    let torso = make(4_194_320, long);
    fs::remove_dir(torso.join(ARENAS)).unwrap();
    let then = std::time::SystemTime::now() - long;
    File::open(&torso).unwrap().set_modified(then).unwrap();
    let known = HashSet::from([known]);
    assert_eq!(lost_spills_in(place.path(), &known), [lost.clone(), left, torso.clone()]);
    fs::create_dir(&gone).unwrap();
    assert_eq!(lost_spills_in(place.path(), &known), [lost, torso]);
    fs::remove_dir(gone).unwrap();
    assert!(all_in(place.path()).is_empty(), "they are no run folders");
}
