// The binding of the kernels for cross moments and triangular scores.
#include "count/cross.hpp"
#include "score/triangular.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include "bind/arrays.hpp"
#include "bind/modules.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tb;

template <class T, int N>
using Cells = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

template <class T, class Vector, class Table>
CrossTotals<T> totals_of(const Vector& n, const Table& s1_hi, const Table& s1_lo,
                         const Table& s2_hi, const Table& s2_lo, const Vector& n_lo) {
    const i64 classes = static_cast<i64>(n.shape(0)), d = static_cast<i64>(s1_hi.shape(1));
    need(n_lo, 0, classes, "totals");
    for (auto* table : {&s1_hi, &s1_lo, &s2_hi, &s2_lo}) need(*table, 0, classes, "totals");
    need(s1_lo, 1, d, "totals");
    for (auto* table : {&s2_hi, &s2_lo}) need(*table, 1, pairs_of(d), "totals");
    return {n.data(), s1_hi.data(), s1_lo.data(), s2_hi.data(), s2_lo.data(), n_lo.data()};
}

int count(InTable<double> x, InVector<i32> codes, std::optional<InVector<double>> weights,
          InVector<double> origin, OutVector<double> n, OutTable<double> s1_hi,
          OutTable<double> s1_lo, OutTable<double> s2_hi, OutTable<double> s2_lo,
          OutVector<double> n_lo, int threads) {
    const auto totals = totals_of<double>(n, s1_hi, s1_lo, s2_hi, s2_lo, n_lo);
    const i64 rows = static_cast<i64>(x.shape(0)), d = static_cast<i64>(x.shape(1));
    need(codes, 0, rows, "codes"), need(origin, 0, d, "origin"), need(s1_hi, 1, d, "totals");
    const double* w = weights_of(weights, rows);
    const i64 classes = static_cast<i64>(n.shape(0));
    nb::gil_scoped_release release;
    return count_cross(chosen_loops(), x.data(), rows, d, codes.data(), w, classes, origin.data(), totals, threads);
}

void add(OutVector<double> n, OutTable<double> a, OutTable<double> b, OutTable<double> c,
         OutTable<double> e, OutVector<double> n_lo, InVector<double> other_n,
         InTable<double> other_a, InTable<double> other_b, InTable<double> other_c,
         InTable<double> other_e, InVector<double> other_n_lo, double factor) {
    const auto to = totals_of<double>(n, a, b, c, e, n_lo);
    const auto from =
        totals_of<const double>(other_n, other_a, other_b, other_c, other_e, other_n_lo);
    need(other_n, 0, static_cast<i64>(n.shape(0)), "the other totals");
    need(other_a, 1, static_cast<i64>(a.shape(1)), "the other totals");
    add_cross(to, from, factor, static_cast<i64>(n.shape(0)), static_cast<i64>(a.shape(1)));
}

void rebase(OutVector<double> n, OutTable<double> a, OutTable<double> b, OutTable<double> c,
            OutTable<double> e, OutVector<double> n_lo, InVector<double> old_origin,
            InVector<double> new_origin) {
    const auto totals = totals_of<double>(n, a, b, c, e, n_lo);
    const i64 d = static_cast<i64>(a.shape(1));
    need(old_origin, 0, d, "origin"), need(new_origin, 0, d, "origin");
    rebase_cross(totals, old_origin.data(), new_origin.data(), static_cast<i64>(n.shape(0)), d);
}

void centre(InVector<double> n, InTable<double> a, InTable<double> b, InTable<double> c,
            InTable<double> e, InVector<double> n_lo, InVector<double> origin, double residue,
            OutTable<double> mean, Cells<double, 3> scatter) {
    const auto totals = totals_of<const double>(n, a, b, c, e, n_lo);
    const i64 classes = static_cast<i64>(n.shape(0)), d = static_cast<i64>(a.shape(1));
    need(origin, 0, d, "origin"), need(mean, 0, classes, "output"), need(mean, 1, d, "output");
    need(scatter, 0, classes, "output");
    need(scatter, 1, d, "output"), need(scatter, 2, d, "output");
    centre_cross(totals, origin.data(), classes, d, residue, mean.data(), scatter.data());
}

