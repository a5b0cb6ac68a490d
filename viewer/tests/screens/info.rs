//! Information, help, and profiles with nothing to show.

use csprof::profile::{Profile, from_outline};
use csprof::tui::keymap::bindings;
use csprof::tui::mode::PROMPT;
use csprof_format::loss::LossReason;
use csprof_format::profile::{Exit, SymbolSource};
use insta::assert_snapshot;

use super::{Viewer, screen, solver};

/// A run as a whole: rates, losses, a partial path, a stripped library.
fn run() -> Profile {
    let mut profile = from_outline(
        "
# rank=0 thread=71 epoch=0 name=main
main 90 e=1 module:/opt/app/solver
  libfast.so+0x1040 60 e=7 unknown module:/usr/lib/libfast.so
\"[partial: no-cfi]\" partial
  jit_code 10
",
    )
    .unwrap();
    let info = &mut profile.info;
    info.run.command = vec![b"./solver".to_vec(), b"my input".to_vec()];
    info.run.directory = b"/home/ada".to_vec();
    info.run.host = "node17".to_owned();
    info.run.cpu = "Example CPU".to_owned();
    info.run.kernel = "Linux 6.18".to_owned();
    info.run.duration_ns = 1_000_000_000;
    info.run.exit = Exit::Status(0);
    info.run.csprof_version = "0.1.0".to_owned();
    info.run.warnings = vec!["task-clock is not permitted here: cputime was used".to_owned()];
    let thread = &mut info.threads[0];
    thread.delivered = 162;
    thread.recorded = 160;
    thread.partial = 10;
    thread.cpu_ns = 810_000_000;
    thread.lost_returns = 3;
    thread.losses = vec![0; LossReason::COUNT];
    thread.losses[LossReason::ArenaFull as usize] = 2;
    for module in 0..info.modules.len() {
        let path = info.modules[module].path;
        info.modules[module].symbols = match info.strings[path.index()].ends_with("libfast.so") {
            true => SymbolSource::Stripped(path),
            false => SymbolSource::Dwarf(path),
        };
    }
    profile
}

#[test]
fn information() {
    assert_snapshot!(screen(&run(), "80x62", "4"));
}

#[test]
fn information_scrolls() {
    assert_snapshot!(screen(&run(), "80x14", "4<pagedown>"));
}

#[test]
fn help_of_the_tree() {
    assert_snapshot!(screen(&solver(), "80x100", "?"));
}

#[test]
fn help_of_the_list_of_stages() {
    assert_snapshot!(screen(&solver(), "80x24", "F?"));
}

#[test]
fn help_lists_every_key_of_its_mode() {
    let profile = solver();
    let views = ["", "2", "3", "3<lt>", "4", "5", "<enter>", "F", "|", "P"];
    let modes = views.map(|keys| (Viewer::new(&profile, "80x24").press(keys).model.mode(), keys));
    for (mode, keys) in modes.into_iter().chain([(&PROMPT, "")]) {
        let help = screen(&profile, "240x200", &format!("{keys}?"));
        // Keys are on the right.
        let right = |line: &str| line.chars().skip(120).collect::<String>();
        for binding in bindings(mode) {
            let line = help.lines().map(right).find(|line| {
                line.trim_start().starts_with(&*binding.keys) && line.contains(binding.help)
            });
            assert!(line.is_some(), "{}: {} {}", mode.title, binding.keys, binding.help);
        }
    }
}

#[test]
fn no_sample_at_all() {
    let mut profile = from_outline("main\n").unwrap();
    profile.info.run.cpu_ns = 2_000_000;
    assert_snapshot!(screen(&profile, "80x14", "jklh<space>eEH/x<enter>ns="));
    assert_snapshot!(screen(&profile, "80x14", "tu3<enter>2F"));
}

#[test]
fn every_sample_lost() {
    let mut profile = from_outline("main\n").unwrap();
    let thread = &mut profile.info.threads[0];
    thread.delivered = 12_000;
    thread.losses = vec![0; LossReason::COUNT];
    thread.losses[LossReason::ArenaFull as usize] = 11_999;
    thread.losses[LossReason::CollectorBusy as usize] = 1;
    assert_snapshot!(screen(&profile, "80x20", ""));
}

#[test]
fn unknown_code_says_why_it_has_no_name() {
    let profile = run();
    let mut viewer = Viewer::new(&profile, "80x24");
    assert_snapshot!(viewer.press("/libfast<enter>=").screen());
}
