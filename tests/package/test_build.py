"""What a build asks for, and what the binding may use of Python."""

import re
import subprocess
import tomllib

import pytest
from abi3info import DATAS, FUNCTIONS, TYPEDEFS
from abi3info.models import PyVersion, Symbol

from package.tree import ROOT

KERNELS = ROOT / "src" / "kernels"
STABLE_FROM = PyVersion(3, 12)  # tool.scikit-build.wheel.py-api
# Macros of the limited API, which CPython's list does not hold, and a type.
TYPE_CHECKS = {f"Py{kind}_Check" for kind in ("Bool", "Bytes", "Float", "Long", "Tuple", "Unicode")}
MACROS = TYPE_CHECKS | {"Py_None", "Py_True", "Py_ssize_t"}


def names_of_python(source: str) -> set[str]:
    """Names of Python's C API in C++ source, without those of NumPy's, which has its own table."""
    code = re.sub(r"//.*|/\*.*?\*/", "", source)
    return {n for n in re.findall(r"\b_?Py[A-Za-z]*_\w+", code) if not n.startswith("PyArray_")}


def outside_the_stable_abi(names: set[str]) -> list[str]:
    """The names that are neither in CPython's list for the version of the wheel nor macros."""

    def is_stable(name: str) -> bool:
        known = [table.get(Symbol(name)) for table in (FUNCTIONS, DATAS, TYPEDEFS)]
        return any(entry is not None and entry.added <= STABLE_FROM for entry in known)

    return sorted(name for name in names - MACROS if not is_stable(name))


def test_the_binding_uses_the_stable_abi_alone():
    sources = [p for p in KERNELS.rglob("*") if p.suffix in (".hpp", ".cpp")]
    names = set().union(*(names_of_python(path.read_text()) for path in sources))
    assert "PyDict_GetItemWithError" in names
    assert outside_the_stable_abi(names) == []


@pytest.mark.parametrize(
    "call",
    [
        "PyTuple_GET_SIZE(p)",
        "PyTuple_GET_ITEM(p, 0)",
        "PyUnicode_READ_CHAR(p, 0)",
        "_PyLong_Sign(p)",
    ],
)
def test_a_call_outside_the_stable_abi_is_found(call):
    source = (KERNELS / "bind/rows.hpp").read_text()
    broken = source.replace("PyTuple_Size(p)", call, 1)
    assert broken != source
    assert outside_the_stable_abi(names_of_python(broken)) == [call.partition("(")[0]]


def test_the_stable_abi_is_that_of_the_wheel():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]
    assert settings["wheel"]["py-api"] == f"cp{STABLE_FROM.major}{STABLE_FROM.minor}"


FINE = {"SYSTEM": "Linux", "CXX": "g++", "ID": "GNU", "VERSION": "12.2.0", "POINTER_SIZE": "8"}


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({"CXX": "CMAKE_CXX_COMPILER-NOTFOUND"}, ["no C++ compiler was found", "apt install g++"]),
        ({"VERSION": "11.4.0"}, ["GNU 12 or newer", "this is GNU 11.4.0"]),
        ({"ID": "Clang", "VERSION": "13.0"}, ["Clang 14 or newer", "this is Clang 13.0"]),
        ({"POINTER_SIZE": "4"}, ["64-bit", "this build is for 32 bits"]),
        ({"SYSTEM": "Windows"}, ["this is Windows", "Subsystem for Linux"]),
        ({}, []),
        ({"ID": "Clang", "VERSION": "19.1"}, []),
    ],
    ids=lambda value: "-".join(value.values()) or "fine" if isinstance(value, dict) else "",
)
def test_a_build_that_cannot_succeed_says_what_to_do(found, told):
    definitions = [f"-D{name}={value}" for name, value in (FINE | found).items()]
    script = ROOT / "cmake" / "requirements.cmake"
    done = subprocess.run(
        ["cmake", *definitions, "-P", str(script)], capture_output=True, text=True, check=False
    )
    assert (done.returncode == 0) == (not told), done.stderr
    words = " ".join(done.stderr.split())
    assert all(part in words for part in told), words
