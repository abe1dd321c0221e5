// The log-loss of weighted terms and its gradient, in one pass over rows.
//
// Z are values of terms (layers, terms, n), a layer a class; of two classes one layer, the second's
// less the first's. The score of a class is S_k = offset_k + Σ_t v_kt·z_kt, of two classes
// offset_k ± ½ Σ_t v_1t·z_t. Rows are gone through in blocks small enough for what is read for the
// scores to be at hand for the gradient. Lanes are of a fixed number, so that the instruction set does
// not show.
#pragma once
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/parallel.hpp"
#include "simd/loop_table.hpp"

namespace tb {

struct WeightedTerms {
    const float* Z;
    i64 of_layer, of_term;  // how far layers and terms are apart
    i64 layers, terms, n, classes;
    const double *v, *offset;  // (classes, terms), (classes,)
    const i32* y;
    const double* weight;
};

class LossBlocks {  // what a thread needs
public:
    static constexpr i64 ROWS = BLOCK, LANES = 8;

    LossBlocks(const Loops& loops, const WeightedTerms& terms)
        : loops_(loops),
          w_(terms),
          used_(terms.layers * terms.terms),
          factor_(used_),
          lanes_(used_ * LANES),
          in_b_(terms.classes),
          scores_(terms.classes * ROWS),
          shares_(terms.classes * ROWS) {
        const i64 first = terms.classes - terms.layers;  // of two classes the second
        for (i64 l = 0; l < terms.layers; ++l)
            for (i64 t = 0; t < terms.terms; ++t)
                factor_[l * terms.terms + t] =
                    static_cast<float>(terms.v[(first + l) * terms.terms + t]);
    }
    // The loss of some rows; sums receives the gradient in v (layers, terms), then in the offsets.
    double run(i64 begin, i64 end, double* sums) {
        std::fill(lanes_.begin(), lanes_.end(), 0.0f);
        std::fill(in_b_.begin(), in_b_.end(), 0.0);
        double loss = 0.0;
        for (i64 i = begin; i < end; i += ROWS) {
            const i64 count = end - i < ROWS ? end - i : ROWS;
            const float* z = w_.Z + i;
            i64 of_layer = w_.of_layer, of_term = w_.of_term;
            if (count < ROWS) {
                z = padded(z, count);
                of_term = ROWS, of_layer = w_.terms * ROWS;
            }
            score(z, of_layer, of_term);
            loss += normalise(i, count);
            gather(z, of_layer, of_term);
        }
        for (i64 j = 0; j < used_; ++j) {
            const float* a = lanes_.data() + j * LANES;
            sums[j] = ((static_cast<double>(a[0]) + a[4]) + (static_cast<double>(a[1]) + a[5])) +
                      ((static_cast<double>(a[2]) + a[6]) + (static_cast<double>(a[3]) + a[7]));
        }
        for (i64 k = 0; k < w_.classes; ++k) sums[used_ + k] = in_b_[k];
        return loss;
    }

private:
    const float* padded(const float* z, i64 count) {
        rest_.assign(used_ * ROWS, 0.0f);
        for (i64 l = 0; l < w_.layers; ++l)
            for (i64 t = 0; t < w_.terms; ++t)
                std::memcpy(rest_.data() + (l * w_.terms + t) * ROWS,
                            z + l * w_.of_layer + t * w_.of_term, count * sizeof(float));
        return rest_.data();
    }
    void score(const float* z, i64 of_layer, i64 of_term) {
        for (i64 l = 0; l < w_.layers; ++l) {
            float sum[ROWS];
            loops_.block_scores(z + l * of_layer, of_term, w_.terms,
                                factor_.data() + l * w_.terms, sum);
            double* s = scores_.data() + l * ROWS;
            if (w_.layers == w_.classes) {
                for (i64 i = 0; i < ROWS; ++i) s[i] = w_.offset[l] + sum[i];
            } else {
                for (i64 i = 0; i < ROWS; ++i) {
                    s[i] = w_.offset[0] - 0.5 * sum[i];
                    s[ROWS + i] = w_.offset[1] + 0.5 * sum[i];
                }
            }
        }
    }
    // Scores become residuals w·(P_k − [k = y]); the loss.
    double normalise(i64 first, i64 count) {
        double top[ROWS], all[ROWS], logs[ROWS], scale[ROWS], loss = 0.0;
        const i64 K = w_.classes;
        std::memcpy(top, scores_.data(), sizeof top);
        for (i64 k = 1; k < K; ++k) {
            const double* s = scores_.data() + k * ROWS;
            for (i64 i = 0; i < ROWS; ++i) top[i] = s[i] > top[i] ? s[i] : top[i];
        }
        for (i64 i = 0; i < ROWS; ++i) all[i] = 0.0;
        for (i64 k = 0; k < K; ++k) {
            const double* s = scores_.data() + k * ROWS;
            float* e = shares_.data() + k * ROWS;
            for (i64 i = 0; i < ROWS; ++i) e[i] = static_cast<float>(s[i] - top[i]);
            loops_.exps(ROWS, e);
            for (i64 i = 0; i < ROWS; ++i) all[i] += e[i];
        }
        std::memcpy(logs, all, sizeof logs);
        loops_.logs(ROWS, logs);
        double own[ROWS];
        for (i64 i = 0; i < ROWS; ++i) scale[i] = (i < count ? w_.weight[first + i] : 0.0) / all[i];
        for (i64 i = 0; i < count; ++i) {
            const i64 at = w_.y[first + i] * ROWS + i;
            loss += w_.weight[first + i] * (logs[i] + (top[i] - scores_[at]));
            own[i] = (shares_[at] - all[i]) * scale[i];
        }
        for (i64 k = 0; k < K; ++k) {
            float* e = shares_.data() + k * ROWS;
            for (i64 i = 0; i < ROWS; ++i) e[i] = static_cast<float>(e[i] * scale[i]);
        }
        for (i64 i = 0; i < count; ++i)
            shares_[w_.y[first + i] * ROWS + i] = static_cast<float>(own[i]);
        for (i64 k = 0; k < K; ++k) {
            const float* e = shares_.data() + k * ROWS;
            double part[4] = {0.0, 0.0, 0.0, 0.0};
            for (i64 i = 0; i < ROWS; i += 4)
                for (i64 j = 0; j < 4; ++j) part[j] += e[i + j];
            in_b_[k] += (part[0] + part[1]) + (part[2] + part[3]);
        }
        return loss;
    }
    void gather(const float* z, i64 of_layer, i64 of_term) {
        const i64 first = w_.classes - w_.layers;
        for (i64 l = 0; l < w_.layers; ++l)
            loops_.block_products(z + l * of_layer, of_term, w_.terms,
                                  shares_.data() + (first + l) * ROWS,
                                  lanes_.data() + l * w_.terms * LANES);
    }

