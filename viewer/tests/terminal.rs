//! The real program on a real terminal: a pseudoterminal on one side, an emulator's idea of its
//! screen on the other.
//!
//! What the screens look like is tested in `screens.rs`; here is what only a terminal can tell:
//! that keys arrive, that suspension and every way out give the terminal back, and what is left
//! on it afterwards. Waiting is always for a screen to appear, never for time to pass.

#![expect(clippy::unwrap_used, reason = "a harness of tests: a panic is a failed test")]

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use csprof_format::address::FrameKind;
use csprof_format::ids::{EpochId, FrameId, FunctionId, ModuleId, ProcessId, StringId, ThreadId};
use csprof_format::profile::{
    Epoch, Exit, Frame, Function, Metric, Module, Process, Profile, Thread, Tree,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use vt100::{MouseProtocolMode, Parser, Screen};

#[path = "terminal/jobs.rs"]
mod jobs;
#[path = "terminal/ranks.rs"]
mod ranks;

/// Long enough for the slowest machine; a test waits as long only if it fails.
const PATIENCE: Duration = Duration::from_secs(300);

/// What the viewer writes behind each frame: the end of a synchronized update.
const END_OF_FRAME: &[u8] = b"\x1b[?2026l";

/// Depth, function and samples of each node.
const PATHS: &[(usize, &str, u64)] = &[
    (0, "main", 2),
    (1, "solve", 10),
    (2, "memcpy", 5),
    (2, "MPI_Sendrecv", 4),
    (3, "memcpy", 60),
    (3, "poll", 30),
    (2, "MPI_Allreduce", 49),
    (3, "poll", 40),
];

/// A saved profile with these paths, in a folder that goes with the test.
fn saved() -> (tempfile::TempDir, PathBuf) {
    saved_with(str::to_owned)
}

/// The same with names made of these.
fn saved_with(named: impl Fn(&str) -> String) -> (tempfile::TempDir, PathBuf) {
    let mut profile = Profile {
        strings: vec!["/opt/solver".into()],
        modules: vec![Module { path: StringId(0), ..Module::default() }],
        metric: Metric { source: "cputime".into(), unit: "ns".into(), period: 5_000_000 },
        processes: vec![Process { pid: 1000, exit: Exit::Status(0), ..Process::default() }],
        epochs: vec![Epoch::default()],
        ..Profile::default()
    };
    profile.run.command = vec![b"./solver".to_vec()];
    profile.run.trampoline = true;
    profile.frames.push(Frame { kind: FrameKind::Root, module: None, offset: 0 });
    profile.sites.first = vec![0, 0];
    profile.nodes.push(0, FrameId(0), 0, 0);
    let mut path = vec![0];
    for (place, &(depth, name, samples)) in PATHS.iter().enumerate() {
        let number = u32::try_from(place).unwrap();
        profile.strings.push(named(name).into());
        let name = StringId(number + 1);
        profile.functions.push(Function { name, module: ModuleId(0), file: None, line: 0 });
        let offset = 0x1000 + u64::from(number);
        profile.frames.push(Frame { kind: FrameKind::Call, module: Some(ModuleId(0)), offset });
        profile.sites.function.push(FunctionId(number));
        profile.sites.file.push(None);
        profile.sites.line.push(0);
        profile.sites.first.push(number + 1);
        path.truncate(depth + 1);
        path.push(profile.nodes.push(path[depth], FrameId(number + 1), samples, 1));
    }
    let samples = PATHS.iter().map(|(.., samples)| samples).sum();
    profile.threads.push(Thread {
        process: ProcessId(0),
        tid: 1000,
        delivered: samples,
        recorded: samples,
        ..Thread::default()
    });
    profile.trees.push(Tree {
        thread: ThreadId(0),
        epoch: EpochId(0),
        first_node: 0,
        node_count: u32::try_from(profile.nodes.len()).unwrap(),
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("solver.csprof");
    csprof_format::write::save(&profile, &file).unwrap();
    (folder, file)
}

/// The viewer on a terminal of 80×24.
struct Session {
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    output: Receiver<Vec<u8>>,
    emulator: Parser,
    folder: tempfile::TempDir,
}

impl Session {
    fn start(arguments: &[&str]) -> Self {
        Self::start_on("xterm-256color", arguments, "shown 100% + out 0% = 100%")
    }

    /// On another kind of terminal, waiting for this text.
    fn start_on(terminal: &str, arguments: &[&str], first: &str) -> Self {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_csprof"));
        command.args(["view", "solver.csprof"]);
        command.args(arguments);
        Self::start_command(command, terminal, saved(), first)
    }

    /// Any command, in the folder of this profile.
    fn start_command(
        mut command: CommandBuilder,
        terminal: &str,
        (folder, _file): (tempfile::TempDir, PathBuf),
        first: &str,
    ) -> Self {
        let size = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        command.cwd(folder.path());
        command.env("TERM", terminal);
        command.env_remove("NO_COLOR");
        let child = pair.slave.spawn_command(command).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // Ends when the last writer closes the terminal: EIO, or nothing more to read.
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let cells = |n| NonZeroU16::new(n).unwrap();
        let mut session = Self {
            keys: pair.master.take_writer().unwrap(),
            master: pair.master,
            child,
            output,
            emulator: Parser::new(cells(24), cells(80), 0),
            folder,
        };
        session.wait_for(first);
        session
    }

    /// Takes in output until the screen is as wanted.
    fn wait_until(&mut self, what: &str, wanted: impl Fn(&Screen) -> bool) {
        while !wanted(self.emulator.screen()) {
            match self.output.recv_timeout(PATIENCE) {
                Ok(bytes) => self.emulator.process(&bytes),
                Err(_) => panic!("no {what} on:\n{}", self.emulator.screen().contents()),
            }
        }
    }

    fn wait_for(&mut self, text: &str) {
        self.wait_until(text, |screen| screen.contents().contains(text));
    }

    /// Waits for a text frame by frame, for what is read at once may have drawn it and taken it
    /// away again; and asserts that this one comes in no frame before it, nor in the same.
    fn wait_for_before(&mut self, text: &str, later: &str) {
        let is_there = |session: &Self, text| session.emulator.screen().contents().contains(text);
        let mut has_come = is_there(self, text);
        let mut written = Vec::new();
        while !has_come {
            let bytes = self.output.recv_timeout(PATIENCE);
            let no_text = |_| panic!("no {text} on:\n{}", self.emulator.screen().contents());
            for byte in bytes.unwrap_or_else(no_text) {
                self.emulator.process(&[byte]);
                written.push(byte);
                if !has_come && written.ends_with(END_OF_FRAME) {
                    assert!(!is_there(self, later), "{later} came before {text}");
                    has_come = is_there(self, text);
                }
            }
        }
    }

    /// Waits until the terminal takes whole lines, and Enter for their end. It has left the
    /// alternate screen a moment before.
    fn wait_for_lines(&self) {
        let deadline = Instant::now() + PATIENCE;
        while !self.local_flags().contains("ICANON") {
            assert!(Instant::now() < deadline, "the terminal stays raw");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Modes of the terminal, by name: `ICANON | ECHO | …`.
    fn local_flags(&self) -> String {
        format!("{:?}", self.master.get_termios().unwrap().local_flags)
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end, takes in all that was written, and checks what every way out owes the
    /// user: the terminal as it was.
    fn end(mut self) -> (portable_pty::ExitStatus, String) {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(1)),
                None => panic!("it did not end: {}", self.emulator.screen().contents()),
            }
        };
        let modes = self.local_flags();
        assert!(modes.contains("ICANON") && modes.contains("ECHO "), "{modes}");
        drop((self.keys, self.master));
        while let Ok(bytes) = self.output.recv_timeout(PATIENCE) {
            self.emulator.process(&bytes);
        }
        let screen = self.emulator.screen();
        assert!(!screen.alternate_screen(), "still in the alternate screen");
        assert!(!screen.hide_cursor(), "the cursor is hidden");
        assert!(!screen.bracketed_paste(), "pasted text is bracketed");
        assert_eq!(screen.mouse_protocol_mode(), MouseProtocolMode::None);
        (status, screen.contents())
    }
}

#[test]
fn through_mpi_then_memcpy_below_by_keys_only() {
    let mut viewer = Session::start(&[]);
    viewer.press("fthrough MPI_*");
    viewer.wait_for("shown 91.5% + out 8.5% = 100%");
    viewer.press("\r");
    viewer.wait_for("▸ through MPI_*");
    viewer.press("/memcpy\rt");
    viewer.wait_for("▸ through \"memcpy\"");
    viewer.wait_for("shown 30.0% + out 70.0% = 100%");
    viewer.press("u");
    viewer.wait_until("undo", |screen| !screen.contents().contains("memcpy\" "));
    viewer.press("q");
    let (status, left) = viewer.end();
    assert_eq!((status.exit_code(), left.as_str()), (0, ""));
}

/// The profile with a file of source for `memcpy`.
fn saved_with_source() -> (tempfile::TempDir, PathBuf) {
    let (folder, file) = saved();
    let mut profile = csprof_format::read::open(&file).unwrap();
    let source = folder.path().join("copy.c");
    std::fs::write(&source, "void copy(void)\n{\n\tgo();\n}\n").unwrap();
    let path = StringId(u32::try_from(profile.strings.len()).unwrap());
    profile.strings.push(source.to_str().unwrap().into());
    for at in [2, 4] {
        (profile.sites.file[at], profile.sites.line[at]) = (Some(path), 3);
    }
    csprof_format::write::save(&profile, &file).unwrap();
    (folder, file)
}

/// The editor has all keys while it runs, and the viewer has them again.
#[test]
fn the_editor_has_the_terminal_until_it_ends() {
    let (folder, file) = saved_with_source();
    let script = "#!/bin/sh\nread line\necho \"typed $line\" \"$@\"\nread line\nexit 3\n";
    std::fs::write(folder.path().join("edit.sh"), script).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_csprof"));
    command.args(["view", "solver.csprof"]);
    command.env("VISUAL", "sh ./edit.sh --wait");
    let first = "shown 100% + out 0% = 100%";
    let mut viewer = Session::start_command(command, "xterm-256color", (folder, file), first);
    viewer.press("/memcpy\r7");
    viewer.wait_for("go();");
    viewer.press("v");
    viewer.wait_until("normal screen", |screen| !screen.alternate_screen());
    viewer.wait_for_lines();
    viewer.press("qqjk\r");
    viewer.wait_for("typed qqjk --wait +3");
    viewer.press("\r");
    viewer.wait_until("alternate screen", Screen::alternate_screen);
    viewer.wait_for("the editor ended with 3");
    viewer.press("1");
    viewer.wait_for("[1 Tree]");
    viewer.press("q");
    assert_eq!(viewer.end().0.exit_code(), 0);
}

#[test]
fn a_terminal_that_only_prints_lines_is_refused() {
    let viewer = Session::start_on("dumb", &[], "csprof report prints the same");
    let (status, left) = viewer.end();
    assert_eq!(status.exit_code(), 1);
    assert!(left.starts_with("csprof: the viewer needs a terminal that can place the cursor"));
}

#[test]
fn a_signal_that_ends_it_gives_the_terminal_back() {
    for signal in [
        Signal::SIGTERM,
        Signal::SIGHUP,
        Signal::SIGINT,
        Signal::SIGQUIT,
        Signal::SIGABRT,
        Signal::SIGUSR1,
        Signal::SIGALRM,
        Signal::SIGXCPU,
    ] {
        let viewer = Session::start(&[]);
        let pid = i32::try_from(viewer.child.process_id().unwrap()).unwrap();
        kill(Pid::from_raw(pid), signal).unwrap();
        let (status, left) = viewer.end();
        assert!(status.signal().is_some(), "{signal}: {status:?}");
        assert_eq!(left, "");
    }
}

/// As where memory is used up, or a panic meets another one: nothing is dropped.
#[test]
fn an_abort_of_its_own_gives_the_terminal_back() {
    let (folder, file) = saved();
    let library = folder.path().join("aborts.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/terminal/aborts.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-shared", "-fPIC", "-pthread", "-o"]).arg(&library).arg(source);
    assert!(compiler.status().unwrap().success());
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_csprof"));
    command.args(["view", "solver.csprof"]);
    command.env("LD_PRELOAD", &library);
    let first = "shown 100% + out 0% = 100%";
    let viewer = Session::start_command(command, "xterm-256color", (folder, file), first);
    std::fs::write(viewer.folder.path().join("abort"), "").unwrap();
    let (status, left) = viewer.end();
    assert_eq!(status.signal(), Some("Aborted"), "{status:?}");
    assert_eq!(left, "");
}

/// The viewer as a job of a shell, which goes on with these commands when it ends or stops.
fn as_a_job(then: &str) -> Session {
    let mut command = CommandBuilder::new("/bin/sh");
    let viewer = env!("CARGO_BIN_EXE_csprof");
    command.args(["-m", "-c", &format!("{viewer} view solver.csprof; {then}")]);
    Session::start_command(command, "xterm-256color", saved(), "shown 100% + out 0% = 100%")
}

/// By the key, and as a shell's `suspend` or a batch system does it.
#[test]
fn suspension_gives_the_terminal_back_and_takes_it_again() {
    for by_key in [true, false] {
        let mut viewer = as_a_job("stty -a; read line; fg");
        assert!(viewer.emulator.screen().alternate_screen());
        if by_key {
            viewer.press("\x1a");
        } else {
            let group = viewer.master.process_group_leader().unwrap();
            kill(Pid::from_raw(group), Signal::SIGTSTP).unwrap();
        }
        // Says ` icanon` and ` echo `, or `-icanon` and `-echo `.
        viewer.wait_until("normal screen with modes of lines", |screen| {
            let text = screen.contents();
            !screen.alternate_screen() && text.contains(" icanon") && text.contains(" echo ")
        });
        viewer.press("\n");
        viewer.wait_until("alternate screen", Screen::alternate_screen);
        viewer.wait_for("solve");
        viewer.press("q");
        assert_eq!(viewer.end().0.exit_code(), 0);
    }
}

#[test]
fn a_signal_that_ends_it_while_it_is_suspended_is_heeded() {
    let mut viewer = as_a_job("kill -TERM %1; fg; echo ended $?; read line");
    viewer.press("\x1a");
    viewer.wait_until("end", |screen| {
        !screen.alternate_screen() && screen.contents().contains("ended 143")
    });
    viewer.press("\n");
    viewer.end();
}

/// The kernel does not stop an orphaned process group, such as this one without a shell: nobody
/// would continue it.
#[test]
fn a_viewer_without_a_shell_is_not_suspended() {
    let mut viewer = Session::start(&[]);
    viewer.press("\x1ajj");
    viewer.press("3");
    viewer.wait_for("[3 Flat]");
    assert!(viewer.emulator.screen().alternate_screen());
    viewer.press("qq");
    assert_eq!(viewer.end().0.exit_code(), 0);
}

#[test]
fn a_stopped_viewer_paints_again_when_it_is_continued() {
    let mut viewer = Session::start(&[]);
    let pid = Pid::from_raw(i32::try_from(viewer.child.process_id().unwrap()).unwrap());
    kill(pid, Signal::SIGSTOP).unwrap();
    // What a shell and its other jobs do to a terminal meanwhile.
    viewer.emulator.process(b"\x1b[?1049l\x1b[?25h\x1b[2Jwork of another program");
    kill(pid, Signal::SIGCONT).unwrap();
    viewer.wait_until("alternate screen", Screen::alternate_screen);
    viewer.wait_for("solve");
    viewer.press("q");
    assert_eq!(viewer.end().0.exit_code(), 0);
}

/// Nobody reads what the viewer writes, so it waits in the middle of a screen.
#[test]
fn a_signal_ends_a_viewer_that_cannot_write() {
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT] {
        let (folder, _file) = saved();
        let size = PtySize { rows: 400, cols: 400, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_csprof"));
        command.args(["view", "solver.csprof"]);
        command.cwd(folder.path());
        command.env("TERM", "xterm-256color");
        let mut child = pair.slave.spawn_command(command).unwrap();
        let pid = child.process_id().unwrap();
        let mut keys = pair.master.take_writer().unwrap();
        let modes = || format!("{:?}", pair.master.get_termios().unwrap().local_flags);
        let deadline = Instant::now() + PATIENCE;
        while modes().contains("ICANON") {
            assert!(Instant::now() < deadline, "it never took the terminal");
            std::thread::yield_now();
        }
        // Screen after screen, until no more are taken: the last key is not answered.
        let switches = || {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            let line = status.lines().find(|line| line.starts_with("voluntary_ctxt")).unwrap();
            line.to_owned()
        };
        let mut before = String::new();
        while before != switches() {
            before = switches();
            keys.write_all(b"?q2q3q").unwrap();
            std::thread::sleep(Duration::from_millis(50));
        }
        kill(Pid::from_raw(i32::try_from(pid).unwrap()), signal).unwrap();
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(1)),
                None => panic!("{signal} did not end it"),
            }
        };
        assert!(status.signal().is_some(), "{signal}: {status:?}");
        assert!(modes().contains("ICANON"), "{}", modes());
    }
}

