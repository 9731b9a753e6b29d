"""Draws the diagrams of the documentation as SVG files beside this one.

    python docs/images/draw.py

Every number in them is computed here, by the functions that certificates are made with.
"""

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

import numpy as np

from pbgnet.bounds import clopper_pearson_bound
from pbgnet.pages.palette import LIGHT

FOLDER = Path(__file__).parent
INK, SOFT, RULE, BAND = LIGHT["ink"], LIGHT["soft"], LIGHT["rule"], LIGHT["band"]
BLUE, PALE, ORANGE, RED = LIGHT["certified"], LIGHT["measured"], LIGHT["held-out"], LIGHT["wrong"]


class Drawing:
    """An SVG picture on a white card, built from boxes, lines and texts."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self.parts: list[str] = []

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str = BAND,
        stroke: str = RULE,
        radius: float = 6,
    ) -> None:
        """Add a rectangle with round corners."""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius:g}"'
            f' fill="{fill}" stroke="{stroke}"/>'
        )

    def line(
        self,
        x1: float,
        y1: float,
        x2: float,
        y2: float,
        colour: str = SOFT,
        width: float = 1.5,
        dashed: bool = False,
        arrow: bool = False,
    ) -> None:
        """Add a straight line, with an arrow head at its end if wanted."""
        extra = (' stroke-dasharray="5 4"' if dashed else "") + (' marker-end="url(#head)"' if arrow else "")
        self.parts.append(
            f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{colour}"'
            f' stroke-width="{width:g}"{extra}/>'
        )

    def path(self, points: Sequence[tuple[float, float]], colour: str) -> None:
        """Add a line through points."""
        steps = " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        self.parts.append(f'<path d="M{steps}" fill="none" stroke="{colour}" stroke-width="2.5"/>')

    def dot(self, x: float, y: float, colour: str, radius: float = 3.5) -> None:
        """Add a filled circle."""
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{colour}"/>')

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float = 14,
        colour: str = INK,
        anchor: str = "start",
        bold: bool = False,
    ) -> None:
        """Add one line of text."""
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" fill="{colour}" text-anchor="{anchor}"{weight}>'
            f"{escape(text)}</text>"
        )

    def __str__(self) -> str:
        head = (
            '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
            f' orient="auto"><path d="M0 0L8 4L0 8z" fill="{SOFT}"/></marker>'
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}"'
            f' width="{self.width}" height="{self.height}" role="img"'
            f' font-family="system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif">\n'
            f"<title>{escape(self.title)}</title>\n<defs>{head}</defs>\n"
            f'<rect width="{self.width}" height="{self.height}" rx="10" fill="#ffffff"/>\n'
            + "\n".join(self.parts)
            + "\n</svg>\n"
        )


def percent(rate: float) -> str:
    """Return a rate in percent, rounded up as certificates do."""
    return f"{np.ceil(rate * 1000 - 1e-9) / 10:.1f} %"


NOTES = (
    ("The bound", ("11 of the 285 were wrong,", "which is 3.9 %. The rest", "is the price of certainty.")),
    (
        "The confidence",
        ("Repeat it with fresh rows:", "the bound is too small in", "at most 5 of 100 cases."),
    ),
    ("The certified rows", ("The model never learned", "from them. More of them", "make the bound smaller.")),
    ("The simplest rival", ("One answer for every row.", "A useful model is well", "below this rate.")),
)


def certificate() -> Drawing:
    """The headline of a certificate, with what each part of it means."""
    picture = Drawing(760, 322, "The headline of a certificate, part by part")
    picture.box(20, 20, 720, 128)
    bound = float(clopper_pearson_bound(11, 285, 0.05))
    assert round(11 / 285, 3) == 0.039
    for x, y, number in ((52, 51, 1), (52, 92, 2), (300, 92, 3), (52, 124, 4)):
        badge(picture, x, y, number)
    picture.text(74, 60, f"Wrong at most {percent(bound)} of the time", 25, BLUE, bold=True)
    picture.text(74, 97, "95 % confidence", 15)
    picture.text(322, 97, "285 rows it has not seen", 15)
    picture.text(74, 129, "always answering 'benign' is wrong on 37.2 % of them", 15)
    for place, (title, lines) in enumerate(NOTES):
        left = 20 + 183 * place
        picture.box(left, 172, 171, 126, "#ffffff")
        badge(picture, left + 22, 196, place + 1)
        picture.text(left + 38, 201, title, 12, BLUE, bold=True)
        for line, words in enumerate(lines):
            picture.text(left + 12, 230 + 22 * line, words, 11.5)
    return picture


def badge(picture: Drawing, x: float, y: float, number: int) -> None:
    """Draw a number in a disc."""
    picture.dot(x, y, BLUE, 11)
    picture.text(x, y + 4.5, str(number), 13, "#ffffff", "middle", True)


def split() -> Drawing:
    """From a table to prior rows and certified rows, and to the bound."""
    picture = Drawing(760, 300, "A table is divided at random into prior rows and certified rows")
    rng = np.random.default_rng(3)
    prior = rng.permutation(12) < 6
    picture.text(70, 40, "your table", 14, SOFT, "middle")
    for row in range(12):
        picture.box(20, 54 + 18 * row, 100, 14, PALE if prior[row] else ORANGE, "none", 2)
    picture.line(128, 150, 196, 98, arrow=True)
    picture.line(128, 170, 196, 222, arrow=True)
    picture.text(150, 164, "drawn at random", 12, SOFT)
    picture.box(204, 62, 190, 72)
    picture.box(216, 74, 20, 14, PALE, "none", 2)
    picture.text(244, 87, "prior rows", 15, bold=True)
    picture.text(216, 116, "preprocessing and model", 13, SOFT)
    picture.box(204, 186, 190, 72)
    picture.box(216, 198, 20, 14, ORANGE, "none", 2)
    picture.text(244, 211, "certified rows", 15, bold=True)
    picture.text(216, 240, "never used for training", 13, SOFT)
    picture.line(396, 98, 452, 98, arrow=True)
    picture.box(460, 72, 110, 52, "#ffffff", BLUE)
    picture.text(515, 103, "classifier", 15, BLUE, "middle", True)
    picture.line(396, 222, 452, 222, arrow=True)
    picture.line(515, 126, 515, 188, arrow=True)
    picture.box(460, 196, 110, 52, "#ffffff", BLUE)
    picture.text(515, 217, "count", 15, BLUE, "middle", True)
    picture.text(515, 236, "its errors", 13, SOFT, "middle")
    picture.line(572, 222, 620, 222, arrow=True)
    picture.box(628, 186, 112, 72, BLUE, BLUE)
    picture.text(684, 217, "bound", 17, "#ffffff", "middle", True)
    picture.text(684, 238, "95 % confidence", 12, "#ffffff", "middle")
    return picture


def chart(
    picture: Drawing, x: Callable[[float], float], y: Callable[[float], float], levels: Sequence[float]
) -> None:
    """Draw the horizontal lines of a chart, with their rates."""
    for level in levels:
        picture.line(64, y(level), picture.width - 24, y(level), RULE, 1)
        picture.text(56, y(level) + 4, f"{level:.0%}", 12, SOFT, "end")
    picture.line(64, y(0), picture.width - 24, y(0), SOFT, 1)


def confidence() -> Drawing:
    """A hundred certificates of one classifier: which bounds are too small."""
    picture = Drawing(
        760, 346, "Bounds of one classifier from a hundred different draws of 300 certified rows"
    )
    truth, n = 0.05, 300
    errors = np.random.default_rng(20).binomial(n, truth, size=100)
    bounds = np.asarray(clopper_pearson_bound(errors, np.full(100, n), 0.05))

    def x(place: float) -> float:
        return 74 + place * 6.6

    def y(rate: float) -> float:
        return 290 - rate * 1750

    chart(picture, x, y, (0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.12))
    picture.line(64, y(truth), 736, y(truth), INK, 2, dashed=True)
    for place, (count, bound) in enumerate(zip(errors, bounds, strict=True)):
        wrong = bound < truth
        picture.line(x(place), y(count / n), x(place), y(bound), RED if wrong else RULE, 1.5)
        picture.dot(x(place), y(count / n), PALE, 2)
        picture.dot(x(place), y(bound), RED if wrong else BLUE, 3)
    failed = int((bounds < truth).sum())
    picture.text(64, 30, "One classifier, 100 draws of 300 certified rows", 16, bold=True)
    picture.text(
        64, 52, f"{100 - failed} bounds are above the true error rate of 5 %, {failed} below it", 14, SOFT
    )
    for left, colour, words in (
        (64, BLUE, "bound"),
        (140, PALE, "errors counted"),
        (268, RED, "bound that is too small"),
    ):
        picture.dot(left + 5, 322, colour, 4)
        picture.text(left + 16, 327, words, 13)
    picture.line(448, 322, 476, 322, INK, 2, dashed=True)
    picture.text(484, 327, "true error rate, which nobody knows", 13)
    return picture  # fmt: skip


def rows() -> Drawing:
    """How the bound falls as there are more certified rows."""
    picture = Drawing(760, 320, "The bound against the number of certified rows, at 2 % and 5 % of errors")
    sizes = np.unique(np.geomspace(1, 1_000, 200).astype(int))

    def x(n: float) -> float:
        return float(64 + (np.log(n) - np.log(50)) / (np.log(20_000) - np.log(50)) * 600)

    def y(rate: float) -> float:
        return 270 - rate * 1350

    picture.text(64, 34, "More certified rows, smaller bound", 16, bold=True)
    chart(picture, x, y, (0, 0.05, 0.1, 0.15))
    for rate, colour in ((0.05, ORANGE), (0.02, BLUE)):
        whole = sizes * round(1 / rate)
        whole = whole[(whole >= 50) & (whole <= 20_000)]
        bounds = clopper_pearson_bound(np.round(np.multiply(whole, rate)), whole, 0.05)
        picture.path([(x(n), y(b)) for n, b in zip(whole, np.asarray(bounds), strict=True)], colour)
        picture.line(64, y(rate), 664, y(rate), colour, 1.5, dashed=True)
        picture.text(672, y(rate) + 5, f"{rate:.0%} wrong", 13, colour)
    for n in (50, 100, 300, 1_000, 3_000, 10_000):
        picture.text(x(n), 290, f"{n:,}", 12, SOFT, "middle")
    picture.text(364, 311, "certified rows", 13, SOFT, "middle")
    return picture


ROOMS = (
    (("cli", "the pbgnet command"),),
    (("report", "page of a model"), ("planning", "rows a claim needs"), ("declaration", "model cards"),
     ("monitoring", "does it still hold?"), ("experiments", "the paper's studies")),
    (("estimators", "scikit-learn classes"), ("pages", "layout and charts")),
    (("training", "learning"), ("export", "ONNX files")),
    (("certificates", "what is proved, issued and verified"),),
    (("networks", "layers, aggregated and sign networks"),),
    (("aggregation", "the aggregated layer: one file per method"),),
    (("kernels", "the same operations, fast"),),
    (("bounds", "float64 mathematics, rounded outward"),),
)  # fmt: skip


def house() -> Drawing:
    """The packages of pbgnet, each above those it may import."""
    picture = Drawing(760, 640, "The packages of pbgnet; each may import only those below it")
    for floor, rooms in enumerate(ROOMS):
        y, gap = 52 + 54 * floor, 10
        width = (640 - gap * (len(rooms) - 1)) / len(rooms)
        for place, (name, words) in enumerate(rooms):
            x = 24 + place * (width + gap)
            bold = name in ("certificates", "bounds")
            picture.box(x, y, width, 46, "#e8effa" if bold else BAND, BLUE if bold else RULE)
            middle = x + width / 2
            picture.text(middle, y + 20, name, 14, BLUE if bold else INK, "middle", True)
            picture.text(middle, y + 37, words, 11.5, SOFT, "middle")
    picture.text(24, 34, "import pbgnet", 14, bold=True)
    picture.text(148, 34, "the front door: every name a user needs", 13, SOFT)
    picture.line(700, 60, 700, 530, arrow=True)
    picture.text(712, 262, "may", 12, SOFT)
    picture.text(712, 278, "import", 12, SOFT)
    picture.box(24, 552, 640, 30, "#ffffff")
    picture.text(
        344,
        571,
        "preprocessing, sources, datasets: tables to numbers, files, data by name",
        12.5,
        INK,
        "middle",
    )
    picture.box(24, 590, 640, 30, "#ffffff")
    picture.text(
        344, 609, "foundations: exceptions, validation, records, files, choices, workers", 12.5, INK, "middle"
    )
    return picture  # fmt: skip


DRAWINGS = {
    "certificate": certificate, "split": split, "confidence": confidence, "rows": rows, "house": house,
}  # fmt: skip


if __name__ == "__main__":
    for name, draw in DRAWINGS.items():
        (FOLDER / f"{name}.svg").write_text(str(draw()), encoding="utf-8", newline="\n")
