//! Columns of words and numbers that say what a row is.

use csprof_format::address::FrameKind as SavedKind;
use csprof_format::profile::{Frame, Module, SymbolSource};

use crate::profile::{self, FrameKind, Function, FunctionRef};
use crate::refine::Refined;
use crate::views::columns::cell::Cell;
use crate::views::columns::column::{
    About, At, COLUMN, Definition, Explanation, Lines, Order, Unit,
};
use crate::views::columns::explain::pair;
use crate::views::columns::lists::Id;
use crate::views::number::hex;

/// All of them.
pub(super) const COLUMNS: &[Definition] = &[
    FUNCTION,
    KIND,
    MODULE,
    FILE,
    LINE,
    ADDRESS,
    BUILD_ID,
    CALL_FILE,
    CALL_LINE,
    FUNCTION_OF_BOTH,
];

const FUNCTION: Definition = Definition {
    id: Id::Function,
    key: "function",
    value: |at| Cell::of_text(at.named().map(|function| &*function.name)),
    order: Order::By("name"),
    help: "Function name",
    ..COLUMN
};

const KIND: Definition = Definition {
    id: Id::Kind,
    key: "kind",
    value: |at| Cell::Text(at.row.kind.definition().reported),
    help: "Kind of frame",
    explain: kind,
    ..COLUMN
};

fn kind(at: &At<'_>, about: About) -> Explanation {
    let text = match at.row.kind {
        FrameKind::Context => about.context,
        kind => kind.definition().explanation,
    };
    if text.is_empty() {
        return Vec::new();
    }
    vec![pair("kind", text)]
}

const MODULE: Definition = Definition {
    id: Id::Module,
    key: "module",
    name: Some("module"),
    value: |at| {
        let module = at.function().and_then(|function| function.module);
        Cell::of_text(module.map(|module| at.basis.refined.profile.module_path(module)))
    },
    help: "Load module",
    explain: module,
    ..COLUMN
};

fn module(at: &At<'_>, _: About) -> Explanation {
    let module = at.function().and_then(|function| function.module);
    let path = module.map(|module| at.basis.refined.profile.module_path(module));
    path.map(|path| pair("module", path)).into_iter().collect()
}

const FILE: Definition = Definition {
    id: Id::File,
    key: "file",
    name: Some("file"),
    value: |at| {
        let file = at.function().and_then(|function| function.file);
        Cell::of_text(file.map(|file| at.basis.refined.profile.string(file)))
    },
    help: "Source file",
    explain: source,
    ..COLUMN
};

fn source(at: &At<'_>, _: About) -> Explanation {
    let refined = at.basis.refined;
    let Some(function) = at.function() else { return Vec::new() };
    let text = match function.file {
        Some(file) if function.line > 0 => {
            format!("{}:{}", refined.profile.string(file), function.line)
        }
        Some(file) => refined.profile.string(file).to_owned(),
        None => no_source(refined, at.row.function).to_owned(),
    };
    let is_known = function.file.is_some() || at.row.kind != FrameKind::Context;
    match at.row.kind != FrameKind::Root && is_known {
        true => vec![pair("source", text)],
        false => Vec::new(),
    }
}

/// What is known of the source of a function of which it is not known where it is declared.
fn no_source(refined: &Refined, function: FunctionRef) -> &'static str {
    if refined.frames.iter().any(|frame| frame.function == function && frame.line > 0) {
        return "its lines are known, but not where it is declared";
    }
    let module = refined.functions[function.index()].module;
    let module = module.and_then(|id| refined.profile.info.modules.get(id.index()));
    // Of a module with line information, some functions have none.
    let has_lines = |module: &Module| matches!(module.symbols, SymbolSource::Dwarf(_));
    match module.is_some_and(|module| !has_lines(module)) {
        true => "not known: its module has no line information (Info says more)",
        false => "not known",
    }
}

