# Two commands do everything: `make demo` and `make test`.
SHELL := /bin/sh
BIN := .venv/bin
export HF_HUB_OFFLINE := 1
export DO_NOT_TRACK := 1

.PHONY: help setup demo test test-fast check lint requirements clean

help: ## Show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | sort

setup: .venv/.ready ## Make the environment in .venv

.venv/.ready: requirements/all.txt requirements/uv.txt pyproject.toml scripts/setup.sh
	@sh scripts/setup.sh

demo: setup ## Build the three demo conversations and their benchmark
	-@$(BIN)/python -m pipeline.demo # without a network the demo that is in the repository is built all the same
	@$(BIN)/rescue build
	@echo
	@echo "Look at it:   $(BIN)/rescue status        what was made, and why something was not"
	@echo "              $(BIN)/rescue ui            the steps as a picture, in the browser"
	@echo "              data/conversations/         turns, subtitles, rows of each conversation"
	@echo "              data/benchmark/             the tables; for example"
	@echo "  $(BIN)/python -c \"import pyarrow.parquet as pq; print(pq.read_table('data/benchmark/rpp/test.parquet', columns=['row_index', 'label']).to_pandas())\""

test: setup check ## Lint, check types, and run all tests
	-@$(BIN)/python -m pipeline.demo
	@$(BIN)/pytest -n auto --dist loadscope -q --ignore tests/review_ui
	@$(BIN)/pytest -n auto --dist loadfile -q tests/review_ui # apart: the browser's driver keeps an event loop running

test-fast: setup ## Only the tests that take seconds
	@$(BIN)/pytest -n auto -q -m "not slow" --ignore tests/review_ui

check: setup ## Lint, formatting and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy

requirements: ## Pin again what pyproject.toml asks for
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header pyproject.toml -o requirements/core.txt
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --all-extras pyproject.toml -o requirements/all.txt
	for name in uv ffmpeg demo; do uv pip compile -q --no-deps --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header requirements/$$name.in -o requirements/$$name.txt; done

clean: ## Remove test and lint caches; data/ is yours and stays
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
