//! Each view at four widths: of a run, of names of wide characters, of no samples, and of samples
//! that were all lost; in text alone, in ASCII alone, and in color.

use std::fmt::Write as _;

use csprof::tui::views::VIEWS;
use csprof::views::notes::Notes;
use csprof_format::loss::LossReason;
use ratatui::style::Style;

use super::notes::keep;
use super::*;

const WIDTHS: [u16; 4] = [40, 80, 120, 200];
const HEIGHT: u16 = 16;

/// Ranks of a solver, one of which is slow.
fn run() -> Profile {
    let rank = |rank: u32| {
        let (own, wait) = if rank == 2 { (160, 2) } else { (100, 62) };
        format!(
            "# rank={rank} thread={rank} epoch=0 name=solver\nmain 2 at:/csprof/none/solver.c:9\n  \
             solve 3 e=4 at:/csprof/none/solver.c:20\n    kernel {own} e=9 at:/csprof/none/solver.c:31\n  \
             exchange 1 e=2\n    MPI_Allreduce {wait} e=2\n      poll 5\n    MPI_Bcast 9 e=1\n"
        )
    };
    named(from_outline(&(0..4).map(rank).collect::<String>()).unwrap())
}

fn wide() -> Profile {
    let rank = |rank: u32| {
        format!(
            "# rank={rank} thread={rank} epoch=0 name=求解器\n主程序 1 at:/csprof/none/主程序.c:9\n  \
             计算::矩阵乘法(int) {} e=2 at:/csprof/none/主程序.c:20\n    naïve_größe_berechnen 40 e=1\n  \
             MPI_等待 9 e=1\n  🚀launch 30 e=1\n",
            50 + rank
        )
    };
    named(from_outline(&(0..4).map(rank).collect::<String>()).unwrap())
}

fn named(mut profile: Profile) -> Profile {
    profile.info.run.command = vec![b"./solver".to_vec(), b"input.dat".to_vec()];
    profile
}

/// A run none of whose samples was kept.
fn all_lost() -> Profile {
    let mut profile = named(from_outline("main 0\n").unwrap());
    let thread = &mut profile.info.threads[0];
    thread.delivered = 12_000;
    thread.losses = vec![0; LossReason::COUNT];
    thread.losses[LossReason::ArenaFull as usize] = 12_000;
    profile
}

fn viewer(profile: &Profile, key: &str, width: u16, theme: Theme) -> Viewer {
    let mut viewer = Viewer::with_theme(profile, &format!("{width}x{HEIGHT}"), theme);
    let mut notes = Notes::new("./solver");
    viewer.press("jjA");
    keep(&mut viewer, &mut notes);
    viewer.press(key);
    viewer
}

/// How the cells look: a letter for each style, and of how many cells it is.
fn styles(viewer: &Viewer, legend: &mut Vec<Style>) -> String {
    let terminal = viewer.terminal();
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for line in buffer.content().chunks(usize::from(buffer.area.width)) {
        for run in line.chunk_by(|one, other| one.style() == other.style()) {
            let style = run[0].style();
            let at = legend.iter().position(|other| *other == style).unwrap_or_else(|| {
                legend.push(style);
                legend.len() - 1
            });
            let letter = char::from(b'a' + u8::try_from(at).unwrap());
            write!(text, "{letter}{} ", run.len()).unwrap();
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

#[test]
fn every_view_at_every_width() {
    let profiles = [
        ("a run", run()),
        ("wide characters", wide()),
        ("no samples", named(from_outline("").unwrap())),
        ("all samples lost", all_lost()),
    ];
    for view in VIEWS {
        let mut text = String::new();
        let mut legend = Vec::new();
        for (what, profile) in &profiles {
            for width in WIDTHS {
                let plain = viewer(profile, view.key, width, Theme::new(false, false)).screen();
                writeln!(text, "{what}, {width} cells\n{plain}").unwrap();
                let ascii = viewer(profile, view.key, width, Theme::new(false, true)).screen();
                let is_ascii = ascii.replace('◀', "").is_ascii();
                // Names stay as they are.
                assert!(is_ascii || *what == "wide characters", "{}: {ascii}", view.title);
                let colored = viewer(profile, view.key, width, Theme::new(true, false));
                let without = |screen: &str| screen.replace("  ◀", "");
                assert_eq!(without(&colored.screen()), without(&plain), "{}", view.title);
                if *what == "a run" {
                    writeln!(text, "{}", styles(&colored, &mut legend)).unwrap();
                }
            }
        }
        for (style, letter) in legend.iter().zip(b'a'..) {
            let Style { fg, bg, add_modifier, .. } = style;
            let [fg, bg] = [fg, bg].map(|color| color.unwrap_or(Color::Reset));
            writeln!(text, "{} {fg} on {bg} {add_modifier:?}", char::from(letter)).unwrap();
        }
        insta::assert_snapshot!(format!("every_view_{}", view.command), text);
    }
}
