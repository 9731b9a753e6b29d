"""Checks of `verify` that the claims follow from their evidence, and the evidence from the data."""

import dataclasses
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from pbgnet.bounds import split_delta
from pbgnet.certificates.format import Claimed, DisagreementSubject, Wanted
from pbgnet.certificates.network import (
    Proposal,
    candidate_names,
    chosen_on_prior_rows,
    delta_of,
    others_than,
    propose,
    unions,
)
from pbgnet.certificates.routes import (
    ACCURACY,
    ROUTES,
    SELECTIVE,
    Claim,
    Evidence,
    Settings,
    balanced_bound,
    candidates_of,
    deploys_prior,
)
from pbgnet.certificates.verification.cases import Case, NetworkCase
from pbgnet.certificates.verification.outcomes import (
    RELATIVE,
    TIES_ON_TRUST,
    Outcome,
    count_agrees,
    is_outward,
    risk_problem,
    same,
)


def check_delta(case: Case) -> Outcome:
    """Recompute delta from the confidence, its share per prior, and that of each claim."""
    stated = case.certificate
    delta = delta_of(stated.confidence)
    per_prior = split_delta(delta, stated.n_priors)
    asked, n_shares = Wanted((), groups=case.claimed_groups), stated.choices.n_shares
    expected = [repr(claim.delta) for claim in stated.claims]
    found = [repr(asked.delta_of(claim.event, per_prior, n_shares)) for claim in stated.claims]
    shares = ", ".join(dict.fromkeys(expected)), ", ".join(dict.fromkeys(found))
    if isinstance(stated.subject, DisagreementSubject):
        shares = (
            "as stated",
            "as stated",
        )  # delta is not divided evenly; a step of its own adds the parts up
    return same(
        f"delta {stated.delta!r}, {stated.delta_per_prior!r} per prior, {shares[0]} per claim",
        f"delta {delta!r}, {per_prior!r} per prior, {shares[1]} per claim",
        f"with confidence {stated.confidence} and {stated.n_priors} priors",
    )


def check_plan(case: Case) -> Outcome:
    """Add up, exactly, what all sentences that hold together may fail with: no more than delta."""
    plan = case.certificate.delta_plan
    shares = f"{len(plan.shares)} share{'s' * (len(plan.shares) != 1)}"
    text = f"{shares} of delta, of at most {plan.delta!r} together"
    ok = plan.total <= Fraction(plan.delta)
    return Outcome(text, text if ok else f"{float(plan.total)!r} together", ok, str(plan))


def check_bound(case: Case) -> Outcome:
    """Recompute each claim from its stated evidence, which has a separate step."""
    return outcome_of(case.certificate.claims, _value_problem)


def check_balanced(case: Case) -> Outcome:
    """Recompute the mean of the bounds on the classes, which have separate steps."""
    stated, found = case.certificate.balanced_error_rate, balanced_bound(case.certificate.claims)
    return same(
        "not claimed" if stated is None else repr(stated),
        "not claimed" if found is None else repr(found),
        "it is not the mean of the bounds on the classes",
    )


def check_evidence(case: NetworkCase) -> Outcome:
    """Recompute the evidence of each claim from the model and the data."""
    claims = case.certificate.claims
    return _with_ties(case, claims, outcome_of(claims, lambda claim: _evidence_problem(case, claim)))


def check_alternatives(case: NetworkCase) -> Outcome:
    """Recompute what is said for comparison; a posterior that was not kept is taken on trust.

    What is recomputed is what the certificate lists. Types of certificate that were added to pbgnet after it
    was issued are named, and change nothing.
    """
    stated = case.certificate
    kept = [claim for claim in stated.alternatives if not claim.discarded]
    proposed = _expected_alternatives(case)
    unlisted = _not_listed(stated.alternatives, proposed)
    if unlisted is None:
        expected = _listed(each for proposals in proposed.values() for each in proposals)
        return Outcome(
            _listed(stated.alternatives),
            expected,
            False,
            "the certificate lists alternatives that this version of pbgnet does not compute. It was edited, "
            "or another version wrote it",
        )

    def problem(claim: Claim) -> str:
        if claim.delta != stated.delta_per_prior:
            return f"delta {stated.delta_per_prior!r}"
        evidence = _evidence_problem(case, claim) if claim in kept else ""
        return evidence or _value_problem(claim)

    outcome = outcome_of(stated.alternatives, problem)
    if outcome.ok and len(kept) < len(stated.alternatives):
        note = "taken on trust: the alternatives that used the posterior, which was not kept"
        outcome = dataclasses.replace(outcome, detail=note, trusted=True)
    else:
        outcome = _with_ties(case, kept, outcome)
    if outcome.ok and unlisted:
        told = f"not listed for comparison, though this version of pbgnet computes it: {', '.join(unlisted)}"
        outcome = dataclasses.replace(outcome, detail="; ".join(filter(None, (outcome.detail, told))))
    return outcome


