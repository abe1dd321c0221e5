// The functions that exist once for every instruction set, and how the others reach them.
#pragma once

namespace tb {

typedef int i32;
typedef __INT64_TYPE__ i64;  // both compilers know it; no header is needed
typedef __UINT64_TYPE__ u64;
static_assert(sizeof(i32) == 4 && sizeof(i64) == 8);

constexpr i64 TILE = 32;  // rows of a scoring tile
constexpr i64 RUN = 256;  // rows of a class, at most, whose moments are summed at a time
constexpr i64 BLOCK = 64;  // rows of a block of weighted terms
enum SparseKind { SPARSE_LINEAR = 0, SPARSE_BINARY = 1, SPARSE_QUADRATIC = 2 };

template <class T>
using MomentsRows = void (*)(const T* x, i64 stride, const i32* row, i64 n, const T* next, bool first,
                             i64 d, i64 pad, bool shifted, const double* w, double* cells);
template <class T>
using SumsRows = void (*)(const T* x, i64 stride, i64 n, i64 d, const i32* slot, const double* w,
                          double* sums);
template <class T>
struct DenseLoops {
    MomentsRows<T> moments[2];  // [weighted]
    int (*check)(const T* x, i64 d);
    SumsRows<T> sums[2];
    int (*pack)(const T* x, i64 stride, i64 d, double* tile);
};
template <class T, class I>
using SparseRows = void (*)(int nv, i64 n, const I* indptr, const I* indices, const T* data,
                            double threshold, const double* table, const double* offset,
                            double* out);
template <class I>
struct SparseScore {
    SparseRows<double, I> f64;
    SparseRows<float, I> f32;
};

// ---- leave-one-out --------------------------------------------------------------------------
constexpr double CANCELLED = 0x1p-16;  // what is left of a sum has too few digits below this share
constexpr double RESIDUE = 0x1p-40;  // of a difference of weights: less than this share is rounding

constexpr double SPREADLESS = 1e-9;      // share of the variance within classes that is none
constexpr double HARDLY_ROWS = 0x1p-40;  // share of the rows of a class that is none
constexpr double FEWER_DIGITS = 0x1p16;  // that a difference may have
constexpr double SMALLEST_NUMBER = 0x1p-1022;

constexpr double PRODUCT_RANGE = 0x1p66;  // a product of 15 factors so large is still a number

struct EntryRows {  // the entries of n rows that are not 0: row i has start[i] … start[i+1]−1
    i64 n;
    const i64* start;
    const i32* index;
    const double* value;
    const double* weight;  // of each row
};

struct Less {  // how moments change as a row is taken out; see density_less
    double moved, scale, apart;
};

struct Density {
    double product, exponent, quadratic, least, kept;
};

struct PairTable {  // the cells of a pair of columns, of two classes y and o
    const double* entries;  // by cell and class y: C_y − r_y + t_y, C_o + t_o, E_y + t_y, E_o + t_o
    double r[2];            // what is removed of a row of a class
    double least;           // of the other sums, too, with a row taken out
};

struct PairRows {
    const i32 *cell, *y;
    const float* P;  // (n, 2)
    i64 n;
};

struct CellsOfRows {  // the cells of n rows, and scores that they are corrected by, as 32-bit floats
    const i32* cell;      // (n, terms); −1 for none
    const double* S;      // (n, classes)
    const i32* y;
    const double* weight;
    i64 terms, classes;
    const float* Q;  // (cells + 1, wide): classes are padded by zeros, the last row is of no cell
    i64 wide, none;
};

struct PairOfMany {  // the cells of a pair of columns of more than two classes, padded by zeros
    const float *C, *E;    // (cells, wide)
    const float *t, *one;  // (wide,): t_k, and the same with 1 in place of the zeros
    i64 wide, classes;
};

constexpr int SUMMED_AT_ONCE = 2;  // pairs

struct SummedRows {
    i64 n, wide;
    const i32* y;
    const float *own, *P;  // (n, 2): weight and Σ w·P of the own class; (n, wide): Σ w·P
};

struct SummedPair {  // the codes of two columns, and what their joint cells sum to
    const unsigned char *a, *b;
    i64 width;
    float *CO, *E;  // (cells, wide, 2), (cells, wide)
};

struct BinShares {
    const double *prior, *row, *rows;  // of each class: smoothed count, weight of a row, of all
    const double *all, *said;          // of each bin: its rows, what all classes say
    double each, strength, everyone;
};

struct DensityRows {
    const double *weight, *held, *prior, *row;  // of each entry: its rows; of its class: all its
                                                // rows, its smoothed count, the weight of a row
    const double* rows;  // of each bin
    double everyone, even, unit;
};

struct SpreadRows {
    const i64* start;        // the entries of each class
    const i32 *cell, *at;    // of each entry: its bin, where its sum is written
    const double* weight;    // of each entry
    const double *by, *sum;  // (reach + 1, 8), (bins, 8): kernels by distance, their sums in bins
    i64 reach;
};

struct DensityOwn {
    const double *spread, *one, *gone;  // of each entry: its rows, what is taken out, whether that
                                        // leaves none of its class, 1 or 0
    const double *pooled, *sum;  // of each bin: its rows, the sum of its kernel
};

struct DensityShares {
    const double *factor, *spread, *mine, *own, *own_base;  // of each entry
    const double *base, *said;  // of each bin: S times the base, what all classes say
    double strength;
};

struct GaussianOthers {  // of each class, and of all other classes together
    const double *n, *mean, *squares;               // of the class: rows, mean, squares about it
    const double *rows, *all_squares;               // of the others
    const double *spread, *freedom;                 // of the others whose rows have a spread: their
                                                    // squares, and what divides them
    double less, least;  // what a class's rows are lessened by to divide, the least variance
};

struct GaussianShares {
    const double *n, *prior;              // of each class
    const double *mass, *scaled, *scale;  // summed over the other classes
    double pooled_rows, everyone, all_prior;
};

struct TermColumns {  // CSC: the documents of column j are start[j] … start[j + 1] − 1, in order
    const i64* start;
    const i32* documents;
    const float* values;
    i64 n, columns;
};

struct Loops {
    DenseLoops<double> f64;
    DenseLoops<float> f32;
    template <class T>
    const DenseLoops<T>& of() const {
        if constexpr (sizeof(T) == sizeof(double)) return f64;
        else return f32;
    }
    void (*moments_into)(i64 d, double n, double n_lo, const double* cells, i64 pad,
                         const double* to, double* t1h, double* t1l, double* t2h, double* t2l);
    void (*cross_rows)(const double* x, i64 n, i64 d, const i32* slot, const double* w,
                       double* cells, double* apart);
    void (*tile_quadratic)(i64 d, i64 K, i64 ld, const double* tile, const double* mean,
                           const double* scale, double* acc);
    void (*tile_linear)(i64 d, i64 K, i64 ld, const double* tile, const double* weight,
                        double* acc);
    void (*tile_linear_masked)(i64 d, i64 K, i64 ld, const double* tile, const double* weight,
                               double* acc);
    void (*tile_best)(i64 K, i64 first, const double* acc, double* best, i64* arg);
    void (*gather)(int nv, i64 n, i64 d, const i32* entry, const double* table,
                   const double* offset, double* out);
    SparseScore<i32> sparse_i32[3];  // [SparseKind]
    SparseScore<i64> sparse_i64[3];
    void (*logs)(i64 n, double* x);
    void (*density_less)(const double* x, i64 d, const double* mean, const double* rest,
                         const double* squares, const double* epsilon, const Less& less,
                         Density* out);
    double (*density_series)(const double* x, i64 d, const double* mean, const double* share,
                             double delta);
    void (*complement)(int nv, bool norm, bool zeros, const EntryRows& rows, const i32* own,
                       int used, const double* table, const double* alpha, i64 step, double* raw,
                       double* ratio, unsigned char* odd);
    void (*exps)(i64 n, float* x);
    void (*block_scores)(const float* z, i64 step, i64 terms, const float* factor, float* sum);
    void (*block_products)(const float* z, i64 step, i64 terms, const float* r, float* lanes);
    void (*pair_ratios)(const PairTable& table, const PairRows& rows, double* ratio);
    void (*pair_gains)(const PairTable& table, const PairRows& rows, double* logs);
    void (*pair_shares)(const PairOfMany& pair, i64 n, const i32* cell, const i32* y,
                        const double* weight, const float* P, double* share);
    void (*sum_some_cells)(const SummedRows& rows, const SummedPair* pairs, int count);
    void (*sum_expected)(i64 n, i64 wide, const i32* cell, const i32* y, const double* weight,
                         const double* P, double* C, double* E);
    void (*over_neighbours)(const double* from, i64 before, i64 n, i64 numbers, i64 after,
                            double width, double* to);
    void (*cell_shares)(const PairOfMany& pair, i64 cells, const float* C, const float* E,
                        const float* O, const float* removed, double* share);
    double (*corrected_rows)(const CellsOfRows& rows, i64 begin, i64 end, float* z,
                             float* gradient);
    bool (*alike)(const i32* y, const double* weight, i64 n, const double* of);
    void (*pooled_mass)(i64 n, i64 K, const double* x, const double* constant, const double* mean,
                        const double* scale, double* mass);
    void (*pooled_own)(i64 n, const double* square, const double* quadratic, double* mass);
    void (*pooled_mix)(i64 n, i64 K, double* mass, double* use, const double* share,
                       const double* shift, double* product, double* sum);
    void (*pooled_logs)(i64 n, double* product, double* sum);
    void (*bin_shares)(const BinShares& given, i64 n, const i32* cell, const i32* of,
                       const double* weight, double* share);
    void (*density_rows)(const DensityRows& given, i64 bins, const i64* start, double* one,
                         double* mine, double* left, double* own_base, double* gone);
    void (*ratios)(i64 n, const double* part, const double* whole, double more, double* ratio);
    void (*spread_rows)(const SpreadRows& given, i64 classes, i64 widths, double* part,
                        double* spread, i64 step);
    void (*density_own)(const DensityOwn& given, i64 bins, const i64* start, double* own);
    void (*density_shares)(const DensityShares& given, i64 bins, const i64* start, double* share);
    double (*log_sum)(i64 n, const double* weight, const double* x, bool few);
    void (*exps_of)(i64 n, double* x);
    double (*gaussian_mass)(i64 classes, double x, const double* constant, const double* centre,
                            const double* scale, double* mass);
    void (*gaussian_left)(const GaussianOthers& given, double x, i64 n, const i32* of,
                          const double* one, double* variance, double* square, double* rows,
                          double* odd);
    void (*gaussian_shares)(const GaussianShares& given, i64 n, const i32* of, const double* one,
                            const double* mine, double* share);
    void (*gram_of_columns)(const TermColumns& x, i64 begin, i64 end, const float* D, i64 C,
                            float* F);
    void (*times_columns)(const TermColumns& x, i64 begin, i64 end, const float* A, i64 C,
                          float* U);
};

namespace baseline {
const Loops* loops();
}
#ifdef TB_X86
namespace avx2 {
const Loops* loops();
}
namespace avx512 {
const Loops* loops();
}
#endif

}  // namespace tb
