"""Recomputing a certificate from the saved model and the data: every step, what it expected and found.

Nothing of training is imported. What cannot be recomputed (that a pre-trained prior saw the prior rows only,
that the user chose rows or preprocessing without the certified rows, that route, confidence, classes, number
of priors and seeds were settled beforehand) is a step of its own, with the status
"trusted". The assumptions of the certificate name the rest, such as that the rows are independent draws.

Other machines round differently. A bound may be stated higher than it is recomputed by 1e-9 of itself, and
lower by 1e-12, as is the divergence it rests on; a mean loss by what its proved numerical error leaves open.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from numpy.typing import ArrayLike

from pbgnet.certificates.classifier import CertifiedPredictions, Loss, Scores
from pbgnet.certificates.format import FittedSubject
from pbgnet.certificates.network import CertifiedModel
from pbgnet.certificates.store import holds_predictions, load_certified
from pbgnet.certificates.verification.cases import AnswersCase, Case, FittedCase, NetworkCase, Outcome
from pbgnet.certificates.verification.steps import (
    ANSWERS_STEPS,
    FITTED_STEPS,
    LABEL_STEPS,
    NETWORK_STEPS,
)
from pbgnet.exceptions import DomainError, OptionError, PBGNetError
from pbgnet.kernels import one_thread

AnyCase = TypeVar("AnyCase", bound=Case)

STATUSES = {"ok": "ok", "failed": "FAILED", "trusted": "trusted"}
"""How the status of a step is printed."""


@dataclass(frozen=True)
class VerificationStep:
    """One check.

    Attributes
    ----------
    name : str
    expected : str
        What the certificate says.
    found : str
        What was recomputed; "not computed" where an earlier failure made it impossible.
    status : {"ok", "failed", "trusted"}
        Recomputed and as stated; not as stated; or something that nobody can recompute from the model
        and the data, so that it is taken on trust.
    detail : str
        Why it failed, or what the step takes on trust.
    ok : bool
        Whether it did not fail; made from the status.
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
        object.__setattr__(self, "ok", self.status != "failed")

    @property
    def told(self) -> str:
        """What there is to say besides the name: what was found instead, why, or what is taken on trust."""
        if self.ok:
            return self.detail
        told = f"expected {self.expected}, found {self.found}"
        return f"{told} ({self.detail})" if self.detail else told

    def __str__(self) -> str:
        line = f"[{STATUSES[self.status]}] {self.name}"
        if not self.ok:
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
    def summary(self) -> str:
        """The verdict in one sentence, with the number of steps of each kind."""
        if not self.ok:
            return f"NOT verified: {len(self.failures)} of {len(self.steps)} steps failed."
        trust = f", {len(self.trusted)} taken on trust" if self.trusted else ""
        return f"Verified: {len(self.recomputed)} steps recomputed{trust}."

    def _with_status(self, status: str) -> tuple[VerificationStep, ...]:
        return tuple(step for step in self.steps if step.status == status)

    def _repr_html_(self) -> str:
        """Return the list with ticks that notebooks show: failures first, what was recomputed folded."""
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
        # A name in the data that holds the end of a line must not look like a line of the report.
        return "\n".join(r"\n".join(str(line).splitlines()) for line in (*self.steps, self.summary))


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
) -> VerificationReport:
    """Recompute everything a certificate says.

    Parameters
    ----------
    certified : CertifiedModel, CertifiedPredictions or path
        What was certified, or the folder it was saved in. A folder that cannot be read fails the first
        step.
    X : DataFrame, ndarray, scipy sparse matrix or list of rows, shape (N, d)
        The whole table as it was given to fit, or to `certify`.
    y : array_like, shape (N,) or (N, 1); or several labels as 0 and 1, shape (N, L)
        Its labels, as the user has them. A disagreement has none.
    model : classifier or callable, optional
        The classifier of `certify` or `certify_by_disagreement`, or a fitted pipeline whose classifier is
        not stored, which is then asked again. Without it,
        that it answers as stored is taken on trust. A network is stored, and needs none.
    reference : CertifiedModel, optional
        The certified vote of a disagreement. With it, that it is what its certificate speaks of, has the
        bound that is leant on and answers as stored is recomputed; without it, all of this is on trust.
    reference_data : pair of table and labels, optional
        What the certified vote was made from. With it, the certificate of the vote is verified as well;
        without it, that it is right is taken on trust.
    loss : callable or str, optional
        The function given to `certify` as loss, which is then computed again; without it, that it has the
        values stored is taken on trust. One with a name needs the model only.
    groups : array_like, optional
        The group of each row of the table, where groups were given so. Those told by a column are found in X
        again.
    scores : callable, optional
        The function given to `certify_selective` as scores, which is then asked again; without it, that it
        has the values stored is taken on trust.

    Returns
    -------
    VerificationReport
        `str` of it is a list a person can read.

    Raises
    ------
    OptionError
        If something is given that has no use here, such as a model or a loss for the certificate of a
        network.

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
    >>> [step.name for step in verify(model, X, y).failures]
    ['data: labels', 'empirical risk', 'error rate', 'majority answer', 'evidence', 'alternatives']
    """
    read = VerificationStep("files", "a readable model", "a readable model", "ok")
    if not isinstance(certified, CertifiedModel | CertifiedPredictions):
        names: list[str] = [*(ANSWERS_STEPS if holds_predictions(certified) else NETWORK_STEPS)]
        try:
            certified = load_certified(certified, check=False)  # the steps compare it
        except PBGNetError as error:
            read = VerificationStep("files", "a readable model", "a damaged one", "failed", str(error))
            skipped = [_not_computed(name, "the model could not be read") for name in names]
            return VerificationReport((read, *skipped))
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
                    f"{name} is for a classifier that is not stored, and this is the certificate of a "
                    "network; leave it out."
                )
        case = NetworkCase(certified, X, y, groups)
        return VerificationReport((read, *(_run(name, check, case) for name, check in NETWORK_STEPS.items())))
    if loss is not None and model is None:
        raise OptionError("A loss is computed by asking the classifier again; pass it as model.")
    if scores is not None and model is None:
        raise OptionError("Scores are had by asking the classifier again; pass it as model.")
    if reference_data is not None and reference is None:
        raise OptionError("reference_data are those of the certified vote; pass it as reference.")
    of_vote = None if reference is None or reference_data is None else verify(reference, *reference_data)
    failures = None if of_vote is None else tuple(step.name for step in of_vote.failures)
    of_labels = LABEL_STEPS if certified.certificate.of_labels else {}
    if isinstance(certified.certificate.subject, FittedSubject):
        fitted = FittedCase(certified, X, y, model, loss=loss, groups=groups, scores=scores)
        steps = FITTED_STEPS | of_labels
        return VerificationReport((read, *(_run(name, check, fitted) for name, check in steps.items())))
    answers = AnswersCase(certified, X, y, model, reference, failures, loss, groups, scores)
    of_answers = ANSWERS_STEPS | of_labels
    return VerificationReport((read, *(_run(name, check, answers) for name, check in of_answers.items())))


def _run(name: str, check: Callable[[AnyCase], Outcome], case: AnyCase) -> VerificationStep:
    """Run one check; an error in it is a failed step, and the other steps go on."""
    try:
        outcome = check(case)
    except PBGNetError as error:
        return _not_computed(name, str(error))
    except Exception as error:  # a damaged table can fail in any way; the report must still be complete
        return _not_computed(name, f"{type(error).__name__}: {str(error)[:200]}")
    status = "failed" if not outcome.ok else "trusted" if outcome.trusted else "ok"
    return VerificationStep(name, outcome.expected, outcome.found, status, outcome.detail)


def _not_computed(name: str, reason: str) -> VerificationStep:
    return VerificationStep(name, "to be recomputed", "not computed", "failed", reason)
