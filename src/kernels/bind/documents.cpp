// The binding of the kernels for documents: their tally, sums, scores and ridge.
#include "bind/arrays.hpp"
#include "documents/counts.hpp"
#include "documents/rows.hpp"
#include "documents/ridge.hpp"
#include "documents/scores.hpp"
#include "documents/sums.hpp"

namespace {

using namespace tb;

using Starts = InVector<i64>;
using Floats = InVector<float>;

// How many rows or columns begin at `start`, of so many entries.
i64 starts_of(const Starts& start, i64 stored) {
    need(start.shape(0) >= 1 && start[0] == 0, "starts begin with 0");
    const i64 n = start.shape(0) - 1;
    bool rising = true;
    for (i64 i = 0; i < n; ++i) rising &= start[i] <= start[i + 1];
    need(rising && start[n] == stored, "starts do not rise to the number of entries");
    return n;
}

DocumentRows rows_of(const Starts& indptr, const Codes& terms, const Floats& values, i64 n_terms) {
    const i64 stored = terms.shape(0), n = starts_of(indptr, stored);
    need({stored}, "values", values);
    need(within<i32>(terms, stored, 0, n_terms), "a term is out of range");
    return {indptr, terms, values, n};
}

TermPairs pairs_of(const Starts& start, const Codes& classes, i64 n_classes) {
    const i64 pairs = classes.shape(0), terms = starts_of(start, pairs);
    need(within<i32>(classes, pairs, 0, n_classes), "a class is out of range");
    return {start, classes, terms};
}

TermColumns columns_of(const Starts& start, const Codes& documents, const Floats& values, i64 n) {
    const i64 stored = documents.shape(0), columns = starts_of(start, stored);
    need({stored}, "values", values);
    need(within<i32>(documents, stored, 0, n), "a document is out of range");
    return {start, documents, values, n, columns};
}

template <class Value>
nb::tuple counted(const Starts& indptr, const Codes& terms, const Codes& codes,
                  const std::optional<Vector>& weights, const std::optional<InVector<Value>>& values,
                  i64 n_terms, i64 n_classes, int threads) {
    const i64 n = starts_of(indptr, terms.shape(0));
    need({n}, "rows", codes, weights), need({terms.shape(0)}, "values", values);
    need(n_terms >= 0 && n_classes >= 0, "the numbers of terms and classes must be at least 0");
    CountedTerms found;
    {
        nb::gil_scoped_release release;
        const LabelledDocuments<Value> documents{indptr,         terms, given(values), codes,
                                                 given(weights), n,     n_terms,       n_classes};
        found = TermCounter<Value>(documents).counted(threads);
    }
    nb::object sums = nb::none();
    if (values) sums = nb::cast(as_array(std::move(found.sums)));
    return nb::make_tuple(as_array(std::move(found.start)), as_array(std::move(found.classes)),
                          as_array(std::move(found.counts)), sums);
}

void hashed(const Starts& indptr, const Codes& terms, const Codes& counts, u64 salt,
            const Array<u64, 1>& out, int threads) {
    const i64 n = starts_of(indptr, terms.shape(0));
    need({terms.shape(0)}, "counts", counts), need({n}, "out", out);
    document_hashes(indptr, terms, counts, n, salt, out, threads);
}

void without(const Starts& indptr, const Codes& terms, const Floats& values, const Codes& y,
             const Vector& weight, const Starts& start, const Codes& classes, const Vector& counts,
             const Vector& frequency, const InVector<std::int8_t>& first, const Vector& share,
             double tau, i64 of_an_order, const Array<double, 3>& Z, int threads) {
    const i64 K = share.shape(0), G = Z.shape(2);
    const TermPairs pairs = pairs_of(start, classes, K);
    const DocumentRows x = rows_of(indptr, terms, values, pairs.terms);
    need({x.n}, "rows", y, weight), need({classes.shape(0)}, "counts", counts);
    need({pairs.terms}, "terms", frequency, first), need({x.n, K}, "Z", Z);
    need(within<i32>(y, x.n, 0, K), "a label is out of range");
    need(of_an_order > 0 && within<std::int8_t>(first, pairs.terms, 0, G - of_an_order + 1),
         "a bin is out of range");
    const TermNumbers table{pairs, counts, frequency, first, share, tau, K, G, of_an_order};
    sums_without(x, y, weight, table, Z, threads);
}

void sums(const Starts& indptr, const Codes& terms, const Floats& values,
          const std::optional<Codes>& y, const Starts& start, const Codes& classes, const Vector& pair,
          const std::optional<Vector>& own, const Table& expected, const Codes& row,
          const InVector<std::int8_t>& bin, const Array<double, 3>& Z, int threads) {
    const i64 rows = expected.shape(0), K = expected.shape(1), G = Z.shape(2);
    const TermPairs pairs = pairs_of(start, classes, K);
    const DocumentRows x = rows_of(indptr, terms, values, pairs.terms);
    need(y.has_value() == own.has_value(), "labels and own ratios belong together");
    need({classes.shape(0)}, "pairs", pair, own), need({x.n}, "y", y);
    need({pairs.terms}, "terms", row, bin), need({x.n, K}, "Z", Z);
    need(!y || within<i32>(*y, x.n, 0, K), "a label is out of range");
    bool binned = true;
    for (i64 t = 0; t < pairs.terms; ++t)
        binned &= bin[t] < G && (bin[t] < 0 || (row[t] >= 0 && row[t] < rows));
    need(binned, "a bin or a row is out of range");
    const RatioTable table{pairs, pair, given(own), expected, row, bin, rows, K, G};
    document_sums(x, given(y), table, Z, threads);
}

nb::tuple tfidf(const Starts& indptr, const Codes& terms, const Floats& values, const Codes& column,
                const Vector& idf, i64 columns) {
    const DocumentRows x = rows_of(indptr, terms, values, column.shape(0));
    need({column.shape(0)}, "idf", idf), need(columns >= 0, "there is no negative number of columns");
    need(within<i32>(column, column.shape(0), -1, columns), "a column is out of range");
    std::vector<i64> start(static_cast<std::size_t>(columns) + 1, 0);
    std::vector<i32> documents;
    std::vector<float> found;
    {
        nb::gil_scoped_release release;
        for (i64 p = 0; p < x.indptr[x.n]; ++p)
            if (column[x.terms[p]] >= 0) ++start[column[x.terms[p]] + 1];
        for (i64 j = 0; j < columns; ++j) start[j + 1] += start[j];
        documents.resize(static_cast<std::size_t>(start[columns]));
        found.resize(documents.size());
        tfidf_columns(x, column, idf, start.data(), columns, documents.data(), found.data());
    }
    return as_arrays(std::move(start), std::move(documents), std::move(found));
}

void gram(const Starts& start, const Codes& documents, const Floats& values, const InTable<float>& D,
          const Array<float, 2>& F, int threads) {
    const TermColumns x = columns_of(start, documents, values, D.shape(0));
    need({x.n, D.shape(1)}, "F", F);
    gram_times(chosen_loops(), x, D, D.shape(1), F, threads);
}

void combined(const Starts& start, const Codes& documents, const Floats& values,
              const InTable<float>& A, const Array<float, 2>& U, int threads) {
    const TermColumns x = columns_of(start, documents, values, A.shape(0));
    need({x.columns, A.shape(1)}, "U", U);
    columns_times(chosen_loops(), x, A, A.shape(1), U, threads);
}

// The parts of a score, and what keeps them alive.
struct DocumentScorer {
    Starts start;
    Codes classes, row, column;
    Vector pair, idf, intercept;
    Table expected;
    InTable<float> u;
    DocumentScore score;

