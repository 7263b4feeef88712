//! Figures as text.

use proptest::prelude::*;
use sojourn_record::format::{brief, general, listed, percent, rate, rates};

#[test]
fn rates_and_times_have_the_unit_of_their_size() {
    assert_eq!(rate(60e6), "60 Mbit/s");
    assert_eq!(rate(19.8e3), "19.8 kbit/s");
    assert_eq!(rates(60e6, 20e6), "60 to 20 Mbit/s");
    assert_eq!(rates(1e9, 20e6), "1 Gbit/s to 20 Mbit/s");
    assert_eq!([brief(0.1), brief(0.0907), brief(1.163)], ["100 ms", "90.7 ms", "1.16 s"]);
    // Not 1e+03 ms.
    assert_eq!(brief(0.9997), "1 s");
    assert_eq!(percent(0.986), "99 %");
}

#[test]
fn names_are_listed_as_in_a_sentence() {
    assert_eq!(listed::<&str>(&[]), "");
    assert_eq!(listed(&["a"]), "a");
    assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
}

proptest! {
    /// The text reads back as the value, to its digits.
    #[test]
    fn a_number_keeps_its_digits(value in -1e12_f64..1e12, digits in 1_usize..8) {
        let read: f64 = general(value, digits).parse().expect("it is a number");
        let error = (read - value).abs();
        prop_assert!(error <= 0.5 * value.abs() * 10_f64.powi(1 - digits as i32) + 1e-300, "{read}");
    }
}
