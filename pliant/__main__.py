"""``python -m pliant``: the command line."""

import sys

from pliant.cli import main

if __name__ == "__main__":
    sys.exit(main())
