"""One HTML page about studies: text computed from the numbers, tables, figures; no external resources."""

from collections.abc import Sequence
from dataclasses import dataclass

import pbgnet
from pbgnet.experiments.report.findings import (
    agreement_sentences,
    bound_sentences,
    claim_sentences,
    departures,
)
from pbgnet.experiments.studies import StudyResults, confidence_text
from pbgnet.experiments.tables import StudyTable, error_table, protocol_table, run_summary_table
from pbgnet.pages import Drawing, render_page


@dataclass(frozen=True)
class StudyPart:
    """A study with its tables and figures."""

    results: StudyResults
    tables: tuple[StudyTable, ...]  # the first is the one that is compared with the paper
    drawings: tuple[Drawing, ...]
    findings: tuple[str, ...] = ()  # what its figures show


def render_studies(parts: Sequence[StudyPart], illustrations: Sequence[Drawing]) -> str:
    """Return the page; the same studies give the same bytes."""
    results = [part.results for part in parts]
    return render_page(
        __file__,
        title="Results of studies",
        heading="Results of studies",
        lead=_lead(results),
        version=pbgnet.__version__,
        verdicts=[verdict for part in parts if any((verdict := _verdict(part))[1:])],
        parts=parts,
        protocol_table=protocol_table,
        illustrations=illustrations,
        confidence=confidence_text(*results),
        runs=run_summary_table(results),
        errors=error_table(results),
    )


def _lead(results: Sequence[StudyResults]) -> str:
    records = [record for result in results for record in result.records]
    machines = dict.fromkeys(record.machine for record in records if record.machine)
    dates = sorted(record.finished[:10] for record in records)
    where = f" on {'; '.join(machines)}" if machines else ""
    when = ", " + " to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else ""
    count, expected = sum(len(result.done) for result in results), sum(len(r.study.runs) for r in results)
    names = ", ".join(result.study.name for result in results)
    return (
        "Binary activated networks trained by a PAC-Bayes bound, after Letarte, Germain, Guedj and "
        f"Laviolette (2019). Studies: {names}. {count:,} of {expected:,} runs are finished{where}{when}."
    )


def _verdict(part: StudyPart) -> tuple[str, list[str], list[str]]:
    """Return the name of a study, what agrees with the paper and what does not, the largest differences."""
    sentences, apart = list(part.findings), []
    if part.tables:
        claims = claim_sentences(part.results) + bound_sentences(part.results)
        sentences += agreement_sentences(part.tables[0]) + claims
        apart = departures(part.tables[0])
    if not part.results.complete:
        lacking = len(part.results.study.runs) - len(part.results.done)
        sentences.insert(0, f"{lacking:,} runs have no results yet, so these numbers are preliminary.")
    return part.results.study.name, sentences, apart
