"""Checks of `verify` that the claims follow from their evidence, and the evidence from the data."""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

from pbgnet.bounds import split_delta
from pbgnet.certificates.arguments import Argument, argument_of, gather
from pbgnet.certificates.claim import Claim, Evidence, Settings
from pbgnet.certificates.routes import claim_value
from pbgnet.certificates.strategy import (
    CANDIDATES,
    candidate_names,
    chosen_on_prior_rows,
    other_arguments,
    unions,
)
from pbgnet.certificates.subject import (
    RELATIVE,
    TIES_ON_TRUST,
    NetworkSubject,
    Outcome,
    Subject,
    count_agrees,
    same,
)
from pbgnet.certificates.terms import delta_of

__all__ = [
    "check_alternatives",
    "check_bound",
    "check_choices",
    "check_delta",
    "check_deployed",
    "check_evidence",
    "check_settings",
    "evidence_text",
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
    claims = subject.certificate.claims
    outcome = outcome_of(claims, lambda claim: _network_problem(subject, claim))
    return _with_ties(subject, claims, outcome)


def check_alternatives(subject: NetworkSubject) -> Outcome:
    """Recompute what is said for comparison; a posterior that was not kept is taken on trust."""
    stated = subject.certificate
    share = stated.delta_per_prior
    kept = [claim for claim in stated.alternatives if not claim.predictor.startswith("discarded")]
    if stated.version > 1:  # version 1 cannot list others
        told, expected = _listed(stated.alternatives), _listed(_expected_alternatives(subject))
        if told != expected:
            return Outcome(expected, told, False, "other routes are listed than those that were not taken")

    def problem(claim: Claim) -> str:
        if claim.delta != share:
            return f"delta {share!r}"
        evidence = _network_problem(subject, claim) if claim in kept else ""
        return evidence or _value_problem(claim)

    outcome = outcome_of(stated.alternatives, problem)
    if outcome.ok and len(kept) < len(stated.alternatives):
        note = "those of the posterior that was not kept are taken on trust"
        return Outcome(outcome.expected, outcome.found, True, note, trusted=True)
    return _with_ties(subject, kept, outcome)


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
    """Choose again what was chosen on the prior rows, by the margins stored or by those on all of them."""
    stated = subject.certificate
    if stated.version == 1:
        return Outcome("nothing was chosen", "nothing was chosen", True)
    plan = subject.plan
    everything = (*stated.claims, *stated.alternatives)
    claims = [claim for claim in everything if claim.route == "vote" or claim.settings.c is not None]
    expected = "what the prior rows give" if subject.has_learned_prior else "the fixed settings"
    for claim in claims:
        chosen = plan.vote if claim.route == "vote" else plan.loss
        if not _same_settings(claim.settings, chosen):
            return Outcome(expected, "others", False, f"the settings of {_name(claim)} are not {expected}")
    told, again = stated.choices.on_prior_rows, chosen_on_prior_rows(subject.terms.certificate, plan)
    if told != again:
        return Outcome("; ".join(again) or "nothing", "; ".join(told) or "nothing", False)
    if plan.learned and subject.model.prior_margins is not None:
        note = (
            "that the stored margins are those on prior rows the prior was not trained on is taken on trust"
        )
        return Outcome(expected, expected, True, note, trusted=True)
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


def _compare_evidence(stated: Claim, found: Evidence, n_ties: int, old: bool = False) -> str:
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
        count_agrees(given.n_errors or 0, found.n_errors or 0, n_ties)
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
    return "" if ok else evidence_text(found)


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
    found, n_ties = _found(subject, claim)
    return _compare_evidence(claim, found, n_ties, old=subject.certificate.version == 1)


def _found(subject: NetworkSubject, claim: Claim) -> tuple[Evidence, int]:
    """Return the evidence of a claim from the model and the data, and the number of rows that are ties."""
    claimed = claim in subject.certificate.claims
    situation = subject.situation if claimed else subject.situation.exact()
    found = gather(argument_of(claim), situation, claim.delta, claim.given_class)
    evaluation = situation.answers(claim.predictor, claim.given_class).evaluation()
    if found.n_errors is not None:
        count = subject.n_errors(evaluation)
        found = replace(found, n_errors=count, empirical_risk=count / found.n)
    return found, evaluation.n_ties


def _with_ties(subject: NetworkSubject, claims: Iterable[Claim], outcome: Outcome) -> Outcome:
    """Say that a count is on trust where it is as stated up to ties only."""
    if outcome.ok and any(claim.evidence.n_errors != _found(subject, claim)[0].n_errors for claim in claims):
        return replace(outcome, detail=TIES_ON_TRUST, trusted=True)
    return outcome


def _expected_alternatives(subject: NetworkSubject) -> tuple[Argument, ...]:
    """Return the routes that were not taken, given the one that was."""
    stated, classes = subject.certificate, subject.model.inputs.class_names
    names = candidate_names(subject.terms.certificate, subject.has_learned_prior)
    taken = next((name for name in names if _is_made_by(stated.claims, name, classes)), names[0])
    return other_arguments(taken, subject.plan, "maurer")


def _listed(arguments: "Iterable[Argument | Claim]") -> str:
    """List routes and predictors, and whether a mixture bounds the loss."""
    return "; ".join(
        f"{each.route} of the {each.predictor}" + (" with a mixture" if each.settings.c is not None else "")
        for each in arguments
    )


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
    return f"{claim.route} {claim.value!r} from {evidence_text(claim.evidence)}"


def evidence_text(evidence: Evidence) -> str:
    """Write what a bound was computed from."""
    names = ("n_errors", "divergence", "n_draws", "reference_bound")
    stated = {name: getattr(evidence, name) for name in names}
    parts = [f"{name.replace('_', ' ')} {value!r}" for name, value in stated.items() if value is not None]
    risk = f"risk {evidence.empirical_risk!r} to within {evidence.numerical_error!r}"
    return ", ".join([f"{evidence.n} rows", risk, *parts])
