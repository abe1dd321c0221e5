// Documents from Python, as views of UTF-8 that what they come from keeps alive; and lists of strings.
#pragma once
#include <memory>
#include <vector>

#include "bind/arrays.hpp"
#include "count/strings.hpp"
#include "text/rows.hpp"

namespace tb {

// Of Python's bytes.
inline std::vector<std::string> strings_of(const nb::list& items) {
    std::vector<std::string> out;
    for (nb::handle item : items) {
        char* at = nullptr;
        Py_ssize_t size = 0;
        if (PyBytes_AsStringAndSize(item.ptr(), &at, &size)) throw nb::python_error();
        out.emplace_back(at, static_cast<std::size_t>(size));
    }
    return out;
}

// As Python has it: −1 for none.
inline i64 fault_number(std::size_t fault) { return fault == NO_FAULT ? -1 : static_cast<i64>(fault); }

class TextDocuments {
public:
    std::vector<TextView> views;
    i64 refused = -1;  // the first item that is neither text nor bytes, or is not valid Unicode

    // Strings are read where they are if they are ASCII; others are encoded for as long as this lives.
    explicit TextDocuments(const nb::list& items) : kept_(nb::tuple(items)) {
        const std::size_t n = nb::len(kept_);
        views.reserve(n);
        for (std::size_t i = 0; i < n; ++i) {
            PyObject* item = PyTuple_GetItem(kept_.ptr(), static_cast<Py_ssize_t>(i));
            if (!(PyUnicode_Check(item) ? add_string(item) : add_bytes(item))) {
                refused = static_cast<i64>(i);
                return;
            }
        }
    }

    // A column of strings or of binary values.
    explicit TextDocuments(ArrowArrayStream* stream) : column_(std::make_unique<ArrowColumn>(stream)) {
        const std::string& f = column_->format;
        views.reserve(static_cast<std::size_t>(column_->rows()));
        for (auto& chunk : column_->chunks) {
            if (f == "u" || f == "z")
                add_joined<i32>(chunk);
            else if (f == "U" || f == "Z")
                add_joined<i64>(chunk);
            else if (f == "vu" || f == "vz")
                add_views(chunk);
            else
                throw nb::type_error("a column of strings is needed");
            if (refused >= 0) return;
        }
    }

private:
    bool add_string(PyObject* item) {
        nb::object is_ascii = nb::steal(PyObject_CallMethod(item, "isascii", nullptr));
        if (!is_ascii.is_valid()) throw nb::python_error();
        Py_ssize_t size = 0;
        if (is_ascii.ptr() == Py_True) {
            const char* at = PyUnicode_AsUTF8AndSize(item, &size);
            if (!at) throw nb::python_error();
            views.push_back({at, static_cast<std::size_t>(size)});
            return true;
        }
        nb::object bytes = nb::steal(PyUnicode_AsUTF8String(item));
        if (!bytes.is_valid()) {  // a lone surrogate
            PyErr_Clear();
            return false;
        }
        add_bytes(bytes.ptr());
        encoded_.push_back(std::move(bytes));
        return true;
    }
    bool add_bytes(PyObject* item) {
        if (!PyBytes_Check(item)) return false;
        char* at = nullptr;
        Py_ssize_t size = 0;
        if (PyBytes_AsStringAndSize(item, &at, &size)) throw nb::python_error();
        views.push_back({at, static_cast<std::size_t>(size)});
        return true;
    }
    bool add_view(const ArrowArray& chunk, i64 i, const char* at, i64 size) {
        if (!is_valid(chunk, i)) {
            refused = static_cast<i64>(views.size());
            return false;
        }
        views.push_back({at, static_cast<std::size_t>(size)});
        return true;
    }
    template <class Offset>
    void add_joined(const ArrowArray& chunk) {
        if (!chunk.length) return;
        const Offset* begin = static_cast<const Offset*>(chunk.buffers[1]) + chunk.offset;
        const char* bytes = static_cast<const char*>(chunk.buffers[2]);
        for (i64 i = 0; i < chunk.length; ++i)
            if (!add_view(chunk, i, bytes + begin[i], begin[i + 1] - begin[i])) return;
    }
    void add_views(const ArrowArray& chunk) {
        struct View {
            i32 size;
            char start[4];
            i32 buffer, offset;
        };
        const View* view = static_cast<const View*>(chunk.buffers[1]) + chunk.offset;
        for (i64 i = 0; i < chunk.length; ++i) {
            const char* at =
                view[i].size <= 12
                    ? view[i].start
                    : static_cast<const char*>(chunk.buffers[2 + view[i].buffer]) + view[i].offset;
            if (!add_view(chunk, i, at, view[i].size)) return;
        }
    }

    nb::object kept_;
    std::vector<nb::object> encoded_;
    std::unique_ptr<ArrowColumn> column_;
};

}  // namespace tb
