//! The time that hosts take to answer a packet, as measured.

use sojourn_units::Duration;

use crate::setting::{Choice, choices};

choices! {
    /// The time after which a host processes a packet that has arrived. The later kinds take longer.
    #[derive(Default, PartialOrd, Ord)]
    Noise {
        /// None.
        #[default]
        None = "none",
        /// One draw from [0, 10 us): ns-2's `overhead_`, the same on the sending side.
        Ns2 = "ns-2",
        /// The kernel of a machine without other work.
        Idle = "idle",
        /// A process on such a machine, which wakes for each packet.
        Process = "process",
        /// A process beside as many others as there are processors.
        Busy = "busy",
        /// The kernel of a virtual machine on such a machine.
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

const fn us(tenths: u64) -> Duration {
    Duration(tenths * 100)
}

impl Noise {
    /// Its answer times; `None` if it answers at once.
    pub const fn times(self) -> Option<AnswerTimes> {
        match self {
            Noise::None => None,
            Noise::Ns2 => {
                Some(NS_2)
            }
            Noise::Idle => Some(IDLE),
            Noise::Process => Some(PROCESS),
            Noise::Busy => Some(BUSY),
            Noise::Virtual => Some(VIRTUAL),
        }
    }
}

const NS_2: AnswerTimes =
    AnswerTimes { prompt: &[(0.0, us(0)), (1.0, us(100))], stalls: None };

const IDLE: AnswerTimes = AnswerTimes {
    prompt: &[
        (0.0, us(45)),
        (0.01, us(113)),
        (0.1, us(121)),
        (0.25, us(291)),
        (0.5, us(308)),
        (0.75, us(455)),
        (0.9, us(617)),
        (0.95, us(670)),
        (0.99, us(881)),
        (0.999, us(1081)),
        (1.0, us(4083)),
    ],
    stalls: None,
};

const PROCESS: AnswerTimes = AnswerTimes {
    prompt: &[
        (0.0, us(30)),
        (0.01, us(186)),
        (0.1, us(418)),
        (0.25, us(471)),
        (0.5, us(498)),
        (0.75, us(547)),
        (0.9, us(607)),
        (0.95, us(686)),
        (0.99, us(853)),
        (0.999, us(1146)),
        (1.0, us(3223)),
    ],
    stalls: None,
};

const BUSY: AnswerTimes = AnswerTimes {
    prompt: &[
        (0.0, us(125)),
        (0.01, us(134)),
        (0.1, us(190)),
        (0.25, us(198)),
        (0.5, us(201)),
        (0.75, us(207)),
        (0.9, us(226)),
        (0.95, us(262)),
        (0.99, us(2670)),
        (0.999, us(3264)),
        (1.0, us(4953)),
    ],
    stalls: Some((
        us(2791000),
        &[
            (0.0, us(5000)),
            (0.25, us(5400)),
            (0.5, us(6160)),
            (0.75, us(7130)),
            (0.9, us(10360)),
            (1.0, us(44000)),
        ],
    )),
};

const VIRTUAL: AnswerTimes = AnswerTimes {
    prompt: &[
        (0.0, us(473)),
        (0.01, us(567)),
        (0.1, us(629)),
        (0.25, us(650)),
        (0.5, us(686)),
        (0.75, us(890)),
        (0.9, us(3103)),
        (0.95, us(3177)),
        (0.99, us(3381)),
        (0.999, us(4339)),
        (1.0, us(4997)),
    ],
    stalls: Some((
        us(408000),
        &[
            (0.0, us(5020)),
            (0.25, us(9030)),
            (0.5, us(20540)),
            (0.75, us(35410)),
            (0.9, us(41260)),
            (1.0, us(296980)),
        ],
    )),
};
