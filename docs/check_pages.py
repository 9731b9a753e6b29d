"""Looks at the built site: every link leads somewhere, and no page is wider than a phone.

    python docs/check_pages.py build/docs

Links to other sites are not followed. Widths need Chromium, and are skipped with a note without it.
"""

import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

PHONE = 390
"""Width in pixels of a small phone."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

# Loads one page after the other into a frame as wide as a phone, and writes down those that are wider.
LOOKER = """<!doctype html><body><pre id="found"></pre><script>
const pages = PAGES, wide = [];
async function look() {
  for (const page of pages) {
    const frame = document.createElement("iframe");
    frame.style.cssText = "width:WIDTHpx;height:800px;border:0";
    const loaded = new Promise((done) => { frame.onload = done; });
    frame.src = page;
    document.body.append(frame);
    await loaded;
    const width = frame.contentDocument.documentElement.scrollWidth;
    if (width > WIDTH) wide.push([page, width]);
    frame.remove();
  }
  document.getElementById("found").textContent = JSON.stringify({ looked: pages.length, wide });
}
look();
</script></body>"""


class Page(HTMLParser):
    """The links of a page, and the places in it that links can lead to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take down what an element links to and what it is called."""
        given = dict(attrs)
        self.places.update(filter(None, (given.get("id"), given.get("name") if tag == "a" else None)))
        link = given.get("href" if tag in ("a", "link") else "src")
        if link and tag in ("a", "link", "img", "script"):
            self.links.append(link)


def site_pages(site: Path) -> list[Path]:
    """Return the pages of the site: not what the theme brings, listings of source, or copied reports."""
    aside = {"_static", "_modules", "repository"}
    return [path for path in sorted(site.rglob("*.html")) if not aside & set(path.parts)]


def broken_links(site: Path) -> list[str]:
    """Return a line for each link within the site that leads nowhere."""
    pages = {path.resolve(): Page(path) for path in site_pages(site)}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            if not target.exists():
                broken.append(f"{path.relative_to(site.resolve())}: {link}")
            elif place and target in pages and place not in pages[target].places:
                broken.append(f"{path.relative_to(site.resolve())}: {link} (no such place)")
    return broken


def wide_pages(site: Path, browser: str, pages: list[Path]) -> list[str]:
    """Return a line for each page that is wider than a phone."""
    addresses = json.dumps([path.resolve().as_uri() for path in pages])
    with tempfile.TemporaryDirectory() as folder:
        looker = Path(folder) / "looker.html"
        looker.write_text(LOOKER.replace("PAGES", addresses).replace("WIDTH", str(PHONE)), encoding="utf-8")
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-web-security"]
        command += [f"--user-data-dir={folder}/profile", "--allow-file-access-from-files"]
        command += ["--virtual-time-budget=600000", "--dump-dom", looker.as_uri()]
        shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout
    found = re.search(r'<pre id="found">(.+?)</pre>', shown)
    if found is None:
        raise RuntimeError("The browser has not looked at all pages.")
    result = json.loads(html.unescape(found[1]))
    assert result["looked"] == len(pages)
    return [f"{page.rpartition('/docs/')[2]}: {width} pixels wide" for page, width in result["wide"]]


def main() -> int:
    """Check a site, print what is wrong with it, and return how many things are."""
    site = Path(sys.argv[1])
    wrong = broken_links(site)
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    pages = site_pages(site)
    if browser is None:
        print("No Chromium: the width of pages was not checked.")
    else:
        wrong += wide_pages(site, browser, pages)
    print(*wrong, f"{len(pages)} pages, {len(wrong)} problems.", sep="\n")
    return min(len(wrong), 1)


if __name__ == "__main__":
    sys.exit(main())
