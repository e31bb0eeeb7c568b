"""MkDocs hook: adds the generated pages, and refuses a page that loads anything from elsewhere (mkdocs.yml)."""

import re
from typing import Any

from mkdocs.structure.files import File, Files

from tools.site.pages import PAGES

LOADED = re.compile(r'<(?:script|link|img|iframe)\b[^>]+(?:src|href)=["\']?((?:https?:)?//[^"\'\s>]+)')


def on_files(files: Files, config: Any) -> Files:
    """Add each generated page; a file of the same name in docs/ is an error."""
    for name, page in PAGES.items():
        if files.get_file_from_path(name) is not None:
            raise ValueError(f"docs/{name} exists, and a page of that name is generated: remove the file")
        files.append(File.generated(config, name, content=page()))  # type: ignore[no-untyped-call]
    return files


def on_post_page(output: str, page: Any, config: Any) -> str:
    """The page as it is; ValueError where it loads a script, style or image from another host."""
    if elsewhere := LOADED.findall(output):
        raise ValueError(f"{page.file.src_path} loads {elsewhere[0]}: the site must work offline")
    return output
