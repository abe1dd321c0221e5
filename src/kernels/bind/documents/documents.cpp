// The binding of the kernels for documents: their tally, sums, scores and ridge.
#include <nanobind/stl/optional.h>

#include "bind/arrays.hpp"
#include "bind/given.hpp"
#include "bind/modules.hpp"
#include "documents/counts.hpp"
#include "documents/hashes.hpp"
#include "documents/ridge.hpp"
#include "documents/scores.hpp"
#include "documents/sums.hpp"

using namespace nb::literals;

namespace {

using namespace tb;

using Starts = InArray<i64, 1>;
using Codes = InArray<i32, 1>;

// Whether all numbers are in least … size − 1.
bool within(const i32* values, i64 n, i64 least, i64 size) {
    bool fine = true;
    for (i64 i = 0; i < n; ++i) fine &= values[i] >= least && values[i] < size;
    return fine;
}

i64 need_starts(const Starts& start, i64 stored) {
    need(start.shape(0) >= 1 && start.data()[0] == 0, "starts begin with 0");
    const i64 n = static_cast<i64>(start.shape(0)) - 1;
    bool rising = true;
    for (i64 i = 0; i < n; ++i) rising &= start.data()[i] <= start.data()[i + 1];
    need(rising && start.data()[n] == stored, "starts do not rise to the number of entries");
    return n;
}

DocumentRows rows_of(const Starts& indptr, const Codes& terms, const InArray<float, 1>& values,
                     i64 n_terms) {
    const i64 n = need_starts(indptr, terms.shape(0));
    need(values.shape(0) == terms.shape(0), "values and terms differ in length");
    need(within(terms.data(), terms.shape(0), 0, n_terms), "a term is out of range");
    return {indptr.data(), terms.data(), values.data(), n};
}

TermPairs pairs_of(const Starts& start, const Codes& classes, i64 n_classes) {
    const i64 terms = need_starts(start, classes.shape(0));
    need(within(classes.data(), classes.shape(0), 0, n_classes), "a class is out of range");
    return {start.data(), classes.data(), terms};
}

template <class Value>
nb::tuple counted(Starts indptr, Codes terms, Codes codes, std::optional<InArray<double, 1>> weights,
                  std::optional<InArray<Value, 1>> values, i64 n_terms, i64 n_classes, int threads) {
    const i64 n = need_starts(indptr, terms.shape(0));
    need(static_cast<i64>(codes.shape(0)) == n, "rows differ");
    need(n_terms >= 0 && n_classes >= 0, "the numbers of terms and classes must be at least 0");
    need(!weights || static_cast<i64>(weights->shape(0)) == n, "weights differ");
    need(!values || values->shape(0) == terms.shape(0), "values and terms differ in length");
    CountedTerms found;
    {
        nb::gil_scoped_release release;
        const LabelledDocuments<Value> documents{indptr.data(),
                                                 terms.data(),
                                                 values ? values->data() : nullptr,
                                                 codes.data(),
                                                 weights ? weights->data() : nullptr,
                                                 n,
                                                 n_terms,
                                                 n_classes};
        found = TermCounter<Value>(documents).counted(threads);
    }
    nb::object sums = nb::none();
    if (values) sums = nb::cast(as_array(std::move(found.sums)));
    return nb::make_tuple(as_array(std::move(found.start)), as_array(std::move(found.classes)),
                          as_array(std::move(found.counts)), sums);
}

template <class Value>
void bind_counted(nb::module_& m) {
    m.def("count_terms", &counted<Value>, "indptr"_a, "terms"_a, "codes"_a, "weights"_a.none(),
          "values"_a.none(), "n_terms"_a, "n_classes"_a, "threads"_a);
}

void hashed(Starts indptr, Codes terms, Codes counts, u64 salt, OutArray<u64, 1> out, int threads) {
    const i64 n = need_starts(indptr, terms.shape(0));
    need(counts.shape(0) == terms.shape(0), "counts and terms differ in length");
    need(static_cast<i64>(out.shape(0)) == n, "rows differ");
    nb::gil_scoped_release release;
    document_hashes(indptr.data(), terms.data(), counts.data(), n, salt, out.data(), threads);
}

void without(Starts indptr, Codes terms, InArray<float, 1> values, Codes y,
             InArray<double, 1> weight, Starts start, Codes classes, InArray<double, 1> counts,
             InArray<double, 1> frequency, InArray<std::int8_t, 1> first, InArray<double, 1> share,
             double tau, i64 of_an_order,
             nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu> Z, int threads) {
    const i64 K = share.shape(0), G = Z.shape(2);
    const TermPairs pairs = pairs_of(start, classes, K);
    const DocumentRows x = rows_of(indptr, terms, values, pairs.terms);
    need(static_cast<i64>(y.shape(0)) == x.n && static_cast<i64>(weight.shape(0)) == x.n,
         "labels or weights differ in length");
    need(within(y.data(), x.n, 0, K), "a label is out of range");
    need(counts.shape(0) == classes.shape(0), "pairs differ");
    need(static_cast<i64>(frequency.shape(0)) == pairs.terms &&
             static_cast<i64>(first.shape(0)) == pairs.terms,
         "terms differ");
    need(static_cast<i64>(Z.shape(0)) == x.n && static_cast<i64>(Z.shape(1)) == K, "shapes differ");
    bool binned = of_an_order > 0;
    for (i64 t = 0; t < pairs.terms; ++t)
        binned &= first.data()[t] >= 0 && first.data()[t] + of_an_order <= G;
    need(binned, "a bin is out of range");
    const TermNumbers table{pairs, counts.data(), frequency.data(), first.data(), share.data(),
                            tau,   K,             G,                of_an_order};
    nb::gil_scoped_release release;
    sums_without(x, y.data(), weight.data(), table, Z.data(), threads);
}

void sums(Starts indptr, Codes terms, InArray<float, 1> values, std::optional<Codes> y, Starts start,
          Codes classes, InArray<double, 1> pair, std::optional<InArray<double, 1>> own,
          InArray<double, 2> expected, Codes row, InArray<std::int8_t, 1> bin,
          nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu> Z, int threads) {
    const i64 K = expected.shape(1), G = Z.shape(2);
    const TermPairs pairs = pairs_of(start, classes, K);
    const DocumentRows x = rows_of(indptr, terms, values, pairs.terms);
    need(pair.shape(0) == classes.shape(0), "pairs differ");
    need(y.has_value() == own.has_value(), "labels and own ratios belong together");
    need(!y || (own->shape(0) == classes.shape(0) && static_cast<i64>(y->shape(0)) == x.n),
         "labels or own ratios differ in length");
    need(!y || within(y->data(), x.n, 0, K), "a label is out of range");
    need(static_cast<i64>(row.shape(0)) == pairs.terms &&
             static_cast<i64>(bin.shape(0)) == pairs.terms,
         "terms differ");
    need(static_cast<i64>(Z.shape(0)) == x.n && static_cast<i64>(Z.shape(1)) == K, "shapes differ");
    bool binned = true;
    for (i64 t = 0; t < pairs.terms; ++t) {
        binned &= bin.data()[t] < G;
        binned &= bin.data()[t] < 0 ||
                  (row.data()[t] >= 0 && row.data()[t] < static_cast<i64>(expected.shape(0)));
    }
    need(binned, "a bin or a row is out of range");
    const RatioTable table{pairs,           pair.data(),
                           own ? own->data() : nullptr,
                           expected.data(), row.data(),
                           bin.data(),      static_cast<i64>(expected.shape(0)),
                           K,               G};
    nb::gil_scoped_release release;
    document_sums(x, y ? y->data() : nullptr, table, Z.data(), threads);
}

TermColumns columns_of(const Starts& start, const Codes& documents, const InArray<float, 1>& values,
                   i64 n) {
    const i64 columns = need_starts(start, documents.shape(0));
    need(values.shape(0) == documents.shape(0), "values and documents differ in length");
    return {start.data(), documents.data(), values.data(), n, columns};
}

nb::tuple tfidf(Starts indptr, Codes terms, InArray<float, 1> values, Codes column,
                InArray<double, 1> idf, i64 columns) {
    const DocumentRows x = rows_of(indptr, terms, values, column.shape(0));
    need(idf.shape(0) == column.shape(0), "terms differ");
    need(columns >= 0, "there is no negative number of columns");
    need(within(column.data(), column.shape(0), -1, columns), "a column is out of range");
    std::vector<i64> start(static_cast<std::size_t>(columns) + 1, 0);
    std::vector<i32> documents;
    std::vector<float> found;
    {
        nb::gil_scoped_release release;
        for (i64 p = 0; p < x.indptr[x.n]; ++p)
            if (column.data()[x.terms[p]] >= 0) ++start[column.data()[x.terms[p]] + 1];
        for (i64 j = 0; j < columns; ++j) start[j + 1] += start[j];
        documents.resize(static_cast<std::size_t>(start[columns]));
        found.resize(documents.size());
        tfidf_columns(x, column.data(), idf.data(), start.data(), columns, documents.data(),
                      found.data());
    }
    return nb::make_tuple(as_array(std::move(start)), as_array(std::move(documents)),
                          as_array(std::move(found)));
}

void gram(Starts start, Codes documents, InArray<float, 1> values, InArray<float, 2> D,
          OutArray<float, 2> F, int threads) {
    const TermColumns x = columns_of(start, documents, values, D.shape(0));
    need(within(documents.data(), documents.shape(0), 0, x.n), "a document is out of range");
    need(F.shape(0) == D.shape(0) && F.shape(1) == D.shape(1), "shapes differ");
    nb::gil_scoped_release release;
    gram_times(chosen_loops(), x, D.data(), D.shape(1), F.data(), threads);
}

void combined(Starts start, Codes documents, InArray<float, 1> values, InArray<float, 2> A,
              OutArray<float, 2> U, int threads) {
    const TermColumns x = columns_of(start, documents, values, A.shape(0));
    need(within(documents.data(), documents.shape(0), 0, x.n), "a document is out of range");
    need(static_cast<i64>(U.shape(0)) == x.columns && U.shape(1) == A.shape(1), "shapes differ");
    nb::gil_scoped_release release;
    columns_times(chosen_loops(), x, A.data(), A.shape(1), U.data(), threads);
}

// The parts of a score, and what keeps them alive.
struct DocumentScorer {
    Starts start;
    Codes classes, row, column;
    InArray<double, 1> pair, idf, intercept;
    InArray<double, 2> expected;
    InArray<float, 2> u;
    DocumentScore score;

