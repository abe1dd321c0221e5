// The tally of documents: N_tk = Σ_i w_i [document i is of class k and holds term t], sparse.
//
// Documents are taken class by class, so that the classes of a term come in order: one pass finds
// how many a term has, the next one sums.
#pragma once
#include "documents/csr.hpp"

namespace tb {

struct CountedTerms {
    std::vector<i64> start;
    std::vector<i32> classes;
    std::vector<double> counts;
};

template <class Index>
CountedTerms count_terms(const i64* indptr, const Index* terms, const i32* codes,
                         const double* weights, i64 n, i64 n_terms, i64 classes) {
    std::vector<i64> begin(static_cast<std::size_t>(classes) + 1, 0);
    for (i64 i = 0; i < n; ++i) {
        if (codes[i] < 0 || codes[i] >= classes)
            throw std::out_of_range("a class code is out of range");
        ++begin[codes[i] + 1];
    }
    for (i64 k = 0; k < classes; ++k) begin[k + 1] += begin[k];
    std::vector<i64> order(static_cast<std::size_t>(n));
    {
        std::vector<i64> at(begin.begin(), begin.end() - 1);
        for (i64 i = 0; i < n; ++i) order[at[codes[i]]++] = i;
    }
    for (i64 p = indptr[0]; p < indptr[n]; ++p)
        if (static_cast<u64>(terms[p]) >= static_cast<u64>(n_terms))
            throw std::out_of_range("a term is out of range");
    CountedTerms found;
    found.start.assign(static_cast<std::size_t>(n_terms) + 1, 0);
    std::vector<i32> last(static_cast<std::size_t>(n_terms), -1);
    for (i64 r = 0; r < n; ++r) {
        const i32 k = codes[order[r]];
        for (i64 p = indptr[order[r]]; p < indptr[order[r] + 1]; ++p)
            if (last[terms[p]] != k) {
                last[terms[p]] = k;
                ++found.start[terms[p] + 1];
            }
    }
    for (i64 t = 0; t < n_terms; ++t) {
        found.start[t + 1] += found.start[t];
        last[t] = -1;
    }
    const std::size_t pairs = static_cast<std::size_t>(found.start[n_terms]);
    found.classes.resize(pairs);
    found.counts.resize(pairs);
    std::vector<i64> next(found.start.begin(), found.start.end() - 1);  // the place after the last
    for (i64 r = 0; r < n; ++r) {
        const i64 i = order[r];
        const i32 k = codes[i];
        const double w = weights ? weights[i] : 1.0;
        for (i64 p = indptr[i]; p < indptr[i + 1]; ++p) {
            const i64 t = static_cast<i64>(terms[p]);
            if (last[t] != k) {
                last[t] = k;
                found.classes[next[t]] = k;
                found.counts[next[t]++] = w;
            } else {
                found.counts[next[t] - 1] += w;
            }
        }
    }
    return found;
}

// Σ_i w_i v_it over the documents of class k, for the pairs of a term and a class that were found.
template <class Index>
std::vector<double> sum_terms(const i64* indptr, const Index* terms, const i32* codes,
                              const double* weights, const double* values, i64 n,
                              const TermPairs& pairs, i64 classes) {
    std::vector<i64> begin(static_cast<std::size_t>(classes) + 1, 0);
    for (i64 i = 0; i < n; ++i) ++begin[codes[i] + 1];
    for (i64 k = 0; k < classes; ++k) begin[k + 1] += begin[k];
    std::vector<i64> order(static_cast<std::size_t>(n));
    for (i64 i = 0; i < n; ++i) order[begin[codes[i]]++] = i;
    std::vector<double> sums(static_cast<std::size_t>(pairs.start[pairs.terms]), 0.0);
    std::vector<i64> at(pairs.start, pairs.start + pairs.terms);  // the pair of the class at hand
    for (i64 r = 0; r < n; ++r) {
        const i64 i = order[r];
        const i32 k = codes[i];
        const double w = weights ? weights[i] : 1.0;
        for (i64 p = indptr[i]; p < indptr[i + 1]; ++p) {
            const i64 t = static_cast<i64>(terms[p]), end = pairs.start[t + 1];
            while (at[t] < end && pairs.classes[at[t]] < k) ++at[t];
            if (at[t] == end || pairs.classes[at[t]] != k)
                throw std::out_of_range("a document holds a term that its class was not counted with");
            sums[at[t]] += w * values[p];
        }
    }
    return sums;
}

}  // namespace tb
