"""Tables about the runs themselves: how many, on which machine, how long, with which code and protocol."""

from collections import Counter
from collections.abc import Callable, Sequence

from pbgnet.experiments.runs import RunSpec
from pbgnet.experiments.studies import StudyResults
from pbgnet.experiments.tables.cells import Cell
from pbgnet.experiments.tables.table import StudyTable

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
    """Return the progress of each study, where it ran and how long."""
    notes = (
        "Training time is the sum over runs of each run's share of its batch; batches run "
        "side by side. Dates are UTC. The code is the version of pbgnet and a fingerprint of "
        "the parts that decide what a run computes.",
    )
    rows = [tuple(Cell(tell(result), awaited=True) for tell in SUMMARY.values()) for result in results]
    return StudyTable("run-summary", "Runs", tuple(SUMMARY), tuple(rows), notes)


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
    for name, words in WORDS.items():
        values = dict.fromkeys(getattr(run, name) for run in runs if _has(run, name))
        if values:
            rows.append((Cell(words), Cell(", ".join(_setting(name, value) for value in values))))
    title = f"Protocol of the study “{results.study.name}”"
    return StudyTable(f"{results.study.name}-protocol", title, ("Setting", "Values"), tuple(rows))


def duration_text(seconds: float) -> str:
    """Write a time in the unit that fits."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"


def _machines(result: StudyResults) -> str | None:
    return "; ".join(dict.fromkeys(record.machine for record in result.records if record.machine)) or None


def _date(result: StudyResults, place: int) -> str | None:
    dates = sorted(record.finished for record in result.records)
    return dates[place][:16].replace("T", " ") if dates else None


# What a study says about its runs; None while there is nothing to say.
SUMMARY: dict[str, Callable[[StudyResults], str | int | None]] = {
    "Study": lambda result: result.study.name,
    "Runs": lambda result: len(result.study.runs),
    "Done": lambda result: len(result.done),
    "Failed": lambda result: len(result.failed),
    "To come": lambda result: result.n_missing,
    "Machine": _machines,
    "Training time": lambda result: (
        duration_text(sum(r.seconds for r in result.records)) if result.records else None
    ),
    "First result": lambda result: _date(result, 0),
    "Last result": lambda result: _date(result, -1),
    "Code": lambda result: "; ".join(result.code_versions) or None,
}


def _last_line(error: str) -> str:
    """Return the message of an error, the last line of a traceback."""
    line = (error.strip().splitlines() or [""])[-1].strip()
    return line if len(line) <= LONGEST_ERROR else line[: LONGEST_ERROR - 1] + "…"


def _has(run: RunSpec, name: str) -> bool:
    """Whether a setting applies to a run."""
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
