# `make demo` and `make test` set up everything themselves: the package in .venv, and the package that
# the tests use in target/venv. The tests' has the assertions of a development build, and shares its
# crates with the tests in Rust.
# The machine needs a Rust toolchain, and Python 3.10 or later with venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TEST_VENV := target/venv
TEST_BIN := $(TEST_VENV)/bin
SCENARIO := scenarios/capacity-drop.toml

# All inputs of the installed package. The stamps have the time at which a build began, so that the
# next build includes changes made meanwhile.
SOURCES := pyproject.toml Cargo.toml Cargo.lock \
	$(shell find crates benches -name tests -prune -o -type f -name '*.rs' -print -o -name '*.toml' -print -o -name '*.o' -print) \
	$(shell find python -type f -not -name '*.pyc' -not -path '*/__pycache__*' \
		-not -path 'python/sojourn/page/*' -not -path 'python/sojourn/shipped/*') \
	$(wildcard target/page/.built)

# The page's inputs; the crates are those of the simulator.
PAGE_SOURCES := Cargo.toml Cargo.lock $(shell find crates/units crates/cc \
	crates/queue crates/transport crates/theory crates/scenario crates/trace crates/record \
	crates/sim crates/wasm -name tests -prune -o -type f -name '*.rs' -print -o -name '*.toml' -print) \
	$(shell find scenarios web -name node_modules -prune -o -type f -print)

PYTEST := $(TEST_BIN)/python -m pytest --numprocesses=auto --maxprocesses=4 --dist=worksteal
PIP := -m pip --disable-pip-version-check --quiet

# Cargo and the compilers that it starts would look for make's jobserver, which is not for them.
CARGO := env -u MAKEFLAGS -u MFLAGS cargo

# Controllers in the kernel, where their loader can be built.
FEATURES = $(shell bpf/features 2>/dev/null)

