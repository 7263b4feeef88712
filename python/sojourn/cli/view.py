"""`sojourn view`."""

import argparse
from pathlib import Path

from sojourn import page_server, results
from sojourn.cli.interrupts import Request
from sojourn.cli.options import file_name, port

# Time between two looks whether a signal asks for the end.
_LOOK_S = 0.2


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn view`."""
    parser.add_argument(
        "directories",
        metavar="DIR",
        nargs="*",
        type=file_name,
        help="a run directory, or a folder of run directories such as a sweep",
    )
    parser.add_argument(
        "--port",
        type=port,
        default=0,
        metavar="N",
        help="the port on 127.0.0.1 (default: any free one)",
    )
    parser.add_argument("--open", action="store_true", help="open the page in the browser")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    given = [Path(one) for one in args.directories]
    page_server.run_directories(given)
    server = page_server.PageServer(page_server.page_folder(), given, results.read, args.port)
    with server, Request() as request:
        print(f"The page is at {server.address}\nCtrl-C ends it.", flush=True)
        if args.open:
            import webbrowser

            webbrowser.open(server.address)
        server.timeout = _LOOK_S
        while not request.is_made:
            server.handle_request()
    return 0
