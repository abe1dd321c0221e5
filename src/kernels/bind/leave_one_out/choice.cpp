// The binding of the kernel that scores what columns of numbers may be read as.
#include "leave_one_out/choice.hpp"
#include "leave_one_out/choice_counts.hpp"
#include "leave_one_out/choice_gaussian.hpp"

#include "bind/arrays.hpp"
#include "bind/modules.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tb;
using Vector = InVector<double>;
using Table = InTable<double>;

ClassRows class_rows(const Vector& classes, const Vector& row, double unit) {
    const i64 K = static_cast<i64>(classes.shape(0));
    need(row, 0, K, "row");
    for (i64 k = 0; k < K; ++k)
        if (!(row.data()[k] > 0.0)) throw nb::value_error("a row has a weight above 0");
    return {K, classes.data(), row.data(), unit};
}

// Grid counts (classes, cells) of columns; the arrays are held.
struct Grids {
    std::vector<Table> held;
    std::vector<GridColumn> columns;
    Grids(nb::list counts, i64 classes) {
        for (nb::handle one : counts) {
            held.push_back(nb::cast<Table>(one, false));
            need(held.back(), 0, classes, "counts");
            const i64 cells = static_cast<i64>(held.back().shape(1));
            if (cells < 1) throw nb::value_error("a column has at least one cell");
            columns.push_back({held.back().data(), cells});
        }
    }
    i64 size() const { return static_cast<i64>(columns.size()); }
};

std::vector<i64> whole_numbers(const InVector<i64>& a, i64 least, const char* rule) {
    for (std::size_t i = 0; i < a.shape(0); ++i)
        if (a.data()[i] < least || a.data()[i] > (i64(1) << 20)) throw nb::value_error(rule);
    return {a.data(), a.data() + a.shape(0)};
}

void score_cells(nb::list counts, const Vector& classes, const Vector& row, double unit,
                 double pseudo, const InVector<i64>& sizes, i64 fine, const InVector<i64>& widths,
                 const Vector& strengths, OutTable<double> bins, OutTable<double> densities) {
    const ClassRows with = class_rows(classes, row, unit);
    const Grids grids(counts, with.classes);
    if (fine < 1 || !(pseudo > 0.0)) throw nb::value_error("bins are from 1 on, pseudo above 0");
    CellCandidates candidates{whole_numbers(sizes, 1, "sizes are from 1 on"), pseudo, fine,
                              whole_numbers(widths, 0, "widths are from 0 on"),
                              {strengths.data(), strengths.data() + strengths.shape(0)}};
    for (double s : candidates.strengths)
        if (!(s > 0.0)) throw nb::value_error("strengths are above 0");
    const i64 n_densities = static_cast<i64>(widths.shape(0) * strengths.shape(0));
    need(bins, 0, grids.size(), "bins"), need(bins, 1, static_cast<i64>(sizes.shape(0)), "bins");
    need(densities, 0, grids.size(), "densities"), need(densities, 1, n_densities, "densities");
    const i64 n_sizes = static_cast<i64>(sizes.shape(0));
    nb::gil_scoped_release release;
    CellScorer scorer(chosen_loops(), with, candidates);
    for (i64 j = 0; j < grids.size(); ++j)
        scorer.score(grids.columns[j], bins.data() + j * n_sizes, densities.data() + j * n_densities);
}

// The values of the cells of each column.
std::vector<const double*> cell_values(nb::list values, const Grids& grids, std::vector<Vector>& held) {
    if (static_cast<i64>(values.size()) != grids.size()) throw nb::value_error("a column lacks values");
    std::vector<const double*> found;
    for (nb::handle one : values) {
        held.push_back(nb::cast<Vector>(one, false));
        need(held.back(), 0, grids.columns[found.size()].cells, "values");
        found.push_back(held.back().data());
    }
    return found;
}

