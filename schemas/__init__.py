"""What crosses a boundary: the closed registry, recipes, API bodies, SQL tables. No torch, no I/O."""
