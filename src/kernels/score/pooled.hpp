// Columns of numbers as densities beside atoms, each class with some rows of all classes.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/parallel.hpp"
#include "core/view.hpp"
#include "simd/loop_table.hpp"

namespace tb {

constexpr double NO_MASS = -std::numeric_limits<double>::infinity();

// log p'(x | c) = log(M_c + share · Σ_c M_c) − shift_c. At an atom log M is a row of the table atoms
// (n_atoms, classes); elsewhere log M_c = constant_c − ((x − mean_c) · scale_c)². Where no class has
// any mass x says nothing: 0.
struct PooledTerms {
    const double *low, *high, *atoms;
    i64 n_atoms;
    const double *constant, *mean, *scale, *shift;  // (classes,) each
    double share;
    i64 classes;

    i64 atom_of(double x) const {  // −1 where it is at none
        const i64 at = (std::upper_bound(low, low + n_atoms, x) - low) - 1;
        return at >= 0 && x < high[at] ? at : -1;
    }

    void score(double x, double* out) const {
        const i64 at = atom_of(x);
        if (at >= 0) std::copy_n(atoms + at * classes, classes, out);
        for (i64 k = 0; at < 0 && k < classes; ++k) {
            const double t = (x - mean[k]) * scale[k];
            out[k] = constant[k] - t * t;
        }
        const double top = *std::max_element(out, out + classes);
        if (!(top > NO_MASS)) {
            std::fill_n(out, classes, 0.0);
            return;
        }
        double total = 0.0;
        for (i64 k = 0; k < classes; ++k) total += out[k] = std::exp(out[k] - top);
        const double pooled = share * total;
        for (i64 k = 0; k < classes; ++k) out[k] = (std::log(out[k] + pooled) + top) - shift[k];
    }
};

// What a row of weight w takes from its class c:
//   at an atom    w of its count there
//   elsewhere     w of k, the class's rows at no atom: with left = k − w and a = x − mean,
//                 S' = S − a² w k / left,  σ² = max(S' / (left − less), least),
//                 M = left · N(a k / left; 0, σ²)
// and w of the rows of the class and of all, by which M is divided.
struct PooledLess {
    const double* counts;             // (n_atoms, classes)
    const double *rest, *squares, *n;  // (classes,): k, S, and the rows at atoms or not
    double spread;                    // Σ S
    double everyone, everyone_rest;   // Σ n, Σ k
    double rows;                      // of all classes, that each is given
    double less, least;               // than the rows of a class; of a variance
};

constexpr double NO_SPREAD = 1e-9;  // share of the variance within classes
constexpr double FEW = 0x1p-40;     // share of the rows of a class that is none

struct PooledColumn {
    PooledTerms terms;
    PooledLess less;  // read only where rows are taken out
};

// What is left of a weight; what can only be rounding is 0.
inline double left_of(double whole, double part) {
    const double rest = whole - part;
    return rest <= RESIDUE * whole ? 0.0 : rest;
}

// Scores columns together. A factor of p', M_c + share · Σ_c M_c where the largest M is 1, has bounds
// that the column alone gives, so that one logarithm serves the product of many.
class PooledRows {
public:
    struct Taken {  // rows that are taken out, and whether (n, columns) they were not
        const i64* own;
        const double* weight;
        unsigned char* redo;
    };

    PooledRows(const Loops& loops, const std::vector<PooledColumn>& columns, i64 classes)
        : loops_(loops), columns_(columns), K_(classes), d_(static_cast<i64>(columns.size())),
          rows_(std::min<i64>(std::max<i64>((i64(1) << 11) / classes / 8 * 8, 8), 128)) {}

    // scores (n, classes) += log p'(x | c) of the columns, by column, that have a value; where rows
    // are taken out, of those that redo does not name
    void add(const std::vector<const double*>& x, i64 n, const Taken* taken, double* scores,
             int threads) const {
        constexpr i64 TASK = 1 << 12;
        const i64 tasks = (n + TASK - 1) / TASK;
        run_tasks(tasks, threads_for(n * K_ * d_ * 8, tasks, threads), [&](i64 task, int) {
            Local local(K_, rows_);
            const i64 end = std::min((task + 1) * TASK, n);
            for (i64 i = task * TASK; i < end; i += rows_) {
                const i64 m = std::min(rows_, end - i);
                block(x, i, m, taken, local);
                for (i64 r = 0; r < m; ++r)
                    for (i64 k = 0; k < K_; ++k) scores[(i + r) * K_ + k] += local.sum[k * rows_ + r];
            }
        });
    }

private:
    struct Local {  // of a block of rows
        Buffer<double> tables, lines;
        double *mass, *product, *sum;                              // (classes, rows)
        double *x, *use, *share, *square, *quadratic, *own, *more;  // (rows,)
        Local(i64 classes, i64 rows) : tables(3 * classes * rows), lines(7 * rows) {
            double** table[] = {&mass, &product, &sum};
            double** line[] = {&x, &use, &share, &square, &quadratic, &own, &more};
            for (i64 i = 0; i < 3; ++i) *table[i] = tables.get() + i * classes * rows;
            for (i64 i = 0; i < 7; ++i) *line[i] = lines.get() + i * rows;
        }
    };

