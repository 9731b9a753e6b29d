"""The checks `verify` runs, in the order they are listed in: for a network, and for answers alone."""

from collections.abc import Callable

from pbgnet.certificates.verification import answers, claims, identity, measurements, origin
from pbgnet.certificates.verification.cases import AnswersCase, NetworkCase, Outcome

NETWORK_STEPS: dict[str, Callable[[NetworkCase], Outcome]] = {
    "schema": identity.check_schema,
    "statement": identity.check_statement,
    "certificate text": identity.check_seal,
    "network": identity.check_own("network"),
    "posterior weights": identity.check_own("posterior weights"),
    "prior weights": identity.check_own("prior weights"),
    "preprocessing": identity.check_own("preprocessing"),
    "row fingerprints": identity.check_own("row fingerprints"),
    "prior margins": identity.check_own("prior margins"),
    "data: features": identity.check_features,
    "data: labels": identity.check_labels,
    "data: columns": identity.check_columns,
    "data: number of rows": identity.check_row_count,
    "data: fingerprint": identity.check_data,
    "data: duplicates": measurements.check_duplicates,
    "data: rows": identity.check_stored_rows,
    "split": identity.check_own("split"),
    "certified rows": origin.check_rows,
    "split redrawn": origin.check_redraw,
    "preprocessing refitted": origin.check_refit,
    "prior record": origin.check_prior_record,
    "prior regenerated": origin.check_regeneration,
    "empirical risk": measurements.check_risk,
    "error rate": measurements.check_error_rate,
    "numerical error": measurements.check_numerical_error,
    "divergence": measurements.check_divergence,
    "delta": claims.check_delta,
    "choices": claims.check_choices,
    "settings": claims.check_settings,
    "deployed predictor": claims.check_deployed,
    "evidence": claims.check_evidence,
    "bound": claims.check_bound,
    "alternatives": claims.check_alternatives,
    "settled beforehand": origin.check_settled,
}

ANSWERS_STEPS: dict[str, Callable[[AnswersCase], Outcome]] = {
    "schema": identity.check_schema,
    "statement": identity.check_statement,
    "certificate text": identity.check_seal,
    "answers stored": answers.check_predictions,
    "data: features": identity.check_features,
    "data: labels": identity.check_labels,
    "data: columns": identity.check_columns,
    "data: number of rows": identity.check_row_count,
    "data: fingerprint": identity.check_data,
    "data: duplicates": answers.check_duplicates,
    # Only now is the user's code run, which could change the data.
    "answers": answers.check_answers,
    "losses": answers.check_losses,
    "certified rows": answers.check_rows,
    "error rate": answers.check_count,
    "delta": claims.check_delta,
    "shares of delta": answers.check_shares,
    "reference": answers.check_reference,
    "evidence": answers.check_evidence,
    "bound": claims.check_bound,
}
