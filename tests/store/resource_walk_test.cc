#include <algorithm>
#include <map>
#include <random>
#include <stdexcept>

#include "tests/store/resource_fixture.h"

namespace muster::test {
namespace {

constexpr std::int64_t kRoom = 200;

// What resources are meant to do, in plain words.
struct WalkModel {
  struct Entry {
    std::string uid, id, body;
    ResourceState state = ResourceState::kActive;
    std::string reason;
    char content = 0;  // announced, or stored
    bool is_announced = false;
    bool stored = false;
    bool placed = false;
    std::optional<std::int64_t> offset;
    Time uploaded_at;
    std::optional<Millis> ttl;
    Time last_used;
    std::map<std::string, Time> leases;
    int refs = 0;

    bool isUsed() const { return !leases.empty(); }
    bool isLiving() const { return muster::isLiving(state); }
    std::optional<Time> expiresAt() const {
      if (state != ResourceState::kActive || isUsed()) return std::nullopt;
      return last_used + *ttl;
    }
    bool isOver(Time now) const { return expiresAt() && *expiresAt() <= now; }
  };

  static std::int64_t bytesOf(char content) { return 10 * (content - 'a' + 1); }
  std::int64_t usersOf(char content) const {
    return std::count_if(entries.begin(), entries.end(),
                         [&](const Entry& e) { return e.stored && e.content == content; });
  }
  std::int64_t used() const {
    std::int64_t bytes = 0;
    for (char c = 'a'; c <= 'f'; ++c) bytes += usersOf(c) > 0 ? bytesOf(c) : 0;
    return bytes + uploading();
  }
  std::int64_t uploading() const {
    std::int64_t bytes = 0;
    for (const Entry& e : entries) {
      if (e.offset && e.placed) bytes += e.is_announced ? bytesOf(e.content) : *e.offset;
    }
    return bytes;
  }
  Entry* living(const std::string& id) {
    for (Entry& e : entries) {
      if (e.id == id && e.isLiving()) return &e;
    }
    return nullptr;
  }

  void end(Entry& e, const std::string& reason, Time now) {
    e.state = ResourceState::kEvicted;
    e.reason = reason;
    e.offset.reset();
    e.leases.clear();
    if (std::exchange(e.stored, false) && usersOf(e.content) == 0) doomed[e.content] = now;
  }
  void evict(Entry& e, const std::string& reason, Time now) {
    if (!e.isUsed()) return end(e, reason, now);
    if (e.state == ResourceState::kEvicting) return;
    e.state = ResourceState::kEvicting;
    e.reason = reason;
  }
  void unused(Entry& e, Time now) {
    e.last_used = now;
    if (e.state == ResourceState::kEvicting && !e.isUsed()) end(e, e.reason, now);
  }
  void store(Entry& e, char content, Time now) {
    e.state = ResourceState::kActive;
    e.stored = true;
    e.content = content;
    e.offset.reset();
    e.last_used = now;
    doomed.erase(content);
  }
  int evictIdle(std::int64_t bytes, Time now) {
    std::vector<Entry*> idle;
    for (Entry& e : entries) {
      if (e.stored && e.state == ResourceState::kActive && !e.isUsed()) idle.push_back(&e);
    }
    std::stable_sort(idle.begin(), idle.end(),
                     [](const Entry* a, const Entry* b) { return a->last_used < b->last_used; });
    const std::int64_t before = used();
    int count = 0;
    for (Entry* e : idle) {
      if (before - used() >= bytes) break;
      end(*e, "pressure", now);
      ++count;
    }
    return count;
  }
  bool makeRoom(std::int64_t bytes, Time now) {
    if (used() > kRoom - bytes) evictIdle(used() - (kRoom - bytes), now);
    return used() <= kRoom - bytes;
  }

  std::vector<Entry> entries;  // in the order of their registration
  std::map<char, Time> doomed;
};

class ResourceWalkTest : public ResourceTest {
 protected:
  static constexpr int kSteps = 400;
  using Entry = WalkModel::Entry;

  void SetUp() override {
    rules.resources.max_disk_bytes = kRoom;
    reopen();
    announce();
  }
  int roll(int sides) { return std::uniform_int_distribution(0, sides - 1)(dice); }
  char anyContent() { return static_cast<char>('a' + roll(6)); }
  template <class Fits>
  Entry* any(Fits fits) {
    std::vector<Entry*> found;
    for (Entry& e : model.entries) {
      if (fits(e)) found.push_back(&e);
    }
    return found.empty() ? nullptr
                         : found[static_cast<std::size_t>(roll(static_cast<int>(found.size())))];
  }
  Entry* anyEntry() {
    return any([](const Entry&) { return true; });
  }
  Entry* anyUpload() {
    return any([](const Entry& e) { return e.offset.has_value(); });
  }
  static bool isUsable(const Entry& e, Time now) {
    return e.state == ResourceState::kActive && !e.isOver(now);
  }