#[test]
fn names_of_a_megabyte_are_painted() {
    let long = |name: &str| match name {
        "solve" => format!("void ns::solve<{}>(int)", "ns::vector<int>, ".repeat(1 << 16)),
        "poll" => format!("poll{}", "\u{301}".repeat(1 << 19)),
        "memcpy" => "memcpy::".repeat(1 << 17),
        _ => format!("{name}{}", "x".repeat(1 << 20)),
    };
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_csprof"));
    command.args(["view", "solver.csprof"]);
    let first = "shown 100% + out 0% = 100%";
    let mut viewer = Session::start_command(command, "xterm-256color", saved_with(long), first);
    viewer.wait_for("solve<ns::vector<int>");
    viewer.press("e");
    viewer.wait_for("poll");
    viewer.press("/poll\r=");
    viewer.wait_for("q back");
    viewer.press("q3");
    viewer.wait_for("MPI_Allreducexx");
    viewer.press("q");
    viewer.press("q");
    viewer.end();
}

#[test]
fn a_new_size_is_painted() {
    let mut viewer = Session::start(&[]);
    let size = PtySize { rows: 12, cols: 60, pixel_width: 0, pixel_height: 0 };
    viewer.master.resize(size).unwrap();
    let cells = |n| NonZeroU16::new(n).unwrap();
    viewer.emulator.screen_mut().set_size(cells(12), cells(60));
    // The last line of the smaller screen.
    viewer.wait_until("hints", |screen| {
        screen.rows(0, 60).nth(11).is_some_and(|line| line.contains("? help"))
    });
    viewer.press("q");
    viewer.end();
}

