// The binding of the kernels for pairs of columns and for learning weights.
#include "arrays.hpp"
#include "corrections.hpp"
#include "pairs.hpp"
#include "row_scores.hpp"
#include "weighted_loss.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tb;

template <class T, int N>
using InArray = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T, int N>
using OutArray = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

void need(bool fine, const char* what) {
    if (!fine) throw std::invalid_argument(what);
}

LabelledRows labelled(const InArray<i32, 1>& y, const InArray<double, 1>& weight,
                      const InArray<float, 2>& P) {
    need(y.shape(0) == P.shape(0) && weight.shape(0) == P.shape(0), "rows differ");
    return {y.data(), weight.data(), P.data(), static_cast<i64>(P.shape(0)),
            static_cast<i64>(P.shape(1))};
}

void screen(InArray<std::uint8_t, 2> codes, InArray<i64, 1> size, InArray<i32, 2> pairs,
            InArray<i32, 1> y, InArray<float, 1> weight, InArray<float, 2> P,
            InArray<double, 2> strength, OutArray<double, 2> gains, int threads) {
    need(y.shape(0) == P.shape(0) && weight.shape(0) == P.shape(0), "rows differ");
    need(codes.shape(1) == P.shape(0) && codes.shape(0) == size.shape(0), "codes differ");
    need(pairs.shape(1) == 2 && gains.shape(0) == pairs.shape(0), "pairs differ");
    need(strength.shape(1) == P.shape(1) && gains.shape(1) == strength.shape(0),
         "strengths differ");
    nb::gil_scoped_release release;
    screen_pairs(y.data(), weight.data(), P.data(), P.shape(0), P.shape(1), codes.data(),
                 size.data(), pairs.data(), pairs.shape(0), strength.data(), strength.shape(0),
                 gains.data(), threads);
}

void sum(InArray<i32, 1> cells, InArray<i32, 1> y, InArray<double, 1> weight, InArray<float, 2> P,
         OutArray<double, 3> sums) {
    const LabelledRows rows = labelled(y, weight, P);
    need(cells.shape(0) == P.shape(0) && sums.shape(0) == 3 && sums.shape(2) == P.shape(1),
         "shapes differ");
    const i64 part = sums.shape(1) * sums.shape(2);
    nb::gil_scoped_release release;
    sum_pair(rows.y, rows.weight, rows.P, rows.n, rows.classes, GivenCell{cells.data()},
             Sums<double>{sums.data(), sums.data() + part, sums.data() + 2 * part});
}

double estimate(OutArray<double, 3> sums, InArray<double, 2> C, InArray<double, 2> E,
             InArray<double, 1> strength) {
    need(sums.shape(0) == 3 && sums.shape(1) == C.shape(0) && sums.shape(2) == C.shape(1) &&
             E.shape(0) == C.shape(0) && E.shape(1) == C.shape(1) &&
             strength.shape(0) == C.shape(1),
         "shapes differ");
    const i64 part = sums.shape(1) * sums.shape(2);
    nb::gil_scoped_release release;
    std::vector<double> room(2 * C.shape(1));
    return cell_gain(Sums<double>{sums.data(), sums.data() + part, sums.data() + 2 * part},
                     C.data(), E.data(), C.shape(0), C.shape(1), strength.data(), room.data());
}

double gain(InArray<i32, 1> cells, InArray<i32, 1> y, InArray<double, 1> weight,
            InArray<float, 2> P, InArray<double, 2> C, InArray<double, 2> E,
            InArray<double, 1> strength) {
    const LabelledRows rows = labelled(y, weight, P);
    need(cells.shape(0) == P.shape(0) && strength.shape(0) == P.shape(1), "shapes differ");
    nb::gil_scoped_release release;
    return residual_gain(rows, GivenCell{cells.data()}, C.data(), E.data(), strength.data());
}

