// Scoring rows of arrays and sparse matrices, and normalising scores.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/modules.hpp"
#include "score/score_kinds.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tb;

using Reply = std::tuple<int, bool, i64>;  // fault, unseen, rows ruled out
Reply reply(const Outcome& o) { return {o.fault, o.unseen, o.ruled_out}; }

Scores scores_of(const std::optional<OutTable<double>>& joint,
                 const std::optional<OutVector<i64>>& best, i64 n, i64 classes, i64 fallback) {
    if (joint.has_value() == best.has_value())
        throw nb::value_error("give either joint= or best=");
    Scores out;
    out.fallback = fallback;
    if (joint) {
        need(*joint, 0, n, "joint");
        need(*joint, 1, classes, "joint");
        out.matrix = joint->data();
    } else {
        need(*best, 0, n, "best");
        out.best = best->data();
    }
    return out;
}

// Parameters of dense rows; the arrays stay numpy's.
struct DenseScorer {
    DenseModel model;
    InTable<double> first;
    std::optional<InTable<double>> second;
    InVector<double> offset;
    std::optional<double> threshold;
    i64 fallback;

    DenseScorer(InTable<double> first_, std::optional<InTable<double>> second_,
                InVector<double> offset_, i64 fallback_, std::optional<double> threshold_,
                bool non_negative)
        : first(first_), second(second_), offset(offset_), threshold(threshold_),
          fallback(fallback_) {
        const i64 K = static_cast<i64>(first.shape(0)), d = static_cast<i64>(first.shape(1));
        need(offset, 0, K, "offset");
        if (second) {
            need(*second, 0, K, "second");
            need(*second, 1, d, "second");
        }
        if (fallback < 0 || fallback >= K) throw nb::value_error("fallback is not a class");
        DenseKind kind = second ? DenseKind::quadratic : DenseKind::linear;
        if (!second)
            for (i64 i = 0; i < K * d; ++i)
                if (!is_finite(first.data()[i])) {
                    kind = DenseKind::linear_masked;
                    break;
                }
        model = DenseModel{kind, K, d, first.data(), second ? second->data() : nullptr,
                           offset.data(), nullptr,
                           non_negative ? Demand::non_negative : Demand::finite};
    }
    Reply score(const In& x, std::optional<OutTable<double>> joint,
                std::optional<OutVector<i64>> best, int threads) const {
        const Matrix m = matrix(x);
        if (m.d != model.d) throw nb::value_error("x has the wrong number of columns");
        const Scores out = scores_of(joint, best, m.n, model.classes, fallback);
        DenseModel with = model;
        with.threshold = threshold ? &*threshold : nullptr;
        nb::gil_scoped_release release;
        return reply(with_numbers(
            m, [&](auto typed) { return score_dense(chosen_loops(), typed, with, out, threads); }));
    }
};

// Parameters packed with classes as lanes: lookups, and sparse rows.
struct LaneScorer {
    LaneTable table;
    i64 fallback;

