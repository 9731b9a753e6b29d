"""``python -m pbgnet`` is ``pbgnet``, also for programs that start modules, such as ``torchrun -m``."""

from pbgnet.cli import main

if __name__ == "__main__":
    main()
