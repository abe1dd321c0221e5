// Threads for one call. They are started and joined within the call: nothing survives it, so the
// module is safe after fork, under spawn and when several Python threads call it at once.
#pragma once
#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "simd/loop_table.hpp"

namespace tb {

constexpr i64 WORK_PER_THREAD = 1 << 17;  // elementary steps below which a thread does not pay
constexpr std::size_t APART = 128;         // bytes between what different threads write

inline int threads_for(i64 work, i64 tasks, int allowed) {
    i64 useful = work / WORK_PER_THREAD;
    if (useful > tasks) useful = tasks;
    if (useful > allowed) useful = allowed;
    return useful < 1 ? 1 : static_cast<int>(useful);
}

// A reference to f(task, thread), valid as long as f. It hides the type of f, so that what starts the
// threads and waits for them is compiled once, in parallel.cpp, and not for every f.
class TaskRef {
public:
    template <class F>
    TaskRef(F& f)
        : object_(std::addressof(f)), call_([](const void* object, i64 task, int thread) {
              (*static_cast<F*>(const_cast<void*>(object)))(task, thread);
          }) {}
    void operator()(i64 task, int thread) const { call_(object_, task, thread); }

private:
    const void* object_;
    void (*call_)(const void* object, i64 task, int thread);
};

void run_in_order_on_threads(i64 tasks, int threads, TaskRef work, TaskRef merge);
void run_tasks_on_threads(i64 tasks, int threads, TaskRef work);

// Runs work(task, thread) for every task on any thread, and merge(task, thread) in the order of
// the tasks, whichever thread finishes first. A result that is merged in order does not depend on
// the number of threads.
template <class Work, class Merge>
void run_in_order(i64 tasks, int threads, Work&& work, Merge&& merge) {
    if (threads <= 1 || tasks <= 1) {
        for (i64 t = 0; t < tasks; ++t) {
            work(t, 0);
            merge(t, 0);
        }
        return;
    }
    run_in_order_on_threads(tasks, threads, TaskRef(work), TaskRef(merge));
}

// Runs work(task, thread) for every task, in any order and waiting for none.
template <class Work>
void run_tasks(i64 tasks, int threads, Work&& work) {
    if (threads <= 1 || tasks <= 1) {
        for (i64 t = 0; t < tasks; ++t) work(t, 0);
        return;
    }
    run_tasks_on_threads(tasks, threads, TaskRef(work));
}

// Runs rows(begin, end) for `step` of n rows at a time, on as many threads as so much work pays for.
template <class Rows>
void run_rows(i64 n, i64 step, i64 work, int allowed, Rows&& rows) {
    const i64 tasks = (n + step - 1) / step;
    run_tasks(tasks, threads_for(work, tasks, allowed), [&](i64 task, int) {
        const i64 begin = task * step;
        rows(begin, begin + step < n ? begin + step : n);
    });
}

}  // namespace tb
