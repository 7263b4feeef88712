//! Distributions of sizes as points of a cumulative distribution function.

/// A distribution of sizes in bytes. Between two points, sizes are uniform. A share above zero at
/// the first point, or at a repeated size, belongs to exactly this size.
#[derive(Clone, Debug, PartialEq)]
pub struct Cdf {
    /// Size in bytes, and the share of transfers up to this size.
    points: Vec<(f64, f64)>,
}

/// The fault of a list of points, with the place of the point that shows it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CdfError {
    /// There is no point.
    #[error("it has no sizes")]
    Empty,
    /// A size is not a number of bytes, or is too large.
    #[error("{size} is not a size from 0 to {} bytes", LARGEST)]
    Size {
        /// Place of the point, from 0.
        place: usize,
        /// The size.
        size: f64,
    },
    /// A size or a share is less than the one before.
    #[error("{now} is less than the {before} before it")]
    Decreases {
        /// Place of the point, from 0.
        place: usize,
        /// The value.
        now: f64,
        /// The value before.
        before: f64,
    },
    /// A share is not between 0 and 1.
    #[error("{share} is not a share from 0 to 1")]
    Share {
        /// Place of the point, from 0.
        place: usize,
        /// The share.
        share: f64,
    },
    /// The last share is not 1.
    #[error("the last share is {share}; it must be 1, or 100 in percent")]
    Incomplete {
        /// Place of the last point, from 0.
        place: usize,
        /// Its share.
        share: f64,
    },
    /// All sizes are zero.
    #[error("all sizes are 0 bytes")]
    Zero,
}

/// Largest size in bytes: a petabyte, more than every run moves.
const LARGEST: f64 = 1e15;

impl CdfError {
    /// Place of the point that shows the fault; `None` for the whole list.
    pub fn place(&self) -> Option<usize> {
        match *self {
            CdfError::Size { place, .. }
            | CdfError::Decreases { place, .. }
            | CdfError::Share { place, .. }
            | CdfError::Incomplete { place, .. } => Some(place),
            CdfError::Empty | CdfError::Zero => None,
        }
    }
}

impl Cdf {
    /// A distribution from its points: size in bytes, and share of transfers up to this size, from
    /// 0 to 1. Both never decrease, and the last share is 1.
    ///
    /// # Errors
    /// The first fault of the points.
    pub fn new(points: Vec<(f64, f64)>) -> Result<Cdf, CdfError> {
        let mut last = (0.0, 0.0);
        for (place, &(size, share)) in points.iter().enumerate() {
            check(place, (size, share), last)?;
            last = (size, share);
        }
        match points.len().checked_sub(1) {
            None => Err(CdfError::Empty),
            Some(place) if last.1 != 1.0 => Err(CdfError::Incomplete { place, share: last.1 }),
            Some(_) if last.0 == 0.0 => Err(CdfError::Zero),
            Some(_) => Ok(Cdf { points }),
        }
    }

    /// Flow sizes of a web-search cluster (Alizadeh et al. 2010, "Data Center TCP (DCTCP)",
    /// SIGCOMM), as read off by HKUST-SING/TrafficGenerator, conf/DCTCP_CDF.txt.
    pub(crate) fn web_search() -> Cdf {
        Cdf::published(WEB_SEARCH)
    }

    /// Flow sizes of a data-mining cluster (Greenberg et al. 2009, "VL2: A Scalable and Flexible
    /// Data Center Network", SIGCOMM), as read off by HKUST-SING/TrafficGenerator,
    /// conf/VL2_CDF.txt.
    pub(crate) fn data_mining() -> Cdf {
        Cdf::published(DATA_MINING)
    }

    fn published(points: &[(u64, f64)]) -> Cdf {
        Cdf { points: points.iter().map(|(size, share)| (*size as f64, *share)).collect() }
    }

    /// The mean size in bytes.
    pub fn mean(&self) -> f64 {
        let first = self.points.first().map_or(0.0, |(size, share)| size * share);
        let between = self.points.windows(2).map(|pair| {
            let ((before, from), (size, share)) = (pair[0], pair[1]);
            (before + size) / 2.0 * (share - from)
        });
        first + between.sum::<f64>()
    }

    /// The size in bytes below which the share `share` of transfers is.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let next = self.points.partition_point(|(_, at)| *at < share);
        let (size, at) = self.points[next.min(self.points.len() - 1)];
        match next.checked_sub(1).map(|before| self.points[before]) {
            Some((before, from)) if at > from => {
                before + (size - before) * (share - from) / (at - from)
            }
            _ => size,
        }
    }
}

fn check(place: usize, (size, share): (f64, f64), last: (f64, f64)) -> Result<(), CdfError> {
    if !(0.0..=LARGEST).contains(&size) {
        return Err(CdfError::Size { place, size });
    }
    if !(0.0..=1.0).contains(&share) {
        return Err(CdfError::Share { place, share });
    }
    for (now, before) in [(size, last.0), (share, last.1)] {
        if now < before {
            return Err(CdfError::Decreases { place, now, before });
        }
    }
    Ok(())
}

const WEB_SEARCH: &[(u64, f64)] = &[
    (0, 0.0),
    (10_000, 0.15),
    (20_000, 0.2),
    (30_000, 0.3),
    (50_000, 0.4),
    (80_000, 0.53),
    (200_000, 0.6),
    (1_000_000, 0.7),
    (2_000_000, 0.8),
    (5_000_000, 0.9),
    (10_000_000, 0.97),
    (30_000_000, 1.0),
];

const DATA_MINING: &[(u64, f64)] = &[
    (0, 0.0),
    (180, 0.1),
    (216, 0.2),
    (560, 0.3),
    (900, 0.4),
    (1_100, 0.5),
    (1_870, 0.6),
    (3_160, 0.7),
    (10_000, 0.8),
    (400_000, 0.9),
    (3_160_000, 0.95),
    (100_000_000, 0.98),
    (1_000_000_000, 1.0),
];
