//! What a function is nested in: `std::sort<…>`, `main::{lambda#2}::operator()`.
//!
//! Most functions carry a linkage name that says everything. Some have none, because no other file
//! can name them: in gcc's DWARF lambdas, functions in anonymous namespaces, and templates
//! instantiated with a lambda or another local type.
//! And a few linkage names cannot be demangled. Then the entry's own `DW_AT_name` is put behind the
//! names of the entries that enclose it. Lambdas are numbered in the order of their entries, which
//! is that of the source; a symbol numbers those of one function that have the same parameters.
//!
//! With line tables only (`-Cdebuginfo=line-tables-only`, `-gline-tables-only`) nothing encloses
//! anything. The symbol table still knows the whole name of a function that has code of its own, so
//! it is kept here where that code is; one that was inlined everywhere stays bare.

use std::collections::HashMap;

use gimli::{AttributeValue, UnitOffset, UnitRef};

use super::reader::Reader;

/// How a type without a name is called.
const UNNAMED_TYPE: &str = "{unnamed type}";

/// How deeply entries may be nested before the rest is ignored.
const DEEPEST: usize = 64;

/// The entries of one unit that can enclose a function, and what encloses each.
#[derive(Default)]
pub(super) struct Scopes<'a> {
    scopes: HashMap<usize, Scope<'a>>,
    /// First address of the code that is not inlined, by the offset of the entry that inlined
    /// copies refer to as well.
    code: HashMap<usize, u64>,
    /// Types without a name that have an `operator()`, as lambdas do, by their offset: the number
    /// of each among those of its scope, from 1.
    closures: HashMap<usize, usize>,
}

struct Scope<'a> {
    /// Offset of the enclosing scope; 0 (the unit's header) if there is none.
    parent: usize,
    name: Option<Reader<'a>>,
    anonymous: &'static str,
}

impl Scope<'_> {
    fn is_unnamed_type(&self) -> bool {
        self.name.is_none() && self.anonymous == UNNAMED_TYPE
    }
}

impl<'a> Scopes<'a> {
    /// Reads all scopes of a unit; those before a malformed entry if there is one.
    pub(super) fn read(unit: UnitRef<'_, Reader<'a>>) -> Self {
        let mut found = Self::default();
        found.read_entries(unit);
        found.number_closures();
        found
    }

    fn read_entries(&mut self, unit: UnitRef<'_, Reader<'a>>) {
        let Ok(mut entries) = unit.entries_raw(None) else { return };
        // Depth and offset of the scopes around the present entry.
        let mut around: Vec<(isize, usize)> = Vec::new();
        while !entries.is_empty() {
            let (offset, depth) = (entries.next_offset(), entries.next_depth());
            let Ok(abbreviation) = entries.read_abbreviation() else { break };
            let Some(abbreviation) = abbreviation else { continue };
            while around.last().is_some_and(|&(outer, _)| outer >= depth) {
                around.pop();
            }
            let Some(anonymous) = anonymous_scope(abbreviation.tag()) else {
                if entries.skip_attributes(abbreviation.attributes()).is_err() {
                    break;
                }
                continue;
            };
            let (mut name, mut origin, mut code) = (None, None, None);
            for specification in abbreviation.attributes() {
                let Ok(attribute) = entries.read_attribute(*specification) else {
                    return;
                };
                match (attribute.name(), attribute.value()) {
                    (gimli::DW_AT_name, value) => name = unit.attr_string(value).ok(),
                    (gimli::DW_AT_abstract_origin, AttributeValue::UnitRef(at)) => {
                        origin = Some(at.0);
                    }
                    (gimli::DW_AT_low_pc, value) => {
                        code = unit.attr_address(value).ok().flatten();
                    }
                    _ => {}
                }
            }
            if let (Some(origin), Some(code)) = (origin, code) {
                self.code.insert(origin, code);
            }
            let parent = around.last().map_or(0, |&(_, offset)| offset);
            if name.is_some_and(|name| name.starts_with(b"operator()"))
                && self.scopes.get(&parent).is_some_and(Scope::is_unnamed_type)
            {
                self.closures.insert(parent, 0);
            }
            self.scopes.insert(offset.0, Scope { parent, name, anonymous });
            around.push((depth, offset.0));
        }
    }

    fn number_closures(&mut self) {
        let mut offsets: Vec<usize> = self.closures.keys().copied().collect();
        offsets.sort_unstable();
        let mut counts = HashMap::<usize, usize>::new();
        for offset in offsets {
            let scope = self.scopes.get(&offset).map_or(0, |scope| scope.parent);
            let count = counts.entry(scope).or_default();
            *count += 1;
            self.closures.insert(offset, *count);
        }
    }

    /// The type of the lambda whose function is at `offset`, if it is one's.
    pub(super) fn closure_of(&self, offset: UnitOffset) -> Option<UnitOffset> {
        let parent = self.scopes.get(&offset.0)?.parent;
        self.closures.contains_key(&parent).then_some(UnitOffset(parent))
    }

    /// Where the code of the function at `offset` begins that is not inlined anywhere, if this unit
    /// has some.
    pub(super) fn code(&self, offset: UnitOffset) -> Option<u64> {
        self.code.get(&offset.0).copied()
    }

    /// The name of the function at `offset`, after the names of what encloses it, each with
    /// `between` behind it.
    pub(super) fn qualified(&self, offset: UnitOffset, name: &str, between: &str) -> String {
        let mut parts = Vec::new();
        let mut next = self.scopes.get(&offset.0).map_or(0, |scope| scope.parent);
        while let Some(scope) = self.scopes.get(&next)
            && parts.len() < DEEPEST
        {
            parts.push(match (scope.name, self.closures.get(&next)) {
                (Some(name), _) => name.to_string_lossy(),
                // gcc gives the type of a lambda no name, and nobody else can call a type without
                // one.
                (None, Some(number)) => format!("{{lambda#{number}}}").into(),
                (None, None) => scope.anonymous.into(),
            });
            next = scope.parent;
        }
        let mut whole = String::new();
        for part in parts.iter().rev().filter(|part| !part.is_empty()) {
            whole.push_str(part);
            whole.push_str(between);
        }
        whole + name
    }
}

/// How a scope with this tag is called if it has no name, as c++filt(1) does it; `None` if the tag
/// is no scope.
fn anonymous_scope(tag: gimli::DwTag) -> Option<&'static str> {
    match tag {
        gimli::DW_TAG_namespace => Some("(anonymous namespace)"),
        gimli::DW_TAG_module => Some(""),
        gimli::DW_TAG_class_type
        | gimli::DW_TAG_structure_type
        | gimli::DW_TAG_union_type
        | gimli::DW_TAG_enumeration_type => Some(UNNAMED_TYPE),
        // A copy of a function whose name is elsewhere.
        gimli::DW_TAG_subprogram => Some(""),
        _ => None,
    }
}
