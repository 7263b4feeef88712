//! Live runs on this machine. Each test says in one line why it does not run here.
#![cfg(target_os = "linux")]

mod acks;
mod cake;
mod common;
mod hidden_tun;
mod impairments;
mod kernel;
mod left_out;
mod link;
mod namespaces;
mod refusals;
mod shell;
mod sources;
mod without_tun;
