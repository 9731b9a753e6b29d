"""The tables of a comparison, and the page with them."""

import statistics
from collections.abc import Sequence
from pathlib import Path

from pbgnet.certificates import round_up
from pbgnet.experiments.comparisons.comparison import Comparison, Method
from pbgnet.experiments.comparisons.finished import FinishedRun
from pbgnet.files import write_whole

COLUMNS = (
    "method",
    "certified",
    "test error",
    "route",
    "prior + certified rows",
    "runs",
    "seconds",
    "machine",
)
OF_LABELS = ("certified Hamming loss", "test Hamming loss")
NOTHING = "-"


def comparison_tables(
    comparison: Comparison, finished: Sequence[FinishedRun], *, small: bool | None = None
) -> dict[str, list[str]]:
    """Return the lines of a table for the full runs, and of one for the small runs, if there are any.

    Figures are means over seeds; those of bounds are rounded up. If a run was done several times, the last
    one counts.
    """
    last = {one.run: one for one in finished}
    tables = {}
    for title, is_small in _forms(comparison).items():
        if small is not None and small is not is_small:
            continue
        found = [(method, _of_method(method, last, is_small)) for method in comparison.methods]
        if not any(runs for _, runs in found):
            continue
        several = any(one.certified_hamming is not None for _, runs in found for one in runs)
        rows = [
            _row(method.small_title if is_small else method.title, len(method.runs), runs, several)
            for method, runs in found
        ]
        for figure in () if is_small else comparison.published:
            cells = [f"{figure.method} ({figure.predictor})", f"{figure.certified:.4f}"]
            rows.append(cells + [NOTHING] * (len(rows[0]) - 2))
        tables[title] = _aligned([*COLUMNS, *(OF_LABELS if several else ())], rows)
    return tables


def write_comparison_page(comparison: Comparison, finished: Sequence[FinishedRun], folder: Path) -> Path:
    """Write README.md with the tables into a folder, completely or not at all."""
    tables = comparison_tables(comparison, finished)
    lines = [f"# {comparison.name}: {comparison.summary}", "", *comparison.about.strip().splitlines(), ""]
    lines += [
        f"Made by `pbgnet reproduce {comparison.name}` and `pbgnet report {comparison.name}`. *Certified* is",
        "an upper bound on the error rate that holds with 95 % confidence. Rates are means over the runs,",
        "which differ in their seed.",
    ]
    for title, table in tables.items():
        lines += ["", f"## {title}", "", *table]
    if comparison.published:
        lines += [
            "",
            "Published figures follow the protocols of their authors, who divide the rows differently:",
            "",
        ]
        lines += [f"- {figure.method}: {figure.source}" for figure in comparison.published]
    used = {
        run.fingerprint() for small in _forms(comparison).values() for run in comparison.runs(small=small)
    }
    kept = [one for one in finished if one.run in used]
    versions = ", ".join(dict.fromkeys(one.code for one in kept))
    dates = " to ".join(dict.fromkeys([min(d), max(d)])) if (d := [one.finished[:10] for one in kept]) else ""
    lines += ["", f"Run by pbgnet {versions}, {dates}." if kept else "Nothing has been run yet."]
    folder.mkdir(parents=True, exist_ok=True)
    return write_whole(folder / "README.md", "\n".join(lines) + "\n")


def _forms(comparison: Comparison) -> dict[str, bool]:
    """Return the titles of the forms that a comparison has, and whether each is small."""
    return {"In full": False, "Small": True} if comparison.has_small else {"Results": False}


def _of_method(method: Method, last: dict[str, FinishedRun], small: bool) -> list[FinishedRun]:
    runs = method.small_runs if small else method.runs
    return [last[key] for run in runs if (key := run.fingerprint()) in last]


def _row(title: str, n_wanted: int, runs: Sequence[FinishedRun], several_labels: bool) -> list[str]:
    if not runs:
        return [title] + [NOTHING] * (len(COLUMNS) - 1 + 2 * several_labels)

    def mean(name: str) -> float:
        return statistics.fmean(getattr(run, name) for run in runs)

    cells = [
        title,
        round_up(mean("certified")),
        f"{mean('test_error'):.4f}",
        ", ".join(dict.fromkeys(run.route for run in runs)),
        f"{runs[0].n_prior} + {runs[0].n_certified}",
        f"{len(runs)} of {n_wanted}",
        f"{mean('seconds'):.0f}",
        ", ".join(dict.fromkeys(run.machine for run in runs)),
    ]
    if several_labels:
        cells += [round_up(mean("certified_hamming")), f"{mean('test_hamming'):.4f}"]
    return cells


def _aligned(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a Markdown table whose cells are as wide as their columns."""
    widths = [max(len(row[k]) for row in (columns, *rows)) for k in range(len(columns))]

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))} |"

    return [line(columns), line(["-" * width for width in widths]), *map(line, rows)]
