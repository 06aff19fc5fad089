"""The viewer of a page: cookies that stand for the headers of a caller, and the guard of forms.

A browser keeps token and scope in cookies of the explorer's paths, which no script can read and no other site
can send. They become the headers that every other caller sends itself, so `callers` decides alike for all.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request, cookie_parser

from helix_gateway.callers import PRINCIPALS, TENANT, TIME_ZONE, USER
from helix_gateway.failures import ForeignError
from helix_shared.errors import HelixError, InvalidInputError
from helix_shared.json_object import json_object
from helix_shared.rpc.access.authenticator import KEY, SCHEME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

ROOT: Final = "/explorer"
TOKEN_COOKIE: Final = "helix_token"  # noqa: S105  a name
SCOPE_COOKIE: Final = "helix_scope"
THEME_COOKIE: Final = "helix_theme"
FORM_COOKIE: Final = "helix_form"
FORM_FIELD: Final = "form_key"
THEMES: Final = ("auto", "light", "dark")
COOKIE_CHARACTERS: Final = 3_800
"""A browser keeps 4,096 with the attributes of a cookie."""
FIELDS: Final = 50
FORM_READ: Final = "form_read"
"""In the state of a request: the fields of its form."""
READ_SECONDS: Final = 5.0
"""For the form of a request that was refused before it was read."""
_SCOPE_HEADERS: Final = {"tenant": TENANT, "user": USER, "principals": PRINCIPALS, "time_zone": TIME_ZONE}
_YEAR_SECONDS: Final = 365 * 86_400


@dataclass(frozen=True, slots=True)
class Cookies:
    """Those of a request."""

    values: Mapping[str, str]

    @classmethod
    def of(cls, headers: Headers) -> Cookies:
        """The cookies of these headers, read as browsers read them: one that is odd hides no other."""
        return cls(cookie_parser(headers.get("cookie", "")))

    @property
    def token(self) -> str:
        """Of the caller; empty: it has none."""
        return _decoded(self.values.get(TOKEN_COOKIE, ""))

    @property
    def scope(self) -> dict[str, str]:
        """What the viewer chose: tenant, user, principals, time zone."""
        fields = json_object(_decoded(self.values.get(SCOPE_COOKIE, "")))
        return {name: one for name in _SCOPE_HEADERS if isinstance(one := fields.get(name), str) and one}

    @property
    def theme(self) -> str:
        """light, dark, or auto: that of the device."""
        chosen = self.values.get(THEME_COOKIE, "")
        return chosen if chosen in THEMES else THEMES[0]


def headers_of(headers: Headers) -> Headers:
    """The headers of a request with what its cookies say; a header that was sent itself counts."""
    cookies = Cookies.of(headers)
    return with_caller(headers, token=cookies.token, scope=cookies.scope)


def with_caller(headers: Headers, *, token: str, scope: Mapping[str, str]) -> Headers:
    """These headers with those of a caller."""
    more = {_SCOPE_HEADERS[name]: value for name, value in scope.items()}
    if token:
        more[KEY] = f"{SCHEME} {token}"
    added = [
        (name.lower().encode(), value.encode("utf-8", "replace"))
        for name, value in more.items()
        if name not in headers
    ]
    return Headers(raw=[*headers.raw, *added])


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form that a page of this explorer sent.

    Raises:
        ForeignError: another site may have sent it, or the viewer changed since the page was made.
        InvalidInputError: it has too many fields, or is not UTF-8.
    """
    require_own_page(request)
    fields = await fields_of(request)
    if not hmac.compare_digest(fields.pop(FORM_FIELD, "").encode(), form_key(request).encode()):
        raise ForeignError("the form is not of this session; load its page again")
    return fields


