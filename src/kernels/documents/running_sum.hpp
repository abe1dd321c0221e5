// A sum of numbers that come and go.
#pragma once

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

}  // namespace tb
