//! The tins of CAKE's Diffserv modes, by codepoint (Linux sch_cake.c; arXiv
//! 1804.07617, DiffServ handling).

use super::tin::Share;

/// A mode: its name in tc-cake(8), the tin of each codepoint, and the tins.
pub(super) struct Mode {
    pub(super) name: &'static str,
    tins: &'static [u8; 64],
    shares: fn() -> Vec<Share>,
}

/// The modes, the default of tc-cake(8) first.
const MODES: [Mode; 5] = [
    Mode { name: "diffserv3", tins: &DIFFSERV3, shares: || halves(1024, &[0, 4, 2]) },
    Mode { name: "diffserv4", tins: &DIFFSERV4, shares: || halves(1024, &[0, 4, 1, 2]) },
    Mode { name: "diffserv8", tins: &DIFFSERV8, shares: eighths },
    Mode { name: "precedence", tins: &PRECEDENCE, shares: eighths },
    Mode { name: "besteffort", tins: &[0; 64], shares: || halves(65_535, &[0]) },
];

/// The names of the modes, the default first.
pub(super) const NAMES: &[&str] =
    &["diffserv3", "diffserv4", "diffserv8", "precedence", "besteffort"];

impl Mode {
    /// The mode of this name, one of [`NAMES`].
    pub(super) fn named(name: &str) -> Mode {
        let [.., besteffort] = MODES;
        MODES.into_iter().find(|mode| mode.name == name).unwrap_or(besteffort)
    }

    /// The tin of a codepoint.
    pub(super) fn tin(&self, dscp: u8) -> usize {
        usize::from(self.tins[usize::from(dscp & 63)])
    }

    /// The shares of the tins.
    pub(super) fn shares(&self) -> Vec<Share> {
        (self.shares)()
    }
}

/// Tins whose rates and weights are the whole, shifted.
fn halves(whole: u64, shifts: &[u32]) -> Vec<Share> {
    shifts.iter().map(|s| Share { rate: (1, 1 << s), quantum: whole >> s }).collect()
}

/// Eight tins, each with seven eighths of the one before (`cake_config_precedence`).
fn eighths() -> Vec<Share> {
    let mut quantum = 256;
    (0..8_u32)
        .map(|tin| {
            let share = Share { rate: (7_u64.pow(tin), 8_u64.pow(tin)), quantum };
            quantum = (quantum * 7) >> 3;
            share
        })
        .collect()
}

/// Bulk (CS1, LE), best effort, and voice (CS7, CS6, EF, VA, TOS4): bulk has tin 1, as Linux numbers
/// them.
const DIFFSERV3: [u8; 64] = tins(&[(1, &[1, 8]), (2, &[4, 44, 46, 48, 56])]);

/// Bulk, best effort, video (AF4x, AF3x, CS3, AF2x, CS2, TOS4) and voice (CS7, CS6, EF, VA, CS5,
/// CS4).
const DIFFSERV4: [u8; 64] = tins(&[
    (1, &[1, 8]),
    (2, &[4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38]),
    (3, &[32, 40, 44, 46, 48, 56]),
]);

/// Eight classes; codepoints without one have tin 2, best effort. Linux maps CS1 and TOS2 to
/// 1 and LE to 0.
const DIFFSERV8: [u8; 64] = {
    let mut all = tins(&[
        (4, &[4, 18, 20, 22]),
        (5, &[16]),
        (3, &[24, 26, 28, 30, 34, 36, 38]),
        (6, &[32, 40, 44, 46]),
        (7, &[48, 56]),
    ]);
    let mut at = 0;
    while at < all.len() {
        if all[at] == 0 {
            all[at] = 2;
        }
        at += 1;
    }
    let ones = [2, 8, 10, 12, 14];
    let mut at = 0;
    while at < ones.len() {
        all[ones[at]] = 1;
        at += 1;
    }
    all[1] = 0;
    all
};

/// The first three bits of the codepoint (RFC 791).
const PRECEDENCE: [u8; 64] = {
    let mut all = [0; 64];
    let mut at = 0;
    while at < all.len() {
        all[at] = (at >> 3) as u8;
        at += 1;
    }
    all
};

/// A table from the codepoints of tins; all others have tin 0.
const fn tins(lists: &[(u8, &[usize])]) -> [u8; 64] {
    let mut all = [0; 64];
    let mut list = 0;
    while list < lists.len() {
        let (tin, codepoints) = lists[list];
        let mut at = 0;
        while at < codepoints.len() {
            all[codepoints[at]] = tin;
            at += 1;
        }
        list += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{MODES, Mode, NAMES};

    /// Linux sch_cake.c, in the kernel's order of codepoints.
    #[test]
    fn tables_are_the_kernel_s() {
        let digits = |name: &str| -> String {
            let mode = Mode::named(name);
            (0..64).map(|dscp| mode.tin(dscp).to_string()).collect()
        };
        let rows = |rows: [&str; 8]| rows.concat();
        let expected = [
            (
                "diffserv3",
                rows([
                    "01002000", "10000000", "00000000", "00000000", "00000000", "00002020",
                    "20000000", "20000000",
                ]),
            ),
            (
                "diffserv4",
                rows([
                    "01002000", "10000000", "20202020", "20202020", "30202020", "30003030",
                    "30000000", "30000000",
                ]),
            ),
            (
                "diffserv8",
                rows([
                    "20124222", "12121212", "52424242", "32323232", "62323232", "62226262",
                    "72222222", "72222222",
                ]),
            ),
            ("precedence", (0..64).map(|at: i32| (at / 8).to_string()).collect()),
            ("besteffort", "0".repeat(64)),
        ];
        for (name, table) in expected {
            assert_eq!(digits(name), table, "{name}");
        }
        assert_eq!(MODES.map(|mode| mode.name), NAMES);
    }
}
