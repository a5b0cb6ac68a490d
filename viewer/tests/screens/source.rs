//! The source view.

use std::fs;
use std::path::{Path, PathBuf};

use csprof::profile::{Profile, from_outline};
use csprof::sources::Sources;
use csprof::structure::listing;
use csprof::symbols::files::DiskFiles;
use csprof::tui::effect::Effect;
use csprof::tui::message::Message;
use csprof::tui::theme::Theme;
use csprof_format::address::FrameKind;
use csprof_format::ids::{EpochId, FrameId, ModuleId, ProcessId, StringId, ThreadId};
use csprof_format::profile as saved;
use insta::assert_snapshot;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

use super::Viewer;

#[path = "../../../tests/src/notes.rs"]
#[expect(unreachable_pub, reason = "it is public where it is at home")]
mod notes;

/// A program whose loop is hot, with code that is inlined from a header.
const OUTLINE: &str = "
_start
  main 2 e=1 at:/src/app/solver.c:14 module:solver
    solve 50 e=8 at:/src/app/solver.c:6 module:solver
      dot 30 inline at:/src/app/vector.h:3 module:solver
      exchange 10 e=9 at:/src/app/halo.c:20 module:libhalo.so
    solve 60 e=8 at:/src/app/solver.c:7 module:solver
    fread 8 e=20 module:libc.so.6
";

const SOLVER: &str = "\
#include \"vector.h\"

/* One step of the solver. */
static void solve(double *x, int n)
{
\tfor (int i = 0; i < n; i++)
\t\tx[i] = dot(x, n) + 1.0 / (1.0 + x[i] * x[i] * x[i] * x[i] * x[i] * x[i] * x[i]);
\texchange(x);
}

int main(void)
{
\tdouble x[100];
\tsolve(x, 100);
}
";

fn profile() -> Profile {
    let mut profile = from_outline(OUTLINE).unwrap();
    profile.info.run.command = vec![b"./solver".to_vec()];
    profile.info.metric.source = "cputime".to_owned();
    profile
}

/// A viewer that finds files compiled in `/src` in a folder, with these files.
fn viewer_of(
    profile: &Profile,
    size: &str,
    files: &[(&str, &[u8])],
) -> (Viewer, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let mut viewer = Viewer::new(profile, size);
    viewer.model.look_in(&mapped(folder.path()));
    (viewer, folder)
}

fn mapped(folder: &Path) -> Sources {
    Sources::new(vec![format!("/src={}", folder.display()).parse().unwrap()])
}

fn viewer(size: &str) -> (Viewer, tempfile::TempDir) {
    let header: &[u8] = b"static double dot(double *x, int n)\n{\n\treturn x[0] * n;\n}\n";
    let files = [("app/solver.c", SOLVER.as_bytes()), ("app/vector.h", header)];
    viewer_of(&profile(), size, &files)
}

/// The number of the line that is selected, on a screen of 80 cells.
fn selected(viewer: &Viewer) -> String {
    let screen = viewer.screen();
    let line = screen.lines().skip(3).find(|line| line.ends_with('◀')).unwrap_or_default();
    // Behind the numbers; a sign may follow.
    let beside: String = line.chars().skip(25).take(3).collect();
    beside.split_whitespace().next().unwrap_or_default().to_owned()
}

#[test]
fn lines_have_their_cost_beside_them() {
    for size in ["80x24", "40x16", "120x24"] {
        assert_snapshot!(viewer(size).0.press("/solve<enter>7").screen());
    }
}

#[test]
fn the_hottest_lines_are_one_key_away() {
    let (mut viewer, _folder) = viewer("80x24");
    viewer.press("/solve<enter>7");
    assert_eq!(selected(&viewer), "7", "the hottest line of the function comes first");
    assert_eq!(selected(viewer.press(">")), "6");
    assert_eq!(selected(viewer.press(">")), "14");
    assert!(viewer.screen().contains("3 of 3 lines with cost"));
    assert_eq!(selected(viewer.press(">")), "14");
    assert_eq!(selected(viewer.press("<lt>")), "6");
    assert_eq!(selected(viewer.press("gH")), "7");
    assert_eq!(selected(viewer.press("jj")), "9");
    assert_eq!(selected(viewer.press("G")), "15");
    assert_eq!(selected(viewer.press("g")), "1");
}

