//! Serial number arithmetic on 32 bits: sequence numbers (RFC 9293 section 3.4) and
//! timestamps (RFC 7323 section 5.2) wrap around.

/// Whether `a` is before `b`: `b` is less than half the circle ahead.
#[inline]
pub(super) fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::before;

    #[test]
    fn the_order_goes_on_after_the_greatest() {
        assert!(before(1, 2) && !before(2, 1) && !before(2, 2));
        assert!(before(u32::MAX, 0) && !before(0, u32::MAX));
        assert!(before(u32::MAX - 10, 1 << 30) && !before(1 << 30, u32::MAX - 10));
    }
}
