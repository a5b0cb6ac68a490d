//! The columns there are: each is one entry in the file of its theme, with its heading, its values
//! and what `=` says of it.

mod compared;
mod contexts;
mod costs;
mod derived;
mod edges;
mod names;
mod over_ranks;
mod spread;

use super::column::{COLUMN, Definition};
use super::lists::Id;

/// Each column, by its number. `--sort` and the page of `=` have them in this order.
pub static DEFINITIONS: &[Definition] = &by_number();

/// The columns of each theme.
const THEMES: &[&[Definition]] = &[
    costs::COLUMNS,
    edges::COLUMNS,
    spread::COLUMNS,
    names::COLUMNS,
    compared::COLUMNS,
    contexts::COLUMNS,
    derived::COLUMNS,
    over_ranks::COLUMNS,
];

/// All of them, each in the place of its [`Id`]; it does not compile unless each that
/// [`Id::COUNT`] counts has one entry.
const fn by_number() -> [Definition; Id::COUNT] {
    let mut columns = [COLUMN; Id::COUNT];
    let mut entries = 0;
    let mut theme = 0;
    while theme < THEMES.len() {
        let mut entry = 0;
        while entry < THEMES[theme].len() {
            let column = THEMES[theme][entry];
            let number = column.id as usize;
            assert!(number < Id::COUNT, "Id::COUNT goes by another column than the last one");
            assert!(columns[number].key.is_empty(), "a column has two entries");
            assert!(!column.key.is_empty(), "a column has no key");
            columns[number] = column;
            entry += 1;
        }
        entries += entry;
        theme += 1;
    }
    assert!(entries == Id::COUNT, "a column has no entry");
    columns
}
