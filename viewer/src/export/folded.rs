//! Folded stacks: one line for each call path, `root;…;leaf COUNT`.
//!
//! The format of Brendan Gregg's `stackcollapse` scripts, which flame graph tools and speedscope
//! read. Paths that are the same by name are one line, callees come below callers by name, and
//! Σ COUNT is what the refinement shows. `;` inside a name becomes `:`, and line breaks become
//! spaces, since the format has no quoting. A path whose outer callers are unknown starts with
//! `[partial]`; code without a name is `[unknown module+0xoffset]`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};

use super::format::{Format, Options};
use crate::profile::{Frame, FrameKind};
use crate::refine::Refined;

/// The lines.
pub static FORMAT: Format = Format {
    name: "folded",
    help: "One line for each call path, for flame graphs: `main;solve;axpy 42`",
    is_picture: false,
    write,
    size: Some(size),
};

/// What paths become while they are walked.
trait Stacks {
    /// Goes on behind so many bytes of the path by a name.
    fn enter(&mut self, start: usize, name: &str);

    /// Bytes of the path.
    fn length(&self) -> usize;

    /// The path has a count of its own.
    fn line(&mut self, count: u128) -> io::Result<()>;
}

/// Paths that are written.
struct Text<'o> {
    path: String,
    out: &'o mut dyn Write,
}

impl Stacks for Text<'_> {
    fn enter(&mut self, start: usize, name: &str) {
        self.path.truncate(start);
        if start > 0 {
            self.path.push(';');
        }
        self.path.push_str(name);
    }

    fn length(&self) -> usize {
        self.path.len()
    }

    fn line(&mut self, count: u128) -> io::Result<()> {
        writeln!(self.out, "{} {count}", self.path)
    }
}

/// Paths of which only the bytes count.
#[derive(Default)]
struct Size {
    length: usize,
    bytes: u64,
}

impl Stacks for Size {
    fn enter(&mut self, start: usize, name: &str) {
        self.length = start + usize::from(start > 0) + name.len();
    }

    fn length(&self) -> usize {
        self.length
    }

    fn line(&mut self, count: u128) -> io::Result<()> {
        let digits = count.checked_ilog10().unwrap_or(0) as usize + 1;
        self.bytes += (self.length + digits + 2) as u64;
        Ok(())
    }
}

/// The bytes that [`write`] writes.
fn size(refined: &Refined, options: &Options) -> u64 {
    let mut size = Size::default();
    match walk(refined, options, &mut size) {
        Ok(()) => size.bytes,
        // Counting does not fail.
        Err(_) => u64::MAX,
    }
}

/// Writes the paths that have samples of their own. Paths are written as they are walked, so that
/// memory is that of the nodes, not that of the text, which can be far larger.
///
/// # Errors
/// Those of `out`.
fn write(refined: &Refined, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    walk(refined, options, &mut Text { path: String::new(), out })
}

fn walk(refined: &Refined, options: &Options, stacks: &mut impl Stacks) -> io::Result<()> {
    let index = refined.children();
    let names = Names::of(refined);
    let is_left_out = |node: u32| {
        let frame = refined.frames[refined.frame[node as usize].index()];
        options.no_inline && frame.kind == FrameKind::Inline
    };
    let least = (refined.inclusive(0) as f64 * options.threshold_percent / 100.0).ceil() as u64;

    /// The nodes of one path, and where its last name begins in the path's text.
    struct Pending {
        nodes: Vec<u32>,
        start: usize,
        rank: u32,
    }
    let mut pending = vec![Pending { nodes: vec![0], start: 0, rank: 0 }];
    while let Some(Pending { mut nodes, start, rank }) = pending.pop() {
        let is_root = nodes == [0];
        stacks.enter(start, if is_root { "" } else { &names.by_rank[rank as usize] });
        let mut samples = 0u64;
        let mut children: Vec<(u32, u32)> = Vec::new();
        while let Some(node) = nodes.pop() {
            samples += refined.exclusive(node as usize);
            for &child in index.of(node) {
                if is_left_out(child) {
                    nodes.push(child);
                } else {
                    children.push((names.rank_of(refined, child), child));
                }
            }
        }
        children.sort_unstable();
        let first = pending.len();
        for group in children.chunk_by(|a, b| a.0 == b.0) {
            let inclusive =
                || group.iter().map(|&(_, node)| refined.inclusive(node as usize)).sum();
            // The root has no name that could have them.
            let below: u64 = if least > 0 && !is_root { inclusive() } else { least };
            if below < least {
                samples += below;
                continue;
            }
            let nodes = group.iter().map(|&(_, node)| node).collect();
            pending.push(Pending { nodes, start: stacks.length(), rank: group[0].0 });
        }
        pending[first..].reverse();
        if samples > 0 {
            stacks.line(options.measure.of(samples, refined.looked_at()))?;
        }
    }
    Ok(())
}

/// Names of frames as the format can hold them, in order. Many frames are of one function, whose
/// name is there once.
struct Names<'r> {
    by_rank: Vec<Cow<'r, str>>,
    /// By frame.
    rank: Vec<u32>,
}

