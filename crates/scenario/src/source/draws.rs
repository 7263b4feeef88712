//! Random draws, the same bits on every machine.

use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The greatest [`exponential`] number, 36.7: the 53 bits of [`uniform`] bound it.
pub(crate) fn greatest_exponential() -> f64 {
    53.0 * std::f64::consts::LN_2
}

/// A uniform number in [0, 1).
pub(crate) fn uniform(draws: &mut Xoshiro256PlusPlus) -> f64 {
    // 53 bits: every one of them is a float.
    (draws.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// An exponential number with mean 1, by inversion. libm gives the same bits on every machine.
pub(crate) fn exponential(draws: &mut Xoshiro256PlusPlus) -> f64 {
    -libm::log(1.0 - uniform(draws))
}

/// A number from the standard normal distribution (Box and Muller 1958, "A Note on the Generation
/// of Random Normal Deviates").
pub(crate) fn normal(draws: &mut Xoshiro256PlusPlus) -> f64 {
    let radius = libm::sqrt(2.0 * exponential(draws));
    radius * libm::cos(2.0 * std::f64::consts::PI * uniform(draws))
}
