//! What csprof says of the addresses of a file, and where `llvm-symbolizer` says something else.
//!
//! Behind `cargo run -p csprof --example addresses --` stands one of these:
//!
//! - `FILE < ADDRESSES` reads one hexadecimal ELF virtual address in each line, and writes for each
//!   the functions there, innermost first, each with the line being executed on a line of its own,
//!   and then an empty line.
//! - `FILE TOOL BYTES` compares every so many bytes of the file's code with what the tool says.
//! - `RUN.csprof TOOL` compares every address of a recorded run, as the profile has it.
//!
//! Names are compared without blanks, return types, Rust's hashes and the marks of parts and
//! copies, and with lambdas spelled alike; files by their last part. All differences are written,
//! by kind.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{self, BufRead as _, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use csprof::symbols::files::DiskFiles;
use csprof::symbols::resolve;
use csprof_format::address::FrameKind;
use csprof_format::ids::{FrameId, ModuleId, StringId};
use csprof_format::profile::{Frame, Module, Profile, RunInfo, SymbolSource};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SectionKind};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [file] => {
            let lines = io::stdin().lock().lines();
            let address = |line: io::Result<String>| {
                Ok(u64::from_str_radix(line?.trim().trim_start_matches("0x"), 16)?)
            };
            let addresses = lines.map(address).collect::<Result<Vec<u64>>>()?;
            let profile = resolved(file, addresses)?;
            let mut out = io::BufWriter::new(io::stdout().lock());
            for frame in 0..profile.frames.len() {
                for (name, file, line) in rows(&profile, FrameId::from_index(frame)) {
                    writeln!(out, "{name}\n{file}:{line}")?;
                }
                writeln!(out)?;
            }
            Ok(())
        }
        [run, tool] if run.ends_with(".csprof") => {
            compare(&csprof_format::read::open(Path::new(run))?, tool)
        }
        [file, tool, bytes] => {
            let text = std::fs::read(file)?;
            let object = object::File::parse(&*text)?;
            let code = object.sections().filter(|section| section.kind() == SectionKind::Text);
            let step = bytes.parse()?;
            let addresses = code.flat_map(|section| {
                (section.address()..section.address() + section.size()).step_by(step)
            });
            compare(&resolved(file, addresses.collect())?, tool)
        }
        _ => Err("usage: addresses FILE [TOOL BYTES] | RUN.csprof TOOL".into()),
    }
}

/// A profile of one module with these addresses.
fn resolved(file: &str, addresses: Vec<u64>) -> Result<Profile> {
    let path = std::fs::canonicalize(file)?.to_string_lossy().into_owned();
    let bytes = std::fs::read(&path)?;
    let build_id = object::File::parse(&*bytes)?.build_id()?.unwrap_or_default().to_vec();
    let frame = |offset| Frame { kind: FrameKind::Leaf, module: Some(ModuleId(0)), offset };
    let run = RunInfo { directory: b"/".to_vec(), start_unix_ns: u64::MAX, ..RunInfo::default() };
    let mut profile = Profile {
        run,
        strings: vec![path.into()],
        modules: vec![Module { path: StringId(0), build_id, symbols: SymbolSource::NotAsked }],
        frames: addresses.into_iter().map(frame).collect(),
        ..Profile::default()
    };
    let files = DiskFiles::from_environment(&[]);
    for warning in resolve(&mut profile, &files, |_, _| ControlFlow::Continue(())) {
        writeln!(io::stderr(), "{warning}")?;
    }
    Ok(profile)
}

/// A function, the file of the line being executed, and that line.
type Row = (String, String, u32);

/// What a profile says of a frame, innermost first.
fn rows(profile: &Profile, frame: FrameId) -> Vec<Row> {
    let text = |id: StringId| profile.strings[id.index()].to_string();
    let row = |row: usize| {
        let function = &profile.functions[profile.sites.function[row].index()];
        let file = profile.sites.file[row].map_or_else(|| "??".to_owned(), text);
        (text(function.name), file, profile.sites.line[row])
    };
    profile.sites.rows(frame).rev().map(row).collect()
}

