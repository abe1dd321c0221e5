// The loops that vector instructions speed up, one template each, on raw pointers only.
//
// This file is compiled once for every instruction set (isa_*.cpp define TB_ISA, its name, and
// TB_WIDTH, the doubles of a register). It must not include any standard header with inline
// functions: such a function would be emitted in several instruction sets and the linker would keep
// an arbitrary one.
//
// Every sum runs in an order that the data alone decides and no operation is contracted
// (-ffp-contract=off), so that every instruction set returns the same bits.
#pragma once
#include "simd/loop_table.hpp"

#define TB_RESTRICT __restrict__

namespace tb::TB_ISA {
namespace {

// A register of this instruction set. Its lanes never meet in one sum, so its width does not show.
constexpr i64 W = TB_WIDTH;
typedef double vec __attribute__((vector_size(8 * TB_WIDTH)));
typedef double vec_at __attribute__((vector_size(8 * TB_WIDTH), aligned(8)));
typedef float float_at __attribute__((vector_size(4 * TB_WIDTH), aligned(4)));

inline vec load(const double* p) { return *(const vec_at*)p; }
inline vec load(const float* p) { return __builtin_convertvector(*(const float_at*)p, vec); }
inline void store(double* p, vec x) { *(vec_at*)p = x; }
inline vec splat(double x) { return x - vec{}; }

// ---- counting --------------------------------------------------------------------------------
// Whether a value is not finite (bit 0), or negative (bit 1).
template <class T>
int check_row(const T* x, i64 d) {
    decltype(vec{} < vec{}) bad{}, below{};
    int faults = 0;
    i64 j = 0;
    for (; j + W <= d; j += W) {
        const vec v = load(x + j);
        bad |= v - v != 0.0;  // NaN − NaN and ∞ − ∞ are NaN
        below |= v < 0.0;
    }
    for (int l = 0; l < W; ++l) faults |= (bad[l] ? 1 : 0) | (below[l] ? 2 : 0);
    for (; j < d; ++j) faults |= (x[j] - x[j] != T(0) ? 1 : 0) | (x[j] < T(0) ? 2 : 0);
    return faults;
}

template <class T, bool Weighted>
void sums_rows(const T* x, i64 stride, i64 n, i64 d, const i32* slot, const double* w,
               double* sums) {
    for (i64 i = 0; i < n; ++i, x += stride) {
        double* TB_RESTRICT a = sums + static_cast<i64>(slot[i]) * d;
        const double wi = Weighted ? w[i] : 1.0;
        for (i64 j = 0; j < d; ++j)
            a[j] += Weighted ? wi * static_cast<double>(x[j]) : static_cast<double>(x[j]);
    }
}

// ---- packing a tile ---------------------------------------------------------------------------
// The lower, or the upper, halves of a and b interleaved. GCC and clang share __builtin_shufflevector,
// which asks for constant indices.
#if TB_WIDTH == 2
inline vec lower_lanes(vec a, vec b) { return __builtin_shufflevector(a, b, 0, 2); }
inline vec upper_lanes(vec a, vec b) { return __builtin_shufflevector(a, b, 1, 3); }
#elif TB_WIDTH == 4
inline vec lower_lanes(vec a, vec b) { return __builtin_shufflevector(a, b, 0, 4, 1, 5); }
inline vec upper_lanes(vec a, vec b) { return __builtin_shufflevector(a, b, 2, 6, 3, 7); }
#else
inline vec lower_lanes(vec a, vec b) {
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
inline vec upper_lanes(vec a, vec b) {
    return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}
#endif

// Transposes W registers of W lanes by log2(W) rounds of interleaving i with i + W/2.
inline void transpose(vec* a) {
    for (i64 round = 1; round < W; round *= 2) {
        vec b[W];
        for (i64 i = 0; i < W / 2; ++i) {
            b[2 * i] = lower_lanes(a[i], a[i + W / 2]);
            b[2 * i + 1] = upper_lanes(a[i], a[i + W / 2]);
        }
        for (i64 i = 0; i < W; ++i) a[i] = b[i];
    }
}

// TILE whole rows of d adjacent values to feature-major order; the result is as check_row's.
template <class T>
int pack_tile(const T* x, i64 stride, i64 d, double* tile) {
    decltype(vec{} < vec{}) bad{}, below{};
    int faults = 0;
    const i64 whole = d / W * W;
    for (i64 r = 0; r < TILE; r += W)  // rows first: memory is read in its order
        for (i64 j = 0; j < whole; j += W) {
            vec a[W];
            for (i64 i = 0; i < W; ++i) {
                const T* row = x + (r + i) * stride + j;
                __builtin_prefetch(row + TILE * stride);  // the same of the next tile
                a[i] = load(row);
                bad |= a[i] - a[i] != 0.0;
                below |= a[i] < 0.0;
            }
            transpose(a);
            for (i64 i = 0; i < W; ++i) store(tile + (j + i) * TILE + r, a[i]);
        }
    for (int l = 0; l < W; ++l) faults |= (bad[l] ? 1 : 0) | (below[l] ? 2 : 0);
    for (i64 j = whole; j < d; ++j)
        for (i64 r = 0; r < TILE; ++r) {
            const T v = x[r * stride + j];
            faults |= (v - v != T(0) ? 1 : 0) | (v < T(0) ? 2 : 0);
            tile[j * TILE + r] = static_cast<double>(v);
        }
    return faults;
}

// ---- scoring a tile --------------------------------------------------------------------------
// A tile holds TILE rows of `d` features, feature-major: tile[j·TILE + row].
template <class Term>
inline void tile_loop(i64 d, i64 K, i64 ld, const double* tile, double* acc, Term term) {
    for (i64 k = 0; k < K; ++k) {
        for (i64 r = 0; r < TILE; r += 4 * W) {
            double* out = acc + k * TILE + r;
            vec a0 = load(out), a1 = load(out + W), a2 = load(out + 2 * W), a3 = load(out + 3 * W);
            const double* t = tile + r;
            for (i64 j = 0; j < d; ++j, t += TILE) {
                const i64 at = k * ld + j;
                a0 += term(load(t), at);
                a1 += term(load(t + W), at);
                a2 += term(load(t + 2 * W), at);
                a3 += term(load(t + 3 * W), at);
            }
            store(out, a0), store(out + W, a1), store(out + 2 * W, a2), store(out + 3 * W, a3);
        }
    }
}

// acc −= ((x − mean)·scale)²
void tile_quadratic(i64 d, i64 K, i64 ld, const double* tile, const double* mean,
                    const double* scale, double* acc) {
    tile_loop(d, K, ld, tile, acc, [=](vec x, i64 at) {
        const vec t = (x - mean[at]) * scale[at];
        return -(t * t);
    });
}

// acc += x·weight
void tile_linear(i64 d, i64 K, i64 ld, const double* tile, const double* weight, double* acc) {
    tile_loop(d, K, ld, tile, acc, [=](vec x, i64 at) { return x * weight[at]; });
}

// The same where a weight may be −inf: an absent feature (x = 0) says nothing.
void tile_linear_masked(i64 d, i64 K, i64 ld, const double* tile, const double* weight,
                        double* acc) {
    tile_loop(d, K, ld, tile, acc, [=](vec x, i64 at) {
        const vec product = x * weight[at], zero = splat(0.0);
        return x == zero ? zero : product;
    });
}

// best and arg over classes for one tile; the first class wins a tie.
void tile_best(i64 K, i64 first, const double* acc, double* best, i64* arg) {
    for (i64 k = 0; k < K; ++k) {
        const double* a = acc + k * TILE;
        for (i64 l = 0; l < TILE; ++l) {
            bool better = a[l] > best[l];
            best[l] = better ? a[l] : best[l];
            arg[l] = better ? first + k : arg[l];
        }
    }
}

// ---- scoring rows with classes as lanes --------------------------------------------------------
// work(nv), of which the number, from 1 to 4, is a type.
template <int N>
struct Count {
    static constexpr int count = N;
};
template <class Work>
inline void by_width(int nv, const Work& work) {
    switch (nv) {
    case 1: return work(Count<1>{});
    case 2: return work(Count<2>{});
    case 3: return work(Count<3>{});
    default: return work(Count<4>{});
    }
}

// Tables are packed by blocks of 8·NV classes: table[entry·8·NV + lane].
template <int NV>
inline void gather_rows(i64 n, i64 d, const i32* entry, const double* table, const double* offset,
                        double* out) {
    constexpr int R = 8 * NV / W;  // registers of a row of lanes
    for (i64 i = 0; i < n; ++i, entry += d, out += 8 * NV) {
        vec acc[R];
        for (int v = 0; v < R; ++v) acc[v] = load(offset + W * v);
        for (i64 j = 0; j < d; ++j) {
            const double* row = table + static_cast<i64>(entry[j]) * (8 * NV);
            for (int v = 0; v < R; ++v) acc[v] += load(row + W * v);
        }
        for (int v = 0; v < R; ++v) store(out + W * v, acc[v]);
    }
}

template <int NV, class T, class I, int Kind>
inline void sparse_rows(i64 n, const I* indptr, const I* indices, const T* data, double threshold,
                        const double* table, const double* offset, double* out) {
    constexpr int R = 8 * NV / W;
    constexpr i64 width = 8 * NV;
    for (i64 i = 0; i < n; ++i, out += width) {
        vec acc[R];
        for (int v = 0; v < R; ++v) acc[v] = load(offset + W * v);
        const I end = indptr[i + 1];
        for (I p = indptr[i]; p < end; ++p) {
            const double x = static_cast<double>(data[p]);
            if (Kind == SPARSE_BINARY ? !(x > threshold) : x == 0.0) continue;
            const double* row = table + static_cast<i64>(indices[p]) * width;
            if (Kind == SPARSE_QUADRATIC) {  // x·(a + x·b)
                row += static_cast<i64>(indices[p]) * width;
                for (int v = 0; v < R; ++v)
                    acc[v] += (load(row + W * v) + load(row + width + W * v) * x) * x;
            } else if (Kind == SPARSE_BINARY) {
                for (int v = 0; v < R; ++v) acc[v] += load(row + W * v);
            } else {
                for (int v = 0; v < R; ++v) acc[v] += load(row + W * v) * x;
            }
        }
        for (int v = 0; v < R; ++v) store(out + W * v, acc[v]);
    }
}

template <class T, class I, int Kind>
void sparse_score(int nv, i64 n, const I* indptr, const I* indices, const T* data,
                  double threshold, const double* table, const double* offset, double* out) {
    by_width(nv, [&](auto width) {
        sparse_rows<decltype(width)::count, T, I, Kind>(n, indptr, indices, data, threshold, table,
                                                        offset, out);
    });
}

void gather_score(int nv, i64 n, i64 d, const i32* entry, const double* table,
                  const double* offset, double* out) {
    by_width(nv, [&](auto width) {
        gather_rows<decltype(width)::count>(n, d, entry, table, offset, out);
    });
}

template <class I, int Kind>
constexpr SparseScore<I> sparse_entry() {
    return {sparse_score<double, I, Kind>, sparse_score<float, I, Kind>};
}

}  // namespace
}  // namespace tb::TB_ISA

#include "simd/loops_moments.hpp"
#include "simd/loops_weighted.hpp"
#include "simd/loops_leave_one_out.hpp"
#include "simd/loops_documents.hpp"

namespace tb::TB_ISA {

namespace {
template <class T>
constexpr DenseLoops<T> dense_loops() {
    return {{moments_rows<T, false>, moments_rows<T, true>},
            check_row<T>,
            {sums_rows<T, false>, sums_rows<T, true>},
            pack_tile<T>};
}
}  // namespace

const Loops* loops() {
    static const Loops table = {
        dense_loops<double>(), dense_loops<float>(), moments_into, cross_rows, tile_quadratic, tile_linear, tile_linear_masked, tile_best, gather_score,
        {sparse_entry<i32, SPARSE_LINEAR>(), sparse_entry<i32, SPARSE_BINARY>(),
         sparse_entry<i32, SPARSE_QUADRATIC>()},
        {sparse_entry<i64, SPARSE_LINEAR>(), sparse_entry<i64, SPARSE_BINARY>(),
         sparse_entry<i64, SPARSE_QUADRATIC>()},
        logs, density_less, density_series, complement, exps, block_scores, block_products,
        pair_ratios, pair_gains, pair_shares, sum_some_cells, sum_expected, over_neighbours,
        cell_shares, corrected_rows, alike, pooled_mass, pooled_own, pooled_mix,
        pooled_logs, bin_shares, density_rows, ratios, spread_rows, density_own, density_shares,
        log_sum, exps_of, gaussian_mass, gaussian_left, gaussian_shares, gram_of_columns,
        times_columns};
    return &table;
}

}  // namespace tb::TB_ISA
