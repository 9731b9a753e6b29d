"""Damaged and forged folders are refused, or say and answer what they did; and a gap would be found."""

import os
import random
from pathlib import Path

import pytest
from checks.fuzz import Case, Fuzzer, main, read_corpus, time_limit
from checks.mutations import CHANGES
from checks.originals import ORIGINALS

from pbgnet.certificates import CertifiedModel
from pbgnet.certificates.verification import steps
from pbgnet.certificates.verification.outcomes import Outcome

CORPUS = read_corpus(Path(__file__).with_name("corpus.jsonl"))


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory):
    return Fuzzer(tmp_path_factory.mktemp("fuzz"))


def edit(path, value, original="network", reseal=True):
    return Case(original, [{"do": "set", "file": "certificate.json", "path": path, "json": value}], reseal)


def test_genuine_folders_verify_and_are_the_same(fuzzer):
    for name in ORIGINALS:
        assert fuzzer.outcome(Case(name, [])) == ("verified, the same", "")


def test_the_corpus(fuzzer):
    assert {case.original for case in CORPUS} == set(ORIGINALS)
    assert {change["do"] for case in CORPUS for change in case.changes} == set(CHANGES)
    outcomes = [fuzzer.outcome(case) for case in CORPUS]
    assert [(case, fault) for case, (_, fault) in zip(CORPUS, outcomes, strict=True) if fault] == []
    assert sum(outcome == "not verified" for outcome, _ in outcomes) > 0.6 * len(CORPUS)


def test_new_cases(fuzzer):
    rng = random.Random(0)
    outcomes, faults = zip(*(fuzzer.outcome(fuzzer.draw(rng)) for _ in range(60)), strict=True)
    assert not any(faults)
    assert outcomes.count("not verified") > 10


def test_a_forger_who_seals_again_states_only_what_is_not_proved(fuzzer):
    later = edit(["issued_at"], '"2000-01-01T00:00:00Z"')
    assert fuzzer.outcome(later) == ("verified, the same", "")
    assert fuzzer.outcome(Case("network", later.changes)) == ("not verified", "")


@pytest.mark.parametrize("name", ORIGINALS)
def test_a_claim_that_is_lowered_by_a_millionth_is_not_verified(fuzzer, name):
    for place in range(len(fuzzer.originals[name].certified.certificate.claims)):
        lower = {
            "do": "scale",
            "file": "certificate.json",
            "path": ["claims", place, "value"],
            "by": 1 - 1e-6,
        }
        assert fuzzer.outcome(Case(name, [lower], reseal=True)) == ("loaded, not verified", "")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no alarms")
def test_time_is_limited():
    with pytest.raises(TimeoutError, match=r"more than 0\.01 s"), time_limit(0.01):
        for _ in range(10**9):
            pass


# ----- what would be found ---------------------------------------------------------------------------


def test_a_bound_that_nobody_recomputes_is_found(fuzzer, monkeypatch):
    lower = edit(["claims", 0, "value"], "0.001")
    assert fuzzer.outcome(lower) == ("loaded, not verified", "")
    monkeypatch.setitem(steps.NETWORK_STEPS, "bound", lambda case: Outcome("", "", True))
    assert "it was verified and states" in fuzzer.outcome(lower)[1]


def test_weights_that_nobody_compares_are_found(fuzzer, monkeypatch):
    change = {"do": "weight", "file": "model.safetensors", "at": 0.0, "with": 85}  # of posterior_0, to 1e9
    weight = Case("network", [change])
    assert fuzzer.outcome(weight) == ("not verified", "")
    monkeypatch.setattr(CertifiedModel, "mismatch", lambda self: "")
    assert fuzzer.outcome(weight)[1] == "it was loaded and answers otherwise"


def test_an_error_that_is_none_of_ours_is_found(fuzzer, monkeypatch, capsys):
    def broken(path):
        raise KeyError("no luck")

    monkeypatch.setattr("pbgnet.certificates.store._read_certified", broken)
    outcome, fault = fuzzer.outcome(CORPUS[0])
    assert (outcome, fault) == ("broke", "KeyError: 'no luck'")
    assert main(["--seconds", "0.3"]) == 1
    printed = capsys.readouterr().out
    assert "FAULT: KeyError: 'no luck'\n    {\"original\"" in printed
    assert " faults." in printed
