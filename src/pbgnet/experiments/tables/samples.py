"""Errors and bounds by the number T of samples, and what selecting T gives, beside the variance analysis."""

from collections.abc import Mapping

from pbgnet.experiments.studies import NAMES, Spread, StudyResults, select_all, spread_of
from pbgnet.experiments.tables.cells import BOUND, ERROR, GAP, Cell
from pbgnet.experiments.tables.paper import paper_numbers
from pbgnet.experiments.tables.table import LEGEND, StudyTable

# The smallest T of the paper's grid; its study of T begins at 1.
SMALLEST = 10

FORMS = {"test_error": ("Test error", ERROR), "bound": ("Bound", BOUND)}

ABOUT = (
    "Where T is selected, each algorithm does so on every split separately, among the "
    f"sampled runs with T of {SMALLEST} and more: the best of several runs, beside single "
    "ones. The paper's number is that of its variance analysis."
)


def sample_size_table(
    results: StudyResults, name: str, curves: Mapping[tuple[str, str], Mapping[int | None, Spread]]
) -> StudyTable:
    """Return a number, "test_error" or "bound", by T, None in the curves for the exact aggregate."""
    words, form = FORMS[name]
    sampled = [record for record in results.done if (record.spec.n_samples or 0) >= SMALLEST]
    selected = select_all(sampled, results.study.algorithms)
    sizes = sorted({run.n_samples for run in results.study.runs if run.n_samples is not None})
    rows = []
    for place in results.cells():
        paper = paper_numbers("variance").get(place, {})
        theirs, their_deviation = paper.get(name), paper.get(f"{name}_deviation")
        if paper and theirs is None:  # trivial, so the paper leaves it out
            continue
        best = spread_of(one.number(name) for (*key, _, _), one in selected.items() if key == list(place))
        mean, deviation = (best.mean, best.deviation) if best else (None, None)
        points = curves.get(place, {})
        cells = [
            Cell(point.mean, None, point.deviation, None, form) if point else Cell(awaited=True)
            for point in (points.get(size) for size in (*sizes, None))
        ]
        cells.insert(0, Cell(mean, theirs, deviation, their_deviation, form, awaited=True))
        rows.append((Cell(place[0]), Cell(NAMES[place[1]]), *cells))
    count = len(results.split_seeds)
    gap = () if results.complete else (f"{GAP} no finished run yet.",)
    about = f"Mean ± deviation (unbiased) over {count} random splits, each with its own first weights."
    columns = ("Data set", "Algorithm", "Selected", *(f"T = {size:,}" for size in sizes), "Exact")
    title = f"{words} by the number of samples, study “{results.study.name}”, {count} splits"
    file = f"{results.study.name}-{name.replace('_', '-')}"
    return StudyTable(file, title, columns, tuple(rows), (about, ABOUT, LEGEND, *gap), n_labels=2)
