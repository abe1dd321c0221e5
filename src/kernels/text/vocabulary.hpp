// Documents counted into a vocabulary that grows.
#pragma once
#include <atomic>
#include <memory>
#include <numeric>

#include "text/reader.hpp"
#include "text/sinks.hpp"
#include "text/terms.hpp"

namespace tb {

// ---- terms as strings ---------------------------------------------------------------------------
// Terms as strings, in the order of a tree: an n-gram stands below its parent.

struct SpelledTerms {
    BigVector<u32> terms;
    BigVector<u8> bytes;       // their strings, one after the other
    BigVector<i64> end = {0};  // where each begins; one more than terms
};

class TermSpeller {
public:
    TermSpeller(const Terms& terms, bool words, u32 longest)
        : terms_(terms), words_(words), longest_(longest) {}

    // The subtrees of the children of the root from `first` to `last`, which have a place among all
    // children. held: whether a document holds the term; empty if one holds each.
    template <class Children>
    void spell(const Children& below, const std::vector<u8>& held, std::size_t first,
               std::size_t last, SpelledTerms& out) {
        struct Level {
            std::size_t next, end, prefix;
        };
        std::vector<Level> path{{first, last, 0}};
        std::vector<u8> text(SLACK);  // of the term at hand
        while (!path.empty()) {
            Level& level = path.back();
            if (level.next == level.end) {
                path.pop_back();
                continue;
            }
            if (level.next + AHEAD < level.end) prefetch(below.all[level.next + AHEAD].symbol);
            const auto child = below.all[level.next++];
            const std::size_t size = append(text, level.prefix, child.symbol, path.size() > 1);
            if (held.empty() || held[child.term]) keep(child.term, text.data(), size, out);
            if (path.size() < longest_ && below.size_of(child.term))
                path.push_back({below.begin[child.term], below.begin[child.term + 1], size});
        }
        out.bytes.resize(static_cast<std::size_t>(out.end.back()));
    }

private:
    static constexpr std::size_t AHEAD = 8, CHUNK = 16, SLACK = 64;

    void prefetch(u32 symbol) const {
        if (words_) terms_.prefetch_spelling(symbol);
    }

    // The size of a text of which `prefix` bytes stay and a symbol follows.
    std::size_t append(std::vector<u8>& text, std::size_t prefix, u32 symbol, bool later) const {
        const std::size_t size = words_ ? terms_.word_size(symbol) : 4;
        if (text.size() < prefix + size + SLACK) text.resize(2 * (prefix + size + SLACK));
        u8* to = text.data() + prefix;
        if (!words_) return static_cast<std::size_t>(put_code_point(to, symbol) - text.data());
        if (later) *to++ = ' ';
        std::memcpy(to, terms_.word_at(symbol), size);
        return static_cast<std::size_t>(to - text.data()) + size;
    }

    static void keep(u32 term, const u8* text, std::size_t size, SpelledTerms& out) {
        const std::size_t at = static_cast<std::size_t>(out.end.back());
        if (out.bytes.size() < at + size + CHUNK) out.bytes.resize(2 * (at + size + CHUNK));
        u8* to = out.bytes.data() + at;
        for (std::size_t i = 0; i < size; i += CHUNK) std::memcpy(to + i, text + i, CHUNK);
        out.end.push_back(static_cast<i64>(at + size));
        out.terms.push_back(term);
    }

    const Terms& terms_;
    bool words_;
    u32 longest_;
};

// ---- the vocabulary -----------------------------------------------------------------------------
// Documents counted into a vocabulary that grows: each thread has terms of its own, which are joined
// and sorted at the end, so that the number of threads leaves no trace.

inline void lower_to(std::atomic<std::size_t>& least, std::size_t value) {
    std::size_t now = least.load();
    while (value < now && !least.compare_exchange_weak(now, value)) {
    }
}

struct SortedTerms {
    BigVector<u8> bytes;  // all terms, one after the other
    BigVector<i64> end;   // where each begins; one more than terms
};

struct TermFrequencies {  // of sorted terms
    std::vector<i64> documents;  // that hold the term
    std::vector<i64> occurrences;
};

class GrowingVocabulary {
public:
    GrowingVocabulary(const TextRules& rules, std::vector<std::string> stop_words)
        : rules_(rules), stop_words_(std::move(stop_words)) {}

    GrowingVocabulary(const GrowingVocabulary&) = delete;
    GrowingVocabulary& operator=(const GrowingVocabulary&) = delete;

