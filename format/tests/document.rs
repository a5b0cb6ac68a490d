//! `FORMAT.md` tells the truth: its example is what the code writes, and its tables are the
//! tables of the code.

use csprof_format::address::FrameKind;
use csprof_format::error::BlockKind;
use csprof_format::ids::{EpochId, FrameId, FunctionId, ModuleId, ProcessId, StringId, ThreadId};
use csprof_format::loss::{LossReason, PartialReason};
use csprof_format::profile::{
    Epoch, EpochReason, Exit, Frame, Function, Mapping, Metric, Module, Nodes, Origin, Process,
    Profile, RunInfo, Sites, Structure, SymbolSource, Thread, Tree,
};
use csprof_format::read;

use crate::bytes;

const DOCUMENT: &str = include_str!("../FORMAT.md");

/// The profile of the worked example: `spin` ran for a second, and the text says what it did.
fn example() -> Profile {
    let mut nodes = Nodes::default();
    nodes.push(0, FrameId(0), 0, 0);
    nodes.push(0, FrameId(1), 0, 0);
    nodes.push(1, FrameId(2), 198, 300);
    Profile {
        run: RunInfo {
            command: vec![b"spin".to_vec()],
            directory: b"/w".to_vec(),
            host: "h".into(),
            start_unix_ns: 1_700_000_000_000_000_000,
            duration_ns: 1_000_000_000,
            exit: Exit::Status(0),
            csprof_version: "0.1.0".into(),
            trampoline: true,
            ..RunInfo::default()
        },
        further: Vec::new(),
        metric: Metric { source: "cputime".into(), unit: "ns".into(), period: 5_000_000 },
        strings: ["/w/spin", "main", "work", "/w/spin.c"].map(Into::into).to_vec(),
        modules: vec![Module {
            path: StringId(0),
            build_id: vec![0xab, 0xcd],
            symbols: SymbolSource::Dwarf(StringId(0)),
        }],
        processes: vec![Process {
            pid: 500,
            parent_pid: 1,
            rank: None,
            command: vec![b"spin".to_vec()],
            origin: Origin::Exec,
            exit: Exit::Status(0),
            ..Process::default()
        }],
        threads: vec![Thread {
            process: ProcessId(0),
            tid: 500,
            name: b"spin".to_vec(),
            signals: 199,
            delivered: 200,
            recorded: 198,
            partial: 0,
            losses: vec![2],
            returns: 300,
            ..Thread::default()
        }],
        epochs: vec![Epoch {
            process: ProcessId(0),
            number: 0,
            reason: EpochReason::Start,
            start_ns: 0,
            load_map: vec![Mapping {
                start: 0x40_1000,
                end: 0x40_2000,
                bias: 0,
                module: ModuleId(0),
            }],
        }],
        frames: vec![
            Frame { kind: FrameKind::Root, module: None, offset: 0 },
            Frame { kind: FrameKind::Call, module: Some(ModuleId(0)), offset: 0x40_1020 },
            Frame { kind: FrameKind::Leaf, module: Some(ModuleId(0)), offset: 0x40_1134 },
        ],
        functions: [(StringId(1), 9), (StringId(2), 3)]
            .map(|(name, line)| Function {
                name,
                module: ModuleId(0),
                file: Some(StringId(3)),
                line,
            })
            .to_vec(),
        sites: Sites {
            first: vec![0, 0, 1, 2],
            function: vec![FunctionId(0), FunctionId(1)],
            file: vec![Some(StringId(3)), Some(StringId(3))],
            line: vec![11, 5],
        },
        trees: vec![Tree { thread: ThreadId(0), epoch: EpochId(0), first_node: 0, node_count: 3 }],
        nodes,
        runs: Vec::new(),
        accounts: Vec::new(),
        structure: Structure::default(),
        files: Vec::new(),
        stages: Vec::new(),
        sources: Vec::new(),
        times: Vec::new(),
        phases: Vec::new(),
        summed: Vec::new(),
        spreads: Vec::new(),
        earlier: Vec::new(),
        job_sizes: Vec::new(),
    }
}

