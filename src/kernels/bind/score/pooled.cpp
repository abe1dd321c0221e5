// The binding of the kernel that scores columns of numbers as densities beside atoms.
#include "score/pooled.hpp"

#include "bind/arrays.hpp"
#include "bind/modules.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tb;
using Vector = InVector<double>;
using Table = InTable<double>;

// Columns with all that their scores need; the numbers are kept here.
class PooledScorer {
public:
    explicit PooledScorer(i64 classes) : K_(classes) {
        if (classes < 1) throw nb::value_error("a density has at least one class");
    }

    void add(const Vector& low, const Vector& high, const Table& atoms, const Vector& constant,
             const Vector& mean, const Vector& scale, const Vector& shift, double share) {
        const i64 A = static_cast<i64>(low.shape(0));
        for (auto* a : {&constant, &mean, &scale, &shift}) need(*a, 0, K_, "a parameter");
        need(high, 0, A, "high"), need_table(atoms, A);
        PooledColumn c{};
        c.terms = {keep(low), keep(high), keep(atoms), A, keep(constant), keep(mean), keep(scale),
                   keep(shift), share, K_};
        columns_.push_back(c);
    }

    // Lets rows be taken out of the column that was added last.
    void add_less(const Table& counts, const Vector& rest, const Vector& squares, const Vector& n,
                  double rows, double less, double least) {
        if (columns_.empty()) throw nb::value_error("add the column first");
        PooledColumn& c = columns_.back();
        for (auto* a : {&rest, &squares, &n}) need(*a, 0, K_, "a sum of rows");
        need_table(counts, c.terms.n_atoms);
        auto sum = [&](const Vector& a) {
            double total = 0.0;
            for (i64 k = 0; k < K_; ++k) total += a.data()[k];
            return total;
        };
        c.less = {keep(counts), keep(rest), keep(squares), keep(n), sum(squares), sum(n), sum(rest),
                  rows,         less,       least};
    }

    struct Columns {  // of values, and where these are
        std::vector<Vector> held;
        std::vector<const double*> data;
        Columns(nb::list columns, std::size_t d, const OutTable<double>& scores) {
            if (columns.size() != d) throw nb::value_error("other columns are needed");
            for (nb::handle column : columns) {
                held.push_back(nb::cast<Vector>(column, false));
                need(held.back(), 0, static_cast<i64>(scores.shape(0)), "a column");
                data.push_back(held.back().data());
            }
        }
    };

    void score(nb::list columns, OutTable<double> scores, int threads) const {
        const Columns x(columns, columns_.size(), scores);
        need(scores, 1, K_, "scores");
        nb::gil_scoped_release release;
        rows().add(x.data, static_cast<i64>(scores.shape(0)), nullptr, scores.data(), threads);
    }

    void score_without(nb::list columns, const InVector<i64>& own, const Vector& weight,
                       OutTable<double> scores, OutTable<unsigned char> redo, int threads) const {
        const Columns x(columns, columns_.size(), scores);
        const i64 n = static_cast<i64>(scores.shape(0));
        need(scores, 1, K_, "scores");
        need(own, 0, n, "own"), need(weight, 0, n, "weight"), need(redo, 0, n, "redo");
        need(redo, 1, static_cast<i64>(columns_.size()), "redo");
        for (auto& c : columns_)
            if (!c.less.n) throw nb::value_error("no row can be taken out of a column");
        for (i64 i = 0; i < n; ++i)
            if (own.data()[i] < 0 || own.data()[i] >= K_)
                throw nb::value_error("own is not a class");
        const PooledRows::Taken taken{own.data(), weight.data(), redo.data()};
        nb::gil_scoped_release release;
        rows().add(x.data, n, &taken, scores.data(), threads);
    }

private:
    template <class A>
    const double* keep(const A& a) {
        kept_.emplace_back(a.data(), a.data() + a.size());
        return kept_.back().data();
    }
    void need_table(const Table& a, i64 atoms) const {
        need(a, 0, atoms, "atoms"), need(a, 1, K_, "atoms");
    }
    PooledRows rows() const { return PooledRows(chosen_loops(), columns_, K_); }

    i64 K_;
    std::vector<PooledColumn> columns_;
    std::vector<std::vector<double>> kept_;  // moving a vector leaves its numbers in place
};

}  // namespace

void bind_pooled(nb::module_& m) {
    nb::class_<PooledScorer>(m, "PooledScorer")
        .def(nb::init<i64>(), "classes"_a)
        .def("add", &PooledScorer::add, "low"_a, "high"_a, "atoms"_a, "constant"_a, "mean"_a,
             "scale"_a, "shift"_a, "share"_a)
        .def("add_less", &PooledScorer::add_less, "counts"_a, "rest"_a, "squares"_a, "n"_a, "rows"_a,
             "less"_a, "least"_a)
        .def("score", &PooledScorer::score, "columns"_a, "scores"_a.noconvert(), "threads"_a)
        .def("score_without", &PooledScorer::score_without, "columns"_a, "own"_a, "weight"_a,
             "scores"_a.noconvert(), "redo"_a.noconvert(), "threads"_a);
}
