// The binding of the kernels for weighted models: pairs of columns, weights and corrections.
#include "bind/arrays.hpp"
#include "weighted/cell_offsets.hpp"
#include "weighted/cells.hpp"
#include "weighted/loss.hpp"
#include "weighted/pair_gains.hpp"
#include "weighted/ridge_descent.hpp"
#include "weighted/table_gains.hpp"

namespace {

using namespace tb;

using Levels = InTable<std::uint8_t>;

// ---- pairs of columns ----------------------------------------------------------------------------
LabelledRows labelled(const Codes& y, const Vector& weight, const InTable<float>& P) {
    need({P.shape(0)}, "rows", y, weight);
    return {y, weight, P, P.shape(0), P.shape(1)};
}

void screen(const Levels& codes, const InVector<i64>& size, const InTable<i32>& pairs, const Codes& y,
            const InVector<float>& weight, const InTable<float>& P, const Table& strength,
            const OutTable& gains, int threads) {
    const i64 n = P.shape(0), K = P.shape(1), strengths = strength.shape(0);
    need({n}, "rows", y, weight), need({size.shape(0), n}, "codes", codes);
    need({pairs.shape(0), 2}, "pairs", pairs), need({strengths, K}, "strength", strength);
    need({pairs.shape(0), strengths}, "gains", gains);
    screen_pairs(chosen_loops(), y, weight, P, n, K, codes, size, pairs, pairs.shape(0), strength,
                 strengths, gains, threads);
}

PairColumns columns_of(const Levels& coarse, const Levels& fine, const InTable<i64>& size,
                       const InTable<i64>& numbers, const InVector<bool>& number, i64 most_cells,
                       i64 n) {
    const i64 d = fine.shape(0);
    need({d, n}, "codes", coarse, fine), need({2, d}, "sizes", size, numbers);
    need({d}, "number", number);
    return {{coarse, fine}, {size, size + d}, {numbers, numbers + d}, number, most_cells};
}

void need_ways(const InTable<i32>& pairs, const Table& strength, const Vector& width,
               const Array<double, 3>& gains, i64 K) {
    need({pairs.shape(0), 2}, "pairs", pairs), need({strength.shape(0), K}, "strength", strength);
    need({pairs.shape(0), 1 + width.shape(0), strength.shape(0)}, "gains", gains);
}

void tried(const Levels& coarse, const Levels& fine, const InTable<i64>& size,
           const InTable<i64>& numbers, const InVector<bool>& number, i64 most_cells,
           const InTable<i32>& pairs, const Codes& y, const Vector& weight, const InTable<float>& P,
           const Table& strength, const Vector& width, const Array<double, 3>& gains, int threads) {
    const LabelledRows rows = labelled(y, weight, P);
    need(rows.classes == 2, "two classes are asked for");
    const PairColumns columns = columns_of(coarse, fine, size, numbers, number, most_cells, rows.n);
    need_ways(pairs, strength, width, gains, 2);
    try_pairs(chosen_loops(), rows, columns, pairs, pairs.shape(0), strength, strength.shape(0), width,
              width.shape(0), gains, threads);
}

void exact(const Levels& coarse, const Levels& fine, const InTable<i64>& size,
           const InTable<i64>& numbers, const InVector<bool>& number, i64 most_cells,
           const InTable<i32>& pairs, const Codes& y, const Vector& weight, const InTable<float>& P,
           const Table& strength, const Vector& width, const Array<double, 3>& gains, int threads,
           i64 middle, bool thorough) {
    const LabelledRows rows = labelled(y, weight, P);
    const PairColumns columns = columns_of(coarse, fine, size, numbers, number, most_cells, rows.n);
    need_ways(pairs, strength, width, gains, rows.classes);
    need(middle >= 0 && middle < strength.shape(0), "no strength is in the middle");
    const PairWays ways{strength, width, strength.shape(0), middle, width.shape(0), thorough};
    exact_pair_gains(chosen_loops(), rows, columns, pairs, pairs.shape(0), ways, gains, threads);
}

void sum(const Codes& cells, const Codes& y, const Vector& weight, const InTable<float>& P,
         const Array<double, 3>& sums) {
    const LabelledRows rows = labelled(y, weight, P);
    const i64 n_cells = sums.shape(1);
    need({rows.n}, "cells", cells), need({4, n_cells, rows.classes}, "sums", sums);
    sum_pair(rows.y, rows.weight, rows.P, rows.n, rows.classes, GivenCell{cells}, n_cells,
             Sums<double>(sums, n_cells * rows.classes));
}

double estimate(const Array<double, 3>& sums, const Table& C, const Table& E, const Vector& strength,
                const Vector& removed) {
    const i64 cells = C.shape(0), K = C.shape(1), wide = padded(K);
    need({4, cells, K}, "sums", sums), need({cells, K}, "E", E);
    need({K}, "strength", strength, removed);
    const Sums<double> of(sums, cells * K);
    if (K == 2)
        return CellsOfTwo(of, cells, removed).gain(chosen_loops(), C.data(), E.data(), strength);
    const InLines<float> counted = lanes_of(of.C, cells, K), expected = lanes_of(of.E, cells, K),
                         own = lanes_of(of.O, cells, K), c = lanes_of<float, double>(C, cells, K),
                         e = lanes_of<float, double>(E, cells, K),
                         t = lanes_of<float, double>(strength, 1, K),
                         below = lanes_of<float, double>(strength, 1, K, 1.0f),
                         less = lanes_of<float, double>(removed, 1, K);
    std::vector<double> share(cells * wide);
    return cell_gain(chosen_loops(), {counted.data(), expected.data(), own.data()},
                     {c.data(), e.data(), t.data(), below.data(), wide, K}, cells, less.data(),
                     share.data());
}

double gain(const Codes& cells, const Codes& y, const Vector& weight, const InTable<float>& P,
            const Table& C, const Table& E, const Vector& strength) {
    const LabelledRows rows = labelled(y, weight, P);
    need({rows.n}, "cells", cells), need({rows.classes}, "strength", strength);
    return residual_gain(chosen_loops(), rows, cells, C, E, C.shape(0), C.shape(1), strength);
}

void values(const Codes& cells, const Codes& y, const Vector& removed, const InTable<float>& P,
            const Table& C, const Table& E, const Vector& strength, const Array<float, 2>& out,
            int threads) {
    const LabelledRows rows = labelled(y, removed, P);
    need({rows.n}, "cells", cells), need({rows.classes}, "strength", strength);
    need({rows.classes, rows.n}, "out", out);
    residual_values(chosen_loops(), y, removed, P, rows.n, rows.classes, cells, C, E, C.shape(0),
                    strength, out, threads);
}

void joint(const Codes& first, const Codes& second, const Codes& a, const Codes& b, int width,
           const Array<i32, 1>& cells, int threads) {
    need({cells.shape(0)}, "rows", first, second);
    joint_cells(first, second, cells.shape(0), a, b, width, cells, threads);
}

void column(const Codes& cells, const Codes& y, const Vector& removed, const Table& C, const Vector& p,
            double least, const Vector& W, const OutTable& S, int threads) {
    const i64 n = S.shape(0), K = S.shape(1);
    need({n}, "rows", cells, y, removed), need({C.shape(0), K}, "C", C), need({K}, "classes", p, W);
    add_column(cells, y, removed, n, K, C, C.shape(0), p, least, W, S, threads);
}

void pair(const Codes& cells, const Codes& y, const Vector& removed, const InTable<float>& P,
          const Table& C, const Table& E, const Vector& t, const Vector& W, const OutTable& S,
          int threads) {
    const i64 n = S.shape(0), K = S.shape(1);
    need({n}, "rows", cells, y, removed), need({n, K}, "P", P), need({C.shape(0), K}, "cells", C, E);
    need({K}, "classes", t, W);
    add_pair(chosen_loops(), cells, y, removed, P, n, K, C, E, C.shape(0), t, W, S, threads);
}

// ---- weights and corrections ---------------------------------------------------------------------
double softmax(const Table& S, const Codes& y, const Vector& weight, const Array<float, 2>& R,
               int threads) {
    const i64 K = S.shape(0), n = S.shape(1);
    need({n}, "rows", y, weight), need({K, n}, "R", R);
    return softmax_residuals(S, y, weight, n, K, R, threads);
}

double weighted(const nb::ndarray<const float, nb::ndim<3>, nb::device::cpu>& Z, const Table& v,
                const Vector& offset, const Codes& y, const Vector& weight, const OutTable& in_v,
                const OutVector& in_b, int threads) {
    const i64 layers = Z.shape(0), terms = Z.shape(1), n = Z.shape(2), K = v.shape(0);
    need(layers == K || (layers == 1 && K == 2), "layers and classes differ");
    need(n <= 1 || Z.stride(2) == 1, "the values of a term are not side by side");
    need({K, terms}, "v", v, in_v), need({K}, "offset", offset, in_b), need({n}, "rows", y, weight);
    const WeightedTerms all{Z.data(), Z.stride(0), Z.stride(1), layers, terms, n,
                            K,        v,           offset,      y,      weight};
    return weighted_loss(chosen_loops(), all, in_v, in_b, threads);
}

CorrectedRows corrected(const InTable<i32>& cells, const Table& S, const i32* y,
                        const Vector& weight) {
    const i64 n = S.shape(0);
    need({n, cells.shape(1)}, "cells", cells), need({n}, "weight", weight);
    return {cells, S, y, weight, n, cells.shape(1), S.shape(1)};
}

double correction(const InTable<i32>& cells, const Table& S, const Codes& y, const Vector& weight,
                  const Table& Q, const OutTable& gradient, int threads) {
    const CorrectedRows rows = corrected(cells, S, y, weight);
    need({rows.n}, "y", y), need({Q.shape(0), rows.classes}, "Q", Q, gradient);
    return correction_gradient(chosen_loops(), rows, Q, gradient, Q.shape(0), threads);
}

// Under offsets Q of cells, or, if there are functions of cells (start is not empty), under their
// coefficients Q.
void descent(const InTable<i32>& cells, const Table& S, const Codes& y, const Vector& weight,
             const InVector<i64>& start, const InVector<i64>& function, const Vector& value,
             const Table& curvature, double ridge, const OutTable& Q, i64 steps, double nearly,
             double of_loss, int threads) {
    const CorrectedRows rows = corrected(cells, S, y, weight);
    const i64 n = Q.shape(0), n_cells = start.shape(0) - 1, size = n * rows.classes;
    need({rows.n}, "y", y), need({n, rows.classes}, "Q", Q, curvature);
    if (n_cells >= 0) need({start[n_cells]}, "values", function, value);
    const RidgeStop stop{steps, nearly, of_loss};
    const Loops& loops = chosen_loops();
    if (n_cells < 0)
        return descend_ridge(loss_of_offsets(loops, rows, n, threads), curvature, ridge, stop, size, Q);
    const CellFunctions functions{start, function, value, n_cells};
    descend_ridge(loss_of_functions(loops, rows, functions, n, threads), curvature, ridge, stop, size,
                  Q);
}

void curvature(const InTable<i32>& cells, const Table& S, const Vector& weight,
               const OutTable& diagonal, int threads) {
    const CorrectedRows rows = corrected(cells, S, nullptr, weight);
    need({diagonal.shape(0), rows.classes}, "diagonal", diagonal);
    correction_curvature(rows, diagonal, diagonal.shape(0), threads);
}

void added(const InTable<i32>& cells, const Table& Q, const OutTable& into, int threads) {
    need({cells.shape(0), Q.shape(1)}, "into", into);
    corrections_added(cells, cells.shape(0), cells.shape(1), Q.shape(1), Q, into, threads);
}

void scaled(const nb::ndarray<const float, nb::ndim<2>, nb::device::cpu>& Z, const InVector<i64>& rows,
            const InVector<float>& factor, const Array<float, 2>& into) {
    const i64 terms = Z.shape(0), n = rows.shape(0);
    need(Z.shape(1) <= 1 || Z.stride(1) == 1, "the values of a term are not side by side");
    need({n}, "factor", factor), need({terms, n}, "into", into);
    scaled_rows(Z.data(), Z.stride(0), terms, rows, n, factor, into);
}

void shares(const Vector& weight, double total, i64 most, const Array<i64, 1>& label) {
    need({weight.shape(0)}, "label", label);
    equal_shares(weight, weight.shape(0), total, most, label);
}

void neighbours(const Table& counts, const Vector& at, const Vector& width,
                const Array<double, 3>& into) {
    const i64 cells = counts.shape(0), K = counts.shape(1);
    need(at.shape(0) <= cells, "there are more numbers than cells");
    need({width.shape(0), cells, K}, "into", into);
    const NumberCells of{counts, cells, K, at, at.shape(0)};
    const NeighbourSums sums(of);
    for (i64 w = 0; w < width.shape(0); ++w) sums.write(width[w], into + w * cells * K);
}

void smoothed(const Table& counts, const Table& removed, const Vector& p,
              const Array<const double, 3>& summed, const Vector& strength, const OutTable& gains) {
    const i64 cells = counts.shape(0), K = counts.shape(1), kernels = summed.shape(0);
    need({cells, K}, "removed", removed), need({K}, "p", p);
    need({kernels, cells, K}, "summed", summed), need({kernels, strength.shape(0)}, "gains", gains);
    table_gains(chosen_loops(), {counts, removed, p, cells, K}, summed, kernels, strength,
                strength.shape(0), gains);
}

}  // namespace

