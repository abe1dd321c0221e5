// The binding of scores: of rows of arrays and sparse matrices by each score kind, of columns of numbers
// as densities beside atoms or as bins, of columns that are read together; and normalising scores.
#include <algorithm>
#include <numeric>

#include "bind/arrays.hpp"
#include "score/columns.hpp"
#include "score/pooled.hpp"
#include "score/score_kinds.hpp"

namespace {

using namespace tb;

using Reply = std::tuple<int, bool, i64>;  // fault, unseen, rows ruled out
Reply reply(const Outcome& o) { return {o.fault, o.unseen, o.ruled_out}; }

// Where scores of rows go: one of the two is given.
using Joint = std::optional<OutTable>;
using Best = std::optional<Array<i64, 1>>;

Scores scores_of(const Joint& joint, const Best& best, i64 n, i64 classes, i64 fallback) {
    need(joint.has_value() != best.has_value(), "give either joint= or best=");
    need({n, classes}, "joint", joint), need({n}, "best", best);
    return {given(joint), given(best), fallback};
}

Demand demand_of(bool non_negative) { return non_negative ? Demand::non_negative : Demand::finite; }

// Parameters of dense rows; the arrays stay numpy's.
struct DenseScorer {
    DenseModel model;
    Table first;
    std::optional<Table> second;
    Vector offset;
    std::optional<double> threshold;
    i64 fallback;

    DenseScorer(const Table& first_, const std::optional<Table>& second_, const Vector& offset_,
                i64 fallback_, std::optional<double> threshold_, bool non_negative)
        : first(first_), second(second_), offset(offset_), threshold(threshold_),
          fallback(fallback_) {
        const i64 K = first.shape(0), d = first.shape(1);
        need({K}, "offset", offset), need({K, d}, "second", second);
        need(fallback >= 0 && fallback < K, "fallback is not a class");
        const bool finite = std::all_of(first.data(), first + K * d, is_finite);
        const DenseKind kind = second   ? DenseKind::quadratic
                               : finite ? DenseKind::linear
                                        : DenseKind::linear_masked;
        model = {kind, K, d, first, given(second), offset, nullptr, demand_of(non_negative)};
    }
    Reply score(const In& x, const Joint& joint, const Best& best, int threads) const {
        const Matrix m = matrix(x);
        need(m.d == model.d, "x has the wrong number of columns");
        const Scores out = scores_of(joint, best, m.n, model.classes, fallback);
        DenseModel with = model;
        with.threshold = threshold ? &*threshold : nullptr;
        return reply(with_numbers(
            m, [&](auto typed) { return score_dense(chosen_loops(), typed, with, out, threads); }));
    }
};

// Parameters packed with classes as lanes: lookups, and sparse rows.
struct LaneScorer {
    LaneTable table;
    i64 fallback;

