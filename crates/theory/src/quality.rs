//! Estimates of the quality of media, as opinion scores from 1 (bad) to 5 (excellent).

/// P.1203's scale of scores: the least and the greatest (ITU-T P.1203 annex E).
const LEAST: f64 = 1.05;
const GREATEST: f64 = 4.9;

/// The score of a rating R from 0 to 100 (ITU-T P.1203 annex E, after ITU-T G.107 annex B).
fn score(rating: f64) -> f64 {
    if rating <= 0.0 {
        return LEAST;
    }
    if rating >= 100.0 {
        return GREATEST;
    }
    let bend = rating * (rating - 60.0) * (100.0 - rating) * 7.0e-6;
    LEAST + (GREATEST - LEAST) / 100.0 * rating + bend
}

/// The rating of a score: the inverse of [`score`], which increases, by bisection.
fn rating(of_score: f64) -> f64 {
    let (mut low, mut high) = (0.0, 100.0);
    // Each step halves the interval; 60 exceed the precision of a float.
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if score(middle) < of_score { low = middle } else { high = middle }
    }
    low
}

/// Video quality of one second after ITU-T P.1203.1 (10/2017) mode 0, for H.264, shown at the
/// resolution at which it is coded. `bps`: rate of the video; `fps`: frames a second; `pixels`:
/// pixels of a frame. Without frames, it is 1.
///
/// The coefficients are those of section 7 of the Recommendation.
pub fn video(bps: f64, fps: f64, pixels: u64) -> f64 {
    let kbps = bps / 1000.0;
    if kbps <= 0.0 || fps <= 0.0 {
        return 1.0;
    }
    // Mode 0 estimates the quantisation from the rate.
    let per_pixel = kbps * kbps / (pixels as f64 * fps);
    let inner = 41.247_507_400_1 + libm::log(kbps) + libm::log(per_pixel + 0.131_831_659_61);
    let quantisation = 11.998_351_9 - 2.999_918_47 * libm::log(inner.max(f64::MIN_POSITIVE));
    let coded = (4.66 - 0.07 * libm::exp(4.06 * quantisation)).clamp(1.0, 5.0);
    let coding = (100.0 - rating(coded)).clamp(0.0, 100.0);
    // Fewer than 24 frames a second degrade it further.
    let slow = (100.0 - coding) * (30.98 - 1.29 * fps) / (64.65 + fps);
    let slow = if fps < 24.0 { slow.clamp(0.0, 100.0) } else { 0.0 };
    score(100.0 - (coding + slow).clamp(0.0, 100.0))
}

/// The E-model's rating without impairments (ITU-T G.107 (06/2015) table 3: all defaults).
const UNIMPAIRED: f64 = 93.2;
/// G.711 with packet loss concealment, at random losses (ITU-T G.113 (11/2007) appendix I): no
/// impairment of its own, and its robustness to losses.
const ROBUSTNESS: f64 = 25.1;

/// Rating of a conversation with G.711 by the E-model (ITU-T G.107), 0 to 100. `delay_s`: one-way
/// delay from mouth to ear; `loss`: share of the frames that were not played, as random losses.
/// Echo is cancelled perfectly (section 7.4: Idte = Idle = 0).
pub fn voice_rating(delay_s: f64, loss: f64) -> f64 {
    // Equation 7-27.
    let delay = if delay_s <= 0.1 {
        0.0
    } else {
        let x = libm::log2(delay_s / 0.1);
        let sixth = 1.0 / 6.0;
        25.0 * (libm::pow(1.0 + libm::pow(x, 6.0), sixth)
            - 3.0 * libm::pow(1.0 + libm::pow(x / 3.0, 6.0), sixth)
            + 2.0)
    };
    // Equation 7-29 with Ie = 0 and a burst ratio of 1.
    let percent = loss * 100.0;
    let equipment = 95.0 * percent / (percent + ROBUSTNESS);
    (UNIMPAIRED - delay - equipment).clamp(0.0, 100.0)
}

