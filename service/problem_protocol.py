"""HTTP/1.1 whose answer to what is no HTTP at all is a problem document as well."""

from __future__ import annotations

from http import HTTPStatus

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from service.problems import ProblemResponse, status_problem


class ProblemProtocol(H11Protocol):
    """uvicorn's protocol on h11."""

    def send_400_response(self, msg: str) -> None:
        """Answers and closes the connection, of which nothing more can be understood."""
        answer = ProblemResponse(status_problem(HTTPStatus.BAD_REQUEST, msg), {"Connection": "close"})
        start = h11.Response(status_code=answer.status_code, headers=answer.raw_headers, reason=b"Bad Request")
        for event in (start, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
