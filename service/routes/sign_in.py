"""Browsers sign in with a token and get a session for it."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from service.authentication import SIGN_IN, SIGN_OUT, token_with
from service.dashboard.page import render
from service.dependencies import CurrentService
from service.sessions import begin_session, end_session

router = APIRouter(include_in_schema=False)

_AFTER = "/jobs"
"""Where a browser goes that has signed in."""


@router.get(SIGN_IN, response_class=HTMLResponse)
async def show_sign_in(request: Request) -> HTMLResponse:
    """The page to sign in on."""
    return render(request, "sign_in.html", is_refused=False)


@router.post(SIGN_IN, response_class=Response)
async def sign_in(service: CurrentService, request: Request) -> Response:
    """Begins a session for the token in the form."""
    form = parse_qs((await request.body()).decode("latin-1"))
    token = token_with(form.get("token", [""])[0].strip(), service.settings.tokens)
    if token is None:
        return render(request, "sign_in.html", HTTPStatus.UNAUTHORIZED, is_refused=True)
    response = RedirectResponse(_AFTER, HTTPStatus.SEE_OTHER)
    begin_session(response, request, token)
    return response


@router.post(SIGN_OUT, response_class=Response)
async def sign_out() -> Response:
    """Ends the browser's session."""
    response = RedirectResponse(SIGN_IN, HTTPStatus.SEE_OTHER)
    end_session(response)
    return response