    static LaneTable pack(const Table& first, const std::optional<Table>& second,
                          const Vector& offset, int threads) {
        const i64 K = first.shape(0), e = first.shape(1);
        need({K}, "offset", offset), need({K, e}, "second", second);
        const double* const source[2] = {first, given(second)};
        return released([&] { return LaneTable(K, e, second ? 2 : 1, source, offset, threads); });
    }
    LaneScorer(const Table& first, const std::optional<Table>& second, const Vector& offset,
               i64 fallback_, int threads)
        : LaneScorer(pack(first, second, offset, threads), fallback_) {}
    LaneScorer(LaneTable table_, i64 fallback_) : table(std::move(table_)), fallback(fallback_) {
        need(fallback >= 0 && fallback < table.classes, "fallback is not a class");
    }
    static LaneScorer of_columns(const std::vector<Table>& tables, const Vector& offset, i64 fallback,
                                 int threads) {
        const i64 K = offset.shape(0);
        std::vector<LaneTable::Columns> columns;
        for (const Table& one : tables) {
            need({K}, "a table", one);
            columns.push_back({one, one.shape(1)});
        }
        return LaneScorer(LaneTable(K, columns, offset, threads), fallback);
    }
    Reply score_codes_(const In& x, const InVector<i64>& start, const Joint& joint, const Best& best,
                       int threads) const {
        const Matrix m = matrix(x);
        need_starts(start, m.d);
        need(table.parts == 1 && start[m.d] == table.entries, "start does not fit the table");
        const Scores out = scores_of(joint, best, m.n, table.classes, fallback);
        return reply(with_type(m, [&](auto typed) {
            return score_codes(chosen_loops(), typed, table, start, out, threads);
        }));
    }
    Reply score_sparse(const In& indptr, const In& indices, const In& data, i64 rows, i64 columns,
                       std::optional<double> threshold, bool non_negative, const Joint& joint,
                       const Best& best, int threads) const {
        need(columns == table.entries, "x has the wrong number of columns");
        const Scores out = scores_of(joint, best, rows, table.classes, fallback);
        const SparseKind kind = table.parts == 2 ? SPARSE_QUADRATIC
                                : threshold      ? SPARSE_BINARY
                                                 : SPARSE_LINEAR;
        const Sparse<Data::common> x(indptr, indices, data, rows, columns);
        return with_sparse(x, [&](auto typed) {
            nb::gil_scoped_release release;
            return reply(score_csr(chosen_loops(), typed, table, kind, threshold.value_or(0.0),
                                   demand_of(non_negative), out, threads));
        });
    }
};

i64 normalise_(const OutTable& scores, const Vector& fallback, bool probability,
               const std::optional<OutVector>& log_evidence, int threads) {
    const i64 n = scores.shape(0), K = scores.shape(1);
    need({K}, "fallback", fallback), need({n}, "log_evidence", log_evidence);
    return normalise(scores, n, K, fallback, probability, given(log_evidence), threads);
}

int bin_entries_(const In& x, const Vector& edges, const Array<i32, 1>& entries, int threads) {
    const Matrix m = matrix(x);
    need(m.d == 1, "one column is needed"), need({m.n}, "entries", entries);
    const Edges tree(edges, edges.shape(0));
    return with_numbers(m, [&](auto typed) { return bin_entries(typed, tree, entries, threads); });
}

void add_of_counts_(const Vector& x, const Table& table, const OutTable& scores,
                    const Array<std::uint8_t, 1>& beyond, int threads) {
    const i64 n = x.shape(0), K = table.shape(1);
    need({n, K}, "scores", scores), need({n}, "beyond", beyond);
    add_of_counts(x, n, table, table.shape(0), K, scores, beyond, threads);
}

void triangular(const Table& x, const Table& mean, const Array<const double, 3>& rotation,
                const Table& constant, const std::optional<Vector>& freedom, const OutTable& scores,
                const std::optional<Array<double, 3>>& shares, int threads) {
    const i64 n = x.shape(0), d = x.shape(1), K = mean.shape(0);
    need({K, d}, "mean", mean, constant), need({K, d, d}, "rotation", rotation);
    need({n, K}, "scores", scores), need({K}, "freedom", freedom), need({n, K, d}, "shares", shares);
    const Triangular terms{mean, rotation, constant, given(freedom), K, d};
    score_triangular(terms, x, n, scores, given(shares), threads);
}

// Columns as densities beside atoms, with all that their scores need; the numbers are kept here.
class PooledScorer {
public:
    explicit PooledScorer(i64 classes) : K_(classes) {
        need(classes >= 1, "a density has at least one class");
    }

    void add(const Vector& low, const Vector& high, const Table& atoms, const Vector& constant,
             const Vector& mean, const Vector& scale, const Vector& shift, double share) {
        const i64 A = low.shape(0);
        need({K_}, "a parameter", constant, mean, scale, shift);
        need({A}, "high", high), need({A, K_}, "atoms", atoms);
        PooledColumn c{};
        c.terms = {keep(low), keep(high), keep(atoms), A, keep(constant), keep(mean), keep(scale),
                   keep(shift), share, K_};
        columns_.push_back(c);
    }

