"""The tables of the paper: main results, selected models, variance analysis."""

from collections.abc import Sequence

from pbgnet.experiments.results import NAMES, StudyResults, confidence_text, spread_of
from pbgnet.experiments.selection import Selected
from pbgnet.experiments.tables.cells import BOUND, COUNT, ERROR, GAP, NONE, SHORT, TWO_DIGITS, Cell, compared
from pbgnet.experiments.tables.paper_numbers import paper_numbers
from pbgnet.experiments.tables.table import LEGEND, StudyTable

__all__ = ["chosen", "main_results_table", "selected_models_table", "variance_table"]

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
    "Bounds are on the linear loss of the aggregate and hold with probability {confidence}; like the "
    "paper's, they are rounded to the nearest, so these tables are no certificates. The bound pays for "
    "{priors} priors (the paper: 9, one for each architecture), the honest bound for every prior that the "
    "selection could have chosen."
)
PRETRAINED_ROWS = "The train error of PBGNet_{pre} is over the rows it is certified on."


def main_results_table(results: StudyResults, split_seed: int | None = None) -> StudyTable:
    """Return errors and bounds of every data set and algorithm on one split, beside the paper's.

    Parameters
    ----------
    results : StudyResults
    split_seed : int, optional
        The first of the study unless given.
    """
    split = results.split_seeds[0] if split_seed is None else split_seed
    rows = _judged_rows(results, [split], "main_results")
    notes = _notes(results, (*_legend(rows), ABOUT_BOUNDS, PRETRAINED_ROWS), [split])
    columns = ("Data set", "Algorithm", *(title for title, _, _ in JUDGED))
    title = f"Main results, study “{results.study.name}”, split {split}"
    return StudyTable(f"{results.study.name}-main-results", title, columns, rows, notes, n_labels=2)


def variance_table(results: StudyResults) -> StudyTable:
    """Return means and deviations over the splits, beside the paper's."""
    rows = _judged_rows(results, results.split_seeds, "variance")
    count = len(results.split_seeds)
    about = f"Mean ± deviation (unbiased) over {count} random splits, each with its own first weights."
    notes = _notes(results, (about, *_legend(rows), ABOUT_BOUNDS, PRETRAINED_ROWS), results.split_seeds)
    columns = ("Data set", "Algorithm", *(title for title, _, _ in JUDGED))
    title = f"Variance analysis, study “{results.study.name}”, {count} splits"
    return StudyTable(f"{results.study.name}-variance", title, columns, rows, notes, n_labels=2)


def selected_models_table(results: StudyResults, split_seed: int | None = None) -> StudyTable:
    """Return the hyperparameters that were selected on one split, beside the paper's.

    Parameters
    ----------
    results : StudyResults
    split_seed : int, optional
        The first of the study unless given.
    """
    split = results.split_seeds[0] if split_seed is None else split_seed
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


def _judged_rows(results: StudyResults, splits: Sequence[int], source: str) -> tuple[tuple[Cell, ...], ...]:
    rows = []
    for dataset, algorithm in results.cells():
        paper = paper_numbers(source).get((dataset, algorithm), {})
        cells = [Cell(dataset), Cell(_label(results, dataset, algorithm, splits))]
        for _, name, form in JUDGED:
            has_one = algorithm != "mlp" or "bound" not in name
            cells.append(
                compared(
                    spread_of(results.values(dataset, algorithm, name, splits)),
                    form,
                    paper.get(name),
                    paper.get(f"{name}_deviation"),
                    awaited=has_one,
                )
            )
        rows.append(tuple(cells))
    return tuple(rows)


def _hyperparameter(results: StudyResults, place: tuple[str, str], split: int, name: str) -> Cell:
    """Return what was selected; a dash where the algorithm has no such thing."""
    dataset, algorithm = place
    certified, decayed = algorithm != "mlp", algorithm in ("mlp", "pbgnet_l", "pbgnet_l_bnd")
    if (name in ("c", "divergence", "n_samples") and not certified) or (
        name == "weight_decay" and not decayed
    ):
        return Cell(None)
    return chosen(results.selected.get((dataset, algorithm, split, None)), name)


def chosen(selected: Selected | None, name: str) -> Cell:
    """Return a hyperparameter, or what training made of one; a gap where nothing is selected yet."""
    if selected is None:
        return Cell(None, awaited=True)
    candidate = selected.candidate
    if name == "n_samples":
        return Cell("exact" if candidate.spec.n_samples is None else candidate.spec.n_samples)
    if name in candidate.numbers:
        return Cell(candidate.numbers[name])
    return Cell(getattr(candidate.spec, name, None))


def _label(results: StudyResults, dataset: str, algorithm: str, splits: Sequence[int]) -> str:
    """Name an algorithm; a star says that some of its runs are still to come."""
    done, expected = results.progress(dataset, algorithm, splits)
    return NAMES[algorithm] + ("*" if 0 < done < expected else "")


def _legend(rows: tuple[tuple[Cell, ...], ...]) -> tuple[str, ...]:
    return (LEGEND,) if any(cell.paper is not None for row in rows for cell in row) else ()


def _notes(results: StudyResults, notes: tuple[str, ...], splits: Sequence[int]) -> tuple[str, ...]:
    counts = [results.progress(dataset, algorithm, splits) for dataset, algorithm in results.cells()]
    extra = []
    if any(done == 0 for done, _ in counts):
        extra.append(f"{GAP} no finished run yet; {NONE} there is no such number.")
    if any(0 < done < expected for done, expected in counts):
        extra.append("* selected among the runs that are finished; others are still to come or failed.")
    confidence = confidence_text(results)
    priors = " or ".join(str(count) for count in sorted({run.n_priors for run in results.study.runs}))
    # Not `format`: names with subscripts have braces.
    filled = (note.replace("{confidence}", confidence).replace("{priors}", priors) for note in notes)
    return (*filled, *extra)
