"""A card: one result as a small piece of HTML, for notebooks and other pages."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from pbgnet.pages.bars import Bar
from pbgnet.pages.rendering import fill, printable

Tone = Literal["certified", "good", "warn", "bad"]


class Check(NamedTuple):
    """One line of a checklist."""

    status: str  # "ok", "failed" or "trusted"
    name: str
    detail: str = ""


class Checks(NamedTuple):
    """A checklist under a heading that a reader can fold."""

    heading: str
    checks: tuple[Check, ...]
    unfolded: bool = True


@dataclass(frozen=True, kw_only=True)
class Card:
    """What a card shows, from top to bottom.

    Attributes
    ----------
    headline : str
        The result, in one short sentence.
    tone : {"certified", "good", "warn", "bad"}
        Its colour.
    lead : str
        The basis of the headline.
    warnings : tuple of str
        What a reader must not miss.
    bars : tuple of Bar
        Drawn from 0 to their values; the longest one fills the width.
    facts : tuple of (str, str)
        Names and values.
    lists : tuple of Checks
    notes_heading : str
        The heading of the notes, which are folded.
    notes : tuple of str

    Examples
    --------
    >>> from pbgnet.pages import Card, render_card
    >>> "at most 5 &lt; 6" in render_card(Card(headline="at most 5 < 6", tone="certified"))
    True
    """

    headline: str
    tone: Tone
    lead: str = ""
    warnings: tuple[str, ...] = ()
    bars: tuple[Bar, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    lists: tuple[Checks, ...] = ()
    notes_heading: str = ""
    notes: tuple[str, ...] = ()

    @property
    def longest_bar(self) -> float:
        """The value that fills the width; 1 if all bars are empty."""
        return max((bar.value for bar in self.bars), default=1.0) or 1.0


def render_card(card: Card) -> str:
    """Return a card as HTML with its own style, all values escaped, without external resources or scripts."""
    return printable(fill(__file__, card=card))
