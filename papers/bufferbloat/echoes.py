"""Echo requests and replies in the captures of a live run: the time of each packet on the links.

Sojourn's own captures are little-endian pcapng files of raw IP packets in nanoseconds
(`crates/trace/src/export/pcapng.rs`).
"""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from struct import unpack_from
from typing import NamedTuple

from .runs import EPOCH_S, Points

_ENHANCED_PACKET = 6
# Types of requests and replies (RFC 792 page 14, RFC 4443 sections 4.1 and 4.2), by the version
# and the protocol of their IP header.
_TYPES = {(4, 1): (8, 0), (6, 58): (128, 129)}


class Echo(NamedTuple):
    """The identity of a request or its reply: the same in both captures."""

    is_reply: bool
    host: IPv4Address | IPv6Address
    """The host that sends the requests."""
    number: int


def in_links(folder: Path, address: str) -> Points:
    """Return the time that each request of this host and its reply spent on the links.

    The first value of each pair is the time at which the reply left the links, in s since the start
    of the record; the second is in ms.
    """
    sent, received = (
        dict(echoes(next(folder.glob(f"*.{end}.pcapng")))) for end in ("sender", "receiver")
    )
    host = ip_address(address)
    found = []
    for request, left_s in sent.items():
        reply = request._replace(is_reply=True)
        if request.host != host or request.is_reply:
            continue
        # A live capture may lack packets, and the links may drop them.
        if not (request in received and reply in sent and reply in received):
            continue
        there_s, back_s = received[request] - left_s, sent[reply] - received[reply]
        found.append((sent[reply], 1e3 * (there_s + back_s)))
    return found


def echoes(file: Path) -> Iterator[tuple[Echo, float]]:
    """Return each request and reply with its time at the capturing host."""
    data = file.read_bytes()
    place = 0
    while place < len(data):
        kind, size = unpack_from("<II", data, place)
        if kind == _ENHANCED_PACKET:
            _, high, low, kept = unpack_from("<IIII", data, place + 8)
            echo = _echo(data[place + 28 : place + 28 + kept])
            if echo is not None:
                nanoseconds = (high << 32) + low - EPOCH_S * 10**9
                yield echo, 1e-9 * nanoseconds
        place += size


def _echo(packet: bytes) -> Echo | None:
    version = packet[0] >> 4
    if version == 4:
        protocol, begin = packet[9], 4 * (packet[0] & 15)
        ends = IPv4Address(packet[12:16]), IPv4Address(packet[16:20])
    else:
        protocol, begin = packet[6], 40
        ends = IPv6Address(packet[8:24]), IPv6Address(packet[24:40])  # type: ignore[assignment]
    types = _TYPES.get((version, protocol))
    if types is None or packet[begin] not in types:
        return None
    is_reply = packet[begin] == types[1]
    (number,) = unpack_from(">H", packet, begin + 6)
    return Echo(is_reply, ends[is_reply], number)
