"""Checks of `verify` that the claims follow from their evidence, and the evidence from the data."""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

from pbgnet.bounds import split_delta
from pbgnet.certificates.arguments import argument_of, gather
from pbgnet.certificates.claim import Claim, Evidence, Settings
from pbgnet.certificates.routes import claim_value
from pbgnet.certificates.strategy import (
    CANDIDATES,
    candidate_names,
    chosen_on_prior_rows,
    plan_settings,
    unions,
)
from pbgnet.certificates.subject import RELATIVE, NetworkSubject, Outcome, Subject, same
from pbgnet.certificates.terms import delta_of

__all__ = [
    "check_alternatives",
    "check_bound",
    "check_choices",
    "check_delta",
    "check_deployed",
    "check_evidence",
    "check_settings",
    "compare_evidence",
    "outcome_of",
]


def check_delta(subject: Subject) -> Outcome:
    """Recompute delta from the confidence, its share per prior, and that of each claim."""
    stated = subject.certificate
    delta = delta_of(stated.confidence)
    per_prior = split_delta(delta, stated.n_priors)
    share = split_delta(per_prior, stated.choices.n_shares)
    expected = [repr(claim.delta) for claim in stated.claims]
    found = [repr(share)] * len(expected)
    shares = ", ".join(dict.fromkeys(expected)), ", ".join(dict.fromkeys(found))
    if stated.reference is not None:  # delta is not divided evenly; a step of its own adds the parts up
        shares = ("as stated", "as stated")
    return same(
        f"delta {stated.delta!r}, {stated.delta_per_prior!r} per prior, {shares[0]} per claim",
        f"delta {delta!r}, {per_prior!r} per prior, {shares[1]} per claim",
        f"with confidence {stated.confidence} and {stated.n_priors} priors",
    )


def check_bound(subject: Subject) -> Outcome:
    """Recompute each claim from its stated evidence, which is checked by a step of its own."""
    return outcome_of(subject.certificate.claims, _value_problem)


def check_evidence(subject: NetworkSubject) -> Outcome:
    """Recompute the evidence of each claim from the model and the data."""
    return outcome_of(subject.certificate.claims, lambda claim: _network_problem(subject, claim))


def check_alternatives(subject: NetworkSubject) -> Outcome:
    """Recompute what is said for comparison; a posterior that was not kept is taken on trust."""
    stated = subject.certificate
    share = stated.delta_per_prior
    kept = [claim for claim in stated.alternatives if not claim.predictor.startswith("discarded")]

    def problem(claim: Claim) -> str:
        if claim.delta != share:
            return f"delta {share!r}"
        evidence = _network_problem(subject, claim) if claim in kept else ""
        return evidence or _value_problem(claim)

    outcome = outcome_of(stated.alternatives, problem)
    if outcome.ok and len(kept) < len(stated.alternatives):
        note = "those of the posterior that was not kept are taken on trust"
        return Outcome(outcome.expected, outcome.found, True, note, trusted=True)
    return outcome


def check_choices(subject: NetworkSubject) -> Outcome:
    """See that what is claimed, the routes looked at, and their price are those of what was asked for."""
    certificate, stated = subject.certificate, subject.certificate.choices
    classes = subject.model.inputs.class_names
    names = candidate_names(subject.terms.certificate, subject.has_learned_prior)
    told = "; ".join(_name(claim) for claim in certificate.claims)
    if not any(_is_made_by(certificate.claims, name, classes) for name in names):
        expected = f"the claims of {' or '.join(names)}"
        return Outcome(expected, told, False, "more, or others, are claimed than were paid for")
    if certificate.version == 1:
        return Outcome(told, told, True)
    prices = unions(subject.terms, names, classes)
    return same(
        _choices_text(stated.candidates, [(union.what, union.count) for union in stated.unions]),
        _choices_text(names, [(union.what, union.count) for union in prices]),
        "a choice was not paid for as it must be",
    )


def check_settings(subject: NetworkSubject) -> Outcome:
    """Choose again what was chosen on the prior rows."""
    stated = subject.certificate
    if stated.version == 1:
        return Outcome("nothing was chosen", "nothing was chosen", True)
    share = split_delta(stated.delta_per_prior, stated.choices.n_shares)
    plan = plan_settings(subject.apart, stated.inputs.n, share)
    everything = (*stated.claims, *stated.alternatives)
    claims = [claim for claim in everything if claim.route == "vote" or claim.settings.c is not None]
    expected = "what the prior rows give" if subject.has_learned_prior else "the fixed settings"
    for claim in claims:
        chosen = plan.vote if claim.route == "vote" else plan.loss
        if not _same_settings(claim.settings, chosen):
            if not subject.has_learned_prior:
                return Outcome(
                    expected, "others", False, f"the settings of {_name(claim)} are not the fixed ones"
                )
            note = (
                f"the settings of {_name(claim)}: that they were chosen on the prior rows is taken on trust"
            )
            return Outcome(expected, "others", True, note, trusted=True)
    told, again = stated.choices.on_prior_rows, chosen_on_prior_rows(subject.terms.certificate, plan)
    if told != again:
        return Outcome("; ".join(again) or "nothing", "; ".join(told) or "nothing", False)
    return Outcome(expected, expected, True)