#[test]
fn mouse_reports_are_asked_for_and_understood() {
    let mut viewer = Session::start(&[]);
    assert_eq!(viewer.emulator.screen().mouse_protocol_mode(), MouseProtocolMode::ButtonMotion);
    // A click on the 4 of the first line, in SGR form, counted from 1.
    let line = viewer.emulator.screen().rows(0, 80).next().unwrap();
    let column = line.chars().count() - line.split(" 4 ").nth(1).unwrap().chars().count() - 1;
    viewer.press(&format!("\x1b[<0;{column};1M\x1b[<0;{column};1m"));
    viewer.wait_for("recorded by");
    viewer.press("qq");
    viewer.end();

    let mut viewer = Session::start(&["--no-mouse"]);
    assert_eq!(viewer.emulator.screen().mouse_protocol_mode(), MouseProtocolMode::None);
    viewer.press("q");
    viewer.end();
}

#[test]
fn the_command_line_of_the_screen_is_left_behind() {
    let mut viewer = Session::start(&[]);
    viewer.press("fhide poll\r");
    viewer.wait_for("▸ hide poll");
    viewer.press(":repro\r");
    viewer.wait_for("This command line");
    viewer.press("qq");
    let (_, left) = viewer.end();
    assert_eq!(left.trim_end(), "csprof report solver.csprof --refine 'hide poll' --open 1.1");
}

