//! The modules of a crate and what they name of each other, read off the sources.
//!
//! A node is a file. An arrow from one to another means that the first names an item of the
//! second by a path. An item that a module only exports again (`pub use`) belongs to the file that
//! defines it, so far as the text shows it. Neither `mod child;` nor a path that ends at a module
//! is an arrow.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::sources::{bare, rust_files};

/// All files that the root of a crate leads to.
#[derive(Debug)]
pub struct Modules(Vec<Module>);

/// One file.
#[derive(Debug)]
struct Module {
    file: PathBuf,
    /// Its place among all; the root is its own parent.
    parent: usize,
    children: BTreeMap<String, usize>,
    source: Source,
}

/// What a file says of modules.
#[derive(Debug, Default)]
struct Source {
    /// Modules that lie in files of their own.
    declared: Vec<String>,
    /// Names that `use` gives to paths, and the paths of which it brings all names.
    names: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    /// Names of its items and of the modules that it contains itself.
    items: BTreeSet<String>,
    /// All paths of at least two names.
    paths: BTreeSet<Vec<String>>,
}

/// What a path leads to, by the place of the file.
#[derive(Clone, Copy)]
enum Named {
    Module(usize),
    Item(usize),
}

/// That one file names items of another, and by which paths.
pub type Arrows = BTreeMap<(PathBuf, PathBuf), BTreeSet<String>>;

/// How often a name may stand for another one: more is a circle of `use`.
const MOST_USES: u32 = 16;

impl Modules {
    /// Those below a crate's root: a file in `folder`, from which the names of files count.
    #[must_use]
    pub fn read(folder: &Path, root: &str) -> Self {
        let files = rust_files(folder);
        let texts = files.into_iter().map(|file| {
            let text = fs::read_to_string(&file).unwrap();
            (file.strip_prefix(folder).unwrap().to_path_buf(), text)
        });
        Self::new(&texts.collect(), Path::new(root))
    }

    /// Of sources by their paths.
    fn new(texts: &BTreeMap<PathBuf, String>, root: &Path) -> Self {
        let mut modules = Vec::new();
        add(&mut modules, texts, root.to_path_buf(), 0);
        Self(modules)
    }

    /// The files, from the root on.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(|module| module.file.as_path())
    }

    /// Which file names what of which.
    #[must_use]
    pub fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        for (from, module) in self.0.iter().enumerate() {
            for path in &module.source.paths {
                let Some(Named::Item(to)) = self.leads_to(from, path, MOST_USES) else { continue };
                if to != from {
                    let ends = (module.file.clone(), self.0[to].file.clone());
                    arrows.entry(ends).or_default().insert(path.join("::"));
                }
            }
        }
        arrows
    }

    fn leads_to(&self, from: usize, path: &[String], uses: u32) -> Option<Named> {
        let uses = uses.checked_sub(1)?;
        let (first, rest) = path.split_first()?;
        let mut named = match first.as_str() {
            "crate" => Named::Module(0),
            "self" => Named::Module(from),
            "super" => Named::Module(self.0[from].parent),
            name => self.look_up(from, name, rest.is_empty(), uses)?,
        };
        for (index, name) in rest.iter().enumerate() {
            let Named::Module(module) = named else { return Some(named) };
            named = match name.as_str() {
                "self" => named,
                "super" => Named::Module(self.0[module].parent),
                "*" => Named::Item(module),
                name => self
                    .look_up(module, name, index + 1 == rest.len(), uses)
                    .unwrap_or(Named::Item(module)),
            };
        }
        Some(named)
    }

    /// What a name means in a module. At the end of a path, a module and a function may share one.
    fn look_up(&self, module: usize, name: &str, is_last: bool, uses: u32) -> Option<Named> {
        let Module { children, source, .. } = &self.0[module];
        let child = children.get(name).map(|&child| Named::Module(child));
        let used = || self.leads_to(module, source.names.get(name)?, uses);
        let found = if is_last { used().or(child) } else { child.or_else(used) };
        let item = || source.items.contains(name).then_some(Named::Item(module));
        let by_glob = || {
            source.globs.iter().find_map(|glob| match self.leads_to(module, glob, uses)? {
                Named::Module(below) => self.look_up(below, name, is_last, uses.checked_sub(1)?),
                Named::Item(_) => None,
            })
        };
        found.or_else(item).or_else(by_glob)
    }
}

/// Adds a module and all below it; says where it is.
fn add(
    modules: &mut Vec<Module>,
    texts: &BTreeMap<PathBuf, String>,
    file: PathBuf,
    parent: usize,
) -> usize {
    let source = Source::read(&texts[&file]);
    let is_head = ["lib", "main", "mod"].iter().any(|head| file.file_stem().unwrap() == *head);
    let folder = if is_head { file.with_file_name("") } else { file.with_extension("") };
    let declared = source.declared.clone();
    let place = modules.len();
    modules.push(Module { file, parent, children: BTreeMap::new(), source });
    for name in declared {
        let candidates = [folder.join(format!("{name}.rs")), folder.join(format!("{name}/mod.rs"))];
        if let Some(file) = candidates.into_iter().find(|file| texts.contains_key(file)) {
            let child = add(modules, texts, file, place);
            modules[place].children.insert(name, child);
        }
    }
    place
}

