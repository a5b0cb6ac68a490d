//! The lines of a function's file with what they cost, for people: those of the function, and all
//! others with samples, each with the lines around it.

use std::collections::BTreeSet;
use std::io::{self, Write};

use serde::Serialize;
use unicode_width::UnicodeWidthStr as _;

use super::Options;
use super::aligned::Aligned;
use super::json::{Heading, JsonRow, JsonRows, heading};
use super::text::{account_for, cut, dots};
use crate::profile::{FunctionRef, base_name, short_place};
use crate::refine::{Refined, unwatched};
use crate::sources::{Sources, doubt, without_tabs};
use crate::views::columns::{Basis, Column, Id};
use crate::views::flat::flat;
use crate::views::number::counted;
use crate::views::printable::printable;
use crate::views::source::{SourceLines, file_of, modules_of};
use crate::views::{Cost, Sort};

/// Lines before and behind each with samples.
const AROUND: u32 = 3;

/// Characters of a line of source.
const LONGEST: usize = 200;

/// The function of a name, or of that without scopes and arguments, with the place of its
/// definition behind it or not, as rows have it (`work a.c:12`); of several the one that costs
/// most, and how many others there are.
///
/// # Errors
/// None with samples is called so; the text says what would find it.
pub fn function_named(refined: &Refined, name: &str) -> Result<(FunctionRef, usize), String> {
    let rows = flat(refined, Sort::usual(Cost::Inclusive, &refined.profile));
    let of = |function: FunctionRef| &*refined.functions[function.index()].name;
    let called = |is_it: &dyn Fn(&str) -> bool| {
        let found = rows.iter().map(|row| row.function).filter(|function| is_it(of(*function)));
        found.collect::<Vec<_>>()
    };
    let named = |name: &str| {
        let exact = called(&|other| other == name);
        if exact.is_empty() { called(&|other| base_name(other) == name) } else { exact }
    };
    let mut found = named(name);
    if found.is_empty()
        && let Some((name, place)) = name.rsplit_once(' ')
        && !place.is_empty()
    {
        found = named(name.trim_end());
        found.retain(|&function| is_defined_at(refined, function, place));
    }
    match found[..] {
        [first, ..] => Ok((first, found.len() - 1)),
        [] => Err(format!(
            "no function with samples is called `{name}`; csprof report --view flat lists them"
        )),
    }
}

/// Whether a function is defined in this file, named by the end of its path, and at the line behind
/// it, if there is one.
fn is_defined_at(refined: &Refined, function: FunctionRef, place: &str) -> bool {
    let function = &refined.functions[function.index()];
    let (file, line) = match place.rsplit_once(':') {
        Some((file, line)) if !line.is_empty() => match line.parse::<u32>() {
            Ok(line) => (file, Some(line)),
            Err(_) => (place, None),
        },
        _ => (place, None),
    };
    let path = function.file.map(|path| refined.profile.string(path));
    let before = path.and_then(|path| path.strip_suffix(file));
    before.is_some_and(|before| before.is_empty() || before.ends_with('/') || file.starts_with('/'))
        && line.is_none_or(|line| line == function.line)
}

