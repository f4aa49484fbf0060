#include "controllers/worker_pass.h"

#include <fmt/format.h>

#include <charconv>

#include "models/store/random.h"

namespace muster {
namespace {

constexpr std::string_view kWorkerTokenPrefix = "mw.";

std::string passText(const WorkerPass& pass) {
  return fmt::format("{}/{}/{}", pass.worker, pass.pool, pass.registration);
}

}  // namespace

std::string workerToken(std::string_view key, const WorkerPass& pass) {
  const std::string text = passText(pass);
  return fmt::format("{}{}/{}", kWorkerTokenPrefix, text, hmacSha256Hex(key, text));
}

// No id has a slash in it.
std::optional<WorkerPass> readWorkerToken(std::string_view key, std::string_view token) {
  if (!token.starts_with(kWorkerTokenPrefix)) return std::nullopt;
  token.remove_prefix(kWorkerTokenPrefix.size());
  const std::size_t worker_end = token.find('/');
  const std::size_t mac_begin = token.rfind('/');
  if (worker_end == std::string_view::npos || worker_end >= mac_begin) return std::nullopt;
  const std::string_view text = token.substr(0, mac_begin);
  if (!constantTimeEqual(token.substr(mac_begin + 1), hmacSha256Hex(key, text))) {
    return std::nullopt;
  }
  const std::size_t pool_end = text.rfind('/');
  if (pool_end <= worker_end) return std::nullopt;
  WorkerPass pass{std::string(text.substr(0, worker_end)),
                  std::string(text.substr(worker_end + 1, pool_end - worker_end - 1))};
  const std::string_view number = text.substr(pool_end + 1);
  const auto [end, fault] =
      std::from_chars(number.data(), number.data() + number.size(), pass.registration);
  if (fault != std::errc() || end != number.data() + number.size()) return std::nullopt;
  return pass;
}

}  // namespace muster