impl Source {
    fn read(text: &str) -> Self {
        let code = bare(text);
        let tokens = without_tests(&tokens(&code));
        let mut source = Self::default();
        let mut at = 0;
        // Depths of braces at which modules in this very file end.
        let mut inner: Vec<usize> = Vec::new();
        let mut depth = 0;
        while let Some(&token) = tokens.get(at) {
            let next = tokens.get(at + 1).copied().unwrap_or_default();
            match token {
                "{" => depth += 1,
                "}" => {
                    depth -= 1;
                    inner.pop_if(|outside| *outside == depth);
                }
                "mod" if tokens.get(at + 2) == Some(&";") => source.declared.push(next.to_owned()),
                "mod" if tokens.get(at + 2) == Some(&"{") => {
                    source.items.insert(next.to_owned());
                    inner.push(depth);
                }
                // One that a macro defines, in the file that calls it.
                "mod" if next == "$" && tokens.get(at + 3) == Some(&"{") => inner.push(depth),
                "use" if next != "<" => {
                    let end = at + tokens[at..].iter().position(|&token| token == ";").unwrap();
                    source.add_use(&tokens[at + 1..end], &inner);
                    at = end;
                    continue;
                }
                "fn" | "struct" | "enum" | "union" | "trait" | "type" | "const" | "static"
                | "macro_rules" => {
                    let name = if next == "!" { tokens[at + 2] } else { next };
                    source.items.insert(name.to_owned());
                }
                _ if is_name(token) => {
                    let mut path = vec![token.to_owned()];
                    while tokens.get(at + 1) == Some(&"::")
                        && let Some(name) = tokens.get(at + 2).filter(|name| is_name(name))
                    {
                        path.push((*name).to_owned());
                        at += 2;
                    }
                    if path.len() > 1 {
                        source.paths.insert(from_file(path, inner.len()));
                    }
                }
                _ => {}
            }
            at += 1;
        }
        source
    }

    fn add_use(&mut self, tokens: &[&str], inner: &[usize]) {
        let mut leaves = Vec::new();
        take_apart(tokens, &[], &mut leaves);
        for (path, name) in leaves {
            let path = from_file(path, inner.len());
            let last = path.last().unwrap();
            if last == "*" {
                self.globs.push(path[..path.len() - 1].to_vec());
            } else {
                let name = name.unwrap_or_else(|| last.clone());
                let path = path.clone();
                self.names.insert(name, path);
            }
            self.paths.insert(path);
        }
    }
}

/// A path that is written in modules within the file, so many deep, as the file would write it.
fn from_file(mut path: Vec<String>, inner: usize) -> Vec<String> {
    let out = path.iter().take(inner).take_while(|name| *name == "super").count();
    path.splice(..out, (out > 0).then(|| "self".to_owned()));
    path
}

/// The paths in the tree of a `use`, each with the name that it is given.
fn take_apart(tokens: &[&str], prefix: &[String], leaves: &mut Vec<(Vec<String>, Option<String>)>) {
    let mut path = prefix.to_vec();
    let mut at = 0;
    let mut name = None;
    while let Some(&token) = tokens.get(at) {
        match token {
            "::" => {}
            "as" => {
                at += 1;
                name = Some(tokens[at].to_owned());
            }
            "{" => {
                let mut depth = 0;
                let mut start = at + 1;
                for (index, &token) in tokens.iter().enumerate().skip(at) {
                    match token {
                        "{" => depth += 1,
                        "}" => depth -= 1,
                        _ => {}
                    }
                    if (token == "," && depth == 1) || depth == 0 {
                        take_apart(&tokens[start..index], &path, leaves);
                        start = index + 1;
                    }
                    if depth == 0 {
                        return;
                    }
                }
            }
            // The module itself, by its own name.
            "self" if !path.is_empty() => {}
            _ => path.push(token.to_owned()),
        }
        at += 1;
    }
    if at > 0 {
        leaves.push((path, name));
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Names and numbers, `::`, and all other characters one by one.
fn tokens(code: &str) -> Vec<&str> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if is_part(first) {
            rest.find(|character| !is_part(character)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        tokens.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    tokens
}

/// Leaves out what is compiled for tests only: each such item up to its semicolon or closing brace.
fn without_tests<'code>(tokens: &[&'code str]) -> Vec<&'code str> {
    let mut left = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if !tokens[at..].starts_with(&["#", "[", "cfg", "(", "test", ")", "]"]) {
            left.push(tokens[at]);
            at += 1;
            continue;
        }
        let mut depth = 0_usize;
        let mut is_body = false;
        for &token in &tokens[at..] {
            at += 1;
            match token {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth = depth.saturating_sub(1),
                _ => {}
            }
            is_body |= token == "{" && depth == 1;
            if depth == 0 && (token == ";" || token == "}" && is_body) {
                break;
            }
        }
    }
    left
}

