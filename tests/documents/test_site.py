"""What makes the site, without building it: pages of the API and of commands, formulas, links, the check."""

import importlib
import re
from pathlib import Path

import pytest
import typer
from tests.documents.blocks import PROJECT

import pbgnet
from pbgnet.cli.app import app

DOCS = PROJECT / "docs"
NEEDS_SPHINX = "not installed: pip install 'pbgnet[docs]'"


@pytest.fixture
def extension(monkeypatch):
    """Import a module of docs/extensions, or docs itself."""

    def load(name):
        monkeypatch.syspath_prepend(str(DOCS / "extensions"))
        monkeypatch.syspath_prepend(str(DOCS))
        return importlib.import_module(name)

    return load


@pytest.fixture
def sphinx_extension(extension):
    """The same, for those that need Sphinx."""
    pytest.importorskip("sphinx", reason=NEEDS_SPHINX)
    return extension


def documented():
    """Return the names on the pages of the API."""
    lists = [path.read_text(encoding="utf-8") for path in (DOCS / "reference" / "api").glob("*.rst")]
    return [name for text in lists for name in re.findall(r"^   (pbgnet\.[\w.]+)$", text, re.MULTILINE)]


def exists(find, name):
    try:
        find(name)
    except AttributeError:
        return False
    return True


def test_api_pages_have_every_public_name_once(extension):
    names = documented()
    assert {f"pbgnet.{name}" for name in pbgnet.__all__} - set(names) == {"pbgnet.__version__"}
    assert sorted(names) == sorted(set(names))
    find = extension("api_members").find
    assert [name for name in names if not exists(find, name)] == []


def test_api_pages_are_in_the_table_of_contents():
    contents = (DOCS / "reference" / "api" / "index.md").read_text(encoding="utf-8").splitlines()
    for path in (DOCS / "reference" / "api").glob("*.rst"):
        assert path.stem in contents


def test_the_page_of_a_class_lists_what_pbgnet_defines(extension):
    members = extension("api_members").members_of("pbgnet.PBGNetClassifier")
    assert {"fit", "predict", "verify", "save"} <= set(members["methods"])
    everything = members["methods"] + members["properties"]
    assert not {"set_fit_request", "set_score_request", "get_params"} & set(everything)
    assert not [name for name in everything if name.startswith("_")]
    assert "ok" in extension("api_members").members_of("pbgnet.certificates.VerificationReport")["properties"]


def test_command_pages_have_every_command_and_option(sphinx_extension):
    pages = sphinx_extension("command_pages").command_pages()
    group = typer.main.get_command(app)
    assert list(pages) == list(group.commands)
    for name, command in group.commands.items():
        text = pages[name]
        assert text.startswith(f"# `pbgnet {name}`\n")
        for item in command.params:
            if not getattr(item, "hidden", False):
                shown = (
                    item.opts[0] if item.param_type_name == "option" else item.metavar or item.name.upper()
                )
                assert re.search(rf"^`.*{re.escape(shown)}.*`\n:   \S", text, re.MULTILINE), (name, shown)


def test_texts_of_commands_are_not_taken_for_markup(sphinx_extension):
    plain = sphinx_extension("command_pages").plain
    assert plain("a *b* `c`\n  [d]_e $f$") == r"a \*b\* \`c\` \[d\]\_e \$f\$"


@pytest.mark.parametrize(
    ("formula", "parts"),
    [(r"\sqrt{n}", ["<msqrt>", "<mi>n</mi>"]), (r"\frac{K}{2}", ["<mfrac>"]), (r"\delta_j", ["δ", "<msub>"])],
)
def test_formulas_become_mathml(sphinx_extension, formula, parts):
    mathml = sphinx_extension("mathml")
    from docutils import nodes

    inline = mathml.to_mathml(nodes.math("", formula))
    block = mathml.to_mathml(nodes.math_block("", formula))
    assert 'display="block"' in block
    assert 'display="block"' not in inline
    for text in (inline, block):
        assert text.startswith("<math")
        assert [part for part in parts if part not in text] == []


def test_formulas_have_space_after_a_function_and_none_inside_bars(sphinx_extension):
    mathml = sphinx_extension("mathml")
    from docutils import nodes

    thin = '<mspace width="0.1667em">'
    assert thin in mathml.to_mathml(nodes.math("", r"\ln x"))
    for applied in (r"\ln(x)", r"\operatorname{erf}\left(\frac{a}{b}\right)"):
        assert thin not in mathml.to_mathml(nodes.math("", applied))
    for bars in (r"a \lVert x \rVert b", r"a \left\lVert x \right\rVert b"):
        text = re.sub(r"\s", "", mathml.to_mathml(nodes.math("", bars)))
        assert "<mrow><mo>‖</mo><mi>x</mi><mo>‖</mo></mrow>" in text


def test_a_formula_that_cannot_be_translated_is_a_warning(sphinx_extension, monkeypatch):
    mathml = sphinx_extension("mathml")
    from docutils import nodes

    warnings = []
    monkeypatch.setattr(mathml.logger, "warning", lambda text, *given, **more: warnings.append(given[0]))
    assert mathml.to_mathml(nodes.math("", r"a < \nonsense")) == r"<code>a &lt; \nonsense</code>"
    assert warnings == [r"a < \nonsense"]


