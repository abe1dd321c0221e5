// The binding of the text kernels: rules, documents, vocabularies, rows of counts, terms as NumPy's
// variable-width strings, and where CSV records end. Only NumPy's C API reads and writes such strings;
// the alternative, a Python string for each, takes six times as long.
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <nanobind/stl/unique_ptr.h>
#include <numpy/arrayobject.h>

#include "bind/texts.hpp"
#include "text/lookup.hpp"
#include "text/named_terms.hpp"
#include "text/records.hpp"

namespace {

using namespace tb;

void make_rules(TextRules* rules, const InVector<u8>& properties, const InVector<u16>& numbers,
                const nb::list& strings, bool lower, bool ascii, int unit, u32 min_n, u32 max_n,
                bool singles, bool longer_than_one) {
    need({CODE_POINTS}, "code points", properties, numbers);
    new (rules) TextRules();
    rules->properties = TwoStage<u8>(properties);
    rules->folding.number = TwoStage<u16>(numbers);
    rules->folding.strings = strings_of(strings);
    for (u32 c = 0; c < CODE_POINTS; ++c)
        if (numbers[c] >= rules->folding.strings.size() && numbers[c])
            throw nb::value_error("a code point has a number beyond the strings");
    for (const std::string& s : rules->folding.strings)
        rules->folding.longest = std::max(rules->folding.longest, static_cast<u32>(s.size()));
    rules->folding.lower = lower, rules->folding.ascii = ascii;
    rules->unit = static_cast<Unit>(unit), rules->min_n = min_n, rules->max_n = max_n;
    rules->singles = singles, rules->longer_than_one = longer_than_one;
}

NamedTermsView named(const InVector<u8>& bytes, const InVector<i64>& end) {
    const i64 n = end.shape(0);
    need(n > 0, "there is an end more than terms");
    for (i64 i = 0; i < n; ++i)
        need(end[i] >= (i ? end[i - 1] : 0) && end[i] <= bytes.shape(0),
             "terms must begin within the bytes, in order");
    return {bytes, end, static_cast<std::size_t>(n - 1)};
}

nb::list decode_terms(const InVector<u8>& bytes, const InVector<i64>& end) {
    const NamedTermsView terms = named(bytes, end);
    nb::list out;
    for (std::size_t i = 0; i < terms.n; ++i)
        out.append(text_of(reinterpret_cast<const char*>(terms.at(i)), terms.size(i)));
    return out;
}

nb::object folded(const TextRules& rules, const TextDocuments& documents) {
    nb::list out;
    Folder fold(rules.folding, rules.properties);
    for (const TextView& view : documents.views) {
        const Folded text = fold(reinterpret_cast<const u8*>(view.at), view.size);
        if (!text.valid) throw nb::value_error("a document is not UTF-8");
        out.append(text_of(reinterpret_cast<const char*>(text.at), text.size));
    }
    return out;
}

struct CountedRows {
    TextRows rows;
    i64 fault = -1;

    std::vector<i64> row_ends() const {
        std::vector<i64> end(1, 0);
        for (u32 size : rows.sizes) end.push_back(end.back() + size);
        return end;
    }
    template <class T>
    void write(const Array<i32, 1>& indices, const Array<T, 1>& counts, int threads) const {
        need({row_ends().back()}, "entries", indices, counts);
        rows.write(indices.data(), counts.data(), threads);
    }
};

std::unique_ptr<CountedRows> count_given(const GivenVocabulary& vocabulary,
                                         const TextDocuments& documents, int threads) {
    auto out = std::make_unique<CountedRows>();
    nb::gil_scoped_release release;
    out->fault = fault_number(vocabulary.count(documents.views, threads, out->rows));
    return out;
}

std::unique_ptr<CountedRows> hash_documents(const TextRules& rules, const nb::list& stop_words,
                                            i64 columns, const TextDocuments& documents,
                                            int threads) {
    if (columns < 1 || columns > std::numeric_limits<i32>::max())
        throw nb::value_error("n_features must be from 1 to 2^31 - 1");
    Terms stops;
    stops.add_stop_words(strings_of(stop_words));
    const bool any = nb::len(stop_words) > 0;
    auto out = std::make_unique<CountedRows>();
    nb::gil_scoped_release release;
    out->fault = fault_number(count_rows(
        rules, documents.views, threads,
        [&] { return HashingSink(stops, any, static_cast<u32>(columns)); }, out->rows));
    return out;
}

// A vocabulary and how far it is: documents are added, then terms sorted, then columns given once.
class Growing {
public:
    Growing(const TextRules& rules, std::vector<std::string> stop_words)
        : vocabulary_(rules, std::move(stop_words)) {}