void flatten(OutVector<double> n, OutTable<double> a, OutTable<double> b, OutTable<double> c,
             OutTable<double> e, OutVector<double> n_lo, InTable<std::uint8_t> marked) {
    const auto totals = totals_of<double>(n, a, b, c, e, n_lo);
    const i64 classes = static_cast<i64>(n.shape(0)), d = static_cast<i64>(a.shape(1));
    need(marked, 0, classes, "marks"), need(marked, 1, d, "marks");
    flatten_cross(totals, marked.data(), classes, d);
}

void triangular(InTable<double> x, InTable<double> mean, Cells<const double, 3> rotation,
                InTable<double> constant, std::optional<InVector<double>> freedom,
                OutTable<double> scores, std::optional<Cells<double, 3>> shares, int threads) {
    const i64 n = static_cast<i64>(x.shape(0)), d = static_cast<i64>(x.shape(1));
    const i64 K = static_cast<i64>(mean.shape(0));
    need(mean, 1, d, "mean"), need(constant, 0, K, "constant"), need(constant, 1, d, "constant");
    need(rotation, 0, K, "rotation"), need(rotation, 1, d, "rotation");
    need(rotation, 2, d, "rotation"), need(scores, 0, n, "scores"), need(scores, 1, K, "scores");
    if (freedom) need(*freedom, 0, K, "freedom");
    if (shares) {
        need(*shares, 0, n, "shares"), need(*shares, 1, K, "shares");
        need(*shares, 2, d, "shares");
    }
    const Triangular terms{mean.data(), rotation.data(), constant.data(),
                           freedom ? freedom->data() : nullptr, K, d};
    nb::gil_scoped_release release;
    score_triangular(terms, x.data(), n, scores.data(), shares ? shares->data() : nullptr, threads);
}

}  // namespace

void bind_cross(nb::module_& m) {
    m.def("cross_dense", &count, "x"_a, "codes"_a, "weights"_a.none(), "origin"_a,
          "n"_a.noconvert(), "s1_hi"_a.noconvert(), "s1_lo"_a.noconvert(), "s2_hi"_a.noconvert(),
          "s2_lo"_a.noconvert(), "n_lo"_a.noconvert(), "threads"_a);
    m.def("add_cross", &add, "n"_a.noconvert(), "s1_hi"_a.noconvert(), "s1_lo"_a.noconvert(),
          "s2_hi"_a.noconvert(), "s2_lo"_a.noconvert(), "n_lo"_a.noconvert(), "other_n"_a,
          "other_s1_hi"_a, "other_s1_lo"_a, "other_s2_hi"_a, "other_s2_lo"_a, "other_n_lo"_a,
          "factor"_a);
    m.def("rebase_cross", &rebase, "n"_a.noconvert(), "s1_hi"_a.noconvert(),
          "s1_lo"_a.noconvert(), "s2_hi"_a.noconvert(), "s2_lo"_a.noconvert(),
          "n_lo"_a.noconvert(), "old_origin"_a, "new_origin"_a);
    m.def("centre_cross", &centre, "n"_a, "s1_hi"_a, "s1_lo"_a, "s2_hi"_a, "s2_lo"_a, "n_lo"_a,
          "origin"_a, "residue"_a, "mean"_a.noconvert(), "scatter"_a.noconvert());
    m.def("flatten_cross", &flatten, "n"_a.noconvert(), "s1_hi"_a.noconvert(),
          "s1_lo"_a.noconvert(), "s2_hi"_a.noconvert(), "s2_lo"_a.noconvert(),
          "n_lo"_a.noconvert(), "marked"_a);
    m.def("score_triangular", &triangular, "x"_a, "mean"_a, "rotation"_a, "constant"_a,
          "freedom"_a.none(), "scores"_a.noconvert(), "shares"_a.none().noconvert(), "threads"_a);
}
