// The tally of documents, sparse: N_tk = Σ_i w_i [document i is of class k and holds term t] and, if
// values are given, V_tk = Σ_i w_i v_it [document i is of class k].
//
// Terms are counted in blocks, each by itself, so that the numbers of a block stay in the cache and
// threads share nothing. A block takes documents class by class: a pair of a term and a class is new
// if no document of the class had the term before. Its pairs, which come by class, are then dealt out
// to their terms.
#pragma once
#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "core/memory.hpp"
#include "documents/rows.hpp"

namespace tb {

using u32 = std::uint32_t;

template <class Value>
struct LabelledDocuments {
    const i64* indptr;
    const i32* terms;
    const Value* values;  // or null
    const i32* codes;
    const double* weights;  // or null: 1
    i64 n, n_terms, classes;
};

struct CountedTerms {
    BigVector<i64> start;
    BigVector<i32> classes;
    BigVector<double> counts, sums;
};

constexpr i64 BLOCK_TERMS = 1 << 16;      // of which a number each stays in the cache
constexpr i64 MIN_ENTRIES_A_VISIT = 16;  // of a document in a block, on average

template <class Value>
class TermCounter {
public:
    explicit TermCounter(const LabelledDocuments<Value>& documents)
        : x_(documents), order_(static_cast<std::size_t>(documents.n)) {
        sort_documents();
        check_terms();
    }

    CountedTerms counted(int threads) const {
        const i64 entries = x_.indptr[x_.n] - x_.indptr[0];
        i64 blocks = (x_.n_terms + BLOCK_TERMS - 1) / BLOCK_TERMS;
        blocks = std::min(blocks, entries / (MIN_ENTRIES_A_VISIT * (x_.n + 1)));
        if (!ascending_ || blocks < 1) blocks = 1;
        const i64 used = threads_for(4 * entries, blocks, threads);
        std::vector<CountedTerms> parts(static_cast<std::size_t>(used));
        run_tasks(used, static_cast<int>(used), [&](i64 t, int) {
            const i64 first = blocks * t / used, end = blocks * (t + 1) / used;
            parts[static_cast<std::size_t>(t)] = counted_blocks(first, end, blocks);
        });
        return joined(std::move(parts));
    }

private:
    static constexpr u32 NONE = ~u32(0);
    static constexpr std::size_t AHEAD = 4;
    struct Pair {
        u32 term;  // in the block
        i32 k;
        double count, sum;
    };

    void sort_documents() {
        std::vector<i64> at(static_cast<std::size_t>(x_.classes) + 1, 0);
        for (i64 i = 0; i < x_.n; ++i) {
            if (x_.codes[i] < 0 || x_.codes[i] >= x_.classes)
                throw std::out_of_range("a class code is out of range");
            ++at[x_.codes[i] + 1];
        }
        for (i64 k = 0; k < x_.classes; ++k) at[k + 1] += at[k];
        for (i64 i = 0; i < x_.n; ++i) order_[at[x_.codes[i]]++] = i;
    }
    void check_terms() {
        bool within = true;
        for (i64 p = x_.indptr[0]; p < x_.indptr[x_.n]; ++p)
            within &= static_cast<u64>(x_.terms[p]) < static_cast<u64>(x_.n_terms);
        if (!within) throw std::out_of_range("a term is out of range");
        for (i64 i = 0; i < x_.n; ++i)
            for (i64 p = x_.indptr[i] + 1; p < x_.indptr[i + 1]; ++p)
                ascending_ &= x_.terms[p - 1] <= x_.terms[p];
    }

    CountedTerms counted_blocks(i64 first, i64 end, i64 blocks) const {
        CountedTerms out;
        std::vector<i64> next(order_.size());  // entry of each document
        const auto begin_of = [&](i64 block) { return x_.n_terms * block / blocks; };
        for (std::size_t r = 0; r < order_.size(); ++r) {
            const i32* row = x_.terms + x_.indptr[order_[r]];
            const i32* stop = x_.terms + x_.indptr[order_[r] + 1];
            next[r] = (first ? std::lower_bound(row, stop, begin_of(first)) : row) - x_.terms;
        }
        std::vector<u32> last;
        BigVector<Pair> pairs;  // some of which are used
        for (i64 b = first; b < end; ++b) {
            const i64 begin = begin_of(b), stop = begin_of(b + 1);
            last.assign(static_cast<std::size_t>(stop - begin), NONE);
            const u32 used = count_block(begin, stop, next, last, pairs);
            deal_out(last, pairs.data(), used, out);
        }
        return out;
    }