  void registerOne() {
    const std::string id = "r" + std::to_string(roll(8));
    const bool is_stored_here = roll(5) > 0;
    const char content = is_stored_here && roll(2) == 0 ? anyContent() : '\0';
    NewResource given = is_stored_here ? stored(id) : held(id, {Holder::Kind::kExternal, ""});
    if (content != 0) {
      given.sha256 = sum(content);
      given.size_bytes = WalkModel::bytesOf(content);
    }
    given.ttl = Seconds(1000 + 1000 * roll(3));
    const std::string body = given.uri + given.sha256 + std::to_string(given.ttl->count());
    const auto made = act(RegisterResource{given});
    if (Entry* known = model.living(id)) {
      if (known->isOver(clock.now())) model.end(*known, "expired", clock.now());
      if (known->isLiving()) {
        const bool is_same = known->body == body && known->state != ResourceState::kEvicting;
        ASSERT_EQ(made.has_value(), is_same) << id;
        if (is_same) {
          EXPECT_EQ(made->resource.uid, known->uid);
        }
        return;
      }
    }
    ASSERT_TRUE(made) << made.error().detail;
    EXPECT_TRUE(made->is_new);
    Entry e;
    e.uid = made->resource.uid;
    e.id = id;
    e.body = body;
    e.ttl = given.ttl;
    e.last_used = clock.now();
    if (is_stored_here) {
      e.state = ResourceState::kUploading;
      e.offset = 0;
      e.uploaded_at = clock.now();
      e.content = content;
      e.is_announced = content != 0;
      const bool is_known =
          content != 0 && std::any_of(model.entries.begin(), model.entries.end(), [&](auto& o) {
            return o.stored && o.content == content && o.state == ResourceState::kActive;
          });
      if (is_known) model.store(e, content, clock.now());
    }
    model.entries.push_back(e);
  }

  // False: there was no room.
  bool begin(Entry& e, std::optional<std::int64_t> offset, std::int64_t bytes) {
    const bool is_first = !e.placed;
    const auto begun = act(BeginPart{e.uid, offset, bytes});
    if (!offset && !is_first && *e.offset != 0) {
      e.offset = 0;
      e.uploaded_at = clock.now();
    }
    std::int64_t more = bytes;
    if (e.is_announced) more = is_first ? WalkModel::bytesOf(e.content) : 0;
    const bool fits = more == 0 || model.makeRoom(more, clock.now());
    EXPECT_EQ(codeOf(begun), fits ? std::nullopt : std::optional(ErrorCode::kStoreFull));
    if (fits && is_first) {
      e.placed = true;
      e.uploaded_at = clock.now();
    }
    return fits;
  }
  void uploadPart() {
    Entry* e = anyUpload();
    if (e == nullptr) return;
    const std::int64_t rest =
        e->is_announced ? WalkModel::bytesOf(e->content) - *e->offset : std::int64_t{9};
    const std::int64_t bytes = std::min<std::int64_t>(rest, 1 + roll(9));
    const std::int64_t at = *e->offset;
    if (!begin(*e, at, bytes)) return;
    blobs.uploads.insert(e->uid);
    ASSERT_TRUE(act(AdvanceUpload{e->uid, at, at + bytes}));
    e->offset = at + bytes;
    e->uploaded_at = clock.now();
  }
  void uploadWhole() {
    Entry* e = anyUpload();
    if (e == nullptr) return;
    const char content = e->is_announced ? e->content : anyContent();
    const std::int64_t bytes = WalkModel::bytesOf(content);
    if (!begin(*e, std::nullopt, bytes)) return;
    blobs.uploads.insert(e->uid);
    const FinishUpload finish{e->uid, bytes, sum(content)};
    if (roll(4) == 0) {  // it goes wrong when the file has its name already
      const Status status = storage->writeAndWait([&](Store& store) {
        EXPECT_TRUE(run(finish, store));
        throw std::runtime_error("on purpose");
      });
      EXPECT_FALSE(status);
      return;
    }
    ASSERT_TRUE(act(finish));
    model.store(*e, content, clock.now());
  }

  void leaseOne() {
    Entry* e = anyEntry();
    if (e == nullptr) return;
    const Millis ttl = Seconds(100 + 300 * roll(10));
    const auto lease = act(LeaseResource{.name = e->uid, .ttl = ttl});
    ASSERT_EQ(lease.has_value(), isUsable(*e, clock.now())) << e->id;
    if (!lease) return;
    e->leases[lease->lease_id] = clock.now() + ttl;
    e->last_used = clock.now();
  }
  void releaseOne() {
    Entry* e = any([](const Entry& each) { return !each.leases.empty(); });
    if (e == nullptr) return;
    ASSERT_TRUE(act(ReleaseResource{e->uid, e->leases.begin()->first}));
    e->leases.erase(e->leases.begin());
    model.unused(*e, clock.now());
  }
  void touchOne() {
    Entry* e = anyEntry();
    if (e == nullptr) return;
    const bool may = e->state == ResourceState::kUploading || isUsable(*e, clock.now());
    ASSERT_EQ(act(TouchResource{e->uid}).has_value(), may);
    if (may) e->last_used = clock.now();
  }
  void deleteOne() {
    Entry* e = anyEntry();
    if (e == nullptr) return;
    ASSERT_TRUE(act(DeleteResource{e->uid}));
    if (e->isLiving()) model.evict(*e, "deleted", clock.now());
  }

