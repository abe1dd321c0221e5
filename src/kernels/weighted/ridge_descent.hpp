// Where the loss of rows and ridge · Σ q² is least, by L-BFGS with a diagonal preconditioner:
// J. Nocedal and S. Wright, Numerical Optimization, 2nd edition, algorithm 7.4. One call makes all
// steps, so several fits can run at a time.
#pragma once
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/memory.hpp"
#include "weighted/cell_offsets.hpp"

namespace tb {

using Doubles = InLines<double>;
using Floats = InLines<float>;

struct RidgeStop {
    i64 steps;       // at most
    double nearly;   // nats: the end, if a step is expected to gain less,
    double of_loss;  // or less than this share of the loss at the start
};

constexpr i64 HISTORY = 12;           // steps that are remembered
constexpr int HALVINGS = 30;          // of a step
constexpr double FLOAT_NOISE = 1e-7;  // of a loss summed of 32-bit terms

template <class A, class B>
double dot(const A& a, const B& b) {
    constexpr i64 LANES = 8;
    double part[LANES] = {};
    const i64 n = static_cast<i64>(a.size()), whole = n / LANES * LANES;
    for (i64 i = 0; i < whole; i += LANES)
        for (i64 j = 0; j < LANES; ++j) part[j] += static_cast<double>(a[i + j]) * b[i + j];
    for (i64 i = whole; i < n; ++i) part[i - whole] += static_cast<double>(a[i]) * b[i];
    double sum = 0.0;
    for (const double p : part) sum += p;
    return sum;
}

template <class From>
void add_times(Doubles& into, double factor, const From& from) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] += factor * from[i];
}

// The last steps s and changes of the gradient y, as 32-bit floats: they only say where to go.
class Steps {
public:
    explicit Steps(const Doubles& inverse) : inverse_(inverse) {}

    void remember(const Doubles& from, const Doubles& to, const Doubles& before, const Doubles& after) {
        Step step = next();
        for (std::size_t i = 0; i < to.size(); ++i) {
            step.s[i] = static_cast<float>(to[i] - from[i]);
            step.y[i] = static_cast<float>(after[i] - before[i]);
        }
        step.curvature = dot(step.s, step.y);
        if (step.curvature > 0.0) past_.push_back(std::move(step));
    }

    // d becomes −H⁻¹·g.
    void direction(const Doubles& gradient, Doubles& d) const {
        d = gradient;
        double factor[HISTORY];
        for (std::size_t i = past_.size(); i-- > 0;) {
            factor[i] = dot(past_[i].s, d) / past_[i].curvature;
            add_times(d, -factor[i], past_[i].y);
        }
        const double scale = past_.empty() ? 1.0 : scale_of(past_.back());
        for (std::size_t i = 0; i < d.size(); ++i) d[i] *= scale * inverse_[i];
        for (std::size_t i = 0; i < past_.size(); ++i)
            add_times(d, factor[i] - dot(past_[i].y, d) / past_[i].curvature, past_[i].s);
        for (double& x : d) x = -x;
    }

private:
    struct Step {
        Floats s, y;
        double curvature;
    };
    Step next() {  // in the memory of the oldest step, where there are enough
        if (static_cast<i64>(past_.size()) < HISTORY)
            return {Floats(inverse_.size()), Floats(inverse_.size()), 0.0};
        Step oldest = std::move(past_.front());
        past_.erase(past_.begin());
        return oldest;
    }
    double scale_of(const Step& last) const {  // (7.20), with the preconditioner in between
        double sum = 0.0;
        for (std::size_t i = 0; i < last.y.size(); ++i) {
            const double y = last.y[i];
            sum += y * inverse_[i] * y;
        }
        return last.curvature / sum;
    }
    const Doubles& inverse_;
    std::vector<Step> past_;
};

