"""Makes the payloads of planned objects (design.md, Encode)."""

from workers.engine.encode.objects import BLOCK_BYTES, create_work_files, encode_objects, inscribe_artifact_id

__all__ = ["BLOCK_BYTES", "create_work_files", "encode_objects", "inscribe_artifact_id"]
