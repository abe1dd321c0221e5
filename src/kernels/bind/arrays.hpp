// numpy arrays as the kernels see them: element types, shapes and strides are checked here.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/view.hpp"
#include "count/sparse.hpp"

namespace tb {

namespace nb = nanobind;

using In = nb::ndarray<nb::ro, nb::device::cpu>;
template <class T>
using InVector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using InTable = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutVector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutTable = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// A vector as a numpy array, which keeps it alive.
template <class T, class Allocator>
nb::ndarray<nb::numpy, T, nb::ndim<1>> as_array(std::vector<T, Allocator> values) {
    using Vector = std::vector<T, Allocator>;
    auto* kept = new Vector(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Vector*>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner);
}

// The loops of the instruction set in use.
const Loops& chosen_loops();

inline Type type_of(const In& a) {
    const auto t = a.dtype();
    const auto code = static_cast<nb::dlpack::dtype_code>(t.code);
    using nb::dlpack::dtype_code;
    if (code == dtype_code::Float && t.bits == 64) return Type::f64;
    if (code == dtype_code::Float && t.bits == 32) return Type::f32;
    if (code == dtype_code::Bool && t.bits == 8) return Type::u8;
    if (code == dtype_code::Int || code == dtype_code::UInt) {
        const bool is_signed = code == dtype_code::Int;
        switch (t.bits) {
        case 8: return is_signed ? Type::i8 : Type::u8;
        case 16: return is_signed ? Type::i16 : Type::u16;
        case 32: return is_signed ? Type::i32_ : Type::u32;
        case 64: return is_signed ? Type::i64_ : Type::u64_;
        }
    }
    throw nb::type_error("an array of real numbers of 8 to 64 bits is needed (floats: 32 or 64)");
}

inline Matrix matrix(const In& a) {
    const std::size_t dims = a.ndim();
    if (dims != 1 && dims != 2) throw nb::value_error("an array of one or two dimensions is needed");
    return Matrix{a.data(), type_of(a), static_cast<i64>(a.shape(0)),
                  dims == 2 ? static_cast<i64>(a.shape(1)) : 1, a.stride(0),
                  dims == 2 ? a.stride(1) : 1};
}

template <class A>
void need(const A& a, std::size_t axis, i64 size, const char* what) {
    if (static_cast<i64>(a.shape(axis)) != size)
        throw nb::value_error((std::string(what) + " has the wrong length").c_str());
}

inline const double* weights_of(const std::optional<InVector<double>>& w, i64 n) {
    if (!w) return nullptr;
    need(*w, 0, n, "weights");
    return w->data();
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

inline void need_starts(const InVector<i64>& start, i64 d) {
    need(start, 0, d + 1, "start");
    const i64* at = start.data();
    bool rising = at[0] == 0;
    for (i64 j = 0; j < d; ++j) rising &= at[j] <= at[j + 1];
    if (!rising) throw nb::value_error("start must begin with 0 and never fall");
}

}  // namespace tb
