// Products with columns of documents: see documents/ridge.hpp. Included by loops.hpp, once for each
// instruction set.
//
// A column x_t is read once for both directions: w = x_tᵀ D, then F += x_t w; D and F have a row a
// document and stay in the cache. Lanes are numbers of one document, so no sum depends on how many
// a register holds.
#pragma once

namespace tb::TB_ISA {
namespace {

// w_c = Σ_i x_ij D_ic of one column and LANES numbers of a document.
template <int LANES>
inline void column_times(const TermColumns& x, i64 j, const float* D, i64 C, float* w) {
    float sum[LANES] = {};
    for (i64 p = x.start[j]; p < x.start[j + 1]; ++p) {
        const float v = x.values[p];
        const float* d = D + static_cast<i64>(x.documents[p]) * C;
        for (int c = 0; c < LANES; ++c) sum[c] += v * d[c];
    }
    for (int c = 0; c < LANES; ++c) w[c] = sum[c];
}

// F_ic += x_ij w_c.
template <int LANES>
inline void add_column(const TermColumns& x, i64 j, const float* w, float* F, i64 C) {
    float by[LANES];
    for (int c = 0; c < LANES; ++c) by[c] = w[c];
    for (i64 p = x.start[j]; p < x.start[j + 1]; ++p) {
        const float v = x.values[p];
        float* f = F + static_cast<i64>(x.documents[p]) * C;
        for (int c = 0; c < LANES; ++c) f[c] += v * by[c];
    }
}

template <int LANES>
void gram_in_lanes(const TermColumns& x, i64 begin, i64 end, const float* D, i64 C, float* F) {
    for (i64 j = begin; j < end; ++j) {
        float w[LANES];
        column_times<LANES>(x, j, D, C, w);
        add_column<LANES>(x, j, w, F, C);
    }
}

template <int LANES>
void times_in_lanes(const TermColumns& x, i64 begin, i64 end, const float* A, i64 C, float* U) {
    for (i64 j = begin; j < end; ++j) column_times<LANES>(x, j, A, C, U + j * C);
}

typedef void (*InLanes)(const TermColumns& x, i64 begin, i64 end, const float* D, i64 C, float* F);
constexpr i64 MOST_LANES = 64;

// Columns are short, so the passes over one cost more than what they multiply: as many lanes at a
// time as registers hold.
void in_lanes(const InLanes* fours, InLanes two, InLanes one, const TermColumns& x, i64 begin,
              i64 end, const float* D, i64 C, float* F) {
    i64 c = 0;
    for (; c + MOST_LANES <= C; c += MOST_LANES)
        fours[MOST_LANES / 4 - 1](x, begin, end, D + c, C, F + c);
    if (const i64 rest = (C - c) / 4; rest > 0) {
        fours[rest - 1](x, begin, end, D + c, C, F + c);
        c += 4 * rest;
    }
    for (; c + 2 <= C; c += 2) two(x, begin, end, D + c, C, F + c);
    for (; c < C; ++c) one(x, begin, end, D + c, C, F + c);
}

// F += X Xᵀ D over the columns begin … end − 1.
void gram_of_columns(const TermColumns& x, i64 begin, i64 end, const float* D, i64 C, float* F) {
    static constexpr InLanes fours[] = {
        gram_in_lanes<4>,  gram_in_lanes<8>,  gram_in_lanes<12>, gram_in_lanes<16>,
        gram_in_lanes<20>, gram_in_lanes<24>, gram_in_lanes<28>, gram_in_lanes<32>,
        gram_in_lanes<36>, gram_in_lanes<40>, gram_in_lanes<44>, gram_in_lanes<48>,
        gram_in_lanes<52>, gram_in_lanes<56>, gram_in_lanes<60>, gram_in_lanes<64>};
    in_lanes(fours, gram_in_lanes<2>, gram_in_lanes<1>, x, begin, end, D, C, F);
}

// The rows begin … end − 1 of U = Xᵀ A.
void times_columns(const TermColumns& x, i64 begin, i64 end, const float* A, i64 C, float* U) {
    static constexpr InLanes fours[] = {
        times_in_lanes<4>,  times_in_lanes<8>,  times_in_lanes<12>, times_in_lanes<16>,
        times_in_lanes<20>, times_in_lanes<24>, times_in_lanes<28>, times_in_lanes<32>,
        times_in_lanes<36>, times_in_lanes<40>, times_in_lanes<44>, times_in_lanes<48>,
        times_in_lanes<52>, times_in_lanes<56>, times_in_lanes<60>, times_in_lanes<64>};
    in_lanes(fours, times_in_lanes<2>, times_in_lanes<1>, x, begin, end, A, C, U);
}

}  // namespace
}  // namespace tb::TB_ISA
