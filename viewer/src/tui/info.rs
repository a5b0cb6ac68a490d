//! The information page: what was sampled, what was lost, which code had names.

use csprof_format::ids::{EpochId, ProcessId};
use csprof_format::profile::{EpochReason, Exit, Origin, Process, RunInfo};

use super::page::Item;
use crate::left_out;
use crate::profile::comparison::Comparison;
use crate::profile::{Profile, name_of_file};
use crate::views::contexts::name_and_earlier;
use crate::views::cost_lines::{self, Line};
use crate::views::names::{modules_to_list, nameless};
use crate::views::number::{Form, amount, count, counted, duration, percent};
use crate::views::printable::{command_line, printable};
use crate::views::summary::{
    Reason, Summary, kept_sources, lacks_symbols, signal, symbols_of, why_no_samples, worth_listing,
};

/// Sections with more lines than this are cut, with a line that says so.
const LONGEST_SECTION: usize = 200;

/// Cells of a process's command line; that of the run is shown in full.
const LONGEST_COMMAND: usize = 100;

/// The page. O(nodes), once.
#[must_use]
pub fn items(profile: &Profile, form: Form) -> Vec<Item> {
    let summary = Summary::of(profile);
    let compared = profile.comparison.as_deref();
    let runs = match compared {
        Some(comparison) => sides(comparison, form),
        None => {
            let mut items = run("Run", &profile.info.run, form);
            items.extend(kept_sources(profile, form).map(|kept| pair("source files", kept)));
            items
        }
    };
    let sections = [
        runs,
        samples(profile, &summary, form),
        losses(profile, &summary, form),
        lines("CPU time", cost_lines::cpu_time(profile, form)),
        lines("Elapsed time of threads", cost_lines::elapsed_time(profile, form)),
        lines("Memory of the collector", cost_lines::memory(&profile.info.accounts, form)),
        edges(profile, &summary, form),
        processes(profile, form),
        modules(profile, form),
        epochs(profile, form),
    ];
    let said: Vec<Vec<Item>> = sections.into_iter().filter(|section| !section.is_empty()).collect();
    said.join(&Item::Gap)
}

/// A section of amounts; nothing where there is none.
fn lines(title: &str, lines: Vec<Line>) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    if !lines.is_empty() {
        items.push(heading(title));
    }
    items.extend(lines.into_iter().map(line_item));
    items
}

fn line_item(line: Line) -> Item {
    warning_if(line.missing, &line.amount, line.text)
}

/// What to say in place of rows where there are no samples; `None` if there are some.
#[must_use]
pub fn why_empty(profile: &Profile, form: Form) -> Option<Vec<Item>> {
    let why = why_no_samples(profile, form)?;
    let info = &profile.info;
    let mut letters = why.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    let sentence = first.chain(letters).chain(['.']).collect();
    let mut items = vec![
        heading("Nothing to show"),
        Item::Text(sentence),
        Item::Text("4 shows all that is known about the run.".to_owned()),
    ];
    let messages = info.processes.iter().flat_map(|process| &process.messages);
    let messages = left_out::summed(messages.map(|message| &**message)).into_iter();
    let said = info.run.warnings.iter().cloned().chain(messages.map(|(message, _)| message));
    items.extend(said.map(|text| Item::Warning("warning".to_owned(), text)));
    let summary = Summary::of(profile);
    if summary.lost() > 0 {
        items.push(Item::Gap);
        items.push(heading("Samples lost"));
        let lost = summary.losses.iter().filter(|reason| reason.samples > 0);
        items.extend(lost.map(|reason| reason_item(reason, summary.delivered, form)));
    }
    Some(items)
}

fn heading(text: &str) -> Item {
    Item::Heading(text.to_owned())
}

fn pair(name: &str, text: impl Into<String>) -> Item {
    Item::Pair(name.to_owned(), text.into())
}

