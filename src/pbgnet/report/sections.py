"""Pieces of the page that its sections are made of."""

from collections.abc import Sequence

from pbgnet.report.svg import escape, tag

__all__ = ["facts", "paragraph", "section"]


def section(title: str, *content: str, class_: str = "") -> str:
    """Return a section under its title."""
    attributes = {"class_": class_} if class_ else {}
    return tag("section", tag("h2", escape(title)) + "".join(content), **attributes)


def paragraph(text: str, class_: str = "") -> str:
    """Return a paragraph of plain text."""
    return tag("p", escape(text), class_=class_) if class_ else tag("p", escape(text))


def facts(rows: Sequence[tuple[str, object]], code: bool = False) -> str:
    """Return a table of names and values."""
    body = "".join(
        tag(
            "tr",
            tag("th", escape(name), scope="row")
            + tag("td", tag("code", escape(value)) if code else escape(value)),
        )
        for name, value in rows
    )
    return tag("table", tag("tbody", body), class_="facts")