    // last: where the last pair of each term is; returns how many pairs there are
    u32 count_block(i64 begin, i64 stop, std::vector<i64>& next, std::vector<u32>& last,
                    BigVector<Pair>& pairs) const {
        std::size_t used = 0, of_class = 0;  // the pairs of the class at hand begin there
        i32 k = -1;
        for (std::size_t r = 0; r < order_.size(); ++r) {
            const i64 i = order_[r], end = x_.indptr[i + 1];
            if (r + AHEAD < order_.size()) {
                __builtin_prefetch(x_.terms + next[r + AHEAD]);
                if (x_.values) __builtin_prefetch(x_.values + next[r + AHEAD]);
            }
            if (x_.codes[i] != k) {
                k = x_.codes[i];
                of_class = used;
            }
            const double w = x_.weights ? x_.weights[i] : 1.0;
            i64 p = next[r];
            const std::size_t room = used + static_cast<std::size_t>(end - p);
            if (room >= NONE) throw std::length_error("too many pairs of terms and classes");
            if (pairs.size() < room) pairs.resize(room + room / 2);
            for (; p < end && x_.terms[p] < stop; ++p) {
                u32& at = last[static_cast<std::size_t>(x_.terms[p] - begin)];
                const bool fresh = at == NONE || at < of_class;  // no branch: neither is rare
                at = fresh ? static_cast<u32>(used) : at;
                used += fresh;
                Pair& pair = pairs[at];
                pair.term = static_cast<u32>(x_.terms[p] - begin);
                pair.k = k;
                pair.count = (fresh ? 0.0 : pair.count) + w;
                if (!x_.values) continue;
                pair.sum = (fresh ? 0.0 : pair.sum) + w * static_cast<double>(x_.values[p]);
            }
            next[r] = p;
        }
        return static_cast<u32>(used);
    }

    // at: anything, of the size of the block
    void deal_out(std::vector<u32>& at, const Pair* pairs, u32 n, CountedTerms& out) const {
        std::fill(at.begin(), at.end(), 0);
        for (u32 i = 0; i < n; ++i) ++at[pairs[i].term];
        const std::size_t before = out.classes.size();
        u32 sum = 0;
        for (u32& a : at) {
            const u32 here = a;
            a = sum;
            sum += here;
            out.start.push_back(static_cast<i64>(before + sum));
        }
        out.classes.resize(before + n);
        out.counts.resize(before + n);
        if (x_.values) out.sums.resize(before + n);
        for (u32 i = 0; i < n; ++i) {
            const std::size_t to = before + at[pairs[i].term]++;
            out.classes[to] = pairs[i].k;
            out.counts[to] = pairs[i].count;
            if (x_.values) out.sums[to] = pairs[i].sum;
        }
    }

    CountedTerms joined(std::vector<CountedTerms> parts) const {
        CountedTerms all = std::move(parts[0]);
        all.start.insert(all.start.begin(), 0);
        for (std::size_t p = 1; p < parts.size(); ++p) {
            const i64 before = static_cast<i64>(all.classes.size());
            for (i64 end : parts[p].start) all.start.push_back(before + end);
            append(all.classes, parts[p].classes);
            append(all.counts, parts[p].counts);
            append(all.sums, parts[p].sums);
        }
        return all;
    }
    template <class T>
    static void append(BigVector<T>& to, const BigVector<T>& more) {
        to.insert(to.end(), more.begin(), more.end());
    }

    const LabelledDocuments<Value>& x_;
    std::vector<i64> order_;  // of documents, by class
    bool ascending_ = true;   // the terms of each document
};

}  // namespace tb
