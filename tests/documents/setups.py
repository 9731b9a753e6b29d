"""What pages assume that the reader has: tables, files, fitted models. Small, and made when a page is run."""

from collections.abc import Callable
from typing import Any

Names = dict[str, Any]


def own_files() -> Names:
    """Make data.csv with the column ``label``, and new.csv with rows that came later."""
    from sklearn.datasets import load_breast_cancer

    table = load_breast_cancer(as_frame=True)
    frame = table.data.assign(label=table.target.map({0: "malignant", 1: "benign"}))
    frame.to_csv("data.csv", index=False)
    frame.sample(100, random_state=0).to_csv("new.csv", index=False)
    return {}


def forest_and_regions() -> Names:
    """Make a table with a column ``region``, and a forest that was fitted on other rows than the new ones."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import RandomForestClassifier

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :6].assign(region=X.index % 3)
    forest = RandomForestClassifier(n_estimators=10, random_state=0).fit(X[:250], y[:250])
    return {
        "X": X[:500],
        "y": y[:500],
        "X_train": X[:250],
        "y_train": y[:250],
        "X_new": X[250:500],
        "y_new": y[250:500],
        "X_unlabelled": X[500:],
        "regions": X["region"][250:500],
        "forest": forest,
        "exported": forest,
    }


def names_of_other_files() -> Names:
    """Return what the files that a recipe changes import already."""
    import mpmath as mp

    from pbgnet.aggregation.conformance import AggregationConformance
    from pbgnet.certificates.routes.conformance import RouteConformance
    from pbgnet.certificates.routes.registry import Offer
    from pbgnet.datasets.registry import DatasetEntry

    found = (AggregationConformance, DatasetEntry, Offer, RouteConformance)
    return {"mp": mp, **{each.__name__: each for each in found}}


SETUPS: dict[str, Callable[[], Names]] = {
    "README.md": own_files,
    "docs/index.md": own_files,
    "docs/reference/certificates.md": forest_and_regions,
    "docs/developing/recipes/add-a-bound.md": names_of_other_files,
    "docs/developing/recipes/add-a-data-set.md": names_of_other_files,
    "docs/developing/recipes/add-an-aggregation.md": names_of_other_files,
}
