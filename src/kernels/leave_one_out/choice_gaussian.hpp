// How well one Gaussian for each class separates the classes, each row left out, and whether some
// values of a column are atoms. The formulas are those of families/numeric/gaussian.py,
// families/numeric/pooled.py and families/numeric/atoms.py.
#pragma once
#include "leave_one_out/choice_cells.hpp"

namespace tb {

constexpr double SPREADLESS = 1e-9;       // share of the variance within classes that is none
constexpr double HARDLY_ROWS = 0x1p-40;   // share of the rows of a class that is none
constexpr double SMALLEST = std::numeric_limits<double>::min();
constexpr double FEWER_DIGITS = 0x1p16;   // that a difference may have

struct ClassMoments {  // n, the mean, and the squares about it
    double n, mean, squares;

    double variance() const { return std::max(squares, 0.0) / std::max(n, 1e-300); }

    // After a row is taken out; `lost` where it leaves too few digits of what the others have.
    ClassMoments without(double x, double weight, bool& lost) const {
        const double left = n - weight <= 0x1p-40 * n ? 0.0 : n - weight;
        lost = false;
        if (!(left > 0.0)) return {0.0, mean, 0.0};
        const double apart = x - mean, taken = apart * apart * weight * n / left;
        const double rest = squares - taken, far = std::abs(apart);
        const double digits = far / std::max(far + std::abs(mean), SMALLEST);
        lost = taken > FEWER_DIGITS * rest * digits || n > FEWER_DIGITS * left;
        return {left, mean - apart * weight / left, std::max(rest, 0.0)};
    }
};

struct GaussianColumn {
    const double* values;                     // (cells,)
    const double *n, *mean, *squares;         // (classes,)
    const double *centre, *constant, *scale;  // log n N(x) = constant − ((x − centre) scale)²
    ClassMoments everyone;
    bool exact;     // whether each cell holds one value
    double enough;  // an L below it need not be exact
};

struct GaussianReading {
    double rows;   // of all classes, that each is given
    double less;   // than the rows of a class, to divide its squares by
    double least;  // variance
};

class GaussianScorer {
public:
    GaussianScorer(const Loops& loops, const ClassRows& with, const GaussianReading& as)
        : loops_(loops), with_(with), as_(as) {
        for (i64 k = 0; k < with.classes; ++k) prior_ += with.prior[k];
    }

    // L; NaN where digits are lost that the cells do not give
    double score(const GridColumn& grid, const GaussianColumn& column) const {
        const i64 K = with_.classes;
        const Others others(*this, grid, column);
        Numbers scale(K), mass(K), scaled(K), low(K), high(K), low_scaled(K), high_scaled(K), low_scale(K),
            high_scale(K);
        for (i64 k = 0; k < K; ++k) scale[k] = with_.prior[k] / (column.n[k] + as_.rows);
        sums_of_others(scale, low_scale, high_scale);
        std::vector<i64> start(grid.cells + 1, 0);
        std::vector<i32> held;
        used_classes(grid, start, held);
        Numbers left(K), ones(K), logs(2 * K), share(K);
        double total = 0.0;
        for (i64 a = 0; a < grid.cells && !(total < column.enough); ++a) {
            const double x = column.values[a];
            const i32* used = held.data() + start[a];
            const i64 n_used = start[a + 1] - start[a];
            for (i64 k = 0; k < K; ++k) {
                const double t = (x - column.centre[k]) * column.scale[k];
                mass[k] = column.constant[k] - t * t;
            }
            double top = greatest(mass);
            for (i64 i = 0; i < n_used; ++i) {
                const i64 k = used[i];
                ones[i] = with_.one(k, grid.counts[k * grid.cells + a]);
                bool lost = false;
                const Left own = others.left(k, a, ones[i], lost);
                if (lost) return std::numeric_limits<double>::quiet_NaN();
                left[i] = own.square;
                logs[2 * i] = 6.283185307179586 * own.variance, logs[2 * i + 1] = own.rows;
            }
            // log of n times the density
            loops_.logs(2 * n_used, logs.data());
            for (i64 i = 0; i < n_used; ++i) {
                left[i] = -0.5 * (logs[2 * i] + left[i]) + logs[2 * i + 1];
                if (left[i] > top) top = left[i];
            }
            if (!std::isfinite(top)) top = 0.0;
            for (i64 k = 0; k < K; ++k) mass[k] -= top;
            for (i64 i = 0; i < n_used; ++i) left[i] -= top;
            loops_.exps_of(K, mass.data());
            loops_.exps_of(n_used, left.data());
            for (i64 k = 0; k < K; ++k) scaled[k] = mass[k] * scale[k];
            sums_of_others(mass, low, high, scaled, low_scaled, high_scaled);
            for (i64 i = 0; i < n_used; ++i) {
                const i64 k = used[i];
                const double one = ones[i], mine = left[i], n = column.n[k];
                const double pooled = as_.rows * (low[k] + high[k] + mine) / (others.everyone - one);
                const double rest =
                    low_scaled[k] + high_scaled[k] + pooled * (low_scale[k] + high_scale[k]);
                const double own = std::max(with_.prior[k] - one, 0.0) * (mine + pooled) /
                                   (what_is_left(n, one) + as_.rows);
                const double ratio = own / (own + rest);
                share[i] = ratio == ratio ? ratio : with_.prior[k] / prior_;
            }
            loops_.logs(n_used, share.data());
            for (i64 i = 0; i < n_used; ++i)
                total += grid.counts[used[i] * grid.cells + a] * share[i];
        }
        return total;
    }

private:
    using Numbers = std::vector<double>;