def check_deployed(subject: NetworkSubject) -> Outcome:
    """See that the predictor of the bound on the error rate is the one that the model answers with."""
    prints, predictor = subject.certificate.fingerprints, subject.certificate.error_rate.predictor
    expected = f"the {predictor}"
    if predictor == "prior's vote" and prints.prior != prints.posterior:
        return Outcome(expected, "the posterior's vote", False, "the model answers with another network")
    return Outcome(expected, expected, True)


def outcome_of(claims: Iterable[Claim], problem: Callable[[Claim], str]) -> Outcome:
    """Return what was expected and found of the first claim with a problem, or that all are as stated."""
    listed = list(claims)
    for claim in listed:
        if found := problem(claim):
            return Outcome(_claim_text(claim), found, False, f"{_name(claim)} is not what the data give")
    told = "; ".join(f"{claim.route} {claim.value!r}" for claim in listed) or "none"
    return Outcome(told, told, True)


def compare_evidence(stated: Claim, found: Evidence, n_ties: int, old: bool = False) -> str:
    """Say what was found if the stated evidence is another; "" if it is the same up to rounding."""
    given = stated.evidence
    slack = 2.0 * min(given.numerical_error, found.numerical_error * (1 + RELATIVE)) + 1e-12
    counted = given.n_errors is not None and found.n_errors is not None
    pairs = [
        (given.numerical_error, found.numerical_error),
        (given.divergence or 0.0, found.divergence or 0.0),
    ]
    if not old:  # version 1 does not state it
        pairs.append((given.margin_error, found.margin_error))
    same_counts = (
        abs((given.n_errors or 0) - (found.n_errors or 0)) <= n_ties
        and given.empirical_risk == min(1.0, (given.n_errors or 0) / given.n)
        if counted
        else given.n_errors == found.n_errors and abs(given.empirical_risk - found.empirical_risk) <= slack
    )
    ok = (
        given.n == found.n
        and same_counts
        and not (
            not counted
            and given.empirical_risk + given.numerical_error < found.empirical_risk - found.numerical_error
        )
        and all(math.isclose(a, b, rel_tol=RELATIVE) for a, b in pairs)
        and (given.divergence is None) == (found.divergence is None)
        and (given.n_draws, given.sampling_delta) == (found.n_draws, found.sampling_delta)
        and given.reference_bound == found.reference_bound
    )
    return "" if ok else _evidence_text(found)


def _is_made_by(claims: tuple[Claim, ...], name: str, classes: tuple[str, ...]) -> bool:
    """Whether claims are those of a candidate: over all rows, from one event, and for each class or none."""
    overall = [claim for claim in claims if claim.given_class is None]
    headline = overall[-1]
    by_class = [
        (c.given_class, c.predictor, c.route, c.settings) for c in claims if c.given_class is not None
    ]
    each = [(label, headline.predictor, headline.route, headline.settings) for label in classes]
    return (
        tuple((claim.predictor, claim.route) for claim in overall) == CANDIDATES[name]
        and len({claim.settings for claim in overall}) == 1
        and by_class in ([], each)
    )


def _network_problem(subject: NetworkSubject, claim: Claim) -> str:
    claimed = claim in subject.certificate.claims
    situation = subject.situation if claimed else subject.situation.exact()
    found = gather(argument_of(claim), situation, claim.delta, claim.given_class)
    n_ties = situation.answers(claim.predictor, claim.given_class).evaluation().n_ties
    return compare_evidence(claim, found, n_ties, old=subject.certificate.version == 1)


def _value_problem(claim: Claim) -> str:
    found = claim_value(claim)
    return "" if math.isclose(claim.value, found, rel_tol=RELATIVE) else f"{claim.route} {found!r}"


def _same_settings(stated: Settings, chosen: Settings) -> bool:
    """Whether two settings are the same, up to rounding of C."""
    if replace(stated, c=None) != replace(chosen, c=None) or (stated.c is None) != (chosen.c is None):
        return False
    ours, theirs = stated.c or (), chosen.c or ()
    return len(ours) == len(theirs) and all(
        math.isclose(a, b, rel_tol=1e-6) for a, b in zip(ours, theirs, strict=True)
    )


def _choices_text(candidates: Iterable[str], prices: list[tuple[str, int]]) -> str:
    paid = "; ".join(f"{count} for {what}" for what, count in prices) or "nothing paid"
    return f"looked at {' and '.join(candidates)}; {paid}"


def _name(claim: Claim) -> str:
    given = f" in class {claim.given_class}" if claim.given_class is not None else ""
    return f"the {claim.quantity} of the {claim.predictor}{given} by {claim.route}"


def _claim_text(claim: Claim) -> str:
    return f"{claim.route} {claim.value!r} from {_evidence_text(claim.evidence)}"


def _evidence_text(evidence: Evidence) -> str:
    names = ("n_errors", "divergence", "n_draws", "reference_bound")
    stated = {name: getattr(evidence, name) for name in names}
    parts = [f"{name.replace('_', ' ')} {value!r}" for name, value in stated.items() if value is not None]
    risk = f"risk {evidence.empirical_risk!r} to within {evidence.numerical_error!r}"
    return ", ".join([f"{evidence.n} rows", risk, *parts])