#[test]
fn what_a_line_calls_opens_and_leads_to_its_source() {
    let (mut viewer, _folder) = viewer("80x24");
    viewer.press("/solve<enter>7><enter>");
    assert_snapshot!(viewer.screen());
    viewer.press("j<enter>");
    assert!(viewer.screen().contains("/src/app/vector.h"), "{}", viewer.screen());
    assert_eq!(selected(&viewer), "3");
    viewer.press("<backspace>");
    assert!(viewer.screen().contains("/src/app/solver.c"), "{}", viewer.screen());
    assert_eq!(selected(&viewer), "6");
    // A step is one that can be taken back.
    viewer.press("u");
    assert!(viewer.screen().contains("/src/app/vector.h"), "{}", viewer.screen());
    viewer.press("<backspace>");
    assert_eq!(selected(&viewer), "6");
    viewer.press("<backspace>");
    assert!(viewer.screen().contains("chosen in another view"), "{}", viewer.screen());
}

#[test]
fn a_file_that_is_not_there_is_said_with_the_remedy() {
    let (mut viewer, folder) = viewer_of(&profile(), "80x24", &[]);
    viewer.press("/solve<enter>7");
    let screen = viewer.screen().replace(&folder.path().display().to_string(), "/here");
    let place = screen.lines().find(|line| line.contains("/here")).unwrap();
    assert!(place.contains("/here/app/solver.c: there is no such file"), "{screen}");
    assert!(screen.contains("--path-map OLD=NEW"), "{screen}");
    // The lines with samples are there, and can be opened.
    assert_eq!(selected(&viewer), "7");
    viewer.press("k<enter>j<enter>");
    assert!(viewer.screen().contains("/src/app/vector.h"), "{}", viewer.screen());
    // A folder is asked for.
    viewer.press("<backspace>");
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("solver.c"), SOLVER).unwrap();
    viewer.press("p");
    viewer.send(Message::Pasted(other.path().display().to_string()));
    viewer.press("<enter>");
    assert!(viewer.screen().contains("for (int i"), "{}", viewer.screen());
    assert!(viewer.screen().contains("found by the end of its path"), "{}", viewer.screen());
}

#[test]
fn a_function_without_lines_says_what_would_give_it_some() {
    let (mut viewer, _folder) = viewer("80x24");
    assert_snapshot!(viewer.press("/fread<enter>7").screen());
    assert_snapshot!(viewer.press("jkH><enter>v<backspace>hl").screen());
}

#[test]
fn a_file_of_another_version_is_said() {
    let mut newer = profile();
    newer.info.run.start_unix_ns = 1_000;
    let (mut viewer, _folder) = viewer_of(&newer, "80x24", &[("app/solver.c", SOLVER.as_bytes())]);
    viewer.press("/solve<enter>7");
    assert!(viewer.screen().contains("it was changed after the run"), "{}", viewer.screen());
    let (mut viewer, _folder) = viewer_of(&profile(), "80x24", &[("app/solver.c", b"int a;\n")]);
    viewer.press("/solve<enter>7");
    let screen = viewer.screen();
    let said = "it has 1 lines, and line 14 was";
    assert!(screen.contains(said), "{screen}");
}

#[test]
fn the_editor_opens_the_line() {
    let (mut viewer, folder) = viewer("80x24");
    viewer.press("/solve<enter>7jv");
    let path: PathBuf = folder.path().join("app/solver.c");
    assert!(viewer.effects.contains(&Effect::Edit { path, line: 8 }), "{:?}", viewer.effects);
}

#[test]
fn numbers_of_a_line_are_explained() {
    let (mut viewer, _folder) = viewer("100x30");
    assert_snapshot!(viewer.press("/solve<enter>7>=").screen());
    viewer.press("<esc>g=");
    assert!(viewer.screen().contains("no path that is shown comes"), "{}", viewer.screen());
}

