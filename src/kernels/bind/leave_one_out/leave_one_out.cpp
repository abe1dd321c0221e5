// The binding of leave-one-out: arrays are checked here, the GIL is released, faults are flags.
#include "leave_one_out/counts.hpp"

#include <nanobind/stl/optional.h>

#include "bind/arrays.hpp"
#include "bind/modules.hpp"
#include "leave_one_out/complement.hpp"
#include "leave_one_out/moments.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tb;

// Rows whose entries other than 0, or above a threshold, are asked for; the arrays stay numpy's.
class RowEntries {
public:
    static RowEntries dense(In x, std::optional<double> threshold) {
        RowEntries rows(threshold);
        const Matrix m = matrix(x);
        rows.n = m.n, rows.d = m.d, rows.work = m.n * m.d;
        rows.need_narrow();
        rows.held_[0] = x;
        rows.read = with_numbers(m, [&](auto typed) { return reader(typed, rows.limit_.get()); });
        return rows;
    }
    static RowEntries csr(In indptr, In indices, In data, i64 n, i64 d,
                          std::optional<double> threshold) {
        RowEntries rows(threshold);
        rows.n = n, rows.d = d, rows.work = static_cast<i64>(data.shape(0));
        rows.need_narrow();
        const Sparse<Data::common> x(indptr, indices, data, n, d);
        rows.held_[0] = x.indptr, rows.held_[1] = x.indices, rows.held_[2] = x.data;
        rows.read =
            with_sparse(x, [&](auto typed) { return reader(typed, rows.limit_.get()); });
        return rows;
    }
    i64 n = 0, d = 0, work = 0;
    ReadRows read;

private:
    explicit RowEntries(std::optional<double> threshold)
        : limit_(threshold ? std::make_shared<double>(*threshold) : nullptr) {}
    void need_narrow() const {
        if (d >= i64(1) << 31) throw nb::value_error("too many columns");
    }
    std::shared_ptr<double> limit_;
    In held_[3];
};

Taken taken_of(const InVector<i64>& own, const InVector<double>& weight, i64 n, i64 classes) {
    need(own, 0, n, "own");
    need(weight, 0, n, "weight");
    return Taken{own.data(), weight.data(), n, classes};
}

Smoothing smoothing_of(const InVector<double>& alpha, i64 d) {
    const i64 size = static_cast<i64>(alpha.shape(0));
    if (size != 1 && size != d) throw nb::value_error("a pseudo-count for all columns, or for each");
    return {alpha.data(), size == d && d != 1 ? 1 : 0};
}

i64 rows_of(const InTable<double>& table) { return static_cast<i64>(table.shape(0)); }

int own_sums_(const RowEntries& x, const InVector<i64>& own, const InVector<double>& weight,
              const InTable<double>& table, OutVector<double> score, OutVector<double> length, int threads) {
    const Taken taken = taken_of(own, weight, x.n, rows_of(table));
    need(table, 1, x.d, "table");
    need(score, 0, x.n, "score");
    need(length, 0, x.n, "length");
    nb::gil_scoped_release release;
    return own_sums(chosen_loops(), x.read, x.work, taken, table.data(), x.d, score.data(),
                    length.data(), threads);
}

int sums_without_(const RowEntries& x, const InVector<i64>& own, const InVector<double>& weight,
                  const InTable<double>& part, const InVector<double>& alpha,
                  OutVector<double> score, OutVector<double> length, int threads) {
    const Taken taken = taken_of(own, weight, x.n, rows_of(part));
    need(part, 1, x.d, "part");
    need(score, 0, x.n, "score");
    need(length, 0, x.n, "length");
    const Smoothing smoothing = smoothing_of(alpha, x.d);
    nb::gil_scoped_release release;
    return sums_without(chosen_loops(), x.read, x.work, taken, part.data(), x.d, smoothing,
                        score.data(), length.data(), threads);
}

using PairTable = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

int presence_without_(const RowEntries& x, const InVector<i64>& own, const InVector<double>& weight,
                      const PairTable& pair, const InVector<double>& rows,
                      const InVector<double>& yes, const InVector<double>& no,
                      OutVector<double> score, OutVector<double> ruled, int threads) {
    const Taken taken = taken_of(own, weight, x.n, static_cast<i64>(pair.shape(0)));
    need(pair, 1, x.d, "pair");
    need(pair, 2, 2, "pair");
    need(rows, 0, taken.classes, "rows");
    need(score, 0, x.n, "score");
    need(ruled, 0, x.n, "ruled");
    const Smoothing first = smoothing_of(yes, x.d), second = smoothing_of(no, x.d);
    nb::gil_scoped_release release;
    return presence_without(chosen_loops(), x.read, x.work, taken, pair.data(), rows.data(), x.d, first,
                            second, score.data(), ruled.data(), threads);
}

