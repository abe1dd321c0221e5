// The vector loops of the log-loss of weighted terms. Part of loops.hpp, and compiled as that is.
//
// Sums over rows run in 8 lanes whatever the registers hold.

namespace tb {
namespace TB_ISA {
namespace {

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

}  // namespace
}  // namespace TB_ISA
}  // namespace tb
