#include "core/parallel.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace tb {

namespace {

constexpr int AWAKE = 200;  // looks at whose turn it is before a thread sleeps, and wakes up late

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

}  // namespace

void run_in_order_on_threads(i64 tasks, int threads, TaskRef work, TaskRef merge) {
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

void run_tasks_on_threads(i64 tasks, int threads, TaskRef work) {
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
