// Terms as NumPy's variable-width strings. Only NumPy's C API writes them; the alternative, a Python
// string for each, takes six times as long.
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <nanobind/nanobind.h>
#include <numpy/arrayobject.h>

#include "bind/arrays.hpp"
#include "bind/modules.hpp"
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

// out: an array of StringDType, one item a term
void write_terms(InVector<u8> bytes, InVector<i64> end, nb::object out) {
    // here, as `import tallybayes` does not import NumPy
    if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
    if (!PyArray_Check(out.ptr())) throw nb::type_error("out must be an array");
    auto* array = reinterpret_cast<PyArrayObject*>(out.ptr());
    const npy_intp n = static_cast<npy_intp>(end.shape(0)) - 1;
    if (PyArray_TYPE(array) != NPY_VSTRING || PyArray_NDIM(array) != 1 || PyArray_DIM(array, 0) != n ||
        !PyArray_ISCARRAY(array))
        throw nb::value_error("out must be a new array of StringDType, one item a term");
    const i64* at = end.data();
    for (npy_intp i = 0; i < n; ++i)
        if (at[i] < 0 || at[i + 1] < at[i] || at[i + 1] > static_cast<i64>(bytes.shape(0)))
            throw nb::value_error("terms must begin within the bytes, in order");
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
}