    DocumentScorer(const Starts& start_, const Codes& classes_, const Vector& pair_,
                   const Table& expected_, const Codes& row_, const Codes& column_,
                   const Vector& idf_, const InTable<float>& u_, const Vector& intercept_,
                   double mean_length, double power)
        : start(start_), classes(classes_), row(row_), column(column_), pair(pair_), idf(idf_),
          intercept(intercept_), expected(expected_), u(u_) {
        const i64 K = intercept.shape(0), rows = expected.shape(0), columns = u.shape(0);
        const i64 C = u.shape(1);
        const TermPairs pairs = pairs_of(start, classes, K);
        need({classes.shape(0)}, "pair", pair), need({rows, K}, "expected", expected);
        need({pairs.terms}, "terms", row, column, idf);
        need(C == K || (K == 2 && C == 1), "the ridge has other classes");
        need(within<i32>(row, pairs.terms, 0, rows), "a row is out of range");
        need(within<i32>(column, pairs.terms, -1, columns), "a column is out of range");
        score = {pairs,     pair, expected, row, column,  idf, u,
                 intercept, rows, K,        columns, C, mean_length, power};
    }

    void joint(const Starts& indptr, const Codes& terms, const Floats& values, const OutTable& S,
               int threads) const {
        const DocumentRows x = rows_of(indptr, terms, values, score.pairs.terms);
        need({x.n, score.classes}, "S", S);
        score_documents(x, score, S, threads);
    }

    void contributions(const Starts& indptr, const Codes& terms, const Floats& values,
                       const OutTable& out) const {
        const DocumentRows x = rows_of(indptr, terms, values, score.pairs.terms);
        need({terms.shape(0), score.classes}, "out", out);
        explain_documents(x, score, out);
    }
};

}  // namespace

void bind_documents(nb::module_& m) {
    const char* const counted_of = "indptr terms codes weights values n_terms n_classes threads";
    def(m, "count_terms", &counted<double>, counted_of);
    def(m, "count_terms", &counted<i32>, counted_of);
    def(m, "document_hashes", &hashed, "indptr terms counts salt out threads", without_gil);
    def(m, "document_sums_without", &without,
        "indptr terms values y weight start classes counts frequency first share tau of_an_order "
        "Z threads",
        without_gil);
    def(m, "document_sums", &sums,
        "indptr terms values y start classes pair own expected row bin Z threads", without_gil);
    def(m, "tfidf_columns", &tfidf, "indptr terms values column idf columns");
    def(m, "gram_times", &gram, "start documents values D F threads", without_gil);
    def(m, "columns_times", &combined, "start documents values A U threads", without_gil);
    nb::class_<DocumentScorer> scorer(m, "DocumentScorer");
    init<Starts, Codes, Vector, Table, Codes, Codes, Vector, InTable<float>, Vector, double, double>(
        scorer, "start classes pair expected row column idf u intercept mean_length power");
    def(scorer, "joint", &DocumentScorer::joint, "indptr terms values S threads", without_gil);
    def(scorer, "contributions", &DocumentScorer::contributions, "indptr terms values out",
        without_gil);
}
