//! The checksum of IP, TCP and UDP (RFC 1071).

/// Sum of a header's 16-bit words, with carries in the high half.
pub(crate) fn sum(bytes: &[u8]) -> u32 {
    let mut words = bytes.chunks_exact(2);
    let whole: u32 =
        words.by_ref().map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    whole + words.remainder().first().map_or(0, |last| u32::from(*last) << 8)
}

/// The ones' complement sum.
pub(crate) fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The checksum after one 16-bit word changed from `old` to `new` (RFC 1624, equation 3).
pub(crate) fn update(checksum: u16, old: u16, new: u16) -> u16 {
    !fold(u32::from(!checksum) + u32::from(!old) + u32::from(new))
}

/// Completes a checksum of which only the pseudo-header's part is in its field, as the kernel
/// leaves it to devices. `start`: where the sum begins; `at`: the field.
#[cfg(test)]
pub(crate) fn complete(packet: &mut [u8], start: usize, at: usize) {
    let checksum = match !fold(sum(&packet[start..])) {
        // Zero means "no checksum" in UDP (RFC 768).
        0 => 0xffff,
        checksum => checksum,
    };
    packet[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
}
