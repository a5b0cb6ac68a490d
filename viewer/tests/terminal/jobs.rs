//! The table of the guide that says which keys do a job, typed into the real program.

use csprof::tui::key::{Code, Key};
use portable_pty::CommandBuilder;

use super::Session;

const GUIDE: &str = include_str!("../../../docs/guide.md");
const PROFILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/exchange.csprof");
const OTHER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mpi_exchange.csprof");
const PHASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/phases.csprof");
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/workloads");

/// What stands between backquotes in a cell.
fn quoted(cell: &str) -> &str {
    cell.split('`').nth(1).unwrap_or_default()
}

/// Job, keys, how many they are said to be, and what the screen then has, of each row.
fn jobs() -> Vec<(&'static str, &'static str, usize, &'static str)> {
    let table = GUIDE.lines().skip_while(|line| !line.starts_with("| job "));
    let rows = table.skip(2).take_while(|line| line.starts_with('|'));
    let row = |line: &'static str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [job, keys, count, shows, _] = cells[..] else { panic!("{line}") };
        (job, quoted(keys), count.parse().unwrap(), quoted(shows))
    };
    rows.map(row).collect()
}

/// A key as a terminal sends it.
fn sent(key: Key) -> String {
    match key.code {
        Code::Char(c) => c.to_string(),
        Code::Enter => "\r".to_owned(),
        Code::Tab => "\t".to_owned(),
        _ => panic!("{key} is not in the table yet"),
    }
}

#[test]
fn the_keys_of_the_guide_do_their_jobs() {
    let jobs = jobs();
    assert!(jobs.len() >= 15, "{jobs:?}");
    for (job, keys, count, shows) in jobs {
        let keys = Key::parse_all(keys).unwrap_or_else(|| panic!("{job}: {keys}"));
        assert_eq!(keys.len(), count, "{job}");
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_csprof"));
        let map = format!("/exchange={SOURCES}");
        command.args(["view", "exchange.csprof", "--path-map", &map]);
        let folder = tempfile::tempdir().unwrap();
        // What is saved for the user stays in the folder.
        command.env("HOME", folder.path());
        for place in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "CSPROF_STATE"] {
            command.env_remove(place);
        }
        let is_compared = job.contains("against");
        if is_compared {
            std::fs::copy(OTHER, folder.path().join("other.csprof")).unwrap();
            command.arg("other.csprof");
        }
        let file = folder.path().join("exchange.csprof");
        // It is known of one profile when its samples were taken.
        let profile = if job.contains("time") { PHASES } else { PROFILE };
        std::fs::copy(profile, &file).unwrap();
        let first = match is_compared {
            true => "shown+out %: base 100+0  other 100+0",
            false => "shown 100% + out 0% = 100%",
        };
        let mut viewer = Session::start_command(command, "xterm-256color", (folder, file), first);
        let before = viewer.emulator.screen().contents();
        assert!(!before.contains(shows), "{job}: `{shows}` is there before:\n{before}");
        for key in keys {
            viewer.press(&sent(key));
        }
        viewer.wait_for(shows);
        if let Some(page) = shows.strip_suffix(',') {
            assert!(viewer.folder.path().join(page).is_file(), "{job}");
        }
        drop(viewer.child.kill());
    }
}