void score_gaussians(nb::list counts, nb::list values, const Vector& classes, const Vector& row,
                     const Table& n, const Table& mean, const Table& squares, const Table& centre,
                     const Table& constant, const Table& scale, const Table& everyone, double rows,
                     double less, double least, const InVector<unsigned char>& exact,
                     const Vector& enough, OutVector<double> scores) {
    const ClassRows with = class_rows(classes, row, 1.0);
    const Grids grids(counts, with.classes);
    std::vector<Vector> held;
    const auto x = cell_values(values, grids, held);
    const i64 d = grids.size(), K = with.classes;
    for (auto* a : {&n, &mean, &squares, &centre, &constant, &scale})
        need(*a, 0, d, "a parameter"), need(*a, 1, K, "a parameter");
    need(everyone, 0, d, "everyone"), need(everyone, 1, 3, "everyone");
    need(exact, 0, d, "exact"), need(enough, 0, d, "enough"), need(scores, 0, d, "scores");
    nb::gil_scoped_release release;
    const GaussianReading as{rows, less, least};
    GaussianScorer scorer(chosen_loops(), with, as);
    for (i64 j = 0; j < d; ++j) {
        const double* all = everyone.data() + j * 3;
        const GaussianColumn column{x[j],
                                    n.data() + j * K,
                                    mean.data() + j * K,
                                    squares.data() + j * K,
                                    centre.data() + j * K,
                                    constant.data() + j * K,
                                    scale.data() + j * K,
                                    {all[0], all[1], all[2]},
                                    exact.data()[j] != 0,
                                    enough.data()[j]};
        scores.data()[j] = scorer.score(grids.columns[j], column);
    }
}

void need_counts(const double* values, i64 n, i64 most) {
    for (i64 a = 0; a < n; ++a) {
        const double x = values[a];
        const bool whole = x >= 0.0 && x <= static_cast<double>(most) && x == std::floor(x);
        if (!whole || (a && !(x > values[a - 1]))) throw nb::value_error("values are counts, ascending");
    }
}

constexpr i64 MAX_COUNT = 1 << 16;

void score_counts(nb::list counts, nb::list values, const Vector& classes, const Vector& row,
                  double alpha, double pooled, const Vector& enough, OutVector<double> scores) {
    const ClassRows with = class_rows(classes, row, 1.0);
    const Grids grids(counts, with.classes);
    std::vector<Vector> held;
    const auto x = cell_values(values, grids, held);
    const i64 d = grids.size();
    for (i64 j = 0; j < d; ++j) need_counts(x[j], grids.columns[j].cells, MAX_COUNT);
    need(enough, 0, d, "enough"), need(scores, 0, d, "scores");
    nb::gil_scoped_release release;
    for (i64 j = 0; j < d; ++j) {
        CountsColumn column(grids.columns[j], x[j], with.classes);
        scores.data()[j] = column.score(with, alpha, pooled, enough.data()[j]);
    }
}

void counts_sizes(const Table& counts, const Vector& values, OutVector<double> sizes) {
    const i64 K = static_cast<i64>(counts.shape(0)), n = static_cast<i64>(counts.shape(1));
    need(values, 0, n, "values"), need(sizes, 0, K, "sizes");
    if (n < 1) throw nb::value_error("a column has at least one cell");
    need_counts(values.data(), n, MAX_COUNT);
    nb::gil_scoped_release release;
    const CountsColumn column({counts.data(), n}, values.data(), K);
    for (i64 k = 0; k < K; ++k) sizes.data()[k] = column.log_size(k);
}

