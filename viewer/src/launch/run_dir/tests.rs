//! Run folders: who may look into one, what is removed, and when.

use super::super::arena_bytes::{ArenaBytes, lock_mapped};
use super::*;
use crate::surroundings::{comes_true, is_given_away, skip};

#[test]
fn a_run_folder_lives_until_it_is_dropped_unless_it_is_kept() {
    let mut kept = RunDir::create().unwrap();
    let dropped = RunDir::create().unwrap();
    let paths = (kept.path().to_path_buf(), dropped.path().to_path_buf());
    assert!(kept.arenas().is_dir() && dropped.arenas().is_dir());
    kept.keep();
    drop((kept, dropped));
    assert!(paths.0.is_dir() && !paths.1.exists());

    let mut found = RunDir::open(&paths.0).unwrap();
    assert!(found.arenas().starts_with(&paths.0));
    found.remove();
    assert!(!paths.0.exists());
}

#[test]
fn one_csprof_at_a_time_saves_what_is_in_a_folder() {
    let mut made = RunDir::create().unwrap();
    made.keep();
    let path = made.path().to_path_buf();
    assert!(!RunDir::open(&path).unwrap().take(), "the csprof that has made it lives");
    drop(made);
    let [mut first, mut second] = [(); 2].map(|()| RunDir::open(&path).unwrap());
    assert!(comes_true(|| first.take()));
    assert!(!second.take());
    first.remove();
    drop(first);
    assert!(!second.take(), "it is gone");
}

/// Who has mapped an arena may live where no csprof here sees it.
#[test]
fn a_folder_is_settled_when_no_arena_of_it_can_be_in_use() {
    let run_dir = RunDir::create().unwrap();
    let arena = run_dir.arenas().join("1-1.arena");
    // Process ids end at 2^22 (proc_sys_kernel(5), pid_max).
    fs::write(&arena, ArenaBytes::new(4_194_305, 1, 0).locked().bytes).unwrap();
    let mapped = lock_mapped(&arena);
    assert!(!run_dir.is_settled());
    drop(mapped);
    assert!(comes_true(|| run_dir.is_settled()));
    // One that is just beginning has neither header nor lock.
    fs::write(run_dir.arenas().join("2-2.arena"), "").unwrap();
    assert!(!run_dir.is_settled());
}

#[test]
fn what_was_not_made_as_a_run_folder_is_not_removed() {
    let place = tempfile::tempdir().unwrap();
    let folder = |name: &str| {
        let path = place.path().join(name);
        fs::create_dir_all(path.join(ARENAS)).unwrap();
        path
    };
    let foreign = folder("home");
    RunDir::open(&foreign).unwrap().remove();
    assert!(foreign.exists());
    for (name, is_removed) in [("csprof-spill-1-abc", true), ("csprof-1-abc", false)] {
        let (run, spill) = (folder("csprof-2-abc"), folder(name));
        symlink(&spill, run.join(SPILL)).unwrap();
        RunDir::open(&run).unwrap().remove();
        assert!(!run.exists() && spill.exists() != is_removed, "{name}");
    }
    let run = folder("csprof-3-abc");
    if is_given_away(&run, 65534) {
        RunDir::open(&run).unwrap().remove();
        assert!(run.exists());
    }
}

#[test]
fn copies_are_files_of_this_run_that_nobody_else_has() {
    use csprof_format::ids::StringId;
    use csprof_format::profile::{Module, SymbolSource};
    let run_dir = RunDir::create().unwrap();
    let mut profile = Profile::default();
    let names = [1_u8, 2, 3, 4, 5].map(|id| {
        let (path, symbols) = (StringId(0), SymbolSource::default());
        profile.modules.push(Module { path, build_id: vec![id], symbols });
        copy_name(&[id], None).unwrap()
    });
    let at = |name: &str| run_dir.arenas().join(name);
    let [good, linked, link, large, absent] = &names;
    for name in [good, linked, large, &copy_name(&[9], None).unwrap()] {
        fs::write(at(name), "code").unwrap();
    }
    fs::hard_link(at(linked), at("other")).unwrap();
    symlink(at(good), at(link)).unwrap();
    File::options().write(true).open(at(large)).unwrap().set_len(MOST_COPIED + 1).unwrap();
    let names: Vec<String> = run_dir.copies(&profile).into_keys().collect();
    assert_eq!(names, std::slice::from_ref(good), "not {linked}, {link}, {large}, {absent}");
    // Of a user who has no process in the run; only root can make one.
    if is_given_away(&at(good), 65534) {
        assert!(run_dir.copies(&profile).is_empty());
        fs::write(at("1-1.arena"), "").unwrap();
        assert!(is_given_away(&at("1-1.arena"), 65534));
        assert_eq!(run_dir.copies(&profile).len(), 1);
    }
}

