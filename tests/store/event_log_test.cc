#include "models/json/json_doc.h"
#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

class EventLogTest : public StoreTest {
 protected:
  Result<EventPage> list(std::int64_t after, const EventFilter& filter, int limit) {
    return read([&](Store& s) { return s.events().list(after, filter, limit); });
  }
  std::int64_t removeOld(Time before, int limit = 1000) {
    return write([&](Store& s) { return s.events().removeOld(before, limit); });
  }
};
MUSTER_ON_EVERY_BACKEND(EventLogTest);

TEST_P(EventLogTest, tellsTheStoryOfAJobInOrder) {
  const Job first = pushAndClaim();
  fail(first, failure("boom")).value();
  clock.advance(1min);
  const Job second = claim().at(0);
  complete(second).value();
  const auto events = eventsAfter(0);
  Names types;
  for (std::size_t i = 0; i < events.size(); ++i) {
    types.push_back(events[i].type);
    EXPECT_GT(events[i].seq, i > 0 ? events[i - 1].seq : 0);
  }
  EXPECT_EQ(types, (Names{"pool.created", "job.created", "job.claimed", "job.failed", "job.claimed",
                          "job.completed"}));
  EXPECT_EQ(events[3].attempt, 1);
  EXPECT_EQ(events[3].worker, "w");
  EXPECT_NE(events[3].details.find("boom"), std::string::npos);
  EXPECT_EQ(events[4].attempt, 2);
  EXPECT_EQ(events[4].at - events[3].at, 1min);
}

TEST_P(EventLogTest, aLongErrorIsCutBetweenCharacters) {
  for (const std::size_t before : {997U, 998U, 999U, 1000U}) {
    fail(pushAndClaim(), failure(std::string(before, 'x') + "€€€")).value();
    const std::string details = eventsAfter(0).back().details;
    EXPECT_TRUE(JsonDoc::parse(details)) << before;
    EXPECT_LT(details.size(), 1300U);
  }
}

TEST_P(EventLogTest, aUnitThatIsUndoneLeavesNoEvent) {
  const auto before = lastEvent();
  EXPECT_FALSE(storage->writeAndWait([](Store& s) {
    s.jobs().push(*s.pools().findOrCreate(PoolId("p")).value(), {.data = "1"});
    throw std::runtime_error("no");
  }));
  EXPECT_EQ(lastEvent(), before);
}

TEST_P(EventLogTest, filtersByTypePoolJobAndWorker) {
  const Job mine = pushAndClaim({.data = "1"}, "w1");
  push({.data = "1"}, "q");
  complete(mine).value();
  const auto by = [](auto set) { return with<EventFilter>(set); };
  EXPECT_EQ(eventTypesAfter(0, by([](auto& f) {
                              f.types = {"job.completed", "job.claimed"};
                            })),
            (Names{"job.claimed", "job.completed"}));
  EXPECT_EQ(eventTypesAfter(0, by([](auto& f) { f.pool = "q"; })),
            (Names{"pool.created", "job.created"}));
  EXPECT_EQ(eventTypesAfter(0, by([&](auto& f) { f.job = mine.id.str(); })),
            (Names{"job.created", "job.claimed", "job.completed"}));
  EXPECT_EQ(eventTypesAfter(0, by([](auto& f) { f.worker = "w1"; })),
            (Names{"job.claimed", "job.completed"}));
  EXPECT_EQ(eventTypesAfter(0, by([&](auto& f) {
                              f.job = mine.id.str();
                              f.types = {"job.claimed"};
                            })),
            Names{"job.claimed"});
}

TEST_P(EventLogTest, isReadPageByPage) {
  for (int i = 0; i < 10; ++i) push();
  std::int64_t after = 0;
  std::size_t seen = 0;
  for (bool more = true; more;) {
    const auto page = list(after, with<EventFilter>([](auto& f) { f.types = {"job.created"}; }), 3);
    ASSERT_TRUE(page);
    EXPECT_LE(page->events.size(), 3U);
    seen += page->events.size();
    EXPECT_GE(page->read_to, after);
    after = page->read_to;
    more = page->more;
  }
  EXPECT_EQ(seen, 10U);
  EXPECT_EQ(after, lastEvent());
  const auto end = list(after, {}, 3);
  EXPECT_TRUE(end->events.empty());
  EXPECT_FALSE(end->more);
  EXPECT_EQ(end->read_to, after);
}

