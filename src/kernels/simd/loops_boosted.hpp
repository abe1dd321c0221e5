// A cycle of boosted cells: see weighted/boosted_cells.hpp. Included by loops.hpp, once for each
// instruction set.
#pragma once

namespace tb {
namespace TB_ISA {
namespace {

constexpr double LONGEST = 1.0;  // nats of a step
constexpr i64 RENEWED = 16;      // terms after which E is scaled again
constexpr float FAINTEST = 1e-20f;  // of a scaled E; e⁻³² of it is still a normal number

// sum[i] = Σ_k E_ki.
inline void sums_of_rows(i64 n, i64 K, const float* E, float* sum) {
    for (i64 i = 0; i < n; ++i) sum[i] = E[i];
    for (i64 k = 1; k < K; ++k)
        for (i64 i = 0; i < n; ++i) sum[i] += E[k * n + i];
}

// One Newton step of each term's cells after the other, of a share `rate` (K − 1) / K. E (K, n) are
// the odds of the classes, in any scale, which a step multiplies: no row needs an exponential. Of two
// classes the second's step is that of the first, with the other sign. Room is of 3n numbers and of 3
// for each cell of the largest term.
void boosted_cycle(const BoostedCells& rows, float* E, double* Q, float* room) {
    const i64 n = rows.n, K = rows.classes, stepped = K == 2 ? 1 : K;
    const double rate = rows.rate * static_cast<double>(K - 1) / static_cast<double>(K);
    float *scale = room, *first = room + n, *second = first + n, *cells = second + n;
    for (i64 t = 0; t < rows.terms; ++t) {
        const i32* cell = rows.cell + t * n;
        const i64 begin = rows.start[t], m = rows.start[t + 1] - begin;
        float *P = cells, *curved = P + m + 1, *factor = curved + m + 1;
        sums_of_rows(n, K, E, scale);
        if (t % RENEWED == 0) {
            for (i64 k = 0; k < K; ++k)
                for (i64 i = 0; i < n; ++i) {
                    const float e = E[k * n + i] / scale[i];
                    E[k * n + i] = e > FAINTEST ? e : FAINTEST;
                }
            sums_of_rows(n, K, E, scale);
        }
        for (i64 i = 0; i < n; ++i) scale[i] = 1.0f / scale[i];
        for (i64 k = 0; k < stepped; ++k) {
            float* odds = E + k * n;
            for (i64 i = 0; i < n; ++i) {
                const float p = odds[i] * scale[i], w = rows.weight[i] * p;
                first[i] = w;
                second[i] = w * (1.0f - p);
            }
            for (i64 v = 0; v <= m; ++v) P[v] = curved[v] = 0.0f;
            for (i64 i = 0; i < n; ++i) {
                P[cell[i]] += first[i];
                curved[cell[i]] += second[i];
            }
            for (i64 v = 0; v < m; ++v) {
                const i64 at = (begin + v) * K + k;
                double step = rate * (rows.own[at] - P[v]) / (curved[v] + rows.ridge);
                step = step > LONGEST ? LONGEST : step < -LONGEST ? -LONGEST : step;
                Q[at] += step;
                if (K == 2) {
                    Q[at + 1] -= step;
                    step *= 2.0;
                }
                factor[v] = static_cast<float>(__builtin_exp(step));
            }
            factor[m] = 1.0f;
            for (i64 i = 0; i < n; ++i) odds[i] *= factor[cell[i]];
        }
    }
}

}  // namespace
}  // namespace TB_ISA
}  // namespace tb