const LINE: Definition = Definition {
    id: Id::Line,
    key: "line",
    name: Some("line"),
    unit: Unit::Count,
    value: |at| match at.function().map_or(0, |function| function.line) {
        0 => Cell::Nothing,
        line => Cell::Count(line.into()),
    },
    help: "Line in the source file",
    repeats: Some(Id::File),
    ..COLUMN
};

const ADDRESS: Definition = Definition {
    id: Id::Address,
    key: "address",
    unit: Unit::Count,
    value: |at| at.site().map_or(Cell::Nothing, |frame| Cell::Count(frame.offset)),
    help: "Offset in the load module",
    explain: address,
    ..COLUMN
};

fn address(at: &At<'_>, _: About) -> Explanation {
    let text = at.site().map(|frame| {
        let meaning = match frame.kind {
            SavedKind::Call => "where the only call of this row returns to",
            _ => "the only instruction of this row that was sampled",
        };
        format!("{}: {meaning}", at.basis.refined.profile.address(frame))
    });
    text.map(|text| pair("address", text)).into_iter().collect()
}

const BUILD_ID: Definition = Definition {
    id: Id::BuildId,
    key: "build_id",
    value: |at| match at.module().map_or(&[][..], |module| &module.build_id) {
        [] => Cell::Nothing,
        id => Cell::Bytes(id),
    },
    help: "Build id of the load module",
    explain: build_id,
    ..COLUMN
};

fn build_id(at: &At<'_>, _: About) -> Explanation {
    let id = at.module().map_or(&[][..], |module| &module.build_id);
    if id.is_empty() { Vec::new() } else { vec![pair("build id", hex(id))] }
}

const CALL_FILE: Definition = Definition {
    id: Id::CallFile,
    key: "call_file",
    value: |at| {
        let file = at.frame().and_then(|frame| frame.file);
        Cell::of_text(file.map(|file| at.basis.refined.profile.string(file)))
    },
    help: "Source file of the line that is executed, or called from",
    explain: call,
    ..COLUMN
};

fn call(at: &At<'_>, _: About) -> Explanation {
    let Some(frame) = at.frame().filter(|frame| frame.line > 0) else { return Vec::new() };
    let file = frame.file.map_or("", |file| at.basis.refined.profile.string(file));
    vec![pair("line", format!("{file}:{}", frame.line))]
}

const CALL_LINE: Definition = Definition {
    id: Id::CallLine,
    key: "call_line",
    unit: Unit::Count,
    value: |at| match at.frame().map_or(0, |frame| frame.line) {
        0 => Cell::Nothing,
        line => Cell::Count(line.into()),
    },
    help: "The line that is executed, or called from",
    repeats: Some(Id::CallFile),
    ..COLUMN
};

const FUNCTION_OF_BOTH: Definition =
    Definition { id: Id::FunctionOfBoth, lines: Lines::OfBoth, help: "By name", ..FUNCTION };

impl<'r> At<'r> {
    /// The row's function.
    fn function(&self) -> Option<&'r Function> {
        self.basis.refined.functions.get(self.row.function.index())
    }

    /// The function whose name machines get: that of the profile, where a row is an address in it.
    fn named(&self) -> Option<&'r Function> {
        let profile = &self.basis.refined.profile;
        let frame = self.row.frame.filter(|_| self.basis.addresses);
        let loaded = frame.and_then(|frame| profile.frames.get(frame.index()));
        match loaded {
            Some(frame) => profile.functions.get(frame.function.index()),
            None => self.function(),
        }
    }

    /// The address of all frames of the row, if they have one.
    fn site(&self) -> Option<&'r Frame> {
        self.basis.refined.profile.info.frames.get(self.frame()?.site?.index())
    }

    /// The load module of the row's function.
    fn module(&self) -> Option<&'r Module> {
        let function = self.function()?;
        self.basis.refined.profile.info.modules.get(function.module?.index())
    }

    /// One of the frames of the row, if all have one address.
    fn frame(&self) -> Option<&'r profile::Frame> {
        self.basis.refined.frames.get(self.row.frame?.index())
    }
}
