"""The pages before the others: token, tenant and user of the viewer, and the colours."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from starlette.responses import Response
from starlette.routing import Route

from helix_gateway.explorer import signing_in
from helix_gateway.explorer.rendering import go_to, here, page
from helix_gateway.explorer.signing_in import (
    ROOT,
    SCOPE_COOKIE,
    THEME_COOKIE,
    THEMES,
    TOKEN_COOKIE,
    Cookies,
)
from helix_shared.errors import HelixError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from helix_gateway.callers import Callers

LOGIN: Final = f"{ROOT}/login"
LOGOUT: Final = f"{ROOT}/logout"
THEME: Final = f"{ROOT}/theme"
OPEN: Final = frozenset({LOGIN, LOGOUT, THEME})
"""They need no caller: whoever has a token that expired must be able to sign out. A guard is in each form."""
NAMES: Final = ("tenant", "user", "principals", "time_zone")


@dataclass(frozen=True, slots=True)
class TypedText:
    """What a person typed into a form that could not be done, and where it is sent again."""

    text: str = ""
    address: str = ""
    attempt: str = ""
    """That of the form (`pages.memory`)."""

    @classmethod
    def of(cls, form: Mapping[str, str], path: str) -> TypedText:
        """That of a form sent to `path`, or kept in one that signs in."""
        address = signing_in.own_path(form.get("address", "")) if path == LOGIN else path
        return cls(form.get("text", ""), address, form.get("attempt", ""))


class DoorPages:
    """Signs a browser in and out."""

    def __init__(self, callers: Callers, *, needs_token: bool) -> None:
        self._callers = callers
        self._needs_token = needs_token

    def routes(self) -> list[Route]:
        """Their paths."""
        return [
            Route(LOGIN, self._ask, methods=["GET"]),
            Route(LOGIN, self._sign_in, methods=["POST"]),
            Route(LOGOUT, self._sign_out, methods=["POST"]),
            Route(THEME, self._choose_theme, methods=["POST"]),
        ]

    async def _ask(self, request: Request) -> Response:
        request.state.operation = "explorer login"
        fields = {**Cookies.of(request.headers).scope, "next": request.query_params.get("next", "")}
        return self._page(request, fields, TypedText())

    def ask_again(self, request: Request, typed: TypedText, error: HelixError) -> Response:
        """Ask a viewer who is no longer signed in for a token, and keep what was typed meanwhile."""
        fields = {**Cookies.of(request.headers).scope, "next": here(request)}
        return self._page(request, fields, typed, error)

    async def _sign_in(self, request: Request) -> Response:
        """Keep token and scope if they are those of a caller; the guard of forms holds here, too.

        Else another site could sign a browser in as somebody else, who would then read what is corrected.
        """
        request.state.operation = "explorer login"
        fields = await signing_in.form_of(request)
        typed = TypedText.of(fields, LOGIN)
        cookies = Cookies.of(request.headers)
        token = fields.get("token", "").strip() or cookies.token
        scope = {name: text for name in NAMES if (text := fields.get(name, "").strip())}
        try:
            if not token.isascii() or not token.isprintable():
                raise InvalidInputError("token", "must be printable ASCII characters")
            caller = self._callers.of(signing_in.with_caller(request.headers, token=token, scope=scope))
        except HelixError as error:
            return self._page(request, fields, typed, error)
        kept = {SCOPE_COOKIE: signing_in.encoded(json.dumps(scope))}
        if self._needs_token:
            kept[TOKEN_COOKIE] = signing_in.encoded(token)
        address = signing_in.own_path(fields.get("next", ""))
        if typed.text:
            shown = signing_in.with_cookies(request, address, kept)
            values = {"title": "Signed in", "restorable": "", "typed": typed}
            response = page(shown, "failed.html", values, caller=caller)
        else:
            response = go_to(address)
        for name, value in kept.items():
            signing_in.set_cookie(response, request, name, value)
        return response

    async def _sign_out(self, request: Request) -> Response:
        request.state.operation = "explorer logout"
        await signing_in.form_of(request)
        response = go_to(LOGIN)
        for name in (TOKEN_COOKIE, SCOPE_COOKIE):
            response.delete_cookie(name, path=ROOT)
        return response

    async def _choose_theme(self, request: Request) -> Response:
        request.state.operation = "explorer theme"
        fields = await signing_in.form_of(request)
        chosen = fields.get("theme", "")
        if chosen not in THEMES:
            raise InvalidInputError("theme", f"must be one of {', '.join(THEMES)}")
        response = go_to(signing_in.own_path(fields.get("next", "")))
        signing_in.set_cookie(response, request, THEME_COOKIE, chosen, lasts=True)
        return response

    def _page(
        self, request: Request, fields: dict[str, str], typed: TypedText, error: HelixError | None = None
    ) -> Response:
        values = {
            "title": "Sign in" if self._needs_token else "Tenant and user",
            "fields": {name: fields.get(name, "") for name in (*NAMES, "next")},
            "needs_token": self._needs_token,
            "typed": typed,
        }
        return page(request, "login.html", values, error=error, caller=None)
