// Threads for one call. They are started and joined within the call: nothing survives it, so the
// module is safe after fork, under spawn and when several Python threads call it at once.
#pragma once
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "simd/loop_table.hpp"

namespace tb {

constexpr i64 WORK_PER_THREAD = 1 << 17;  // elementary steps below which a thread does not pay

constexpr int AWAKE = 200;  // looks at whose turn it is before a thread sleeps, and wakes up late

inline int threads_for(i64 work, i64 tasks, int allowed) {
    i64 useful = work / WORK_PER_THREAD;
    if (useful > tasks) useful = tasks;
    if (useful > allowed) useful = allowed;
    return useful < 1 ? 1 : static_cast<int>(useful);
}

// Runs run(thread) on so many threads, one of them the caller's, and waits for all.
template <class Run>
void on_threads(int threads, Run&& run) {
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i) {
        try {
            others.emplace_back(run, i);
        } catch (const std::system_error&) {
            break;  // no more threads to be had: fewer do the same work
        }
    }
    run(0);
    for (auto& thread : others) thread.join();
}

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
    std::atomic<i64> next{0}, turn{0};
    std::mutex mutex;
    std::condition_variable turn_changed;
    std::exception_ptr failure;
    std::atomic<bool> failed{false};  // then what is left is not worked on
    on_threads(threads, [&](int thread) {
        for (i64 t; (t = next.fetch_add(1)) < tasks;) {
            std::exception_ptr mine;
            try {
                if (!failed) work(t, thread);
            } catch (...) {
                mine = std::current_exception();
                failed = true;
            }
            for (int i = 0; i < AWAKE && turn != t; ++i) std::this_thread::yield();
            std::unique_lock<std::mutex> lock(mutex);
            turn_changed.wait(lock, [&] { return turn == t; });
            if (mine && !failure) failure = mine;
            if (!failed) {
                try {
                    merge(t, thread);
                } catch (...) {
                    failure = std::current_exception();
                    failed = true;
                }
            }
            ++turn;
            turn_changed.notify_all();
        }
    });
    if (failure) std::rethrow_exception(failure);
}

// Runs work(task, thread) for every task, in any order and waiting for none.
template <class Work>
void run_tasks(i64 tasks, int threads, Work&& work) {
    if (threads <= 1 || tasks <= 1) {
        for (i64 t = 0; t < tasks; ++t) work(t, 0);
        return;
    }
    std::atomic<i64> next{0};
    std::atomic<bool> failed{false};  // then what is left is not worked on
    std::exception_ptr failure;
    on_threads(threads, [&](int thread) {
        for (i64 t; !failed && (t = next.fetch_add(1)) < tasks;) {
            try {
                work(t, thread);
            } catch (...) {
                if (!failed.exchange(true)) failure = std::current_exception();
            }
        }
    });
    if (failure) std::rethrow_exception(failure);
}

}  // namespace tb