void shifted_logs_(const nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>& table,
                   const InVector<i64>& own, const InVector<double>& weight,
                   const InVector<double>& alpha, const InVector<double>& from,
                   const InVector<double>& scale, double sign,
                   OutVector<double> sum, OutVector<double> zeros, int threads) {
    const i64 n = static_cast<i64>(own.shape(0)), d = static_cast<i64>(table.shape(1));
    const Taken taken = taken_of(own, weight, n, static_cast<i64>(table.shape(0)));
    need(sum, 0, n, "sum");
    need(zeros, 0, n, "zeros");
    need(from, 0, taken.classes, "from");
    need(scale, 0, taken.classes, "scale");
    const Smoothing smoothing = smoothing_of(alpha, d);
    nb::gil_scoped_release release;
    shifted_logs(chosen_loops(), taken, table.data(), table.stride(0), table.stride(1), d, smoothing,
                 from.data(), scale.data(), sign, sum.data(), zeros.data(), threads);
}

// What Complement needs, packed once; the arrays stay numpy's.
class ComplementScorer {
public:
    ComplementScorer(InTable<double> part, InVector<double> total, InVector<double> everything,
                     InVector<double> log_sum, InVector<double> present, InVector<double> alpha,
                     bool norm, int threads)
        : part_(part), total_(total), everything_(everything), log_sum_(log_sum), present_(present),
          alpha_(alpha), lanes_(pack(part, total, threads)) {
        const i64 K = rows_of(part), d = static_cast<i64>(part.shape(1));
        need(everything, 0, d, "everything");
        for (auto* vector : {&total, &log_sum, &present}) need(*vector, 0, K, "totals");
        const Smoothing smoothing = smoothing_of(alpha, d);
        double sum = 0.0;
        bool zeros = false, large = false;
        for (i64 j = 0; j < d; ++j) {
            sum += smoothing.at(j);
            zeros |= smoothing.at(j) < 1.0 / PRODUCT_RANGE;
            large |= everything.data()[j] + smoothing.at(j) > PRODUCT_RANGE;
        }
        model_ = Complements{&lanes_,        part.data(),    total.data(), everything.data(),
                             log_sum.data(), present.data(), smoothing,    sum,
                             norm,           zeros,          large,             d};
    }
    ComplementScorer(const ComplementScorer&) = delete;
    int score(const RowEntries& x, const InVector<i64>& own, const InVector<double>& weight,
              OutTable<double> scores, int threads) const {
        const Taken taken = taken_of(own, weight, x.n, lanes_.classes);
        if (x.d != model_.d) throw nb::value_error("x has the wrong number of columns");
        need(scores, 0, x.n, "scores");
        need(scores, 1, lanes_.classes, "scores");
        nb::gil_scoped_release release;
        return complement_without(chosen_loops(), x.read, x.work, taken, model_, scores.data(),
                                  threads);
    }

private:
    static LaneTable pack(const InTable<double>& part, const InVector<double>& total, int threads) {
        need(total, 0, rows_of(part), "total");
        const double* const source[1] = {part.data()};
        return LaneTable(rows_of(part), static_cast<i64>(part.shape(1)), 1, source, total.data(),
                         threads);
    }
    InTable<double> part_;
    InVector<double> total_, everything_, log_sum_, present_, alpha_;
    LaneTable lanes_;
    Complements model_;
};

int codes_without_(const In& x, const InVector<i64>& start, const InTable<double>& table,
                   const InVector<i64>& own, OutTable<double> scores, int threads) {
    const Matrix m = matrix(x);
    need_starts(start, m.d);
    need(table, 1, start.data()[m.d], "table");
    need(own, 0, m.n, "own");
    need(scores, 0, m.n, "scores");
    need(scores, 1, rows_of(table), "scores");
    const Taken taken{own.data(), nullptr, m.n, rows_of(table)};
    nb::gil_scoped_release release;
    return with_type(m, [&](auto typed) {
        return codes_without(typed, start.data(), table.data(), taken, scores.data(), threads);
    });
}

struct Totals {  // of moments, as arrays
    InTable<double> n, s1_hi, s1_lo, s2_hi, s2_lo, n_lo;

    MomentTotals<const double> read(i64 classes, i64 d) const {
        for (auto* table : {&n, &s1_hi, &s1_lo, &s2_hi, &s2_lo, &n_lo})
            need(*table, 0, classes, "totals"), need(*table, 1, d, "totals");
        return {n.data(), s1_hi.data(), s1_lo.data(), s2_hi.data(), s2_lo.data(), n_lo.data()};
    }
};

