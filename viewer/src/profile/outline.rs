//! Profiles as text: small trees for tests, written and read by people.
//!
//! One line is one node; two spaces of indentation are one level. After the name come, in any
//! order, its exclusive samples and its properties:
//!
//! ```text
//! main 2
//!   solve 3 e=4
//!     MPI_Send 5 module:libmpi.so
//!     dot_product 1 inline at:solve.c:12
//! ```
//!
//! | word | meaning |
//! |---|---|
//! | `5` | exclusive samples, 0 if absent |
//! | `realtime:3` | how many of them are of the further metric `realtime`, 0 if absent |
//! | `e=4` | edge count, 0 if absent |
//! | `module:NAME` | load module |
//! | `at:FILE:LINE` | line being executed |
//! | `loop:FILE:LINE` | the address is in a loop that begins there; the outermost first |
//! | `inline`, `tail`, … | [kind of frame](super::FrameKind), a call if absent |
//!
//! A name that holds spaces is quoted: `"operator new(unsigned long)" 3`. A line such as
//! `# rank=1 thread=7 epoch=0 name=worker` begins the nodes of another thread or epoch; before the
//! first one, nodes belong to thread 0 of a process without rank. The first metric is `cputime`;
//! the further ones are those that occur, in the order of their names.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use csprof_format::ids::{EpochId, FrameId, ModuleId, ProcessId, StringId, ThreadId};
use csprof_format::profile as saved;

use super::builder::NodesBuilder;
use super::counts::CountsBuilder;
use super::frame_kind::FrameKind;
use super::intern::Interner;
use super::model::{Frame, Function, Profile, Stream};
use super::shared::Shared;
use super::times::Times;

/// The metric of samples of which nothing else is said.
const FIRST_METRIC: &str = "cputime";

/// Reads a profile from its outline; the module's documentation describes the notation.
///
/// ```
/// let profile = csprof::profile::from_outline("main 2\n  solve 3 e=4\n").unwrap();
/// assert_eq!(profile.total(), 5);
/// ```
///
/// # Errors
/// One sentence that names the line.
pub fn from_outline(text: &str) -> Result<Profile, String> {
    let mut builder = Builder::new();
    for (number, line) in text.lines().enumerate() {
        if !line.trim().is_empty() {
            builder.line(line).map_err(|cause| format!("line {}: {cause}: {line}", number + 1))?;
        }
    }
    Ok(builder.finish())
}

/// Writes a profile as an outline; reading it back gives the same nodes.
#[must_use]
pub fn to_outline(profile: &Profile) -> String {
    let mut out = String::new();
    let mut depth = vec![0_usize; profile.nodes.len()];
    let only = profile.streams.len() == 1;
    for stream in &profile.streams {
        let thread = &profile.info.threads[stream.thread.index()];
        let rank = profile.info.processes[stream.process.index()].rank;
        let epoch = profile.info.epochs[stream.epoch.index()].number;
        if !(only && rank.is_none() && thread.tid == 0 && epoch == 0 && thread.name.is_empty()) {
            out.push('#');
            if let Some(rank) = rank {
                let _ = write!(out, " rank={rank}");
            }
            let _ = write!(out, " thread={} epoch={epoch}", thread.tid);
            if !thread.name.is_empty() {
                let _ = write!(out, " name={}", String::from_utf8_lossy(&thread.name));
            }
            out.push('\n');
        }
        for node in stream.nodes.clone().map(|node| node as usize) {
            let parent = profile.nodes.parent[node] as usize;
            depth[node] = if parent == 0 { 0 } else { depth[parent] + 1 };
            write_node(profile, node, depth[node], &mut out);
        }
    }
    out
}

fn write_node(profile: &Profile, node: usize, depth: usize, out: &mut String) {
    let nodes = &profile.nodes;
    let frame = &profile.frames[nodes.frame[node].index()];
    let function = &profile.functions[frame.function.index()];
    let _ = write!(out, "{:width$}{}", "", quoted(&function.name), width = 2 * depth);
    if nodes.samples.at(node) > 0 {
        let _ = write!(out, " {}", nodes.samples.at(node));
    }
    for (metric, samples) in profile.info.further.iter().zip(&nodes.further) {
        if samples.at(node) > 0 {
            let _ = write!(out, " {}:{}", metric.metric.source, samples.at(node));
        }
    }
    if nodes.edges.at(node) > 0 {
        let _ = write!(out, " e={}", nodes.edges.at(node));
    }
    write_kind(frame.kind, out);
    if let Some(module) = function.module {
        let _ = write!(out, " module:{}", profile.module_path(module));
    }
    if let Some(file) = frame.file {
        let _ = write!(out, " at:{}:{}", profile.string(file), frame.line);
    }
    out.push('\n');
}