void values(InArray<i32, 1> cells, InArray<i32, 1> y, InArray<double, 1> removed,
            InArray<float, 2> P, InArray<double, 2> C, InArray<double, 2> E,
            InArray<double, 1> strength, OutArray<float, 2> out, int threads) {
    const LabelledRows rows = labelled(y, removed, P);
    need(cells.shape(0) == P.shape(0) && strength.shape(0) == P.shape(1) &&
             out.shape(0) == P.shape(1) && out.shape(1) == P.shape(0),
         "shapes differ");
    nb::gil_scoped_release release;
    residual_values(rows.y, removed.data(), rows.P, rows.n, rows.classes, GivenCell{cells.data()},
                    C.data(), E.data(), C.shape(0), strength.data(), out.data(), threads);
}

void joint(InArray<i32, 1> first, InArray<i32, 1> second, InArray<i32, 1> a, InArray<i32, 1> b,
           int width, OutArray<i32, 1> cells, int threads) {
    need(first.shape(0) == cells.shape(0) && second.shape(0) == cells.shape(0), "rows differ");
    nb::gil_scoped_release release;
    joint_cells(first.data(), second.data(), cells.shape(0), a.data(), b.data(), width,
                cells.data(), threads);
}

void column(InArray<i32, 1> cells, InArray<i32, 1> y, InArray<double, 1> removed,
            InArray<double, 2> C, InArray<double, 1> p, double least, InArray<double, 1> W,
            OutArray<double, 2> S, int threads) {
    need(cells.shape(0) == S.shape(0) && y.shape(0) == S.shape(0) &&
             removed.shape(0) == S.shape(0) && C.shape(1) == S.shape(1) &&
             p.shape(0) == S.shape(1) && W.shape(0) == S.shape(1),
         "shapes differ");
    nb::gil_scoped_release release;
    add_column(cells.data(), y.data(), removed.data(), S.shape(0), S.shape(1), C.data(),
               C.shape(0), p.data(), least, W.data(), S.data(), threads);
}

void pair(InArray<i32, 1> cells, InArray<i32, 1> y, InArray<double, 1> removed,
          InArray<float, 2> P, InArray<double, 2> C, InArray<double, 2> E, InArray<double, 1> t,
          InArray<double, 1> W, OutArray<double, 2> S, int threads) {
    need(cells.shape(0) == S.shape(0) && y.shape(0) == S.shape(0) &&
             removed.shape(0) == S.shape(0) && P.shape(0) == S.shape(0) &&
             P.shape(1) == S.shape(1) && C.shape(1) == S.shape(1) && E.shape(0) == C.shape(0) &&
             E.shape(1) == S.shape(1) && t.shape(0) == S.shape(1) && W.shape(0) == S.shape(1),
         "shapes differ");
    nb::gil_scoped_release release;
    add_pair(cells.data(), y.data(), removed.data(), P.data(), S.shape(0), S.shape(1), C.data(),
             E.data(), C.shape(0), t.data(), W.data(), S.data(), threads);
}

double softmax(InArray<double, 2> S, InArray<i32, 1> y, InArray<double, 1> weight,
               OutArray<float, 2> R, int threads) {
    need(S.shape(1) == y.shape(0) && weight.shape(0) == y.shape(0) && R.shape(0) == S.shape(0) &&
             R.shape(1) == S.shape(1),
         "shapes differ");
    nb::gil_scoped_release release;
    return softmax_residuals(S.data(), y.data(), weight.data(), S.shape(1), S.shape(0), R.data(),
                             threads);
}

double weighted(nb::ndarray<const float, nb::ndim<3>, nb::device::cpu> Z, InArray<double, 2> v,
                InArray<double, 1> offset, InArray<i32, 1> y, InArray<double, 1> weight,
                OutArray<double, 2> in_v, OutArray<double, 1> in_b, int threads) {
    const i64 layers = Z.shape(0), terms = Z.shape(1), n = Z.shape(2), K = v.shape(0);
    need(layers == K || (layers == 1 && K == 2), "layers and classes differ");
    need(n <= 1 || Z.stride(2) == 1, "the values of a term are not side by side");
    need(v.shape(1) == Z.shape(1) && offset.shape(0) == v.shape(0) && in_v.shape(0) == v.shape(0) &&
             in_v.shape(1) == Z.shape(1) && in_b.shape(0) == v.shape(0),
         "shapes differ");
    need(y.shape(0) == Z.shape(2) && weight.shape(0) == Z.shape(2), "rows differ");
    const WeightedTerms all{Z.data(), Z.stride(0), Z.stride(1),   layers,   terms,        n, K,
                            v.data(), offset.data(), y.data(), weight.data()};
    nb::gil_scoped_release release;
    return weighted_loss(chosen_loops(), all, in_v.data(), in_b.data(), threads);
}