#[test]
fn a_panic_leaves_what_was_sampled() {
    let folder_after = |file: &str| {
        let run_dir = RunDir::create().unwrap();
        let (path, arena) = (run_dir.path().to_path_buf(), run_dir.arenas().join(file));
        fs::write(arena, "sampled").unwrap();
        let panicked = std::panic::catch_unwind(move || {
            let _dropped = run_dir;
            panic!("an error in csprof");
        });
        assert!(panicked.is_err());
        path
    };
    let (left, removed) = (folder_after("1-1.arena"), folder_after("unrelated"));
    assert!(left.is_dir() && !removed.exists());
    RunDir::open(&left).unwrap().remove();
}

#[test]
fn nobody_else_can_look_into_a_run_folder() {
    let run_dir = RunDir::create().unwrap();
    let mode = |path: &Path| path.metadata().unwrap().mode() & 0o7777;
    let modes = (mode(run_dir.path()), mode(run_dir.arenas()));
    // Processes that root starts may drop their privileges and still need to write.
    let root = Uid::effective().is_root();
    assert_eq!(modes, if root { (0o711, 0o1733) } else { (0o700, 0o700) });
}

#[test]
fn links_and_pipes_among_the_arenas_are_not_opened() {
    let run_dir = RunDir::create().unwrap();
    std::os::unix::fs::symlink("/etc/passwd", run_dir.arenas().join("1-1.arena")).unwrap();
    nix::unistd::mkfifo(&run_dir.arenas().join("2-2.arena"), nix::sys::stat::Mode::S_IRWXU)
        .unwrap();
    fs::write(run_dir.arenas().join("3-3.arena"), "").unwrap();
    fs::write(run_dir.arenas().join("unrelated"), "text").unwrap();
    let ReadArenas { arenas, mut warnings, unread, foreign } = run_dir.read_arenas();
    warnings.sort();
    assert!(arenas.is_empty());
    assert_eq!((unread, foreign), (0, 2), "of an empty file nothing is lost");
    assert_eq!(
        warnings,
        [
            "1 process left no samples: they ended at once, or shared memory was refused (a full \
             /dev/shm, or a limit)",
            "what process 1 has sampled is missing: its file 1-1.arena is no arena: Too many \
             levels of symbolic links (os error 40)",
            "what process 2 has sampled is missing: its file 2-2.arena is no arena: it is not a \
             regular file",
        ]
    );
}

#[test]
fn a_folder_of_which_a_file_could_not_be_read_is_not_removed() {
    let mut run_dir = RunDir::create().unwrap();
    let told = run_dir.remove_saved(1).unwrap();
    assert!(told.contains("stays, for 1 file of it cannot be read; once it can be, "), "{told}");
    let path = run_dir.path().to_path_buf();
    drop(run_dir);
    assert!(path.is_dir());
    assert_eq!(RunDir::open(&path).unwrap().remove_saved(0), None);
    assert!(!path.exists());
}

#[test]
fn arenas_of_processes_that_have_ended_are_moved_to_the_disk() {
    let disk = tempfile::tempdir().unwrap();
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else { return };
    let mut run_dir = RunDir::create_in(memory.path(), "csprof", false).unwrap();
    let spill = RunDir::create_in(disk.path(), "csprof-spill", false).unwrap();
    run_dir.spill = Some((spill.path.clone(), spill.arenas.clone()));
    let first_page = ArenaBytes::new(4_194_310, 1, 2).bytes;
    for name in ["1-1.arena", "2-2.arena"] {
        fs::write(run_dir.arenas.join(name), &first_page).unwrap();
    }
    let names = |folder: &Path| {
        let (paths, _) = arena_paths_in(folder);
        let mut names: Vec<String> =
            paths.iter().map(|p| p.file_name().unwrap().to_str().unwrap().into()).collect();
        names.sort();
        names
    };
    (run_dir.leave, run_dir.free) = (0, 0);
    run_dir.make_room();
    assert_eq!(names(&run_dir.arenas).len(), 2, "there is room");
    (run_dir.leave, run_dir.free) = (u64::MAX, u64::MAX);
    run_dir.make_room();
    assert_eq!(names(&run_dir.arenas).len(), 2, "nobody could lock them");
    for name in ["1-1.arena", "2-2.arena"] {
        fs::write(run_dir.arenas.join(name), &ArenaBytes::new(4_194_310, 1, 2).locked().bytes)
            .unwrap();
    }
    let mapped = lock_mapped(&run_dir.arenas.join("1-1.arena"));
    run_dir.make_room();
    assert_eq!(names(&run_dir.arenas), ["1-1.arena"], "it is mapped");
    drop(mapped);
    let is_anothers = is_given_away(&run_dir.arenas.join("1-1.arena"), 65534);
    let is_empty = || {
        run_dir.make_room();
        names(&run_dir.arenas).is_empty()
    };
    assert!(comes_true(is_empty), "{:?}", names(&run_dir.arenas));
    let owner = spill.arenas.join("1-1.arena").metadata().unwrap().uid();
    assert_eq!(owner == 65534, is_anothers);
    assert_eq!(names(&spill.arenas), ["1-1.arena", "2-2.arena"]);
    assert_eq!(run_dir.arena_paths().0.len(), 2);
    // Who had listed them before finds them where they are now.
    assert!(run_dir.open_arena(&run_dir.arenas.join("1-1.arena")).is_ok());
    assert!(run_dir.open_arena(&run_dir.arenas.join("3-3.arena")).is_err());
    // As the next csprof finds it if this one is killed.
    symlink(&spill.path, run_dir.path.join(SPILL)).unwrap();
    assert!(!RunDir::open(&run_dir.path).unwrap().is_empty());
    drop(run_dir);
    assert!(!spill.path.exists());
}

