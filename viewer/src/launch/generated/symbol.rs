//! From a name as a runtime writes it to a function and its source file.
//!
//! | runtime | writes | function | file:line |
//! |---|---|---|---|
//! | CPython ≥ 3.12 | `py::Pool.run:/app/pool.py` | `Pool.run` | `/app/pool.py` |
//! | V8 | `JS:*fib file:///app/fib.js:3:14`, `LazyCompile:~fib /app/fib.js:3:14` | `fib` | `/app/fib.js:3` |
//! | others | anything | all of it | |
//!
//! V8 marks by `~`, `^`, `+` and `*` which compiler made the code; one function of the program is
//! one function here, however often it is compiled.

/// A function of generated code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::launch) struct Symbol {
    /// What it is called.
    pub(in crate::launch) name: String,
    /// Source file, if known.
    pub(in crate::launch) file: Option<String>,
    /// Line of the definition, 0 if unknown.
    pub(in crate::launch) line: u32,
}

impl Symbol {
    /// Reads a name of a perf map or a jitdump.
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        python(&text).or_else(|| script(&text)).unwrap_or_else(|| Self::named(&text))
    }

    /// This or another one: code that took the place of other code.
    pub(super) fn or(&self, before: &Self) -> Self {
        let (mut names, file) = ([&*self.name, &*before.name], self.file.clone());
        // The same two are one function, whichever came first.
        names.sort_unstable();
        let file = file.filter(|_| self.file == before.file);
        Self { file, ..Self::named(&format!("{} or {}", names[0], names[1])) }
    }

    fn named(name: &str) -> Self {
        Self { name: name.to_owned(), file: None, line: 0 }
    }
}

fn python(text: &str) -> Option<Symbol> {
    // A path may have colons in it, and a qualified name has none.
    let (name, file) = text.strip_prefix("py::")?.split_once(':')?;
    // C++ has namespaces of that name, in which LLVM's compilers name functions: `py::f::g()`.
    let is_whole = !name.is_empty() && !file.is_empty() && !file.starts_with(':');
    is_whole.then(|| Symbol { file: Some(file.to_owned()), ..Symbol::named(name) })
}

/// What V8 puts before the names of functions in JavaScript.
const KINDS: [&str; 5] = ["JS", "LazyCompile", "Function", "Script", "Eval"];

/// Whether V8 has written this name.
pub(super) fn is_of_v8(name: &[u8]) -> bool {
    let kind = name.split(|byte| *byte == b':').next().unwrap_or_default();
    KINDS.iter().any(|known| known.as_bytes() == kind)
}

fn script(text: &str) -> Option<Symbol> {
    let (kind, rest) = text.split_once(':')?;
    if !KINDS.contains(&kind) {
        return None;
    }
    let rest = rest.trim_start_matches(['~', '^', '+', '*']);
    // Names, `get length`, and paths may have blanks in them. What comes after the one between them
    // begins like a path; where several do, nothing is said.
    let begins = [" /", " file://", " node:"];
    let mut blanks: Vec<usize> =
        begins.iter().flat_map(|begin| rest.match_indices(begin)).map(|(at, _)| at).collect();
    if blanks.is_empty() {
        blanks.extend(rest.match_indices(' ').map(|(at, _)| at));
    }
    let [blank] = blanks[..] else { return None };
    let (name, place) = (&rest[..blank], &rest[blank + 1..]);
    let (place, _column) = place.rsplit_once(':')?;
    let (file, line) = place.rsplit_once(':')?;
    let line = line.parse().ok()?;
    let file = file.strip_prefix("file://").unwrap_or(file);
    if file.is_empty() {
        return None;
    }
    let name = match (name, kind) {
        ("", "Script" | "Eval") => "(script)",
        ("", _) => "(anonymous)",
        _ => name,
    };
    Some(Symbol { file: Some(file.to_owned()), line, ..Symbol::named(name) })
}
