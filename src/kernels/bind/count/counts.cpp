// Counting: labels, moments, sums, levels and grids of arrays.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/modules.hpp"
#include "core/zeros.hpp"
#include "count/dense.hpp"
#include "count/grid.hpp"
#include "count/labels.hpp"
#include "count/levels.hpp"
#include "count/moments.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tb;

nb::object rank_labels_(const In& y, i64 limit, OutVector<i32> codes, int threads) {
    const Matrix m = matrix(y);
    need(codes, 0, m.n, "codes");
    auto values = std::make_unique<std::vector<i64>>();
    bool done = false;
    with_type(m, [&](auto typed) {
        using T = std::decay_t<decltype(*typed.data)>;
        if constexpr (std::is_integral_v<T>) {
            nb::gil_scoped_release release;
            if (m.n) done = rank_labels(typed, limit, *values, codes.data(), threads);
        } else {
            throw nb::type_error("labels must be whole numbers");
        }
    });
    if (!done) return nb::none();
    return nb::cast(as_array(std::move(*values)));
}

void count_classes_(const InVector<i32>& codes, const std::optional<InVector<double>>& weights,
                    OutVector<double> count, int threads, std::optional<OutVector<double>> rest) {
    const i64 n = static_cast<i64>(codes.shape(0));
    const double* w = weights_of(weights, n);
    if (rest) need(*rest, 0, static_cast<i64>(count.shape(0)), "rest");
    nb::gil_scoped_release release;
    count_classes(codes.data(), w, n, static_cast<i64>(count.shape(0)), count.data(),
                  rest ? rest->data() : nullptr, threads);
}

// Counts the rows of each class in `rows`, and adds them to `count` and `squared_weights`.
void count_rows_(const InVector<i32>& codes, OutVector<double> rows, OutVector<double> count,
                 OutVector<double> squared_weights, int threads) {
    const i64 n = static_cast<i64>(codes.shape(0)), classes = static_cast<i64>(rows.shape(0));
    need(count, 0, classes, "count");
    need(squared_weights, 0, classes, "squared_weights");
    nb::gil_scoped_release release;
    std::fill_n(rows.data(), classes, 0.0);
    count_classes(codes.data(), nullptr, n, classes, rows.data(), nullptr, threads);
    for (i64 k = 0; k < classes; ++k)
        count.data()[k] += rows.data()[k], squared_weights.data()[k] += rows.data()[k];
}

int moments_dense(const In& x, const InVector<i32>& codes,
                  const std::optional<InVector<double>>& weights, const InVector<double>& origin,
                  OutTable<double> s1_hi, OutTable<double> s1_lo, OutTable<double> s2_hi,
                  OutTable<double> s2_lo, int threads) {
    const Matrix m = matrix(x);
    need(codes, 0, m.n, "codes");
    need(origin, 0, m.d, "origin");
    for (auto* table : {&s1_hi, &s1_lo, &s2_hi, &s2_lo}) {
        need(*table, 1, m.d, "totals");
        need(*table, 0, static_cast<i64>(s1_hi.shape(0)), "totals");
    }
    const double* w = weights_of(weights, m.n);
    const Totals totals{s1_hi.data(), s1_lo.data(), s2_hi.data(), s2_lo.data()};
    const i64 classes = static_cast<i64>(s1_hi.shape(0));
    nb::gil_scoped_release release;
    return with_numbers(m, [&](auto typed) {
        return count_moments(chosen_loops(), typed, Grid(m.n, m.d), codes.data(), w, classes, origin.data(),
                             totals, threads);
    });
}

