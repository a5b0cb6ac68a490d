//! The automaton behind `through`: a chain of frames, matched along every path at once.
//!
//! Each node inherits the state of its parent and adds its own frame. The state holds two sets of
//! chain positions: those whose match ends at this very frame (`here`), from which `>` leads on,
//! and those whose match ended here or above (`open`), from which `>>` leads on. Keeping all of
//! them at once is what makes the matcher correct: one that follows a single attempt and restarts
//! with the rest of the chain would let `a > b > c` accept the path a b x b c.
//!
//! Both sets and one more bit are packed into the smallest integer that holds them, a byte for
//! chains of up to three frames, so that ten million states stay small.

use crate::refine::forest::bits::Bits;
use crate::refine::forest::refined::Refined;
use crate::refine::lang::syntax::{Chain, Link};
use crate::refine::watch::{Cancelled, Watch};

/// The nodes whose path contains the chain. `sets` are the frames of each of its positions;
/// `start` are frames of start-up code, which `^` does not count.
pub(crate) fn through(
    refined: &Refined,
    chain: &Chain,
    sets: &[Bits],
    start: &Bits,
    watch: &Watch<'_>,
) -> Result<Bits, Cancelled> {
    let automaton = Automaton::new(chain, sets, start);
    match 2 * chain.length() + 1 {
        ..=8 => automaton.run::<u8>(refined, watch),
        9..=16 => automaton.run::<u16>(refined, watch),
        17..=32 => automaton.run::<u32>(refined, watch),
        _ => automaton.run::<u64>(refined, watch),
    }
}

struct Automaton {
    /// Number of positions.
    length: usize,
    from_root: bool,
    to_leaf: bool,
    /// Positions from which `>` leads to the next.
    direct: u64,
    /// Positions from which `>>` leads to the next.
    below: u64,
    /// For each frame, the positions it fits; bit 31: it is start-up code.
    fits: Vec<u32>,
}

const START: u32 = 1 << 31;

impl Automaton {
    fn new(chain: &Chain, sets: &[Bits], start: &Bits) -> Self {
        let mut fits = vec![0_u32; start.len()];
        for (position, set) in sets.iter().enumerate() {
            for frame in set.iter() {
                fits[frame] |= 1 << position;
            }
        }
        for frame in start.iter() {
            fits[frame] |= START;
        }
        let mut automaton = Self {
            length: chain.length(),
            from_root: chain.from_root,
            to_leaf: chain.to_leaf,
            direct: 0,
            below: 0,
            fits,
        };
        for (position, (link, _)) in chain.rest.iter().enumerate() {
            match link {
                Link::Direct => automaton.direct |= 1 << position,
                Link::Below => automaton.below |= 1 << position,
            }
        }
        automaton
    }

    fn run<S: State>(&self, refined: &Refined, watch: &Watch<'_>) -> Result<Bits, Cancelled> {
        let length = self.length;
        let mask = (1_u64 << length) - 1;
        let last = 1_u64 << (length - 1);
        let anywhere = u64::from(!self.from_root);
        let (parent, frame) = (&refined.parent[..], &refined.frame[..]);
        let mut states = vec![S::pack(0); parent.len()];
        Bits::of_nodes(parent.len(), watch, |node| {
            if node == 0 {
                // Only start-up code lies above the outermost frame.
                states[0] = S::pack(1 << (2 * length));
                return false;
            }
            let above = states[parent[node] as usize].unpack();
            let (here, open) = (above & mask, above >> length & mask);
            let at_start = above >> (2 * length);
            let fits = self.fits[frame[node].index()];
            let reached =
                anywhere | at_start | (here & self.direct) << 1 | (open & self.below) << 1;
            let here = u64::from(fits) & reached & mask;
            let open = open | here;
            let at_start = at_start & u64::from(fits >> 31);
            states[node] = S::pack(here | open << length | at_start << (2 * length));
            (if self.to_leaf { here } else { open }) & last != 0
        })
    }
}

/// An integer that holds a state.
trait State: Copy + Default {
    fn pack(bits: u64) -> Self;
    fn unpack(self) -> u64;
}

macro_rules! states {
    ($($word:ty),*) => {$(
        impl State for $word {
            fn pack(bits: u64) -> Self {
                bits as Self
            }

            fn unpack(self) -> u64 {
                u64::from(self)
            }
        }
    )*};
}

states!(u8, u16, u32, u64);
