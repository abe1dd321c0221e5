// One row at a time, from a Python dict: its values, and what the counter and the scorer of rows share.
//
// These files hold Python objects (names, levels, labels) and so live beside the binding, not among
// the kernels. A row is read in full before anything is counted, so that a refused row counts nowhere.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "bind/arrays.hpp"

namespace tb {

inline const double MISSING = std::numeric_limits<double>::quiet_NaN();
// UNDECIDED: the first value decides; EITHER: numbers and strings side by side
enum Holds : int { TEXTS = 0, NUMBERS = 1, UNDECIDED = 2, IGNORED = 3, EITHER = 4 };
enum Least : int { ANY = 0, NOT_NEGATIVE = 1, POSITIVE = 2 };
enum Dates : int { UNKNOWN = 0, PLAIN = 1, DATES = 2, ANY_DATES = 3 };

// A value as a number, a string or a missing value. `convert` turns what is none of Python's own
// scalars (a numpy scalar, a Decimal) into one of them, and a date into its number in a tuple;
// `as_text` names any of them as a level. `source` is borrowed from the row.
struct Value {
    enum What { missing, number, text } what = missing;
    bool is_date = false;
    double number_value = 0.0;
    nb::object text_value;
    nb::handle source;
};

// Both run Python, and so may other calls before they return: `busy` tells that.
struct Reader {
    nb::object convert, as_text;
    mutable bool busy = false;

    nb::object called(const nb::object& function, nb::handle x) const {
        struct Busy {
            bool& flag;
            explicit Busy(bool& f) : flag(f) { flag = true; }
            ~Busy() { flag = false; }
        } const here(busy);
        return function(x);
    }

    Value read(nb::handle x, int depth = 0) const {
        Value value;
        value.source = x;
        PyObject* p = x.ptr();
        if (!p || p == Py_None) return value;
        if (PyUnicode_Check(p)) {
            value.what = Value::text;
            value.text_value = nb::borrow(x);
        } else if (PyBool_Check(p)) {
            value.what = Value::text;
            value.text_value = called(as_text, x);
        } else if (PyFloat_Check(p)) {
            value.number_value = PyFloat_AsDouble(p);
            if (value.number_value == value.number_value) value.what = Value::number;
        } else if (PyLong_Check(p)) {
            value.number_value = PyLong_AsDouble(p);
            if (value.number_value == -1.0 && PyErr_Occurred()) {
                PyErr_Clear();
                throw nb::value_error("the row holds a whole number too large for float64");
            }
            value.what = Value::number;
        } else if (depth == 0) {
            const nb::object converted = called(convert, x);
            value = read(converted, 1);
            value.source = x;
        } else if (PyTuple_Check(p) && PyTuple_Size(p) == 1) {
            value = read(PyTuple_GetItem(p, 0), 2);
            value.is_date = true;
        } else {
            throw nb::type_error("a row holds numbers, strings, booleans, dates, missing values");
        }
        return value;
    }
    // a value as a level; `made` holds it where it was none
    nb::handle text_of(const Value& value, nb::object& made) const {
        if (value.what == Value::text) return value.text_value;
        made = called(as_text, value.source);
        return made;
    }
};

[[noreturn]] inline void refuse(const nb::object& column, const std::string& what) {
    const std::string name = nb::cast<std::string>(nb::str(column));
    throw nb::value_error(("column '" + name + "' of the row holds " + what).c_str());
}

inline i64 rank_of(nb::dict& ranks, nb::handle key, std::vector<nb::object>& order) {
    PyObject* found = PyDict_GetItemWithError(ranks.ptr(), key.ptr());
    if (found) return PyLong_AsLong(found);
    if (PyErr_Occurred()) throw nb::python_error();
    const i64 rank = static_cast<i64>(order.size());
    ranks[key] = nb::int_(rank);
    order.push_back(nb::borrow(key));
    return rank;
}

inline nb::list list_of(const std::vector<nb::object>& items) {
    nb::list list;
    for (auto& item : items) list.append(item);
    return list;
}

// whether a row has keys that are not strings, and the row with strings for them
inline bool has_other_keys(const nb::dict& row) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(row.ptr(), &at, &key, &value))
        if (!PyUnicode_Check(key)) return true;
    return false;
}

inline nb::dict with_text_keys(const nb::dict& row) {
    nb::dict named;
    for (auto [key, value] : row) named[nb::str(key)] = value;
    if (named.size() != row.size())
        throw nb::value_error("two keys of the row are the same as text: use strings for keys");
    return named;
}

inline nb::handle value_at(nb::dict& row, nb::handle name) {
    PyObject* found = PyDict_GetItemWithError(row.ptr(), name.ptr());
    if (!found && PyErr_Occurred()) throw nb::python_error();
    return found;
}

}  // namespace tb