    std::size_t rows() const { return sizes_.size(); }
    std::size_t sorted_terms() const { return ranked_; }

    // The number of the first document that is not UTF-8, else NO_FAULT.
    std::size_t add(const std::vector<TextView>& documents, int threads) {
        std::size_t bytes;
        const std::vector<Range> ranges = ranges_of(documents, bytes);
        const i64 n = static_cast<i64>(ranges.size());
        const int used = threads_for(static_cast<i64>(bytes), n, threads);
        while (static_cast<int>(parts_.size()) < used) parts_.push_back(std::make_unique<Part>(*this));
        const std::size_t first = sizes_.size(), first_task = tasks_.size();
        sizes_.resize(first + documents.size());
        tasks_.resize(first_task + ranges.size());
        std::atomic<std::size_t> fault{NO_FAULT};
        run_tasks(n, used, [&](i64 t, int thread) {
            Part& part = *parts_[static_cast<std::size_t>(thread)];
            const Range range = ranges[static_cast<std::size_t>(t)];
            part.sink.start_task();
            tasks_[first_task + static_cast<std::size_t>(t)] = {
                static_cast<std::size_t>(thread), part.sink.entries.size(),
                {first + range.begin, first + range.end}};
            for (std::size_t i = range.begin; i < range.end; ++i) {
                if (!part.read(documents[i].at, documents[i].size)) return lower_to(fault, i);
                sizes_[first + i] = part.sink.size;
            }
        });
        return fault;
    }

    // Joins and sorts; nothing is added afterwards.
    SortedTerms sorted(int threads) {
        if (parts_.empty()) parts_.push_back(std::make_unique<Part>(*this));
        join();
        return in_order(threads);
    }

    // After sorted, before columns are known.
    TermFrequencies frequencies() const {
        TermFrequencies found{std::vector<i64>(ranked_, 0), std::vector<i64>(ranked_, 0)};
        each_entry([&](u32 term, const Entry& e) {
            ++found.documents[rank_[term]];
            found.occurrences[rank_[term]] += e.count;
        });
        return found;
    }

    // column: of each sorted term, −1 if it is left out
    std::vector<i64> row_ends(const i32* column, int threads) {
        for (auto& ranks : joined_)
            for (u32& term : ranks) {
                const i32 to = rank_[term] == NO_TERM ? -1 : column[rank_[term]];
                term = to < 0 ? NO_TERM : static_cast<u32>(to);
            }
        std::vector<i64> end(sizes_.size() + 1, 0);
        each_task(threads, [&](const Task& task, const Entry* entry, const BigVector<u32>& to) {
            for (std::size_t row = task.rows.begin; row < task.rows.end; ++row) {
                i64 kept = 0;
                for (u32 i = 0; i < sizes_[row]; ++i) kept += to[(entry++)->term] != NO_TERM;
                end[row + 1] = kept;
            }
        });
        std::partial_sum(end.begin(), end.end(), end.begin());
        return end;
    }

    // The entries of a task are sorted by column together, and dealt out to their rows.
    template <class T>
    void write(const i64* end, i32* indices, T* counts, i64 columns, int threads) const {
        const int bits = bits_for(static_cast<u64>(columns));
        each_task(threads, [&](const Task& task, const Entry* entry, const BigVector<u32>& to) {
            static thread_local std::vector<Placed> found, spare;
            static thread_local std::vector<i64> next;
            const std::size_t first = task.rows.begin, n = task.rows.end - first;
            found.clear();
            next.assign(end + first, end + task.rows.end);
            for (std::size_t row = 0; row < n; ++row)
                for (u32 i = 0; i < sizes_[first + row]; ++i, ++entry) {
                    const u32 column = to[entry->term];
                    if (column != NO_TERM)
                        found.push_back({column, entry->count, static_cast<u32>(row)});
                }
            sort_by(found, spare, bits, [](const Placed& e) { return e.column; });
            for (const Placed& e : found) {
                const i64 at = next[e.row]++;
                indices[at] = static_cast<i32>(e.column);
                counts[at] = static_cast<T>(e.count);
            }
        });
    }

private:
    struct Part {
        GrowingSink sink;
        TextReader<GrowingSink> read;
        explicit Part(const GrowingVocabulary& of) : read(of.rules_, sink) {
            sink.terms.add_stop_words(of.stop_words_);
        }
    };
    struct Task {
        std::size_t part, entries;
        Range rows;
    };
    struct Placed {
        u32 column, count, row;  // the row in its task
    };

