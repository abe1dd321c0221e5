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

// A SlotTable in 64 parts. Each part doubles at a load of its own, from 1/2 to 3/4, so that they
// take turns.
template <u64 EMPTY>
class SlotParts {
public:
    SlotParts() {
        for (Part& part : parts_) part.resize(FIRST_BITS);
    }
    [[gnu::always_inline]] void prefetch(u64 hash) const {
        const Part& part = parts_[hash >> (64 - BITS)];
        __builtin_prefetch(&part.slots[static_cast<i64>(part.place(hash))]);
    }
    template <class Same>
    Slot* find(u64 hash, u64 key, Same&& same) const {
        const Part& part = parts_[hash >> (64 - BITS)];
        for (u64 at = part.place(hash);; at = (at + 1) & part.mask) {
            Slot& slot = part.slots[static_cast<i64>(at)];
            if (slot.key == EMPTY || (slot.key == key && same(slot.term))) return &slot;
        }
    }
    // `slot` is where find ended; hash_of_slot tells where a slot belongs when a part grows.
    template <class HashOf>
    void fill(Slot* slot, u64 key, u32 term, HashOf&& hash_of_slot) {
        *slot = {key, term, NO_TERM};
        const u64 number = hash_of_slot(*slot) >> (64 - BITS);
        Part& part = parts_[number];
        if (++part.filled * (4u << BITS) < (part.mask + 1) * ((2u << BITS) + number)) return;
        Part more;
        more.resize(part.bits + 1);
        more.filled = part.filled;
        for (u64 i = 0; i <= part.mask; ++i) {
            const Slot& moved = part.slots[static_cast<i64>(i)];
            if (moved.key == EMPTY) continue;
            u64 at = more.place(hash_of_slot(moved));
            while (more.slots[static_cast<i64>(at)].key != EMPTY) at = (at + 1) & more.mask;
            more.slots[static_cast<i64>(at)] = moved;
        }
        part = std::move(more);
    }

private:
    static constexpr int BITS = 6, FIRST_BITS = 6;
    struct Part {
        Buffer<Slot> slots;
        u64 mask = 0, filled = 0;
        int bits = 0;

        u64 place(u64 hash) const { return hash << BITS >> (64 - bits); }
        void resize(int to) {
            bits = to;
            mask = (u64(1) << to) - 1;
            slots = Buffer<Slot>(static_cast<i64>(mask + 1));
            for (u64 i = 0; i <= mask; ++i) slots[static_cast<i64>(i)].key = EMPTY;
        }
    };
    std::array<Part, 1 << BITS> parts_;
};

using LiveTerms = TermsIn<SlotParts>;

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
        std::string padded(reinterpret_cast<const char*>(text), size);
        padded.append(8, '\0');
        const u8* at = reinterpret_cast<const u8*>(padded.data());
        if (rules_.text.unit != Unit::words) return by_characters(at, size);
        u32 node = by_words(at, size);
        if (node == NO_TERM) {
            node = word(at, size);
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
    u32 word(const u8* text, std::size_t size) {
        const WordKey key = WordKey::of(text, size);
        Slot* slot = growing_.terms.find_word(key, text, size);
        if (LiveTerms::is_new(slot)) return growing_.terms.add_word(slot, key, text, size);
        return slot->term;
    }
    u32 gram(u32 parent, u32 symbol) {
        const u64 key = LiveTerms::gram_key(parent, symbol);
        Slot* slot = growing_.terms.find_gram(key);
        return LiveTerms::is_new_gram(slot) ? growing_.terms.add_gram(slot, key) : slot->term;
    }
    u32 by_words(const u8* at, std::size_t size) {
        if (!size || at[0] == ' ' || at[size - 1] == ' ') return NO_TERM;
        for (std::size_t i = 1; i < size; ++i)
            if (at[i] == ' ' && at[i - 1] == ' ') return NO_TERM;
        u32 node = NO_TERM;
        const u8* end = at + size;
        for (const u8* begin = at;; ++at) {
            if (at < end && *at != ' ') continue;
            // the key of a short word is read in 8 bytes, of which those beyond the word do not count
            const u32 one = word(begin, static_cast<std::size_t>(at - begin));
            if (one == STOP_WORD) return NO_TERM;
            node = node == NO_TERM ? one : gram(node, one);
            if (at == end) return node;
            begin = at + 1;
        }
    }
    u32 by_characters(const u8* at, std::size_t size) {
        u32 node = ROOT;
        for (const u8* end = at + size; at < end; at += size_at(at)) node = gram(node, code_point_at(at));
        return node;
    }

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
