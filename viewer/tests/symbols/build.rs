//! Tiny programs, compiled when a test runs, and profiles made of their addresses.

use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use csprof::symbols::cache::Cache;
use csprof::symbols::files::DiskFiles;
use csprof::symbols::resolve;
use csprof_format::address::FrameKind;
use csprof_format::ids::{FrameId, ModuleId, StringId};
use csprof_format::profile::{Frame, Module, Profile, RunInfo, SymbolSource};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

use crate::notes::skip;

/// A folder for the files of one test, removed when it ends.
pub(crate) struct Workshop(tempfile::TempDir);

/// Runs a tool. `None` means that it is not installed, and says so: the test is skipped.
#[must_use]
pub(crate) fn run(tool: &str, arguments: &[&str], input: &str) -> Option<String> {
    use std::io::Write as _;
    let spawned = Command::new(tool)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match spawned {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            skip("symbols of real files", &format!("{tool} not installed"));
            return None;
        }
        other => other.unwrap(),
    };
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let feeder = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    // A tool that reads no input may have closed it.
    let _ = feeder.join().unwrap();
    assert!(
        output.status.success(),
        "{tool} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(String::from_utf8(output.stdout).unwrap())
}

impl Workshop {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Compiles `source` with `compiler` (cc, g++, rustc, …) into the file `name`.
    #[must_use]
    pub(crate) fn compile(
        &self,
        compiler: &str,
        name: &str,
        source: &str,
        flags: &[&str],
    ) -> Option<String> {
        let extension = match compiler {
            "g++" => "cc",
            "rustc" => "rs",
            "gfortran" => "f90",
            "gdc" => "d",
            _ => "c",
        };
        let base = name.rsplit('/').next().unwrap();
        let source = self.write(&format!("{base}.{extension}"), source);
        let output = self.path(name);
        std::fs::create_dir_all(Path::new(&output).parent().unwrap()).unwrap();
        let mut arguments = flags.to_vec();
        let folder = self.path("");
        if compiler == "gfortran" {
            // Module files are written to the current folder otherwise.
            arguments.extend(["-J", &folder]);
        }
        arguments.extend(["-o", &output, &source]);
        run(compiler, &arguments, "")?;
        Some(output)
    }
}

/// An ELF file of a test, read by the `object` crate.
pub(crate) struct Binary {
    pub(crate) path: String,
    bytes: Vec<u8>,
}

impl Binary {
    pub(crate) fn open(path: &str) -> Self {
        Self { path: path.to_owned(), bytes: std::fs::read(path).unwrap() }
    }

    fn file(&self) -> object::File<'_> {
        object::File::parse(&*self.bytes).unwrap()
    }

    pub(crate) fn build_id(&self) -> Vec<u8> {
        self.file().build_id().unwrap().unwrap_or_default().to_vec()
    }

    pub(crate) fn has_symbol_table(&self) -> bool {
        self.file().symbols().next().is_some()
    }

    /// Address of the symbol with this exact name.
    pub(crate) fn address(&self, symbol: &str) -> u64 {
        let file = self.file();
        let found = file.symbols().chain(file.dynamic_symbols()).find(|s| s.name() == Ok(symbol));
        found.unwrap_or_else(|| panic!("{} has no symbol {symbol}", self.path)).address()
    }

    /// All addresses of the code of a function.
    pub(crate) fn code(&self, symbol: &str) -> Vec<u64> {
        let file = self.file();
        let found = file.symbols().find(|s| s.name() == Ok(symbol)).unwrap();
        (found.address()..found.address() + found.size()).collect()
    }

    /// All addresses of the functions whose names contain a text.
    pub(crate) fn code_containing(&self, text: &str) -> Vec<u64> {
        let file = self.file();
        let found = file.symbols().filter(|s| s.name().is_ok_and(|name| name.contains(text)));
        found.flat_map(|s| s.address()..s.address() + s.size()).collect()
    }

    /// All addresses of `.text`.
    pub(crate) fn text(&self) -> Vec<u64> {
        let (start, bytes) = self.section(".text");
        (start..start + bytes.len() as u64).collect()
    }

    /// Offsets in a function at which `call` with a 32-bit displacement seems to begin.
    pub(crate) fn calls(&self, symbol: &str) -> impl Iterator<Item = usize> {
        let code = self.code(symbol);
        let (start, text) = self.section(".text");
        let first = (code[0] - start) as usize;
        let body = text[first..first + code.len()].to_vec();
        (0..code.len()).filter(move |&at| body[at] == 0xe8)
    }

    /// Address and bytes of a section.
    pub(crate) fn section(&self, name: &str) -> (u64, Vec<u8>) {
        let file = self.file();
        let section = file.section_by_name(name).unwrap();
        (section.address(), section.data().unwrap().to_vec())
    }

    /// A profile with one frame for each address of this file.
    pub(crate) fn profile(&self, kind: FrameKind, addresses: &[u64]) -> Profile {
        let module = Module {
            path: StringId(0),
            build_id: self.build_id(),
            symbols: SymbolSource::NotAsked,
        };
        let frame = |&offset: &u64| Frame { kind, module: Some(ModuleId(0)), offset };
        Profile {
            // A run that begins when all files are there.
            run: RunInfo {
                directory: b"/".to_vec(),
                start_unix_ns: u64::MAX,
                ..RunInfo::default()
            },
            strings: vec![self.path.as_str().into()],
            modules: vec![module],
            frames: addresses.iter().map(frame).collect(),
            ..Profile::default()
        }
    }
}

