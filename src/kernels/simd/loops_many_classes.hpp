// The vector loops over classes where they are more than two. Part of loops.hpp, and compiled as that
// is.
//
// Classes are lanes of 32-bit floats, padded to a multiple of 8 (`wide`), or to 4 if they are not
// more; whatever the registers hold, lanes are added up in the same order.

namespace tb {
namespace TB_ISA {
namespace {

typedef double d8 __attribute__((vector_size(64)));
typedef d8 d8_at __attribute__((aligned(8)));
typedef float f16 __attribute__((vector_size(64)));
typedef i32 i16 __attribute__((vector_size(64)));
typedef float f2 __attribute__((vector_size(8)));
typedef f2 f2_at __attribute__((aligned(4)));

inline f8 greater(f8 a, f8 b) { return a > b ? a : b; }
inline double lanes(d8 x) {
    const d4 low = {x[0], x[1], x[2], x[3]}, high = {x[4], x[5], x[6], x[7]}, sum = low + high;
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}
inline float lanes(f8 x) {
    const f4 low = {x[0], x[1], x[2], x[3]}, high = {x[4], x[5], x[6], x[7]}, sum = low + high;
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// calls work(first lane, registers) for all lanes of a row, at most four registers at a time; work
// takes the number of registers as a type.
template <int R>
struct LaneCount {
    static constexpr int count = R;
};

template <class Work>
inline void by_registers(i64 wide, const Work& work) {
    i64 first = 0;
    for (; first + 32 <= wide; first += 32) work(first, LaneCount<4>{});
    switch ((wide - first) / 8) {
    case 3: return work(first, LaneCount<3>{});
    case 2: return work(first, LaneCount<2>{});
    case 1: return work(first, LaneCount<1>{});
    default: return;
    }
}

// ---- corrections of cells ----------------------------------------------------------------------
// z += Σ_t Q[cell_t]
inline void add_corrections(const CellsOfRows& rows, const i32* cell, float* z) {
    if (rows.wide == 4) {
        f4 sum = *(const f4_at*)z;
        for (i64 t = 0; t < rows.terms; ++t) {
            const i64 v = cell[t] < 0 ? rows.none : cell[t];
            sum += *(const f4_at*)(rows.Q + v * 4);
        }
        *(f4_at*)z = sum;
        return;
    }
    by_registers(rows.wide, [&](i64 first, auto registers) {
        constexpr int R = decltype(registers)::count;
        f8 sum[R];
        for (int r = 0; r < R; ++r) sum[r] = eight(z + first + 8 * r);
        for (i64 t = 0; t < rows.terms; ++t) {
            const i64 v = cell[t] < 0 ? rows.none : cell[t];
            const float* q = rows.Q + v * rows.wide + first;
            for (int r = 0; r < R; ++r) sum[r] += eight(q + 8 * r);
        }
        for (int r = 0; r < R; ++r) put(z + first + 8 * r, sum[r]);
    });
}

// gradient[cell_t] += z for every t
inline void add_residuals(const CellsOfRows& rows, const i32* cell, const float* z,
                          float* gradient) {
    if (rows.wide == 4) {
        const f4 more = *(const f4_at*)z;
        for (i64 t = 0; t < rows.terms; ++t) {
            const i64 v = cell[t] < 0 ? rows.none : cell[t];
            *(f4_at*)(gradient + v * 4) += more;
        }
        return;
    }
    by_registers(rows.wide, [&](i64 first, auto registers) {
        constexpr int R = decltype(registers)::count;
        f8 more[R];
        for (int r = 0; r < R; ++r) more[r] = eight(z + first + 8 * r);
        for (i64 t = 0; t < rows.terms; ++t) {
            const i64 v = cell[t] < 0 ? rows.none : cell[t];
            float* into = gradient + v * rows.wide + first;
            for (int r = 0; r < R; ++r) put(into + 8 * r, eight(into + 8 * r) + more[r]);
        }
    });
}

// The loss of a row of scores z, which become w·(P_k − [k = y]).
inline double row_residuals(float* z, i64 padded, i32 y, double w) {
    f8 most = eight(z);
    for (i64 k = 8; k < padded; k += 8) most = greater(most, eight(z + k));
    float top = most[0];
    for (int j = 1; j < 8; ++j) top = most[j] > top ? most[j] : top;
    const double below = static_cast<double>(top) - z[y];
    d8 sums{};
    for (i64 k = 0; k < padded; k += 8) {
        const f8 e = exp_of(eight(z + k) - top);
        sums += __builtin_convertvector(e, d8);
        put(z + k, e);
    }
    const double all = lanes(sums), scale = w / all;
    const float own = static_cast<float>((z[y] - all) * scale);
    for (i64 k = 0; k < padded; k += 8) put(z + k, eight(z + k) * static_cast<float>(scale));
    z[y] = own;
    return w * (__builtin_log(all) + below);
}

// The log-loss of some rows; its gradient is added to `gradient` (cells + 1, wide). z is room for the
// classes, padded to a multiple of 8.
double corrected_rows(const CellsOfRows& rows, i64 begin, i64 end, float* z, float* gradient) {
    const i64 K = rows.classes, padded = (rows.wide + 7) / 8 * 8;
    double loss = 0.0;
    for (i64 i = begin; i < end; ++i) {
        if (rows.weight[i] == 0.0) continue;
        const i32* cell = rows.cell + i * rows.terms;
        for (i64 k = 0; k < K; ++k) z[k] = static_cast<float>(rows.S[i * K + k]);
        for (i64 k = K; k < padded; ++k) z[k] = -1e30f;
        add_corrections(rows, cell, z);
        loss += row_residuals(z, padded, rows.y[i], rows.weight[i]);
        add_residuals(rows, cell, z, gradient);
    }
    return loss;
}

// ---- pairs of columns --------------------------------------------------------------------------
constexpr float SMALLEST = 1e-30f;  // of a share that rounding has left at or below zero

// share[i] = ratio_y / Σ_k P_k·ratio_k of each row, ratio_k = (C_k − [k = y]·w + t_k) /
// (E_k − w·P_k + t_k); 1 in no cell. What is read behind the classes of P is a number. `Wide` are
// some of the lanes, which are added up eight by eight.
template <class Wide, class Places>
void shares_of_rows(const PairOfMany& pair, i64 n, const i32* cell, const i32* y,
                    const double* weight, const float* P, const Places& places, double* share) {
    typedef Wide at __attribute__((aligned(4)));
    constexpr i64 STEP = sizeof(Wide) / sizeof(float);
    const Wide zero{};
    for (i64 i = 0; i < n; ++i) {
        if (cell[i] < 0) {
            share[i] = 1.0;
            continue;
        }
        const float *c = pair.C + cell[i] * pair.wide, *e = pair.E + cell[i] * pair.wide;
        const float *p = P + i * pair.classes, w = static_cast<float>(weight[i]);
        f8 total{};
        Wide mine{};
        for (i64 k = 0; k < pair.wide; k += STEP) {
            const Places own = places == y[i] - static_cast<i32>(k);
            const Wide less = own ? zero + w : zero, shares = *(const at*)(p + k);
            const Wide counted = *(const at*)(c + k) - less, expected = *(const at*)(e + k) - w * shares;
            const Wide count = (counted > zero ? counted : zero) + *(const at*)(pair.t + k);
            const Wide left = (expected > zero ? expected : zero) + *(const at*)(pair.one + k);
            const Wide ratio = count / left, said = shares * ratio;
            for (i64 half = 0; half < STEP; half += 8) total += eight((const float*)&said + half);
            mine = own ? ratio : mine;
        }
        const float top = mine[y[i] % STEP], all = lanes(total);
        share[i] = static_cast<double>(top > SMALLEST ? top : SMALLEST) /
                   (all > SMALLEST ? all : SMALLEST);
    }
}
void pair_shares(const PairOfMany& pair, i64 n, const i32* cell, const i32* y,
                 const double* weight, const float* P, double* share) {
    const i8 eight_places = {0, 1, 2, 3, 4, 5, 6, 7};
    const i16 places = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    if (pair.wide % 16)
        shares_of_rows<f8>(pair, n, cell, y, weight, P, eight_places, share);
    else
        shares_of_rows<f16>(pair, n, cell, y, weight, P, places, share);
}

// C, E and O of `Sums` over the joint cells of pairs of columns, so many at a time that a row does not
// wait for the one before it.
template <int PAIRS>
void sum_cells(const SummedRows& rows, const SummedPair* pairs) {
    const i64 n = rows.n, wide = rows.wide;
    for (i64 i = 0; i < n; ++i) {
        const f2 both = *(const f2_at*)(rows.own + 2 * i);
        for (int q = 0; q < PAIRS; ++q) {
            const SummedPair& pair = pairs[q];
            const i64 v = pair.a[i] * pair.width + pair.b[i];
            f2_at* into = (f2_at*)(pair.CO + 2 * (v * wide + rows.y[i]));
            *into += both;
        }
    }
    by_registers(wide, [&](i64 first, auto registers) {
        constexpr int R = decltype(registers)::count;
        for (i64 i = 0; i < n; ++i) {
            const float* p = rows.P + i * wide + first;
            for (int q = 0; q < PAIRS; ++q) {
                const SummedPair& pair = pairs[q];
                float* e = pair.E + (pair.a[i] * pair.width + pair.b[i]) * wide + first;
                for (int r = 0; r < R; ++r) put(e + 8 * r, eight(e + 8 * r) + eight(p + 8 * r));
            }
        }
    });
}
void sum_some_cells(const SummedRows& rows, const SummedPair* pairs, int count) {
    if (count == SUMMED_AT_ONCE) return sum_cells<SUMMED_AT_ONCE>(rows, pairs);
    for (int q = 0; q < count; ++q) sum_cells<1>(rows, pairs + q);
}

// C and E over the cells of a pair, (cells, wide); P are Σ w·P, a row (wide,). A cell of −1 is none.
void sum_expected(i64 n, i64 wide, const i32* cell, const i32* y, const double* weight,
                  const double* P, double* C, double* E) {
    for (i64 i = 0; i < n; ++i) {
        if (cell[i] < 0) continue;
        const i64 v = cell[i] * wide;
        C[v + y[i]] += weight[i];
        for (i64 k = 0; k < wide; k += 8)
            *(d8_at*)(E + v + k) = *(const d8_at*)(E + v + k) + *(const d8_at*)(P + i * wide + k);
    }
}

// to[a] += w·from[a]
inline void add_times(i64 n, double w, const double* __restrict from, double* __restrict to) {
    for (i64 a = 0; a < n; ++a) to[a] += w * from[a];
}

// Sums over neighbouring cells of one of the axes of a table (before, n, after), by a triangular kernel
// of a width in cells; only the first cells have neighbours, those of numbers.
void over_neighbours(const double* from, i64 before, i64 n, i64 numbers, i64 after, double width,
                     double* to) {
    const i64 reach = static_cast<i64>(__builtin_ceil(width)) - 1;
    for (i64 b = 0; b < before; ++b)
        for (i64 i = 0; i < n; ++i) {
            double* into = to + (b * n + i) * after;
            for (i64 a = 0; a < after; ++a) into[a] = from[(b * n + i) * after + a];
            if (i >= numbers) continue;
            const i64 first = i < reach ? 0 : i - reach;
            const i64 last = i + reach < numbers ? i + reach : numbers - 1;
            for (i64 j = first; j <= last; ++j) {
                const double w = 1.0 - static_cast<double>(i < j ? j - i : i - j) / width;
                if (j != i && w > 0.0) add_times(after, w, from + (b * n + j) * after, into);
            }
        }
}

// What the rows of a cell and class j have for exp(their gain), (cells, wide), if they are alike, with
// P_j = O_j / C_j, and the rest of their P is spread over the other classes as E − O is; 1 where there
// are none. pair.C and pair.E are C and E summed over neighbouring cells, or themselves.
void cell_shares(const PairOfMany& pair, i64 cells, const float* C, const float* E, const float* O,
                 const float* removed, double* share) {
    const f8 zero{}, one = zero + 1.0f, smallest = zero + SMALLEST;
    const i64 wide = pair.wide;
    for (i64 v = 0; v < cells; ++v) {
        const i64 at = v * wide;
        f8 rows_here{}, others{}, ratios{};
        for (i64 k = 0; k < wide; k += 8) rows_here += eight(C + at + k);
        const float m = lanes(rows_here);
        if (!(m > 0.0f)) {
            for (i64 k = 0; k < wide; ++k) share[at + k] = 1.0;
            continue;
        }
        const auto ratio_of = [&](i64 k, f8 rest) {
            const f8 theirs = m - eight(C + at + k), e = eight(pair.E + at + k);
            const f8 left = theirs > zero ? e - rest / theirs : e;
            return (eight(pair.C + at + k) + eight(pair.t + k)) /
                   (greater(left, zero) + eight(pair.one + k));
        };
        for (i64 k = 0; k < wide; k += 8) {
            const f8 rest = greater(eight(E + at + k) - eight(O + at + k), zero);
            others += rest;
            ratios += rest * ratio_of(k, rest);
        }
        const float all = lanes(others), total = lanes(ratios);
        for (i64 k = 0; k < wide; k += 8) {
            const f8 count = eight(C + at + k), mine = eight(O + at + k), r = eight(removed + k);
            const f8 rest = greater(eight(E + at + k) - mine, zero), ratio = ratio_of(k, rest);
            const f8 less = count < r ? count : r, p = count > zero ? mine / count : zero;
            const f8 own =
                (greater(eight(pair.C + at + k) - less, zero) + eight(pair.t + k)) /
                (greater(eight(pair.E + at + k) - less * p, zero) + eight(pair.one + k));
            const f8 mass = all - rest;
            const f8 other = mass > smallest ? greater((total - rest * ratio) / mass, zero) : one;
            const f8 x = p * own + greater(one - p, zero) * other;
            const f8 found = greater(own, smallest) / greater(x, smallest);
            const d8 wider = __builtin_convertvector(count > zero ? found : one, d8);
            for (int j = 0; j < 8; ++j) share[at + k + j] = wider[j];
        }
    }
}

}  // namespace
}  // namespace TB_ISA
}  // namespace tb