    std::size_t rows() const { return vocabulary_.rows(); }

    i64 add(const TextDocuments& documents, int threads) {
        need(state_ == State::growing, "documents are added before the terms are sorted");
        state_ = State::refused;  // unless all are read
        const i64 fault = fault_number(vocabulary_.add(documents.views, threads));
        if (fault < 0) state_ = State::growing;
        return fault;
    }

    SortedTerms sorted(int threads) {
        need(state_ == State::growing, "terms are sorted once, of documents that were all read");
        state_ = State::sorted;
        return vocabulary_.sorted(threads);
    }

    TermFrequencies frequencies() const {
        need(state_ == State::sorted, "frequencies are asked for between terms and columns");
        return vocabulary_.frequencies();
    }

    std::vector<i64> row_ends(const Codes& column, int threads) {
        need(state_ == State::sorted, "columns are given once, after the terms are sorted");
        need({static_cast<i64>(vocabulary_.sorted_terms())}, "column", column);
        state_ = State::written;
        end_ = vocabulary_.row_ends(column, threads);
        return end_;
    }

    template <class T>
    void write(const InVector<i64>& end, const Array<i32, 1>& indices, const Array<T, 1>& counts,
               i64 columns, int threads) const {
        need(state_ == State::written, "rows are written after columns are given");
        need(values_of(end) == end_, "end is not what row_ends returned");
        need({end_.back()}, "entries", indices, counts);
        need(columns >= 0, "there is no negative number of columns");
        vocabulary_.write(end_.data(), indices.data(), counts.data(), columns, threads);
    }

private:
    enum class State { growing, refused, sorted, written };
    GrowingVocabulary vocabulary_;
    State state_ = State::growing;
    std::vector<i64> end_;
};

// ---- terms as NumPy's strings ------------------------------------------------------------------
bool is_utf8(const u8* at, const u8* end) {
    while (at < end) {
        const u32 size = valid_size_at(at, end);
        if (!size) return false;
        at += size;
    }
    return true;
}

// Holds the allocator of a dtype, which locks it.
class Allocator {
public:
    explicit Allocator(PyArrayObject* array)
        : held_(NpyString_acquire_allocator(
              reinterpret_cast<PyArray_StringDTypeObject*>(PyArray_DESCR(array)))) {}
    Allocator(const Allocator&) = delete;
    Allocator& operator=(const Allocator&) = delete;
    ~Allocator() { NpyString_release_allocator(held_); }
    npy_string_allocator* get() const { return held_; }

private:
    npy_string_allocator* held_;
};

PyArrayObject* strings(const nb::object& given, const char* what) {
    // here, as `import tallybayes` does not import NumPy
    if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
    if (!PyArray_Check(given.ptr())) throw nb::type_error((std::string(what) + " must be an array").c_str());
    auto* array = reinterpret_cast<PyArrayObject*>(given.ptr());
    if (PyArray_TYPE(array) != NPY_VSTRING || PyArray_NDIM(array) != 1)
        throw nb::value_error((std::string(what) + " must be a vector of StringDType").c_str());
    return array;
}

nb::object read_terms(nb::object terms) {
    PyArrayObject* array = strings(terms, "terms");
    const npy_intp n = PyArray_DIM(array, 0);
    std::vector<u8> bytes;
    std::vector<i64> end(1, 0);
    end.reserve(static_cast<std::size_t>(n) + 1);
    {
        const Allocator allocator(array);
        for (npy_intp i = 0; i < n; ++i) {
            const auto* packed = static_cast<npy_packed_static_string*>(PyArray_GETPTR1(array, i));
            npy_static_string text = {0, nullptr};
            if (NpyString_load(allocator.get(), packed, &text))  // −1 failed, 1 a missing value
                throw nb::value_error("a term is missing or cannot be read");
            bytes.insert(bytes.end(), text.buf, text.buf + text.size);
            end.push_back(static_cast<i64>(bytes.size()));
        }
    }
    return as_arrays(std::move(bytes), std::move(end));
}

// out: an array of StringDType, one item a term
void write_terms(const InVector<u8>& bytes, const InVector<i64>& end, nb::object out) {
    PyArrayObject* array = strings(out, "out");
    const npy_intp n = static_cast<npy_intp>(end.shape(0)) - 1;
    if (PyArray_DIM(array, 0) != n || !PyArray_ISCARRAY(array))
        throw nb::value_error("out must be a new vector of StringDType, one item a term");
    named(bytes, end);
    const i64* at = end;
    const Allocator allocator(array);
    for (npy_intp i = 0; i < n; ++i) {
        const u8* text = bytes + at[i];
        if (!is_utf8(text, bytes + at[i + 1])) throw nb::value_error("a term is not UTF-8");
        auto* packed = static_cast<npy_packed_static_string*>(PyArray_GETPTR1(array, i));
        if (NpyString_pack(allocator.get(), packed, reinterpret_cast<const char*>(text),
                           static_cast<std::size_t>(at[i + 1] - at[i])))
            throw std::bad_alloc();
    }
}

std::size_t last_record_end_(const nb::bytes& text, const nb::bytes& delimiter) {
    if (delimiter.size() != 1) throw nb::value_error("the delimiter has to be one byte");
    const char* at = static_cast<const char*>(text.data());
    nb::gil_scoped_release release;
    return tb::last_record_end(at, text.size(), *static_cast<const char*>(delimiter.data()));
}

}  // namespace