/// Writes the word for a kind, where an outline has one: without any, a frame is a call.
pub(crate) fn write_kind(kind: FrameKind, out: &mut String) {
    if kind != FrameKind::Call && kind.is_in_paths() {
        let _ = write!(out, " {}", kind.definition().word);
    }
}

/// A name as an outline writes it.
pub(crate) fn quoted(name: &str) -> String {
    if name.contains(' ') || name.starts_with(['"', '#']) || name.is_empty() {
        format!("\"{name}\"")
    } else {
        name.to_owned()
    }
}

struct Builder {
    info: saved::Profile,
    interner: Interner,
    nodes: NodesBuilder,
    /// Samples of each further metric, by node.
    further: BTreeMap<String, Vec<(u32, u64)>>,
    streams: Vec<Stream>,
    strings: HashMap<String, StringId>,
    modules: HashMap<String, ModuleId>,
    /// The node at each level above the next line.
    above: Vec<u32>,
}

impl Builder {
    fn new() -> Self {
        Self {
            info: saved::Profile {
                run: saved::RunInfo {
                    command: vec![b"outline".to_vec()],
                    trampoline: true,
                    ..saved::RunInfo::default()
                },
                metric: metric(FIRST_METRIC),
                ..saved::Profile::default()
            },
            interner: Interner::new(),
            nodes: NodesBuilder::new(0),
            further: BTreeMap::new(),
            streams: Vec::new(),
            strings: HashMap::new(),
            modules: HashMap::new(),
            above: Vec::new(),
        }
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let text = line.trim_start_matches(' ');
        if let Some(context) = text.strip_prefix('#') {
            return self.context(context);
        }
        let indentation = line.len() - text.len();
        if !indentation.is_multiple_of(2) {
            return Err("indentation is not a multiple of two".to_owned());
        }
        if indentation / 2 > self.above.len() {
            return Err("indented by more than one level below the line above".to_owned());
        }
        if self.streams.is_empty() {
            self.stream(None, 0, 0, "");
        }
        self.above.truncate(indentation / 2);
        let node = self.node(text)?;
        self.above.push(node);
        Ok(())
    }

    /// An address in loops, which begin in these lines, the outermost first.
    fn site_in_loops(&mut self, module: Option<ModuleId>, loops: &[(StringId, u32)]) -> FrameId {
        let module = module.unwrap_or_else(|| self.module("program"));
        let number = self.info.frames.len();
        let site = FrameId::from_index(number);
        let kind = csprof_format::address::FrameKind::Call;
        let offset = number as u64;
        self.info.frames.push(saved::Frame { kind, module: Some(module), offset });
        let structure = &mut self.info.structure;
        for &(file, line) in loops {
            let file = Some(file);
            let found = saved::Loop { module, file, line, ..saved::Loop::default() };
            let known = structure.loops.iter().position(|known| *known == found);
            let number = known.unwrap_or_else(|| {
                structure.loops.push(found);
                structure.loops.len() - 1
            });
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            structure.in_loops.push(saved::InLoop { frame: site, row: 0, number });
        }
        site
    }

