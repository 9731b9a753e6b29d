"""Figures of others, read from the files that come with the package."""

import csv
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from pbgnet.validation import check_name

FOLDER = resources.files("pbgnet.experiments") / "published"


@dataclass(frozen=True)
class PublishedFigure:
    """A certified error rate that was published, and of what kind of predictor."""

    method: str
    certified: float
    predictor: str
    source: str


def published_figures(name: str | None) -> list[PublishedFigure]:
    """Return the figures of a file; none for no name."""
    if name is None:
        return []
    check_name("file of published figures", name, sorted(Path(file.name).stem for file in FOLDER.iterdir()))
    text = (FOLDER / f"{name}.csv").read_text(encoding="utf-8")
    return [
        PublishedFigure(row["method"], float(row["certified"]), row["predictor"], row["source"])
        for row in csv.DictReader(text.splitlines())
    ]
