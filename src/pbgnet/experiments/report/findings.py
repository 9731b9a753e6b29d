"""What agrees with the paper and what does not: sentences computed from the numbers."""

import math

from pbgnet.experiments.figures import Curves
from pbgnet.experiments.studies import NAMES, Spread, StudyResults, spread_of
from pbgnet.experiments.tables import StudyTable

MOST_DEPARTURES = 6

# What the paper observes; `_observed` checks these in order.
CLAIMS = (
    f"{NAMES['pbgnet_pre']} has the smallest bound",
    f"the bound of {NAMES['pbgnet']} is below that of {NAMES['pbgnet_l_bnd']}",
    f"{NAMES['mlp']} or {NAMES['pbgnet_l']} has a smaller test error than {NAMES['pbgnet']}",
    f"test and train error of {NAMES['pbgnet']} are closer together than those of {NAMES['pbgnet_l']}",
)


def agreement_sentences(table: StudyTable) -> list[str]:
    """Say, for every column with numbers of the paper, how many agree."""
    return [
        f"{column}: of {counts.total()} numbers {counts['same']} agree with the paper, {counts['better']} "
        f"are better and {counts['worse']} are worse."
        for column, counts in table.agreement().items()
    ]


def departures(table: StudyTable) -> list[str]:
    """Name the numbers that differ most from the paper, the largest difference first."""
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
    """Check what the paper observes on every data set that has the numbers."""
    observed = {dataset: _observed(results, dataset) for dataset in results.study.datasets}
    sentences = []
    for place, words in enumerate(CLAIMS):
        known = {dataset: claims[place] for dataset, claims in observed.items() if claims[place] is not None}
        if known:
            against = [dataset for dataset, holds in known.items() if not holds]
            where = f"; not on {', '.join(against)}" if against else ""
            count = len(known) - len(against)
            sentences.append(
                f"The paper observes that {words}: so here on {count} of {len(known)} data sets{where}."
            )
    return sentences


def _observed(results: StudyResults, dataset: str) -> tuple[bool | None, ...]:
    """Whether each claim holds on a data set; None if it lacks the numbers."""
    bound, test, train = (_means(results, dataset, name) for name in ("bound", "test_error", "train_error"))
    gap = {algorithm: abs(test[algorithm] - train[algorithm]) for algorithm in test.keys() & train.keys()}
    small = [test[algorithm] for algorithm in ("mlp", "pbgnet_l") if algorithm in test]
    return (
        bound["pbgnet_pre"] <= min(bound.values()) if "pbgnet_pre" in bound and len(bound) > 1 else None,
        bound["pbgnet"] < bound["pbgnet_l_bnd"] if {"pbgnet", "pbgnet_l_bnd"} <= bound.keys() else None,
        min(small) < test["pbgnet"] if small and "pbgnet" in test else None,
        gap["pbgnet"] < gap["pbgnet_l"] if {"pbgnet", "pbgnet_l"} <= gap.keys() else None,
    )


def _means(results: StudyResults, dataset: str, name: str) -> dict[str, float]:
    """Means over the splits, for the algorithms that have finite ones."""
    algorithms = results.study.algorithms
    spreads = {algorithm: spread_of(results.values(dataset, algorithm, name)) for algorithm in algorithms}
    return {algorithm: s.mean for algorithm, s in spreads.items() if s and math.isfinite(s.mean)}


def bound_sentences(results: StudyResults) -> list[str]:
    """Say whether test losses respect the bounds, and what it costs to count all priors."""
    found = []
    for (dataset, algorithm, *_), selected in results.selected.items():
        loss, bound, honest = (selected.number(name) for name in ("test_loss", "bound", "honest_bound"))
        if loss is None or bound is None or honest is None or not math.isfinite(loss + bound + honest):
            continue
        found.append((honest - bound, f"{dataset}, {NAMES[algorithm]}", loss <= honest))
    if not found:
        return []
    kept, mean = sum(holds for _, _, holds in found), sum(cost for cost, _, _ in found) / len(found)
    most, where, _ = max(found)
    cost = "Paying for all priors changes no bound by as much as 0.0005."
    if most >= 5e-4:
        average = f"Paying for all priors raises the bound by {mean:.4f} on average"
        cost = f"{average} and by {most:.4f} at most ({where})."
    held = f"The linear loss on the test rows is at most the honest bound in {kept} of {len(found)}"
    return [f"{held} selected networks.", cost]


def sample_size_sentences(curves: Curves) -> list[str]:
    """Say how far sampling with each T is from the exact aggregate: the maximum over the data sets."""
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


def training_size_sentences(dataset: str, name: str, curves: dict[str, dict[int, Spread]]) -> list[str]:
    """Say how far train and test error are apart at the smallest and the largest size."""
    train, test = curves["train_error"], curves["test_error"]
    sizes = sorted(set(train) & set(test))
    if not sizes:
        return []
    said = " and ".join(
        f"{test[size].mean:.3f} against {train[size].mean:.3f} with {size:,} rows"
        for size in dict.fromkeys((sizes[0], sizes[-1]))
    )
    return [f"{dataset}, {name}: mean test error against train error {said}."]
