"""One HTML page about studies: text computed from the numbers, tables, figures; nothing is loaded or run."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pbgnet
from pbgnet.experiments.figures.plotting import INK, PAPER, RULE, SOFT
from pbgnet.experiments.findings import (
    agreement_sentences,
    bound_sentences,
    claim_sentences,
    departures,
)
from pbgnet.experiments.markup import escape, plain_text, rich_text, tag
from pbgnet.experiments.results import StudyResults, confidence_text
from pbgnet.experiments.study_style import STYLE
from pbgnet.experiments.tables import StudyTable, error_table, protocol_table, run_summary_table

__all__ = ["Drawing", "StudyPart", "render_page"]

# Even a mistake in escaping could load nothing and run nothing. The maps of figures are data in the page.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

MEANING = (
    "A bound holds, with probability {confidence} over the draw of the rows it is computed from, for the "
    "expected linear loss of the aggregated network on new rows of the same distribution. The linear loss "
    "lies between 0 and 1 and is one half where the vote is even.",
    "The error rate of the vote is at most twice the linear loss; the bounds here are not bounds on the "
    "error rates beside them.",
    "The plain sign network with the same weights is not covered, nor is a tanh network.",
    "Where the aggregate was sampled, the bound uses the mean of sampled losses as the paper does. That is "
    "an estimate: only the exact aggregate has a bound that is proved.",
    "The paper counts one prior for each architecture. A prior that was trained depends on the learning "
    "rate and on T too; the honest bound pays for all priors that could have been selected.",
    "Each bound holds with its probability by itself; that all bounds of a table hold together is less "
    "probable.",
)


@dataclass(frozen=True)
class Drawing:
    """A figure for the page.

    Attributes
    ----------
    name : str
    caption : str
        Says in words what is drawn.
    svg : str
    narrow : bool
    """

    name: str
    caption: str
    svg: str
    narrow: bool = False


@dataclass(frozen=True)
class StudyPart:
    """A study with its tables and figures.

    Attributes
    ----------
    results : StudyResults
    tables : tuple of StudyTable
        The first is the one that is compared with the paper.
    drawings : tuple of Drawing
    findings : tuple of str
        What its figures show, in sentences.
    """

    results: StudyResults
    tables: tuple[StudyTable, ...]
    drawings: tuple[Drawing, ...]
    findings: tuple[str, ...] = ()


def render_page(parts: Sequence[StudyPart], illustrations: Sequence[Drawing]) -> str:
    """Return the page; the same studies give the same bytes."""
    results = [part.results for part in parts]
    sections = [_verdict(parts), *map(_study, parts)]
    if illustrations:
        sections.append(_section("The method in pictures", *map(_figure, illustrations)))
    meaning = [sentence.format(confidence=confidence_text(*results)) for sentence in MEANING]
    sections += [_section("What the bounds mean, and what they do not", _list(meaning)), _runs(results)]
    head = (
        '<meta charset="utf-8">'
        + f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">'
        + '<meta name="viewport" content="width=device-width, initial-scale=1">'
        + tag("title", "Results of studies")
        + tag("style", STYLE)
    )
    footer = tag("footer", f"Made by pbgnet {escape(pbgnet.__version__)}. This page loads and runs nothing.")
    body = tag("main", _header(results) + "".join(sections) + footer)
    return f'<!doctype html>\n<html lang="en">\n<head>{head}</head>\n<body>{body}</body>\n</html>\n'


def _header(results: Sequence[StudyResults]) -> str:
    records = [record for result in results for record in result.records]
    machines = dict.fromkeys(record.machine for record in records if record.machine)
    dates = sorted(record.finished[:10] for record in records)
    where = f" on {'; '.join(machines)}" if machines else ""
    when = ", " + " to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else ""
    count, expected = sum(len(result.done) for result in results), sum(len(r.study.runs) for r in results)
    names = ", ".join(result.study.name for result in results)
    lead = (
        "Binary activated networks trained by a PAC-Bayes bound, after Letarte, Germain, Guedj and "
        f"Laviolette (2019). Studies: {names}. {count:,} of {expected:,} runs are finished{where}{when}."
    )
    return tag("header", tag("h1", "Results of studies") + tag("p", escape(lead), class_="lead"))


def _verdict(parts: Sequence[StudyPart]) -> str:
    """Say what agrees with the paper and what does not."""
    content = []
    for part in parts:
        sentences, apart = list(part.findings), []
        if part.tables:
            claims = claim_sentences(part.results) + bound_sentences(part.results)
            sentences += agreement_sentences(part.tables[0]) + claims
            apart = departures(part.tables[0])
        if not part.results.complete:
            lacking = len(part.results.study.runs) - len(part.results.done)
            sentences.insert(0, f"{lacking:,} runs have no results, so that these are interim numbers.")
        if sentences:
            content += [tag("h3", f"Study “{escape(part.results.study.name)}”"), _list(sentences)]
        if apart:
            content += [tag("p", "The largest departures:"), _list(apart)]
    if not content:
        content = [tag("p", "There are no numbers to compare yet.")]
    return _section("What agrees with the paper and what does not", *content)


def _study(part: StudyPart) -> str:
    study = part.results.study
    protocol = tag("div", _table(protocol_table(part.results), "facts text"))
    content = [
        tag("p", escape(study.summary[:1].upper() + study.summary[1:] + ".")) if study.summary else "",
        tag("details", tag("summary", "Protocol") + protocol),
        *map(_figure, part.drawings),
    ]
    for table in part.tables:
        content += [tag("h3", rich_text(table.title)), _table(table, "judged")]
    return _section(f"Study “{study.name}”", *content)


def _runs(results: Sequence[StudyResults]) -> str:
    content = [_table(run_summary_table(results), "text")]
    errors = error_table(results)
    if errors.rows:
        content += [tag("h3", errors.title), _table(errors, "text")]
    return _section("Runs", *content)


def _section(title: str, *content: str) -> str:
    return tag("section", tag("h2", rich_text(title)) + "".join(content))


def _list(sentences: Sequence[str]) -> str:
    return tag("ul", "".join(tag("li", rich_text(sentence)) for sentence in sentences))


def _table(table: StudyTable, class_: str) -> str:
    return tag("div", table.html(), class_=class_)


def _figure(drawing: Drawing) -> str:
    chart = inline_svg(drawing)
    scrolling = tag("div", chart, class_="scroll", tabindex=0, role="region", aria_label=drawing.name)
    return tag("figure", scrolling + tag("figcaption", rich_text(drawing.caption)))


def inline_svg(drawing: Drawing) -> str:
    """Return a figure as part of the page: no addresses, names of its own, colours of the page's scheme."""
    svg = drawing.svg[drawing.svg.index("<svg") :]
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg)
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{drawing.name}-\1"', svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{drawing.name}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{drawing.name}-\1)", svg)
    svg = svg.replace("xlink:href", "href")
    # A style sheet of the figure would reach the whole page.
    svg = re.sub(r"<style[^>]*>.*?</style>", "", svg, flags=re.DOTALL)
    for colour, variable in ((INK, "ink"), (SOFT, "soft"), (RULE, "rule"), (PAPER, "paper")):
        svg = svg.replace(colour, f"var(--{variable})")
    opening = re.match(r"<svg[^>]*>", svg)
    view = re.search(r'viewBox="([^"]*)"', svg)
    assert opening is not None
    assert view is not None
    class_ = "chart narrow" if drawing.narrow else "chart"
    label = escape(plain_text(drawing.caption))
    return (
        f'<svg class="{class_}" viewBox="{view[1]}" role="img" aria-label="{label}">' + svg[opening.end() :]
    )
