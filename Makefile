# One profile and one target folder for everything: what one stage has built, the next one uses.
# REQUIRE_ALL=1 makes a failure of what is otherwise skipped because a tool is missing.

PYTHON := scripts/with "python3 --version" "install Python 3" python3
CASES ?= 5000
SECONDS ?= 60
MINUTES ?= 20

export RUSTDOCFLAGS := -D warnings

help:
	@echo "make test          format, lint, Rust tests, Python package, README, reports in a browser, licences, text; the seconds of each stage"
	@echo "make test-long     property tests with CASES=$(CASES) cases each, the slow tests, and the notebooks"
	@echo "make fuzz          SECONDS=$(SECONDS) of libFuzzer for each reader and decoder (a C++ compiler; docs/dev/fuzzing.md)"
	@echo "make soak          a fit of MINUTES=$(MINUTES), its memory watched"
	@echo "make bench         the sweep, its slow twin and the bare limit"
	@echo "make bench-counts  instruction counts of the sweep"
	@echo "make compare       Dirigent and scikit-learn, HDBSCAN and others, on generated sets and those of DATA=FOLDER (hours; continues where it was)"
	@echo "make book          the guide and the documentation as a book, in the target folder (mdBook), checked in a browser"
	@echo "make audit         advisories, licences and sources of all dependencies (cargo-deny)"
	@echo "make wheels        what pip installs, into dist/: TARGETS=..., or all that are built on this system (docs/dev/releasing.md)"
	@echo "make binaries      the command with completions and manual pages, into dist/: TARGETS=..., likewise"
	@echo "make installed     installs the wheel of dist/ where there is no Rust, and tries it"
	@echo "make measure       how long files and functions are: median, 90 %, longest"
	@echo "make demo          make data, fit them, print a summary"

test:
	@MAKE="$(MAKE)" scripts/stages tools format lint rust python readme browser licences text

# rustup adds what a minimal toolchain lacks; where it cannot, the stages themselves say what is missing
tools:
	@cargo --version
	@cargo fmt --version || rustup component add rustfmt || true
	@cargo clippy --version || rustup component add clippy || true

format:
	@scripts/with "cargo fmt --version" "rustup component add rustfmt" cargo fmt --all --check

lint:
	@scripts/with "cargo clippy --version" "rustup component add clippy" \
		cargo clippy --locked --release --workspace --all-targets -- -D warnings
	cargo doc --locked --release --no-deps --workspace

rust:
	cargo test --locked --release --workspace
	cargo run --locked --release -p dirigent --example quickstart

# the wheel, its tests, mypy and stubtest
python:
	@scripts/with "scripts/test_python tools" "Python 3.10 with venv, and a package index for tests-python/requirements.txt" scripts/test_python

readme:
	@$(PYTHON) scripts/run_readme.py

# Chromium is installed where that can be done without asking
browser:
	@command -v chromium >/dev/null || ! command -v apt-get >/dev/null || test "$$(id -u)" != 0 || \
		{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium; } >/dev/null 2>&1 || true
	@scripts/with "command -v chromium || command -v chromium-browser || command -v google-chrome" "install Chromium" \
		$(PYTHON) scripts/check_report.py

licences:
	@$(PYTHON) scripts/check_dependencies.py

text:
	@$(PYTHON) scripts/check_text.py
	@$(PYTHON) scripts/check_paper_to_code.py
	@$(PYTHON) scripts/check_docs.py
	@$(PYTHON) scripts/write_reference.py --check
	@$(PYTHON) scripts/write_benchmarks.py --check

test-long:
	cargo check --locked --release -p dirigent --no-default-features --target-dir target/no-default-features
	PROPTEST_CASES=$(CASES) cargo test --locked --release --workspace
	cargo test --locked --release --workspace -- --ignored
	cargo test --locked --release -p dirigent-cli --no-default-features -- an_address_needs
	scripts/test_python tools && TESTS=long scripts/test_python
	scripts/test_python notebooks

fuzz:
	@scripts/with "c++ --version" "install a C++ compiler" scripts/fuzz $(SECONDS)

soak:
	cargo build --locked --release
	@$(PYTHON) scripts/soak.py $(MINUTES)

bench:
	cargo bench --locked -p dirigent --bench sweep

bench-counts:
	bash crates/dirigent/benches/counts.sh

compare:
	@scripts/compare

# mdBook is installed into the target folder where there is none
book:
	@scripts/book

audit:
	@scripts/with "cargo deny --version" "cargo install cargo-deny --locked" cargo deny --workspace check

# the tools come from the Python package index; rustup adds the targets
ship-tools:
	@$(PYTHON) scripts/ship.py tools

wheels: ship-tools
	@$(PYTHON) scripts/ship.py wheels $(TARGETS)

binaries: ship-tools
	@$(PYTHON) scripts/ship.py binaries $(TARGETS)

sdist: ship-tools
	@$(PYTHON) scripts/ship.py sdist

# of what is in dist/
packages: ship-tools
	@$(PYTHON) scripts/check_shipped.py packages

installed:
	@$(PYTHON) scripts/check_shipped.py installed $(BINARY)

reproducible: ship-tools
	@$(PYTHON) scripts/check_shipped.py same $(TARGETS)

# before a release, and after a change of a format that has not been released
formats:
	cargo build --locked --release
	@$(PYTHON) scripts/keep_formats.py

release-check:
	@$(PYTHON) scripts/check_shipped.py release

release-notes:
	@$(PYTHON) scripts/check_shipped.py notes

publish-crates:
	@$(PYTHON) scripts/check_shipped.py publish

workflows:
	@scripts/with "node --version && npm --version || actionlint -version" "install actionlint, or Node with npm" $(PYTHON) scripts/check_workflows.py

# the systems that are not built here; their C code is compiled by zig, and nothing is linked
PORTABLE := x86_64-pc-windows-gnu aarch64-apple-darwin
portable: ship-tools
	@PATH="$${CARGO_TARGET_DIR:-target}/ship-tools/bin:$$PATH"; export PATH; for target in $(PORTABLE); do \
		scripts/with "rustup target add $$target" "rustup target add $$target" \
			cargo-zigbuild check --locked --release --package dirigent --package dirigent-cli --target $$target || exit 1; \
	done

oldest-rust:
	@scripts/with "rustup toolchain install $(OLDEST) --profile minimal" "install Rust $(OLDEST) by rustup" \
		cargo +$(OLDEST) check --locked --release --workspace --all-targets
OLDEST = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

measure:
	@$(PYTHON) scripts/measure_code.py

demo:
	cargo run --locked --release -- demo

.PHONY: help test tools format lint rust python readme licences browser text test-long fuzz soak bench bench-counts compare book audit measure demo \
	ship-tools wheels binaries sdist packages installed reproducible formats release-check release-notes publish-crates workflows portable oldest-rust