    DocumentScorer(Starts start_, Codes classes_, InArray<double, 1> pair_,
                   InArray<double, 2> expected_, Codes row_, Codes column_, InArray<double, 1> idf_,
                   InArray<float, 2> u_, InArray<double, 1> intercept_, double mean_length,
                   double power)
        : start(start_), classes(classes_), row(row_), column(column_), pair(pair_), idf(idf_),
          intercept(intercept_), expected(expected_), u(u_) {
        const i64 K = intercept.shape(0), C = u.shape(1);
        const TermPairs pairs = pairs_of(start, classes, K);
        need(pair.shape(0) == classes.shape(0), "pairs differ");
        need(static_cast<i64>(expected.shape(1)) == K, "classes differ");
        need(C == K || (K == 2 && C == 1), "the ridge has other classes");
        for (std::size_t size : {row.shape(0), column.shape(0), idf.shape(0)})
            need(static_cast<i64>(size) == pairs.terms, "terms differ");
        need(within(row.data(), pairs.terms, 0, expected.shape(0)), "a row is out of range");
        need(within(column.data(), pairs.terms, -1, u.shape(0)), "a column is out of range");
        score = {pairs,           pair.data(),
                 expected.data(), row.data(),
                 column.data(),   idf.data(),
                 u.data(),        intercept.data(),
                 static_cast<i64>(expected.shape(0)),
                 K,               static_cast<i64>(u.shape(0)),
                 C,               mean_length,
                 power};
    }

