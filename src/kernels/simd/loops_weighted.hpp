// The vector loops of weighted models. Part of loops.hpp, and compiled as that is.

namespace tb::TB_ISA {
namespace {

// ---- pairs of columns with two classes ----------------------------------------------------------
// Four rows at a time, whatever the registers hold.

typedef double d4 __attribute__((vector_size(32)));
typedef i64 l4 __attribute__((vector_size(32)));
typedef i32 i4 __attribute__((vector_size(16)));
typedef float f4 __attribute__((vector_size(16)));
typedef d4 d4_at __attribute__((aligned(8)));
typedef i4 i4_at __attribute__((aligned(4)));
typedef f4 f4_at __attribute__((aligned(4)));

// Of four rows, y their own class and o the other: (C_y − r + t_y)·(E_o − r·P_o + t_o) and
// (C_o + t_o)·(E_y − r·P_y + t_y); P of both; and which rows are of the second class, and in no cell.
struct FourRows {
    d4 mine, theirs, own, other;
    l4 second, none;
};

inline d4 at_least(d4 x, double least) { return x > least ? x : d4{} + least; }

inline FourRows four_rows(const PairTable& table, const PairRows& rows, i64 i) {
    FourRows f;
    const i4 cell = *(const i4_at*)(rows.cell + i), y = *(const i4_at*)(rows.y + i);
    f.second = __builtin_convertvector(y == 1, l4);
    f.none = __builtin_convertvector(cell < 0, l4);
    const i4 at = (cell < 0 ? i4{} : 2 * cell + y) * 4;
    d4 e[4];
    for (int j = 0; j < 4; ++j) e[j] = *(const d4_at*)(table.entries + at[j]);
    const d4 count = {e[0][0], e[1][0], e[2][0], e[3][0]};
    const d4 count_other = {e[0][1], e[1][1], e[2][1], e[3][1]};
    const d4 left = {e[0][2], e[1][2], e[2][2], e[3][2]};
    const d4 left_other = {e[0][3], e[1][3], e[2][3], e[3][3]};
    const d4 a = __builtin_convertvector(*(const f4_at*)(rows.P + 2 * i), d4);
    const d4 b = __builtin_convertvector(*(const f4_at*)(rows.P + 2 * i + 4), d4);
    const d4 first_p = {a[0], a[2], b[0], b[2]}, second_p = {a[1], a[3], b[1], b[3]};
    const d4 r = f.second ? d4{} + table.r[1] : d4{} + table.r[0];
    f.own = f.second ? second_p : first_p;
    f.other = f.second ? first_p : second_p;
    f.mine = count * at_least(left_other - r * f.other, table.least);
    f.theirs = count_other * at_least(left - r * f.own, table.least);
    return f;
}

// calls work(f, i, count) for all rows, four by four; those that are too many are in no cell.
template <class Work>
inline void by_four(const PairTable& table, const PairRows& rows, const Work& work) {
    i64 i = 0;
    for (; i + 4 <= rows.n; i += 4) work(four_rows(table, rows, i), i, 4);
    if (i == rows.n) return;
    i32 cell[4] = {-1, -1, -1, -1}, y[4] = {0, 0, 0, 0};
    float P[8] = {0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f};
    for (i64 j = 0; i + j < rows.n; ++j) {
        cell[j] = rows.cell[i + j], y[j] = rows.y[i + j];
        P[2 * j] = rows.P[2 * (i + j)], P[2 * j + 1] = rows.P[2 * (i + j) + 1];
    }
    work(four_rows(table, PairRows{cell, y, P, 4}, 0), i, rows.n - i);
}

// ratio[i] = ratio_y / ratio_o, what a cell says of a row's own class over the other; 1 in no cell.
void pair_ratios(const PairTable& table, const PairRows& rows, double* ratio) {
    by_four(table, rows, [&](const FourRows& f, i64 i, i64 count) {
        const d4 x = f.none ? d4{} + 1.0 : f.mine / f.theirs;
        for (i64 j = 0; j < count; ++j) ratio[i + j] = x[j];
    });
}

// logs[k] = Σ log(ratio_y / Σ_k P_k·ratio_k) of the rows of class k.
void pair_gains(const PairTable& table, const PairRows& rows, double* logs) {
    constexpr double LOW = 1e-100, HIGH = 1e100;  // before four factors of at most 1e45
    const d4 one = d4{} + 1.0;
    d4 product[2] = {one, one};  // of all rows, of those of the second class
    double sums[2] = {0.0, 0.0};
    const auto flush = [&](bool last) {
        for (int k = 0; k < 2; ++k) {
            bool within = !last;
            for (int j = 0; j < 4; ++j) within &= product[k][j] > LOW && product[k][j] < HIGH;
            if (within) continue;
            for (int j = 0; j < 4; ++j) sums[k] += __builtin_log(product[k][j]);
            product[k] = one;
        }
    };
    by_four(table, rows, [&](const FourRows& f, i64 i, i64) {
        const d4 share = f.mine / (f.own * f.mine + f.other * f.theirs), x = f.none ? one : share;
        product[0] *= x;
        product[1] *= f.second ? x : one;
        if ((i & 12) == 12) flush(false);
    });
    flush(true);
    logs[0] = sums[0] - sums[1];
    logs[1] = sums[1];
}

// Whether all rows of a class weigh of[class], of two classes.
bool alike(const i32* y, const double* weight, i64 n, const double* of) {
    const double first = of[0], second = of[1];
    i64 apart = 0;
    for (i64 i = 0; i < n; ++i) apart += weight[i] != (y[i] == 1 ? second : first);
    return apart == 0;
}

// ---- the log-loss of weighted terms -------------------------------------------------------------
// Sums over rows run in 8 lanes whatever the registers hold.

typedef float f8 __attribute__((vector_size(32)));
typedef float f8_at __attribute__((vector_size(32), aligned(4)));
typedef i32 i8 __attribute__((vector_size(32)));

inline f8 eight(const float* p) { return *(const f8_at*)p; }
inline void put(float* p, f8 x) { *(f8_at*)p = x; }

// exp x for x ≤ 0, to 2e-7 of itself; 0 below −87: x = k·log 2 + r, exp r by its series.
inline f8 exp_of(f8 x) {
    const f8 zero{}, lowest = zero - 87.0f, magic = zero + 12582912.0f;  // 1.5·2²³: rounds
    const i8 low = x < lowest;
    x = low ? lowest : x;
    const f8 shifted = x * 1.44269504f + magic, k = shifted - magic;
    const f8 r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
    f8 p = zero + 1.3888889e-3f;
    p = p * r + 8.3333333e-3f;
    p = p * r + 4.1666668e-2f;
    p = p * r + 1.6666667e-1f;
    p = p * r + 0.5f;
    p = p * (r * r) + r + 1.0f;
    p = (f8)((i8)p + ((i8)shifted << 23));  // the low bits of `shifted` are k
    return low ? zero : p;
}

// x = exp x, for x ≤ 0; n is a multiple of 8.
void exps(i64 n, float* x) {
    for (i64 i = 0; i < n; i += 8) put(x + i, exp_of(eight(x + i)));
}

// sum[i] = Σ_t factor_t·z_ti over BLOCK rows; terms are `step` apart, and fetched some terms ahead:
// what is so far apart the processor does not foresee.
void block_scores(const float* z, i64 step, i64 terms, const float* factor, float* sum) {
    constexpr i64 AHEAD = 8;
    constexpr int REGISTERS = BLOCK / 8;
    f8 sums[REGISTERS] = {};
    for (i64 t = 0; t < terms; ++t, z += step) {
        const float* later = z + (t + AHEAD < terms ? AHEAD * step : 0);
        for (i64 line = 0; line < BLOCK; line += 16) __builtin_prefetch(later + line, 0, 3);
        const f8 v = f8{} + factor[t];
        for (int j = 0; j < REGISTERS; ++j) sums[j] += v * eight(z + 8 * j);
    }
    for (int j = 0; j < REGISTERS; ++j) put(sum + 8 * j, sums[j]);
}

// lanes[t] += r_i·z_ti over BLOCK rows, 8 lanes a term. The rows behind them, which are read next, are
// fetched meanwhile: a run of a block is too short for the processor to foresee the next one.
void block_products(const float* z, i64 step, i64 terms, const float* r, float* lanes) {
    for (i64 t = 0; t < terms; ++t, z += step, lanes += 8) {
        for (i64 line = BLOCK; line <= 2 * BLOCK; line += 16) __builtin_prefetch(z + line, 0, 2);
        f8 a = eight(lanes), b{};
        for (i64 i = 0; i < BLOCK; i += 16) {
            a += eight(r + i) * eight(z + i);
            b += eight(r + i + 8) * eight(z + i + 8);
        }
        put(lanes, a + b);
    }
}

// ---- more than two classes ----------------------------------------------------------------------
// Classes are lanes of 32-bit floats, padded to a multiple of 8 (`wide`), or to 4 if they are not
// more; whatever the registers hold, lanes are added up in the same order.

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
template <class Work>
inline void by_registers(i64 wide, const Work& work) {
    i64 first = 0;
    for (; first + 32 <= wide; first += 32) work(first, Count<4>{});
    if (first + 8 <= wide)
        by_width(static_cast<int>((wide - first) / 8), [&](auto width) { work(first, width); });
}

// ---- corrections of cells ----------------------------------------------------------------------
// z += Σ_t Q[cell_t] over some terms
inline void add_corrections(const CellsOfRows& rows, const i32* cell, i64 terms, float* z) {
    if (rows.wide == 4) {
        f4 sum = *(const f4_at*)z;
        for (i64 t = 0; t < terms; ++t) {
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
        for (i64 t = 0; t < terms; ++t) {
            const i64 v = cell[t] < 0 ? rows.none : cell[t];
            const float* q = rows.Q + v * rows.wide + first;
            for (int r = 0; r < R; ++r) sum[r] += eight(q + 8 * r);
        }
        for (int r = 0; r < R; ++r) put(z + first + 8 * r, sum[r]);
    });
}

// gradient[cell_t] += z for some terms
inline void add_residuals(const CellsOfRows& rows, const i32* cell, i64 terms, const float* z,
                          float* gradient) {
    if (rows.wide == 4) {
        const f4 more = *(const f4_at*)z;
        for (i64 t = 0; t < terms; ++t) {
            const i64 v = cell[t] < 0 ? rows.none : cell[t];
            *(f4_at*)(gradient + v * 4) += more;
        }
        return;
    }
    by_registers(rows.wide, [&](i64 first, auto registers) {
        constexpr int R = decltype(registers)::count;
        f8 more[R];
        for (int r = 0; r < R; ++r) more[r] = eight(z + first + 8 * r);
        for (i64 t = 0; t < terms; ++t) {
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
// classes of each row, padded to a multiple of 8.
//
// Terms of many cells are taken a few at a time, all rows by these, so that their numbers stay near.
double corrected_rows(const CellsOfRows& rows, i64 begin, i64 end, float* z, float* gradient) {
    constexpr i64 NEAR = 1 << 17, FEWEST = 16;  // numbers of the cells of some terms; terms
    const i64 K = rows.classes, padded = (rows.wide + 7) / 8 * 8, terms = rows.terms;
    const i64 few = terms * NEAR / (rows.none * rows.wide + 1), step = few < FEWEST ? FEWEST : few;
    const auto each_row = [&](const auto& work) {
        for (i64 i = begin; i < end; ++i)
            if (rows.weight[i] != 0.0) work(i, rows.cell + i * terms, z + (i - begin) * padded);
    };
    double loss = 0.0;
    each_row([&](i64 i, const i32*, float* of_row) {
        for (i64 k = 0; k < K; ++k) of_row[k] = static_cast<float>(rows.S[i * K + k]);
        for (i64 k = K; k < padded; ++k) of_row[k] = -1e30f;
    });
    for (i64 t = 0; t < terms; t += step)
        each_row([&](i64, const i32* cell, float* of_row) {
            add_corrections(rows, cell + t, t + step < terms ? step : terms - t, of_row);
        });
    each_row([&](i64 i, const i32*, float* of_row) {
        loss += row_residuals(of_row, padded, rows.y[i], rows.weight[i]);
    });
    for (i64 t = 0; t < terms; t += step)
        each_row([&](i64, const i32* cell, float* of_row) {
            add_residuals(rows, cell + t, t + step < terms ? step : terms - t, of_row, gradient);
        });
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
}  // namespace tb::TB_ISA
