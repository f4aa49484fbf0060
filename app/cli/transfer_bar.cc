#include "app/cli/transfer_bar.h"

#include <fmt/format.h>

#include <ostream>

#include "app/cli/progress_bar.h"
#include "app/cli/resource_view.h"

namespace muster {
namespace {

constexpr auto kSilentTransfer = std::chrono::seconds(1);
constexpr auto kBarStep = std::chrono::milliseconds(100);
constexpr std::size_t kBarWidth = 30;

}  // namespace

TransferBar::~TransferBar() {
  if (shown_.count() > 0) err_ << "\r\033[K" << std::flush;
}

void TransferBar::show(std::uint64_t done, std::optional<std::uint64_t> size) {
  if (!is_screen_) return;
  const auto now = clock_.monotonic();
  if (now - began_ < kSilentTransfer || now - shown_ < kBarStep) return;
  shown_ = now;
  const std::string bar =
      size ? progressBar(static_cast<std::size_t>(done), static_cast<std::size_t>(*size), kBarWidth)
           : "";
  err_ << fmt::format("\r{} {}{}\033[K", bar, bytesText(done),
                      size ? " of " + bytesText(*size) : "")
       << std::flush;
}

}  // namespace muster
