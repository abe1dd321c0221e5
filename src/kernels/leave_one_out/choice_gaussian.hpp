// How well one Gaussian for each class separates the classes, each row left out, and whether some
// values of a column are atoms. The formulas are those of families/gaussian.py.
#pragma once
#include "leave_one_out/choice_cells.hpp"

namespace tb {

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
        const double digits = far / std::max(far + std::abs(mean), SMALLEST_NUMBER);
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

// One scorer serves many columns and keeps its memory.
class GaussianScorer {
public:
    GaussianScorer(const Loops& loops, const ClassRows& with, const GaussianReading& as)
        : loops_(loops), with_(with), as_(as) {
        for (i64 k = 0; k < with.classes; ++k) prior_ += with.prior[k];
    }

    // L; NaN where digits are lost that the cells do not give
    double score(const GridColumn& grid, const GaussianColumn& column) {
        const i64 K = with_.classes;
        const Others others(*this, grid, column);
        Numbers own_scale(K), mass(K), scaled(K), after(K), scaled_after(K);
        Numbers other_mass(K), other_scaled(K), other_scale(K);  // summed over the other classes
        for (i64 k = 0; k < K; ++k) own_scale[k] = with_.prior[k] / (column.n[k] + as_.rows);
        sums_of_others(own_scale, other_scale, after);
        used_.read(grid, K);
        const GaussianOthers given{column.n, column.mean, column.squares, others.rows.data(),
                                   others.all_squares.data(), others.squares.data(),
                                   others.freedom.data(), as_.less, as_.least};
        const GaussianShares of_all{column.n, with_.prior, other_mass.data(), other_scaled.data(),
                                    other_scale.data(), as_.rows, others.everyone, prior_};
        const i64 room = padded(K);
        Numbers left(room), ones(room), logs(2 * room), share(room), odd(room);
        double total = 0.0;
        for (i64 a = 0; a < grid.cells && !(total < column.enough); ++a) {
            const double x = column.values[a];
            const i32* of = used_.of.data() + used_.start[a];
            const double* weight = used_.weight.data() + used_.start[a];
            const i64 n = used_.start[a + 1] - used_.start[a];
            double top = loops_.gaussian_mass(K, x, column.constant, column.centre, column.scale,
                                              mass.data());
            const i64 n_padded = padded(n);
            for (i64 i = 0; i < n_padded; ++i) ones[i] = with_.one(of[i], weight[i]);
            double *variances = logs.data(), *rows = logs.data() + n_padded;
            loops_.gaussian_left(given, x, n, of, ones.data(), variances, left.data(), rows,
                                 odd.data());
            for (i64 i = 0; i < n; ++i) {
                if (odd[i] == 0.0) continue;
                bool lost = false;
                const Left own = others.left(of[i], a, ones[i], lost);
                if (lost) return std::numeric_limits<double>::quiet_NaN();
                variances[i] = own.variance, left[i] = own.square, rows[i] = own.rows;
            }
            for (i64 i = 0; i < n_padded; ++i) variances[i] *= 6.283185307179586;
            // log of n times the density
            loops_.logs(2 * n_padded, logs.data());
            for (i64 i = 0; i < n; ++i) {
                left[i] = -0.5 * (variances[i] + left[i]) + rows[i];
                if (left[i] > top) top = left[i];
            }
            if (!std::isfinite(top)) top = 0.0;
            for (i64 k = 0; k < K; ++k) mass[k] -= top;
            for (i64 i = 0; i < n; ++i) left[i] -= top;
            loops_.exps_of(K, mass.data());
            loops_.exps_of(n, left.data());
            for (i64 k = 0; k < K; ++k) scaled[k] = mass[k] * own_scale[k];
            sums_of_others(mass, other_mass, after, scaled, other_scaled, scaled_after);
            loops_.gaussian_shares(of_all, n, of, ones.data(), left.data(), share.data());
            loops_.logs(n, share.data());
            for (i64 i = 0; i < n; ++i) total += weight[i] * share[i];
        }
        return total;
    }

private:
    using Numbers = std::vector<double>;

    static i64 padded(i64 n) { return (n + 7) / 8 * 8; }

