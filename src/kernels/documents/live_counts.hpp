// The tally of documents that come and go one by one: N_tk, the documents of class k that hold term t,
// by weight, and V_tk, the sums of their values. What a score needs of all terms is kept beside them:
// the number of terms, Σ_t N_tk, Σ_t V_tk, Σ_t V_tk log N_t, and how many terms of a class have each N_tk.
//
// With a half-life every document that comes takes a share of all weights. No pass over the terms does
// that: weights are kept times a scale that grows by that share, and divided by it where they are read.
#pragma once
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "documents/absent_terms.hpp"
#include "documents/live_terms.hpp"
#include "simd/loop_table.hpp"

namespace tb {

constexpr double MAX_RESIDUE_ROWS = 0x1p-30;  // as tally/base.py has it
constexpr double WEIGHT_SLACK = 0x1p-30;      // as tally/terms.py has it
constexpr double FADED = 0x1p-99;             // as tally/terms.py has it
constexpr double FADED_VALUE = 0x1p-10;       // as tally/terms.py has it
constexpr double FEW = 0x1p-30;               // documents
constexpr double MAX_HALVINGS = 512.0;        // by which the scale may grow before weights are written again

// What is left of a sum; 0 where that is rounding. A document of weight 1 is `scale` in it.
inline double less(double before, double taken, double scale) {
    const double rest = before - taken, size = std::fabs(rest);
    if (size <= RESIDUE * std::fabs(before) && size < 0.5 * scale) return 0.0;
    if (size < MAX_RESIDUE_ROWS * scale && std::fabs(before - rest) >= 1000.0 * size) return 0.0;
    return rest;
}

struct LivePair {
    double count = 0.0, sum = 0.0;
    i32 k = -1;          // the class; −1 where the pair is not used
    u32 next = NO_TERM;  // in the pairs beyond the first of each term
};

// Numbers are kept times the scale.
struct LiveClass {
    double documents = 0.0;
    i64 pairs = 0;  // that have counts
    RunningSum counts, sums, logs;
    std::unordered_map<double, i64> same;  // how many of its terms have each N_tk
    AbsentTerms absent;                    // where counts fade, in its place
};

class LiveCounts {
public:
    // What is kept beside the counts, for a score that needs it.
    bool with_logs = false, with_same = false;
    std::vector<LiveClass> classes;
    i64 terms = 0;  // that some document holds

    // ---- weights that fade -----------------------------------------------------------------------
    // The documents after which a weight is half of what it was; before anything is counted.
    void fade_by(double half_life) {
        half_life_ = half_life;
        least_ = FADED;
    }
    bool fades() const { return half_life_ > 0.0; }
    // Makes room for the scale of so many more documents.
    void let_come(std::size_t documents) {
        if (!fades()) return;
        const double more = static_cast<double>(documents);
        if (more > MAX_HALVINGS * half_life_) throw std::length_error("too many half-lives at a time");
        if (passed_ + more > MAX_HALVINGS * half_life_) rescale();
    }
    // Everything fades as if so many documents had come.
    void pass(std::size_t documents) {
        if (fades()) set_passed(passed_ + static_cast<double>(documents));
    }

    // ---- what there is now -----------------------------------------------------------------------
    double pruned() const { return pruned_ * unit_; }
    void set_pruned(double bound) { pruned_ = bound * scale_; }
    double documents_of(std::size_t k) const { return now(classes[k].documents); }
    double documents() const {
        double all = 0.0;
        for (const LiveClass& c : classes) all += now(c.documents);
        return all;
    }
    double counts_of(std::size_t k) const { return classes[k].counts.value() * unit_; }
    double sums_of(std::size_t k) const { return classes[k].sums.value() * unit_; }
    // Σ_t V_tk log N_t
    double logs_of(std::size_t k) const {
        const LiveClass& c = classes[k];
        return (c.logs.value() - log_scale() * c.sums.value()) * unit_;
    }
    double log_scale() const { return passed_ == 0.0 ? 0.0 : passed_ / half_life_ * std::log(2.0); }

