"""The order of the gallery: first steps first, research last, as ``examples/order.txt`` lists them."""

from pathlib import Path

ORDER = Path(__file__).parents[2] / "examples" / "order.txt"


class ListedOrder:
    """Sort key of sphinx-gallery; a file that is not listed is an error."""

    def __init__(self, folder: str) -> None:
        self.names = ORDER.read_text(encoding="utf-8").split()

    def __call__(self, name: str) -> int:
        """Return the place of a file in the list."""
        return self.names.index(name)
