"""What agrees with the paper and what does not: sentences computed from the numbers."""

import math
from collections.abc import Callable

from pbgnet.experiments.figures.sample_size import Curves
from pbgnet.experiments.results import NAMES, Spread, StudyResults, number_of, spread_of
from pbgnet.experiments.tables.table import StudyTable

__all__ = [
    "agreement_sentences",
    "bound_sentences",
    "claim_sentences",
    "departures",
    "sample_size_sentences",
    "training_size_sentences",
]

MOST_DEPARTURES = 6


def agreement_sentences(table: StudyTable) -> list[str]:
    """Say, for every column with numbers of the paper, how many agree."""
    return [
        f"{column}: of {counts.total()} numbers {counts['same']} agree with the paper, {counts['better']} "
        f"are better and {counts['worse']} are worse."
        for column, counts in table.agreement().items()
    ]


def departures(table: StudyTable) -> list[str]:
    """Name the numbers that depart most from the paper, the largest departure first."""
    found = [
        (abs(cell.difference), row, column, cell)
        for row in table.rows
        for column, cell in zip(table.columns, row, strict=True)
        if cell.difference is not None and cell.verdict in ("better", "worse")
    ]
    found.sort(key=lambda entry: -entry[0])
    return [
        f"{', '.join(label.text.rstrip('*') for label in row[: table.n_labels])}, {column.lower()}: "
        f"{cell.text} against the paper's {cell.paper_text}, {cell.verdict}"
        for _, row, column, cell in found[:MOST_DEPARTURES]
    ]


def claim_sentences(results: StudyResults) -> list[str]:
    """Check what the paper observes on every data set that has the numbers for it."""
    claims: list[tuple[str, Callable[[str], bool | None]]] = [
        (
            f"{NAMES['pbgnet_pre']} has the smallest bound",
            lambda dataset: _smallest(results, dataset, "bound", "pbgnet_pre"),
        ),
        (
            f"the bound of {NAMES['pbgnet']} is below that of {NAMES['pbgnet_l_bnd']}",
            lambda dataset: _below(results, dataset, "bound", "pbgnet", "pbgnet_l_bnd"),
        ),
        (
            f"{NAMES['mlp']} or {NAMES['pbgnet_l']} has a smaller test error than {NAMES['pbgnet']}",
            lambda dataset: _either(
                _below(results, dataset, "test_error", "mlp", "pbgnet"),
                _below(results, dataset, "test_error", "pbgnet_l", "pbgnet"),
            ),
        ),
        (
            f"test and train error of {NAMES['pbgnet']} are closer together than those of "
            f"{NAMES['pbgnet_l']}",
            lambda dataset: _gap_below(results, dataset, "pbgnet", "pbgnet_l"),
        ),
    ]
    sentences = []
    for words, holds in claims:
        verdicts = {dataset: holds(dataset) for dataset in results.study.datasets}
        known = {dataset: verdict for dataset, verdict in verdicts.items() if verdict is not None}
        if known:
            against = [dataset for dataset, verdict in known.items() if not verdict]
            where = f"; not on {', '.join(against)}" if against else ""
            count = len(known) - len(against)
            sentences.append(
                f"The paper observes that {words}: so here on {count} of {len(known)} data sets{where}."
            )
    return sentences


def bound_sentences(results: StudyResults) -> list[str]:
    """Say whether test losses respect the bounds, and what honesty about the priors costs."""
    kept, total, costs, worst = 0, 0, [], (0.0, "")
    for (dataset, algorithm, *_), selected in results.selected.items():
        loss, bound, honest = (number_of(selected, name) for name in ("test_loss", "bound", "honest_bound"))
        if loss is None or bound is None or honest is None or not math.isfinite(loss + bound + honest):
            continue
        total += 1
        kept += loss <= honest
        costs.append(honest - bound)
        worst = max(worst, (honest - bound, f"{dataset}, {NAMES[algorithm]}"))
    if not total:
        return []
    sentences = [
        f"The linear loss on the test rows is at most the honest bound in {kept} of {total} selected "
        "networks."
    ]
    if worst[0] >= 5e-4:
        sentences.append(
            f"Paying for all priors raises the bound by {sum(costs) / total:.4f} on average and by "
            f"{worst[0]:.4f} at most ({worst[1]})."
        )
    else:
        sentences.append("Paying for all priors changes no bound by as much as 0.0005.")
    return sentences


def sample_size_sentences(curves: Curves) -> list[str]:
    """Say how far sampling with each T is from the exact aggregate, at most over the data sets."""
    largest: dict[str, dict[int, tuple[float, str]]] = {}
    for (dataset, algorithm), points in curves.items():
        exact = points.get(None)
        for size, spread in points.items():
            if exact is None or size is None or not math.isfinite(spread.mean - exact.mean):
                continue
            entry = (abs(spread.mean - exact.mean), dataset)
            by_size = largest.setdefault(algorithm, {})
            by_size[size] = max(by_size.get(size, (-1.0, "")), entry)
    return [
        f"{NAMES[algorithm]}: the mean test error departs from that of the exact aggregate by at most "
        + ", ".join(
            f"{distance:.3f} for T = {size:,} ({dataset})"
            for size, (distance, dataset) in sorted(by_size.items())
        )
        + "."
        for algorithm, by_size in largest.items()
    ]


def training_size_sentences(dataset: str, algorithm: str, curves: dict[str, dict[int, Spread]]) -> list[str]:
    """Say how far train and test error are apart at the smallest and the largest size."""
    train, test = curves["train_error"], curves["test_error"]
    sizes = sorted(set(train) & set(test))
    if not sizes:
        return []
    said = " and ".join(
        f"{test[size].mean:.3f} against {train[size].mean:.3f} with {size:,} rows"
        for size in dict.fromkeys((sizes[0], sizes[-1]))
    )
    return [f"{dataset}, {NAMES[algorithm]}: mean test error against train error {said}."]


def _mean(results: StudyResults, dataset: str, algorithm: str, name: str) -> float | None:
    if algorithm not in results.study.algorithms:
        return None
    spread = spread_of(results.values(dataset, algorithm, name))
    return None if spread is None or not math.isfinite(spread.mean) else spread.mean


def _below(results: StudyResults, dataset: str, name: str, one: str, other: str) -> bool | None:
    first, second = (_mean(results, dataset, algorithm, name) for algorithm in (one, other))
    return None if first is None or second is None else first < second


def _smallest(results: StudyResults, dataset: str, name: str, one: str) -> bool | None:
    mine = _mean(results, dataset, one, name)
    others = [_mean(results, dataset, other, name) for other in results.study.algorithms if other != one]
    known = [value for value in others if value is not None]
    return None if mine is None or not known else mine <= min(known)


def _gap_below(results: StudyResults, dataset: str, one: str, other: str) -> bool | None:
    gaps = []
    for algorithm in (one, other):
        test, train = (_mean(results, dataset, algorithm, name) for name in ("test_error", "train_error"))
        if test is None or train is None:
            return None
        gaps.append(abs(test - train))
    return gaps[0] < gaps[1]


def _either(*verdicts: bool | None) -> bool | None:
    known = [verdict for verdict in verdicts if verdict is not None]
    return any(known) if known else None
