"""Signatures of what is sent to a webhook, as of Standard Webhooks (standardwebhooks.com), for which receivers have
libraries."""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

_PREFIX = "whsec_"
_FORM = f"{_PREFIX} and 24 to 64 bytes in base64 (echo {_PREFIX}$(openssl rand -base64 32) makes one)"


def signing_key(secret: str) -> bytes:
    """The key in a secret. Raises ValueError, in whose words there is no secret."""
    try:
        key = b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (Error, ValueError):
        key = b""
    if not secret.startswith(_PREFIX) or not 24 <= len(key) <= 64:
        raise ValueError(f"expected {_FORM}, found another form")
    return key


def identifying_headers(event_id: UUID, sent_at: datetime, body: bytes, secret: str | None) -> Mapping[str, str]:
    """The headers by which a receiver knows an event again and, where there is a secret, its sender."""
    name, moment = str(event_id), str(int(sent_at.timestamp()))
    headers = {"webhook-id": name, "webhook-timestamp": moment}
    if secret is not None:
        signature = hmac.digest(signing_key(secret), b".".join((name.encode(), moment.encode(), body)), "sha256")
        headers["webhook-signature"] = f"v1,{b64encode(signature).decode()}"
    return headers
