//! Moderation of the window, and ECN.

use sojourn_transport::{Config, EcnFeedback, EcnRequest, PrrRule, Why};
use sojourn_units::Ecn;

use super::script::{Host, Script};

/// `cwnd-moderation-disorder-no-moderation.pkt`: a packet beyond a gap does not reduce the window.
#[test]
fn disorder_no_moderation() {
    Script::new(100).run(|d| {
        d.write(4).sends(0..4).after(5).cwnd(10);
        d.after(95).sack(0, 1..2).after(5).recovers(Why::Nothing).cwnd(10);
    });
}

fn classic(config: &mut Config) {
    config.ecn_feedback = EcnFeedback::Classic;
}

/// `cwnd-moderation-ecn-enter-cwr-no-moderation-700.pkt`: a mark with three packets in flight.
/// Linux since 7e901ee7b6ab and RFC 9937 let one more packet leave than the script's kernel,
/// because the acknowledgement advances.
#[test]
fn ecn_enter_cwr_no_moderation() {
    Script::new(100).config(classic).run(|d| {
        d.write(4).sends(0..4).after(5).cwnd(10);
        d.after(95).ece().ack(1).after(5).recovers(Why::Mark).cwnd(5).ssthresh(7);
    });
}

/// The same script as it is, with the PRR of its kernel.
#[test]
fn ecn_enter_cwr_no_moderation_700() {
    let before = Script::new(100).on(&[Host::Linux]).config(|c| {
        classic(c);
        c.prr = Some(PrrRule::Linux510);
    });
    before.run(|d| {
        d.write(4).sends(0..4).after(5).cwnd(10);
        d.after(95).ece().ack(1).after(5).recovers(Why::Mark).cwnd(4);
    });
}

/// `ecn-uses-ect0.pkt`.
#[test]
fn ecn_uses_ect0() {
    Script::new(2).config(classic).run(|d| {
        d.after(2).write(1).sends([0]);
        assert_eq!(d.last().ecn, Ecn::Ect0);
    });
}

fn without_ecn(config: &mut Config) {
    classic(config);
    config.ecn = EcnRequest::Never;
}

/// RFC 3168 section 6.1.2: after a loss, the first new packet of a sender with ECN has CWR, and no
/// packet of one without.
#[test]
fn cwr_needs_ecn() {
    for cwr in [true, false] {
        let config = if cwr { classic } else { without_ecn };
        Script::new(100).config(config).run(|d| {
            d.write(10).sends(0..10).after(100);
            for end in [2, 3, 4] {
                d.after(10).sack(0, 1..end);
            }
            d.sends([0]).after(20).write(7).sack(0, 1..5).sends([10]);
            assert_eq!(d.last().cwr, cwr);
        });
    }
}
