# make demo   an environment, the package, and the command line on two tables
# make test   the test tools, and every check
# make wheel  the source distribution and wheels, checked, and tried on each Python of this machine
#
# These work in .venv; `make clean` removes what they made. A change in the source or in
# pyproject.toml is installed before the next command runs; without one nothing is installed again.

PYTHON ?= python3
WORKERS ?= 2

.DELETE_ON_ERROR:
.PHONY: help demo examples test ready lint types layers sanitize unit laws bench clean
.PHONY: compilers mutants wheel workflows lowest test-lowest test-newest docs docs-open docs-check docs-look links attack
# without bytecode each of the many processes of the tests compiles all that it imports
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE

venv := .venv
python := $(venv)/bin/python
sanitized := build/sanitized
clang := build/clang

# A stamp carries a checksum of what was installed: a file that is changed, added or removed counts,
# a date does not.
state := $(shell find src cmake CMakeLists.txt pyproject.toml README.md LICENSE LICENSES -type f \
	! -path '*/__pycache__/*' | LC_ALL=C sort | xargs cksum | cksum | cut -d ' ' -f 1)

# what the demonstration and the examples need, and what the checks need besides
package := $(venv)/installed-$(state)
checks := $(venv)/tools-$(state)
site := $(venv)/site-$(state)
wheels := build/wheels/$(state)

# nothing is compiled to bytecode before it is imported: most modules of a library never are
pip := -m pip --disable-pip-version-check
install := $(pip) install --quiet --no-compile

help:
	@sed -n '1,6s/^# \{0,1\}//p' Makefile

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
	$(python) tools/check_types.py

layers: $(checks)
	$(venv)/bin/lint-imports

sanitize: $(checks) $(sanitized)/made-$(state)
	tools/sanitize.sh $(python) $(sanitized) -n $(WORKERS)

# the kernels by clang, too: the same bits in every kernel test
compilers: $(checks) $(clang)/made-$(state)
	$(python) -P tools/same_bits.py $(clang) -n $(WORKERS)

# faults, planted one at a time in a copy of the source: an hour or more
mutants: $(checks)
	$(python) $(install) --group mutants
	$(python) tools/mutants.py --workers $(WORKERS) $(MUTANTS)

wheel: $(venv)/made
	$(python) $(install) --group wheel
	$(python) tools/wheel.py $(PYTHONS)

