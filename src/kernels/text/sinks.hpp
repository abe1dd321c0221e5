// What becomes of the n-grams of a document: terms of a growing vocabulary, columns of a given one, or
// columns by hash.
#pragma once
#include "core/memory.hpp"
#include "text/rows.hpp"
#include "text/terms.hpp"

namespace tb {

// Every n-gram becomes a term; its count is found again by the term's slot.
template <class Terms>
class GrowingSinkOf {
public:
    using Node = u32;
    using Key = WordKey;
    Terms terms;
    BigVector<Entry> entries;
    u32 size = 0;  // of the document just counted

    void start_task() { base_ = entries.size(); }
    void begin() { begin_ = static_cast<u32>(entries.size() - base_); }
    void end() { size = static_cast<u32>(entries.size() - base_) - begin_; }

    static Key key(const u8* text, std::size_t n) { return WordKey::of(text, n); }
    [[gnu::always_inline]] void prefetch_word(const Key& key) const { terms.prefetch_word(key); }
    bool word(const Key& key, const u8* text, std::size_t n, bool counted, Node& node) {
        Slot* slot = terms.find_word(key, text, n);
        if (Terms::is_new(slot)) {
            node = terms.add_word(slot, key, text, n);
            if (counted) hit(node, terms.find_word(key, text, n));
            return true;
        }
        node = slot->term;
        if (node == STOP_WORD) return false;
        if (counted) hit(node, slot);
        return true;
    }
    static Node character(u32 c) { return c; }
    Node first(Node character, bool counted) { return gram(ROOT, character, counted); }
    [[gnu::always_inline]] void prefetch_gram(Node parent, Node symbol) const {
        terms.prefetch_gram(Terms::gram_key(parent, symbol));
    }
    Node gram(Node parent, Node symbol, bool counted) {
        const u64 key = Terms::gram_key(parent, symbol);
        Slot* slot = terms.find_gram(key);
        if (Terms::is_new_gram(slot)) {
            const Node node = terms.add_gram(slot, key);
            if (counted) hit(node, terms.find_gram(key));
            return node;
        }
        if (counted) hit(slot->term, slot);
        return slot->term;
    }

private:
    void hit(u32 term, Slot* slot) {
        const u32 at = slot->entry, end = static_cast<u32>(entries.size() - base_);
        // an entry of an earlier task may be pointed to: then the term there is another one
        if (at >= begin_ && at < end && entries[base_ + at].term == term) {
            ++entries[base_ + at].count;
            return;
        }
        slot->entry = end;
        entries.push_back({term, 1});
    }
    std::size_t base_ = 0;
    u32 begin_ = 0;
};

using GrowingSink = GrowingSinkOf<Terms>;

// Columns of a document, sorted and counted when it ends.
class ColumnSink {
public:
    std::vector<Entry> entries;
    u32 size = 0;

    explicit ColumnSink(u64 columns) : bits_(bits_for(columns ? columns - 1 : 0)) {}
    void begin() { columns_.clear(); }
    void end() {
        sort_by(columns_, spare_, bits_, [](u32 column) { return column; });
        const std::size_t before = entries.size();
        for (std::size_t i = 0; i < columns_.size();) {
            std::size_t j = i + 1;
            while (j < columns_.size() && columns_[j] == columns_[i]) ++j;
            entries.push_back({columns_[i], static_cast<u32>(j - i)});
            i = j;
        }
        size = static_cast<u32>(entries.size() - before);
    }

protected:
    std::vector<u32> columns_, spare_;
    int bits_;
};

// Terms that are looked up in a vocabulary; Self::hit says what becomes of one, NO_TERM if it is not there.
template <class Terms, class Self>
class LookupSink : public ColumnSink {
public:
    using Node = u32;
    using Key = WordKey;
    LookupSink(const Terms& terms, u64 columns) : ColumnSink(columns), terms_(terms) {}

    static Key key(const u8* text, std::size_t n) { return WordKey::of(text, n); }
    [[gnu::always_inline]] void prefetch_word(const Key& key) const { terms_.prefetch_word(key); }
    bool word(const Key& key, const u8* text, std::size_t n, bool counted, Node& node) {
        const Slot* slot = terms_.find_word(key, text, n);
        node = Terms::is_new(slot) ? NO_TERM : slot->term;
        if (node == STOP_WORD) return false;
        if (counted) self().hit(node);
        return true;
    }
    static Node character(u32 c) { return c; }
    Node first(Node character, bool counted) { return found(ROOT, character, counted); }
    [[gnu::always_inline]] void prefetch_gram(Node parent, Node symbol) const {
        terms_.prefetch_gram(Terms::gram_key(parent, symbol));
    }
    Node gram(Node parent, Node symbol, bool counted) {
        // parents of words that are not known look the same as the root
        if (symbol != NO_TERM && parent != NO_TERM) return found(parent, symbol, counted);
        if (counted) self().hit(NO_TERM);
        return NO_TERM;
    }

protected:
    const Terms& terms_;

private:
    Self& self() { return static_cast<Self&>(*this); }
    Node found(Node parent, Node symbol, bool counted) {
        const Slot* slot = terms_.find_gram(Terms::gram_key(parent, symbol));
        const Node node = Terms::is_new_gram(slot) ? NO_TERM : slot->term;
        if (counted) self().hit(node);
        return node;
    }
};

// Columns of terms: column[term] is NO_TERM for those that only begin one.
class FindingSink : public LookupSink<Terms, FindingSink> {
public:
    FindingSink(const Terms& terms, const std::vector<u32>& column, u64 columns)
        : LookupSink(terms, columns), column_(column) {}
    void hit(Node node) {
        if (node != NO_TERM && column_[node] != NO_TERM) columns_.push_back(column_[node]);
    }

private:
    const std::vector<u32>& column_;
};

// Columns by hash; no vocabulary but the stop words.
class HashingSink : public ColumnSink {
public:
    using Node = u64;
    using Key = u64;
    HashingSink(const Terms& stop_words, bool any_stop_words, u32 buckets)
        : ColumnSink(buckets), stop_words_(stop_words), any_(any_stop_words), buckets_(buckets) {}

    static Key key(const u8* text, std::size_t n) { return hash_of(text, n); }
    void prefetch_word(Key) const {}
    bool word(Key key, const u8* text, std::size_t n, bool counted, Node& node) {
        if (any_ && !Terms::is_new(stop_words_.find_word(WordKey::of(text, n), text, n))) return false;
        node = key;
        if (counted) hit(node);
        return true;
    }
    static Node character(u32 c) { return hash_of(c); }
    Node first(Node character, bool counted) {
        if (counted) hit(character);
        return character;
    }
    void prefetch_gram(Node, Node) const {}
    Node gram(Node parent, Node symbol, bool counted) {
        const Node node = hash_of(parent, symbol);
        if (counted) hit(node);
        return node;
    }

private:
    void hit(Node node) { columns_.push_back(bucket_of(node, buckets_)); }
    const Terms& stop_words_;
    bool any_;
    u32 buckets_;
};

}  // namespace tb
