//! Calls of the kernel for which no safe library exists. The only modules with `unsafe`.
#![allow(unsafe_code)]

pub(crate) mod ioctl;
pub(crate) mod realtime;
pub(crate) mod tcp_info;
