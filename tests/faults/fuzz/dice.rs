//! Chance from a seed.

/// A small seeded generator (xorshift64*, S. Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled", 2016).
pub struct Dice(pub u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    /// A number below `most`, which is not 0.
    pub fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }

    /// Whether one of `most` comes up.
    pub fn one_in(&mut self, most: usize) -> bool {
        self.below(most) == 0
    }

    /// One of `all`, which are not none.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}
