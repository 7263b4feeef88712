//! Numbers that travel with their lower 32 bits.

/// The number nearest to `near` whose lower half is `low` (RFC 9000 appendix A.3). Numbers begin at
/// zero.
pub fn whole(low: u32, near: u64) -> u64 {
    let ahead = i64::from(low.wrapping_sub(near as u32) as i32);
    near.checked_add_signed(ahead).unwrap_or(u64::from(low))
}

#[cfg(test)]
mod tests {
    use super::whole;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn restores_numbers_near_the_expected_one(
            near in 0_u64..1 << 62,
            ahead in -(1_i64 << 31) + 1..1 << 31,
        ) {
            let Some(number) = near.checked_add_signed(ahead) else { return Ok(()) };
            prop_assert_eq!(whole(number as u32, near), number);
        }
    }
}