# The release wheel of this machine's processor: pip's own builds are named `linux`.
MACHINE := $(shell uname -m)
WHEEL = $(lastword $(sort $(filter-out %-linux_$(MACHINE).whl,$(wildcard target/wheels/*$(MACHINE).whl))))

.PHONY: report bpf wheel wheel-aarch64 try-wheel-aarch64 sdist docs crates try-wheel page test-page help demo bench \
	interrupts notebooks test test-all test-vm test-rust test-python pytest fuzz fuzz-build install reference outputs \
	pictures study lint lint-rust lint-python tshark clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */\1\t/' | expand -t 14

# A first run needs the simulator alone, unless the whole package is there.
demo: $(firstword $(wildcard $(VENV)/.installed) $(VENV)/.simulator)  ## set up the simulator, and simulate the capacity drop with every controller
	$(BIN)/sojourn run $(SCENARIO)

# The tests of Rust, those of Python and its lints run side by side, because each has steps that
# leave a core idle. The output of Python's tests appears at once, and the others' in one piece.
test:  ## set up, and run the tests but for the long ones
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=target test-rust test-python lint-python

test-all: lint tshark  ## set up, and run every test, the long ones and the page's too
	$(TEST_BIN)/python $(PIP) install 'duckdb>=1.2' 'scipy>=1.11' \
		'dask-jobqueue>=0.9' 'dask-kubernetes>=2024.9' 'distributed>=2024.8' 's3fs>=2024.6' 'moto[server]>=5' \
		'cmaes>=0.10' 'optuna>=4.0' 'gymnasium>=1.0' 'jupyterlab>=4.2'  # the optional extras, and a test
	$(CARGO) test --workspace $(FEATURES) --quiet -- --include-ignored
	$(PYTEST) -m 'long or not long'
	@$(MAKE) --no-print-directory test-page

# The tests run on kernels that have the modules which this one may lack.
VM_KERNELS ?= 6.1 6.12 7.3

test-vm: $(TEST_VENV)/.installed  ## test live runs, and the hosts linux-6.x, on Debian's kernels, emulated
	@$(CARGO) test --workspace $(FEATURES) --quiet --no-run
	@tests/vm/test $(VM_KERNELS)
	@$(TEST_BIN)/python tests/vm/witness.py $(VM_KERNELS)

bench: $(VENV)/.installed  ## measure speed, memory and start-up; takes a few minutes
	$(BIN)/sojourn bench

page: target/page/.built  ## build the page: the simulator in the browser (docs/guide/page.md)

target/page/.built: $(PAGE_SOURCES)
	@web/install
	web/build-wasm
	cd web && npm run --silent build
	rm -rf python/sojourn/page && cp -r target/page python/sojourn/page
	@touch $@

report:  ## write the script and the style of reports anew, after a change of web/src/figure
	@web/install
	cd web && npm run --silent report

test-page: page $(TEST_VENV)/.installed  ## build the page, and test it in node and in Chromium
	@web/install chromium
	cd web && npm run --silent check && npm run --silent test

# The package has only files below `python`, so these are copied there; git ignores the copies.
target/shipped: $(shell find scenarios papers -type f -not -name '*.pyc')
	rm -rf python/sojourn/shipped
	mkdir -p python/sojourn/shipped $(@D)
	cp -r scenarios papers python/sojourn/shipped
	find python/sojourn/shipped -name __pycache__ -prune -exec rm -rf {} +
	@touch $@

# The site needs its generator and the programs that execute the tutorials, beside the package.
PUBLIC := units cc queue transport theory quic
SITE_TOOLS := zensical==0.0.73 'mkdocstrings[python]>=1.0,<2'

docs: page $(TEST_VENV)/.installed  ## build the site of the documents, in target/site
	$(TEST_BIN)/python $(PIP) install $(SITE_TOOLS)
	$(CARGO) doc --quiet --no-deps --lib $(addprefix --package sojourn-,$(PUBLIC))
	$(TEST_BIN)/python docs/site/build.py

# The user's own changes stay: a notebook is written anew only if its tutorial is newer.
NOTEBOOKS := $(patsubst docs/tutorials/%.md,target/notebooks/%.ipynb,$(wildcard docs/tutorials/*.md))
NOTEBOOK_TOOLS := 'jupytext>=1.16' 'jupyterlab>=4.2'

notebooks: $(VENV)/.installed $(NOTEBOOKS)  ## open the tutorials as notebooks, in the browser
	cd target/notebooks && $(CURDIR)/$(BIN)/jupyter lab

$(NOTEBOOKS): target/notebooks/%.ipynb: docs/tutorials/%.md | $(VENV)/.notebooks
	@mkdir -p $(@D)
	$(BIN)/jupytext --quiet --to ipynb --output $@ $<

$(VENV)/.notebooks: | $(VENV)/.installed
	$(BIN)/python $(PIP) install $(NOTEBOOK_TOOLS)
	@touch $@

crates:  ## package the public crates, and build their examples outside the workspace
	$(PYTHON) release/crates.py

try-wheel:  ## try the wheel of `make wheel` without Rust, compiler or checkout
	$(PYTHON) release/try_wheel.py $(WHEEL)

MATURIN := env -u MAKEFLAGS -u MFLAGS $(BIN)/maturin
WHEEL_FLAGS ?=

wheel: page target/shipped $(VENV)/.made  ## build the wheel of this machine, in target/wheels (docs/install.md)
	@bpf/features --wheel --install
	$(PYTHON) release/licences.py --texts python/sojourn/shipped/licences.txt
	$(MATURIN) build --release --strip --out target/wheels $$(bpf/features --wheel) $(WHEEL_FLAGS)

# The standard library comes from rustup, and the compiler, the linker and glibc's symbols from zig.
ARM := aarch64-unknown-linux-gnu

wheel-aarch64: page target/shipped $(VENV)/.made  ## build the wheel for Linux on aarch64, in target/wheels
	@bpf/features --wheel --install
	rustup target add $(ARM)
	$(BIN)/python $(PIP) install 'ziglang>=0.14'
	$(PYTHON) release/licences.py --texts python/sojourn/shipped/licences.txt
	PATH="$(CURDIR)/$(BIN):$$PATH" $(MATURIN) build --release --strip --zig --target $(ARM) \
		--compatibility manylinux_2_28 --out target/wheels $$(bpf/features --wheel) $(WHEEL_FLAGS)

try-wheel-aarch64:  ## compare the wheel for aarch64, under qemu, with that of `make wheel`
	$(PYTHON) release/try_aarch64.py $(lastword $(sort $(wildcard target/wheels/*aarch64.whl))) $(WHEEL)

sdist: page target/shipped $(VENV)/.made  ## build the source package, in target/wheels
	$(PYTHON) release/licences.py --texts python/sojourn/shipped/licences.txt
	$(MATURIN) sdist --out target/wheels

install: $(VENV)/.installed  ## set up only: the `sojourn` command in .venv/bin

reference: $(VENV)/.installed  ## write docs/reference, and the types of a run's tables, anew
	$(BIN)/python docs/record_types.py
	$(BIN)/python docs/site/references.py
	$(BIN)/python docs/deviations.py

outputs: $(VENV)/.installed  ## write the outputs below the commands of the documents anew
	$(BIN)/python docs/outputs.py

pictures: $(VENV)/.installed  ## draw the pictures of the gallery anew
	$(BIN)/python $(PIP) install 'matplotlib>=3.8'
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/paper_pictures.py
	$(BIN)/python docs/diagrams.py

study: $(VENV)/.installed  ## measure a study anew, such as NAME=matrix; without NAME, list them
	$(BIN)/python $(PIP) install 'matplotlib>=3.8'
	$(BIN)/python studies/measure.py $(NAME)

bpf:  ## compile the programs for the kernel anew, with clang-19
	$(CARGO) run --quiet --package sojourn-kernel --features libbpf --example objects
	@touch $(patsubst bpf/%.c,crates/kernel/objects/%.o,$(wildcard bpf/*.bpf.c))

interrupts: $(VENV)/.installed  ## send signals at random times to every long command; takes some hours
	$(BIN)/python tests/python/interrupts.py

lint: lint-rust lint-python

# `cargo fmt` does not see the modules that the registries' macros declare: all files, by name.
lint-rust: $(TEST_VENV)/.made
	@rustfmt --check --edition 2024 $(shell find crates benches fuzz -name '*.rs')
	@$(CARGO) clippy --workspace $(FEATURES) --all-targets --quiet -- -D warnings

lint-python: $(TEST_VENV)/.installed
	$(TEST_BIN)/ruff check python tests/python docs release studies papers fuzz web/test
	$(TEST_BIN)/ruff format --check python tests/python docs release studies papers fuzz web/test
	$(TEST_BIN)/mypy

# The sequences of the property tests are the same in every run, so that a change is judged by its
# own faults. `make SEED=number test-rust` draws others.
SEED ?= 1

# Clippy comes after the build of the package, which the tests in Python wait for.
test-rust: $(TEST_VENV)/.installed tshark  ## test the Rust crates
	@$(MAKE) --no-print-directory lint-rust
	PROPTEST_RNG_SEED=$(SEED) $(CARGO) test --workspace $(FEATURES) --quiet

test-python: $(TEST_VENV)/.installed tshark  ## test the installed package
	@$(MAKE) --no-print-directory --output-sync=none pytest

pytest:
	$(PYTEST)

# Tests compare captures with tshark, which neither Python's nor Rust's registry has. It is the only
# dependency to install by hand. If it is missing, the tests that need it report that.
tshark:  ## install tshark, for the tests of captures, and ngtcp2-client
	@command -v tshark >/dev/null && command -v ip >/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "Installing tshark and iproute2, which the tests of captures compare with."; \
			./install-packages tshark iproute2; \
		else false; fi; } || \
		echo "tshark is missing, and its tests are left out; on Debian or Ubuntu:" \
			"sudo apt-get install tshark iproute2" >&2
	@command -v gtlsclient >/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "Installing ngtcp2-client, a client of HTTP/3 for the tests of QUIC."; \
			./install-packages ngtcp2-client; \
		else false; fi; } || \
		echo "ngtcp2-client is missing, and its test is left out; on Debian or Ubuntu:" \
			"sudo apt-get install ngtcp2-client" >&2

# libFuzzer's instrumentation, by flags of the stable compiler. rustc does not pass them to build
# scripts, because the command names a target.
FUZZ_FLAGS := --cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
	-Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares
FUZZ_SECONDS ?= 3600

fuzz: fuzz-build  ## fuzz all readers for an hour in total; FUZZ_SECONDS=60 is a minute
	$(BIN)/python fuzz/run.py --seconds $(FUZZ_SECONDS) $(FUZZ_ARGS)

fuzz-build: $(VENV)/.installed
	@command -v c++ >/dev/null || { \
		echo "c++ is missing, which builds libFuzzer; on Debian or Ubuntu: apt install g++" >&2; exit 1; }
	RUSTFLAGS="$(FUZZ_FLAGS)" cargo build --quiet --profile fuzz --package sojourn-fuzz \
		--features libfuzzer --bins --target-dir target/fuzz \
		--target "$$(rustc --print host-tuple)"

$(VENV)/.made $(TEST_VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
		|| { echo "Sojourn needs Python 3.10 or later; try: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
		|| { echo "Python's venv module is missing; on Debian or Ubuntu: apt install python3-venv" >&2; exit 1; }
	@command -v cargo >/dev/null \
		|| { echo "cargo is missing; Rust's toolchain comes from https://rustup.rs" >&2; exit 1; }
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python $(PIP) install 'maturin>=1.9,<2'
	@touch $@

$(VENV)/.installed: PROFILE := release
$(TEST_VENV)/.installed: PROFILE := dev
$(TEST_VENV)/.installed: EXTRA := [test]

$(VENV)/.simulator: $(VENV)/.made $(SOURCES) target/shipped
	@echo "Building the simulator, which takes about two minutes. \`make install\` adds live runs, QUIC" \
		"and the kernel's controllers."
	@touch $@.begun
	MATURIN_PEP517_ARGS="--profile release --no-default-features" PATH="$(CURDIR)/$(BIN):$$PATH" \
		$(BIN)/python $(PIP) install --no-build-isolation .
	@mv $@.begun $@

# `sojourn bench` compares with the bare loop's program, which is no part of the package. Cargo puts
# the profile `dev` into target/debug.
%/.installed: %/.made $(SOURCES) target/shipped
	@bpf/features --install
	@echo "Building Sojourn with the profile $(PROFILE); the first time takes a few minutes."
	@touch $@.begun
	MATURIN_PEP517_ARGS="--profile $(PROFILE) $$(bpf/features)" PATH="$(CURDIR)/$*/bin:$$PATH" \
		$*/bin/python $(PIP) install --no-build-isolation '.$(EXTRA)'
	@$(CARGO) build --quiet --profile $(PROFILE) --package sojourn-bare-loop --target-dir target
	@cp target/$(PROFILE:dev=debug)/sojourn-bare-loop $*/bin/
	@mv $@.begun $@

clean:  ## remove everything built and installed, except runs/
	rm -rf $(VENV) target web/node_modules python/sojourn/page python/sojourn/shipped .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find python tests -name __pycache__ -type d -prune -exec rm -rf {} +
