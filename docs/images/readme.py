"""Draws what the README shows, as SVG files beside this one: the comparison over tables, and the badges.

    python docs/images/readme.py

Numbers come from results/tables/runs.jsonl, what badges say from pyproject.toml and the package. A test
compares the files with what this would write.
"""

import json
import runpy
import statistics
import tomllib
from html import escape
from pathlib import Path
from typing import Any

import pbgnet
from pbgnet.pages.palette import LIGHT

FOLDER = Path(__file__).resolve().parent
PROJECT = FOLDER.parent.parent
Drawing = runpy.run_path(str(FOLDER / "draw.py"))["Drawing"]

OURS = "pbgnet"
COLOURS = {  # told apart by every kind of colour vision, and by their shapes
    OURS: LIGHT["certified"],
    "random forest": "#b45309",
    "gradient boosting": "#8c2d6a",
    "logistic regression": "#6b7280",
}
TUNED_ON = ("banana", "german", "pima", "spambase", "tic-tac-toe")
TABLES = (*TUNED_ON, "crx", "phoneme", "saheart", "titanic", "wisconsin")
LEFT, RIGHT, TOP, STEP, MOST = 128, 540, 142, 38, 0.4


def certified_errors() -> dict[str, dict[str, float]]:
    """Return the certified error of each method on the ordinary tables: means over splits."""
    lines = (PROJECT / "results" / "tables" / "runs.jsonl").read_text(encoding="utf-8").splitlines()
    found: dict[str, dict[str, list[float]]] = {}
    for run in map(json.loads, lines):
        if run["method"] in COLOURS and run["table"] in TABLES:
            found.setdefault(run["table"], {}).setdefault(run["method"], []).append(run["certified"])
    means = {
        table: {method: statistics.fmean(values) for method, values in methods.items()}
        for table, methods in found.items()
    }
    return dict(sorted(means.items(), key=lambda item: item[1][OURS]))


def mean_over(errors: dict[str, dict[str, float]], method: str, tables: set[str]) -> float:
    """Return the mean of a method over some tables."""
    return statistics.fmean(errors[table][method] for table in tables)


def mark(picture: Any, method: str, x: float, y: float) -> None:
    """Draw the sign of a method: a disc for ours; triangle, square and cross for the others."""
    colour = COLOURS[method]
    shape = {
        OURS: f'<circle cx="{x:.1f}" cy="{y:g}" r="5.5" fill="{colour}"/>',
        "random forest": f'<path d="M{x - 5:.1f} {y + 4:g}h10l-5 -9z" fill="{colour}"/>',
        "gradient boosting": f'<rect x="{x - 4:.1f}" y="{y - 4:g}" width="8" height="8" fill="{colour}"/>',
        "logistic regression": f'<path d="M{x - 4:.1f} {y - 4:g}l8 8m0 -8l-8 8" stroke="{colour}"'
        ' stroke-width="2.2" fill="none"/>',
    }
    picture.parts.append(shape[method])


def comparison() -> Any:
    """Certified error of ours and of what people use: a band for each table, a lane in it for each method."""
    errors = certified_errors()
    bottom = TOP + STEP * len(errors)
    picture = Drawing(568, bottom + 82, "Certified error of four classifiers on ten tables")
    picture.text(24, 38, "Wrong at most this often, on ten tables", 20, bold=True)
    picture.text(24, 62, "Proved with 95 % confidence for each. Smaller is better.", 15, LIGHT["soft"])
    for place, method in enumerate(COLOURS):
        x, y = 32 + 262 * (place % 2), 95 + 27 * (place // 2)
        mark(picture, method, x, y - 5)
        mean = percent(mean_over(errors, method, set(errors)))
        picture.text(x + 14, y, f"{method}, mean {mean}", 14, COLOURS[method], bold=method == OURS)
    for line, table in enumerate(errors):
        y = TOP + STEP * line
        if line % 2 == 0:
            picture.box(12, y, 544, STEP, LIGHT["band"], "none", 4)
        picture.text(LEFT - 16, y + STEP / 2 + 5, f"{table}{' *' * (table in TUNED_ON)}", 15, anchor="end")
    for tick in range(5):
        x = place_of(tick / 10)
        picture.line(x, TOP, x, bottom, "#c3cad6" if tick == 0 else LIGHT["rule"], 1)
        picture.text(x, bottom + 20, f"{10 * tick} %", 14, LIGHT["soft"], "middle")
    for line, rates in enumerate(errors.values()):
        for lane, method in enumerate(COLOURS):
            x, y = place_of(rates[method]), TOP + STEP * line + 5 + (STEP - 10) * (lane + 0.5) / len(COLOURS)
            if rates[method] > MOST:  # far to the right: its number beside the edge
                picture.text(x - 12, y + 5, percent(rates[method]), 13, COLOURS[method], "end")
            mark(picture, method, x, y)
    others = set(errors) - set(TUNED_ON)
    ours, forest = (percent(mean_over(errors, method, others)) for method in (OURS, "random forest"))
    picture.text(
        24, bottom + 48, "* The defaults of pbgnet were settled on these five tables.", 14, LIGHT["soft"]
    )
    picture.text(
        24,
        bottom + 68,
        f"Mean over the other five: pbgnet {ours}, random forest {forest}.",
        14,
        LIGHT["soft"],
    )
    return picture


def place_of(rate: float) -> float:
    """Return where a rate stands; those above the end of the axis stand at the edge."""
    return LEFT + (RIGHT - LEFT) * min(rate, MOST) / MOST


def percent(rate: float) -> str:
    """Write a rate as text does elsewhere."""
    return f"{100 * rate:.1f} %"


def badge(name: str, value: str, colour: str) -> str:
    """Return a badge: what it is about on dark ground, what is the case on coloured."""
    left, right = (round(7.0 * len(text) + 16) for text in (name, value))
    texts = "".join(
        f'<text x="{middle:g}" y="14" text-anchor="middle">{escape(text)}</text>'
        for text, middle in ((name, left / 2), (value, left + right / 2))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img">'
        f"<title>{escape(f'{name}: {value}')}</title>"
        f'<clipPath id="round"><rect width="{left + right}" height="20" rx="4"/></clipPath>'
        f'<g clip-path="url(#round)"><rect width="{left}" height="20" fill="#3d4654"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/></g>'
        '<g fill="#ffffff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11">'
        f"{texts}</g></svg>\n"
    )


def badges() -> dict[str, str]:
    """Return the badges by the name of their file."""
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    versions = [line.rsplit(" ", 1)[1] for line in project["classifiers"] if "Python :: 3." in line]
    types = "mypy strict" if settings["tool"]["mypy"]["strict"] else "mypy"
    return {
        "badge-version.svg": badge("version", pbgnet.__version__, "#1a56b8"),
        "badge-python.svg": badge("python", f"{versions[0]} to {versions[-1]}", "#1a56b8"),
        "badge-license.svg": badge("license", project["license"], "#17693b"),
        "badge-types.svg": badge("types", types, "#17693b"),
    }


def drawings() -> dict[Path, str]:
    """Return the files, with what they should contain."""
    texts = {"tables.svg": str(comparison()), **badges()}
    return {FOLDER / name: text for name, text in texts.items()}


if __name__ == "__main__":
    for path, text in drawings().items():
        path.write_text(text, encoding="utf-8", newline="\n")
