// Documents counted into columns that are given: a vocabulary, or a hash.
#pragma once
#include "text/vocabulary.hpp"

namespace tb {

// Counts rows with a sink for each thread, which `sink()` makes.
template <class Make>
std::size_t count_rows(const TextRules& rules, const std::vector<TextView>& documents, int threads,
                       Make&& make, TextRows& out) {
    using Sink = decltype(make());
    std::size_t bytes;
    out.ranges = ranges_of(documents, bytes);
    const i64 n = static_cast<i64>(out.ranges.size());
    out.tasks.resize(out.ranges.size());
    out.sizes.resize(documents.size());
    struct Part {
        Sink sink;
        TextReader<Sink> read;
        Part(Make& make, const TextRules& rules) : sink(make()), read(rules, sink) {}
    };
    const int used = threads_for(static_cast<i64>(bytes), n, threads);
    std::vector<std::unique_ptr<Part>> parts;
    for (int i = 0; i < used; ++i) parts.push_back(std::make_unique<Part>(make, rules));
    std::atomic<std::size_t> fault{NO_FAULT};
    run_tasks(n, used, [&](i64 t, int thread) {
        Part& part = *parts[static_cast<std::size_t>(thread)];
        const Range range = out.ranges[static_cast<std::size_t>(t)];
        part.sink.entries.clear();
        for (std::size_t i = range.begin; i < range.end; ++i) {
            if (!part.read(documents[i].at, documents[i].size)) return lower_to(fault, i);
            out.sizes[i] = part.sink.size;
        }
        out.tasks[static_cast<std::size_t>(t)] = part.sink.entries;
    });
    return fault;
}

// A vocabulary that is given. Terms whose parts are not separated by single spaces match nothing.
class GivenVocabulary {
public:
    GivenVocabulary(const TextRules& rules, const std::vector<std::string>& stop_words, u32 columns)
        : rules_(rules), columns_(columns) {
        terms_.add_stop_words(stop_words);
    }
    void add(const u8* text, std::size_t size, u32 column) {
        const std::string name = padded(text, size);
        const u32 node = terms_.named(bytes_of(name), size, rules_.unit == Unit::words);
        if (node == NO_TERM) return;
        column_.resize(terms_.size(), NO_TERM);
        column_[node] = column;
    }
    std::size_t count(const std::vector<TextView>& documents, int threads, TextRows& out) const {
        return count_rows(rules_, documents, threads,
                          [&] { return FindingSink(terms_, column_, columns_); }, out);
    }
    void finish() { column_.resize(terms_.size(), NO_TERM); }

private:
    const TextRules& rules_;
    Terms terms_;
    std::vector<u32> column_;
    u32 columns_;
};

}  // namespace tb
