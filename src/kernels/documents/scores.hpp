// Scores of documents:
//
//     S_ik = b_k + (length_i / mean)^−p Σ_t tf_it·W_tk + Σ_t tf_it·idf_t·u_tk / |tf·idf of i|
//
// length_i = Σ_t tf_it. W_tk = expected_{row(t)k} + pair_tk, stored as a row that terms of one
// frequency share and a value for each class that holds the term; u is 0 for terms without a column.
#pragma once
#include <cmath>

#include "documents/rows.hpp"

namespace tb {

struct DocumentScore {
    TermPairs pairs;
    const double* pair;
    const double* expected;  // (rows, classes)
    const i32* row;          // by term
    const i32* column;       // by term: its row of u, or −1
    const double* idf;       // by term
    const float* u;          // (columns, ridge classes)
    const double* intercept;
    i64 rows, classes, columns, ridge_classes;  // two classes share one number in u
    double mean_length, power;
    bool has_ridge() const { return columns > 0; }
};

// What a term adds to W's and u's sums, times `by` and `by_ridge`.
inline void add_term(const DocumentScore& s, i64 t, double by, double* sum, double by_ridge,
                     double* ridge) {
    add_scaled(sum, s.expected + s.row[t] * s.classes, by, s.classes);
    for (i64 q = s.pairs.start[t]; q < s.pairs.start[t + 1]; ++q)
        sum[s.pairs.classes[q]] += by * s.pair[q];
    if (s.has_ridge() && s.column[t] >= 0) {
        const float* u = s.u + static_cast<i64>(s.column[t]) * s.ridge_classes;
        for (i64 c = 0; c < s.ridge_classes; ++c) ridge[c] += by_ridge * static_cast<double>(u[c]);
    }
}

// sum[k] += by·ridge_k; of two classes ridge_0 is the difference of the second and the first.
inline void add_ridge(const DocumentScore& s, const double* ridge, double by, double* sum) {
    if (s.ridge_classes == s.classes)
        add_scaled(sum, ridge, by, s.classes);
    else
        sum[0] -= 0.5 * by * ridge[0], sum[1] += 0.5 * by * ridge[0];
}

struct DocumentFactors {
    double length, ridge;  // (length / mean)^−p and 1 / |tf·idf|
};

inline DocumentFactors factors_of(const DocumentScore& s, const DocumentRows& x, i64 i) {
    double length = 0.0, squares = 0.0;
    for (i64 p = x.indptr[i]; p < x.indptr[i + 1]; ++p) {
        const double tf = static_cast<double>(x.values[p]);
        length += tf;
        if (s.has_ridge()) {
            const double v = tf * s.idf[x.terms[p]];
            squares += v * v;
        }
    }
    return {length > 0.0 ? std::pow(length / s.mean_length, -s.power) : 1.0,
            squares > 0.0 ? 1.0 / std::sqrt(squares) : 0.0};
}

inline void score_documents(const DocumentRows& x, const DocumentScore& s, double* S, int threads) {
    const i64 K = s.classes;
    each_document(x, 2 * K, x.entries() * K, threads, [&](i64 i, double* sum) {
        double* ridge = sum + K;
        const DocumentFactors by = factors_of(s, x, i);
        for (i64 p = x.indptr[i]; p < x.indptr[i + 1]; ++p) {
            const i64 t = x.terms[p];
            const double tf = static_cast<double>(x.values[p]);
            add_term(s, t, tf, sum, tf * s.idf[t], ridge);
        }
        double* out = S + i * K;
        for (i64 k = 0; k < K; ++k) out[k] = s.intercept[k] + by.length * sum[k];
        if (s.has_ridge()) add_ridge(s, ridge, by.ridge, out);
    });
}

// What each entry of the rows adds to the score, (entries, classes): S is the intercept and their sum.
inline void explain_documents(const DocumentRows& x, const DocumentScore& s, double* out) {
    const i64 K = s.classes;
    std::vector<double> ridge(static_cast<std::size_t>(K));
    for (i64 i = 0; i < x.n; ++i) {
        const DocumentFactors by = factors_of(s, x, i);
        for (i64 p = x.indptr[i]; p < x.indptr[i + 1]; ++p) {
            const i64 t = x.terms[p];
            const double tf = static_cast<double>(x.values[p]);
            double* sum = out + (p - x.indptr[0]) * K;
            for (i64 k = 0; k < K; ++k) sum[k] = ridge[k] = 0.0;
            add_term(s, t, tf * by.length, sum, tf * s.idf[t], ridge.data());
            if (s.has_ridge()) add_ridge(s, ridge.data(), by.ridge, sum);
        }
    }
}

}  // namespace tb
