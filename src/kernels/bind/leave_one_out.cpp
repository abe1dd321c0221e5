// The binding of leave-one-out: scores of rows that are taken out of the counts, and what columns of
// numbers may be read as.
#include "bind/arrays.hpp"
#include "leave_one_out/choice.hpp"
#include "leave_one_out/complement.hpp"
#include "leave_one_out/counts.hpp"
#include "leave_one_out/moments.hpp"

namespace {

using namespace tb;

using Own = InVector<i64>;  // the class of each row
using Flags = Array<std::uint8_t, 1>;

// ---- scores without a row ------------------------------------------------------------------------
// Rows whose entries other than 0, or above a threshold, are asked for; the arrays stay numpy's.
class RowEntries {
public:
    static RowEntries dense(const In& x, std::optional<double> threshold) {
        const Matrix m = matrix(x);
        RowEntries rows(m.n, m.d, m.n * m.d, threshold);
        rows.held_[0] = x;
        rows.read = with_numbers(m, [&](auto typed) { return reader(typed, rows.limit_.get()); });
        return rows;
    }
    static RowEntries csr(const In& indptr, const In& indices, const In& data, i64 n, i64 d,
                          std::optional<double> threshold) {
        RowEntries rows(n, d, static_cast<i64>(data.shape(0)), threshold);
        const Sparse<Data::common> x(indptr, indices, data, n, d);
        rows.held_[0] = x.indptr, rows.held_[1] = x.indices, rows.held_[2] = x.data;
        rows.read = with_sparse(x, [&](auto typed) { return reader(typed, rows.limit_.get()); });
        return rows;
    }
    i64 n, d, work;
    ReadRows read;

private:
    RowEntries(i64 n_, i64 d_, i64 work_, std::optional<double> threshold)
        : n(n_), d(d_), work(work_),
          limit_(threshold ? std::make_shared<double>(*threshold) : nullptr) {
        need(d < i64(1) << 31, "too many columns");
    }
    std::shared_ptr<double> limit_;
    In held_[3];
};

Taken taken_of(const Own& own, const Vector& weight, i64 n, i64 classes) {
    need({n}, "own", own), need({n}, "weight", weight);
    return {own, weight, n, classes};
}

Smoothing smoothing_of(const Vector& alpha, i64 d) {
    const i64 size = alpha.shape(0);
    need(size == 1 || size == d, "a pseudo-count for all columns, or for each");
    return {alpha, size == d && d != 1 ? 1 : 0};
}

int own_sums_(const RowEntries& x, const Own& own, const Vector& weight, const Table& table,
              const OutVector& score, const OutVector& length, int threads) {
    const Taken taken = taken_of(own, weight, x.n, table.shape(0));
    need({taken.classes, x.d}, "table", table), need({x.n}, "output", score, length);
    return own_sums(chosen_loops(), x.read, x.work, taken, table, x.d, score, length, threads);
}

int sums_without_(const RowEntries& x, const Own& own, const Vector& weight, const Table& part,
                  const Vector& alpha, const OutVector& score, const OutVector& length, int threads) {
    const Taken taken = taken_of(own, weight, x.n, part.shape(0));
    need({taken.classes, x.d}, "part", part), need({x.n}, "output", score, length);
    return sums_without(chosen_loops(), x.read, x.work, taken, part, x.d, smoothing_of(alpha, x.d),
                        score, length, threads);
}

int presence_without_(const RowEntries& x, const Own& own, const Vector& weight,
                      const Array<const double, 3>& pair, const Vector& rows, const Vector& yes,
                      const Vector& no, const OutVector& score, const OutVector& ruled, int threads) {
    const Taken taken = taken_of(own, weight, x.n, pair.shape(0));
    need({taken.classes, x.d, 2}, "pair", pair), need({taken.classes}, "rows", rows);
    need({x.n}, "output", score, ruled);
    return presence_without(chosen_loops(), x.read, x.work, taken, pair, rows, x.d,
                            smoothing_of(yes, x.d), smoothing_of(no, x.d), score, ruled, threads);
}

void shifted_logs_(const nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>& table,
                   const Own& own, const Vector& weight, const Vector& alpha, const Vector& from,
                   const Vector& scale, double sign, const OutVector& sum, const OutVector& zeros,
                   int threads) {
    const i64 n = own.shape(0), d = table.shape(1), K = table.shape(0);
    const Taken taken = taken_of(own, weight, n, K);
    need({n}, "output", sum, zeros), need({K}, "classes", from, scale);
    shifted_logs(chosen_loops(), taken, table.data(), table.stride(0), table.stride(1), d,
                 smoothing_of(alpha, d), from, scale, sign, sum, zeros, threads);
}

// What Complement needs, packed once; the arrays stay numpy's.
class ComplementScorer {
public:
    ComplementScorer(const Table& part, const Vector& total, const Vector& everything,
                     const Vector& log_sum, const Vector& present, const Vector& alpha, bool norm,
                     int threads)
        : part_(part), total_(total), everything_(everything), log_sum_(log_sum), present_(present),
          alpha_(alpha), lanes_(pack(part, total, threads)) {
        const i64 K = part.shape(0), d = part.shape(1);
        need({d}, "everything", everything), need({K}, "totals", total, log_sum, present);
        const Smoothing smoothing = smoothing_of(alpha_, d);
        double sum = 0.0;
        bool zeros = false, large = false;
        for (i64 j = 0; j < d; ++j) {
            sum += smoothing.at(j);
            zeros |= smoothing.at(j) < 1.0 / PRODUCT_RANGE;
            large |= everything[j] + smoothing.at(j) > PRODUCT_RANGE;
        }
        model_ = {&lanes_,   part,      total, everything, log_sum, present,
                  smoothing, sum,       norm,  zeros,      large,   d};
    }
    ComplementScorer(const ComplementScorer&) = delete;
    int score(const RowEntries& x, const Own& own, const Vector& weight, const OutTable& scores,
              int threads) const {
        const Taken taken = taken_of(own, weight, x.n, lanes_.classes);
        need(x.d == model_.d, "x has the wrong number of columns");
        need({x.n, lanes_.classes}, "scores", scores);
        return complement_without(chosen_loops(), x.read, x.work, taken, model_, scores, threads);
    }

private:
    static LaneTable pack(const Table& part, const Vector& total, int threads) {
        need({part.shape(0)}, "total", total);
        const double* const source[1] = {part};
        return LaneTable(part.shape(0), part.shape(1), 1, source, total, threads);
    }
    Table part_;
    Vector total_, everything_, log_sum_, present_, alpha_;
    LaneTable lanes_;
    Complements model_;
};

int codes_without_(const In& x, const InVector<i64>& start, const Table& table, const Own& own,
                   const OutTable& scores, int threads) {
    const Matrix m = matrix(x);
    const i64 K = table.shape(0);
    need_starts(start, m.d);
    need({K, start[m.d]}, "table", table), need({m.n}, "own", own), need({m.n, K}, "scores", scores);
    return with_type(m, [&](auto typed) {
        return codes_without(typed, start, table, Taken{own, nullptr, m.n, K}, scores, threads);
    });
}

MomentTotals<const double> totals_of(const std::vector<Table>& t, i64 classes, i64 d) {
    need(t.size() == 6, "totals are six arrays");
    for (const Table& table : t) need({classes, d}, "totals", table);
    return {t[0], t[1], t[2], t[3], t[4], t[5]};
}

void moments_without_(const In& x, const Own& own, const Vector& weight,
                      const std::vector<Table>& totals, const std::vector<Table>& everyone,
                      const Vector& origin, const Vector& rest, double residue, double rounding,
                      double smoothing, bool each, const OutTable& scores, const Flags& redo,
                      int threads) {
    const Matrix m = matrix(x);
    need(m.d >= 1 && !totals.empty(), "a row has at least one column");
    const i64 K = totals[0].shape(0);
    const Taken taken = taken_of(own, weight, m.n, K);
    need({m.d}, "columns", origin, rest), need({m.n, K}, "scores", scores), need({m.n}, "redo", redo);
    const MomentTables tables{K,      m.d,  totals_of(totals, K, m.d), totals_of(everyone, 1, m.d),
                              origin, rest, residue,                   rounding,
                              smoothing, each};
    with_numbers(m, [&](auto typed) {
        moments_without(chosen_loops(), typed, tables, taken, scores, redo, threads);
    });
}

i64 posterior_without_(const OutTable& scores, const Own& own, const Vector& other_prior,
                       const Vector& own_prior, int threads) {
    const i64 n = scores.shape(0), K = scores.shape(1);
    need({n}, "own", own), need({n}, "own_prior", own_prior), need({K}, "other_prior", other_prior);
    return posterior_without(scores, Taken{own, nullptr, n, K}, other_prior, own_prior, threads);
}

// ---- what columns of numbers may be read as ------------------------------------------------------
ClassRows class_rows(const Vector& classes, const Vector& row, double unit) {
    const i64 K = classes.shape(0);
    need({K}, "row", row);
    for (i64 k = 0; k < K; ++k) need(row[k] > 0.0, "a row has a weight above 0");
    return {K, classes, row, unit};
}

// Columns by grid counts (classes, cells) and, if they are asked for, the values of their cells.
std::vector<GridColumn> columns_of(const std::vector<Table>& counts, i64 classes,
                                   const std::vector<Vector>* values = nullptr) {
    need(!values || values->size() == counts.size(), "a column lacks values");
    std::vector<GridColumn> columns;
    for (const Table& one : counts) {
        const i64 cells = one.shape(1);
        need({classes, cells}, "counts", one), need(cells >= 1, "a column has at least one cell");
        if (values) need({cells}, "values", (*values)[columns.size()]);
        columns.push_back({one, cells});
    }
    return columns;
}

std::vector<i64> whole_numbers(const InVector<i64>& a, i64 least, const char* rule) {
    need(within<i64>(a, a.shape(0), least, (i64(1) << 20) + 1), rule);
    return values_of(a);
}

void score_cells(const std::vector<Table>& counts, const Vector& classes, const Vector& row,
                 double unit, double pseudo, const InVector<i64>& sizes, i64 fine,
                 const InVector<i64>& widths, const Vector& strengths, const OutTable& bins,
                 const OutTable& densities) {
    const ClassRows with = class_rows(classes, row, unit);
    const std::vector<GridColumn> columns = columns_of(counts, with.classes);
    need(fine >= 1 && pseudo > 0.0, "bins are from 1 on, pseudo above 0");
    const CellCandidates candidates{whole_numbers(sizes, 1, "sizes are from 1 on"), pseudo, fine,
                                    whole_numbers(widths, 0, "widths are from 0 on"),
                                    values_of(strengths)};
    for (double s : candidates.strengths) need(s > 0.0, "strengths are above 0");
    const i64 d = static_cast<i64>(columns.size()), n_sizes = sizes.shape(0);
    const i64 n_densities = widths.shape(0) * strengths.shape(0);
    need({d, n_sizes}, "bins", bins), need({d, n_densities}, "densities", densities);
    CellScorer scorer(chosen_loops(), with, candidates);
    for (i64 j = 0; j < d; ++j)
        scorer.score(columns[j], bins + j * n_sizes, densities + j * n_densities);
}

void score_gaussians(const std::vector<Table>& counts, const std::vector<Vector>& values,
                     const Vector& classes, const Vector& row, const Table& n, const Table& mean,
                     const Table& squares, const Table& centre, const Table& constant,
                     const Table& scale, const Table& everyone, double rows, double less,
                     double least, const InVector<std::uint8_t>& exact, const Vector& enough,
                     const OutVector& scores) {
    const ClassRows with = class_rows(classes, row, 1.0);
    const std::vector<GridColumn> columns = columns_of(counts, with.classes, &values);
    const i64 d = static_cast<i64>(columns.size()), K = with.classes;
    need({d, K}, "a parameter", n, mean, squares, centre, constant, scale);
    need({d, 3}, "everyone", everyone), need({d}, "columns", exact, enough, scores);
    const GaussianReading as{rows, less, least};
    GaussianScorer scorer(chosen_loops(), with, as);
    for (i64 j = 0; j < d; ++j) {
        const i64 at = j * K;
        const double* all = everyone + j * 3;
        scores[j] = scorer.score(
            columns[j], {values[j], n + at, mean + at, squares + at, centre + at, constant + at,
                         scale + at, {all[0], all[1], all[2]}, exact[j] != 0, enough[j]});
    }
}

constexpr i64 MAX_COUNT = 1 << 16;

bool is_count(double x, double most) { return x >= 0.0 && x <= most && x == std::floor(x); }

CountsColumn counts_column(const GridColumn& column, const double* values, i64 classes) {
    for (i64 a = 0; a < column.cells; ++a)
        need(is_count(values[a], MAX_COUNT) && (!a || values[a] > values[a - 1]),
             "values are counts, ascending");
    return CountsColumn(column, values, classes);
}

void score_counts(const std::vector<Table>& counts, const std::vector<Vector>& values,
                  const Vector& classes, const Vector& row, double alpha, double pooled,
                  const Vector& enough, const OutVector& scores) {
    const ClassRows with = class_rows(classes, row, 1.0);
    const std::vector<GridColumn> columns = columns_of(counts, with.classes, &values);
    need({static_cast<i64>(columns.size())}, "columns", enough, scores);
    for (std::size_t j = 0; j < columns.size(); ++j)
        scores[j] = counts_column(columns[j], values[j], with.classes)
                        .score(with, alpha, pooled, enough[j]);
}

CountsColumn counts_column(const Table& counts, const Vector& values) {
    const i64 n = counts.shape(1);
    need({n}, "values", values), need(n >= 1, "a column has at least one cell");
    return counts_column(GridColumn{counts, n}, values, counts.shape(0));
}

void counts_sizes(const Table& counts, const Vector& values, const OutVector& sizes) {
    const i64 K = counts.shape(0);
    need({K}, "sizes", sizes);
    const CountsColumn column = counts_column(counts, values);
    for (i64 k = 0; k < K; ++k) sizes[k] = column.log_size(k);
}

// log r of classes `own`, each without a row of value x and some weight.
void counts_sizes_without(const Table& counts, const Vector& values, const Own& own, const Vector& x,
                          const Vector& weight, const OutVector& sizes) {
    const i64 rows = own.shape(0);
    need({rows}, "x", x), need({rows}, "weight", weight), need({rows}, "sizes", sizes);
    const CountsColumn column = counts_column(counts, values);
    need(within<i64>(own, rows, 0, counts.shape(0)), "own is a class");
    for (i64 i = 0; i < rows; ++i)
        need(is_count(x[i], values[values.shape(0) - 1]), "x are counts up to the largest value");
    for (i64 i = 0; i < rows; ++i) sizes[i] = column.log_size_without(own[i], x[i], weight[i]);
}

void find_atoms(const std::vector<Table>& counts, const std::vector<Vector>& values, i64 classes,
                double row, const Flags& found) {
    const std::vector<GridColumn> columns = columns_of(counts, classes, &values);
    need({static_cast<i64>(columns.size())}, "found", found);
    for (std::size_t j = 0; j < columns.size(); ++j)
        found[j] = has_atoms(columns[j], values[j], classes, row);
}

// The bin of each cell of columns that are cut into so many; `bin` holds them one after the other.
void quantile_bins(const std::vector<Table>& counts, const Vector& row, const InVector<i64>& n_bins,
                   const Array<i32, 1>& bin) {
    const ClassRows with = class_rows(row, row, 1.0);
    const std::vector<GridColumn> columns = columns_of(counts, with.classes);
    need({static_cast<i64>(columns.size())}, "n_bins", n_bins);
    const std::vector<i64> sizes = whole_numbers(n_bins, 1, "bins are from 1 on");
    i64 cells = 0;
    for (const GridColumn& column : columns) cells += column.cells;
    need({cells}, "bin", bin);
    UsedCells used;
    std::vector<i32> found;
    i32* out = bin;
    for (std::size_t j = 0; j < columns.size(); ++j) {
        used.read(columns[j], with.classes);
        QuantileBins(used, columns[j].cells, with).cut(sizes[j], found);
        out = std::copy(found.begin(), found.end(), out);
    }
}

}  // namespace

