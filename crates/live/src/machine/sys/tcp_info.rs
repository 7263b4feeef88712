//! `TCP_INFO` of a socket (Linux, `include/uapi/linux/tcp.h`).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Bytes of the kernel's structure up to `tcpi_snd_wnd`, and room for later fields.
const SIZE: usize = 280;

/// Slow start threshold before the first reduction (Linux `TCP_INFINITE_SSTHRESH`).
pub(crate) const INFINITE: u32 = 0x7fff_ffff;

/// The fields that a run records. Units as the kernel's: packets, bytes, microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TcpInfo {
    pub(crate) ca_state: u8,
    /// Doublings of the retransmission timeout.
    pub(crate) backoff: u8,
    pub(crate) snd_mss: u32,
    pub(crate) unacked: u32,
    pub(crate) sacked: u32,
    pub(crate) lost: u32,
    pub(crate) retrans: u32,
    pub(crate) rtt_us: u32,
    pub(crate) rttvar_us: u32,
    pub(crate) snd_ssthresh: u32,
    pub(crate) snd_cwnd: u32,
    pub(crate) total_retrans: u32,
    /// Bytes a second; the maximum if unlimited.
    pub(crate) pacing_rate: u64,
    pub(crate) min_rtt_us: u32,
    /// Bytes a second.
    pub(crate) delivery_rate: u64,
    /// Packets delivered, also selectively, with the SYN.
    pub(crate) delivered: u32,
    pub(crate) delivered_ce: u32,
    /// Payload sent, retransmissions included.
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_retransmitted: u64,
    pub(crate) rwnd_limited_us: u64,
    /// Duplicate SACKs received (RFC 2883).
    pub(crate) dsack_dups: u32,
    /// Retransmission timeouts; `None` before Linux 6.7.
    pub(crate) total_rto: Option<u16>,
}

impl TcpInfo {
    /// Reads the state of a socket. Fields that an older kernel lacks are zero.
    pub(crate) fn read(socket: BorrowedFd<'_>) -> io::Result<TcpInfo> {
        let mut bytes = MaybeUninit::<[u8; SIZE]>::zeroed();
        let mut length = SIZE as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes, the size of `bytes`.
        let result = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                bytes.as_mut_ptr().cast(),
                &mut length,
            )
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: zeroed before the call, so that every byte has a value.
        Ok(TcpInfo::parse(&unsafe { bytes.assume_init() }, length as usize))
    }

    /// The offsets of the fields never change: the kernel only appends. `known`: the bytes that this
    /// kernel has written.
    fn parse(bytes: &[u8; SIZE], known: usize) -> TcpInfo {
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        TcpInfo {
            ca_state: bytes[1],
            backoff: bytes[4],
            snd_mss: word(16),
            unacked: word(24),
            sacked: word(28),
            lost: word(32),
            retrans: word(36),
            rtt_us: word(68),
            rttvar_us: word(72),
            snd_ssthresh: word(76),
            snd_cwnd: word(80),
            total_retrans: word(100),
            pacing_rate: long(104),
            min_rtt_us: word(148),
            delivery_rate: long(160),
            delivered: word(192),
            delivered_ce: word(196),
            bytes_sent: long(200),
            bytes_retransmitted: long(208),
            rwnd_limited_us: long(176),
            dsack_dups: word(216),
            total_rto: (known >= 242).then(|| u16::from_ne_bytes([bytes[240], bytes[241]])),
        }
    }
}
