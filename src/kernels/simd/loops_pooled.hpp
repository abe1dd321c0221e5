// The vector loops of numbers that are scored as densities beside atoms. Part of loops.hpp, and
// compiled as that is; log_of is that of loops_leave_one_out.hpp.
//
// Rows are lanes: what is said of a row depends on no other row. Tables of a block of n rows, a
// multiple of 8, stand class by class: entry k·n + r.

namespace tb {
namespace TB_ISA {
namespace {

// exp x for x ≤ 0, to an ulp; 0 below −708: Sun's fdlibm, e_exp.c.
//   x = k log 2 + r, |r| ≤ ½ log 2;  exp r = 1 + (r c / (2 − c) + r), c = r − r² P(r²)
inline vec exp_of(vec x) {
    const vec magic = splat(6755399441055744.0);  // 1.5·2⁵²: rounds, its low bits are k
    const auto low = x < -708.0;
    const vec held = low ? splat(0.0) : x;
    const vec shifted = held * 1.44269504088896338700e+00 + magic, k = shifted - magic;
    const vec high = held - k * 6.93147180369123816490e-01, rest = k * 1.90821492927058770002e-10;
    const vec r = high - rest, t = r * r;
    const vec c = r - t * (1.66666666666666019037e-01 +
                           t * (-2.77777777770155933842e-03 +
                                t * (6.61375632143793436117e-05 +
                                     t * (-1.65339022054652515390e-06 +
                                          t * 4.13813679705723846039e-08))));
    const vec y = 1.0 - ((rest - (r * c) / (2.0 - c)) - high);
    const vec found = (vec)((bits)y + ((bits)shifted << 52));
    return low ? splat(0.0) : x == x ? found : x;
}

// mass = constant_k − ((x − mean_k)·scale_k)², log M_k of each row.
void pooled_mass(i64 n, i64 K, const double* x, const double* constant, const double* mean,
                 const double* scale, double* mass) {
    for (i64 k = 0; k < K; ++k, mass += n) {
        const vec c = splat(constant[k]), m = splat(mean[k]), s = splat(scale[k]);
        for (i64 r = 0; r < n; r += W) {
            const vec t = (load(x + r) - m) * s;
            store(mass + r, c - t * t);
        }
    }
}

// mass = ½ log square − quadratic.
void pooled_own(i64 n, const double* square, const double* quadratic, double* mass) {
    for (i64 r = 0; r < n; r += W)
        store(mass + r, 0.5 * log_of(load(square + r)) - load(quadratic + r));
}

// Of rows with use ≠ 0 and mass in some class, with top = max_k mass and e_k = exp(mass_k − top):
//   product_k *= e_k + share·Σ e,  sum_k += top − shift_k
// Other rows are left as they are, and use becomes 0 in rows without mass.
void pooled_mix(i64 n, i64 K, double* mass, double* use, const double* share, const double* shift,
                double* product, double* sum) {
    const vec lowest = splat(-__builtin_inf()), zero = splat(0.0);
    for (i64 r = 0; r < n; r += W) {
        vec top = lowest, total = zero;
        for (i64 k = 0; k < K; ++k) {
            const vec m = load(mass + k * n + r);
            top = top < m ? m : top;
        }
        const auto some = (load(use + r) != zero) & (top > lowest);
        top = some ? top : zero;
        store(use + r, some ? splat(1.0) : zero);
        for (i64 k = 0; k < K; ++k) {
            const vec e = exp_of(load(mass + k * n + r) - top);
            store(mass + k * n + r, e);
            total += e;
        }
        const vec pooled = load(share + r) * total;
        for (i64 k = 0; k < K; ++k) {
            const i64 at = k * n + r;
            const vec factor = load(mass + at) + pooled;
            store(product + at, load(product + at) * (some ? factor : splat(1.0)));
            store(sum + at, load(sum + at) + (some ? top - shift[k] : zero));
        }
    }
}

// sum += log product, and product = 1.
void pooled_logs(i64 n, double* product, double* sum) {
    for (i64 i = 0; i < n; i += W) {
        store(sum + i, load(sum + i) + log_of(load(product + i)));
        store(product + i, splat(1.0));
    }
}

}  // namespace
}  // namespace TB_ISA
}  // namespace tb