# offline: the schemas of workflows, issue forms and the citation, what workflows may do, and which
# wheels would be built
workflows: $(venv)/made
	$(python) $(install) --group workflows
	$(venv)/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(venv)/bin/check-jsonschema --builtin-schema vendor.github-issue-forms \
		$(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	$(venv)/bin/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(venv)/bin/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(venv)/bin/zizmor --offline .github/workflows
	for platform in linux macos; do \
		$(venv)/bin/cibuildwheel --print-build-identifiers --platform $$platform || exit 1; done

# -P: the tests import the installed package and nothing that happens to lie here
unit: $(checks)
	$(python) -P -m pytest -n $(WORKERS) --dist worksteal

# tallies and models under many thousands of random tables, other ones each time
EXAMPLES ?= 10000
laws: $(checks)
	TALLYBAYES_EXAMPLES=$(EXAMPLES) $(python) -P -m pytest -n $(WORKERS) --dist worksteal \
		--hypothesis-profile=long tests/tally $$(find tests -name 'test_laws*.py')

# what strangers may send to the service: requests that Schemathesis makes, and bandit on its source
attack: $(checks)
	$(python) $(install) --group attack
	$(python) -m bandit -q -r src/tallybayes/serve
	$(python) -P -m pytest tests/serve -n 0

bench: $(checks)
	$(python) -m benchmarks speed

# the documentation, in English and Chinese, in build/docs; its search needs a server
docs: $(site)
	$(python) tools/docs.py build

docs-open: docs
	$(python) tools/docs.py serve

# what only a build shows: a broken page fails with its file and line
docs-check: docs $(checks)
	$(python) -P -m pytest tests/documentation

# its pages in a browser: nothing that fails, scrolls sideways or is closed to a screen reader
docs-look: docs
	$(python) $(install) --group docs-look
	$(python) tools/docs_look.py

# every address outside, with the files that name it; nothing is fetched
links:
	$(PYTHON) tools/docs.py links

clean:
	rm -rf .venv .venv-lowest .venv-newest build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

# ---- one environment, with the package as users get it ------------------------------------------
$(venv)/made:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; say which with: \
	make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv --clear $(venv)
	$(venv)/bin/python $(install) --upgrade 'pip>=25.1'
	@touch $@

# A wheel that was built of the same source is installed again without a compiler. Its build directory
# is one of its own: an editable install of this checkout keeps another.
$(package): $(venv)/made
	@rm -f $(venv)/installed-* $(venv)/tools-* $(venv)/site-*
	@ls $(wheels)/*.whl > /dev/null 2>&1 || { \
		echo 'Compiling tallybayes takes a minute or two'; \
		$(python) $(pip) wheel --quiet --no-deps --wheel-dir $(wheels) \
			--config-settings=build-dir=build/release .; }
	$(python) $(install) --force-reinstall --no-deps $(wheels)/*.whl
	$(python) $(install) "$$(ls $(wheels)/*.whl)[cli,duckdb,plots]"
	@touch $@

$(site): $(package)
	$(python) $(install) "$$(ls $(wheels)/*.whl)[cli,duckdb,onnx,plots,report,sql]"
	$(python) $(install) --group docs
	@touch $@

$(checks): $(package)
	$(python) $(install) --group test
	@touch $@

# ---- the package once more, with sanitized kernels; for the same environment --------------------
# not stripped and with assertions, so that a report names lines
$(sanitized)/made-$(state): $(venv)/made
	@rm -rf $(sanitized)
	CMAKE_BUILD_PARALLEL_LEVEL=$(WORKERS) $(python) $(install) --no-deps --target $(sanitized) . \
		--config-settings=build-dir=build/sanitize \
		--config-settings=cmake.define.TALLYBAYES_SANITIZE=ON \
		--config-settings=cmake.build-type=Debug \
		--config-settings=install.strip=false
	@touch $@

# ---- the package with kernels by clang; for the same environment --------------------------------
$(clang)/made-$(state): $(venv)/made
	@rm -rf $(clang)
	@command -v clang++ > /dev/null || { echo 'clang++ is needed: apt install clang'; exit 1; }
	CXX=clang++ CXXFLAGS=-Werror $(python) $(install) --no-deps --target $(clang) . \
		--config-settings=build-dir=build/clang-objects
	@touch $@

# ---- the tests elsewhere: the oldest versions that pyproject.toml allows, and the newest Python ----
lowest := .venv-lowest
newest := .venv-newest

# pins the oldest versions, and what they need; a pin that is there stays while it fits
lowest: $(venv)/made
	$(python) $(install) --group lowest
	$(venv)/bin/uv pip compile --quiet pyproject.toml --all-extras --group test \
		--resolution lowest-direct --python-version 3.11 --no-annotate \
		--custom-compile-command 'make lowest' -o tools/lowest.txt

test-lowest:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'
	$(PYTHON) -m venv --clear $(lowest)
	$(lowest)/bin/python $(install) --upgrade 'pip>=25.1'
	$(lowest)/bin/python $(install) --constraint tools/lowest.txt '.[cli,duckdb,excel,plots,report,remote,postgres,spark,sql]'
	$(lowest)/bin/python $(install) --constraint tools/lowest.txt --group test
	$(lowest)/bin/python -P -m pytest -n $(WORKERS) --dist worksteal

# from the wheel that `make wheel` left in dist/
test-newest:
	$$($(PYTHON) tools/pythons.py newest | cut -d ' ' -f 2) -m venv --clear $(newest)
	$(newest)/bin/python $(install) --upgrade 'pip>=25.1'
	$(newest)/bin/python $(install) "$$(ls dist/*abi3*.whl)" --group test
	$(newest)/bin/python -P -m pytest -n $(WORKERS) --dist worksteal
