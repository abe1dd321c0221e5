// The thin layer between numpy arrays and the kernels: types, shapes and strides are checked here,
// the GIL is released, and faults are returned as flags for Python to word.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>

#include "arrays.hpp"
#include "dense.hpp"
#include "grid.hpp"
#include "labels.hpp"
#include "moments.hpp"
#include "bind.hpp"
#include "score.hpp"
#include "sparse.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tb;

// ---- instruction sets ----------------------------------------------------------------------------
struct InstructionSet {
    const char* name;
    const Loops* (*loops)();
    bool available;
};

const std::vector<InstructionSet>& instruction_sets() {
    static const std::vector<InstructionSet> sets = [] {
        std::vector<InstructionSet> all;
        all.push_back({"baseline", baseline::loops, true});
#ifdef TB_X86
        __builtin_cpu_init();
        const bool fma = __builtin_cpu_supports("fma");
        all.push_back({"avx2", avx2::loops, fma && __builtin_cpu_supports("avx2")});
        all.push_back({"avx512", avx512::loops,
                       fma && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")});
#endif
        return all;
    }();
    return sets;
}

std::atomic<const InstructionSet*> chosen{nullptr};

}  // namespace

const tb::Loops& tb::chosen_loops() { return *chosen.load()->loops(); }

namespace {

const Loops& loops() { return chosen_loops(); }

std::vector<std::string> available_instruction_sets() {
    std::vector<std::string> names;
    for (auto& set : instruction_sets())
        if (set.available) names.push_back(set.name);
    return names;
}

void use_instruction_set(const std::string& name) {
    for (auto& set : instruction_sets())
        if (set.available && name == set.name) {
            chosen = &set;
            return;
        }
    std::string message = "instruction set '" + name + "' is not available here; choose one of:";
    for (auto& known : available_instruction_sets()) message += " " + known;
    throw nb::value_error(message.c_str());
}

// ---- counting ------------------------------------------------------------------------------------
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> as_array(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner);
}

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
    return with_type(m, [&](auto typed) {
        return count_moments(loops(), typed, Grid(m), codes.data(), w, classes, origin.data(),
                             totals, threads);
    });
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
    return with_type(m, [&](auto typed) {
        return count_sums(loops(), typed, Grid(m), codes.data(), w,
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

int sums_sparse(const In& indptr, const In& indices, const In& data, i64 rows, i64 columns,
                bool by_column, const InVector<i32>& codes,
                const std::optional<InVector<double>>& weights, std::optional<double> threshold,
                bool non_negative, OutTable<double> sums, int threads) {
    need(codes, 0, rows, "codes");
    need(sums, 1, columns, "sums");
    const double* w = weights_of(weights, rows);
    const Rule rule{threshold ? &*threshold : nullptr,
                    non_negative ? Demand::non_negative : Demand::finite};
    double* const out[1] = {sums.data()};
    const i64 classes = static_cast<i64>(sums.shape(0));
    const Sparse x{indptr, indices, data, by_column ? columns : rows, by_column ? rows : columns};
    return with_sparse(x, [&](auto typed) {
        nb::gil_scoped_release release;
        return by_column
                   ? count_csc<SumCells>(typed, codes.data(), w, classes, rule, out, threads)
                   : count_csr<SumCells>(typed, codes.data(), w, classes, rule, out, threads);
    });
}

int moments_sparse(const In& indptr, const In& indices, const In& data, i64 rows, i64 columns,
                   bool by_column, const InVector<i32>& codes,
                   const std::optional<InVector<double>>& weights, OutTable<double> s1_hi,
                   OutTable<double> s1_lo, OutTable<double> s2_hi, OutTable<double> s2_lo,
                   int threads) {
    need(codes, 0, rows, "codes");
    for (auto* table : {&s1_hi, &s1_lo, &s2_hi, &s2_lo}) {
        need(*table, 1, columns, "totals");
        need(*table, 0, static_cast<i64>(s1_hi.shape(0)), "totals");
    }
    const double* w = weights_of(weights, rows);
    const Rule rule{nullptr, Demand::finite};
    double* const out[4] = {s1_hi.data(), s1_lo.data(), s2_hi.data(), s2_lo.data()};
    const i64 classes = static_cast<i64>(s1_hi.shape(0));
    const Sparse x{indptr, indices, data, by_column ? columns : rows, by_column ? rows : columns};
    return with_sparse(x, [&](auto typed) {
        nb::gil_scoped_release release;
        return by_column
                   ? count_csc<MomentCells>(typed, codes.data(), w, classes, rule, out, threads)
                   : count_csr<MomentCells>(typed, codes.data(), w, classes, rule, out, threads);
    });
}

int levels_csr(const In& indptr, const In& indices, const In& data, i64 rows, i64 columns,
               const InVector<i32>& codes, const std::optional<InVector<double>>& weights,
               const InVector<i64>& start, OutTable<double> counts) {
    need(codes, 0, rows, "codes");
    need_starts(start, columns);
    need(counts, 1, start.data()[columns], "counts");
    const double* w = weights_of(weights, rows);
    return with_sparse(Sparse{indptr, indices, data, rows, columns}, [&](auto typed) {
        nb::gil_scoped_release release;
        return count_levels_csr(typed, codes.data(), w, static_cast<i64>(counts.shape(0)),
                                start.data(), counts.data(),
                                [](auto value, int& fault) { return code_of(value, fault); });
    });
}

// fault, shift, keys in order of appearance, counts (cells · classes)
nb::tuple grid_counts(const In& x, const InVector<i32>& codes,
                      const std::optional<InVector<double>>& weights, i64 classes, i64 budget) {
    const Matrix m = matrix(x);
    need(codes, 0, m.n, "codes");
    if (m.d != 1 || classes < 1 || budget < 2)
        throw nb::value_error("one column, a class and a budget of two cells are needed");
    const double* w = weights_of(weights, m.n);
    GridTable table(classes, budget, 0);
    int fault = FINE;
    {
        nb::gil_scoped_release release;
        fault = with_type(m, [&](auto typed) {
            return count_grid(typed, codes.data(), w, classes, table);
        });
    }
    return nb::make_tuple(fault, table.shift, as_array(std::move(table.keys)),
                          as_array(std::move(table.counts)));
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

// ---- scoring -------------------------------------------------------------------------------------
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
        return reply(with_type(
            m, [&](auto typed) { return score_dense(loops(), typed, with, out, threads); }));
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
            return score_codes(loops(), typed, table, start.data(), out, threads);
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
        return with_sparse(Sparse{indptr, indices, data, rows, columns}, [&](auto typed) {
            nb::gil_scoped_release release;
            return reply(score_csr(loops(), typed, table, kind, threshold.value_or(0.0),
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

NB_MODULE(_kernels, m) {
    // the best instruction set of this machine, unless use_instruction_set says otherwise
    for (auto& set : instruction_sets())
        if (set.available) chosen = &set;

    m.def("available_instruction_sets", &available_instruction_sets);
    m.def("instruction_set", [] { return std::string(chosen.load()->name); });
    m.def("use_instruction_set", &use_instruction_set, "name"_a);
    m.attr("NOT_FINITE") = static_cast<int>(NOT_FINITE);
    m.attr("NEGATIVE") = static_cast<int>(NEGATIVE);
    m.attr("NOT_INTEGER") = static_cast<int>(NOT_INTEGER);
    m.attr("OUT_OF_RANGE") = static_cast<int>(OUT_OF_RANGE);
    bind_bins(m);
    bind_choice(m);
    bind_pooled(m);
    bind_texts(m);

    m.def("rank_labels", &rank_labels_, "y"_a, "limit"_a, "codes"_a.noconvert(), "threads"_a);
    m.def("count_classes", &count_classes_, "codes"_a, "weights"_a.none(), "count"_a.noconvert(),
          "threads"_a, "rest"_a.none().noconvert() = nb::none());
    m.def("moments_dense", &moments_dense, "x"_a, "codes"_a, "weights"_a.none(), "origin"_a,
          "s1_hi"_a.noconvert(), "s1_lo"_a.noconvert(), "s2_hi"_a.noconvert(), "s2_lo"_a.noconvert(), "threads"_a);
    m.def("moments_sparse", &moments_sparse, "indptr"_a, "indices"_a, "data"_a, "rows"_a,
          "columns"_a, "by_column"_a, "codes"_a, "weights"_a.none(), "s1_hi"_a.noconvert(), "s1_lo"_a.noconvert(),
          "s2_hi"_a.noconvert(), "s2_lo"_a.noconvert(), "threads"_a);
    m.def("sums_dense", &sums_dense, "x"_a, "codes"_a, "weights"_a.none(), "threshold"_a.none(),
          "non_negative"_a, "sums"_a.noconvert(), "threads"_a);
    m.def("sums_sparse", &sums_sparse, "indptr"_a, "indices"_a, "data"_a, "rows"_a, "columns"_a,
          "by_column"_a, "codes"_a, "weights"_a.none(), "threshold"_a.none(), "non_negative"_a,
          "sums"_a.noconvert(), "threads"_a);
    m.def("highest_codes", &highest_codes_, "x"_a, "highest"_a.noconvert(), "threads"_a);
    m.def("levels_dense", &levels_dense, "x"_a, "codes"_a, "weights"_a.none(), "start"_a,
          "counts"_a.noconvert(), "threads"_a);
    m.def("grid_counts", &grid_counts, "x"_a, "codes"_a, "weights"_a.none(), "classes"_a,
          "budget"_a);
    m.def("levels_csr", &levels_csr, "indptr"_a, "indices"_a, "data"_a, "rows"_a, "columns"_a,
          "codes"_a, "weights"_a.none(), "start"_a, "counts"_a.noconvert());

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
    nb::set_leak_warnings(false);  // objects that live to the end of the process are no leak
    bind_rows(m);
    bind_pairs(m);
    bind_weights(m);
    bind_cross(m);
    bind_without(m);
    m.def("normalise", &normalise_, "scores"_a.noconvert(), "fallback"_a, "probability"_a,
          "log_evidence"_a.none().noconvert(), "threads"_a);
}