#[test]
fn stages_and_metrics_are_those_of_the_other_views() {
    let (mut viewer, _folder) = viewer("80x24");
    viewer.press("/exchange<enter>t7");
    // Nothing of the profile is left but the paths through exchange.
    viewer.press("1/solve<enter>7");
    let screen = viewer.screen();
    let with_cost = screen.lines().skip(3).filter(|line| line.contains(" ms "));
    assert_eq!(with_cost.count(), 2, "{screen}");
}

#[test]
fn hostile_sources_are_painted_safely() {
    let mut bytes = Vec::new();
    bytes.extend(vec![b'x'; 1 << 20]);
    bytes.extend(
        b"\n\x1b[31mred\x1b]0;title\x07\n\t\xe6\xbc\xa2\xe5\xad\x97\ttab\n\xff\xfe\x80bytes\n",
    );
    bytes.extend("\u{202e}right to left\u{200b}\n".as_bytes());
    bytes.extend("e".bytes().chain("\u{301}".repeat(1 << 16).bytes()).chain([b'\n']));
    bytes.extend("\u{1f469}\u{200d}\u{1f469}\u{200d}\u{1f467} \u{6f22}\n".as_bytes());
    bytes.extend([0; 100]);
    bytes.extend(b"\n\r\r\r\n\n\n\n\n\nlast");
    for size in ["80x24", "40x12"] {
        let (mut viewer, _folder) = viewer_of(&profile(), size, &[("app/solver.c", &bytes)]);
        let screen = viewer.press("/solve<enter>7").screen();
        assert!(!screen.chars().any(|c| c.is_control() && c != '\n'), "{screen:?}");
        assert!(!screen.contains('\u{202e}') && screen.contains("\\u{202e}"), "{screen}");
        assert_snapshot!(screen);
        for keys in ["l", "llllllll", "hhhhhhhhhhhhhh", "G", "g"] {
            let screen = viewer.press(keys).screen();
            assert!(!screen.chars().any(|c| c.is_control() && c != '\n'), "{screen:?}");
        }
    }
}

#[test]
fn colors_are_not_needed_and_ascii_is_enough() {
    let (viewer, folder) = viewer("80x24");
    drop(viewer);
    for (color, ascii) in [(true, false), (false, true)] {
        let mut viewer = Viewer::with_theme(&profile(), "80x24", Theme::new(color, ascii));
        viewer.model.look_in(&mapped(folder.path()));
        let screen = viewer.press("/solve<enter>7><enter>").screen();
        assert!(!ascii || screen.replace('◀', "").is_ascii(), "{screen}");
        assert_eq!(viewer.colors().is_empty(), !color);
    }
}

#[test]
fn a_click_selects_a_line_and_a_double_click_opens_it() {
    let (mut viewer, _folder) = viewer("80x24");
    viewer.press("/solve<enter>7");
    viewer.send(Message::Click { x: 50, y: 8 });
    assert_eq!(selected(&viewer), "6");
    viewer.send(Message::DoubleClick { x: 50, y: 8 });
    assert!(viewer.screen().contains("inlined dot"), "{}", viewer.screen());
    viewer.send(Message::Wheel(1));
    viewer.send(Message::Click { x: 50, y: 23 });
}

const LOOP: &str = "\
int work(const int *x, int n)
{
\tint sum = 0;
\tfor (int i = 0; i < n; i++)
\t\tsum += x[i] % 7;
\treturn sum;
}
int main(int argc, char **argv) { (void)argv; return work(&argc, argc); }
";