/// The opinion score of a rating (ITU-T G.107 annex B).
pub fn voice_score(rating: f64) -> f64 {
    if rating <= 0.0 {
        return 1.0;
    }
    if rating >= 100.0 {
        return 4.5;
    }
    (1.0 + 0.035 * rating + rating * (rating - 60.0) * (100.0 - rating) * 7.0e-6).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_e_model_has_its_published_values() {
        // G.107 annex B: R = 93.2 gives 4.41; table B.1: R = 90, 80, 70, 60, 50.
        let published = [(93.2, 4.41), (90.0, 4.34), (80.0, 4.03), (70.0, 3.60), (60.0, 3.10)];
        for (rating, score) in published {
            assert!((voice_score(rating) - score).abs() < 0.01, "{rating}");
        }
        // G.107 section 7.4: no impairment up to 100 ms.
        assert_eq!(voice_rating(0.1, 0.0), 93.2);
        // G.114 (05/2003) figure 1: R stays above 90 at 150 ms and above 80 at 250 ms, and is near
        // 70 at 400 ms.
        assert!(voice_rating(0.15, 0.0) > 90.0);
        assert!((78.0..85.0).contains(&voice_rating(0.25, 0.0)), "{}", voice_rating(0.25, 0.0));
        assert!((65.0..72.0).contains(&voice_rating(0.4, 0.0)), "{}", voice_rating(0.4, 0.0));
        // A loss of 5 % costs 95 * 5 / 30.1.
        assert!((voice_rating(0.0, 0.05) - (93.2 - 15.78)).abs() < 0.01);
    }

    #[test]
    fn ratings_are_the_inverse_of_scores() {
        for of in [5.0, 20.0, 50.0, 80.0, 99.0] {
            assert!((rating(score(of)) - of).abs() < 1e-6, "{of}");
        }
    }

    /// The expected values of video in mode 0 in the test of the software of the Recommendation's
    /// authors (itu-p1203/itu-p1203 1.10.0, `test/test.py`): 1080p at 25 and 30 frames a second, shown at
    /// its own resolution. They round the inverse of the scale by a table.
    #[test]
    fn video_has_the_scores_of_the_public_software() {
        let full_hd = 1920 * 1080;
        let published = [
            (691.72, 25.0, 4.072_543_3, 2e-5),
            (4158.04, 25.0, 4.387_760_5, 2e-5),
            (7172.66, 25.0, 4.468_355_5, 2e-5),
            (6593.59, 25.0, 4.457_277_3, 2e-5),
            // This one has three digits.
            (2801.276, 30.0, 4.311, 6e-4),
        ];
        for (kbps, fps, score, within) in published {
            let found = video(kbps * 1e3, fps, full_hd);
            assert!((found - score).abs() < within, "{kbps} kbit/s: {found}, not {score}");
        }
    }

    /// P.1203.1 section 7: below 24 frames a second, the rating falls by the share (t1 - t2 * fps) /
    /// (t3 + fps) with t1 = 30.98, t2 = 1.29 and t3 = 64.65: by 0.2422 at 10 frames a second. A frame
    /// of 10/24 of the pixels at 24 frames a second has the same bits a pixel, and no such loss.
    #[test]
    fn few_frames_a_second_cost_their_published_share() {
        let hd = 1280 * 720;
        let (slow, full) = (video(1.5e6, 10.0, hd), video(1.5e6, 24.0, hd * 10 / 24));
        let share = 1.0 - rating(slow) / rating(full);
        assert!((share - 0.2422).abs() < 1e-4, "{share}");
    }

    #[test]
    fn video_improves_with_rate() {
        let hd = 1280 * 720;
        let rates = [150e3, 500e3, 1.5e6, 5e6, 20e6];
        let scores: Vec<f64> = rates.iter().map(|bps| video(*bps, 30.0, hd)).collect();
        assert!(scores.windows(2).all(|pair| pair[0] < pair[1]), "{scores:?}");
        assert_eq!(video(0.0, 0.0, hd), 1.0);
    }
}
