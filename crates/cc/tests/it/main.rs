//! The tests of the congestion controllers, in one program: `cargo test -p sojourn-cc NAME` runs the tests of a
//! module, or one test.

mod abe;
mod bbr;
mod bbr3;
mod careful_resume;
mod common;
mod contract;
mod copa;
mod cubic;
mod dctcp;
mod hystart;
mod ideal;
mod ledbat;
mod ledbat_plus_plus;
mod lola;
mod media;
mod prague;
mod rapid;
mod reno;
mod search;
mod swift;
mod vegas;
