// A model of documents that learns, forgets and answers one document at a time, at the cost of its
// terms. Formulas are those of models/documents.py and documents/scores.hpp; what they need of
// all terms is kept as sums by LiveCounts. The tally of all terms, by names in order, is made when
// somebody asks for it.
#pragma once
#include <algorithm>
#include <numeric>

#include "documents/live_counts.hpp"
#include "text/named_terms.hpp"

namespace tb {

enum class LiveEvent { multinomial, complement, bernoulli, weighted };

struct LiveReading {
    LiveEvent event = LiveEvent::multinomial;
    bool sums = true;  // whether values are summed, beside counting documents
    // plain models
    double alpha = 1.0;
    bool log_tf = false, idf = false, normalize = false, fixed = false;
    double fixed_of_others = 0.0;  // the idf of terms without one, where it is fixed
    // the weighted model: log(1 + count) as float32 comes from NumPy, so that both give the same bits
    double tau = 1.0, power = 0.0, mean_length = 1.0, min_length = 0.0;
    bool mass = false;
    std::vector<double> weights;  // of bins
    std::vector<float> log_counts;
    std::vector<float> u;  // of the ridge: (columns, ridge_classes)
    i64 ridge_classes = 0;
};

struct NamedTerms {
    std::vector<u8> bytes;
    std::vector<i64> end = {0};
    NamedTermsView view() const { return {bytes.data(), end.data(), end.size() - 1}; }
};

struct LiveTally {
    NamedTerms names;
    std::vector<i64> buckets;
    std::vector<i64> start = {0};
    std::vector<i32> classes;
    std::vector<double> counts, sums;
    std::vector<i32> column;  // of the ridge, with its idf
    std::vector<double> idf;
};

class LiveModel {
public:
    LiveReading reading;
    LiveCounts counts;
    std::vector<double> intercept;  // by class

    explicit LiveModel(LiveRules rules) : by_bucket_(rules.buckets > 0), vocabulary_(std::move(rules)) {}

    i64 classes() const { return static_cast<i64>(counts.classes.size()); }
    i32 add_class() {
        counts.classes.emplace_back();
        intercept.push_back(0.0);
        return static_cast<i32>(counts.classes.size() - 1);
    }
    // The classes that have documents, in order; others lose their intercepts.
    void show(std::vector<i32> order) {
        std::vector<double> kept(intercept.size(), 0.0);
        for (i32 k : order) kept[static_cast<std::size_t>(k)] = intercept[static_cast<std::size_t>(k)];
        intercept = std::move(kept);
        shown_ = std::move(order);
    }
    std::size_t ordered() const { return ordered_.size(); }
    i64 shown() const { return static_cast<i64>(shown_.size()); }

    // Terms in order, before anything else is read; the number of each.
    std::vector<u32> known(const u8* bytes, const i64* end, std::size_t n) {
        std::vector<u32> nodes(n);
        for (std::size_t i = 0; i < n; ++i)
            nodes[i] = vocabulary_.named(bytes + end[i], static_cast<std::size_t>(end[i + 1] - end[i]));
        return room_for(nodes);
    }
    std::vector<u32> known_buckets(const i64* numbers, std::size_t n) {
        std::vector<u32> nodes(n);
        for (std::size_t i = 0; i < n; ++i)
            nodes[i] = vocabulary_.bucket(static_cast<u32>(numbers[i]), true);
        return room_for(nodes);
    }
    void in_order(std::vector<u32> nodes) {
        ordered_ = std::move(nodes);
        in_order_.assign(vocabulary_.size(), 0);
        for (u32 t : ordered_) in_order_[t] = 1;
    }
    void fix_idf(const std::vector<u32>& nodes, const double* idf, double other) {
        reading.fixed = true;
        reading.fixed_of_others = other;
        fixed_.reserve(vocabulary_.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) fixed_[nodes[i]] = {idf[i], true};
    }
    void ridge(const i32* column, const double* idf) {
        ridge_.reserve(vocabulary_.size());
        for (std::size_t i = 0; i < ordered_.size(); ++i) ridge_[ordered_[i]] = {idf[i], column[i] + 1};
    }
    // The number of the first document that is not UTF-8, else NO_FAULT.
    std::size_t fault(const std::vector<TextView>& documents) { return read(documents, false); }

