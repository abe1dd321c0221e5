# make demo   an environment, the package, and the command line on two tables
# make test   the test tools, and every check
#
# Both work in .venv; `make clean` removes what they made. A change in the source or in
# pyproject.toml is installed before the next command runs; without one nothing is installed again.

PYTHON ?= python3
WORKERS ?= 2

.DELETE_ON_ERROR:
.NOTPARALLEL:
.PRECIOUS: %/made
.PHONY: help demo examples test lint types layers sanitize unit bench clean
unexport PYTHONPATH PYTHONHOME

venv := .venv
python := $(venv)/bin/python
sanitized := build/sanitize-venv

# A stamp carries a checksum of what was installed: a file that is changed, added or removed counts,
# a date does not.
state := $(shell find src CMakeLists.txt pyproject.toml README.md LICENSE -type f \
	! -path '*/__pycache__/*' | LC_ALL=C sort | xargs cksum | cksum | cut -d ' ' -f 1)
tools := $(shell cksum < pyproject.toml | cut -d ' ' -f 1)

help:
	@sed -n '1,5s/^# \{0,1\}//p' Makefile

demo: $(venv)/installed-$(state)
	$(python) examples/demo.py

# the systems of the articles, one script each; their pictures go to build/pictures
examples: $(venv)/installed-$(state)
	@set -e; for script in examples/[1-5]_*.py; do \
		echo "==== $$script"; $(python) $$script build/pictures; done

test: lint types layers sanitize unit

lint: $(venv)/installed-$(state) $(venv)/tools-$(tools)
	$(python) -m ruff check
	$(python) -m ruff format --check
	$(python) tools/check_docstrings.py

types: $(venv)/installed-$(state) $(venv)/tools-$(tools)
	$(python) -m mypy

layers: $(venv)/installed-$(state) $(venv)/tools-$(tools)
	$(venv)/bin/lint-imports

sanitize: $(sanitized)/installed-$(state) $(sanitized)/tools-$(tools)
	tools/sanitize.sh $(sanitized)/bin/python -n $(WORKERS)

# -P: the tests import the installed package and nothing that happens to lie here
unit: $(venv)/installed-$(state) $(venv)/tools-$(tools)
	$(python) -P -m pytest -n $(WORKERS) --dist loadgroup

bench: $(venv)/installed-$(state) $(venv)/tools-$(tools)
	$(python) -m benchmarks speed

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

# ---- environments: one with the package as users get it, one with sanitized kernels -------------
%/made:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; say which with: \
	make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv --clear $*
	$*/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@touch $@

%/installed-$(state): %/made
	@echo 'Installing tallybayes into $*; compiling takes a minute or two'
	@rm -f $*/installed-*
	$*/bin/python -m pip install --quiet $(settings) '.[cli,duckdb,plots]'
	@touch $@

%/tools-$(tools): %/made
	@rm -f $*/tools-*
	$*/bin/python -m pip install --quiet --group test
	@touch $@

# build directories of their own: an editable install of this checkout keeps its own
$(venv)/installed-$(state): settings = --config-settings=build-dir=build/release

# not stripped and with assertions, so that a report names lines
$(sanitized)/installed-$(state): settings = \
	--config-settings=build-dir=build/sanitize \
	--config-settings=cmake.define.TALLYBAYES_SANITIZE=ON \
	--config-settings=cmake.build-type=Debug \
	--config-settings=install.strip=false
