// Counting sparse matrices: sums, moments and levels.
#include <optional>

#include <nanobind/stl/optional.h>

#include "bind/arrays.hpp"
#include "bind/modules.hpp"
#include "count/levels.hpp"
#include "count/sparse.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tb;

int sums_sparse(const In& indptr, const In& indices, const In& data, i64 rows, i64 columns,
                bool by_column, const InVector<i32>& codes,
                const std::optional<InVector<double>>& weights, std::optional<double> threshold,
                bool non_negative, OutTable<double> sums, int threads) {
    need(codes, 0, rows, "codes");
    need(sums, 1, columns, "sums");
    const double* w = weights_of(weights, rows);
    const Rule rule{threshold ? &*threshold : nullptr,
                    non_negative ? Demand::non_negative : Demand::finite};
    double* const out[1] = {sums.data()};
    const i64 classes = static_cast<i64>(sums.shape(0));
    const Sparse<Data::common> x(indptr, indices, data, by_column ? columns : rows,
                                 by_column ? rows : columns);
    return with_sparse(x, [&](auto typed) {
        nb::gil_scoped_release release;
        return by_column
                   ? count_csc<SumCells>(typed, codes.data(), w, classes, rule, out, threads)
                   : count_csr<SumCells>(typed, codes.data(), w, classes, rule, out, threads);
    });
}

int moments_sparse(const In& indptr, const In& indices, const In& data, i64 rows, i64 columns,
                   bool by_column, const InVector<i32>& codes,
                   const std::optional<InVector<double>>& weights, OutTable<double> s1_hi,
                   OutTable<double> s1_lo, OutTable<double> s2_hi, OutTable<double> s2_lo,
                   int threads) {
    need(codes, 0, rows, "codes");
    for (auto* table : {&s1_hi, &s1_lo, &s2_hi, &s2_lo}) {
        need(*table, 1, columns, "totals");
        need(*table, 0, static_cast<i64>(s1_hi.shape(0)), "totals");
    }
    const double* w = weights_of(weights, rows);
    const Rule rule{nullptr, Demand::finite};
    double* const out[4] = {s1_hi.data(), s1_lo.data(), s2_hi.data(), s2_lo.data()};
    const i64 classes = static_cast<i64>(s1_hi.shape(0));
    const Sparse<Data::float64> x(indptr, indices, data, by_column ? columns : rows,
                                  by_column ? rows : columns);
    return with_sparse(x, [&](auto typed) {
        nb::gil_scoped_release release;
        return by_column
                   ? count_csc<MomentCells>(typed, codes.data(), w, classes, rule, out, threads)
                   : count_csr<MomentCells>(typed, codes.data(), w, classes, rule, out, threads);
    });
}

int levels_csr(const In& indptr, const In& indices, const In& data, i64 rows, i64 columns,
               const InVector<i32>& codes, const std::optional<InVector<double>>& weights,
               const InVector<i64>& start, OutTable<double> counts) {
    need(codes, 0, rows, "codes");
    need_starts(start, columns);
    need(counts, 1, start.data()[columns], "counts");
    const double* w = weights_of(weights, rows);
    const Sparse<Data::float64> x(indptr, indices, data, rows, columns);
    return with_sparse(x, [&](auto typed) {
        nb::gil_scoped_release release;
        return count_levels_csr(typed, codes.data(), w, static_cast<i64>(counts.shape(0)),
                                start.data(), counts.data(),
                                [](auto value, int& fault) { return code_of(value, fault); });
    });
}

}  // namespace

void bind_sparse_counts(nb::module_& m) {
    m.def("sums_sparse", &sums_sparse, "indptr"_a, "indices"_a, "data"_a, "rows"_a, "columns"_a,
          "by_column"_a, "codes"_a, "weights"_a.none(), "threshold"_a.none(), "non_negative"_a,
          "sums"_a.noconvert(), "threads"_a);
    m.def("moments_sparse", &moments_sparse, "indptr"_a, "indices"_a, "data"_a, "rows"_a,
          "columns"_a, "by_column"_a, "codes"_a, "weights"_a.none(), "s1_hi"_a.noconvert(), "s1_lo"_a.noconvert(),
          "s2_hi"_a.noconvert(), "s2_lo"_a.noconvert(), "threads"_a);
    m.def("levels_csr", &levels_csr, "indptr"_a, "indices"_a, "data"_a, "rows"_a, "columns"_a,
          "codes"_a, "weights"_a.none(), "start"_a, "counts"_a.noconvert());
}
