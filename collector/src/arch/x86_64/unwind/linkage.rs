//! Procedure linkage tables that have no call frame information.
//!
//! GNU ld describes its own stubs in `.eh_frame`; lld, rustc's default linker on this platform, and
//! mold do not. The stubs never touch the frame pointer, so that following it there would skip the
//! function that calls. They are few fixed sequences, told apart by their bytes when a module is
//! loaded. SETUP side.

use super::recipe::{Recipe, Slot};

/// Bytes of one entry; entries are aligned to as many.
pub(crate) const ENTRY: usize = 16;

/// Recipes by the offset within the entry at which they begin to hold.
pub(crate) type EntryRecipes = &'static [(u8, Recipe)];

/// The recipes of an entry, if these bytes are one.
pub(crate) fn entry(code: &[u8; ENTRY]) -> Option<EntryRecipes> {
    match *code {
        // 0: jmp *slot(%rip)   6: push $index   11: jmp header
        [0xff, 0x25, _, _, _, _, 0x68, _, _, _, _, 0xe9, ..] => Some(&PUSHED_AT_11),
        // 0: push link_map(%rip)   6: jmp *resolver(%rip)
        [0xff, 0x35, _, _, _, _, 0xff, 0x25, ..]
        | [0xff, 0x35, _, _, _, _, 0xf2, 0xff, 0x25, ..] => Some(&HEADER),
        // 0: endbr64   4: push %r11   6: push link_map(%rip)   12: jmp *resolver(%rip)
        [0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x53, 0xff, 0x35, _, _, _, _, 0xff, 0x25, ..] => {
            Some(&HEADER_AFTER_MOVE)
        }
        // 0: endbr64   4: push $index   9: jmp header
        [0xf3, 0x0f, 0x1e, 0xfa, 0x68, _, _, _, _, 0xe9, ..]
        | [0xf3, 0x0f, 0x1e, 0xfa, 0x68, _, _, _, _, 0xf2, 0xe9, ..] => Some(&PUSHED_AT_9),
        // 0: endbr64   4: jmp *slot(%rip)
        [0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, ..]
        | [0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, ..]
        // 0: endbr64   4: mov $index,%r11d   10: jmp *slot(%rip)
        | [0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0xbb, _, _, _, _, 0xff, 0x25, ..]
        // 0: jmp *slot(%rip)   6: padding, or a no-operation and the next entry of eight bytes
        | [0xff, 0x25, _, _, _, _, 0xcc, 0xcc, 0xcc, 0xcc, ..]
        | [0xff, 0x25, _, _, _, _, 0x66, 0x90, ..] => Some(&NOTHING_PUSHED),
        _ => None,
    }
}

const PUSHED_AT_11: [(u8, Recipe); 1] = [(0, Recipe::Plt { threshold: 11 })];
const PUSHED_AT_9: [(u8, Recipe); 1] = [(0, Recipe::Plt { threshold: 9 })];
const NOTHING_PUSHED: [(u8, Recipe); 1] = [(0, Recipe::Plt { threshold: 16 })];
/// Reached from an entry that pushed its index; pushes the link map on top.
const HEADER: [(u8, Recipe); 2] = [
    (0, Recipe::Sp { bp: Slot::SAME, offset: 16 }),
    (6, Recipe::Sp { bp: Slot::SAME, offset: 24 }),
];
/// Reached from an entry that has its index in r11d (mold).
const HEADER_AFTER_MOVE: [(u8, Recipe); 3] = [
    (0, Recipe::Sp { bp: Slot::SAME, offset: 8 }),
    (6, Recipe::Sp { bp: Slot::SAME, offset: 16 }),
    (12, Recipe::Sp { bp: Slot::SAME, offset: 24 }),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The first bytes of an entry, padded as linkers do.
    fn entry_of(bytes: &[u8]) -> Option<EntryRecipes> {
        let mut code = [0x90; ENTRY];
        code[..bytes.len()].copy_from_slice(bytes);
        entry(&code)
    }

    /// ```text
    /// 145960: ff 35 02 f7 00 00    push 0xf702(%rip)
    /// 145966: ff 25 04 f7 00 00    jmp  *0xf704(%rip)
    /// 145970: ff 25 02 f7 00 00    jmp  *0xf702(%rip)
    /// 145976: 68 00 00 00 00       push $0x0
    /// 14597b: e9 e0 ff ff ff       jmp  145960
    /// ```
    #[test]
    fn the_stubs_of_lld() {
        let header = [0xff, 0x35, 2, 0xf7, 0, 0, 0xff, 0x25, 4, 0xf7, 0, 0];
        assert_eq!(entry_of(&header), Some(&HEADER[..]));
        let stub = [0xff, 0x25, 2, 0xf7, 0, 0, 0x68, 0, 0, 0, 0, 0xe9, 0xe0, 0xff, 0xff, 0xff];
        assert_eq!(entry_of(&stub), Some(&PUSHED_AT_11[..]));
    }

    /// ```text
    /// f3 0f 1e fa           endbr64                f3 0f 1e fa           endbr64
    /// 68 01 00 00 00        push $0x1              ff 25 76 2f 00 00     jmp *0x2f76(%rip)
    /// e9 d0 ff ff ff        jmp  1020
    /// ```
    #[test]
    fn the_stubs_of_indirect_branch_tracking() {
        let lazy = [0xf3, 0x0f, 0x1e, 0xfa, 0x68, 1, 0, 0, 0, 0xe9, 0xd0, 0xff, 0xff, 0xff];
        assert_eq!(entry_of(&lazy), Some(&PUSHED_AT_9[..]));
        let second = [0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0x76, 0x2f, 0, 0];
        assert_eq!(entry_of(&second), Some(&NOTHING_PUSHED[..]));
    }

    /// ```text
    /// f3 0f 1e fa           endbr64                f3 0f 1e fa           endbr64
    /// 41 53                 push %r11              41 bb 01 00 00 00     mov $0x1,%r11d
    /// ff 35 ea 2f 00 00     push 0x2fea(%rip)      ff 25 d4 2f 00 00     jmp *0x2fd4(%rip)
    /// ff 25 ec 2f 00 00     jmp *0x2fec(%rip)
    /// ```
    #[test]
    fn the_stubs_of_mold() {
        let header = [0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x53, 0xff, 0x35, 0xea, 0x2f, 0, 0, 0xff, 0x25];
        assert_eq!(entry_of(&header), Some(&HEADER_AFTER_MOVE[..]));
        let lazy = [0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0xbb, 1, 0, 0, 0, 0xff, 0x25, 0xd4, 0x2f, 0, 0];
        assert_eq!(entry_of(&lazy), Some(&NOTHING_PUSHED[..]));
    }

    #[test]
    fn other_code_is_no_stub() {
        // A jump table dispatch, and a function prologue.
        assert_eq!(entry_of(&[0xff, 0x24, 0xc5, 0, 0x20, 0x40, 0]), None);
        assert_eq!(entry_of(&[0x55, 0x48, 0x89, 0xe5]), None);
    }
}
