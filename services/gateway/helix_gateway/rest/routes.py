"""One route for each operation, and those of health and of the document."""

from __future__ import annotations

import functools
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from helix_gateway.operations.operation import PREFIX, Operation
from helix_gateway.operations.reading import READING
from helix_gateway.operations.requests import parsed_json, parsed_query
from helix_gateway.operations.writing import WRITING
from helix_gateway.rest.openapi import document
from helix_shared.errors import InvalidInputError
from helix_shared.rpc.access.credential import RECALL
from helix_shared.telemetry.health import Health

if TYPE_CHECKING:
    from helix_gateway.callers import Caller

JSON: Final = "application/json"
OPERATIONS: Final = (*READING, *WRITING)

Endpoint = Callable[[Request], Awaitable[Response]]


def rest_routes() -> list[Route]:
    """The routes of all operations; errors are raised, and `door` makes responses of them."""
    routes = [
        Route(PREFIX + one.route, _endpoint(one), methods=[one.method], name=one.name) for one in OPERATIONS
    ]
    return [*routes, Route(f"{PREFIX}/openapi.json", _document, methods=["GET"])]


def health_routes(health: Health) -> list[Route]:
    """Whether the process is alive, and whether it does its work, as on the port of the metrics."""

    def route(path: str, problem: Callable[[], str]) -> Route:
        async def answer(_: Request) -> Response:
            reason = problem()
            return PlainTextResponse(f"{reason or 'ok'}\n", 503 if reason else 200)

        return Route(path, answer, methods=["GET"])

    return [route("/healthz", health.not_alive), route("/readyz", health.not_ready)]


def _endpoint(operation: Operation) -> Endpoint:
    async def answer(request: Request) -> Response:
        request.state.operation = operation.name
        caller: Caller = request.state.caller
        caller.require(operation.role)
        path = request.path_params
        body, query = await request.body(), request.query_params.multi_items()
        if operation.method == "GET":
            if body:
                raise InvalidInputError("body", "has no place in a GET: the address has the parameters")
            sent = parsed_query(operation.request, query, path)
        else:
            if query:
                raise InvalidInputError(query[0][0], "belongs into the body, not into the address")
            sent = parsed_json(operation.request, body, path)
        caller.require_principals(getattr(sent, "acl", None) or ())
        run = operation.recalling if operation.recalling and caller.may(RECALL) else operation.run
        result = await run(caller.helix, sent)
        return Response(_json(operation.reply.plain(result)), media_type=JSON)

    return answer


async def _document(_: Request) -> Response:
    return Response(_document_json(), media_type=JSON)


@functools.cache
def _document_json() -> bytes:
    return _json(document(OPERATIONS))


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
