"""Tables about the runs themselves: how many, on what, how long, with which code, by which protocol."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields

from pbgnet.experiments.results import StudyResults
from pbgnet.experiments.specification import RunSpec
from pbgnet.experiments.tables.cells import Cell
from pbgnet.experiments.tables.table import StudyTable

__all__ = ["duration_text", "error_table", "protocol_table", "run_summary_table"]

LONGEST_ERROR = 160

WORDS = {
    "n_train": "training rows",
    "scaling": "columns that are standardised",
    "hidden_layers": "hidden layers",
    "hidden_size": "hidden size",
    "n_samples": "samples T",
    "weight_decay": "weight decay",
    "learning_rate": "first learning rate",
    "batch_size": "batch size",
    "initialisation": "first weights",
    "restart": "restarts from one prior",
    "objective": "form of the bound",
    "solver": "what minimises the bound",
    "max_epochs": "most epochs",
    "plateau_patience": "epochs until the rate is halved",
    "stopping_patience": "epochs until training stops",
    "pretraining_epochs": "epochs of pre-training",
    "validation_fraction": "share of validation rows",
    "prior_fraction": "share of rows that train the prior",
    "delta": "failure probability of the bounds",
    "n_priors": "priors that share it",
    "constant": "constant of the bound",
    "n_predictions": "sampled predictions averaged",
}
VALUES = {"adam": "Adam", "hybrid": "a short ramped Adam, then L-BFGS"}


def run_summary_table(results: Sequence[StudyResults]) -> StudyTable:
    """Return how far each study is, where it ran and how long."""
    columns = (
        "Study",
        "Runs",
        "Done",
        "Failed",
        "To come",
        "Machine",
        "Training time",
        "First result",
        "Last result",
        "Code",
    )
    notes = (
        "Training time adds up what each run took of its batch; batches run side by side. Dates are UTC. The "
        "code is the version of pbgnet and a fingerprint of the parts that decide what a run computes.",
    )
    rows = tuple(_summary_row(result) for result in results)
    return StudyTable("run-summary", "Runs", columns, rows, notes)


def error_table(results: Sequence[StudyResults]) -> StudyTable:
    """Return the errors of failed runs, each kind once."""
    rows = []
    for result in results:
        kinds = Counter(_last_line(record.error) for record in result.failed)
        examples = {_last_line(record.error): record.spec for record in reversed(result.failed)}
        for kind, count in kinds.most_common():
            spec = examples[kind]
            example = f"{spec.dataset}, {spec.training}, {spec.architecture}, split {spec.split_seed}"
            rows.append((Cell(result.study.name), Cell(count), Cell(kind), Cell(example)))
    return StudyTable("errors", "Failed runs", ("Study", "Runs", "Error", "For example"), tuple(rows))


def protocol_table(results: StudyResults) -> StudyTable:
    """Return every setting of a study with its values."""
    runs = results.study.runs
    rows = [
        (Cell("data sets"), Cell(", ".join(results.study.datasets))),
        (Cell("random splits, 75 % to train on and 25 % to test on"), Cell(len(results.split_seeds))),
    ]
    known = {field.name for field in fields(RunSpec)}
    for name in WORDS:
        assert name in known
        values = dict.fromkeys(getattr(run, name) for run in runs if _has(run, name))
        if values:
            rows.append((Cell(WORDS[name]), Cell(", ".join(_setting(name, value) for value in values))))
    title = f"Protocol of the study “{results.study.name}”"
    return StudyTable(f"{results.study.name}-protocol", title, ("Setting", "Values"), tuple(rows))


def duration_text(seconds: float) -> str:
    """Write a time in the unit that fits.

    Examples
    --------
    >>> from pbgnet.experiments.tables.runs import duration_text
    >>> duration_text(12.34), duration_text(600.0), duration_text(9000.0)
    ('12.3 s', '10.0 min', '2.5 h')
    """
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"


def _summary_row(result: StudyResults) -> tuple[Cell, ...]:
    dates = sorted(record.finished for record in result.records)
    machines = dict.fromkeys(record.machine for record in result.records if record.machine)
    seconds = sum(record.seconds for record in result.records)
    return (
        Cell(result.study.name),
        Cell(len(result.study.runs)),
        Cell(len(result.done)),
        Cell(len(result.failed)),
        Cell(result.n_missing),
        Cell("; ".join(machines) or None, awaited=True),
        Cell(duration_text(seconds) if dates else None, awaited=True),
        Cell(_date(dates[0]) if dates else None, awaited=True),
        Cell(_date(dates[-1]) if dates else None, awaited=True),
        Cell("; ".join(result.code_versions) or None, awaited=True),
    )


def _date(text: str) -> str:
    return text[:16].replace("T", " ")


def _last_line(error: str) -> str:
    """Return what an error said; a traceback ends with it."""
    line = (error.strip().splitlines() or [""])[-1].strip()
    return line if len(line) <= LONGEST_ERROR else line[: LONGEST_ERROR - 1] + "…"


def _has(run: RunSpec, name: str) -> bool:
    """Whether a setting means something for a run."""
    if name in ("n_samples", "n_priors", "constant", "delta"):
        return run.training != "mlp"
    if name == "n_predictions":
        return run.n_samples is not None
    if name in ("weight_decay", "validation_fraction"):
        return run.training in ("mlp", "loss")
    if name in ("pretraining_epochs", "prior_fraction"):
        return run.training == "pretrained"
    return name not in ("objective", "solver", "restart") or run.training in ("bound", "pretrained")


def _setting(name: str, value: object) -> str:
    if value is None:
        return "exact" if name == "n_samples" else "all"
    return f"{value:g}" if isinstance(value, float) else VALUES.get(str(value), str(value))
