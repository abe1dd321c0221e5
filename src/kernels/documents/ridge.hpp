// Columns of length-normalised tf-idf, and X Xᵀ D with them.
//
// The coefficients of a ridge are combinations of documents, U = Xᵀ A, so a descent needs no more
// than X Xᵀ D. A column x_t is read once for both directions: w = x_tᵀ D, then F += x_t w; D and F
// have a row a document and stay in the cache.
#pragma once
#include <cmath>

#include "documents/csr.hpp"

namespace tb {

struct Columns {  // CSC: the documents of column j are start[j] … start[j + 1] − 1, in order
    const i64* start;
    const i32* documents;
    const float* values;
    i64 n, columns;
};

// x_ij = tf·idf / |row|, |row| of all terms; column[t] is that of a term, or −1. Fills documents and
// values by start.
inline void tfidf_columns(const DocumentRows& x, const i32* column, const double* idf,
                          const i64* start, i64 columns, i32* documents, float* values) {
    std::vector<i64> next(start, start + columns);
    for (i64 i = 0; i < x.n; ++i) {
        double squares = 0.0;
        for (i64 p = x.indptr[i]; p < x.indptr[i + 1]; ++p) {
            const double v = static_cast<double>(x.values[p]) * idf[x.terms[p]];
            squares += v * v;
        }
        const double by = squares > 0.0 ? 1.0 / std::sqrt(squares) : 0.0;
        for (i64 p = x.indptr[i]; p < x.indptr[i + 1]; ++p) {
            const i64 t = x.terms[p];
            if (column[t] < 0) continue;
            i64& at = next[column[t]];
            documents[at] = static_cast<i32>(i);
            values[at++] = static_cast<float>(static_cast<double>(x.values[p]) * idf[t] * by);
        }
    }
}

// Tasks of about equally many entries: their first columns. Each of them adds to numbers of all
// documents, so that there are few where documents are short.
inline std::vector<i64> column_tasks(const Columns& x) {
    constexpr i64 FEWEST = 4, MOST = 16;  // whatever the threads: results are added in this order
    constexpr i64 ENTRIES = 8;            // of a document, in the columns of a task
    const i64 entries = x.start[x.columns];
    const i64 tasks = std::min(MOST, std::max(FEWEST, entries / (ENTRIES * x.n + 1)));
    std::vector<i64> first{0};
    for (i64 task = 1; task < tasks; ++task) {
        i64 j = first.back();
        while (j < x.columns && x.start[j] < entries / tasks * task) ++j;
        if (j > first.back()) first.push_back(j);
    }
    if (x.columns > first.back()) first.push_back(x.columns);
    return first;
}

// W of a block of columns and classes: w_jc = Σ_i x_ij D_ic. LANES classes at a time.
template <int LANES>
inline void column_times(const Columns& x, i64 j, const float* D, i64 C, float* w) {
    float sum[LANES] = {};
    for (i64 p = x.start[j]; p < x.start[j + 1]; ++p) {
        const float v = x.values[p];
        const float* d = D + static_cast<i64>(x.documents[p]) * C;
        for (int c = 0; c < LANES; ++c) sum[c] += v * d[c];
    }
    for (int c = 0; c < LANES; ++c) w[c] = sum[c];
}

template <int LANES>
inline void add_column(const Columns& x, i64 j, const float* w, float* F, i64 C) {
    float by[LANES];
    for (int c = 0; c < LANES; ++c) by[c] = w[c];
    for (i64 p = x.start[j]; p < x.start[j + 1]; ++p) {
        const float v = x.values[p];
        float* f = F + static_cast<i64>(x.documents[p]) * C;
        for (int c = 0; c < LANES; ++c) f[c] += v * by[c];
    }
}

// Calls f<32>, f<16>, … or f<1> for the classes 0 … C − 1 in blocks, with the first of each.
template <class F>
inline void in_lanes(i64 C, F&& f) {
    i64 c = 0;
    for (; c + 32 <= C; c += 32) f(std::integral_constant<int, 32>{}, c);
    for (; c + 16 <= C; c += 16) f(std::integral_constant<int, 16>{}, c);
    for (; c + 8 <= C; c += 8) f(std::integral_constant<int, 8>{}, c);
    for (; c + 4 <= C; c += 4) f(std::integral_constant<int, 4>{}, c);
    for (; c + 2 <= C; c += 2) f(std::integral_constant<int, 2>{}, c);
    for (; c < C; ++c) f(std::integral_constant<int, 1>{}, c);
}

// F = X Xᵀ D, both (n, C).
inline void gram_times(const Columns& x, const float* D, i64 C, float* F, int threads) {
    const std::vector<i64> first = column_tasks(x);
    const i64 tasks = static_cast<i64>(first.size()) - 1, cells = x.n * C;
    for (i64 i = 0; i < cells; ++i) F[i] = 0.0f;
    threads = threads_for(x.start[x.columns] * C, tasks, threads);
    std::vector<Buffer<float>> locals(threads);
    run_in_order(
        tasks, threads,
        [&](i64 task, int thread) {
            locals[thread].resize(cells);
            float* local = locals[thread].get();
            for (i64 i = 0; i < cells; ++i) local[i] = 0.0f;
            for (i64 j = first[task]; j < first[task + 1]; ++j)
                in_lanes(C, [&](auto lanes, i64 c) {
                    constexpr int LANES = decltype(lanes)::value;
                    float w[LANES];
                    column_times<LANES>(x, j, D + c, C, w);
                    add_column<LANES>(x, j, w, local + c, C);
                });
        },
        [&](i64, int thread) {
            const float* local = locals[thread].get();
            for (i64 i = 0; i < cells; ++i) F[i] += local[i];
        });
}

// U = Xᵀ A, (columns, C).
inline void columns_times(const Columns& x, const float* A, i64 C, float* U, int threads) {
    const std::vector<i64> first = column_tasks(x);
    const i64 tasks = static_cast<i64>(first.size()) - 1;
    run_tasks(tasks, threads_for(x.start[x.columns] * C, tasks, threads), [&](i64 task, int) {
        for (i64 j = first[task]; j < first[task + 1]; ++j)
            in_lanes(C, [&](auto lanes, i64 c) {
                column_times<decltype(lanes)::value>(x, j, A + c, C, U + j * C + c);
            });
    });
}

}  // namespace tb
