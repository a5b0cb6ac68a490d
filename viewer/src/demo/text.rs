//! Made-up documents.

/// Pseudo-random numbers: xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift
/// generators, scrambled", 2016). The same documents in every run.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `limit`.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }
}

const SYLLABLES: [&str; 16] = [
    "ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "zu", "an", "el", "in", "or", "us", "sta",
];

/// How many different words there are.
const WORDS: u64 = 3000;

/// A few hundred words; some are far more frequent than others, as in real text.
#[inline(never)]
pub(super) fn document(random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..100 + random.below(200) {
        let rank = random.below(random.0 % WORDS + 1);
        append_word(&mut text, rank);
        text.push(' ');
    }
    text
}

fn append_word(text: &mut String, rank: u64) {
    let mut rest = rank + 1;
    while rest > 0 {
        text.push_str(SYLLABLES[(rest % 16) as usize]);
        rest /= 16;
    }
}

/// The hash of the word of this rank: what questions ask for.
pub(super) fn word_hash(random: &mut Random) -> u64 {
    let mut word = String::new();
    append_word(&mut word, random.below(WORDS / 20));
    hash(&word)
}

/// FNV-1a (Fowler, Noll, Vo).
pub(super) fn hash(word: &str) -> u64 {
    word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
