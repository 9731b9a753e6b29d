"""``python -m pbgnet.cli`` is ``pbgnet``."""

from pbgnet.cli import main

if __name__ == "__main__":
    main()
