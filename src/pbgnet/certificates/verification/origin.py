"""Checks of `verify` for where things came from: the split, the preprocessor and the prior."""

import math
import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pbgnet.certificates.data import rows_to_fit
from pbgnet.certificates.format import Certificate
from pbgnet.certificates.network import prior_problem
from pbgnet.certificates.verification.cases import FittedCase, NetworkCase
from pbgnet.certificates.verification.outcomes import RELATIVE, Outcome
from pbgnet.networks import initial_weights
from pbgnet.preprocessing import TablePreprocessor, read_columns, take_rows

SPLIT_NOTES = {
    "given": (
        "taken on trust: the rows were chosen without looking at their features or labels. Choosing them by "
        "their values invalidates the certificate"
    ),
    "hashed": (
        "taken on trust: the column identifies cases, and was not chosen by looking at the values in the rows"
    ),
    "earliest": ("taken on trust: the later rows are independent draws, and future rows are drawn like them"),
}
"""What is on trust about rows that were not drawn at random, although they can be found again."""


def check_rows(case: NetworkCase) -> Outcome:
    """Check that no row is both prior and certified, and that all others are certified as stated.

    Only if the user chose the rows may some be in neither part; the reason is then taken on trust.
    """
    split, n = case.split, case.certificate.inputs.n  # a split with rows in both parts cannot be made
    prior, certified = split.prior_rows, split.certified_rows
    expected = f"{n} certified rows in the table, none of them a prior row"
    left_out, told = split.n_left_out(case.n_rows), case.subject.n_left_out
    problems = []
    if certified.size != n:
        problems.append(f"{certified.size} certified rows")
    if max(_largest(prior), _largest(certified)) >= case.n_rows:
        problems.append(f"rows beyond the end of the table of {case.n_rows}")
    if told != left_out:
        problems.append(f"{left_out} rows that are neither prior rows nor certified rows, instead of {told}")
    if split.left_out_problem(case.n_rows):
        problems.append(f"{left_out} rows that are neither prior rows nor certified rows")
    if problems or not left_out:
        return Outcome(expected, ", ".join(problems) or expected, not problems)
    note = (
        f"taken on trust: {left_out} rows that are neither prior rows nor certified rows were left out "
        "without looking at their features or labels"
    )
    return Outcome(expected, expected, True, note, trusted=True)


def check_redraw(case: NetworkCase | FittedCase) -> Outcome:
    """Draw the split again, if it was drawn."""
    split, record = case.split, case.subject.split
    expected = {
        "none": "no prior rows",
        "given": "prior rows chosen by the user",
        "drawn": f"the rows that seed {record.seed} draws, a share of {record.fraction!r}",
        "hashed": f"a share of {record.fraction!r} by the hash of {record.column!r:.60}, seed {record.seed}",
        "earliest": f"the earliest by {record.column!r:.60}, a share of {record.fraction!r}",
    }[record.how]
    if problem := split.record_problem(case.rows):
        made = f" (drawn with numpy {case.certificate.versions.numpy}, redrawn with {np.__version__})"
        detail = problem.rstrip(".") + (made if record.how == "drawn" else "")
        return Outcome(expected, f"{split.prior_rows.size} different prior rows", False, detail)
    note = SPLIT_NOTES.get(record.how, "")
    return Outcome(expected, expected, True, note, trusted=bool(note))


def check_refit(case: NetworkCase) -> Outcome:
    """Fit the preprocessor again on the prior rows only."""
    status, preprocessor = case.subject.preprocessing.status, case.model.preprocessor
    if preprocessor is None or status == "none":
        if status == "inside":
            return Outcome(
                "a preprocessor", "none", False, "the certificate says that there is a preprocessor"
            )
        if preprocessor is not None:
            return Outcome(
                status, "a preprocessor", False, "the certificate says that there is no preprocessor"
            )
        note = (
            "there is no preprocessing; taken on trust: nothing done to the rows earlier depends on the "
            "certified rows"
            if status == "none"
            else "outside the proof; taken on trust: the preprocessing does not depend on the certified rows"
        )
        return Outcome(status, status, True, f"{note} is taken on trust", trusted=True)
    again = TablePreprocessor(**preprocessor.get_params())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were given when the model was made
        learned = rows_to_fit(case.rows, case.split)
        rows = take_rows(case.X, learned)
        again.fit(rows)
    some = "" if learned.size == case.model.prior_rows.size else f", of which {learned.size} were drawn,"
    expected = f"what {case.model.prior_rows.size} prior rows{some} give"
    if difference := _difference(preprocessor.to_dict(), again.to_dict()):
        detail = f"it was not fitted only on the prior rows: {difference}"
        return Outcome(expected, "another one", False, detail)
    notes = []
    if status == "outside":
        notes.append("anything done to the numbers earlier does not depend on the certified rows")
    if not preprocessor.parse_numbers or any(column.categorical for column in read_columns(rows)):
        notes.append("the column types were fixed without looking at the certified rows")
    note = f"taken on trust: {' and '.join(notes)}" if notes else ""
    return Outcome(expected, expected, True, note, trusted=bool(notes))


