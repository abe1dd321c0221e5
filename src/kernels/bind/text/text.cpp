// The binding of the text kernels: rules, documents, vocabularies and rows of counts.
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bind/arrays.hpp"
#include "bind/given.hpp"
#include "bind/modules.hpp"
#include "bind/text/documents.hpp"
#include "text/lookup.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tb;

std::vector<std::string> strings_of(const nb::list& items) {
    std::vector<std::string> out;
    for (nb::handle item : items) {
        char* at = nullptr;
        Py_ssize_t size = 0;
        if (PyBytes_AsStringAndSize(item.ptr(), &at, &size)) throw nb::python_error();
        out.emplace_back(at, static_cast<std::size_t>(size));
    }
    return out;
}

void make_rules(TextRules* rules, InVector<u8> properties, InVector<u16> numbers,
                const nb::list& strings, bool lower, bool ascii, int unit, u32 min_n, u32 max_n,
                bool singles, bool longer_than_one) {
    need(properties, 0, CODE_POINTS, "properties");
    need(numbers, 0, CODE_POINTS, "numbers");
    new (rules) TextRules();
    rules->properties = TwoStage<u8>(properties.data());
    rules->folding.number = TwoStage<u16>(numbers.data());
    rules->folding.strings = strings_of(strings);
    for (u32 c = 0; c < CODE_POINTS; ++c)
        if (numbers.data()[c] >= rules->folding.strings.size() && numbers.data()[c])
            throw nb::value_error("a code point has a number beyond the strings");
    for (const std::string& s : rules->folding.strings)
        rules->folding.longest = std::max(rules->folding.longest, static_cast<u32>(s.size()));
    rules->folding.lower = lower;
    rules->folding.ascii = ascii;
    rules->unit = static_cast<Unit>(unit);
    rules->min_n = min_n;
    rules->max_n = max_n;
    rules->singles = singles;
    rules->longer_than_one = longer_than_one;
}

nb::object text_or_error(const u8* at, std::size_t size) {
    PyObject* text = PyUnicode_DecodeUTF8(reinterpret_cast<const char*>(at),
                                          static_cast<Py_ssize_t>(size), nullptr);
    if (!text) throw nb::python_error();
    return nb::steal(text);
}

nb::list decode_terms(InVector<u8> bytes, InVector<i64> end) {
    nb::list out;
    for (std::size_t i = 0; i + 1 < end.shape(0); ++i) {
        const i64 from = end.data()[i], to = end.data()[i + 1];
        if (from < 0 || to < from || to > static_cast<i64>(bytes.shape(0)))
            throw nb::value_error("terms must begin within the bytes, in order");
        out.append(text_or_error(bytes.data() + from, static_cast<std::size_t>(to - from)));
    }
    return out;
}

nb::object folded(const TextRules& rules, const TextDocuments& documents) {
    nb::list out;
    Folder fold(rules.folding, rules.properties);
    for (const TextView& view : documents.views) {
        const Folded text = fold(reinterpret_cast<const u8*>(view.at), view.size);
        if (!text.valid) throw nb::value_error("a document is not UTF-8");
        out.append(text_or_error(text.at, text.size));
    }
    return out;
}

i64 fault_number(std::size_t fault) { return fault == NO_FAULT ? -1 : static_cast<i64>(fault); }

struct CountedRows {
    TextRows rows;
    i64 fault = -1;
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
    bool any = false;
    for (const std::string& word : strings_of(stop_words)) {
        const std::string padded = word + std::string(8, '\0');
        stops.add_stop_word(reinterpret_cast<const u8*>(padded.data()), word.size());
        any = true;
    }
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

    std::vector<i64> row_ends(InVector<i32> column, int threads) {
        need(state_ == State::sorted, "columns are given once, after the terms are sorted");
        need(static_cast<i64>(column.shape(0)) == static_cast<i64>(vocabulary_.sorted_terms()),
             "column differs from the sorted terms");
        state_ = State::written;
        end_ = vocabulary_.row_ends(column.data(), threads);
        return end_;
    }

    template <class T>
    void write(InVector<i64> end, OutVector<i32> indices, OutVector<T> counts, i64 columns,
               int threads) const {
        need(state_ == State::written, "rows are written after columns are given");
        need(end.shape(0) == end_.size() && std::equal(end_.begin(), end_.end(), end.data()),
             "end is not what row_ends returned");
        need(static_cast<i64>(indices.shape(0)) == end_.back(), "indices differ from the entries");
        need(static_cast<i64>(counts.shape(0)) == end_.back(), "counts differ from the entries");
        need(columns >= 0, "there is no negative number of columns");
        nb::gil_scoped_release release;
        vocabulary_.write(end_.data(), indices.data(), counts.data(), columns, threads);
    }

private:
    enum class State { growing, refused, sorted, written };
    GrowingVocabulary vocabulary_;
    State state_ = State::growing;
    std::vector<i64> end_;
};