// of columns that lie apart, as those of a matrix
int moments_columns(const std::vector<InVector<double>>& x, const InVector<i32>& codes,
                    const std::optional<InVector<double>>& weights, const InVector<double>& origin,
                    OutTable<double> s1_hi, OutTable<double> s1_lo, OutTable<double> s2_hi,
                    OutTable<double> s2_lo, int threads) {
    const i64 n = static_cast<i64>(codes.shape(0)), d = static_cast<i64>(x.size());
    std::vector<const double*> columns;
    for (const auto& column : x) {
        need(column, 0, n, "a column");
        columns.push_back(column.data());
    }
    need(origin, 0, d, "origin");
    for (auto* table : {&s1_hi, &s1_lo, &s2_hi, &s2_lo}) {
        need(*table, 1, d, "totals");
        need(*table, 0, static_cast<i64>(s1_hi.shape(0)), "totals");
    }
    const double* w = weights_of(weights, n);
    const Totals totals{s1_hi.data(), s1_lo.data(), s2_hi.data(), s2_lo.data()};
    const i64 classes = static_cast<i64>(s1_hi.shape(0));
    nb::gil_scoped_release release;
    return count_moments(chosen_loops(), ColumnList{columns.data(), n, d}, Grid(n, d), codes.data(),
                         w, classes, origin.data(), totals, threads);
}

int sums_dense(const In& x, const InVector<i32>& codes,
               const std::optional<InVector<double>>& weights, std::optional<double> threshold,
               bool non_negative, OutTable<double> sums, int threads) {
    const Matrix m = matrix(x);
    need(codes, 0, m.n, "codes");
    need(sums, 1, m.d, "sums");
    const double* w = weights_of(weights, m.n);
    const Demand demand = non_negative ? Demand::non_negative : Demand::finite;
    nb::gil_scoped_release release;
    return with_numbers(m, [&](auto typed) {
        return count_sums(chosen_loops(), typed, Grid(m.n, m.d), codes.data(), w,
                          static_cast<i64>(sums.shape(0)), threshold ? &*threshold : nullptr,
                          demand, sums.data(), threads);
    });
}

int highest_codes_(const In& x, OutVector<i64> highest, int threads) {
    const Matrix m = matrix(x);
    need(highest, 0, m.d, "highest");
    nb::gil_scoped_release release;
    return with_type(m, [&](auto typed) { return highest_codes(typed, highest.data(), threads); });
}

int levels_dense(const In& x, const InVector<i32>& codes,
                 const std::optional<InVector<double>>& weights, const InVector<i64>& start,
                 OutTable<double> counts, int threads) {
    const Matrix m = matrix(x);
    need(codes, 0, m.n, "codes");
    need_starts(start, m.d);
    need(counts, 1, start.data()[m.d], "counts");
    const double* w = weights_of(weights, m.n);
    nb::gil_scoped_release release;
    return with_type(m, [&](auto typed) {
        return count_levels(typed, codes.data(), w, static_cast<i64>(counts.shape(0)),
                            start.data(), counts.data(), threads);
    });
}

// of columns of codes from −1 (missing) on, whose cells begin with that of missing values
int levels_columns(const std::vector<InVector<i32>>& x, const InVector<i32>& codes,
                   const std::optional<InVector<double>>& weights, const InVector<i64>& start,
                   OutTable<double> counts, int threads) {
    const i64 n = static_cast<i64>(codes.shape(0)), d = static_cast<i64>(x.size());
    std::vector<const i32*> columns;
    for (const auto& column : x) {
        need(column, 0, n, "a column");
        columns.push_back(column.data());
    }
    need_starts(start, d);
    need(counts, 1, start.data()[d], "counts");
    const double* w = weights_of(weights, n);
    nb::gil_scoped_release release;
    return count_levels(CodeColumns{columns.data(), n, d}, codes.data(), w,
                        static_cast<i64>(counts.shape(0)), start.data(), counts.data(), threads);
}

// fault, shift, keys in order of appearance, counts (cells · classes)
nb::tuple grid_counts(const In& x, const InVector<i32>& codes,
                      const std::optional<InVector<double>>& weights, i64 classes, i64 budget,
                      int least_shift) {
    const Matrix m = matrix(x);
    need(codes, 0, m.n, "codes");
    if (m.d != 1 || classes < 1 || budget < 2)
        throw nb::value_error("one column, a class and a budget of two cells are needed");
    if (least_shift < 0 || least_shift > 63)
        throw nb::value_error("a float64 has no more than 63 bits to drop");
    const double* w = weights_of(weights, m.n);
    GridTable table(classes, budget, least_shift);
    int fault = FINE;
    {
        nb::gil_scoped_release release;
        fault = with_numbers(m, [&](auto typed) {
            return count_grid(typed, codes.data(), w, classes, table);
        });
    }
    return nb::make_tuple(fault, table.shift, as_array(std::move(table.keys)),
                          as_array(std::move(table.counts)));
}

