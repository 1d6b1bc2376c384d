# Every command of the project; `make help` lists them. Each works from a fresh clone: the first run creates .venv and
# builds the release wheel, later runs rebuild only what changed (stamp files in .venv/stamps).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
BENCH_VENV := .venv-bench
BENCH := $(BENCH_VENV)/bin/python
BENCH_ENV := PYTHONPATH=benches
WHEEL := dist/toolhead-*.whl
MATURIN := maturin>=1.9,<2
EXTRAS_lint := test,lint

# rustup's own folder counts although a shell may not have read its profile yet.
export PATH := $(PATH):$(HOME)/.cargo/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The interpreter that pyo3's build script asks, outside maturin: the one the wheel is built for.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

SOURCES := $(sort Cargo.toml Cargo.lock pyproject.toml README.md LICENSE \
  $(shell find rust python -type f ! -path '*/__pycache__/*' ! -name '*.so' ! -name '*.pyd'))

.PHONY: help demo test test-rust test-python lint format bench bench-validate bench-stream bench-call profile wheel clean FORCE
.DELETE_ON_ERROR:

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

demo: $(STAMPS)/wheel ## the main job: recorded model streams through real tools
	@$(BIN)/toolhead demo

test: test-rust test-python ## all tests (Rust core, then Python)

test-rust: .ci-check ## the tests of the Rust core
	cargo test --locked --package toolhead-core

test-python: $(STAMPS)/extra-test ## the Python tests, against the installed release wheel
	$(BIN)/pytest --numprocesses 2

lint: $(STAMPS)/extra-lint ## format, lints, types, stub test, import contracts
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/stubtest toolhead._core
	$(BIN)/lint-imports

format: $(STAMPS)/extra-lint ## rewrite the sources in the project's format
	cargo fmt --all
	$(BIN)/ruff check --fix-only --exit-zero
	$(BIN)/ruff format

bench: $(BENCH_VENV)/stamp ## the project's own benchmarks (pytest-benchmark)
	cargo bench --quiet --locked --package toolhead-core --bench core
	$(BENCH) -m pytest benches/python/bench_*.py --override-ini=pythonpath=benches/python --benchmark-only

bench-validate: $(BENCH_VENV)/stamp ## validation, decode, errors, compile beside all peers; records and plots
	$(BENCH_ENV) $(BENCH) -m peers validate

bench-stream: $(BENCH_VENV)/stamp ## partial values while the text arrives, beside all peers; records and plots
	$(BENCH_ENV) $(BENCH) -m peers stream

bench-call: $(BENCH_VENV)/stamp ## one awaited validated call, beside all peers; records and plots
	$(BENCH_ENV) $(BENCH) -m peers call

# With the same options as the release: what is inlined before the counting has to be the same. `.so` alone is read
# wherever this is run, whatever the interpreter's own suffix.
profile: $(STAMPS)/venv | .ci-check ## counts again what a release build is optimised by, on the shared corpora (after hot code changed)
	rustup component add llvm-tools
	$(BIN)/python -m pip install --quiet msgspec
	rm -rf target/profile/counts target/profile/package
	cargo rustc --release --locked --package toolhead-bindings --lib --target-dir target/profile -- \
	  -C "$$(sed -n 's/.*"\(llvm-args=.*\)",/\1/p' pyproject.toml)" -C profile-generate=$(CURDIR)/target/profile/counts
	mkdir -p target/profile/package
	cp -r python/toolhead target/profile/package/
	rm -f target/profile/package/toolhead/_core*.so
	cp target/profile/release/lib_core.so target/profile/package/toolhead/_core.so
	PYTHONPATH=target/profile/package:benches:benches/python $(BIN)/python benches/python/training.py
	"$$(rustc --print target-libdir)/../bin/llvm-profdata" merge --sparse -o rust/bindings/release.profdata target/profile/counts

wheel: $(STAMPS)/wheel ## the release wheel, in dist/
	@ls $(WHEEL)

clean: ## remove what the commands above created
	rm -rf $(VENV) $(BENCH_VENV) dist target

# --------------------------------------------------------------------------------------------------- set-up

.PHONY: .ci-check
.ci-check:
	@PYTHON='$(PYTHON)' .ci/check

$(STAMPS)/venv: | .ci-check
	@echo '== creating $(VENV)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip '$(MATURIN)'
	@mkdir -p $(STAMPS) && touch $@

# Changes when a source file appears or disappears, which no modification time tells.
$(STAMPS)/sources: FORCE | $(STAMPS)/venv
	@echo '$(SOURCES)' | cmp -s - $@ || echo '$(SOURCES)' > $@

$(STAMPS)/wheel: $(SOURCES) $(STAMPS)/sources $(STAMPS)/venv | .ci-check
	@echo '== building and installing the release wheel'
	rm -f $(WHEEL)
	$(BIN)/maturin build --release --locked --interpreter $(BIN)/python --out dist
	$(BIN)/python -m pip install --quiet $(WHEEL)
	$(BIN)/python -m pip install --quiet --force-reinstall --no-deps $(WHEEL)
	@touch $@

$(STAMPS)/extra-%: $(STAMPS)/wheel
	@echo '== installing what "$*" needs'
	$(BIN)/python -m pip install --quiet "$$(ls $(WHEEL))[$(or $(EXTRAS_$*),$*)]"
	@touch $@

$(BENCH_VENV)/stamp: $(STAMPS)/wheel
	@echo '== installing the peers into $(BENCH_VENV)'
	test -x $(BENCH) || $(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH) -m pip install --quiet --upgrade pip
	$(BENCH) -m pip install --quiet "$$(ls $(WHEEL))[bench]"
	$(BENCH) -m pip install --quiet --force-reinstall --no-deps $(WHEEL)
	@touch $@
