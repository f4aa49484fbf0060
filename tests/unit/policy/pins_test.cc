#include "models/policy/pins.h"

#include <gtest/gtest.h>

#include <map>

namespace muster {
namespace {

using Names = std::vector<std::string>;

Holder host(const std::string& name) { return {Holder::Kind::kHost, name}; }
Holder worker(const std::string& id) { return {Holder::Kind::kWorker, id}; }

HolderFacts factsOfWorker(const std::string& node, Presence presence = Presence::kThere,
                          const std::string& pool = "p") {
  return {presence,
          presence == Presence::kThere ? Millis(0) : Millis(42'000),
          pool,
          {node, "eu", {"gpu"}, {}}};
}
HolderFacts factsOfHost(const std::string& name, Presence presence = Presence::kThere) {
  return {
      presence, presence == Presence::kThere ? Millis(0) : Millis(7'500), "", {name, {}, {}, {}}};
}

// Workers w1 and w2 on host a, w3 on host b, one of another pool on a, and some that are not there.
HolderFacts known(const Holder& holder) {
  static const std::map<std::string, HolderFacts> all = {
      {"worker:w1", factsOfWorker("a")},
      {"worker:w2", factsOfWorker("a")},
      {"worker:w3", factsOfWorker("b")},
      {"worker:other", factsOfWorker("a", Presence::kThere, "q")},
      {"worker:leaving", factsOfWorker("a", Presence::kLeaving)},
      {"worker:silent", factsOfWorker("a", Presence::kSilent)},
      {"host:a", factsOfHost("a")},
      {"host:b", factsOfHost("b")},
      {"host:c", factsOfHost("c")},
      {"host:away", factsOfHost("away", Presence::kSilent)},
  };
  const auto found = all.find(holder.text());
  return found == all.end() ? HolderFacts{} : found->second;
}

PinRef ref(const std::string& id, const Holder& holder, bool has_copy = false,
           std::int64_t bytes = 0) {
  PinRef made{.id = id, .pointer = "/resource_refs/" + id, .holder = holder};
  made.has_copy = has_copy;
  made.bytes = bytes;
  return made;
}
PinRef said(PinRef made, const std::string& worker_id) {
  made.worker = worker_id;
  return made;
}
PinRef unknown(const std::string& id, const std::string& worker_id = "") {
  PinRef made{.id = id, .pointer = "/resource_refs/" + id};
  made.worker = worker_id;
  return made;
}

PinQuestion asks(std::vector<PinRef> refs, std::optional<Holder> key_holder = {},
                 PinMode key_mode = PinMode::kPreferred) {
  PinQuestion job{.refs = std::move(refs)};
  job.pool = PoolId("p");
  if (key_holder) job.key = "k";
  job.key_holder = std::move(key_holder);
  job.key_mode = key_mode;
  return job;
}
PinQuestion placed(PinQuestion job, void (*change)(Placement&)) {
  change(job.placement);
  return job;
}
PinQuestion strict(PinQuestion job) {
  job.strict_refs = true;
  return job;
}

struct Row {
  std::string_view what;
  PinQuestion job;
  std::string pin;  // "required worker:w1", "" for none, or the code of the error
};

std::string answer(const Result<std::optional<Pin>>& decided) {
  if (!decided) {
    const Error& error = decided.error();
    return std::string(error.fields.empty() ? describe(error.code).name
                                            : std::string_view(error.fields[0].code));
  }
  if (!*decided) return "";
  return std::string(name((*decided)->mode)) + " " + (*decided)->holder.text();
}

const Holder kStored{}, kOutside{Holder::Kind::kExternal, ""};

TEST(Pins, every_row_of_the_table) {
  const auto must = PinMode::kRequired;
  const Row rows[] = {
      {"nothing at all", asks({}), ""},
      {"refs to the store and to elsewhere", asks({ref("r", kStored), ref("s", kOutside)}), ""},
      {"a file on a host", asks({ref("r", host("a"))}), "required host:a"},
      {"a file on a host with a copy", asks({ref("r", host("a"), true)}), "preferred host:a"},
      {"of several hosts with copies the one with most bytes",
       asks({ref("r", host("a"), true, 5), ref("s", host("b"), true, 4),
             ref("t", host("b"), true, 3)}),
       "preferred host:b"},
      {"something that a worker has", asks({ref("r", worker("w1"))}), "required worker:w1"},
      {"of a worker and its host", asks({ref("f", host("a")), ref("r", worker("w1"))}),
       "required worker:w1"},
      {"of its host after the worker", asks({ref("r", worker("w1")), ref("f", host("a"))}),
       "required worker:w1"},
      {"two workers", asks({ref("r", worker("w1")), ref("s", worker("w2"))}), "conflicting_pins"},
      {"two hosts", asks({ref("r", host("a")), ref("s", host("b"))}), "conflicting_pins"},
      {"a worker and another host", asks({ref("r", worker("w1")), ref("s", host("b"))}),
       "conflicting_pins"},
      {"a worker, its host and another host",
       asks({ref("f", host("a")), ref("r", worker("w1")), ref("s", host("b"))}),
       "conflicting_pins"},
      {"required against a required key", asks({ref("r", worker("w1"))}, worker("w2"), must),
       "conflicting_pins"},
      {"a required key that agrees", asks({ref("r", worker("w1"))}, worker("w1"), must),
       "required worker:w1"},
      {"required against a preferred key", asks({ref("r", worker("w1"))}, worker("w2")),
       "required worker:w1"},
      {"required against a preferred host",
       asks({ref("r", worker("w1")), ref("f", host("b"), true, 9)}), "required worker:w1"},
      {"against allowed_nodes",
       placed(asks({ref("r", worker("w1"))}), [](Placement& p) { p.allowed_nodes = Names{"b"}; }),
       "conflicting_pins"},
      {"a host against allowed_nodes",
       placed(asks({ref("r", host("a"))}), [](Placement& p) { p.allowed_nodes = Names{"b"}; }),
       "conflicting_pins"},
      {"a host against forbidden_nodes",
       placed(asks({ref("r", host("a"))}), [](Placement& p) { p.forbidden_nodes = {"a"}; }),
       "conflicting_pins"},
      {"against capabilities",
       placed(asks({ref("r", worker("w1"))}), [](Placement& p) { p.capabilities = {"tpu"}; }),
       "conflicting_pins"},
      {"a capability that the worker has",
       placed(asks({ref("r", worker("w1"))}), [](Placement& p) { p.capabilities = {"gpu"}; }),
       "required worker:w1"},
      {"against the region",
       placed(asks({ref("r", worker("w1"))}), [](Placement& p) { p.region = "us"; }),
       "conflicting_pins"},
      {"a share per node is no conflict",
       placed(asks({ref("r", worker("w1"))}), [](Placement& p) { p.max_parallel_per_node = 1; }),
       "required worker:w1"},
      {"a worker of another pool", asks({ref("r", worker("other"))}), "conflicting_pins"},
      {"another worker is said to hold it", asks({said(ref("r", worker("w1")), "w2")}),
       "conflicting_pins"},
      {"the right worker is said to hold it", asks({said(ref("r", worker("w1")), "w1")}),
       "required worker:w1"},
      {"who made it, of something stored", asks({said(ref("r", kStored), "w2")}), ""},
      {"not registered, with a worker", asks({unknown("r", "w1")}), "required worker:w1"},
      {"not registered, without one", asks({unknown("r")}), ""},
      {"not registered, with a worker that is not known", asks({unknown("r", "nobody")}),
       "worker_unavailable"},
      {"not registered, in a strict pool", strict(asks({unknown("r")})), "unknown_resource"},
      {"the same with a worker", strict(asks({unknown("r", "w1")})), "unknown_resource"},
      {"the holder is silent", asks({ref("r", worker("silent"))}), "worker_unavailable"},
      {"the holder is terminating", asks({ref("r", worker("leaving"))}), "worker_unavailable"},
      {"the holder is lost", asks({ref("r", worker("gone"))}), "worker_unavailable"},
      {"the host is away", asks({ref("r", host("away"))}), "worker_unavailable"},
      {"a required key whose holder is silent", asks({}, worker("silent"), must),
       "worker_unavailable"},
      {"a key", asks({}, worker("w3")), "preferred worker:w3"},
      {"a key of a host", asks({}, host("b")), "preferred host:b"},
      {"a required key", asks({}, worker("w3"), must), "required worker:w3"},
      {"a key before a host with a copy", asks({ref("r", host("a"), true, 9)}, worker("w3")),
       "preferred worker:w3"},
      {"a preferred holder that is silent", asks({}, worker("silent")), ""},
      {"one that is terminating", asks({}, worker("leaving")), ""},
      {"one that is lost", asks({}, worker("gone")), ""},
      {"one that serves another pool", asks({}, worker("other")), ""},
      {"one that the placement forbids",
       placed(asks({}, host("b")), [](Placement& p) { p.forbidden_nodes = {"b"}; }), ""},
      {"a host that is away, with a copy", asks({ref("r", host("away"), true)}), ""},
      {"the next best host when the best is away",
       asks({ref("r", host("away"), true, 9), ref("s", host("c"), true, 1)}), "preferred host:c"},
      {"a host with a copy when the key's holder is gone",
       asks({ref("r", host("a"), true)}, worker("gone")), "preferred host:a"},
  };
  for (const Row& row : rows) EXPECT_EQ(answer(decidePin(row.job, known)), row.pin) << row.what;
}

TEST(Pins, a_conflict_names_both_sides) {
  PinQuestion job = asks({ref("r", worker("w1"))}, worker("w2"), PinMode::kRequired);
  job.pointer = "/items/3";
  const auto decided = decidePin(job, known);
  ASSERT_FALSE(decided);
  EXPECT_EQ(decided.error().code, ErrorCode::kConflictingPins);
  ASSERT_EQ(decided.error().fields.size(), 2U);
  EXPECT_EQ(decided.error().fields[0].pointer, "/resource_refs/r");
  EXPECT_EQ(decided.error().fields[0].detail, "the resource r is on worker:w1");
  EXPECT_EQ(decided.error().fields[1].pointer, "/items/3/affinity");
  EXPECT_EQ(decided.error().fields[1].detail, "the affinity k is on worker:w2");
}

TEST(Pins, who_is_not_there_is_waited_for_as_long_as_its_grace) {
  const auto decided = decidePin(asks({ref("r", host("away"))}), known);
  ASSERT_FALSE(decided);
  EXPECT_EQ(decided.error().retry_after, Seconds(8)) << "rounded up";
  const auto gone = decidePin(asks({ref("r", worker("gone"))}), known);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().retry_after, Seconds(1));
}

TEST(Pins, only_a_pin_for_the_sake_of_the_key_is_of_the_key) {
  EXPECT_TRUE((*decidePin(asks({}, worker("w1")), known))->of_key);
  EXPECT_FALSE((*decidePin(asks({ref("r", worker("w1"))}, worker("w2")), known))->of_key);
}

TEST(Pins, what_must_be_asks_nobody_who_is_there) {
  EXPECT_FALSE(requiredPin(asks({ref("r", host("a"), true)}, worker("w1"))));
  const auto must = requiredPin(asks({ref("f", host("a")), ref("r", worker("gone"))}));
  ASSERT_TRUE(must);
  EXPECT_EQ(must->holder, worker("gone"));
}

TEST(Pins, sticky_is_taken_for_required) {
  EXPECT_EQ(parsePinMode("sticky"), PinMode::kRequired);
  EXPECT_EQ(parsePinMode("required"), PinMode::kRequired);
  EXPECT_EQ(parsePinMode("preferred"), PinMode::kPreferred);
  EXPECT_FALSE(parsePinMode("loose"));
}

TEST(Pins, a_pin_to_a_host_is_a_placement_there) {
  EXPECT_EQ(atHost({}, "a").allowed_nodes, Names{"a"});
  Placement placement;
  placement.allowed_nodes = Names{"a", "b"};
  EXPECT_EQ(atHost(placement, "b").allowed_nodes, Names{"b"});
  EXPECT_EQ(atHost(placement, "c").allowed_nodes, Names{}) << "nobody may run it";
}

}  // namespace
}  // namespace muster