void bind_leave_one_out(nb::module_& m) {
    nb::class_<RowEntries> entries(m, "RowEntries");
    def_static(entries, "dense", &RowEntries::dense, "x threshold");
    def_static(entries, "csr", &RowEntries::csr, "indptr indices data rows columns threshold");
    def(m, "own_sums", &own_sums_, "x own weight table score length threads", without_gil);
    def(m, "sums_without", &sums_without_, "x own weight part alpha score length threads", without_gil);
    def(m, "presence_without", &presence_without_, "x own weight pair rows yes no score ruled threads",
        without_gil);
    def(m, "shifted_logs", &shifted_logs_,
        "table own weight alpha whole scale sign sum zeros threads", without_gil);
    nb::class_<ComplementScorer> complement(m, "ComplementScorer");
    init<Table, Vector, Vector, Vector, Vector, Vector, bool, int>(
        complement, "part total everything log_sum present alpha norm threads");
    def(complement, "score", &ComplementScorer::score, "x own weight scores threads", without_gil);
    def(m, "codes_without", &codes_without_, "x start table own scores threads", without_gil);
    def(m, "moments_without", &moments_without_,
        "x own weight totals everyone origin rest residue rounding smoothing each scores redo threads",
        without_gil);
    def(m, "posterior_without", &posterior_without_, "scores own other_prior own_prior threads",
        without_gil);
    def(m, "score_cells", &score_cells,
        "counts classes row unit pseudo sizes fine widths strengths bins densities", without_gil);
    def(m, "score_gaussians", &score_gaussians,
        "counts values classes row n mean squares centre constant scale everyone rows less least "
        "exact enough scores",
        without_gil);
    def(m, "score_counts", &score_counts, "counts values classes row alpha pooled enough scores",
        without_gil);
    def(m, "counts_sizes", &counts_sizes, "counts values sizes", without_gil);
    def(m, "counts_sizes_without", &counts_sizes_without, "counts values own x weight sizes",
        without_gil);
    def(m, "quantile_bins", &quantile_bins, "counts row n_bins bin", without_gil);
    def(m, "find_atoms", &find_atoms, "counts values classes row found", without_gil);
}