/// The bytes of the listing marked `hex`: offset, bytes, a bar, an explanation. `#` begins a title.
fn listed() -> Vec<u8> {
    let (_, listing) = DOCUMENT.split_once("```hex\n").expect("there is a listing");
    let (listing, _) = listing.split_once("```").expect("the listing ends");
    let mut bytes = Vec::new();
    for line in listing.lines().filter(|line| !line.starts_with('#')) {
        let (numbers, _) = line.split_once('|').unwrap_or((line, ""));
        let mut numbers = numbers.split_whitespace();
        let Some(offset) = numbers.next() else { continue };
        let offset = usize::from_str_radix(offset, 16).expect("an offset");
        assert_eq!(offset, bytes.len(), "offset of line {line:?}");
        bytes.extend(numbers.map(|byte| u8::from_str_radix(byte, 16).expect("a byte")));
    }
    bytes
}

#[test]
fn the_example_is_what_the_code_writes_and_reads() {
    let written = bytes(&example());
    if listed() != written {
        let dump: Vec<String> = written
            .chunks(16)
            .enumerate()
            .map(|(line, chunk)| {
                let chunk: Vec<String> = chunk.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("{:04x}  {}", 16 * line, chunk.join(" "))
            })
            .collect();
        panic!("FORMAT.md lists other bytes than these:\n{}", dump.join("\n"));
    }
    assert_eq!(read::read(&listed()).expect("the listing is a file"), example());
}

/// The rows of the table below a heading: its cells, without backticks.
fn table(heading: &str) -> Vec<Vec<String>> {
    let (_, text) = DOCUMENT.split_once(&format!("{heading}\n")).expect(heading);
    text.lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| {
            line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect()
        })
        .collect()
}

#[test]
fn kinds_of_blocks_are_those_of_the_code() {
    let rows: Vec<(String, String)> =
        table("### Kinds").into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    let kinds: Vec<(String, String)> = BlockKind::ALL
        .iter()
        .map(|kind| ((*kind as u16).to_string(), kind.table().to_owned()))
        .collect();
    assert_eq!(rows, kinds);
}

#[test]
fn reasons_are_those_of_the_code() {
    let rows = |heading| -> Vec<(String, String)> {
        table(heading).into_iter().map(|row| (row[0].clone(), row[1].clone())).collect()
    };
    let losses: Vec<(String, String)> = LossReason::ALL
        .iter()
        .map(|reason| ((*reason as u8).to_string(), reason.key().to_owned()))
        .collect();
    assert_eq!(rows("### Reasons for losses"), losses);
    let partial: Vec<(String, String)> = PartialReason::ALL
        .iter()
        .map(|reason| ((*reason as u8).to_string(), reason.key().to_owned()))
        .collect();
    assert_eq!(rows("### Reasons for partial paths"), partial);
}

/// The offsets that the arena's tables state are those of its structures.
#[test]
fn arena_records_have_the_stated_layout() {
    use core::mem::offset_of;
    use csprof_format::arena::{
        ArenaHeader, ExtentHeader, LogRecordHeader, Node, ThreadRecord, TimeRecord,
    };
    macro_rules! fields {
        ($type:ident: $($field:ident),*) => {
            vec![$((format!("{:#04x}", offset_of!($type, $field)), stringify!($field).to_owned())),*]
        };
    }
    let rows = |heading| -> Vec<(String, String)> {
        table(heading).into_iter().map(|row| (row[0].clone(), row[2].clone())).collect()
    };
    assert_eq!(
        rows("### Arena header"),
        fields!(ArenaHeader: magic, version, pid, parent_pid, forked, source_count, flags,
            start_unix_ns, start_ns, end_ns, used, threads, rank_plus_one, losses, foreign_signals,
            left_out, left_out_names, cpu_before_ns, cpu_ns, unsampled_threads, table_bytes,
            private_bytes, returned, sources, ranks, local_ranks)
    );
    assert_eq!(
        rows("### Extent header"),
        fields!(ExtentHeader: magic, kind, size, owner, segment, committed)
    );
    assert_eq!(
        rows("### Thread record"),
        fields!(ThreadRecord: tid, index, name, start_ns, end_ns, cpu_ns, node_count, max_depth,
            signals, delivered, recorded, returns, lost_returns, frames_unwound, reused_paths,
            losses, partial, cpu_before_ns, earlier, apart_ns, late, further)
    );
    assert_eq!(rows("### Node"), fields!(Node: key, parent, child, left, right, samples, edges));
    assert_eq!(rows("### Time record"), fields!(TimeRecord: time_ns, node, samples));
    assert_eq!(rows("### Log record"), fields!(LogRecordHeader: kind, length, time_ns));
}
