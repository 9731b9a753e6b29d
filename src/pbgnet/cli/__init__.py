"""The command line: one command per file, parsing only. Start with ``pbgnet --help``."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; the entry point of the ``pbgnet`` script."""
    try:
        from pbgnet.cli.app import app
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("typer", "rich"):
            raise
        sys.exit(f"The command line needs {error.name}: pip install typer rich pandas pyarrow")
    app(prog_name="pbgnet")  # also for python -m pbgnet: shells complete this name
