//! The tests of the simulator, in one program: `cargo test -p sojourn-sim NAME` runs the tests of a
//! module, or one test.

mod aqm;
mod arrivals;
mod bbr3;
mod bursts;
mod cake;
mod capped;
mod capture;
mod careful_resume;
mod common;
mod conservation;
mod copa;
mod damage;
mod delay_based;
mod determinism;
mod disorder;
mod emulation;
mod fill;
#[path = "../../../scenario/tests/it/generated.rs"]
mod generated;
mod handshake;
mod ideal;
mod laws;
mod limited;
mod links;
mod lola;
mod media;
mod memory;
mod metering;
mod mitigations;
mod nested;
mod ns3;
mod own;
mod ping;
mod prague;
mod rapid;
mod receive_windows;
mod recovery;
mod recovery_matrix;
#[path = "../../../queue/tests/it/common.rs"]
mod rig;
mod ring;
mod rmcat;
mod rooms;
mod rtt_jump;
mod segmentation;
mod series;
mod shipped;
mod small_queues;
mod sources;
mod spikes;
mod table;
mod ties;
mod unavoidable;
mod vivace;
mod watched;