/// Groups of files that lead to each other, however long the way: two or more in each.
#[must_use]
pub fn circles(arrows: &Arrows) -> Vec<BTreeSet<PathBuf>> {
    let mut next: BTreeMap<&PathBuf, Vec<&PathBuf>> = BTreeMap::new();
    for (from, to) in arrows.keys() {
        next.entry(from).or_default().push(to);
    }
    let reached = |from: &PathBuf| {
        let mut reached: BTreeSet<&PathBuf> = BTreeSet::new();
        let mut waiting: Vec<&PathBuf> = next.get(from).cloned().unwrap_or_default();
        while let Some(file) = waiting.pop() {
            if reached.insert(file) {
                waiting.extend(next.get(file).into_iter().flatten());
            }
        }
        reached
    };
    let reached: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> =
        next.keys().map(|from| (*from, reached(from))).collect();
    let circle = |from: &&PathBuf| -> BTreeSet<PathBuf> {
        let leads_back = |to: &&&PathBuf| reached.get(**to).is_some_and(|on| on.contains(*from));
        reached[*from].iter().filter(leads_back).map(|file| (*file).clone()).collect()
    };
    let circles: BTreeSet<_> = next.keys().map(circle).filter(|circle| circle.len() > 1).collect();
    circles.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Arrows {
        let texts = files.iter().map(|(file, text)| (PathBuf::from(file), (*text).to_owned()));
        Modules::new(&texts.collect(), Path::new("lib.rs")).arrows()
    }

    fn written(arrows: &Arrows) -> Vec<String> {
        arrows.keys().map(|(from, to)| format!("{} {}", from.display(), to.display())).collect()
    }

    #[test]
    fn a_circle_is_found_over_three_files() {
        let arrows = tree(&[
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", "use crate::b::{self as second, One}; use crate::d;"),
            ("b/mod.rs", "mod inner; pub use inner::One;"),
            ("b/inner.rs", "pub struct One(crate::c::Two); pub fn two() {}"),
            ("c.rs", "pub struct Two; fn f() { super::a::g() }"),
            ("d.rs", "use crate::a::h; pub fn f() { crate::b::missing() }"),
        ]);
        let files = ["a.rs", "b/inner.rs", "c.rs"].map(PathBuf::from);
        assert_eq!(circles(&arrows), [BTreeSet::from(files)]);
        let expected = [
            "a.rs b/inner.rs",
            "b/inner.rs c.rs",
            "b/mod.rs b/inner.rs",
            "c.rs a.rs",
            "d.rs a.rs",
            "d.rs b/mod.rs",
        ];
        assert_eq!(written(&arrows), expected);
    }

    #[test]
    fn parent_and_child_that_name_each_other_are_a_circle() {
        let child = ("a/child.rs", "use super::Size; pub fn f(_: Size) {}");
        let free = ("a.rs", "pub mod child; pub struct Size;");
        let bound = ("a.rs", "mod child; pub struct Size; pub fn g() { child::f(Size) }");
        assert_eq!(circles(&tree(&[("lib.rs", "mod a;"), free, child])), []);
        let files = ["a.rs", "a/child.rs"].map(PathBuf::from);
        assert_eq!(circles(&tree(&[("lib.rs", "mod a;"), bound, child])), [BTreeSet::from(files)]);
    }

    #[test]
    fn tests_comments_and_modules_by_themselves_are_no_arrows() {
        let arrows = tree(&[
            ("lib.rs", "mod a; mod b; #[cfg(test)] mod t;"),
            (
                "a.rs",
                "// crate::b::f\nuse crate::b;\nfn f() { g(\"crate::b::f\") }\nfn g(_: &str) {}",
            ),
            (
                "b.rs",
                "pub fn f() {}\n#[cfg(test)]\nfn g() { crate::a::f() }\nmod m { use super::f; }",
            ),
            ("t.rs", "use crate::a::f;"),
        ]);
        assert_eq!(written(&arrows), [""; 0]);
    }

    #[test]
    fn names_of_modules_and_globs_are_followed() {
        let arrows = tree(&[
            ("lib.rs", "mod a; mod sys; mod walk; pub use walk::walk;"),
            ("a.rs", "use crate::{sys, walk}; fn f() { sys::call(); sys::raw::other(); walk(); }"),
            ("sys.rs", "pub mod raw; pub use raw::*;"),
            ("sys/raw.rs", "pub fn call() {} pub fn other() {}"),
            ("walk.rs", "pub fn walk() {}"),
        ]);
        assert_eq!(
            written(&arrows),
            ["a.rs sys/raw.rs", "a.rs walk.rs", "lib.rs walk.rs", "sys.rs sys/raw.rs"]
        );
    }
}