/// Writes the lines of the file of a function.
///
/// # Errors
/// Those of `out`.
pub fn text(
    refined: &Refined,
    (function, others): (FunctionRef, usize),
    sources: &Sources,
    options: &Options,
    out: &mut impl Write,
) -> io::Result<()> {
    let form = options.form();
    if !account_for(refined, options, form, out)? {
        return Ok(());
    }
    let name = printable(&refined.functions[function.index()].name);
    let file = file_of(refined, function).map(|file| refined.profile.string(file));
    let Some(path) = file else {
        return writeln!(
            out,
            "{name}: its source is not known. Compile it with -g, or install its debug symbols and \
             run csprof symbolize."
        );
    };
    writeln!(out, "{name}  {}", printable(path))?;
    if others > 0 {
        let cost = if others == 1 { "costs" } else { "cost" };
        let others = counted(others as u64, "other function", form);
        write!(out, "{others} of this name {cost} no more; name one by all of its name")?;
        let function = &refined.functions[function.index()];
        if function.file.is_some() {
            let place = short_place(&printable(path), function.line);
            write!(out, ", or with its place, as '{name} {place}' names this one")?;
        }
        writeln!(out)?;
    }
    let lines = unwatched(|watch| SourceLines::new(refined, path, Some(function), watch));
    let info = &refined.profile.info;
    let found = sources.show(info, path, &modules_of(&refined.profile, path));
    let last = lines.lines.last().map_or(0, |line| line.number);
    match &found {
        Ok(source) => {
            for (path, why) in &source.tried {
                writeln!(out, "{}: {why}", printable(&path.to_string_lossy()))?;
            }
            let told = source.told_of_kept().into_iter().chain(doubt(info, source, last, None));
            for told in told {
                writeln!(out, "{}: {told}", printable(&source.path.to_string_lossy()))?;
            }
        }
        Err(missing) => {
            for (path, why) in &missing.tried {
                writeln!(out, "{}: {why}", printable(&path.to_string_lossy()))?;
            }
            let lines = if lines.lines.is_empty() { "" } else { "; lines with samples:" };
            writeln!(out, "--path-map OLD=NEW says where the files are{lines}")?;
        }
    }
    if lines.lines.is_empty() {
        return writeln!(
            out,
            "none of its samples has a line; perf maps, for one (Python, Node.js), name functions alone"
        );
    }
    writeln!(out)?;
    let basis = options.basis_of_text(refined);
    let columns: Vec<Column> = basis.on_page(Cost::Inclusive);
    let columns: Vec<Column> =
        columns.into_iter().filter(|of| !matches!(of.id, Id::PerEdge | Id::Calls)).collect();
    let of_rows = Basis { refined: &lines.forest, ..basis };
    let wanted: BTreeSet<u32> = match &found {
        Ok(source) => {
            let around = lines.lines.iter().map(|line| line.number);
            let around =
                around.flat_map(|line| line.saturating_sub(AROUND)..=line.saturating_add(AROUND));
            // Sampled lines that are not there stand without text.
            let sampled = lines.lines.iter().map(|line| line.number);
            around.filter(|line| source.text.has(*line)).chain(sampled).collect()
        }
        Err(_) => lines.lines.iter().map(|line| line.number).collect(),
    };
    let mut heads: Vec<String> =
        columns.iter().map(|column| column.heading(&basis).into_owned()).collect();
    heads.push("line".to_owned());
    let mut table = vec![(heads, String::new())];
    let mut before = None;
    for number in wanted {
        if before.is_some_and(|before| before + 1 < number) {
            let mut cells = vec![String::new(); columns.len()];
            cells.push(dots(form).to_owned());
            table.push((cells, String::new()));
        }
        before = Some(number);
        let line = lines.line(number);
        let cells = columns.iter().map(|column| {
            line.map_or_else(String::new, |line| column.text_of(&of_rows, &line.row))
        });
        let cells: Vec<String> = cells.chain([number.to_string()]).collect();
        let text = found.as_ref().map(|source| source.text.shown(number)).unwrap_or_default();
        let text = without_tabs(&text, |part| part.width());
        table.push((cells, printable(&cut(text.trim_end(), LONGEST, form)).into_owned()));
    }
    let aligned = Aligned::of_numbers(columns.len() + 1, table.iter().map(|(cells, _)| cells));
    for (cells, text) in &table {
        let mut line = Vec::new();
        aligned.write(cells, text, &mut line)?;
        out.write_all(line.trim_ascii_end())?;
        writeln!(out)?;
    }
    Ok(())
}

