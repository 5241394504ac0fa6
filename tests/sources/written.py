"""Files for the tests: valid ones by the safetensors library, faulty ones put together byte by byte."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Mapping
from pathlib import Path

import safetensors

WIDTHS = {
    "bfloat16": 2,
    "bool": 1,
    "float16": 2,
    "float32": 4,
    "float64": 8,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "float8_e8m0fnu": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "int8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "uint8": 1,
}
"""The library's names of dtypes, and bytes an element."""


def words(size: int, seed: int = 0) -> bytes:
    """`size` bytes that differ from place to place and from seed to seed."""
    return bytes((seed * 31 + place * 7 + place // 251) % 256 for place in range(size))


def library_bytes(
    tensors: Mapping[str, tuple[str, tuple[int, ...], bytes]], metadata: dict[str, str] | None = None
) -> bytes:
    """A safetensors file as the library writes it, from name to (dtype, shape, data)."""
    kept = {name: ctypes.create_string_buffer(data, max(len(data), 1)) for name, (_, _, data) in tensors.items()}
    specs = {
        name: safetensors.TensorSpec(
            dtype=dtype, shape=list(shape), data_ptr=ctypes.addressof(kept[name]), data_len=len(data)
        )
        for name, (dtype, shape, data) in tensors.items()
    }
    written: bytes = safetensors.serialize(specs, metadata)
    return written


def header_bytes(header: object) -> bytes:
    return header if isinstance(header, bytes) else json.dumps(header).encode()


def file_bytes(header: object, data: bytes = b"") -> bytes:
    """A file with the given header, JSON or raw bytes, however wrong."""
    encoded = header_bytes(header)
    return len(encoded).to_bytes(8, "little") + encoded + data


def described(begin: int, end: int, *, dtype: object = "U8", shape: object = None) -> dict[str, object]:
    """One tensor of a header: bytes from `begin` to `end`, unless told otherwise."""
    return {"dtype": dtype, "shape": [end - begin] if shape is None else shape, "data_offsets": [begin, end]}


def write_indexed(folder: Path, shards: Mapping[str, bytes], weight_map: object) -> None:
    for name, content in shards.items():
        (folder / name).write_bytes(content)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