    // Counts documents, all or none; the number of the first that is not UTF-8, else NO_FAULT.
    std::size_t learn(const std::vector<TextView>& documents, const i32* codes, const double* weights) {
        const std::size_t fault = read(documents, true);
        if (fault != NO_FAULT) return fault;
        counts.reserve(vocabulary_.size());
        counts.let_come(documents.size());
        counts.attempt([&] {
            each_document([&](std::size_t i, const Entry* entries, std::size_t n) {
                const CountedValues value(*this, entries, n);
                counts.learn(entries, n, value, codes[i], weights[i]);
                return true;
            });
            return true;
        });
        return NO_FAULT;
    }

    // Lets everything fade as if a document had come.
    void pass_one() {
        counts.let_come(1);
        counts.pass(1);
    }

    // Takes documents away, all or none; `done` says which.
    std::size_t forget(const std::vector<TextView>& documents, const i32* codes, const double* weights,
                       bool& done) {
        done = false;
        const std::size_t fault = read(documents, counts.pruned() > 0.0);
        if (fault != NO_FAULT) return fault;
        if (vocabulary_.unknown) return NO_FAULT;
        counts.reserve(vocabulary_.size());
        done = counts.attempt([&] {
            const bool taken = each_document([&](std::size_t i, const Entry* entries, std::size_t n) {
                const CountedValues value(*this, entries, n);
                return counts.forget(entries, n, value, codes[i], weights[i]);
            });
            if (!taken) return false;
            for (std::size_t i = 0; i < documents.size(); ++i)
                if (!counts.has_documents_for_all(codes[i])) return false;
            return true;
        });
        if (done && reading.ridge_classes)
            for (const Entry& e : entries_)
                if (!counts.holds(e.term)) ridge_of(e.term) = {};
        return NO_FAULT;
    }

    // The scores of the shown classes of each document, (documents, shown).
    std::size_t score(const std::vector<TextView>& documents, double* out) {
        const std::size_t fault = read(documents, false);
        if (fault != NO_FAULT) return fault;
        each_document([&](std::size_t i, Entry* entries, std::size_t n) {
            n = static_cast<std::size_t>(
                std::remove_if(entries, entries + n,
                               [&](const Entry& e) { return !counts.holds(e.term); }) -
                entries);
            double* to = out + i * shown_.size();
            if (reading.event == LiveEvent::weighted)
                score_weighted(entries, n, to);
            else
                score_plain(entries, n, to);
            return true;
        });
        return NO_FAULT;
    }

    // Everything that is counted, by terms in order.
    LiveTally tally() {
        const NamedTerms names = put_in_order();
        std::vector<i32> place(counts.classes.size(), -1);
        for (std::size_t i = 0; i < shown_.size(); ++i)
            place[static_cast<std::size_t>(shown_[i])] = static_cast<i32>(i);
        LiveTally out;
        std::vector<LivePair> pairs;
        for (std::size_t i = 0; i < ordered_.size(); ++i) {
            const u32 t = ordered_[i];
            pairs.clear();
            counts.each(t, [&](const LivePair& p) { pairs.push_back(p); });
            if (pairs.empty()) continue;
            std::sort(pairs.begin(), pairs.end(), [&](const LivePair& a, const LivePair& b) {
                return place[static_cast<std::size_t>(a.k)] < place[static_cast<std::size_t>(b.k)];
            });
            for (const LivePair& p : pairs) {
                out.classes.push_back(place[static_cast<std::size_t>(p.k)]);
                out.counts.push_back(p.count);
                if (reading.sums) out.sums.push_back(p.sum);
            }
            out.start.push_back(static_cast<i64>(out.classes.size()));
            if (by_bucket_) {
                out.buckets.push_back(vocabulary_.bucket_of_term(t));
            } else {
                const u8* at = names.bytes.data();
                out.names.bytes.insert(out.names.bytes.end(), at + names.end[i], at + names.end[i + 1]);
                out.names.end.push_back(static_cast<i64>(out.names.bytes.size()));
            }
            if (reading.ridge_classes) {
                const RidgeTerm known = ridge_of(t);
                out.column.push_back(known.column - 1);
                out.idf.push_back(known.idf);
            }
        }
        return out;
    }

private:
    static constexpr std::size_t AHEAD = 8;
    static constexpr i64 BINS = 10, MAX_ORDER = 11;  // as families/text.py has them

