"""Hooks of the site: pages that are generated, pages from outside of docs/, and links to files that are not pages."""

import importlib.util
import posixpath
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent
OUTSIDE = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "benchmarks.md": "bench/README.md",
    "examples.md": "examples/README.md",
}
SOURCES = {**OUTSIDE, "journey.md": "docs/journey.py"}
LINK = re.compile(r"\[([^\[\]]+)\]\(([^()\s#]+)(#[^()\s]*)?\)")


def load(name: str) -> ModuleType:
    """Imports a script of this folder."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def reference() -> dict[str, str]:
    """Returns the pages of the API reference by their paths."""
    return load("reference").pages()


def journey() -> str:
    """Returns what journey.py prints, as a page."""
    chapters = ["# One step, stage by stage\n\nThe output of `docs/journey.py`, which this build has run.\n"]
    module: Any = load("journey")

    def chapter(title: str, file: str, text: str, *shown: str) -> None:
        language = "python" if "def segment_" in shown[0] else "text"
        body = "\n".join(shown).rstrip()
        chapters.append(f"## {title}\n\n`{file}`\n\n{' '.join(text.split())}\n\n```{language}\n{body}\n```\n")

    module.chapter = chapter
    module.main()
    return "\n".join(chapters)


def on_config(config: Any) -> Any:
    """Adds the reference to the navigation, `tf.contrib` as a section of its own."""
    titles = {Path(uri).stem: uri for uri in reference() if not uri.endswith("index.md")}
    contrib = [{title: uri} for title, uri in titles.items() if title.startswith("tf.contrib")]
    rest = [{title: uri} for title, uri in titles.items() if not title.startswith("tf.contrib")]
    config.nav.append({"API reference": ["reference/index.md", *rest, {"tf.contrib": contrib}]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds the generated pages, and the pages and pictures from outside of docs/."""
    for uri, text in {**reference(), "journey.md": journey()}.items():
        files.append(File.generated(config, uri, content=text))
    pictures = {str(path.relative_to(ROOT)): path for path in (ROOT / "bench/results").glob("*.png")}
    for uri, path in {**{uri: ROOT / path for uri, path in OUTSIDE.items()}, **pictures}.items():
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Points links between files of the repository to pages; a file that is no page becomes its path."""
    here = page.file.src_uri
    folder = posixpath.dirname(OUTSIDE.get(here, f"docs/{here}"))

    def rewrite(link: re.Match[str]) -> str:
        text, target, anchor = link[1], link[2], link[3] or ""
        path = posixpath.normpath(posixpath.join(folder, target))
        if "://" in target or here in reference() or not (ROOT / path).exists():
            return link[0]
        if (ROOT / path / "README.md").exists():
            path += "/README.md"
        uri = next((uri for uri, source in SOURCES.items() if source == path), path.removeprefix("docs/"))
        file = files.get_file_from_path(uri)
        if file is not None and file.inclusion.is_included():
            return f"[{text}]({posixpath.relpath(uri, posixpath.dirname(here) or '.')}{anchor})"
        return f"`{path}`" if path.endswith(text.strip("`")) else f"{text} (`{path}`)"

    return LINK.sub(rewrite, markdown)
