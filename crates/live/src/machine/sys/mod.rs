//! Calls of the kernel for which no safe library exists. The only modules with `unsafe`.
#![allow(unsafe_code)]

pub(crate) mod forward;
pub(crate) mod ioctl;
pub(crate) mod keeper;
pub(crate) mod packet_socket;
pub(crate) mod quick_ack;
pub(crate) mod realtime;
pub(crate) mod tcp_info;