#[test]
fn the_screen_is_written_to_a_file_that_is_not_there_yet() {
    let mut viewer = Session::start(&[]);
    let file = viewer.folder.path().join("out.csv");
    let written = || std::fs::read_to_string(&file).unwrap();
    viewer.press("Yout.csv\r");
    viewer.wait_for("out.csv, ");
    assert!(written().starts_with("depth,function,") && written().contains("solve,"));
    std::fs::write(&file, "mine").unwrap();
    viewer.press(":export out.csv\r");
    viewer.wait_for("out.csv exists; :export! out.csv replaces it");
    assert_eq!(written(), "mine");
    viewer.press(":export! out.csv\r");
    viewer.wait_for("the rows of the screen for spreadsheets");
    assert!(written().starts_with("depth,function,"));
    viewer.press(":export none/out.svg\r");
    viewer.wait_for("none/out.svg is not written");
    viewer.press(":export clipboard\r");
    viewer.wait_for("copied ");
    viewer.press("6:export out.html\r");
    viewer.wait_for("out.html, ");
    let page = std::fs::read_to_string(file.with_extension("html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("MPI_Sendrecv"));
    viewer.press("qq");
    viewer.end();
}

#[test]
fn color_is_sent_only_if_wanted() {
    for (arguments, wanted) in [(&["--color", "always"], true), (&["--color", "never"], false)] {
        let mut viewer = Session::start(arguments);
        let cell = |screen: &Screen, text: &str| {
            let row = screen.rows(0, 80).position(|line| line.contains(text)).unwrap();
            let row = u16::try_from(row).unwrap();
            (0..80)
                .any(|column| screen.cell(row, column).unwrap().fgcolor() != vt100::Color::Default)
        };
        // No row is hot of itself; what is open has a color in any case.
        assert_eq!(cell(viewer.emulator.screen(), "[1 Tree]"), wanted);
        viewer.press("q");
        viewer.end();
    }
}

#[test]
fn without_a_terminal_it_says_so() {
    let (_folder, file) = saved();
    let output = Command::new(env!("CARGO_BIN_EXE_csprof")).arg("view").arg(file).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("needs a terminal") && message.contains("csprof report"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
}

/// `csprof` with a configuration file in the folder of this profile.
fn configured(folder: &std::path::Path, config: &str, arguments: &[&str]) -> std::process::Output {
    let file = folder.join("config.toml");
    std::fs::write(&file, config).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_csprof"));
    command.args(arguments).current_dir(folder).env("CSPROF_CONFIG", file);
    command.output().unwrap()
}

#[test]
fn the_configuration_file_is_obeyed_and_the_command_line_counts_more() {
    let (folder, _file) = saved();
    let rows = |config: &str, arguments: &[&str]| {
        let arguments = [&["report", "solver.csprof", "--format", "csv"], arguments].concat();
        let output = configured(folder.path(), config, &arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().lines().count()
    };
    let all = rows("", &[]);
    assert_eq!(rows("[report]\nlimit = 2\n", &[]), 3);
    assert_eq!(rows("[report]\nlimit = 2\n", &["--limit", "3"]), 4);
    assert_eq!(rows("[report]\nlimit = 2\n", &["--no-config"]), all);
    assert!(all > 5);
    let printed = configured(folder.path(), "\n[report]\nlimit = 2\n", &["config"]);
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert!(
        printed.contains("\nlimit = 2  # ") && printed.contains("config.toml:3\n"),
        "{printed}"
    );
}

#[test]
fn a_wrong_configuration_file_is_told_with_line_and_remedy_before_anything_runs() {
    let (folder, _file) = saved();
    let made = folder.path().join("made");
    let record = ["record", "touch", "made"];
    let output = configured(folder.path(), "[record]\nevnt = 'cputime'\n", &record);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(
        told.contains("config.toml:2: `evnt` is no setting of [record]; the nearest is `event`"),
        "{told}"
    );
    assert!(told.contains("--no-config"), "{told}");
    assert!(!made.exists(), "the program ran");
    // What helps out of it works.
    for arguments in
        [&["--help"][..], &["help", "refine"], &["--no-config", "info", "solver.csprof"]]
    {
        let output = configured(folder.path(), "[record]\nevnt = 1\n", arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let mut missing = Command::new(env!("CARGO_BIN_EXE_csprof"));
    missing.args(["info", "solver.csprof"]).current_dir(folder.path());
    let output = missing.env("CSPROF_CONFIG", "/nowhere/config.toml").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/nowhere/config.toml"));
    // The user's own file need not be there, and others are not read.
    let home = folder.path().join("home/.config/csprof");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("config.toml"), "colr = 1").unwrap();
    let of_home = |variable: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_csprof"));
        command.args(["info", "solver.csprof"]).current_dir(folder.path());
        command.env("HOME", folder.path().join("home")).env_remove("XDG_CONFIG_HOME");
        command.env_remove("CSPROF_CONFIG");
        command.envs(variable.map(|value| ("CSPROF_CONFIG", value)));
        command.output().unwrap().status.success()
    };
    assert_eq!([of_home(None), of_home(Some(""))], [false, true]);
}

#[test]
fn the_viewer_begins_as_configured_and_takes_the_mouse() {
    let (folder, file) = saved();
    let config = folder.path().join("config.toml");
    let text = "[view]\nstart = 'flat'\ndigits = 'counts'\n[keys]\nquit = 'Q'\n";
    std::fs::write(&config, text).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_csprof"));
    command.args(["view", "solver.csprof"]);
    command.env("CSPROF_CONFIG", config);
    let mut session = Session::start_command(command, "xterm-256color", (folder, file), "[3 Flat]");
    session.press("2j:");
    session.wait_for("enter runs what is marked");
    // A click with the right button at the third row, as xterm writes it.
    session.press("\x1b");
    session.wait_for("help");
    session.press("\x1b[<2;6;6M\x1b[<2;6;6m");
    session.wait_for("only paths through it");
    session.press("\x1b[<2;6;6M\x1b[<2;6;6m");
    session.wait_for("help");
    // The first hint of the last line is that of help.
    session.press("\x1b[<0;2;24M\x1b[<0;2;24m");
    session.wait_for("Help for");
    session.press("qQ");
    let (status, _) = session.end();
    assert!(status.success());
}

/// Another program may hold the lock of the notes: the screen does not wait for it, and what could
/// not be kept is told, whatever was typed meanwhile.
#[test]
fn a_lock_on_the_notes_does_not_hold_up_the_screen() {
    let saved = saved();
    let folder = saved.0.path().join("state/notes");
    std::fs::create_dir_all(&folder).unwrap();
    for folder in [&folder, folder.parent().unwrap()] {
        let own = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(folder, own).unwrap();
    }
    let lock = std::fs::File::create(folder.join(".lock")).unwrap();
    lock.lock().unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_csprof"));
    command.args(["view", "solver.csprof"]);
    command.env("CSPROF_STATE", folder.parent().unwrap());
    let first = "shown 100% + out 0% = 100%";
    let mut viewer = Session::start_command(command, "xterm-256color", saved, first);
    viewer.press("jA3j");
    let told = "another program holds its .lock";
    // The screen does not wait.
    viewer.wait_for_before("[3 Flat]", told);
    viewer.wait_for(told);
    // Once more: it is waited for at the end, and told there.
    viewer.press("1A");
    viewer.wait_until("bookmark", |screen| screen.contents().contains('●'));
    viewer.press("q");
    let (status, left) = viewer.end();
    assert!(!status.success() && left.contains(told), "{left}");
    drop(lock);
}
