//! Files on disk.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use csprof_format::error::ErrorKind;
use csprof_format::ids::FrameId;
use csprof_format::{read, write};

use crate::surgery::{Part, Parts};
use crate::{bytes, sample};

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_saved_profile_is_complete_and_alone_in_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.csprof");
    write::save(&sample::profile(), &path).unwrap();
    assert_eq!(names(folder.path()), ["run.csprof"]);
    assert_eq!(read::open(&path).unwrap(), sample::profile());
}

/// Whatever the umask is, and whoever could read the file that is replaced.
#[test]
fn a_profile_with_sources_is_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let [new, old] = ["new.csprof", "old.csprof"].map(|name| folder.path().join(name));
    write::save(&sample::profile(), &old).unwrap();
    fs::set_permissions(&old, fs::Permissions::from_mode(0o644)).unwrap();
    write::save_new(&sample::of_sources(), &new).unwrap();
    write::save(&sample::of_sources(), &old).unwrap();
    assert_eq!((mode(&new), mode(&old)), (0o600, 0o600));
}

#[test]
fn what_is_replaced_keeps_its_permissions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.csprof");
    write::save(&sample::profile(), &path).unwrap();
    for mode in [0o600, 0o664] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        write::save(&sample::profile(), &path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
    }
}

/// So many that blocks of them are decoded by several threads.
#[test]
fn a_profile_of_many_nodes_comes_back_equal() {
    let mut profile = sample::profile();
    let tree = profile.trees.last_mut().unwrap();
    let (above, end) = (tree.first_node, tree.first_node + tree.node_count);
    assert_eq!(end as usize, profile.nodes.len());
    let more = 12 << 16;
    tree.node_count += more;
    for node in 0..more {
        // Chains of three below the root, with gaps between counts of all widths.
        let parent = if node % 3 == 0 { above } else { end + node - 1 };
        let returns = u64::from(node % 7 == 0) << (node % 40);
        profile.nodes.push(parent, FrameId(1 + node % 3), 0, returns);
    }
    let whole = bytes(&profile);
    assert_eq!(read::read(&whole).unwrap(), profile);
    // A block of nodes of a later version that may be passed over takes no other's place.
    let of_nodes = |part: &Part| part.kind() == 12;
    let first = Parts::of(&whole).blocks.iter().position(of_nodes).unwrap();
    let mut parts = Parts::of(&whole);
    let mut later = parts.blocks[first + 3].clone();
    // Its version, and the flag of what must be understood.
    (later.header[0x06], later.header[0x0a]) = (7, 0);
    parts.blocks.insert(first + 3, later);
    parts.renumber();
    assert_eq!(read::read(&parts.join()).unwrap().nodes, profile.nodes);
    // Damage is told of the first block that has it, as if one had been decoded after the other.
    for (block, other) in [(first + 9, first + 9), (first + 4, first + 5)] {
        let mut parts = Parts::of(&whole);
        for block in [block, other] {
            let mut payload = parts.blocks[block].decoded();
            payload.pop();
            parts.blocks[block].set_payload(&payload);
        }
        let error = read::read(&parts.join()).unwrap_err();
        assert_eq!(error.block().unwrap().number as usize, block, "{error}");
    }
}

#[test]
fn save_replaces_and_save_new_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.csprof");
    write::save_new(&sample::profile(), &path).unwrap();
    let mut other = sample::profile();
    other.run.host = "node18".into();
    let error = write::save_new(&other, &path).expect_err("the name is taken");
    assert!(matches!(error.kind(), ErrorKind::Exists));
    assert_eq!(read::open(&path).unwrap(), sample::profile());
    write::save(&other, &path).unwrap();
    assert_eq!(read::open(&path).unwrap(), other);
    assert_eq!(names(folder.path()), ["run.csprof"]);
    // Of a name that is taken, nobody looks at what would be written.
    other.nodes.parent.pop();
    let error = write::save_new(&other, &path).expect_err("the name is taken");
    assert!(matches!(error.kind(), ErrorKind::Exists), "{error}");
}

#[test]
fn the_first_bytes_say_which_run_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.csprof");
    assert_eq!(read::run_id(&path), None);
    write::save(&sample::profile(), &path).unwrap();
    let id = Some(sample::profile().run.id());
    assert_eq!(read::run_id(&path), id);
    let saved = fs::read(&path).unwrap();
    fs::write(&path, &saved[..64]).unwrap();
    assert_eq!(read::run_id(&path), id);
    for damaged in [[&b"x"[..], &saved[1..]].concat(), saved[..63].to_vec()] {
        fs::write(&path, damaged).unwrap();
        assert_eq!(read::run_id(&path), None);
    }
}

#[test]
fn a_link_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let (target, link) = (folder.path().join("target"), folder.path().join("link"));
    fs::write(&target, "old").unwrap();
    symlink(&target, &link).unwrap();
    write::save(&sample::profile(), &link).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(read::open(&target).unwrap(), sample::profile());
}

#[test]
fn errors_name_file_cause_and_remedy_and_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let save = |path: &Path| {
        let error = write::save(&sample::profile(), path).expect_err("it cannot be saved");
        error.to_string().replace(&*folder.path().to_string_lossy(), "DIR")
    };
    fs::create_dir(folder.path().join("folder")).unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    assert_eq!(
        save(&folder.path().join("none/run.csprof")),
        "DIR/none/run.csprof: cannot save the profile: the folder does not exist; make it, or \
         choose another with -o"
    );
    assert_eq!(
        save(&folder.path().join("folder")),
        "DIR/folder: cannot save the profile: there is a folder of this name; choose another \
         with -o"
    );
    assert_eq!(
        save(&folder.path().join("file/run.csprof")),
        "DIR/file/run.csprof: cannot save the profile: a part of the path is a file, not a \
         folder; choose another with -o"
    );
    assert_eq!(names(folder.path()), ["file", "folder"]);
    // Every write to this device fails as if the disk were full.
    assert_eq!(
        save(Path::new("/dev/full")),
        "/dev/full: cannot save the profile: the disk is full; free some space, or choose \
         another place with -o"
    );
}

#[test]
fn files_that_cannot_be_opened_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let open = |path: &Path| {
        let error = read::open(path).expect_err("it cannot be opened");
        error.to_string().replace(&*folder.path().to_string_lossy(), "DIR")
    };
    assert_eq!(
        open(&folder.path().join("none.csprof")),
        "DIR/none.csprof: cannot open the profile: there is no such file"
    );
    assert_eq!(open(folder.path()), "DIR: this is a folder, not a profile");
    fs::write(folder.path().join("a.txt"), "hello\n").unwrap();
    assert_eq!(open(&folder.path().join("a.txt")), "DIR/a.txt: this is a text file, not a profile");
}