// q becomes the least of loss(q, gradient) + ridge · Σ q², from q on. What has an infinite curvature
// stays as it is.
template <class Loss>
void descend_ridge(Loss loss, const double* curvature, double ridge, const RidgeStop& stop,
                   i64 size, double* q) {
    Doubles at(q, q + size), there(size), inverse(size), gradient(size), steeper(size), d(size);
    for (i64 i = 0; i < size; ++i) inverse[i] = 1.0 / (curvature[i] + 2.0 * ridge);
    const auto objective = [&](const Doubles& x, Doubles& g) {
        const double value = loss(x.data(), g.data());
        add_times(g, 2.0 * ridge, x);
        return value + ridge * dot(x, x);
    };
    double value = objective(at, gradient);
    const double share = stop.of_loss * (value - ridge * dot(at, at));
    const double worth = share > stop.nearly ? share : stop.nearly;
    Steps past(inverse);
    for (i64 step = 0; step < stop.steps; ++step) {
        past.direction(gradient, d);
        const double slope = dot(gradient, d), noise = FLOAT_NOISE * std::abs(value);
        if (-0.5 * slope <= (worth > noise ? worth : noise)) break;
        double length = 1.0, lower = 0.0;
        int halvings = 0;
        for (; halvings < HALVINGS; ++halvings, length *= 0.5) {
            for (i64 i = 0; i < size; ++i) there[i] = at[i] + length * d[i];
            lower = objective(there, steeper);
            if (lower <= value + 1e-4 * length * slope + 0.1 * noise) break;
        }
        if (halvings == HALVINGS) break;
        past.remember(at, there, gradient, steeper);
        at.swap(there), gradient.swap(steeper), value = lower;
    }
    std::copy(at.begin(), at.end(), q);
}

// Functions of cells by their values other than 0, cell by cell (compressed sparse rows).
struct CellFunctions {
    const i64* start;     // (cells + 1,)
    const i64* function;  // of each value
    const double* value;
    i64 cells;

    // into (cells, K) becomes the sum of the functions times q (functions, K).
    void tables(const double* q, i64 K, double* into) const {
        each_class(K, [=, *this](auto classes) {
            const i64 n = classes;
            for (i64 v = 0; v < cells; ++v) {
                double* sum = into + v * n;
                for (i64 k = 0; k < n; ++k) sum[k] = 0.0;
                for (i64 e = start[v]; e < start[v + 1]; ++e)
                    for (i64 k = 0; k < n; ++k) sum[k] += value[e] * q[function[e] * n + k];
            }
        });
    }
    // Adds the gradient in q to `into`, by that in the cells.
    void add_gradient(const double* of_cells, i64 K, double* into) const {
        each_class(K, [=, *this](auto classes) {
            const i64 n = classes;
            for (i64 v = 0; v < cells; ++v)
                for (i64 e = start[v]; e < start[v + 1]; ++e)
                    for (i64 k = 0; k < n; ++k)
                        into[function[e] * n + k] += value[e] * of_cells[v * n + k];
        });
    }

private:
    // work(K), with a constant where the classes are few: loops over them are then unrolled.
    template <class Work>
    static void each_class(i64 K, const Work& work) {
        if (K == 2) return work(std::integral_constant<i64, 2>());
        if (K == 3) return work(std::integral_constant<i64, 3>());
        if (K == 4) return work(std::integral_constant<i64, 4>());
        work(K);
    }
};

// The loss of rows under offsets q of their cells (n_cells, classes), and its gradient.
inline auto loss_of_offsets(const Loops& loops, const CorrectedRows& rows, i64 n_cells,
                            int allowed) {
    return [=, &loops](const double* q, double* gradient) {
        std::fill(gradient, gradient + n_cells * rows.classes, 0.0);
        return correction_gradient(loops, rows, q, gradient, n_cells, allowed);
    };
}

// The same under coefficients q of functions (n_functions, classes).
inline auto loss_of_functions(const Loops& loops, const CorrectedRows& rows,
                              const CellFunctions& functions, i64 n_functions, int allowed) {
    const i64 size = functions.cells * rows.classes;
    return [=, &loops, table = Doubles(size), of_cells = Doubles(size)](const double* q,
                                                                       double* gradient) mutable {
        functions.tables(q, rows.classes, table.data());
        std::fill(of_cells.begin(), of_cells.end(), 0.0);
        const double loss = correction_gradient(loops, rows, table.data(), of_cells.data(),
                                                functions.cells, allowed);
        std::fill(gradient, gradient + n_functions * rows.classes, 0.0);
        functions.add_gradient(of_cells.data(), rows.classes, gradient);
        return loss;
    };
}

}  // namespace tb