@pytest.mark.parametrize("page", sorted((DOCS / "theory").glob("*.md")), ids=lambda page: page.stem)
def test_every_formula_of_the_theory_can_be_translated(sphinx_extension, monkeypatch, page):
    mathml = sphinx_extension("mathml")
    from docutils import nodes

    warnings = []
    monkeypatch.setattr(mathml.logger, "warning", lambda text, *given, **more: warnings.append(given))
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for formula in re.findall(r"\$\$(.*?)\$\$", text, re.DOTALL):
        mathml.to_mathml(nodes.math_block("", formula.strip()))
    inline = re.sub(r"\$\$.*?\$\$", "", text, flags=re.DOTALL).split("$")
    assert len(inline) % 2 == 1  # every formula is closed
    for formula in inline[1::2]:
        assert "|" not in formula, formula  # it would end the cell of a table: \\lvert, \\Vert, \\mid
        mathml.to_mathml(nodes.math("", formula))
    assert warnings == []


def test_pages_named_in_docstrings_become_links(sphinx_extension):
    lines = ["See docs/how-to/images.md, or ``docs/start/install.md``.", "docs/generated.py"]
    sphinx_extension("backticks").link_pages(None, "function", "f", None, None, lines)
    assert lines == ["See :doc:`/how-to/images`, or :doc:`/start/install`.", "docs/generated.py"]


@pytest.mark.parametrize(
    ("link", "source", "page", "expected"),
    [
        ("../../results/README.md#a", "docs/start/reading.md", "start/reading", "../results/paper.md#a"),
        (
            "../../examples/quickstart.py",
            "docs/start/reading.md",
            "start/reading",
            "../gallery/quickstart.rst",
        ),
        ("install.md", "docs/start/reading.md", "start/reading", "install.md"),
        ("docs/start/install.md", "README.md", "index", "start/install.md"),
        ("LICENSE", "README.md", "index", "../LICENSE"),
        ("https://example.org/a.md", "README.md", "index", "https://example.org/a.md"),
        ("#here", "README.md", "index", "#here"),
    ],
)
def test_links_into_the_repository_lead_to_pages(sphinx_extension, link, source, page, expected):
    assert sphinx_extension("repository_pages").on_site(link, source, page) == expected


def test_texts_of_the_repository_become_pages(sphinx_extension):
    pages = sphinx_extension("repository_pages")
    for source, page in pages.PAGES.items():
        assert (PROJECT / source).exists()
        assert (DOCS / f"{page}.md").exists()
    assert pages.levelled("## A\n#### B\n```\n# not\n```\n## C\n") == "# A\n## B\n```\n# not\n```\n# C\n"
    text = "[a](docs/index.md)\n```\n[b](docs/index.md)\n```\n"
    assert pages.with_links(text, "README.md", "start/index") == (
        "[a](../index.md)\n```\n[b](docs/index.md)\n```\n"
    )


def made_site(folder: Path) -> Path:
    (folder / "_static").mkdir(parents=True)
    (folder / "_static" / "page.html").write_text('<a href="nowhere.html">theme</a>')
    (folder / "a b.html").write_text('<h1 id="top">A</h1><a name="old"></a><img src="missing.svg">')
    (folder / "index.html").write_text(
        '<a href="a%20b.html#top">1</a><a href="a%20b.html#old">2</a><a href="a%20b.html#none">3</a>'
        '<a href="gone.html">4</a><a href="https://example.org">5</a><a href="#own">6</a><p id="own">'
    )
    return folder


def test_the_check_finds_broken_links(extension, tmp_path):
    check = extension("check_pages")
    site = made_site(tmp_path / "docs")
    assert [path.name for path in check.site_pages(site)] == ["a b.html", "index.html"]
    assert check.broken_links(site) == [
        "a b.html: missing.svg",
        "index.html: a%20b.html#none (no such place)",
        "index.html: gone.html",
    ]


def test_the_check_fails_and_says_what_is_wrong(extension, tmp_path, monkeypatch, capsys):
    check = extension("check_pages")
    site = made_site(tmp_path / "docs")
    monkeypatch.setattr(check.sys, "argv", ["check_pages.py", str(site)])
    monkeypatch.setattr(check.shutil, "which", lambda name: None)
    assert check.main() == 1
    assert capsys.readouterr().out.endswith("2 pages, 3 problems.\n")


def test_the_check_finds_wide_pages(extension, tmp_path, browser):
    check = extension("check_pages")
    site = tmp_path / "docs"
    site.mkdir()
    (site / "narrow.html").write_text("<!doctype html><p>Short.</p>")
    (site / "wide.html").write_text('<!doctype html><div style="width:500px">Long</div>')
    (line,) = check.wide_pages(site, browser.program, check.site_pages(site))
    assert re.fullmatch(r"wide.html: 5\d\d pixels wide", line)
