// Loops over rows of numbers that add up moments in double-double; see loops.hpp on what they may
// include. Rows are taken one by one with their columns as lanes: no sum depends on the width of a
// register.
//
// Every step keeps its rounding error (error-free transformations: Ogita, Rump and Oishi, "Accurate
// sum and dot product", SIAM J. Sci. Comput. 26(6), 2005, algorithms 3.1 to 3.5). The error of a
// product is itself a number, so a fused multiply-add and Dekker's splitting return the same bits.
#pragma once
#ifdef __FMA__
#include <immintrin.h>  // its functions are always inlined: none is emitted
#endif

namespace tb {
namespace TB_ISA {
namespace {

// ---- L doubles at a time ---------------------------------------------------------------------
template <class Wide, class Narrow>
struct Registers {
    typedef Wide type;
    static Wide read(const double* p) {
        Wide v;
        __builtin_memcpy(&v, p, sizeof v);
        return v;
    }
    static Wide read(const float* p) {
        Narrow v;
        __builtin_memcpy(&v, p, sizeof v);
        return __builtin_convertvector(v, Wide);
    }
    static void write(double* p, Wide v) { __builtin_memcpy(p, &v, sizeof v); }
    static Wide all(double x) { return x - Wide{}; }
};
typedef double double2 __attribute__((vector_size(16)));
typedef double double4 __attribute__((vector_size(32)));
typedef double double8 __attribute__((vector_size(64)));
typedef float float2 __attribute__((vector_size(8)));
typedef float float4 __attribute__((vector_size(16)));
typedef float float8 __attribute__((vector_size(32)));
template <int L>
struct Lanes;
template <>
struct Lanes<8> : Registers<double8, float8> {};
template <>
struct Lanes<4> : Registers<double4, float4> {};
template <>
struct Lanes<2> : Registers<double2, float2> {};
template <>
struct Lanes<1> {
    typedef double type;
    static double read(const double* p) { return *p; }
    static double read(const float* p) { return static_cast<double>(*p); }
    static void write(double* p, double v) { *p = v; }
    static double all(double x) { return x; }
};

// a·b − p, p = fl(a·b), exactly: by a fused multiply-add, or by Dekker's splitting at 2^27 + 1.
template <class V>
inline V product_error(V a, V b, V p) {
#ifdef __FMA__
    if constexpr (sizeof(V) == 8) return __builtin_fma(a, b, -p);
    if constexpr (sizeof(V) == 16) return _mm_fmsub_pd(a, b, p);
    if constexpr (sizeof(V) == 32) return _mm256_fmsub_pd(a, b, p);
#ifdef __AVX512F__
    if constexpr (sizeof(V) == 64) return _mm512_fmsub_pd(a, b, p);
#endif
#else
    const double split = 134217729.0;
    const V ta = split * a, ah = ta - (ta - a), al = a - ah;
    const V tb_ = split * b, bh = tb_ - (tb_ - b), bl = b - bh;
    return ((ah * bh - p) + ah * bl + al * bh) + al * bl;
#endif
}

// The error of s = fl(a + b).
template <class V>
inline V sum_error(V a, V b, V s) {
    const V t = s - a;
    return (a - (s - t)) + (b - t);
}

// ---- double-double ---------------------------------------------------------------------------
struct dd {
    double hi, lo;
};
inline dd two_sum(double a, double b) {
    const double s = a + b;
    return {s, sum_error(a, b, s)};
}
inline dd fast_two_sum(double a, double b) {
    const double s = a + b;
    return {s, b - (s - a)};
}
inline dd add(dd a, dd b) {
    dd s = two_sum(a.hi, b.hi), t = two_sum(a.lo, b.lo);
    s = fast_two_sum(s.hi, s.lo + t.hi);
    return fast_two_sum(s.hi, s.lo + t.lo);
}
inline dd multiply(dd a, dd b) {
    const double p = a.hi * b.hi;
    return fast_two_sum(p, product_error(a.hi, b.hi, p) + (a.hi * b.lo + a.lo * b.hi));
}

// ---- counting --------------------------------------------------------------------------------
// A sum of a chunk has three parts, `pad` cells apart: the sum itself, the rounding errors of its
// additions, and those of its terms. The errors stand apart because those of a far row's term are
// as large as the terms of ordinary rows, whose last places they would swallow.
template <int L, bool Inexact = true, bool Squares = false>
inline void add_term(typename Lanes<L>::type term, typename Lanes<L>::type rest, double* sum,
                     i64 pad) {
    using V = typename Lanes<L>::type;
    const V before = Lanes<L>::read(sum), after = before + term;
    Lanes<L>::write(sum, after);
    V error;
    if (Squares) {  // neither is negative: the larger is known, and half the steps will do (3.3)
        const V larger = before > term ? before : term, other = before > term ? term : before;
        error = other - (after - larger);
    } else {
        error = sum_error(before, term, after);
    }
    Lanes<L>::write(sum + pad, Lanes<L>::read(sum + pad) + error);
    if (Inexact) Lanes<L>::write(sum + 2 * pad, Lanes<L>::read(sum + 2 * pad) + rest);
}

// w(x−b) and w(x−b)² of L columns into the sums of a class; cells as of moments_rows. Without a
// shift b is 0, which gives the same bits.
template <int L, class T, bool Weighted, bool Shifted>
inline void moments_terms(const T* x, double weight, double* TB_RESTRICT cells, i64 pad) {
    using V = typename Lanes<L>::type;
    V t = Lanes<L>::read(x), rest{};
    if (Shifted) {
        const V value = t, shift = -Lanes<L>::read(cells);
        t = value + shift, rest = sum_error(value, shift, t);
    }
    if (Weighted) {
        const V w = Lanes<L>::all(weight), u = w * t;
        V u_rest = product_error(w, t, u);
        if (Shifted) u_rest += w * rest;
        const V square = u * t;
        V square_rest = product_error(u, t, square) + u_rest * t;
        if (Shifted) square_rest += u * rest;
        add_term<L>(u, u_rest, cells + pad, pad);
        add_term<L>(square, square_rest, cells + 4 * pad, pad);
    } else {
        const V square = t * t;
        constexpr bool exact = !Shifted && sizeof(T) == 4;  // the square of a float32 is a float64
        V square_rest{};
        if (!exact) square_rest = product_error(t, t, square);
        if (Shifted) {  // added as weight 1 adds them, which gives the same bits
            const V cross = t * rest;
            square_rest = square_rest + cross + cross;
        }
        add_term<L, Shifted>(t, rest, cells + pad, pad);
        add_term<L, !exact, true>(square, square_rest, cells + 4 * pad, pad);
    }
}

// The columns that whole registers of L lanes leave over, by ever narrower ones.
template <int L, class T, bool Weighted, bool Shifted>
inline void moments_row(const T* x, i64 j, i64 d, double weight, double* cells, i64 pad) {
    for (; j + L <= d; j += L)
        moments_terms<L, T, Weighted, Shifted>(x + j, weight, cells + j, pad);
    if constexpr (L > 1)
        if (j < d) moments_row<L / 2, T, Weighted, Shifted>(x, j, d, weight, cells, pad);
}

// Rows of a chunk into sums about each class's own shift b: S1 += w(x−b), S2 += w(x−b)². The cells
// of a class are b and the parts of S1 and S2, seven times `pad`. A row is fetched some 3 kB before
// it is read: the additions of a row take so long that the processor by itself looks ahead too late.
template <class T, bool Weighted>
void moments_rows(const T* x, i64 stride, i64 n, i64 d, i64 pad, const i32* slot,
                  const unsigned char* shifted, const double* w, double* cells) {
    constexpr i64 LINE = 64 / sizeof(T);
    const i64 ahead = (48 * LINE / d + 1) * stride;
    for (i64 i = 0; i < n; ++i, x += stride) {
        for (i64 j = 0; j < d; j += LINE) __builtin_prefetch(x + ahead + j);
        if (Weighted && w[i] == 0.0) continue;
        double* of_class = cells + static_cast<i64>(slot[i]) * (7 * pad);
        const double weight = Weighted ? w[i] : 1.0;
        if (shifted[slot[i]])
            moments_row<W, T, Weighted, true>(x, 0, d, weight, of_class, pad);
        else
            moments_row<W, T, Weighted, false>(x, 0, d, weight, of_class, pad);
    }
}

// One row of cross_rows: u·t_b of the columns b < end, u the weighted difference of column a.
template <int L>
inline void cross_row(double u, double u_rest, const double* t, const double* rest, i64 b, i64 end,
                      double* pairs, i64 size) {
    using V = typename Lanes<L>::type;
    for (; b + L <= end; b += L) {
        const V all = Lanes<L>::all(u), tb_ = Lanes<L>::read(t + b), product = all * tb_;
        const V error = product_error(all, tb_, product);
        add_term<L>(product,
                    error + (Lanes<L>::all(u_rest) * tb_ + all * Lanes<L>::read(rest + b)),
                    pairs + b, size);
    }
    if constexpr (L > 1)
        if (b < end) cross_row<L / 2>(u, u_rest, t, rest, b, end, pairs, size);
}

// Rows of a chunk into sums and products about each class's own shift b. The cells of a class are
// b (d), the parts of S1 (d each) and those of the lower triangle of S2, row by row; `apart` is room
// for 2·d numbers.
void cross_rows(const double* x, i64 n, i64 d, const i32* slot, const double* w, double* cells,
                double* apart) {
    const i64 size = d * (d + 1) / 2;
    double *t = apart, *rest = apart + d;
    for (i64 i = 0; i < n; ++i, x += d) {
        if (w && w[i] == 0.0) continue;
        const double weight = w ? w[i] : 1.0;
        double* of_class = cells + static_cast<i64>(slot[i]) * (4 * d + 3 * size);
        for (i64 j = 0; j < d; ++j) {
            t[j] = x[j] - of_class[j];
            rest[j] = sum_error(x[j], -of_class[j], t[j]);
        }
        double* pairs = of_class + 4 * d;
        for (i64 a = 0; a < d; pairs += ++a) {
            const double u = weight * t[a];
            const double u_rest = product_error(weight, t[a], u) + weight * rest[a];
            add_term<1>(u, u_rest, of_class + d + a, d);
            cross_row<W>(u, u_rest, t, rest, 0, a + 1, pairs, size);
        }
    }
}

// A sum of three parts. The error of a product is exact down to 2^-1022 only, below which it would
// depend on how it was found: what is near is left out.
inline dd whole_sum(const double* part, i64 pad) {
    const double terms = part[2 * pad];
    const bool tiny = terms < 0x1p-900 && terms > -0x1p-900;
    return add(two_sum(part[0], part[pad]), dd{tiny ? 0.0 : terms, 0.0});
}

// Adds the sums of a chunk (one class, d columns, weight n + n_lo), taken about its shift, to totals
// about `to`:  S1 += s1 + n·δ,  S2 += s2 + 2·δ·s1 + n·δ²,  δ = shift − to (exact as a double-double).
void moments_into(i64 d, double n, double n_lo, const double* TB_RESTRICT cells, i64 pad,
                  const double* TB_RESTRICT to, double* TB_RESTRICT t1h, double* TB_RESTRICT t1l,
                  double* TB_RESTRICT t2h, double* TB_RESTRICT t2l) {
    for (i64 j = 0; j < d; ++j) {
        const dd s1 = whole_sum(cells + pad + j, pad), s2 = whole_sum(cells + 4 * pad + j, pad);
        const dd delta = two_sum(cells[j], -to[j]);
        dd first = add(multiply(delta, dd{n, n_lo}), s1);
        dd second = add(multiply(add(first, s1), delta), s2);  // 2·s1 + n·δ is first + s1
        first = add(dd{t1h[j], t1l[j]}, first);
        second = add(dd{t2h[j], t2l[j]}, second);
        t1h[j] = first.hi, t1l[j] = first.lo;
        t2h[j] = second.hi, t2l[j] = second.lo;
    }
}

}  // namespace
}  // namespace TB_ISA
}  // namespace tb
