"""The program: python -m memtool, and the command memtool."""
import sys

from ._core import main

if __name__ == "__main__":
    sys.exit(main())
