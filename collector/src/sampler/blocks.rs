//! Sampled blocks of the program's heap, followed until they are given back.
//!
//! They are kept in the arena, so that what a process still has is known however it ends. Blocks
//! are given back by any thread, at any time, so all of it is atomic, and nothing waits. Most that
//! are given back were not sampled: the stub in front of free(3) asks a [filter](FILTER) first.
//!
//! The table is a few extents, each twice as large as the one before. In each, a block's record
//! may have one of [`PLACES`] places, by the hash of its address. Blocks that outlived their phase
//! are added up for each node, in a record that has its place by the hash of that.
//!
//! Signal side. A record is written before its address, and its block is not given back before the
//! program knows it.

#![expect(unsafe_code, reason = "typed access to extents of the arena")]

use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

use csprof_format::arena::{
    BLOCKS_EXTENTS, BlockRecord, ExtentHeader, ExtentKind, FIRST_BLOCKS_EXTENT,
};

use crate::arena::Arena;
use crate::phases;
use crate::sealed::{SAMPLES_OF_CALLS, sealed};
use crate::sys;

/// A [`BlockRecord`].
#[derive(Debug)]
#[repr(C)]
struct Place {
    address: AtomicU64,
    samples: AtomicU64,
    thread: AtomicU32,
    node: AtomicU32,
}

const _: () = assert!(size_of::<Place>() == size_of::<BlockRecord>());

/// Places that a block may have in one extent.
const PLACES: usize = 8;
/// Hashes of addresses have this factor: 2^64 / φ, odd, so that the high bits depend on all.
pub const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// Addresses of blocks have so many bits, the lowest of which is 0: allocators align.
const ADDRESS_BITS: u32 = 48;

static EXTENTS: [AtomicPtr<Place>; BLOCKS_EXTENTS] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; BLOCKS_EXTENTS];

/// How many records there are of addresses whose hash begins with each 16 bits; 255 stays.
pub static FILTER: [AtomicU8; 1 << 16] = [const { AtomicU8::new(0) }; 1 << 16];

const fn hash(address: u64) -> u64 {
    address.wrapping_mul(FACTOR)
}

fn filter(address: u64) -> Option<&'static AtomicU8> {
    FILTER.get((hash(address) >> 48) as usize)
}

const fn bytes_of(extent: usize) -> usize {
    (FIRST_BLOCKS_EXTENT as usize) << extent
}

const fn places_of(extent: usize) -> usize {
    (bytes_of(extent) - size_of::<ExtentHeader>()) / size_of::<Place>()
}

/// The places that the record of this address may have in an extent, whose places begin at `first`.
fn places(extent: usize, first: *mut Place, address: u64) -> impl Iterator<Item = &'static Place> {
    let number = places_of(extent);
    // Bits that the filter does not look at, or nearly: below the number.
    let start = ((hash(address) >> 16 & 0xffff_ffff) * number as u64) >> 32;
    (0..PLACES).filter_map(move |step| {
        let at = start as usize + step;
        let at = if at < number { at } else { at - number };
        // SAFETY: null, or the places of an extent, of which there are so many; it stays mapped as
        // long as the pointer to it is there. Zeros are a valid place, and all of it is atomic.
        (at < number && !first.is_null()).then(|| unsafe { &*first.add(at) })
    })
}

/// The places of an extent; null if it is not there.
fn first_of(extent: usize) -> *mut Place {
    // Acquire: pairs with the release in `more`.
    EXTENTS.get(extent).map_or(core::ptr::null_mut(), |first| first.load(Ordering::Acquire))
}

/// All places that the record of this address may have.
fn all_places(address: u64) -> impl Iterator<Item = &'static Place> {
    (0..BLOCKS_EXTENTS).flat_map(move |extent| places(extent, first_of(extent), address))
}

/// Takes an extent.
fn more(arena: &Arena, extent: usize) -> *mut Place {
    // An extent takes system calls.
    let _counted = (!sealed()).then(|| SAMPLES_OF_CALLS.enter());
    let place = EXTENTS.get(extent).filter(|_| !sealed());
    let Some(place) = place else { return core::ptr::null_mut() };
    let made = arena.extent(ExtentKind::Blocks, 0, extent as u32, bytes_of(extent));
    let Ok(start) = made else { return core::ptr::null_mut() };
    // SAFETY: inside the extent just mapped; a header is 32 bytes, so places are aligned.
    let first = unsafe { start.add(size_of::<ExtentHeader>()) }.cast::<Place>().as_ptr();
    // Release: publishes the mapping.
    let swapped =
        place.compare_exchange(core::ptr::null_mut(), first, Ordering::Release, Ordering::Acquire);
    match swapped {
        Ok(_) => first,
        Err(other) => {
            // SAFETY: the whole mapping of the extent, which nobody else knows.
            unsafe { sys::unmap(start, bytes_of(extent)) };
            other
        }
    }
}