/// A compiled program, with 100 samples at the division of `work` and one at each other
/// instruction.
fn compiled(folder: &Path, edit: impl Fn(&mut saved::Profile)) -> Option<Profile> {
    let (source, program) = (folder.join("loop.c"), folder.join("loop"));
    fs::write(&source, LOOP).unwrap();
    let mut cc = std::process::Command::new("cc");
    cc.args(["-O1", "-g", "-Wl,--build-id=sha1", "-o"]).arg(&program).arg(&source);
    match cc.status() {
        Ok(status) => assert!(status.success()),
        Err(error) => {
            notes::skip("source of a compiled program", &format!("cc: {error}"));
            return None;
        }
    }
    let bytes = fs::read(&program).unwrap();
    let elf = object::File::parse(&*bytes).unwrap();
    let work = elf.symbols().find(|symbol| symbol.name() == Ok("work")).unwrap();
    let text = elf.section_by_name(".text").unwrap();
    let code = text.data_range(work.address(), work.size()).unwrap().unwrap();
    let mut profile = saved::Profile {
        strings: vec![program.to_str().unwrap().into()],
        modules: vec![saved::Module {
            path: StringId(0),
            build_id: elf.build_id().unwrap().unwrap().to_vec(),
            ..saved::Module::default()
        }],
        metric: saved::Metric { source: "cputime".into(), unit: "ns".into(), period: 1_000_000 },
        processes: vec![saved::Process::default()],
        epochs: vec![saved::Epoch::default()],
        ..saved::Profile::default()
    };
    profile.frames.push(saved::Frame { kind: FrameKind::Root, module: None, offset: 0 });
    profile.nodes.push(0, FrameId(0), 0, 0);
    let mut all = 0;
    for (at, listed) in listing(work.address(), code).into_iter().enumerate() {
        let (module, offset) = (Some(ModuleId(0)), listed.address);
        profile.frames.push(saved::Frame { kind: FrameKind::Interrupted, module, offset });
        let samples = if listed.text.starts_with("imul") { 100 } else { 1 };
        profile.nodes.push(0, FrameId(u32::try_from(at + 1).unwrap()), samples, 0);
        all += samples;
    }
    let process = ProcessId(0);
    let (delivered, recorded) = (all, all);
    profile.threads =
        vec![saved::Thread { process, delivered, recorded, ..saved::Thread::default() }];
    let node_count = u32::try_from(profile.nodes.len()).unwrap();
    let (thread, epoch) = (ThreadId(0), EpochId(0));
    profile.trees = vec![saved::Tree { thread, epoch, first_node: 0, node_count }];
    let files = DiskFiles::with_debug_folders(Vec::new());
    csprof::symbols::resolve(&mut profile, &files, |_, _| std::ops::ControlFlow::Continue(()));
    edit(&mut profile);
    Some(Profile::from_saved(profile))
}

#[test]
fn instructions_have_their_cost_the_line_above_them_and_arrows() {
    let folder = tempfile::tempdir().unwrap();
    let Some(profile) = compiled(folder.path(), |_| ()) else { return };
    let mut viewer = Viewer::new(&profile, "100x40");
    viewer.press("/work<enter>7");
    assert!(viewer.screen().contains("sum += x[i] % 7;  ◀"), "{}", viewer.screen());
    viewer.press("a");
    let screen = viewer.screen();
    let hottest = screen.lines().find(|line| line.ends_with('◀')).unwrap();
    assert!(hottest.contains(" 100 ms") && hottest.contains("imul"), "{screen}");
    assert!(screen.contains("loop.c:5  sum += x[i] % 7;"), "{screen}");
    let back = screen.lines().position(|line| line.contains('└')).unwrap();
    let to = screen.lines().position(|line| line.contains('>')).unwrap();
    assert!(to != back && screen.contains('│'), "{screen}");
    assert!(screen.contains(" ret"), "{screen}");
    viewer.press(">");
    assert!(viewer.screen().contains("instructions with cost"), "{}", viewer.screen());
    // Its line is selected where lines are shown again.
    viewer.press("Ha");
    let screen = viewer.screen();
    let line = screen.lines().find(|line| line.ends_with('◀')).unwrap();
    assert!(line.contains("sum += x[i] % 7;"), "{screen}");
    for size in [(40, 12), (80, 24), (120, 30)] {
        viewer.send(Message::Resized { width: size.0, height: size.1 });
        viewer.press("a");
        assert!(viewer.screen().contains("imul"), "{}", viewer.screen());
        viewer.press("a");
    }
}

