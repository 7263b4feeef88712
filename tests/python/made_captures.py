"""Small captures of a TCP transfer with known round-trip times, behind any link's headers."""

import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

Frame = Callable[[bytes], bytes]

FIN, SYN, RST, ACK = 1, 2, 4, 16
RTT_S = 0.030


class Packet(NamedTuple):
    """A segment from the client (`up`) or the server, at a time in seconds."""

    at_s: float
    up: bool
    seq: int
    ack: int
    length: int
    flags: int = ACK
    number: int = 0
    ttl: int = 64

    def v4(self) -> bytes:
        """Return it in IPv4, with `number` as identification."""
        tcp = self._tcp()
        ends = [bytes((192, 0, 2, host)) for host in (1, 2)]
        return (
            struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), self.number, 0x4000, self.ttl, 6, 0)
            + b"".join(ends if self.up else reversed(ends))
            + tcp
        )

    def v6(self) -> bytes:
        """Return it in IPv6."""
        tcp = self._tcp()
        ends = [bytes.fromhex("20010db8") + bytes(11) + bytes((host,)) for host in (1, 2)]
        header = struct.pack(">IHBB", 6 << 28, len(tcp), 6, self.ttl)
        return header + b"".join(ends if self.up else reversed(ends)) + tcp

    def _tcp(self) -> bytes:
        ports = (1000, 80) if self.up else (80, 1000)
        numbers = (*ports, self.seq, self.ack, 5 << 4, self.flags, 0xFFFF, 0, 0)
        return struct.pack(">HHIIBBHHH", *numbers) + bytes(self.length)


def transfer(segments: int) -> list[Packet]:
    """Return 100 bytes every 100 ms, each acknowledged after `RTT_S`."""
    packets = []
    for k in range(segments):
        data = Packet(k / 10, True, 1 + 100 * k, 1, 100, number=k + 1)
        packets += [data, Packet(k / 10 + RTT_S, False, 1, 101 + 100 * k, 0, number=k + 1)]
    return packets


def pcap(link: int, frames: Sequence[tuple[float, bytes]]) -> bytes:
    """Return a capture in ns of frames of this link type, at times in seconds."""
    content = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, link)
    for at_s, frame in frames:
        ns = round(at_s * 1e9)
        content += struct.pack("<IIII", *divmod(ns, 10**9), len(frame), len(frame)) + frame
    return content


def _behind(v4: str, v6: str) -> Frame:
    return lambda ip: bytes.fromhex(v4 if ip[0] >> 4 == 4 else v6) + ip


def _pppoe(before: str) -> Frame:
    """Return a session's frames (RFC 2516 section 4); its length counts the protocol, too."""
    header = bytes.fromhex(f"{before}11001234")

    def frame(ip: bytes) -> bytes:
        protocol = b"\0\x21" if ip[0] >> 4 == 4 else b"\0\x57"
        return header + struct.pack(">H", 2 + len(ip)) + protocol + ip

    return frame


_MACS = "020000000001020000000002"
_LABELS = "00012040" + "00013140"

# Link types of tcpdump's registry, and headers before IPv4 and before IPv6.
LINKS: dict[str, tuple[int, Frame]] = {
    "raw": (101, lambda ip: ip),
    "pppoe": (1, _pppoe(f"{_MACS}8864")),
    "vlan-pppoe": (1, _pppoe(f"{_MACS}810000078864")),
    "mpls": (1, _behind(f"{_MACS}8847{_LABELS}", f"{_MACS}8847{_LABELS}")),
    "vlan-mpls": (
        1,
        _behind(f"{_MACS}88a80007810000088848{_LABELS}", f"{_MACS}810000088847{_LABELS}"),
    ),
    "snap": (1, _behind(f"{_MACS}0094aaaa030000000800", f"{_MACS}00a8aaaa0300000086dd")),
    "ppp": (9, _behind("ff030021", "ff030057")),
    "ppp-short": (9, _behind("21", "57")),
    "ppp-mpls": (9, _behind(f"ff030281{_LABELS}", f"ff030281{_LABELS}")),
    "ppp-hdlc": (50, _behind("ff030021", "ff030057")),
    "cisco-hdlc": (104, _behind("0f000800", "0f0086dd")),
    "ppp-ether": (51, _pppoe("")),
    "ppp-direction": (204, _behind("01ff030021", "00ff030057")),
    "atm": (100, _behind("aaaa030000000800", "aaaa0300000086dd")),
    "atm-ppp": (100, _behind("fefe03cf0021", "fefe03cf0057")),
    "atm-bridged": (100, _pppoe(f"aaaa030080c200070000{_MACS}8864")),
}