def check_prior_record(case: NetworkCase) -> Outcome:
    """Check that what is said about the prior is possible, given the prior rows."""
    record = case.subject.prior
    expected = f"a {record.how} prior that saw {record.n_rows} rows"
    problem = prior_problem(record, case.model.prior_rows.size, case.terms)
    return Outcome(expected, "a contradiction" if problem else expected, not problem, problem.rstrip("."))


def check_regeneration(case: NetworkCase) -> Outcome:
    """Make the prior again, if it depends only on its seed."""
    record, network = case.subject.prior, case.model.network
    if record.how in ("pretrained", "given"):
        note = (
            "not repeated; taken on trust: it was trained only on the prior rows"
            if record.how == "pretrained"
            else "not repeated; taken on trust: it does not depend on the certified rows"
        )
        return Outcome(f"a {record.how} prior", f"a {record.how} prior", True, note, trusted=True)
    options: dict[str, Any] = {"initialisation": "zero"}
    if record.how == "random":
        if record.seed is None:
            return Outcome("a seed", "none", False, "a random prior without its seed cannot be repeated")
        generator = torch.Generator().manual_seed(record.seed)
        options = {"initialisation": record.initialisation or "xavier_normal", "generator": generator}
    sizes = network.architecture
    again = initial_weights(
        sizes.n_features,
        sizes.hidden_layer_sizes,
        n_outputs=sizes.n_outputs,
        intercept=sizes.intercept,
        replicas=sizes.leading,
        dtype=torch.float64,
        patches=sizes.patches,
        **options,
    )
    # Training in float32 keeps the prior in float32: the same numbers, rounded.
    rounded = [weight.float().double() for weight in again]
    stored = network.prior_weights
    ok = any(all(map(torch.equal, stored, candidate)) for candidate in (again, rounded))
    source = "zeros" if record.how == "zero" else f"the weights drawn from seed {record.seed}"
    return Outcome(source, source if ok else "other weights", ok)


def check_settled(case: NetworkCase) -> Outcome:
    """Name what no file can show: when the claims were decided."""
    stated = case.certificate
    priors = "one prior" if stated.n_priors == 1 else f"{stated.n_priors} priors"
    told = f"{stated.choices.certificate} and {priors}, chosen in advance"
    note = (
        f"taken on trust: the type of certificate, the confidence, {settled_claims(stated)}, the number of "
        "priors and the seeds were chosen before looking at the certified rows, and nothing else was tried"
    )
    return Outcome(told, told, True, note, trusted=True)


def settled_claims(certificate: Certificate) -> str:
    """Say which claims a user chose, possibly after seeing the certified rows."""
    told = "whether classes are bounded separately"
    if certificate.groups is not None:
        told += ", which groups there are"
    if certificate.answered_error_rate is not None:
        told += ", the target for answered rows"
    return told


def _largest(rows: NDArray[np.int64]) -> int:
    return int(rows.max()) if rows.size else -1


def _difference(stored: Any, again: Any, where: str = "") -> str:
    """Name the first place where two JSON values differ; floats may differ by rounding."""
    if isinstance(stored, float) and isinstance(again, float):
        same = math.isclose(stored, again, rel_tol=RELATIVE)
        return "" if same else f"{where} is {stored!r}, refitted {again!r}"
    if isinstance(stored, dict) and isinstance(again, dict) and set(stored) == set(again):
        parts = [_difference(stored[key], again[key], f"{where} {key}".strip()) for key in stored]
        return next(filter(None, parts), "")
    if isinstance(stored, list) and isinstance(again, list) and len(stored) == len(again):
        parts = [
            _difference(a, b, f"{where}[{k}]") for k, (a, b) in enumerate(zip(stored, again, strict=True))
        ]
        return next(filter(None, parts), "")
    return "" if stored == again else f"{where} is {stored!r:.80}, refitted {again!r:.80}"
