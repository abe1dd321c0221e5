// Loops over rows of numbers that add up moments in double-double; see loops.hpp on what they may
// include. Rows are taken one by one with their columns as lanes: no sum depends on the width of a
// register.
//
// Every step keeps its rounding error (error-free transformations: Ogita, Rump and Oishi, "Accurate
// sum and dot product", SIAM J. Sci. Comput. 26(6), 2005, algorithms 3.1 to 3.5). The error of a
// product is itself a number, so a fused multiply-add and Dekker's splitting return the same bits.
#pragma once
#if defined(__FMA__) || defined(__AVX512F__)
#include <immintrin.h>  // its functions are always inlined: none is emitted
#endif

namespace tb::TB_ISA {
namespace {

// ---- L doubles at a time ---------------------------------------------------------------------
template <class Wide, class Narrow, class Integer>
struct Registers {
    typedef Wide type;
    typedef Integer bits;
    static Wide read(const double* p) {
        Wide v;
        __builtin_memcpy(&v, p, sizeof v);
        return v;
    }
    static Wide read(const float* p) {
        Narrow v;
        __builtin_memcpy(&v, p, sizeof v);
#ifdef __AVX512F__  // in one instruction, where the compiler takes four
        if constexpr (sizeof(Wide) == 64) return _mm512_maskz_cvtps_pd(0xff, v);
#endif
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
typedef i64 bits2 __attribute__((vector_size(16)));
typedef i64 bits4 __attribute__((vector_size(32)));
typedef i64 bits8 __attribute__((vector_size(64)));
template <int L>
struct Lanes;
template <>
struct Lanes<8> : Registers<double8, float8, bits8> {};
template <>
struct Lanes<4> : Registers<double4, float4, bits4> {};
template <>
struct Lanes<2> : Registers<double2, float2, bits2> {};
template <>
struct Lanes<1> {
    typedef double type;
    typedef i64 bits;
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
template <int L, class Change>
inline typename Lanes<L>::type by_bits(typename Lanes<L>::type v, Change change) {
    typename Lanes<L>::bits i;
    __builtin_memcpy(&i, &v, sizeof v);
    i = change(i);
    __builtin_memcpy(&v, &i, sizeof v);
    return v;
}
template <int L>
inline typename Lanes<L>::type absolute(typename Lanes<L>::type v) {
    return by_bits<L>(v, [](auto i) { return i & 0x7fffffffffffffff; });
}
// The power of two of a number that is not negative: 2^floor(log2 v).
template <int L>
inline typename Lanes<L>::type power(typename Lanes<L>::type v) {
    return by_bits<L>(v, [](auto i) { return i & 0x7ff0000000000000; });
}
// At least the square root of a power of two, by half its exponent, and at most 1.07 times that.
template <int L>
inline typename Lanes<L>::type root(typename Lanes<L>::type v) {
    return by_bits<L>(v, [](auto i) { return (i >> 1) + 0x1ff8000000000000; });
}
template <int L>
inline bool all_zero(typename Lanes<L>::type v) {
    double lane[L];
    Lanes<L>::write(lane, v);
    bool zero = true;
    for (int l = 0; l < L; ++l) zero &= lane[l] == 0.0;
    return zero;
}
// The larger of two numbers that are not negative, by their bits.
template <int L>
inline typename Lanes<L>::type larger(typename Lanes<L>::type a, typename Lanes<L>::type b) {
    typename Lanes<L>::bits j;
    __builtin_memcpy(&j, &b, sizeof b);
    return by_bits<L>(a, [j](auto i) { return i > j ? i : j; });
}

// a·b − t in one rounding, where p = fl(a·b) and p − t is exact.
template <class V>
inline V product_less(V a, V b, V p, V t) {
#ifdef __FMA__
    (void)p;
    return product_error(a, b, t);
#else
    return (p - t) + product_error(a, b, p);
#endif
}

template <class T>
struct Run {  // some rows of a class, at most RUN, with weights of one sign
    const T* x;
    i64 stride;
    const i32* row;
    i64 n;
    const T* next;   // rows that are read after these
    bool together;   // whether rows lie without a gap
    bool first;      // of the class in its chunk
    const double* w;
    double negative;  // −1 where the weights are, else 1
    double root;      // of the largest weight, nearly, as root()
    double lightest;  // the smallest weight, without its sign
};

// What is taken from a value before it is summed: nothing, a shift that leaves no rounding error, or
// one that does.
enum class Shift { none, exact, rounded };

// What a row of weight w adds to the sums of L columns: u = w(x−b) and square = u(x−b), and what
// belongs to each of them since x − b and u were rounded.
template <int L>
struct Terms {
    typename Lanes<L>::type w, t, u, square, u_rest, square_rest;
};
template <int L, bool Weighted, Shift By, class T>
inline Terms<L> terms_of(const T* x, double weight, typename Lanes<L>::type shift) {
    using V = typename Lanes<L>::type;
    const V value = Lanes<L>::read(x);
    Terms<L> a{};
    V rest{};
    a.t = value;
    if (By != Shift::none) a.t = value - shift;
    if (By == Shift::rounded) rest = sum_error(value, -shift, a.t);
    if (Weighted) {
        a.w = Lanes<L>::all(weight);
        a.u = a.w * a.t;
        if (By == Shift::rounded) a.u_rest = a.w * rest;
        a.square_rest = (product_error(a.w, a.t, a.u) + a.u_rest) * a.t;
    } else {
        a.u = a.t;
        a.u_rest = rest;
        if (By == Shift::rounded) a.square_rest = rest * a.t;
    }
    if (By == Shift::rounded) a.square_rest += a.u * rest;
    a.square = a.u * a.t;
    return a;
}

template <int L>
struct Sums {  // about a start each: the sums of u and of its squares, and of their rounding errors
    typename Lanes<L>::type first, first_rest, second, second_rest, lost;
};

// Adds the rows of a run to G registers of L columns. Where an addition starts from a number above
// its term, its error takes two steps and no comparison (algorithm 1.1). What is `lost` as the
// errors of squares are summed is kept where `Careful`.
template <int L, int G, bool Weighted, Shift By, bool Careful, class T>
inline void add_rows(const Run<T>& run, i64 j, const typename Lanes<L>::type* shift,
                     Sums<L>* sums) {
    using V = typename Lanes<L>::type;
    Sums<L> s[G];
    for (int g = 0; g < G; ++g) s[g] = sums[g];
    // they are asked for in the order of the memory, as far as that is known
    const T* next = run.next + (run.together ? j * run.n : j);
    const i64 step = run.together ? G * L : run.stride;
    for (i64 i = 0; i < run.n; ++i, next += step) {
        const T* x = run.x + run.row[i] * run.stride + j;
        const double weight = Weighted ? run.w[run.row[i]] : 1.0;
        for (int g = 0; g < G; ++g) {
            __builtin_prefetch(next + g * L, 0, 3);
            const Terms<L> a = terms_of<L, Weighted, By>(x + g * L, weight, shift[g]);
            V before = s[g].first;
            s[g].first += a.u;
            V added = s[g].first - before;
            V rest = Weighted ? product_less(a.w, a.t, a.u, added) : a.u - added;
            s[g].first_rest += By == Shift::rounded ? rest + a.u_rest : rest;
            before = s[g].second;
            s[g].second += a.square;
            added = s[g].second - before;
            rest = product_less(a.u, a.t, a.square, added);
            if (Weighted || By == Shift::rounded) rest += a.square_rest;
            before = s[g].second_rest;
            s[g].second_rest += rest;
            if (Careful) s[g].lost += sum_error(before, rest, s[g].second_rest);
        }
    }
    for (int g = 0; g < G; ++g) sums[g] = s[g];
}

template <int L, int G, bool Weighted, bool Shifted, class T>
inline void largest_square(const Run<T>& run, i64 j, const typename Lanes<L>::type* shift,
                           typename Lanes<L>::type* largest) {
    typename Lanes<L>::type top[G];
    for (int g = 0; g < G; ++g) top[g] = Lanes<L>::all(0.0);
    for (i64 i = 0; i < run.n; ++i) {
        const T* x = run.x + run.row[i] * run.stride + j;
        const double weight = Weighted ? run.w[run.row[i]] : 1.0;
        for (int g = 0; g < G; ++g) {
            const Terms<L> a = terms_of<L, Weighted, Shifted ? Shift::exact : Shift::none>(
                x + g * L, weight, shift[g]);
            top[g] = larger<L>(absolute<L>(a.square), top[g]);
        }
    }
    for (int g = 0; g < G; ++g) largest[g] = top[g];
}

// Whether |x − b| is so far below |b| in all rows that the difference has no rounding error (Sterbenz:
// b/2 ≤ x ≤ 2b), if `square` is at least the square of each, times its weight.
template <int L, int G>
inline bool exactly_shifted(const typename Lanes<L>::type* square,
                            const typename Lanes<L>::type* shift, double lightest) {
    using V = typename Lanes<L>::type;
    const V none = Lanes<L>::all(0.0), one = Lanes<L>::all(1.0), far = Lanes<L>::all(0x1p500);
    V wrong = none;
    for (int g = 0; g < G; ++g) {
        const V limit = shift[g] * shift[g] * (0.125 * lightest);
        const V within = absolute<L>(shift[g]) < far ? square[g] <= limit ? none : one : one;
        wrong += shift[g] != none ? within : none;
    }
    return all_zero<L>(wrong);
}

// The sums of a run, of G registers of L columns. That a shift leaves no rounding error is a guess, from
// `squares`, which the sum of squares confirms or not; they may be the largest ones of the run itself.
// Where it holds, the errors of differences are 0, and to leave them out changes no bit.
template <int L, int G, bool Weighted, bool Shifted, bool Careful, class T>
inline void sum_run(const Run<T>& run, i64 j, const typename Lanes<L>::type* shift,
                    const typename Lanes<L>::type* start, typename Lanes<L>::type* squares,
                    Sums<L>* sums) {
    using V = typename Lanes<L>::type;
    const V none = Lanes<L>::all(0.0);
    bool exact = Shifted && exactly_shifted<L, G>(squares, shift, run.lightest);
    for (bool confirmed = false; !confirmed;) {
        for (int g = 0; g < G; ++g)
            sums[g] = {root<L>(start[g]) * (4.0 * run.n * run.root), none,
                       start[g] * run.negative, none, none};
        if (exact)
            add_rows<L, G, Weighted, Shifted ? Shift::exact : Shift::none, Careful>(run, j, shift,
                                                                                   sums);
        else
            add_rows<L, G, Weighted, Shifted ? Shift::rounded : Shift::none, Careful>(run, j, shift,
                                                                                     sums);
        for (int g = 0; g < G; ++g) {
            sums[g].first -= root<L>(start[g]) * (4.0 * run.n * run.root);
            sums[g].second -= start[g] * run.negative;
            if (!Careful) squares[g] = absolute<L>(sums[g].second);
        }
        confirmed = Careful || !exact || exactly_shifted<L, G>(squares, shift, run.lightest);
        exact = false;
    }
}

// Adds a run to the sums of its class, of G registers of L columns.
//
// Sums start at a power of two. Squares only add to theirs, so its start need not be above more
// than one of them; and since the sum shows in the end whether it was, the start may be a guess,
// from the squares of the run before. Where it was too small, or so large that digits are lost, the
// largest square is looked for and the run is added anew, with care: the error of a far row's
// square is as large as the squares of ordinary rows, whose last places it would swallow. A start is
// at least 2^-840: the error of a product below 2^-900 would depend on how it was found, but
// vanishes beside that.
template <int L, int G, bool Weighted, bool Shifted, class T>
inline void moments_columns(const Run<T>& run, i64 j, double* cells, i64 pad) {
    using V = typename Lanes<L>::type;
    const V least = Lanes<L>::all(0x1p-840), none = Lanes<L>::all(0.0), one = Lanes<L>::all(1.0);
    V shift[G], start[G], missed[G], squares[G];
    Sums<L> sums[G];
    for (int g = 0; g < G; ++g) {
        const double* cell = cells + j + g * L;
        shift[g] = Shifted ? Lanes<L>::read(cell) : none;
        squares[g] = Lanes<L>::read(cell + 5 * pad);
        start[g] = larger<L>(power<L>(squares[g]) * 8.0, least);
        missed[g] = one;
    }
    for (bool sure = run.first, done = false; !done; sure = true) {
        done = true;
        if (sure) {
            largest_square<L, G, Weighted, Shifted>(run, j, shift, squares);
            for (int g = 0; g < G; ++g)
                start[g] = missed[g] != none ? larger<L>(power<L>(squares[g]), least) : start[g];
            sum_run<L, G, Weighted, Shifted, true>(run, j, shift, start, squares, sums);
        } else {
            sum_run<L, G, Weighted, Shifted, false>(run, j, shift, start, squares, sums);
        }
        for (int g = 0; g < G; ++g) {
            if (sure) {  // a column does not change because another was added anew
                sums[g].lost = missed[g] != none ? sums[g].lost : none;
                continue;
            }
            const V sum = absolute<L>(sums[g].second);
            missed[g] = sum < start[g] ? larger<L>(sum * 16.0, least) < start[g] ? one : none : one;
            done &= all_zero<L>(missed[g]);
        }
    }
    const auto add = [&](V sum, V rest, double* to) {
        const V before = Lanes<L>::read(to), after = before + sum;
        rest += sum_error(before, sum, after);
        Lanes<L>::write(to, after);
        Lanes<L>::write(to + pad, Lanes<L>::read(to + pad) + rest);
    };
    for (int g = 0; g < G; ++g) {
        double* cell = cells + j + g * L;
        add(sums[g].first, sums[g].first_rest, cell + pad);
        add(sums[g].second, sums[g].second_rest + sums[g].lost, cell + 3 * pad);
        Lanes<L>::write(cell + 5 * pad, absolute<L>(sums[g].second));
    }
}

// The columns that G registers of L lanes leave over, by fewer and then by narrower ones.
template <int L, int G, bool Weighted, bool Shifted, class T>
inline void moments_of_run(const Run<T>& run, i64 j, i64 d, double* cells, i64 pad) {
    for (; j + L * G <= d; j += L * G)
        moments_columns<L, G, Weighted, Shifted>(run, j, cells, pad);
    if constexpr (L * G > 1)
        if (j < d)
            moments_of_run<(G > 1 ? L : L / 2), 1, Weighted, Shifted>(run, j, d, cells, pad);
}

// Some rows of a class, at most RUN and with weights of one sign, into sums about the shift b of
// the class: S1 += w(x−b), S2 += w(x−b)². Its cells, `pad` apart, are b, the halves of S1 and of S2,
// and the squares of its last run; `first` says that there was none in this chunk.
template <class T, bool Weighted>
void moments_rows(const T* x, i64 stride, const i32* row, i64 n, const T* next, bool first, i64 d,
                  i64 pad, bool shifted, const double* w, double* cells) {
    Run<T> run{x, stride, row, n, next, stride == d, first, w, 1.0, 1.0, 1.0};
    if (Weighted) {
        double largest = 0.0, lightest = 0x1p1000;
        for (i64 i = 0; i < n; ++i) {
            const double weight = absolute<1>(w[row[i]]);
            largest = larger<1>(weight, largest);
            if (weight < lightest) lightest = weight;
        }
        run.lightest = lightest;
        run.negative = w[row[0]] < 0.0 ? -1.0 : 1.0;
        run.root = root<1>(power<1>(largest));
    }
    if (shifted)
        moments_of_run<W, 2, Weighted, true>(run, 0, d, cells, pad);
    else
        moments_of_run<W, 2, Weighted, false>(run, 0, d, cells, pad);
}

// A sum of a chunk has three parts, `pad` cells apart: the sum itself, the rounding errors of its
// additions, and those of its terms. The errors stand apart because those of a far row's term are
// as large as the terms of ordinary rows, whose last places they would swallow.
template <int L>
inline void add_term(typename Lanes<L>::type term, typename Lanes<L>::type rest, double* sum,
                     i64 pad) {
    using V = typename Lanes<L>::type;
    const V before = Lanes<L>::read(sum), after = before + term;
    Lanes<L>::write(sum, after);
    Lanes<L>::write(sum + pad, Lanes<L>::read(sum + pad) + sum_error(before, term, after));
    Lanes<L>::write(sum + 2 * pad, Lanes<L>::read(sum + 2 * pad) + rest);
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

// Adds the sums of a chunk (one class, d columns, weight n + n_lo), taken about its shift, to totals
// about `to`:  S1 += s1 + n·δ,  S2 += s2 + 2·δ·s1 + n·δ²,  δ = shift − to (exact as a double-double).
void moments_into(i64 d, double n, double n_lo, const double* TB_RESTRICT cells, i64 pad,
                  const double* TB_RESTRICT to, double* TB_RESTRICT t1h, double* TB_RESTRICT t1l,
                  double* TB_RESTRICT t2h, double* TB_RESTRICT t2l) {
    for (i64 j = 0; j < d; ++j) {
        const double* cell = cells + j;
        const dd s1 = two_sum(cell[pad], cell[2 * pad]), s2 = two_sum(cell[3 * pad], cell[4 * pad]);
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
}  // namespace tb::TB_ISA
