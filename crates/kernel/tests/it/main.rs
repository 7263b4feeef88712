//! The controllers in the kernel. The tests skip with a line where the machine does not allow BPF.
#![cfg(target_os = "linux")]

mod common;
mod native;
mod object;
mod probe;
mod random;
mod record;
mod registration;
mod replay;
mod scenarios;
