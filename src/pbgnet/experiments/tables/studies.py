"""The tables of the paper: main results, selected models, variance analysis."""

from collections.abc import Sequence

from pbgnet.experiments.studies import NAMES, Selected, StudyResults, confidence_text, spread_of
from pbgnet.experiments.tables.cells import BOUND, COUNT, ERROR, GAP, NONE, SHORT, TWO_DIGITS, Cell
from pbgnet.experiments.tables.paper import paper_numbers
from pbgnet.experiments.tables.table import LEGEND, StudyTable

JUDGED = (
    ("Train error", "train_error", ERROR),
    ("Test error", "test_error", ERROR),
    ("Bound", "bound", BOUND),
    ("Honest bound", "honest_bound", BOUND),
)
HYPERPARAMETERS = (
    ("Hidden layers", "hidden_layers", COUNT),
    ("Hidden size", "hidden_size", COUNT),
    ("T", "n_samples", COUNT),
    ("Weight decay", "weight_decay", SHORT),
    ("C", "c", TWO_DIGITS),
    ("KL", "divergence", SHORT),
    ("Learning rate", "learning_rate", SHORT),
    ("Best epoch", "epoch", COUNT),
)

ABOUT_BOUNDS = (
    "Bounds are on the linear loss of the aggregate and hold with probability "
    "{confidence}; like the paper's, they are rounded to the nearest digit, so these "
    "tables are not certificates. The bound pays for {priors} priors (the paper: 9, "
    "one for each architecture); the honest bound pays for every prior that the "
    "selection could have chosen."
)
PRETRAINED_ROWS = "The train error of PBGNet_{pre} is over the rows it is certified on."


def main_results_table(results: StudyResults) -> StudyTable:
    """Return errors and bounds of every data set and algorithm on the first split, beside the paper's."""
    split = results.split_seeds[0]
    title = f"Main results, study “{results.study.name}”, split {split}"
    return _judged_table(results, [split], "main_results", title)


def variance_table(results: StudyResults) -> StudyTable:
    """Return means and deviations over the splits, beside the paper's."""
    count = len(results.split_seeds)
    about = f"Mean ± deviation (unbiased) over {count} random splits, each with its own first weights."
    title = f"Variance analysis, study “{results.study.name}”, {count} splits"
    return _judged_table(results, results.split_seeds, "variance", title, about)


def selected_models_table(results: StudyResults) -> StudyTable:
    """Return the hyperparameters selected on the first split, beside the paper's."""
    split = results.split_seeds[0]
    rows = []
    for dataset, algorithm in results.cells():
        paper = paper_numbers("selected_models").get((dataset, algorithm), {})
        cells = [
            _hyperparameter(results, (dataset, algorithm), split, name).with_paper(paper.get(name), form)
            for _, name, form in HYPERPARAMETERS
        ]
        rows.append((Cell(dataset), Cell(_label(results, dataset, algorithm, [split])), *cells))
    notes = ("Beside each choice stands the paper's.",)
    columns = ("Data set", "Algorithm", *(title for title, _, _ in HYPERPARAMETERS))
    title = f"Selected models, study “{results.study.name}”, split {split}"
    name = f"{results.study.name}-selected-models"
    return StudyTable(name, title, columns, tuple(rows), _notes(results, notes, [split]), n_labels=2)


def _judged_table(
    results: StudyResults, splits: Sequence[int], source: str, title: str, *about: str
) -> StudyTable:
    """Return the numbers of all algorithms beside those of a table of the paper."""
    rows = []
    for dataset, algorithm in results.cells():
        paper = paper_numbers(source).get((dataset, algorithm), {})
        cells = [Cell(dataset), Cell(_label(results, dataset, algorithm, splits))]
        for _, name, form in JUDGED:
            has_one = algorithm != "mlp" or "bound" not in name
            ours = spread_of(results.values(dataset, algorithm, name, splits))
            mean, deviation = (ours.mean, ours.deviation) if ours else (None, None)
            theirs, their_deviation = paper.get(name), paper.get(f"{name}_deviation")
            cells.append(Cell(mean, theirs, deviation, their_deviation, form, awaited=has_one))
        rows.append(tuple(cells))
    legend = (LEGEND,) if any(cell.paper is not None for row in rows for cell in row) else ()
    notes = _notes(results, (*about, *legend, ABOUT_BOUNDS, PRETRAINED_ROWS), splits)
    columns = ("Data set", "Algorithm", *(title for title, _, _ in JUDGED))
    name = f"{results.study.name}-{source.replace('_', '-')}"
    return StudyTable(name, title, columns, tuple(rows), notes, n_labels=2)


def _hyperparameter(results: StudyResults, place: tuple[str, str], split: int, name: str) -> Cell:
    """Return what was selected; a dash if the algorithm has no such hyperparameter."""
    dataset, algorithm = place
    certified, decayed = algorithm != "mlp", algorithm in ("mlp", "pbgnet_l", "pbgnet_l_bnd")
    if (name in ("c", "divergence", "n_samples") and not certified) or (
        name == "weight_decay" and not decayed
    ):
        return Cell(None)
    return chosen(results.selected.get((dataset, algorithm, split, None)), name)


def chosen(selected: Selected | None, name: str) -> Cell:
    """Return a hyperparameter, or what training made of one; a gap if nothing is selected yet."""
    if selected is None:
        return Cell(None, awaited=True)
    candidate = selected.candidate
    if name == "n_samples":
        return Cell("exact" if candidate.spec.n_samples is None else candidate.spec.n_samples)
    if name in candidate.numbers:
        return Cell(candidate.numbers[name])
    return Cell(getattr(candidate.spec, name, None))


def _label(results: StudyResults, dataset: str, algorithm: str, splits: Sequence[int]) -> str:
    """Name an algorithm; a star means that some of its runs are missing."""
    done, expected = results.progress(dataset, algorithm, splits)
    return NAMES[algorithm] + ("*" if 0 < done < expected else "")


def _notes(results: StudyResults, notes: tuple[str, ...], splits: Sequence[int]) -> tuple[str, ...]:
    counts = [results.progress(dataset, algorithm, splits) for dataset, algorithm in results.cells()]
    extra = []
    if any(done == 0 for done, _ in counts):
        extra.append(f"{GAP} no finished run yet; {NONE} there is no such number.")
    if any(0 < done < expected for done, expected in counts):
        extra.append("* selected among the finished runs; others are still missing or failed.")
    confidence = confidence_text(results)
    priors = " or ".join(str(count) for count in sorted({run.n_priors for run in results.study.runs}))
    # Not `format`: names with subscripts have braces.
    filled = (note.replace("{confidence}", confidence).replace("{priors}", priors) for note in notes)
    return (*filled, *extra)
