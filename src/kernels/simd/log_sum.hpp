// Sums of logarithms of many numbers.
#pragma once
#include <cmath>
#include <vector>

#include "simd/loop_table.hpp"

namespace tb {

// A running Σ w·log(x). Rows of a class mostly weigh alike: then logarithms of products cost one for
// many rows.
class LogSum {
public:
    explicit LogSum(i64 classes) : runs_(classes) {}
    void add(i64 k, double x, double w) {
        Run& run = runs_[k];
        if (w != run.weight) {
            flush(run);
            run.weight = w;
        }
        run.product *= x;
        if (!(run.product > 1e-200 && run.product < 1e200)) flush(run);
    }
    double value() {
        for (Run& run : runs_) flush(run);
        return sum_;
    }

private:
    struct Run {
        double product = 1.0, weight = 1.0;
    };
    void flush(Run& run) {
        sum_ += run.weight * std::log(run.product);
        run.product = 1.0;
    }
    std::vector<Run> runs_;
    double sum_ = 0.0;
};

}  // namespace tb
