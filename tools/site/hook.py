"""MkDocs hook: adds the generated pages to the site (mkdocs.yml names this file)."""

from typing import Any

from mkdocs.structure.files import File, Files

from tools.site.pages import PAGES


def on_files(files: Files, config: Any) -> Files:
    """Add each generated page; a file of the same name in docs/ is an error."""
    for name, page in PAGES.items():
        if files.get_file_from_path(name) is not None:
            raise ValueError(f"docs/{name} exists, and a page of that name is generated: remove the file")
        files.append(File.generated(config, name, content=page()))  # type: ignore[no-untyped-call]
    return files
