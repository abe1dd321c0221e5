// From a document to its n-grams: folding, tokens, and n-grams of one order after the other. What
// becomes of a token and of an n-gram is the sink's matter, see sinks.hpp.
#pragma once
#include "text/folding.hpp"
#include "text/tokens.hpp"

namespace tb {

enum class Unit { words, characters, characters_in_words };

struct TextRules {
    TwoStage<u8> properties;
    Folding folding;
    Unit unit = Unit::words;
    u32 min_n = 1, max_n = 1;
    bool singles = false;          // characters that are tokens by themselves
    bool longer_than_one = false;  // words of one character are skipped
};

template <class Sink>
class TextReader {
    using Node = typename Sink::Node;
    using Key = typename Sink::Key;

public:
    TextReader(const TextRules& rules, Sink& sink)
        : rules_(rules), sink_(sink), fold_(rules.folding, rules.properties) {}

    // False if the document is not UTF-8; then some of it may have been counted.
    bool operator()(const char* bytes, std::size_t size) {
        const Folded text = fold_(reinterpret_cast<const u8*>(bytes), size);
        if (!text.valid) return false;
        sink_.begin();
        if (rules_.unit == Unit::words)
            words(text);
        else
            characters(text);
        sink_.end();
        return true;
    }

private:
    static constexpr std::size_t BATCH = 128, AHEAD = 8;
    struct Token {
        Key key;
        std::size_t at, size;
    };

    void words(const Folded& text) {
        masks_.find(text.at, text.size, text.ascii, rules_.properties, rules_.singles);
        symbols_.clear();
        std::size_t waiting = 0;
        const auto count = [&] {
            for (std::size_t i = 0; i < waiting; ++i) {
                const Token& token = batch_[i];
                Node node;
                if (sink_.word(token.key, text.at + token.at, token.size, rules_.min_n == 1, node) &&
                    rules_.max_n > 1)
                    symbols_.push_back(node);
            }
            waiting = 0;
        };
        masks_.each(text.at, rules_.longer_than_one, [&](std::size_t at, std::size_t size) {
            Token& token = batch_[waiting];
            token = {sink_.key(text.at + at, size), at, size};
            sink_.prefetch_word(token.key);
            if (++waiting == BATCH) count();
        });
        count();
        if (rules_.max_n == 1) return;
        nodes_ = symbols_;
        longer_grams(rules_.min_n, rules_.max_n);
    }

    // nodes_ holds the n-grams of order 1, symbols_ the tokens.
    void longer_grams(u32 min_n, u32 max_n) {
        for (std::size_t n = 2; n <= max_n && n <= symbols_.size(); ++n) {
            const std::size_t grams = symbols_.size() - n + 1;
            for (std::size_t i = 0; i < grams; ++i) {
                if (i + AHEAD < grams) sink_.prefetch_gram(nodes_[i + AHEAD], symbols_[i + AHEAD + n - 1]);
                nodes_[i] = sink_.gram(nodes_[i], symbols_[i + n - 1], n >= min_n);
            }
        }
    }

    void characters(const Folded& text) {
        const bool in_words = rules_.unit == Unit::characters_in_words;
        points_.clear();
        if (in_words) points_.push_back(' ');
        const u8* end = text.at + text.size;
        for (const u8* p = text.at; p < end;) {
            const u32 c = code_point_at(p);
            p += size_at(p);
            if (!(rules_.properties[c] & WHITE_SPACE)) {
                points_.push_back(c);
                continue;
            }
            bool several = false;
            while (p < end && rules_.properties[code_point_at(p)] & WHITE_SPACE) {
                p += size_at(p);
                several = true;
            }
            if (!in_words) {
                points_.push_back(several ? ' ' : c);
            } else if (points_.size() > 1) {
                grams_of_word();
            }
        }
        if (!in_words)
            grams_of_points(rules_.min_n);
        else if (points_.size() > 1)
            grams_of_word();
    }

    // A word between two spaces; one shorter than min_n counts once, as it is.
    void grams_of_word() {
        points_.push_back(' ');
        grams_of_points(points_.size() < rules_.min_n ? static_cast<u32>(points_.size()) : rules_.min_n);
        points_.resize(1);
    }

    void grams_of_points(u32 min_n) {
        nodes_.clear();
        symbols_.clear();
        for (u32 c : points_) {
            symbols_.push_back(sink_.character(c));
            nodes_.push_back(sink_.first(symbols_.back(), min_n == 1));
        }
        longer_grams(min_n, rules_.max_n);
    }

    const TextRules& rules_;
    Sink& sink_;
    Folder fold_;
    TokenMasks masks_;
    Token batch_[BATCH];
    std::vector<Node> symbols_, nodes_;
    std::vector<u32> points_;
};

}  // namespace tb
