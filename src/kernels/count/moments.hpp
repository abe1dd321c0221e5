// Arithmetic of moment totals, cell by cell in double-double: S1 = Σw(x−c), S2 = Σw(x−c)².
// Plain loops: these run once a call, not once a row.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/view.hpp"

namespace tb {

struct Double2 {
    double hi, lo;
};
inline Double2 quick(double a, double b) {
    const double s = a + b;
    return {s, b - (s - a)};
}
inline Double2 exact_sum(double a, double b) {
    const double s = a + b, t = s - a;
    return {s, (a - (s - t)) + (b - t)};
}
inline Double2 operator+(Double2 a, Double2 b) {
    Double2 s = exact_sum(a.hi, b.hi), t = exact_sum(a.lo, b.lo);
    s = quick(s.hi, s.lo + t.hi);
    return quick(s.hi, s.lo + t.lo);
}
inline Double2 operator-(Double2 a) { return {-a.hi, -a.lo}; }
inline Double2 operator*(Double2 a, Double2 b) {
    const double p = a.hi * b.hi;
    return quick(p, std::fma(a.hi, b.hi, -p) + (a.hi * b.lo + a.lo * b.hi));
}
inline Double2 operator/(Double2 a, Double2 b) {
    const double q = a.hi / b.hi;
    const Double2 r = a + -(b * Double2{q, 0.0});
    return quick(q, (r.hi + r.lo) / b.hi);
}

// A sum in three parts, as of add_term in loops_moments.hpp.
inline Double2 whole_sum(const double* part, i64 pad) {
    const double terms = std::fabs(part[2 * pad]) < 0x1p-900 ? 0.0 : part[2 * pad];
    return exact_sum(part[0], part[pad]) + Double2{terms, 0.0};
}

template <class T>
struct MomentTotals {  // arrays (cells,); T is const double where they are only read
    T *n_hi, *s1_hi, *s1_lo, *s2_hi, *s2_lo, *n_lo;
    // the same from cell i on, to be read
    MomentTotals<const T> part(i64 i) const {
        return {n_hi + i, s1_hi + i, s1_lo + i, s2_hi + i, s2_lo + i, n_lo + i};
    }
    Double2 n(i64 i) const { return {n_hi[i], n_lo[i]}; }
    Double2 s1(i64 i) const { return {s1_hi[i], s1_lo[i]}; }
    Double2 s2(i64 i) const { return {s2_hi[i], s2_lo[i]}; }
    void set_n(i64 i, Double2 a) const { n_hi[i] = a.hi, n_lo[i] = a.lo; }
    void set_s1(i64 i, Double2 a) const { s1_hi[i] = a.hi, s1_lo[i] = a.lo; }
    void set_s2(i64 i, Double2 a) const { s2_hi[i] = a.hi, s2_lo[i] = a.lo; }
    void set(i64 i, Double2 a, Double2 b) const { set_s1(i, a), set_s2(i, b); }
};

// a · 1, bit for bit, without the call that fma is on some machines
inline Double2 times_one(Double2 a) { return quick(a.hi, 0.0 + (a.hi * 0.0 + a.lo)); }

// to += factor · from, both about the same origin.
inline void add_moments(const MomentTotals<double>& to, const MomentTotals<const double>& from,
                        double factor, i64 cells) {
    const Double2 f{factor, 0.0};
    auto add = [&](auto scaled) {
        for (i64 i = 0; i < cells; ++i) {
            to.set_n(i, to.n(i) + scaled(from.n(i)));
            to.set(i, to.s1(i) + scaled(from.s1(i)), to.s2(i) + scaled(from.s2(i)));
        }
    };
    if (factor == 1.0) add(times_one);
    else add([&](Double2 a) { return a * f; });
}

// Moves the origin of (classes, d) totals: δ = old − new, S2 += 2δ·S1 + nδ², S1 += nδ.
inline void rebase_moments(const MomentTotals<double>& t, const double* old_origin,
                           const double* new_origin, i64 classes, i64 d) {
    for (i64 j = 0; j < d; ++j) {
        const Double2 delta = exact_sum(old_origin[j], -new_origin[j]);
        for (i64 k = 0; k < classes; ++k) {
            const i64 i = k * d + j;
            const Double2 s1 = t.s1(i) + Double2{0.0, 0.0}, s2 = t.s2(i) + Double2{0.0, 0.0};
            if (delta.hi == 0.0) {  // nothing moves; the halves are put in order
                t.set(i, s1, s2);
                continue;
            }
            const Double2 moved = s1 + delta * t.n(i);
            t.set(i, moved, s2 + delta * (s1 + moved));
        }
    }
}

struct Centred {
    Double2 mean;
    double squares;
};

// The mean of a cell with n ≠ 0, and the sum of squares about it; what is below `rounding` is 0.
inline Centred centred(Double2 n, Double2 s1, Double2 s2, double origin, double rounding) {
    const Double2 m = s1 / n, squares = s2 + -(m * s1);
    return {m + Double2{origin, 0.0}, std::fabs(squares.hi) <= rounding ? 0.0 : squares.hi};
}

// The same after a row of value x and weight w is taken out, of which something is left.
inline Centred centred_without(const MomentTotals<const double>& t, i64 i, double origin, double x,
                               double w, double rounding) {
    const Double2 apart = exact_sum(x, -origin), weighted = apart * Double2{w, 0.0};
    return centred(t.n(i) + Double2{-w, 0.0}, t.s1(i) + -weighted, t.s2(i) + -(weighted * apart),
                   origin, rounding);
}

// The mean, and the sum of squares about it. What is below `residue`·S2 is rounding and
// reads as 0; a cell with n = 0 reads as 0.
inline void centre_moments(const MomentTotals<const double>& t, const double* origin, i64 classes,
                           i64 d, double residue, double* mean, double* squares) {
    for (i64 i = 0; i < classes * d; ++i) {
        if (t.n_hi[i] == 0.0) {
            mean[i] = origin[i % d], squares[i] = 0.0;
            continue;
        }
        const Centred found =
            centred(t.n(i), t.s1(i), t.s2(i), origin[i % d], residue * std::fabs(t.s2_hi[i]));
        mean[i] = found.mean.hi, squares[i] = found.squares;
    }
}

// The same of columns with totals (columns, classes), and n, mean and squares of all classes of
// each together, (columns, 3). Halves of the classes are added to each other.
inline void centre_columns(const MomentTotals<const double>& t, const double* origin, i64 columns,
                           i64 classes, double residue, double* mean, double* squares,
                           double* everyone) {
    std::vector<double> room(6 * classes);
    double* const at = room.data();
    const MomentTotals<double> pool{at,           at + classes,     at + 2 * classes,
                                    at + 3 * classes, at + 4 * classes, at + 5 * classes};
    const MomentTotals<const double> pooled = pool.part(0);
    for (i64 j = 0; j < columns; ++j) {
        const MomentTotals<const double> own = t.part(j * classes);
        centre_moments(own, origin + j, classes, 1, residue, mean + j * classes,
                       squares + j * classes);
        const double* const parts[] = {own.n_hi,  own.s1_hi, own.s1_lo,
                                       own.s2_hi, own.s2_lo, own.n_lo};
        for (int i = 0; i < 6; ++i) std::copy(parts[i], parts[i] + classes, at + i * classes);
        for (i64 rows = classes; rows > 1;) {
            const i64 half = (rows + 1) / 2;
            add_moments(pool, pool.part(half), 1.0, rows - half);
            rows = half;
        }
        double* all = everyone + 3 * j;
        all[0] = pool.n_hi[0];
        centre_moments(pooled, origin + j, 1, 1, residue, all + 1, all + 2);
    }
}

}  // namespace tb
