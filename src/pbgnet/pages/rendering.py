"""Templates filled with escaped values; names with subscripts."""

import functools
import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from pbgnet.pages.palette import DARK, LIGHT

SHARED = Path(__file__).parent  # templates that all others may extend or import
SUBSCRIPT = re.compile(r"_\{([^{}]*)\}")


def render_page(module: str, **values: object) -> str:
    """Return the page of a module: the template beside it, which extends ``layout.html``, filled with values.

    Parameters
    ----------
    module : str
        The ``__file__`` of the module: ``page.py`` fills ``page.html``.
    **values
        What the template shows. The layout needs `title`, `heading`, `lead` and `version`.
    """
    return printable(fill(module, **values))


def fill(module: str, **values: object) -> Markup:
    """Return a piece of a page: the template beside a module, filled with escaped values."""
    path = Path(module).with_suffix(".html")
    return Markup(_environment(path.parent).get_template(path.name).render(values))


def printable(page: Markup) -> str:
    """Return HTML without control characters other than line ends; HTML may not contain them at all."""
    odd = {ord(c): "\N{REPLACEMENT CHARACTER}" for c in set(page) if not c.isprintable() and c not in "\n\t"}
    return str(page).translate(odd)


def plain_text(text: str) -> str:
    """Return a text as it is read aloud, with subscripts in line.

    Examples
    --------
    >>> from pbgnet.pages import plain_text
    >>> plain_text("PBGNet_{pre}")
    'PBGNet_pre'
    """
    return SUBSCRIPT.sub(r"_\1", text)


def rich_text(text: str) -> Markup:
    """Return a text as HTML, with its subscripts."""
    return Markup(SUBSCRIPT.sub(r"<sub>\1</sub>", str(escape(text))))


@functools.cache
def _environment(folder: Path) -> Environment:
    environment = Environment(
        loader=FileSystemLoader([folder, SHARED]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"plain": plain_text, "rich": rich_text}
    environment.globals["schemes"] = {"light": LIGHT, "dark": DARK}
    return environment
