// The vector loops that score a column of numbers as one Gaussian for each class. Part of
// loops.hpp, and compiled as that is; gathered and rows_left are those of loops_choice.hpp, the
// formulas those of choice_gaussian.hpp.

namespace tb {
namespace TB_ISA {
namespace {

inline vec greater_of(vec x, vec y) { return x < y ? y : x; }

// mass_k = constant_k − ((x − centre_k)·scale_k)², and the greatest of them
double gaussian_mass(i64 classes, double x, const double* constant, const double* centre,
                     const double* scale, double* TB_RESTRICT mass) {
    const vec at = splat(x);
    vec tops = splat(-__builtin_inf());
    i64 k = 0;
    for (; k + W <= classes; k += W) {
        const vec t = (at - load(centre + k)) * load(scale + k), m = load(constant + k) - t * t;
        store(mass + k, m);
        tops = m > tops ? m : tops;
    }
    double top = -__builtin_inf();
    for (i64 l = 0; l < W; ++l) top = tops[l] > top ? tops[l] : top;
    for (; k < classes; ++k) {
        const double t = (x - centre[k]) * scale[k], m = constant[k] - t * t;
        mass[k] = m;
        top = m > top ? m : top;
    }
    return top;
}

// Of the classes with rows in a cell: what is left of each without a row of it, `one`. `odd` is 1
// where that takes more than the sums of the classes. There is room for a multiple of 8.
void gaussian_left(const GaussianOthers& s, double x, i64 n, const i32* of, const double* one,
                   double* variance, double* square, double* rows, double* odd) {
    const vec zero = splat(0.0), unit = splat(1.0), at = splat(x);
    const vec smallest = splat(SMALLEST_NUMBER), least = splat(s.least);
    for (i64 i = 0; i < n; i += W) {
        const i32* k = of + i;
        const vec held = gathered(s.n, k), mean = gathered(s.mean, k), w = load(one + i);
        const vec left = rows_left(held, w), apart = at - mean;
        const vec taken = apart * apart * w * held / left;
        const vec rest = gathered(s.squares, k) - taken;
        const vec far = apart < 0.0 ? -apart : apart, off = mean < 0.0 ? -mean : mean;
        const vec digits = far / greater_of(far + off, smallest);
        const auto some = left > zero;
        const auto few = held > FEWER_DIGITS * left;
        const auto lost = some & ((taken > FEWER_DIGITS * rest * digits) | few);
        const vec centre = some ? mean - apart * w / left : mean;
        const vec own = some ? greater_of(rest, zero) : zero;
        const vec others = greater_of(gathered(s.rows, k) + left, smallest);
        const vec typical = (gathered(s.all_squares, k) + own) / others;
        const vec divisor = left - s.less, floor = greater_of(SPREADLESS * typical, smallest);
        const auto has = (divisor > HARDLY_ROWS * left) & (own > floor * left);
        const vec freedom = gathered(s.freedom, k);
        const vec found = (has ? own : gathered(s.spread, k)) / (has ? divisor : freedom);
        const auto by_own_class = has | (some & (freedom > zero));
        store(odd + i, (lost | ~by_own_class | (found < smallest)) ? unit : zero);
        const vec t = at - centre, v = greater_of(found, least);
        store(variance + i, v), store(square + i, t * t / v), store(rows + i, left);
    }
}

// The share of the own class of a row in what all say of it. There is room for a multiple of 8.
void gaussian_shares(const GaussianShares& s, i64 n, const i32* of, const double* one,
                     const double* mine, double* share) {
    for (i64 i = 0; i < n; i += W) {
        const i32* k = of + i;
        const vec w = load(one + i), m = load(mine + i), prior = gathered(s.prior, k);
        const vec left = rows_left(gathered(s.n, k), w);
        const vec pooled = s.pooled_rows * (gathered(s.mass, k) + m) / (s.everyone - w);
        const vec rest = gathered(s.scaled, k) + pooled * gathered(s.scale, k);
        const vec own = rows_left(prior, w) * (m + pooled) / (left + s.pooled_rows);
        const vec ratio = own / (own + rest);
        store(share + i, ratio == ratio ? ratio : prior / s.all_prior);
    }
}

}  // namespace
}  // namespace TB_ISA
}  // namespace tb
