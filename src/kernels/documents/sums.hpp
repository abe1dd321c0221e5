// What the terms of a document say of each class, summed within bins of terms:
//
//     Z_ikg = Σ_{t in i, bin(t) = g} tf_it · (pair_tk − expected_{row(t)k}),  less its mean over k
//
// pair_tk is log(1 + N_tk / τ), stored for the classes that hold the term and 0 elsewhere; own_tk is
// the same with one document fewer, and stands for it where k is the document's class (y given).
// Terms of bin −1 say nothing.
//
// Terms come in no order that a cache could know: what is needed of one is packed together, and
// asked for some terms ahead.
#pragma once
#include <cmath>

#include "documents/rows.hpp"

namespace tb {

struct RatioTable {
    TermPairs pairs;
    const double* pair;      // by pair
    const double* own;       // by pair, or null
    const double* expected;  // (rows, classes)
    const i32* row;          // by term
    const std::int8_t* bin;  // by term
    i64 rows, classes, bins;
};

struct PackedTerm {
    i64 start;  // of its pairs, or of its rows of all classes
    i32 row, pairs;
    i32 bin;
};

struct PackedPair {
    double ratio, own;
    i32 k;
};

constexpr i64 AHEAD = 8;      // terms
constexpr i32 ALL = -1;       // in place of the number of pairs, of a term with rows
constexpr i64 FEW_PAIRS = 4;  // a term has pairs where they are at most one class in so many

// A term of many classes has two rows of all classes instead of pairs: pair − expected, by which one
// loop without branches adds all of it, and own − pair, of which its own class needs one number. A
// term of bin −1, whose row of `expected` may be any number, has neither.
struct PackedTable {
    Buffer<PackedTerm> terms;
    Buffer<PackedPair> pairs;
    Buffer<double> rows;