    void joint(Starts indptr, Codes terms, InArray<float, 1> values, OutArray<double, 2> S,
               int threads) const {
        const DocumentRows x = rows_of(indptr, terms, values, score.pairs.terms);
        need(static_cast<i64>(S.shape(0)) == x.n && static_cast<i64>(S.shape(1)) == score.classes,
             "shapes differ");
        nb::gil_scoped_release release;
        score_documents(x, score, S.data(), threads);
    }

    void contributions(Starts indptr, Codes terms, InArray<float, 1> values,
                       OutArray<double, 2> out) const {
        const DocumentRows x = rows_of(indptr, terms, values, score.pairs.terms);
        need(out.shape(0) == terms.shape(0) && static_cast<i64>(out.shape(1)) == score.classes,
             "shapes differ");
        nb::gil_scoped_release release;
        explain_documents(x, score, out.data());
    }
};

}  // namespace

void bind_documents(nb::module_& m) {
    bind_counted<double>(m);
    bind_counted<i32>(m);
    m.def("document_hashes", &hashed, "indptr"_a, "terms"_a, "counts"_a, "salt"_a,
          "out"_a.noconvert(), "threads"_a);
    m.def("document_sums_without", &without, "indptr"_a, "terms"_a, "values"_a, "y"_a, "weight"_a,
          "start"_a, "classes"_a, "counts"_a, "frequency"_a, "first"_a, "share"_a, "tau"_a,
          "of_an_order"_a, "Z"_a, "threads"_a);
    m.def("document_sums", &sums, "indptr"_a, "terms"_a, "values"_a, "y"_a.none(), "start"_a,
          "classes"_a, "pair"_a, "own"_a.none(), "expected"_a, "row"_a, "bin"_a, "Z"_a, "threads"_a);
    m.def("tfidf_columns", &tfidf, "indptr"_a, "terms"_a, "values"_a, "column"_a, "idf"_a,
          "columns"_a);
    m.def("gram_times", &gram, "start"_a, "documents"_a, "values"_a, "D"_a, "F"_a, "threads"_a);
    m.def("columns_times", &combined, "start"_a, "documents"_a, "values"_a, "A"_a, "U"_a,
          "threads"_a);
    nb::class_<DocumentScorer>(m, "DocumentScorer")
        .def(nb::init<Starts, Codes, InArray<double, 1>, InArray<double, 2>, Codes, Codes,
                      InArray<double, 1>, InArray<float, 2>, InArray<double, 1>, double, double>(),
             "start"_a, "classes"_a, "pair"_a, "expected"_a, "row"_a, "column"_a, "idf"_a, "u"_a,
             "intercept"_a, "mean_length"_a, "power"_a)
        .def("joint", &DocumentScorer::joint, "indptr"_a, "terms"_a, "values"_a, "S"_a, "threads"_a)
        .def("contributions", &DocumentScorer::contributions, "indptr"_a, "terms"_a, "values"_a,
             "out"_a);
}