/// Writes what a profile and the tool say differently, and how often.
fn compare(profile: &Profile, tool: &str) -> Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for (number, module) in profile.modules.iter().enumerate() {
        let path = &*profile.strings[module.path.index()];
        let frames = profile.frames.iter().enumerate().filter_map(|(id, frame)| {
            let is_here = frame.module == Some(ModuleId::from_index(number))
                && matches!(frame.kind, FrameKind::Call | FrameKind::Leaf | FrameKind::Interrupted);
            let address = frame.offset.checked_sub(frame.kind.lookup_bias())?;
            is_here.then_some((address, FrameId::from_index(id)))
        });
        // One address may be a frame of several kinds.
        let frames: BTreeMap<u64, FrameId> = frames.collect();
        if frames.is_empty() || !Path::new(path).is_file() {
            continue;
        }
        let shared = shared(path)?;
        let mut kinds = BTreeMap::<&str, Vec<String>>::new();
        let answers = ask(tool, path, frames.keys())?;
        if answers.len() < frames.len() {
            return Err(format!("{tool} did not answer for all addresses of {path}").into());
        }
        for ((&address, &frame), theirs) in frames.iter().zip(answers) {
            let ours = rows(profile, frame);
            let before = shared.range(..=address).next_back();
            let is_shared = before.is_some_and(|(_, is_shared)| *is_shared);
            for kind in differences(&ours, &theirs, is_shared) {
                let mut both = format!("{address:#x}");
                for (who, rows) in [("csprof", &ours), ("theirs", &theirs)] {
                    for (name, file, line) in rows {
                        write!(both, "\n    {who} {name} {file}:{line}")?;
                    }
                }
                kinds.entry(kind).or_default().push(both);
            }
        }
        writeln!(out, "{path}: {} addresses", frames.len())?;
        for (kind, differ) in &kinds {
            #[expect(clippy::cast_precision_loss, reason = "percent")]
            let share = 100.0 * differ.len() as f64 / frames.len() as f64;
            writeln!(out, "  {kind}: {} ({share:.3} %)", differ.len())?;
        }
        for (kind, differ) in &kinds {
            differ.iter().try_for_each(|both| writeln!(out, "  [{kind}] {both}"))?;
        }
    }
    Ok(())
}

/// What the tool says of each address.
fn ask<'a>(
    tool: &str,
    path: &str,
    addresses: impl Iterator<Item = &'a u64>,
) -> Result<Vec<Vec<Row>>> {
    let mut command = Command::new(tool);
    command.arg(format!("--obj={path}")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take().ok_or("no standard input")?;
    let asked: String = addresses.map(|address| format!("{address:#x}\n")).collect();
    let feeder = thread::spawn(move || stdin.write_all(asked.as_bytes()));
    let output = child.wait_with_output()?;
    feeder.join().map_err(|_| "the tool was not fed")??;
    if !output.status.success() {
        return Err(format!("{tool} of {path}: {}", output.status).into());
    }
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(output.split("\n\n").map(their_rows).collect())
}

/// The lines `NAME` and `FILE:LINE:COLUMN` of one address; none if nothing is known.
fn their_rows(text: &str) -> Vec<Row> {
    let mut lines = text.lines();
    let mut rows = Vec::new();
    while let (Some(name), Some(place)) = (lines.next(), lines.next()) {
        let place = place.rsplit_once(':').map_or(place, |(place, _)| place);
        let (file, line) = place.rsplit_once(':').unwrap_or((place, ""));
        rows.push((name.to_owned(), file.to_owned(), line.parse().unwrap_or(0)));
    }
    // What has no function lies between functions.
    if rows.last().is_some_and(|(name, ..)| name == "??") { Vec::new() } else { rows }
}

/// Where the symbols of a file and of its debug file are, and whether several are there.
fn shared(path: &str) -> Result<BTreeMap<u64, bool>> {
    let bytes = std::fs::read(path)?;
    let object = object::File::parse(&*bytes)?;
    let id = object.build_id()?.unwrap_or_default();
    let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let (first, others) = id.split_at_checked(2).unwrap_or_default();
    let debug = std::fs::read(format!("/usr/lib/debug/.build-id/{first}/{others}.debug"));
    let debug = debug.unwrap_or_else(|_| bytes.clone());
    let debug = object::File::parse(&*debug)?;
    let mut names = BTreeMap::<u64, BTreeSet<Vec<u8>>>::new();
    let symbols = object.symbols().chain(object.dynamic_symbols()).chain(debug.symbols());
    for symbol in symbols.filter(|symbol| symbol.is_definition()) {
        let name = symbol.name_bytes()?.split(|byte| *byte == b'@').next().unwrap_or_default();
        names.entry(symbol.address()).or_default().insert(name.to_owned());
    }
    Ok(names.into_iter().map(|(address, names)| (address, names.len() > 1)).collect())
}

/// In what two answers differ; `is_shared` says that the function has several symbols.
fn differences(ours: &[Row], theirs: &[Row], is_shared: bool) -> Vec<&'static str> {
    match (ours.is_empty(), theirs.is_empty()) {
        (true, true) => return Vec::new(),
        (false, true) => return vec!["named by csprof alone"],
        (true, false) => return vec!["named by the other alone"],
        (false, false) => {}
    }
    if ours.len() != theirs.len() {
        return vec!["inlined functions differ"];
    }
    let pairs = || ours.iter().zip(theirs);
    let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let is_line = |(a, b): (&Row, &Row)| a.2 == b.2 && (a.2 == 0 || base(&a.1) == base(&b.1));
    let mut kinds = Vec::new();
    if !pairs().all(is_line) {
        kinds.push("line differs");
    }
    let name = |(a, b): (&Row, &Row)| difference_of_names(&a.0, &b.0);
    let mut found: Vec<_> = pairs().filter_map(name).collect();
    // One that is not explained counts, whatever else is inlined there.
    found.sort_by_key(|kind| *kind != NAME);
    if let Some(&kind) = found.first() {
        kinds.push(if kind == NAME && is_shared { "name: one of several symbols" } else { kind });
    }
    kinds
}

