"""The `.ninfer` container (container.md), framings 1 and 2: an arranger and a writer, and a reader of its own.

`directory` holds what both sides speak of, `limits` what neither exceeds. The reading side (`strict_json`, `front`,
`reader`, `gaps`) uses nothing of the writing side (`arrangement`, `writer`), so that it can judge what was written.
"""
