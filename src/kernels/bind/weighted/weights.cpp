// The binding of the kernels for learning weights and corrections.
#include "bind/arrays.hpp"
#include "bind/given.hpp"
#include "bind/modules.hpp"
#include "weighted/boosted_cells.hpp"
#include "weighted/cell_offsets.hpp"
#include "weighted/equal_shares.hpp"
#include "weighted/loss.hpp"
#include "weighted/neighbours.hpp"
#include "weighted/ridge_descent.hpp"

using namespace nb::literals;

namespace {

using namespace tb;

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
    return correction_gradient(chosen_loops(), rows, Q.data(), gradient.data(), Q.shape(0), threads);
}

// Under offsets Q of cells, or, if there are functions of cells (start is not empty), under their
// coefficients Q.
void descent(InArray<i32, 2> cells, InArray<double, 2> S, InArray<i32, 1> y,
             InArray<double, 1> weight, InArray<i64, 1> start, InArray<i64, 1> function,
             InArray<double, 1> value, InArray<double, 2> curvature, double ridge,
             OutArray<double, 2> Q, i64 steps, double nearly, double of_loss, int threads) {
    const CorrectedRows rows = corrected(cells, S, y.data(), weight);
    const i64 n = Q.shape(0), n_cells = static_cast<i64>(start.shape(0)) - 1;
    need(y.shape(0) == S.shape(0) && Q.shape(1) == S.shape(1) &&
             curvature.shape(0) == Q.shape(0) && curvature.shape(1) == Q.shape(1),
         "shapes differ");
    need(n_cells < 0 || (start.data()[n_cells] == static_cast<i64>(function.shape(0)) &&
                         value.shape(0) == function.shape(0)),
         "values differ");
    const RidgeStop stop{steps, nearly, of_loss};
    const i64 size = n * rows.classes;
    nb::gil_scoped_release release;
    const Loops& loops = chosen_loops();
    if (n_cells < 0)
        return descend_ridge(loss_of_offsets(loops, rows, n, threads), curvature.data(), ridge,
                             stop, size, Q.data());
    const CellFunctions functions{start.data(), function.data(), value.data(), n_cells};
    descend_ridge(loss_of_functions(loops, rows, functions, n, threads), curvature.data(), ridge,
                  stop, size, Q.data());
}

void curvature(InArray<i32, 2> cells, InArray<double, 2> S, InArray<double, 1> weight,
               OutArray<double, 2> diagonal, int threads) {
    const CorrectedRows rows = corrected(cells, S, nullptr, weight);
    need(diagonal.shape(1) == S.shape(1), "shapes differ");
    nb::gil_scoped_release release;
    correction_curvature(rows, diagonal.data(), diagonal.shape(0), threads);
}

void added(InArray<i32, 2> cells, InArray<double, 2> Q, OutArray<double, 2> into, int threads) {
    need(into.shape(0) == cells.shape(0) && into.shape(1) == Q.shape(1), "shapes differ");
    nb::gil_scoped_release release;
    corrections_added(cells.data(), cells.shape(0), cells.shape(1), Q.shape(1), Q.data(),
                      into.data(), threads);
}

void boosted(InArray<i32, 2> cells, InArray<i64, 1> start, InArray<double, 2> S, InArray<i32, 1> y,
             InArray<double, 1> weight, OutArray<double, 2> Q, i64 cycles, double rate,
             double ridge) {
    const CorrectedRows rows = corrected(cells, S, y.data(), weight);
    need(y.shape(0) == S.shape(0) && Q.shape(1) == S.shape(1) &&
             start.shape(0) == cells.shape(1) + 1 &&
             start.data()[rows.terms] == static_cast<i64>(Q.shape(0)),
         "shapes differ");
    nb::gil_scoped_release release;
    boost_cells(chosen_loops(), rows, start.data(), Q.data(), cycles, rate, ridge);
}

void scaled(nb::ndarray<const float, nb::ndim<2>, nb::device::cpu> Z, InArray<i64, 1> rows,
            InArray<float, 1> factor, OutArray<float, 2> into) {
    need(Z.shape(1) <= 1 || Z.stride(1) == 1, "the values of a term are not side by side");
    need(factor.shape(0) == rows.shape(0) && into.shape(1) == rows.shape(0) &&
             into.shape(0) == Z.shape(0),
         "shapes differ");
    nb::gil_scoped_release release;
    scaled_rows(Z.data(), Z.stride(0), Z.shape(0), rows.data(), rows.shape(0), factor.data(),
                into.data());
}

void shares(InArray<double, 1> weight, double total, i64 most, OutArray<i64, 1> label) {
    need(label.shape(0) == weight.shape(0), "shapes differ");
    equal_shares(weight.data(), weight.shape(0), total, most, label.data());
}

void neighbours(InArray<double, 2> counts, InArray<double, 1> at, InArray<double, 1> width,
                OutArray<double, 3> into) {
    need(at.shape(0) <= counts.shape(0) && into.shape(0) == width.shape(0) &&
             into.shape(1) == counts.shape(0) && into.shape(2) == counts.shape(1),
         "shapes differ");
    const i64 cells = counts.shape(0), K = counts.shape(1);
    const NumberCells of{counts.data(), cells, K, at.data(), static_cast<i64>(at.shape(0))};
    const NeighbourSums sums(of);
    for (std::size_t w = 0; w < width.shape(0); ++w)
        sums.write(width.data()[w], into.data() + w * cells * K);
}

}  // namespace

void bind_weights(nb::module_& m) {
    m.def("softmax_residuals", &softmax, "S"_a, "y"_a, "weight"_a, "R"_a, "threads"_a);
    m.def("weighted_loss", &weighted, "Z"_a, "v"_a, "offset"_a, "y"_a, "weight"_a, "in_v"_a,
          "in_b"_a, "threads"_a);
    m.def("correction_gradient", &correction, "cells"_a, "S"_a, "y"_a, "weight"_a, "Q"_a,
          "gradient"_a, "threads"_a);
    m.def("ridge_descent", &descent, "cells"_a, "S"_a, "y"_a, "weight"_a, "start"_a, "function"_a,
          "value"_a, "curvature"_a, "ridge"_a, "Q"_a, "steps"_a, "nearly"_a, "of_loss"_a,
          "threads"_a);
    m.def("equal_shares", &shares, "weight"_a, "total"_a, "most"_a, "label"_a);
    m.def("corrections_added", &added, "cells"_a, "Q"_a, "into"_a, "threads"_a);
    m.def("boost_cells", &boosted, "cells"_a, "start"_a, "S"_a, "y"_a, "weight"_a, "Q"_a,
          "cycles"_a, "rate"_a, "ridge"_a);
    m.def("neighbour_sums", &neighbours, "counts"_a, "at"_a, "width"_a, "into"_a);
    m.def("scaled_rows", &scaled, "Z"_a, "rows"_a, "factor"_a, "into"_a);
    m.def("correction_curvature", &curvature, "cells"_a, "S"_a, "weight"_a, "diagonal"_a,
          "threads"_a);
}
