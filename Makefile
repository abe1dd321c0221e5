# make demo   an environment, the package, and the command line on two tables
# make test   the test tools, and every check
#
# Both work in .venv; `make clean` removes what they made. A change in the source or in
# pyproject.toml is installed before the next command runs; without one nothing is installed again.

PYTHON ?= python3
WORKERS ?= 2

.DELETE_ON_ERROR:
.PHONY: help demo examples test ready lint types layers sanitize unit laws bench clean
unexport PYTHONPATH PYTHONHOME

venv := .venv
python := $(venv)/bin/python
sanitized := build/sanitized

# A stamp carries a checksum of what was installed: a file that is changed, added or removed counts,
# a date does not.
state := $(shell find src CMakeLists.txt pyproject.toml README.md LICENSE -type f \
	! -path '*/__pycache__/*' | LC_ALL=C sort | xargs cksum | cksum | cut -d ' ' -f 1)

# what the demonstration and the examples need, and what the checks need besides
package := $(venv)/installed-$(state)
checks := $(venv)/tools-$(state)

help:
	@sed -n '1,5s/^# \{0,1\}//p' Makefile

demo: $(package)
	$(python) examples/demo.py

# the systems of the articles, one script each; their pictures go to build/pictures
examples: $(package)
	@set -e; for script in examples/[1-5]_*.py; do \
		echo "==== $$script"; $(python) $$script build/pictures; done

# Side by side first what is one process each: packages are downloaded while kernels compile, and the
# checks of the source run while the sanitized kernels do. The tests share themselves out.
test:
	+@$(MAKE) --no-print-directory -j $(WORKERS) ready lint types layers
	+@$(MAKE) --no-print-directory sanitize
	+@$(MAKE) --no-print-directory unit

ready: $(checks) $(sanitized)/made-$(state)

lint: $(checks)
	$(python) -m ruff check
	$(python) -m ruff format --check
	$(python) tools/check_docstrings.py

types: $(checks)
	$(python) -m mypy

layers: $(checks)
	$(venv)/bin/lint-imports

sanitize: $(checks) $(sanitized)/made-$(state)
	tools/sanitize.sh $(python) $(sanitized) -n $(WORKERS)

# -P: the tests import the installed package and nothing that happens to lie here
unit: $(checks)
	$(python) -P -m pytest -n $(WORKERS) --dist worksteal

# tallies and models under many thousands of random tables, other ones each time
EXAMPLES ?= 10000
laws: $(checks)
	TALLYBAYES_EXAMPLES=$(EXAMPLES) $(python) -P -m pytest -n $(WORKERS) --dist worksteal \
		--hypothesis-profile=long tests/tally $$(find tests -name 'test_laws*.py')

bench: $(checks)
	$(python) -m benchmarks speed

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

# ---- one environment, with the package as users get it ------------------------------------------
$(venv)/made:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; say which with: \
	make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv --clear $(venv)
	$(python) -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@touch $@

# a build directory of its own: an editable install of this checkout keeps its own
$(package): $(venv)/made
	@echo 'Installing tallybayes into $(venv); compiling takes a minute or two'
	@rm -f $(venv)/installed-* $(venv)/tools-*
	$(python) -m pip install --quiet --config-settings=build-dir=build/release '.[cli,duckdb,plots]'
	@touch $@

$(checks): $(package)
	$(python) -m pip install --quiet --group test
	@touch $@

# ---- the package once more, with sanitized kernels; for the same environment --------------------
# not stripped and with assertions, so that a report names lines
$(sanitized)/made-$(state): $(venv)/made
	@rm -rf $(sanitized)
	CMAKE_BUILD_PARALLEL_LEVEL=$(WORKERS) $(python) -m pip install --quiet --no-deps \
		--target $(sanitized) . \
		--config-settings=build-dir=build/sanitize \
		--config-settings=cmake.define.TALLYBAYES_SANITIZE=ON \
		--config-settings=cmake.build-type=Debug \
		--config-settings=install.strip=false
	@touch $@