    // the least and the largest that a factor can be
    std::pair<double, double> bounds(const PooledColumn& c, bool less) const {
        const double most = 1.0 + c.terms.share * static_cast<double>(K_);
        if (!less) return {c.terms.share, most};
        // all rows but one are at least FEW of all; the last is n_c + rows over rows of all
        return {c.terms.share, most / FEW * (1.0 + c.less.everyone / c.less.rows)};
    }

    void block(const std::vector<const double*>& x, i64 first, i64 m, const Taken* taken,
               Local& l) const {
        const i64 size = K_ * rows_;
        std::fill_n(l.product, size, 1.0), std::fill_n(l.sum, size, 0.0);
        double low = 1.0, high = 1.0;
        for (i64 j = 0; j < d_; ++j) {
            const PooledColumn& c = columns_[static_cast<std::size_t>(j)];
            const auto [least, most] = bounds(c, taken);
            if (!(low * least > 1e-280 && high * most < 1e280)) {
                loops_.pooled_logs(size, l.product, l.sum);
                low = high = 1.0;
            }
            low *= least, high *= most;
            const double* from = x[static_cast<std::size_t>(j)] + first;
            for (i64 r = 0; r < rows_; ++r) {
                const bool there = r < m && from[r] == from[r];
                l.x[r] = there ? from[r] : 0.0, l.use[r] = there, l.share[r] = c.terms.share;
            }
            loops_.pooled_mass(rows_, K_, l.x, c.terms.constant, c.terms.mean, c.terms.scale, l.mass);
            if (c.terms.n_atoms) set_atoms(c.terms, m, l);
            if (taken) take_out(c, *taken, first, m, j, l);
            loops_.pooled_mix(rows_, K_, l.mass, l.use, l.share, c.terms.shift, l.product, l.sum);
            for (i64 r = 0; taken && r < m; ++r)
                if (l.use[r] != 0.0) l.product[taken->own[first + r] * rows_ + r] *= l.more[r];
        }
        loops_.pooled_logs(size, l.product, l.sum);
    }

    void set_atoms(const PooledTerms& t, i64 m, Local& l) const {
        for (i64 r = 0; r < m; ++r) {
            const i64 at = l.use[r] != 0.0 ? t.atom_of(l.x[r]) : -1;
            for (i64 k = 0; at >= 0 && k < K_; ++k) l.mass[k * rows_ + r] = t.atoms[at * K_ + k];
        }
    }

    void take_out(const PooledColumn& c, const Taken& taken, i64 first, i64 m, i64 j,
                  Local& l) const {
        std::fill_n(l.square, rows_, 1.0), std::fill_n(l.quadratic, rows_, 0.0);
        for (i64 r = 0; r < m; ++r) {
            if (l.use[r] == 0.0) continue;
            const bool fine = left_out(c, taken.own[first + r], taken.weight[first + r], r, l);
            if (!fine) l.use[r] = 0.0, taken.redo[(first + r) * d_ + j] = 1;
        }
        loops_.pooled_own(rows_, l.square, l.quadratic, l.own);
        for (i64 r = 0; r < m; ++r)
            if (l.use[r] != 0.0) l.mass[taken.own[first + r] * rows_ + r] = l.own[r];
    }

    // Row r of the block without itself, in its own class; whether the formula above gives it.
    bool left_out(const PooledColumn& c, i64 k, double w, i64 r, Local& l) const {
        const PooledLess& less = c.less;
        const double everyone = left_of(less.everyone, w), n = left_of(less.n[k], w);
        if (!(n > 0.0)) return false;
        l.share[r] = less.rows / everyone;
        l.more[r] = (less.n[k] + less.rows) / (n + less.rows);
        const i64 at = c.terms.atom_of(l.x[r]);
        if (at >= 0) {
            const double count = left_of(less.counts[at * K_ + k], w);
            l.square[r] = count * count;
            return true;
        }
        const double left = left_of(less.rest[k], w), divisor = left - less.less;
        if (!(left > 0.0 && divisor > FEW * left)) return false;
        const double grown = less.rest[k] / left, a = l.x[r] - c.terms.mean[k];
        const double taken = a * a * w * grown, squares = left_of(less.squares[k], taken);
        // a is known to as many places as the mean is
        const double digits = std::fabs(a) / (std::fabs(a) + std::fabs(c.terms.mean[k]));
        if (CANCELLED * taken > squares * digits || left < CANCELLED * less.rest[k]) return false;
        const double within = less.spread / (less.everyone_rest - w);  // or less, without the row
        const double variance = std::max(squares / divisor, less.least), t = a * grown;
        l.square[r] = left * left / (6.28318530717958647693 * variance);
        l.quadratic[r] = t * t / (2.0 * variance);
        return squares > NO_SPREAD * left * within && is_normal(variance) && is_normal(l.square[r]);
    }

    static bool is_normal(double x) {
        return x >= std::numeric_limits<double>::min() && is_finite(x);
    }

    const Loops& loops_;
    const std::vector<PooledColumn>& columns_;
    i64 K_, d_, rows_;  // classes, columns, and rows of a block
};

}  // namespace tb
