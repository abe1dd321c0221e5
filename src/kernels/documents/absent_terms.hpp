// What the terms that a document does not hold say of a class, where all counts fade together:
//
//     Σ_t log(1 − x_t),   x_t = N_t / (N + α)
//
// N_t documents of the class hold term t, and N there are. Counts that fade all differ from one document
// to the next, and so do their logarithms; their powers fade as a whole. So terms that few documents hold
// are summed by the series log(1 − x) = −Σ_m x^m / m, and the others one by one. While nothing is
// forgotten, only the terms of a document that is learned can come to be among the others.
//
// Counts come times a scale, of which x_t knows nothing.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <unordered_map>

namespace tb {

// A running sum in twice the precision, so that what goes leaves nothing of what came.
class RunningSum {
public:
    void add(double x) {
        const double sum = high_ + x, part = sum - high_;
        const double error = (high_ - (sum - part)) + (x - part);
        low_ += error;
        high_ = sum + low_;
        low_ -= high_ - sum;
    }
    // By a power of 2, which rounds nothing.
    void scale(double by) {
        high_ *= by;
        low_ *= by;
    }
    double value() const { return high_ + low_; }

private:
    double high_ = 0.0, low_ = 0.0;
};

using u32 = std::uint32_t;

// Σ log x of numbers from 0 to 1: the logarithm of their product, which is kept in range.
class LogProduct {
public:
    void take(double x) {
        constexpr double SMALLEST = 1e-100;
        if (x < SMALLEST || product_ < SMALLEST) {
            logs_ += std::log(product_);
            product_ = 1.0;
        }
        product_ *= x;
    }
    double value() const { return logs_ + std::log(product_); }

private:
    double product_ = 1.0, logs_ = 0.0;
};

class AbsentTerms {
public:
    // A term's count, which stays where it is, becomes another one; `all` is N + α.
    void change(u32 t, const double& count, double before, double after, double all) {
        keep_in_range(all);
        const auto at = frequent_.find(t);
        if (at != frequent_.end()) {
            if (after == 0.0) frequent_.erase(at);
            return;
        }
        if (after > FREQUENT * all) {
            frequent_.emplace(t, &count);
            after = 0.0;
        }
        add(before, after);
    }
    // Some documents were forgotten: x_t of other terms has grown. Whether the series still serves.
    bool shrink(double before, double after) {
        grown_ *= before / after;
        return grown_ <= 2.0;
    }
    // All counts are divided by a number.
    void rescale(double by) { unit_ *= by; }
    // N documents, and α, times the scale of the counts.
    double value(double documents, double alpha) {
        const double all = documents + alpha;
        keep_in_range(all);
        LogProduct product;
        for (auto at = frequent_.begin(); at != frequent_.end();) {
            const double count = *at->second;
            if (count < 0.5 * FREQUENT * all) {
                add(0.0, count);
                at = frequent_.erase(at);
                continue;
            }
            product.take((std::max(documents - count, 0.0) + alpha) / all);
            ++at;
        }
        const double by = 1.0 / (all * unit_);
        double found = product.value(), power = 1.0;
        for (std::size_t m = 0; m < POWERS; ++m) {
            power *= by;
            found -= sums_[m].value() * power / static_cast<double>(m + 1);
        }
        return found;
    }

private:
    // The rest of the series is below 16⁻¹⁰ / 11 of Σ x_t, the mean number of terms of a document.
    static constexpr double FREQUENT = 0x1p-5;
    static constexpr std::size_t POWERS = 10;
    static constexpr double RANGE = 0x1p32;

    void add(double before, double after) {
        double was = 1.0, is = 1.0;
        for (RunningSum& sum : sums_) {
            was *= before * unit_;
            is *= after * unit_;
            sum.add(is - was);
        }
    }
    // Powers are of counts times a unit, which changes by powers of 2, so that nothing is rounded.
    void keep_in_range(double all) {
        if (all * unit_ >= 1.0 && all * unit_ < RANGE) return;
        const double by = std::exp2(-std::floor(std::log2(all * unit_)));
        double power = 1.0;
        for (RunningSum& sum : sums_) sum.scale(power *= by);
        unit_ *= by;
    }

    std::array<RunningSum, POWERS> sums_;
    std::unordered_map<u32, const double*> frequent_;
    double unit_ = 1.0, grown_ = 1.0;
};

}  // namespace tb