// A table of zeros in huge pages; None if it is too small for them, or there are none.
nb::object huge_table(i64 rows, i64 columns) {
    if (rows < 1 || columns < 1 || columns > std::numeric_limits<i64>::max() / 8 / rows)
        return nb::none();
    const std::size_t bytes = static_cast<std::size_t>(rows * columns) * sizeof(double);
    void* zeros = bytes < MIN_HUGE_BYTES ? nullptr : huge_zeros(bytes);
    if (!zeros) return nb::none();
    struct Owned {
        void* at;
        std::size_t bytes;
        ~Owned() { free_zeros(at, bytes); }
    };
    nb::capsule owner(new Owned{zeros, bytes}, [](void* p) noexcept { delete static_cast<Owned*>(p); });
    const std::size_t shape[2] = {static_cast<std::size_t>(rows), static_cast<std::size_t>(columns)};
    return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<2>>(zeros, 2, shape, owner));
}

// T is double for totals that change, const double for those that are only read.
template <class T>
using Table = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
MomentTotals<T> totals_of(const Table<T>& n, const Table<T>& s1_hi, const Table<T>& s1_lo,
                          const Table<T>& s2_hi, const Table<T>& s2_lo, const Table<T>& n_lo) {
    for (auto* table : {&s1_hi, &s1_lo, &s2_hi, &s2_lo, &n_lo}) {
        need(*table, 0, static_cast<i64>(n.shape(0)), "totals");
        need(*table, 1, static_cast<i64>(n.shape(1)), "totals");
    }
    return {n.data(), s1_hi.data(), s1_lo.data(), s2_hi.data(), s2_lo.data(), n_lo.data()};
}

}  // namespace