impl<'r> Names<'r> {
    fn of(refined: &'r Refined) -> Self {
        let mut numbers = HashMap::new();
        let mut names = Vec::new();
        let number_of = |frame: &Frame| {
            *numbers.entry((frame.function, frame.kind)).or_insert_with(|| {
                names.push(name(refined, frame));
                names.len() - 1
            })
        };
        let number: Vec<usize> = refined.frames.iter().map(number_of).collect();
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_unstable_by(|&a, &b| names[a].cmp(&names[b]));
        let mut rank_of = vec![0; names.len()];
        let mut by_rank: Vec<Cow<'r, str>> = Vec::new();
        for name in order {
            let text = core::mem::take(&mut names[name]);
            if by_rank.last() != Some(&text) {
                by_rank.push(text);
            }
            // Ranks fit: there are no more than frames, which are numbered in 32 bits.
            rank_of[name] = (by_rank.len() - 1) as u32;
        }
        Self { by_rank, rank: number.into_iter().map(|number| rank_of[number]).collect() }
    }

    fn rank_of(&self, refined: &Refined, node: u32) -> u32 {
        self.rank[refined.frame[node as usize].index()]
    }
}

/// The name of a frame as the format can hold it.
fn name<'r>(refined: &'r Refined, frame: &Frame) -> Cow<'r, str> {
    let name = &*refined.functions[frame.function.index()].name;
    let name = match frame.kind {
        FrameKind::Partial => Cow::Borrowed("[partial]"),
        FrameKind::Unknown => Cow::Owned(format!("[unknown {name}]")),
        _ => Cow::Borrowed(name),
    };
    let is_plain = !name.contains(|c: char| c == ';' || c.is_control());
    if is_plain {
        return name;
    }
    let held = |c: char| match c {
        ';' => ':',
        c if c.is_control() => ' ',
        c => c,
    };
    Cow::Owned(name.chars().map(held).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{MetricRef, from_outline};
    use crate::refine::{apply, parse};
    use crate::views::measure::Measure;

    fn folded(outline: &str, options: Options) -> String {
        let profile = from_outline(outline).unwrap();
        let mut out = Vec::new();
        write(&Refined::base(&profile), &options, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    const OUTLINE: &str = "\
# thread=1
main 1
  solve 2 at:main.c:10
    dot 4 inline
  solve 8 at:main.c:20
    a.out+0x1234 3 unknown
# thread=2
\"[partial: no-cfi]\" partial
  \"f(char; int)\" 5
main
  solve 16
";

    #[test]
    fn one_line_for_each_path_by_name() {
        assert_eq!(
            folded(OUTLINE, Options::default()),
            "\
[partial];f(char: int) 5
main 1
main;solve 26
main;solve;[unknown a.out+0x1234] 3
main;solve;dot 4
"
        );
    }

    #[test]
    fn without_inlined_frames_their_samples_are_the_callers() {
        let options = Options { no_inline: true, ..Options::default() };
        assert_eq!(
            folded(OUTLINE, options),
            "\
[partial];f(char: int) 5
main 1
main;solve 30
main;solve;[unknown a.out+0x1234] 3
"
        );
    }

    #[test]
    fn counts_are_in_the_metric_asked_for() {
        let options = Options { measure: Measure::Source, ..Options::default() };
        assert_eq!(folded("main 3\n", options.clone()), "main 15000000\n");
        let profile = from_outline("main 3 realtime:1\n  wait 2 realtime:2\n").unwrap();
        let of = |metric| {
            let mut out = Vec::new();
            write(&Refined::base(&profile).looking_at(metric), &options, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(of(MetricRef(0)), "main 10000000\n");
        assert_eq!(of(MetricRef(1)), "main 5000000\nmain;wait 10000000\n");
    }

    /// Totals stay: what is cut off counts where the stack ends.
    #[test]
    fn stacks_end_where_less_than_the_threshold_is_below() {
        let at = |threshold_percent| {
            folded(OUTLINE, Options { threshold_percent, ..Options::default() })
        };
        assert_eq!(at(0.0), folded(OUTLINE, Options::default()));
        // 39 samples: 10 % are 3.9.
        let cut = "[partial];f(char: int) 5\nmain 1\nmain;solve 29\nmain;solve;dot 4\n";
        assert_eq!(at(10.0), cut);
        assert_eq!(at(100.0), "[partial] 5\nmain 34\n");
    }

    #[test]
    fn the_size_is_that_of_the_lines() {
        let profile = from_outline(OUTLINE).unwrap();
        let refined = Refined::base(&profile);
        for threshold_percent in [0.0, 10.0, 100.0] {
            for no_inline in [false, true] {
                for measure in [Measure::Samples, Measure::Source] {
                    let options =
                        Options { threshold_percent, no_inline, measure, ..Options::default() };
                    let lines = folded(OUTLINE, options.clone());
                    assert_eq!(size(&refined, &options), lines.len() as u64, "{lines}");
                }
            }
        }
    }

    #[test]
    fn an_empty_profile_has_no_lines() {
        assert_eq!(folded("", Options::default()), "");
    }

    #[test]
    fn samples_left_without_a_frame_are_lines_of_the_root() {
        let profile = from_outline("main 2\n  f 3\n").unwrap();
        let refined = apply(&profile, &parse("hide main").unwrap()).unwrap();
        let mut out = Vec::new();
        write(&refined, &Options::default(), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "<root> 2\nf 3\n");
    }
}