async def fields_of(request: Request) -> dict[str, str]:
    """The fields of a form, with plain line ends; `kept_form` finds them if what follows fails.

    Raises:
        InvalidInputError: it has too many fields, or is not UTF-8.
    """
    state = request.scope["state"]
    state[FORM_READ] = {}  # the body can be read once
    try:
        pairs = parse_qsl(
            (await request.body()).decode(), keep_blank_values=True, max_num_fields=FIELDS, errors="strict"
        )
    except ValueError as error:
        raise InvalidInputError("form", f"must be UTF-8 with at most {FIELDS} fields") from error
    state[FORM_READ] = fields = {name: value.replace("\r\n", "\n") for name, value in pairs}
    return dict(fields)


def require_own_page(request: Request) -> None:
    """Refuse a form without a sign that a page of this origin sent it; `door` refuses a foreign Origin.

    Raises:
        ForeignError: it has none.
    """
    if not _is_of_own_page(request.headers):
        raise ForeignError("the request does not say that a page of this explorer sent it")


async def kept_form(request: Request) -> dict[str, str]:
    """The fields of a form that failed, so that nothing that a person typed is lost; else none.

    Nothing of a form that a page of another origin sent: that text would seem to be the viewer's own.
    """
    state = request.scope["state"]
    if request.method != "POST" or not _is_of_own_page(request.headers):
        return {}
    if FORM_READ not in state:
        try:
            async with asyncio.timeout(READ_SECONDS):
                await fields_of(request)
        except (HelixError, TimeoutError, ClientDisconnect):
            return {}
    return dict(state[FORM_READ])


def _is_of_own_page(headers: Headers) -> bool:
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site") == "same-origin"
    return origin.partition("://")[2].lower() == headers.get("host", "").lower()


def form_key(request: Request) -> str:
    """What proves that a form is of a page that this viewer was given: this credential, tenant and user."""
    headers = headers_of(request.headers)
    viewer = json.dumps([headers.get(name, "") for name in (KEY, TENANT, USER, PRINCIPALS)])
    return hmac.new(form_secret(request).encode(), viewer.encode(), hashlib.sha256).hexdigest()


def form_secret(request: Request) -> str:
    """The secret of this browser; a new one, which the response must set, where it has none."""
    state = request.scope["state"]
    kept: str = state.get("form_secret", "") or Cookies.of(request.headers).values.get(FORM_COOKIE, "")
    if not kept:
        kept = state["new_form_secret"] = secrets.token_urlsafe(24)
    state["form_secret"] = kept
    return kept


def set_cookie(response: Response, request: Request, name: str, value: str, *, lasts: bool = False) -> None:
    """Set a cookie of the explorer's paths; it ends with the browser's session unless it `lasts`.

    Raises:
        InvalidInputError: a browser would drop it.
    """
    if len(value) > COOKIE_CHARACTERS:
        raise InvalidInputError(name.removeprefix("helix_"), "is too long for a cookie")
    response.set_cookie(
        name,
        value,
        max_age=_YEAR_SECONDS if lasts else None,
        path=ROOT,
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )


def encoded(text: str) -> str:
    """A text as the value of a cookie."""
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def with_cookies(request: Request, address: str, cookies: Mapping[str, str]) -> Request:
    """The request for a page as the browser will send it when it has these cookies."""
    kept = Cookies.of(request.headers).values
    sent = {THEME_COOKIE: kept.get(THEME_COOKIE, ""), FORM_COOKIE: form_secret(request), **cookies}
    cookie = "; ".join(f"{name}={value}" for name, value in sent.items() if value)
    headers = [(b"host", request.headers.get("host", "").encode("latin-1")), (b"cookie", cookie.encode())]
    path = urlsplit(own_path(address)).path
    return Request({**request.scope, "method": "GET", "path": path, "query_string": b"", "headers": headers})


def own_path(wanted: str) -> str:
    """A path of the explorer to go to; its first page where another one is wanted."""
    try:
        parts = urlsplit(wanted)
    except ValueError:
        return ROOT
    is_own = parts.path == ROOT or parts.path.startswith(f"{ROOT}/")
    if parts.scheme or parts.netloc or not is_own or not wanted.isprintable() or "\\" in wanted:
        return ROOT
    return wanted


def _decoded(value: str) -> str:
    try:
        return base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)).decode()
    except ValueError:
        return ""