TEST_P(EventLogTest, theLatestComeInOrder) {
  const Job job = pushAndClaim({.data = "1"}, "w1");
  for (int i = 0; i < 5; ++i) push({.data = "1"}, "q");
  complete(job).value();
  const auto latest = [this](const EventFilter& filter, int limit) {
    Names types;
    std::int64_t seq = 0;
    for (const Event& event : read([&](Store& s) { return s.events().latest(filter, limit); })) {
      EXPECT_GT(event.seq, seq);
      seq = event.seq;
      types.push_back(event.type);
    }
    return types;
  };
  EXPECT_EQ(latest({}, 2), (Names{"job.created", "job.completed"}));
  EXPECT_EQ(latest(with<EventFilter>([](auto& f) { f.types = {"job.claimed"}; }), 10),
            Names{"job.claimed"});
  EXPECT_EQ(latest(with<EventFilter>([&](auto& f) { f.job = job.id.str(); }), 2),
            (Names{"job.claimed", "job.completed"}));
  EXPECT_EQ(latest(with<EventFilter>([](auto& f) { f.pool = "none"; }), 2), Names{});
  EXPECT_EQ(latest({}, 200).size(), eventsAfter(0).size());
}

TEST_P(EventLogTest, whatIsRareIsFoundFarFromWhereALookBegins) {
  for (int i = 0; i < 40; ++i) push();
  const Job gone = push();
  write([&](Store& s) { s.jobs().cancel(gone.id, "").value(); });
  for (int i = 0; i < 40; ++i) push();
  const auto rare = with<EventFilter>([](auto& f) { f.types = {"job.cancelled"}; });
  const auto page = list(0, rare, 1).value();
  ASSERT_EQ(page.events.size(), 1U);
  EXPECT_EQ(page.events[0].job, gone.id.str());
  EXPECT_EQ(page.read_to, lastEvent());
  EXPECT_FALSE(page.more);
  const auto latest = read([&](Store& s) { return s.events().latest(rare, 1); });
  ASSERT_EQ(latest.size(), 1U);
  EXPECT_EQ(latest[0].seq, page.events[0].seq);
}

TEST_P(EventLogTest, aPageLooksAtABoundedNumberOfEvents) {
  write([](Store& s) {
    const auto pool = s.pools().findOrCreate(PoolId("p")).value();
    for (int i = 0; i < 20'050; ++i) s.jobs().push(*pool, {.data = "1"});
  });
  const auto rare = with<EventFilter>([](auto& f) { f.types = {"job.cancelled"}; });
  const auto page = list(0, rare, 10).value();
  EXPECT_TRUE(page.events.empty());
  EXPECT_TRUE(page.more);
  EXPECT_GT(page.read_to, 0);
  const auto rest = list(page.read_to, rare, 10).value();
  EXPECT_FALSE(rest.more);
  EXPECT_EQ(rest.read_to, lastEvent());
}

TEST_P(EventLogTest, forgetsOldEventsAndSaysSo) {
  for (int i = 0; i < 5; ++i) push();
  clock.advance(1h);
  push();
  const auto all = eventsAfter(0);
  EXPECT_EQ(removeOld(clock.now() - 1h), 0) << "strictly older";
  EXPECT_EQ(removeOld(clock.now() - 1h + 1ms, 2), 2);
  EXPECT_EQ(removeOld(clock.now()), 4);
  EXPECT_EQ(removeOld(clock.now()), 0);
  const auto kept = eventsAfter(0);
  ASSERT_EQ(kept.size(), 1U) << "without a position one begins with the oldest kept";
  EXPECT_EQ(kept[0].seq, all.back().seq);
  EXPECT_EQ(codeOf(list(all.front().seq, {}, 10)), ErrorCode::kEventsExpired);
  EXPECT_EQ(codeOf(list(kept[0].seq - 2, {}, 10)), ErrorCode::kEventsExpired);
  EXPECT_TRUE(list(kept[0].seq - 1, {}, 10)) << "nothing after that position is gone";
}

TEST_P(EventLogTest, neverForgetsTheNewestSoThatNoNumberIsGivenTwice) {
  push();
  const auto last = lastEvent();
  clock.advance(1h);
  removeOld(clock.now());
  EXPECT_EQ(lastEvent(), last);
  push();
  EXPECT_EQ(lastEvent(), last + 1);
}

}  // namespace
}  // namespace muster::test