    // use(pair) for each pair of a term that has a count.
    template <class Use>
    void each(u32 t, Use&& use) const {
        each_kept(t, [&](const LivePair& p) { use(LivePair{now(p.count), p.sum * unit_, p.k, p.next}); });
    }
    bool holds(u32 t) const {
        bool found = false;
        each_kept(t, [&](const LivePair&) { found = true; });
        return found;
    }
    // use(class, count) for each pair of all terms.
    template <class Use>
    void each_count(Use&& use) const {
        const auto give = [&](const LivePair& p) {
            if (p.count != 0.0) use(static_cast<std::size_t>(p.k), now(p.count));
        };
        for (std::size_t t = 0; t < first_.room(); ++t) give(first_[t]);
        for (u32 i = 0; i < used_; ++i) give(more_[i]);
    }
    // Where counts fade: Σ_t log((N_k − N_tk + α) / (N_k + α)) over the terms of a class, for one α.
    double log_absent(std::size_t own, double alpha) {
        const double docs = documents_of(own);
        if (docs + alpha < FEW) {  // beside which counts that have faded are something
            LogProduct product;
            each_count([&](std::size_t k, double count) {
                if (k == own) product.take((std::max(docs - count, 0.0) + alpha) / (docs + alpha));
            });
            return product.value();
        }
        keep_absent(alpha);
        LiveClass& c = classes[own];
        return c.absent.value(kept(c.documents), alpha * scale_);
    }
    // What these need of all terms.
    void keep_absent(double alpha) {
        if (with_absent_) return;
        for (LiveClass& c : classes) c.absent = AbsentTerms();
        with_absent_ = true;
        alpha_ = alpha;
        for (std::size_t t = 0; t < first_.room(); ++t)
            each_kept(static_cast<u32>(t), [&](const LivePair& p) {
                change_absent(static_cast<u32>(t), p, 0.0, p.count);
            });
    }
    double frequency(u32 t) const {
        double found = 0.0;
        each_kept(t, [&](const LivePair& p) { found += now(p.count); });
        return found;
    }

    // Room for terms up to n.
    void reserve(std::size_t n) { first_.reserve(n); }

    void prefetch(u32 t) const { __builtin_prefetch(&first_[t]); }
    void prefetch_next(u32 t) const {
        if (first_[t].next != NO_TERM) __builtin_prefetch(&more_[first_[t].next]);
    }

    // ---- changes ---------------------------------------------------------------------------------
    // Counts of a pair as they were saved.
    void put(u32 t, i32 k, double count, double sum) { change(t, pair(t, k), count, sum); }

    // Counts a document of class k whose terms have these values, when all before it have faded. A
    // failure leaves nothing of it.
    template <class ValueOf>
    void learn(const Entry* entries, std::size_t n, ValueOf&& value_of, i32 k, double w) {
        attempt([&] {
            pass(1);
            w *= scale_;
            for (std::size_t i = 0; i < n; ++i) {
                LivePair& p = pair(entries[i].term, k);
                change(entries[i].term, p, p.count + w, p.sum + w * value_of(i));
            }
            LiveClass& c = classes[static_cast<std::size_t>(k)];
            c.documents += w;
            return true;
        });
    }

    // Takes a document away; false where more would be taken than was counted of some term.
    template <class ValueOf>
    bool forget(const Entry* entries, std::size_t n, ValueOf&& value_of, i32 k, double w) {
        return attempt([&] {
            LiveClass& c = classes[static_cast<std::size_t>(k)];
            w *= scale_;
            const double before = kept(c.documents), smoothing = alpha_ * scale_;
            c.documents = less(before, w, scale_);
            if (c.documents < 0.0) return false;
            if (with_absent_ && !c.absent.shrink(before + smoothing, c.documents + smoothing))
                with_absent_ = false;
            for (std::size_t i = 0; i < n; ++i)
                if (!take(entries[i].term, k, w, w * value_of(i))) return false;
            return true;
        });
    }