void bind_weighted(nb::module_& m) {
    def(m, "screen_pairs", &screen, "codes size pairs y weight P strength gains threads", without_gil);
    def(m, "try_pairs", &tried,
        "coarse fine size numbers number most_cells pairs y weight P strength width gains threads",
        without_gil);
    def(m, "exact_pair_gains", &exact,
        "coarse fine size numbers number most_cells pairs y weight P strength width gains threads "
        "middle thorough",
        without_gil);
    def(m, "joint_cells", &joint, "first second a b width cells threads", without_gil);
    def(m, "sum_pair", &sum, "cells y weight P sums", without_gil);
    def(m, "cell_gain", &estimate, "sums C E strength removed", without_gil);
    def(m, "residual_gain", &gain, "cells y weight P C E strength", without_gil);
    def(m, "residual_values", &values, "cells y removed P C E strength out threads", without_gil);
    def(m, "add_column", &column, "cells y removed C p least W S threads", without_gil);
    def(m, "add_pair", &pair, "cells y removed P C E strength W S threads", without_gil);
    def(m, "softmax_residuals", &softmax, "S y weight R threads", without_gil);
    def(m, "weighted_loss", &weighted, "Z v offset y weight in_v in_b threads", without_gil);
    def(m, "correction_gradient", &correction, "cells S y weight Q gradient threads", without_gil);
    def(m, "ridge_descent", &descent,
        "cells S y weight start function value curvature ridge Q steps nearly of_loss threads",
        without_gil);
    def(m, "equal_shares", &shares, "weight total most label");
    def(m, "corrections_added", &added, "cells Q into threads", without_gil);
    def(m, "neighbour_sums", &neighbours, "counts at width into", without_gil);
    def(m, "table_gains", &smoothed, "counts removed p summed strength gains", without_gil);
    def(m, "scaled_rows", &scaled, "Z rows factor into", without_gil);
    def(m, "correction_curvature", &curvature, "cells S weight diagonal threads", without_gil);
}