/// A profile after resolution.
pub(crate) struct Resolved {
    pub(crate) profile: Profile,
    pub(crate) warnings: Vec<String>,
}

impl Resolved {
    /// Resolves a profile with debug files from `folders` only. With a cache, an empty one and one
    /// that has it all, the result is the same.
    pub(crate) fn with_debug_folders(profile: Profile, folders: &[&str]) -> Self {
        let folders: Vec<_> = folders.iter().map(PathBuf::from).collect();
        let files = || DiskFiles::with_debug_folders(folders.clone());
        let resolved = Self::with(profile.clone(), &files());
        let cache = tempfile::tempdir().unwrap();
        for state in ["empty", "full"] {
            let cache = Cache::at(cache.path().to_owned(), 1 << 30);
            let remembered = Self::with(profile.clone(), &files().with_cache(cache));
            assert_eq!(remembered.profile, resolved.profile, "{state} cache");
            assert_eq!(remembered.warnings, resolved.warnings, "{state} cache");
        }
        resolved
    }

    /// Resolves a profile with these files.
    pub(crate) fn with(mut profile: Profile, files: &DiskFiles) -> Self {
        let warnings = resolve(&mut profile, files, |_, _| ControlFlow::Continue(()));
        files.remember();
        Self { profile, warnings }
    }

    /// Resolves interrupted pcs of a file.
    pub(crate) fn pcs(binary: &Binary, addresses: &[u64]) -> Self {
        Self::with_debug_folders(binary.profile(FrameKind::Leaf, addresses), &[])
    }

    pub(crate) fn string(&self, id: StringId) -> &str {
        &self.profile.strings[id.index()]
    }

    /// Rows of a frame as `function file:line`, outermost first; files without folders.
    pub(crate) fn rows(&self, frame: usize) -> Vec<String> {
        let sites = &self.profile.sites;
        let rows = sites.rows(FrameId::from_index(frame));
        rows.map(|row| {
            let function = &self.profile.functions[sites.function[row].index()];
            let name = self.string(function.name);
            match sites.file[row] {
                Some(file) => {
                    let file = self.string(file).rsplit('/').next().unwrap();
                    format!("{name} {file}:{}", sites.line[row])
                }
                None => name.to_owned(),
            }
        })
        .collect()
    }

    /// The outermost function's name for each frame; `-` where there is none.
    pub(crate) fn names(&self) -> Vec<&str> {
        let sites = &self.profile.sites;
        (0..self.profile.frames.len())
            .map(|frame| {
                let mut rows = sites.rows(FrameId::from_index(frame));
                rows.next().map_or("-", |row| {
                    let function = &self.profile.functions[sites.function[row].index()];
                    self.string(function.name)
                })
            })
            .collect()
    }

    /// Where the module's symbols came from: variant and text.
    pub(crate) fn source(&self) -> (&'static str, &str) {
        match &self.profile.modules[0].symbols {
            SymbolSource::NotAsked => ("not asked", ""),
            SymbolSource::Dwarf(text) => ("dwarf", self.string(*text)),
            SymbolSource::SymbolTable(text) => ("symbol table", self.string(*text)),
            SymbolSource::Exports(text) => ("exports", self.string(*text)),
            SymbolSource::Stripped(text) => ("stripped", self.string(*text)),
            SymbolSource::Unreadable(text) => ("unreadable", self.string(*text)),
            SymbolSource::BuildIdDiffers(text) => ("build id differs", self.string(*text)),
        }
    }
}