    fn node(&mut self, text: &str) -> Result<u32, String> {
        let (name, words) = match text.strip_prefix('"') {
            Some(rest) => rest.split_once('"').ok_or("a name lacks its closing quote")?,
            None => text.split_once(' ').unwrap_or((text, "")),
        };
        let (mut samples, mut edges, mut kind) = (0, 0, FrameKind::Call);
        let (mut module, mut file, mut line) = (None, None, 0);
        let (mut further, mut loops) = (Vec::new(), Vec::new());
        for word in words.split_whitespace() {
            let bad = || format!("`{word}` is not understood");
            if let Some(count) = word.strip_prefix("e=") {
                edges = count.parse().map_err(|_| bad())?;
            } else if let Some(path) = word.strip_prefix("module:") {
                module = Some(self.module(path));
            } else if let Some(place) = word.strip_prefix("at:") {
                let (path, number) = place.rsplit_once(':').ok_or_else(bad)?;
                file = Some(self.string(path));
                line = number.parse().map_err(|_| bad())?;
            } else if let Some(place) = word.strip_prefix("loop:") {
                let (path, number) = place.rsplit_once(':').ok_or_else(bad)?;
                loops.push((self.string(path), number.parse().map_err(|_| bad())?));
            } else if let Some((source, count)) = word.split_once(':') {
                let known = further.iter().any(|&(other, _)| other == source);
                if known || source == FIRST_METRIC {
                    return Err(bad());
                }
                further.push((source, count.parse::<u64>().map_err(|_| bad())?));
            } else {
                match FrameKind::from_word(word).filter(|kind| kind.is_in_paths()) {
                    Some(named) => kind = named,
                    None => samples = word.parse().map_err(|_| bad())?,
                }
            }
        }
        if further.iter().map(|&(_, count)| count).sum::<u64>() > samples {
            return Err(format!("further metrics have more than its {samples} samples"));
        }
        let function = self.interner.function(Function { module, ..Function::named(name) });
        let site = (!loops.is_empty()).then(|| self.site_in_loops(module, &loops));
        let frame = Frame { file, line, site, ..Frame::made_up(function, kind) };
        let frame = self.interner.frame(frame);
        let parent = self.above.last().copied().unwrap_or(0);
        let node = self.nodes.push(parent, frame, samples, edges);
        for (source, count) in further {
            self.further.entry(source.to_owned()).or_default().push((node, count));
        }
        if let Some(stream) = self.streams.last_mut() {
            stream.nodes.end = node + 1;
            let thread = &mut self.info.threads[stream.thread.index()];
            thread.signals += samples;
            thread.delivered += samples;
            thread.recorded += samples;
            thread.returns += edges;
        }
        Ok(node)
    }

    fn context(&mut self, text: &str) -> Result<(), String> {
        let (mut rank, mut tid, mut epoch, mut name) = (None, 0, 0, "");
        for word in text.split_whitespace() {
            let bad = || format!("`{word}` is not understood");
            let (key, value) = word.split_once('=').ok_or_else(bad)?;
            match key {
                "rank" => rank = Some(value.parse().map_err(|_| bad())?),
                "thread" => tid = value.parse().map_err(|_| bad())?,
                "epoch" => epoch = value.parse().map_err(|_| bad())?,
                "name" => name = value,
                _ => return Err(bad()),
            }
        }
        self.stream(rank, tid, epoch, name);
        Ok(())
    }

    /// Begins the nodes of a thread in an epoch; one process for each rank.
    fn stream(&mut self, rank: Option<u32>, tid: u32, epoch: u32, name: &str) {
        self.above.clear();
        let info = &mut self.info;
        let process = position(
            &mut info.processes,
            |known| known.rank == rank,
            || saved::Process { rank, pid: 1000 + rank.unwrap_or(0), ..saved::Process::default() },
        );
        let process = ProcessId::from_index(process);
        let thread = position(
            &mut info.threads,
            |known| known.process == process && known.tid == tid,
            || saved::Thread { process, tid, name: name.into(), ..saved::Thread::default() },
        );
        let epoch = position(
            &mut info.epochs,
            |known| known.process == process && known.number == epoch,
            || saved::Epoch { process, number: epoch, ..saved::Epoch::default() },
        );
        let first = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        self.streams.push(Stream {
            process,
            thread: ThreadId::from_index(thread),
            epoch: EpochId::from_index(epoch),
            nodes: first..first,
        });
    }

    fn string(&mut self, text: &str) -> StringId {
        let strings = &mut self.info.strings;
        *self.strings.entry(text.to_owned()).or_insert_with(|| {
            strings.push(text.into());
            StringId::from_index(strings.len() - 1)
        })
    }

    fn module(&mut self, path: &str) -> ModuleId {
        let path_id = self.string(path);
        let modules = &mut self.info.modules;
        *self.modules.entry(path.to_owned()).or_insert_with(|| {
            modules.push(saved::Module { path: path_id, ..saved::Module::default() });
            ModuleId::from_index(modules.len() - 1)
        })
    }

