#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

TriggerSpec hook(const std::string& name, const std::string& secret = "s") {
  TriggerSpec spec;
  spec.name = name;
  spec.type = TriggerType::kWebhook;
  spec.machine = machine::kChecker;
  spec.auth = {TriggerAuth::Type::kToken, {secret}, "X-Token", "", false};
  return spec;
}

TriggerSpec cron(const std::string& name, const std::string& schedule) {
  TriggerSpec spec;
  spec.name = name;
  spec.type = TriggerType::kCron;
  spec.schedule = schedule;
  spec.machine = machine::kChecker;
  return spec;
}

class TriggerTest : public StoreTest {
 protected:
  Result<Triggers::Saved> put(const TriggerSpec& spec, IfVersion version = {}) {
    return write([&](Store& s) { return s.triggers().put(spec, version); });
  }
  Status remove(const std::string& name, IfVersion version = {}) {
    return write([&](Store& s) { return s.triggers().remove(name, version); });
  }
  void configure(const std::vector<TriggerSpec>& specs) {
    write([&](Store& s) { s.triggers().replaceConfigured(specs); });
  }
  std::optional<Trigger> find(const std::string& name) {
    return read([&](Store& s) { return s.triggers().find(name); });
  }
  Names names() {
    Names found;
    for (const Trigger& trigger : read([](Store& s) { return s.triggers().all(); })) {
      found.push_back(trigger.spec.name);
    }
    return found;
  }
  std::optional<std::string> deliver(const std::string& id, const std::string& run,
                                     const std::string& name = "h") {
    return write([&](Store& s) { return s.triggers().deliver(name, id, run); });
  }
};
MUSTER_ON_EVERY_BACKEND(TriggerTest);

TEST_P(TriggerTest, isKeptAsItWasPut) {
  const auto created = put(hook("h")).value();
  EXPECT_TRUE(created.created);
  const auto found = find("h");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->spec, hook("h"));
  EXPECT_FALSE(found->configured);
  EXPECT_EQ(found->created_at, clock.now());
  EXPECT_FALSE(put(hook("h")).value().created);
  EXPECT_EQ(find("h")->version, 1) << "nothing was changed";
  EXPECT_EQ(put(hook("h", "other")).value().trigger.version, 2);
}

TEST_P(TriggerTest, isGuardedByItsVersion) {
  EXPECT_EQ(codeOf(put(hook("h"), 1)), ErrorCode::kVersionMismatch);
  put(hook("h")).value();
  EXPECT_EQ(codeOf(put(hook("h", "x"), 2)), ErrorCode::kVersionMismatch);
  EXPECT_EQ(codeOf(remove("h", 2)), ErrorCode::kVersionMismatch);
  EXPECT_TRUE(put(hook("h", "x"), 1));
  EXPECT_TRUE(remove("h", 2));
  EXPECT_EQ(codeOf(remove("h")), ErrorCode::kNotFound);
}

TEST_P(TriggerTest, theConfigurationReplacesItsOwnAndLeavesTheOthers) {
  put(hook("mine")).value();
  put(hook("taken")).value();
  configure({hook("a"), hook("b"), hook("taken", "configured")});
  EXPECT_EQ(names(), (Names{"a", "b", "mine", "taken"}));
  EXPECT_TRUE(find("taken")->configured) << "it gives way";
  EXPECT_EQ(find("taken")->spec.auth.secrets[0], "configured");
  configure({hook("b"), hook("c")});
  EXPECT_EQ(names(), (Names{"b", "c", "mine"}));
  EXPECT_EQ(find("b")->version, 1);
  EXPECT_FALSE(find("mine")->configured);
}

TEST_P(TriggerTest, oneOfTheConfigurationCannotBeChanged) {
  configure({hook("a")});
  EXPECT_EQ(codeOf(put(hook("a", "x"))), ErrorCode::kTriggerConfigured);
  EXPECT_EQ(codeOf(remove("a")), ErrorCode::kTriggerConfigured);
}

