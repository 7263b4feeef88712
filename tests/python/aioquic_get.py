"""Download over HTTP/3 with aioquic, which sends and reads no ECN: HOST PORT PATH."""

import asyncio
import ssl
import sys

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, H3Event
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, QuicEvent


class Client(QuicConnectionProtocol):
    """Counts the bytes of one response."""

    def get(self, host: str, path: str) -> "asyncio.Future[int]":
        self.http = H3Connection(self._quic)
        self.received = 0
        self.done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        stream = self._quic.get_next_available_stream_id()
        head = {":method": "GET", ":scheme": "https", ":authority": host, ":path": path}
        fields = [(name.encode(), value.encode()) for name, value in head.items()]
        self.http.send_headers(stream, fields, end_stream=True)
        self.transmit()
        return self.done

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, ConnectionTerminated) and not self.done.done():
            self.done.set_exception(ConnectionError(event.reason_phrase))
        for one in self.http.handle_event(event) if hasattr(self, "http") else ():
            self.count(one)

    def count(self, event: H3Event) -> None:
        if isinstance(event, DataReceived):
            self.received += len(event.data)
            if event.stream_ended and not self.done.done():
                self.done.set_result(self.received)


async def main(host: str, port: str, path: str) -> None:
    settings = QuicConfiguration(alpn_protocols=H3_ALPN, verify_mode=ssl.CERT_NONE)
    made = connect(host, int(port), configuration=settings, create_protocol=Client)
    async with made as client:
        assert isinstance(client, Client)
        print(await asyncio.wait_for(client.get(host, path), 30))


asyncio.run(main(*sys.argv[1:]))
