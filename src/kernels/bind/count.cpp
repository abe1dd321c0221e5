// The binding of counting: labels, moments, products, sums, levels and grids of arrays and of sparse
// matrices; and strings to codes.
#include <limits>
#include <memory>

#include "bind/arrays.hpp"
#include "core/memory.hpp"
#include "count/cross.hpp"
#include "count/dense.hpp"
#include "count/grid.hpp"
#include "count/labels.hpp"
#include "count/levels.hpp"
#include "count/moments.hpp"
#include "count/strings.hpp"

namespace {

using namespace tb;

// ---- labels --------------------------------------------------------------------------------------
nb::object rank_labels_(const In& y, i64 limit, const Array<i32, 1>& codes, int threads) {
    const Matrix m = matrix(y);
    need({m.n}, "codes", codes);
    std::vector<i64> values;
    const bool done = with_type(m, [&](auto typed) {
        using T = std::decay_t<decltype(*typed.data)>;
        if constexpr (std::is_integral_v<T>) {
            nb::gil_scoped_release release;
            return m.n && rank_labels(typed, limit, values, codes, threads);
        } else {
            throw nb::type_error("labels must be whole numbers");
            return false;
        }
    });
    if (!done) return nb::none();
    return nb::cast(as_array(std::move(values)));
}

void count_classes_(const Codes& codes, const Weights& weights, const OutVector& count, int threads,
                    const std::optional<OutVector>& rest) {
    const i64 n = codes.shape(0), K = count.shape(0);
    need({K}, "rest", rest);
    count_classes(codes, weights_of(weights, n), n, K, count, given(rest), threads);
}

// Counts the rows of each class in `rows`, and adds them to `count` and `squared_weights`.
void count_rows_(const Codes& codes, const OutVector& rows, const OutVector& count,
                 const OutVector& squared_weights, int threads) {
    const i64 n = codes.shape(0), K = rows.shape(0);
    need({K}, "count", count), need({K}, "squared_weights", squared_weights);
    std::fill_n(rows.data(), K, 0.0);
    count_classes(codes, nullptr, n, K, rows, nullptr, threads);
    for (i64 k = 0; k < K; ++k) count[k] += rows[k], squared_weights[k] += rows[k];
}

// ---- moments -------------------------------------------------------------------------------------
// T is double for totals that change, const double for those that are only read.
template <class T>
MomentTotals<T> totals_of(const Array<T, 2>& n, const Array<T, 2>& s1_hi, const Array<T, 2>& s1_lo,
                          const Array<T, 2>& s2_hi, const Array<T, 2>& s2_lo,
                          const Array<T, 2>& n_lo) {
    need({n.shape(0), n.shape(1)}, "totals", s1_hi, s1_lo, s2_hi, s2_lo, n_lo);
    return {n, s1_hi, s1_lo, s2_hi, s2_lo, n_lo};
}

// of a matrix, or of columns that lie apart as of one
template <class M>
int count_moments_of(const M& x, const Codes& codes, const Weights& weights, const Vector& origin,
                     const OutTable& s1_hi, const OutTable& s1_lo, const OutTable& s2_hi,
                     const OutTable& s2_lo, int threads) {
    const i64 K = s1_hi.shape(0);
    need({x.n}, "codes", codes), need({x.d}, "origin", origin);
    need({K, x.d}, "totals", s1_hi, s1_lo, s2_hi, s2_lo);
    const double* w = weights_of(weights, x.n);
    return count_moments(chosen_loops(), x, codes, w, K, origin,
                         Totals{s1_hi, s1_lo, s2_hi, s2_lo}, threads);
}

int moments_dense(const In& x, const Codes& codes, const Weights& weights, const Vector& origin,
                  const OutTable& s1_hi, const OutTable& s1_lo, const OutTable& s2_hi,
                  const OutTable& s2_lo, int threads) {
    return with_numbers(matrix(x), [&](auto typed) {
        return count_moments_of(typed, codes, weights, origin, s1_hi, s1_lo, s2_hi, s2_lo, threads);
    });
}

int moments_columns(const std::vector<Vector>& x, const Codes& codes, const Weights& weights,
                    const Vector& origin, const OutTable& s1_hi, const OutTable& s1_lo,
                    const OutTable& s2_hi, const OutTable& s2_lo, int threads) {
    for (const Vector& column : x) need({codes.shape(0)}, "a column", column);
    const std::vector<const double*> columns(x.begin(), x.end());
    const ColumnList list{columns.data(), codes.shape(0), static_cast<i64>(x.size())};
    return count_moments_of(list, codes, weights, origin, s1_hi, s1_lo, s2_hi, s2_lo, threads);
}

void add_moments_(const OutTable& n, const OutTable& a, const OutTable& b, const OutTable& c,
                  const OutTable& d, const OutTable& e, const Table& n2, const Table& a2,
                  const Table& b2, const Table& c2, const Table& d2, const Table& e2,
                  double factor) {
    need({n.shape(0), n.shape(1)}, "totals", n2);
    add_moments(totals_of(n, a, b, c, d, e), totals_of(n2, a2, b2, c2, d2, e2), factor,
                n.shape(0) * n.shape(1));
}

void rebase_moments_(const OutTable& n, const OutTable& a, const OutTable& b, const OutTable& c,
                     const OutTable& d, const OutTable& e, const Vector& old_origin,
                     const Vector& new_origin) {
    need({n.shape(1)}, "an origin", old_origin, new_origin);
    rebase_moments(totals_of(n, a, b, c, d, e), old_origin, new_origin, n.shape(0), n.shape(1));
}

void centre_moments_(const Table& n, const Table& a, const Table& b, const Table& c, const Table& d,
                     const Table& e, const Vector& origin, double residue, const OutTable& mean,
                     const OutTable& squares) {
    const i64 K = n.shape(0), columns = n.shape(1);
    need({K, columns}, "output", mean, squares), need({columns}, "origin", origin);
    centre_moments(totals_of(n, a, b, c, d, e), origin, K, columns, residue, mean, squares);
}

void centre_columns_(const Table& n, const Table& a, const Table& b, const Table& c, const Table& d,
                     const Table& e, const Vector& origin, double residue, const OutTable& mean,
                     const OutTable& squares, const OutTable& everyone) {
    const i64 columns = n.shape(0), K = n.shape(1);
    need(K >= 1, "a column has at least one class");
    need({columns, K}, "output", mean, squares), need({columns, 3}, "everyone", everyone);
    need({columns}, "origin", origin);
    centre_columns(totals_of(n, a, b, c, d, e), origin, columns, K, residue, mean, squares, everyone);
}

// ---- products of columns -------------------------------------------------------------------------
template <class T>
MomentTotals<T> totals_of(const Array<T, 1>& n, const Array<T, 2>& s1_hi, const Array<T, 2>& s1_lo,
                          const Array<T, 2>& s2_hi, const Array<T, 2>& s2_lo,
                          const Array<T, 1>& n_lo) {
    const i64 K = n.shape(0), d = s1_hi.shape(1);
    need({K}, "totals", n_lo), need({K, d}, "totals", s1_hi, s1_lo);
    need({K, pairs_of(d)}, "totals", s2_hi, s2_lo);
    return {n, s1_hi, s1_lo, s2_hi, s2_lo, n_lo};
}

int cross_dense(const Table& x, const Codes& codes, const Weights& weights, const Vector& origin,
                const OutVector& n, const OutTable& s1_hi, const OutTable& s1_lo,
                const OutTable& s2_hi, const OutTable& s2_lo, const OutVector& n_lo, int threads) {
    const auto totals = totals_of(n, s1_hi, s1_lo, s2_hi, s2_lo, n_lo);
    const i64 rows = x.shape(0), d = s1_hi.shape(1);
    need({rows, d}, "x", x), need({rows}, "codes", codes), need({d}, "origin", origin);
    return count_cross(chosen_loops(), x, rows, d, codes, weights_of(weights, rows), n.shape(0),
                       origin, totals, threads);
}

void add_cross_(const OutVector& n, const OutTable& a, const OutTable& b, const OutTable& c,
                const OutTable& d, const OutVector& e, const Vector& n2, const Table& a2,
                const Table& b2, const Table& c2, const Table& d2, const Vector& e2, double factor) {
    need({n.shape(0)}, "totals", n2), need({n.shape(0), a.shape(1)}, "totals", a2);
    add_cross(totals_of(n, a, b, c, d, e), totals_of(n2, a2, b2, c2, d2, e2), factor, n.shape(0),
              a.shape(1));
}

void rebase_cross_(const OutVector& n, const OutTable& a, const OutTable& b, const OutTable& c,
                   const OutTable& d, const OutVector& e, const Vector& old_origin,
                   const Vector& new_origin) {
    need({a.shape(1)}, "an origin", old_origin, new_origin);
    rebase_cross(totals_of(n, a, b, c, d, e), old_origin, new_origin, n.shape(0), a.shape(1));
}

void centre_cross_(const Vector& n, const Table& a, const Table& b, const Table& c, const Table& d,
                   const Vector& e, const Vector& origin, double residue, const OutTable& mean,
                   const Array<double, 3>& scatter) {
    const i64 K = n.shape(0), columns = a.shape(1);
    need({columns}, "origin", origin), need({K, columns}, "output", mean);
    need({K, columns, columns}, "output", scatter);
    centre_cross(totals_of(n, a, b, c, d, e), origin, K, columns, residue, mean, scatter);
}

void flatten_cross_(const OutVector& n, const OutTable& a, const OutTable& b, const OutTable& c,
                    const OutTable& d, const OutVector& e, const InTable<std::uint8_t>& marked) {
    need({n.shape(0), a.shape(1)}, "marks", marked);
    flatten_cross(totals_of(n, a, b, c, d, e), marked, n.shape(0), a.shape(1));
}

// ---- sums, levels and grids ----------------------------------------------------------------------
Demand demand_of(bool non_negative) { return non_negative ? Demand::non_negative : Demand::finite; }

int sums_dense(const In& x, const Codes& codes, const Weights& weights,
               std::optional<double> threshold, bool non_negative, const OutTable& sums,
               int threads) {
    const Matrix m = matrix(x);
    const i64 K = sums.shape(0);
    need({m.n}, "codes", codes), need({K, m.d}, "sums", sums);
    const double* w = weights_of(weights, m.n);
    return with_numbers(m, [&](auto typed) {
        return count_sums(chosen_loops(), typed, codes, w, K,
                          threshold ? &*threshold : nullptr, demand_of(non_negative), sums, threads);
    });
}

int highest_codes_(const In& x, const Array<i64, 1>& highest, int threads) {
    const Matrix m = matrix(x);
    need({m.d}, "highest", highest);
    return with_type(m, [&](auto typed) { return highest_codes(typed, highest, threads); });
}

template <class M>
int count_levels_of(const M& x, const Codes& codes, const Weights& weights, const InVector<i64>& start,
                    const OutTable& counts, int threads) {
    const i64 K = counts.shape(0);
    need({x.n}, "codes", codes), need_starts(start, x.d), need({K, start[x.d]}, "counts", counts);
    return count_levels(x, codes, weights_of(weights, x.n), K, start, counts, threads);
}

int levels_dense(const In& x, const Codes& codes, const Weights& weights, const InVector<i64>& start,
                 const OutTable& counts, int threads) {
    return with_type(matrix(x), [&](auto typed) {
        return count_levels_of(typed, codes, weights, start, counts, threads);
    });
}

// of columns of codes from −1 (missing) on, whose cells begin with that of missing values
int levels_columns(const std::vector<Codes>& x, const Codes& codes, const Weights& weights,
                   const InVector<i64>& start, const OutTable& counts, int threads) {
    for (const Codes& column : x) need({codes.shape(0)}, "a column", column);
    const std::vector<const i32*> columns(x.begin(), x.end());
    const CodeColumns list{columns.data(), codes.shape(0), static_cast<i64>(x.size())};
    return count_levels_of(list, codes, weights, start, counts, threads);
}

// fault, shift, keys in order of appearance, counts (cells · classes)
nb::tuple grid_counts(const In& x, const Codes& codes, const Weights& weights, i64 classes, i64 budget,
                      int least_shift) {
    const Matrix m = matrix(x);
    need({m.n}, "codes", codes);
    need(m.d == 1 && classes >= 1 && budget >= 2,
         "one column, a class and a budget of two cells are needed");
    need(least_shift >= 0 && least_shift <= 63, "a float64 has no more than 63 bits to drop");
    const double* w = weights_of(weights, m.n);
    GridTable table(classes, budget, least_shift);
    const int fault = released([&] {
        return with_numbers(
            m, [&](auto typed) { return count_grid(typed, codes, w, classes, table); });
    });
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

// ---- sparse matrices -----------------------------------------------------------------------------
template <class Cells, Data Types>
int count_sparse(const In& indptr, const In& indices, const In& data, i64 rows, i64 columns,
                 bool by_column, const Codes& codes, const Weights& weights, const Rule& rule,
                 i64 classes, double* const* out, int threads) {
    need({rows}, "codes", codes);
    const double* w = weights_of(weights, rows);
    const Sparse<Types> x(indptr, indices, data, by_column ? columns : rows,
                          by_column ? rows : columns);
    return with_sparse(x, [&](auto typed) {
        nb::gil_scoped_release release;
        return by_column ? count_csc<Cells>(typed, codes, w, classes, rule, out, threads)
                         : count_csr<Cells>(typed, codes, w, classes, rule, out, threads);
    });
}

int sums_sparse(const In& indptr, const In& indices, const In& data, i64 rows, i64 columns,
                bool by_column, const Codes& codes, const Weights& weights,
                std::optional<double> threshold, bool non_negative, const OutTable& sums,
                int threads) {
    need({sums.shape(0), columns}, "sums", sums);
    const Rule rule{threshold ? &*threshold : nullptr, demand_of(non_negative)};
    double* const out[1] = {sums};
    return count_sparse<SumCells, Data::common>(indptr, indices, data, rows, columns, by_column, codes,
                                                weights, rule, sums.shape(0), out, threads);
}

int moments_sparse(const In& indptr, const In& indices, const In& data, i64 rows, i64 columns,
                   bool by_column, const Codes& codes, const Weights& weights, const OutTable& s1_hi,
                   const OutTable& s1_lo, const OutTable& s2_hi, const OutTable& s2_lo,
                   int threads) {
    need({s1_hi.shape(0), columns}, "totals", s1_hi, s1_lo, s2_hi, s2_lo);
    double* const out[4] = {s1_hi, s1_lo, s2_hi, s2_lo};
    return count_sparse<MomentCells, Data::float64>(indptr, indices, data, rows, columns, by_column,
                                                    codes, weights, {nullptr, Demand::finite},
                                                    s1_hi.shape(0), out, threads);
}

int levels_csr(const In& indptr, const In& indices, const In& data, i64 rows, i64 columns,
               const Codes& codes, const Weights& weights, const InVector<i64>& start,
               const OutTable& counts) {
    const i64 K = counts.shape(0);
    need({rows}, "codes", codes), need_starts(start, columns);
    need({K, start[columns]}, "counts", counts);
    const double* w = weights_of(weights, rows);
    const Sparse<Data::float64> x(indptr, indices, data, rows, columns);
    return with_sparse(x, [&](auto typed) {
        nb::gil_scoped_release release;
        return count_levels_csr(typed, codes, w, K, start, counts,
                                [](auto value, int& fault) { return code_of(value, fault); });
    });
}

// ---- strings -------------------------------------------------------------------------------------
struct Encoded {
    ArrowColumn column;
    TextRanks ranks;
    BigVector<i32> codes;

    explicit Encoded(ArrowArrayStream* stream)
        : column(stream), codes(static_cast<std::size_t>(column.rows())) {
        if (column.format != "u" && column.format != "U" && column.format != "vu")
            throw nb::type_error("a column of strings is needed");
        need(column.rows() <= std::numeric_limits<i32>::max(),
             "a column of strings has 2^31 rows or more: give it in parts");
    }
};

nb::list encode_strings_(const nb::list& streams, int threads) {
    std::vector<std::unique_ptr<Encoded>> all;
    i64 rows = 0;
    for (nb::handle stream : streams) {
        all.push_back(std::make_unique<Encoded>(stream_of(stream)));
        rows += all.back()->column.rows();
    }
    const i64 tasks = static_cast<i64>(all.size());
    {
        nb::gil_scoped_release release;
        run_tasks(tasks, threads_for(rows * 8, tasks, threads), [&](i64 task, int) {
            Encoded& e = *all[static_cast<std::size_t>(task)];
            encode_strings(e.column, e.ranks, e.codes.data());
        });
    }
    nb::list out;
    for (auto& e : all) {
        nb::list levels;
        for (auto& text : e->ranks.strings)
            levels.append(text_of(text.at, static_cast<std::size_t>(text.size)));
        out.append(nb::make_tuple(as_array(std::move(e->codes)), levels));
    }
    return out;
}

// codes[i] = the rank of row i of `items` (n, bytes of an item) among its distinct rows, in order of
// appearance. Returns the first row of each.
nb::object rank_items_(const InTable<std::uint8_t>& items, const Array<i32, 1>& codes) {
    const i64 n = items.shape(0), size = items.shape(1);
    need({n}, "codes", codes);
    need(n <= std::numeric_limits<i32>::max(), "there are 2^31 items or more");
    std::vector<i64> first;
    {
        nb::gil_scoped_release release;
        const char* bytes = reinterpret_cast<const char*>(items.data());
        TextRanks ranks;
        for (i64 i = 0; i < n; ++i) {
            const i32 rank = ranks.rank(Text::anywhere(bytes + i * size, size, (n - i) * size));
            if (rank == static_cast<i32>(first.size())) first.push_back(i);
            codes[i] = rank;
        }
    }
    return nb::cast(as_array(std::move(first)));
}

}  // namespace

void bind_counts(nb::module_& m) {
    def(m, "rank_labels", &rank_labels_, "y limit codes threads");
    m.def("count_classes", &count_classes_, nb::arg("codes"), nb::arg("weights").none(),
          nb::arg("count").noconvert(), nb::arg("threads"),
          nb::arg("rest").none().noconvert() = nb::none(), without_gil);
    def(m, "count_rows", &count_rows_, "codes rows count squared_weights threads", without_gil);
    def(m, "moments_dense", &moments_dense, "x codes weights origin s1_hi s1_lo s2_hi s2_lo threads",
        without_gil);
    def(m, "moments_columns", &moments_columns,
        "columns codes weights origin s1_hi s1_lo s2_hi s2_lo threads", without_gil);
    def(m, "add_moments", &add_moments_,
        "n s1_hi s1_lo s2_hi s2_lo n_lo other_n other_s1_hi other_s1_lo other_s2_hi other_s2_lo "
        "other_n_lo factor");
    def(m, "rebase_moments", &rebase_moments_,
        "n s1_hi s1_lo s2_hi s2_lo n_lo old_origin new_origin");
    def(m, "centre_moments", &centre_moments_,
        "n s1_hi s1_lo s2_hi s2_lo n_lo origin residue mean squares");
    def(m, "centre_columns", &centre_columns_,
        "n s1_hi s1_lo s2_hi s2_lo n_lo origin residue mean squares everyone", without_gil);
    def(m, "cross_dense", &cross_dense,
        "x codes weights origin n s1_hi s1_lo s2_hi s2_lo n_lo threads", without_gil);
    def(m, "add_cross", &add_cross_,
        "n s1_hi s1_lo s2_hi s2_lo n_lo other_n other_s1_hi other_s1_lo other_s2_hi other_s2_lo "
        "other_n_lo factor");
    def(m, "rebase_cross", &rebase_cross_, "n s1_hi s1_lo s2_hi s2_lo n_lo old_origin new_origin");
    def(m, "centre_cross", &centre_cross_,
        "n s1_hi s1_lo s2_hi s2_lo n_lo origin residue mean scatter");
    def(m, "flatten_cross", &flatten_cross_, "n s1_hi s1_lo s2_hi s2_lo n_lo marked");
    def(m, "sums_dense", &sums_dense, "x codes weights threshold non_negative sums threads",
        without_gil);
    def(m, "highest_codes", &highest_codes_, "x highest threads", without_gil);
    def(m, "levels_dense", &levels_dense, "x codes weights start counts threads", without_gil);
    def(m, "levels_columns", &levels_columns, "columns codes weights start counts threads",
        without_gil);
    m.def("grid_counts", &grid_counts, nb::arg("x"), nb::arg("codes"), nb::arg("weights").none(),
          nb::arg("classes"), nb::arg("budget"), nb::arg("least_shift") = 0);
    def(m, "huge_table", &huge_table, "rows columns");
    def(m, "sums_sparse", &sums_sparse,
        "indptr indices data rows columns by_column codes weights threshold non_negative sums threads");
    def(m, "moments_sparse", &moments_sparse,
        "indptr indices data rows columns by_column codes weights s1_hi s1_lo s2_hi s2_lo threads");
    def(m, "levels_csr", &levels_csr, "indptr indices data rows columns codes weights start counts");
    def(m, "encode_strings", &encode_strings_, "streams threads");
    def(m, "rank_items", &rank_items_, "items codes");
}