    template <class Use>
    void each_task(int threads, Use&& use) const {
        i64 entries = 0;
        for (auto& part : parts_) entries += static_cast<i64>(part->sink.entries.size());
        const i64 n = static_cast<i64>(tasks_.size());
        run_tasks(n, threads_for(4 * entries, n, threads), [&](i64 t, int) {
            const Task& task = tasks_[static_cast<std::size_t>(t)];
            use(task, parts_[task.part]->sink.entries.data() + task.entries, joined_[task.part]);
        });
    }

    template <class Use>
    void each_entry(Use&& use) const {  // use(term of part 0, entry)
        for (std::size_t p = 0; p < parts_.size(); ++p)
            for (const Entry& e : parts_[p]->sink.entries) use(joined_[p][e.term], e);
    }

    // joined_[part][term] = the term of part 0 that is the same
    void join() {
        Terms& all = parts_[0]->sink.terms;
        joined_.assign(parts_.size(), {});
        joined_[0].resize(all.size());
        std::iota(joined_[0].begin(), joined_[0].end(), 0u);
        const bool words = rules_.unit == Unit::words;
        for (std::size_t p = 1; p < parts_.size(); ++p) {
            const Terms& some = parts_[p]->sink.terms;
            auto& to = joined_[p];
            to.resize(some.size());
            for (std::size_t i = 0; i < some.size(); ++i) {
                const Term term = some.terms[i];
                if (words && i + AHEAD < some.size()) {
                    const Term& next = some.terms[i + AHEAD];  // a gram of terms that are joined
                    if (next.parent < i && next.symbol < i)
                        all.prefetch_gram(Terms::gram_key(to[next.parent], to[next.symbol]));
                }
                const u32 parent = term.parent == ROOT ? ROOT : to[term.parent];
                if (words && term.parent == ROOT)
                    to[i] = all.word(some.word_at(term.symbol), some.word_size(term.symbol));
                else
                    to[i] = all.gram(parent, words ? to[term.symbol] : term.symbol);
            }
        }
    }

    static u64 first_bytes(const u8* at, std::size_t size) {  // as they sort
        u64 first = 0;
        for (std::size_t i = 0; i < 8; ++i) first = first << 8 | (i < size ? at[i] : 0);
        return first;
    }

    // The order of symbols: code points, or words by their bytes.
    std::vector<u32> symbol_order(const Terms& all) const {
        std::vector<u32> symbols;
        if (rules_.unit != Unit::words) return symbols;
        for (std::size_t i = 0; i < all.size(); ++i)
            if (all.terms[i].parent == ROOT) symbols.push_back(static_cast<u32>(i));
        struct Named {
            u64 first;  // eight bytes
            u32 term, word;
        };
        std::vector<Named> named, spare;
        for (u32 term : symbols) {
            const u32 word = all.terms[term].symbol;
            named.push_back({first_bytes(all.word_at(word), all.word_size(word)), term, word});
        }
        sort_by(named, spare, 64, [](const Named& n) { return n.first; });
        for (std::size_t begin = 0, end = 0; begin < named.size(); begin = end) {
            while (end < named.size() && named[end].first == named[begin].first) ++end;
            if (end - begin == 1) continue;
            std::sort(named.begin() + static_cast<std::ptrdiff_t>(begin),
                      named.begin() + static_cast<std::ptrdiff_t>(end),
                      [&](const Named& a, const Named& b) {
                          const std::size_t m = all.word_size(a.word), n = all.word_size(b.word);
                          const int sign = std::memcmp(all.word_at(a.word), all.word_at(b.word),
                                                       m < n ? m : n);
                          return sign ? sign < 0 : m < n;
                      });
        }
        for (std::size_t i = 0; i < symbols.size(); ++i) symbols[i] = named[i].term;
        return symbols;
    }

    struct Child {
        u32 term, symbol;  // the number of a word, or a code point
    };
    struct Children {
        BigVector<std::size_t> begin;  // of each term; those of the root are last
        BigVector<Child> all;          // by parent, then by symbol

        std::size_t size_of(u32 term) const { return begin[term + 1] - begin[term]; }
    };