fn exit(exit: Exit) -> String {
    match exit {
        Exit::Unknown => "end not seen".to_owned(),
        Exit::Status(status) => format!("exit status {status}"),
        Exit::Signal(number) => format!("killed by {}", signal(number)),
    }
}

fn seconds(ns: u64, form: Form) -> String {
    duration(ns as f64, form)
}

/// Both runs of a comparison; all that comes after them is about the two together.
fn sides(comparison: &Comparison, form: Form) -> Vec<Item> {
    let mut items = Vec::new();
    for (side, name) in comparison.sides.iter().zip(["Base", "Other"]) {
        items.extend(match &side.runs[..] {
            [first, _, ..] => {
                let title = format!("{name}: {} runs", side.runs.len());
                let mut of_first = run(&title, &side.run, form);
                of_first.insert(1, pair("of the first", &*first.name));
                of_first
            }
            _ => run(&format!("{name}: {}", side.name), &side.run, form),
        });
        let period = amount(1, &side.metric, form);
        let source = &side.metric.source;
        items.push(pair("source", format!("{source}, one sample for {period}")));
        items.push(pair("samples", count(side.total, form)));
        if side.runs.len() > 1 {
            let runs =
                side.runs.iter().map(|run| format!("{} {}", count(run.total, form), run.name));
            let mut titles = std::iter::once("runs").chain(std::iter::repeat(""));
            items.extend(runs.map(|run| pair(titles.next().unwrap_or_default(), run)));
        }
        items.push(warning_if(side.lost > 0, "lost", counted(side.lost, "sample", form)));
        items.push(Item::Gap);
    }
    let said = "What follows is about both together; csprof info tells of each file alone.";
    items.push(Item::Text(said.to_owned()));
    items
}

fn run(title: &str, run: &RunInfo, form: Form) -> Vec<Item> {
    let machine = [run.host.as_str(), &run.cpu, &run.kernel];
    let machine: Vec<_> = machine.into_iter().filter(|fact| !fact.is_empty()).collect();
    let facts = [
        ("command", command_line(&run.command)),
        ("directory", String::from_utf8_lossy(&run.directory).into_owned()),
        (
            "exit",
            match run.goes_on() {
                true => "none when it was read".to_owned(),
                false => exit(run.exit).trim_start_matches("exit ").to_owned(),
            },
        ),
        ("elapsed", seconds(run.duration_ns, form)),
        ("machine", machine.join(", ")),
        ("recorded by", format!("csprof {}", run.csprof_version)),
    ];
    let facts = facts.into_iter().filter(|(_, fact)| !fact.is_empty());
    let mut items = vec![heading(title)];
    items.extend(facts.map(|(name, fact)| pair(name, fact)));
    items.extend(run.warnings.iter().map(|text| Item::Warning("warning".to_owned(), text.clone())));
    items
}

fn samples(profile: &Profile, summary: &Summary, form: Form) -> Vec<Item> {
    let of_delivered = |samples: u64| {
        format!("{}, {} %", counted(samples, "sample", form), percent(samples, summary.delivered))
    };
    let mut items = Vec::new();
    for (title, about) in cost_lines::sources(summary, form) {
        items.push(heading(&title));
        items.extend(about.into_iter().map(|of| warning_if(of.missing, &of.amount, of.text)));
        items.push(Item::Gap);
    }
    if let [source] = &summary.sources[..] {
        items.push(heading("Samples"));
        // Two that are compared may have been sampled in different ways.
        if profile.comparison.is_none() {
            let (name, period) = (&source.metric.source, amount(1, &source.metric, form));
            items.push(pair("source", format!("{name}, one sample for {period}")));
            if let Some(rate) = source.asked_per_s {
                items.push(pair("rate asked for", format!("{rate:.0} per second and thread")));
            }
        }
        if let Some(rate) = source.delivered_per_cpu_s {
            let text = format!(
                "{rate:.0} per second of CPU time ({} in all threads)",
                seconds(summary.cpu_ns, form)
            );
            items.push(pair("rate delivered", text));
        }
    } else {
        items.push(heading("Samples of all sources together"));
    }
    items.push(pair("delivered", counted(summary.delivered, "sample", form)));
    items.push(pair("recorded", of_delivered(summary.recorded)));
    let text = format!(
        "{}; recorded, but their outer callers could not be found",
        of_delivered(summary.partial)
    );
    items.push(warning_if(summary.partial > 0, "partial", text));
    let partial = summary.partial_reasons.iter();
    items.extend(partial.map(|reason| reason_item(reason, summary.recorded, form)));
    items
}