/// Lines, what is open below them, and instructions are found by what they say, those with most
/// cost of their own first.
#[test]
fn what_is_searched_for_is_found_in_source_and_instructions() {
    let (mut viewer, _folder) = viewer("80x24");
    viewer.press("/solve<enter>7g/x[i]");
    assert_eq!(selected(&viewer), "7");
    assert!(
        viewer.screen().contains("1 of 1 row, in all 300 ms 37.5% of their own"),
        "{}",
        viewer.screen()
    );
    viewer.press("<enter>/solve(");
    assert_eq!(selected(&viewer), "14", "the line with a cost before the one without");
    let screen = viewer.press("<enter>n").screen();
    assert_eq!(selected(&viewer), "4", "{screen}");
    assert!(screen.contains("2 of 2 rows, in all 10.0 ms 1.3% of their own"), "{screen}");
    assert_eq!(selected(viewer.press("n")), "14");
    assert!(viewer.screen().contains("round the end"), "{}", viewer.screen());
    assert_eq!(selected(viewer.press("N")), "4");
    viewer.press("/nowhere<enter>");
    assert!(viewer.screen().contains("matches “nowhere”"), "{}", viewer.screen());
    // What is open is found by its name; its cost is inclusive, and not added to others.
    viewer.press("H<lt>><enter>/exchange");
    let screen = viewer.screen();
    assert!(screen.contains("of 2 places"), "{screen}");
    let folder = tempfile::tempdir().unwrap();
    let Some(profile) = compiled(folder.path(), |_| ()) else { return };
    let mut viewer = Viewer::new(&profile, "100x40");
    let screen = viewer.press("/work<enter>7ag/imul<enter>").screen();
    let found = screen.lines().find(|line| line.ends_with('◀')).unwrap();
    assert!(found.contains("imul"), "{screen}");
    assert!(screen.contains("of their own: “imul”"), "{screen}");
}

/// What is on the screen, of lines that have no command line and of instructions.
#[test]
fn source_and_instructions_are_tables_to_take_along() {
    let (mut viewer, _folder) = viewer("80x24");
    let table = |viewer: &mut Viewer, form: &str| {
        viewer.press(&format!(":export a.{form}<enter>"));
        let Some(Effect::ExportTable { table, form, .. }) = viewer.effects.pop() else {
            panic!("{form}: {}", viewer.screen());
        };
        String::from_utf8(form.of(&table).unwrap()).unwrap()
    };
    viewer.press("/solve<enter>7><enter>");
    let csv = table(&mut viewer, "csv");
    assert_snapshot!(csv);
    // A line for each of the screen, below the heading.
    assert_eq!(csv.lines().count(), 1 + SOLVER.lines().count() + 2);
    assert!(table(&mut viewer, "html").contains("exchange(x);"));
    let folder = tempfile::tempdir().unwrap();
    let Some(profile) = compiled(folder.path(), |_| ()) else { return };
    let mut viewer = Viewer::new(&profile, "100x40");
    viewer.press("/work<enter>7a");
    let json: serde_json::Value = serde_json::from_str(&table(&mut viewer, "json")).unwrap();
    let rows = json["rows"].as_array().unwrap();
    let hot = rows.iter().max_by_key(|row| row["exclusive"].as_u64().unwrap_or(0)).unwrap();
    assert!(hot["text"].as_str().unwrap().contains("imul"), "{hot}");
    assert!(hot["address"].as_str().unwrap().starts_with("0x"), "{hot}");
    for form in ["txt", "csv", "html"] {
        assert!(table(&mut viewer, form).contains("imul"), "{form}");
    }
}