    // Lets rows be taken out of the column that was added last.
    void add_less(const Table& counts, const Vector& rest, const Vector& squares, const Vector& n,
                  double rows, double less, double least) {
        need(!columns_.empty(), "add the column first");
        PooledColumn& c = columns_.back();
        need({K_}, "a sum of rows", rest, squares, n), need({c.terms.n_atoms, K_}, "atoms", counts);
        auto sum = [&](const double* a) { return std::accumulate(a, a + K_, 0.0); };
        c.less = {keep(counts), keep(rest), keep(squares), keep(n), sum(squares), sum(n), sum(rest),
                  rows,         less,       least};
    }

    void score(const std::vector<Vector>& columns, const OutTable& scores, int threads) const {
        add_to(columns, scores, nullptr, threads);
    }

    void score_without(const std::vector<Vector>& columns, const InVector<i64>& own,
                       const Vector& weight, const OutTable& scores,
                       const Array<std::uint8_t, 2>& redo, int threads) const {
        const i64 n = scores.shape(0);
        need({n}, "own", own), need({n}, "weight", weight);
        need({n, static_cast<i64>(columns_.size())}, "redo", redo);
        for (auto& c : columns_) need(c.less.n, "no row can be taken out of a column");
        need(within<i64>(own, n, 0, K_), "own is not a class");
        const PooledRows::Taken taken{own, weight, redo};
        add_to(columns, scores, &taken, threads);
    }

private:
    template <class A>
    const double* keep(const A& a) {
        kept_.emplace_back(a.data(), a.data() + a.size());
        return kept_.back().data();
    }
    void add_to(const std::vector<Vector>& columns, const OutTable& scores,
                const PooledRows::Taken* taken, int threads) const {
        const i64 n = scores.shape(0);
        need(columns.size() == columns_.size(), "other columns are needed");
        need({n, K_}, "scores", scores);
        for (const Vector& column : columns) need({n}, "a column", column);
        const std::vector<const double*> x(columns.begin(), columns.end());
        PooledRows(chosen_loops(), columns_, K_).add(x, n, taken, scores, threads);
    }

    i64 K_;
    std::vector<PooledColumn> columns_;
    std::vector<std::vector<double>> kept_;  // moving a vector leaves its numbers in place
};

}  // namespace

void bind_scores(nb::module_& m) {
    nb::class_<DenseScorer> dense(m, "DenseScorer");
    init<Table, std::optional<Table>, Vector, i64, std::optional<double>, bool>(
        dense, "first second offset fallback threshold non_negative");
    def(dense, "score", &DenseScorer::score, "x joint best threads", without_gil);
    nb::class_<LaneScorer> lanes(m, "LaneScorer");
    init<Table, std::optional<Table>, Vector, i64, int>(lanes,
                                                        "first second offset fallback threads");
    def_static(lanes, "of_columns", &LaneScorer::of_columns, "tables offset fallback threads",
               without_gil);
    def(lanes, "score_codes", &LaneScorer::score_codes_, "x start joint best threads", without_gil);
    def(lanes, "score_sparse", &LaneScorer::score_sparse,
        "indptr indices data rows columns threshold non_negative joint best threads");
    nb::class_<PooledScorer> pooled(m, "PooledScorer");
    init<i64>(pooled, "classes");
    def(pooled, "add", &PooledScorer::add, "low high atoms constant mean scale shift share");
    def(pooled, "add_less", &PooledScorer::add_less, "counts rest squares n rows less least");
    def(pooled, "score", &PooledScorer::score, "columns scores threads", without_gil);
    def(pooled, "score_without", &PooledScorer::score_without,
        "columns own weight scores redo threads", without_gil);
    def(m, "normalise", &normalise_, "scores fallback probability log_evidence threads", without_gil);
    def(m, "bin_entries", &bin_entries_, "x edges entries threads", without_gil);
    def(m, "add_of_counts", &add_of_counts_, "x table scores beyond threads", without_gil);
    def(m, "score_triangular", &triangular, "x mean rotation constant freedom scores shares threads",
        without_gil);
}