    // A token that begins another is followed there by a letter, which comes after the space: so the
    // order of n-grams below their parent is that of their symbols.
    Children children() const {
        const Terms& all = parts_[0]->sink.terms;
        const std::size_t n = all.size();
        const bool words = rules_.unit == Unit::words;
        std::vector<u32> rank(words ? n : 0);  // of words
        const std::vector<u32> symbols = symbol_order(all);
        for (std::size_t i = 0; i < symbols.size(); ++i) rank[symbols[i]] = static_cast<u32>(i);
        const auto order = [&](const Term& t, std::size_t i) {
            return !words ? t.symbol : t.parent == ROOT ? rank[i] : rank[t.symbol];
        };
        const BigVector<u32> by_symbol =
            counting_order(n, words ? symbols.size() : CODE_POINTS,
                           [&](std::size_t i) { return order(all.terms[i], i); });
        const auto parent = [&](std::size_t i) {
            return all.terms[i].parent == ROOT ? n : std::size_t(all.terms[i].parent);
        };
        Children out{BigVector<std::size_t>(n + 2, 0), BigVector<Child>(n)};
        for (std::size_t i = 0; i < n; ++i) ++out.begin[parent(i) + 1];
        std::partial_sum(out.begin.begin(), out.begin.end(), out.begin.begin());
        BigVector<std::size_t> at(out.begin.begin(), out.begin.end() - 1);
        for (u32 term : by_symbol) {
            const Term& t = all.terms[term];
            const u32 symbol = words && t.parent != ROOT ? all.terms[t.symbol].symbol : t.symbol;
            out.all[at[parent(term)]++] = {term, symbol};
        }
        return out;
    }

    // Terms in the order of their strings: n-grams below their parent, children by symbol.
    SortedTerms in_order(int threads) {
        const Terms& all = parts_[0]->sink.terms;
        const u32 root = static_cast<u32>(all.size());
        const Children below = children();
        std::vector<u8> held(rules_.min_n > 1 ? all.size() : 0);  // none: every term is
        if (!held.empty()) each_entry([&](u32 term, const Entry&) { held[term] = 1; });
        const std::size_t first = below.begin[root], n = below.size_of(root);
        const i64 tasks = threads_for(4 * static_cast<i64>(all.size()), static_cast<i64>(n), threads);
        std::vector<std::size_t> cut = {first};
        std::size_t here = 0;
        for (std::size_t i = 0; i < n; ++i) {
            here += 1 + below.size_of(below.all[first + i].term);
            const std::size_t done = static_cast<std::size_t>(tasks);
            if (cut.size() < done && here * done >= cut.size() * all.size()) cut.push_back(first + i + 1);
        }
        cut.push_back(first + n);
        const i64 used = static_cast<i64>(cut.size()) - 1;
        std::vector<SpelledTerms> spelled(static_cast<std::size_t>(used));
        run_tasks(used, static_cast<int>(tasks), [&](i64 t, int) {
            const std::size_t part = static_cast<std::size_t>(t);
            TermSpeller(all, rules_.unit == Unit::words, rules_.max_n)
                .spell(below, held, cut[part], cut[part + 1], spelled[part]);
        });
        return ranked(std::move(spelled), all.size());
    }

    SortedTerms ranked(std::vector<SpelledTerms> parts, std::size_t terms) {
        rank_.assign(terms, NO_TERM);
        ranked_ = 0;
        SortedTerms out;
        for (SpelledTerms& part : parts) {
            for (u32 term : part.terms) rank_[term] = ranked_++;
            if (out.end.empty()) {
                out = {std::move(part.bytes), std::move(part.end)};
                continue;
            }
            const i64 before = out.end.back();
            out.bytes.insert(out.bytes.end(), part.bytes.begin(), part.bytes.end());
            for (std::size_t i = 1; i < part.end.size(); ++i) out.end.push_back(before + part.end[i]);
        }
        return out;
    }

    // 0 … n − 1 sorted by key, stably
    template <class KeyOf>
    static BigVector<u32> counting_order(std::size_t n, std::size_t keys, KeyOf&& key_of) {
        std::vector<std::size_t> at(keys + 1, 0);
        for (std::size_t i = 0; i < n; ++i) ++at[key_of(i) + 1];
        std::partial_sum(at.begin(), at.end(), at.begin());
        BigVector<u32> out(n);
        for (std::size_t i = 0; i < n; ++i) out[at[key_of(i)]++] = static_cast<u32>(i);
        return out;
    }

    static constexpr std::size_t AHEAD = 8;
    const TextRules& rules_;
    std::vector<std::string> stop_words_;
    std::vector<std::unique_ptr<Part>> parts_;
    std::vector<Task> tasks_;
    std::vector<u32> sizes_;                // entries of each document
    std::vector<BigVector<u32>> joined_;    // for each part; columns, once they are known
    u32 ranked_ = 0;                        // terms that some document holds
    BigVector<u32> rank_;                   // of each term of part 0 among the sorted ones
};

}  // namespace tb
