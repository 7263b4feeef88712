//! Situations of public packetdrill scripts.
//!
//! Times and values are those of the script that a test names. `NAME.pkt` is in google/packetdrill,
//! `gtests/net/tcp`, revision 2c4001c; Linux has many of them in
//! `tools/testing/selftests/net/packetdrill`. Other sources are named in full.
//!
//! Ignored tests have the right value too. They wait for:
//!
//! | reason | the difference |
//! |---|---|
//! | idle windows | no setting keeps an idle window as `tcp_slow_start_after_idle = 0` does |
//! | NewReno without SACK | without SACK, no duplicate acknowledgement counts |
//! | duplicates as deliveries | Linux counts a segment that DSACK reports as delivered once more |
//! | timer after an undo | Linux's timer takes the late sample; RFC 4015 raises it further |
//!
//! Run them by `cargo test -p sojourn-transport --test it drill -- --ignored`.

mod script;

mod cubic;
mod marks;
mod recovery;
mod slow_start;
mod timeouts;