/// Takes a place, if it is free.
fn take(place: &&Place) -> bool {
    // Relaxed: nothing is read from a place that is free.
    let (taken, relaxed) = (BlockRecord::TAKEN, Ordering::Relaxed);
    place.address.compare_exchange(0, taken, relaxed, relaxed).is_ok()
}

/// A place for a block, which nobody else has.
#[derive(Debug)]
pub struct Claim(&'static Place);

impl Claim {
    /// A place for a block; `None` if there is none.
    pub fn of(arena: &Arena, address: u64) -> Option<Self> {
        for extent in 0..BLOCKS_EXTENTS {
            let known = first_of(extent);
            let first = if known.is_null() { more(arena, extent) } else { known };
            if first.is_null() {
                // Nor is there memory for a larger one.
                return None;
            }
            if let Some(place) = places(extent, first, address).find(take) {
                return Some(Self(place));
            }
        }
        None
    }

    /// The same, where that takes no further extent.
    fn of_known(address: u64) -> Option<Self> {
        all_places(address).find(take).map(Self)
    }

    /// Follows the block: so many samples of it are at this node of the thread.
    pub fn follow(self, address: u64, samples: u64, thread: u32, node: u32) {
        let Self(place) = self;
        if let Some(count) = filter(address) {
            let _ = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_add(1));
        }
        place.samples.store(samples, Ordering::Relaxed);
        place.thread.store(thread, Ordering::Relaxed);
        place.node.store(node, Ordering::Relaxed);
        // Release: publishes the rest.
        place.address.store(address, Ordering::Release);
    }

    /// The same to the end of the present phase: one that is given back later stays. There are
    /// fewer samples than 2^[`PHASE_SHIFT`](BlockRecord::PHASE_SHIFT).
    pub fn follow_in_phase(self, address: u64, samples: u64, thread: u32, node: u32) {
        let phase = u64::from(phases::occasion()) << BlockRecord::PHASE_SHIFT;
        self.follow(address, samples | phase, thread | BlockRecord::OF_PHASE, node);
    }

    /// Gives the place back.
    pub fn leave(self) {
        self.0.address.store(0, Ordering::Relaxed);
    }
}

