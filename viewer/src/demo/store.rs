//! A log of records that is compacted when it is full: the layer below the index.

use std::hint::black_box;

/// Bytes of the log.
const LOG_SIZE: usize = 1 << 20;

/// Records under a key, newest last.
#[derive(Clone, Debug, Default)]
pub(super) struct Store {
    log: Vec<u8>,
    /// Key, then place and checksum of each record in the log.
    records: Vec<(u64, Record)>,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    start: usize,
    end: usize,
    checksum: u32,
}

impl Store {
    /// Adds a record.
    #[inline(never)]
    pub(super) fn put(&mut self, key: u64, bytes: &[u8]) {
        if self.log.len() + bytes.len() > LOG_SIZE {
            self.compact();
        }
        let start = self.log.len();
        self.append(bytes);
        let record = Record { start, end: self.log.len(), checksum: checksum(bytes) };
        self.records.push((key, record));
    }

    #[inline(never)]
    fn append(&mut self, bytes: &[u8]) {
        self.log.extend_from_slice(bytes);
    }

    /// Keeps the newest record of each key, after checking that it is what was added.
    #[inline(never)]
    fn compact(&mut self) {
        merge_sort(&mut self.records);
        let mut log = Vec::with_capacity(LOG_SIZE);
        let mut records: Vec<(u64, Record)> = Vec::new();
        for pair in self.records.chunk_by(|a, b| a.0 == b.0) {
            let Some(&(key, newest)) = pair.last() else { continue };
            let bytes = &self.log[newest.start..newest.end];
            if checksum(bytes) != newest.checksum || log.len() + bytes.len() > LOG_SIZE / 2 {
                continue;
            }
            let start = log.len();
            log.extend_from_slice(bytes);
            records.push((key, Record { start, end: log.len(), ..newest }));
        }
        self.log = log;
        self.records = records;
    }
}

/// CRC-32, one bit after the other: slow on purpose.
#[inline(never)]
fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    black_box(!crc)
}

/// Sorts by key and keeps the order of equal keys.
#[inline(never)]
pub(super) fn merge_sort<T: Copy>(records: &mut [(u64, T)]) {
    if records.len() < 2 {
        return;
    }
    let (left, right) = records.split_at_mut(records.len() / 2);
    merge_sort(left);
    merge_sort(right);
    let merged = merge(left, right);
    records.copy_from_slice(&merged);
}

#[inline(never)]
fn merge<T: Copy>(left: &[(u64, T)], right: &[(u64, T)]) -> Vec<(u64, T)> {
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut i, mut j) = (0, 0);
    while i < left.len() && j < right.len() {
        if right[j].0 < left[i].0 {
            merged.push(right[j]);
            j += 1;
        } else {
            merged.push(left[i]);
            i += 1;
        }
    }
    merged.extend_from_slice(&left[i..]);
    merged.extend_from_slice(&right[j..]);
    merged
}