void bind_counts(nb::module_& m) {
    m.def("rank_labels", &rank_labels_, "y"_a, "limit"_a, "codes"_a.noconvert(), "threads"_a);
    m.def("huge_table", &huge_table, "rows"_a, "columns"_a);
    m.def("count_classes", &count_classes_, "codes"_a, "weights"_a.none(), "count"_a.noconvert(),
          "threads"_a, "rest"_a.none().noconvert() = nb::none());
    m.def("count_rows", &count_rows_, "codes"_a, "rows"_a.noconvert(), "count"_a.noconvert(),
          "squared_weights"_a.noconvert(), "threads"_a);
    m.def("moments_dense", &moments_dense, "x"_a, "codes"_a, "weights"_a.none(), "origin"_a,
          "s1_hi"_a.noconvert(), "s1_lo"_a.noconvert(), "s2_hi"_a.noconvert(), "s2_lo"_a.noconvert(), "threads"_a);
    m.def("moments_columns", &moments_columns, "columns"_a, "codes"_a, "weights"_a.none(),
          "origin"_a, "s1_hi"_a.noconvert(), "s1_lo"_a.noconvert(), "s2_hi"_a.noconvert(),
          "s2_lo"_a.noconvert(), "threads"_a);
    m.def("sums_dense", &sums_dense, "x"_a, "codes"_a, "weights"_a.none(), "threshold"_a.none(),
          "non_negative"_a, "sums"_a.noconvert(), "threads"_a);
    m.def("highest_codes", &highest_codes_, "x"_a, "highest"_a.noconvert(), "threads"_a);
    m.def("levels_dense", &levels_dense, "x"_a, "codes"_a, "weights"_a.none(), "start"_a,
          "counts"_a.noconvert(), "threads"_a);
    m.def("levels_columns", &levels_columns, "columns"_a, "codes"_a, "weights"_a.none(), "start"_a,
          "counts"_a.noconvert(), "threads"_a);
    m.def("grid_counts", &grid_counts, "x"_a, "codes"_a, "weights"_a.none(), "classes"_a,
          "budget"_a, "least_shift"_a = 0);

    m.def(
        "add_moments",
        [](OutTable<double> n, OutTable<double> a, OutTable<double> b, OutTable<double> c,
           OutTable<double> d, OutTable<double> e, InTable<double> n2, InTable<double> a2,
           InTable<double> b2, InTable<double> c2, InTable<double> d2, InTable<double> e2,
           double factor) {
            need(n2, 0, static_cast<i64>(n.shape(0)), "totals");
            need(n2, 1, static_cast<i64>(n.shape(1)), "totals");
            add_moments(totals_of<double>(n, a, b, c, d, e),
                        totals_of<const double>(n2, a2, b2, c2, d2, e2), factor,
                        static_cast<i64>(n.size()));
        },
        "n"_a.noconvert(), "s1_hi"_a.noconvert(), "s1_lo"_a.noconvert(), "s2_hi"_a.noconvert(), "s2_lo"_a.noconvert(), "n_lo"_a.noconvert(), "other_n"_a, "other_s1_hi"_a,
        "other_s1_lo"_a, "other_s2_hi"_a, "other_s2_lo"_a, "other_n_lo"_a, "factor"_a);
    m.def(
        "rebase_moments",
        [](OutTable<double> n, OutTable<double> a, OutTable<double> b, OutTable<double> c,
           OutTable<double> d, OutTable<double> e, const InVector<double>& old_origin,
           const InVector<double>& new_origin) {
            need(old_origin, 0, static_cast<i64>(n.shape(1)), "old_origin");
            need(new_origin, 0, static_cast<i64>(n.shape(1)), "new_origin");
            rebase_moments(totals_of<double>(n, a, b, c, d, e), old_origin.data(), new_origin.data(),
                           static_cast<i64>(n.shape(0)), static_cast<i64>(n.shape(1)));
        },
        "n"_a.noconvert(), "s1_hi"_a.noconvert(), "s1_lo"_a.noconvert(), "s2_hi"_a.noconvert(), "s2_lo"_a.noconvert(), "n_lo"_a.noconvert(), "old_origin"_a, "new_origin"_a);
    m.def(
        "centre_moments",
        [](InTable<double> n, InTable<double> a, InTable<double> b, InTable<double> c,
           InTable<double> d, InTable<double> e, const InVector<double>& origin, double residue, OutTable<double> mean, OutTable<double> squares) {
            for (auto* table : {&mean, &squares}) {
                need(*table, 0, static_cast<i64>(n.shape(0)), "output");
                need(*table, 1, static_cast<i64>(n.shape(1)), "output");
            }
            need(origin, 0, static_cast<i64>(n.shape(1)), "origin");
            centre_moments(totals_of<const double>(n, a, b, c, d, e), origin.data(),
                           static_cast<i64>(n.shape(0)), static_cast<i64>(n.shape(1)), residue,
                           mean.data(), squares.data());
        },
        "n"_a, "s1_hi"_a.noconvert(), "s1_lo"_a.noconvert(), "s2_hi"_a.noconvert(), "s2_lo"_a.noconvert(), "n_lo"_a, "origin"_a, "residue"_a, "mean"_a.noconvert(),
        "squares"_a.noconvert());
    m.def(
        "centre_columns",
        [](InTable<double> n, InTable<double> a, InTable<double> b, InTable<double> c,
           InTable<double> d, InTable<double> e, const InVector<double>& origin, double residue,
           OutTable<double> mean, OutTable<double> squares, OutTable<double> everyone) {
            const i64 columns = static_cast<i64>(n.shape(0)), K = static_cast<i64>(n.shape(1));
            if (K < 1) throw nb::value_error("a column has at least one class");
            for (auto* table : {&mean, &squares})
                need(*table, 0, columns, "output"), need(*table, 1, K, "output");
            need(everyone, 0, columns, "everyone"), need(everyone, 1, 3, "everyone");
            need(origin, 0, columns, "origin");
            const auto totals = totals_of<const double>(n, a, b, c, d, e);
            nb::gil_scoped_release release;
            centre_columns(totals, origin.data(), columns, K, residue, mean.data(), squares.data(),
                           everyone.data());
        },
        "n"_a, "s1_hi"_a, "s1_lo"_a, "s2_hi"_a, "s2_lo"_a, "n_lo"_a, "origin"_a, "residue"_a,
        "mean"_a.noconvert(), "squares"_a.noconvert(), "everyone"_a.noconvert());
}
