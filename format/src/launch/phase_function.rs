//! Functions whose entries begin phases (`record --phase-at`): what the collector is told of them.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::file_identity::FileIdentity;

/// Name of a symbolic link in [`RUN_DIR`](super::RUN_DIR) whose text is a [`PhaseFunction`] in each
/// line.
pub const PHASE_FUNCTIONS: &str = "phase-functions";
/// Most of them: x86 processors have four breakpoints.
pub const MOST_PHASE_FUNCTIONS: usize = 4;
/// Most bytes of a name: those of a phase, and room for the count of its entry.
pub const PHASE_FUNCTION_NAME: usize = crate::arena::PHASE_NAME - 8;

/// A function of a load module.
///
/// As text: `1139 b1f3a… solve`, or with `fDEVICE.INODE.SIZE.MODIFIED.CHANGED` of a module without
/// a build id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseFunction {
    /// ELF virtual address of its first instruction.
    pub address: u64,
    /// The module that has it.
    pub module: ModuleKey,
    /// What its phases are called, before their numbers. Not empty, in one line.
    pub name: String,
}

/// By what a load module is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModuleKey {
    /// Its build id, which is not empty.
    BuildId(Vec<u8>),
    /// The file of one that has none.
    File(FileIdentity),
}

impl fmt::Display for PhaseFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x} ", self.address)?;
        match &self.module {
            ModuleKey::BuildId(id) => {
                f.write_str("b")?;
                id.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
            }
            ModuleKey::File(file) => {
                let fields = file.fields().map(|field| field.to_string());
                write!(f, "f{}", fields.join("."))?;
            }
        }
        write!(f, " {}", self.name)
    }
}

impl PhaseFunction {
    /// Reads the text of one; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ' ');
        let address = u64::from_str_radix(parts.next()?, 16).ok()?;
        let module = ModuleKey::parse(parts.next()?)?;
        let name = parts.next().filter(|name| (1..=PHASE_FUNCTION_NAME).contains(&name.len()))?;
        Some(Self { address, module, name: name.to_string() })
    }

    /// Reads the text of the link.
    #[must_use]
    pub fn parse_all(text: &[u8]) -> Vec<Self> {
        let lines = core::str::from_utf8(text).unwrap_or_default().lines();
        lines.filter_map(Self::parse).take(MOST_PHASE_FUNCTIONS).collect()
    }
}

impl ModuleKey {
    fn parse(text: &str) -> Option<Self> {
        if let Some(digits) = text.strip_prefix('b') {
            let byte = |pair: &[u8]| u8::from_str_radix(core::str::from_utf8(pair).ok()?, 16).ok();
            let id: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
            return id.filter(|id| !id.is_empty()).map(Self::BuildId);
        }
        let mut fields = text.strip_prefix('f')?.split('.').map(str::parse);
        let mut field = || fields.next()?.ok();
        Some(Self::File(FileIdentity {
            device: field()?,
            inode: field()?,
            size: field()?,
            modified_ns: field()?,
            changed_ns: field()?,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_come_back_from_their_text() {
        let file = FileIdentity { device: 1, inode: 2, size: 3, modified_ns: 4, changed_ns: 5 };
        let function =
            |module, name: &str| PhaseFunction { address: 0x1139, module, name: name.into() };
        let functions = [
            function(ModuleKey::BuildId(alloc::vec![0x1f, 0, 0xa3]), "solve"),
            function(ModuleKey::File(file), "step(int, char)"),
        ];
        let text = functions.each_ref().map(ToString::to_string);
        assert_eq!(text, ["1139 b1f00a3 solve", "1139 f1.2.3.4.5 step(int, char)"]);
        assert_eq!(PhaseFunction::parse_all(text.join("\n").as_bytes()), functions);
        for wrong in
            ["", "1139", "1139 b solve", "x b1f solve", "1139 f1.2 solve", "1139 b1f ", "1 c1 a"]
        {
            assert_eq!(PhaseFunction::parse(wrong), None, "{wrong}");
        }
        let many = [&*text[0]; 9].join("\n");
        assert_eq!(PhaseFunction::parse_all(many.as_bytes()).len(), MOST_PHASE_FUNCTIONS);
    }
}
