"""Makes `python -m sojourn` equivalent to `sojourn`."""

import os
import sys

if __name__ == "__main__":
    # `-m` puts the current folder first on the path; a file there could shadow a module: `html.py`.
    if sys.path[:1] == [os.getcwd()]:  # noqa: PTH109
        del sys.path[0]
    from sojourn.cli import main

    sys.exit(main())