// log r of classes `own`, each without a row of value x and some weight.
void counts_sizes_without(const Table& counts, const Vector& values, const InVector<i64>& own,
                          const Vector& x, const Vector& weight, OutVector<double> sizes) {
    const i64 K = static_cast<i64>(counts.shape(0)), n = static_cast<i64>(counts.shape(1));
    const i64 rows = static_cast<i64>(own.shape(0));
    need(values, 0, n, "values");
    need(x, 0, rows, "x"), need(weight, 0, rows, "weight"), need(sizes, 0, rows, "sizes");
    if (n < 1) throw nb::value_error("a column has at least one cell");
    need_counts(values.data(), n, MAX_COUNT);
    for (i64 i = 0; i < rows; ++i) {
        const double v = x.data()[i];
        if (own.data()[i] < 0 || own.data()[i] >= K) throw nb::value_error("own is a class");
        if (!(v >= 0.0 && v <= values.data()[n - 1] && v == std::floor(v)))
            throw nb::value_error("x are counts up to the largest value");
    }
    nb::gil_scoped_release release;
    const CountsColumn column({counts.data(), n}, values.data(), K);
    for (i64 i = 0; i < rows; ++i)
        sizes.data()[i] = column.log_size_without(own.data()[i], x.data()[i], weight.data()[i]);
}

void find_atoms(nb::list counts, nb::list values, i64 classes, double row,
                OutVector<unsigned char> found) {
    const Grids grids(counts, classes);
    std::vector<Vector> held;
    const auto x = cell_values(values, grids, held);
    const i64 d = grids.size();
    need(found, 0, d, "found");
    nb::gil_scoped_release release;
    for (i64 j = 0; j < d; ++j) found.data()[j] = has_atoms(grids.columns[j], x[j], classes, row);
}

// The bin of each cell of columns that are cut into so many; `bin` holds them one after the other.
void quantile_bins(nb::list counts, const Vector& row, const InVector<i64>& n_bins,
                   OutVector<i32> bin) {
    const i64 K = static_cast<i64>(row.shape(0));
    const ClassRows with = class_rows(row, row, 1.0);
    const Grids grids(counts, K);
    need(n_bins, 0, grids.size(), "n_bins");
    const std::vector<i64> sizes = whole_numbers(n_bins, 1, "bins are from 1 on");
    i64 cells = 0;
    for (const GridColumn& column : grids.columns) cells += column.cells;
    need(bin, 0, cells, "bin");
    nb::gil_scoped_release release;
    UsedCells used;
    std::vector<i32> found;
    i32* out = bin.data();
    for (i64 j = 0; j < grids.size(); ++j) {
        used.read(grids.columns[j], K);
        QuantileBins(used, grids.columns[j].cells, with).cut(sizes[j], found);
        out = std::copy(found.begin(), found.end(), out);
    }
}

}  // namespace

void bind_choice(nb::module_& m) {
    m.def("score_cells", &score_cells, "counts"_a, "classes"_a, "row"_a, "unit"_a, "pseudo"_a,
          "sizes"_a, "fine"_a, "widths"_a, "strengths"_a, "bins"_a.noconvert(),
          "densities"_a.noconvert());
    m.def("score_gaussians", &score_gaussians, "counts"_a, "values"_a, "classes"_a, "row"_a, "n"_a,
          "mean"_a, "squares"_a, "centre"_a, "constant"_a, "scale"_a, "everyone"_a, "rows"_a,
          "less"_a, "least"_a, "exact"_a, "enough"_a, "scores"_a.noconvert());
    m.def("score_counts", &score_counts, "counts"_a, "values"_a, "classes"_a, "row"_a, "alpha"_a,
          "pooled"_a, "enough"_a, "scores"_a.noconvert());
    m.def("counts_sizes", &counts_sizes, "counts"_a, "values"_a, "sizes"_a.noconvert());
    m.def("counts_sizes_without", &counts_sizes_without, "counts"_a, "values"_a, "own"_a, "x"_a,
          "weight"_a, "sizes"_a.noconvert());
    m.def("quantile_bins", &quantile_bins, "counts"_a, "row"_a, "n_bins"_a, "bin"_a.noconvert());
    m.def("find_atoms", &find_atoms, "counts"_a, "values"_a, "classes"_a, "row"_a,
          "found"_a.noconvert());
}