/// The difference that no other kind explains.
const NAME: &str = "name: others";

/// In what two names differ.
fn difference_of_names(ours: &str, theirs: &str) -> Option<&'static str> {
    let (a, b) = (spelled(ours), spelled(theirs));
    let copy = ours.split_once(" [clone ").and_then(|(_, copy)| copy.strip_suffix(']'));
    if is_same(&a, &b) || copy == Some(theirs) {
        return None;
    }
    let is_made = ["_D", "caml", "_ada_"].iter().any(|mark| theirs.starts_with(mark))
        || ["_MOD_", "__O"].iter().any(|mark| theirs.contains(mark))
        || theirs.contains("__") && ours == theirs.replace("__", ".");
    Some(if theirs == "??" {
        "name: the other has none"
    } else if ours.ends_with("@plt") || ours.contains("+0x") {
        "name: a stub, the other has the function before it"
    } else if theirs.starts_with("_Z") && !ours.starts_with("_Z") {
        "name: the other cannot demangle it"
    } else if [format!("::{b}"), format!(".{b}")].iter().any(|end| a.contains(end))
        || [format!("{b}("), format!("{b}<")].iter().any(|begin| a.starts_with(begin))
    {
        "name: csprof says more, scope or arguments"
    } else if is_made && !ours.contains("_MOD_") && !ours.starts_with("_D") {
        "name: of a language that the other does not read"
    } else {
        NAME
    })
}

/// Whether two names are the same but for blanks and a return type, which stands before the second.
fn is_same(ours: &str, theirs: &str) -> bool {
    // One writes `<&(f(int))>`, where the other has no parentheses around a function.
    let tells_nothing = |letter: &char| matches!(letter, ' ' | '(' | ')');
    let mut theirs = theirs.chars().rev().peekable();
    for letter in ours.chars().rev().filter(|letter| !tells_nothing(letter)) {
        while theirs.next_if(tells_nothing).is_some() {}
        if theirs.next() != Some(letter) {
            return false;
        }
    }
    theirs.next().is_none_or(|before| matches!(before, ' ' | '*' | '&' | '('))
}

/// A name as both would spell it.
fn spelled(name: &str) -> String {
    let mut name = name.to_owned();
    // With DWARF a part or copy has the name of its function. Here it has that always.
    for mark in [" [clone .", " (.", ".cold", ".part.", ".isra.", ".constprop.", ".llvm.", ".abi0"]
    {
        let end = name.find(mark).filter(|&end| end > 0).unwrap_or(name.len());
        name.truncate(end);
    }
    // `{lambda(int)#2}` is `'lambda0'(int)`.
    while let Some(at) = name.rfind("{lambda(") {
        let Some(end) = name[at..].find('}').map(|end| at + end) else { break };
        let Some((inside, number)) = name[at + 7..end].rsplit_once('#') else { break };
        let number: usize = number.parse().unwrap_or(1);
        let number = number.checked_sub(2).map_or_else(String::new, |number| number.to_string());
        let lambda = format!("'lambda{number}'{inside}");
        name.replace_range(at..=end, &lambda);
    }
    // Rust's hashes, and marks that the other leaves in names.
    while let Some(at) = hash(&name) {
        name.replace_range(at, "");
    }
    if name.contains('$') {
        for (mark, letter) in [
            ("_$LT$", "<"),
            ("$LT$", "<"),
            ("$GT$", ">"),
            ("$u20$", " "),
            ("$C$", ","),
            ("$RF$", "&"),
            ("$BP$", "*"),
            ("$LP$", "("),
            ("$RP$", ")"),
            ("_$u7b$", "{"),
            ("$u7b$", "{"),
            ("$u7d$", "}"),
            ("$u5b$", "["),
            ("$u5d$", "]"),
            ("$u27$", "'"),
            ("..", "::"),
        ] {
            name = name.replace(mark, letter);
        }
    }
    name
}

/// Where a hash of Rust stands in a name: `::h0123456789abcdef` and `[0123456789abcdef]`.
fn hash(name: &str) -> Option<std::ops::Range<usize>> {
    let is_hash = |text: Option<&str>| {
        text.is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let mut legacy = name.match_indices("::h").map(|(at, _)| at);
    let legacy = legacy.find(|&at| is_hash(name.get(at + 3..at + 19)));
    let mut v0 = name.match_indices('[').map(|(at, _)| at);
    let v0 = || {
        v0.find(|&at| {
            let end = name[at..].find(']').map_or(at, |end| at + end);
            end > at + 8 && is_hash(name.get(at + 1..end))
        })
        .map(|at| at..name[at..].find(']').map_or(at, |end| at + end + 1))
    };
    legacy.map(|at| at..at + 19).or_else(v0)
}
