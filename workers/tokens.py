"""Tokens that callers of the service show: who each belongs to, and what it allows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SECRET = re.compile(r"[A-Za-z0-9._~+/=-]{32,512}")
_FORM = "NAME:read:SECRET or NAME:submit:SECRET, the name of letters, digits, - and _"
_STRENGTH = "a secret of 32 to 512 characters, letters, digits and ._~+/=- (openssl rand -hex 32 makes one)"


class Scope(StrEnum):
    """What a token allows: `read` to look and to download, `submit` everything."""

    READ = "read"
    SUBMIT = "submit"


@dataclass(frozen=True, slots=True)
class Token:
    """A token as the service keeps it: the secret's SHA-256 in hexadecimal digits instead of the secret.

    Secrets are long and random, so their digest needs neither salt nor a slow function.
    """

    name: str
    scope: Scope
    sha256: str

    def __repr__(self) -> str:
        return f"Token({self.name}, {self.scope})"


def parse_tokens(entries: list[str]) -> tuple[Token, ...]:
    """Tokens written as NAME:SCOPE:SECRET. Raises ValueError, in whose words there is no secret."""
    tokens = tuple(_parse_token(number, entry.strip()) for number, entry in enumerate(entries, 1))
    for what, found in ("name", [one.name for one in tokens]), ("secret", [one.sha256 for one in tokens]):
        if len(set(found)) != len(found):
            raise ValueError(f"expected tokens that each have a {what} of their own, found the same {what} twice")
    return tokens


def secret_digest(secret: str) -> str:
    """What is kept of a secret."""
    return sha256(secret.encode()).hexdigest()


def _parse_token(number: int, entry: str) -> Token:
    name, _, rest = entry.partition(":")
    scope, _, secret = rest.partition(":")
    if not _NAME.fullmatch(name) or scope not in set(Scope):
        raise ValueError(f"expected {_FORM}, found another form in token {number}")
    if not _SECRET.fullmatch(secret):
        raise ValueError(f"expected {_STRENGTH}, found another in token {number}")
    return Token(name, Scope(scope), secret_digest(secret))
