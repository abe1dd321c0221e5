// What the binding is written with: arrays of NumPy as the kernels see them, with their element types,
// shapes and strides checked; and definitions that only name their arguments.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <initializer_list>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/view.hpp"
#include "count/strings.hpp"
#include "count/sparse.hpp"

namespace tb {

namespace nb = nanobind;

// ---- arrays --------------------------------------------------------------------------------------
// A contiguous array of N dimensions, which a kernel takes as a pointer.
template <class T, int N>
struct Array : nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu> {
    using Base = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
    using Base::Base;
    Array() = default;
    Array(Base base) : Base(std::move(base)) {}
    operator T*() const { return this->data(); }
    i64 shape(std::size_t axis) const { return static_cast<i64>(Base::shape(axis)); }
};

using In = nb::ndarray<nb::ro, nb::device::cpu>;  // of any type, order and number of dimensions
template <class T>
using InVector = Array<const T, 1>;
template <class T>
using InTable = Array<const T, 2>;
using Codes = InVector<i32>;
using Vector = InVector<double>;
using Table = InTable<double>;
using OutVector = Array<double, 1>;
using OutTable = Array<double, 2>;

template <class A>
inline constexpr bool is_written = false;
template <class T, int N>
inline constexpr bool is_written<Array<T, N>> = !std::is_const_v<T>;

// Where the numbers of an array are, null if it was not given.
template <class T, int N>
T* given(const std::optional<Array<T, N>>& a) {
    return a ? a->data() : nullptr;
}

inline void need(bool fine, const char* what) {
    if (!fine) throw std::invalid_argument(what);
}

// Compiled once, in module.cpp, and not into every function.
void need_sizes(std::initializer_list<i64> shape, const char* what, const std::int64_t* found);

template <class A>
void need_shape(std::initializer_list<i64> shape, const char* what, const A& a) {
    need_sizes(shape, what, a.shape_ptr());
}
template <class A>
void need_shape(std::initializer_list<i64> shape, const char* what, const std::optional<A>& a) {
    if (a) need_shape(shape, what, *a);
}
// Some arrays of one shape; those that were not given have any.
template <class... A>
void need(std::initializer_list<i64> shape, const char* what, const A&... arrays) {
    (need_shape(shape, what, arrays), ...);
}

using Weights = std::optional<Vector>;  // of rows; 1 where they are not given
inline const double* weights_of(const Weights& w, i64 n) {
    need({n}, "weights", w);
    return given(w);
}

// Whether all of n numbers are in least … size − 1.
template <class T>
bool within(const T* values, i64 n, i64 least, i64 size) {
    bool fine = true;
    for (i64 i = 0; i < n; ++i) fine &= values[i] >= least && values[i] < size;
    return fine;
}

inline void need_starts(const InVector<i64>& start, i64 d) {
    need({d + 1}, "start", start);
    bool rising = start[0] == 0;
    for (i64 j = 0; j < d; ++j) rising &= start[j] <= start[j + 1];
    if (!rising) throw nb::value_error("start must begin with 0 and never fall");
}

template <class T, int N>
std::vector<T> values_of(const Array<const T, N>& a) {
    return {a.data(), a.data() + a.size()};
}

// A vector as a numpy array, which keeps it alive.
template <class T, class Allocator>
nb::ndarray<nb::numpy, T, nb::ndim<1>> as_array(std::vector<T, Allocator> values) {
    using Kept = std::vector<T, Allocator>;
    auto* kept = new Kept(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Kept*>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner);
}
template <class... V>
nb::tuple as_arrays(V&&... vectors) {
    return nb::make_tuple(as_array(std::forward<V>(vectors))...);
}

// What a capsule of an Arrow stream holds.
inline ArrowArrayStream* stream_of(nb::handle capsule) {
    void* stream = PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream");
    if (!stream) throw nb::python_error();
    return static_cast<ArrowArrayStream*>(stream);
}

inline nb::object text_of(const char* utf8, std::size_t size) {
    PyObject* text = PyUnicode_DecodeUTF8(utf8, static_cast<Py_ssize_t>(size), nullptr);
    if (!text) throw nb::python_error();
    return nb::steal(text);
}

// What f() returns; other Python threads run meanwhile.
template <class F>
auto released(F&& f) {
    nb::gil_scoped_release release;
    return f();
}

// The loops of the instruction set in use.
const Loops& chosen_loops();

// ---- matrices of any element type ----------------------------------------------------------------
inline Type type_of(const In& a) {
    const std::pair<nb::dlpack::dtype, Type> types[] = {
        {nb::dtype<double>(), Type::f64},       {nb::dtype<float>(), Type::f32},
        {nb::dtype<i64>(), Type::i64_},         {nb::dtype<i32>(), Type::i32_},
        {nb::dtype<bool>(), Type::u8},          {nb::dtype<std::uint8_t>(), Type::u8},
        {nb::dtype<std::int8_t>(), Type::i8},   {nb::dtype<std::int16_t>(), Type::i16},
        {nb::dtype<std::uint16_t>(), Type::u16}, {nb::dtype<std::uint32_t>(), Type::u32},
        {nb::dtype<u64>(), Type::u64_}};
    for (const auto& [dtype, type] : types)
        if (a.dtype() == dtype) return type;
    throw nb::type_error("an array of real numbers of 8 to 64 bits is needed (floats: 32 or 64)");
}

inline Matrix matrix(const In& a) {
    const std::size_t dims = a.ndim();
    if (dims != 1 && dims != 2) throw nb::value_error("an array of one or two dimensions is needed");
    return Matrix{a.data(), type_of(a), static_cast<i64>(a.shape(0)),
                  dims == 2 ? static_cast<i64>(a.shape(1)) : 1, a.stride(0),
                  dims == 2 ? a.stride(1) : 1};
}

// A CSR or CSC matrix as numpy arrays. Sums and scores are compiled for the types of data that
// matrices mostly have, float64, float32 and int64, and what is rarely asked for is compiled for
// float64 alone; data of other types is copied as float64.
enum class Data { common, float64 };
template <Data Types>
struct Sparse {
    In indptr, indices, data;
    i64 major, minor;

