//! HTTP/3 (RFC 9114) over connections of noq: a server of `GET` and `HEAD`, and a client of `GET`.
//!
//! Header compression uses the static table alone, which RFC 9204 section 3.2.3 allows: each end
//! announces a dynamic table without capacity.

mod client;
mod connection;
mod content;
mod frame;
mod huffman;
mod qpack;
mod server;
mod static_table;

pub use client::{Get, Response, Sink};
pub use content::{Content, Folder, Pool};
pub use qpack::{DecodeError, Field, decode as decode_fields, encode as encode_fields};
pub use server::{Served, Server};

/// Negotiated protocol (RFC 9114 section 3.1).
pub const ALPN: &[u8] = b"h3";

/// The error code of an end without an error (RFC 9114 section 8.1).
pub const NO_ERROR: u32 = frame::code::NO_ERROR;
