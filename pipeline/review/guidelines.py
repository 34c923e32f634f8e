"""The guidelines of annotators as markup that is safe to show."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from markdown_it import MarkdownIt

__all__ = ["guidelines_html"]


@cache
def guidelines_html() -> str:
    """The guidelines. Markup in them is text, and there are no links, pictures or styles: nothing leaves the page."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["link", "image", "autolink"])
    tokens = reader.parse((files("annotation_schema") / "guidelines.md").read_text("utf-8"))
    for token in tokens:
        token.attrs.pop("style", None)  # how a column is set; the content policy allows no inline style
    return str(reader.renderer.render(tokens, reader.options, {}))
