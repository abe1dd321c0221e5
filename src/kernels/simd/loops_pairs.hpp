// The vector loops of pairs of columns with two classes. Part of loops.hpp, and compiled as that is.
//
// Four rows at a time, whatever the registers hold.

namespace tb {
namespace TB_ISA {
namespace {

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

}  // namespace
}  // namespace TB_ISA
}  // namespace tb