    // Σ over the classes before each plus Σ over those after it: nothing is taken away. `after`
    // is for the second.
    static void sums_of_others(const Numbers& x, Numbers& others, Numbers& after) {
        const i64 n = static_cast<i64>(x.size());
        double low = 0.0, high = 0.0;
        for (i64 k = 0, l = n - 1; k < n; ++k, --l) {
            others[k] = low, low += x[k];
            after[l] = high, high += x[l];
        }
        for (i64 k = 0; k < n; ++k) others[k] += after[k];
    }

    // The same of two at once: four sums that do not wait for each other.
    static void sums_of_others(const Numbers& x, Numbers& others, Numbers& after, const Numbers& y,
                               Numbers& y_others, Numbers& y_after) {
        const i64 n = static_cast<i64>(x.size());
        double low = 0.0, high = 0.0, y_low = 0.0, y_high = 0.0;
        for (i64 k = 0, l = n - 1; k < n; ++k, --l) {
            others[k] = low, low += x[k];
            after[l] = high, high += x[l];
            y_others[k] = y_low, y_low += y[k];
            y_after[l] = y_high, y_high += y[l];
        }
        for (i64 k = 0; k < n; ++k) others[k] += after[k], y_others[k] += y_after[k];
    }

    // The classes with rows in each cell, one cell after the other, and how many they have; a few
    // more entries follow, for vectors that reach beyond the last cell.
    struct UsedClasses {
        UsedCells cells;
        std::vector<i64> start, next;  // (cells + 1,)
        std::vector<i32> of;
        Numbers weight;

        void read(const GridColumn& grid, i64 classes) {
            cells.read(grid, classes);
            start.assign(static_cast<std::size_t>(grid.cells) + 1, 0);
            for (i32 a : cells.cell) ++start[a + 1];
            for (i64 a = 0; a < grid.cells; ++a) start[a + 1] += start[a];
            next.assign(start.begin(), start.end() - 1);
            of.assign(cells.cell.size() + 8, 0), weight.assign(cells.cell.size() + 8, 0.0);
            for (i64 e = 0; e < cells.size(); ++e) {
                const i64 i = next[cells.cell[e]]++;
                of[i] = cells.of[e], weight[i] = cells.weight[e];
            }
        }
    };

    bool has_spread(double n, double squares, double typical) const {
        const double least = std::max(SPREADLESS * typical, SMALLEST_NUMBER);
        return n - as_.less > HARDLY_ROWS * n && squares > least * n;
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
            const double typical = sum / std::max(everyone, SMALLEST_NUMBER);
            for (i64 k = 0; k < K; ++k) {
                const bool has = scorer.has_spread(n[k], std::max(c.squares[k], 0.0), typical);
                held[k] = has ? c.squares[k] : 0.0, divisor[k] = has ? n[k] - scorer.as_.less : 0.0;
            }
            auto of_others = [&](const Numbers& x, Numbers& out) {
                out.resize(static_cast<std::size_t>(K));
                sums_of_others(x, out, after);
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
            const double typical =
                (all_squares[k] + own.squares) / std::max(rows[k] + own.n, SMALLEST_NUMBER);
            const bool has = of.has_spread(own.n, own.squares, typical), blank = own.n == 0.0;
            const bool by_all = !has && (blank || !(freedom[k] > 0.0));
            double variance = has ? own.squares / (own.n - of.as_.less)
                                  : by_all ? 0.0 : squares[k] / freedom[k];
            double centre = own.mean;
            if (by_all || variance < SMALLEST_NUMBER) {
                ClassMoments all = column.everyone.without(x, one, lost);
                if (lost) {
                    if (!column.exact) return {};
                    all = counted(0, of.with_.classes, all.mean, k, a, one), lost = false;
                }
                if (by_all) variance = all.variance();
                if (blank) centre = all.mean;
                const double floor = SPREADLESS * all.variance();
                if (variance < SMALLEST_NUMBER) variance = floor < SMALLEST_NUMBER ? 1.0 : floor;
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
    UsedClasses used_;
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
            const double held =
                side == low ? before[a] - before[low] : before[high + 1] - before[a + 1];
            const double away = std::nearbyint(std::abs(values[a] - values[side]) / pitch);
            const i64 apart = std::max<i64>(std::abs(a - side), 1);
            const double places = std::max(static_cast<double>(apart), away);
            atom &= away == away && rows[a] >= TIMES * (held / places);
        }
        found += atom;
    }
    return found > 0;
}

}  // namespace tb
