//! Rows while they are being found, one pass over the nodes: which of the nodes below one row
//! belong together.

use rustc_hash::FxHashMap;

use crate::profile::FrameRef;

/// The rows below each row, while they are being found.
pub(crate) struct Lists<'r> {
    frame: &'r [FrameRef],
    /// For each frame a number for what its nodes have in common.
    keys: Vec<u32>,
    /// For each node; used are those of the first nodes of rows.
    all: Vec<List>,
    /// Rows below rows that have many, by these and by key; but not those below the root.
    of_many: FxHashMap<(u32, u32), u32>,
    /// Rows below the root by key, if they are many.
    of_root: FxHashMap<u32, u32>,
}

#[derive(Clone, Copy, Default)]
struct List {
    /// For the key of each row below one of 63 bits; all and [`MANY`] if the rows are in `of_many`.
    seen: u64,
    /// The last row in the list; 0 if there is none.
    last: u32,
    /// The row before this one in the list of the row above; 0 if there is none.
    before: u32,
}

/// Rows that a list has at most: more are faster looked up than gone through.
const FEW: usize = 32;

/// The bit of no key: the list is no longer kept.
const MANY: u64 = 1 << 63;

impl<'r> Lists<'r> {
    /// The list of the root of everything, for nodes with these frames; the nodes of a row have
    /// frames of one of `keys`, which are less than 2^32 - 1.
    pub(crate) fn new(frame: &'r [FrameRef], keys: Vec<u32>) -> Self {
        let mut all = Vec::with_capacity(frame.len());
        all.push(List::default());
        Self { frame, keys, all, of_many: FxHashMap::default(), of_root: FxHashMap::default() }
    }

    /// Rows that are below the root from now on are others than those before.
    pub(crate) fn begin_again(&mut self) {
        // A new map: to clear one takes as long as it ever was large.
        self.of_root = FxHashMap::default();
        self.all[0] = List::default();
    }

    fn key(&self, node: u32) -> u32 {
        self.keys[self.frame[node as usize].index()]
    }

    /// Adds the next node, below a row. Returns the row that it belongs to: one that is in the
    /// list, or a new one, which it begins; 0 if it is not shown. Nobody can guess which are: so
    /// there is no branch on it.
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

    /// The row of this key below a row, if there is one, or if there are many: then a node that
    /// begins one is noted.
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

    /// The row of this key below a row that has many; a node that begins one is noted.
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

    /// What is below the root may begin again as often as there are threads and epochs: then
    /// nothing is gone through, however many rows there were, below the root or elsewhere.
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
