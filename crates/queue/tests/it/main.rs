//! The tests of the queue disciplines, in one program: `cargo test -p sojourn-queue NAME` runs the tests of a
//! module, or one test.

mod cake;
mod codel;
mod common;
mod contract;
mod drr;
mod dualpi2;
mod extremes;
mod fq_codel;
mod head_drop;
mod htb;
mod linux;
mod pie;
mod policer;
mod prio;
mod red;
mod threshold;
