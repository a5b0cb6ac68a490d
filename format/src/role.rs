//! What threads of a process do, as far as their names say.

/// A name with `*` in place of each number, as pools number their threads.
///
/// ```
/// # use csprof_format::role::numberless;
/// assert!(numberless(b"worker-12").eq(*b"worker-*"));
/// ```
pub fn numberless(name: &[u8]) -> impl Iterator<Item = u8> {
    let before = core::iter::once(None).chain(name.iter().map(Some));
    name.iter().zip(before).filter_map(|(&byte, before)| {
        match (byte.is_ascii_digit(), before.is_some_and(u8::is_ascii_digit)) {
            (false, _) => Some(byte),
            (true, false) => Some(b'*'),
            (true, true) => None,
        }
    })
}
