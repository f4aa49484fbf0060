#include "models/policy/turn_queue.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster {
namespace {

using Lanes = std::vector<std::int64_t>;

// Lanes in the order they would be looked at.
Lanes order(const TurnQueue& queue) {
  Lanes lanes;
  for (auto at = queue.next(); at; at = queue.next(at)) lanes.push_back(at->lane);
  return lanes;
}

// Three tenants with a lane each, and one lane of nobody.
TurnQueue queueOf(std::int64_t limit = 2) {
  TurnQueue queue(limit);
  queue.addLane(1, "a");
  queue.addLane(2, "b");
  queue.addLane(3, "c");
  queue.addLane(4, "");
  return queue;
}

TEST(TurnQueue, goes_by_priority_then_turn_then_age) {
  TurnQueue queue(3);
  queue.addTenant("a", 7, 0);
  queue.addTenant("b", 5, 0);
  for (std::int64_t lane = 1; lane <= 4; ++lane) queue.addLane(lane, lane == 1 ? "a" : "b");
  queue.addLane(5, "new");
  queue.addLane(6, "newer");
  queue.offer(1, {9, 50});
  queue.offer(2, {0, 40});
  queue.offer(3, {0, 30});
  queue.offer(4, {-5, 1});
  queue.offer(5, {0, 60});
  queue.offer(6, {0, 70});
  EXPECT_EQ(order(queue), (Lanes{1, 5, 6, 3, 2, 4}));
}

TEST(TurnQueue, who_was_served_goes_to_the_end) {
  TurnQueue queue = queueOf();
  for (std::int64_t lane = 1; lane <= 4; ++lane) queue.offer(lane, {0, lane});
  EXPECT_EQ(queue.serve(1, {0, 1}), 1);
  EXPECT_EQ(order(queue), (Lanes{2, 3, 4, 1}));
  EXPECT_EQ(queue.serve(4, {0, 4}), 2);
  EXPECT_EQ(queue.serve(2, {0, 2}), 3);
  EXPECT_EQ(order(queue), (Lanes{3, 1, 4, 2}));
}

TEST(TurnQueue, all_lanes_of_a_tenant_have_its_turn) {
  TurnQueue queue = queueOf();
  queue.addLane(5, "a");
  for (const std::int64_t lane : {1, 5, 2}) queue.offer(lane, {0, lane});
  EXPECT_EQ(order(queue), (Lanes{1, 2, 5}));
  queue.serve(5, {0, 5});
  EXPECT_EQ(order(queue), (Lanes{2, 1, 5}));
}

TEST(TurnQueue, a_tenant_without_a_free_place_stands_aside_until_it_has_one) {
  TurnQueue queue = queueOf(1);
  for (std::int64_t lane = 1; lane <= 4; ++lane) queue.offer(lane, {0, lane});
  queue.serve(1, {0, 1});
  EXPECT_EQ(order(queue), (Lanes{2, 3, 4}));
  queue.offer(1, {9, 10});
  EXPECT_EQ(order(queue), (Lanes{2, 3, 4}));
  queue.free("a");
  EXPECT_EQ(order(queue), (Lanes{1, 2, 3, 4}));
  for (std::int64_t seq = 4; seq < 9; ++seq) queue.serve(4, {0, seq});
  EXPECT_EQ(order(queue), (Lanes{1, 2, 3, 4})) << "nobody's jobs have no limit";
}

TEST(TurnQueue, a_tenant_over_a_limit_that_was_lowered_waits_for_all_that_is_too_much) {
  TurnQueue queue(1);
  queue.addTenant("a", 1, 3);
  queue.addLane(1, "a");
  queue.offer(1, {0, 1});
  for (int left = 0; left < 2; ++left) {
    queue.free("a");
    EXPECT_EQ(order(queue), Lanes{});
  }
  queue.free("a");
  EXPECT_EQ(order(queue), Lanes{1});
}

TEST(TurnQueue, a_bound_moves_forward_only_by_an_offer_and_back_by_a_correction) {
  TurnQueue queue = queueOf();
  queue.offer(1, {5, 10});
  queue.offer(1, {5, 20});
  queue.offer(1, {4, 1});
  EXPECT_EQ(queue.next()->head(), (TurnQueue::Head{5, 10}));
  queue.offer(1, {6, 30});
  EXPECT_EQ(queue.next()->head(), (TurnQueue::Head{6, 30}));
  queue.correct(1, TurnQueue::Head{5, 10});
  EXPECT_EQ(queue.next()->head(), (TurnQueue::Head{5, 10}));
  queue.correct(1, std::nullopt);
  EXPECT_EQ(queue.next(), std::nullopt);
}

TEST(TurnQueue, taking_another_than_the_first_leaves_the_first_where_it_is) {
  TurnQueue queue = queueOf();
  queue.offer(1, {5, 10});
  queue.serve(1, {5, 20});
  EXPECT_EQ(queue.next()->head(), (TurnQueue::Head{5, 10}));
  queue.serve(1, {5, 10});
  queue.free("a");
  EXPECT_TRUE((TurnQueue::Head{5, 10}.before(queue.next()->head())));
}

TEST(TurnQueue, without_tenants_nobody_takes_turns) {
  TurnQueue queue(1);
  queue.addLane(1, "");
  queue.addLane(2, "");
  queue.offer(1, {0, 1});
  queue.offer(2, {0, 2});
  EXPECT_EQ(queue.serve(1, {0, 1}), std::nullopt);
  queue.correct(1, TurnQueue::Head{0, 3});
  EXPECT_EQ(order(queue), (Lanes{2, 1}));
}

TEST(TurnQueue, turns_go_on_from_the_last_one_that_was_written_down) {
  TurnQueue queue(5);
  queue.addTenant("gone", 41, 0);
  queue.addLane(1, "a");
  EXPECT_EQ(queue.serve(1, {0, 1}), 42);
}

TEST(TurnQueue, free_of_an_unknown_tenant_changes_nothing) {
  TurnQueue queue = queueOf();
  queue.free("nobody");
  EXPECT_EQ(order(queue), Lanes{});
}

TEST(TurnQueue, looks_at_the_groups_that_are_selected_and_no_others) {
  TurnQueue queue = queueOf();
  queue.addGroup("worker:w");
  queue.addGroup("worker:v");
  queue.addLane(5, "a", "worker:w");
  queue.addLane(6, "b", "worker:v");
  queue.offer(1, {0, 10});
  queue.offer(5, {0, 5});
  queue.offer(6, {9, 1});
  EXPECT_EQ(order(queue), Lanes{1});
  queue.select(std::vector<std::string>{"worker:w"});
  EXPECT_EQ(order(queue), (Lanes{5, 1}));
  EXPECT_EQ(queue.size(), 2U);
  queue.select(std::vector<std::string>{"worker:w", "worker:v"});
  EXPECT_EQ(order(queue), (Lanes{6, 5, 1}));
  queue.select({});
  EXPECT_EQ(order(queue), Lanes{1});
}

TEST(TurnQueue, can_leave_out_the_lanes_without_a_pin) {
  TurnQueue queue = queueOf();
  queue.addGroup("worker:w");
  queue.addLane(5, "a", "worker:w");
  queue.offer(1, {9, 1});
  queue.offer(5, {0, 5});
  EXPECT_TRUE(queue.isOpen(1));
  EXPECT_FALSE(queue.isOpen(5));
  const std::vector<std::string> pins{"worker:w"};
  queue.select(pins, false);
  EXPECT_EQ(order(queue), Lanes{5});
  EXPECT_EQ(queue.size(), 1U);
  queue.select(pins);
  EXPECT_EQ(order(queue), (Lanes{1, 5})) << "the next claim looks at all again";
}

TEST(TurnQueue, a_turn_counts_for_all_lanes_of_a_tenant_whatever_their_pin) {
  TurnQueue queue = queueOf(2);
  queue.addGroup("worker:w");
  queue.addLane(5, "a", "worker:w");
  const std::vector<std::string> pins{"worker:w"};
  for (const std::int64_t lane : {1, 2, 5}) queue.offer(lane, {0, 10 + lane});
  queue.select(pins);
  EXPECT_EQ(order(queue), (Lanes{1, 2, 5}));
  queue.select({});
  EXPECT_TRUE(queue.serve(1, {0, 11}));
  queue.select(pins);
  EXPECT_EQ(order(queue), (Lanes{2, 1, 5})) << "also one whose group was not selected then";
  EXPECT_TRUE(queue.serve(5, {0, 15}));
  EXPECT_EQ(order(queue), Lanes{2}) << "the tenant has no place left";
  queue.free("a");
  EXPECT_EQ(order(queue), (Lanes{2, 1, 5}));
}

}  // namespace
}  // namespace muster
