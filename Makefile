# The promise of the repository: on a machine with Python 3.11 or newer and nothing else,
# `make demo` shows the tool at work and `make test` passes the tests.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
FOR_DEVELOPMENT := $(VENV)/.installed-dev

.PHONY: demo test test-lowest test-newest lint types check clean

demo: $(INSTALLED)
	$(BIN)/stt-ru evaluate fixtures/demo/eval.csv -m tiny-ru -o build/demo.json --offline
	@echo
	@echo 'Дальше:'
	@echo '  $(BIN)/stt-ru evaluate ВАШ_МАНИФЕСТ.csv -m tiny-ru        – тот же замер на своих записях (модель демонстрационная)'
	@echo '  $(BIN)/stt-ru evaluate ВАШ_МАНИФЕСТ.csv -o report.json    – с моделью GigaAM-v3, она скачается с Hugging Face'
	@echo '  $(BIN)/stt-ru evaluate --help                              – все параметры; описание в docs/'

test: $(FOR_DEVELOPMENT)
	$(BIN)/python -m pytest -q

test-lowest test-newest: test-%:
	PYTHON='$(PYTHON)' bash .ci/test-versions $*

lint: $(FOR_DEVELOPMENT)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(FOR_DEVELOPMENT)
	$(BIN)/mypy

check: lint types test

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'Нужен Python 3.11 или новее; укажите его: make PYTHON=python3.12' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	@mkdir -p build
	@touch $@

$(FOR_DEVELOPMENT): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) .venv-lowest .venv-newest build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