    const Loops& loops_;
    const WeightedTerms& w_;
    i64 used_;
    std::vector<float> factor_, lanes_;
    std::vector<double> in_b_, scores_;
    std::vector<float> shares_, rest_;
};

// The log-loss; in_v (classes, terms) and in_b (classes,) become its gradient.
inline double weighted_loss(const Loops& loops, const WeightedTerms& w, double* in_v,
                            double* in_b, int allowed) {
    const i64 step = 16 * LossBlocks::ROWS, tasks = (w.n + step - 1) / step;
    const i64 used = w.layers * w.terms;
    const int threads = threads_for(w.n * (used + 8 * w.classes) / 8, tasks, allowed);
    std::vector<LossBlocks> blocks(threads, LossBlocks(loops, w));
    std::vector<std::vector<double>> part(threads, std::vector<double>(used + w.classes));
    std::vector<double> sums(used + w.classes, 0.0), losses(tasks);
    double loss = 0.0;
    run_in_order(
        tasks, threads,
        [&](i64 task, int thread) {
            const i64 end = (task + 1) * step < w.n ? (task + 1) * step : w.n;
            losses[task] = blocks[thread].run(task * step, end, part[thread].data());
        },
        [&](i64 task, int thread) {
            loss += losses[task];
            for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += part[thread][j];
        });
    for (i64 k = 0; k < w.classes; ++k) {
        const double* from = sums.data() + (w.layers == w.classes ? k * w.terms : 0);
        for (i64 t = 0; t < w.terms; ++t)
            in_v[k * w.terms + t] = w.layers == w.classes ? from[t] : 0.5 * from[t];
        in_b[k] = sums[used + k];
    }
    return loss;
}

// into (terms, n) becomes the values of a layer of some rows times a factor for each.
inline void scaled_rows(const float* Z, i64 of_term, i64 terms, const i64* rows, i64 n,
                        const float* factor, float* into) {
    for (i64 t = 0; t < terms; ++t, Z += of_term, into += n)
        for (i64 i = 0; i < n; ++i) into[i] = Z[rows[i]] * factor[i];
}

// Log-loss Σ w·(log Σ exp S − S_y) of scores (classes, n); R becomes w·(softmax − [k = y]).
inline double softmax_residuals(const double* S, const i32* y, const double* weight, i64 n, i64 K,
                                float* R, int allowed) {
    const i64 step = 4096, tasks = (n + step - 1) / step;
    const int threads = threads_for(n * K * 16, tasks, allowed);
    std::vector<double> loss(tasks, 0.0);
    double total = 0.0;
    run_in_order(
        tasks, threads,
        [&](i64 task, int) {
            const i64 end = (task + 1) * step < n ? (task + 1) * step : n;
            double sum = 0.0;
            for (i64 i = task * step; i < end; ++i) {
                double top = S[i];
                for (i64 k = 1; k < K; ++k) top = S[k * n + i] > top ? S[k * n + i] : top;
                double all = 0.0;
                for (i64 k = 0; k < K; ++k) all += std::exp(S[k * n + i] - top);
                sum += weight[i] * (std::log(all) + top - S[y[i] * n + i]);
                for (i64 k = 0; k < K; ++k) {
                    const double p = std::exp(S[k * n + i] - top) / all;
                    R[k * n + i] = static_cast<float>(weight[i] * (p - (k == y[i] ? 1.0 : 0.0)));
                }
            }
            loss[task] = sum;
        },
        [&](i64 task, int) { total += loss[task]; });
    return total;
}

}  // namespace tb