Totals totals_in(const nb::tuple& arrays) {
    if (arrays.size() != 6) throw nb::value_error("totals are six arrays");
    auto array = [&](int i) { return nb::cast<InTable<double>>(arrays[i], false); };
    return {array(0), array(1), array(2), array(3), array(4), array(5)};
}

void moments_without_(const In& x, const InVector<i64>& own, const InVector<double>& weight,
                      const nb::tuple& totals, const nb::tuple& everyone,
                      const InVector<double>& origin, const InVector<double>& rest, double residue,
                      double rounding, double smoothing, bool each, OutTable<double> scores,
                      OutVector<std::uint8_t> redo, int threads) {
    const Matrix m = matrix(x);
    const Totals of_classes = totals_in(totals), of_all = totals_in(everyone);
    const i64 K = rows_of(of_classes.n);
    const Taken taken = taken_of(own, weight, m.n, K);
    if (m.d < 1) throw nb::value_error("a row has at least one column");
    need(origin, 0, m.d, "origin"), need(rest, 0, m.d, "rest");
    need(scores, 0, m.n, "scores");
    need(scores, 1, K, "scores");
    need(redo, 0, m.n, "redo");
    const MomentTables tables{K,           m.d,     of_classes.read(K, m.d), of_all.read(1, m.d),
                              origin.data(), rest.data(), residue, rounding, smoothing, each};
    nb::gil_scoped_release release;
    with_numbers(m, [&](auto typed) {
        moments_without(chosen_loops(), typed, tables, taken, scores.data(), redo.data(), threads);
    });
}

i64 posterior_without_(OutTable<double> scores, const InVector<i64>& own,
                       const InVector<double>& other_prior, const InVector<double>& own_prior,
                       int threads) {
    const i64 n = static_cast<i64>(scores.shape(0)), K = static_cast<i64>(scores.shape(1));
    need(own, 0, n, "own");
    need(own_prior, 0, n, "own_prior");
    need(other_prior, 0, K, "other_prior");
    nb::gil_scoped_release release;
    return posterior_without(scores.data(), Taken{own.data(), nullptr, n, K}, other_prior.data(),
                             own_prior.data(), threads);
}

}  // namespace

void bind_leave_one_out(nb::module_& m) {
    nb::class_<RowEntries>(m, "RowEntries")
        .def_static("dense", &RowEntries::dense, "x"_a, "threshold"_a.none())
        .def_static("csr", &RowEntries::csr, "indptr"_a, "indices"_a, "data"_a, "rows"_a,
                    "columns"_a, "threshold"_a.none());
    m.def("own_sums", &own_sums_, "x"_a, "own"_a, "weight"_a, "table"_a, "score"_a.noconvert(),
          "length"_a.noconvert(), "threads"_a);
    m.def("sums_without", &sums_without_, "x"_a, "own"_a, "weight"_a, "part"_a, "alpha"_a,
          "score"_a.noconvert(), "length"_a.noconvert(), "threads"_a);
    m.def("presence_without", &presence_without_, "x"_a, "own"_a, "weight"_a, "pair"_a, "rows"_a,
          "yes"_a, "no"_a, "score"_a.noconvert(), "ruled"_a.noconvert(), "threads"_a);
    m.def("shifted_logs", &shifted_logs_, "table"_a, "own"_a, "weight"_a, "alpha"_a, "whole"_a,
          "scale"_a, "sign"_a, "sum"_a.noconvert(), "zeros"_a.noconvert(), "threads"_a);
    nb::class_<ComplementScorer>(m, "ComplementScorer")
        .def(nb::init<InTable<double>, InVector<double>, InVector<double>, InVector<double>,
                      InVector<double>, InVector<double>, bool, int>(),
             "part"_a, "total"_a, "everything"_a, "log_sum"_a, "present"_a, "alpha"_a, "norm"_a,
             "threads"_a)
        .def("score", &ComplementScorer::score, "x"_a, "own"_a, "weight"_a, "scores"_a.noconvert(),
             "threads"_a);
    m.def("codes_without", &codes_without_, "x"_a, "start"_a, "table"_a, "own"_a,
          "scores"_a.noconvert(), "threads"_a);
    m.def("moments_without", &moments_without_, "x"_a, "own"_a, "weight"_a, "totals"_a,
          "everyone"_a, "origin"_a, "rest"_a, "residue"_a, "rounding"_a, "smoothing"_a, "each"_a,
          "scores"_a.noconvert(), "redo"_a.noconvert(), "threads"_a);
    m.def("posterior_without", &posterior_without_, "scores"_a.noconvert(), "own"_a,
          "other_prior"_a, "own_prior"_a, "threads"_a);
}