def _not_listed(
    stated: tuple[Claim, ...], proposed: dict[str, tuple[Proposal, ...]]
) -> tuple[str, ...] | None:
    """Return the candidates whose alternatives are not listed; None if something else is listed."""
    told, unlisted = [_listed([claim]) for claim in stated], []
    for name, proposals in proposed.items():
        expected = [_listed([each]) for each in proposals]
        if told[: len(expected)] == expected:
            del told[: len(expected)]
        else:
            unlisted.append(name)
    return None if told else tuple(unlisted)


def check_choices(case: NetworkCase) -> Outcome:
    """Check that the claims, the routes considered, and their price follow from what was requested."""
    certificate, stated = case.certificate, case.certificate.choices
    names = candidate_names(case.terms.certificate, case.has_learned_prior)
    told = "; ".join(_name(claim) for claim in certificate.claims)
    if not any(_is_made_by(certificate.claims, name, case.wanted) for name in names):
        expected = f"the claims of {' or '.join(names)}"
        return Outcome(expected, told, False, "the claims are not the ones that delta was divided for")
    prices = unions(case.terms, names, case.wanted)
    return same(
        _choices_text(stated.candidates, [(union.what, union.count) for union in stated.unions]),
        _choices_text(names, [(union.what, union.count) for union in prices]),
        "delta was not divided as these choices require",
    )


def check_settings(case: NetworkCase) -> Outcome:
    """Repeat the choices made on the prior rows, with the stored margins or those on all of them."""
    stated, foresight = case.certificate, case.foresight
    expected = "what the prior rows give" if case.has_learned_prior else "the fixed settings"
    for claim in (*stated.claims, *stated.alternatives):
        if not any(same_settings(claim.settings, allowed) for allowed in _allowed(case, claim)):
            return Outcome(expected, "others", False, f"the settings of {_name(claim)} are not {expected}")
    told = stated.choices.on_prior_rows
    again = chosen_on_prior_rows(case.terms.certificate, foresight, case.several_labels)
    if told != again:
        return Outcome("; ".join(again) or "nothing", "; ".join(told) or "nothing", False)
    if foresight.learned and case.model.prior_margins is not None:
        note = "taken on trust: the stored margins come from prior rows that the prior was not trained on"
        return Outcome(expected, expected, True, note, trusted=True)
    return Outcome(expected, expected, True)


def check_deployed(case: NetworkCase) -> Outcome:
    """Check that the bound on the error rate is about the predictor that the model answers with."""
    subject, predictor = case.subject, case.certificate.error_rate.predictor
    expected = f"the {predictor}"
    if predictor == "prior's vote" and subject.prior_weights != subject.posterior_weights:
        return Outcome(expected, "the posterior's vote", False, "the model answers with a different network")
    if case.certificate.choices.keeps_prior and case.situation.has_posterior:
        return Outcome(
            expected,
            "a posterior's",
            False,
            ("the certificate says that the prior was kept as the posterior"),
        )
    return Outcome(expected, expected, True)


def outcome_of(claims: Iterable[Claim], problem: Callable[[Claim], str]) -> Outcome:
    """Return what was expected and found for the first claim with a problem, or that all are as stated."""
    listed = list(claims)
    for claim in listed:
        if found := problem(claim):
            return Outcome(_claim_text(claim), found, False, f"{_name(claim)} does not follow from the data")
    told = "; ".join(f"{claim.route} {claim.value!r}" for claim in listed) or "none"
    return Outcome(told, told, True)


def evidence_text(evidence: Evidence) -> str:
    """Write what a bound was computed from."""
    stated = {field.name: getattr(evidence, field.name) for field in dataclasses.fields(evidence)}
    n = stated.pop("n")
    parts = [f"{name.replace('_', ' ')} {value!r}" for name, value in stated.items() if value is not None]
    return ", ".join([f"{n} rows", *parts])


def same_evidence(stated: Evidence, found: Evidence, n_ties: int = 0) -> bool:
    """Whether evidence is the same up to what another machine may round, or count, differently."""
    names = ("empirical_risk", "numerical_error")
    if hasattr(stated, "numerical_error") and risk_problem(
        *(getattr(each, name) for each in (stated, found) for name in names)
    ):
        return False
    for field in dataclasses.fields(stated):
        ours, theirs = getattr(stated, field.name), getattr(found, field.name)
        if not _same_field(field.name, ours, theirs, n_ties, found):
            return False
    return True


def _same_field(name: str, ours: Any, theirs: Any, n_ties: int, found: Evidence) -> bool:
    """Compare one number of some evidence: a number that raises the bound may not be stated lower."""
    if name == "empirical_risk":
        return True  # it was compared together with its error
    if name == "n_errors":
        return count_agrees(ours, theirs, n_ties)
    if name == "sampling_delta":
        return bool(ours == theirs)
    slack = found.slack_of(name)
    return _same_number(ours, theirs) if slack is None else is_outward(ours, theirs, slack)


def _evidence_problem(case: NetworkCase, claim: Claim) -> str:
    found, n_ties = _found(case, claim)
    return "" if same_evidence(claim.evidence, found, n_ties) else evidence_text(found)