    // The greatest of numbers; the comparisons do not wait for each other.
    static double greatest(const Numbers& x) {
        const std::size_t n = x.size();
        double top[4];
        std::fill(top, top + 4, -std::numeric_limits<double>::infinity());
        std::size_t i = 0;
        for (; i + 4 <= n; i += 4)
            for (std::size_t l = 0; l < 4; ++l) top[l] = std::max(top[l], x[i + l]);
        for (; i < n; ++i) top[0] = std::max(top[0], x[i]);
        return std::max(std::max(top[0], top[1]), std::max(top[2], top[3]));
    }

    // Σ over the entries before each, and after; nothing is taken away
    static void sums_of_others(const Numbers& x, Numbers& before, Numbers& after) {
        const i64 n = static_cast<i64>(x.size());
        double sum = 0.0;
        for (i64 k = 0; k < n; ++k) before[k] = sum, sum += x[k];
        sum = 0.0;
        for (i64 k = n; k-- > 0;) after[k] = sum, sum += x[k];
    }

    // The same of two at once: four sums that do not wait for each other.
    static void sums_of_others(const Numbers& x, Numbers& before, Numbers& after, const Numbers& y,
                               Numbers& y_before, Numbers& y_after) {
        const i64 n = static_cast<i64>(x.size());
        double low = 0.0, high = 0.0, y_low = 0.0, y_high = 0.0;
        for (i64 k = 0, l = n - 1; k < n; ++k, --l) {
            before[k] = low, low += x[k];
            after[l] = high, high += x[l];
            y_before[k] = y_low, y_low += y[k];
            y_after[l] = y_high, y_high += y[l];
        }
    }

    // The classes with rows in each cell, one cell after the other.
    void used_classes(const GridColumn& grid, std::vector<i64>& start, std::vector<i32>& held) const {
        UsedCells cells;
        cells.read(grid, with_.classes);
        for (i32 a : cells.cell) ++start[a + 1];
        for (i64 a = 0; a < grid.cells; ++a) start[a + 1] += start[a];
        std::vector<i64> next(start.begin(), start.end() - 1);
        held.resize(cells.cell.size());
        for (i64 e = 0; e < cells.size(); ++e) held[next[cells.cell[e]]++] = cells.of[e];
    }

    bool has_spread(double n, double squares, double typical) const {
        return n - as_.less > HARDLY_ROWS * n && squares > std::max(SPREADLESS * typical, SMALLEST) * n;
    }

    struct Left {  // of a class after a row at x is taken out
        double variance, square, rows;  // square = (x − mean)² / variance
    };

    // A column, and what the other classes give to the spread within classes.
    struct Others {
        const GaussianScorer& of;
        const GridColumn& grid;
        const GaussianColumn& column;
        Numbers squares, freedom, all_squares, rows;
        double everyone = 0.0;

        Others(const GaussianScorer& scorer, const GridColumn& cells, const GaussianColumn& c)
            : of(scorer), grid(cells), column(c) {
            const i64 K = scorer.with_.classes;
            Numbers held(K), divisor(K), any(c.squares, c.squares + K), n(c.n, c.n + K), after(K);
            double sum = 0.0;
            for (i64 k = 0; k < K; ++k) sum += std::max(c.squares[k], 0.0), everyone += n[k];
            const double typical = sum / std::max(everyone, SMALLEST);
            for (i64 k = 0; k < K; ++k) {
                const bool has = scorer.has_spread(n[k], std::max(c.squares[k], 0.0), typical);
                held[k] = has ? c.squares[k] : 0.0, divisor[k] = has ? n[k] - scorer.as_.less : 0.0;
            }
            auto of_others = [&](const Numbers& x, Numbers& out) {
                out.resize(static_cast<std::size_t>(K));
                sums_of_others(x, out, after);
                for (i64 k = 0; k < K; ++k) out[k] += after[k];
            };
            of_others(held, squares), of_others(divisor, freedom);
            of_others(any, all_squares), of_others(n, rows);
        }

