// The binding of the kernel that scores numbers as a density beside atoms.
#include "pooled.hpp"

#include "arrays.hpp"
#include "bind.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tb;
using Vector = InVector<double>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutTable = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void pooled_scores_(const Vector& x, const Vector& low, const Vector& high, const Table& atoms,
                    const Vector& constant, const Vector& mean, const Vector& scale,
                    const Vector& shift, double share, const Vector& gap, const Vector& there,
                    OutTable scores, int threads) {
    const std::size_t K = constant.shape(0), A = low.shape(0);
    const bool fits = high.shape(0) == A && atoms.shape(0) == A && atoms.shape(1) == K &&
                      mean.shape(0) == K && scale.shape(0) == K && shift.shape(0) == K &&
                      gap.shape(0) == K && there.shape(0) == K && scores.shape(1) == K &&
                      scores.shape(0) == x.shape(0);
    if (!fits) throw nb::value_error("the density has other classes, atoms or rows");
    const PooledTerms terms{low.data(),   high.data(),  atoms.data(), static_cast<i64>(A),
                            constant.data(), mean.data(), scale.data(), shift.data(),
                            share,        static_cast<i64>(K)};
    nb::gil_scoped_release release;
    pooled_scores(x.data(), static_cast<i64>(x.shape(0)), terms, gap.data(), there.data(),
                  scores.data(), threads);
}

}  // namespace

void bind_pooled(nb::module_& m) {
    m.def("pooled_scores", &pooled_scores_, "x"_a, "low"_a, "high"_a, "atoms"_a, "constant"_a,
          "mean"_a, "scale"_a, "shift"_a, "share"_a, "gap"_a, "there"_a, "scores"_a.noconvert(),
          "threads"_a);
}
