"""The checks that `verify` runs, in the order in which they are listed: for a network, and for answers."""

from collections.abc import Callable

from pbgnet.certificates.verification import (
    answering,
    answers,
    by_group,
    claims,
    fitted_rows,
    identity,
    label_checks,
    measurements,
    origin,
)
from pbgnet.certificates.verification.cases import AnswersCase, FittedCase, NetworkCase
from pbgnet.certificates.verification.outcomes import Outcome

NETWORK_STEPS: dict[str, Callable[[NetworkCase], Outcome]] = {
    "schema": identity.check_schema,
    "certificate text": identity.check_seal,
    "statement": identity.check_statement,
    "network": identity.check_own("network"),
    "posterior weights": identity.check_own("posterior weights"),
    "prior weights": identity.check_own("prior weights"),
    "preprocessing": identity.check_own("preprocessing"),
    "row fingerprints": identity.check_own("row fingerprints"),
    "prior margins": identity.check_own("prior margins"),
    "data: columns": identity.check_columns,
    "data: number of rows": identity.check_row_count,
    "data: features": identity.check_features,
    "data: labels": identity.check_labels,
    "data: fingerprint": identity.check_data,
    "data: duplicates": measurements.check_duplicates,
    "data: rows": identity.check_stored_rows,
    "split": identity.check_own("split"),
    "certified rows": origin.check_rows,
    "split redrawn": origin.check_redraw,
    "groups": by_group.check_groups,
    "preprocessing refitted": origin.check_refit,
    "prior record": origin.check_prior_record,
    "prior regenerated": origin.check_regeneration,
    "empirical risk": measurements.check_risk,
    "error rate": measurements.check_error_rate,
    "majority answer": measurements.check_majority,
    "numerical error": measurements.check_numerical_error,
    "divergence": measurements.check_divergence,
    "delta": claims.check_delta,
    "plan of delta": claims.check_plan,
    "choices": claims.check_choices,
    "settings": claims.check_settings,
    "deployed predictor": claims.check_deployed,
    "evidence": claims.check_evidence,
    "bound": claims.check_bound,
    "balanced error rate": claims.check_balanced,
    "group difference": by_group.check_difference,
    "alternatives": claims.check_alternatives,
    "settled beforehand": origin.check_settled,
}

# What comes first if a classifier is known by its answers.
_ANSWERED: dict[str, Callable[[AnswersCase], Outcome]] = {
    "schema": identity.check_schema,
    "certificate text": identity.check_seal,
    "statement": identity.check_statement,
    "answers stored": answers.check_predictions,
    "row fingerprints": answers.check_stored_rows,
    "data: columns": identity.check_columns,
    "data: number of rows": identity.check_row_count,
    "data: features": identity.check_features,
    "data: labels": identity.check_labels,
    "data: fingerprint": identity.check_data,
    "data: rows": identity.check_stored_rows,
}

ANSWERS_STEPS: dict[str, Callable[[AnswersCase], Outcome]] = {
    **_ANSWERED,
    "data: duplicates": answers.check_duplicates,
    "groups": by_group.check_groups,
    # Only now is the user's code run, which could change the data.
    "answers": answers.check_answers,
    "losses": answers.check_losses,
    "scores": answering.check_scores,
    "certified rows": answers.check_rows,
    "error rate": answers.check_count,
    "majority answer": answers.check_majority,
    "delta": claims.check_delta,
    "plan of delta": claims.check_plan,
    "shares of delta": answers.check_shares,
    "thresholds": answering.check_thresholds,
    "reference": answers.check_reference,
    "evidence": answers.check_evidence,
    "bound": claims.check_bound,
    "balanced error rate": claims.check_balanced,
    "group difference": by_group.check_difference,
}

FITTED_STEPS: dict[str, Callable[[FittedCase], Outcome]] = {
    **_ANSWERED,
    "data: duplicates": fitted_rows.check_duplicates,
    "split": fitted_rows.check_split,
    "certified rows": fitted_rows.check_rows,
    "split redrawn": origin.check_redraw,
    "groups": by_group.check_groups,
    # Only now is the user's code run, which could change the data.
    "answers": answers.check_answers,
    "losses": answers.check_losses,
    "scores": answering.check_scores,
    "fit": fitted_rows.check_fit,
    "error rate": answers.check_count,
    "majority answer": answers.check_majority,
    "delta": claims.check_delta,
    "plan of delta": claims.check_plan,
    "shares of delta": answers.check_shares,
    "thresholds": answering.check_thresholds,
    "evidence": answers.check_evidence,
    "bound": claims.check_bound,
    "balanced error rate": claims.check_balanced,
    "group difference": by_group.check_difference,
    "settled beforehand": fitted_rows.check_settled,
}

LABEL_STEPS: dict[str, Callable[[AnswersCase], Outcome]] = {
    "answers": label_checks.check_answers,
    "error rate": label_checks.check_count,
    "majority answer": label_checks.check_majority,
    "shares of delta": label_checks.check_shares,
    "evidence": label_checks.check_evidence,
}
"""Replacements for steps of the same names if a classifier answers with several labels."""
