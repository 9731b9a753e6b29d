"""The table of what is recomputed and what is on trust names every step of `verify`, and no other."""

import re
from pathlib import Path

from pbgnet.certificates.verification.steps import ANSWERS_STEPS, FITTED_STEPS, NETWORK_STEPS

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "reference" / "security.md"


def test_the_table_names_every_step():
    rows = [line.split("|") for line in DOCUMENT.read_text().splitlines() if line.startswith("| ")]
    named = {step for row in rows for step in re.findall("`([^`]+)`", row[2])}
    assert named == {"files", *NETWORK_STEPS, *ANSWERS_STEPS, *FITTED_STEPS}
    assert len(rows) > 10
