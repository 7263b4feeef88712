//! The controllers in the kernel. The tests skip with a line where the machine does not allow BPF.
#![cfg(target_os = "linux")]

mod common;
mod native;
mod object;
#[cfg(feature = "libbpf")]
mod privilege;
mod probe;
mod random;
mod record;
mod registration;
#[cfg(feature = "libbpf")]
mod release;
mod replay;
mod scenarios;
mod stack;
