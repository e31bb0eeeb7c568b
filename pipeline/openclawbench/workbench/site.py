"""What every page needs: the reader, the desk, the templates, the person of a request, and responses."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, cast
from urllib.parse import quote, urlencode

import polars as pl
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from openclawbench.base.terminal import safe
from openclawbench.errors import UsageError
from openclawbench.release.release_folder import CHECKSUMS
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.version import __version__
from openclawbench.workbench.access import Person, Role, SeenLabels
from openclawbench.workbench.desk import Desk
from openclawbench.workbench.jobs import Jobs
from openclawbench.workbench.readers.data_folder import DataReader
from openclawbench.workbench.readers.index import Query
from openclawbench.workbench.readers.reader import Reader
from openclawbench.workbench.view.html_text import mark_code, mark_text, middle, visible

HERE = Path(__file__).parent
OTHERS = 2  # folders that are compared with, kept open
Row = dict[str, Any]


def open_reader(path: Path) -> Reader:
    """A reader of a data folder or a release. UsageError if a folder is neither."""
    if (path / CHECKSUMS).is_file():
        from openclawbench.workbench.readers.release import ReleaseReader

        return ReleaseReader(path)
    if (path / "work").is_dir():
        return DataReader(path)
    raise UsageError(
        f"{path}: is neither a data folder nor a release. Make one with `openclawbench demo --data {path}`, or name "
        "another folder."
    )


@dataclass
class Site:
    """One workbench."""

    reader: Reader
    local: bool = True  # reached from this machine alone: folders named in a form may be read
    desk: Desk | None = None
    others: dict[Path, Reader] = field(default_factory=dict)
    jobs: Jobs = field(default_factory=Jobs)
    lock: Lock = field(default_factory=Lock)
    seen: dict[str, SeenLabels] = field(default_factory=dict)  # by the person's name

    def __post_init__(self) -> None:
        if isinstance(self.reader, DataReader):
            self.desk = Desk(self.reader.folder)

    @property
    def folder(self) -> DataFolder:
        """The data folder. UsageError where a release is open."""
        if not isinstance(self.reader, DataReader):
            raise UsageError(
                "A release is open: verdicts, reports and what-if need the data folder that it is made from."
            )
        return self.reader.folder

    @property
    def reviews(self) -> Desk:
        """The desk. UsageError where a release is open."""
        if self.desk is None:
            raise UsageError("A release is open: verdicts are recorded in the data folder that it is made from.")
        return self.desk

    def person(self, name: str, role: Role) -> Person:
        """A person of these pages. What labels that name has seen in the data folder stands in review/labels_seen/, so
        that neither another login nor a new start makes a row blind again; a release keeps nothing."""
        with self.lock:
            if name not in self.seen:
                file = f"labels_seen/{sha256(name.encode()).hexdigest()[:16]}.jsonl"
                is_data = isinstance(self.reader, DataReader)
                self.seen[name] = SeenLabels(self.folder.review_file(file) if is_data else None)
            return Person(name, role, self.seen[name])

    def reload(self) -> None:
        """Read the folder anew."""
        with self.lock:
            self.reader = open_reader(self.reader.path)

    def other(self, path: Path) -> Reader:
        """A reader of another folder, to compare with; the last ones are kept. UsageError on a shared server."""
        if not self.local:
            raise UsageError("On a shared server no folder of the machine can be named. Compare on the command line.")
        reader = self.others.get(path)
        if reader is None or reader.has_changed():
            while len(self.others) >= OTHERS:
                del self.others[next(iter(self.others))]
            reader = self.others[path] = open_reader(path)
        return reader

    def index(self, query: Query | None = None) -> pl.DataFrame:
        """The index with the human verdicts of this moment; with column HIT if the query searches in steps."""
        index = self.reader.index
        if self.desk is not None and (verdicts := self.desk.verdicts()):
            rows = [(*key, status) for key, status in verdicts.items()]
            human = pl.DataFrame(rows, dict.fromkeys((*TRAJECTORY_KEY, "human"), pl.String), orient="row")
            index = index.drop("human").join(human, on=TRAJECTORY_KEY, how="left", maintain_order="left")
            index = index.select(self.reader.index.columns)
        if query is not None and query.in_steps:
            hits = self.reader.containing(query.text)
            index = index.join(hits, on=TRAJECTORY_KEY, how="left", maintain_order="left")
        return index


@dataclass(frozen=True)
class Address:
    """A page with the query of its address: links to it with another query."""

    base: str
    pairs: tuple[tuple[str, str], ...]

    def plus(self, name: str, value: object) -> Markup:
        """With one more value."""
        return link(self.base, (*self.pairs, (name, str(value))))

    def less(self, name: str, value: str) -> Markup:
        """Without a value."""
        return link(self.base, [pair for pair in self.pairs if pair != (name, value)])

    def put(self, name: str, value: object = None) -> Markup:
        """With a value in place of those of its name; None: without them."""
        others = [pair for pair in self.pairs if pair[0] != name]
        return link(self.base, others if value is None else [*others, (name, str(value))])

    @property
    def query(self) -> str:
        """The query as text."""
        return urlencode(self.pairs)


def link(base: str, pairs: Sequence[tuple[str, str]]) -> Markup:
    """An address with a query, escaped."""
    return escape(f"{base}?{urlencode(pairs)}" if pairs else base)


def href(base: str, *parts: str, **query: Any) -> Markup:
    """An address: parts of a path, each escaped, and a query; names and values are escaped too."""
    path = "/".join([base, *(quote(part, safe="") for part in parts)])
    pairs = [(name, value) for name, value in query.items() if value is not None]
    return Markup(escape(path + (f"?{urlencode(pairs, doseq=True)}" if pairs else "")))


def attribute(value: object) -> Markup:
    """A text inside an attribute: escaped, control characters written out."""
    return Markup(escape(safe(str(value))))


def words(value: object) -> str:
    """A name of ours, with spaces."""
    return str(value).replace("_", " ")


def number(value: float | int | None, digits: int = 0) -> str:
    """A number with thin separators; a dash for None."""
    return "–" if value is None else f"{value:,.{digits}f}".replace(",", "\u202f")


def percent(value: float | None) -> str:
    """A share in percent."""
    return "–" if value is None else f"{100 * value:.1f} %"


def plain_value(value: object) -> str:
    """A value of a label in words."""
    if isinstance(value, list):
        return "; ".join(map(plain_value, value)) or "none"
    if isinstance(value, Mapping):
        return " ".join(plain_value(entry) for entry in value.values())
    return "yes" if value is True else "no" if value is False else "none" if value is None else str(value)


def finalize(value: object) -> object:
    """What an expression of a template writes: text is untrusted unless it is Markup; None is a dash."""
    if isinstance(value, Markup):
        return value
    if value is None:
        return "–"
    return visible(value) if isinstance(value, str) else value


def environment() -> Environment:
    """The templates; a name that does not exist is an error."""
    templates = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "marked": mark_text,
        "middle": middle,
        "attr": attribute,
        "coded": mark_code,
        "words": words,
        "plain_value": plain_value,
        "number": number,
        "percent": percent,
    }
    templates.globals |= {"href": href, "version": __version__}
    return templates


TEMPLATES = environment()


def person_of(request: Request) -> Person:
    """Who sent a request; the guard lets nobody else through."""
    return cast(Person, request.state.person)


def site_of(request: Request) -> Site:
    """The workbench of a request."""
    return cast(Site, request.app.state.site)


def render(request: Request, template: str, status: int = 200, **context: Any) -> Response:
    """A page from its template."""
    site, person = site_of(request), person_of(request)
    common = {
        "person": person,
        "site": site,
        "path": request.url.path,
        "changed": site.reader.has_changed(),
        "notices": site.reader.notices() if person and person.role == "auditor" else [],
    }
    return HTMLResponse(TEMPLATES.get_template(template).render(common | context), status)


def answer(request: Request, template: str, data: Mapping[str, Any], **context: Any) -> Response:
    """The page, or with `.json` at the end of its path its rows."""
    if request.state.json:
        return JSONResponse(json.loads(json.dumps(data, default=as_json_value, ensure_ascii=False)))
    return render(request, template, **data, **context)


def as_json_value(value: object) -> Any:
    """A value as JSON has it."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, pl.DataFrame):
        return value.to_dicts()
    return str(value)


def attachment_header(name: str) -> dict[str, str]:
    """The header that makes an answer a file."""
    return {"Content-Disposition": f'attachment; filename="{name}"'}