fn losses(profile: &Profile, summary: &Summary, form: Form) -> Vec<Item> {
    let mut items = vec![heading("Losses: delivered = recorded + these")];
    let losses = summary.losses.iter();
    items.extend(losses.map(|reason| reason_item(reason, summary.delivered, form)));
    items.extend(cost_lines::notes(profile, form).into_iter().map(line_item));
    if summary.unaccounted() != 0 {
        let text = format!("{}: the file contradicts itself", summary.unaccounted());
        items.push(Item::Warning("unaccounted".to_owned(), text));
    }
    items
}

/// A reason and its share of `whole` samples.
fn reason_item(reason: &Reason, whole: u64, form: Form) -> Item {
    let share = match reason.samples {
        0 => String::new(),
        samples => format!(", {} %", percent(samples, whole)),
    };
    let text = format!("{}{share}: {}", count(reason.samples, form), reason.explanation);
    warning_if(reason.samples > 0, &reason.key, text)
}

fn warning_if(condition: bool, name: &str, text: String) -> Item {
    if condition { Item::Warning(name.to_owned(), text) } else { Item::Pair(name.to_owned(), text) }
}

fn edges(profile: &Profile, summary: &Summary, form: Form) -> Vec<Item> {
    if let Some(why) = profile.why_no_edges() {
        let text = format!("off: {why}, so there are none");
        return vec![heading("Edge counts"), pair("mode", text)];
    }
    let lost = format!(
        "{}: left by a jump, an exception or its thread's end",
        count(summary.lost_returns, form)
    );
    vec![
        heading("Edge counts"),
        pair("mode", "every-return: an activation counts once, at its return"),
        pair(
            "returns",
            format!("{}: returns of calls that a sample met", count(summary.edges, form)),
        ),
        pair("lost returns", lost),
    ]
}

fn processes(profile: &Profile, form: Form) -> Vec<Item> {
    let info = &profile.info;
    let worth = worth_listing(profile);
    let mut items = vec![heading("Processes and threads")];
    let mut listed: Vec<(usize, &Process)> =
        info.processes.iter().enumerate().filter(|(place, _)| worth[*place]).collect();
    // What started the ranks comes first; the sort is stable.
    listed.sort_by_key(|(_, process)| process.rank);
    for (place, process) in listed {
        items.extend(process_items(process, form));
        for (id, thread) in info.threads_of(ProcessId::from_index(place)) {
            let name = String::from_utf8_lossy(&thread.name);
            let losses = thread.losses.iter().fold(0, |sum: u64, &lost| sum.saturating_add(lost));
            let samples = counted(thread.recorded, "sample", form);
            let rate = cost_lines::thread(profile, id, form);
            let mut text = format!("{samples}{rate}");
            if losses > 0 {
                text.push_str(&format!(", {} lost", count(losses, form)));
            }
            let name = name_and_earlier(&name, info.earlier_threads(id), form);
            let thread = format!("  thread {}{name}", thread.tid);
            items.push(warning_if(losses > 0, &thread, text));
        }
        items.extend(cost_lines::threads_together(profile, place, form).map(Item::Text));
    }
    let others = worth.iter().filter(|worth| !**worth).count();
    if others > 0 {
        let others = counted(others as u64, "more process", form);
        let used = cost_lines::used_by(profile, |process| !worth[process], form);
        items.push(Item::Text(format!("and {others}, without samples or losses{used}")));
    }
    cut(items)
}