    struct FixedIdf {
        double idf = 0.0;
        bool known = false;
    };
    struct RidgeTerm {
        double idf = 0.0;
        i32 column = 0;  // one more; 0 for none
    };

    std::vector<u32> room_for(std::vector<u32> nodes) {
        counts.reserve(vocabulary_.size());
        return nodes;
    }
    RidgeTerm& ridge_of(u32 t) {
        ridge_.reserve(std::size_t(t) + 1);
        return ridge_[t];
    }

    // ---- documents -------------------------------------------------------------------------------
    std::size_t read(const std::vector<TextView>& documents, bool grow) {
        entries_.clear();
        ends_.assign(1, 0);
        vocabulary_.unknown = false;
        for (std::size_t i = 0; i < documents.size(); ++i) {
            if (!vocabulary_.read(documents[i], grow, entries_)) return i;
            ends_.push_back(entries_.size());
        }
        counts.reserve(vocabulary_.size());
        return NO_FAULT;
    }
    // use(number, entries, how many), until it is false
    template <class Use>
    bool each_document(Use&& use) {
        for (const Entry& e : entries_) {
            counts.prefetch(e.term);
            if (reading.event == LiveEvent::weighted) vocabulary_.prefetch(e.term);
        }
        for (const Entry& e : entries_) counts.prefetch_next(e.term);
        for (std::size_t i = 0; i + 1 < ends_.size(); ++i)
            if (!use(i, entries_.data() + ends_[i], ends_[i + 1] - ends_[i])) return false;
        return true;
    }

    double value(const Entry& e) const {
        double x = reading.log_tf ? std::log1p(static_cast<double>(e.count)) : static_cast<double>(e.count);
        if (reading.fixed) {
            const bool known = e.term < fixed_.room() && fixed_[e.term].known;
            x *= known ? fixed_[e.term].idf : reading.fixed_of_others;
        }
        return x;
    }
    double by_length(const Entry* entries, std::size_t n) const {
        double squares = 0.0;
        for (std::size_t i = 0; i < n; ++i) squares += value(entries[i]) * value(entries[i]);
        return squares > 0.0 ? std::sqrt(squares) : 1.0;
    }
    // What each entry of a document is counted with.
    struct CountedValues {
        const LiveModel& model;
        const Entry* entries;
        double length;

        CountedValues(const LiveModel& of, const Entry* some, std::size_t n)
            : model(of), entries(some), length(of.reading.normalize ? of.by_length(some, n) : 1.0) {}
        double operator()(std::size_t i) const {
            return model.reading.sums ? model.value(entries[i]) / length : 0.0;
        }
    };

    // ---- plain models ----------------------------------------------------------------------------
    // log(1 + x / smoothing), of small whole numbers from a table: most counts are.
    double log_ratio(double x, double smoothing) {
        if (smoothing != log_of_) {
            for (std::size_t i = 0; i < SMALL; ++i)
                log_small_[i] = std::log1p(static_cast<double>(i) / smoothing);
            log_of_ = smoothing;
        }
        const bool small = x >= 0.0 && x < static_cast<double>(SMALL);
        const std::size_t i = small ? static_cast<std::size_t>(x) : 0;
        return small && static_cast<double>(i) == x ? log_small_[i] : std::log1p(x / smoothing);
    }

    static double log_total(double total) { return total > 0.0 ? std::log(total) : 0.0; }

