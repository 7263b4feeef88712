//! The time that hosts take to answer a packet, as measured.

use sojourn_units::Duration;

use crate::choices;

choices! {
    /// The time after which a host processes a packet that has arrived. Of several hosts behind one
    /// link, the last kind in this order counts.
    #[derive(Default, PartialOrd, Ord)]
    Noise {
        /// None.
        #[default]
        None = "none",
        /// One draw from [0, 10 us): ns-2's `overhead_`, the same on the sending side.
        Ns2 = "ns-2",
        /// The kernel of a machine without other work, which a real-time process feeds.
        Idle = "idle",
        /// A real-time process on such a machine, which wakes for each packet.
        Process = "process",
        /// A process of normal priority beside as many others as there are processors.
        Busy = "busy",
        /// The kernel of a guest of QEMU on such a machine, whose processor is emulated.
        Virtual = "virtual",
    }
}

/// The answer times of a kind of hosts. Most packets are answered promptly, each after a draw of its
/// own. At times the host stalls, and answers all packets of this time at its end.
///
/// The values are those of the table `answers` in studies/live/result.json.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnswerTimes {
    /// The time of prompt answers: shares of them, and the time that so many do not exceed.
    pub prompt: &'static [(f64, Duration)],
    /// Mean time between the beginnings of stalls, and their lengths, as above; `None` if there are
    /// none.
    pub stalls: Option<(Duration, &'static [(f64, Duration)])>,
}

const fn tenths_us(tenths: u64) -> Duration {
    Duration(tenths * 100)
}

impl Noise {
    /// Its answer times; `None` if it answers at once.
    pub const fn times(self) -> Option<AnswerTimes> {
        match self {
            Noise::None => None,
            Noise::Ns2 => Some(NS_2),
            Noise::Idle => Some(IDLE),
            Noise::Process => Some(PROCESS),
            Noise::Busy => Some(BUSY),
            Noise::Virtual => Some(VIRTUAL),
        }
    }
}

const NS_2: AnswerTimes =
    AnswerTimes { prompt: &[(0.0, tenths_us(0)), (1.0, tenths_us(100))], stalls: None };

const IDLE: AnswerTimes = AnswerTimes {
    prompt: &[
        (0.0, tenths_us(47)),
        (0.01, tenths_us(122)),
        (0.1, tenths_us(132)),
        (0.25, tenths_us(304)),
        (0.5, tenths_us(322)),
        (0.75, tenths_us(476)),
        (0.9, tenths_us(659)),
        (0.95, tenths_us(744)),
        (0.99, tenths_us(970)),
        (0.999, tenths_us(1370)),
        (1.0, tenths_us(4973)),
    ],
    stalls: Some((
        tenths_us(33315000),
        &[
            (0.0, tenths_us(5030)),
            (0.25, tenths_us(5420)),
            (0.5, tenths_us(6760)),
            (0.75, tenths_us(8400)),
            (0.9, tenths_us(12260)),
            (1.0, tenths_us(17630)),
        ],
    )),
};

const PROCESS: AnswerTimes = AnswerTimes {
    prompt: &[
        (0.0, tenths_us(73)),
        (0.01, tenths_us(194)),
        (0.1, tenths_us(428)),
        (0.25, tenths_us(477)),
        (0.5, tenths_us(501)),
        (0.75, tenths_us(553)),
        (0.9, tenths_us(599)),
        (0.95, tenths_us(695)),
        (0.99, tenths_us(935)),
        (0.999, tenths_us(2796)),
        (1.0, tenths_us(4997)),
    ],
    stalls: Some((
        tenths_us(5604000),
        &[
            (0.0, tenths_us(5020)),
            (0.25, tenths_us(5530)),
            (0.5, tenths_us(8200)),
            (0.75, tenths_us(9800)),
            (0.9, tenths_us(10720)),
            (1.0, tenths_us(11720)),
        ],
    )),
};

const BUSY: AnswerTimes = AnswerTimes {
    prompt: &[
        (0.0, tenths_us(125)),
        (0.01, tenths_us(134)),
        (0.1, tenths_us(190)),
        (0.25, tenths_us(198)),
        (0.5, tenths_us(201)),
        (0.75, tenths_us(207)),
        (0.9, tenths_us(226)),
        (0.95, tenths_us(262)),
        (0.99, tenths_us(2670)),
        (0.999, tenths_us(3264)),
        (1.0, tenths_us(4953)),
    ],
    stalls: Some((
        tenths_us(2791000),
        &[
            (0.0, tenths_us(5000)),
            (0.25, tenths_us(5400)),
            (0.5, tenths_us(6160)),
            (0.75, tenths_us(7130)),
            (0.9, tenths_us(10360)),
            (1.0, tenths_us(44000)),
        ],
    )),
};

const VIRTUAL: AnswerTimes = AnswerTimes {
    prompt: &[
        (0.0, tenths_us(473)),
        (0.01, tenths_us(567)),
        (0.1, tenths_us(629)),
        (0.25, tenths_us(650)),
        (0.5, tenths_us(686)),
        (0.75, tenths_us(890)),
        (0.9, tenths_us(3103)),
        (0.95, tenths_us(3177)),
        (0.99, tenths_us(3381)),
        (0.999, tenths_us(4339)),
        (1.0, tenths_us(4997)),
    ],
    stalls: Some((
        tenths_us(408000),
        &[
            (0.0, tenths_us(5020)),
            (0.25, tenths_us(9030)),
            (0.5, tenths_us(20540)),
            (0.75, tenths_us(35410)),
            (0.9, tenths_us(41260)),
            (1.0, tenths_us(296980)),
        ],
    )),
};
