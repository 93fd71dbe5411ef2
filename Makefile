# `make demo` and `make test` are all that a newcomer needs: each installs what is missing.

PYTHON ?= python3
TRAINERS ?= all
PROFILE ?= usual
SCALE ?= 100000
FUZZ_SECONDS ?= 60
VENV ?= .venv
BIN := $(VENV)/bin
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
unexport PYTHONDONTWRITEBYTECODE # otherwise each of a thousand processes would compile the program
.PHONY: demo test quick native wheel try-wheel test-native test-lowest check lint types contract unit stress fuzz test-integration test-runners test-browser examples \
	bench audit constraints bless docs screenshots site sample-data clean

demo: $(BIN)/.installed native  ## install, pair the sample rollouts, show pairs and summary
	@$(BIN)/python scripts/demo.py

test: check native unit  ## lint, types, import contract and all tests

quick: check native  ## a verdict within a minute: the laws in short, a golden case for each command, most unit tests
	$(BIN)/pytest -n auto --hypothesis-profile quick -m 'not stress and not full' tests/laws tests/cases tests/unit

check: lint types contract

lint: $(BIN)/.developer
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(BIN)/.developer
	$(BIN)/mypy

contract: $(BIN)/.developer
	$(BIN)/lint-imports

unit: $(BIN)/.developer native  ## all tests, or TESTS; VENV=.venv-3.13 PYTHON=python3.13 for another Python
	$(BIN)/pytest -n auto --hypothesis-profile $(PROFILE) $(TESTS)

native: | $(BIN)/python  ## build the native core where cargo is, and install it into VENV; PREFPAIRS_NATIVE=0 does not
	@$(BIN)/python scripts/build_native.py

wheel: | $(BIN)/python  ## wheels of prefpairs and of the native core into dist/
	rm -rf dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	$(BIN)/python scripts/build_native.py --wheel dist

try-wheel:  ## install the wheels of dist/ into a fresh environment of PYTHON, and pair with both engines
	scripts/try_wheel $(PYTHON)

test-native:  ## format, lint and tests of the native core (needs cargo)
	cd native && cargo fmt --check && cargo clippy --locked --all-targets -- -D warnings && cargo test --locked --quiet

test-lowest: .venv-lowest/.installed  ## golden cases and unit tests with the oldest versions that pyproject.toml allows
	PREFPAIRS_NATIVE=0 .venv-lowest/bin/pytest -n auto --hypothesis-profile quick $(or $(TESTS),tests/cases tests/unit)

fuzz: $(BIN)/.fuzz  ## any bytes at every reader, led by coverage; FUZZ_SECONDS=600, FUZZ='nat pairs' for some
	$(BIN)/python scripts/fuzz --seconds $(FUZZ_SECONDS) $(FUZZ)

stress: $(BIN)/.developer native  ## faults of the file system, kills, signals, 100,000 rows; properties at full length
	$(BIN)/pytest -n 2 --hypothesis-profile thorough -m 'stress or hypothesis'

test-integration: $(BIN)/.developer  ## run trainers' own code on what we export; TRAINERS=quick for less
	TRAINERS=$(TRAINERS) $(BIN)/pytest -n 2 tests/integration/test_trainers.py tests/integration/test_nemo_rl.py \
		tests/integration/test_nat_customizer.py

test-runners: .venv-ray/.installed  ## runs on a real Ray cluster of this machine; RUNNERS='-m stress' for the long ones
	$(MAKE) native VENV=.venv-ray
	RAY=needed .venv-ray/bin/python -m pytest $(RUNNERS) tests/integration/test_ray.py \
		tests/integration/test_ray_clusters.py \
		tests/integration/test_bench.py::test_runners_with_and_without_ray

test-browser: $(BIN)/.browser  ## open the page of `report` in Chromium, which is installed where that is possible
	@scripts/ensure_chromium
	BROWSER=needed $(BIN)/pytest tests/integration/test_report_in_a_browser.py

