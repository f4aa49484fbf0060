#pragma once

#include <optional>
#include <set>
#include <string>

#include "models/operations/blob_files.h"
#include "models/operations/resources.h"
#include "tests/store/store_fixture.h"

namespace muster::test {

// A place that keeps names only.
class FakeBlobs : public BlobFiles {
 public:
  const std::string& placeId() const override { return id; }
  bool publish(std::string_view uid, std::string_view sha256) override {
    const bool had_upload = uploads.erase(std::string(uid)) > 0;
    if (had_upload) blobs.emplace(sha256);
    return had_upload || has(sha256);
  }
  bool has(std::string_view sha256) override { return blobs.contains(std::string(sha256)); }
  bool removeBlob(std::string_view sha256) override {
    if (!can_remove) return false;
    blobs.erase(std::string(sha256));
    return true;
  }
  bool removeUpload(std::string_view uid) override {
    if (can_remove) uploads.erase(std::string(uid));
    return can_remove;
  }

  std::string id = "place-1";
  std::set<std::string> blobs, uploads;
  bool can_remove = true;
};

// A store with a place of blobs. After every test the counters of resources must equal a recount,
// and what is stored must be in the place.
class ResourceTest : public StoreTest {
 protected:
  ResourceTest();
  void TearDown() override;
  void expectRecount();

  // Runs the operation in a unit that is exclusive, or one that only reads.
  template <class Op>
  auto act(const Op& op) {
    return write([&](Store& store) { return run(op, store); });
  }
  template <class Op>
  auto look(const Op& op) {
    return read([&](Store& store) { return run(op, store); });
  }

  // Registered with the holder `store`, and uploaded in one part whose sum is `sha256`.
  Resource keep(const std::string& id, const std::string& sha256 = sum('a'),
                std::int64_t bytes = 10, const std::string& tenant = "");
  Result<Resource> upload(const std::string& name, const std::string& sha256, std::int64_t bytes);
  Resource find(const std::string& name);
  // A living job refers to it, or does no more.
  void refer(const JobId& job, const std::string& name);
  void forget(const JobId& job, const std::string& name);
  void announce() { ASSERT_TRUE(act(AnnouncePlace{"", "http://here"})); }
  std::int64_t usage(const std::string& tenant);

  static std::string sum(char c) { return std::string(64, c); }
  static NewResource stored(const std::string& id, std::optional<std::int64_t> bytes = {},
                            const std::string& sha256 = "", const std::string& tenant = "");
  static NewResource held(const std::string& id, const Holder& holder);

  FakeBlobs blobs;
};

// The member of an error with this name, as JSON; empty: it has none.
std::string memberOf(const Error& error, std::string_view name);

}  // namespace muster::test
