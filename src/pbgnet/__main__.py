"""``python -m pbgnet`` is ``pbgnet``, also for what starts modules, such as ``torchrun -m``."""

from pbgnet.cli import main

if __name__ == "__main__":
    main()