    Sparse(const In& indptr_, const In& indices_, const In& data_, i64 major_, i64 minor_)
        : indptr(indptr_), indices(indices_), data(data_), major(major_), minor(minor_) {
        for (auto* a : {&indptr, &indices, &data})
            if (a->ndim() != 1 || (a->shape(0) > 1 && a->stride(0) != 1))
                throw nb::value_error("indptr, indices and data must be contiguous vectors");
        const Matrix values = matrix(data);
        if (values.type == Type::f64) return;
        if (Types == Data::common && (values.type == Type::f32 || values.type == Type::i64_)) return;
        std::vector<double> copy(static_cast<std::size_t>(values.n));
        with_type(values, [&](auto typed) { typed.read(0, typed.n, 0, copy.data(), 1); });
        data = nb::cast<In>(nb::cast(as_array(std::move(copy))));
    }
};

// Calls f(Compressed<T, I>) with the arrays typed.
template <Data Types, class F>
auto with_sparse(const Sparse<Types>& x, F&& f) {
    const Type index = type_of(x.indices);
    if (type_of(x.indptr) != index || (index != Type::i32_ && index != Type::i64_))
        throw nb::type_error("indptr and indices must both be int32 or both int64");
    if (static_cast<i64>(x.indptr.shape(0)) != x.major + 1)
        throw nb::value_error("indptr has the wrong length");
    auto run = [&](auto index_tag) {
        using I = decltype(index_tag);
        const I* indptr = static_cast<const I*>(x.indptr.data());
        const i64 stored = static_cast<i64>(x.data.shape(0));
        bool ordered = indptr[0] >= 0 && static_cast<i64>(indptr[x.major]) <= stored &&
                       x.indices.shape(0) >= x.data.shape(0);
        for (i64 i = 0; i < x.major; ++i) ordered &= indptr[i] <= indptr[i + 1];
        if (!ordered) throw nb::value_error("indptr is not a valid row pointer of this matrix");
        const auto typed = [&](auto tag) {
            using T = decltype(tag);
            return f(Compressed<T, I>{indptr, static_cast<const I*>(x.indices.data()),
                                      static_cast<const T*>(x.data.data()), x.major, x.minor});
        };
        if constexpr (Types == Data::common) {
            const Type type = type_of(x.data);
            if (type == Type::f32) return typed(float{});
            if (type == Type::i64_) return typed(i64{});
        }
        return typed(double{});
    };
    return index == Type::i32_ ? run(i32{}) : run(i64{});
}

// ---- definitions ---------------------------------------------------------------------------------
// def(where, name, f, "first second …"): a function of the module or a method of a class, and what its
// arguments are called; init<Types…>(class, names) a constructor. An array that is written to is taken as it is, since a copy would be written
// to in its place; what is optional may be None.

// Of functions that touch no Python object but the arrays they are given.
inline constexpr nb::call_guard<nb::gil_scoped_release> without_gil;

template <class... A>
struct Types {};
template <class R, class... A>
Types<A...> types_of(R (*)(A...));
template <class C, class R, class... A>
Types<A...> types_of(R (C::*)(A...));
template <class C, class R, class... A>
Types<A...> types_of(R (C::*)(A...) const);
template <class F>
auto types_of(F) -> decltype(types_of(&F::operator()));  // of a lambda
template <class Self, class... A>
Types<A...> but_the_first(Types<Self, A...>);

template <class A>
auto argument(const std::string& name, const A*) {
    if constexpr (is_written<A>) {
        auto as_it_is = nb::arg(name.c_str()).noconvert();
        return as_it_is;
    } else {
        return nb::arg(name.c_str());
    }
}
template <class A>
auto argument(const std::string& name, const std::optional<A>*) {
    auto or_none = argument(name, static_cast<const A*>(nullptr)).none();
    return or_none;
}

inline std::vector<std::string> words_of(const char* names, std::size_t n) {
    std::istringstream in(names);
    std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
    if (words.size() != n) throw std::logic_error(std::string("other arguments than ") + names);
    return words;
}
template <class Define, class... A, std::size_t... I>
void define(const char* names, const Define& with, Types<A...>, std::index_sequence<I...>) {
    const auto words = words_of(names, sizeof...(A));
    with(argument(words[I], static_cast<const std::decay_t<A>*>(nullptr))...);
}
template <class Define, class... A>
void define(const char* names, const Define& with, Types<A...> types) {
    define(names, with, types, std::index_sequence_for<A...>());
}

template <class F, class... Extra>
void def(nb::module_& m, const char* name, F f, const char* names, const Extra&... extra) {
    define(names, [&](auto... a) { m.def(name, f, a..., extra...); }, decltype(types_of(f))());
}
template <class T, class F, class... Extra>
void def(nb::class_<T>& c, const char* name, F f, const char* names, const Extra&... extra) {
    const auto with = [&](auto... a) { c.def(name, f, a..., extra...); };
    if constexpr (std::is_member_function_pointer_v<F>)
        define(names, with, decltype(types_of(f))());
    else
        define(names, with, decltype(but_the_first(types_of(f)))());
}
template <class T, class F, class... Extra>
void def_static(nb::class_<T>& c, const char* name, F f, const char* names, const Extra&... extra) {
    define(names, [&](auto... a) { c.def_static(name, f, a..., extra...); }, decltype(types_of(f))());
}
template <class... A, class T, class... Extra>
void init(nb::class_<T>& c, const char* names, const Extra&... extra) {
    define(names, [&](auto... a) { c.def(nb::init<A...>(), a..., extra...); }, Types<A...>());
}

}  // namespace tb

namespace nanobind::detail {

// Compiled once for each type of array, and not into every function.
template <class T, int N>
struct type_caster<tb::Array<T, N>> {
    using Array = tb::Array<T, N>;
    using General = make_caster<typename Array::Base>;
    NB_TYPE_CASTER(Array, General::Name)

    template <class Flags>
    bool from_python(handle source, Flags flags, cleanup_list* cleanup) noexcept {
        return read(value, source, flags, cleanup);
    }

private:
    template <class Flags>
    [[gnu::noinline]] static bool read(Array& value, handle source, Flags flags,
                                       cleanup_list* cleanup) noexcept {
        General caster;
        if (!caster.from_python(source, flags, cleanup)) return false;
        value = std::move(caster.value);
        return true;
    }
};

}  // namespace nanobind::detail