def _found(case: NetworkCase, claim: Claim) -> tuple[Evidence, int]:
    """Return the evidence of a claim from the model and the data, and the number of rows that are ties."""
    exact = claim not in case.certificate.claims
    measured = case.situation.measured(claim.predictor, claim.quantity, claim.event, exact=exact)
    found = claim.argument.evidence(measured, claim.settings, claim.delta)
    return found, case.situation.answers(claim.predictor, claim.event).n_ties


def _with_ties(case: NetworkCase, claims: Iterable[Claim], outcome: Outcome) -> Outcome:
    """Say that a count is on trust if it is only as stated up to ties."""

    def count(evidence: Evidence) -> int | None:
        return getattr(evidence, "n_errors", None)

    if outcome.ok and any(count(claim.evidence) != count(_found(case, claim)[0]) for claim in claims):
        return dataclasses.replace(outcome, detail=TIES_ON_TRUST, trusted=True)
    return outcome


def _is_made_by(claims: tuple[Claim, ...], name: str, wanted: Wanted) -> bool:
    """Whether claims are those of a candidate: over all rows, from one event, and apart all that is asked."""
    overall = [claim for claim in claims if claim.overall and claim.quantity not in SELECTIVE]
    apart = claims[len(overall) :]
    headline = overall[-1]
    # Where the thresholds of answered rows come from is a question for the settings.
    found = [(*claimed_by(claim), claim.predictor, claim.route, _argued(claim, headline)) for claim in apart]
    expected = [
        (*claimed, headline.predictor, claimed.route_beside(headline.route), headline.settings)
        for claimed in wanted.claims
    ]
    return (
        tuple((claim.predictor, claim.route, claim.quantity) for claim in overall)
        == candidates_of(wanted.several_labels)[name]
        and len({claim.settings for claim in overall}) == len({type(claim.settings) for claim in overall})
        and found == expected
    )


def _argued(claim: Claim, headline: Claim) -> Settings:
    return headline.settings if claim.quantity in SELECTIVE else claim.settings


def claimed_by(claim: Claim) -> Claimed:
    """Return what a claim bounds."""
    return Claimed(claim.quantity, claim.event)


def _expected_alternatives(case: NetworkCase) -> dict[str, tuple[Proposal, ...]]:
    """Return what the candidates propose that were not taken, given the one that was."""
    stated = case.certificate
    names = candidate_names(case.terms.certificate, case.has_learned_prior)
    several = case.several_labels
    taken = next((name for name in names if _is_made_by(stated.claims, name, case.wanted)), names[0])
    # Where the prior is deployed, nobody can tell whether there was another posterior: what is said to be of
    # one is on trust, and all else is recomputed.
    discarded = deploys_prior(taken) and stated.has_discarded
    return others_than(taken, case.foresight, several, discarded=discarded)


def _allowed(case: NetworkCase, claim: Claim) -> list[Settings]:
    """Return the settings a claim may have: those of the candidates it belongs to, with either constant."""
    offer = (claim.predictor.removeprefix("discarded "), claim.route, claim.quantity)
    if claim.quantity == ACCURACY:
        return [Settings()]
    if claim.quantity in SELECTIVE:
        return [case.foresight.settings_of(claim.argument)]
    several = case.several_labels
    return [
        proposal.settings
        for name, members in candidates_of(several).items()
        if offer in members
        for constant in ("maurer", "paper")
        for proposal in propose(name, dataclasses.replace(case.foresight, constant=constant), several)
        if (proposal.predictor, proposal.route, proposal.quantity) == offer
    ]


def _listed(proposals: "Iterable[Proposal | Claim]") -> str:
    """List routes and predictors, in the words for their settings."""
    return "; ".join(
        f"{ROUTES[each.route].words(each.settings)} of the {each.predictor}" for each in proposals
    )


def _value_problem(claim: Claim) -> str:
    found = claim.recomputed().value
    return "" if is_outward(claim.value, found) else f"{claim.route} {found!r}"


def same_settings(stated: Settings, chosen: Settings) -> bool:
    """Whether two settings are the same, up to rounding of what was computed for them."""
    return type(stated) is type(chosen) and all(
        _same_number(getattr(stated, field.name), getattr(chosen, field.name), 1e-6)
        for field in dataclasses.fields(stated)
    )


def _same_number(ours: object, theirs: object, relative: float = RELATIVE) -> bool:
    """Compare numbers, or lists of them, up to rounding, and anything else exactly."""
    if isinstance(ours, tuple) and isinstance(theirs, tuple):
        return len(ours) == len(theirs) and all(
            _same_number(a, b, relative) for a, b in zip(ours, theirs, strict=True)
        )
    if isinstance(ours, float) and isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=relative)
    return ours == theirs


def _choices_text(candidates: Iterable[str], prices: list[tuple[str, int]]) -> str:
    paid = "; ".join(f"{count} for {what}" for what, count in prices) or "nothing paid"
    return f"considered {' and '.join(candidates)}; {paid}"


def _name(claim: Claim) -> str:
    return f"the {claim.quantity} of the {claim.predictor}{claim.event.words} by {claim.route}"


def _claim_text(claim: Claim) -> str:
    return f"{claim.route} {claim.value!r} from {evidence_text(claim.evidence)}"