    void score_plain(const Entry* entries, std::size_t n, double* out) {
        const std::size_t K = counts.classes.size();
        const double alpha = reading.alpha, V = static_cast<double>(counts.terms);
        const double all = counts.documents(), log_all = std::log(all);
        const bool by_idf = reading.idf && !reading.fixed;
        const bool bernoulli = reading.event == LiveEvent::bernoulli;
        const bool complement = reading.event == LiveEvent::complement;
        std::vector<double>&base = scratch_[0], &total = scratch_[1], &score = scratch_[2];
        base.assign(K, 0.0), total.assign(K, 0.0), score.assign(K, 0.0);
        double sum = 0.0;
        for (std::size_t k = 0; k < K && !bernoulli; ++k) {
            const double held = counts.sums_of(k);
            total[k] = held;
            if (by_idf) {
                total[k] = log_all * held - counts.logs_of(k);
                const double lost = LOST * (log_all + counts.log_scale()) * held;
                if (total[k] <= lost) total[k] = 0.0;  // every document has its terms
            }
            sum += total[k];
        }
        double in_all = 0.0, length = 0.0;  // Σ x log(1 + S_t/α), or −Σ x log(S_t + α); Σ x
        const double by = reading.normalize ? 1.0 / by_length(entries, n) : 1.0;
        for (std::size_t i = 0; i < n; ++i) {
            const u32 t = entries[i].term;
            double x = bernoulli ? 1.0 : value(entries[i]) * by, idf = 1.0;
            if (by_idf) {
                idf = std::max(log_all - std::log(counts.frequency(t)), 0.0);
                x *= idf;
            }
            length += x;
            if (bernoulli) {
                counts.each(t, [&](const LivePair& p) {
                    const std::size_t k = static_cast<std::size_t>(p.k);
                    const double docs = counts.documents_of(k);
                    score[k] += log_ratio(p.count, alpha) + std::log(docs + alpha) -
                                std::log(std::max(docs - p.count, 0.0) + alpha);
                });
                continue;
            }
            double of_term = 0.0;
            counts.each(t, [&](const LivePair& p) { of_term += p.sum * idf; });
            if (complement) {
                const double row = -std::log(of_term + alpha);
                in_all += x * row;
                counts.each(t, [&](const LivePair& p) {
                    const double others = std::max(of_term - p.sum * idf, 0.0);
                    score[static_cast<std::size_t>(p.k)] += x * (-row - std::log(others + alpha));
                });
            } else {
                in_all += x * log_ratio(of_term, alpha);
                counts.each(t, [&](const LivePair& p) {
                    score[static_cast<std::size_t>(p.k)] += x * log_ratio(p.sum * idf, alpha);
                });
            }
        }
        for (std::size_t i = 0; i < shown_.size(); ++i) {
            const std::size_t k = static_cast<std::size_t>(shown_[i]);
            const double docs = counts.documents_of(k), prior = std::log(docs) - log_all;
            if (bernoulli) {
                out[i] = prior + without_any(k) + score[k] +
                         length * (std::log(alpha) - std::log(docs + alpha));
            } else if (complement) {
                out[i] = length * log_total(sum - total[k] + alpha * V) + in_all + score[k];
            } else {
                const bool blank = total[k] == 0.0;
                const double each = std::log(alpha) - log_total((blank ? sum : total[k]) + alpha * V);
                out[i] = prior + length * each + (blank ? in_all : score[k]);
            }
        }
    }

    // Of Bernoulli: the score of a document without terms, from the numbers of terms of each count.
    double without_any(std::size_t k) {
        const double docs = counts.documents_of(k), alpha = reading.alpha, none = std::log(docs + alpha);
        const double of_all = static_cast<double>(counts.terms) * (none - std::log(docs + 2.0 * alpha));
        if (counts.fades()) return of_all + counts.log_absent(k, alpha);
        counts.keep_same();
        double found = of_all;
        for (const auto& [count, n] : counts.classes[k].same)
            found += static_cast<double>(n) * (std::log(std::max(docs - count, 0.0) + alpha) - none);
        return found;
    }

