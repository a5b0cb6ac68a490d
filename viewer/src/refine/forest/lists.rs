//! Groups nodes into rows, in one pass over the nodes: the nodes below one row that have the same
//! key are a row.

use rustc_hash::FxHashMap;

use crate::profile::FrameRef;

/// The rows below each row, while they are being found.
pub(crate) struct Lists<'r> {
    frame: &'r [FrameRef],
    /// The key of each frame: nodes below one row are a row if their frames have the same key.
    keys: Vec<u32>,
    /// A list for each node; only those of the first nodes of rows are used.
    all: Vec<List>,
    /// The rows below rows with more than [`FEW`] of them, by parent and key; without the root's.
    of_many: FxHashMap<(u32, u32), u32>,
    /// The rows below the root by key, if there are more than [`FEW`].
    of_root: FxHashMap<u32, u32>,
}

#[derive(Clone, Copy, Default)]
struct List {
    /// A filter: the key of each row below sets one of 63 bits. All bits are set, with [`MANY`], if
    /// the rows are in a map.
    seen: u64,
    /// The last row in the list; 0 if there is none.
    last: u32,
    /// The row before this one in the list of the row above; 0 if there is none.
    before: u32,
}

/// The longest list: more rows are faster to look up in a map.
const FEW: usize = 32;

/// Set by no key: the rows are in a map, not in the list.
const MANY: u64 = 1 << 63;

impl<'r> Lists<'r> {
    /// Begins with the root of everything. `frame` has the frame of each node, `keys` the key of
    /// each frame, less than 2^32 - 1.
    pub(crate) fn new(frame: &'r [FrameRef], keys: Vec<u32>) -> Self {
        let mut all = Vec::with_capacity(frame.len());
        all.push(List::default());
        Self { frame, keys, all, of_many: FxHashMap::default(), of_root: FxHashMap::default() }
    }

    /// From now on, nodes below the root begin new rows.
    pub(crate) fn begin_again(&mut self) {
        // Clearing the map would take time in proportion to its capacity.
        self.of_root = FxHashMap::default();
        self.all[0] = List::default();
    }

    fn key(&self, node: u32) -> u32 {
        self.keys[self.frame[node as usize].index()]
    }

    /// Adds the next node, below a row. Returns the row that it belongs to: a known one, or a new
    /// one that begins with it; 0 if it is not shown. A processor cannot predict whether it is
    /// shown, so there is no branch on it.
    pub(crate) fn add(&mut self, node: u32, above: u32, is_shown: bool) -> u32 {
        let key = self.key(node);
        let bit = u64::from(is_shown) << (key.wrapping_mul(0x9e37_79b9) >> 26).min(62);
        if self.all[above as usize].seen & bit != 0
            && let Some(row) = self.known(above, key, node)
        {
            self.all.push(List::default());
            return row;
        }
        let List { seen, last: before, .. } = self.all[above as usize];
        let (row, last) = if is_shown { (node, node) } else { (0, before) };
        let of_above = &mut self.all[above as usize];
        (of_above.seen, of_above.last) = (seen | bit, last);
        self.all.push(List { seen: 0, last: 0, before });
        row
    }

    /// The row of this key below a row. If the rows are in a map, `node` begins a row of a new key.
    #[inline(never)]
    fn known(&mut self, above: u32, key: u32, node: u32) -> Option<u32> {
        let List { seen, last, .. } = self.all[above as usize];
        if seen & MANY != 0 {
            return Some(self.of_many(above, key, node));
        }
        let in_list = std::iter::successors(Some(last), |&row| Some(self.all[row as usize].before));
        let mut count = 0;
        for row in in_list.take_while(|&row| row != 0) {
            if self.key(row) == key {
                return Some(row);
            }
            count += 1;
        }
        if count < FEW {
            return None;
        }
        let mut row = last;
        while row != 0 {
            self.of_many(above, self.key(row), row);
            row = self.all[row as usize].before;
        }
        self.all[above as usize].seen = u64::MAX;
        Some(self.of_many(above, key, node))
    }

    /// The same of a row whose rows are in a map.
    fn of_many(&mut self, above: u32, key: u32, node: u32) -> u32 {
        match above {
            0 => *self.of_root.entry(key).or_insert(node),
            _ => *self.of_many.entry((above, key)).or_insert(node),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each thread and epoch begins again below the root. That must not take time in proportion to
    /// the rows before.
    #[test]
    fn the_root_begins_again_in_no_time() {
        let rows = 1000;
        let mut frame = vec![FrameRef::ROOT];
        (0..3).for_each(|_| frame.extend((0..rows).map(FrameRef)));
        let mut lists = Lists::new(&frame, (0..rows).collect());
        let mut node = 0;
        for above in [0, 1, 0] {
            lists.begin_again();
            assert_eq!(lists.of_root.capacity(), 0, "nothing is left to be cleared");
            for _ in 0..rows {
                node += 1;
                assert_eq!(lists.add(node, above, true), node);
            }
            let size = if above == 0 { rows as usize } else { 0 };
            assert_eq!(lists.of_root.len(), size, "the root has a map of its own");
        }
    }
}
