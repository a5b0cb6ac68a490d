//! What a process has mapped, as `/proc` says it.

/// A mapping of code in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CodeMapping {
    pub(super) start: u64,
    pub(super) end: u64,
    /// In the file, in bytes.
    pub(super) offset: u64,
    /// Major and minor number.
    pub(super) device: (u32, u32),
    pub(super) inode: u64,
    pub(super) path: Vec<u8>,
}

impl CodeMapping {
    /// Whether the other one is a part of it, or all: the same bytes at the same addresses.
    pub(super) fn has(&self, part: &Self) -> bool {
        let file = |of: &Self| (of.device, of.inode, of.path.clone());
        let place = |of: &Self| of.start.wrapping_sub(of.offset);
        let is_inside = self.start <= part.start && part.end <= self.end;
        is_inside && place(self) == place(part) && file(self) == file(part)
    }

    /// Whether it is of a load module: of a file, or the vdso.
    pub(super) fn is_of_module(&self) -> bool {
        let is_file = self.path.starts_with(b"/") && self.inode != 0;
        let is_shared_memory = [&b"//anon"[..], b"/memfd:", b"/dev/zero", b"/SYSV"]
            .iter()
            .any(|name| self.path.starts_with(name));
        self.path == b"[vdso]" || is_file && !is_shared_memory
    }
}

/// Mappings of code of load modules in the text of `/proc/PID/maps` (proc_pid_maps(5)).
pub(super) fn code_mappings(maps: &[u8]) -> impl Iterator<Item = CodeMapping> {
    let lines = maps.split(|&byte| byte == b'\n');
    lines.filter_map(code_mapping).filter(CodeMapping::is_of_module)
}

fn code_mapping(line: &[u8]) -> Option<CodeMapping> {
    let mut fields = line.splitn(6, |&byte| byte == b' ');
    let mut text = || std::str::from_utf8(fields.next()?).ok();
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) = text()?.split_once('-')?;
    let rights = text()?;
    let offset = hex(text()?)?;
    let (major, minor) = text()?.split_once(':')?;
    let device = (hex(major)? as u32, hex(minor)? as u32);
    let inode = text()?.parse().ok()?;
    let path = fields.next().unwrap_or_default();
    let blanks = path.iter().take_while(|&&byte| byte == b' ').count();
    let path = path[blanks..].to_vec();
    let mapping = CodeMapping { start: hex(start)?, end: hex(end)?, offset, device, inode, path };
    (rights.as_bytes().get(2) == Some(&b'x')).then_some(mapping)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_files_and_the_vdso_are_modules() {
        let maps = b"\
55d0c0a00000-55d0c0a02000 r--p 00000000 08:01 42                         /usr/bin/two words
55d0c0a02000-55d0c0a06000 r-xp 00002000 08:01 42                         /usr/bin/two words
7f0000000000-7f0000001000 r-xp 00000000 00:00 0
7f0000001000-7f0000002000 r-xp 00000000 00:01 9                          /memfd:code (deleted)
7ffe68d2b000-7ffe68d2d000 r-xp 00000000 00:00 0                          [vdso]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
";
        let found: Vec<_> = code_mappings(maps).collect();
        let expected = CodeMapping {
            start: 0x55d0_c0a0_2000,
            end: 0x55d0_c0a0_6000,
            offset: 0x2000,
            device: (8, 1),
            inode: 42,
            path: b"/usr/bin/two words".to_vec(),
        };
        assert_eq!(found[0], expected);
        assert_eq!((found.len(), &found[1].path[..]), (2, &b"[vdso]"[..]));
    }
}
