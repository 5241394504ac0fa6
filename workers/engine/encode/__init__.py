"""Makes the payloads of planned objects (design.md, Encode)."""

from workers.engine.encode.objects import BLOCK_BYTES, create_work_file, encode_objects

__all__ = ["BLOCK_BYTES", "create_work_file", "encode_objects"]
