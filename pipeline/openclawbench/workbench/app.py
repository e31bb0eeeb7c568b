"""The addresses of the workbench, and what becomes of an error."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import polars as pl
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from openclawbench.base.terminal import one_line
from openclawbench.errors import DataFolderLocked, NotFound, OpenClawBenchError, ReleaseBlocked, UsageError
from openclawbench.workbench.access import Refused
from openclawbench.workbench.pages import login, read, review
from openclawbench.workbench.pages.forms import token_of, wants_json
from openclawbench.workbench.security import Guard, Sessions
from openclawbench.workbench.site import HERE, Site, person_of, render, site_of

Page = Callable[[Request], Response]
Posted = Callable[[Request, FormData], Response]
STATUS: dict[type[Exception], int] = {
    NotFound: 404,
    Refused: 403,
    UsageError: 400,
    DataFolderLocked: 409,
    ReleaseBlocked: 409,
}
TITLES = {404: "Not found", 403: "Not for this role", 400: "That does not work", 409: "Not now", 500: "Not readable"}


class IdConvertor(PathConvertor):
    """MODEL/ID in an address: an id may hold anything, a line break too, as a file name may."""

    regex = r"[\s\S]*"


register_url_convertor("id", IdConvertor())


def pages_at(path: str, page: Page) -> list[Route]:
    """The routes of a page to read: its address, and the same with .json."""

    def shown(request: Request) -> Response:
        request.state.json = False
        return page(request)

    def as_json(request: Request) -> Response:
        request.state.json = True
        return page(request)

    if path.endswith(":id}"):  # its page looks for .json itself: an id may end so
        return [Route(path, shown)]
    return [Route("/index.json" if path == "/" else f"{path}.json", as_json), Route(path, shown)]


def comparing(name: str) -> Any:
    """A page of pages/compare.py, which is loaded with the first request: that takes longer than the rest."""

    def page(*arguments: Any) -> Response:
        from openclawbench.workbench.pages import compare

        answered: Response = getattr(compare, name)(*arguments)
        return answered

    return page


def post(path: str, page: Posted) -> Route:
    """The route of a form."""

    async def posted(request: Request) -> Response:
        request.state.json = False
        form = await request.form()
        return await run_in_threadpool(page, request, form)

    return Route(path, posted, methods=["POST"])


def reload(request: Request, form: FormData) -> Response:
    """Read the folder anew."""
    token_of(form, person_of(request))
    site_of(request).reload()
    return RedirectResponse("/", 303)


ROUTES = [
    *pages_at("/", read.overview),
    *pages_at("/t", read.trajectories),
    *pages_at("/keys", read.keys),
    *pages_at("/t/{path:id}", read.trajectory),
    *pages_at("/raw/{path:id}", read.raw),
    *pages_at("/why/{path:id}", read.why),
    *pages_at("/export/{path:id}", read.export),
    *pages_at("/q", review.queues),
    post("/q/draw", review.draw_sample),
    *pages_at("/q/{sample}", review.queue),
    *pages_at("/q/{sample}/{row}/raw", read.drawn_raw),
    *pages_at("/q/{sample}/{row}/why", read.drawn_why),
    *pages_at("/q/{sample}/{row}", review.review_row),
    post("/q/{sample}/{row}", review.submit),
    post("/disagree/{path:id}", review.disagree),
    *pages_at("/adjudicate/{sample}", review.adjudication),
    *pages_at("/adjudicate/{sample}/{row}", review.adjudicate_row),
    post("/adjudicate/{sample}/{row}", review.settle),
    *pages_at("/judges", comparing("judges")),
    *pages_at("/diff", comparing("difference")),
    *pages_at("/whatif", comparing("what_if_form")),
    post("/whatif", comparing("what_if_start")),
    *pages_at("/whatif/{job}", comparing("what_if_job")),
    Route("/whatif/{job}/file", comparing("what_if_file")),
    post("/whatif/{job}/stop", comparing("what_if_stop")),
    *pages_at("/reports/{name}", comparing("report")),
    post("/role", review.change_role),
    post("/reload", reload),
    Route("/login", login.page),
    post("/login", login.enter),
    post("/logout", login.leave),
    Mount("/static", StaticFiles(directory=HERE / "static")),
]


def error_page(request: Request, error: Exception) -> Response:
    """An error as a page with one sentence."""
    status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 500)
    message = one_line(str(error))
    if wants_json(request) or getattr(request.state, "json", False):
        return JSONResponse({"error": message}, status)
    return render(request, "error.html", status, title=TITLES[status], message=message, advice=None)


def changed_folder_page(request: Request, error: Exception) -> Response:
    """The page for a table that a run replaced while it was read."""
    message = (
        "The data folder has changed since it was opened, and what this page reads is gone. Reload to read it anew."
    )
    if wants_json(request) or getattr(request.state, "json", False):
        return JSONResponse({"error": message}, 409)
    return render(request, "error.html", 409, title=TITLES[409], message=message, advice="reload")


def not_found_page(request: Request, error: Exception) -> Response:
    """The page for an address without a route."""
    if getattr(request.state, "person", None) is None:
        return Response("Not found.\n", 404, media_type="text/plain")
    message = f"{request.url.path}: there is no such page."
    return render(request, "error.html", 404, title=TITLES[404], message=message, advice=None)


Handler = Callable[[Request, Exception], Response | Awaitable[Response]]
HANDLERS: dict[int | type[Exception], Handler] = {
    404: not_found_page,
    OpenClawBenchError: error_page,
    FileNotFoundError: changed_folder_page,
    pl.exceptions.ComputeError: changed_folder_page,
}


def make_app(site: Site, sessions: Sessions, origins: frozenset[str], reviewers: Path | None = None) -> Starlette:
    """The application. `origins`: addresses under which it is reached; `reviewers`: the file of logins of a shared
    server."""
    app = Starlette(routes=ROUTES, exception_handlers=HANDLERS)
    app.state.site, app.state.sessions = site, sessions
    app.state.logins = login.Logins(reviewers) if reviewers else None
    app.add_middleware(Guard, sessions=sessions, origins=origins, logins=reviewers is not None)
    return app