    // ---- the weighted model ----------------------------------------------------------------------
    double log_count(u32 count) const {
        if (count < reading.log_counts.size()) return static_cast<double>(reading.log_counts[count]);
        return static_cast<double>(std::log1p(static_cast<float>(count)));
    }

    // log(N_t s_k + τ) of each class: many terms of a document have the same N_t.
    const double* expected_of(double frequency, const std::vector<double>& share) {
        const std::size_t slot =
            frequency < 1e18 ? static_cast<std::size_t>(frequency) % frequencies_.size() : 0;
        double* found = expected_.data() + slot * share.size();
        if (frequencies_[slot] == frequency) return found;
        frequencies_[slot] = frequency;
        for (std::size_t i = 0; i < share.size(); ++i)
            found[i] = std::log(frequency * share[i] + reading.tau);
        return found;
    }

    void score_weighted(const Entry* entries, std::size_t n, double* out) {
        const std::size_t K = shown_.size(), all = counts.classes.size();
        std::vector<double>&share = scratch_[0], &row = scratch_[1], &sum = scratch_[2], &ridge = scratch_[3];
        share.assign(K, 0.0), row.assign(K, 0.0), sum.assign(all + 1, 0.0);
        ridge.assign(static_cast<std::size_t>(reading.ridge_classes), 0.0);
        double total = 0.0;
        for (std::size_t k = 0; k < all; ++k)
            total += reading.mass ? counts.counts_of(k) : counts.documents_of(k);
        const bool mass = reading.mass && total > 0.0;  // of no term at all, documents
        if (!mass) total = std::max(counts.documents(), 1e-300);
        for (std::size_t i = 0; i < K; ++i) {
            const std::size_t k = static_cast<std::size_t>(shown_[i]);
            share[i] = (mass ? counts.counts_of(k) : counts.documents_of(k)) / total;
        }
        frequencies_.fill(-1.0);
        expected_.resize(frequencies_.size() * K);
        double length = 0.0, squares = 0.0;
        for (std::size_t e = 0; e < n; ++e) {
            const u32 t = entries[e].term;
            const double tf = log_count(entries[e].count), frequency = counts.frequency(t);
            length += tf;
            if (reading.ridge_classes) {
                const RidgeTerm known = ridge_of(t);
                squares += tf * known.idf * (tf * known.idf);
                if (known.column) {
                    const float* u = reading.u.data() + (known.column - 1) * reading.ridge_classes;
                    for (i64 c = 0; c < reading.ridge_classes; ++c)
                        ridge[static_cast<std::size_t>(c)] += tf * known.idf * static_cast<double>(u[c]);
                }
            }
            const i64 size = static_cast<i64>(std::min(std::log2(std::max(frequency, 1.0)), BINS - 1.0));
            const i64 order = std::min<i64>(vocabulary_.order(t), MAX_ORDER);
            const std::size_t bin = static_cast<std::size_t>(size + BINS * order);
            const double weight = bin < reading.weights.size() ? reading.weights[bin] : 0.0;
            if (weight == 0.0) continue;
            const double by = tf * weight;
            const double* expected = expected_of(frequency, share);
            for (std::size_t i = 0; i < K; ++i) row[i] -= by * expected[i];
            counts.each(t, [&](const LivePair& p) {
                sum[static_cast<std::size_t>(p.k)] += by * log_ratio(p.count, reading.tau);
            });
        }
        double mean = 0.0;
        for (std::size_t i = 0; i < K; ++i) mean += row[i] / static_cast<double>(K);
        length = std::max(length, reading.min_length);
        const double by_length = length > 0.0 ? std::pow(length / reading.mean_length, -reading.power) : 1.0;
        const double by_ridge = squares > 0.0 ? 1.0 / std::sqrt(squares) : 0.0;
        for (std::size_t i = 0; i < K; ++i) {
            const std::size_t k = static_cast<std::size_t>(shown_[i]);
            out[i] = intercept[k] + by_length * (row[i] - mean + sum[k]);
            if (reading.ridge_classes == static_cast<i64>(K))
                out[i] += by_ridge * ridge[i];
            else if (reading.ridge_classes)
                out[i] += (i ? 0.5 : -0.5) * by_ridge * ridge[0];
        }
    }