    // Whether no term has more documents of a class than there are, within an attempt: of a document that
    // was never learned, the terms that it lacks may have.
    bool has_documents_for_all(i32 k) {
        const std::size_t own = static_cast<std::size_t>(k);
        LiveClass& c = classes[own];
        double largest = 0.0;
        if (fades()) {  // counts all differ
            each_count([&](std::size_t of, double n) { largest = of == own ? std::max(largest, n) : largest; });
        } else {
            keep_same();
            for (const auto& [n, terms] : c.same) largest = std::max(largest, n);
        }
        const double docs = documents_of(own);
        if (largest <= docs * (1.0 + WEIGHT_SLACK)) return true;
        // beside older documents that have faded, what is left of them may be rounded
        if (!fades() || docs == 0.0 || largest > docs + RESIDUE * now(before_[own].documents)) return false;
        c.documents = largest * scale_;
        return true;
    }

    // Runs a change of several documents that is made whole or not at all.
    template <class Change>
    bool attempt(Change&& change) {
        const bool outer = !open_;
        if (outer) begin();
        bool done = false;
        try {
            done = change();
        } catch (...) {
            if (outer) roll_back();
            throw;
        }
        if (!outer) return done;
        if (!done)
            roll_back();
        else
            open_ = false;
        return done;
    }

    void keep_same() {
        if (with_same || fades()) return;
        with_same = true;
        each_count([&](std::size_t k, double count) { ++classes[k].same[count]; });
    }

private:
    // Kept numbers as they weigh now, and the other way: nothing that is there fades away.
    double now(double count) const { return count == 0.0 ? 0.0 : std::max(count * unit_, least_); }
    double kept(double count) const { return count == 0.0 ? 0.0 : std::max(count, least_ * scale_); }

    template <class Use>
    void each_kept(u32 t, Use&& use) const {
        if (t >= first_.room()) return;
        for (const LivePair* p = &first_[t];; p = &more_[p->next]) {
            if (p->count != 0.0) use(*p);
            if (p->next == NO_TERM) return;
        }
    }
    double kept_frequency(u32 t) const {
        double found = 0.0;
        each_kept(t, [&](const LivePair& p) { found += p.count; });
        return found;
    }

    void set_passed(double documents) {
        passed_ = documents;
        scale_ = documents == 0.0 ? 1.0 : std::exp2(documents / half_life_);
        unit_ = documents == 0.0 ? 1.0 : std::exp2(-documents / half_life_);
    }
    // Writes every weight as it is now, and begins with the scale 1.
    void rescale() {
        const auto write = [&](LivePair& p) {
            if (p.count == 0.0) return;
            p.count = now(p.count);
            p.sum *= unit_;
            LiveClass& c = classes[static_cast<std::size_t>(p.k)];
            c.counts.add(p.count);
            c.sums.add(p.sum);
        };
        for (LiveClass& c : classes) {
            c.absent.rescale(scale_);
            c.documents = now(c.documents);
            c.counts = c.sums = c.logs = RunningSum();
        }
        for (std::size_t t = 0; t < first_.room(); ++t) write(first_[t]);
        for (u32 i = 0; i < used_; ++i) write(more_[i]);
        pruned_ *= unit_;
        set_passed(0.0);
        for (std::size_t t = 0; with_logs && t < first_.room(); ++t)
            add_logs(static_cast<u32>(t), kept_frequency(static_cast<u32>(t)), 1.0);
    }

    struct Changed {
        u32 term;
        LivePair* pair;
        double count, sum;
    };
    struct Before {
        double documents;
        RunningSum counts, sums, logs;
    };

    // The pair, which is new and empty if there was none.
    LivePair& pair(u32 t, i32 k) {
        first_.reserve(std::size_t(t) + 1);
        LivePair* p = &first_[t];
        if (p->k < 0) p->k = k;
        while (p->k != k) {
            if (p->next == NO_TERM) {
                if (used_ == NO_TERM) throw std::length_error("too many pairs of terms and classes");
                more_.reserve(std::size_t(used_) + 1);
                more_[used_].k = k;
                p->next = used_++;
            }
            p = &more_[p->next];
        }
        return *p;
    }