template <class T>
void bind_writes(nb::class_<Growing>& growing, nb::class_<CountedRows>& counted) {
    growing.def("write", &Growing::write<T>, "end"_a, "indices"_a.noconvert(),
                "counts"_a.noconvert(), "columns"_a, "threads"_a);
    counted.def(
        "write",
        [](const CountedRows& c, OutVector<i32> indices, OutVector<T> counts, int threads) {
            i64 entries = 0;
            for (u32 size : c.rows.sizes) entries += size;
            need(indices, 0, entries, "indices");
            need(counts, 0, entries, "counts");
            nb::gil_scoped_release release;
            c.rows.write(indices.data(), counts.data(), threads);
        },
        "indices"_a.noconvert(), "counts"_a.noconvert(), "threads"_a);
}

}  // namespace

void bind_text(nb::module_& m) {
    nb::class_<TextRules>(m, "TextRules")
        .def("__init__", &make_rules, "properties"_a, "numbers"_a, "strings"_a, "lower"_a, "ascii"_a,
             "unit"_a, "min_n"_a, "max_n"_a, "singles"_a, "longer_than_one"_a)
        .def("fold", &folded, "documents"_a);

    nb::class_<TextDocuments>(m, "TextDocuments")
        .def(nb::init<const nb::list&>(), "items"_a)
        .def_static(
            "from_arrow",
            [](nb::object stream) {
                void* p = PyCapsule_GetPointer(stream.ptr(), "arrow_array_stream");
                if (!p) throw nb::python_error();
                return std::make_unique<TextDocuments>(static_cast<ArrowArrayStream*>(p));
            },
            "stream"_a)
        .def_ro("refused", &TextDocuments::refused)
        .def("__len__", [](const TextDocuments& d) { return d.views.size(); });

    nb::class_<Growing> growing(m, "GrowingVocabulary");
    growing
        .def(
            "__init__",
            [](Growing* v, const TextRules& rules, const nb::list& stop_words) {
                new (v) Growing(rules, strings_of(stop_words));
            },
            "rules"_a, "stop_words"_a, nb::keep_alive<1, 2>())
        .def("__len__", &Growing::rows)
        .def(
            "add",
            [](Growing& v, const TextDocuments& documents, int threads) {
                nb::gil_scoped_release release;
                return v.add(documents, threads);
            },
            "documents"_a, "threads"_a)
        .def(
            "sorted",
            [](Growing& v, int threads) {
                SortedTerms terms;
                {
                    nb::gil_scoped_release release;
                    terms = v.sorted(threads);
                }
                return nb::make_tuple(as_array(std::move(terms.bytes)), as_array(std::move(terms.end)));
            },
            "threads"_a)
        .def("frequencies",
             [](const Growing& v) {
                 TermFrequencies found;
                 {
                     nb::gil_scoped_release release;
                     found = v.frequencies();
                 }
                 return nb::make_tuple(as_array(std::move(found.documents)),
                                       as_array(std::move(found.occurrences)));
             })
        .def(
            "row_ends",
            [](Growing& v, InVector<i32> column, int threads) {
                std::vector<i64> end;
                {
                    nb::gil_scoped_release release;
                    end = v.row_ends(column, threads);
                }
                return as_array(std::move(end));
            },
            "column"_a, "threads"_a);

    nb::class_<CountedRows> counted(m, "CountedRows");
    counted.def_ro("fault", &CountedRows::fault).def("row_ends", [](const CountedRows& c) {
        std::vector<i64> end(1, 0);
        for (u32 size : c.rows.sizes) end.push_back(end.back() + size);
        return as_array(std::move(end));
    });
    bind_writes<i64>(growing, counted);
    bind_writes<i32>(growing, counted);
    bind_writes<double>(growing, counted);
    bind_writes<float>(growing, counted);

    nb::class_<GivenVocabulary>(m, "GivenVocabulary")
        .def(
            "__init__",
            [](GivenVocabulary* v, const TextRules& rules, const nb::list& stop_words,
               InVector<u8> bytes, InVector<i64> end) {
                const std::size_t n = end.shape(0) ? end.shape(0) - 1 : 0;
                const i64* at = end.data();
                for (std::size_t i = 0; i < n; ++i)
                    if (at[i] < 0 || at[i + 1] < at[i] || at[i + 1] > static_cast<i64>(bytes.shape(0)))
                        throw nb::value_error("terms must begin within the bytes, in order");
                new (v) GivenVocabulary(rules, strings_of(stop_words), static_cast<u32>(n));
                for (std::size_t i = 0; i < n; ++i)
                    v->add(bytes.data() + at[i], static_cast<std::size_t>(at[i + 1] - at[i]),
                           static_cast<u32>(i));
                v->finish();
            },
            "rules"_a, "stop_words"_a, "bytes"_a, "end"_a, nb::keep_alive<1, 2>())
        .def("count", &count_given, "documents"_a, "threads"_a);

    m.def("hash_documents", &hash_documents, "rules"_a, "stop_words"_a, "columns"_a, "documents"_a,
          "threads"_a);
    m.def("decode_terms", &decode_terms, "bytes"_a, "end"_a);
}
