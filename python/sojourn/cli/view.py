"""`sojourn view`."""

import argparse
import html
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from sojourn import output
from sojourn.cli.interrupts import Request
from sojourn.cli.options import file_name, port
from sojourn.cli.page import items
from sojourn.cli.page.server import PageServer
from sojourn.errors import UsageError
from sojourn.picture import simulator_page
from sojourn.run import results

# Time between two looks whether a signal asks for the end.
_LOOK_S = 0.2


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn view`."""
    parser.add_argument(
        "directories",
        metavar="DIR",
        nargs="*",
        type=file_name,
        help="a run directory, a pcap or pcapng file, or a folder of them",
    )
    parser.add_argument(
        "--port",
        type=port,
        default=0,
        metavar="N",
        help="the port on 127.0.0.1 (default: any free one)",
    )
    parser.add_argument(
        "--save",
        metavar="FILE",
        type=file_name,
        help="write the page and one run directory as one HTML file, instead of serving them; it "
        "shows the run, and simulates changes of its scenario, without a server",
    )
    parser.add_argument("--open", action="store_true", help="open the page in the browser")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    given = [Path(one) for one in args.directories]
    found = items.found(given)
    if args.save is not None:
        return _save(args.save, found)
    server = PageServer(simulator_page.page_folder(), given, results.read, args.port)
    with server, Request() as request:
        print(f"The page is at {server.address}\nCtrl-C ends it.", flush=True)
        server.timeout = _LOOK_S
        with _opened(server.address) if args.open else nullcontext():
            while not request.is_made:
                server.handle_request()
    return 0


@contextmanager
def _opened(address: str) -> Iterator[None]:
    """Open an address in the browser.

    The command line of a browser is readable to all users of a machine. It names a file that only
    its owner may read, and this file has the address with its token.
    """
    import webbrowser

    text = f'<!doctype html><meta http-equiv="refresh" content="0; url={html.escape(address)}">\n'
    with tempfile.TemporaryDirectory(prefix="sojourn-") as folder:
        # mkdtemp makes a folder of mode 0700.
        file = Path(folder) / "page.html"
        file.touch(mode=0o600)
        file.write_text(text, "utf-8")
        webbrowser.open(file.as_uri())
        yield


def _save(target: str, found: list[items.Item]) -> int:
    runs = [item.path for item in found if item.kind == "run"]
    if len(runs) != 1:
        raise UsageError(f"--save writes one run directory, and there are {len(runs)}; name one")
    output.require_free_file(target, "--save")
    text = simulator_page.page(simulator_page.page_folder(), results.read(runs[0]))
    file = output.write_new_file(target, lambda file: file.write_text(text, "utf-8"), "--save")
    print(output.announced("Page", file))
    return 0