/// One record less of this address.
fn forget_in_filter(address: u64) {
    if let Some(count) = filter(address) {
        let less = |n: u8| n.checked_sub(1).filter(|_| n < u8::MAX);
        let _ = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

/// Whether there may be records of this address.
#[must_use]
#[inline]
pub fn may_be_followed(address: u64) -> bool {
    // No block has the address 0, which is that of free places.
    address != 0 && filter(address).is_some_and(|count| count.load(Ordering::Relaxed) != 0)
}

/// Replaces the address of all records that have this one. Returns how many there were.
fn replace(places_of: u64, address: u64, by: u64) -> usize {
    let swapped = |place: &&Place| {
        // Acquire: pairs with the release in `follow`.
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        place.address.load(acquire) == address
            && place.address.compare_exchange(address, by, acquire, relaxed).is_ok()
    };
    all_places(places_of).filter(swapped).count()
}

/// Removes the records of a block that is given back, and has this address in them by now. Returns
/// how many there were.
fn remove(places_of: u64, address: u64) -> usize {
    let mut removed = 0;
    for place in all_places(places_of) {
        // Acquire, both: pairs with the release in `follow`.
        if place.address.load(Ordering::Acquire) != address {
            continue;
        }
        let outlived = has_outlived(place);
        let by = if outlived { BlockRecord::TAKEN } else { 0 };
        let swapped =
            place.address.compare_exchange(address, by, Ordering::Acquire, Ordering::Relaxed);
        if swapped.is_ok() {
            removed += 1;
            if outlived {
                keep_outlived(place);
            }
        }
    }
    removed
}

/// Whether the phase has ended to the end of which the block of a record is followed.
fn has_outlived(place: &Place) -> bool {
    let is_of_phase = place.thread.load(Ordering::Relaxed) & BlockRecord::OF_PHASE != 0;
    let phase = place.samples.load(Ordering::Relaxed) >> BlockRecord::PHASE_SHIFT;
    is_of_phase && phase != u64::from(phases::occasion())
}

/// Adds the samples of a record that is taken to those of all blocks of its node that outlived
/// their phase, and gives its place back. A program may ask for the same address in each phase, and
/// the places for that would soon be gone.
// A process that is killed in between loses one block: it is never in both.
fn keep_outlived(place: &Place) {
    let record = BlockRecord {
        address: BlockRecord::OUTLIVED,
        samples: place.samples.load(Ordering::Relaxed),
        thread: place.thread.load(Ordering::Relaxed),
        node: place.node.load(Ordering::Relaxed),
    };
    let BlockRecord { samples, thread, node, .. } = record.plain();
    // Mixed, for places are taken by the middle of the hash, where neighbours are near each other.
    let at = hash(u64::from(thread) << 32 | u64::from(node)).rotate_right(32);
    let is_sum = |sum: &&Place| {
        // Acquire: pairs with the release below.
        sum.address.load(Ordering::Acquire) == BlockRecord::OUTLIVED
            && sum.thread.load(Ordering::Relaxed) == thread
            && sum.node.load(Ordering::Relaxed) == node
    };
    if let Some(sum) = all_places(at).find(is_sum) {
        sum.samples.fetch_add(samples, Ordering::Relaxed);
        place.address.store(0, Ordering::Relaxed);
        return;
    }
    // Where there is no place for a sum, the record stays where it is. Two threads that begin one
    // at the same time have one each.
    let claim = Claim::of_known(at);
    let sum = claim.as_ref().map_or(place, |claim| claim.0);
    sum.samples.store(samples, Ordering::Relaxed);
    sum.thread.store(thread, Ordering::Relaxed);
    sum.node.store(node, Ordering::Relaxed);
    // Release: publishes the rest.
    sum.address.store(BlockRecord::OUTLIVED, Ordering::Release);
    if claim.is_some() {
        place.address.store(0, Ordering::Relaxed);
    }
}

/// The block is about to be given back.
#[inline(never)]
pub fn given_back(address: u64) {
    if address != 0 {
        (0..remove(address, address)).for_each(|_| forget_in_filter(address));
    }
}

/// A block that is about to be resized: another thread may have its address next.
#[derive(Clone, Copy, Debug)]
pub struct Resized {
    address: u64,
    /// What stands for the address meanwhile: no other block's at this moment.
    lifted: u64,
}

impl Resized {
    /// `number` tells it from others that are resized at the same time. `None` if the block is not
    /// followed.
    #[must_use]
    pub fn begin(address: u64, number: u64) -> Option<Self> {
        let this = Self::again(address, number);
        (replace(address, address, this.lifted) > 0).then_some(this)
    }

    /// The same one, which [`Self::begin`] has returned.
    #[must_use]
    pub const fn again(address: u64, number: u64) -> Self {
        Self { address, lifted: address | number << ADDRESS_BITS | 1 }
    }

    /// Nothing has become of it.
    pub fn failed(self) {
        replace(self.address, self.lifted, self.address);
    }

    /// It was given back.
    pub fn is_gone(self) {
        let gone = remove(self.address, self.lifted);
        (0..gone).for_each(|_| forget_in_filter(self.address));
    }

    /// It is the block at `new`. Returns how many samples are not followed any more, for want of
    /// places.
    pub fn moved(self, arena: &Arena, new: u64) -> u64 {
        if new == self.address {
            self.failed();
            return 0;
        }
        let lifted = |place: &&Place| place.address.load(Ordering::Relaxed) == self.lifted;
        let mut lost = 0;
        for place in all_places(self.address).filter(lifted) {
            let samples = place.samples.load(Ordering::Relaxed);
            let thread = place.thread.load(Ordering::Relaxed);
            let node = place.node.load(Ordering::Relaxed);
            match Claim::of(arena, new) {
                Some(claim) => claim.follow(new, samples, thread, node),
                None => lost += BlockRecord { address: new, samples, thread, node }.plain().samples,
            }
            place.address.store(0, Ordering::Relaxed);
            forget_in_filter(self.address);
        }
        lost
    }
}

/// In the child of a fork: what is followed is its parent's. The child has one thread.
pub fn leave_to_parent() {
    for (extent, first) in EXTENTS.iter().enumerate() {
        let first = first.swap(core::ptr::null_mut(), Ordering::Relaxed);
        let start = first.cast::<u8>().wrapping_sub(size_of::<ExtentHeader>());
        if let Some(start) = NonNull::new(start).filter(|_| !first.is_null()) {
            // SAFETY: the whole mapping of one extent, which nobody knows any more.
            unsafe { sys::unmap(start, bytes_of(extent)) };
            if extent == 0 {
                FILTER.iter().for_each(|count| count.store(0, Ordering::Relaxed));
            }
        }
    }
}