examples: $(BIN)/.developer .venv-dvc/.installed  ## run examples/ and their guide with make and with DVC
	EXAMPLES=all PATH="$$PWD/.venv-dvc/bin:$$PATH" $(BIN)/pytest tests/integration/test_examples.py \
		'tests/integration/test_docs.py::test_page[docs/guides/make-and-dvc.md]'

bench: $(BIN)/.bench native  ## measure against peers; SCALE=1000000 for more, BENCH='--only pair' for less
	$(BIN)/python scripts/bench --scale $(SCALE) $(BENCH)

audit: .venv-audit/.installed  ## ask whether known holes are in what we use, Python and Rust (needs the network and cargo-deny)
	.venv-audit/bin/pip-audit --strict --no-deps --disable-pip --requirement constraints-dev.txt
	cd native && cargo deny check

constraints:  ## rewrite constraints-dev.txt: the newest versions that go together
	rm -rf .venv-constraints && $(PYTHON) -m venv .venv-constraints
	.venv-constraints/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,fuzz,browser]'
	sed -n '/^#/p' constraints-dev.txt > constraints-dev.new
	.venv-constraints/bin/python -m pip freeze --exclude-editable >> constraints-dev.new
	mv constraints-dev.new constraints-dev.txt && rm -rf .venv-constraints

bless: $(BIN)/.developer  ## rewrite what the golden cases expect; read the diff before you commit
	BLESS=1 $(BIN)/pytest -q tests/cases

screenshots: $(BIN)/.browser  ## rewrite docs/pictures: the page of `report` as Chromium shows it
	@scripts/ensure_chromium
	$(BIN)/python scripts/make_screenshots.py

docs: $(BIN)/.developer  ## rewrite what is made in docs/: reference, pictures, the output that pages show
	$(BIN)/python scripts/make_reference.py
	$(BIN)/python scripts/make_pictures.py
	BLESS=1 $(BIN)/pytest -q -n auto tests/integration/test_docs.py -k test_page

site: $(BIN)/.docs  ## build docs/ into site/: open site/index.html; broken links and foreign hosts are errors
	$(BIN)/python scripts/make_site.py

sample-data: $(BIN)/.developer  ## rewrite sample_data
	$(BIN)/python scripts/make_sample_data.py

clean:
	rm -rf site .site dist native/target .venv .venv-* .bench .fuzz .consumers .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(BIN)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv-lowest/.installed: pyproject.toml scripts/lowest_versions.py
	$(or $(shell command -v python3.11),$(PYTHON)) -m venv --clear .venv-lowest
	.venv-lowest/bin/python scripts/lowest_versions.py > .venv-lowest/constraints.txt
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --constraint .venv-lowest/constraints.txt --editable '.[dev]'
	@touch $@

.venv-audit/.installed:
	$(PYTHON) -m venv .venv-audit
	.venv-audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	@touch $@

.venv-dvc/.installed:
	$(PYTHON) -m venv .venv-dvc
	.venv-dvc/bin/python -m pip install --quiet --disable-pip-version-check 'dvc>=3.50'
	@touch $@

.venv-ray/.installed: pyproject.toml constraints-dev.txt
	$(PYTHON) -m venv .venv-ray
	.venv-ray/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints-dev.txt --editable '.[dev,ray]' 'ray[default]'
	@touch $@

$(BIN)/.bench: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@touch $@ $(BIN)/.installed

$(BIN)/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@ $(BIN)/.installed

$(BIN)/.fuzz: pyproject.toml constraints-dev.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints-dev.txt --editable '.[dev,fuzz]'
	@touch $@ $(BIN)/.installed $(BIN)/.developer

$(BIN)/.browser: pyproject.toml constraints-dev.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints-dev.txt --editable '.[dev,browser]'
	@touch $@ $(BIN)/.installed $(BIN)/.developer

$(BIN)/.developer: pyproject.toml constraints-dev.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints-dev.txt --editable '.[dev]'
	@touch $@ $(BIN)/.installed
