"""The estimators a comparison can use: our own, and others whose errors are counted on the same rows."""

from collections.abc import Iterable, Mapping
from typing import Any

from pbgnet.choices import CLASSIFIERS
from pbgnet.estimators import PBGNetClassifier, PBGNetMultilabelClassifier, make_certified_pipeline
from pbgnet.exceptions import OptionError
from pbgnet.validation import check_name

NETWORKS: dict[str, Any] = {"pbgnet": PBGNetClassifier, "pbgnet_multilabel": PBGNetMultilabelClassifier}
"""Estimators that are trained on a device."""

ESTIMATORS = (*NETWORKS, *CLASSIFIERS)
"""All estimators that a comparison can use."""

# Parameters that the comparison itself sets.
OF_RUN = {"random_state", "device", "verbose", "prior_fraction"}


def check_parameters(estimator: str, names: Iterable[str]) -> None:
    """Raise an error for parameters that an estimator does not have, before anything is trained."""
    check_name("estimator", estimator, ESTIMATORS)
    known = NETWORKS[estimator]._get_param_names() if estimator in NETWORKS else []
    for name in names:
        if name in OF_RUN:
            raise OptionError(f"{name} is set by the study; remove it from the parameters.")
        if name not in known:
            raise OptionError(
                f"{estimator} has no parameter {name!r} in a study; it accepts "
                f"{', '.join(sorted(set(known) - OF_RUN)) or 'none'}."
            )


def make_estimator(name: str, parameters: Mapping[str, Any], seed: int, device: str) -> Any:
    """Return an estimator with `fit(X, y, prior_rows=)`, `predict` and a certificate."""
    if name in NETWORKS:
        return NETWORKS[name](**parameters, random_state=seed, device=device)
    return make_certified_pipeline(name, random_state=seed)
