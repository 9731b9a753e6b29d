"""Recomputing a certificate from the saved model and the data: every step, what it expected and found.

Nothing from training is imported. What cannot be recomputed (that a pre-trained prior only saw the prior
rows, that the user chose rows or preprocessing without the certified rows, that route, confidence, classes,
number of priors and seeds were decided beforehand) is a separate step, with the status "trusted". The
assumptions of the certificate name the rest, such as that the rows are independent draws.

Other machines round differently. A bound may be stated higher than recomputed by 1e-9 of itself, and lower by
1e-12, and so may the divergence it uses; a mean loss by its proved numerical error.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from numpy.typing import ArrayLike

from pbgnet.certificates.classifier import CertifiedPredictions, Loss, Scores
from pbgnet.certificates.format import FittedSubject
from pbgnet.certificates.network import CertifiedModel
from pbgnet.certificates.store import holds_predictions, load_certified
from pbgnet.certificates.verification.cases import AnswersCase, Case, FittedCase, NetworkCase
from pbgnet.certificates.verification.outcomes import Outcome
from pbgnet.certificates.verification.steps import (
    ANSWERS_STEPS,
    FITTED_STEPS,
    LABEL_STEPS,
    NETWORK_STEPS,
)
from pbgnet.exceptions import DomainError, OptionError, PBGNetError
from pbgnet.kernels import one_thread
from pbgnet.records import is_fingerprint

AnyCase = TypeVar("AnyCase", bound=Case)

STATUSES = {"ok": "ok", "failed": "FAILED", "trusted": "trusted", "skipped": "not checked"}
"""How the status of a step is printed."""

# An edited certificate does not stop the steps: the next one that fails shows which number was edited.
TEXT_STEP = "certificate text"

NOT_COMPUTED = "not computed"


@dataclass(frozen=True)
class VerificationStep:
    """One check.

    Attributes
    ----------
    name : str
    expected : str
        What the certificate says.
    found : str
        What was recomputed; "not computed" if that was impossible.
    status : {"ok", "failed", "trusted", "skipped"}
        Recomputed and as stated; not as stated; something that cannot be recomputed from the model and the
        data, so that it is taken on trust; or not checked, because an earlier step failed.
    detail : str
        Why it failed, or what the step takes on trust.
    ok : bool
        Whether it was recomputed or is taken on trust; made from the status.
    """

    name: str
    expected: str
    found: str
    status: str
    detail: str = ""
    ok: bool = field(init=False)

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise DomainError(f"status must be one of {', '.join(STATUSES)}, got {self.status!r:.40}.")
        object.__setattr__(self, "ok", self.status in ("ok", "trusted"))

    @property
    def told(self) -> str:
        """The detail of a step; for a failed one also what was stated and found, if people can read it."""
        readable = not is_fingerprint(self.expected) and self.found != NOT_COMPUTED
        if self.status != "failed" or (self.detail and not readable):
            return self.detail
        compared = f"The certificate says {self.expected}, but verification found {self.found}."
        return f"{self.detail.rstrip('.')}. {compared}" if self.detail else compared

    def __str__(self) -> str:
        line = f"[{STATUSES[self.status]}] {self.name}"
        if self.status == "failed":
            return f"{line}: {self.told}"
        return f"{line} ({self.detail})" if self.detail else line


@dataclass(frozen=True)
class VerificationReport:
    """All steps of a verification.

    Attributes
    ----------
    steps : tuple of VerificationStep
    """

    steps: tuple[VerificationStep, ...]

    @property
    def ok(self) -> bool:
        """Whether no step failed."""
        return not self.failures

    @property
    def failures(self) -> tuple[VerificationStep, ...]:
        """The steps that failed."""
        return self._with_status("failed")

    @property
    def trusted(self) -> tuple[VerificationStep, ...]:
        """The steps about what had to be taken on trust."""
        return self._with_status("trusted")

    @property
    def recomputed(self) -> tuple[VerificationStep, ...]:
        """The steps that were recomputed and found as stated."""
        return self._with_status("ok")

    @property
    def skipped(self) -> tuple[VerificationStep, ...]:
        """The steps that were not checked, because an earlier one failed."""
        return self._with_status("skipped")

    @property
    def summary(self) -> str:
        """The verdict in one or two sentences, with the number of steps of each kind."""
        if not self.ok:
            names = ", ".join(step.name for step in self.failures)
            rest = len(self.skipped)
            skipped = f" {rest} later step{'s were' if rest > 1 else ' was'} not checked." if rest else ""
            return f"NOT verified: {len(self.failures)} of {len(self.steps)} steps failed ({names}).{skipped}"
        trust = f", {len(self.trusted)} taken on trust" if self.trusted else ""
        return f"Verified: {len(self.recomputed)} steps recomputed{trust}."

    def _with_status(self, status: str) -> tuple[VerificationStep, ...]:
        return tuple(step for step in self.steps if step.status == status)

    def _repr_html_(self) -> str:
        """Return the checklist that notebooks show: failures first, recomputed steps folded."""
        from pbgnet.pages import Card, Check, Checks, render_card  # the template engine is for notebooks only

        headings = {"failed": "Failed", "trusted": "Taken on trust", "ok": "Recomputed"}
        lists = []
        for status, heading in headings.items():
            steps = self._with_status(status)
            checks = tuple(Check(status, step.name, step.told) for step in steps)
            if checks:
                lists.append(Checks(f"{heading}: {len(checks)}", checks, unfolded=status != "ok"))
        card = Card(headline=self.summary, tone="good" if self.ok else "bad", lists=tuple(lists))
        return render_card(card)

    def __str__(self) -> str:
        # A name in the data with a line break must not look like a line of the report.
        shown = [step for step in self.steps if step.status != "skipped"]
        return "\n".join(r"\n".join(str(line).splitlines()) for line in (*shown, self.summary))


@one_thread()  # thousands of small operations
def verify(
    certified: CertifiedModel | CertifiedPredictions | str | os.PathLike[str],
    X: Any,  # noqa: N803
    y: ArrayLike | None = None,
    *,
    model: Any = None,
    reference: CertifiedModel | None = None,
    reference_data: tuple[Any, ArrayLike] | None = None,
    loss: Loss | None = None,
    groups: ArrayLike | None = None,
    scores: Scores | None = None,
    every_step: bool = False,
) -> VerificationReport:
    """Recompute everything a certificate says, and stop at the first difference.

    The first step that fails shows the cause, and says what may explain it. Later steps would mostly fail as
    a consequence; they are listed as not checked. The only exception is an edited certificate: verification
    continues, and the next step that fails shows which number was edited.

    Parameters
    ----------
    certified : CertifiedModel, CertifiedPredictions or path
        What was certified, or the folder it was saved in. If the folder cannot be read, the first step fails.
    X : DataFrame, ndarray, scipy sparse matrix or list of rows, shape (N, d)
        The whole table as it was given to fit or `certify`.
    y : array_like, shape (N,) or (N, 1); or several labels as 0 and 1, shape (N, L)
        Its labels, as they were given. Leave them out for a disagreement.
    model : classifier or callable, optional
        The classifier given to `certify` or `certify_by_disagreement`, or a fitted pipeline whose classifier
        is not stored; its predictions are then recomputed. Without it, the stored predictions are taken on
        trust. A network is stored and does not need it.
    reference : CertifiedModel, optional
        The certified vote of a disagreement. With it, its fingerprint, its bound and its predictions are
        recomputed; without it, they are taken on trust.
    reference_data : pair of table and labels, optional
        The data of the certified vote. With it, the certificate of the vote is verified as well; without it,
        that certificate is taken on trust.
    loss : callable or str, optional
        The function given to `certify` as loss, to recompute the losses; without it, the stored values are
        taken on trust. A loss given by name only needs the model.
    groups : array_like, optional
        The group of each row, if groups were given row by row. Groups named by a column are read from X.
    scores : callable, optional
        The function given to `certify_selective` as scores, to recompute them; without it, the stored values
        are taken on trust.
    every_step : bool, default=False
        Whether to run every step even after one has failed.

    Returns
    -------
    VerificationReport
        `str(report)` lists the steps in plain words.

    Raises
    ------
    OptionError
        If an argument does not apply, such as a model or a loss for the certificate of a network.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from pbgnet.certificates import PriorRecord, certify_network, verify
    >>> from pbgnet.networks import AggregatedNetwork
    >>> X, y = np.array([[1.0], [-1.0]] * 100), np.array([1, 0] * 100)
    >>> network = AggregatedNetwork([torch.tensor([[3.0]])], [torch.tensor([[0.0]])], intercept=False)
    >>> model = certify_network(network, X, y, classes=(0, 1), prior=PriorRecord("zero"),
    ...                         prior_rows=[], certified_rows=range(200))
    >>> report = verify(model, X, y)
    >>> report.ok, report.summary
    (True, 'Verified: 38 steps recomputed, 2 taken on trust.')
    >>> y[5] = 1
    >>> (step,) = verify(model, X, y).failures
    >>> step.name
    'data: labels'
    >>> print(step.detail)
    The label of row 6 (counting from 1, without the header) is 1, and was 0 when the certificate was made.
    All other labels are as certified.
    """
    read = VerificationStep("files", "a readable model", "a readable model", "ok")
    if not isinstance(certified, CertifiedModel | CertifiedPredictions):
        names: list[str] = [*(ANSWERS_STEPS if holds_predictions(certified) else NETWORK_STEPS)]
        try:
            certified = load_certified(certified, check=False)  # the steps compare it
        except PBGNetError as error:
            read = VerificationStep("files", "a readable model", "a damaged model", "failed", str(error))
            return VerificationReport((read, *map(_skipped, names)))
    if isinstance(certified, CertifiedModel):
        given_here = {
            "model": model,
            "loss": loss,
            "scores": scores,
            "reference": reference,
            "reference_data": reference_data,
        }
        for name, given in given_here.items():
            if given is not None:
                raise OptionError(
                    f"{name} is for a classifier that is not stored, but this is the certificate of a "
                    "network; leave it out."
                )
        case = NetworkCase(certified, X, y, groups)
        return VerificationReport((read, *_run_all(NETWORK_STEPS, case, every_step)))
    if loss is not None and model is None:
        raise OptionError(
            "The loss is computed by asking the classifier again; pass the classifier as model."
        )
    if scores is not None and model is None:
        raise OptionError(
            "The scores are computed by asking the classifier again; pass the classifier as model."
        )
    if reference_data is not None and reference is None:
        raise OptionError("reference_data are the data of the certified vote; pass the vote as reference.")
    of_vote = None if reference is None or reference_data is None else verify(reference, *reference_data)
    failures = None if of_vote is None else tuple(step.name for step in of_vote.failures)
    of_labels = LABEL_STEPS if certified.certificate.of_labels else {}
    if isinstance(certified.certificate.subject, FittedSubject):
        fitted = FittedCase(certified, X, y, model, loss=loss, groups=groups, scores=scores)
        return VerificationReport((read, *_run_all(FITTED_STEPS | of_labels, fitted, every_step)))
    answers = AnswersCase(certified, X, y, model, reference, failures, loss, groups, scores)
    return VerificationReport((read, *_run_all(ANSWERS_STEPS | of_labels, answers, every_step)))


def _run_all(
    checks: Mapping[str, Callable[[AnyCase], Outcome]], case: AnyCase, every_step: bool
) -> Iterator[VerificationStep]:
    """Run the checks in order; after one has failed, the others are listed as not checked."""
    failed: set[str] = set()
    for name, check in checks.items():
        # The sentences of a certificate are made from its numbers: if these were edited, they differ too.
        follows = failed - {TEXT_STEP} or (failed and name == "statement")
        step = _skipped(name) if follows and not every_step else _run(name, check, case)
        if step.status == "failed":
            failed.add(name)
        yield step


def _skipped(name: str) -> VerificationStep:
    return VerificationStep(name, "to be recomputed", "not checked", "skipped")


def _run(name: str, check: Callable[[AnyCase], Outcome], case: AnyCase) -> VerificationStep:
    """Run one check; an error in it is a failed step."""
    try:
        outcome = check(case)
    except PBGNetError as error:
        return _not_computed(name, str(error))
    except Exception as error:  # a damaged table can fail in any way; the report must still be complete
        return _not_computed(name, f"the table cannot be used ({type(error).__name__}: {str(error)[:200]})")
    status = "failed" if not outcome.ok else "trusted" if outcome.trusted else "ok"
    return VerificationStep(name, outcome.expected, outcome.found, status, outcome.detail)


def _not_computed(name: str, reason: str) -> VerificationStep:
    return VerificationStep(name, "to be recomputed", NOT_COMPUTED, "failed", reason)