/// What stands before the lines.
#[derive(Serialize)]
struct SourceHeading<'r> {
    #[serde(flatten)]
    heading: Heading<'r>,
    function: &'r str,
    /// Other functions of this name, which cost no more.
    others: usize,
    file: Option<&'r str>,
    /// Where its text was found.
    found: Option<String>,
    /// What the profile keeps of it, if that is the text.
    kept: Option<String>,
    /// Why the text may be another than that which was sampled.
    doubt: Option<String>,
    /// Where it was looked for in vain.
    tried: Vec<Tried<'r>>,
}

/// A place without the text.
#[derive(Serialize)]
struct Tried<'r> {
    path: String,
    why: &'r str,
}

/// A line.
#[derive(Serialize)]
struct SourceRow<'r> {
    line: u32,
    text: Option<&'r str>,
    of_function: bool,
    calls: bool,
    inlines: bool,
    #[serde(flatten)]
    numbers: JsonRow<'r>,
}

/// Writes the lines with samples of the file of a function, as an object for scripts.
///
/// # Errors
/// Those of `out`.
pub fn json(
    refined: &Refined,
    (function, others): (FunctionRef, usize),
    sources: &Sources,
    options: &Options,
    out: &mut impl Write,
) -> io::Result<()> {
    let file = file_of(refined, function).map(|file| refined.profile.string(file));
    let lines =
        file.map(|path| unwatched(|watch| SourceLines::new(refined, path, Some(function), watch)));
    let info = &refined.profile.info;
    let shown = file.map(|path| sources.show(info, path, &modules_of(&refined.profile, path)));
    let source = shown.as_ref().and_then(|shown| shown.as_ref().ok());
    let tried = match &shown {
        Some(Ok(source)) => &source.tried[..],
        Some(Err(missing)) => &missing.tried[..],
        None => &[],
    };
    let tried = tried.iter().map(|(path, why)| Tried { path: path.to_string_lossy().into(), why });
    let last = lines.as_ref().and_then(|lines| lines.lines.last()).map_or(0, |line| line.number);
    let heading = SourceHeading {
        heading: heading(refined, options, None),
        function: &refined.functions[function.index()].name,
        others,
        file,
        found: source.map(|source| source.path.to_string_lossy().into_owned()),
        kept: source.and_then(|source| source.told_of_kept()),
        doubt: source.and_then(|source| doubt(info, source, last, None)),
        tried: tried.collect(),
    };
    let mut rows = JsonRows::begin(&heading, out)?;
    for line in lines.iter().flat_map(|lines| &lines.lines) {
        let of_lines = lines.as_ref().map_or(refined, |lines| &lines.forest);
        let basis = Basis { measure: options.measure.unwrap_or_default(), ..Basis::new(of_lines) };
        let mut columns = basis.for_machines(Cost::Inclusive);
        columns[0].retain(|of| matches!(of.id, Id::Inclusive | Id::Exclusive | Id::Edges));
        let text = source.and_then(|source| source.text.line(line.number));
        rows.write(&SourceRow {
            line: line.number,
            text: text.as_deref(),
            of_function: line.is_of_function,
            calls: line.calls,
            inlines: line.inlines,
            numbers: JsonRow {
                basis: &basis,
                columns: &columns,
                row: (&line.row).into(),
                depth: None,
            },
        })?;
    }
    rows.end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::from_outline;

    fn report(name: &str, file: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.c"), file).unwrap();
        let outline = "main 1 e=1 at:/src/a.c:9\n  work 2 e=5 at:/src/a.c:2\n    \
                       \"ns::f(int)\" 1 at:/src/b.c:7\n";
        let refined = Refined::base(&from_outline(outline).unwrap());
        let map = format!("/src={}", folder.path().display()).parse().unwrap();
        let mut out = Vec::new();
        let function = function_named(&refined, name).unwrap();
        text(&refined, function, &Sources::new(vec![map]), &Options::default(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let (_, rest) = text.split_once("\n\n").unwrap();
        rest.replace(&folder.path().display().to_string(), "/here")
    }

    #[test]
    fn lines_stand_with_those_around_them() {
        let file: String = (1..=30).map(|line| format!("\tline {line};\n")).collect();
        let lines: Vec<String> = report("work", &file).lines().map(str::to_owned).collect();
        assert_eq!(
            lines[..5],
            [
                "work  /src/a.c",
                "",
                "incl time     %  excl %  edges  line",
                "                                   1          line 1;",
                "  15.0 ms  75.0    50.0      5     2          line 2;",
            ]
        );
        assert_eq!(lines.last().unwrap().trim_start(), "12          line 12;");
        let far = file.replace("line 2;", "").lines().take(4).collect::<Vec<_>>().join("\n");
        let told = report("work", &far);
        assert!(told.contains("it has 4 lines, and line 9 was sampled"), "{told}");
    }

    #[test]
    fn lines_for_scripts_have_their_text_and_what_is_on_them() {
        let outline = "main 1 e=1 at:/src/a.c:9\n  work 2 e=5 at:/src/a.c:2\n    \
                       work 1 at:/src/a.c:3\n      inner 4 inline at:/src/a.c:7\n";
        let refined = Refined::base(&from_outline(outline).unwrap());
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.c"), "one\ntwo \"2\"\nthree\n").unwrap();
        let map = format!("/src={}", folder.path().display()).parse().unwrap();
        let function = function_named(&refined, "work").unwrap();
        let written = |sources| {
            let mut out = Vec::new();
            json(&refined, function, &sources, &Options::default(), &mut out).unwrap();
            serde_json::from_slice::<serde_json::Value>(&out).unwrap()
        };
        let report = written(Sources::new(vec![map]));
        assert_eq!(report["function"], "work");
        assert_eq!(report["file"], "/src/a.c");
        assert_eq!(report["shown"], 8);
        assert_eq!(report["others"], 0);
        let told = report["doubt"].as_str().unwrap();
        assert!(told.contains("it has 3 lines, and line 9 was sampled"), "{told}");
        let rows = report["rows"].as_array().unwrap();
        let numbers = |row: &serde_json::Value| {
            ["line", "inclusive", "exclusive"].map(|key| row[key].as_u64().unwrap())
        };
        let all: Vec<_> = rows.iter().map(numbers).collect();
        assert_eq!(all, [[2, 7, 2], [3, 5, 1], [7, 4, 4], [9, 8, 1]]);
        assert_eq!(rows[0]["text"], "two \"2\"");
        assert_eq!(rows[2]["text"], serde_json::Value::Null, "the file has no such line");
        let marks = |row: &serde_json::Value| {
            ["of_function", "calls", "inlines"].map(|key| row[key].as_bool().unwrap())
        };
        let all: Vec<_> = rows.iter().map(marks).collect();
        let (of, calls, inlines) = ([true, true, false], [false, true, false], [true, false, true]);
        assert_eq!(all, [of, inlines, [false; 3], calls]);
        assert_eq!(rows[0]["edges"], 5);
        let missing = written(Sources::default());
        assert_eq!(missing["found"], serde_json::Value::Null);
        assert_eq!(missing["tried"][0]["path"], "/src/a.c");
    }

    #[test]
    fn a_function_is_found_by_what_it_is_called() {
        let told = report("f", "");
        assert!(told.starts_with("ns::f(int)  /src/b.c\n/here/b.c: there is no such"), "{told}");
        assert!(told.ends_with("     7\n"), "{told}");
        let refined = Refined::base(&from_outline("main 1 at:/a.c:4294967295\n").unwrap());
        assert!(function_named(&refined, "f").unwrap_err().contains("no function with samples"));
        let function = function_named(&refined, "main").unwrap();
        let mut out = Vec::new();
        text(&refined, function, &Sources::default(), &Options::default(), &mut out).unwrap();
        assert!(String::from_utf8(out).unwrap().contains("4294967295"));
    }
}
