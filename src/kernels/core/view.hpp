// What a kernel sees of an array: element type, shape and strides. No copy, no Python object.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/memory.hpp"

namespace tb {

enum class Type { f64, f32, i8, i16, i32_, i64_, u8, u16, u32, u64_ };

struct Matrix {  // n rows, d columns; strides in elements
    const void* data;
    Type type;
    i64 n, d, row, column;
};

template <class T>
struct TypedMatrix {
    const T* data;
    i64 n, d, row, column;
    const T* at(i64 i, i64 j) const { return data + i * row + j * column; }
    double number(i64 i, i64 j) const { return static_cast<double>(*at(i, j)); }
    // Copies `rows` numbers of a column, or `columns` of a row, to every step-th place of `to`.
    void read(i64 i, i64 rows, i64 j, double* to, i64 step) const {
        const T* from = at(i, j);
        for (i64 r = 0; r < rows; ++r, from += row, to += step) *to = static_cast<double>(*from);
    }
    void read_row(i64 i, i64 columns, double* to) const {
        const T* from = at(i, 0);
        for (i64 j = 0; j < columns; ++j, from += column) to[j] = static_cast<double>(*from);
    }
};

// Calls f with the matrix typed. Every element type of numpy's real numbers is accepted.
template <class F>
decltype(auto) with_type(const Matrix& m, F&& f) {
    auto typed = [&](auto tag) {
        using T = decltype(tag);
        return TypedMatrix<T>{static_cast<const T*>(m.data), m.n, m.d, m.row, m.column};
    };
    switch (m.type) {
    case Type::f64: return f(typed(double{}));
    case Type::f32: return f(typed(float{}));
    case Type::i8: return f(typed(std::int8_t{}));
    case Type::i16: return f(typed(std::int16_t{}));
    case Type::i32_: return f(typed(i32{}));
    case Type::i64_: return f(typed(i64{}));
    case Type::u8: return f(typed(std::uint8_t{}));
    case Type::u16: return f(typed(std::uint16_t{}));
    case Type::u32: return f(typed(std::uint32_t{}));
    default: return f(typed(u64{}));
    }
}

// A matrix of whole numbers, which are read as float64: its element type is known to the function
// that copies some of them, so that what reads numbers is compiled once for all of these types.
struct WholeMatrix {
    const char* data;
    i64 n, d, row, column;  // strides in bytes
    void (*copy)(const char* from, i64 stride, i64 count, double* to, i64 step);

    double number(i64 i, i64 j) const {
        double value;
        copy(data + i * row + j * column, 0, 1, &value, 1);
        return value;
    }
    void read(i64 i, i64 rows, i64 j, double* to, i64 step) const {
        copy(data + i * row + j * column, row, rows, to, step);
    }
    void read_row(i64 i, i64 columns, double* to) const {
        copy(data + i * row, column, columns, to, 1);
    }
};

template <class M>
inline constexpr bool holds_floats = false;  // where they lie, as numbers of one type
template <class T>
inline constexpr bool holds_floats<TypedMatrix<T>> = std::is_floating_point_v<T>;

// Calls f with a matrix of floats typed, or with whole numbers of any type as one.
template <class F>
decltype(auto) with_numbers(const Matrix& m, F&& f) {
    if (m.type == Type::f64)
        return f(TypedMatrix<double>{static_cast<const double*>(m.data), m.n, m.d, m.row, m.column});
    if (m.type == Type::f32)
        return f(TypedMatrix<float>{static_cast<const float*>(m.data), m.n, m.d, m.row, m.column});
    return f(with_type(m, [&](auto typed) {
        using T = std::decay_t<decltype(*typed.data)>;
        constexpr i64 SIZE = sizeof(T);
        return WholeMatrix{static_cast<const char*>(m.data), m.n, m.d, m.row * SIZE, m.column * SIZE,
                           [](const char* from, i64 stride, i64 count, double* to, i64 step) {
                               for (i64 i = 0; i < count; ++i, from += stride, to += step)
                                   *to = static_cast<double>(*reinterpret_cast<const T*>(from));
                           }};
    }));
}

inline bool is_finite(double x) {
    return x >= -std::numeric_limits<double>::max() && x <= std::numeric_limits<double>::max();
}

// hi + lo += x, with the rounding error of the sum kept in lo.
inline void add_exactly(double& hi, double& lo, double x) {
    const double s = hi + x, t = s - hi;
    lo += (hi - (s - t)) + (x - t);
    hi = s;
}

// What a kernel found wrong with its input; the caller looks the place up and words the error.
enum Fault : int { FINE = 0, NOT_FINITE = 1, NEGATIVE = 2, NOT_INTEGER = 4, OUT_OF_RANGE = 8 };

// What the values of a matrix have to be.
enum class Demand { finite, non_negative };

inline int fault_of(double x, Demand demand) {
    if (!is_finite(x)) return NOT_FINITE;
    return demand == Demand::non_negative && x < 0 ? NEGATIVE : FINE;
}

}  // namespace tb
