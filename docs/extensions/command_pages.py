"""The pages of the command line, made from the commands themselves when the site is built."""

import re
from pathlib import Path
from typing import Any

import typer
from sphinx.application import Sphinx

from pbgnet.cli.app import app as commands

FOLDER = Path("reference") / "commands" / "generated"

PANELS = ("Arguments", "Options")


def usage(name: str, command: Any) -> str:
    """Return how a command is called: its arguments, the options it cannot do without, and the rest."""
    words = ["pbgnet", name]
    words += [argument_name(item) for item in command.params if item.param_type_name == "argument"]
    for item in command.params:
        if item.param_type_name == "option" and item.required:
            words.append(f"{item.opts[0]} {metavar_of(item)}".strip())
    return " ".join([*words, "[OPTIONS]"])


def argument_name(item: Any) -> str:
    """Return how an argument is called in a line of usage."""
    name = item.metavar or item.name.upper()
    return name if item.required else f"[{name}]"


def metavar_of(item: Any) -> str:
    """Return what stands for the value of an option; nothing for a flag."""
    return "" if getattr(item, "is_flag", False) else str(item.metavar or item.name.upper())


def names_of(item: Any) -> str:
    """Return an option or argument as code, with what its value is called."""
    if item.param_type_name == "argument":
        return f"`{argument_name(item)}`"
    names = ", ".join([*item.opts, *item.secondary_opts])
    return f"`{f'{names} {metavar_of(item)}'.strip()}`"


def default_of(item: Any) -> str:
    """Return a sentence about the default of an option; nothing where there is none worth telling."""
    value = item.default
    if item.required or getattr(item, "is_flag", False) or value in (None, (), [], "") or callable(value):
        return ""
    given = value if isinstance(value, list | tuple) else [value]
    return f"Default: `{' '.join(str(getattr(each, 'value', each)) for each in given)}`."


def described(item: Any) -> list[str]:
    """Return an option or argument as an entry of a definition list."""
    texts = [plain(item.help or "")]
    if item.param_type_name == "option":
        texts += ["Required." if item.required else "", default_of(item)]
    return [names_of(item), f":   {' '.join(filter(None, texts))}", ""]


def plain(text: str) -> str:
    """Return a text of the command line so that nothing in it is taken for markup."""
    return re.sub(r"([\\`*_<>\[\]{}$|])", r"\\\1", " ".join(text.split()))


def command_page(name: str, command: Any) -> str:
    """Return the page of one command."""
    paragraphs = (command.help or "").split("\n\n")
    lines = [f"# `pbgnet {name}`", "", plain(paragraphs[0]), "", "```text", usage(name, command), "```", ""]
    lines += [line for paragraph in paragraphs[1:] for line in (plain(paragraph), "")]
    shown = [item for item in command.params if not getattr(item, "hidden", False)]
    for panel, kind in zip(PANELS, ("argument", "option"), strict=True):
        items = [item for item in shown if item.param_type_name == kind]
        if items:
            lines += [f"## {panel}", "", *(line for item in items for line in described(item))]
    return "\n".join(lines)


def command_pages() -> dict[str, str]:
    """Return the pages of all commands by name, and that of the exit codes."""
    group: Any = typer.main.get_command(commands)
    return {name: command_page(name, command) for name, command in group.commands.items()}


def write_pages(app: Sphinx) -> None:
    """Write them into the folder of the documents, where the table of contents finds them."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    pages = {f"{name}.md": text for name, text in command_pages().items()}
    for path in folder.iterdir():
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
