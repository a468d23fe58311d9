"""The `dirigent` command: the same as the Rust binary."""

import signal
import sys

from . import _core


def main() -> int:
    # Python only takes note of Ctrl-C, and no line of Python runs until the command has ended
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.run_cli(["dirigent", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