CorrectedRows corrected(const InArray<i32, 2>& cells, const InArray<double, 2>& S,
                        const i32* y, const InArray<double, 1>& weight) {
    need(cells.shape(0) == S.shape(0) && weight.shape(0) == S.shape(0), "rows differ");
    return {cells.data(),
            S.data(),
            y,
            weight.data(),
            static_cast<i64>(cells.shape(0)),
            static_cast<i64>(cells.shape(1)),
            static_cast<i64>(S.shape(1))};
}

double correction(InArray<i32, 2> cells, InArray<double, 2> S, InArray<i32, 1> y,
                  InArray<double, 1> weight, InArray<double, 2> Q, OutArray<double, 2> gradient,
                  int threads) {
    const CorrectedRows rows = corrected(cells, S, y.data(), weight);
    need(y.shape(0) == S.shape(0) && Q.shape(1) == S.shape(1) &&
             gradient.shape(0) == Q.shape(0) && gradient.shape(1) == Q.shape(1),
         "shapes differ");
    nb::gil_scoped_release release;
    return correction_gradient(rows, Q.data(), gradient.data(), Q.shape(0), threads);
}

void curvature(InArray<i32, 2> cells, InArray<double, 2> S, InArray<double, 1> weight,
               OutArray<double, 2> diagonal, int threads) {
    const CorrectedRows rows = corrected(cells, S, nullptr, weight);
    need(diagonal.shape(1) == S.shape(1), "shapes differ");
    nb::gil_scoped_release release;
    correction_curvature(rows, diagonal.data(), diagonal.shape(0), threads);
}

}  // namespace

void bind_pairs(nb::module_& m) {
    m.def("screen_pairs", &screen, "codes"_a, "size"_a, "pairs"_a, "y"_a, "weight"_a, "P"_a,
          "strength"_a, "gains"_a, "threads"_a);
    m.def("joint_cells", &joint, "first"_a, "second"_a, "a"_a, "b"_a, "width"_a, "cells"_a,
          "threads"_a);
    m.def("sum_pair", &sum, "cells"_a, "y"_a, "weight"_a, "P"_a, "sums"_a);
    m.def("cell_gain", &estimate, "sums"_a, "C"_a, "E"_a, "strength"_a);
    m.def("residual_gain", &gain, "cells"_a, "y"_a, "weight"_a, "P"_a, "C"_a, "E"_a, "strength"_a);
    m.def("residual_values", &values, "cells"_a, "y"_a, "removed"_a, "P"_a, "C"_a, "E"_a,
          "strength"_a, "out"_a, "threads"_a);
    m.def("add_column", &column, "cells"_a, "y"_a, "removed"_a, "C"_a, "p"_a, "least"_a, "W"_a,
          "S"_a, "threads"_a);
    m.def("add_pair", &pair, "cells"_a, "y"_a, "removed"_a, "P"_a, "C"_a, "E"_a, "strength"_a,
          "W"_a, "S"_a, "threads"_a);
    m.def("softmax_residuals", &softmax, "S"_a, "y"_a, "weight"_a, "R"_a, "threads"_a);
    m.def("weighted_loss", &weighted, "Z"_a, "v"_a, "offset"_a, "y"_a, "weight"_a, "in_v"_a,
          "in_b"_a, "threads"_a);
    m.def("correction_gradient", &correction, "cells"_a, "S"_a, "y"_a, "weight"_a, "Q"_a,
          "gradient"_a, "threads"_a);
    m.def("correction_curvature", &curvature, "cells"_a, "S"_a, "weight"_a, "diagonal"_a,
          "threads"_a);
}