void bind_text(nb::module_& m) {
    nb::class_<TextRules> rules(m, "TextRules");
    def(rules, "__init__", &make_rules,
        "properties numbers strings lower ascii unit min_n max_n singles longer_than_one");
    def(rules, "fold", &folded, "documents");

    nb::class_<TextDocuments> documents(m, "TextDocuments");
    init<const nb::list&>(documents, "items");
    def_static(documents, "from_arrow",
               [](nb::object stream) { return std::make_unique<TextDocuments>(stream_of(stream)); },
               "stream");
    documents.def_ro("refused", &TextDocuments::refused)
        .def("__len__", [](const TextDocuments& d) { return d.views.size(); });

    nb::class_<Growing> growing(m, "GrowingVocabulary");
    def(growing, "__init__",
        [](Growing* v, const TextRules& with, const nb::list& stop_words) {
            new (v) Growing(with, strings_of(stop_words));
        },
        "rules stop_words", nb::keep_alive<1, 2>());
    def(growing, "add", &Growing::add, "documents threads", without_gil);
    def(growing, "sorted",
        [](Growing& v, int threads) {
            SortedTerms terms = released([&] { return v.sorted(threads); });
            return as_arrays(std::move(terms.bytes), std::move(terms.end));
        },
        "threads");
    def(growing, "row_ends",
        [](Growing& v, const Codes& column, int threads) {
            return as_array(released([&] { return v.row_ends(column, threads); }));
        },
        "column threads");
    growing.def("__len__", &Growing::rows).def("frequencies", [](const Growing& v) {
        TermFrequencies found = released([&] { return v.frequencies(); });
        return as_arrays(std::move(found.documents), std::move(found.occurrences));
    });

    nb::class_<CountedRows> counted(m, "CountedRows");
    counted.def_ro("fault", &CountedRows::fault).def("row_ends", [](const CountedRows& c) {
        return as_array(c.row_ends());
    });
    const auto bind_writes = [&](auto of_type) {
        using T = decltype(of_type);
        def(growing, "write", &Growing::write<T>, "end indices counts columns threads", without_gil);
        def(counted, "write", &CountedRows::write<T>, "indices counts threads", without_gil);
    };
    bind_writes(i64{}), bind_writes(i32{}), bind_writes(double{}), bind_writes(float{});

    nb::class_<GivenVocabulary> vocabulary(m, "GivenVocabulary");
    def(vocabulary, "__init__",
        [](GivenVocabulary* v, const TextRules& with, const nb::list& stop_words,
           const InVector<u8>& bytes, const InVector<i64>& end) {
            const NamedTermsView terms = named(bytes, end);
            new (v) GivenVocabulary(with, strings_of(stop_words), static_cast<u32>(terms.n));
            for (std::size_t i = 0; i < terms.n; ++i)
                v->add(terms.at(i), terms.size(i), static_cast<u32>(i));
            v->finish();
        },
        "rules stop_words bytes end", nb::keep_alive<1, 2>());
    def(vocabulary, "count", &count_given, "documents threads");

    def(m, "hash_documents", &hash_documents, "rules stop_words columns documents threads");
    def(m, "decode_terms", &decode_terms, "bytes end");
    def(m, "write_terms", &write_terms, "bytes end out");
    def(m, "read_terms", &read_terms, "terms");
    def(m, "terms_ascend",
        [](const InVector<u8>& bytes, const InVector<i64>& end) { return ascend(named(bytes, end)); },
        "bytes end");
    def(m, "term_places",
        [](const InVector<u8>& bytes, const InVector<i64>& end, const InVector<u8>& others,
           const InVector<i64>& others_end) {
            TermPlaces found = places_of(named(bytes, end), named(others, others_end));
            return as_arrays(std::move(found.place), std::move(found.known));
        },
        "bytes end others others_end");
    def(m, "last_record_end", &last_record_end_, "text delimiter");
}
