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
	cargo test --locked --release --workspace --features dirigent-cli/object-store -- remote objects_of_a_store
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

measure:
	@$(PYTHON) scripts/measure_code.py

demo:
	cargo run --locked --release -- demo

.PHONY: help test tools format lint rust python readme licences browser text test-long fuzz soak bench bench-counts compare book audit measure demo