    explicit PackedTable(const RatioTable& table) : terms(table.pairs.terms) {
        const i64 K = table.classes;
        const auto has_rows = [&](i64 t) {
            const i64 n = table.pairs.start[t + 1] - table.pairs.start[t];
            return table.bin[t] >= 0 && n * FEW_PAIRS > K;
        };
        i64 sparse = 0, dense = 0;
        for (i64 t = 0; t < table.pairs.terms; ++t) {
            if (has_rows(t))
                dense += 2 * K;
            else if (table.bin[t] >= 0)
                sparse += table.pairs.start[t + 1] - table.pairs.start[t];
        }
        pairs.resize(sparse);
        rows.resize(dense);
        sparse = dense = 0;
        for (i64 t = 0; t < table.pairs.terms; ++t) {
            const i64 begin = table.pairs.start[t], end = table.pairs.start[t + 1];
            if (table.bin[t] < 0) {
                terms[t] = {sparse, 0, 0, -1};
            } else if (has_rows(t)) {
                terms[t] = {dense, table.row[t], ALL, table.bin[t]};
                double *all = rows.get() + dense, *less = all + K;
                const double* expected = table.expected + table.row[t] * K;
                for (i64 k = 0; k < K; ++k) all[k] = -expected[k], less[k] = 0.0;
                for (i64 q = begin; q < end; ++q) {
                    const i32 k = table.pairs.classes[q];
                    all[k] += table.pair[q];
                    if (table.own) less[k] = table.own[q] - table.pair[q];
                }
                dense += 2 * K;
            } else {
                terms[t] = {sparse, table.row[t], static_cast<i32>(end - begin), table.bin[t]};
                for (i64 q = begin; q < end; ++q)
                    pairs[sparse++] = {table.pair[q], table.own ? table.own[q] : 0.0,
                                       table.pairs.classes[q]};
            }
        }
    }
};

inline void sum_document(const DocumentRows& x, i64 i, i32 own, const RatioTable& table,
                         const PackedTable& packed, double* sum) {
    constexpr i64 LINE = 8;  // doubles
    const i64 K = table.classes, last = x.indptr[i + 1];
    const PackedPair* pairs = packed.pairs.get();  // null where there are none
    for (i64 p = x.indptr[i]; p < last; ++p) {
        if (p + 2 * AHEAD < last) __builtin_prefetch(&packed.terms[x.terms[p + 2 * AHEAD]]);
        if (p + AHEAD < last) {
            const PackedTerm& next = packed.terms[x.terms[p + AHEAD]];
            if (next.pairs != ALL) {
                __builtin_prefetch(pairs + next.start);
            } else {
                for (i64 k = 0; k < K; k += LINE)
                    __builtin_prefetch(packed.rows.get() + next.start + k);
                if (own >= 0) __builtin_prefetch(packed.rows.get() + next.start + K + own);
            }
        }
        const PackedTerm& term = packed.terms[x.terms[p]];
        if (term.bin < 0) continue;
        const double tf = static_cast<double>(x.values[p]);
        double* into = sum + term.bin * K;
        if (term.pairs == ALL) {
            const double* all = packed.rows.get() + term.start;
            add_scaled(into, all, tf, K);
            if (own >= 0) into[own] += tf * all[K + own];
            continue;
        }
        add_scaled(into, table.expected + term.row * K, -tf, K);
        const PackedPair* pair = pairs + term.start;
        for (i32 q = 0; q < term.pairs; ++q)
            into[pair[q].k] += tf * (pair[q].k == own ? pair[q].own : pair[q].ratio);
    }
}

// The sums (G, K) of a document as (K, G), each less its mean over the classes.
inline void less_their_mean(const double* sum, i64 K, i64 G, double* out) {
    for (i64 g = 0; g < G; ++g) {
        double mean = 0.0;
        for (i64 k = 0; k < K; ++k) mean += sum[g * K + k];
        mean /= static_cast<double>(K);
        for (i64 k = 0; k < K; ++k) out[k * G + g] = sum[g * K + k] - mean;
    }
}

inline void document_sums(const DocumentRows& x, const i32* y, const RatioTable& table, double* Z,
                          int threads) {
    const i64 K = table.classes, G = table.bins;
    const PackedTable packed(table);
    each_document(x, K * G, x.entries() * K, threads, [&](i64 i, double* sum) {
        sum_document(x, i, y ? y[i] : -1, table, packed, sum);
        less_their_mean(sum, K, G, Z + i * K * G);
    });
}

// The counts behind a table of ratios, for documents of any weight that are left out of them.
struct TermNumbers {
    TermPairs pairs;
    const double* counts;      // N_tk by pair
    const double* frequency;   // N_t by term
    const std::int8_t* first;  // by term: the first bin of its order
    const double* share;       // s by class
    double tau;
    i64 classes, bins, of_an_order;
};

// The bin of a frequency within its order, as table.bins has it: ⌊log₂⌋, at most the last.
inline i64 bin_of(double n, i64 of_an_order) {
    i64 bin = 0;
    while (bin + 1 < of_an_order && n >= 2.0) {
        n *= 0.5;
        ++bin;
    }
    return bin;
}

// Z_ikg without the document itself, which was counted with weight w_i:
//
//     T'_tk = log (N_tk − [k = y] w + τ) / ((N_t − w) s_k + τ)
inline void sums_without(const DocumentRows& x, const i32* y, const double* weight,
                         const TermNumbers& table, double* Z, int threads) {
    const i64 K = table.classes, G = table.bins;
    each_document(x, K * G, x.entries() * K * 8, threads, [&](i64 i, double* sum) {
        const double w = weight[i];
        for (i64 p = x.indptr[i]; p < x.indptr[i + 1]; ++p) {
            const i32 t = x.terms[p];
            const double was = table.frequency[t], rest = was - w;
            if (!(rest > 1e-12 * was)) continue;  // no other document holds the term
            const double tf = static_cast<double>(x.values[p]);
            double* into = sum + (table.first[t] + bin_of(rest, table.of_an_order)) * K;
            for (i64 k = 0; k < K; ++k)
                into[k] -= tf * std::log(rest * table.share[k] + table.tau);
            for (i64 q = table.pairs.start[t]; q < table.pairs.start[t + 1]; ++q) {
                const i32 k = table.pairs.classes[q];
                const double n = k == y[i] ? table.counts[q] - w : table.counts[q];
                into[k] += tf * std::log1p((n > 0.0 ? n : 0.0) / table.tau);
            }
        }
        less_their_mean(sum, K, G, Z + i * K * G);
    });
}

}  // namespace tb
