#include "app/waits/wait_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace muster {
namespace {

TEST(WaitList, wakes_as_many_as_asked_longest_waiting_first) {
  WaitList waits;
  std::vector<int> woken;
  const auto generation = waits.generation("pool");
  for (int i = 0; i < 3; ++i) waits.wait("pool", generation, [&woken, i] { woken.push_back(i); });
  waits.wake("pool", 2);
  EXPECT_EQ(woken, (std::vector{0, 1}));
  waits.wake("pool", 5);
  EXPECT_EQ(woken, (std::vector{0, 1, 2}));
}

TEST(WaitList, a_wake_between_the_look_and_the_wait_is_not_missed) {
  WaitList waits;
  const auto before = waits.generation("pool");
  waits.wake("pool", 1);
  bool woken = false;
  EXPECT_EQ(waits.wait("pool", before, [&woken] { woken = true; }), 0U);
  EXPECT_TRUE(woken);
}

TEST(WaitList, another_key_wakes_nobody) {
  WaitList waits;
  bool woken = false;
  waits.wait("a", waits.generation("a"), [&woken] { woken = true; });
  waits.wake("b", 10);
  EXPECT_FALSE(woken);
}

TEST(WaitList, a_cancelled_wait_is_never_called) {
  WaitList waits;
  bool woken = false;
  const auto ticket = waits.wait("a", waits.generation("a"), [&woken] { woken = true; });
  EXPECT_TRUE(waits.cancel(ticket));
  waits.wake("a", 10);
  EXPECT_FALSE(woken);
  EXPECT_FALSE(waits.cancel(ticket));
}

TEST(WaitList, close_wakes_everybody_now_and_later) {
  WaitList waits;
  int woken = 0;
  waits.wait("a", waits.generation("a"), [&woken] { ++woken; });
  waits.wait("b", waits.generation("b"), [&woken] { ++woken; });
  waits.close();
  waits.wait("c", waits.generation("c"), [&woken] { ++woken; });
  EXPECT_EQ(woken, 3);
}

TEST(WaitList, every_waiter_is_called_once_under_concurrent_wakes) {
  WaitList waits;
  constexpr int kWaiters = 2000;
  std::atomic<int> calls = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kWaiters; ++i) {
          waits.wait("pool", waits.generation("pool"), [&calls] { ++calls; });
        }
      });
      threads.emplace_back([&] {
        for (int i = 0; i < kWaiters; ++i) waits.wake("pool", 2);
      });
    }
  }
  waits.close();
  EXPECT_EQ(calls, 2 * kWaiters);
}

TEST(WaitList, is_open_to_others_while_thousands_are_woken) {
  WaitList waits;
  const auto generation = waits.generation("pool");
  std::vector<int> woken;
  std::size_t entered = 0;
  for (int i = 0; i < 10'000; ++i) {
    waits.wait("pool", generation, [&, i] {
      woken.push_back(i);
      // Whoever is woken may wait again at once; the list is not locked meanwhile.
      if (waits.wait("pool", waits.generation("pool"), [&entered] { ++entered; }) != 0) return;
      ADD_FAILURE() << "the new wait ended at once";
    });
  }
  waits.wake("pool", 1'000'000);
  ASSERT_EQ(woken.size(), 10'000U);
  EXPECT_TRUE(std::is_sorted(woken.begin(), woken.end())) << "longest waiting first";
  EXPECT_EQ(entered, 0U) << "who came meanwhile waits for the next wake";
  waits.close();
  EXPECT_EQ(entered, 10'000U);
}

TEST(WaitList, wakes_no_more_than_asked_however_many_wait) {
  WaitList waits;
  const auto generation = waits.generation("pool");
  std::size_t woken = 0;
  std::vector<WaitList::Ticket> tickets;
  for (int i = 0; i < 1000; ++i) {
    tickets.push_back(waits.wait("pool", generation, [&woken] { ++woken; }));
  }
  waits.wake("pool", 130);
  EXPECT_EQ(woken, 130U);
  EXPECT_FALSE(waits.cancel(tickets[129]));
  EXPECT_TRUE(waits.cancel(tickets[130]));
  waits.wake("pool", 1000);
  EXPECT_EQ(woken, 999U);
}

}  // namespace
}  // namespace muster
