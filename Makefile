# `make demo` and `make test` set up everything themselves: the package in .venv, and the package that
# the tests use in target/venv. The tests' has the assertions of a development build, and shares its
# crates with the tests in Rust. Longer steps are scripts in the folders of their subject.

PYTHON ?= python3
BIN := .venv/bin
TEST_BIN := target/venv/bin
# One more than the cores, up to four, because live runs and servers wait for real time.
WORKERS := $(shell cores=$$(getconf _NPROCESSORS_ONLN); echo $$((cores < 4 ? cores + 1 : 4)))
PYTEST := $(TEST_BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=worksteal
PIP := -m pip --disable-pip-version-check --quiet

# Cargo and the compilers that it starts would look for make's jobserver, which is not for them.
WITHOUT_MAKE := env -u MAKEFLAGS -u MFLAGS
CARGO := $(WITHOUT_MAKE) cargo

# Controllers in the kernel, where their loader can be built.
FEATURES = $(shell bpf/features 2>/dev/null)

# All inputs of the installed package, and those of the page.
RUST := Cargo.toml Cargo.lock $(shell find crates benches -name tests -prune -o -type f -name '*.rs' -print \
	-o -name '*.toml' -print -o -name '*.o' -print)
SOURCES := pyproject.toml $(RUST) $(wildcard target/page/.built) target/shipped $(shell find python -type f \
	-not -name '*.pyc' -not -path 'python/sojourn/page/*' -not -path 'python/sojourn/shipped/*')
PAGE_SOURCES := $(filter-out benches/% $(foreach crate,kernel live py quic quic-udp udp,crates/$(crate)/%),$(RUST)) \
	$(shell find scenarios web -name node_modules -prune -o -type f -print)

.PHONY: help demo test test-rust cargo-test lint-rust test-python pytest test-all test-vm lint lint-python dev install bench page docs reference \
	study fuzz wheel clean

help:  ## list the targets
	@sed -nE 's/^([a-z-]+):.*## */\1\t/p' $(MAKEFILE_LIST) | expand -t 12

# A first run needs the simulator alone, unless the whole package is there.
demo: $(firstword $(wildcard .venv/.installed) .venv/.simulator)  ## set up the simulator, and simulate the capacity drop with every controller
	$(BIN)/sojourn run scenarios/capacity-drop.toml

# The tests of Rust, those of Python and its lints run side by side, because each has steps that
# leave a core idle. The output of Python's tests appears at once, and the others' in one piece.
test: target/venv/.installed  ## set up, and run the tests but for the long ones
	@tests/install-tools
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=target test-rust test-python lint-python

# The sequences of the property tests are the same in every run, so that a change is judged by its
# own faults. Lints run beside the tests, many of which wait.
test-rust: target/venv/.installed
	@$(CARGO) test --workspace $(FEATURES) --quiet --no-run
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target cargo-test lint-rust

cargo-test:
	PROPTEST_RNG_SEED=1 $(CARGO) test --workspace $(FEATURES) --quiet

lint-rust:
	@tests/lint rust

test-python: target/venv/.installed
	@$(MAKE) --no-print-directory --output-sync=none pytest

pytest:
	$(PYTEST)

test-all: lint  ## set up, and run every test, the long ones and the page's too
	@tests/install-tools
	$(TEST_BIN)/python $(PIP) install --requirement tests/requirements.txt
	$(CARGO) test --workspace $(FEATURES) --quiet -- --include-ignored
	$(PYTEST) -m 'long or not long'
	@web/try

# The tests run on kernels that have the modules which this one may lack.
VM_KERNELS ?= 6.1 6.12 7.3

test-vm: target/venv/.installed  ## test live runs, and the hosts linux-6.x, on Debian's kernels, emulated
	@$(CARGO) test --workspace $(FEATURES) --quiet --no-run
	@tests/vm/test $(VM_KERNELS)
	@$(TEST_BIN)/python tests/vm/witness.py $(VM_KERNELS)

lint: target/venv/.installed  ## check the format, lints and types of Rust and Python
	@tests/lint

lint-python: target/venv/.installed
	@tests/lint python

dev: target/venv/.made  ## rebuild the package of the tests quickly, for target/venv/bin/sojourn
	@release/dev

install: .venv/.installed  ## set up only: the `sojourn` command in .venv/bin

bench: .venv/.installed  ## measure speed, memory and start-up; takes a few minutes
	$(BIN)/sojourn bench

page: target/page/.built  ## build the page: the simulator in the browser (docs/guide/page.md)

docs: page target/venv/.installed  ## build the site of the documents, in target/site
	$(TEST_BIN)/python $(PIP) install --requirement docs/site/requirements.txt
	$(WITHOUT_MAKE) $(TEST_BIN)/python docs/site/build.py

reference:  ## write docs/reference, and the types of a run's tables, anew
	@docs/renew reference

study: .venv/.installed  ## measure a study anew, such as NAME=matrix; without NAME, list them
	$(BIN)/python $(PIP) install 'matplotlib>=3.8'
	$(BIN)/python studies/measure.py $(NAME)

FUZZ_SECONDS ?= 3600

fuzz:  ## fuzz all readers for an hour in total; FUZZ_SECONDS=60 is a minute, FUZZ_ARGS=udp one reader
	$(WITHOUT_MAKE) $(PYTHON) fuzz/run.py --seconds $(FUZZ_SECONDS) $(FUZZ_ARGS)

wheel:  ## build the wheel of this machine, in target/wheels (docs/install.md)
	@release/wheel

clean:  ## remove everything built and installed, except runs/
	rm -rf .venv target web/node_modules python/sojourn/page python/sojourn/shipped .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find python tests -name __pycache__ -type d -prune -exec rm -rf {} +

# The scripts touch their targets. The stamp of an installation has the time at which its build began.
.venv/.made target/venv/.made:
	@PYTHON=$(PYTHON) release/venv $(@D)

.venv/.simulator: .venv/.made $(SOURCES)
	@release/install .venv simulator

.venv/.installed: .venv/.made $(SOURCES)
	@release/install .venv release

target/venv/.installed: target/venv/.made $(SOURCES)
	@release/install target/venv dev '[test]'

target/page/.built: $(PAGE_SOURCES)
	@web/build

target/shipped: $(shell find scenarios papers -type f -not -name '*.pyc')
	@release/shipped
