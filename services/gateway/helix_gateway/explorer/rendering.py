"""Responses with a page: templates that escape everything, and headers that let no other code run."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode
from zoneinfo import ZoneInfo

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse

from helix_gateway.explorer import shown, signing_in
from helix_gateway.explorer.markdown_tables import text_of, with_tables
from helix_gateway.explorer.signing_in import FORM_COOKIE, ROOT, Cookies
from helix_gateway.failures import failure_of, headers_of_failure
from helix_shared.rpc.access.credential import ADMIN
from helix_shared.text.counted import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from helix_gateway.callers import Caller

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    # with no-referrer a browser sends `Origin: null` with a form of the page itself
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
FILES_HEADER: Final = "Helix-Explorer-Files"
"""By this, a request of a script says which files its tab has loaded."""
STATIC_FILES: Final = Path(__file__).parent / "static"
PAGES: Final[tuple[tuple[str, str, str, str], ...]] = (
    ("overview", "", "Overview", "o"),
    ("memories", "/memories", "Memories", "m"),
    ("timeline", "/timeline", "Timeline", "t"),
    ("sessions", "/sessions", "Sessions", "s"),
    ("lab", "/lab", "Recall lab", "l"),
    ("graph", "/graph", "Graph", "g"),
    ("letters", "/letters", "Dead letters", "d"),
)
"""Name, path below the root, title, and the key after `g`."""
LETTERS: Final = "letters"
"""The page of `PAGES` that is for the role admin."""


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("helix_gateway.explorer"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "shown": shown.shown,
        "with_tables": with_tables,
        "line": shown.one_line,
        "percent": _percent,
        "counted": counted,
        "words": _words,
        "sentence": _sentence,
        "duration": shown.duration,
    }
    environment.globals |= {
        "url": url,
        "text_of": text_of,
        "static": static_url,
        "FILES_HEADER": FILES_HEADER,
        "files_digest": files_digest,
        "ROW": shown.ROW,
        "WHOLE": shown.WHOLE,
    }
    return environment


def url(path: str, **query: Any) -> str:
    """An address below the root; parameters that are empty are left out."""
    given = {name: value for name, value in query.items() if value not in (None, "", ())}
    return ROOT + quote(path) + (f"?{urlencode(given, doseq=True)}" if given else "")


def static_url(name: str) -> str:
    """The address of an own or vendored file, with its digest, so that a browser may keep it."""
    return url(f"/static/{name}", v=static_digest(name))


@functools.cache
def static_digest(name: str) -> str:
    """The beginning of the SHA-256 of a file of `STATIC_FILES`; empty where there is none."""
    path = STATIC_FILES / name
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else ""


@functools.cache
def files_digest() -> str:
    """What changes with any own or vendored file."""
    names = sorted(str(path.relative_to(STATIC_FILES)) for path in STATIC_FILES.rglob("*"))
    return hashlib.sha256("".join(map(static_digest, names)).encode()).hexdigest()[:16]


def loaded_anew(request: Request) -> Response | None:
    """What makes a tab load this page as a whole; None: it has the scripts of today, or no script asks.

    htmx replaces the body of a page alone, so a tab would keep the scripts that it was opened with.
    """
    if "HX-Boosted" not in request.headers or request.headers.get(FILES_HEADER) == files_digest():
        return None
    return HTMLResponse("", headers={**HEADERS, "HX-Redirect": here(request)})


def page(
    request: Request,
    template: str,
    values: Mapping[str, Any],
    *,
    error: BaseException | None = None,
    caller: Caller | None,
) -> Response:
    """A page; with an error one that tells it. Without a caller it has the parts that need none."""
    cookies = Cookies.of(request.headers)
    zone = zone_named(cookies.scope.get("time_zone", ""))
    told = None if error is None else failure_of(error)
    html = _environment().get_template(template).render(
        caller=caller,
        pages=[one for one in PAGES if one[0] != LETTERS or caller is None or caller.may(ADMIN)],
        theme=cookies.theme,
        zone=zone.key,
        moment=functools.partial(shown.moment, zone=zone),
        stored_moment=functools.partial(shown.stored_moment, zone=zone),
        day=functools.partial(shown.day, zone=zone),
        form_key=signing_in.form_key(request),
        signed_in=bool(cookies.token),
        here=here(request),
        told=told,
        **{"query": "", "section": None, **values},
    )  # fmt: skip
    headers = HEADERS if error is None else HEADERS | headers_of_failure(error)
    response = HTMLResponse(html, 200 if told is None else told["status"], headers)
    if secret := request.scope["state"].get("new_form_secret"):
        signing_in.set_cookie(response, request, FORM_COOKIE, secret)
    return response


def section_of(path: str) -> tuple[str, str, str, str] | None:
    """The page of `PAGES` that a path is below; None: it is the first one, or none of these."""
    return next((one for one in PAGES[1:] if f"{path}/".startswith(f"{ROOT}{one[1]}/")), None)


def here(request: Request) -> str:
    """The address of this page; for a form that was sent that of a page that has it."""
    path = request.url.path
    if request.method == "POST":
        parent = path.rpartition("/")[0]
        return parent if parent.startswith((f"{ROOT}/memories/", f"{ROOT}/letters")) else ROOT
    return path + (f"?{request.url.query}" if request.url.query else "")


def go_to(address: str) -> Response:
    """Send the browser to a page, with GET."""
    return RedirectResponse(address, 303, HEADERS)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _sentence(text: str) -> str:
    """A message of a program as people write one."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".") if text else ""


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def zone_named(name: str) -> ZoneInfo:
    """The time zone of a name; UTC where there is none of this name."""
    try:
        return ZoneInfo(name or "UTC")
    except (KeyError, ValueError, OSError):
        return ZoneInfo("UTC")
