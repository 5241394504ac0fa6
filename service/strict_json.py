"""Request bodies as JSON without what readers disagree on: members that stand twice, half surrogate pairs, NaN."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from schemas.errors import SourceError
from workers.engine.sources.json_object import parse_object


class StrictJsonRequest(Request):
    """A request whose JSON body is read as strictly as a checkpoint's header."""

    async def json(self) -> Any:
        body = await self.body()
        try:
            return parse_object(body, "body")
        except SourceError as error:
            # The form in which FastAPI expects a body that cannot be read.
            raise json.JSONDecodeError(f"expected {error.expected}, found {error.found}", "", 0) from error


class StrictJsonRoute(APIRoute):
    """A route with StrictJsonRequest."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(StrictJsonRequest(request.scope, request.receive))

        return handle_strictly