#[test]
fn what_may_not_be_moved_to_the_disk_keeps_nothing_else_from_it() {
    let (own, other) = (65533, 65534);
    let disk = tempfile::tempdir().unwrap();
    let memory = match tempfile::tempdir_in("/dev/shm") {
        Ok(memory) => memory,
        Err(refused) => return skip("moves to the disk", &format!("/dev/shm: {refused}")),
    };
    let mut run_dir = RunDir::create_in(memory.path(), "csprof", false).unwrap();
    let spill = RunDir::create_in(disk.path(), "csprof-spill", false).unwrap();
    run_dir.spill = Some((spill.path.clone(), spill.arenas.clone()));
    let folders = [disk.path(), memory.path(), &run_dir.path, &run_dir.arenas, &spill.path];
    for folder in folders.into_iter().chain([&*spill.arenas]) {
        fs::set_permissions(folder, Permissions::from_mode(0o777)).unwrap();
    }
    // Listed in the order in which they were made, or the other way round, one that stays comes
    // before one that goes.
    for (pid, owner) in [(1, other), (2, own), (3, own), (4, other)] {
        let path = run_dir.arenas.join(format!("{pid}-1.arena"));
        fs::write(&path, &ArenaBytes::new(4_194_310, 1, 2).locked().bytes).unwrap();
        // Who is root can also give up the right to move these.
        if !is_given_away(&path, owner) {
            return;
        }
    }
    (run_dir.leave, run_dir.free) = (u64::MAX, u64::MAX);
    thread::scope(|scope| {
        scope.spawn(|| {
            // Of this thread alone.
            nix::unistd::setfsuid(Uid::from_raw(own));
            run_dir.make_room();
        });
    });
    let names = |folder: &Path| {
        let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut names: Vec<String> = arena_paths_in(folder).0.into_iter().map(name).collect();
        names.sort();
        names
    };
    assert_eq!(names(&run_dir.arenas), ["1-1.arena", "4-1.arena"]);
    assert_eq!(names(&spill.arenas), ["2-1.arena", "3-1.arena"]);
    assert!(!spill.path.join("moving").exists());
}

#[test]
fn a_run_folder_is_in_use_while_an_arena_is_mapped() {
    let place = tempfile::tempdir().unwrap();
    // Process ids end at 2^22, as in a container that has ids of its own.
    let path = place.path().join("csprof-4194305-aaaaaa");
    fs::create_dir_all(path.join(ARENAS)).unwrap();
    let run_dir = RunDir::open(&path).unwrap();
    assert!(!run_dir.is_in_use());
    let owner = File::open(&path).unwrap();
    owner.lock().unwrap();
    assert!(run_dir.is_in_use() && has_maker(&path, NAME));
    drop(owner);
    let arena = path.join(ARENAS).join("4194306-1.arena");
    fs::write(&arena, &ArenaBytes::new(4_194_306, 1, 0).locked().bytes).unwrap();
    let mapped = lock_mapped(&arena);
    assert!(run_dir.is_in_use());
    drop(mapped);
    assert!(comes_true(|| !run_dir.is_in_use()));
    assert!(!has_maker(&path, NAME));
}

#[test]
fn another_folder_is_no_run_folder() {
    let folder = tempfile::tempdir().unwrap();
    let error = RunDir::open(folder.path()).unwrap_err().to_string();
    assert!(error.ends_with("is no run folder of csprof: it has no arenas in it"), "{error}");
}
