#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/client/content.h"
#include "app/client/json_fields.h"

namespace muster {

// What a running job leaves under a name.
struct NewArtifact {
  std::string job;
  std::string lease_token;
  std::string name;
  std::string type = "file";
  std::optional<std::uint64_t> size = {};  // if it is known
  std::optional<double> ttl_seconds = {};
};

// Sends an artifact whose bytes come piece by piece: a small one with one request, a larger one in
// parts. A part whose answer was lost is not sent twice. At most one part is held in memory. When
// it is refused nothing more may be added; what the service has of it goes with its time.
class ArtifactUpload {
 public:
  ArtifactUpload(AskService ask, NewArtifact artifact)
      : ask_(std::move(ask)), artifact_(std::move(artifact)) {}

  tl::expected<void, Refusal> add(std::string_view bytes);
  // All has been added: the resource that it became.
  tl::expected<JsonAnswer, Refusal> finish();

  std::uint64_t sent() const { return offset_; }

 private:
  tl::expected<void, Refusal> begin();
  tl::expected<JsonAnswer, Refusal> putWhole();
  tl::expected<JsonAnswer, Refusal> sendPart(bool is_last);

  const AskService ask_;
  const NewArtifact artifact_;
  std::string part_;
  std::uint64_t offset_ = 0;
  std::string uid_;  // empty: nothing has been sent
};

}  // namespace muster
