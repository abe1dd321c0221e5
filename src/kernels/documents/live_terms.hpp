// A vocabulary that grows while documents come one by one: no document pays for the terms that were
// there before. The slots of a hash table are moved a part at a time, and what is kept for each term
// stays where it is.
#pragma once
#include <array>
#include <memory>
#include <unordered_map>

#include "text/reader.hpp"
#include "text/sinks.hpp"

namespace tb {

using LiveTerms = TermsIn<6>;

// Items that begin as T() and stay where they are when there are more. Blocks double up to a size that
// fills huge pages: items are looked up all over, and each small page misses the address cache.
template <class T>
class Blocks {
public:
    T& operator[](std::size_t i) { return const_cast<T&>(std::as_const(*this)[i]); }
    const T& operator[](std::size_t i) const {
        if (i >= LARGEST) return blocks_[DOUBLING + i / LARGEST - 1][i % LARGEST];
        const std::size_t block = bits_of(i / FIRST);
        return blocks_[block][i - (block ? FIRST << (block - 1) : 0)];
    }
    void reserve(std::size_t n) {
        for (; room_ < n; room_ += blocks_.back().size()) {
            const std::size_t size = room_ < FIRST ? FIRST : room_ < LARGEST ? room_ : LARGEST;
            blocks_.emplace_back();
            blocks_.back().assign(size, T());
        }
    }
    std::size_t room() const { return room_; }

private:
    static constexpr std::size_t FIRST = 1 << 12, LARGEST = 1 << 18, DOUBLING = 7;  // 2^12 · 2^6 = 2^18
    static std::size_t bits_of(std::size_t x) {
        return x ? static_cast<std::size_t>(64 - __builtin_clzll(x)) : 0;
    }
    std::vector<BigVector<T>> blocks_;
    std::size_t room_ = 0;
};

// The terms of a document that are in the vocabulary, by their numbers there.
class KnownSink : public LookupSink<LiveTerms, KnownSink> {
public:
    bool unknown = false;  // whether a term was left out

    explicit KnownSink(const LiveTerms& terms) : LookupSink(terms, 1) {}
    void begin() {
        bits_ = bits_for(terms_.size());
        ColumnSink::begin();
    }
    void hit(Node node) {
        if (node == NO_TERM)
            unknown = true;
        else
            columns_.push_back(node);
    }
};

// What makes terms: the rules of words and characters, or these and a number of hash buckets.
struct LiveRules {
    const TextRules& text;
    std::vector<std::string> stop_words;
    u32 buckets;  // 0: terms have names
};

// Documents to numbers of terms, and numbers to names.
class LiveVocabulary {
public:
    explicit LiveVocabulary(LiveRules rules)
        : rules_(std::move(rules)), grow_(rules_.text, growing_), know_(rules_.text, known_),
          hash_(rules_.text, hashing_) {
        growing_.terms.add_stop_words(rules_.stop_words);
        stops_.add_stop_words(rules_.stop_words);
    }
    LiveVocabulary(const LiveVocabulary&) = delete;
    LiveVocabulary& operator=(const LiveVocabulary&) = delete;

    bool unknown = false;  // whether a term was left out since this was set

    std::size_t size() const { return growing_.terms.size(); }

    // Adds the terms of a document, each once with its count, to `out`; new ones get numbers if `grow`
    // is set, and are left out otherwise. False if the document is not UTF-8.
    bool read(const TextView& document, bool grow, std::vector<Entry>& out) {
        if (rules_.buckets) {
            hashing_.entries.clear();
            if (!hash_(document.at, document.size)) return false;
            for (const Entry& e : hashing_.entries) {
                const u32 node = bucket(e.term, grow);
                if (node == NO_TERM)
                    unknown = true;
                else
                    out.push_back({node, e.count});
            }
            return true;
        }
        if (!grow) {
            known_.entries.clear();
            known_.unknown = unknown;
            if (!know_(document.at, document.size)) return false;
            unknown = known_.unknown;
            out.insert(out.end(), known_.entries.begin(), known_.entries.end());
            return true;
        }
        growing_.entries.clear();
        growing_.start_task();
        if (!grow_(document.at, document.size)) return false;
        out.insert(out.end(), growing_.entries.begin(), growing_.entries.end());
        return true;
    }

    u32 bucket(u32 number, bool grow) {
        const u64 key = LiveTerms::gram_key(ROOT, number);
        Slot* slot = growing_.terms.find_gram(key);
        if (!LiveTerms::is_new_gram(slot)) return slot->term;
        return grow ? growing_.terms.add_gram(slot, key) : NO_TERM;
    }

    // The number of a term with a name, which is new if no term has it. A name that the rules never
    // make, such as one of two spaces in a row, is kept as a word, which no document has.
    u32 named(const u8* text, std::size_t size) {
        const std::string name = padded(text, size);
        const u8* at = bytes_of(name);
        u32 node = growing_.terms.named(at, size, rules_.text.unit == Unit::words);
        if (node == NO_TERM) {
            node = growing_.terms.word(at, size);
            odd_names_[node] = static_cast<u32>(std::count(at, at + size, u8(' ')));
        }
        if (node == STOP_WORD) throw std::invalid_argument("a term is a word that is left out");
        return node;
    }

    // How many tokens of a term follow its first.
    u32 order(u32 node) const {
        if (rules_.buckets) return 0;
        const LiveTerms& all = growing_.terms;
        u32 found = 0;
        for (; all.terms[node].parent != ROOT; node = all.terms[node].parent) ++found;
        const auto odd = odd_names_.empty() ? odd_names_.end() : odd_names_.find(node);
        return odd == odd_names_.end() ? found : found + odd->second;
    }
    void prefetch(u32 node) const { __builtin_prefetch(&growing_.terms.terms[node]); }

    // Appends the name; `path` is scratch.
    void spell(u32 node, std::vector<u32>& path, std::vector<u8>& out) const {
        const LiveTerms& all = growing_.terms;
        const bool words = rules_.text.unit == Unit::words;
        path.clear();
        for (; node != ROOT; node = all.terms[node].parent) path.push_back(node);
        for (std::size_t i = path.size(); i--;) {
            const Term& term = all.terms[path[i]];
            if (!words) {
                u8 point[8];
                out.insert(out.end(), point, put_code_point(point, term.symbol));
                continue;
            }
            const bool first = term.parent == ROOT;
            const u32 number = first ? term.symbol : all.terms[term.symbol].symbol;
            if (!first) out.push_back(' ');
            out.insert(out.end(), all.word_at(number), all.word_at(number) + all.word_size(number));
        }
    }
    u32 bucket_of_term(u32 node) const { return growing_.terms.terms[node].symbol; }

private:
    LiveRules rules_;
    std::unordered_map<u32, u32> odd_names_;  // spaces in names that the rules never make
    Terms stops_;
    GrowingSinkOf<LiveTerms> growing_;
    KnownSink known_{growing_.terms};
    HashingSink hashing_{stops_, !rules_.stop_words.empty(), rules_.buckets ? rules_.buckets : 1};
    TextReader<GrowingSinkOf<LiveTerms>> grow_;
    TextReader<KnownSink> know_;
    TextReader<HashingSink> hash_;
};

}  // namespace tb
