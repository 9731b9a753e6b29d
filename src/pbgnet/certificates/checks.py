"""The checks `verify` runs, in the order they are listed in: for a network, and for answers alone."""

from collections.abc import Callable

from pbgnet.certificates import claim_checks as claims
from pbgnet.certificates import identity_checks as identity
from pbgnet.certificates import number_checks as numbers
from pbgnet.certificates import origin_checks as origin
from pbgnet.certificates import prediction_checks as predictions
from pbgnet.certificates.subject import NetworkSubject, Outcome, PredictionSubject

__all__ = ["CHECKS", "PREDICTION_CHECKS"]

CHECKS: dict[str, Callable[[NetworkSubject], Outcome]] = {
    "schema": identity.check_schema,
    "statement": identity.check_statement,
    "certificate text": identity.check_seal,
    "network": identity.check_network,
    "posterior weights": identity.check_posterior,
    "prior weights": identity.check_prior,
    "preprocessing": identity.check_preprocessing,
    "data: features": identity.check_features,
    "data: labels": identity.check_labels,
    "data: columns": identity.check_columns,
    "data: number of rows": identity.check_row_count,
    "data: fingerprint": identity.check_data,
    "data: duplicates": numbers.check_duplicates,
    "split": identity.check_split,
    "certified rows": origin.check_rows,
    "split redrawn": origin.check_redraw,
    "preprocessing refitted": origin.check_refit,
    "prior record": origin.check_prior_record,
    "prior regenerated": origin.check_regeneration,
    "empirical risk": numbers.check_risk,
    "error rate": numbers.check_error_rate,
    "numerical error": numbers.check_numerical_error,
    "divergence": numbers.check_divergence,
    "delta": claims.check_delta,
    "choices": claims.check_choices,
    "settings": claims.check_settings,
    "deployed predictor": claims.check_deployed,
    "evidence": claims.check_evidence,
    "bound": claims.check_bound,
    "alternatives": claims.check_alternatives,
    "settled beforehand": origin.check_settled,
}

PREDICTION_CHECKS: dict[str, Callable[[PredictionSubject], Outcome]] = {
    "schema": identity.check_schema,
    "statement": identity.check_statement,
    "certificate text": identity.check_seal,
    "answers stored": predictions.check_predictions,
    "data: features": identity.check_features,
    "data: labels": identity.check_labels,
    "data: columns": identity.check_columns,
    "data: number of rows": identity.check_row_count,
    "data: fingerprint": identity.check_data,
    "data: duplicates": predictions.check_duplicates,
    # Only now is the user's code run, which could change the data.
    "answers": predictions.check_answers,
    "losses": predictions.check_losses,
    "certified rows": predictions.check_rows,
    "error rate": predictions.check_count,
    "delta": claims.check_delta,
    "shares of delta": predictions.check_shares,
    "reference": predictions.check_reference,
    "evidence": predictions.check_evidence,
    "bound": claims.check_bound,
}