    fn finish(mut self) -> Profile {
        for (source, counts) in std::mem::take(&mut self.further) {
            let mut samples: CountsBuilder = std::iter::repeat_n(0, self.nodes.len()).collect();
            for (node, count) in counts {
                samples.set(node as usize, count);
            }
            let mut threads = vec![saved::ThreadShare::default(); self.info.threads.len()];
            for stream in &self.streams {
                let share = &mut threads[stream.thread.index()];
                let nodes = stream.nodes.start as usize..stream.nodes.end as usize;
                share.recorded += nodes.map(|node| samples.at(node)).sum::<u64>();
                (share.signals, share.delivered) = (share.recorded, share.recorded);
            }
            let metric = metric(&source);
            self.info.further.push(saved::FurtherMetric { metric, threads, samples: Vec::new() });
            self.nodes.further.push(samples);
        }
        Profile {
            info: self.info.into(),
            functions: self.interner.functions.into(),
            frames: self.interner.frames.into(),
            nodes: self.nodes.finish(),
            streams: self.streams.into(),
            times: Times::default().into(),
            spreads: Shared::default(),
            comparison: None,
            derived: Shared::default(),
        }
    }
}

fn metric(source: &str) -> saved::Metric {
    saved::Metric { source: source.to_owned(), unit: "ns".to_owned(), period: 5_000_000 }
}

/// Position of the first entry that `is` it, which is `made` where there is none.
fn position<T>(table: &mut Vec<T>, is: impl Fn(&T) -> bool, made: impl FnOnce() -> T) -> usize {
    table.iter().position(is).unwrap_or_else(|| {
        table.push(made());
        table.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_survives_reading_and_writing() {
        let text = "\
# rank=0 thread=10 epoch=0 name=main
main 2
  solve 3 e=4 module:/opt/app
    dot 1 inline at:solve.c:12
    MPI_Send 5 e=9 module:libmpi.so
  \"operator new(unsigned long)\" 7
# rank=1 thread=11 epoch=2
\"[partial: no-cfi]\" partial
  0x7f00 1 unknown
    \"[waits: read]\" 4 wait
  gone tail
    \"loop at a.c:3\" 2 loop
";
        assert_eq!(to_outline(&from_outline(text).unwrap()), text);
    }

    #[test]
    fn samples_of_further_metrics_are_told_apart() {
        let text = "\
# rank=0 thread=10 epoch=0
main 2
  wait 5 realtime:5
  solve 9 realtime:2 task-clock:3
# rank=0 thread=11 epoch=0
idle 4 realtime:4
";
        let profile = from_outline(text).unwrap();
        assert_eq!(to_outline(&profile), text);
        let sources: Vec<_> = profile.metrics().map(|(_, metric)| &metric.source[..]).collect();
        assert_eq!(sources, ["cputime", "realtime", "task-clock"]);
        let shares = |further: &saved::FurtherMetric| {
            further.threads.iter().map(|share| (share.delivered, share.recorded)).collect()
        };
        let shares: Vec<Vec<_>> = profile.info.further.iter().map(shares).collect();
        assert_eq!(shares, [[(7, 7), (4, 4)], [(3, 3), (0, 0)]]);
        assert_eq!(profile.nodes.further[1].iter().collect::<Vec<_>>(), [0, 0, 0, 3, 0]);
    }

    #[test]
    fn a_single_thread_needs_no_heading() {
        assert_eq!(to_outline(&from_outline("a 1\n  b 2\nc 3\n").unwrap()), "a 1\n  b 2\nc 3\n");
    }

    #[test]
    fn errors_name_the_line() {
        let error = |text: &str| from_outline(text).unwrap_err();
        assert_eq!(
            error("a\n    b\n"),
            "line 2: indented by more than one level below the line above:     b"
        );
        assert_eq!(error("a x\n"), "line 1: `x` is not understood: a x");
        assert_eq!(
            error("a 3 realtime:2 task-clock:2\n"),
            "line 1: further metrics have more than its 3 samples: a 3 realtime:2 task-clock:2"
        );
        assert_eq!(
            error("a 3 cputime:2\n"),
            "line 1: `cputime:2` is not understood: a 3 cputime:2"
        );
        assert_eq!(error("\"a 1\n"), "line 1: a name lacks its closing quote: \"a 1");
    }
}
