"""BLAKE3 of a run of bytes, taken of what goes by while it is in cache; only what does not go by in order is read."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from blake3 import blake3

from workers.engine.encode.parts import Parts
from workers.engine.scratch import Bytes, Scratch

READ_BYTES = 1 << 20


class RunningDigest:
    """The digest of `size` bytes, which `read` gives again once they have gone by, on their way in or out of `parts`.

    Bytes that go by in order are digested then. Where a part leaves some out, those and what follows are read for it.
    """

    def __init__(self, size: int, read: Callable[[int, Bytes], None], parts: Parts) -> None:
        self._size = size
        self._read = read
        self._parts = parts
        self._lock = Lock()
        self._digest = blake3()
        self._done = 0
        self._in_order = True

    def passing(self, part: int, offset: int, data: Bytes) -> None:
        """Digests `data`, the bytes from `offset` on that go by in that part, once the parts before it have brought
        those in front of it, or have ended without."""
        if offset > self._done and not self._parts.wait_until(lambda: self._reached(offset), part):
            self._in_order = False
            self._parts.brought()
        if self._in_order:
            with self._lock:
                fresh = data[self._done - offset :]
                self._digest.update(fresh.data)
                self._done += fresh.size
            self._parts.brought()

    def _reached(self, offset: int) -> bool:
        """Whether there is nothing more to wait for before bytes from `offset` on."""
        return offset <= self._done or not self._in_order

    def hexdigest(self, scratch: Scratch) -> str:
        """The digest in hexadecimal, once all parts have ended. Raises what `read` raises."""
        buffer = scratch.take("digested", min(READ_BYTES, self._size - self._done))  # none, if all went by in order
        while self._done < self._size:
            data = buffer[: self._size - self._done]
            self._read(self._done, data)
            self._digest.update(data.data)
            self._done += data.size
        return self._digest.hexdigest()
