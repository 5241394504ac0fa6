"""The service from Python, as `ninforge submit`, `watch` and `download` use it."""

from service.client.connection import RefusedError
from service.client.downloading import Download
from service.client.service_client import ServiceClient
from service.client.watching import Happening

__all__ = ["Download", "Happening", "RefusedError", "ServiceClient"]
