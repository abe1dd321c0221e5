// Terms as NumPy's variable-width strings. Only NumPy's C API reads and writes them; the alternative, a
// Python string for each, takes six times as long.
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <nanobind/nanobind.h>
#include <numpy/arrayobject.h>

#include "bind/arrays.hpp"
#include "bind/modules.hpp"
#include "text/named_terms.hpp"
#include "text/unicode.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tb;

bool is_utf8(const u8* at, const u8* end) {
    while (at < end) {
        const u32 size = valid_size_at(at, end);
        if (!size) return false;
        at += size;
    }
    return true;
}

// Holds the allocator of a dtype, which locks it.
class Allocator {
public:
    explicit Allocator(PyArrayObject* array)
        : held_(NpyString_acquire_allocator(
              reinterpret_cast<PyArray_StringDTypeObject*>(PyArray_DESCR(array)))) {}
    Allocator(const Allocator&) = delete;
    Allocator& operator=(const Allocator&) = delete;
    ~Allocator() { NpyString_release_allocator(held_); }
    npy_string_allocator* get() const { return held_; }

private:
    npy_string_allocator* held_;
};

PyArrayObject* strings(const nb::object& given, const char* what) {
    // here, as `import tallybayes` does not import NumPy
    if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
    if (!PyArray_Check(given.ptr())) throw nb::type_error((std::string(what) + " must be an array").c_str());
    auto* array = reinterpret_cast<PyArrayObject*>(given.ptr());
    if (PyArray_TYPE(array) != NPY_VSTRING || PyArray_NDIM(array) != 1)
        throw nb::value_error((std::string(what) + " must be a vector of StringDType").c_str());
    return array;
}

NamedTermsView named(const InVector<u8>& bytes, const InVector<i64>& end) {
    const i64* at = end.data();
    if (!end.shape(0)) throw nb::value_error("there is an end more than terms");
    for (std::size_t i = 0; i < end.shape(0); ++i)
        if (at[i] < (i ? at[i - 1] : 0) || at[i] > static_cast<i64>(bytes.shape(0)))
            throw nb::value_error("terms must begin within the bytes, in order");
    return {bytes.data(), at, end.shape(0) - 1};
}

nb::object read_terms(nb::object terms) {
    PyArrayObject* array = strings(terms, "terms");
    const npy_intp n = PyArray_DIM(array, 0);
    std::vector<u8> bytes;
    std::vector<i64> end(1, 0);
    end.reserve(static_cast<std::size_t>(n) + 1);
    {
        const Allocator allocator(array);
        for (npy_intp i = 0; i < n; ++i) {
            const auto* packed = static_cast<npy_packed_static_string*>(PyArray_GETPTR1(array, i));
            npy_static_string text = {0, nullptr};
            if (NpyString_load(allocator.get(), packed, &text))  // −1 failed, 1 a missing value
                throw nb::value_error("a term is missing or cannot be read");
            bytes.insert(bytes.end(), text.buf, text.buf + text.size);
            end.push_back(static_cast<i64>(bytes.size()));
        }
    }
    return nb::make_tuple(as_array(std::move(bytes)), as_array(std::move(end)));
}

// out: an array of StringDType, one item a term
void write_terms(InVector<u8> bytes, InVector<i64> end, nb::object out) {
    PyArrayObject* array = strings(out, "out");
    const npy_intp n = static_cast<npy_intp>(end.shape(0)) - 1;
    if (PyArray_DIM(array, 0) != n || !PyArray_ISCARRAY(array))
        throw nb::value_error("out must be a new vector of StringDType, one item a term");
    named(bytes, end);
    const i64* at = end.data();
    const Allocator allocator(array);
    for (npy_intp i = 0; i < n; ++i) {
        const u8* text = bytes.data() + at[i];
        if (!is_utf8(text, bytes.data() + at[i + 1])) throw nb::value_error("a term is not UTF-8");
        auto* packed = static_cast<npy_packed_static_string*>(PyArray_GETPTR1(array, i));
        if (NpyString_pack(allocator.get(), packed, reinterpret_cast<const char*>(text),
                           static_cast<std::size_t>(at[i + 1] - at[i])))
            throw std::bad_alloc();
    }
}

}  // namespace

void bind_numpy_strings(nb::module_& m) {
    m.def("write_terms", &write_terms, "bytes"_a, "end"_a, "out"_a);
    m.def("read_terms", &read_terms, "terms"_a);
    m.def(
        "terms_ascend",
        [](InVector<u8> bytes, InVector<i64> end) { return ascend(named(bytes, end)); },
        "bytes"_a, "end"_a);
    m.def(
        "term_places",
        [](InVector<u8> bytes, InVector<i64> end, InVector<u8> others, InVector<i64> others_end) {
            TermPlaces found = places_of(named(bytes, end), named(others, others_end));
            return nb::make_tuple(as_array(std::move(found.place)), as_array(std::move(found.known)));
        },
        "bytes"_a, "end"_a, "others"_a, "others_end"_a);
}