#[test]
fn instructions_are_those_of_the_file_that_ran() {
    let folder = tempfile::tempdir().unwrap();
    let told = |edit: &dyn Fn(&mut saved::Profile)| {
        let profile = compiled(folder.path(), edit)?;
        let mut viewer = Viewer::new(&profile, "120x24");
        Some(viewer.press("/work<enter>7a").screen().replace("\n", " "))
    };
    let Some(other) = told(&|profile| profile.modules[0].build_id[0] ^= 1) else { return };
    assert!(other.contains("is another build than the one that ran"), "{other}");
    let without = told(&|profile| profile.modules[0].build_id.clear()).unwrap();
    assert!(without.contains("has no build id"), "{without}");
    let gone = told(&|profile| profile.strings[0] = "/nonexistent/loop".into()).unwrap();
    assert!(gone.contains("there is no such file"), "{gone}");
    let shown = told(&|_| ()).unwrap();
    assert!(shown.contains("imul"), "{shown}");
}

#[test]
fn names_and_paths_of_megabytes_are_bearable() {
    let name = "n".repeat(1 << 20);
    let path = "/a".repeat(1 << 19);
    let outline = format!("main 1 at:/src/a.c:1\n  {name} 2 at:{path}:4294967295\n  {name} 1\n");
    let (mut viewer, _folder) = viewer_of(&from_outline(&outline).unwrap(), "80x24", &[]);
    for keys in ["H7", "p/tmp<enter>", "jkHnN<enter>a=<esc>a", "u", "<C-r>", "lll"] {
        let screen = viewer.press(keys).screen();
        assert!(screen.contains("nnnnnn") || screen.contains("Source"), "{screen}");
    }
}

/// The profile with lines of its files, as `record --sources` keeps them.
fn keeping(doubt: saved::SourceDoubt) -> Profile {
    let mut profile = profile();
    let path = profile.info.strings.iter().position(|text| &**text == "/src/app/solver.c").unwrap();
    let path = StringId::from_index(path);
    let mut file = saved::SourceFile {
        path,
        lines: 4000,
        doubt,
        modules: (0..profile.info.modules.len()).map(ModuleId::from_index).collect(),
        ..saved::SourceFile::default()
    };
    for (number, line) in (1..).zip(SOLVER.lines()).filter(|(number, _)| *number != 10) {
        file.push(number, line);
    }
    file.push(1200, "\u{202e}// \u{1b}[31mfar away");
    profile.info.sources.push(file);
    profile
}

#[test]
fn lines_that_the_profile_keeps_stand_where_there_is_no_file() {
    for size in ["80x24", "40x16", "120x24"] {
        let profile = keeping(saved::SourceDoubt::None);
        let mut viewer = Viewer::new(&profile, size);
        assert_snapshot!(viewer.press("/solve<enter>7G").screen());
    }
    let mut viewer = Viewer::new(&keeping(saved::SourceDoubt::NewerThanModule), "80x24");
    viewer.press("/solve<enter>7");
    assert!(viewer.screen().contains("it is newer than a module"), "{}", viewer.screen());
    let screen = viewer.screen();
    let line = screen.lines().find(|line| line.ends_with('◀')).unwrap();
    assert!(line.contains("300 ms  37.5    8..16    7 "), "{screen}");
    viewer.press("v");
    assert!(viewer.screen().contains("the file is not here; p asks"), "{}", viewer.screen());
    assert!(!viewer.effects.iter().any(|effect| matches!(effect, Effect::Edit { .. })));
    viewer.press("G<enter>");
    assert!(viewer.screen().contains("does not keep these lines"), "{}", viewer.screen());
    viewer.press("=<esc>nN><lt>Hav");
    // The user's folder comes first, and it is said that its file is another one.
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("solver.c"), SOLVER).unwrap();
    let mut viewer = Viewer::new(&keeping(saved::SourceDoubt::None), "80x24");
    viewer.press("/solve<enter>7p");
    viewer.send(Message::Pasted(other.path().display().to_string()));
    viewer.press("<enter>");
    let screen = viewer.screen();
    assert!(screen.contains("another version than is kept"), "{screen}");
    assert!(!screen.contains("4000"), "{screen}");
    let (mut viewer, _folder) = viewer_of(
        &keeping(saved::SourceDoubt::None),
        "80x24",
        &[("app/solver.c", SOLVER.as_bytes())],
    );
    viewer.press("/solve<enter>7");
    assert!(viewer.screen().contains("another version than is kept"), "{}", viewer.screen());
}