TEST_P(TriggerTest, aScheduleGoesOnOverARestartAndStartsAnewWhenItChanges) {
  configure({cron("c", "@hourly")});
  const Time began = clock.now();
  write([](Store& s) { s.triggers().fired("c", "r0", ""); });
  clock.advance(5h);
  configure({cron("c", "@hourly")});
  EXPECT_EQ(find("c")->due_from, began) << "what was missed is still due";
  EXPECT_EQ(find("c")->last_fired_at, began);
  configure({cron("c", "@daily")});
  EXPECT_EQ(find("c")->due_from, clock.now());
  TriggerSpec off = cron("c", "@daily");
  off.enabled = false;
  configure({off});
  clock.advance(5h);
  configure({cron("c", "@daily")});
  EXPECT_EQ(find("c")->due_from, clock.now()) << "while it was off it missed nothing";
}

TEST_P(TriggerTest, ofTwoThatFireOneScheduleOneWins) {
  configure({cron("c", "@hourly")});
  const Time due_from = find("c")->due_from;
  clock.advance(2h);
  const auto seen = lastEvent();
  const auto fire = [&] {
    return write([&](Store& s) { return s.triggers().firedOnSchedule("c", due_from, "r", "p"); });
  };
  EXPECT_TRUE(fire());
  EXPECT_FALSE(fire());
  EXPECT_EQ(eventTypesAfter(seen), Names{"trigger.fired"});
  EXPECT_EQ(find("c")->last_fired_at, clock.now());
  EXPECT_EQ(find("c")->due_from, clock.now());
}

TEST_P(TriggerTest, firingsAndRejectionsLeaveEvents) {
  put(hook("h")).value();
  const auto seen = lastEvent();
  write([](Store& s) {
    s.triggers().fired("h", "run-1", "p");
    s.triggers().rejected("h", "the signature does not fit");
  });
  const auto events = eventsAfter(seen);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].type, "trigger.fired");
  EXPECT_EQ(events[0].pool, "p");
  EXPECT_EQ(events[0].details, R"({"trigger":"h","run_id":"run-1"})");
  EXPECT_EQ(events[1].details, R"({"trigger":"h","reason":"the signature does not fit"})");
  EXPECT_EQ(find("h")->last_fired_at, clock.now());
}

TEST_P(TriggerTest, aTouchNeverGoesBack) {
  put(hook("h")).value();
  const Time later = clock.now() + 5s;
  write([&](Store& s) { s.triggers().touch("h", later); });
  write([&](Store& s) { s.triggers().touch("h", clock.now()); });
  EXPECT_EQ(find("h")->last_fired_at, later);
}

TEST_P(TriggerTest, whatWasDeliveredIsKnownForADay) {
  EXPECT_FALSE(deliver("id", "run-1"));
  EXPECT_EQ(deliver("id", "run-2"), "run-1");
  EXPECT_FALSE(deliver("id", "run-3", "other hook"));
  const auto tidy = [this] {
    return write([](Store& s) { return s.triggers().removeOldDeliveries(10); });
  };
  clock.advance(24h - 1ms);
  EXPECT_EQ(deliver("id", "run-4"), "run-1");
  EXPECT_EQ(tidy(), 0);
  clock.advance(1ms);
  EXPECT_FALSE(deliver("id", "run-5"));
  EXPECT_EQ(tidy(), 1) << "the other hook's";
  EXPECT_EQ(deliver("id", "run-6"), "run-5");
}

TEST_P(TriggerTest, anUndoneUnitHasDeliveredNothing) {
  EXPECT_FALSE(storage->writeAndWait([](Store& s) {
    s.triggers().deliver("h", "id", "run-1");
    throw std::runtime_error("no");
  }));
  EXPECT_FALSE(deliver("id", "run-2"));
}

}  // namespace
}  // namespace muster::test