    static LaneTable pack(const InTable<double>& first, const std::optional<InTable<double>>& second,
                          const InVector<double>& offset, int threads) {
        const i64 K = static_cast<i64>(first.shape(0)), e = static_cast<i64>(first.shape(1));
        need(offset, 0, K, "offset");
        if (second) {
            need(*second, 0, K, "second");
            need(*second, 1, e, "second");
        }
        const double* const source[2] = {first.data(), second ? second->data() : nullptr};
        nb::gil_scoped_release release;
        return LaneTable(K, e, second ? 2 : 1, source, offset.data(), threads);
    }
    LaneScorer(InTable<double> first, std::optional<InTable<double>> second,
               InVector<double> offset, i64 fallback_, int threads)
        : table(pack(first, second, offset, threads)), fallback(fallback_) {
        check_fallback();
    }
    LaneScorer(LaneTable table_, i64 fallback_) : table(std::move(table_)), fallback(fallback_) {
        check_fallback();
    }
    static LaneScorer of_columns(nb::list tables, const InVector<double>& offset, i64 fallback,
                                 int threads) {
        const i64 K = static_cast<i64>(offset.shape(0));
        std::vector<InTable<double>> held;
        std::vector<LaneTable::Columns> columns;
        for (nb::handle one : tables) {
            held.push_back(nb::cast<InTable<double>>(one, false));
            need(held.back(), 0, K, "a table");
            columns.push_back({held.back().data(), static_cast<i64>(held.back().shape(1))});
        }
        nb::gil_scoped_release release;
        return LaneScorer(LaneTable(K, columns, offset.data(), threads), fallback);
    }
    void check_fallback() const {
        if (fallback < 0 || fallback >= table.classes)
            throw nb::value_error("fallback is not a class");
    }
    Reply score_codes_(const In& x, const InVector<i64>& start,
                       std::optional<OutTable<double>> joint, std::optional<OutVector<i64>> best,
                       int threads) const {
        const Matrix m = matrix(x);
        need_starts(start, m.d);
        if (table.parts != 1 || start.data()[m.d] != table.entries)
            throw nb::value_error("start does not fit the table");
        const Scores out = scores_of(joint, best, m.n, table.classes, fallback);
        nb::gil_scoped_release release;
        return reply(with_type(m, [&](auto typed) {
            return score_codes(chosen_loops(), typed, table, start.data(), out, threads);
        }));
    }
    Reply score_sparse(const In& indptr, const In& indices, const In& data, i64 rows, i64 columns,
                       std::optional<double> threshold, bool non_negative,
                       std::optional<OutTable<double>> joint, std::optional<OutVector<i64>> best,
                       int threads) const {
        if (columns != table.entries) throw nb::value_error("x has the wrong number of columns");
        const Scores out = scores_of(joint, best, rows, table.classes, fallback);
        const SparseKind kind = table.parts == 2 ? SPARSE_QUADRATIC
                                : threshold      ? SPARSE_BINARY
                                                 : SPARSE_LINEAR;
        const Sparse<Data::common> x(indptr, indices, data, rows, columns);
        return with_sparse(x, [&](auto typed) {
            nb::gil_scoped_release release;
            return reply(score_csr(chosen_loops(), typed, table, kind, threshold.value_or(0.0),
                                   non_negative ? Demand::non_negative : Demand::finite, out,
                                   threads));
        });
    }
};

i64 normalise_(OutTable<double> scores, const InVector<double>& fallback, bool probability,
               std::optional<OutVector<double>> log_evidence, int threads) {
    const i64 n = static_cast<i64>(scores.shape(0)), K = static_cast<i64>(scores.shape(1));
    need(fallback, 0, K, "fallback");
    if (log_evidence) need(*log_evidence, 0, n, "log_evidence");
    nb::gil_scoped_release release;
    return normalise(scores.data(), n, K, fallback.data(), probability,
                     log_evidence ? log_evidence->data() : nullptr, threads);
}

}  // namespace

void bind_scores(nb::module_& m) {
    nb::class_<DenseScorer>(m, "DenseScorer")
        .def(nb::init<InTable<double>, std::optional<InTable<double>>, InVector<double>, i64,
                      std::optional<double>, bool>(),
             "first"_a, "second"_a.none(), "offset"_a, "fallback"_a, "threshold"_a.none(),
             "non_negative"_a)
        .def("score", &DenseScorer::score, "x"_a, "joint"_a.none().noconvert(), "best"_a.none().noconvert(), "threads"_a);
    nb::class_<LaneScorer>(m, "LaneScorer")
        .def(nb::init<InTable<double>, std::optional<InTable<double>>, InVector<double>, i64, int>(),
             "first"_a, "second"_a.none(), "offset"_a, "fallback"_a, "threads"_a)
        .def_static("of_columns", &LaneScorer::of_columns, "tables"_a, "offset"_a, "fallback"_a, "threads"_a)
        .def("score_codes", &LaneScorer::score_codes_, "x"_a, "start"_a, "joint"_a.none().noconvert(),
             "best"_a.none().noconvert(), "threads"_a)
        .def("score_sparse", &LaneScorer::score_sparse, "indptr"_a, "indices"_a, "data"_a, "rows"_a,
             "columns"_a, "threshold"_a.none(), "non_negative"_a, "joint"_a.none().noconvert(),
             "best"_a.none().noconvert(), "threads"_a);
    m.def("normalise", &normalise_, "scores"_a.noconvert(), "fallback"_a, "probability"_a,
          "log_evidence"_a.none().noconvert(), "threads"_a);
}