fn process_items(process: &Process, form: Form) -> Vec<Item> {
    let name = match process.rank {
        Some(rank) => format!("{} rank {rank}", process.pid),
        None => process.pid.to_string(),
    };
    let origin = match process.origin {
        Origin::Exec => "",
        Origin::Fork => "forked, ",
    };
    let from = seconds(process.start_ns, form);
    let command = command_line(&process.command);
    let command = super::name::cut(&command, LONGEST_COMMAND, "..");
    let text = format!("{origin}from {from}, {}: {command}", exit(process.exit));
    let mut items = vec![pair(&name, text)];
    let messages = process.messages.iter();
    items.extend(messages.map(|text| Item::Warning("  message".to_owned(), text.clone())));
    items
}

/// Modules with samples in code without a name first; those that were never sampled are counted.
fn modules(profile: &Profile, form: Form) -> Vec<Item> {
    let all = &profile.info.modules;
    let listed = modules_to_list(profile);
    let mut items = vec![heading("Load modules and their names")];
    for &(place, unnamed) in &listed {
        let module = &all[place];
        let mut text = symbols_of(profile, module);
        if unnamed > 0 {
            let samples = counted(unnamed, "sample", form);
            let share = percent(unnamed, profile.total());
            text.push_str(&format!("; {samples} ({share} %) in code without a name"));
        }
        if !module.build_id.is_empty() {
            let id: String = module.build_id.iter().take(4).map(|b| format!("{b:02x}")).collect();
            let dots = if form == Form::Ascii { ".." } else { "…" };
            text.push_str(&format!("; build id {id}{dots}"));
        }
        let name = name_of_file(profile.string(module.path));
        items.push(warning_if(unnamed > 0 && lacks_symbols(module), name, text));
    }
    if let Some(outside) = nameless(profile).iter().find(|one| one.module.is_none()) {
        let text =
            format!("{} outside every load module", counted(outside.samples, "sample", form));
        items.push(Item::Warning("(none)".to_owned(), text));
    }
    let others = all.len() - listed.len();
    if others > 0 {
        let modules = counted(others as u64, "more module", form);
        items.push(Item::Text(format!("and {modules}, whose functions were never sampled")));
    }
    cut(items)
}

fn epochs(profile: &Profile, form: Form) -> Vec<Item> {
    let info = &profile.info;
    let mut items = vec![heading("Epochs: stretches in which every address means one thing")];
    let worth = worth_listing(profile);
    let is_worth = |process: ProcessId| worth.get(process.index()).copied().unwrap_or(true);
    let epochs = (0..).map(EpochId::from_index).zip(&info.epochs);
    for (id, epoch) in epochs.filter(|(_, epoch)| is_worth(epoch.process)) {
        let pid = info.processes.get(epoch.process.index()).map_or(0, |process| process.pid);
        let phase = info.phase_of(id).map(|name| format!("phase {}", printable(name)));
        let reason = phase.as_deref().unwrap_or(match epoch.reason {
            EpochReason::Start => "the process started",
            EpochReason::AddressReuse => "a module took addresses that had been another's",
            EpochReason::Load => "a module was loaded",
            EpochReason::Request => "the program asked for it",
        });
        let text = format!(
            "from {}: {reason}; {} mappings",
            seconds(epoch.start_ns, form),
            epoch.load_map.len()
        );
        items.push(pair(&format!("{pid} epoch {}", epoch.number), text));
    }
    cut(items)
}

/// A section of bearable length.
fn cut(mut items: Vec<Item>) -> Vec<Item> {
    let more = items.len().saturating_sub(LONGEST_SECTION);
    if more > 0 {
        items.truncate(LONGEST_SECTION);
        items.push(Item::Text(format!("and {more} more; csprof info --format json has them all")));
    }
    items
}