        // The moments of the cells of classes first … last − 1 about a point near them, `weight`
        // taken out of those of class k and cell a.
        ClassMoments counted(i64 first, i64 last, double about, i64 k, i64 a, double weight) const {
            auto over = [&](auto add) {
                for (i64 c = first; c < last; ++c)
                    for (i64 i = 0; i < grid.cells; ++i) {
                        double w = grid.counts[c * grid.cells + i];
                        if (c == k && i == a) w = what_is_left(w, weight);
                        if (w > 0.0) add(w, column.values[i]);
                    }
            };
            double n = 0.0, sum = 0.0, squares_about = 0.0;
            over([&](double w, double x) { n += w, sum += w * (x - about); });
            const double mean = about + sum / n;
            over([&](double w, double x) { squares_about += w * (x - mean) * (x - mean); });
            return {n, mean, squares_about};
        }

        // class k after a row of cell a is taken out
        Left left(i64 k, i64 a, double one, bool& lost) const {
            const double x = column.values[a];
            ClassMoments own = ClassMoments{column.n[k], column.mean[k], column.squares[k]}.without(
                x, one, lost);
            if (lost) {
                if (!column.exact) return {};
                own = counted(k, k + 1, own.mean, k, a, one), lost = false;
            }
            const double typical = (all_squares[k] + own.squares) / std::max(rows[k] + own.n, SMALLEST);
            const bool has = of.has_spread(own.n, own.squares, typical), blank = own.n == 0.0;
            const bool by_all = !has && (blank || !(freedom[k] > 0.0));
            double variance = has ? own.squares / (own.n - of.as_.less)
                                  : by_all ? 0.0 : squares[k] / freedom[k];
            double centre = own.mean;
            if (by_all || variance < SMALLEST) {
                ClassMoments all = column.everyone.without(x, one, lost);
                if (lost) {
                    if (!column.exact) return {};
                    all = counted(0, of.with_.classes, all.mean, k, a, one), lost = false;
                }
                if (by_all) variance = all.variance();
                if (blank) centre = all.mean;
                const double floor = SPREADLESS * all.variance();
                if (variance < SMALLEST) variance = floor < SMALLEST ? 1.0 : floor;
            }
            variance = std::max(variance, of.as_.least);
            const double t = x - centre;
            return {variance, t * t / variance, what_is_left(column.n[k], one)};
        }
    };

    const Loops& loops_;
    const ClassRows& with_;
    const GaussianReading& as_;
    double prior_ = 0.0;
};

// Whether some values of a column repeat more than a density allows.
inline bool has_atoms(const GridColumn& grid, const double* values, i64 classes, double row) {
    constexpr i64 REACH = 4;
    constexpr double FEWEST = 5.0, TIMES = 5.0;
    const i64 n = grid.cells;
    if (n < 3) return false;
    std::vector<double> rows(n, 0.0), before(n + 1, 0.0);
    for (i64 k = 0; k < classes; ++k)
        for (i64 a = 0; a < n; ++a) rows[a] += grid.counts[k * n + a];
    for (i64 a = 0; a < n; ++a) before[a + 1] = before[a] + rows[a];
    i64 found = 0;
    for (i64 a = 0; a < n; ++a) {
        if (!(rows[a] >= FEWEST * row)) continue;
        const i64 low = std::max<i64>(a - REACH, 0), high = std::min(a + REACH, n - 1);
        double gaps[2 * REACH];
        const i64 n_gaps = high - low;
        for (i64 i = 0; i < n_gaps; ++i) {  // in order
            const double gap = values[low + i + 1] - values[low + i];
            i64 j = i;
            for (; j > 0 && gaps[j - 1] > gap; --j) gaps[j] = gaps[j - 1];
            gaps[j] = gap;
        }
        const double pitch = 0.5 * gaps[(n_gaps - 1) / 2] + 0.5 * gaps[n_gaps / 2];
        bool atom = true;
        for (i64 side : {low, high}) {
            const double held = side == low ? before[a] - before[low] : before[high + 1] - before[a + 1];
            const double away = std::nearbyint(std::abs(values[a] - values[side]) / pitch);
            const double places = std::max(static_cast<double>(std::max<i64>(std::abs(a - side), 1)), away);
            atom &= away == away && rows[a] >= TIMES * (held / places);
        }
        found += atom;
    }
    return found > 0;
}

}  // namespace tb