  void expire() {
    ASSERT_TRUE(act(ExpireResources{}));
    const Time now = clock.now();
    for (Entry& e : model.entries) {
      const auto ended = std::erase_if(e.leases, [&](auto& lease) { return lease.second <= now; });
      if (ended > 0) model.unused(e, now);
    }
    for (Entry& e : model.entries) {
      if (e.isOver(now)) model.end(e, "expired", now);
      const bool is_late = e.offset && e.uploaded_at + 3600s <= now;
      if (is_late) model.end(e, "upload_expired", now);
    }
  }
  void tend() {
    Names strays;
    for (char c = 'a'; c <= 'f'; ++c) {
      if (blobs.has(sum(c))) strays.push_back(sum(c));
    }
    const auto tended = act(TendPlace{strays}).value();
    const int evicted = model.used() > 180 ? model.evictIdle(model.used() - 160, clock.now()) : 0;
    EXPECT_EQ(tended.evicted, evicted);
    std::int64_t files = model.used();
    for (const auto& [content, since] : model.doomed) files += WalkModel::bytesOf(content);
    std::vector<std::pair<Time, char>> oldest;
    for (const auto& [content, since] : model.doomed) oldest.emplace_back(since, content);
    std::stable_sort(oldest.begin(), oldest.end());
    for (const auto& [since, content] : oldest) {
      if (since + 600s <= clock.now()) {
        model.doomed.erase(content);
        files -= WalkModel::bytesOf(content);
      }
    }
    // How full it is depends on the order of those that were doomed at once: it is enough that
    // what is used is there, and that there is not too much.
    std::int64_t left = model.uploading();
    for (char c = 'a'; c <= 'f'; ++c) {
      const bool is_there = blobs.has(sum(c));
      left += is_there ? WalkModel::bytesOf(c) : 0;
      if (model.usersOf(c) > 0) {
        EXPECT_TRUE(is_there) << c;
      } else if (!model.doomed.contains(c)) {
        EXPECT_FALSE(is_there) << c << " has no row";
      } else if (!is_there) {
        EXPECT_GT(files, kRoom) << c << " went too early";
        model.doomed.erase(c);
      }
    }
    EXPECT_LE(left, kRoom);
  }
  void forgetGone() {
    ASSERT_TRUE(act(RemoveGoneResources{clock.now() + 1s, 10'000}));
    std::erase_if(model.entries, [](const Entry& e) { return !e.isLiving(); });
  }

  void compare() {
    read([&](Store& store) {
      for (const Entry& e : model.entries) {
        const auto found = run(FindResource{e.uid}, store);
        ASSERT_TRUE(found) << e.id;
        EXPECT_EQ(name(found->state), name(e.state)) << e.id;
        EXPECT_EQ(found->reason, e.reason) << e.id;
        EXPECT_EQ(found->stored, e.stored) << e.id;
        EXPECT_EQ(found->upload_offset, e.offset) << e.id;
        EXPECT_EQ(found->lease_count, static_cast<std::int64_t>(e.leases.size())) << e.id;
        EXPECT_EQ(found->expires_at, e.expiresAt()) << e.id;
      }
    });
  }

  std::mt19937 dice{20261119};
  WalkModel model;
};

TEST_P(ResourceWalkTest, resources_are_what_the_model_says) {
  for (int step = 0; step < kSteps; ++step) {
    SCOPED_TRACE(step);
    const int choice = roll(20);
    if (choice < 5) {
      registerOne();
    } else if (choice < 7) {
      uploadPart();
    } else if (choice < 10) {
      uploadWhole();
    } else if (choice < 12) {
      leaseOne();
    } else if (choice < 13) {
      releaseOne();
    } else if (choice < 14) {
      touchOne();
    } else if (choice < 15) {
      deleteOne();
    } else if (choice < 16) {
      expire();
    } else if (choice < 18) {
      tend();
    } else if (roll(10) == 0) {
      forgetGone();
    } else {
      clock.advance(Seconds(roll(700)));
    }
    compare();
    if (step % 20 == 0) expectRecount();
    if (HasFailure()) return;
  }
}

MUSTER_ON_EVERY_BACKEND(ResourceWalkTest);

}  // namespace
}  // namespace muster::test