    // ---- terms in order --------------------------------------------------------------------------
    // Merges the terms that came since with those that are in order; the names of all.
    NamedTerms put_in_order() {
        in_order_.resize(vocabulary_.size(), 0);
        std::vector<u32> fresh;
        for (std::size_t t = 0; t < in_order_.size(); ++t)
            if (!in_order_[t] && counts.holds(static_cast<u32>(t)))
                fresh.push_back(static_cast<u32>(t));
        if (by_bucket_) {
            const auto before = [&](u32 a, u32 b) {
                return vocabulary_.bucket_of_term(a) < vocabulary_.bucket_of_term(b);
            };
            std::sort(fresh.begin(), fresh.end(), before);
            std::vector<u32> merged(ordered_.size() + fresh.size());
            std::merge(ordered_.begin(), ordered_.end(), fresh.begin(), fresh.end(), merged.begin(), before);
            for (u32 t : fresh) in_order_[t] = 1;
            ordered_ = std::move(merged);
            return {};
        }
        const NamedTerms old = names_of(ordered_), added = names_of(fresh);
        std::vector<std::size_t> rank(fresh.size());
        std::iota(rank.begin(), rank.end(), std::size_t(0));
        std::sort(rank.begin(), rank.end(),
                  [&](std::size_t a, std::size_t b) { return is_before(added, a, added, b); });
        NamedTerms names;
        std::vector<u32> merged;
        merged.reserve(ordered_.size() + fresh.size());
        names.bytes.reserve(old.bytes.size() + added.bytes.size());
        names.end.reserve(old.end.size() + fresh.size());
        const auto take = [&](const NamedTerms& from, std::size_t i, u32 t) {
            merged.push_back(t);
            names.bytes.insert(names.bytes.end(), from.bytes.begin() + from.end[i],
                               from.bytes.begin() + from.end[i + 1]);
            names.end.push_back(static_cast<i64>(names.bytes.size()));
        };
        std::size_t i = 0;
        for (std::size_t j : rank) {
            for (; i < ordered_.size() && is_before(old, i, added, j); ++i) take(old, i, ordered_[i]);
            take(added, j, fresh[j]);
        }
        for (; i < ordered_.size(); ++i) take(old, i, ordered_[i]);
        for (u32 t : fresh) in_order_[t] = 1;
        ordered_ = std::move(merged);
        return names;
    }
    NamedTerms names_of(const std::vector<u32>& nodes) const {
        NamedTerms out;
        std::vector<u32> path;
        for (u32 t : nodes) {
            vocabulary_.spell(t, path, out.bytes);
            out.end.push_back(static_cast<i64>(out.bytes.size()));
        }
        return out;
    }
    static bool is_before(const NamedTerms& a, std::size_t i, const NamedTerms& b, std::size_t j) {
        return compare(a.view(), i, b.view(), j) < 0;
    }

    static constexpr double LOST = 1e-13;  // of a sum that cancels

    bool by_bucket_;
    LiveVocabulary vocabulary_;
    std::vector<i32> shown_;
    std::vector<u32> ordered_;   // terms by name
    std::vector<u8> in_order_;   // whether a term is among them
    Blocks<FixedIdf> fixed_;
    Blocks<RidgeTerm> ridge_;
    std::vector<Entry> entries_;
    std::vector<std::size_t> ends_;
    std::vector<double> scratch_[4];
    static constexpr std::size_t SMALL = 1 << 10;
    std::array<double, SMALL> log_small_ = {};
    double log_of_ = 0.0;                // the smoothing that they are of
    std::array<double, 64> frequencies_ = {};
    std::vector<double> expected_;  // of these frequencies, by class
};

}  // namespace tb
