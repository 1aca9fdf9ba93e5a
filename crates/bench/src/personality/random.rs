//! Random numbers: a fast generator for threads and for drawing file sets.

/// SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014): a few instructions per number.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// The generator number `stream` of a seed.
    pub fn new(seed: u64, stream: u64) -> Random {
        let mut random = Random(seed);
        let start = random.next();
        Random(start ^ stream.wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// A number above 0 and below 1.
    fn unit(&mut self) -> f64 {
        ((self.next() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    fn normal(&mut self) -> f64 {
        let (radius, turn) = (self.unit(), self.unit());
        libm::sqrt(-2.0 * libm::log(radius)) * libm::cos(std::f64::consts::TAU * turn)
    }

    /// A number from the gamma distribution with this shape, at least 1, and mean (Marsaglia and Tsang, A Simple Method for Generating
    /// Gamma Variables, 2000).
    pub fn gamma(&mut self, shape: f64, mean: f64) -> f64 {
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / libm::sqrt(9.0 * d);
        loop {
            let x = self.normal();
            let v = libm::pow(1.0 + c * x, 3.0);
            if v > 0.0 && libm::log(self.unit()) < 0.5 * x * x + d - d * v + d * libm::log(v) {
                return d * v * mean / shape;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_has_its_mean_and_variance() {
        let mut random = Random::new(1, 0);
        for (shape, mean) in [(1.5, 131_072.0), (1.0, 3.0), (4.0, 20.0)] {
            let drawn: Vec<f64> = (0..200_000).map(|_| random.gamma(shape, mean)).collect();
            let n = drawn.len() as f64;
            let found = drawn.iter().sum::<f64>() / n;
            let variance = drawn.iter().map(|x| (x - found) * (x - found)).sum::<f64>() / n;
            assert!((found / mean - 1.0).abs() < 0.02, "{shape}: mean {found}");
            assert!((variance / (mean * mean / shape) - 1.0).abs() < 0.05, "{shape}: variance {variance}");
        }
    }

    #[test]
    fn numbers_are_uniformly_distributed() {
        let mut random = Random::new(7, 3);
        let mut counts = [0_u32; 5];
        (0..50_000).for_each(|_| counts[random.below(5) as usize] += 1);
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
        assert_ne!(Random::new(7, 0).next(), Random::new(7, 1).next());
    }
}