    bool take(u32 t, i32 k, double w, double value) {
        LivePair& p = pair(t, k);
        double count = less(kept(p.count), w, scale_), sum = less(p.sum, value, scale_);
        if (pruned_ > 0.0) {  // what may have been pruned is not asked back
            const bool missed = count <= 0.0 && count >= -pruned_ * (1.0 + WEIGHT_SLACK);
            count = missed ? 0.0 : count;
            sum = missed ? 0.0 : std::max(sum, 0.0);
        }
        if (fades() && count == 0.0 && std::fabs(sum) < FADED_VALUE * scale_) sum = 0.0;
        if (count < 0.0 || sum < 0.0 || (count == 0.0 && sum != 0.0)) return false;
        change(t, p, count, sum);
        return true;
    }

    void change(u32 t, LivePair& p, double count, double sum) {
        LiveClass& c = classes[static_cast<std::size_t>(p.k)];
        if (open_) changed_.push_back({t, &p, p.count, p.sum});
        if (with_same && count != 0.0) ++c.same[count];  // which may throw: before anything else
        if (with_same && p.count != 0.0) {
            const auto at = c.same.find(p.count);
            if (!--at->second) c.same.erase(at);
        }
        if (with_absent_) change_absent(t, p, p.count, count);
        const bool was = p.count != 0.0, is = count != 0.0;
        const double before = with_logs || was != is ? kept_frequency(t) : 0.0;
        if (with_logs) add_logs(t, before, -1.0);
        c.counts.add(count - p.count);
        c.sums.add(sum - p.sum);
        p.count = count;
        p.sum = sum;
        c.pairs += int(is) - int(was);
        if (!c.pairs) c.counts = c.sums = RunningSum();
        if (was == is && !with_logs) return;
        const double after = kept_frequency(t);
        terms += int(after != 0.0) - int(before != 0.0);
        if (with_logs) add_logs(t, after, 1.0);
        if (!c.pairs) c.logs = RunningSum();
    }

    void change_absent(u32 t, const LivePair& p, double before, double after) {
        LiveClass& c = classes[static_cast<std::size_t>(p.k)];
        c.absent.change(t, p.count, before, after, kept(c.documents) + alpha_ * scale_);
    }

    // Adds V_tk log N_t to the sums of the classes.
    void add_logs(u32 t, double frequency, double sign) {
        if (frequency <= 0.0) return;
        const double log = sign * std::log(frequency);
        each_kept(t,
                  [&](const LivePair& p) { classes[static_cast<std::size_t>(p.k)].logs.add(log * p.sum); });
    }

    void begin() {
        changed_.clear();
        before_.clear();
        for (const LiveClass& c : classes) before_.push_back({c.documents, c.counts, c.sums, c.logs});
        passed_before_ = passed_;
        open_ = true;
    }
    void roll_back() {
        open_ = with_absent_ = false;
        for (std::size_t i = changed_.size(); i--;) {
            const Changed& was = changed_[i];
            change(was.term, *was.pair, was.count, was.sum);
        }
        for (std::size_t k = 0; k < before_.size(); ++k) {  // to the last bit
            LiveClass& c = classes[k];
            c.documents = before_[k].documents;
            c.counts = before_[k].counts;
            c.sums = before_[k].sums;
            c.logs = before_[k].logs;
        }
        set_passed(passed_before_);
    }

    Blocks<LivePair> first_, more_;  // of each term its first pair, and those beyond
    u32 used_ = 0;
    std::vector<Changed> changed_;
    std::vector<Before> before_;
    bool open_ = false;
    double half_life_ = 0.0, least_ = 0.0;  // 0 where nothing fades
    double passed_ = 0.0, scale_ = 1.0, unit_ = 1.0;  // documents since the scale was 1; it; 1 / it
    double passed_before_ = 0.0;
    double pruned_ = 0.0;
    bool with_absent_ = false;
    double alpha_ = 0.0;  // of absent terms
};

}  // namespace tb
