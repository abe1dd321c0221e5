// Boosting of cells: the corrections Q (cells, classes) of the scores of rows by small Newton steps
//
//     Q_vk += rate·(K − 1)/K · (Σ w·[y = k] − Σ w·P_k) / (Σ w·P_k·(1 − P_k) + ridge)
//
// over the rows of a cell v, term after term, the rows scored anew after each (cyclic boosting, as
// in Y. Lou, R. Caruana, J. Gehrke and G. Hooker, Accurate intelligible models with pairwise
// interactions, KDD 2013, with tables for trees).
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "weighted/cell_offsets.hpp"

namespace tb {

// So many cycles over all terms. Cells are numbered over all terms; a term's begin at `start`.
inline void boost_cells(const Loops& loops, const CorrectedRows& rows, const i64* start, double* Q,
                        i64 cycles, double rate, double ridge) {
    const i64 n = rows.n, T = rows.terms, K = rows.classes, cells = start[T];
    i64 largest = 0;
    for (i64 t = 0; t < T; ++t) largest = std::max(largest, start[t + 1] - start[t]);
    std::vector<i32> cell(T * n);
    std::vector<float> weight(n), E(K * n), room(3 * n + 3 * (largest + 1));
    std::vector<double> own(cells * K, 0.0), z(K);
    for (i64 i = 0; i < n; ++i) {
        weight[i] = static_cast<float>(rows.weight[i]);
        for (i64 k = 0; k < K; ++k) z[k] = rows.S[i * K + k];
        for (i64 t = 0; t < T; ++t) {
            const i32 v = rows.cells[i * T + t];
            const i64 size = start[t + 1] - start[t];
            cell[t * n + i] = static_cast<i32>(v < 0 ? size : v - start[t]);
            if (v < 0) continue;
            own[v * K + rows.y[i]] += rows.weight[i];
            for (i64 k = 0; k < K; ++k) z[k] += Q[v * K + k];
        }
        const double top = *std::max_element(z.begin(), z.end());
        for (i64 k = 0; k < K; ++k) E[k * n + i] = static_cast<float>(std::exp(z[k] - top));
    }
    const BoostedCells all{cell.data(), start, weight.data(), own.data(), n, T, K, rate, ridge};
    for (i64 c = 0; c < cycles; ++c) loops.boosted_cycle(all, E.data(), Q, room.data());
}

}  // namespace tb
