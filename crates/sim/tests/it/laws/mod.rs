//! The simulator against published closed forms. Each module asserts how far the published and the
//! simulated figures may differ, and why.

mod codel;
mod cubic;
mod dctcp;
mod fluid;
mod fq_codel;
mod one_flow;
mod reno;
