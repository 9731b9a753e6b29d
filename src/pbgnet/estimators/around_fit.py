"""What surrounds a fit: it completes or changes nothing, uses an existing device, and gives warnings."""

import hashlib
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from numpy.typing import NDArray

from pbgnet.certificates import DUPLICATES_ADVICE, Certificate, CertifiedModel, PreparedTable
from pbgnet.exceptions import (
    ClassNeverAnsweredWarning,
    ConstantLabelWarning,
    DomainError,
    DuplicateRowsWarning,
    FewRowsWarning,
    InterruptedFitWarning,
    MajorityNotBeatenWarning,
    OptionError,
    SmallGroupWarning,
)
from pbgnet.training import FitResult
from pbgnet.workers import current_workers

FEWEST_ROWS = 10
"""With fewer rows even a classifier without errors gets a bound of little use: a warning says so, everywhere.

Two rows are the fewest that can be split; one is an error."""


MOST_NAMED = 5
"""Most constant labels that are named."""


@contextmanager
def whole_or_unchanged(estimator: Any) -> Iterator[None]:
    """Restore the complete old state of an estimator if a fit fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


@contextmanager
def numbers_in_range() -> Iterator[None]:
    """Turn Python's error for whole numbers that do not fit into a double into a typed error."""
    try:
        yield
    except OverflowError as error:
        raise DomainError(f"The rows contain a number too large for float64: {error}.") from error


def warn_of_few_rows(n: int, n_certified: int) -> None:
    """Warn if too few rows are certified for a useful bound; see `FEWEST_ROWS`."""
    if n_certified < FEWEST_ROWS:
        rows = f"{n} rows" if n < FEWEST_ROWS else f"{n_certified} certified rows of {n}"
        warnings.warn(
            f"{rows} are too few for a useful certificate: with fewer than {FEWEST_ROWS} rows, "
            "even a classifier that makes no mistake on them gets a bound far from 0.",
            FewRowsWarning,
            stacklevel=4,
        )


def warn_of_constant_labels(labels: NDArray[Any], names: Sequence[str]) -> None:
    """Warn about labels that all prior rows have, or none: nothing can be learned about them.

    Parameters
    ----------
    labels : ndarray of 0 and 1, shape (n, L)
        Labels of the prior rows.
    names : sequence of str
    """
    constant = [k for k, share in enumerate(labels.mean(axis=0).tolist()) if share in (0, 1)]
    if not constant:
        return
    more = f" and {len(constant) - MOST_NAMED} more" if len(constant) > MOST_NAMED else ""
    told = ", ".join(names[k] for k in constant[:MOST_NAMED]) + more
    warnings.warn(
        f"All prior rows have, or all lack, the label{'s' * (len(constant) > 1)} {told}: it will always be "
        "answered so.",
        ConstantLabelWarning,
        stacklevel=5,
    )


def check_workers_alike(table: PreparedTable, parameters: dict[str, Any], seeds: Sequence[int]) -> None:
    """Raise an error unless all workers that train together are about to do the same."""
    workers = current_workers()
    if workers.size == 1:
        return
    split = hashlib.sha256(table.split.prior_rows.tobytes()).hexdigest()
    # Objects, such as a function that changes images, have no text to compare.
    plain = {
        name: told
        for name, told in parameters.items()
        if isinstance(told, str | int | float | tuple | list | None)
    }
    workers.check_alike(
        {
            "the table": table.fingerprints.data,
            "the prior rows": split,
            "the preprocessing": table.inputs.fingerprint(),
            "the settings": str(plain),
            "the seeds, which random_state determines": str(list(seeds)),
        }
    )


def refuse_fit_parameters(parameters: dict[str, Any]) -> None:
    """Raise an error for parameters of fit that the proof does not allow."""
    parameters = {name: value for name, value in parameters.items() if value is not None}
    if "sample_weight" in parameters:
        raise OptionError(
            "fit does not accept sample_weight: the bound counts every certified row exactly once."
        )
    if parameters:
        raise OptionError(f"fit has no parameter named {', '.join(sorted(parameters))}.")


def choose_device(device: str) -> str:
    """Return the device with this name; "auto" is a GPU if there is one."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise OptionError(f"device={device!r} is not available ({reason}); use 'cpu' or 'auto'.") from error
    return device


def warn_of_the_fit(model: CertifiedModel | None, result: FitResult) -> None:
    """Warn about what a user should know after a fit: duplicate rows, shortcomings, an interruption."""
    if model is not None and model.certificate.inputs.n_duplicates:
        warnings.warn(
            f"{model.certificate.inputs.n_duplicates} of the {model.certified_rows.size} certified rows "
            f"repeat another row of the table. {DUPLICATES_ADVICE}",
            DuplicateRowsWarning,
            stacklevel=4,
        )
    if model is not None:
        _warn_of_shortcomings(model.certificate)
    if result.interrupted:
        certified = "" if model is None else " and certified"
        warnings.warn(
            f"Training was interrupted; the best weights found so far were kept{certified}. More "
            "epochs might improve them. Press Ctrl+C twice to abandon a fit.",
            InterruptedFitWarning,
            stacklevel=4,
        )


def _warn_of_shortcomings(certificate: Certificate) -> None:
    """Warn if the classifier is not shown to be useful; its certificate uses the same words."""
    found: dict[type[Warning], bool] = {
        MajorityNotBeatenWarning: not certificate.beats_majority,
        ClassNeverAnsweredWarning: bool(certificate.inputs.never_answered),
        SmallGroupWarning: bool(certificate.small_groups),
    }
    kinds = [kind for kind, there in found.items() if there]
    for kind, told in zip(kinds, certificate.shortcomings, strict=True):
        warnings.warn(told, kind, stacklevel=5)
