"""What entries of framing 3 are changed with."""

from __future__ import annotations

import json

from tests.container.model_samples import PAYLOAD, TEXT, document, entry_bytes, sliced
from tests.container.mutations import TOKENS, VALUES, Vocabulary

_FORMATS_TEXT = (
    '{"components":{"text":{"config":{"a":[1,2.5]},"proposal":{"domain":"full"}}},"objects":['
    '{"id":"a","kind":"tensor","shape":[128,64],"format":"nvfp4","layout":"block_scale_k16_m128x4_v1",'
    '"offset":0,"bytes":4612},'
    '{"id":"b","kind":"tensor","shape":[3,5],"format":"fp8_e4m3fn_row_bf16","layout":"row_scale_v1",'
    '"offset":4864,"bytes":262},'
    '{"id":"c","kind":"tensor","shape":[7],"format":"gguf_q4_k","layout":"gguf_blocks_v1","offset":5376,"bytes":9},'
    '{"id":"d","kind":"resource","encoding":"zstd","offset":5385,"bytes":1}],'
    '"bindings":{"p":{"object":"a"},"q":{"parts":[{"object":"c","range":[0,7]}]}},'
    '"uses":[{"parameter":"p","input":"i","activation_policy":"AllowA8"}],"files":[{"path":null,"payload_bytes":5386}]}'
)


def _first_of_three() -> bytes:
    return dict(sliced(document(), PAYLOAD, [300, 400, 584]))["m.ninfer"]


MODEL = Vocabulary(
    header=32,
    front=1200,
    bases=(
        entry_bytes(TEXT, blanks=False),
        entry_bytes(TEXT),
        entry_bytes(_FORMATS_TEXT, bytes(5386), blanks=False),
        _first_of_three(),
        entry_bytes(json.dumps(document(), indent=1), blanks=False),
    ),
    tokens=(*TOKENS, b'"id":"matrix",', b"1e999", b'"range":[0,1],', b'{"object":"scalar"}', b"NINPRT\0\x03"),
    values=(
        *(*VALUES, "matrix", "weight", "frontend/\u00e9.json", "text", "mtp", "text/a", "text/x", "mtp/x", "full"),
        *(
            "int32",
            "q5_g64_fp16",
            "contiguous_le_v1",
            "row_split_k128_v1",
            "raw_bytes_v1",
            "BF16",
            "AllowA8",
            "A16Only",
        ),
        *("m.ninfer.part-0001", "a/b", "..", "\\", 1284, 1285, 130, 260, [0, 1], [0, 260], [1, 0], [0, 2**64 - 1]),
        *(
            {"object": "scalar"},
            {"object": "matrix", "range": [0, 6]},
            {"parts": [{"object": "weight", "range": [0, 1]}]},
        ),
        *({"path": "x", "payload_bytes": 5}, {"path": None, "payload_bytes": 1284}, {"config": {}}, {"domain": "full"}),
        *({"parameter": "text/a", "input": "y"}, {"parameter": "text/b", "input": "text/x"}),
    ),
    names=(
        *(
            "id",
            "kind",
            "shape",
            "format",
            "layout",
            "encoding",
            "offset",
            "bytes",
            "components",
            "objects",
            "bindings",
        ),
        *("uses", "files", "metadata", "provenance", "config", "target", "resources", "proposal", "domain", "rows", ""),
        *(
            "object",
            "parts",
            "range",
            "parameter",
            "input",
            "activation_policy",
            "auxiliaries",
            "path",
            "name",
            "text/b",
        ),
        *("bindings", "payload_bytes", "a\0", "vision", "text/b"),
    ),
)
