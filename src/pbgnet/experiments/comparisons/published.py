"""Published figures, read from the files that come with the package."""

import csv
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from pbgnet.validation import check_name

FOLDER = resources.files("pbgnet.experiments") / "published"


@dataclass(frozen=True)
class PublishedFigure:
    """A published certified error rate, and the kind of predictor."""

    method: str
    certified: float
    predictor: str
    source: str


def published_figures(name: str | None) -> list[PublishedFigure]:
    """Return the figures in a file; none without a name."""
    if name is None:
        return []
    check_name("file of published figures", name, sorted(Path(file.name).stem for file in FOLDER.iterdir()))
    text = (FOLDER / f"{name}.csv").read_text(encoding="utf-8")
    return [
        PublishedFigure(row["method"], float(row["certified"]), row["predictor"], row["source"])
        for row in csv.DictReader(text.splitlines())
    ]
